"""Values that the queue keeps between queries."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from fcreview.store.rows import View
from fcreview.tui.queue.loader import QueueLoader
from tests.tui.text.test_format import run_row


async def test_value_of_the_old_store_that_arrives_after_a_reload_is_not_kept() -> None:
    is_replaced = asyncio.Event()
    answers = iter(["old", "new"])

    async def read(_: Any) -> str:
        answer = next(answers)
        if answer == "old":
            await is_replaced.wait()
        return answer

    session: Any = SimpleNamespace(read=read, read_in_background=read)
    view = View(runs=(1,))
    run = run_row("gpt-4o", run=1, n_items=10)
    for load in (
        lambda loader: loader.load_facets(view),
        lambda loader: loader.load_estimate(run),
    ):
        is_replaced.clear()
        answers = iter(["old", "new"])
        loader = QueueLoader(session)
        old_value = asyncio.create_task(load(loader))
        await asyncio.sleep(0)
        loader.clear_caches()
        is_replaced.set()
        assert await old_value == "old"
        assert await load(loader) == "new"
        assert await load(loader) == "new", "this value is kept"
