"""Query single items: complete items, their raw records, other items of the conversation, and
other runs' items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import orjson
from duckdb import DuckDBPyConnection as Connection

from fcreview.model.decision import Decision, decide
from fcreview.model.item import (
    ArgumentDiff,
    Call,
    CallPair,
    Extra,
    ImportIssue,
    Item,
    Message,
    RecordLocation,
    Run,
    TaskSection,
    Verdict,
)
from fcreview.model.json_value import parse_accepted_values, parse_json, to_json_text
from fcreview.model.review import ItemKey
from fcreview.safe_files import SIGNATURE, ArchiveError, open_file, read_member_at
from fcreview.store.database import StoreError, and_runs_of_items_sql
from fcreview.store.queries.view_items import hide_verdicts_unless_reviewed
from fcreview.store.rows import (
    ITEM_COLUMNS,
    ItemDetail,
    ItemMatch,
    QueueRow,
    Sibling,
    get_run_number,
    is_hidden_duplicate,
    make_item_number,
    strip_duplicate_mark,
)
from fcreview.store.workspace import Workspace

if TYPE_CHECKING:
    from fcreview.model.incident import IncidentCertainty, IncidentKind
    from fcreview.store.reviews.review_tables import ReviewTables

_QUESTION_COLUMNS = "id, category, benchmark, generation, language"
_SAME_QUESTION = (
    f"SELECT item FROM items WHERE ({_QUESTION_COLUMNS}) = (SELECT ({_QUESTION_COLUMNS}) FROM items"
    " WHERE item = $item)"
    " AND id = (SELECT id FROM item_rows WHERE item = $item) ORDER BY item"
)
_PREDICTED_CALLS = (
    "SELECT item, list_filter(calls, lambda c: c.side = 'predicted') FROM item_rows"
    " WHERE item IN (SELECT unnest(?::BIGINT[]))"
)
_FIRST_ITEMS_OF_QUESTIONS = (
    "SELECT arg_min(o.item, o.rowid) FROM {order} o JOIN items i ON i.item = o.item & $item_bits"
    f" GROUP BY {', '.join(f'i.{name}' for name in _QUESTION_COLUMNS.split(', '))}"
    " ORDER BY min(o.rowid)"
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted calls of an item as text. Equal predictions have equal texts."""

    item: int
    calls: str
    """`f(a=1); g()`, with sorted arguments. A call that cannot be decoded is raw text. Calls of a
    later turn follow the number of the turn: `f(a=1); turn 2: g()`.
    """


def find_items_of_same_question(connection: Connection, item_number: int) -> list[int]:
    item = strip_duplicate_mark(item_number)
    return [row[0] for row in connection.execute(_SAME_QUESTION, {"item": item}).fetchall()]


def fetch_predictions_of_same_question(
    connection: Connection, item_number: int
) -> list[Prediction]:
    """Return the answers of all runs to the question of an item."""
    items = find_items_of_same_question(connection, item_number)
    query = _PREDICTED_CALLS + and_runs_of_items_sql(connection, items)
    prediction_by_item = {}
    for item, calls in connection.execute(query, [items]).fetchall():
        prediction_by_item[item] = Prediction(item, _format_predicted_calls(calls or ()))
    return [prediction_by_item.get(each) or Prediction(each, "") for each in items]


def find_first_items_of_questions(connection: Connection, order_table: str) -> list[int]:
    """Return the first item of each question of a view, in the order of the view.

    `order_table`: the view's table of item numbers (`view_items.ViewOrder`).
    """
    query = _FIRST_ITEMS_OF_QUESTIONS.format(order=order_table)
    rows = connection.execute(query, {"item_bits": strip_duplicate_mark(-1)}).fetchall()
    return [item for (item,) in rows]


