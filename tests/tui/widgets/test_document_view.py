"""A document view that was hidden shows its new text in the right size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App, ComposeResult

from fcreview.tui.text.layout import TextSource
from fcreview.tui.widgets.document_view import DocumentView


class ViewerApp(App[None]):
    def compose(self) -> ComposeResult:
        yield DocumentView()


async def test_text_set_while_hidden_is_laid_out_when_shown(
    get_screen_lines: Callable[[App[Any]], list[str]],
) -> None:
    async with ViewerApp().run_test(size=(40, 6)) as pilot:
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
