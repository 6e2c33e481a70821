"""Optional data of an item is stored as JSON and read back unchanged."""

from __future__ import annotations

from dataclasses import fields

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.item import (
    Erratum,
    Extra,
    RecomputedVerdict,
    RecordedReview,
    RecordLocation,
    StateDifference,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
NAMES = st.text(max_size=5)
SIZES = st.integers(0, 2**40)
EXTRAS = st.builds(
    Extra,
    failing_turn=st.none() | st.integers(0, 50),
    state_differences=st.none()
    | st.dictionaries(NAMES, st.builds(StateDifference, VALUES, VALUES), max_size=3),
    accepted_answers=st.none() | st.lists(VALUES, max_size=3),
    final_answer=st.none() | st.text(),
    golden_record=st.none() | st.dictionaries(NAMES, VALUES, min_size=1, max_size=2),
    score_record=st.none() | st.builds(RecordLocation, NAMES, SIZES, SIZES, SIZES),
    needs=st.none() | st.lists(st.lists(st.text(max_size=5), max_size=2), max_size=2),
    without_errata=st.none()
    | st.builds(RecomputedVerdict, st.none() | st.booleans(), st.none() | NAMES),
    erratum=st.none() | st.builds(Erratum, st.lists(NAMES), NAMES, st.lists(NAMES), VALUES, NAMES),
    recorded_reviews=st.lists(
        st.builds(RecordedReview, NAMES, NAMES, VALUES, events=st.lists(NAMES)), max_size=2
    ),
    redacted=st.booleans(),
    metadata=st.dictionaries(NAMES, VALUES, max_size=3),
)


@given(EXTRAS)
def test_extra_round_trips(extra: Extra) -> None:
    assert Extra.from_json(orjson.loads(orjson.dumps(extra.as_json()))) == extra


def test_empty_extra_stores_nothing() -> None:
    assert Extra().as_json() == {}
    assert Extra.from_json({}) == Extra.from_json(None) == Extra()


def test_every_field_is_stored() -> None:
    whole = Extra(
        failing_turn=1,
        state_differences={"a": StateDifference(1, 2)},
        golden_reply="No tool fits.",
        golden_labels=["inform"],
        compared_with={"turn:1/call:9": 5},
        uncounted_states="+",
        user_calls=[[0, 1]],
        accepted_answers=["7"],
        final_answer="8",
        golden_record={"actions": []},
        score_record=RecordLocation("s.json", 2, 9, 4),
        needs=[["turn:1"]],
        without_errata=RecomputedVerdict(False, "value_error:string"),
        erratum=Erratum(["alice"], "2026-01-01", ["so asked"], [{"f": {"a": [1]}}]),
        recorded_reviews=[RecordedReview("inspect", "bob", True)],
        redacted=True,
        metadata={"path": ["a.b"]},
    )
    keys = {"compared_with": "held_against", "metadata": "more"}
    assert list(whole.as_json()) == [keys.get(field.name, field.name) for field in fields(Extra)]


def test_metadata_names_do_not_conflict_with_fields() -> None:
    extra = Extra(metadata={"failing_turn": "never", "more": 1})
    assert Extra.from_json(extra.as_json()) == extra


def test_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="path"):
        Extra.from_json({"path": ["a.b"]})
