"""Define the fields of exported labels, read labels from the database, and write Parquet files.

A label has all verdicts on one target and criterion of an item. Every item has a label for the
verdict on the whole item. A part or another criterion has a label if it has an automatic verdict or
a review. All export formats take their fields from `LABEL_FIELDS`.

A query reads the labels of a chunk of items, and DuckDB returns each label as JSON text.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import Field, dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import orjson

from fcreview.model.address import ITEM
from fcreview.model.effective_verdict import SCORING_ORDER, Policy
from fcreview.model.item import Side
from fcreview.model.review import (
    CORRECT,
    ITEM_CORRECT,
    OPTIONAL_FIELDS,
    FieldKind,
    ItemKey,
    Opinion,
)
from fcreview.store.database import (
    connect_in_memory,
    disable_external_access,
    quote_literal,
    quote_path,
    retry_with_more_memory,
)
from fcreview.store.queries.item_detail import fetch_function_docs
from fcreview.store.review_sql import (
    DECISION_COLUMNS,
    decision_origin_sql,
    effective_verdict_sql,
    incident_certainty_sql,
    incident_kind_sql,
)
from fcreview.store.rows import ALL_CALLS, ALL_MESSAGES, FROM_WHOLE_ITEMS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.store.queries.view_items import ItemChunk
    from fcreview.store.reviews.review_tables import ReviewTables

DuckDBType = str | list[Any] | dict[str, Any]
"""A column type in the notation of DuckDB's `from_json`: `"VARCHAR"`, `["VARCHAR"]` or `[{"source":
"VARCHAR", "value": "JSON"}]`. An export format without a JSON type writes `JSON` values as text.
"""
TEXT = "VARCHAR"
NUMBER = "BIGINT"
FLAG = "BOOLEAN"
JSON = "JSON"
_TYPE_OF_KIND: dict[FieldKind, DuckDBType] = {
    "text": TEXT,
    "texts": [TEXT],
    "object": JSON,
    "value": JSON,
    "flag": FLAG,
    "count": NUMBER,
}
VERDICT_KEY = "value"  # key of the verdict in the objects of the fields `automatic` and `opinions`


@dataclass(frozen=True, slots=True)
class LabelField:
    """A field of an exported label: its type, and the SQL expression that returns its value."""

    duckdb_type: DuckDBType
    sql: str | None = None
    """In `LABEL_FIELDS`, the expression can use the label `o`, its run `r` and the row `n` of
    `run_names`, and in `CONTENT_FIELDS`, the tables of `FROM_WHOLE_ITEMS`. For `functions`, it
    returns hashes of function docs. None for `opinions` and `judgements`, computed in Python.
    """


def _opinion_field_type(field: Field[Any]) -> DuckDBType:
    if field.name in OPTIONAL_FIELDS:
        return _TYPE_OF_KIND[OPTIONAL_FIELDS[field.name]]
    return FLAG if str(field.type).startswith("bool") else TEXT


OPINION_FIELDS: dict[str, DuckDBType] = {
    VERDICT_KEY if field.name == "verdict" else field.name: _opinion_field_type(field)
    for field in fields(Opinion)
    if field.name not in ("target", "criterion")
}
"""Keys and types of the objects in the label field `opinions`.

An object represents an `Opinion`.
"""
AUTOMATIC_FIELDS: dict[str, DuckDBType] = {
    "source": TEXT,
    VERDICT_KEY: JSON,
    "by": TEXT,
    "error_type": TEXT,
    "rationale": TEXT,
}
"""Keys and types of the objects in the label field `automatic`.

An object represents an automatic `Verdict`.
"""
JUDGEMENT_FIELDS: dict[str, DuckDBType] = {
    "judge": TEXT,
    "target": TEXT,
    "criterion": TEXT,
    VERDICT_KEY: FLAG,
    "rationale": TEXT,
    "model": TEXT,
    "prompt_hash": TEXT,
    "split": TEXT,
    "time": TEXT,
}
"""Keys and types of the objects in the label field `judgements`.

An object represents an `ItemJudgement`, a verdict of `fcreview judge`.
"""
CALL_FIELDS: dict[str, DuckDBType] = {
    "name": TEXT,
    "arguments": JSON,
    "turn": NUMBER,
    "step": NUMBER,
    "index": NUMBER,
    "raw": TEXT,
    "decode_error": TEXT,
}
"""Keys and types of an exported call.

Golden arguments: `{"city": {"any_of": ["Oslo"], "optional": false}}`.
"""
MESSAGE_FIELDS: dict[str, DuckDBType] = {
    "turn": NUMBER,
    "step": NUMBER,
    "role": TEXT,
    "content": TEXT,
    "name": TEXT,
}


_ITEM_MARK = (
    "o.item_mark"  # what the reviewers decided about the mark of an incident of the label's item
)


def _calls_sql(side: Side) -> str:
    packed = ", ".join(f'"{name}" := c."{name}"' for name in CALL_FIELDS)
    return f"[struct_pack({packed}) FOR c IN coalesce({ALL_CALLS}, []) IF c.side = '{side}']"


LABEL_FIELDS: dict[str, LabelField] = {
    "run": LabelField(NUMBER, "o.run"),
    "model": LabelField(TEXT, "r.model"),
    "benchmark": LabelField(TEXT, "r.benchmark"),
    "generation": LabelField(TEXT, "r.generation"),
    "language": LabelField(TEXT, "r.language"),
    "category": LabelField(TEXT, "o.category"),
    "id": LabelField(TEXT, "o.id"),
    "target": LabelField(TEXT, "o.target"),
    "criterion": LabelField(TEXT, "o.criterion"),
    **{source: LabelField(JSON, f"o.{source}") for source in SCORING_ORDER},
    "human": LabelField(JSON, "o.human"),
    "effective": LabelField(
        JSON, effective_verdict_sql("o.human", "o.decided_by", "o.derived", "o")
    ),
    "decided_by": LabelField(TEXT, decision_origin_sql("o.decided_by", "o")),
    "policy": LabelField(TEXT, "o.policy"),
    "fault": LabelField(TEXT, "o.fault"),
    "golden_fix": LabelField(JSON, "o.golden_fix"),
    "tags": LabelField([TEXT], "coalesce(o.tags, [])"),
    "notes": LabelField([TEXT], "coalesce(o.notes, [])"),
    "annotators": LabelField([TEXT], "coalesce(o.annotators, [])"),
    "n_annotators": LabelField(NUMBER, "len(coalesce(o.annotators, []))"),
    "stale": LabelField(FLAG, "coalesce(o.stale, false)"),
    "error_type": LabelField(TEXT, "o.error_type"),
    "rule_error_type": LabelField(TEXT, "o.rule_error_type"),
    "prediction_hash": LabelField(TEXT, "o.prediction_hash"),
    "golden_hash": LabelField(TEXT, "o.golden_hash"),
    "run_name": LabelField(TEXT, "n.run_name"),
    "incident": LabelField(TEXT, incident_kind_sql(_ITEM_MARK, "o")),
    "incident_text": LabelField(TEXT, "o.incident_text"),
    "incident_certainty": LabelField(TEXT, incident_certainty_sql(_ITEM_MARK, "o")),
    "golden_status": LabelField(TEXT, "o.golden_status"),
    "automatic": LabelField([AUTOMATIC_FIELDS], "o.automatic"),
    "opinions": LabelField([OPINION_FIELDS]),
    "judgements": LabelField([JUDGEMENT_FIELDS]),
}
"""Fields of a label in export order."""

CONTENT_FIELDS: dict[str, LabelField] = {
    "question": LabelField(TEXT, "i.question"),
    "messages": LabelField([MESSAGE_FIELDS], f"coalesce({ALL_MESSAGES}, [])"),
    "functions": LabelField([JSON], "coalesce(i.functions, [])"),
    "golden_calls": LabelField([CALL_FIELDS], _calls_sql("golden")),
    "predicted_calls": LabelField([CALL_FIELDS], _calls_sql("predicted")),
}
"""Additional fields of an export with `--with content`.

All labels of an item have the same values.
"""


def label_field_types(*, with_content: bool) -> dict[str, DuckDBType]:
    """Return the type of every exported field, in export order."""
    exported = LABEL_FIELDS | (CONTENT_FIELDS if with_content else {})
    return {name: field.duckdb_type for name, field in exported.items()}


# SQL condition: the label is the item's own verdict
IS_ITEM_VERDICT = f"target = '{ITEM}' AND criterion = '{CORRECT}'"


def _automatic_verdict_struct_sql(**values: str) -> str:
    """Return SQL for a struct with the keys of `AUTOMATIC_FIELDS`; keys without a value are
    null.
    """
    packed = ", ".join(
        f'"{name}" := {values.get(name, "NULL::VARCHAR")}' for name in AUTOMATIC_FIELDS
    )
    return f"struct_pack({packed})"


# The verdict `v` of an importer as a struct
_LISTED_VERDICT = _automatic_verdict_struct_sql(
    **{name: f'v."{name}"' for name in AUTOMATIC_FIELDS}
)
_COLUMN_VERDICTS = ", ".join(
    _automatic_verdict_struct_sql(source=f"'{source}'", **{VERDICT_KEY: f"to_json({source})"})
    for source in SCORING_ORDER
)
# An importer can write the verdict on an item only to the column of its source, without adding it
# to `verdicts`.
_UNLISTED_VERDICTS = (
    f"CASE WHEN {IS_ITEM_VERDICT} THEN [a FOR a IN [{_COLUMN_VERDICTS}] IF a.value IS NOT NULL"
    " AND NOT list_contains([s.source FOR s IN listed], a.source)] ELSE [] END"
)
_VERDICT_BY_SOURCE = ", ".join(
    f"""CAST(CASE WHEN {IS_ITEM_VERDICT} THEN to_json({source})
        ELSE list_last([s.value FOR s IN listed IF s.source = '{source}']) END AS VARCHAR) AS {source}"""
    for source in SCORING_ORDER
)
_ON_ITEM = f"(v.target = '{ITEM}' AND v.criterion = '{CORRECT}')"
_DECISION_COLUMNS = ", ".join(
    f"d.{name}" for name in DECISION_COLUMNS if name not in ("item", "target", "criterion")
)

_OTHER_VERDICTS_SQL = f"""
    SELECT item, v.target AS target, v.criterion AS criterion, list({_LISTED_VERDICT} ORDER BY nth) AS listed
    FROM (SELECT item, unnest(parts) AS v, generate_subscripts(parts, 1) AS nth
          FROM (SELECT item, [v FOR v IN verdicts IF NOT {_ON_ITEM}] AS parts FROM selected))
    GROUP BY ALL
"""
"""Automatic verdicts on parts and on other criteria, as lists in the order of the importer.

Only these are unnested, because unnesting is slow and most runs have none.
"""

_TARGETS_SQL = f"""
    SELECT item, '{ITEM}' AS target, '{CORRECT}' AS criterion,
           [{_LISTED_VERDICT} FOR v IN verdicts IF {_ON_ITEM}] AS listed
    FROM selected
    UNION ALL
    SELECT item, target, criterion, listed FROM other_verdicts FULL JOIN
        (SELECT item, target, criterion FROM decisions WHERE NOT ({IS_ITEM_VERDICT})) USING (item, target, criterion)
"""
"""What has a label, with its automatic verdicts: each item, and each part or criterion with a
verdict of an annotator or of an automatic source.
"""

_JOINED_SQL = f"""
    SELECT s.*, t.target, t.criterion, {_DECISION_COLUMNS}, coalesce(t.listed, []) AS listed,
           m.incident_mark AS item_mark
    FROM targets t JOIN selected s USING (item) LEFT JOIN decisions d USING (item, target, criterion)
         LEFT JOIN (SELECT item, incident_mark FROM decisions WHERE {IS_ITEM_VERDICT}) m USING (item)
"""
"""Labels with the columns of their item and of their decision. `item_mark` is the incident that an
annotator marked on the item.
"""


def labels_sql(policy: Policy, where: str = "true") -> str:
    """Return a SELECT statement for the labels of items: one row for each item, and one for each
    part or criterion with a verdict.

    The columns are `item` and those of `LABEL_FIELDS` that have SQL. Verdicts are JSON text.

    The statement has a step for each table of its WITH clause. Each step reads the tables before
    it:

    * `selected`: the items.
    * `decisions`: the verdicts of annotators on them.
    * `other_verdicts`, `targets`, `joined`: see the constants with their SQL.
    * `o`: the labels, with a column for the automatic verdict of each source. The SQL of
      `LABEL_FIELDS` uses this name.

    Args:
        policy: Which verdict counts if annotators disagree.
        where: A condition on `item` for the items to return.
    """
    columns = ", ".join(
        f"{field.sql} AS {name}" for name, field in LABEL_FIELDS.items() if field.sql
    )
    sources = ", ".join(SCORING_ORDER)
    return f"""
WITH selected AS (SELECT * FROM item_rows WHERE {where}),
decisions AS (SELECT * FROM human_labels WHERE {where}),
other_verdicts AS ({_OTHER_VERDICTS_SQL}),
targets AS ({_TARGETS_SQL}),
joined AS ({_JOINED_SQL}),
o AS (
    SELECT * EXCLUDE ({sources}), '{policy}' AS policy, {_VERDICT_BY_SOURCE},
           listed || {_UNLISTED_VERDICTS} AS automatic
    FROM joined
)
SELECT o.item, {columns} FROM o JOIN runs r USING (run) JOIN run_names n USING (run)
"""


def create_labels_view_sql(policy: Policy) -> str:
    return f"CREATE OR REPLACE TEMP VIEW labels AS {labels_sql(policy)}"


LabelSubset = Literal["all", "reviewed", "adjudicated"]
LABEL_SUBSETS: dict[LabelSubset, str] = {
    "all": "true",
    "reviewed": "n_annotators > 0",
    "adjudicated": "decided_by = 'adjudication'",
}
"""SQL condition of each subset.

`reviewed`: labels with a current review, and verdicts that follow from reviews.
"""

Flavour = Literal["trl", "openai"]
FLAVOURS: tuple[Flavour, ...] = ("trl", "openai")


@dataclass(frozen=True, slots=True)
class Split:
    """A part of training rows, such as train or test."""

    name: str
    share: float
    """Approximate share of the questions, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    agreed: int = 1  # Number of annotators who must agree. An adjudication always counts.
    trust_rule: bool = False  # whether the automatic verdict counts for items without a review
    max_pairs: int = 4  # maximum number of preference pairs per question
    exclude_benchmark_goldens: bool = (
        False  # whether to omit rows that contain golden calls of the benchmark
    )
    include_incidents: bool = (
        False  # whether items without an answer, for a reason outside the question, count too
    )
    splits: tuple[Split, ...] = ()  # parts of the rows; empty for rows without a split
    decontaminate: tuple[Path, ...] = ()  # files or folders of benchmarks whose questions to omit
    flavour: Flavour = "trl"
    """Format of training rows. In `trl`, arguments are objects and tools are JSON text. In
    `openai`, arguments are JSON text and tools are a list.
    """


@dataclass(frozen=True, slots=True)
class Publication:
    """Facts about the publication of a run that its files do not state."""

    organization: str = ""
    """Who ran the evaluation."""
    developer: str = ""
    """Who made the models whose names do not say it."""


@dataclass(frozen=True, slots=True)
class LabelSelection:
    subset: LabelSubset = "all"
    with_content: bool = False  # whether to add `CONTENT_FIELDS`
    training: TrainingOptions = TrainingOptions()  # options of the formats that write training rows
    publication: Publication = Publication()  # options of the format that publishes figures


ALL_LABELS = LabelSelection()


def _json_object_sql(fields: dict[str, LabelField]) -> str:
    """Return SQL for the text of a JSON object with the fields that have a column."""
    columns = []
    for name, field in fields.items():
        if not field.sql:
            continue
        # Without the cast, the JSON text would become a string in the object.
        cast = "::JSON" if field.duckdb_type == JSON else ""
        columns.append(f"{name} := {name}{cast}")
    return f"CAST(to_json(struct_pack({', '.join(columns)})) AS VARCHAR)"


_CONTENT_COLUMNS = ", ".join(f"{field.sql} AS {name}" for name, field in CONTENT_FIELDS.items())
_get_opinion_values = attrgetter(
    *["verdict" if name == VERDICT_KEY else name for name in OPINION_FIELDS]
)


def read_label_lines(
    reviews: ReviewTables, connection: Connection, chunk: ItemChunk, selection: LabelSelection
) -> list[str]:
    """Return the labels of some items as lines of JSON, in item order. An item's own label comes
    before the labels of its parts.

    Args:
        reviews: The reviews, for the opinions of annotators.
        connection: The connection to the store.
        chunk: The items.
        selection: Which labels and fields the user selected.
    """
    reader = _ChunkReader(reviews, connection, chunk, selection)
    rows = reader.fetch_label_rows()
    content_by_item = reader.fetch_item_content(rows)
    lines = []
    for item, text in rows:
        members = [_list_sql_members(text), *reader.build_other_members(item, text)]
        if content_by_item:
            members.append(content_by_item[item])
        lines.append("{" + ",".join(members) + "}")
    return lines


def _list_sql_members(text: str) -> str:
    """Return the members of a label from DuckDB, a JSON object, without its braces."""
    if "\\u" in text:
        # DuckDB escapes control characters differently from orjson, so the object is serialised
        # again.
        text = _to_json_text(orjson.loads(text))
    return text.removeprefix("{").removesuffix("}")


def _to_json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _build_chunk_condition(chunk: ItemChunk) -> tuple[str, list[Any]]:
    """Return the SQL condition for the items of a chunk, and the values of its parameters."""
    is_in_range = f"item BETWEEN {chunk.first:d} AND {chunk.last:d}"
    if chunk.items is None:
        return is_in_range, []
    return f"{is_in_range} AND item IN (SELECT unnest($1::BIGINT[]))", [chunk.items]


class _ChunkReader:
    def __init__(
        self,
        reviews: ReviewTables,
        connection: Connection,
        chunk: ItemChunk,
        choice: LabelSelection,
    ) -> None:
        """Prepare to read the labels of the items of a chunk."""
        self._reviews = reviews
        self._connection = connection
        self._choice = choice
        self._where, self._values = _build_chunk_condition(chunk)
        reviewed = self._fetch(f"SELECT DISTINCT item FROM human_labels WHERE {self._where}")
        self.reviewed_items = {row[0] for row in reviewed}
        self.judgements = self._fetch_judgements()
        """Verdicts of `fcreview judge` that the annotator may see, by item number."""
        self._opinions_item: int | None = None
        self._opinions: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        """Opinions on the item `_opinions_item`, by (target, criterion)."""

    def fetch_label_rows(self) -> list[tuple[Any, ...]]:
        """Fetch the labels of the chosen items: each row has the item and a JSON object of the
        label.
        """
        return self._fetch(
            f"SELECT item, {_json_object_sql(LABEL_FIELDS)} FROM"
            f" ({labels_sql(self._reviews.policy, self._where)})"
            f" WHERE {LABEL_SUBSETS[self._choice.subset]} ORDER BY item, NOT ({IS_ITEM_VERDICT}),"
            " target, criterion"
        )

    def _fetch_judgements(self) -> dict[int, list[dict[str, Any]]]:
        """Return item number -> its verdicts of `fcreview judge`, as objects with the keys
        `JUDGEMENT_FIELDS`.
        """
        judgements: dict[int, list[dict[str, Any]]] = {}
        for item, *values in self._fetch(
            "SELECT item, judge, target, criterion, verdict, rationale, model, prompt_hash, split,"
            f' "time" FROM visible_judgements WHERE {self._where} ORDER BY item, judge'
        ):
            fields_of_judgement = dict(zip(JUDGEMENT_FIELDS, values, strict=True))
            judgements.setdefault(item, []).append(fields_of_judgement)
        return judgements

    def build_other_members(self, item: int, text: str) -> list[str]:
        """Return the JSON text of the fields that no SQL computes, `opinions` and `judgements`.

        `text` is the label with all other fields. Most items have neither opinions nor judgements,
        so that their labels are not parsed.
        """
        opinions = "[]"
        judgements = "[]"
        if item in self.reviewed_items or item in self.judgements:
            label = orjson.loads(text)
            opinions = _to_json_text(self.get_opinions(item, label))
            judgements = _to_json_text(self.get_judgements(item, label))
        return [f'"opinions":{opinions}', f'"judgements":{judgements}']

    def get_judgements(self, item: int, label: dict[str, Any]) -> list[dict[str, Any]]:
        """Return all verdicts of judges on an item if the label is that of the whole item. Empty
        for other labels.

        The list includes verdicts on parts and criteria, because these need not have labels.
        """
        if (label["target"], label["criterion"]) != ITEM_CORRECT:
            return []
        return self.judgements.get(item, [])

    def get_opinions(self, item: int, label: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the annotators' opinions on the target and criterion of a label, with the keys
        `OPINION_FIELDS`.

        Ask for all labels of an item before those of the next one, because only the opinions of the
        last item are cached.
        """
        if item not in self.reviewed_items:
            return []
        if item != self._opinions_item:
            self._load_opinions(item, label)
        return self._opinions.get((label["target"], label["criterion"]), [])

    def _load_opinions(self, item: int, label: dict[str, Any]) -> None:
        """Replace the kept opinions by those on another item."""
        self._opinions_item = item
        self._opinions = defaultdict(list)
        opinions = self._reviews.events.compute_opinions(
            ItemKey(*[label[name] for name in ItemKey._fields]),
            label["prediction_hash"] or "",
            label["golden_hash"] or "",
        )
        for opinion in opinions:
            values = dict(zip(OPINION_FIELDS, _get_opinion_values(opinion), strict=True))
            self._opinions[opinion.target, opinion.criterion].append(values)

    def fetch_item_content(self, rows: list[tuple[Any, ...]]) -> dict[int, str]:
        """Return the content of each item, such as its messages, by item number.

        The content is JSON without the outer braces, so that it can be appended to a label. Empty
        if the content is not exported.
        """
        if not self._choice.with_content:
            return {}

        items = sorted({item for item, *_ in rows})
        content_rows = self._connection.execute(
            f"SELECT item, {_json_object_sql(CONTENT_FIELDS)}"
            f" FROM (SELECT i.item, {_CONTENT_COLUMNS} {FROM_WHOLE_ITEMS}"
            " WHERE i.item IN (SELECT unnest($1::BIGINT[])))",
            [items],
        ).fetchall()
        content_by_item: dict[int, dict[str, Any]] = {
            item: orjson.loads(text) for item, text in content_rows
        }
        self._replace_hashes_by_docs(content_by_item.values())
        return {item: _to_json_text(content)[1:-1] for item, content in content_by_item.items()}

    def _replace_hashes_by_docs(self, contents: Collection[dict[str, Any]]) -> None:
        """Replace the hashes of functions in the contents of items by the function docs.

        The store has each function doc once, and items refer to it by its hash.
        """
        hashes: set[str] = set()
        for content in contents:
            hashes.update(content["functions"])
        docs_by_hash = fetch_function_docs(self._connection, hashes)

        for content in contents:
            docs = []
            for doc_hash in content["functions"]:
                if doc_hash in docs_by_hash:
                    docs.append(docs_by_hash[doc_hash])
            content["functions"] = docs

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, self._values).fetchall()


PARQUET_MEMORY_LIMIT = "256MB"  # DuckDB's `memory_limit` while it writes a Parquet file
# maximum length, in bytes, of a JSON line that DuckDB reads by default
DEFAULT_MAX_LINE_BYTES = 1 << 24


def write_parquet(
    path: Path, column_types: Mapping[str, DuckDBType], line_chunks: Iterable[list[str]]
) -> None:
    """Write rows, each the text of a JSON object, to a Parquet file. JSON values are written as
    text.

    A temporary file receives the rows first, so that memory does not grow with their number. A
    separate connection then converts this file, because the connection of the store has no access
    to files. Raises OSError if a file cannot be written, StoreError if a row needs too much memory.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".rows.", suffix=".jsonl") as lines:
        max_line_bytes = DEFAULT_MAX_LINE_BYTES
        for chunk in line_chunks:
            text = "".join(f"{line}\n" for line in chunk).encode()
            lines.write(text)
            # Only a chunk above the default limit can contain a line above it.
            if len(text) > DEFAULT_MAX_LINE_BYTES:
                max_line_bytes = max(max_line_bytes, _measure_longest_line(text))
        lines.flush()
        _convert_to_parquet(Path(lines.name), path, column_types, max_line_bytes)


def _measure_longest_line(text: bytes) -> int:
    """Return the length of the longest line in bytes, with its newline."""
    return max(map(len, text.split(b"\n"))) + len(b"\n")


def _convert_to_parquet(
    lines_file: Path, path: Path, column_types: Mapping[str, DuckDBType], max_line_bytes: int
) -> None:
    """Convert a file with one JSON object per line to a Parquet file.

    Raises OSError if a file cannot be read or written, StoreError if a row needs too much memory.
    """
    statement = _conversion_sql(lines_file, path, column_types, max_line_bytes)
    connection = connect_in_memory()
    try:
        connection.execute(f"SET memory_limit = '{PARQUET_MEMORY_LIMIT}'")
        connection.execute("SET threads = 2")
        disable_external_access(connection, allowed_folders=[path.absolute().parent])
        retry_with_more_memory(connection, lambda: connection.execute(statement))
    except duckdb.IOException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def _conversion_sql(
    lines_file: Path, path: Path, column_types: Mapping[str, DuckDBType], max_line_bytes: int
) -> str:
    """Return the COPY statement that converts JSON lines of up to `max_line_bytes` to Parquet.

    `column_types`: column name -> its DuckDB type.
    """
    json_columns = []
    parquet_columns = []
    for name, duckdb_type in column_types.items():
        json_columns.append(f"{quote_literal(name)}: '{to_sql_type(duckdb_type)}'")
        # Parquet has no type for JSON.
        parquet_type = to_sql_type(duckdb_type, json_type=TEXT)
        parquet_columns.append(f'CAST("{name}" AS {parquet_type}) AS "{name}"')

    columns_option = "{" + ", ".join(json_columns) + "}"
    source = (
        f"read_json({quote_path(lines_file)}, format = 'newline_delimited',"
        f" columns = {columns_option}, maximum_object_size = {max_line_bytes})"
    )
    rows = f"SELECT {', '.join(parquet_columns)} FROM {source}"
    return f"COPY ({rows}) TO {quote_path(path)} (FORMAT parquet, COMPRESSION zstd)"


def to_sql_type(duckdb_type: DuckDBType, json_type: str = JSON) -> str:
    """Convert a type to DuckDB's SQL notation, such as `STRUCT("source" VARCHAR, "value"
    JSON)[]`.
    """
    if isinstance(duckdb_type, list):
        return f"{to_sql_type(duckdb_type[0], json_type)}[]"
    if isinstance(duckdb_type, dict):
        members = (
            f"{json.dumps(name)} {to_sql_type(member, json_type)}"
            for name, member in duckdb_type.items()
        )
        return f"STRUCT({', '.join(members)})"
    return json_type if duckdb_type == JSON else duckdb_type
