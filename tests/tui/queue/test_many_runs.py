"""The queue works with 300 runs that are opened by their paths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fcreview.store.rows import View
from fcreview.tui.screens.queue import QueueScreen

MANY = 300
RUNS: dict[str, list[dict[str, Any]]] = {
    f"maple-{number:03d}": [{}, {"official": True}] for number in range(MANY)
}
OTHER = {"oak-1b": [{"question": "not opened"}]}
OPENED = tuple(range(1, MANY + 1))
SIZE = (100, 24)


@pytest.mark.sweep
async def test_queue_clusters_and_filter_include_all_runs(
    make_app: Any, wait_for_screen: Any
) -> None:
    async with make_app(runs=RUNS | OTHER, view=View(runs=OPENED)).run_test(size=SIZE) as pilot:
        assert "0 of 600 reviewed" in "\n".join(await wait_for_screen(pilot))
        await pilot.press("c")
        text = "\n".join(await wait_for_screen(pilot))
        assert "300 failures" in text and "value_error:string" in text
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert isinstance(pilot.app.screen, QueueScreen) and "reading" not in "\n".join(lines)
        assert lines[2].rstrip("─ ").endswith("1/300") and "error:value_error:string" in lines[2]
        await pilot.press("backspace", "F", *"text:kangaroo", "enter")
        assert "no item matches the filter" in "\n".join(await wait_for_screen(pilot))


async def test_run_can_be_selected(make_app: Any, wait_for_screen: Any) -> None:
    async with make_app(runs=RUNS | OTHER, view=View(runs=OPENED)).run_test(size=SIZE) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("r")
        text = "\n".join(await wait_for_screen(pilot))
        assert "300 runs" in text and "oak-1b" not in text
        await pilot.press("end", "enter")
        text = "\n".join(await wait_for_screen(pilot))
        assert "maple-299" in text and "0 of 2 reviewed" in text


def test_store_queries_are_limited_to_the_runs(make_app: Any) -> None:
    make_app(runs=RUNS | OTHER)
    store = make_app.stores[-1]
    view = View("effective:fail text:celsius", "dataset", runs=OPENED)
    assert (store.count_items(view), store.count_items(replace(view, runs=()))) == (MANY, MANY + 1)
    assert sum(cluster.count for cluster in store.fetch_clusters(view)) == MANY
    assert dict(store.fetch_facets(view)["category"]) == {"simple": MANY}
    assert sum(map(len, store.iter_label_batches(view))) == MANY
    assert len(store.fetch_page(view, 290, 256)) == 10
    assert [run for run, _ in store.analysis.fetch_combined_scored_items(OPENED)] == list(OPENED)


async def test_narrow_title_of_a_cluster_names_the_selected_run(
    make_app: Any, wait_for_screen: Any
) -> None:
    """Beside the filter, the top line has no room for the run."""
    runs: dict[str, list[dict[str, Any]]] = {"maple-8b": [{}, {}], "birch-8b": [{}, {}]}
    async with make_app(runs=runs).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        for key in ("r", "end", "enter"):
            await pilot.press(key)
            lines = await wait_for_screen(pilot)
        (name,) = [name for name in runs if name in lines[0]]

        for key in ("c", "enter"):
            await pilot.press(key)
            lines = await wait_for_screen(pilot)
        assert "filter effective:fail error:value_e" in lines[2]
        assert name in lines[2]