def _format_predicted_calls(calls: Iterable[dict[str, Any]]) -> str:
    """Return the predicted calls as one text, in which the first call of each later turn names the
    turn.
    """
    texts = []
    turn = 0
    for call in calls:
        text = _format_predicted_call(call)
        if call["turn"] != turn:
            turn = call["turn"]
            text = f"turn {turn + 1}: {text}"
        texts.append(text)
    return "; ".join(texts)


def _format_predicted_call(call: dict[str, Any]) -> str:
    """Format a call with its arguments sorted by name, or its raw text if it was not decoded."""
    arguments = parse_json(call["arguments"])
    if not isinstance(arguments, dict):
        return str(call["raw"] or call["name"])
    formatted = ", ".join(
        f"{name}={to_json_text(value)}" for name, value in sorted(arguments.items())
    )
    return f"{call['name']}({formatted})"


_SELECT_ITEMS = (
    "SELECT item, "
    + ", ".join(f'"{name}"' for name in ITEM_COLUMNS)
    + ", messages, calls, pairs, verdicts, functions, extra, n_issues, question_hash FROM item_rows"
    " WHERE "
)


@dataclass(frozen=True, slots=True)
class _ItemRow:
    """A row of the query `_SELECT_ITEMS`."""

    number: int
    columns: dict[str, Any]  # values of `ITEM_COLUMNS`, by name
    messages: Sequence[dict[str, Any]] | None
    calls: Sequence[dict[str, Any]] | None
    pairs: Sequence[dict[str, Any]] | None
    verdicts: Sequence[dict[str, Any]] | None
    functions: Sequence[str] | None  # hashes of function docs
    extra: str | None  # JSON text
    n_issues: int | None
    question_hash: int | None  # None if the row has all messages and calls

    @property
    def is_valid(self) -> bool:
        return self.columns["id"] is not None and self.columns["category"] is not None


@dataclass(frozen=True, slots=True)
class _SharedQuestion:
    """The messages and golden calls that the items of all runs on a question have in common."""

    messages: Sequence[dict[str, Any]] = ()
    golden_calls: Sequence[dict[str, Any]] = ()


_NO_SHARED_QUESTION = _SharedQuestion()


@dataclass(frozen=True, slots=True)
class _OtherTables:
    """Rows of the tables to which the rows of items refer."""

    docs: Mapping[str, dict[str, Any]]  # docs of functions by their hash
    questions: Mapping[int, _SharedQuestion]  # by hash
    issues: Mapping[int, list[ImportIssue]]  # by item number

    def find_question(self, row: _ItemRow) -> _SharedQuestion:
        """Return what an item shares with others. Empty if its row has all messages and calls."""
        if row.question_hash is None:
            return _NO_SHARED_QUESTION
        return self.questions.get(row.question_hash, _NO_SHARED_QUESTION)

    def find_docs(self, row: _ItemRow) -> list[dict[str, Any]]:
        return [self.docs[name] for name in row.functions or () if name in self.docs]


def read_items(connection: Connection, item_numbers: Sequence[int]) -> dict[int, Item]:
    """Read whole items from the store, and return them by item number. Invalid ones are left out.

    Function docs and questions, which many items share, have tables of their own. They are fetched
    once for all items.
    """
    if not item_numbers:
        return {}
    rows = _fetch_item_rows(connection, item_numbers)
    tables = _fetch_other_tables(connection, rows)
    return {row.number: _parse_item(row, tables) for row in rows if row.is_valid}


def _fetch_other_tables(connection: Connection, rows: Sequence[_ItemRow]) -> _OtherTables:
    docs_hashes: set[str] = set()
    question_hashes: set[int] = set()
    for row in rows:
        docs_hashes.update(row.functions or ())
        if row.question_hash is not None:
            question_hashes.add(row.question_hash)
    items_with_issues = [row.number for row in rows if row.n_issues]
    return _OtherTables(
        docs=fetch_function_docs(connection, docs_hashes),
        questions=_fetch_shared_questions(connection, question_hashes),
        issues=_fetch_item_issues(connection, items_with_issues),
    )


