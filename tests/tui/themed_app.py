"""A Textual app with the colours of fcreview that hosts a single screen."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual.app import App

from fcreview.tui.themes import build_css_variables

T = TypeVar("T")


class ThemedApp(App[T], Generic[T]):
    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), **build_css_variables("ansi-dark")}
