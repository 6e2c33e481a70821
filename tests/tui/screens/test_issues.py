"""Import issues are readable at 80 columns, and enter shows one whole, then its item."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.item import ImportIssue
from fcreview.tui.queue.choices import build_issue_choices, explain_issue, format_issue_text
from fcreview.tui.screens.issues import IssueScreen, IssuesScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.text.lines import line_width, plain_text

PROBLEM = "messages[2].tool_calls[1]: the arguments of the call are text and not an object, omitted"
ROWS = [
    {"issue": PROBLEM, "item": "simple_1"},
    {"issue": "the file ends inside a record"},
    {"official": True},
    {"official": False},
]


@pytest.mark.parametrize("cells", [60, 80, 160])
def test_the_problem_has_the_width_and_its_place_is_below(cells: int) -> None:
    issue = ImportIssue("/data/long/folder/results.jsonl", 7, what=PROBLEM, item="simple_1")
    table = build_issue_choices([issue], cells).lines(cells)
    assert all(line_width(line) <= cells for line in table.rows)
    heading = plain_text(table.heading).split()
    expected = ["severity", "what", "item", "where"] if cells == 160 else ["severity", "what"]
    assert heading == expected

    explanation = [plain_text(line) for line in explain_issue(issue, cells)]
    assert all(len(line) <= cells for line in explanation)
    assert " ".join(line.strip() for line in explanation).startswith(PROBLEM)
    assert explanation[-2:] == [" item simple_1", " where /data/long/folder/results.jsonl:7"]


def test_hostile_texts_are_sanitised_in_the_list() -> None:
    issue = ImportIssue("/d\x1b[2J", 1, what="a\u202eb\x1b[31m", item="i\x07")
    lines = [*build_issue_choices([issue], 120).lines(120).rows, *explain_issue(issue, 80)]
    assert not any(char in plain_text(line) for line in lines for char in "\x1b\u202e\x07")


def test_the_whole_issue_has_its_record() -> None:
    issue = ImportIssue("a.json", 3, what="odd", raw='{"id": 1}', item="x", severity="error")
    assert format_issue_text(issue).splitlines() == [
        "error: odd",
        "item: x",
        "where: a.json:3",
        "",
        '{"id": 1}',
    ]


async def test_enter_shows_an_issue_whole_then_its_item(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(ROWS)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("i")
        lines = await wait_for_screen(pilot)
        assert "what" in lines[1] and "where" not in lines[1]
        assert any(line.rstrip().endswith("omitted") for line in lines), "the whole text is below"

        await pilot.press("enter")
        text = "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, IssueScreen)
        assert "item: simple_1" in text and "results.jsonl:1" in text
        assert "show the item" in text

        await pilot.press("enter")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)
        assert app.screen.state.where == 'id:"simple_1"'


async def test_leaving_an_issue_returns_to_the_list(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(ROWS)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("i")
        await wait_for_screen(pilot)
        await pilot.press("j", "enter")
        text = "\n".join(await wait_for_screen(pilot))
        assert "the file ends inside a record" in text and "show the item" not in text

        await pilot.press("enter")
        assert "this issue belongs to no item" in "\n".join(await wait_for_screen(pilot))
        await pilot.press("q")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, IssuesScreen)
        assert "ends inside" in next(line for line in lines if line.startswith("▌"))