def _fetch_item_rows(connection: Connection, item_numbers: Sequence[int]) -> list[_ItemRow]:
    """Return the rows of items with all their columns, in the order of the store."""
    condition, parameter = _build_item_condition(item_numbers)
    query = _SELECT_ITEMS + condition + and_runs_of_items_sql(connection, item_numbers)

    rows = []
    # A row has the number, the columns of the item, and further fields of `_ItemRow`.
    n_columns = len(ITEM_COLUMNS)
    for number, *values in connection.execute(query, [parameter]).fetchall():
        columns = dict(zip(ITEM_COLUMNS, values[:n_columns], strict=True))
        rows.append(_ItemRow(number, columns, *values[n_columns:]))
    return rows


def _build_item_condition(item_numbers: Sequence[int]) -> tuple[str, int | list[int]]:
    """Return the SQL condition for one or more items, and its parameter."""
    if len(item_numbers) == 1:
        # DuckDB uses the index for `=` only.
        return "item = ?", item_numbers[0]
    # The range limits how many rows are read.
    condition = (
        f"item BETWEEN {min(item_numbers):d} AND {max(item_numbers):d}"
        " AND item IN (SELECT unnest(?::BIGINT[]))"
    )
    return condition, list(item_numbers)


def _fetch_shared_questions(connection: Connection, hashes: set[int]) -> dict[int, _SharedQuestion]:
    """Return hash -> the messages and golden calls of a question that several items share."""
    if not hashes:
        return {}
    value: Any
    if len(hashes) == 1:
        # DuckDB uses the index for `=` only.
        where = "= ?"
        (value,) = hashes
    else:
        where = "IN (SELECT unnest(?::BIGINT[]))"
        value = sorted(hashes)
    rows = connection.execute(
        f"SELECT hash, messages, calls FROM questions WHERE hash {where}", [value]
    )
    return {
        question_hash: _SharedQuestion(messages or (), golden_calls=calls or ())
        for question_hash, messages, calls in rows.fetchall()
    }


def _parse_item(row: _ItemRow, tables: _OtherTables) -> Item:
    """Build an item from its row in the store and from the rows to which it refers."""
    fields = {name: value for name, value in row.columns.items() if value is not None}
    sections = fields.pop("task_sections", ())
    question = tables.find_question(row)
    stored_calls = [*question.golden_calls, *(row.calls or ())]
    calls = [parse_call(call) for call in stored_calls]
    return Item(
        **fields,
        task_sections=[TaskSection(**section) for section in sections],
        messages=[Message(**message) for message in (*question.messages, *(row.messages or ()))],
        golden=[call for call in calls if call.side == "golden"],
        predicted=[call for call in calls if call.side == "predicted"],
        pairs=[parse_pair(pair) for pair in row.pairs or ()],
        verdicts=[_parse_verdict(verdict) for verdict in row.verdicts or ()],
        functions=tables.find_docs(row),
        extra=Extra.from_json(parse_json(row.extra)),
        issues=tables.issues.get(row.number, []),
    )


def _parse_verdict(verdict: dict[str, Any]) -> Verdict:
    value = parse_json(verdict["value"])
    return Verdict(**verdict | {"value": value})


def _fetch_item_issues(
    connection: Connection, item_numbers: list[int]
) -> dict[int, list[ImportIssue]]:
    """Return item number -> its import issues."""
    if not item_numbers:
        return {}
    found: dict[int, list[ImportIssue]] = {}
    for item, *issue_row in connection.execute(
        "SELECT item, file, line, what, raw, id, severity FROM import_issues"
        " WHERE item IN (SELECT unnest(?::BIGINT[]))"
        " ORDER BY item, file, line",
        [item_numbers],
    ).fetchall():
        found.setdefault(item, []).append(_make_issue(issue_row))
    return found


