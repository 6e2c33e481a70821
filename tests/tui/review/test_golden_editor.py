"""What is wrong with a typed golden answer, and where: pure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fcreview.errors import FcreviewError
from fcreview.model.item import Item, Run
from fcreview.tui.review.golden_correction import (
    EMPTY_GOLDEN,
    check_text,
    find_problem_position,
    initial_text,
    line_and_column,
)
from fcreview.tui.session import GoldenSupport
from fcreview.tui.text.lines import format_json

RUN, ITEM = Run("bfcl", "V4", "en", "m", "/r"), Item("a", "simple")
TEXT = '{\n  "golden": [\n    {"book": {"city": ["Ulm"], "days": 3}}\n  ]\n}'


def golden(problem: str | None = None, draft: Any = None) -> GoldenSupport:
    return GoldenSupport(lambda *_: draft, lambda *_: problem, lambda *_: None)


@pytest.mark.parametrize(
    ("problem", "there"),
    [
        ("book has no parameter days", '"days"'),
        ("days of book must be a list of accepted values", '"days"'),
        ("book requires the parameter price", '"book"'),
        ("function books is not available", "{"),
        ("golden is a list", '"golden"'),
    ],
)
def test_a_problem_stands_at_the_deepest_name_it_mentions(problem: str, there: str) -> None:
    assert TEXT[find_problem_position(problem, TEXT) :].startswith(there)


def test_json_errors_have_their_place() -> None:
    found = check_text('{\n  "a": [1,\n}', golden(), RUN, ITEM)
    assert found.golden_fix is None
    assert line_and_column('{\n  "a": [1,\n}', found.position)[0] == 2


@pytest.mark.parametrize("text", ["[1]", "3", "", "[" * 100_000, '{"a": 1' + "0" * 5000 + "}"])
def test_what_is_no_object_is_a_problem(text: str) -> None:
    assert check_text(text, golden(), RUN, ITEM).problem


def test_what_the_benchmark_says_is_told() -> None:
    found = check_text(TEXT, golden("book has no parameter days"), RUN, ITEM)
    assert (found.golden_fix, found.problem) == (None, "book has no parameter days")
    assert check_text(TEXT, golden(), RUN, ITEM).golden_fix == json.loads(TEXT)


def test_without_a_known_golden_answer_it_begins_with_an_empty_object() -> None:
    def unable(*_: Any) -> None:
        raise FcreviewError("no way")

    assert initial_text(golden(), RUN, ITEM) == EMPTY_GOLDEN
    assert initial_text(GoldenSupport(unable, unable, unable), RUN, ITEM) == EMPTY_GOLDEN
    assert check_text("{}", GoldenSupport(unable, unable, unable), RUN, ITEM).problem == "no way"


def test_json_is_broken_only_where_it_does_not_fit() -> None:
    value = {"a": [1, 2], "b": {"c": "x" * 60, "d": []}, "e": "ü"}
    text = format_json(value, 40)
    assert json.loads(text) == value
    assert '  "a": [1, 2],' in text.split("\n")
    assert '"ü"' in text
