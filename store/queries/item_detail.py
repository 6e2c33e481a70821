"""The same question in other runs.

Items with everything that belongs to them, and their raw records.

The items of one conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from duckdb import DuckDBPyConnection

from fcreview.model.item import ArgumentDiff, Call, Extra, ImportIssue, Item, Message, CallPair, RecordLocation, Verdict
from fcreview.model.json_value import parse_accepted_values, parse_json, to_json_text
from fcreview.model.redact import redact, redact_keys
from fcreview.safe_files import open_file
from fcreview.store.database import StoreError
from fcreview.store.importing.staging import ITEM_COLUMNS
from fcreview.store.queries.item_order import hide_row_verdicts
from fcreview.store.rows import ItemMatch, ItemDetail, QueueRow, Sibling
from fcreview.store.workspace import Workspace

_KEY = "id, category, benchmark, generation, language"
_SAME = (
    f"SELECT item FROM items WHERE ({_KEY}) = (SELECT ({_KEY}) FROM items WHERE item = $item)"
    " AND id = (SELECT id FROM item_rows WHERE item = $item) ORDER BY item"
)
_PREDICTED = (
    "SELECT item, list_filter(calls, lambda c: c.side = 'predicted') FROM item_rows"
    " WHERE item IN (SELECT unnest(?::BIGINT[]))"
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one run predicted: equal texts are equal predictions."""

    item: int
    calls: str
    """`f(a=1); g()`, arguments by name; of calls that could not be read their text. Empty: none."""


def find_same_question(connection: DuckDBPyConnection, item: int) -> list[int]:
    """Items with this one's id and category in all runs of its benchmark, generation and language, itself too."""
    return [row[0] for row in connection.execute(_SAME, {"item": item}).fetchall()]


def fetch_predictions(connection: DuckDBPyConnection, item: int) -> list[Prediction]:
    """What the runs of `same_question` predicted, in the same order."""
    items = find_same_question(connection, item)
    calls = dict(connection.execute(_PREDICTED, [items]).fetchall())
    return [Prediction(each, "; ".join(map(_text, calls.get(each) or ()))) for each in items]


def _text(call: dict[str, Any]) -> str:
    arguments = parse_json(call["arguments"])
    if not isinstance(arguments, dict):
        return str(call["raw"] or call["name"])
    given = ", ".join(f"{name}={to_json_text(value)}" for name, value in sorted(arguments.items()))
    return f"{call['name']}({given})"


_SELECT = (
    "SELECT item, "
    + ", ".join(f'"{name}"' for name in ITEM_COLUMNS)
    + ", messages, calls, pairs, verdicts, functions, extra, n_issues FROM item_rows WHERE "
)
_FUNCTIONS = 1 + len(ITEM_COLUMNS) + 4
"""Where the hashes of function documents stand in a row."""


def hide_detail_verdicts(detail: ItemDetail, annotator: str | None) -> None:
    """Blind mode, not yet decided: only the trajectory, the golden answer and this annotator's own words are left."""
    hide_row_verdicts(detail.row)
    item = detail.item
    item.official = item.rule = item.judge = item.error_type = item.rule_error_type = item.rule_note = None
    item.diff_function = item.diff_argument = item.first_difference = None
    item.diff_golden = item.diff_predicted = None
    item.verdicts, item.issues = [], []
    item.extra = Extra(accepted_answers=item.extra.accepted_answers, final_answer=item.extra.final_answer)
    detail.run = replace(detail.run, official_metrics={})
    detail.opinions = [opinion for opinion in detail.opinions if opinion.annotator == annotator]
    detail.history = [event for event in detail.history if event.annotator == annotator]


def read_items(connection: DuckDBPyConnection, numbers: Sequence[int]) -> dict[int, Item]:
    """The items as they were imported, by number; those that are not there are left out.

    Items that were offered the same function share its document.
    """
    if not numbers:
        return {}
    # One item is found by the index, which knows nothing but `=`; for several, the range spares reading the others.
    some = f"item BETWEEN {min(numbers):d} AND {max(numbers):d} AND item IN (SELECT unnest(?::BIGINT[]))"
    one = len(numbers) == 1
    rows = connection.execute(
        _SELECT + ("item = ?" if one else some), [numbers[0] if one else list(numbers)]
    ).fetchall()
    documents = fetch_function_docs(connection, {name for row in rows for name in row[_FUNCTIONS] or ()})
    issues = _issues(connection, [row[0] for row in rows if row[-1]])
    return {row[0]: _item(row, documents, issues.get(row[0], [])) for row in rows}


