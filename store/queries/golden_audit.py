"""Questions with what all runs in scope answered, and how often each run passes: what suspects are found among.

The queue of suspects as a table beside the store: one item of every question whose golden answer looks wrong.

`suspect_places`: scope (the view's runs, as text), item, rank from 0. It is worked out when first asked for, and holds
still in a session.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fcreview.golden_audit.case import Answer, Case, CaseKey, Witness
from fcreview.golden_audit.facts import family, smoothed
from fcreview.model.item import Call, Pair
from fcreview.store.queries.item_detail import parse_call, fetch_function_docs, parse_pair
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition
from fcreview.store.reviews.verdict_sql import AUTOMATIC_VERDICT
from fcreview.store.rows import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from fcreview.golden_audit.score import Suspect


_RATES = f"""
SELECT i.run, r.model, i.category, count(*) FILTER ({AUTOMATIC_VERDICT}), count({AUTOMATIC_VERDICT}),
       sum(CAST(coalesce(i.official <> i.rule, false) AS INTEGER))
FROM item_rows i JOIN runs r USING (run) WHERE {{runs}} GROUP BY ALL ORDER BY ALL
"""
_ANSWERS = f"""
SELECT r.benchmark, r.generation, r.language, i.category, i.id, i.golden_hash, list(i.item ORDER BY i.run, i.item),
       list(i.run ORDER BY i.run, i.item),
       any_value(len(list_filter(i.pairs, lambda p: p.state NOT IN ('=', '~'))) > 0),
       {AUTOMATIC_VERDICT} AS passed, coalesce(i.official <> i.rule, false) AS contradicted
FROM item_rows i JOIN runs r USING (run) WHERE {{runs}}
GROUP BY 1, 2, 3, 4, 5, 6, i.prediction_hash, passed, contradicted ORDER BY min(i.seq), min(i.item)
"""
_QUESTIONS = """
SELECT item, array_to_string(
           list_transform(
               list_filter(messages[:asked], lambda m: m.role IN ('user', 'system', 'assistant')),
               lambda m: m.content
           ),
           chr(10)
       ),
       list_filter(calls, lambda c: c.side = 'golden'), functions, "group",
       NOT list_has_any(roles, ['tool', 'state'])
FROM (
    SELECT *, list_transform(messages, lambda m: m.role) AS roles,
           len(messages) + 1 - coalesce(list_position(list_reverse(roles), 'user'), len(messages) + 1) AS asked
    FROM item_rows WHERE item IN (SELECT unnest(?::BIGINT[]))
)
"""
_CALLS = """
SELECT item, list_filter(calls, lambda c: c.side = 'predicted'), pairs
FROM item_rows WHERE item IN (SELECT unnest(?::BIGINT[]))
"""
_FAULTS = """
SELECT r.benchmark, r.generation, r.language, i.category, i.id, h.fault, count(DISTINCT h.item)
FROM human_labels h JOIN item_rows i ON i.item = h.item JOIN runs r USING (run)
WHERE h.fault IS NOT NULL AND h.fault <> 'disputed' GROUP BY ALL
"""


@dataclass(frozen=True, slots=True)
class AuditInput:
    """The questions, and the runs that answered them."""

    cases: list[Case]
    witnesses: dict[int, Witness]
    chosen: frozenset[CaseKey] | None
    """What the view's filter selects; None for all."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of `_ANSWERS`."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str
    golden_hash: str
    items: list[int]
    runs: list[int]
    differs: bool | None
    """From golden, in some call."""
    passed: bool | None
    contradicted: bool

    @property
    def item(self) -> int:
        """One for all: they hold the same."""
        return self.items[0]

    @property
    def key(self) -> CaseKey:
        return CaseKey(self.benchmark, self.generation, self.language, self.category, self.id)


def fetch_audit_input(connection: DuckDBPyConnection, view: View) -> AuditInput:
    """Evidence comes from all items of the view's runs; the filter says which questions are `chosen`: those that it
    selects in some run. Where runs have different golden answers, the one that most have counts, and only these runs.
    FilterError for a filter that is not understood."""
    chosen = _chosen(connection, view) if view.where.strip() or view.items else None
    runs, _, _ = build_condition(View(runs=view.runs), blind=False)
    grouped: dict[CaseKey, list[_Row]] = {}
    for values in connection.execute(_ANSWERS.format(runs=runs)).fetchall():
        row = _Row(*values)
        grouped.setdefault(row.key, []).append(row)
    kept = {key: _of_one_golden(rows) for key, rows in grouped.items()}
    questions = _questions(connection, [rows[0].item for rows in kept.values()])
    shown = [row.item for rows in kept.values() for row in rows if row.passed is False or (row.passed and row.differs)]
    calls = _calls(connection, shown)
    faults = _faults(connection)
    cases = []
    for key, rows in kept.items():
        case = Case(key, **questions[rows[0].item], faults=faults.get(key, Counter()))
        for row in rows:
            called, pairs = calls.get(row.item, ([], []))
            case.answers.append(Answer(row.runs, row.passed, row.contradicted, called, pairs, row.items))
        cases.append(case)
    return AuditInput(cases, _witnesses(connection, runs), chosen)


