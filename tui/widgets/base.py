"""Help widgets to get the focus without redrawing, to report progress, and to run workers that outlive a screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar

from textual import events
from textual import work as textual_work  # noqa: TID251
from textual.app import App
from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.message_pump import MessagePump
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker


class StaticFocusWidget(Widget):
    """Widget that looks the same with and without the focus. Textual would redraw all of it when the focus changes."""

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


PROGRESS_INTERVAL = 0.5
"""Seconds between two progress reports, and before the first report."""


class ProgressTimer:
    """Timer that reports how long an operation has been running."""

    def __init__(self, owner: MessagePump, report: Callable[[float], None]) -> None:
        """Create a stopped timer. `report` receives the elapsed seconds."""
        self._owner, self._tell = owner, report
        self._timer: Timer | None = None
        self._started = 0.0

    def start(self) -> None:
        self.stop()
        self._started = monotonic()
        self._timer = self._owner.set_interval(PROGRESS_INTERVAL, lambda: self._tell(monotonic() - self._started))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None


Node = TypeVar("Node", bound=DOMNode)
Params = ParamSpec("Params")
Result = TypeVar("Result")


def work(
    *, group: str = "default", exclusive: bool = False
) -> Callable[
    [Callable[Concatenate[Node, Params], Awaitable[Result]]], Callable[Concatenate[Node, Params], Worker[Result | None]]
]:
    """Run a method as a Textual worker that ends quietly if the screen is removed while the method waits.

    Textual cancels the workers of a screen after it has removed the widgets, so a worker that continues in between
    finds no widgets. Textual's own `work` would raise `NoMatches` then.
    """

    def decorate(
        method: Callable[Concatenate[Node, Params], Awaitable[Result]],
    ) -> Callable[Concatenate[Node, Params], Worker[Result | None]]:
        @wraps(method)
        async def run(self: Node, *args: Params.args, **kwargs: Params.kwargs) -> Result | None:
            try:
                return await method(self, *args, **kwargs)
            except NoMatches:
                if is_screen_active(self):
                    raise
                return None

        return textual_work(group=group, exclusive=exclusive)(run)

    return decorate


def call_after_keys(app: App[Any], then: Callable[[], object]) -> None:
    """Call `then` after the focused widget and its ancestors have handled the keys that the app sent them."""
    _call_in_turn([*(app.focused or app.screen).ancestors_with_self], then)


def _call_in_turn(nodes: Sequence[DOMNode], then: Callable[[], object]) -> None:
    if nodes:
        nodes[0].call_later(_call_in_turn, nodes[1:], then)
    else:
        then()


def is_screen_active(node: DOMNode) -> bool:
    """Return whether the node's screen exists and is not being removed."""
    try:
        return bool(node.screen.display)
    except NoScreen:
        return False
