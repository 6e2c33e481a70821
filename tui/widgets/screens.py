"""Provide the base classes of all screens. A screen closes only once, even if its keys are pressed repeatedly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, Screen

from fcreview.tui.widgets.base import call_after_keys

T = TypeVar("T")
LEAVING_ACTIONS = frozenset({"back", "close", "cancel", "app.quit", "app.redraw"})
"""Actions whose keys never wait."""


class GuardedScreen(Screen[T]):
    """Screen that closes only itself, and only once.

    Textual's `dismiss` removes the topmost screen, whichever it is, and fails for a screen that is closed already. Keys
    that are pressed in quick succession can reach a screen after it has closed, or after another screen has covered it.
    """

    takes_text = False
    """Whether every key types text, from the moment the screen opens. The command palette is not available then."""
    has_unsaved_input = False
    """Whether closing the screen may discard input. The command palette then offers nothing that closes it."""
    _result_when_uncovered: tuple[T | None] | None = None
    """Result of a screen that was closed while another screen covered it. The screen closes when it is uncovered."""
    _held_keys: tuple[events.Key, ...] = ()
    """Keys that were pressed before the screen could handle them."""
    _released_key: events.Key | None = None
    """Key that waited, and that the app handles now."""

    @property
    def is_on_stack(self) -> bool:
        """Whether the screen is displayed or covered by other screens."""
        return self in self.app.screen_stack

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close the screen with a result. Does nothing if the screen is closed already."""
        if self.is_on_stack:
            if self.app.screen_stack[-1] is self:
                return super().dismiss(result)
            self._result_when_uncovered = (result,)
        return AwaitComplete()

    def call_after_refresh(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        """Call `callback` after the screen is drawn, unless the screen is closed by then and has lost its widgets."""

        def run() -> Any:
            return callback(*args, **kwargs) if self.is_on_stack else None

        return super().call_after_refresh(run)

    def must_wait(self, action: str) -> bool:  # noqa: ARG002
        """Whether an action must wait until the screen has read its data. `action`: name without arguments."""
        return False

    def must_ignore(self, action: str) -> bool:  # noqa: ARG002
        """Whether an action is ignored, because its key was pressed before the screen showed its subject."""
        return False

    def hold_key(self, event: events.Key) -> bool:
        """Keep a key until `release_keys` if its action or an earlier key must wait. Return whether it was kept."""
        actions = self._actions_of(event)
        if not actions.isdisjoint(LEAVING_ACTIONS):
            self._held_keys = ()
            return False
        if event is self._released_key or any(map(self.must_ignore, actions)):
            return False
        if not self._held_keys and not any(map(self.must_wait, actions)):
            return False
        self._held_keys += (event,)
        return True

    def release_keys(self) -> None:
        """Handle the waiting keys in order, each after the screen shows the result of the key before it."""
        if self._held_keys and self.is_on_stack:
            event, *later = self._held_keys
            if not any(map(self.must_wait, self._actions_of(event))):
                self._released_key, self._held_keys = event, tuple(later)
                self.app.post_message(event)
                self.app.call_later(call_after_keys, self.app, lambda: self.app.call_after_refresh(self.release_keys))

    def _actions_of(self, event: events.Key) -> set[str]:
        """Return the names of the actions that a key has here, without their arguments."""
        tables = [table.key_to_bindings for _, table in self._binding_chain]
        return {each.action.partition("(")[0] for table in tables for each in table.get(event.key, ())}

    def on_screen_resume(self) -> None:
        if self._result_when_uncovered is not None:
            self.dismiss(*self._result_when_uncovered)


class GuardedModalScreen(ModalScreen[T], GuardedScreen[T]):
    """Screen whose keys take precedence over the keys of the app. The screen below may stay visible."""
