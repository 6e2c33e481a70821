"""The queue restores cursor, filter and level when the user goes back or reopens it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.workspace import AnnotatorState, Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.queue_state import (
    ITEMS_OF_OLDER_IMPORT,
    CursorPosition,
    QueueLevel,
    QueueLevels,
    QueuePosition,
    QueueSettings,
    QueueState,
    level_from_json,
    level_to_json,
    load_position,
    save_position,
)
from fcreview.tui.screens.clusters import ClustersScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui import idle
from tests.tui.key_input import send_keys, wait_until
from tests.tui.queue.test_queue_choices import item_ids, twelve_rows

NARROW = (80, 24)


def cursor_item(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("▌")).split()[1]


def active_filter(app: FcreviewApp) -> str:
    """Return the filter of the queue. The screen shortens it."""
    screen = app.screen
    assert isinstance(screen, QueueScreen)
    return screen.state.where


def rows_with_three_errors() -> list[dict[str, Any]]:
    rows = twelve_rows()
    for number in (8, 9):
        rows[number] |= {"error_type": "wrong_count"}
    return rows


@pytest.mark.sweep
async def test_filter_and_cluster_open_at_first_row(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("end", "F", *"category:live_simple", "enter")
        assert cursor_item(await wait_for_screen(pilot)) == "simple_4"
        await pilot.press("backspace", "end", "c")
        await wait_for_screen(pilot)
        await pilot.press("j", "enter")
        lines = await wait_for_screen(pilot)
        assert cursor_item(lines) == "simple_4" and lines[2].rstrip("─ ").endswith("1/3")


@pytest.mark.sweep
async def test_escape_returns_to_the_previous_level(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app(rows_with_three_errors())
    async with app.run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "j", "F", *"official:fail", "enter")
        await wait_for_screen(pilot)
        await pilot.press("j", "c")
        await wait_for_screen(pilot)
        await pilot.press("enter")
        assert item_ids(await wait_for_screen(pilot)) == ["simple_4", "simple_5", "simple_6"]
        assert active_filter(app) == "official:fail effective:fail error:type_error:simple"
        await pilot.press("j", "enter")
        await wait_for_screen(pilot)
        await pilot.press("escape")
        assert cursor_item(await wait_for_screen(pilot)) == "simple_5"
        await pilot.press("escape", "down", "enter")  # no pause: the list must be there at once
        second = await wait_for_screen(pilot)
        assert "error:value_error" in second[2] and item_ids(second) == [
            "simple_7",
            "simple_10",
            "simple_11",
        ]
        assert active_filter(app) == "official:fail effective:fail error:value_error:string"
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, ClustersScreen)
        assert "String is not an accepted value" in next(
            line for line in lines if line.startswith("▌")
        )
        await pilot.press("q")
        lines = await wait_for_screen(pilot)
        # the row below simple_6
        assert "filter official:fail · " in lines[2] and cursor_item(lines) == "simple_7"
        await pilot.press("q")
        lines = await wait_for_screen(pilot)
        assert "all items" in lines[2] and cursor_item(lines) == "simple_6"
        await pilot.press("escape")
        assert "Already at the top level; press q to quit" in (await wait_for_screen(pilot))[-2]
        await pilot.press("q")
        await wait_for_screen(pilot)
        assert app.return_value == 0


@pytest.mark.sweep
async def test_clusters_keep_grouping_and_folds(make_app: Any, wait_for_screen: Any) -> None:
    rows = rows_with_three_errors()
    rows[8]["diff_argument"] = "unit"
    async with make_app(rows).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("c", "tab")
        await wait_for_screen(pilot)
        await pilot.press("right", "j", "j", "enter")
        await wait_for_screen(pilot)
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert "by function" in lines[1]
        assert len([line for line in lines[2:-1] if line.strip()]) > 1
        assert lines.index(next(line for line in lines if line.startswith("▌"))) == 5


def test_unchanged_settings_add_no_level() -> None:
    state = QueueState(where="official:fail")
    levels = QueueLevels(state)
    before = state.settings
    levels.push_level(before, CursorPosition())
    assert levels.pop_level() is None
    state.where = ""
    levels.push_level(before, CursorPosition(line=4))
    level = levels.pop_level()
    assert level is not None and level.cursor.line == 4 and state.where == "official:fail"


def test_items_of_a_figure_are_a_level() -> None:
    state = QueueState(where="official:fail", search="x")
    state.select_items((3, 5))
    assert state.view.items == (3, 5) and not state.where and not state.search
    state.where = "rule:pass"
    assert (
        level_from_json(json.loads(json.dumps(level_to_json(state.settings, CursorPosition()))))[0]
        == state.settings
    )
    state.reset_to_filter("")
    assert state.view.items == () and not state.is_narrowed


def save_and_load(
    folder: Path, levels: list[QueueSettings], state: list[int] | None
) -> QueuePosition | None:
    """Save a position when the store had the state [1, 2], and load it with `state`."""
    memory = AnnotatorState(folder, "alice")
    queue = QueueState()
    *above, current = [QueueLevel(settings, CursorPosition(line=2), "") for settings in levels]
    position = QueuePosition(current.settings, current.cursor, above, is_item_open=True)
    save_position(memory, queue, position, store_state=[1, 2])
    return load_position(memory, queue, lambda _: True, store_state=state)


@pytest.mark.parametrize("selection", [{"items": (7,)}, {"where": "official:fail item:7"}])
def test_item_numbers_of_an_older_import_are_not_used(
    tmp_path: Path, selection: dict[str, Any]
) -> None:
    all_items = QueueState().settings
    selected = replace(all_items, **selection)
    restored = save_and_load(tmp_path, [all_items, selected], [1, 2])
    assert restored is not None and restored.settings == selected and not restored.note
    # Another size or time: an import has replaced the store.
    for state in ([1, 3], None):
        restored = save_and_load(tmp_path, [all_items, selected, all_items], state)
        assert restored is not None and restored.settings == all_items and not restored.levels
        assert restored.note == ITEMS_OF_OLDER_IMPORT and not restored.is_item_open
    assert save_and_load(tmp_path, [selected], [1, 3]) is None
    restored = save_and_load(tmp_path, [all_items, all_items], [1, 3])
    assert restored is not None and restored.is_item_open and not restored.note


async def test_start_names_items_of_an_older_import(
    workspace: Workspace, wait_for_screen: Any
) -> None:
    session = Session(workspace, "alice")
    all_items = QueueState().settings
    selected = replace(all_items, items=(7,))
    above = [QueueLevel(all_items, CursorPosition(line=2), "")]
    position = QueuePosition(selected, CursorPosition(), above)
    # The state of the store is not the one of now.
    save_position(
        AnnotatorState(session.workspace_folder, "alice"),
        QueueState(),
        position,
        store_state=[1, 2],
    )
    async with FcreviewApp(session, resume=True).run_test(size=NARROW) as pilot:
        assert ITEMS_OF_OLDER_IMPORT in "\n".join(await wait_for_screen(pilot))


async def test_rows_of_a_filter_that_was_cleared_meanwhile_are_not_kept(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(twelve_rows())
    async with app.run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"official:fail", "enter", "c", "escape")
        await wait_for_screen(pilot)
        n_failing = app.screen.list.total

        # The list is read again, as after reviews, while the clusters clear the filter.
        can_read = threading.Event()
        app.session._thread.submit(can_read.wait, 20)
        with idle.ignore_threads():
            app.screen.pane.load_view(app.screen.pane.cursor_position)
            send_keys(app, "c")
            await wait_until(lambda: isinstance(app.screen, ClustersScreen))
            send_keys(app, "backspace")
            await wait_until(lambda: not app.screen.scope.part)
            can_read.set()
        await wait_for_screen(pilot)
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert "all items" in lines[2]
        assert app.screen.list.total == len(twelve_rows()) > n_failing


async def test_unavailable_keys_give_a_reason(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(twelve_rows(), blind=True).run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
        assert (
            "runs" not in lines[-1] and "clusters" not in lines[-1] and "all items" not in lines[-1]
        )
        await pilot.press("r")
        assert "Only one run is open" in (await wait_for_screen(pilot))[-2]
        await pilot.press("c")
        assert "clusters: not available in blind mode" in (await wait_for_screen(pilot))[-2]
        await pilot.press("x")
        assert "Adjudication is not available" in (await wait_for_screen(pilot))[-2]
        await pilot.press("backspace")
        assert "no filter to clear" in (await wait_for_screen(pilot))[-2]


async def test_verdict_key_in_the_list_names_the_key_that_opens_the_item(
    make_app: Any, wait_for_screen: Any
) -> None:
    async with make_app(twelve_rows()).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        for key, message in (
            ("p", "p (pass) works on an item; press enter to open the item"),
            ("H", "H (HTML report) works on the overview; press ? for help"),
            ("B", "B is not available here; press ? for help"),
        ):
            await pilot.press(key)
            assert message in (await wait_for_screen(pilot))[-2]
        await pilot.press("enter")
        await wait_for_screen(pilot)
        await pilot.press("x")
        assert (
            "x (adjudicate) works in the list and on the overview"
            in (await wait_for_screen(pilot))[-2]
        )


async def test_half_pages_and_both_ends_are_reached(make_app: Any, wait_for_screen: Any) -> None:
    """Verdict keys and letters of other screens do not move."""
    rows: list[dict[str, Any]] = [{"official": True} for _ in range(60)]
    keys = {"list.half_down": "ctrl+d", "list.half_up": "ctrl+u"}
    async with make_app(rows, key_names=keys).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        places = {"end": "60/60", "g": "60/60", "home": "1/60", "G": "1/60", "ctrl+d": "10/60"}
        places |= {"d": "10/60", "u": "10/60", "ctrl+u": "1/60"}
        for key, place in places.items():
            await pilot.press(key)
            assert (await wait_for_screen(pilot))[2].rstrip("─ ").endswith(place)


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "work", {"maple-8b": rows_with_three_errors()})


def saved_position(workspace: Workspace) -> Any:
    return json.loads((workspace.root / "positions" / "alice.json").read_text())


@pytest.mark.sweep
async def test_queue_reopens_at_saved_position(workspace: Workspace, wait_for_screen: Any) -> None:
    app = FcreviewApp(Session(workspace, "alice"), resume=True)
    async with app.run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "F", *"official:fail", "enter")
        await wait_for_screen(pilot)
        await pilot.press("j", "j", "ctrl+q")
        await wait_for_screen(pilot)
    assert saved_position(workspace)["levels"][-1]["item"] == ["simple_7", 1]
    again = FcreviewApp(Session(workspace, "alice"), resume=True)
    async with again.run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
        assert (
            lines[2].partition(" · ")[2].startswith("filter official:fail")
            and cursor_item(lines) == "simple_7"
        )
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert "all items" in lines[2] and cursor_item(lines) == "simple_5"
    other = FcreviewApp(Session(workspace, "bob"), resume=True)
    async with other.run_test(size=NARROW) as pilot:
        assert cursor_item(await wait_for_screen(pilot)) == "simple_4"
    blind = FcreviewApp(Session(workspace, "alice", blind=True), resume=True)
    async with blind.run_test(size=NARROW) as pilot:
        assert "official" not in (await wait_for_screen(pilot))[2]


@pytest.mark.sweep
async def test_item_that_was_open_is_opened_again(
    workspace: Workspace, wait_for_screen: Any
) -> None:
    def make_app(selection: str, *, in_browser: bool = False) -> FcreviewApp:
        session = Session(workspace, "alice")
        session.in_browser, session.start_options = in_browser, selection
        return FcreviewApp(session, resume=True)

    async with make_app("pilot").run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter")
        await wait_for_screen(pilot)
        await pilot.press("right_square_bracket", "ctrl+q")
        await wait_for_screen(pilot)
    left = saved_position(workspace)
    assert (
        left["open"] and left["start"] == "pilot" and left["levels"][-1]["item"] == ["simple_6", 1]
    )
    for in_browser in (False, True):
        async with make_app("pilot", in_browser=in_browser).run_test(size=NARROW) as pilot:
            assert (
                "simple_6" in (await wait_for_screen(pilot))[0] and len(pilot.app.screen_stack) == 2
            )
            await pilot.press("ctrl+q")
    async with make_app("").run_test(size=NARROW) as pilot:
        assert cursor_item(await wait_for_screen(pilot)) == "simple_4"


async def test_no_other_item_is_opened_instead_of_the_open_one(
    workspace: Workspace, wait_for_screen: Any
) -> None:
    """The list does not contain the item that was open."""

    def make_app() -> FcreviewApp:
        session = Session(workspace, "alice")
        session.start_options = "pilot"
        return FcreviewApp(session, resume=True)

    async with make_app().run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter")
        await wait_for_screen(pilot)
        await pilot.press("ctrl+q")
    file = workspace.root / "positions" / "alice.json"
    file.write_text(file.read_text().replace('"simple_5"', '"simple_99"'))
    async with make_app().run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        assert len(pilot.app.screen_stack) == 1


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"scope": [], "blind": false, "levels": [{"where": 3}]}']
)
async def test_damaged_position_is_ignored(
    workspace: Workspace, wait_for_screen: Any, content: str
) -> None:
    file = workspace.root / "positions" / "alice.json"
    file.parent.mkdir()
    file.write_text(content)
    async with FcreviewApp(Session(workspace, "alice"), resume=True).run_test(size=NARROW) as pilot:
        assert cursor_item(await wait_for_screen(pilot)) == "simple_4"


@pytest.mark.sweep
async def test_end_of_the_queue_is_reported(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(twelve_rows()[:3]).run_test(size=NARROW) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("F", *"-reviewed", "enter")
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        for _ in range(3):
            await pilot.press("p")
            lines = await wait_for_screen(pilot)
        assert "queue complete · next: v overview" in lines[-2]
        await pilot.press("q")
        lines = await wait_for_screen(pilot)
        assert (
            "Queue complete: 3 items reviewed. Run fcreview export" in lines[4]
            and "of 0" not in lines[0]
        )


@pytest.mark.parametrize(
    "keys", [["down", "enter", "c", "enter"], pytest.param(["F"], marks=pytest.mark.sweep), ["s"]]
)
async def test_leaving_a_list_returns_to_the_overview_it_was_opened_from(
    make_app: Any, wait_for_screen: Any, keys: list[str]
) -> None:
    async with make_app(runs={"maple-8b": [{}, {}], "oak-8b": [{}, {}]}).run_test(
        size=(80, 24)
    ) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        overview = (await wait_for_screen(pilot))[:2]
        for key in keys:
            await pilot.press(key)
            await wait_for_screen(pilot)
        for _ in range(8):
            if (await wait_for_screen(pilot))[:2] == overview:
                break
            await pilot.press("q")
        assert (await wait_for_screen(pilot))[:2] == overview and pilot.app.is_running


async def test_restored_search_is_named(
    imported: Imported, tmp_path: Path, wait_for_screen: Any
) -> None:
    workspace = imported(tmp_path / "work", {"maple-8b": twelve_rows(), "oak-8b": twelve_rows()})

    def make_session() -> Session:
        session = Session(workspace, "alice")
        session.opens_overview = True
        return session

    async with FcreviewApp(make_session(), resume=True).run_test(size=NARROW) as pilot:
        assert "overview" in (await wait_for_screen(pilot))[0]
        await pilot.press("q")
    async with FcreviewApp(make_session(), resume=True).run_test(size=NARROW) as pilot:
        assert "overview" in (await wait_for_screen(pilot))[0], "nothing was left"
        await pilot.press("v", "slash", *"simple_1", "enter")
        await wait_for_screen(pilot)
        await pilot.press("ctrl+q")
    async with FcreviewApp(make_session(), resume=True).run_test(size=NARROW) as pilot:
        lines = await wait_for_screen(pilot)
        assert 'search "simple_1" resumed. Press Bksp to show all items' in lines[-2], lines
        await pilot.press("backspace")
        assert "resumed" not in "\n".join(await wait_for_screen(pilot))