def fetch_issues(connection: Connection, runs: Sequence[int]) -> list[ImportIssue]:
    """Return the import issues of the runs, or of all runs if `runs` is empty. Errors come first."""
    rows = connection.execute(
        "SELECT file, line, what, raw, id, severity FROM import_issues"
        " WHERE run IS NULL OR len($1::INTEGER[]) = 0 OR list_contains($1::INTEGER[], run)"
        " ORDER BY list_position(['error', 'warning', 'notice'], severity), run NULLS FIRST, item"
        " NULLS FIRST, file,"
        " line",
        [list(runs)],
    ).fetchall()
    return [_make_issue(row) for row in rows]


def _make_issue(row: Sequence[Any]) -> ImportIssue:
    file, line, what, raw, item_id, severity = row
    return ImportIssue(file, line, what=what, raw=raw, item=item_id, severity=severity)


def find_items(connection: Connection, item_id: str, run: int | None) -> list[int]:
    rows = connection.execute(
        "SELECT item FROM item_rows WHERE id = ? AND (?::INTEGER IS NULL OR run = ?) ORDER BY item",
        [item_id, run, run],
    ).fetchall()
    return [row[0] for row in rows]


def search_item_ids(
    connection: Connection, text: str, runs: Sequence[int], preferred_run: int | None, limit: int
) -> list[ItemMatch]:
    """Find items whose ids contain all words of a text. Ids that are the text, or begin with it,
    come first.

    Args:
        connection: The connection to the store.
        text: The words. Case does not matter.
        runs: The runs to search in; empty for all.
        preferred_run: If several runs have an id, the item of this run is returned.
        limit: Maximum number of ids.
    """
    words = text.lower().split()
    if not words:
        return []
    conditions = [f"contains(lower(id), $word_{index})" for index in range(len(words))]
    if runs:
        conditions.append(f"run IN ({', '.join(str(int(run)) for run in runs)})")
    query = f"""
    SELECT coalesce(min(item) FILTER (WHERE run = $preferred_run), min(item)), id, category,
           count(DISTINCT run)
    FROM item_rows WHERE {" AND ".join(conditions)} GROUP BY id, category
    ORDER BY lower(id) = $searched_id DESC, starts_with(lower(id), $searched_id) DESC, length(id), id, category
    LIMIT $limit
    """
    parameters: dict[str, Any] = {f"word_{index}": word for index, word in enumerate(words)}
    parameters["preferred_run"] = preferred_run
    parameters["searched_id"] = " ".join(words)
    parameters["limit"] = limit
    rows = connection.execute(query, parameters).fetchall()
    return [ItemMatch(*row) for row in rows]


def read_raw_record(connection: Connection, workspace: Workspace, item_number: int) -> str:
    """Return the text of the record in the result file from which an item was imported, without
    credentials.

    Raises StoreError if there is none.
    """
    # A hidden duplicate of a queue has the number of its item with a mark.
    item = strip_duplicate_mark(item_number)
    # In a lake, the number of the run limits the files that are searched.
    where = "item = ?" + and_runs_of_items_sql(connection, [item])
    query = f'SELECT id, file, line, "offset", length, extra FROM item_rows WHERE {where}'
    row = connection.execute(query, [item]).fetchone()
    if row is None:
        raise StoreError("the item does not exist")
    item_id, file, line, offset, length, extra = row
    if not file or not length:
        raise StoreError("no result file has a record of this item")
    data = _read_record(
        connection,
        workspace,
        item,
        RecordLocation(file, line=line, offset=offset, length=length),
        item_id,
    )
    return _redact_record(data, Extra.from_json(parse_json(extra)))


def read_score_record(connection: Connection, workspace: Workspace, item_number: int) -> str | None:
    """Return the text of the score entry of an item, without credentials; None if it has none."""
    # A hidden duplicate of a queue has the number of its item with a mark.
    item = strip_duplicate_mark(item_number)
    # In a lake, the number of the run limits the files that are searched.
    where = "item = ?" + and_runs_of_items_sql(connection, [item])
    row = connection.execute(f"SELECT extra FROM item_rows WHERE {where}", [item]).fetchone()
    if row is None:
        return None

    extra = Extra.from_json(parse_json(row[0]))
    location = extra.score_record
    if location is None or not location.file or not location.length:
        return None
    return _redact_record(_read_record(connection, workspace, item, location), extra)


