"""`edit_json` changes only the parts of a JSON text that must change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.model.json_edit import edit_json, edit_json_at, find_json_member, iter_json_parts

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just(1.5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
STYLES = st.sampled_from(
    [
        {},
        {"ensure_ascii": False},
        {"separators": (",", ":")},
        {"indent": 4},
        {"indent": 1, "ensure_ascii": False},
    ]
)


@given(VALUES, VALUES, STYLES)
def test_edited_text_has_the_new_value(old: Any, new: Any, style: dict[str, Any]) -> None:
    edited = edit_json(json.dumps(old, **style), new)
    assert json.loads(edited) == new


@given(VALUES, STYLES)
def test_equal_value_keeps_the_text(value: Any, style: dict[str, Any]) -> None:
    text = f" {json.dumps(value, **style)}\r\n"
    assert edit_json(text, value) == text


@given(
    st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=3),
    VALUES.filter(bool),
    STYLES,
)
def test_text_is_as_if_written_in_the_same_style(
    record: dict[str, Any], value: Any, style: dict[str, Any]
) -> None:
    """The changed member and the others look as `json.dumps` writes them."""
    old = {"a": [{"long": ["x", "y"], "é": 1}], **record, "changed": {"b": [1, 2]}}
    new = {**old, "changed": {"b": [1, 2, value]}}
    text = json.dumps(old, **style)
    if text.isascii() and not style.get("ensure_ascii", True):
        return  # nothing in the text shows that characters are not escaped
    assert edit_json(text, new) == json.dumps(new, **style)


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        # Numbers, escapes and spaces of other parts stay.
        ('{"a":1.50, "b" : "\\u00e9","c":[1,2]}', {"a": 1.5, "b": "é", "c": [1, 3]}, "[1,3]}"),
        ('{"x": [ 4 ], "y": 1e3}', {"x": [4, 4.0], "y": 1000.0}, '{"x": [ 4, 4.0 ], "y": 1e3}'),
        ('{"a": 1, "b": 2}', {"b": 2}, '{"b": 2}'),
        ('{"a": 1}', {"a": 1, "b": []}, '{"a": 1, "b": []}'),
        ("[1, 2, 3]", [1, 3], "[1, 3]"),
        ("[[], {}]", [[1], {"a": 2}], '[[1], {"a": 2}]'),
        # 1 is neither 1.0 nor true.
        ("[1]", [1.0], "[1.0]"),
        ("[1]", [True], "[true]"),
        # Of two members with one name, the last one counts.
        ('{"a": 1, "a": 2}', {"a": 3}, '{"a": 1, "a": 3}'),
    ],
)
def test_other_parts_keep_their_text(text: str, new: Any, expected: str) -> None:
    assert edit_json(text, new).endswith(expected)
    assert json.loads(edit_json(text, new)) == new


def test_inserted_element_is_indented_like_its_neighbours() -> None:
    text = '{\n  "tasks": [\n    {"id": 1},\n    {"id": 2}\n  ],\n  "empty": []\n}\n'
    new = {"tasks": [{"id": 1}, {"id": 3}, {"id": 2}], "empty": ["x"]}
    assert edit_json(text, new) == (
        '{\n  "tasks": [\n    {"id": 1},\n    {\n      "id": 3\n    },\n    {"id": 2}\n  ],\n'
        '  "empty": [\n    "x"\n  ]\n}\n'
    )


def test_member_is_edited_in_its_place() -> None:
    text = '[{"id": "1", "golden": {"a": [1]}}, {"id": "2", "golden": {"a": [1]}}]\n'
    *_, second = iter_json_parts(text)
    golden = find_json_member(text, "golden", second.span.start)
    assert golden is not None
    edited = edit_json_at(text, golden.span, {"a": [2]})
    assert edited == text[: golden.span.start] + '{"a": [2]}' + text[golden.span.end :]


@pytest.mark.parametrize("text", ["", "{", "[1 2]", '{"a" 1}', "{a: 1}", "1 2", '["a",]'])
def test_damaged_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        edit_json(text, 1)
        list(iter_json_parts(text))
