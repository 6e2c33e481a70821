"""The list of runs: sorting, search, groups, and its state on return."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.runs import RunsScreen
from fcreview.tui.session import Session
from tests.sharing import Imports

RUNS = {
    "maple-8b": [{"official": at < 2} for at in range(4)],
    "birch-70b": [{"official": at < 3} for at in range(4)],
    "elm-3b": [{"official": at < 1} for at in range(4)],
}
SIZE = (100, 24)


def model_names(lines: list[str]) -> list[str]:
    return [line[2:].split()[0] for line in lines[2:] if line[2:].startswith(tuple(RUNS))]


@pytest.mark.sweep
async def test_order_and_search_are_kept_on_return(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(runs=RUNS).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r")
        assert model_names(await wait_for_screen(pilot)) == list(RUNS)
        await pilot.press("o")
        lines = await wait_for_screen(pilot)
        assert (
            model_names(lines) == ["birch-70b", "maple-8b", "elm-3b"] and "by official" in lines[0]
        )
        await pilot.press("S")
        assert model_names(await wait_for_screen(pilot)) == ["elm-3b", "maple-8b", "birch-70b"]
        await pilot.press("slash", *"8b")
        lines = await wait_for_screen(pilot)
        assert (
            model_names(lines) == ["maple-8b"]
            and "1 run" in lines[0]
            and "enter apply" in lines[-1]
        )
        await pilot.press("enter", "enter")
        lines = await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, QueueScreen) and "maple-8b" in lines[0]
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, RunsScreen)
        assert model_names(lines) == ["maple-8b"] and "by official reversed" in lines[0]
        await pilot.press("escape")
        lines = await wait_for_screen(pilot)
        assert model_names(lines) == ["elm-3b", "maple-8b", "birch-70b"]
        (under,) = [line for line in lines if line.startswith("▌")]
        assert "maple-8b" in under
        await pilot.press("escape")
        await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, QueueScreen)


async def test_keys_are_typed_into_the_search(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(runs=RUNS).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r", "slash", *"sxq?:")
        lines = await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, RunsScreen) and "no matches" in "\n".join(lines)
        await pilot.press("escape")
        assert model_names(await wait_for_screen(pilot)) == list(RUNS)


async def test_runs_of_a_sorted_list_are_compared(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(runs=RUNS).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r", "o", "j", "equals_sign")
        assert "1 of 2 marked" in (await wait_for_screen(pilot))[0]
        await pilot.press("j", "equals_sign")
        text = "\n".join(await wait_for_screen(pilot))
        assert (
            "birch-70b" in text
            and "maple-8b" in text
            and not isinstance(pilot.app.screen, RunsScreen)
        )


@pytest.mark.sweep
@pytest.mark.slow
async def test_three_hundred_runs_in_groups(make_app: Any, wait_for_screen: Any) -> None:
    many = {f"maple-{at:03d}": [{"official": at % 3 == 0}] for at in range(300)}
    async with make_app(runs=many).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r")
        assert "300 runs" in (await wait_for_screen(pilot))[0]
        began = time.perf_counter()
        await pilot.press(
            "o", "o", "S", "tab", "tab", "right", "j", "right", "left", "slash", *"maple-29"
        )
        lines = await wait_for_screen(pilot)
        assert "10 runs" in lines[0] and "▾ bfcl V4  10 runs" in "\n".join(lines)
        assert time.perf_counter() - began < 10, "18 keys are handled in time"
        await pilot.press("escape", "escape")
        assert isinstance(pilot.app.screen, QueueScreen)


async def test_enter_on_a_group_unfolds_it(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(runs=RUNS).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r", "tab", "tab", "j")
        lines = await wait_for_screen(pilot)
        assert "grouped by generation" in lines[0] and not model_names(lines)
        await pilot.press("enter")
        text = "\n".join(await wait_for_screen(pilot))
        assert all(model in text for model in RUNS)
        await pilot.press("j", "j", "left")
        lines = await wait_for_screen(pilot)
        assert "birch-70b" not in "\n".join(lines) and any(
            line.startswith("▌") and "3 runs" in line for line in lines
        )


async def test_blind_list_has_no_rates_and_no_orders_by_rate(
    make_app: Any, wait_for_screen: Any
) -> None:
    async with make_app(runs=RUNS, blind=True).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r")
        for _ in range(6):
            lines = await wait_for_screen(pilot)
            assert (
                "official" not in "\n".join(lines)
                and "%" not in "\n".join(lines)
                and "compare" not in lines[-1]
            )
            await pilot.press("o")


async def test_unavailable_key_names_its_screen(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(runs=RUNS).run_test(size=(60, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r", "C")
        assert "C (calibration) works in the list" in (await wait_for_screen(pilot))[0]
        await pilot.press("percent_sign")
        assert (
            "% (agreement) works in the list; press ? for help" in (await wait_for_screen(pilot))[0]
        )
        await pilot.press("j")
        assert (
            "agreement" not in (await wait_for_screen(pilot))[0]
            and "3 runs" in (await wait_for_screen(pilot))[0]
        )
        await pilot.press("B")
        assert "B is not available here; press ? for help" in (await wait_for_screen(pilot))[0]
        await pilot.press("home", "equals_sign")
        assert "move to a run to mark" in (await wait_for_screen(pilot))[0]
        await pilot.press("question_mark")
        assert "keys: runs" in "\n".join(await wait_for_screen(pilot))


async def test_blind_comparison_key_gives_a_reason(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(runs=RUNS, blind=True).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r", "j", "equals_sign")
        lines = await wait_for_screen(pilot)
        assert "not available in blind review" in lines[0] and "compare" not in lines[-1]


async def test_folding_at_the_last_run_folds_its_own_group(
    samples: Path, imports: Imports, tmp_path: Path, wait_for_screen: Any
) -> None:
    workspace = imports.of([samples / "bfcl", samples / "confetti"])
    with Store.open(workspace, "alice") as store:
        reviewer = Reviewer(store, Journal(Workspace(tmp_path), "alice"))
        app = FcreviewApp(Session(None, "alice", store, reviewer))
        async with app.run_test(size=SIZE) as pilot:
            await wait_for_screen(pilot)
            await pilot.press("r", "tab", "tab", "j", "equals_sign")
            text = "\n".join(await wait_for_screen(pilot))
            assert (
                "move to a run to mark it for comparison" in text and "▸ CONFETTI v1  1 run" in text
            )
            await pilot.press("enter", "j", "j", "left")
            lines = await wait_for_screen(pilot)
            assert any(line.startswith("▌ ▸ BFCL V4  2 runs") for line in lines)
            assert any(line.startswith("  ▸ CONFETTI v1  1 run") for line in lines)