def _redact_record(data: bytes, extra: Extra) -> str:
    from fcreview.model.sanitize import redact_api_keys, redact_third_party_keys

    text = redact_api_keys(data).decode("utf-8", "replace")
    return redact_third_party_keys(text) if extra.redacted else text


def _read_record(
    connection: Connection,
    workspace: Workspace,
    item_number: int,
    location: RecordLocation,
    item_id: str | None = None,
) -> bytes:
    """Read the raw record of an item from its file, at the place that the importer noted.

    If the file has changed since the import, the place must still have a JSON object with the id
    `item_id`. Otherwise, raises StoreError.
    """
    path = workspace.to_absolute_path(location.file)
    try:
        data, is_archive = _read_bytes(path, location)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    except ArchiveError as error:
        raise StoreError(f"{path}: {error}") from error

    stored_path = workspace.to_stored_path(path)
    if _is_file_unchanged(connection, item_number, stored_path, path):
        return data
    # The length of the location is that of the compressed member.
    expected_length = len(data) if is_archive else location.length
    if _is_complete_record(data, expected_length, item_id):
        return data
    raise StoreError(
        f"{path} has changed since the import. Import the run again to see the record."
    )


def _read_bytes(path: Path, location: RecordLocation) -> tuple[bytes, bool]:
    """Return the bytes at a location, unpacked if the file is an archive, and whether it is
    one.
    """
    with open_file(path) as stream:
        is_archive = stream.read(len(SIGNATURE)) == SIGNATURE
        stream.seek(location.offset)
        if is_archive:
            return read_member_at(stream, location.offset), True
        return stream.read(location.length), False


def _is_file_unchanged(
    connection: Connection, item_number: int, stored_path: str, path: Path
) -> bool:
    """Whether a file has the size and the time of change that it had at the import."""
    status = path.stat()
    found = connection.execute(
        "SELECT size, mtime_ns FROM sources WHERE run = ? AND path = ?",
        [get_run_number(item_number), stored_path],
    ).fetchone()
    return bool(found == (status.st_size, status.st_mtime_ns))


def _is_complete_record(data: bytes, length: int, item_id: str | None) -> bool:
    """Whether bytes are one whole JSON record, with the given id if it is known."""
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return (
        len(data) == length
        and isinstance(record, dict)
        and item_id in (None, str(record.get("id")))
    )


def parse_call(row: dict[str, Any]) -> Call:
    arguments = parse_json(row["arguments"])
    if row["side"] == "golden" and isinstance(arguments, dict):
        arguments = {name: parse_accepted_values(accept) for name, accept in arguments.items()}
    return Call(**row | {"arguments": arguments})


def parse_pair(row: dict[str, Any]) -> CallPair:
    return CallPair(**row | {"diff": [ArgumentDiff(**diff) for diff in row["diff"] or ()]})


_LABEL_CRITERIA = (
    "SELECT DISTINCT v.criterion FROM verdicts v JOIN item_rows i USING (item)"
    " WHERE i.run = $run AND v.run = $run AND i.category = (SELECT category FROM item_rows WHERE"
    " item = $item{runs})"
    " AND v.target = 'response' AND v.value LIKE '[%' ORDER BY 1"
)


def fetch_multi_label_criteria(connection: Connection, item_number: int) -> list[str]:
    item = strip_duplicate_mark(item_number)
    query = _LABEL_CRITERIA.format(runs=and_runs_of_items_sql(connection, [item]))
    rows = connection.execute(query, {"run": get_run_number(item), "item": item}).fetchall()
    return [criterion for (criterion,) in rows]


MAX_LISTED_HASHES = 100  # maximum number of function docs whose hashes a query lists


