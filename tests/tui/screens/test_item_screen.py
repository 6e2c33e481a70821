"""The item screen with a real store and a real journal: keys are pressed, the file on disk is looked at."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from fcreview.calls.align import align, align_turns
from fcreview.model import Accept, Call, Item, Message, Run, Verdict
from fcreview.plan import RunPlan
from fcreview.store.importing.import_runs import import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.screens.item import ItemScreen
from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.text.lines import plain
from fcreview.tui.widgets.document import DocumentView, LineBar

WEATHER = {
    "name": "get_weather",
    "description": "Weather of a place.",
    "parameters": {
        "type": "dict",
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "Which city."},
            "unit": {"type": "string", "enum": ["C", "F"]},
        },
    },
}
OBSERVATION = json.dumps({"rows": [f"row {n} of the answer" for n in range(12_000)]})


def simple(number: int) -> Item:
    wanted = [Call("golden", "get_weather", {"unit": Accept(["C"]), "city": Accept(["Hangzhou", "杭州"])})]
    given = [Call("predicted", "get_weather", {"unit": "C", "city": f"Hangzhou, CN {number}"})]
    return Item(
        f"simple_{number}", "simple", messages=[Message(0, -1, "system", "You are careful."),
        Message(0, -1, "user", f"Weather in city {number}?")],
        golden=wanted, predicted=given, pairs=align(wanted, given), functions=[WEATHER], official=False, rule=False,
        error_type="value_error:string", rule_error_type="value_error:string",
        verdicts=[Verdict("official", False, error_type="value_error:string"), Verdict("rule", False)],
        prediction_hash=f"p{number}", golden_hash=f"g{number}",
    )  # fmt: skip


def multi_turn() -> Item:
    made = Item("multi_turn_0", "multi_turn", n_turns=4, n_steps=8, official=False, extra={"failing_turn": 1})
    for turn in range(4):
        made.messages += [
            Message(turn, -1, "user", f"Please do part {turn}."),
            Message(turn, 0, "tool", OBSERVATION if turn == 1 else '{"ok": true}', "cd"),
            Message(turn, 1, "assistant", f"Part {turn} is done."),
            Message(turn, 1, "log", "not a call"),
        ]
        made.golden.append(Call("golden", "cd", {"folder": Accept(["a"])}, turn))
        made.predicted.append(Call("predicted", "cd", {"folder": "a" if turn != 1 else "b"}, turn))
    made.pairs = align_turns(made.golden, made.predicted)
    made.prediction_hash = made.golden_hash = "m"
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Three simple items and a multi-turn one, in this order."""
    results = tmp_path / "simple_result.json"
    lines = [
        json.dumps({"id": f"simple_{n}", "result": [{"get_weather": {"city": "Hangzhou"}}]}) + "\n" for n in range(4)
    ]
    results.write_text("".join(lines))
    items = [*map(simple, range(3)), multi_turn()]
    for number, item in enumerate(items):
        item.file, item.line = str(results), number + 1
        item.offset, item.length = sum(map(len, lines[:number])), len(lines[number])
    ws = find_workspace(tmp_path, tmp_path)
    run = Run("bfcl", "V4", "en", "gpt-4o", str(tmp_path))
    import_runs(ws, [RunPlan(run, [results])], lambda plan: iter(items), jobs=1)
    return ws


class Host(App[None]):
    """Only the screen under test."""

    def __init__(self, workspace: Workspace, item: str, **fields: Any) -> None:
        super().__init__()
        self.animation_level = "none"
        self.store = Store.open(workspace, "alice")
        self.reviewer = Reviewer(self.store, Journal(workspace, "alice"))
        self.item = self.store.find(item)[0]
        self.fields = fields
        self.left: int | None = None

    def on_mount(self) -> None:
        screen = ItemScreen(self.store, self.reviewer, View(queue="dataset"), self.item, **self.fields)
        self.push_screen(screen, self.leave)

    def leave(self, item: int | None) -> None:
        self.left = item


