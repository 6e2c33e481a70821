"""Actions run in the order of their keys, and a failure drops the actions after it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from fcreview.errors import FcreviewError
from fcreview.tui import action_queue
from fcreview.tui.action_queue import ActionQueue, QueuedAction
from fcreview.tui.text.messages import NO_MESSAGE, StatusMessage


class MessageScreen:
    """A screen that keeps its messages. Its coroutines run as tasks."""

    def __init__(self) -> None:
        self.messages: list[StatusMessage] = []
        self.tasks: list[asyncio.Task[None]] = []

    def show_message(self, message: StatusMessage) -> None:
        self.messages.append(message)

    def clear_message_if_shown(self, message: StatusMessage) -> None:
        if self.messages and self.messages[-1] == message:
            self.messages.append(NO_MESSAGE)

    def run_coroutine(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.create_task(coroutine))


def make_action(
    done: list[str], name: str, *, error: str = "", gate: asyncio.Event | None = None
) -> QueuedAction:
    async def run() -> None:
        if gate is not None:
            await gate.wait()
        done.append(name)
        if error:
            raise FcreviewError(error)

    return run


async def test_actions_run_in_order_and_others_wait() -> None:
    actions, screen, gate = ActionQueue(), MessageScreen(), asyncio.Event()
    done: list[str] = []
    actions.add(make_action(done, "a", gate=gate), screen)
    await asyncio.sleep(0)
    actions.add(make_action(done, "b"), screen)
    ended = asyncio.create_task(actions.wait_until_idle())
    await asyncio.sleep(0)
    assert (done, ended.done(), actions.is_idle) == ([], False, False)
    gate.set()
    assert await ended
    assert done == ["a", "b"]
    assert len(screen.tasks) == 1, "one task runs all actions"

    actions.add(make_action(done, "c"), screen)
    assert await actions.wait_until_idle()
    assert (done, actions.added_count, screen.messages) == (["a", "b", "c"], 3, [])


@pytest.mark.parametrize(
    ("n_later_keys", "message"),
    [
        (0, "no room"),
        (1, "no room · 1 more key press was ignored"),
        (2, "no room · 2 more key presses were ignored"),
    ],
)
async def test_failure_drops_waiting_actions_and_is_reported(
    n_later_keys: int, message: str
) -> None:
    actions, screen, gate = ActionQueue(), MessageScreen(), asyncio.Event()
    done: list[str] = []
    actions.add(make_action(done, "a", error="no room", gate=gate), screen)
    for _ in range(n_later_keys):
        actions.add(make_action(done, "later"), MessageScreen())
    ended = asyncio.create_task(actions.wait_until_idle())
    await asyncio.sleep(0)
    gate.set()
    assert not await ended
    assert done == ["a"]
    assert screen.messages == [StatusMessage(message, "bad")]
    assert await actions.wait_until_idle(), "no action has failed since"


async def test_cancelled_action_leaves_nothing_behind() -> None:
    actions, screen = ActionQueue(), MessageScreen()
    done: list[str] = []
    actions.add(make_action(done, "a", gate=asyncio.Event()), screen)
    actions.add(make_action(done, "b"), screen)
    await asyncio.sleep(0)
    screen.tasks[0].cancel()
    await asyncio.wait(screen.tasks)
    assert await actions.wait_until_idle()
    actions.add(make_action(done, "c"), screen)
    await actions.wait_until_idle()
    assert (done, screen.messages) == (["c"], [])


async def test_reviews_are_written_while_quitting_although_their_screen_is_closed() -> None:
    actions, screen = ActionQueue(), MessageScreen()
    done: list[str] = []

    async def save_and_show_next_item() -> None:
        done.append("saved")
        raise asyncio.CancelledError

    actions.add(save_and_show_next_item, screen)
    actions.add(make_action(done, "b"), screen)
    actions.is_quitting = True
    assert await actions.wait_until_idle()
    assert (done, screen.messages) == (["saved", "b"], [])


async def test_slow_action_shows_its_message_until_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(action_queue, "SLOW_ACTION_DELAY", 0.0)
    actions, screen, gate = ActionQueue(), MessageScreen(), asyncio.Event()
    actions.add(make_action([], "a", gate=gate), screen, slow_message="searching")
    await asyncio.sleep(0.01)
    assert screen.messages == [StatusMessage("searching", "warn")]
    gate.set()
    await actions.wait_until_idle()
    assert screen.messages == [StatusMessage("searching", "warn"), NO_MESSAGE]


async def test_message_of_a_slow_action_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_queue, "SLOW_ACTION_DELAY", 0.0)
    actions, screen = ActionQueue(), MessageScreen()
    saved = StatusMessage("saved")

    async def save() -> None:
        await asyncio.sleep(0.01)
        screen.show_message(saved)

    actions.add(save, screen)
    await actions.wait_until_idle()
    assert [message.text for message in screen.messages] == ["waiting for the disk", "saved"]
