"""Items imported while the app is open appear, and nothing that the user looks at moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fcreview.store.rows import ImportChanges, View
from fcreview.tui import live_reload
from fcreview.tui.app import FcreviewApp
from fcreview.tui.live_reload import ReloadResult, _join_imports
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.session import SessionError
from tests.tui.conftest import screen_lines
from tests.tui.live_reload.conftest import (
    RewrittenRun,
    cursor_line,
    make_row,
    make_rows,
    wait_for_lines,
)

Following = Callable[..., tuple[FcreviewApp, RewrittenRun]]
MANY = [f"item_{n}" for n in range(60)]
SIZE = (80, 24)


async def test_new_items_join_the_list_and_the_cursor_stays(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows(*MANY))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("pagedown", "j", "j")
        before = cursor_line(await wait_for_screen(pilot))
        source.write(make_rows("early_1", "early_2", *MANY, "late"))
        lines = await wait_for_lines(pilot, lambda lines: "/63" in lines[2])
        assert cursor_line(lines) == before
        assert "3 new items" in lines[-2]
        await pilot.press("home")
        lines = await wait_for_screen(pilot)
        assert cursor_line(lines)[1] == "early_1"
        await pilot.press("enter")
        assert "early_1" in (await wait_for_screen(pilot))[0]
    assert source.closed


@pytest.mark.sweep
async def test_import_is_reported_briefly(
    make_following_app: Following, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_reload, "MESSAGE_DURATION", 0.2)
    app, source = make_following_app(make_rows("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        source.write([make_row("b"), make_row("a", prediction_hash="another"), make_row("c")])
        await wait_for_lines(pilot, lambda lines: "1 new item, 1 changed" in lines[-2])
        await wait_for_lines(pilot, lambda lines: "new" not in lines[-2])
        await pilot.press("enter")
        await wait_for_screen(pilot)
        source.write([make_row("a", prediction_hash="another")])
        await wait_for_lines(pilot, lambda lines: "2 removed items" in "\n".join(lines))
        await wait_for_lines(pilot, lambda lines: "removed" not in "\n".join(lines))


async def test_open_item_keeps_its_cursor_and_takes_verdicts(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows("a", "b", "c", "d"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter", "j", "j", "enter")
        before = await wait_for_screen(pilot)
        assert " b " in before[0] and "2/4" in before[1]
        screen = app.screen
        assert isinstance(screen, ItemScreen)
        place, folds = screen.cursor.block.key, dict(screen.cursor.options.folds)
        source.write(make_rows("new", "a", "b", "c", "d"))
        lines = await wait_for_lines(pilot, lambda lines: "3/5" in lines[1])
        assert lines[2:-2] == before[2:-2]
        assert (screen.cursor.block.key, screen.cursor.options.folds) == (place, folds)
        await pilot.press("f")
        lines = await wait_for_screen(pilot)
        assert " c " in lines[0]
        assert [review["key"]["id"] for review in source.read_events()] == ["b"]
        await pilot.press("z")
        assert " b " in (await wait_for_screen(pilot))[0]
        await pilot.press("q")
        assert cursor_line(await wait_for_screen(pilot))[1] == "b"


async def test_changed_item_is_reported_and_its_review_is_stale(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter", "p", "left_square_bracket")
        assert " a " in (await wait_for_screen(pilot))[0]
        source.write([make_row("a", prediction_hash="another"), make_row("b")])
        lines = await wait_for_lines(
            pilot, lambda lines: "this item has a new prediction" in lines[-2]
        )
        assert "STALE" in lines[1]
        await pilot.press("f")
        await wait_for_screen(pilot)
        reviews = source.read_events()
        assert [(each["key"]["id"], each["prediction_hash"]) for each in reviews] == [
            ("a", "p a"),
            ("a", "another"),
        ]


async def test_removed_item_stays_open_and_cannot_be_reviewed(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows("a", "b", "c"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter")
        before = await wait_for_screen(pilot)
        source.write(make_rows("a", "c"))
        lines = await wait_for_lines(pilot, lambda lines: "no longer in the results" in lines[-2])
        assert lines[2:-2] == before[2:-2]
        await pilot.press("p", "n", "m", "R")
        assert "no longer in the results" in (await wait_for_screen(pilot))[-2]
        assert source.read_events() == []
        await pilot.press("right_square_bracket", "p")
        await wait_for_screen(pilot)
        assert [review["key"]["id"] for review in source.read_events()] == ["c"]
        await pilot.press("q")
        assert "/2" in (await wait_for_screen(pilot))[2]


async def test_restored_item_can_be_reviewed(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        source.write(make_rows("b"))
        await wait_for_lines(pilot, lambda lines: "no longer in the results" in lines[-2])
        source.write(make_rows("b", "a"))
        await wait_for_lines(pilot, lambda lines: "2/2" in lines[1] and "1 new item" in lines[-2])
        await pilot.press("p")
        await wait_for_screen(pilot)
        assert [review["key"]["id"] for review in source.read_events()] == ["a"]


async def test_typed_text_belongs_to_its_item(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    """The store is replaced only after prompts over the open item have closed."""
    app, source = make_following_app(make_rows("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter", "n", "w", "h", "y")
        await wait_for_screen(pilot)
        source.write(make_rows("x", "y", "a", "b"))
        await wait_for_lines(pilot, lambda _: source.n_imports)
        await pilot.pause(0.1)
        await pilot.press("enter")
        await wait_for_lines(pilot, lambda lines: "3/4" in lines[1])
        reviews = source.read_events()
        assert [(each["key"]["id"], each["note"]) for each in reviews] == [("a", "why")]


@pytest.mark.sweep
async def test_fast_verdicts_apply_to_the_item_on_screen(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    names = [f"item_{n}" for n in range(30)]
    app, source = make_following_app(make_rows(*names), view=View(queue="dataset"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        reviewed_items = []
        for n in range(9):
            source.write(make_rows(*(f"new_{each}" for each in range(n, 0, -1)), *names))
            reviewed_items.append(screen_lines(app)[0].partition(" › ")[2].split()[0])
            await pilot.press("f", "p"[: n % 2])
            if n % 2:
                await wait_for_screen(pilot)
                reviewed_items.append(source.read_events()[-1]["key"]["id"])
            await wait_for_screen(pilot)
        assert source.n_imports > 3
        reviews = [each["key"]["id"] for each in source.read_events()]
    assert reviews == reviewed_items
    assert reviews == names[: len(reviews)]


async def test_failed_import_is_reported_and_retried(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        source.fails = "no space left \x1b[31m"
        source.write(make_rows("a", "b", "c"))
        lines = await wait_for_lines(
            pilot, lambda lines: "reload failed: no space left" in lines[-2]
        )
        assert "\x1b" not in lines[-2]
        source.fails = ""
        source.write(make_rows("a", "b", "c"))
        await wait_for_lines(pilot, lambda lines: "/3" in lines[2])


async def test_import_that_could_not_be_shown_is_shown_at_the_next_check(
    make_following_app: Following, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, source = make_following_app(make_rows("a", "b"))
    open_latest_store = app.session.open_latest_store
    attempts = []

    def fail_once() -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            raise SessionError("another program holds the store")
        return open_latest_store()

    monkeypatch.setattr(live_reload, "FAILURE_PAUSE", 1)
    monkeypatch.setattr(app.session, "open_latest_store", fail_once)
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        source.write(make_rows("a", "b", "c"))
        lines = await wait_for_lines(pilot, lambda lines: "/3" in lines[2])
        assert source.n_imports == 1 and "1 new item" in "\n".join(lines)


def test_joined_imports_start_at_the_runs_on_screen() -> None:
    earlier = ReloadResult(ImportChanges(new=1, gone=2), runs=(3, 4), previous_runs=(1, 2))
    later = ReloadResult(ImportChanges(new=2, changed=1), runs=(5, 6), previous_runs=(3, 4))
    assert _join_imports(None, later) is later
    joined = _join_imports(earlier, later)
    assert (joined.previous_runs, joined.runs) == ((1, 2), (5, 6))
    assert joined.changes == ImportChanges(new=3, changed=1, gone=2)


async def test_filters_by_number_and_levels_keep_their_items(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows("a", "b", "c", "d"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        numbers = [row.item for row in app.session._store.fetch_page(View(), 1, 2)]  # type: ignore[union-attr]
        await pilot.press("j", "j", "j", "F", *f"item:{numbers[0]},{numbers[1]}", "enter")
        assert "1/2" in (await wait_for_screen(pilot))[2]
        source.write(make_rows("new", "a", "b", "c", "d"))
        lines = await wait_for_lines(pilot, lambda lines: "1 new item" in lines[-2])
        assert cursor_line(lines)[1] == "b" and "1/2" in lines[2]
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert cursor_line(lines)[1] == "d" and "5/5" in lines[2]


async def test_items_of_a_figure_stay_the_same(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    """Only their numbers identify them, and the new store may use these numbers for other items."""
    app, source = make_following_app(make_rows("a", "b", "c", "d"), view=View(queue="dataset"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter", "f", "f", "q", "C")
        await wait_for_screen(pilot)
        await pilot.press("enter")
        before = await wait_for_screen(pilot)
        assert "selected 2 items" in before[2] and "city of b" in before[4]
        source.write(make_rows("new", "a", "b", "c", "d"))
        lines = await wait_for_lines(pilot, lambda lines: "1 new item" in lines[-2])
        assert lines[4:-2] == before[4:-2]
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert "› b " in lines[0] and " 1/2 " in lines[1]
        source.write(make_rows("newer", "new", "a", "b", "c", "d"))
        await wait_for_lines(pilot, lambda lines: "1 new item" in lines[-2])
        await pilot.press("right_square_bracket")
        lines = await wait_for_screen(pilot)
        assert "› c " in lines[0] and " 2/2 " in lines[1]


@pytest.mark.sweep
async def test_blind_session_reveals_no_verdicts(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows("a", "b"), blind=True)
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        before = await wait_for_screen(pilot)
        source.write([make_row("a", official=True, error_type=None), make_row("b"), make_row("c")])
        lines = await wait_for_lines(pilot, lambda lines: "1/3" in lines[1])
        assert "1 new item" in lines[-2] and "verdict" not in lines[-2].partition("verdict on")[0]
        assert lines[2:-2] == before[2:-2]
        await pilot.press("q")
        lines = await wait_for_screen(pilot)
        assert "blind" in lines[1] and "/3" in lines[2]


async def test_late_verdicts_are_shown(make_following_app: Following, wait_for_screen: Any) -> None:
    unscored = {
        "official": None,
        "rule": None,
        "error_type": None,
        "rule_error_type": None,
        "verdicts": [],
    }
    app, source = make_following_app([make_row("a", **unscored), make_row("b", **unscored)])
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        source.write(make_rows("a", "b"))
        lines = await wait_for_lines(
            pilot, lambda lines: "the verdicts of this item have changed" in lines[-2]
        )
        assert "official  FAIL" in lines[1]


@pytest.mark.sweep
async def test_two_panes_stay_and_use_the_new_store(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    app, source = make_following_app(make_rows("a", "b", "c", "d"))
    async with app.run_test(size=(160, 40)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j")
        before = await wait_for_screen(pilot)
        assert "b   2/4" in before[1]
        source.write(
            [
                make_row("new"),
                make_row("a"),
                make_row("b", prediction_hash="another"),
                make_row("c"),
                make_row("d"),
            ]
        )
        lines = await wait_for_lines(pilot, lambda lines: "b   3/5" in lines[1])
        assert cursor_line(lines)[1] == "b"
        assert "1 new item, 1 changed" in lines[-2] and any(
            "this item has a new prediction" in line for line in lines
        )
        await pilot.press("tab", "f")
        lines = await wait_for_screen(pilot)
        assert "c   4/5" in lines[1] and cursor_line(lines)[1] == "c"
        assert [(each["key"]["id"], each["prediction_hash"]) for each in source.read_events()] == [
            ("b", "another")
        ]
        source.write([make_row("d"), make_row("c")])
        lines = await wait_for_lines(pilot, lambda lines: "c   2/2" in lines[1])
        await pilot.press("p")
        await wait_for_screen(pilot)
        assert [each["key"]["id"] for each in source.read_events()] == ["b", "c"]


@pytest.mark.sweep
async def test_hidden_pane_uses_the_new_store_when_shown(
    make_following_app: Following, wait_for_screen: Any
) -> None:
    """Otherwise its item number would be that of another item."""
    app, source = make_following_app(make_rows("a", "b", "c", "d"))
    async with app.run_test(size=(160, 40)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("tab", "tab")
        await wait_for_screen(pilot)
        await pilot.resize_terminal(80, 24)
        await wait_for_screen(pilot)
        source.write(make_rows("new", "a", "b", "c", "d"))
        await wait_for_lines(pilot, lambda lines: "2/5" in lines[2])
        await pilot.resize_terminal(160, 40)
        lines = await wait_for_screen(pilot)
        assert "a   2/5" in lines[1] and cursor_line(lines)[1] == "a"
        await pilot.press("tab", "f")
        await wait_for_screen(pilot)
        assert [each["key"]["id"] for each in source.read_events()] == ["a"]
