"""Indented JSON folded level by level. Pure."""

from __future__ import annotations

import json

import pytest

from fcreview.tui.text.layout import deepest, folded_at, pretty
from fcreview.tui.text.lines import laid_out_text

TEXT = pretty(json.dumps({"a": {"b": {"c": 1, "d": 2}}, "e": [1, [2, 3]]}))


def test_each_level_says_how_many_lines_it_hides() -> None:
    assert deepest(TEXT) == 3
    assert folded_at(TEXT, 1).split("\n") == ["{", '  "a": { … 4 lines … },', '  "e": [ … 5 lines … ]', "}"]
    assert folded_at(TEXT, 2).split("\n")[2] == '    "b": { … 2 lines … }'


@pytest.mark.parametrize("depth", [3, 9])
def test_deep_enough_nothing_is_hidden(depth: int) -> None:
    assert folded_at(TEXT, depth) == TEXT


def test_a_text_without_levels_has_none() -> None:
    assert deepest("a\nb") == 0


def test_a_value_that_fits_stays_on_its_line_and_what_is_no_json_stays_as_it_is() -> None:
    assert laid_out_text("[1, 2]") == "[1, 2]"
    assert laid_out_text('"a" or "b"') == '"a" or "b"'
    long = json.dumps({"a": list(range(40))})
    assert laid_out_text(long).startswith('{\n  "a": [\n    0,')
    assert laid_out_text("[" * 100_000) == "[" * 100_000
