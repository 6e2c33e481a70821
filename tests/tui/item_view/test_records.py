"""The records of an item are shown as one text, and benchmark fields as metadata."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.item import Extra, Item, RecordLocation
from fcreview.tui.item_view.document import (
    RawRecord,
    format_score_record_location,
    join_records,
    round_numbers,
)
from tests.tui.item_view.document_text import WEATHER, document_lines, make_detail

RECORDS = [
    RawRecord("result", "runs/a_result.json:3", '{"id": "a", "result": []}\n'),
    RawRecord("score", "", "The record cannot be read: gone"),
]


def test_records_are_joined_with_file_and_line():
    assert join_records(RECORDS, indented=False).splitlines() == [
        "── result ──",
        "runs/a_result.json:3",
        '{"id": "a", "result": []}',
        "",
        "── score ──",
        "The record cannot be read: gone",
    ]


def test_only_json_is_indented():
    shown = join_records(RECORDS, indented=True).splitlines()
    assert shown[2:6] == ["{", '  "id": "a",', '  "result": []', "}"]
    assert shown[-1] == "The record cannot be read: gone"


def test_score_location_names_file_and_line():
    item = Item("a", "simple", extra=Extra(score_record=RecordLocation("score/a.json", 2, 9, 4)))
    assert format_score_record_location(item) == "score/a.json:2"
    assert (
        format_score_record_location(
            Item("a", "simple", extra=Extra(score_record=RecordLocation("", 2)))
        )
        == ""
    )
    assert format_score_record_location(Item("a", "simple")) == ""


def test_metadata_numbers_are_rounded() -> None:
    detail = make_detail(WEATHER)
    detail.item.extra.metadata = {
        "cost": 0.1 + 0.2,
        "latency": [[1.2345678901234567], [0.1 + 0.2]],
        "at": {"x": 0.1 + 0.2},
    }
    detail.item.seconds = [12.345678901234567]
    shown = "\n".join(document_lines(detail))
    assert "0.3000" not in shown and "12.3457" in shown
    assert "[[1.2346], [0.3]]" in shown and '{"x": 0.3}' in shown
    assert detail.item.extra.metadata["cost"] == 0.1 + 0.2, "the item keeps the exact value"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.00001234, 1.23e-05),
        (0.0, 0.0),
        (1e30, 1e30),
        (3, 3),
        (True, True),
        ("0.30000000000000004",) * 2,
        ({"longitude": 120.15507123}, {"longitude": 120.15507123}),
        (float("inf"), float("inf")),
    ],
)
def test_only_floats_are_rounded(value: Any, shown: Any) -> None:
    assert round_numbers(value) == shown