@asynccontextmanager
async def opened(
    workspace: Workspace, item: str = "simple_0", size: tuple[int, int] = (80, 24), **fields: Any
) -> AsyncIterator[tuple[Host, Pilot[None]]]:
    app = Host(workspace, item, **fields)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot
    app.store.close()


def screen_of(app: App[Any]) -> ItemScreen:
    """The item screen, whatever lies over it."""
    return next(screen for screen in app.screen_stack if isinstance(screen, ItemScreen))


def rows(app: App[Any]) -> list[str]:
    """What the document of the top screen shows, line by line, cursor column included."""
    view = app.screen.query_one(DocumentView)
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def bar(app: App[Any], name: str) -> str:
    return plain(screen_of(app).query_one(f"#item-{name}", LineBar).line)


def events(workspace: Workspace) -> list[dict[str, Any]]:
    """The journal, from disk."""
    return [json.loads(line) for line in (workspace.reviews / "alice.jsonl").read_text().splitlines()]


def shown_id(app: App[Any]) -> str:
    return screen_of(app).detail.row.id


async def test_fail_is_on_disk_and_the_next_item_is_shown(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        assert bar(app, "header").startswith(" simple_0   1/4   official ✗   rule ✗   judge ·   you ·")
        await pilot.press("f")
        (event,) = events(workspace)
        assert (event["verdict"], event["key"]["id"], event["target"]) == (False, "simple_0", "item")
        assert shown_id(app) == "simple_1"
        assert "saved: fail · simple_0" in bar(app, "status")
        assert any("Hangzhou, CN 1" in row for row in rows(app))


@pytest.mark.parametrize(
    ("key", "verdict", "fault"), [("p", True, None), ("f", False, None), ("g", True, "golden"), ("u", "unsure", None)]
)
async def test_verdict_keys(workspace: Workspace, key: str, verdict: Any, fault: str | None) -> None:
    async with opened(workspace) as (_, pilot):
        await pilot.press(key)
        assert [(event["verdict"], event.get("fault")) for event in events(workspace)] == [(verdict, fault)]


async def test_behind_the_last_item_it_stays_and_says_how_many_are_left(workspace: Workspace) -> None:
    async with opened(workspace, "simple_2") as (app, pilot):
        order = []
        for _ in range(2):
            await pilot.press("p")
            order.append(shown_id(app))
        assert order == ["multi_turn_0", "multi_turn_0"]
        said = bar(app, "status")
        assert "saved: pass" in said and "end of the queue, 2 left unreviewed: ] goes there" in said
        await pilot.press("]")
        assert shown_id(app) == "simple_0"
        assert "first item left unreviewed" in bar(app, "status")
        await pilot.press("p", "p")  # simple_2 and multi_turn_0 have verdicts: nothing is behind simple_1
        assert shown_id(app) == "simple_1"
        assert "none left to review" in bar(app, "status")
        assert len(events(workspace)) == 4


async def test_a_verdict_takes_back_the_fault_of_the_verdict_before(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("g", "left_square_bracket")
        assert any("wrong: golden" in row for row in rows(app))
        await pilot.press("f", "left_square_bracket")
        assert not any("wrong: golden" in row for row in rows(app))
        assert [(o.verdict, o.fault) for o in screen_of(app).detail.opinions] == [(False, None)]


async def test_a_fault_named_before_the_verdict_goes_with_it(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("w", "q")
        assert "no verdict yet" in bar(app, "status")
        await pilot.press("f")
        assert [(event.get("verdict"), event["fault"]) for event in events(workspace)][-1] == (False, "question")
        await pilot.press("left_square_bracket", "w", "m")
        assert "no verdict yet" not in bar(app, "status")


async def test_undo_takes_back_and_goes_back(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("f", "p", "z")
        assert shown_id(app) == "simple_1"
        assert "undone: pass · simple_1" in bar(app, "status")
        await pilot.press("z")
        assert shown_id(app) == "simple_0"
        assert "you ·" in bar(app, "header")
        assert [event["act"] for event in events(workspace)] == ["review", "review", "retract", "retract"]
        await pilot.press("z")
        assert "nothing to undo" in bar(app, "status")


async def test_fault_tag_and_note_stay_on_the_item(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("w", "c")
        await pilot.press("e", "space", "enter")
        await pilot.press("n", *"why", "down", *"not", "enter")
        first, second, third = events(workspace)
        assert first["fault"] == "checker"
        assert second["tags"] == ["value_error:string"]
        assert third["note"] == "why\nnot"
        assert shown_id(app) == "simple_0"
        assert any("wrong: checker · tags value_error:string" in row for row in rows(app))


async def test_cancelled_prompts_write_nothing(workspace: Workspace) -> None:
    async with opened(workspace) as (_, pilot):
        await pilot.press("w", "escape", "e", "escape", "n", "x", "escape")
        assert not (workspace.reviews / "alice.jsonl").exists() or not events(workspace)


async def test_a_new_tag_is_made(workspace: Workspace) -> None:
    async with opened(workspace) as (_, pilot):
        await pilot.press("e", "n", *"odd", "enter", "enter")
        assert events(workspace)[0]["tags"] == ["odd"]


async def test_next_and_previous_leave_no_trace_and_stop_at_the_ends(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("[")
        assert "this is the first item" in bar(app, "status")
        await pilot.press("]", "]")
        assert (shown_id(app), " 3/4 " in bar(app, "header")) == ("simple_2", True)
        await pilot.press("[")
        assert shown_id(app) == "simple_1"
        await pilot.press("q")
        assert app.left == app.store.find("simple_1")[0]
        assert not (workspace.reviews / "alice.jsonl").exists() or not events(workspace)


async def test_a_verdict_on_the_thing_under_the_cursor(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        assert "verdict on: item" in bar(app, "status")
        await pilot.press("full_stop", "T")
        assert "verdict on: turn 1 call 1 city" in bar(app, "status")
        await pilot.press("g")
        assert shown_id(app) == "simple_0"
        await pilot.press("a", "u")
        assert [event["target"] for event in events(workspace)] == ["turn:1/call:1/arg:city", "turn:1/call:1"]
        await pilot.press("]")
        assert "verdict on: item" in bar(app, "status")


async def test_the_full_dialogue_is_shown_and_hidden_again(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        assert not any("You are careful." in row for row in rows(app))
        await pilot.press("t")
        assert any("You are careful." in row for row in rows(app))
        await pilot.press("t")
        assert not any("You are careful." in row for row in rows(app))


async def test_raw_record_opens_indented_in_the_pager(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("R")
        await pilot.pause()
        assert isinstance(app.screen, PagerScreen)
        assert rows(app)[:4] == ["── result ──", "simple_result.json:1", "{", '  "id": "simple_0",']
        await pilot.press("r")
        assert rows(app)[2].startswith('{"id": "simple_0", "result": [{')
        await pilot.press("q")
        assert app.screen is screen_of(app)


async def test_a_result_file_that_is_gone_is_told(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        (workspace.root.parent / "simple_result.json").unlink()
        await pilot.press("R")
        await pilot.pause()
        assert "The record cannot be read" in "".join(rows(app))
        assert "simple_result.json" in "".join(rows(app))


async def test_the_function_document_marks_the_argument_under_the_cursor(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("full_stop", "d")
        shown = rows(app)
        assert any("→ city  string, required" in row for row in shown)
        assert any('enum: ["C", "F"]' in row for row in shown)
        await pilot.press("d")
        assert not any("document of" in row for row in rows(app))


async def test_turns_fold_and_unfold_and_the_place_is_kept(workspace: Workspace) -> None:
    async with opened(workspace, "multi_turn_0") as (app, pilot):
        screen = screen_of(app)
        assert screen.block.key == "turn:2"
        assert any("▸── turn 2 of 4" in row and "FAILS HERE" in row for row in rows(app))
        await pilot.press("k", "enter")
        assert (screen.block.key, screen.block.folded) == ("turn:1", False)
        assert any("Part 0 is done." in row for row in rows(app))
        await pilot.press("space")
        assert not any("Part 0 is done." in row for row in rows(app))
        assert screen.block.key == "turn:1"


async def test_a_long_observation_opens_in_the_pager_and_is_searched(workspace: Workspace) -> None:
    async with opened(workspace, "multi_turn_0") as (app, pilot):
        assert len(OBSERVATION) > 300_000
        screen = screen_of(app)
        while screen.block.key != "turn:2/step:1/tool:1":
            before = screen.block.key
            await pilot.press("j")
            assert screen.block.key != before
        assert any(" KB, enter to open" in row for row in rows(app))
        await pilot.press("enter")
        await pilot.pause()
        assert rows(app)[0] == "{"
        await pilot.press("slash", *"row 11999", "enter")
        await pilot.pause()
        assert any("row 11999 of" in row for row in rows(app))
        await pilot.press("end")
        assert rows(app)[-1] == "}"


async def test_search_goes_to_matches_in_folded_turns(workspace: Workspace) -> None:
    async with opened(workspace, "multi_turn_0") as (app, pilot):
        await pilot.press("slash", *"part 3", "enter")
        await pilot.pause()
        assert "match 1 of 2" in bar(app, "status")
        assert any("Please do part 3." in row for row in rows(app))
        await pilot.press("N")
        assert any(row.startswith("▸") and "Part 3 is done." in row for row in rows(app))
        await pilot.press("slash", *"nowhere", "enter")
        await pilot.pause()
        assert "no match for nowhere" in bar(app, "status")


async def test_copy_writes_the_calls_under_the_cursor_to_the_workspace(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        await pilot.press("y")
        copied = json.loads((workspace.root / "copied.txt").read_text())
        assert copied == {
            "golden": {"get_weather": {"unit": ["C"], "city": ["Hangzhou", "杭州"]}},
            "predicted": {"get_weather": {"unit": "C", "city": "Hangzhou, CN 0"}},
        }
        assert "copied" in bar(app, "status")


async def test_a_review_that_cannot_be_saved_is_told_and_nothing_moves(workspace: Workspace) -> None:
    async with opened(workspace) as (app, pilot):
        path = workspace.reviews / "alice.jsonl"
        path.unlink(missing_ok=True)
        path.mkdir(parents=True)
        await pilot.press("f")
        assert "NOT SAVED (fail)" in bar(app, "status")
        assert shown_id(app) == "simple_0"
        assert "you ·" in bar(app, "header")


async def test_blind_shows_verdicts_only_after_ones_own(workspace: Workspace) -> None:
    async with opened(workspace, blind=True) as (app, pilot):
        assert "✗" not in bar(app, "header") + "".join(rows(app))
        await pilot.press("p", "[")
        assert "official ✗" in bar(app, "header")


async def test_the_place_is_kept_when_the_terminal_changes_its_width(workspace: Workspace) -> None:
    async with opened(workspace, "multi_turn_0") as (app, pilot):
        await pilot.press("end")
        before = rows(app)[-3:]
        await pilot.resize_terminal(160, 24)
        await pilot.pause()
        assert [row.split()[:2] for row in rows(app)[-3:]] == [row.split()[:2] for row in before]
        assert all(len(row) <= 160 for row in rows(app))


async def test_a_step_of_the_cursor_redraws_two_lines(workspace: Workspace) -> None:
    async with opened(workspace, "simple_0") as (app, pilot):
        await pilot.press("full_stop", "k")
        view = app.screen.query_one(DocumentView)
        drawn: list[int] = []
        render = view.render_line
        view.render_line = lambda y: (drawn.append(y), render(y))[1]  # type: ignore[method-assign]
        await pilot.press("j")
        await pilot.pause()
        assert 1 <= len(drawn) <= 2
