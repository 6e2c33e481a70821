"""The pager folds JSON."""

from __future__ import annotations

import json

from textual.app import App

from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import DocumentView, LineBar
from tests.tui.themed_app import ThemedApp

TEXT = json.dumps({"rows": [{"name": f"row {n}", "tags": ["a", "b"]} for n in range(3)]})


def shown(app: App[None]) -> list[str]:
    view = app.screen.query_one(DocumentView)
    return [row for y in range(view.size.height) if (row := view.render_line(y).text.rstrip())]


async def test_levels_fold_and_search_includes_folded_text() -> None:
    app: App[None] = ThemedApp()
    app.animation_level = "none"
    async with app.run_test(size=(80, 30)) as pilot:
        await app.push_screen(PagerScreen("records", TEXT))
        await pilot.pause()
        whole = shown(app)
        assert any('"row 2"' in row for row in whole)
        await pilot.press("left", "left")
        assert len(shown(app)) < len(whole)
        assert any("lines … }" in row for row in shown(app))
        assert "2 levels" in plain_text(app.screen.query_one("#pager-title", LineBar).line)
        await pilot.press("slash", *"row 2", "enter")
        await pilot.pause()
        assert any('"row 2"' in row for row in shown(app))
        await pilot.press("left", "right")
        assert shown(app) == whole
        await pilot.press("R", "left")
        assert "no JSON to fold" in plain_text(app.screen.query_one("#pager-title", LineBar).line)
