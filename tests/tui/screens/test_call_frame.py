"""The frame of the call under the cursor is drawn like that of a focused panel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fcreview.matching.align import align_calls
from fcreview.model.item import AcceptedValues, Call
from fcreview.tui.text.styles import get_style
from fcreview.tui.widgets.item_text import ItemText
from tests.tui.screens.conftest import import_items, make_simple_item
from tests.tui.screens.item_host import item_screen, open_item_host


def find_border_colours(view: ItemText) -> dict[str, Any]:
    """Return the colour of the bottom border of each call, by its footer: `call 1 of 2`."""
    colours = {}
    for strip in view._strips:
        if "╰" not in strip.text or " · call " not in strip.text:
            continue
        border = next(segment for segment in strip if "╰" in segment.text)
        footer = strip.text.partition(" · ")[2].removesuffix(" ─╯")
        colours[footer] = border.style.color if border.style is not None else None
    return colours


async def test_only_the_call_under_the_cursor_has_the_frame_of_a_focused_panel(
    tmp_path: Path,
) -> None:
    golden = []
    predicted = []
    for index, city in enumerate(("Ulm", "Rome")):
        accepted = {"city": AcceptedValues([city])}
        golden.append(Call("golden", "get_weather", arguments=accepted, index=index))
        predicted.append(Call("predicted", "get_weather", arguments={"city": "Bonn"}, index=index))
    item = replace(
        make_simple_item(0),
        golden=golden,
        predicted=predicted,
        pairs=align_calls(golden, predicted),
    )
    workspace = import_items(tmp_path, [item])

    async with open_item_host(workspace, size=(100, 32)) as (app, keys):
        view = item_screen(app).text
        focused = set()
        for key in ("home", "j", "j"):
            await keys.press(key)
            colours = find_border_colours(view)
            assert list(colours) == ["call 1 of 2", "call 2 of 2"]
            calls = [
                call for call, colour in colours.items() if colour == get_style("primary").color
            ]
            assert len(calls) <= 1
            focused |= set(calls)
        assert focused == {"call 1 of 2", "call 2 of 2"}

        app.set_focus(None)
        await keys.wait()
        assert get_style("primary").color not in find_border_colours(view).values()
