"""Symbols and styles follow the environment."""

from __future__ import annotations

import dataclasses

import pytest

from fcreview.model.sanitize import display_width
from fcreview.tui.text import styles
from fcreview.tui.text.styles import (
    ASCII_SYMBOLS,
    UNICODE_SYMBOLS,
    is_colour_enabled,
    prefers_ascii,
)


@pytest.mark.parametrize(
    ("env", "ascii_set"),
    [
        ({}, False),
        ({"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}, False),
        ({"LANG": "de_DE.utf8"}, False),
        ({"TERM": "linux", "LANG": "en_US.UTF-8"}, True),
        ({"LANG": "en_US.ISO-8859-1"}, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True),
        ({"LC_ALL": "C.UTF-8"}, False),
        ({"FCREVIEW_ASCII": "1", "LANG": "en_US.UTF-8"}, True),
        ({"FCREVIEW_ASCII": "0", "TERM": "linux"}, False),
    ],
)
def test_symbol_set_follows_terminal_and_locale(env, ascii_set):
    assert prefers_ascii(env) is ascii_set


@pytest.mark.parametrize(
    ("env", "colour"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_follows_no_color_and_terminal(env, colour):
    assert is_colour_enabled(env) is colour


def test_symbols_take_one_cell_and_ascii_symbols_are_ascii():
    in_text_only = {"plus_minus": "+/-"}
    for symbols in (dataclasses.asdict(ASCII_SYMBOLS), dataclasses.asdict(UNICODE_SYMBOLS)):
        for name, symbol in symbols.items():
            assert display_width(symbol) == 1 or in_text_only.get(name) == symbol, name
    assert all(symbol.isascii() for symbol in dataclasses.astuple(ASCII_SYMBOLS))
    assert ASCII_SYMBOLS.ellipsis != ASCII_SYMBOLS.arrow, (
        'a cut value before an arrow: "Hangzhou, ~ > "Hangz~'
    )


def test_verdicts_differ_without_colour():
    for symbols in (ASCII_SYMBOLS, UNICODE_SYMBOLS):
        shown = [
            symbols.verdict_symbol(value)
            for value in (True, False, "unsure", None, "disputed", 0, 1, 2)
        ]
        assert len(set(shown)) == len(shown)


async def test_ascii_queue_is_ascii(make_app, wait_for_screen, monkeypatch):
    monkeypatch.setenv("FCREVIEW_ASCII", "1")
    styles.clear_style_caches()
    async with make_app([{"official": True}, {"first_difference": "x" * 200}, {}]).run_test(
        size=(80, 24)
    ) as pilot:
        text = "\n".join(await wait_for_screen(pilot))
        await pilot.press("question_mark")
        text += "\n".join(await wait_for_screen(pilot))
    assert text.isascii(), sorted({char for char in text if not char.isascii()})


async def test_no_color_removes_all_colours(make_app, wait_for_screen, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    styles.clear_style_caches()
    async with make_app([{"official": True}, {}]).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("f", "x")
        await wait_for_screen(pilot)
        segments = [
            segment for strip in pilot.app.screen._compositor.render_strips() for segment in strip
        ]
    colours = {(style.color, style.bgcolor) for _, style, _ in segments if style is not None}
    assert all(colour is None or colour.is_default for pair in colours for colour in pair)
    assert any(style is not None and style.reverse for _, style, _ in segments), "the cursor"
