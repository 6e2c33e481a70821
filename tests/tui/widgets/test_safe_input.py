"""Text inputs draw hostile text sanitized, and keep the text unchanged."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App

from fcreview.store.filters.saved import AnnotatorFilters
from fcreview.store.workspace import AnnotatorState
from fcreview.tui.screens.prompts import AskScreen
from fcreview.tui.screens.review_dialogs import NoteBox, NoteScreen
from fcreview.tui.widgets.base import SafeInput
from fcreview.tui.widgets.filter_input import FilterInput, FilterLine
from tests.tui.themed_app import ThemedApp

HOSTILE = "a\x1b]0;title\x9b31m\u202e\u200b[b]z\x7f"
DRAWN = "a␛]0;title‹U+009B›31m‹U+202E›‹U+200B›[b]z␡"


def draw_input(kind: str) -> tuple[str, str]:
    """Return (the drawn line, the text of the input)."""

    async def run() -> tuple[str, str]:
        app: App[None] = ThemedApp()
        async with app.run_test(size=(80, 24)) as pilot:
            if kind == "note":
                await app.push_screen(NoteScreen("x", HOSTILE))
                await pilot.pause()
                box = app.screen.query_one(NoteBox)
                return box.render_line(0).text, box.text
            if kind == "ask":
                await app.push_screen(AskScreen("x", HOSTILE))
                await pilot.pause()
                line = app.screen.query_one(SafeInput)
            else:
                filters = FilterLine(AnnotatorFilters(AnnotatorState(None, "alice")))
                await app.mount(filters)
                filters.open("filter", HOSTILE, "")
                await pilot.pause()
                line = filters.query_one(FilterInput)
            return line.render_line(0).text, line.value

    return asyncio.run(run())


@pytest.mark.parametrize("kind", ["note", "ask", "filter"])
def test_inputs_draw_hostile_text_sanitized(kind: str) -> None:
    line, text = draw_input(kind)
    assert text == HOSTILE
    assert line.strip() == DRAWN
