"""Indented JSON folded level by level. Pure."""

from __future__ import annotations

import json

import pytest

from fcreview.tui.text.text_source import deepest, folded_at, pretty

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