def _item(row: tuple[Any, ...], documents: dict[str, dict[str, Any]], issues: list[ImportIssue]) -> Item:
    plain = {name: value for name, value in zip(ITEM_COLUMNS, row[1:], strict=False) if value is not None}
    messages, calls, pairs, verdicts, functions, extra, _ = row[1 + len(ITEM_COLUMNS) :]
    both = [parse_call(call) for call in calls or ()]
    return Item(
        **plain,
        messages=[Message(**message) for message in messages or ()],
        golden=[call for call in both if call.side == "golden"],
        predicted=[call for call in both if call.side == "predicted"],
        pairs=[parse_pair(pair) for pair in pairs or ()],
        verdicts=[_verdict(verdict) for verdict in verdicts or ()],
        functions=[documents[name] for name in functions or () if name in documents],
        extra=Extra.from_json(parse_json(extra)),
        issues=issues,
    )


def _issues(connection: DuckDBPyConnection, numbers: list[int]) -> dict[int, list[ImportIssue]]:
    if not numbers:
        return {}
    found: dict[int, list[ImportIssue]] = {}
    for item, *issue in connection.execute(
        "SELECT item, file, line, what, raw, id, severity FROM import_issues WHERE item IN (SELECT unnest(?::BIGINT[]))"
        " ORDER BY item, file, line",
        [numbers],
    ).fetchall():
        found.setdefault(item, []).append(ImportIssue(*issue))
    return found


def read_issues(connection: DuckDBPyConnection, item: int | None) -> list[ImportIssue]:
    """Of one item, or everything."""
    rows = connection.execute(
        "SELECT file, line, what, raw, id, severity FROM import_issues WHERE ?::BIGINT IS NULL OR item = ?"
        " ORDER BY run NULLS FIRST, item NULLS FIRST, file, line",
        [item, item],
    ).fetchall()
    return [ImportIssue(*row) for row in rows]


def find_items(connection: DuckDBPyConnection, item_id: str, run: int | None) -> list[int]:
    rows = connection.execute(
        "SELECT item FROM item_rows WHERE id = ? AND (?::INTEGER IS NULL OR run = ?) ORDER BY item", [item_id, run, run]
    ).fetchall()
    return [row[0] for row in rows]


def search_item_ids(connection: DuckDBPyConnection, text: str, runs: Sequence[int], preferred_run: int | None, limit: int) -> list[ItemMatch]:
    """The ids that hold every word of the text, whatever their case, in these runs (none: all): first the one that is
    the text, then those that begin with it, then the short ones."""
    parts = text.lower().split()
    if not parts:
        return []
    where = " AND ".join(["contains(lower(id), ?)"] * len(parts))
    scope = f"run IN ({', '.join(str(int(run)) for run in runs)}) AND " if runs else ""
    whole = " ".join(parts)
    rows = connection.execute(
        "SELECT coalesce(min(item) FILTER (WHERE run = ?), min(item)), id, category, count(DISTINCT run)"
        f" FROM item_rows WHERE {scope}{where} GROUP BY id, category"
        " ORDER BY lower(id) = ? DESC, starts_with(lower(id), ?) DESC, length(id), id, category LIMIT ?",
        [preferred_run, *parts, whole, whole, limit],
    ).fetchall()
    return [ItemMatch(*row) for row in rows]


def read_raw_record(connection: DuckDBPyConnection, workspace: Workspace, number: int) -> str:
    """The item's record as it stands in the result file, bytes that are not UTF-8 replaced.

    StoreError if there is no such item, or the file is gone or was changed since it was imported.
    """
    row = connection.execute(
        'SELECT id, file, line, "offset", length, extra FROM item_rows WHERE item = ?', [number]
    ).fetchone()
    if row is None:
        raise StoreError("there is no such item")
    name, file, line, offset, length, extra = row
    if not file or not length:
        raise StoreError("this item has no record in a result file")
    data = _record(connection, workspace, number, RecordLocation(file, line, offset, length), name)
    return _shown(data, Extra.from_json(parse_json(extra)))


