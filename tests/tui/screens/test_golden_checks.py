"""The golden editor finds problems of a typed golden answer and their positions."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fcreview.errors import FcreviewError
from fcreview.model.item import AcceptedValues, Call, Item, Run
from fcreview.tui.screens.golden_editor import (
    EMPTY_GOLDEN,
    check_text,
    find_problem_position,
    format_original_golden,
    to_line_and_column,
)
from fcreview.tui.session import GoldenSupport
from fcreview.tui.text.lines import format_json

RUN, ITEM = Run("bfcl", "V4", "en", "m", "/r"), Item("a", "simple")
TEXT = '{\n  "golden": [\n    {"book": {"city": ["Ulm"], "days": 3}}\n  ]\n}'


def golden_support(problem: str | None = None, draft: Any = None) -> GoldenSupport:
    return GoldenSupport(lambda *_: draft, lambda *_: problem)


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        ("book has no parameter days", '"days"'),
        ("days of book must be a list of accepted values", '"days"'),
        ("book requires the parameter price", '"book"'),
        ("function books is not available", "{"),
        ("golden is a list", '"golden"'),
    ],
)
def test_problem_is_at_the_deepest_name_it_mentions(problem: str, name: str) -> None:
    assert TEXT[find_problem_position(problem, TEXT) :].startswith(name)


def test_json_errors_have_a_position() -> None:
    found = check_text('{\n  "a": [1,\n}', golden_support(), RUN, ITEM)
    assert found.golden_fix is None
    assert to_line_and_column('{\n  "a": [1,\n}', found.position)[0] == 2


@pytest.mark.parametrize("text", ["[1]", "3", "", "[" * 100_000, '{"a": 1' + "0" * 5000 + "}"])
def test_text_that_is_no_object_is_a_problem(text: str) -> None:
    assert check_text(text, golden_support(), RUN, ITEM).problem


def test_problem_found_by_the_benchmark_is_reported() -> None:
    found = check_text(TEXT, golden_support("book has no parameter days"), RUN, ITEM)
    assert (found.golden_fix, found.problem) == (None, "book has no parameter days")
    assert check_text(TEXT, golden_support(), RUN, ITEM).golden_fix == json.loads(TEXT)


def test_editor_starts_with_empty_object_without_golden_answer() -> None:
    def fail(*_: Any) -> None:
        raise FcreviewError("no way")

    assert format_original_golden(golden_support(), RUN, ITEM) == EMPTY_GOLDEN
    assert format_original_golden(GoldenSupport(fail, fail), RUN, ITEM) == EMPTY_GOLDEN
    assert check_text("{}", GoldenSupport(fail, fail), RUN, ITEM).problem == "no way"


def test_editor_starts_with_the_text_of_a_golden_answer_that_does_not_parse() -> None:
    undecoded = Call(
        "golden", "book", arguments=None, raw='{"book": 3}', decode_error="no arguments object"
    )
    decoded = Call("golden", "pay", arguments={"sum": AcceptedValues([5])})
    item = replace(ITEM, golden=[undecoded, decoded])
    assert format_original_golden(golden_support(), RUN, item) == '{"book": 3}\npay(sum=5)'


def test_only_long_json_values_are_wrapped() -> None:
    value = {"a": [1, 2], "b": {"c": "x" * 60, "d": []}, "e": "ü"}
    text = format_json(value, 40)
    assert json.loads(text) == value
    assert '  "a": [1, 2],' in text.split("\n")
    assert '"ü"' in text
