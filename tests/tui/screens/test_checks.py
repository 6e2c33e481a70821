"""The overview says that a score may not be real, and the check lists the items behind each
line.
"""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.run_check import CheckedRun, RunCheck, RunCounts, check_run
from fcreview.tables.checks import list_check_rows
from fcreview.tui.screens.checks import (
    CheckedItems,
    CheckScreen,
    build_check_choices,
    explain_check_row,
)
from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.text.lines import line_width, plain_text

INCIDENT = {
    "official": True,
    "incident": "rate_limit",
    "incident_text": "429",
    "incident_certainty": "rule",
}
RUNS = {
    "maple-8b": [INCIDENT, {"official": True}, {"official": False}],
    "birch-8b": [{"official": True}],
}
CLEAN = {"maple-8b": [{"official": True}], "birch-8b": [{"official": True}]}


def make_check(name: str, **counts: Any) -> RunCheck:
    full = {
        "n_items": 400,
        "n_official": 400,
        "n_rule": 400,
        "n_compared": 400,
        "n_predicted": 400,
    } | counts
    return check_run(
        CheckedRun(1, name, "BFCL V4", RunCounts(**full), {}, "/data", needs_dataset=True)
    )


FAILING = make_check("maple", n_incidents=2, incidents_by_kind={"server": 2})


def test_runs_with_problems_come_first() -> None:
    rows = list_check_rows([make_check("birch"), FAILING])
    assert [row.check.run_name for row in rows if row.line is None] == ["maple", "birch"]


@pytest.mark.parametrize("cells", [60, 80, 160])
def test_the_table_fits_and_marks_problems(cells: int) -> None:
    long = make_check("a-very-long-model-name-" * 8, n_incidents=2, incidents_by_kind={"server": 2})
    lines = build_check_choices(list_check_rows([long])).lines(cells).rows
    assert max(line_width(line) for line in lines) <= cells
    texts = [plain_text(line).split() for line in lines]
    assert ["!", "incidents", "2", "server"] in texts
    assert ["ok", "scores", "of", "other", "replies", "none"] in texts


def test_the_explanation_has_the_complete_text_and_the_filter() -> None:
    rows = list_check_rows([FAILING])
    explanations = [[plain_text(line) for line in explain_check_row(row, 80)] for row in rows]
    assert explanations[0] == [" BFCL V4: 2 incidents"]
    assert explanations[2] == [" incidents: 2 server", " filter incident:any"]


def test_hostile_texts_are_sanitised() -> None:
    check = check_run(
        CheckedRun(1, "oak", "t", RunCounts(), {}, "/data\x1b[2J\u202e", needs_dataset=True)
    )
    rows = list_check_rows([check])
    texts = [plain_text(line) for line in build_check_choices(rows).lines(120).rows]
    texts += [plain_text(line) for row in rows for line in explain_check_row(row, 80)]
    assert not any(char in text for text in texts for char in "\x1b\u202e")


async def test_the_overview_has_a_line_that_opens_the_check(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        text = "\n".join(await wait_for_screen(pilot))
        assert "! Check the scores" in text and "1 of 2 runs with a problem" in text

        await pilot.press("exclamation_mark")
        text = "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, CheckScreen)
        assert "Is this score real?" in text and "1 rate_limit" in text

        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, OverviewScreen)


async def test_enter_on_a_line_lists_its_items(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        await pilot.press("exclamation_mark")
        await wait_for_screen(pilot)
        await pilot.press("j", "j", "enter")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)
        state = app.screen.state
        assert (state.where, state.run) == ("incident:any", 1)
        assert "1/1" in "\n".join(lines[:4]), "an item that passes is listed, too"
        assert "maple-8b" in lines[0]


@pytest.mark.parametrize("opened_on", ["overview", "list"])
async def test_leaving_a_list_returns_to_the_line_of_the_check(
    make_app: Any, wait_for_screen: Any, opened_on: str
) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        opening_keys = ["v"] if opened_on == "overview" else []
        for key in (*opening_keys, "exclamation_mark", "j", "j", "enter"):
            await pilot.press(key)
            lines = await wait_for_screen(pilot)
        assert app.screen.state.where == "incident:any"
        assert "q check" in " ".join(lines[-2:])

        await pilot.press("q")
        await wait_for_screen(pilot)
        check = app.screen
        assert isinstance(check, CheckScreen)
        assert check._rows[check.list.cursor].line.title == "incidents"

        await pilot.press("escape")
        await wait_for_screen(pilot)
        place = OverviewScreen if opened_on == "overview" else QueueScreen
        assert isinstance(app.screen, place)


async def test_enter_on_a_run_lists_all_its_items(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("exclamation_mark")
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        assert (app.screen.state.where, app.screen.state.run) == ("", 1)


async def test_a_line_without_items_says_so(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("exclamation_mark")
        await wait_for_screen(pilot)
        await pilot.press("j", "enter")
        assert "this line has no items to list" in "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, CheckScreen)


async def test_without_problems_the_overview_has_no_line(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=CLEAN)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        assert "Check the scores" not in "\n".join(await wait_for_screen(pilot))
        await pilot.press("exclamation_mark")
        assert "no problem" in "\n".join(await wait_for_screen(pilot)), (
            "the table can be opened, too"
        )


async def test_the_check_is_not_available_in_blind_mode(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=RUNS, blind=True)
    async with app.run_test(size=(120, 34)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("exclamation_mark")
        assert "not available in blind mode" in "\n".join(await wait_for_screen(pilot))
        await pilot.press("v")
        assert "Check the scores" not in "\n".join(await wait_for_screen(pilot))
        await pilot.press("exclamation_mark")
        assert "not available in blind mode" in "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, OverviewScreen)


def test_a_choice_is_a_filter_of_one_run() -> None:
    values = build_check_choices(list_check_rows([FAILING])).values
    assert values[0] == CheckedItems(1) and values[2] == CheckedItems(1, "incident:any")
