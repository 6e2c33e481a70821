"""What is imported while the app is open: it is shown, and nothing that a person looks at moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fcreview.store.rows import View
from fcreview.tui import live_reload
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from tests.tui.conftest import screen_lines
from tests.tui.live_reload.conftest import Rewritten, cursor_line, row, rows_of, until

Following = Callable[..., tuple[FcreviewApp, Rewritten]]
MANY = [f"item_{n}" for n in range(60)]
SIZE = (80, 24)


async def test_new_items_join_the_list_and_the_cursor_stays_where_it_is(
    following: Following, wait_for_screen: Any
) -> None:
    app, source = following(rows_of(*MANY))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("pagedown", "j", "j")
        before = cursor_line(await wait_for_screen(pilot))
        source.write(rows_of("early_1", "early_2", *MANY, "late"))
        lines = await until(pilot, lambda lines: "/63" in lines[2])
        assert cursor_line(lines) == before
        assert "3 new items" in lines[-2]
        await pilot.press("home")
        lines = await wait_for_screen(pilot)
        assert cursor_line(lines)[1] == "early_1"
        await pilot.press("enter")
        assert "early_1" in (await wait_for_screen(pilot))[0]
    assert source.closed


@pytest.mark.sweep
async def test_what_came_is_said_briefly(
    following: Following, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_reload, "MESSAGE_DURATION", 0.2)
    app, source = following(rows_of("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        source.write([row("b"), row("a", prediction_hash="another"), row("c")])
        await until(pilot, lambda lines: "1 new item, 1 changed" in lines[-2])
        await until(pilot, lambda lines: "new" not in lines[-2])
        await pilot.press("enter")
        await wait_for_screen(pilot)
        source.write([row("a", prediction_hash="another")])
        await until(pilot, lambda lines: "2 removed items" in "\n".join(lines))
        await until(pilot, lambda lines: "removed" not in "\n".join(lines))


async def test_the_item_on_screen_stays_with_its_cursor_and_a_verdict_is_about_it(
    following: Following, wait_for_screen: Any
) -> None:
    app, source = following(rows_of("a", "b", "c", "d"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter", "j", "j", "enter")
        before = await wait_for_screen(pilot)
        assert " b " in before[0] and "2/4" in before[1]
        screen = app.screen
        assert isinstance(screen, ItemScreen)
        place, folds = screen.cursor.block.key, dict(screen.cursor.options.folds)
        source.write(rows_of("new", "a", "b", "c", "d"))
        lines = await until(pilot, lambda lines: "3/5" in lines[1])
        assert lines[2:-2] == before[2:-2]
        assert (screen.cursor.block.key, screen.cursor.options.folds) == (place, folds)
        await pilot.press("f")
        lines = await wait_for_screen(pilot)
        assert " c " in lines[0]
        assert [said["key"]["id"] for said in source.said()] == ["b"]
        await pilot.press("z")
        assert " b " in (await wait_for_screen(pilot))[0]
        await pilot.press("q")
        assert cursor_line(await wait_for_screen(pilot))[1] == "b"


async def test_a_record_that_changes_on_screen_says_so_and_its_review_is_stale(
    following: Following, wait_for_screen: Any
) -> None:
    app, source = following(rows_of("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter", "p", "left_square_bracket")
        assert " a " in (await wait_for_screen(pilot))[0]
        source.write([row("a", prediction_hash="another"), row("b")])
        lines = await until(pilot, lambda lines: "this item has a new prediction" in lines[-2])
        assert "STALE" in lines[1]
        await pilot.press("f")
        await wait_for_screen(pilot)
        said = source.said()
        assert [(each["key"]["id"], each["prediction_hash"]) for each in said] == [("a", "p a"), ("a", "another")]


async def test_an_item_that_is_gone_stays_on_screen_and_nothing_can_be_said_of_it(
    following: Following, wait_for_screen: Any
) -> None:
    app, source = following(rows_of("a", "b", "c"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter")
        before = await wait_for_screen(pilot)
        source.write(rows_of("a", "c"))
        lines = await until(pilot, lambda lines: "no longer in the results" in lines[-2])
        assert lines[2:-2] == before[2:-2]
        await pilot.press("p", "n", "m", "R")
        assert "no longer in the results" in (await wait_for_screen(pilot))[-2]
        assert source.said() == []
        await pilot.press("right_square_bracket", "p")
        await wait_for_screen(pilot)
        assert [said["key"]["id"] for said in source.said()] == ["c"]
        await pilot.press("q")
        assert "/2" in (await wait_for_screen(pilot))[2]


async def test_an_item_that_comes_back_can_be_judged_again(following: Following, wait_for_screen: Any) -> None:
    app, source = following(rows_of("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        source.write(rows_of("b"))
        await until(pilot, lambda lines: "no longer in the results" in lines[-2])
        source.write(rows_of("b", "a"))
        await until(pilot, lambda lines: "2/2" in lines[1] and "1 new item" in lines[-2])
        await pilot.press("p")
        await wait_for_screen(pilot)
        assert [said["key"]["id"] for said in source.said()] == ["a"]


async def test_what_is_being_typed_about_an_item_is_about_that_one(following: Following, wait_for_screen: Any) -> None:
    """The store is exchanged only when nothing lies over the item that was opened about the one before."""
    app, source = following(rows_of("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter", "n", "w", "h", "y")
        await wait_for_screen(pilot)
        source.write(rows_of("x", "y", "a", "b"))
        await until(pilot, lambda _: source.taken)
        await pilot.pause(0.1)
        await pilot.press("enter")
        await until(pilot, lambda lines: "3/4" in lines[1])
        said = source.said()
        assert [(each["key"]["id"], each["note"]) for each in said] == [("a", "why")]


@pytest.mark.sweep
async def test_however_fast_keys_come_each_verdict_is_about_the_item_on_screen(
    following: Following, wait_for_screen: Any
) -> None:
    names = [f"item_{n}" for n in range(30)]
    app, source = following(rows_of(*names), view=View(queue="dataset"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        judged = []
        for n in range(9):
            source.write(rows_of(*(f"new_{each}" for each in range(n, 0, -1)), *names))
            judged.append(screen_lines(app)[0].partition(" › ")[2].split()[0])
            await pilot.press("f", "p"[: n % 2])
            if n % 2:
                await wait_for_screen(pilot)
                judged.append(source.said()[-1]["key"]["id"])
            await wait_for_screen(pilot)
        assert source.taken > 3
        said = [each["key"]["id"] for each in source.said()]
    assert said == judged
    assert said == names[: len(said)]


async def test_a_failure_is_told_and_following_goes_on(following: Following, wait_for_screen: Any) -> None:
    app, source = following(rows_of("a", "b"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        source.fails = "no space left \x1b[31m"
        source.write(rows_of("a", "b", "c"))
        lines = await until(pilot, lambda lines: "reload failed: no space left" in lines[-2])
        assert "\x1b" not in lines[-2]
        source.fails = ""
        source.write(rows_of("a", "b", "c"))
        await until(pilot, lambda lines: "/3" in lines[2])


async def test_filters_by_number_and_levels_find_the_same_items(following: Following, wait_for_screen: Any) -> None:
    app, source = following(rows_of("a", "b", "c", "d"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        numbers = [row.item for row in app.session._store.fetch_page(View(), 1, 2)]  # type: ignore[union-attr]
        await pilot.press("j", "j", "j", "f", *f"item:{numbers[0]},{numbers[1]}", "enter")
        assert "1/2" in (await wait_for_screen(pilot))[2]
        source.write(rows_of("new", "a", "b", "c", "d"))
        lines = await until(pilot, lambda lines: "1 new item" in lines[-2])
        assert cursor_line(lines)[1] == "b" and "1/2" in lines[2]
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert cursor_line(lines)[1] == "d" and "5/5" in lines[2]


async def test_items_behind_a_figure_stay_those_items(following: Following, wait_for_screen: Any) -> None:
    """They are named by numbers alone: whatever has these numbers now is something else."""
    app, source = following(rows_of("a", "b", "c", "d"), view=View(queue="dataset"))
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j", "enter", "f", "f", "q", "C")
        await wait_for_screen(pilot)
        await pilot.press("enter")
        before = await wait_for_screen(pilot)
        assert "selected 2 items" in before[2] and "city of b" in before[4]
        source.write(rows_of("new", "a", "b", "c", "d"))
        lines = await until(pilot, lambda lines: "1 new item" in lines[-2])
        assert lines[4:-2] == before[4:-2]
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert "› b " in lines[0] and " 1/2 " in lines[1]
        source.write(rows_of("newer", "new", "a", "b", "c", "d"))
        await until(pilot, lambda lines: "1 new item" in lines[-2])
        await pilot.press("right_square_bracket")
        lines = await wait_for_screen(pilot)
        assert "› c " in lines[0] and " 2/2 " in lines[1]


@pytest.mark.sweep
async def test_a_blind_session_follows_without_telling_verdicts(following: Following, wait_for_screen: Any) -> None:
    app, source = following(rows_of("a", "b"), blind=True)
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        before = await wait_for_screen(pilot)
        source.write([row("a", official=True, error_type=None), row("b"), row("c")])
        lines = await until(pilot, lambda lines: "1/3" in lines[1])
        assert "1 new item" in lines[-2] and "verdict" not in lines[-2].partition("verdict on")[0]
        assert lines[2:-2] == before[2:-2]
        await pilot.press("q")
        lines = await wait_for_screen(pilot)
        assert "blind" in lines[1] and "/3" in lines[2]


async def test_verdicts_that_come_later_are_shown_at_once(following: Following, wait_for_screen: Any) -> None:
    unscored = {"official": None, "rule": None, "error_type": None, "rule_error_type": None, "verdicts": []}
    app, source = following([row("a", **unscored), row("b", **unscored)])
    async with app.run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        source.write(rows_of("a", "b"))
        lines = await until(pilot, lambda lines: "the verdicts of this item have changed" in lines[-2])
        assert "official  FAIL" in lines[1]


@pytest.mark.sweep
async def test_two_panes_both_stay_and_both_are_of_the_new_store(following: Following, wait_for_screen: Any) -> None:
    app, source = following(rows_of("a", "b", "c", "d"))
    async with app.run_test(size=(160, 40)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("j")
        before = await wait_for_screen(pilot)
        assert "b   2/4" in before[1]
        source.write([row("new"), row("a"), row("b", prediction_hash="another"), row("c"), row("d")])
        lines = await until(pilot, lambda lines: "b   3/5" in lines[1])
        assert cursor_line(lines)[1] == "b"
        assert "1 new item, 1 changed" in lines[-2] and any("this item has a new prediction" in line for line in lines)
        await pilot.press("tab", "f")
        lines = await wait_for_screen(pilot)
        assert "c   4/5" in lines[1] and cursor_line(lines)[1] == "c"
        assert [(each["key"]["id"], each["prediction_hash"]) for each in source.said()] == [("b", "another")]
        source.write([row("d"), row("c")])
        lines = await until(pilot, lambda lines: "c   2/2" in lines[1])
        await pilot.press("p")
        await wait_for_screen(pilot)
        assert [each["key"]["id"] for each in source.said()] == ["b", "c"]


@pytest.mark.sweep
async def test_a_pane_that_is_out_of_sight_is_of_the_new_store_when_it_comes_back(
    following: Following, wait_for_screen: Any
) -> None:
    """Else its number would be that of another item."""
    app, source = following(rows_of("a", "b", "c", "d"))
    async with app.run_test(size=(160, 40)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("tab", "tab")
        await wait_for_screen(pilot)
        await pilot.resize_terminal(80, 24)
        await wait_for_screen(pilot)
        source.write(rows_of("new", "a", "b", "c", "d"))
        await until(pilot, lambda lines: "2/5" in lines[2])
        await pilot.resize_terminal(160, 40)
        lines = await wait_for_screen(pilot)
        assert "a   2/5" in lines[1] and cursor_line(lines)[1] == "a"
        await pilot.press("tab", "f")
        await wait_for_screen(pilot)
        assert [each["key"]["id"] for each in source.said()] == ["a"]
