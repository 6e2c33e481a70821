"""Queries for the audit of golden answers: every question with the answers of all runs, and the suspects queue."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fcreview.golden_audit.facts import find_model_family, smooth_rate
from fcreview.golden_audit.question import AuditedQuestion, DistinctAnswer, RunProfile
from fcreview.model.item import Call, CallPair
from fcreview.stats.run_comparison import QuestionKey
from fcreview.store.queries.item_detail import fetch_function_docs, parse_call, parse_pair
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition
from fcreview.store.reviews.verdict_sql import AUTOMATIC_VERDICT
from fcreview.store.rows import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from fcreview.golden_audit.score import Suspect


_PASS_COUNTS = f"""
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
    """Evidence for the audit of the golden answers of some runs."""

    questions: list[AuditedQuestion]
    run_profiles: dict[int, RunProfile]
    """Pass rates by run number."""
    selected_keys: frozenset[QuestionKey] | None
    """Questions that the view's filter selects in at least one run; None if the view has no filter."""


@dataclass(frozen=True, slots=True)
class _AnswerRow:
    """A row of `_ANSWERS`: one answer to a question and the runs that gave it."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str
    golden_hash: str
    items: list[int]
    """Item number in each run of `runs`, in the same order."""
    runs: list[int]
    differs: bool | None
    """Whether a call differs from its golden call."""
    passed: bool | None
    contradicted: bool
    """Whether official and recomputed verdict differ."""

    @property
    def item(self) -> int:
        """Number of the first item in `items`. All items have the same calls and the same golden answer."""
        return self.items[0]

    @property
    def key(self) -> QuestionKey:
        return QuestionKey(self.benchmark, self.generation, self.language, self.category, self.id)


def fetch_audit_input(connection: DuckDBPyConnection, view: View) -> AuditInput:
    """Return all questions of the view's runs with their answers; the view's filter only sets `selected_keys`.

    If runs have different golden answers to a question, only the runs with the most frequent one count. Raises
    FilterError if the filter is not valid.
    """
    selected = _fetch_selected_keys(connection, view) if view.where.strip() or view.items else None
    runs, _, _ = build_condition(View(runs=view.runs), blind=False)
    rows_by_key: dict[QuestionKey, list[_AnswerRow]] = {}
    for values in connection.execute(_ANSWERS.format(runs=runs)).fetchall():
        row = _AnswerRow(*values)
        rows_by_key.setdefault(row.key, []).append(row)
    rows_by_key = {key: _with_most_frequent_golden(rows) for key, rows in rows_by_key.items()}
    fields = _fetch_question_fields(connection, [rows[0].item for rows in rows_by_key.values()])
    rows_with_evidence = [
        row for rows in rows_by_key.values() for row in rows if row.passed is False or (row.passed and row.differs)
    ]
    calls = _fetch_calls(connection, [row.item for row in rows_with_evidence])
    faults = _fetch_faults(connection)
    questions = []
    for key, rows in rows_by_key.items():
        question = AuditedQuestion(key, **fields[rows[0].item], faults=faults.get(key, Counter()))
        for row in rows:
            predicted, pairs = calls.get(row.item, ([], []))
            question.answers.append(DistinctAnswer(row.runs, row.passed, row.contradicted, predicted, pairs, row.items))
        questions.append(question)
    return AuditInput(questions, _fetch_run_profiles(connection, runs), selected)


def _fetch_selected_keys(connection: DuckDBPyConnection, view: View) -> frozenset[QuestionKey]:
    where, params, _ = build_condition(view, blind=False)
    rows = connection.execute(
        "SELECT DISTINCT r.benchmark, r.generation, r.language, i.category, i.id"
        f" {FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where}",
        params,
    ).fetchall()
    return frozenset(QuestionKey(*row) for row in rows)


def _with_most_frequent_golden(rows: Sequence[_AnswerRow]) -> list[_AnswerRow]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.golden_hash] += len(row.runs)
    golden_hash = counts.most_common(1)[0][0]
    return [row for row in rows if row.golden_hash == golden_hash]


def _fetch_question_fields(connection: DuckDBPyConnection, items: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return fields of `AuditedQuestion` by item. Questions share the objects of their function docs."""
    rows = connection.execute(_QUESTIONS, [list(items)]).fetchall()
    docs = fetch_function_docs(connection, {name for row in rows for name in row[3] or ()})
    docs = {name: doc for name, doc in docs.items() if isinstance(doc, dict)}
    return {
        item: {
            "text": question or "",
            "golden": [parse_call(call) for call in golden or ()],
            "functions": [docs[name] for name in functions or () if name in docs],
            "group": group,
            "is_self_contained": is_self_contained,
        }
        for item, question, golden, functions, group, is_self_contained in rows
    }


