"""Read reviews from a CSV table: from `export --format csv`, also after a spreadsheet has saved it,
or by a person.

Spreadsheets change tables: they write a byte order mark or UTF-16, separate cells by semicolons or
tabs, write `TRUE` for `true`, and move or omit columns. Columns are therefore found by the names in
the first row.

* The column `reviews` has the reviews of an exported label, as JSON. It is the field `opinions` of
  JSON Lines.
* A cell in the column `value` or `note` is a new review, with the cells of the columns `annotator`,
  `time` and `blind`. In a table without the column `reviews`, the cells of `fault`, `tags` and
  `golden_fix` belong to the review too. In an exported table, they describe the decision of all
  annotators.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from fcreview.exporters.label_files import FORMULA_STARTS, REVIEW_FIELDS, REVIEWS_COLUMN
from fcreview.model.review import ItemKey
from fcreview.store.label_fields import VERDICT_KEY
from fcreview.store.label_import import ImportedReview, InvalidRecord, parse_review

DELIMITERS = (",", ";", "\t")
MAX_CELL_CHARACTERS = 1 << 30
FLAGS = {"true": True, "false": False}  # in lower case
_ITEM_COLUMNS = (*ItemKey._fields, "target", "criterion", "prediction_hash", "golden_hash")
_FIELD_IN_MESSAGE = re.compile(r"`?(\w+)`?")


class _CellError(ValueError):
    """Raised for a cell that cannot be read. The message does not name the column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def read_csv(content: bytes) -> Iterator[ImportedReview | InvalidRecord]:
    """Read the reviews in the rows of a CSV file.

    Rows have the numbers that a spreadsheet shows: the row with the names of the columns is row 1.
    """
    try:
        rows = _parse_rows(_decode(content))
        table = _Table.from_header(rows[0] if rows else [])
    except ValueError as error:
        yield InvalidRecord(1, str(error))
        return
    for number, cells in enumerate(rows[1:], 2):
        if any(cells):
            yield from table.read_row(number, cells)


def _decode(content: bytes) -> str:
    is_utf_16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return content.decode("utf-16" if is_utf_16 else "utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the table is not UTF-8. Save it as CSV UTF-8") from None


def _parse_rows(text: str) -> list[list[str]]:
    """Split a table into cells.

    The delimiter is the one with which the first row has a column `id`.
    """
    first_line = text.partition("\n")[0]
    for delimiter in DELIMITERS:
        if "id" in _split_cells(first_line, delimiter)[0]:
            return _split_cells(text, delimiter)
    raise ValueError(
        "the first row has no column `id`. Columns are separated by commas, semicolons or tabs"
    )


def _split_cells(text: str, delimiter: str) -> list[list[str]]:
    """Split a table into rows of cells. Raises ValueError for a damaged table."""
    former_limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        # `newline=""` keeps line breaks in cells as they are.
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ValueError(f"the table is damaged: {error}") from None
    finally:
        csv.field_size_limit(former_limit)
    return rows or [[]]


def _find_columns(cells: Sequence[str]) -> dict[str, int]:
    """Return the position of each column that has a name. Raises ValueError for a repeated name."""
    columns: dict[str, int] = {}
    repeated_names = set()
    for position, cell in enumerate(cells):
        name = cell.strip()
        if name in columns:
            repeated_names.add(name)
        if name:
            columns[name] = position
    if repeated_names:
        raise ValueError(f"the first row has several columns {min(repeated_names)!a}")
    return columns


