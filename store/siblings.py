"""Fetch the questions of the runs with the golden answers that count now, to find siblings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.golden_audit.siblings import SiblingQuestion
from fcreview.model.golden_fix import ACCEPTED
from fcreview.model.item import SIMULATED_USER_INSTRUCTION
from fcreview.model.review import QuestionKey
from fcreview.store.queries.golden_audit import fetch_questions_of_view
from fcreview.store.queries.item_detail import parse_call, read_items
from fcreview.store.queries.scored_items import fetch_datasets
from fcreview.store.queries.view_items import FROM_ITEMS, build_view_condition
from fcreview.store.rows import ALL_CALLS, ALL_MESSAGES, FROM_WHOLE_ITEMS, View, get_run_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.model.item import Call, Item, Run
    from fcreview.store.store import Store

GoldenFixParser = Callable[["Run", "Item", dict[str, Any]], "list[Call]"]
"""Returns the golden calls in a golden fix of an item. Empty if they cannot be parsed."""

_EXAMPLES = f"""
SELECT min(i.item) {FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {{runs}}
GROUP BY r.benchmark, r.generation, r.language, i.category, i.id, i.golden_hash ORDER BY 1
"""
"""SQL for an item of each question and golden answer in the dataset."""


def _join_messages_sql(condition: str) -> str:
    """Return SQL for the text of the messages `m` to which a condition applies."""
    messages = f"list_filter({ALL_MESSAGES}, lambda m: {condition})"
    return f"array_to_string(list_transform({messages}, lambda m: m.content), chr(10))"


_INSTRUCTION = _join_messages_sql(f"m.name = '{SIMULATED_USER_INSTRUCTION}'")
_USER_MESSAGES = _join_messages_sql("m.role = 'user'")
_QUESTIONS = f"""
SELECT i.item, i.category, i.id, i."group",
       -- What a simulated user writes differs from trial to trial, but not its instruction.
       coalesce(nullif({_INSTRUCTION}, ''), {_USER_MESSAGES}),
       list_filter({ALL_CALLS}, lambda c: c.side = 'golden'),
       coalesce(json_extract(i.extra, '$.erratum') IS NOT NULL, false),
       i.functions
{FROM_WHOLE_ITEMS} WHERE i.item IN (SELECT unnest(?::BIGINT[])) ORDER BY i.item
"""
_ITEMS_PER_FETCH = 2_000
"""Largest number of items whose messages are in memory at a time."""
_QUESTIONS_WITH_FIXES = (
    "SELECT DISTINCT r.benchmark, r.generation, r.language, i.category, i.id"
    f" FROM human_labels h JOIN item_rows i USING (item) JOIN runs r USING (run)"
    f" WHERE h.golden_status = '{ACCEPTED}'"
)


@dataclass(frozen=True, slots=True)
class _QuestionRow:
    """A row of the query `_QUESTIONS`."""

    item: int
    category: str
    id: str
    group: str | None
    user_text: str | None
    golden: list[dict[str, Any]] | None
    has_erratum: bool
    function_hashes: list[str] | None


def fetch_sibling_questions(
    store: Store, view: View, parse_golden_fix: GoldenFixParser
) -> list[SiblingQuestion]:
    """Return each question of the view's runs that has golden calls. The view's filter is ignored.

    If runs have different golden answers to a question, the question is listed once for each of
    them.
    """
    with store.lock:
        # A condition by runs has no parameters.
        run_condition = build_view_condition(View(runs=view.runs), blind=False).sql
        rows = store.connection.execute(_EXAMPLES.format(runs=run_condition)).fetchall()
        examples = [item for (item,) in rows]
        questions = list(_iter_questions(store.connection, examples, store.run_names))
        corrected_keys = _fetch_questions_with_fixes(store.connection)
    return list(_apply_golden_fixes(store, questions, corrected_keys, parse_golden_fix))


def fetch_selected_questions(store: Store, view: View) -> frozenset[QuestionKey]:
    """Return the questions that the view's filter selects in at least one run. Raises FilterError
    if the filter is not valid.
    """
    with store.lock:
        return fetch_questions_of_view(store.connection, view)


def _iter_questions(
    connection: Connection, examples: Sequence[int], run_names: Mapping[int, str]
) -> Iterator[SiblingQuestion]:
    """Yield the question of each example item, with its golden calls and the function docs.

    Items without a golden answer are left out.
    """
    datasets = fetch_datasets(connection)
    function_names = dict(connection.execute("SELECT hash, name FROM functions").fetchall())
    for row in _iter_question_rows(connection, examples):
        if not row.golden:
            continue
        run = get_run_number(row.item)
        yield SiblingQuestion(
            QuestionKey(*datasets[run], row.category, row.id),
            item=row.item,
            user_text=row.user_text or "",
            golden=[parse_call(call) for call in row.golden],
            group=row.group,
            is_corrected=row.has_erratum,
            function_docs=_map_names_to_docs(row.function_hashes or (), function_names),
            run_name=run_names[run],
        )


def _iter_question_rows(connection: Connection, items: Sequence[int]) -> Iterator[_QuestionRow]:
    for start in range(0, len(items), _ITEMS_PER_FETCH):
        batch = items[start : start + _ITEMS_PER_FETCH]
        for values in connection.execute(_QUESTIONS, [batch]).fetchall():
            yield _QuestionRow(*values)


def _map_names_to_docs(hashes: Iterable[str], function_names: Mapping[str, str]) -> dict[str, str]:
    """Return function name -> hash of its docs, for the functions of a question.

    `function_names` maps the hashes of all docs in the store to names.
    """
    return {
        function_names[docs_hash]: docs_hash for docs_hash in hashes if docs_hash in function_names
    }


def _fetch_questions_with_fixes(connection: Connection) -> set[QuestionKey]:
    rows = connection.execute(_QUESTIONS_WITH_FIXES).fetchall()
    return {QuestionKey(*row) for row in rows}


def _apply_golden_fixes(
    store: Store,
    questions: Sequence[SiblingQuestion],
    corrected_keys: Collection[QuestionKey],
    parse_golden_fix: GoldenFixParser,
) -> Iterator[SiblingQuestion]:
    """Yield the questions, with the accepted golden fix in place of the dataset's golden answer if
    there is one.
    """
    for question in questions:
        if question.key not in corrected_keys:
            yield question
            continue
        corrected_calls = _parse_accepted_fix(store, question.item, parse_golden_fix)
        if corrected_calls:
            yield replace(question, golden=corrected_calls, is_corrected=True)
        else:
            yield question


def _parse_accepted_fix(
    store: Store, item_number: int, parse_golden_fix: GoldenFixParser
) -> list[Call]:
    """Return the golden calls of the accepted golden fix of an item. Empty without one."""
    with store.lock:
        item = read_items(store.connection, [item_number])[item_number]
        key, _, golden_hash = store.reviews.items.fetch_key_and_hashes(item_number)
        decision = store.reviews.events.decide_golden_fix(key, golden_hash)
    if decision is None or not decision.counts or decision.golden_fix is None:
        return []
    run = store.runs[get_run_number(item_number)]
    return parse_golden_fix(run, item, decision.golden_fix)
