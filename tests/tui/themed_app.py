"""A Textual app with the colours of fcreview that hosts a single screen."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual.app import App

from fcreview.tui.themes import css_variables

T = TypeVar("T")


class ThemedApp(App[T], Generic[T]):
    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), **css_variables("ansi-dark")}