@dataclass(frozen=True, slots=True)
class _Table:
    columns: Mapping[str, int]  # position by name

    @classmethod
    def from_header(cls, cells: Sequence[str]) -> _Table:
        """Create the table from its first row, which has the names of the columns.

        Raises ValueError if a name occurs twice, or if no column can contain a review.
        """
        columns = _find_columns(cells)
        can_contain_review = REVIEWS_COLUMN in columns or columns.keys() & set(REVIEW_FIELDS)
        if not can_contain_review:
            names = ", ".join((REVIEWS_COLUMN, *REVIEW_FIELDS))
            raise ValueError(f"the table has no reviews. Reviews are in one of the columns {names}")
        return cls(columns)

    def read_row(
        self, number: int, cells: Sequence[str]
    ) -> Iterator[ImportedReview | InvalidRecord]:
        """Yield the reviews of a row, or an invalid record that names the wrong column.

        A row can have the reviews of an export, in one cell, and a new review in the other cells.
        An empty result means that the row has no review.
        """
        try:
            last_column = max(self.columns.values())
            if any(cells[last_column + 1 :]):
                raise ValueError("the row has more cells than the first row")
            label = self._read_label(cells)
            exported_reviews = self._read_exported_reviews(cells)
            written_review = self._read_written_review(cells)
        except _CellError as error:
            yield self._make_invalid_record(number, error.column, str(error))
            return
        except ValueError as error:
            yield InvalidRecord(number, str(error))
            return

        for exported_review in exported_reviews:
            yield self._parse_review(number, label, exported_review, is_written=False)
        if written_review is not None:
            yield self._parse_review(number, label, written_review, is_written=True)

    def _parse_review(
        self,
        number: int,
        label: Mapping[str, Any],
        opinion: Mapping[str, Any],
        *,
        is_written: bool,
    ) -> ImportedReview | InvalidRecord:
        """Return the review with an opinion on a label, or an invalid record that names the wrong
        column.

        A person wrote the opinion into several cells (`is_written`), or an export wrote it into
        one.
        """
        try:
            return parse_review(number, label, opinion, check_scale=is_written)
        except ValueError as error:
            column = _find_column_in_message(str(error)) if is_written else REVIEWS_COLUMN
            return self._make_invalid_record(number, column, str(error))

    def _make_invalid_record(self, number: int, column: str, reason: str) -> InvalidRecord:
        """Return an invalid record that names the column by its letter, as a spreadsheet does."""
        position = self.columns.get(column)
        if position is None:
            return InvalidRecord(number, reason)
        return InvalidRecord(
            number, f"column {_format_column_letters(position)} ({column}): {reason}"
        )

    def _get_cell(self, cells: Sequence[str], name: str) -> str:
        """Return the text in a column of a row. Empty if the table or the row lacks the column."""
        position = self.columns.get(name)
        if position is None or position >= len(cells):
            return ""
        text = cells[position]
        # The export writes an apostrophe before a text that looks like a formula.
        if text.startswith("'") and text[1:].startswith(FORMULA_STARTS):
            return text[1:]
        return text

    def _read_label(self, cells: Sequence[str]) -> dict[str, Any]:
        label = {name: self._get_cell(cells, name) for name in _ITEM_COLUMNS}
        if not label["id"]:
            raise _CellError("id", "the cell is empty")
        return {name: text for name, text in label.items() if text}

    def _read_exported_reviews(self, cells: Sequence[str]) -> list[dict[str, Any]]:
        """Return the reviews that an export wrote to the cell of the column `REVIEWS_COLUMN`, as a
        JSON list.
        """
        text = self._get_cell(cells, REVIEWS_COLUMN)
        if not text.strip():
            return []
        try:
            opinions = orjson.loads(text)
        except ValueError:
            raise _CellError(
                REVIEWS_COLUMN, "the cell is not valid JSON. Was it cut off or changed?"
            ) from None
        if not isinstance(opinions, list):
            raise _CellError(REVIEWS_COLUMN, "the cell is not a list of objects")

        reviews = []
        for opinion in opinions:
            if not isinstance(opinion, dict):
                raise _CellError(REVIEWS_COLUMN, "the cell is not a list of objects")
            if any(opinion.get(name) is not None for name in REVIEW_FIELDS):
                reviews.append(opinion)
        return reviews

    def _read_written_review(self, cells: Sequence[str]) -> dict[str, Any] | None:
        """Return the review that a person wrote into a row. None if the row has no review."""
        review = {}
        for name, value in self._read_written_values(cells).items():
            if value not in (None, "", []):
                review[name] = value
        if not review:
            return None
        review["annotator"] = self._get_cell(cells, "annotator")
        review["time"] = self._get_cell(cells, "time")
        review["blind"] = self._read_flag(cells, "blind")
        return review

    def _read_written_values(self, cells: Sequence[str]) -> dict[str, Any]:
        """Return the values of the columns that a person can fill. Some may be empty.

        In a table that fcreview exported, a person can only add a verdict and a note. The other
        columns for reviews describe the reviews that existed at the export.
        """
        values: dict[str, Any] = {
            VERDICT_KEY: self._read_verdict(cells),
            "note": self._get_cell(cells, "note"),
        }
        is_exported = REVIEWS_COLUMN in self.columns
        if not is_exported:
            values["fault"] = self._get_cell(cells, "fault")
            values["tags"] = self._read_tags(cells)
            values["golden_fix"] = self._read_json(cells, "golden_fix")
        return values

    def _read_verdict(self, cells: Sequence[str]) -> Any:
        text = self._get_cell(cells, VERDICT_KEY).strip()
        if text.lower() in FLAGS:
            return FLAGS[text.lower()]
        return text or None

    def _read_flag(self, cells: Sequence[str], name: str) -> bool | None:
        text = self._get_cell(cells, name).strip().lower()
        if text and text not in FLAGS:
            raise _CellError(name, "the cell is neither TRUE nor FALSE")
        return FLAGS.get(text)

    def _read_tags(self, cells: Sequence[str]) -> list[str]:
        tags = [tag.strip() for tag in self._get_cell(cells, "tags").split(";")]
        return [tag for tag in tags if tag]

    def _read_json(self, cells: Sequence[str], name: str) -> Any:
        """Return the JSON value in a cell, or None if it is empty. Raises _CellError if it is
        invalid.
        """
        text = self._get_cell(cells, name)
        if not text.strip():
            return None
        try:
            return orjson.loads(text)
        except ValueError:
            raise _CellError(name, "the cell is not valid JSON") from None


def _find_column_in_message(message: str) -> str:
    """Return the name with which an error message about a field begins; empty if there is none."""
    if "is not a valid verdict" in message:
        return VERDICT_KEY
    match = _FIELD_IN_MESSAGE.match(message)
    return match[1] if match else ""


def _format_column_letters(position: int) -> str:
    """Return the letters of a column in a spreadsheet: A for 0, AA for 26."""
    quotient, remainder = divmod(position, 26)
    last_letter = chr(ord("A") + remainder)
    if quotient == 0:
        return last_letter
    return _format_column_letters(quotient - 1) + last_letter
