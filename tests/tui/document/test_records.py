"""The records of an item as one text."""

from __future__ import annotations

from fcreview.extra import Extra, RecordPlace
from fcreview.model import Item
from fcreview.tui.document.records import Record, joined, score_place

RECORDS = [
    Record("result", "runs/a_result.json:3", '{"id": "a", "result": []}\n'),
    Record("score", "", "The record cannot be read: gone"),
]


def test_records_stand_below_each_other_with_file_and_line():
    assert joined(RECORDS, indented=False).splitlines() == [
        "── result ──",
        "runs/a_result.json:3",
        '{"id": "a", "result": []}',
        "",
        "── score ──",
        "The record cannot be read: gone",
    ]


def test_json_is_indented_and_other_text_is_not():
    shown = joined(RECORDS, indented=True).splitlines()
    assert shown[2:6] == ["{", '  "id": "a",', '  "result": []', "}"]
    assert shown[-1] == "The record cannot be read: gone"


def test_where_the_score_entry_stands():
    item = Item("a", "simple", extra=Extra(score_record=RecordPlace("score/a.json", 2, 9, 4)))
    assert score_place(item) == "score/a.json:2"
    assert score_place(Item("a", "simple", extra=Extra(score_record=RecordPlace("", 2)))) == ""
    assert score_place(Item("a", "simple")) == ""
