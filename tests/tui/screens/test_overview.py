"""The overview on screen: it opens first for several runs, Enter drills in, and keys lead to what they name."""

from __future__ import annotations

from typing import Any

from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.queue import QueueScreen

FAILING = {"official": False, "error_type": "value_error:string", "first_difference": 'city "a" (golden "b")'}
RUNS = {"maple-8b": [FAILING, {"official": True}, FAILING], "birch-8b": [{"official": True}, {"official": True}]}


async def test_several_runs_open_on_the_overview(make_app: Any, settled: Any) -> None:
    app = make_app(runs=RUNS, resume=True)
    app.session.opens_overview = True
    async with app.run_test(size=(120, 34)) as pilot:
        text = "\n".join(await settled(pilot))
        assert isinstance(app.screen, OverviewScreen)
        for part in ("1 Runs", "birch-8b", "100.0 %", "33.3 %", "2 Why items fail", "Review 2 failures", "2 runs"):
            assert part in text, text
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(app.screen, QueueScreen)


async def test_one_run_opens_on_the_queue(make_app: Any, settled: Any) -> None:
    app = make_app([FAILING], resume=True)
    app.session.opens_overview = True
    async with app.run_test(size=(120, 34)) as pilot:
        await settled(pilot)
        assert isinstance(app.screen, QueueScreen)


async def test_enter_on_a_run_and_on_a_reason_shows_their_items(make_app: Any, settled: Any) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await settled(pilot)
        await pilot.press("v")
        await settled(pilot)
        await pilot.press("j", "enter")
        lines = await settled(pilot)
        assert isinstance(app.screen, QueueScreen) and "maple-8b" in lines[0] and "/3" in "\n".join(lines[:4])
        await pilot.press("v")
        await settled(pilot)
        await pilot.press("2", "enter")
        lines = await settled(pilot)
        assert "error:value_error:string" in "\n".join(lines[:4]) and "1/2" in "\n".join(lines[:4])


async def test_tab_and_digits_move_between_the_panels(make_app: Any, settled: Any) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(120, 34)) as pilot:
        await settled(pilot)
        await pilot.press("v")
        await settled(pilot)
        focused = [app.focused.id]
        for key in ("tab", "tab", "tab", "tab", "tab", "shift+tab", "2", "1"):
            await pilot.press(key)
            focused.append(app.focused.id)
        assert focused == ["runs", "reasons", "reviews", "scores", "next", "runs", "next", "reasons", "runs"]


async def test_a_blind_annotator_sees_no_rates_and_cannot_leave_for_them(make_app: Any, settled: Any) -> None:
    app = make_app(runs=RUNS, blind=True)
    async with app.run_test(size=(120, 34)) as pilot:
        await settled(pilot)
        await pilot.press("v")
        text = "\n".join(await settled(pilot))
        assert "%" not in text and "value_error" not in text and "0 of 3" in text
        await pilot.press("f")
        assert "order dataset" in "\n".join(await settled(pilot)) and isinstance(app.screen, QueueScreen)
        await pilot.press("v")
        await settled(pilot)
        for key in ("x", "s", "c"):
            await pilot.press(key)
            assert isinstance(app.screen, OverviewScreen)
            assert "not available in blind mode" in "\n".join(await settled(pilot))


async def test_the_small_overview_fits_80_columns(make_app: Any, settled: Any) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("v")
        lines = await settled(pilot)
        text = "\n".join(lines)
        assert all(part in text for part in ("birch-8b", "String is not an accepted value", "Review 2 failures")), text
        assert "open" in lines[-1] and "help" in lines[-1]
        assert any(line.startswith("─ 1 Runs ─") for line in lines), "blanks around the title"
