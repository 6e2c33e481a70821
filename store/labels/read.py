"""Parquet, written by DuckDB on a connection of its own: that of the store reaches no files.

Rows go through a file of JSON Lines, so memory does not grow with them. What is JSON in a label is text here.

Labels read a part of the items at a time, with their values or as JSON.

Both come from the same rows. DuckDB makes the JSON of a row in one piece, for formats that hand it on as it is; where
values are wanted, columns are read faster than that text is parsed again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import orjson

from fcreview.model.review import ItemKey
from fcreview.store.database import connect, literal, with_room
from fcreview.store.labels.fields import (
    AUTOMATIC_FIELDS,
    CONTENT_FIELDS,
    JSON,
    LABEL_FIELDS,
    OPINION_FIELDS,
    IS_ITEM_VERDICT,
    TEXT,
    VERDICT_KEY,
    LabelField,
    DuckDBType,
    labels_sql,
)
from fcreview.store.queries.item_detail import fetch_function_docs

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.queries.item_order import ItemChunk
    from fcreview.store.reviews.review_tables import ReviewTables


PARQUET_MEMORY_LIMIT = "256MB"
DEFAULT_MAX_LINE_BYTES = 1 << 24
"""Bytes of the longest line that DuckDB reads unless it is told of a longer one."""


def write_parquet(path: Path, column_types: Mapping[str, DuckDBType], chunks: Iterable[list[str]]) -> None:
    """Writes rows with these fields, each the text of a JSON object, to `path`, which is replaced.

    OSError if the disk says no; StoreError if the largest of them take more memory than they may.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".rows.", suffix=".jsonl") as lines:
        longest = 0
        for chunk in chunks:
            text = "\n".join([*chunk, ""]).encode()
            longest = max(longest, *map(len, text.split(b"\n"))) if len(text) > DEFAULT_MAX_LINE_BYTES else longest
            lines.write(text)
        lines.flush()
        _convert(Path(lines.name), path, column_types, max(DEFAULT_MAX_LINE_BYTES, longest + 1))


def _convert(lines: Path, path: Path, shapes: Mapping[str, DuckDBType], longest: int) -> None:
    columns = ", ".join(f"{literal(name)}: '{to_sql_type(shape)}'" for name, shape in shapes.items())
    texts = ", ".join(f'CAST("{name}" AS {to_sql_type(shape, json_as=TEXT)}) AS "{name}"' for name, shape in shapes.items())
    connection = connect()
    try:
        connection.execute(f"SET memory_limit = '{PARQUET_MEMORY_LIMIT}'")
        connection.execute("SET threads = 2")
        statement = (
            f"COPY (SELECT {texts} FROM read_json({literal(lines)}, format = 'newline_delimited',"
            f" columns = {{{columns}}}, maximum_object_size = {longest}))"
            f" TO {literal(path)} (FORMAT parquet, COMPRESSION zstd)"
        )
        with_room(connection, lambda: connection.execute(statement))
    except duckdb.IOException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def to_sql_type(shape: DuckDBType, json_as: str = JSON) -> str:
    """The type as DuckDB writes it: `STRUCT("source" VARCHAR, "value" JSON)[]`."""
    if isinstance(shape, list):
        return f"{to_sql_type(shape[0], json_as)}[]"
    if isinstance(shape, dict):
        return f"STRUCT({', '.join(f'{json.dumps(name)} {to_sql_type(each, json_as)}' for name, each in shape.items())})"
    return json_as if shape == JSON else shape


Only = Literal["all", "reviewed", "adjudicated"]
ONLY: dict[Only, str] = {"all": "true", "reviewed": "n_annotators > 0", "adjudicated": "decided_by = 'adjudication'"}
"""Which labels, as SQL: all, those somebody reviewed (the present answer), those an adjudicator settled."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which labels are read, and how much of each."""

    only: Only = "all"
    content: bool = False
    """With `CONTENT_FIELDS`."""


EVERY_LABEL = Choice()


_READ = {name: each.duckdb_type for name, each in LABEL_FIELDS.items() if each.sql}
_PARSED = tuple(name for name, shape in _READ.items() if shape in (JSON, [AUTOMATIC_FIELDS]))
_VALUES = ", ".join(f"CAST(to_json({name}) AS VARCHAR)" if _READ[name] == [AUTOMATIC_FIELDS] else name for name in _READ)


def _objects(fields: dict[str, LabelField]) -> str:
    """SQL of one JSON object a row, from columns with the fields' names."""
    columns = [f"{name} := {name}{'::JSON' if each.duckdb_type == JSON else ''}" for name, each in fields.items() if each.sql]
    return f"CAST(to_json(struct_pack({', '.join(columns)})) AS VARCHAR)"


_LINE = _objects(LABEL_FIELDS)
_CONTENT = ", ".join(f"{each.sql} AS {name}" for name, each in CONTENT_FIELDS.items())
_OPINION = attrgetter(*["verdict" if name == VERDICT_KEY else name for name in OPINION_FIELDS])


