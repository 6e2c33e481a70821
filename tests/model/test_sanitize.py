"""Sanitized text is safe to print and has a predictable width, whatever the data contains."""

from __future__ import annotations

import sys
import time
import unicodedata
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fcreview.model.json_value import TOO_DEEP_TEXT
from fcreview.model.sanitize import (
    MAX_MARKS,
    PLAIN_RANGES,
    REDACTED,
    clip,
    display_width,
    pad,
    redact_api_keys_in_text,
    redact_credentials,
    redact_third_party_keys,
    sanitize,
    sanitize_lines,
)

HOSTILE = "\x1b\x07\x7f\x9b\x85\u202e\u2066\u200b\u200d\ufeff\u00ad\u2028\ufe0f\ud800\ue000\U000e0041\u0301\u0e47\n\t\r"
texts = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(HOSTILE),
        st.characters(categories=["Mn", "Mc", "Me", "Cf", "Cc", "Cs", "Zs"]),
        st.sampled_from("ab é中ｱ👍🏽🇩🇪한\u1100\u1161\u11a8हि☰▸…"),
    )
)


def is_safe(char: str) -> bool:
    category = unicodedata.category(char)
    return (
        category[0] != "C"
        and category not in ("Zl", "Zp", "Me")
        and (category != "Zs" or char in " \u3000")
    )


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("a\x1b[31mb", "a␛[31mb"),
        ("one\ntwo\tthree\r", "one⏎two␉three␍"),
        ("\x00\x7f", "␀␡"),
        ("\x9b31m\x85", "‹U+009B›31m‹U+0085›"),
        ("user\u202etxt.exe", "user‹U+202E›txt.exe"),
        ("a\u200bb\ufeff\u00ad\u2060\u180e", "a‹U+200B›b‹U+FEFF›‹U+00AD›‹U+2060›‹U+180E›"),
        ("\u2028\u2029", "‹U+2028›‹U+2029›"),
        ("\ud800 \U000e0041 \ue000 \uffff", "‹U+D800› ‹U+E0041› ‹U+E000› ‹U+FFFF›"),
        ("300\u00a0km", "300⍽km"),
        ("⚠\ufe0f", "⚠‹U+FE0F›"),
        ("🇩🇪!", "‹DE›!"),
        ("caf\u00e9 cafe\u0301", "café cafe\u0301"),
        ("\u0301a", "‹U+0301›a"),
        ("\x1b\u0301", "␛‹U+0301›"),
        ("东京の天気 한국 Ünï «»", "东京の天気 한국 Ünï «»"),
        ("\u3164\u115f", "‹U+3164›‹U+115F›"),
    ],
)
def test_characters_are_replaced(text: str, drawn: str) -> None:
    assert sanitize(text) == drawn


def test_number_of_stacked_marks_is_limited() -> None:
    drawn = sanitize("a" + "\u0301" * 50)
    assert drawn.count("\u0301") == MAX_MARKS
    assert drawn.count("‹U+0301›") == 50 - MAX_MARKS


@pytest.mark.sweep
@pytest.mark.slow
def test_all_characters_are_safe_and_have_the_width_of_rich() -> None:
    assigned, rest = range(0, 0x33000, 256), range(0x33000, sys.maxunicode + 1, 0x1000)
    for block in [*assigned, *rest, *range(0xE0000, 0xE0200, 256)]:
        drawn = sanitize(" ".join(map(chr, range(block, block + 256))))
        assert all(map(is_safe, drawn)), hex(block)
        assert display_width(drawn) == cell_len(drawn), hex(block)


@pytest.mark.sweep
def test_single_characters_do_not_combine_with_preceding_text() -> None:
    for code in range(sys.maxunicode + 1):
        drawn = sanitize(chr(code))
        assert display_width(drawn[0]) > 0, hex(code)


def test_plain_ranges_contain_only_safe_characters() -> None:
    for first, last in PLAIN_RANGES:
        for char in map(chr, range(first, last + 1)):
            category = unicodedata.category(char)
            assert category[0] in "LNPS" or category == "Zs" or char in "〮〯", hex(ord(char))
            assert is_safe(char), hex(ord(char))


@given(texts)
def test_sanitized_text_has_only_visible_characters(text: str) -> None:
    drawn = sanitize(text)
    assert all(map(is_safe, drawn))
    assert not drawn or unicodedata.category(drawn[0]) not in ("Mn", "Mc")


@given(texts)
def test_sanitize_is_idempotent(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@given(texts, texts)
def test_width_is_additive_and_equals_rich(one: str, other: str) -> None:
    one, other = sanitize(one), sanitize(other)
    assert display_width(one + other) == display_width(one) + display_width(other)
    assert display_width(one) == cell_len(one)


@given(texts, st.integers(-1, 30))
def test_clip_never_exceeds_and_pad_is_exact(text: str, cells: int) -> None:
    text = sanitize(text)
    clipped = clip(text, cells)
    assert display_width(clipped) <= max(cells, 0)
    assert (
        clipped == text
        if display_width(text) <= cells
        else clipped in ("", "…") or text.startswith(clipped[:-1])
    )
    assert display_width(pad(text, cells)) == max(cells, 0)


def test_clip_does_not_split_combined_or_wide_characters() -> None:
    assert clip("e\u0301e\u0301e\u0301", 2) == "e\u0301…"
    assert clip("东京天气", 4) == "东…"
    assert clip("东京", 4) == "东京"
    assert pad("东京天气", 6) == "东京… "


@given(texts)
def test_only_newlines_split_lines(text: str) -> None:
    lines = sanitize_lines(text)
    assert len(lines) == text.count("\n") + 1
    assert all(is_safe(char) for line in lines for char in line)


def test_tabs_become_spaces() -> None:
    assert sanitize_lines("a\tb\r\n\tc\u2028d") == ["a   b␍", "    c‹U+2028›d"]


@pytest.mark.parametrize("text", ["sk-", "sk-a", "token=", "api_key=", "Bearer a", "KEY-----"])
def test_long_texts_without_a_key_take_little_time(text: str) -> None:
    """The time is linear. A search for a digit up to the end of the text took hours."""
    long_text = text * (300_000 // len(text))
    started = time.process_time()
    assert redact_api_keys_in_text(long_text) == long_text
    assert redact_third_party_keys(long_text) == long_text
    assert time.process_time() - started < 5


def test_deeply_nested_settings_are_redacted_and_cut() -> None:
    """A parser reads more levels than a function can walk by recursion."""
    deep: Any = "text"
    for _ in range(5_000):
        deep = [deep]
    redacted = redact_credentials({"api_key": "secret", "deep": deep})
    assert redacted["api_key"] == REDACTED
    assert TOO_DEEP_TEXT in orjson.dumps(redacted).decode()