def fetch_function_docs(connection: Connection, hashes: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return hash -> the docs of a function."""
    wanted = sorted(hashes)
    if not wanted:
        return {}

    # With a list of values, DuckDB skips most of a Parquet file. For many values, a join is faster.
    if len(wanted) <= MAX_LISTED_HASHES:
        placeholders = ", ".join("?" * len(wanted))
        params: list[Any] = wanted
    else:
        placeholders = "SELECT unnest(?::VARCHAR[])"
        params = [wanted]
    query = f"SELECT hash, document FROM functions WHERE hash IN ({placeholders})"
    rows = connection.execute(query, params).fetchall()
    return {name: orjson.loads(text) for name, text in rows}


# Maximum number of items that are shown of a group. In some datasets, all items are in one group.
MAX_SIBLINGS = 500


def fetch_siblings(connection: Connection, row: QueueRow, *, blind: bool) -> list[Sibling]:
    """Return the items of a group, such as a conversation, to which the item of the row belongs.

    Its own item is included. Empty if it belongs to no group.
    """
    if row.group is None:
        return []
    # With a range of item numbers, DuckDB skips other runs.
    first_item = make_item_number(row.run, 0)
    last_item = make_item_number(row.run + 1, 0) - 1
    rows = connection.execute(
        "SELECT i.item, i.id, h.you, coalesce(i.official, i.rule) FROM item_rows i LEFT JOIN human"
        " h ON h.item = i.item"
        ' WHERE i.item BETWEEN ? AND ? AND i."group" = ? AND i.category = ? ORDER BY i.item LIMIT'
        " ?",
        [first_item, last_item, row.group, row.category, MAX_SIBLINGS],
    ).fetchall()
    siblings = []
    for item, item_id, own_verdict, automatic_verdict in rows:
        mark = parse_json(own_verdict)
        # Blind review does not show automatic verdicts.
        if own_verdict is None and not blind:
            mark = automatic_verdict
        siblings.append(Sibling(item, id=item_id, mark=mark))
    return siblings


SECOND_PRESENTATION = 2
"""`Event.presentation` of reviews of a hidden duplicate."""


def adapt_row_to_duplicate(
    row: QueueRow, item_number: int, reviews: ReviewTables, *, blind: bool
) -> QueueRow:
    """Return the row to show for a hidden duplicate.

    It has the annotator's second review. If `item_number` is not that of a hidden duplicate, the
    row is returned unchanged.
    """
    if not is_hidden_duplicate(item_number):
        return row
    decision = _decide_second_review(row, reviews)
    if decision is None or decision.mine is None:
        n_own_parts = 0 if decision is None else decision.n_my_part_verdicts
        return _hide_first_review(row, item_number, n_own_parts, blind=blind)
    return replace(row, item=item_number, you=decision.mine, your_parts=decision.n_my_part_verdicts)


def _decide_second_review(row: QueueRow, reviews: ReviewTables) -> Decision | None:
    """Return the decision on the whole item by the annotator's second review; None without one."""
    key, prediction_hash, golden_hash = reviews.fetch_key_and_hashes(row.item)
    opinions = reviews.events.compute_opinions_of_annotator(
        key, reviews.annotator or "", prediction_hash, golden_hash, is_duplicate=True
    )
    if not opinions:
        return None
    context = reviews.get_roll_up_context(row.item)
    # The first decision is on the whole item.
    item_decision, *_ = decide(opinions, context, reviews.annotator)
    return item_decision


def _hide_first_review(
    row: QueueRow, item_number: int, n_own_parts: int, *, blind: bool
) -> QueueRow:
    """Return the row of a hidden duplicate before its second review, without the first one.

    `n_own_parts`: number of parts with a verdict of the second review.
    """
    hidden = replace(
        row,
        item=item_number,
        you=None,
        your_parts=n_own_parts,
        human=None,
        effective=None,
        parts=n_own_parts,
    )
    if blind:
        hide_verdicts_unless_reviewed(hidden)
    return hidden


def _replace_review_of_duplicate(detail: ItemDetail, reviews: ReviewTables) -> None:
    """Replace this annotator's first review of a hidden duplicate by the second one."""
    detail.presentation = SECOND_PRESENTATION
    annotator = reviews.annotator or ""
    opinions_of_others = [opinion for opinion in detail.opinions if opinion.annotator != annotator]
    second_opinions = reviews.events.compute_opinions_of_annotator(
        detail.key,
        annotator,
        detail.item.prediction_hash,
        detail.item.golden_hash,
        is_duplicate=True,
    )
    detail.opinions = opinions_of_others + second_opinions
    detail.history = [
        event
        for event in detail.history
        if event.annotator != annotator or event.presentation == SECOND_PRESENTATION
    ]


def _hide_detail_verdicts(detail: ItemDetail, annotator: str | None) -> None:
    """Remove automatic verdicts and the reviews of other annotators, for an item that is
    reviewed in blind mode.
    """
    hide_verdicts_unless_reviewed(detail.row)
    _remove_automatic_verdicts(detail.item)
    detail.run = replace(detail.run, official_metrics={})
    detail.golden = None
    detail.opinions = [opinion for opinion in detail.opinions if opinion.annotator == annotator]
    detail.history = [event for event in detail.history if event.annotator == annotator]


def _remove_automatic_verdicts(item: Item) -> None:
    """Remove all fields that reveal whether the item passes."""
    item.official = None
    item.rule = None
    item.judge = None
    item.error_type = None
    item.rule_error_type = None
    item.rule_note = None
    item.first_difference = None
    item.diff_function = None
    item.diff_argument = None
    item.diff_golden = None
    item.diff_predicted = None
    item.decisive_step = None
    item.ended = None
    item.verdicts = []
    item.issues = []
    item.flags = []
    item.task_sections = [section for section in item.task_sections if not section.reveals_golden]
    # Only these fields of `extra` reveal no verdict. The numbers of messages depend on
    # `user_calls`.
    item.extra = Extra(
        accepted_answers=item.extra.accepted_answers,
        final_answer=item.extra.final_answer,
        user_calls=item.extra.user_calls,
    )


def build_detail(
    row: QueueRow, run: Run, item: Item, reviews: ReviewTables, *, blind: bool
) -> ItemDetail:
    """Join an item with its reviews, as the item screen shows it.

    In blind mode, the verdicts of an item that this annotator has not reviewed are removed.
    """
    key = ItemKey(
        run.benchmark,
        generation=run.generation,
        language=run.language,
        model=run.model,
        category=item.category,
        id=item.id,
    )
    _set_effective_incident(item, row)
    detail = ItemDetail(
        row,
        key=key,
        run=run,
        item=item,
        opinions=reviews.events.compute_opinions(key, item.prediction_hash, item.golden_hash),
        history=reviews.events.get_history(key),
        golden=reviews.events.decide_golden_fix(key, item.golden_hash),
    )
    _remove_known_reviews(detail)
    if is_hidden_duplicate(row.item):
        _replace_review_of_duplicate(detail, reviews)
    if blind and row.you is None:
        _hide_detail_verdicts(detail, reviews.annotator)
    return detail


def _set_effective_incident(item: Item, row: QueueRow) -> None:
    """Give the item the mark of an incident that counts: the reviewers' decision, else the
    automatic mark.
    """
    item.incident = cast("IncidentKind | None", row.incident)
    item.incident_certainty = cast("IncidentCertainty | None", row.incident_certainty)
    if row.is_incident:
        item.first_difference = row.first_difference


def _remove_known_reviews(detail: ItemDetail) -> None:
    """Remove the recorded reviews that were exported from this workspace, because they are already
    among the opinions.
    """
    extra = detail.item.extra
    if not extra.recorded_reviews:
        return
    known_events = {event.event for event in detail.history}
    extra.recorded_reviews = [
        review for review in extra.recorded_reviews if known_events.isdisjoint(review.events)
    ]
