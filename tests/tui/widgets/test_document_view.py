"""The document view: what it shows when it comes back on screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App, ComposeResult

from fcreview.tui.text.layout import TextSource
from fcreview.tui.widgets.document_view import DocumentView


class Viewer(App[None]):
    def compose(self) -> ComposeResult:
        yield DocumentView()


async def test_what_is_shown_while_it_is_out_of_sight_is_laid_out_when_it_comes_back_as_large_as_it_was(
    get_screen_lines: Callable[[App[Any]], list[str]],
) -> None:
    async with Viewer().run_test(size=(40, 6)) as pilot:
        view = pilot.app.query_one(DocumentView)
        view.show(TextSource("the first text, a line"))
        await pilot.pause()
        view.display = False
        await pilot.pause()
        assert not view.size
        view.show(TextSource("the second text, a line"))
        view.display = True
        await pilot.pause()
        assert get_screen_lines(pilot.app)[0].strip() == "the second text, a line"
