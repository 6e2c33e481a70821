"""Badges, bars, heat cells, intervals and the top line."""

from __future__ import annotations

import pytest

from fcreview.tui.text import styles
from fcreview.tui.text.graphics import heat_cell, interval_bar, share_bar, top_line, verdict_badge
from fcreview.tui.text.lines import line_width, plain_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, " PASS "),
        (False, " FAIL "),
        ("unsure", " UNSURE "),
        (2, " 2 "),
        (0, " 0 "),
        (None, " – "),
    ],
)
def test_badge_names_the_verdict(value: object, text: str) -> None:
    assert verdict_badge(value)[0] == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "──────────"),
        (0.001, "━─────────"),
        (0.5, "━━━━━─────"),
        (1, "━━━━━━━━━━"),
        (7, "━━━━━━━━━━"),
    ],
)
def test_bar_length_follows_the_share(share: float, text: str) -> None:
    assert plain_text(share_bar(share, 10)) == text


def test_heat_cell_has_figure_and_colour() -> None:
    assert heat_cell(0.762, 8) == ("  76.2  ", "heat:76")
    assert heat_cell(None, 5) == ("  –  ", "dim")


def test_interval_has_point_and_mark() -> None:
    assert plain_text(interval_bar(40, 50, 70, (0, 100), 11, marked_value=20)) == "──┃─━●━━───"
    assert plain_text(interval_bar(-5, 0, 200, (0, 100), 5)) == "●━━━━"
    assert line_width(interval_bar(1, 1, 1, (1, 1), 4)) == 4


def test_top_line_drops_outer_names_first() -> None:
    path, right = ("result/", "maple-8b", "failures"), (("alice", "people"),)
    assert plain_text(top_line(path, right, 60)).startswith(
        " fcreview   result/ › maple-8b › failures "
    )
    assert plain_text(top_line(path, right, 44)).startswith(" fcreview   maple-8b › failures ")
    for cells in range(30, 80):
        line = top_line(path, right, cells)
        assert line_width(line) == cells and plain_text(line).endswith("alice ")
        assert "failures" in plain_text(line)


def test_narrow_top_line_keeps_the_end_of_the_run_name() -> None:
    path = ("gpt-4o-mini-2024-07-18-FC", "live_multiple_733-167-4")
    assert plain_text(top_line(path, (), 56)).startswith(
        " fcreview   …024-07-18-FC › live_multiple_733-167-4 "
    )


def test_ascii_graphics_are_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FCREVIEW_ASCII", "1")
    styles.clear_style_caches()
    lines = [
        share_bar(0.5, 9),
        interval_bar(1, 2, 3, (0, 4), 9, marked_value=0),
        top_line(("a", "b"), (), 40),
        (verdict_badge(None),),
    ]
    assert all(plain_text(line).isascii() for line in lines)