def _chosen(connection: DuckDBPyConnection, view: View) -> frozenset[CaseKey]:
    where, params, _ = build_condition(view, blind=False)
    rows = connection.execute(
        f"SELECT DISTINCT r.benchmark, r.generation, r.language, i.category, i.id {FROM_ITEMS} JOIN runs r ON r.run = i.run"
        f" WHERE {where}",
        params,
    ).fetchall()
    return frozenset(CaseKey(*row) for row in rows)


def _of_one_golden(rows: Sequence[_Row]) -> list[_Row]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.golden_hash] += len(row.runs)
    most = counts.most_common(1)[0][0]
    return [row for row in rows if row.golden_hash == most]


def _questions(connection: DuckDBPyConnection, items: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What a `Case` has of each item; the same function document is the same object."""
    rows = connection.execute(_QUESTIONS, [list(items)]).fetchall()
    found = fetch_function_docs(connection, {name for row in rows for name in row[3] or ()})
    documents = {name: document for name, document in found.items() if isinstance(document, dict)}
    return {
        item: {
            "question": question or "",
            "golden": [parse_call(call) for call in golden or ()],
            "functions": [documents[name] for name in functions or () if name in documents],
            "group": group,
            "complete": complete,
        }
        for item, question, golden, functions, group, complete in rows
    }


def _calls(connection: DuckDBPyConnection, items: Sequence[int]) -> dict[int, tuple[list[Call], list[Pair]]]:
    rows = connection.execute(_CALLS, [list(items)]).fetchall()
    return {
        item: ([parse_call(call) for call in calls or ()], [parse_pair(pair) for pair in pairs or ()])
        for item, calls, pairs in rows
    }


def _faults(connection: DuckDBPyConnection) -> dict[CaseKey, Counter[str]]:
    """Settled faults: an adjudicator's, or the one that all annotators agree on; of any part of the item."""
    found: defaultdict[CaseKey, Counter[str]] = defaultdict(Counter)
    for *key, fault, count in connection.execute(_FAULTS).fetchall():
        found[CaseKey(*key)][fault] = count
    return dict(found)


def _witnesses(connection: DuckDBPyConnection, runs: str) -> dict[int, Witness]:
    counts: defaultdict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    models: dict[int, str] = {}
    differ: Counter[int] = Counter()
    for run, model, category, passed, known, contradicted in connection.execute(_RATES.format(runs=runs)).fetchall():
        models[run] = model
        counts[run][category] = (passed, known)
        differ[run] += int(contradicted)
    return {
        run: Witness(
            models[run],
            family(models[run]),
            smoothed(sum(passed for passed, _ in of.values()), sum(known for _, known in of.values())),
            {category: smoothed(*each) for category, each in of.items()},
            differ[run] / max(sum(known for _, known in of.values()), 1),
        )
        for run, of in counts.items()
    }


_TABLE = """
CREATE TEMP TABLE IF NOT EXISTS suspect_places (scope VARCHAR, item BIGINT, rank BIGINT)
"""


class SuspectTable:
    """Not for two threads at once."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._taken: set[str] = set()

    def load(self, view: View) -> None:
        """Makes the rows for the view's runs; its filter does not matter."""
        if view.scope in self._taken:
            return
        from fcreview.golden_audit.score import suspects

        found = fetch_audit_input(self._connection, View(runs=view.runs))
        items = [pick_example_item(each) for each in suspects(found.cases, found.witnesses) if each.reasons]
        self._connection.execute(_TABLE)
        self._connection.execute(
            "INSERT INTO suspect_places SELECT $1, unnest($2::BIGINT[]), unnest($3::BIGINT[])",
            [view.scope, items, list(range(len(items)))],
        )
        self._taken.add(view.scope)


def pick_example_item(suspect: Suspect) -> int:
    """The item that shows it best: an answer that competes with golden, else one that fails, else any."""
    other = suspect.alternative
    competing = set(other.runs) if other else set()
    return min(
        (run not in competing, answer.passed is not False, run, item)
        for answer in suspect.case.answers
        for run, item in zip(answer.runs, answer.items, strict=True)
    )[-1]
