"""Move between screens: close the screens above the queue, and open the overview from any screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.app import App

from fcreview.store.rows import View
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.screens.queue import QueueScreen

if TYPE_CHECKING:
    from fcreview.tui.screens.overview import OverviewChoice
    from fcreview.tui.session import Session

CLOSE_POLL_INTERVAL = 0.01
"""Seconds between two checks for whether a screen has closed."""


def focused_item_pane(app: App[Any]) -> ItemPane | None:
    """Return the item pane with the focus. None if no item pane has the focus."""
    nodes = (app.focused or app.screen).ancestors_with_self
    return next((node for node in nodes if isinstance(node, ItemPane)), None)


def find_queue(app: App[Any]) -> QueueScreen | None:
    """Return the queue at the bottom of the screen stack. None if the app shows disagreements only."""
    bottom = app.screen_stack[0]
    return bottom if isinstance(bottom, QueueScreen) else None


def return_to_queue(app: App[Any], session: Session, then: Callable[[QueueScreen], object]) -> None:
    """Close the screens above the queue, then call `then`.

    If a review cannot be saved, its screen stays open and `then` is not called.
    """
    app.run_worker(_return_to_queue(app, session, then), group="return_to_queue", exclusive=True)


async def _return_to_queue(app: App[Any], session: Session, then: Callable[[QueueScreen], object]) -> None:
    queue = find_queue(app)
    if queue is None:
        return
    while app.screen is not queue or focused_item_pane(app) is not None:
        screen, pane = app.screen, focused_item_pane(app)
        getattr(pane or screen, "action_back", screen.dismiss)()
        if not await session.actions.wait_until_idle():
            return
        while app.screen is screen and focused_item_pane(app) is pane:
            await asyncio.sleep(CLOSE_POLL_INTERVAL)
    queue.call_later(then, queue)


def open_overview(app: App[Any], session: Session) -> None:
    """Show the overview above the current screen. A choice closes both screens and changes the queue."""
    queue = find_queue(app)
    if queue is None:
        return
    if app.screen is queue and focused_item_pane(app) is None:
        queue.action_overview()
        return

    app.push_screen(queue.make_overview(), _apply_choice(app, session))


def open_estimates(app: App[Any], session: Session) -> None:
    """Show the estimates above the current screen. A choice closes both screens and changes the queue."""
    from fcreview.tui.screens.estimates import EstimatesScreen

    queue = find_queue(app)
    if queue is not None:
        screen = EstimatesScreen(session, View(runs=queue.state.scope), queue.state.run)
        app.push_screen(screen, _apply_choice(app, session))


def _apply_choice(app: App[Any], session: Session) -> Callable[[OverviewChoice | None], None]:
    def apply(choice: OverviewChoice | None) -> None:
        if choice is not None:
            return_to_queue(app, session, lambda queue: queue.apply_overview_choice(choice))

    return apply
