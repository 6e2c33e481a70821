"""A widget that looks the same with and without the focus: Textual would draw all of it anew each time it moves.

How long what is asked for takes: told every half second until it is there.

Work of a screen that waits for the store: what comes when the screen is being taken down is for nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from time import monotonic
from typing import Concatenate, ParamSpec, TypeVar

from textual import events
from textual import work as textual_work  # noqa: TID251
from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.message_pump import MessagePump
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker


class Still(Widget):
    def on_focus(self, event: events.Focus) -> None:
        event.prevent_default()
        self.has_focus = True
        if self.parent is not None:
            self.parent.post_message(events.DescendantFocus(self))

    def on_blur(self, event: events.Blur) -> None:
        event.prevent_default()
        self.has_focus = False
        if self.parent is not None:
            self.parent.post_message(events.DescendantBlur(self))


LATE = 0.5
"""Seconds after which, and how often, is said what is waited for."""


class Waiting:
    def __init__(self, owner: MessagePump, tell: Callable[[float], None]) -> None:
        """`tell` is given seconds."""
        self._owner, self._tell = owner, tell
        self._timer: Timer | None = None
        self._since = 0.0

    def begin(self) -> None:
        self.end()
        self._since = monotonic()
        self._timer = self._owner.set_interval(LATE, self._say)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _say(self) -> None:
        self._tell(monotonic() - self._since)


Node = TypeVar("Node", bound=DOMNode)
Given = ParamSpec("Given")
Made = TypeVar("Made")


def work(
    *, group: str = "default", exclusive: bool = False
) -> Callable[
    [Callable[Concatenate[Node, Given], Awaitable[Made]]], Callable[Concatenate[Node, Given], Worker[Made | None]]
]:
    """Textual's `work`, which raises where a screen's widgets are taken down before what was waited for has come.

    A screen's workers are cancelled last, after its widgets have gone: one that ends in between finds none.
    """

    def decorate(
        method: Callable[Concatenate[Node, Given], Awaitable[Made]],
    ) -> Callable[Concatenate[Node, Given], Worker[Made | None]]:
        @wraps(method)
        async def run(self: Node, *args: Given.args, **kwargs: Given.kwargs) -> Made | None:
            try:
                return await method(self, *args, **kwargs)
            except NoMatches:
                if stands(self):
                    raise
                return None

        return textual_work(group=group, exclusive=exclusive)(run)

    return decorate


def stands(node: DOMNode) -> bool:
    """Its screen is there and not being taken down."""
    try:
        return bool(node.screen.display)
    except NoScreen:
        return False
