"""Tables that spreadsheets saved or people made are read completely, or the invalid cell is
named.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable

import orjson
import pytest

from fcreview.exporters.label_files import encode_csv
from fcreview.exporters.label_table import read_csv
from fcreview.store.label_import import ImportedReview, InvalidRecord


def read_reviews(content: bytes) -> list[ImportedReview]:
    records = list(read_csv(content))
    assert all(isinstance(record, ImportedReview) for record in records), records
    return [record for record in records if isinstance(record, ImportedReview)]


def read_errors(text: str) -> list[tuple[int, str]]:
    records = list(read_csv(text.encode()))
    return [(record.line, record.reason) for record in records if isinstance(record, InvalidRecord)]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("TRUE", True), ("false", False), ("pass", True), ("unsure", "unsure"), (" FALSE ", False)],
)
def test_verdict_of_a_cell(text: str, verdict: object) -> None:
    (review,) = read_reviews(f"id,value\nx,{text}\n".encode())
    assert review.annotation.verdict == verdict


def test_row_without_a_review_is_skipped() -> None:
    reviews = read_reviews(b"id,value,note,human\r\na,,,TRUE\r\n,,,\r\nb,,look\r\n")
    assert [
        (review.line, review.key_fields["id"], review.annotation.note) for review in reviews
    ] == [(4, "b", "look")]


def test_all_columns_of_a_review() -> None:
    header = "note;id;tags;value;fault;golden_fix;target;annotator;blind;time;model"
    row = (
        '"two\nlines; here";\'=x;"a; b'
        ' ";fail;golden;"{""f"":{}}";turn:1/call:1;alice;FALSE;2026-01-01;m'
    )
    (review,) = read_reviews(f"{header}\r\n{row}\r\n".encode())
    annotation = review.annotation
    assert review.key_fields == {"id": "=x", "model": "m"}
    assert (review.annotator, review.blind, review.time) == (
        "alice",
        False,
        "2026-01-01T00:00:00.000Z",
    )
    assert (annotation.verdict, annotation.fault, annotation.target) == (
        False,
        "golden",
        "turn:1/call:1",
    )
    assert annotation.note == "two\nlines; here"
    assert annotation.golden_fix == {"f": {}}


def test_tags_are_separated_by_semicolons() -> None:
    (review,) = read_reviews(b"id,tags\nx,city; wrong date;\n")
    assert review.annotation.tags == ["city", "wrong date"]


def test_decision_of_an_exported_row_is_no_review() -> None:
    """`fault` and `tags` of an exported row are those of all annotators."""
    assert read_reviews(b"id,fault,tags,human,reviews\nx,golden,city,true,\n") == []


ERRORS = {
    "id,value\nx,maybe\n": (2, "'maybe' is not a valid verdict"),
    "id,value\n,pass\n": (2, "column A (id): the cell is empty"),
    "id,value,fault\nx,pass,\nx,pass,nobody\n": (3, "column C (fault): fault must be one of"),
    "id,target,value\nx,turn:x,pass\n": (2, "invalid target"),
    "id,value,blind\nx,pass,perhaps\n": (2, "column C (blind): the cell is neither TRUE nor FALSE"),
    "id,value,golden_fix\nx,pass,{\n": (2, "column C (golden_fix): the cell is not valid JSON"),
    'id,reviews\nx,"[{""value"":true"\n': (2, "column B (reviews): the cell is not valid JSON"),
    "id,reviews\nx,3\n": (2, "column B (reviews): the cell is not a list of objects"),
    'id,reviews\nx,"[{""value"":true,""fault"":1}]"\n': (
        2,
        "column B (reviews): fault has the wrong type",
    ),
    "id,value\nx,pass,extra\n": (2, "the row has more cells than the first row"),
    "id,value,value\nx,pass,fail\n": (1, "the first row has several columns 'value'"),
    "id,human\nx,pass\n": (1, "the table has no reviews"),
    "name,value\nx,pass\n": (1, "the first row has no column `id`"),
    'id,value\nx,"pa"ss\n': (1, "the table is damaged"),
    "": (1, "the first row has no column `id`"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_invalid_cell_is_named_by_row_and_column(text: str) -> None:
    (row, reason) = ERRORS[text]
    ((found_row, found_reason),) = read_errors(text)
    assert (found_row, reason in found_reason) == (row, True), found_reason


def test_table_in_another_encoding_is_refused() -> None:
    (record,) = read_csv("id,value,note\nx,pass,größer\n".encode("latin-1"))
    assert isinstance(record, InvalidRecord)
    assert record.reason == "the table is not UTF-8. Save it as CSV UTF-8"


def test_field_size_limit_of_other_code_is_unchanged() -> None:
    former = csv.field_size_limit()
    reviews = read_reviews(f"id,note\nx,{'y' * 200_000}\n".encode())
    assert len(reviews[0].annotation.note or "") == 200_000
    assert csv.field_size_limit() == former


def save_with_semicolons(content: bytes) -> bytes:
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\r\n").writerows(rows)
    return codecs.BOM_UTF8 + text.getvalue().encode()


def save_as_unicode_text(content: bytes) -> bytes:
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-16")


def move_and_omit_columns(content: bytes) -> bytes:
    rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    kept = ["reviews", "id", "criterion", "target", "stale", "human"]
    return encode_csv([kept, *([row[name] for name in kept] for row in rows)], "\r\n")


def write_flags_in_upper_case(content: bytes) -> bytes:
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    changed = [
        [cell.upper() if cell in ("true", "false") else cell for cell in row] for row in rows
    ]
    return encode_csv(changed, "\n")


SPREADSHEETS = [
    save_with_semicolons,
    save_as_unicode_text,
    move_and_omit_columns,
    write_flags_in_upper_case,
]


@pytest.mark.parametrize("save", SPREADSHEETS, ids=lambda save: save.__name__)
def test_table_that_a_spreadsheet_saved_has_all_reviews(save: Callable[[bytes], bytes]) -> None:
    opinion = {
        "annotator": "alice",
        "value": True,
        "note": 'a; b\n"c"',
        "tags": ["x y"],
        "blind": True,
    }
    reviews = orjson.dumps([opinion]).decode()
    row = ["x", "item", "correct", "true", "false", "'=note; two", reviews]
    header = ["id", "target", "criterion", "human", "stale", "notes", "reviews"]
    content = encode_csv([header, row], "\r\n")
    expected = read_reviews(content)
    assert expected[0].annotation.note == 'a; b\n"c"'
    assert read_reviews(save(content)) == expected
