"""Indented JSON is folded level by level."""

from __future__ import annotations

import json

import pytest

from fcreview.tui.text.layout import find_max_indent_level, fold_indented_lines, indent_json
from fcreview.tui.text.lines import format_json_text

TEXT = indent_json(json.dumps({"a": {"b": {"c": 1, "d": 2}}, "e": [1, [2, 3]]}))


def test_folded_levels_show_the_number_of_hidden_lines() -> None:
    assert find_max_indent_level(TEXT) == 3
    assert fold_indented_lines(TEXT, 1).split("\n") == [
        "{",
        '  "a": { … 4 lines … },',
        '  "e": [ … 5 lines … ]',
        "}",
    ]
    assert fold_indented_lines(TEXT, 2).split("\n")[2] == '    "b": { … 2 lines … }'


@pytest.mark.parametrize("depth", [3, 9])
def test_deepest_level_hides_nothing(depth: int) -> None:
    assert fold_indented_lines(TEXT, depth) == TEXT


def test_hidden_lines_at_both_ends_of_a_text_are_counted() -> None:
    text = "    deep\nfirst\n    deep\n    deep"
    assert fold_indented_lines(text, 1) == "… 1 line … first\n… 2 lines …"


def test_text_without_levels_has_level_0() -> None:
    assert find_max_indent_level("a\nb") == 0


def test_short_json_stays_on_one_line_and_other_text_is_unchanged() -> None:
    assert format_json_text("[1, 2]") == "[1, 2]"
    assert format_json_text('"a" or "b"') == '"a" or "b"'
    long = json.dumps({"a": list(range(40))})
    assert format_json_text(long).startswith('{\n  "a": [\n    0,')
    assert format_json_text("[" * 100_000) == "[" * 100_000