def read_score_record(connection: DuckDBPyConnection, workspace: Workspace, number: int) -> str | None:
    """The score file's entry that failed the item, as it stands there; None if it is not known to have one.

    StoreError as for `raw_record`. Where it lies is said by the importer: `Extra.score_record`.
    """
    row = connection.execute("SELECT extra FROM item_rows WHERE item = ?", [number]).fetchone()
    extra = Extra.from_json(parse_json(row[0]) if row else None)
    place = extra.score_record
    if place is None or not place.file or not place.length:
        return None
    return _shown(_record(connection, workspace, number, place), extra)


def _shown(data: bytes, extra: Extra) -> str:
    """A raw record as text without keys; where the importer left out more of third parties, so does this."""
    text = redact_keys(data).decode("utf-8", "replace")
    return redact(text) if extra.redacted else text


def _record(
    connection: DuckDBPyConnection, workspace: Workspace, number: int, place: RecordLocation, name: str | None = None
) -> bytes:
    """The bytes of a record. StoreError if its file is gone, or was changed and has no record with this id there."""
    path = workspace.to_absolute_path(place.file)
    try:
        with open_file(path) as stream:
            stream.seek(place.offset)
            data = stream.read(place.length)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    if not _unchanged(connection, number, workspace.to_stored_path(path), path) and not _is_record(data, place.length, name):
        raise StoreError(f"{path} was changed since it was imported: import it again to see the record")
    return data


def _unchanged(connection: DuckDBPyConnection, number: int, file: str, path: Path) -> bool:
    """Size and time are those of the import."""
    status = path.stat()
    found = connection.execute(
        "SELECT size, mtime_ns FROM sources WHERE run = ? AND path = ?", [number >> 32, file]
    ).fetchone()
    return bool(found == (status.st_size, status.st_mtime_ns))


def _is_record(data: bytes, length: int, name: str | None = None) -> bool:
    """What lies there still is one whole record, with this id if one is given."""
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return len(data) == length and isinstance(record, dict) and name in (None, str(record.get("id")))


def parse_call(row: dict[str, Any]) -> Call:
    """From an element of `item_rows.calls`, which is used up."""
    arguments = parse_json(row.pop("arguments"))
    if row["side"] == "golden" and isinstance(arguments, dict):
        arguments = {name: parse_accepted_values(accept) for name, accept in arguments.items()}
    return Call(**row, arguments=arguments)


def parse_pair(row: dict[str, Any]) -> CallPair:
    """From an element of `item_rows.pairs`."""
    return CallPair(**row | {"diff": [ArgumentDiff(**diff) for diff in row["diff"] or ()]})


def _verdict(row: dict[str, Any]) -> Verdict:
    return Verdict(**row | {"value": parse_json(row["value"])})


def fetch_function_docs(connection: DuckDBPyConnection, hashes: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Function documents by hash."""
    wanted = sorted(hashes)
    if not wanted:
        return {}
    rows = connection.execute(
        "SELECT hash, document FROM functions WHERE hash IN (SELECT unnest(?::VARCHAR[]))", [wanted]
    ).fetchall()
    return {name: orjson.loads(text) for name, text in rows}


MAX_SIBLINGS = 500
"""A conversation has a few dozen items at most; a dataset that calls everything one group is not shown whole."""


def fetch_siblings(connection: DuckDBPyConnection, row: QueueRow, *, blind: bool) -> list[Sibling]:
    """Those of the item's run and category that share its group, itself among them; none without a group."""
    if row.group is None:
        return []
    found = connection.execute(
        "SELECT i.item, i.id, h.you, coalesce(i.official, i.rule) FROM item_rows i LEFT JOIN human h ON h.item = i.item"
        ' WHERE i.item BETWEEN ? AND ? AND i."group" = ? AND i.category = ? ORDER BY i.item LIMIT ?',
        [row.run << 32, (row.run + 1 << 32) - 1, row.group, row.category, MAX_SIBLINGS],
    ).fetchall()
    return [Sibling(item, name, _mark(you, None if blind else said)) for item, name, you, said in found]


def _mark(you: str | None, said: bool | None) -> object:
    mine = parse_json(you)
    return said if mine is None else mine
