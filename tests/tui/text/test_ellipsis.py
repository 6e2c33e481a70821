"""Cut lines, rows and prompts end in an ellipsis, and prompts keep all their keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.screens.review_dialogs import FaultScreen, NoteScreen
from fcreview.tui.text.lines import fit_line, line_width, make_line, plain_text
from fcreview.tui.widgets.document_view import LineBar
from fcreview.tui.widgets.lists import render_list_strip
from tests.tui.conftest import MakeApp, screen_lines

PARTS = st.lists(st.text(max_size=6).map(sanitize), max_size=4)


@given(parts=PARTS, cells=st.integers(1, 12))
def test_line_is_whole_or_ends_in_an_ellipsis(parts: list[str], cells: int) -> None:
    whole = tuple((text, "") for text in parts)
    cut = fit_line(whole, cells)
    assert line_width(cut) <= cells
    if display_width(plain_text(whole).rstrip(" ")) > cells:
        assert plain_text(cut).endswith("…")
    else:
        assert plain_text(cut).rstrip(" ") == plain_text(whole).rstrip(" ")


def test_list_rows_are_cut_with_an_ellipsis() -> None:
    row = (("> ", ""), ("text where calls were expected", ""))
    assert render_list_strip(row, 12, Style()).text == "> text wher…"
    assert render_list_strip((("wide", ""), ("   ", "")), 4, Style()).text == "wide"


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_prompts_keep_their_keys_next_to_long_names(
    make_app: MakeApp, size: tuple[int, int], wait_for_screen
) -> None:
    name = "a_name_of_an_item_that_is_long_enough_to_fill_a_line"
    app = make_app([{}])
    async with app.run_test(size=size) as pilot:
        await wait_for_screen(pilot)
        app.push_screen(FaultScreen(name))
        shown = " ".join((await wait_for_screen(pilot))[-2:])
        for letter in ("m model", "g golden", "c checker", "j judge", "s simulator", "q question"):
            assert letter in shown, shown
        await pilot.press("escape")
        app.push_screen(NoteScreen(f"{name} · turn 12 call 3"))
        hint = next(row for row in await wait_for_screen(pilot) if "note on" in row)
        assert "enter saves" in hint and "Esc cancels" in hint and "…" in hint, hint


async def test_bars_are_cut_with_an_ellipsis(make_app: MakeApp, wait_for_screen) -> None:
    app = make_app([{}])
    async with app.run_test(size=(60, 20)) as pilot:
        await wait_for_screen(pilot)
        app.screen.query_one("#rates", LineBar).show(make_line("x" * 61))
        await pilot.pause()
        assert screen_lines(app)[1] == "x" * 59 + "…"
