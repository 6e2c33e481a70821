"""Base classes of all screens of fcreview. A screen closes once, whenever and however often its keys are pressed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, Screen

T = TypeVar("T")


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

    def on_screen_resume(self) -> None:
        if self._result_when_uncovered is not None:
            self.dismiss(*self._result_when_uncovered)


class GuardedModalScreen(ModalScreen[T], GuardedScreen[T]):
    """Screen whose keys take precedence over the keys of the app. The screen below may stay visible."""
