"""The ranking screen shows the ranks of the command, and opens the items that decide a pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fcreview.cli.run_ranking import choose_ranked_sources, compute_rankings
from fcreview.stats.ranking import NamedRanking
from fcreview.store.rows import RunRow
from fcreview.store.store import Store
from fcreview.tui.commands import ReportServices
from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.statistics import RankingScreen

RUNS = {
    "maple-8b": [{"official": at < 4} for at in range(6)],
    "birch-8b": [{"official": at not in (0, 2)} for at in range(6)],
    "oak-8b": [{"official": True} for _ in range(6)],
}


def rank_runs(store: Store, rows: Sequence[RunRow]) -> list[NamedRanking]:
    return compute_rankings(store.analysis, choose_ranked_sources(rows))


@pytest.fixture
def app(make_app: Any) -> Any:
    result = make_app(runs=RUNS)
    result.session.report_services = ReportServices(
        lambda *_: "", open_benchmarks=lambda _: None, rank_runs=rank_runs
    )
    return result


async def test_the_overview_opens_the_ranking_and_enter_the_deciding_items(
    app: Any, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(160, 45)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("v")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, OverviewScreen)
        await pilot.press("Z")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, RankingScreen)
        (best,) = (line for line in lines if "oak-8b" in line)
        (last,) = (line for line in lines if "birch-8b" in line)
        assert "100.00 %" in best and "run 1: +2 -0" in best
        assert "66.67 %" in last and "run 1: +2 -2" in last
        assert sum("the same as official" in line for line in lines) == 3

        await pilot.press("home", "j", "j", "j")
        text = "\n".join(await wait_for_screen(pilot))
        assert "4 items decide: 2 pass only in birch-8b, 2 only in maple-8b" in text
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen)
        shown = {word for line in lines for word in line.split() if word.startswith("simple_")}
        assert shown == {"simple_0", "simple_2", "simple_4", "simple_5"}

        await pilot.press("escape")
        text = "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, RankingScreen)
        assert "4 items decide" in text, "the cursor is on the row that was opened"


async def test_one_run_has_no_ranking_and_the_screen_says_why(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs={"maple-8b": RUNS["maple-8b"]})
    app.session.report_services = ReportServices(
        lambda *_: "", open_benchmarks=lambda _: None, rank_runs=rank_runs
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("Z")
        text = "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, RankingScreen)
        assert "a ranking needs two or more runs" in text


async def test_the_ranking_is_not_available_in_blind_mode(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(runs=RUNS, blind=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("Z")
        text = "\n".join(await wait_for_screen(pilot))
        assert isinstance(app.screen, QueueScreen)
        assert "ranking: not available in blind mode" in text
