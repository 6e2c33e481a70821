"""Actions run in the order of their keys, and a failure drops the actions after it."""

from __future__ import annotations

import asyncio

from fcreview.tui.session import ActionQueue, QueuedAction


def make_action(
    done: list[str], name: str, result: bool = True, gate: asyncio.Event | None = None
) -> QueuedAction:
    async def run() -> bool:
        if gate is not None:
            await gate.wait()
        done.append(name)
        return result

    return run


async def test_actions_run_in_order_and_others_wait() -> None:
    actions, done, gate = ActionQueue(), [], asyncio.Event()
    assert actions.add_and_check_idle(make_action(done, "a", gate=gate))
    running = asyncio.create_task(actions.run_and_count_dropped())
    await asyncio.sleep(0)
    assert not actions.add_and_check_idle(make_action(done, "b"))
    ended = asyncio.create_task(actions.wait_until_idle())
    await asyncio.sleep(0)
    assert (done, ended.done()) == ([], False)
    gate.set()
    assert await running == 0
    assert done == ["a", "b"]
    assert await ended
    assert actions.add_and_check_idle(make_action(done, "c")), "the queue is idle again"


async def test_failure_drops_waiting_actions_and_is_reported() -> None:
    actions, done, gate = ActionQueue(), [], asyncio.Event()
    actions.add_and_check_idle(make_action(done, "a", False, gate))
    actions.add_and_check_idle(make_action(done, "b"))
    actions.add_and_check_idle(make_action(done, "c"))
    running, ended = (
        asyncio.create_task(actions.run_and_count_dropped()),
        asyncio.create_task(actions.wait_until_idle()),
    )
    await asyncio.sleep(0)
    gate.set()
    assert await running == 2
    assert done == ["a"]
    assert not await ended
    assert await actions.wait_until_idle(), "no action has failed since"


async def test_cancelled_action_leaves_nothing_behind() -> None:
    actions, done = ActionQueue(), []
    actions.add_and_check_idle(make_action(done, "a", gate=asyncio.Event()))
    actions.add_and_check_idle(make_action(done, "b"))
    running = asyncio.create_task(actions.run_and_count_dropped())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert await actions.wait_until_idle()
    assert actions.add_and_check_idle(make_action(done, "c"))
    await actions.run_and_count_dropped()
    assert done == ["c"]
