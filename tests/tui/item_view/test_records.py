"""The records of an item as one text, and the fields that are the benchmark's own."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.item import Extra, Item, RecordLocation
from fcreview.tui.item_view.document import RawRecord, join_records, round_numbers, score_location
from tests.tui.item_view.document_text import WEATHER, detail, text

RECORDS = [
    RawRecord("result", "runs/a_result.json:3", '{"id": "a", "result": []}\n'),
    RawRecord("score", "", "The record cannot be read: gone"),
]


def test_records_stand_below_each_other_with_file_and_line():
    assert join_records(RECORDS, indented=False).splitlines() == [
        "── result ──",
        "runs/a_result.json:3",
        '{"id": "a", "result": []}',
        "",
        "── score ──",
        "The record cannot be read: gone",
    ]


def test_json_is_indented_and_other_text_is_not():
    shown = join_records(RECORDS, indented=True).splitlines()
    assert shown[2:6] == ["{", '  "id": "a",', '  "result": []', "}"]
    assert shown[-1] == "The record cannot be read: gone"


def test_where_the_score_entry_stands():
    item = Item("a", "simple", extra=Extra(score_record=RecordLocation("score/a.json", 2, 9, 4)))
    assert score_location(item) == "score/a.json:2"
    assert score_location(Item("a", "simple", extra=Extra(score_record=RecordLocation("", 2)))) == ""
    assert score_location(Item("a", "simple")) == ""


def test_a_field_shows_no_digits_that_nobody_reads() -> None:
    of = detail(WEATHER)
    of.item.extra.metadata = {"cost": 0.1 + 0.2, "latency": [[1.2345678901234567], [0.1 + 0.2]], "at": {"x": 0.1 + 0.2}}
    of.item.seconds = [12.345678901234567]
    shown = "\n".join(text(of))
    assert "0.3000" not in shown and "12.3457" in shown
    assert "[[1.2346], [0.3]]" in shown and '{"x": 0.3}' in shown
    assert of.item.extra.metadata["cost"] == 0.1 + 0.2, "what is kept stays as it is"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.00001234, 1.23e-05), (0.0, 0.0), (1e30, 1e30), (3, 3), (True, True), ("0.30000000000000004",) * 2,
     ({"longitude": 120.15507123}, {"longitude": 120.15507123}), (float("inf"), float("inf"))],
)  # fmt: skip
def test_numbers_are_rounded_and_nothing_else(value: Any, shown: Any) -> None:
    assert round_numbers(value) == shown
