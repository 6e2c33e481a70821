"""Acts are done in the order of their keys; what follows a failure is dropped."""

from __future__ import annotations

import asyncio

from fcreview.tui.session import ActionQueue, QueuedAction


def act(done: list[str], name: str, result: bool = True, gate: asyncio.Event | None = None) -> QueuedAction:
    async def run() -> bool:
        if gate is not None:
            await gate.wait()
        done.append(name)
        return result

    return run


async def test_one_after_another_and_whoever_comes_meanwhile_waits() -> None:
    acts, done, gate = ActionQueue(), [], asyncio.Event()
    assert acts.add(act(done, "a", gate=gate))
    running = asyncio.create_task(acts.run())
    await asyncio.sleep(0)
    assert not acts.add(act(done, "b"))
    ended = asyncio.create_task(acts.wait_until_idle())
    await asyncio.sleep(0)
    assert (done, ended.done()) == ([], False)
    gate.set()
    assert await running == 0
    assert done == ["a", "b"]
    assert await ended
    assert acts.add(act(done, "c")), "idle again"


async def test_a_failure_takes_what_waits_with_it_and_is_told() -> None:
    acts, done, gate = ActionQueue(), [], asyncio.Event()
    acts.add(act(done, "a", False, gate))
    acts.add(act(done, "b"))
    acts.add(act(done, "c"))
    running, ended = asyncio.create_task(acts.run()), asyncio.create_task(acts.wait_until_idle())
    await asyncio.sleep(0)
    gate.set()
    assert await running == 2
    assert done == ["a"]
    assert not await ended
    assert await acts.wait_until_idle(), "since then nothing failed"


async def test_an_act_that_is_cut_off_leaves_nothing_behind() -> None:
    acts, done = ActionQueue(), []
    acts.add(act(done, "a", gate=asyncio.Event()))
    acts.add(act(done, "b"))
    running = asyncio.create_task(acts.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert await acts.wait_until_idle()
    assert acts.add(act(done, "c"))
    await acts.run()
    assert done == ["c"]
