"""Comparison of two runs marked in the list: counts, flips, and both predictions of a flip."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.sanitize import display_width
from fcreview.stats.run_comparison import compare_runs
from fcreview.store.workspace import Workspace
from fcreview.tables.comparison import CLUSTER_MARK, build_pass_rate_table
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.compare import CompareScreen, FlipScreen, summarize_comparison
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.lists import TextList
from tests.stats.comparison_cases import make_outcomes, make_trials
from tests.store.factory import Imported
from tests.tui import idle
from tests.tui.key_input import send_keys, wait_until
from tests.tui.screens.test_adjudication import AppDriver

FAILS = 'city "Hangzhou, CN" (golden "Hangzhou")'
RIGHT = {"official": True, "rule": True, "first_difference": None, "pairs": []}


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    """Return runs in which `maple` fails items 0 and 1, `birch` fails item 2, and both fail item
    3.
    """
    wrong = {
        "first_difference": FAILS,
        "diff_golden": '"Hangzhou"',
        "diff_predicted": '"Hangzhou, CN"',
    }
    rows = {"maple": [wrong, wrong, RIGHT, wrong], "birch": [RIGHT, RIGHT, wrong, wrong]}
    for model, items in rows.items():
        rows[model] = [item | {"prediction_hash": f"{model}{at}"} for at, item in enumerate(items)]
    return imported(tmp_path / "work", rows)


def test_table_has_p_values_corrected_for_the_number_of_categories() -> None:
    a = [*make_outcomes("PPPPPPPP", category="simple"), *make_outcomes("PPPPPP", category="live")]
    b = [*make_outcomes("FFFFFFFF", category="simple"), *make_outcomes("FFFFFF", category="live")]
    comparison = compare_runs(a, b)
    adjusted = [group.p_holm for group in comparison.categories]
    assert adjusted == [2 / 2**8, 1 / 2**6]

    table = build_pass_rate_table(comparison, "official", "official")
    assert table.titles[-2:] == ["p", "p (Holm)"]
    _, *categories = table.rows
    assert [row.texts[-1] for row in categories] == [f"{p:.3f}" for p in adjusted]
    one_category = compare_runs(make_outcomes("PPP"), make_outcomes("PFF"))
    table = build_pass_rate_table(one_category, "official", "official")
    assert "p (Holm)" not in table.titles


def test_summary_withholds_p_where_the_table_does() -> None:
    """In run B, an item has no recomputed verdict, so that the others are no random sample."""
    comparison = compare_runs(make_outcomes("PPPPPPPP"), make_outcomes("FFFFFFF."))

    table = build_pass_rate_table(comparison, "rule", "rule")
    assert table.rows[0].texts[-1] == "–"
    summary = summarize_comparison(comparison, "rule", "rule", width=200)
    assert summary.startswith("7 of 8 items · McNemar p – · only A 7, only B 0")

    # An item without an official verdict is no bias, so that p is known.
    table = build_pass_rate_table(comparison, "official", "official")
    assert table.rows[0].texts[-1] == "0.008"
    summary = summarize_comparison(comparison, "official", "official", width=200)
    assert summary.startswith("7 of 8 items · McNemar p 0.008 · only A 7, only B 0")


def test_summary_names_the_mark_of_a_test_by_cluster() -> None:
    """The notes of the table, which explain the mark, can be below the visible rows."""
    comparison = compare_runs(make_trials(["PP", "PP", "PP"]), make_trials(["FF", "FP", "FF"]))

    table = build_pass_rate_table(comparison, "official", "official")
    assert table.rows[0].texts[-1].endswith(f" {CLUSTER_MARK}")
    summary = summarize_comparison(comparison, "official", "official", width=200)
    assert f"McNemar by cluster ({CLUSTER_MARK}), p 0." in summary
    narrow = summarize_comparison(comparison, "official", "official", width=60)
    assert summary.startswith(narrow) and "p 0." in narrow and display_width(narrow) <= 60


@asynccontextmanager
async def open_queue(
    workspace: Workspace, size: tuple[int, int], *, blind: bool = False
) -> AsyncIterator[AppDriver]:
    app = FcreviewApp(Session(workspace, "dora", blind=blind))
    async with app.run_test(size=size) as pilot:
        person = AppDriver(pilot, app, workspace)
        await idle.wait_for_workers(app)
        await pilot.pause()
        yield person


def find_line(lines: list[str], text: str) -> int:
    return next(number for number, line in enumerate(lines) if text in line)


async def mark_both_runs(person: AppDriver) -> list[str]:
    """Mark the first run, then the second."""
    lines = await person.press("r", "j", "equals_sign")
    assert "1 of 2 marked · = on another run compares" in lines[0]
    return await person.press("j", "equals_sign")


async def test_two_marked_runs_are_compared(workspace: Workspace) -> None:
    async with open_queue(workspace, (160, 30)) as person:
        lines = await mark_both_runs(person)
        assert isinstance(person.app.screen, CompareScreen)
        assert lines[0].endswith("A maple   B birch")
        assert "Pass rates · whole runs · official verdicts" in lines[1]
        heading, whole = (
            lines[find_line(lines, "95 % interval")],
            lines[find_line(lines, "all items")],
        )
        titles = [
            "category",
            "items",
            "A, %",
            "B, %",
            "A - B, 95 % interval",
            "0",
            "both pass",
            "both fail",
            "only A",
            "only B",
        ]
        assert [each for each in re.split(r"  +", heading.strip("│ ")) if each] == [*titles, "p"]
        assert re.search(r"all items +4  25\.0  50\.0  -25\.0 \[-.* 0 +1 +1 +2  0\.625", whole)
        assert "●" in whole and "┃" in whole
        assert (
            "4 items · McNemar p 0.625 · only A 1, only B 2 · both pass 0, both fail 1"
            in lines[find_line(lines, "McNemar")]
        )
        first_flip = lines[find_line(lines, "simple_2")]
        assert re.search(r'simple_2 +PASS +FAIL +city  "Hangzhou" → "Hangzhou, CN"', first_flip)
        assert re.search(
            r'simple_0 +FAIL +PASS +city  "Hangzhou" → "Hangzhou, CN"',
            lines[find_line(lines, "simple_0")],
        )
        effective = await person.press("V", "V")
        assert "effective" in effective[1]
        assert "no estimated difference: the runs have no joint sample" in "\n".join(effective)
        await person.press("escape", "escape")
        assert isinstance(person.app.screen, QueueScreen)


async def test_figures_keep_the_name_of_their_sources_while_others_are_compared(
    workspace: Workspace,
) -> None:
    async with open_queue(workspace, (160, 30)) as person:
        await mark_both_runs(person)
        can_compare = threading.Event()
        person.app.session._thread.submit(can_compare.wait, 20)
        with idle.ignore_threads():
            send_keys(person.app, "V")
            await wait_until(lambda: person.app.screen._requested_sources[0] == "rule")
            # A new size redraws the screen.
            await person._pilot.resize_terminal(150, 30)
            assert "official verdicts" in person.lines[1]
            can_compare.set()
        await wait_until(lambda: "recomputed verdicts" in person.lines[1])


async def test_comparison_is_of_all_items_whatever_the_list_shows(workspace: Workspace) -> None:
    async with open_queue(workspace, (160, 30)) as person:
        await person.press("F", *"official:fail", "enter")
        lines = await mark_both_runs(person)
        whole = lines[find_line(lines, "all items")]
        assert re.search(r"all items +4  25\.0  50\.0", whole), whole


@pytest.mark.parametrize("cells", [80, 60])
async def test_narrow_comparison_keeps_rates_and_counts_of_flips(
    workspace: Workspace, cells: int
) -> None:
    async with open_queue(workspace, (cells, 24)) as person:
        lines = await mark_both_runs(person)
        whole = lines[find_line(lines, "all items")]
        assert re.search(r"all items +4 +25\.0 +50\.0 +-25\.0 \[-.*\]", whole), whole
        assert "p 0.625" in lines[1], whole
        assert "only A 1, only B 2" in lines[1]


async def test_rates_of_a_part_have_a_denominator(imported: Imported, tmp_path: Path) -> None:
    unknown: dict[str, Any] = {"official": None, "rule": None}
    work = imported(
        tmp_path / "part", {"maple": [RIGHT, RIGHT, RIGHT], "birch": [RIGHT, {}, unknown]}
    )
    for cells in (80, 60):
        async with open_queue(work, (cells, 24)) as person:
            lines = await mark_both_runs(person)
            assert re.search(
                r"all items +2 of 3 +100\.0 +50\.0 ", lines[find_line(lines, "all items")]
            )


async def test_cursor_moves_between_panels_and_opens_items_only(workspace: Workspace) -> None:
    async with open_queue(workspace, (100, 24)) as person:
        await mark_both_runs(person)
        rates, flips = (person.app.screen.query_one(f"#{name}") for name in ("rates", "pick-list"))
        assert flips.has_focus and not rates.is_cursor_shown
        await person.press("k")
        assert rates.has_focus and not flips.is_cursor_shown
        await person.press("enter")
        assert isinstance(person.app.screen, CompareScreen)
        await person.press("j", "enter")
        assert isinstance(person.app.screen, FlipScreen)


async def test_tab_changes_panels_and_o_shows_flips_of_one_run(workspace: Workspace) -> None:
    async with open_queue(workspace, (100, 24)) as person:
        await mark_both_runs(person)
        rates, flips = (person.app.screen.query_one(f"#{name}") for name in ("rates", "pick-list"))
        await person.press("tab")
        assert rates.has_focus
        await person.press("tab")
        assert flips.has_focus

        def item_ids(lines: list[str]) -> list[str]:
            return re.findall(r"simple_\d", "".join(lines))

        assert item_ids(person.lines) == ["simple_2", "simple_0", "simple_1"]
        assert item_ids(lines := await person.press("right")) == ["simple_2"]
        assert "only A passes: 1 item" in lines[find_line(lines, "Items with different verdicts")]
        assert item_ids(lines := await person.press("right")) == ["simple_0", "simple_1"]
        assert "only B passes: 2 items" in lines[find_line(lines, "Items with different verdicts")]
        lines = await person.press("j", "enter")
        assert "simple_1 · simple · only B passes" in lines[0] and "2/2" in lines[0]
        assert len(item_ids(await person.press("escape", "right"))) == 3


async def test_interval_is_drawn_before_counts_are_complete(
    imported: Imported, tmp_path: Path
) -> None:
    name = "executable_parallel_multiple_function"
    wrong = {"official": False, "rule": False}
    rows = {"maple": [RIGHT] * 4, "birch": [wrong, RIGHT, RIGHT, RIGHT]}
    runs = {
        run: [
            item | {"category": name if at else "simple", "prediction_hash": f"{run}{at}"}
            for at, item in enumerate(items)
        ]
        for run, items in rows.items()
    }
    work = imported(tmp_path / "long", runs)
    for cells, drawn in ((120, True), (80, False)):
        async with open_queue(work, (cells, 30)) as person:
            lines = await mark_both_runs(person)
            whole = lines[find_line(lines, "all items")]
            assert ("●" in whole) is drawn and re.search(
                r"\+25\.0 \[[-+.\d]+, [-+.\d]+\]", whole
            ), whole
            assert name in lines[find_line(lines, "executable")] or not drawn
            heading = lines[find_line(lines, "95 % interval")]
            assert ("only A" in heading) == ("only B" in heading), heading


async def test_flips_show_both_predictions_and_the_golden_answer(workspace: Workspace) -> None:
    async with open_queue(workspace, (130, 30)) as person:
        await mark_both_runs(person)
        lines = await person.press("enter")
        assert isinstance(person.app.screen, FlipScreen)
        assert "simple_2 · simple · only A passes" in lines[0] and "1/3" in lines[0]
        assert lines[find_line(lines, "B: ")].strip() == 'B: city  "Hangzhou" → "Hangzhou, CN"'
        heads = lines[find_line(lines, "── golden")]
        assert heads.index("golden") < heads.index("A pass") < heads.index("B fail")
        beside = lines[find_line(lines, "Hangzhou, China")]
        assert beside.count("Hangzhou, CN") == 2, "both predictions are beside the golden answer"
        assert "2/3" in (await person.press("right_square_bracket"))[0]
        assert "3/3" in (await person.press("right_square_bracket", "right_square_bracket"))[0]
        assert "2/3" in (await person.press("left_square_bracket"))[0]


async def test_narrow_flip_stacks_the_three_answers(workspace: Workspace) -> None:
    async with open_queue(workspace, (80, 30)) as person:
        await mark_both_runs(person)
        lines = await person.press("enter")
        places = [
            find_line(lines, head) for head in ("── golden", "── A pass, maple", "── B fail, birch")
        ]
        assert places == sorted(places) and len(set(places)) == 3
        assert "≠ city" in "".join(lines[places[2] :])
        flip_lines = person.app.screen.query_one("#flip-text", TextList)._lines
        styles = {plain_text(line).strip(): line[-1][1] for line in flip_lines if line}
        assert any(text.startswith("city") and styles[text] == "golden" for text in styles)
        assert any(text.startswith("≠ city") and styles[text] == "predicted" for text in styles)


async def test_mark_can_be_removed_and_all_runs_cannot_be_marked(workspace: Workspace) -> None:
    async with open_queue(workspace, (100, 30)) as person:
        assert "marked" not in (await person.press("r", "equals_sign"))[0]
        lines = await person.press("j", "equals_sign")
        assert "1 of 2 marked · = on another run compares" in lines[0]
        assert [line[:4] for line in lines if "= " in line[:4]] == ["▌ = "]
        lines = await person.press("equals_sign")
        assert "the mark is removed" in lines[0] and not any("= " in line[:4] for line in lines)
        assert not isinstance(person.app.screen, CompareScreen)


async def test_comparison_is_not_available_in_blind_mode(workspace: Workspace) -> None:
    async with open_queue(workspace, (100, 30), blind=True) as person:
        lines = await person.press("r", "j", "equals_sign", "j", "equals_sign")
        assert not isinstance(person.app.screen, CompareScreen)
        assert "compare" not in " ".join(lines)
        assert "marked" not in lines[0]


@pytest.mark.sweep
async def test_flip_shows_both_golden_answers_if_they_differ(
    imported: Imported, tmp_path: Path
) -> None:
    other: dict[str, Any] = {"golden_hash": "other", "first_difference": FAILS}
    work = imported(tmp_path / "two", {"maple": [RIGHT], "birch": [other]})
    async with open_queue(work, (130, 30)) as person:
        await mark_both_runs(person)
        lines = await person.press("enter")
        assert any("same prediction, different golden answer" in line for line in lines)
        assert any("golden answer of A, then of B" in line for line in lines)


async def test_help_opens_over_the_comparison(workspace: Workspace) -> None:
    async with open_queue(workspace, (80, 24)) as person:
        assert "? help" in (await mark_both_runs(person))[-1]
        lines = await person.press("question_mark")
        assert "keys: compare" in "\n".join(lines) and "select the verdicts" in "\n".join(lines)
        await person.press("escape")
        assert isinstance(person.app.screen, CompareScreen)


async def test_each_run_has_a_source_and_incomplete_categories_have_no_rates(
    imported: Imported, tmp_path: Path
) -> None:
    """`maple` is official; `birch` has no official verdicts, and recomputed verdicts of a part
    of `multi_turn`.
    """
    recomputed: dict[str, Any] = RIGHT | {"official": None}
    multi: dict[str, Any] = {"category": "multi_turn"}
    runs = {
        "maple": [RIGHT, RIGHT, RIGHT | multi, RIGHT | multi],
        "birch": [
            recomputed,
            recomputed | {"rule": False},
            recomputed | multi,
            {"official": None, "rule": None} | multi,
        ],
    }
    async with open_queue(imported(tmp_path / "part", runs), (160, 30)) as person:
        lines = await mark_both_runs(person)
        assert "A official, B recomputed" in lines[1]
        assert "100.0" not in lines[find_line(lines, "all items")]
        assert re.search(r" 100\.0 +50\.0 ", lines[find_line(lines, "complete categories")])
        assert "100.0" not in lines[find_line(lines, " multi_turn")]
        assert "official verdicts" in (await person.press("V"))[1]
