"""The mouse selects text of an item, and Ctrl+C copies it instead of quitting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from fcreview.store.rows import View
from fcreview.tui.app import FcreviewApp
from fcreview.tui.review.clipboard import COPY_FILE_NAME
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.session import Session
from fcreview.tui.widgets.item_text import ItemText
from tests.store.factory import Imported
from tests.tui.key_input import wait_until

ROW = {
    "official": False,
    "first_difference": 'city "Rome" (golden "Paris")',
}


async def select_text(pilot: Pilot[Any], first: tuple[int, int], last: tuple[int, int]) -> None:
    """Press the mouse button at one cell of the item, and release it at another."""
    await pilot.mouse_down(ItemText, offset=first)
    await pilot.hover(ItemText, offset=last)
    await pilot.mouse_up(ItemText, offset=last)
    await pilot.pause()


async def test_selected_text_is_copied_and_without_selection_the_key_quits(
    imported: Imported, tmp_path: Path, wait_for_screen: Any
) -> None:
    workspace = imported(tmp_path / "work", {"maple-8b": [ROW]})
    app = FcreviewApp(Session(workspace, "alice"), View())
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("enter")
        lines = await wait_for_screen(pilot)
        assert isinstance(app.screen, ItemScreen)
        view = app.screen.query_one(ItemText)
        y = next(at for at, line in enumerate(lines) if "weather" in line)
        x = lines[y].index("weather")
        row = y - view.region.y
        await select_text(pilot, (x, row), (x + len("weather") - 1, row))
        assert app.screen.get_selected_text() == "weather"
        marked = [
            segment.text
            for segment in view.render_line(row)
            if segment.style is not None and segment.style.reverse
        ]
        assert marked == ["weather"], "the selection is visible"
        assert any("copies the selected text" in each.message for each in app._notifications)

        await pilot.press("ctrl+c")
        await pilot.pause()
        messages = [each.message for each in app._notifications]
        assert "sent to the terminal's clipboard" in messages[-1]
        copied = workspace.root / COPY_FILE_NAME
        assert copied.read_text("utf-8").rstrip("\n") == "weather"
        assert app.screen.get_selected_text() is None and app.is_running

        first_row = next(at for at, line in enumerate(lines) if "argument " in line)
        row = first_row - view.region.y
        await select_text(pilot, (0, row), (70, row + 1))
        selected = app.screen.get_selected_text().splitlines()
        assert len(selected) == 2 and selected[0].split() == ["argument", "golden", "predicted"]
        assert "│" not in "".join(selected)
        await pilot.press("d")
        await wait_for_screen(pilot)
        assert app.screen.get_selected_text() is None, "other rows are on screen"

        await pilot.press("ctrl+c")
        await wait_until(lambda: app._exit)
