"""Query the data for the golden audit, which finds golden answers that look wrong, and store the
found suspects.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.golden_audit.question import (
    AnswerDifference,
    AuditedQuestion,
    DistinctAnswer,
    RunProfile,
    find_differences,
    find_model_family,
    smooth_pass_rate,
)
from fcreview.model.item import Call
from fcreview.model.review import QuestionKey
from fcreview.store.database import EmptyValueError, pause_garbage_collection
from fcreview.store.queries.item_detail import fetch_function_docs, parse_call, parse_pair
from fcreview.store.queries.scored_items import fetch_datasets
from fcreview.store.queries.view_items import FROM_ITEMS, build_view_condition
from fcreview.store.review_sql import AUTOMATIC_VERDICT, HAS_INCIDENT
from fcreview.store.rows import (
    ALL_CALLS,
    ALL_MESSAGES,
    FROM_WHOLE_ITEMS,
    Suspicion,
    View,
    get_run_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from duckdb import DuckDBPyConnection as Connection

    from fcreview.golden_audit.score import Suspect

_PASS_COUNTS = f"""
SELECT i.run, r.model, i.category, count(*) FILTER ({AUTOMATIC_VERDICT}), count({AUTOMATIC_VERDICT}),
       sum(CAST(coalesce(i.official <> i.rule, false) AS INTEGER))
{FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {{runs}} AND NOT {HAS_INCIDENT} GROUP BY ALL ORDER BY ALL
"""
_DIFFERENT_PAIRS = "list_filter(i.pairs, lambda p: p.state NOT IN ('=', '~'))"
_ANSWERS = f"""
SELECT hash(r.benchmark, r.generation, r.language, i.category, i.id) AS question, hash(i.golden_hash) AS golden,
       list(i.item), {AUTOMATIC_VERDICT} AS passed,
       coalesce(i.official <> i.rule, false) AS contradicted,
       CASE WHEN NOT {AUTOMATIC_VERDICT} OR ({AUTOMATIC_VERDICT} AND len({_DIFFERENT_PAIRS}) > 0)
           THEN i.prediction_hash END AS prediction,
       any_value(i.run) FILTER (i.item IS NULL OR i.id IS NULL OR i.category IS NULL)
{FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {{runs}} AND NOT {HAS_INCIDENT}
GROUP BY 1, 2, passed, contradicted, prediction ORDER BY min(i.seq), min(i.item)
"""
"""SQL that groups the answers to each question. An incident is no answer, so it is no evidence.

Passing answers without a difference are one group. Answers without a
verdict are another group. All other answers are grouped by prediction."""
_QUESTIONS = f"""
SELECT item, category, id, array_to_string(
           list_transform(
               list_filter(whole[:asked], lambda m: m.role IN ('user', 'system', 'assistant')),
               lambda m: m.content
           ),
           chr(10)
       ),
       golden, functions, "group", NOT list_has_any(roles, ['tool', 'state'])
FROM (
    SELECT item, category, id, functions, "group", {ALL_MESSAGES} AS whole,
           list_filter({ALL_CALLS}, lambda c: c.side = 'golden') AS golden,
           list_transform(whole, lambda m: m.role) AS roles,
           len(whole) + 1 - coalesce(list_position(list_reverse(roles), 'user'), len(whole) + 1) AS asked
    {FROM_WHOLE_ITEMS} WHERE item BETWEEN ? AND ? AND item IN (SELECT unnest(?::BIGINT[]))
)
"""
_CONTENTS = f"""
SELECT i.item,
       to_json(list_transform(
           list_filter(i.calls, lambda c: c.side = 'predicted'),
           lambda c: {{'side': c.side, 'turn': c.turn, 'index': c.index, 'name': c.name, 'arguments': c.arguments,
                      'decode_error': c.decode_error}}
       ))::VARCHAR,
       to_json({_DIFFERENT_PAIRS})::VARCHAR
FROM item_rows i WHERE i.item IN (SELECT unnest(?::BIGINT[]))
"""
"""SQL for the predicted calls and different call pairs, as JSON text, which Python reads faster
than lists.
"""
ROWS_PER_FETCH = 5_000  # maximum number of answers whose calls are in memory at a time
_FAULTS = """
SELECT r.benchmark, r.generation, r.language, i.category, i.id, h.fault, count(DISTINCT h.item)
FROM human_labels h JOIN item_rows i ON i.item = h.item JOIN runs r USING (run)
WHERE h.fault IS NOT NULL AND h.fault <> 'disputed' GROUP BY ALL
"""


@dataclass(frozen=True, slots=True)
class AuditInput:
    questions: list[AuditedQuestion]
    run_profiles: dict[int, RunProfile]  # pass rates by run number
    selected_keys: frozenset[QuestionKey] | None
    """Questions that the view's filter selects in at least one run. None without a filter."""


@dataclass(slots=True)
class _AnswerRow:
    """A row of the query `_ANSWERS`: an answer to a question, and the items of all runs that
    gave it.
    """

    question: int  # Hash of the question's key. The key would take several times as much memory.
    golden: int
    items: list[int]  # item numbers, one for each run
    passed: bool | None
    contradicted: bool  # whether official and recomputed verdict differ
    # Hash of the predicted calls. None if the answer is not compared with the golden answer.
    prediction: str | None
    # a run of the group in which an item has no number, id or category, else None
    damaged_run: int | None

    @property
    def first_item(self) -> int:
        return self.items[0]


@dataclass(frozen=True, slots=True)
class _Content:
    is_decoded: bool = True
    differences: Sequence[AnswerDifference] = ()


_NO_DIFFERENCE = _Content()


def fetch_audit_input(connection: Connection, view: View) -> AuditInput:
    """Return the questions of some runs and the answers of the models, to search for wrong golden
    answers.

    `view` selects the runs. Its filter affects only `selected_keys`, the questions to show. If the
    runs have different golden answers to a question, only the runs with the most frequent one are
    included. Raises FilterError for an invalid filter, and EmptyValueError for a run with invalid
    items.
    """
    selected_keys = None
    if view.where.strip() or view.items:
        selected_keys = fetch_questions_of_view(connection, view)
    runs, _, _ = build_view_condition(View(runs=view.runs), blind=False)
    rows_of_questions = _fetch_answers(connection, runs)
    questions = _fetch_questions(connection, [rows[0].first_item for rows in rows_of_questions])

    # Equal answers of several runs are one row. Its content is found by the first item with the
    # answer.
    questions_with_answers = list(zip(questions, rows_of_questions, strict=True))
    contents = _fetch_answer_contents(connection, questions_with_answers)
    for question, rows in questions_with_answers:
        for row in rows:
            content = contents.get(row.first_item, _NO_DIFFERENCE)
            question.answers.append(_build_distinct_answer(row, content))
    return AuditInput(
        questions,
        run_profiles=_fetch_run_profiles(connection, runs),
        selected_keys=selected_keys,
    )


def _build_distinct_answer(row: _AnswerRow, content: _Content) -> DistinctAnswer:
    """Build an answer that one or more runs gave to a question."""
    return DistinctAnswer(
        [get_run_number(item) for item in row.items],
        passed=row.passed,
        has_verdict_conflict=row.contradicted,
        is_decoded=content.is_decoded,
        differences=content.differences,
        items=row.items,
    )


def _fetch_answers(connection: Connection, run_condition: str) -> list[list[_AnswerRow]]:
    """Return a list of answers for each question: those of the runs that have its most frequent
    golden answer. The items of an answer are in the order of their numbers.
    """
    rows_by_question: dict[int, list[_AnswerRow]] = {}
    for values in connection.execute(_ANSWERS.format(runs=run_condition)).fetchall():
        row = _AnswerRow(*values)
        if row.damaged_run is not None:
            raise EmptyValueError(row.damaged_run)
        rows_by_question.setdefault(row.question, []).append(row)

    rows_of_questions = []
    for rows in rows_by_question.values():
        kept_rows = _keep_answers_to_most_frequent_golden(rows)
        for row in kept_rows:
            row.items.sort()
        rows_of_questions.append(kept_rows)
    return rows_of_questions


def fetch_questions_of_view(connection: Connection, view: View) -> frozenset[QuestionKey]:
    """Return the questions that the view's filter selects in at least one run."""
    where, params, _ = build_view_condition(view, blind=False)
    rows = connection.execute(
        "SELECT DISTINCT r.benchmark, r.generation, r.language, i.category, i.id"
        f" {FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where}",
        params,
    ).fetchall()
    return frozenset(QuestionKey(*row) for row in rows)


def _keep_answers_to_most_frequent_golden(rows: Sequence[_AnswerRow]) -> list[_AnswerRow]:
    """Return the answers of the runs that have the most frequent golden answer."""
    counts: Counter[int] = Counter()
    for row in rows:
        counts[row.golden] += len(row.items)
    ((most_frequent_golden, _),) = counts.most_common(1)
    return [row for row in rows if row.golden == most_frequent_golden]


def _fetch_questions(connection: Connection, item_numbers: Sequence[int]) -> list[AuditedQuestion]:
    """Return the questions of some items, in the same order: text, golden calls, functions, and how
    often annotators blamed each side.
    """
    rows = _fetch_question_rows(connection, item_numbers)
    docs = _fetch_docs_of_questions(connection, rows.values())
    datasets = fetch_datasets(connection)
    faults = _count_faults_by_question(connection)
    questions = []
    for item in item_numbers:
        row = rows[item]
        key = QuestionKey(*datasets[get_run_number(item)], row.category, row.id)
        questions.append(
            AuditedQuestion(
                key,
                text=row.text or "",
                golden=[parse_call(call) for call in row.golden or ()],
                functions=[docs[name] for name in row.functions or () if name in docs],
                group=row.group,
                is_self_contained=row.is_self_contained,
                faults=faults.get(key, Counter()),
            )
        )
    return questions


def _fetch_docs_of_questions(
    connection: Connection, questions: Iterable[_QuestionRow]
) -> dict[str, dict[str, Any]]:
    """Return the docs of the questions' functions by hash. Docs that are no object are left out."""
    hashes: set[str] = set()
    for question in questions:
        hashes.update(question.functions or ())
    docs = fetch_function_docs(connection, hashes)
    return {name: doc for name, doc in docs.items() if isinstance(doc, dict)}


@dataclass(frozen=True, slots=True)
class _QuestionRow:
    """A row of the query `_QUESTIONS`."""

    item: int
    category: str
    id: str
    text: str | None
    golden: list[dict[str, Any]] | None
    functions: list[str] | None  # hashes of function docs
    group: str | None
    is_self_contained: bool


def _fetch_question_rows(
    connection: Connection, item_numbers: Sequence[int]
) -> dict[int, _QuestionRow]:
    """Return item number -> its row with the question and the golden answer."""
    items_by_run: defaultdict[int, list[int]] = defaultdict(list)
    for item in item_numbers:
        items_by_run[get_run_number(item)].append(item)

    rows = {}
    for items in items_by_run.values():
        # With a range of item numbers, DuckDB skips other runs.
        values = [min(items), max(items), items]
        for row in connection.execute(_QUESTIONS, values).fetchall():
            question = _QuestionRow(*row)
            rows[question.item] = question
    return rows


def _fetch_answer_contents(
    connection: Connection, answers: Sequence[tuple[AuditedQuestion, Sequence[_AnswerRow]]]
) -> dict[int, _Content]:
    """Compare each answer with the golden answer of its question.

    Returns the differences by the number of the first item with the answer. Answers to a question
    with equal calls are compared once. Answers without calls have no differences.
    """
    question_by_item = _map_first_items_to_questions(answers)
    contents: dict[int, _Content] = {}
    known_contents: dict[tuple[int, int], _Content] = {}
    rows = connection.execute(_CONTENTS, [list(question_by_item)])
    while batch := rows.fetchmany(ROWS_PER_FETCH):
        for item, calls, pairs in batch:
            question = question_by_item[item]
            # The hash of 64 bits saves the memory of the texts. The caller keeps the questions, so
            # that their ids stay theirs.
            question_and_answer = (id(question), hash((calls, pairs)))
            if question_and_answer not in known_contents:
                known_contents[question_and_answer] = _compare_answer(question, calls, pairs)
            contents[item] = known_contents[question_and_answer]
    return contents


def _map_first_items_to_questions(
    answers: Sequence[tuple[AuditedQuestion, Sequence[_AnswerRow]]],
) -> dict[int, AuditedQuestion]:
    """Return the question of each answer with calls, by the first item with the answer."""
    question_by_item: dict[int, AuditedQuestion] = {}
    for question, answer_rows in answers:
        for row in answer_rows:
            if row.prediction is not None:
                question_by_item[row.first_item] = question
    return question_by_item


def _compare_answer(
    question: AuditedQuestion, calls_json: str | None, pairs_json: str | None
) -> _Content:
    """Compare the predicted calls with the golden answer. Both texts are JSON lists."""
    predicted = [Call(**call) for call in orjson.loads(calls_json or "[]")]
    pairs = [parse_pair(pair) for pair in orjson.loads(pairs_json or "[]")]
    is_decoded = all(call.decode_error is None and call.arguments is not None for call in predicted)
    differences = find_differences(question.golden, predicted, pairs)
    return _Content(is_decoded, differences=differences)


def _count_faults_by_question(connection: Connection) -> dict[QuestionKey, Counter[str]]:
    found: defaultdict[QuestionKey, Counter[str]] = defaultdict(Counter)
    for *key, fault, count in connection.execute(_FAULTS).fetchall():
        found[QuestionKey(*key)][fault] = count
    return dict(found)


def _fetch_run_profiles(connection: Connection, run_condition: str) -> dict[int, RunProfile]:
    """Return how many items of each category each run passes, by run number."""
    rows = connection.execute(_PASS_COUNTS.format(runs=run_condition)).fetchall()
    counts_by_run: dict[int, list[_PassCounts]] = {}
    for run, *values in rows:
        counts_by_run.setdefault(run, []).append(_PassCounts(*values))
    return {run: _build_run_profile(categories) for run, categories in counts_by_run.items()}


def _build_run_profile(categories: Sequence[_PassCounts]) -> RunProfile:
    """Build the profile of a run from the counts of its categories, of which it has at least one."""
    # Each row repeats the model of the run.
    model = categories[0].model
    n_passed = sum(category.n_passed for category in categories)
    n_verdicts = sum(category.n_verdicts for category in categories)
    n_conflicts = sum(category.n_conflicts for category in categories)
    pass_rate_by_category = {}
    for category in categories:
        pass_rate = smooth_pass_rate(category.n_passed, category.n_verdicts)
        pass_rate_by_category[category.category] = pass_rate
    return RunProfile(
        model,
        family=find_model_family(model),
        pass_rate=smooth_pass_rate(n_passed, n_verdicts),
        pass_rate_by_category=pass_rate_by_category,
        conflict_rate=n_conflicts / max(n_verdicts, 1),
        n_passed=n_passed,
        n_verdicts=n_verdicts,
    )


@dataclass(frozen=True, slots=True)
class _PassCounts:
    """A row of the query `_PASS_COUNTS`, which has a row for each run and category."""

    model: str
    category: str
    n_passed: int
    n_verdicts: int
    n_conflicts: int  # items whose official and recomputed verdicts differ


_CREATE_TABLE = """
CREATE TEMP TABLE IF NOT EXISTS suspect_places (scope VARCHAR, item BIGINT, rank BIGINT)
"""
MAX_SUMMARY_REASONS = 3


class SuspectTable:
    """The temporary table `suspect_places`, which has the items of the suspects queue: one item of
    each suspect question.

    The column `scope` identifies the compared runs (`View.runs_key`). The column `rank` counts from
    0. The class is not thread-safe.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._suspicions: dict[
            str, dict[int, Suspicion]
        ] = {}  # by scope and item number, the strongest first

    def load_suspects(
        self, view: View, on_progress: Callable[[int, int], object] = lambda *_: None
    ) -> None:
        """Find the suspect golden answers of the view's runs, and fill a table with them, unless it
        already has them. The view's filter is ignored.

        Each suspect question has one example item, and a place in the ranking. `on_progress` gets
        the numbers of checked questions and of all questions. It may raise an exception to cancel.
        """
        if view.runs_key in self._suspicions:
            return
        suspicions = self._find_suspicions(view, on_progress)
        self._connection.execute(_CREATE_TABLE)
        self._connection.execute(
            "INSERT INTO suspect_places SELECT $1, unnest($2::BIGINT[]), unnest($3::BIGINT[])",
            [view.runs_key, list(suspicions), list(range(len(suspicions)))],
        )
        self._suspicions[view.runs_key] = suspicions

    def _find_suspicions(
        self, view: View, on_progress: Callable[[int, int], object]
    ) -> dict[int, Suspicion]:
        """Return the suspicions of the view's runs by example item, the strongest first."""
        from fcreview.golden_audit.score import number_questions, rank_suspects

        with pause_garbage_collection():
            audit = fetch_audit_input(self._connection, View(runs=view.runs))
            ranking = rank_suspects(audit.questions, audit.run_profiles, on_progress)
        suspicions: dict[int, Suspicion] = {}
        for suspect, question in zip(ranking, number_questions(ranking), strict=True):
            if suspect.reasons:
                suspicions[_pick_example_item(suspect)] = _build_suspicion(suspect, question)
        return suspicions

    def get_suspicions(self, view: View) -> Mapping[int, Suspicion]:
        """Return the suspicions of the view by item number, the strongest first.

        Empty if they are not loaded.
        """
        return self._suspicions.get(view.runs_key, {})


def _build_suspicion(suspect: Suspect, question: int) -> Suspicion:
    """Build the texts about a suspect question for the item screen: a summary, and all reasons with
    the alternative answer at the end.
    """
    texts = [reason.full_text for reason in suspect.reasons]
    alternative = suspect.alternative
    if alternative is not None:
        text = alternative.text
        if alternative.models:
            text += f"  ({', '.join(alternative.models)})"
        texts.append(text)
    summary = "; ".join(reason.text for reason in suspect.reasons[:MAX_SUMMARY_REASONS])
    return Suspicion(
        suspect.score,
        is_strong=suspect.is_strong,
        summary=summary,
        reasons=tuple(texts),
        question=question,
    )


def _pick_example_item(suspect: Suspect) -> int:
    """Return an item of the question, preferably one with the alternative answer, else one that
    fails.
    """
    alternative_runs: set[int] = set()
    if suspect.alternative is not None:
        alternative_runs.update(suspect.alternative.runs)

    # The smallest candidate is preferred, and false is smaller than true.
    candidates = []
    for answer in suspect.question.answers:
        for run, item in zip(answer.runs, answer.items, strict=True):
            has_other_answer = run not in alternative_runs
            does_not_fail = answer.passed is not False
            candidates.append((has_other_answer, does_not_fail, run, item))
    *_, item = min(candidates)
    return item