def _fetch_calls(connection: DuckDBPyConnection, items: Sequence[int]) -> dict[int, tuple[list[Call], list[CallPair]]]:
    """Return the predicted calls and the call pairs by item."""
    rows = connection.execute(_CALLS, [list(items)]).fetchall()
    return {
        item: ([parse_call(call) for call in calls or ()], [parse_pair(pair) for pair in pairs or ()])
        for item, calls, pairs in rows
    }


def _fetch_faults(connection: DuckDBPyConnection) -> dict[QuestionKey, Counter[str]]:
    """Count the answers to each question by fault. Disputed faults are omitted."""
    found: defaultdict[QuestionKey, Counter[str]] = defaultdict(Counter)
    for *key, fault, count in connection.execute(_FAULTS).fetchall():
        found[QuestionKey(*key)][fault] = count
    return dict(found)


def _fetch_run_profiles(connection: DuckDBPyConnection, runs: str) -> dict[int, RunProfile]:
    counts: defaultdict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    models: dict[int, str] = {}
    conflicts: Counter[int] = Counter()
    rows = connection.execute(_PASS_COUNTS.format(runs=runs)).fetchall()
    for run, model, category, passed, known, contradicted in rows:
        models[run] = model
        counts[run][category] = (passed, known)
        conflicts[run] += int(contradicted)
    profiles = {}
    for run, by_category in counts.items():
        passed, known = (sum(column) for column in zip(*by_category.values(), strict=True))
        profiles[run] = RunProfile(
            models[run],
            find_model_family(models[run]),
            smooth_rate(passed, known),
            {category: smooth_rate(*each) for category, each in by_category.items()},
            conflicts[run] / max(known, 1),
        )
    return profiles


_CREATE_TABLE = """
CREATE TEMP TABLE IF NOT EXISTS suspect_places (scope VARCHAR, item BIGINT, rank BIGINT)
"""


class SuspectTable:
    """The temporary table `suspect_places`, which holds the suspects queue: one item of each suspect question.

    `scope` names the runs that were compared (`View.runs_key`), `rank` counts from 0. The rows of a scope are computed
    once and stay the same for the session. Not thread-safe.
    """

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._loaded: set[str] = set()

    def load_suspects(self, view: View) -> None:
        """Compute the rows for the view's runs, unless the table already has the rows. The view's filter is ignored."""
        if view.runs_key in self._loaded:
            return
        from fcreview.golden_audit.score import rank_suspects

        audit = fetch_audit_input(self._connection, View(runs=view.runs))
        items = [
            _pick_example_item(each) for each in rank_suspects(audit.questions, audit.run_profiles) if each.reasons
        ]
        self._connection.execute(_CREATE_TABLE)
        self._connection.execute(
            "INSERT INTO suspect_places SELECT $1, unnest($2::BIGINT[]), unnest($3::BIGINT[])",
            [view.runs_key, items, list(range(len(items)))],
        )
        self._loaded.add(view.runs_key)


def _pick_example_item(suspect: Suspect) -> int:
    """Return an item with the alternative answer, else one that fails, else any item of the question."""
    alternative_runs = set(suspect.alternative.runs) if suspect.alternative else set()
    return min(
        (run not in alternative_runs, answer.passed is not False, run, item)
        for answer in suspect.question.answers
        for run, item in zip(answer.runs, answer.items, strict=True)
    )[-1]