def read_labels(
    reviews: ReviewTables, connection: DuckDBPyConnection, chunk: ItemChunk, choice: Choice
) -> list[dict[str, Any]]:
    """Labels with the fields `LABEL_FIELDS`, in the order of items, each item's own label first. What is the same in
    several may be one object."""
    reading = _Reading(reviews, connection, chunk, choice)
    rows = reading.rows(_VALUES)
    content = reading.content(rows)
    parsed: dict[str | None, Any] = {None: None}
    labels = []
    for item, *values in rows:
        label = dict(zip(_READ, values, strict=True))
        for name in _PARSED:
            text = label[name]
            if text not in parsed:
                parsed[text] = orjson.loads(text)
            label[name] = parsed[text]
        label["opinions"] = reading.opinions(item, label)
        label.update(content.get(item, ()))
        labels.append(label)
    return labels


def read_label_lines(reviews: ReviewTables, connection: DuckDBPyConnection, chunk: ItemChunk, choice: Choice) -> list[str]:
    """As `read_labels`, each the text of a JSON object."""
    reading = _Reading(reviews, connection, chunk, choice)
    rows = reading.rows(_LINE)
    content = {item: _json(fields)[1:-1] for item, fields in reading.content(rows).items()}
    lines = []
    for item, line in rows:
        text = _json(orjson.loads(line)) if "\\u" in line else line  # DuckDB spells control characters otherwise
        # `opinions` is the one field that is not read in SQL, and the last
        said = _json(reading.opinions(item, orjson.loads(text))) if item in reading.spoken else "[]"
        more = f",{content[item]}" if content else ""
        lines.append(f'{text[:-1]},"opinions":{said}{more}}}')
    return lines


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


class _Reading:
    """One part of the items."""

    def __init__(self, reviews: ReviewTables, connection: DuckDBPyConnection, chunk: ItemChunk, choice: Choice) -> None:
        self._reviews = reviews
        self._connection = connection
        self._choice = choice
        limited = "" if chunk.items is None else "AND item IN (SELECT unnest($1::BIGINT[]))"
        self._where = f"item BETWEEN {chunk.first:d} AND {chunk.last:d} {limited}"
        self._values = [] if chunk.items is None else [chunk.items]
        self.spoken = {row[0] for row in self._run(f"SELECT DISTINCT item FROM human_labels WHERE {self._where}")}
        """The items that anybody spoke of: nobody else's opinions are looked for."""
        self._opinions: tuple[int | None, dict[tuple[str, str], list[dict[str, Any]]]] = (None, {})

    def rows(self, columns: str) -> list[tuple[Any, ...]]:
        """`item` and these columns, a row for each label."""
        return self._run(
            f"SELECT item, {columns} FROM ({labels_sql(self._reviews.policy, self._where)})"
            f" WHERE {ONLY[self._choice.only]} ORDER BY item, NOT ({IS_ITEM_VERDICT}), target, criterion"
        )

    def opinions(self, item: int, label: dict[str, Any]) -> list[dict[str, Any]]:
        """What people think of what the label is of."""
        if item not in self.spoken:
            return []
        if item != self._opinions[0]:
            self._opinions = item, _opinions(self._reviews, label)
        return self._opinions[1].get((label["target"], label["criterion"]), [])

    def content(self, rows: list[tuple[Any, ...]]) -> dict[int, dict[str, Any]]:
        """The fields `CONTENT_FIELDS` by item, if they are asked for."""
        return _content(self._connection, sorted({row[0] for row in rows})) if self._choice.content else {}

    def _run(self, text: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(text, self._values).fetchall()


def _opinions(reviews: ReviewTables, label: dict[str, Any]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """What people think of the parts of the item that a label is of."""
    key = ItemKey(*[label[name] for name in ItemKey._fields])
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for opinion in reviews.opinions(key, label["prediction_hash"] or "", label["golden_hash"] or ""):
        said = dict(zip(OPINION_FIELDS, _OPINION(opinion), strict=True))
        found.setdefault((opinion.target, opinion.criterion), []).append(said)
    return found


def _content(connection: DuckDBPyConnection, items: list[int]) -> dict[int, dict[str, Any]]:
    """The fields `CONTENT_FIELDS` by item."""
    rows = connection.execute(
        f"SELECT item, {_objects(CONTENT_FIELDS)} FROM (SELECT i.item, {_CONTENT} FROM item_rows i"
        " WHERE i.item IN (SELECT unnest($1::BIGINT[])))",
        [items],
    ).fetchall()
    found: dict[int, dict[str, Any]] = {item: orjson.loads(text) for item, text in rows}
    documents = fetch_function_docs(connection, {name for content in found.values() for name in content["functions"]})
    for content in found.values():
        content["functions"] = [documents[name] for name in content["functions"] if name in documents]
    return found
