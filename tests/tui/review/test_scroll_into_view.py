"""The screen shows what a verdict depends on: the judged reply, or why the golden answer is
suspect.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.matching.align import align_calls
from fcreview.model.item import AcceptedValues, Call, Item, Message, Verdict
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from fcreview.tui.widgets.item_text import ItemText
from tests.store.factory import WEATHER, make_item, write_run


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace with an item whose reply is below the first screen."""
    scored = [
        Verdict("judge", 1, criterion=name, target="response", rationale=f"the {name} lacks")
        for name in ("completeness", "correctness")
    ]
    question = [Message(0, -1, role="user", content="\n".join(f"line {n}" for n in range(9)))]
    results = [
        Message(0, n, role="tool", content="\n".join(f"seen {n} {m}" for m in range(4)))
        for n in range(4)
    ]
    reply = Message(0, 4, role="assistant", content="It rains in Hangzhou.")
    item = make_item(0, messages=[*question, *results, reply], verdicts=scored)
    result = find_workspace(tmp_path)
    import_runs(result, [write_run(tmp_path / "run", [{}])], lambda _: iter([item]), n_workers=1)
    return result


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_reply_is_visible_when_its_score_is_pending(
    workspace: Workspace, size: tuple[int, int], wait_for_screen: Any
) -> None:
    with Store.open(workspace, "alice") as store:
        session = Session(workspace, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        app = FcreviewApp(session, View(queue="judged"))
        async with app.run_test(size=size) as pilot:
            await wait_for_screen(pilot)
            await pilot.press("enter")
            shown = "\n".join(await wait_for_screen(pilot))
            assert "0 1 2 on: response completeness" in shown
            assert "It rains in Hangzhou." in shown, shown
            assert "the completeness lacks" in shown, shown
            await pilot.resize_terminal(size[0], size[1] + 1)
            shown = "\n".join(await wait_for_screen(pilot))
            assert "the completeness lacks" in shown, shown


@pytest.mark.parametrize(
    ("rows", "status"), [(20, "] [ items"), (16, "undocumented function: get_weather")]
)
async def test_strongest_reason_is_visible_when_a_suspect_opens(
    tmp_path: Path, wait_for_screen: Any, rows: int, status: str
) -> None:
    question = Message(0, -1, role="user", content="\n".join(f"line {at}" for at in range(25)))
    item = make_item(0, messages=[question], functions=[{**WEATHER, "name": "set_alarm"}])
    workspace = find_workspace(tmp_path)
    import_runs(workspace, [write_run(tmp_path / "run", [{}])], lambda _: iter([item]), n_workers=1)
    with Store.open(workspace, "alice") as store:
        session = Session(workspace, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        async with FcreviewApp(session, View(queue="suspects")).run_test(size=(80, rows)) as pilot:
            await wait_for_screen(pilot)
            await pilot.press("enter")
            lines = await wait_for_screen(pilot)
            assert any("undocumented function: get_weather" in line for line in lines), lines
            assert status in lines[-2] and any(
                line.startswith("▸╭─ get_weather") for line in lines
            ), lines


def make_long_call_item(n_arguments: int) -> Item:
    """Return an item whose call has a difference in its last argument, below a long question."""
    question = Message(0, -1, role="user", content="\n".join(f"line {at}" for at in range(60)))
    names = [f"name_{number:02}" for number in range(n_arguments)]
    golden = Call("golden", "f", arguments={name: AcceptedValues([1]) for name in names})
    predicted = Call("predicted", "f", arguments=dict.fromkeys(names, 2))
    item = make_item(0, messages=[question])
    item.golden, item.predicted = [golden], [predicted]
    item.pairs = align_calls(item.golden, item.predicted)
    return item


@pytest.mark.parametrize("size", [(80, 24), (120, 32), (160, 45)])
async def test_jump_shows_the_difference_a_third_down_below_its_call(
    tmp_path: Path, wait_for_screen: Any, size: tuple[int, int]
) -> None:
    item = make_long_call_item(80)
    workspace = find_workspace(tmp_path)
    import_runs(workspace, [write_run(tmp_path / "run", [{}])], lambda _: iter([item]), n_workers=1)
    with Store.open(workspace, "alice") as store:
        session = Session(workspace, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        app = FcreviewApp(session, View(queue="dataset"), "simple_0")
        async with app.run_test(size=size) as pilot:
            await wait_for_screen(pilot)
            await pilot.press("home")
            await wait_for_screen(pilot)
            await pilot.press("full_stop")
            await wait_for_screen(pilot)
            text = app.screen.query_one(ItemText)
            rows = [text.render_line(y).text for y in range(text.size.height)]
            difference = next(y for y, row in enumerate(rows) if "name_00" in row)
            assert rows[difference].startswith("▸")
            # On a high screen, fewer rows than a third of it precede the difference.
            assert difference == text.size.height // 3 or text.is_start_visible
            assert not text.is_start_visible or size[1] > 24
            assert any("╭─ f" in row for row in rows[:difference])
