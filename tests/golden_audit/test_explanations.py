from __future__ import annotations

from typing import Any

import pytest

from fcreview.golden_audit.consistency import GoldenAnswerIndex, find_explained_failures
from tests.golden_audit.cases import (
    ModelAnswer,
    make_empty_index,
    make_evidence,
    make_golden,
    make_question,
    make_schema,
)

DOCUMENT = make_schema(
    unit="Unit, default is 'km'.", place="Where.", amount={"type": "float"}, round={"type": "integer", "default": 2}
)


def explain(wanted: dict[str, list[Any]], given: dict[str, Any], siblings: GoldenAnswerIndex | None = None) -> str:
    made = make_question([make_golden(**wanted)], [DOCUMENT], [ModelAnswer([0, 2], given)])
    return " ".join(
        reason.text for reason in find_explained_failures(make_evidence(made), siblings or make_empty_index())
    )


@pytest.mark.parametrize(
    ("accepted", "given", "word"),
    [
        ("x^2 + 1", "x**2+1", "same formula"),
        ("3x^2", "3 * x ** 2", "same formula"),
        ("lambda x: x**2", "x^2", "same formula"),
        ("San Francisco, CA", "CA", "shorter form"),
        ("San Francisco, CA", "San Francisco", "shorter form"),
        ("New York City", "NYC", "shorter form"),
        ("kilometers", "km", "same unit, written differently"),
        ("2020-01-31", "January 31, 2020", "same date"),
        ("2020-01-31", "01/31/2020", "same date"),
        ("Café", "cafe", "only case, spaces or punctuation"),
        ("prediction", "predictions", "same words in another form"),
        (5, "5", "same number"),
        ("5,000", "5000.0", "same number"),
        (0.05, 5, "in percent"),
        ([1.0, 2.0], [1, 2], "as integers or floats"),
        (["a", "b"], ["b", "a"], "another order"),
        (["a"], "a", "with or without a list"),
        (True, "true", "as a string"),
    ],
)
def test_notation_explains_a_failure(accepted: Any, given: Any, word: str) -> None:
    assert word in explain({"place": [accepted]}, {"place": given})


@pytest.mark.parametrize(
    ("accepted", "given"),
    [("Rome", "Oslo"), (5, 6), ("x^2", "x^3"), ("2020-01-31", "2020-02-01"), ("km", "mile"), ([1, 2], [1, 3]), (0, 1)],
)
def test_different_value_is_not_explained(accepted: Any, given: Any) -> None:
    assert explain({"place": [accepted]}, {"place": given}) == ""


def test_default_explains_a_failure() -> None:
    assert "default" in explain({"unit": ["km"]}, {})
    assert "default" in explain({"place": ["Oslo"]}, {"place": "Oslo", "round": 2})
    assert explain({"unit": ["mile"]}, {}) == ""
    assert explain({"place": ["Oslo"]}, {"place": "Oslo", "round": 3}) == ""


def test_answer_with_a_real_difference_is_not_explained() -> None:
    assert explain({"unit": ["km"], "place": ["Oslo"]}, {"place": "Rome"}) == ""


def test_value_accepted_by_another_item_explains_a_failure() -> None:
    other = make_question([make_golden(place=["the Bay", "Frisco"])], [DOCUMENT], number=7)
    assert "which simple_7 accepts" in explain({"place": ["the Bay"]}, {"place": "Frisco"}, GoldenAnswerIndex([other]))
    assert explain({"unit": ["the Bay"]}, {"unit": "Frisco"}, GoldenAnswerIndex([other])) == ""
