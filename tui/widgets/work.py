"""Work of a screen that waits for the store: what comes when the screen is being taken down is for nobody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from textual import work as textual_work  # noqa: TID251
from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.worker import Worker

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
