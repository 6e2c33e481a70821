"""Query the verdicts on items by source, for metrics and run comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.model.address import ITEM, WHOLE_TARGETS
from fcreview.model.effective_verdict import (
    DISPUTED,
    RESOLUTIONS,
    DecidedBy,
    is_definite,
    is_same_verdict,
    select_automatic_verdict,
    select_effective_verdict,
    select_overridden_verdict,
)
from fcreview.model.incident import INCIDENT, describe_incident
from fcreview.model.json_value import parse_json
from fcreview.model.metric import (
    METRIC_SOURCES,
    METRIC_SOURCES_WITH_ERRATA,
    MetricSource,
    ScoredItem,
)
from fcreview.model.review import CORRECT, ITEM_CORRECT, Annotation, QuestionKey
from fcreview.model.verdict import TargetCriterion
from fcreview.stats.run_comparison import ItemOutcome, VerdictSource
from fcreview.store.database import and_runs_of_items_sql
from fcreview.store.queries.view_items import FROM_ITEMS, build_view_condition
from fcreview.store.review_sql import (
    AUTOMATIC_INCIDENT,
    AUTOMATIC_VERDICT,
    EFFECTIVE_VERDICT,
    HAS_INCIDENT,
    incident_kind_sql,
    is_resolved_sql,
)
from fcreview.store.rows import get_run_number

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.model.item import SourceName
    from fcreview.store.rows import View

_OUTCOME_COLUMNS: dict[VerdictSource, tuple[str, str]] = {
    "official": ("i.official", "i.error_type"),
    "rule": ("i.rule", "coalesce(i.rule_error_type, i.rule_note)"),
    "effective": (EFFECTIVE_VERDICT, "coalesce(i.error_type, i.rule_error_type)"),
}
"""SQL expressions of the verdict and of the error type, for each verdict source."""
_NO_REVIEW_SQL = ("false", "false", "false")
_REVIEW_SQL = (
    f"(coalesce({is_resolved_sql('h.decided_by')}, false) OR {EFFECTIVE_VERDICT} IS DISTINCT FROM"
    f" {AUTOMATIC_VERDICT})",
    f"{EFFECTIVE_VERDICT} IS DISTINCT FROM {AUTOMATIC_VERDICT}",
    "i.item IN (SELECT item FROM human_labels WHERE fault = 'golden')",
)
"""SQL conditions: annotators decided the effective verdict, they changed the verdict, the golden
answer is wrong.
"""


def _build_review_columns_sql(source: VerdictSource) -> str:
    """Return the columns `is_reviewed`, `is_override` and `has_golden_fault` of an
    `ItemOutcome`.
    """
    return ", ".join(_REVIEW_SQL if source == "effective" else _NO_REVIEW_SQL)


def fetch_outcomes(
    connection: Connection, view: View, runs: Sequence[int], source: VerdictSource
) -> dict[int, list[ItemOutcome]]:
    """Return the items of a view by run, in dataset order, each with its verdict and error type.

    `source` chooses the verdict: one of the automatic ones, the human or the effective one.
    """
    rows = _fetch_outcome_rows(connection, replace(view, runs=tuple(runs)), source)
    datasets = fetch_datasets(connection)
    # The items of all runs share the key objects, which saves memory.
    shared_keys: dict[QuestionKey, QuestionKey] = {}
    outcomes: dict[int, list[ItemOutcome]] = {run: [] for run in runs}
    for row in rows:
        key = QuestionKey(*datasets[row.run], row.category, row.id)
        shared_key = shared_keys.setdefault(key, key)
        outcomes[row.run].append(row.build_outcome(shared_key))
    return outcomes


def _fetch_outcome_rows(
    connection: Connection, view: View, source: VerdictSource
) -> list[_OutcomeRow]:
    where, params, _ = build_view_condition(view, blind=False)
    verdict, error = _OUTCOME_COLUMNS[source]
    query = _OUTCOMES.format(
        verdict=verdict, error=error, review=_build_review_columns_sql(source), where=where
    )
    return [_OutcomeRow(*values) for values in connection.execute(query, params).fetchall()]


class _OutcomeRow(NamedTuple):
    """A row of the query `_OUTCOMES`."""

    run: int
    item: int
    category: str
    id: str
    group: str | None
    question: str
    verdict: bool | None
    error_type: str | None
    first_difference: str | None
    prediction_hash: str
    golden_hash: str
    is_reviewed: bool
    is_override: bool
    has_golden_fault: bool
    incident: str | None

    def build_outcome(self, question_key: QuestionKey) -> ItemOutcome:
        """Return the outcome of the item for a comparison of runs."""
        first_difference = self.first_difference
        # The text of a failure is no answer, so its difference from the golden answer says nothing.
        if self.incident is not None:
            first_difference = describe_incident(self.incident, None)
        return ItemOutcome(
            self.item,
            question_key,
            group=self.group,
            question=self.question,
            verdict=self.verdict,
            error_type=self.error_type,
            first_difference=first_difference,
            prediction_hash=self.prediction_hash,
            golden_hash=self.golden_hash,
            is_reviewed=self.is_reviewed,
            is_override=self.is_override,
            has_golden_fault=self.has_golden_fault,
        )


_OUTCOMES = f"""
SELECT i.run, i.item, i.category, i.id, i."group", coalesce(i.question, ''), {{verdict}}, {{error}},
       i.first_difference, coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, ''), {{review}},
       CASE WHEN {HAS_INCIDENT} THEN {incident_kind_sql()} END
{FROM_ITEMS} WHERE {{where}} ORDER BY i.item
"""
"""Query for the fields of `ItemOutcome`, and the kind of the incident of items with one."""


def fetch_datasets(connection: Connection) -> dict[int, tuple[str, str, str]]:
    """Return the benchmark, version and language of each run."""
    rows = connection.execute("SELECT run, benchmark, generation, language FROM runs").fetchall()
    return {run: (benchmark, generation, language) for run, benchmark, generation, language in rows}


def fetch_outcomes_without_details(
    connection: Connection, view: View, runs: Sequence[int], source: VerdictSource
) -> dict[int, list[ItemOutcome]]:
    """Return the questions and verdicts of the items of each run, without further details.

    This is fast enough for hundreds of runs. `source` says whose verdicts count, such as the
    official ones.
    """
    where, params, _ = build_view_condition(replace(view, runs=tuple(runs)), blind=False)
    verdict, _ = _OUTCOME_COLUMNS[source]
    tables = f"{FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where}"
    questions = _fetch_questions(connection, tables, params)
    rows = connection.execute(
        f"SELECT i.item, {_QUESTION_HASH}, {verdict}, {_build_review_columns_sql(source)} {tables}"
        " ORDER BY i.item",
        params,
    )
    outcomes: dict[int, list[ItemOutcome]] = {run: [] for run in runs}
    while batch := rows.fetchmany(ROWS_PER_FETCH):
        for item, question_hash, *verdict_and_reviews in batch:
            outcome = questions[question_hash].build_outcome(item, *verdict_and_reviews)
            outcomes[get_run_number(item)].append(outcome)
    return outcomes


_QUESTION_HASH = (
    'hash(r.benchmark, r.generation, r.language, i.category, i.id, i."group", i.question)'
)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question: the data that its items in all runs have in common."""

    key: QuestionKey
    group: str | None
    text: str

    def build_outcome(
        self,
        item: int,
        verdict: bool | None,
        is_reviewed: bool,
        is_override: bool,
        has_golden_fault: bool,
    ) -> ItemOutcome:
        """Return the outcome of one item, without details of its answer."""
        return ItemOutcome(
            item,
            self.key,
            group=self.group,
            question=self.text,
            verdict=verdict,
            error_type=None,
            first_difference=None,
            prediction_hash="",
            golden_hash="",
            is_reviewed=is_reviewed,
            is_override=is_override,
            has_golden_fault=has_golden_fault,
        )


def _fetch_questions(
    connection: Connection, tables: str, params: Sequence[object]
) -> dict[int, _Question]:
    """Return the questions by `_QUESTION_HASH`."""
    rows = connection.execute(
        f"SELECT {_QUESTION_HASH}, any_value(i.\"group\"), any_value(coalesce(i.question, '')),"
        " any_value(r.benchmark), any_value(r.generation), any_value(r.language),"
        f" any_value(i.category), any_value(i.id) {tables} GROUP BY 1",
        params,
    ).fetchall()
    return {
        number: _Question(QuestionKey(*key), group=group, text=text)
        for number, group, text, *key in rows
    }


ROWS_PER_FETCH = 10_000  # maximum number of rows that are in memory both as rows and as outcomes
_SELECT_VERDICTS = "SELECT item, official, rule, judge, verdicts FROM item_rows WHERE "
_JUDGE_VERDICTS = """
SELECT item, v.target, v.criterion, CAST(v."value" AS VARCHAR), v."by"
FROM (SELECT item, unnest(verdicts) AS v FROM item_rows WHERE item IN ({items}){runs}) WHERE v.source = 'judge'
"""


@dataclass(frozen=True, slots=True)
class RankingMarks:
    """The facts about an item that change its verdict in some rankings of runs: incidents and
    corrected golden answers.
    """

    is_incident: bool
    golden_verdict: bool | None
    """Recomputed verdict with a corrected golden answer: one that annotators accepted, else one of
    the errata file with which the run was imported. None without a correction of the item.
    """
    verdict_before: bool | None
    """Recomputed verdict with the golden answer of the dataset, if an errata file corrects it."""


_RANKING_MARKS = f"""
SELECT i.item, {HAS_INCIDENT}, h.golden_verdict, i.rule, i.extra->'$.without_errata'
{FROM_ITEMS}
WHERE i.run IN (SELECT unnest(?::INTEGER[]))
      AND ({HAS_INCIDENT} OR h.golden_verdict IS NOT NULL
           OR (i.extra->'$.without_errata') IS NOT NULL)
"""


def fetch_ranking_marks(connection: Connection, runs: Sequence[int]) -> dict[int, RankingMarks]:
    """Return which items are incidents or have a corrected golden answer, by item number. Other
    items are left out.
    """
    marks = {}
    rows = connection.execute(_RANKING_MARKS, [list(runs)]).fetchall()
    for item, is_incident, accepted_verdict, recomputed, without_errata_json in rows:
        golden_verdict = accepted_verdict
        verdict_before = None
        # This verdict exists only if errata corrected the golden answer at the import.
        without_errata = parse_json(without_errata_json)
        if without_errata:
            verdict_before = without_errata["valid"]
            if golden_verdict is None:
                golden_verdict = recomputed
        marks[item] = RankingMarks(
            is_incident=bool(is_incident),
            golden_verdict=golden_verdict,
            verdict_before=verdict_before,
        )
    return marks


def find_overridden_verdicts(
    connection: Connection, annotations: Sequence[tuple[int, Annotation]]
) -> list[dict[str, Any] | None]:
    """Return the automatic verdict that each annotation overrides, or None if it overrides none.

    `annotations` are pairs (item number, annotation). The verdicts are in their order.
    """
    items = list({item for item, annotation in annotations if is_definite(annotation.verdict)})
    if not items:
        return [None] * len(annotations)

    verdicts = _fetch_automatic_verdicts(connection, items)
    overridden = []
    for item, annotation in annotations:
        target = _ItemTarget(item, annotation.target, annotation.criterion)
        overridden.append(select_overridden_verdict(verdicts.get(target, {}), annotation.verdict))
    return overridden


class _ItemTarget(NamedTuple):
    item: int
    target: str
    criterion: str


_VerdictsBySource = dict[str, dict[str, Any]]
"""Verdicts {by, value} of one target by source."""


def _fetch_automatic_verdicts(
    connection: Connection, items: Sequence[int]
) -> dict[_ItemTarget, _VerdictsBySource]:
    """Return the automatic verdicts on items and on their parts, by target and source.

    If a source has several verdicts on a target, the last one counts.
    """
    condition, parameter = _build_item_condition(items)
    query = _SELECT_VERDICTS + condition + and_runs_of_items_sql(connection, items)

    verdicts: dict[_ItemTarget, _VerdictsBySource] = {}
    for values in connection.execute(query, [parameter]).fetchall():
        row = _VerdictsRow(*values)
        verdicts[_ItemTarget(row.item, *ITEM_CORRECT)] = row.item_verdicts
        for verdict in row.listed or ():
            target = _ItemTarget(row.item, verdict["target"], verdict["criterion"])
            verdict_by_source = verdicts.setdefault(target, {})
            verdict_by_source[verdict["source"]] = {
                "by": verdict["by"],
                "value": parse_json(verdict["value"]),
            }
    return verdicts


def _build_item_condition(items: Sequence[int]) -> tuple[str, int | list[int]]:
    """Return the SQL condition for one or more items, and its parameter."""
    if len(items) == 1:
        # A key press records a verdict on one item. The index finds it several times as fast as a
        # join with a list.
        return "item = $1", items[0]
    return "item IN (SELECT unnest($1::BIGINT[]))", list(items)


class _VerdictsRow(NamedTuple):
    """A row of the query `_SELECT_VERDICTS`."""

    item: int
    official: bool | None
    rule: bool | None
    judge: bool | None
    listed: list[dict[str, Any]] | None
    """Verdicts {source, target, criterion, value, by}."""

    @property
    def item_verdicts(self) -> _VerdictsBySource:
        """The verdicts on the whole item."""
        judges = [verdict["by"] for verdict in self.listed or () if verdict["source"] == "judge"]
        return {
            "official": {"by": None, "value": self.official},
            "rule": {"by": None, "value": self.rule},
            "judge": {"by": get_only_judge(judges), "value": self.judge},
        }


def get_only_judge(judge_names: Iterable[str | None]) -> str | None:
    """Return the judge of an item's judge verdicts. None if they are from several judges."""
    judges = set(judge_names)
    return judges.pop() if len(judges) == 1 else None


def fetch_judge_verdicts(
    connection: Connection, items: Sequence[int]
) -> dict[int, list[dict[str, Any]]]:
    """Return item number -> the verdicts of judges (models that grade answers) on it."""
    verdicts_by_item: dict[int, list[dict[str, Any]]] = {}
    numbers = ", ".join(str(int(item)) for item in items) or "NULL"
    query = _JUDGE_VERDICTS.format(items=numbers, runs=and_runs_of_items_sql(connection, items))
    for item, target, criterion, value, by in connection.execute(query).fetchall():
        verdict = {"target": target, "criterion": criterion, "value": parse_json(value), "by": by}
        verdicts_by_item.setdefault(item, []).append(verdict)
    return verdicts_by_item


SOURCE_PRECEDENCE: dict[MetricSource, tuple[SourceName, ...]] = {
    "official": ("judge", "official"),
    "rule": ("judge", "rule"),
    "errata": ("judge", "rule"),
    "corrected": ("judge", "rule", "official"),
}
"""Automatic sources whose verdicts count for each metric source. A later source replaces the
verdicts of an earlier one. Judge verdicts count as official and as recomputed verdicts. For
`corrected`, human verdicts replace automatic ones.
"""
_OTHER_VERDICTS = f"i.verdicts, lambda v: v.target <> '{ITEM}' OR v.criterion <> '{CORRECT}'"
_ITEMS = f"""
SELECT i.item, i.run, i.id, i.category, i."group", i.official, i.rule, i.judge, i.error_type, i.rule_error_type,
       i.extra->'$.more', i.extra->'$.without_errata', i.n_golden, i.n_predicted, i.n_turns,
       coalesce(len(i.functions), 0), i.tokens_in, i.tokens_out, i.setting,
       list_transform(list_filter({_OTHER_VERDICTS}),
                      lambda v: [v.source, v.target, v.criterion, CAST(v."value" AS VARCHAR)]),
       CASE WHEN i.latency IS NOT NULL THEN coalesce(i.seconds, [i.latency]) END, {HAS_INCIDENT}
{FROM_ITEMS} WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND {{condition}} ORDER BY i.item
"""
_IS_REVIEWED = "i.item IN (SELECT item FROM human_labels)"
_IS_REVIEWED_OR_HAS_PART_VERDICTS = f"({_IS_REVIEWED} OR len(list_filter({_OTHER_VERDICTS})) > 0)"
# Items with a review are not aggregated, so that the automatic mark of an incident decides here.
_AGGREGATED_ITEMS = f"""
SELECT min(i.item), i.run, '', i.category, NULL, i.official, i.rule, i.judge, i.error_type,
       i.rule_error_type, NULL, NULL, 0, 0, 1, 0,
       sum(i.tokens_in)::BIGINT, sum(i.tokens_out)::BIGINT, i.setting, NULL,
       list_concat(list(i.latency) FILTER (i.seconds IS NULL AND i.latency IS NOT NULL),
                   flatten(list(i.seconds) FILTER (i.seconds IS NOT NULL))),
       {AUTOMATIC_INCIDENT}, count(*)
FROM item_rows i WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND NOT {{separate}}
GROUP BY i.run, i.category, i.setting, i.official, i.rule, i.judge, i.error_type, i.rule_error_type,
         {AUTOMATIC_INCIDENT}
"""
_HUMAN_VERDICTS = f"""
SELECT h.item, h.target, h.criterion, h.human, h.decided_by, h.derived, h.golden_verdict
FROM human_labels h JOIN item_rows i USING (item)
WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND h.decided_by IS NOT NULL AND h.criterion <> '{INCIDENT}'
"""
_TAGS = """
SELECT h.item, list_distinct(flatten(list(h.tags ORDER BY h.target, h.criterion)))
FROM human_labels h JOIN item_rows i USING (item)
WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND len(h.tags) > 0 GROUP BY h.item
"""
RUNS_PER_QUERY = (
    200  # limit of memory, because a query returns the durations of all steps of these runs
)
ScoredBySource = dict[MetricSource, list[ScoredItem]]


@dataclass(slots=True)
class _ItemRow:
    """A row of the query `_ITEMS` or `_AGGREGATED_ITEMS`."""

    item: int
    run: int
    id: str
    category: str
    group: str | None
    official: bool | None
    rule: bool | None
    judge: bool | None
    error_type: str | None
    rule_error_type: str | None
    metadata: str | None  # `Extra.metadata` as JSON text
    without_errata: str | None  # `Extra.without_errata` as JSON text
    n_golden: int
    n_predicted: int
    n_turns: int
    n_functions: int
    tokens_in: int | None
    tokens_out: int | None
    setting: str | None
    other_verdicts: list[tuple[str, str, str, str]] | None  # (source, target, criterion, JSON text)
    seconds: list[float] | None
    is_incident: bool
    n_items: int = 1


@dataclass(slots=True)
class _HumanVerdict:
    target: str
    criterion: str
    value: Any
    decided_by: DecidedBy
    derived: Any
    """Verdict that follows from other human verdicts or from an accepted golden fix; None if the
    annotators decided, or if nothing follows.
    """
    golden_verdict: bool | None = None
    """Recomputed verdict that an accepted golden fix changes."""

    @property
    def target_criterion(self) -> TargetCriterion:
        return self.target, self.criterion

    @property
    def is_by_erratum(self) -> bool:
        """Whether the verdict of an accepted golden fix counts, because no human verdict does."""
        return self.golden_verdict is not None and self.decided_by not in RESOLUTIONS


class _HumanReviews:
    def __init__(self, connection: Connection, runs: list[int]) -> None:
        """Fetch the human verdicts and the tags of the items of these runs."""
        self.verdicts: defaultdict[int, list[_HumanVerdict]] = defaultdict(list)
        rows = connection.execute(_HUMAN_VERDICTS, [runs]).fetchall()
        for item, target, criterion, human, decided_by, derived, golden_verdict in rows:
            verdict = _HumanVerdict(
                target,
                criterion,
                value=parse_json(human),
                decided_by=decided_by,
                derived=parse_json(derived),
                golden_verdict=golden_verdict,
            )
            self.verdicts[item].append(verdict)
        self.tags: dict[int, list[str]] = dict(connection.execute(_TAGS, [runs]).fetchall())


def fetch_scored_items(
    connection: Connection, run: int, *, with_errata: bool = False
) -> ScoredBySource:
    """Return the items of a run with their verdicts by each source, for metrics."""
    rows = [
        _ItemRow(*row)
        for row in connection.execute(_ITEMS.format(condition="true"), [[run]]).fetchall()
    ]
    sources = METRIC_SOURCES_WITH_ERRATA if with_errata else METRIC_SOURCES
    return _score_by_source(rows, _HumanReviews(connection, [run]), sources)


def fetch_runs_with_golden_fixes(connection: Connection) -> set[int]:
    query = "SELECT DISTINCT item >> 32 FROM human_labels WHERE golden_verdict IS NOT NULL"
    return {run for (run,) in connection.execute(query).fetchall()}


def fetch_combined_scored_items(
    connection: Connection, runs: Sequence[int], *, keep_part_verdicts: bool
) -> dict[int, ScoredBySource]:
    """Return the items of several runs with the verdicts of each metric source, except `errata`.

    To save time, items with equal verdicts are combined into one whose `n_items` is their number.
    Reviewed items are not combined, because reviews concern single items. With
    `keep_part_verdicts`, items with automatic verdicts on parts or on other criteria are not
    combined either.
    """
    is_separate = _IS_REVIEWED_OR_HAS_PART_VERDICTS if keep_part_verdicts else _IS_REVIEWED
    separate_items = _ITEMS.format(condition=is_separate)
    combined_items = _AGGREGATED_ITEMS.format(separate=is_separate)
    rows: list[_ItemRow] = []
    for query in (separate_items, combined_items):
        values_of_rows = connection.execute(query, [list(runs)]).fetchall()
        rows += [_ItemRow(*values) for values in values_of_rows]

    reviews = _HumanReviews(connection, list(runs))
    rows_by_run = _group_rows_by_run(rows, runs)
    return {run: _score_by_source(rows_by_run[run], reviews) for run in rows_by_run}


def _group_rows_by_run(rows: Iterable[_ItemRow], runs: Iterable[int]) -> dict[int, list[_ItemRow]]:
    """Return the rows of each run, in the order of their items."""
    rows_by_run: dict[int, list[_ItemRow]] = {run: [] for run in runs}
    # Metrics list categories in the order of their first items.
    for row in sorted(rows, key=lambda row: row.item):
        rows_by_run[row.run].append(row)
    return rows_by_run


def _score_by_source(
    rows: list[_ItemRow], reviews: _HumanReviews, sources: Sequence[MetricSource] = METRIC_SOURCES
) -> ScoredBySource:
    """Return the items with their verdicts by each source. The corrected ones also have tags."""
    scored = {
        source: [_to_scored_item(row, source, reviews.verdicts.get(row.item, [])) for row in rows]
        for source in sources
    }
    for row, item in zip(rows, scored["corrected"], strict=True):
        item.tags = sorted(reviews.tags.get(row.item, ()))
    return scored


def fetch_automatically_scored_items(connection: Connection, run: int) -> list[ScoredItem]:
    rows = connection.execute(_ITEMS.format(condition="true"), [[run]]).fetchall()
    return [_to_scored_item(_ItemRow(*row), "corrected", []) for row in rows]


@dataclass(frozen=True, slots=True)
class _CountedVerdicts:
    """The verdicts on an item that count for one metric source."""

    item_verdict: Any
    error_type: str | None
    others: dict[TargetCriterion, Any]
    """Verdicts on parts and on other criteria than `correct`."""
    overrides: dict[TargetCriterion, Any] = field(default_factory=dict)
    """Human verdicts that differ from the automatic ones."""
    reviewed: list[TargetCriterion] = field(default_factory=list)
    disputed: list[TargetCriterion] = field(default_factory=list)

    def list_values_by_criterion(self) -> dict[str, Any]:
        """Return the other verdicts on the whole item or response, by criterion."""
        return {
            criterion: value
            for (target, criterion), value in self.others.items()
            if target in WHOLE_TARGETS
        }

    def list_part_verdicts(self) -> list[tuple[str, str, Any]]:
        """Return the verdicts on turns and calls: (target, criterion, value)."""
        return [
            (target, criterion, value)
            for (target, criterion), value in self.others.items()
            if target not in WHOLE_TARGETS
        ]


def _to_scored_item(
    row: _ItemRow, source: MetricSource, human_verdicts: list[_HumanVerdict]
) -> ScoredItem:
    """Build the item with the verdicts of a source, as the metrics of a benchmark read them."""
    verdicts = _select_verdicts(row, source, human_verdicts)
    valid = verdicts.item_verdict
    return ScoredItem(
        id=row.id,
        category=row.category,
        group=row.group,
        valid=valid if isinstance(valid, bool) else None,
        error_type=verdicts.error_type if valid is False else None,
        values=verdicts.list_values_by_criterion(),
        part_verdicts=verdicts.list_part_verdicts(),
        overrides=verdicts.overrides,
        reviewed=verdicts.reviewed,
        disputed=verdicts.disputed,
        metadata=parse_json(row.metadata) or {},
        n_golden=row.n_golden,
        n_predicted=row.n_predicted,
        n_functions=row.n_functions,
        n_turns=row.n_turns,
        tokens_in=row.tokens_in,
        tokens_out=row.tokens_out,
        seconds=tuple(row.seconds or ()),
        setting=row.setting,
        n_items=row.n_items,
        is_incident=row.is_incident,
    )


def _select_verdicts(
    row: _ItemRow, source: MetricSource, human_verdicts: list[_HumanVerdict]
) -> _CountedVerdicts:
    """Return the verdicts on an item that count for a metric source.

    The source `corrected` uses human verdicts where there are some. The source `errata` uses the
    verdict that was recomputed with an accepted golden answer, if there is one. All other sources
    use only automatic verdicts.
    """
    if source == "corrected":
        return _correct_verdicts(row, human_verdicts)
    verdicts = _select_automatic_verdicts(row, source)
    if source == "errata":
        golden_verdict = _find_golden_verdict(human_verdicts)
        if golden_verdict is not None:
            return replace(verdicts, item_verdict=golden_verdict)
    return verdicts


def _correct_verdicts(row: _ItemRow, human_verdicts: list[_HumanVerdict]) -> _CountedVerdicts:
    """Return the verdicts of an item for corrected figures: human verdicts where there are some,
    else automatic ones.

    Human verdicts that differ from the automatic ones are also listed as overrides, because the
    metrics of a benchmark derive further verdicts from them.
    """
    automatic = select_automatic_verdict(
        {"official": row.official, "rule": row.rule, "judge": row.judge}
    )
    automatic_others = _collect_other_verdicts(row, "corrected")
    overrides = _find_overrides(automatic_others | {ITEM_CORRECT: automatic}, human_verdicts)
    overrides_of_others = {
        target: value for target, value in overrides.items() if target != ITEM_CORRECT
    }

    # Of the whole item, the first of these verdicts counts: one that overrides the automatic
    # verdict, one that follows from human verdicts on parts, the automatic one.
    item_verdict = _find_derived_verdict(human_verdicts, otherwise=automatic)
    if ITEM_CORRECT in overrides:
        item_verdict = overrides[ITEM_CORRECT]

    decided = _list_decided_verdicts(human_verdicts)
    disputed = [verdict for verdict in human_verdicts if verdict.decided_by == DISPUTED]
    return _CountedVerdicts(
        item_verdict,
        error_type=row.error_type or row.rule_error_type,
        others=automatic_others | overrides_of_others,
        overrides=overrides,
        reviewed=[verdict.target_criterion for verdict in decided],
        disputed=[verdict.target_criterion for verdict in disputed],
    )


def _list_decided_verdicts(human_verdicts: Iterable[_HumanVerdict]) -> list[_HumanVerdict]:
    """Return the human verdicts without those that only follow from others."""
    return [verdict for verdict in human_verdicts if verdict.derived is None]


def _find_overrides(
    automatic_verdicts: Mapping[TargetCriterion, Any], human_verdicts: list[_HumanVerdict]
) -> dict[TargetCriterion, Any]:
    """Return the verdicts by people, or with their accepted golden answer, that differ from the
    automatic ones.

    A verdict that only follows from other human verdicts is no override: metrics derive it
    themselves.
    """
    overrides = _find_effective_overrides(
        automatic_verdicts, _list_decided_verdicts(human_verdicts)
    )
    erratum_verdict = _find_golden_verdict(
        verdict for verdict in human_verdicts if verdict.is_by_erratum
    )
    is_other_verdict = erratum_verdict is not automatic_verdicts[ITEM_CORRECT]
    if erratum_verdict is not None and is_other_verdict:
        overrides[ITEM_CORRECT] = erratum_verdict
    return overrides


def _find_golden_verdict(human_verdicts: Iterable[_HumanVerdict]) -> bool | None:
    """Return the new verdict on the whole item if an annotator corrected the golden answer and the
    correction was accepted. None if no accepted correction changes the verdict.
    """
    for verdict in human_verdicts:
        if verdict.target_criterion == ITEM_CORRECT and verdict.golden_verdict is not None:
            return verdict.golden_verdict
    return None


def _select_automatic_verdicts(row: _ItemRow, source: MetricSource) -> _CountedVerdicts:
    """Return the verdicts of one automatic source."""
    others = _collect_other_verdicts(row, source)
    if source == "official":
        return _CountedVerdicts(row.official, error_type=row.error_type, others=others)
    # A run that was imported with errata also has the verdict with the dataset's golden answer.
    without_errata = parse_json(row.without_errata)
    if source == "rule" and without_errata:
        return _CountedVerdicts(
            without_errata["valid"], error_type=without_errata["error_type"], others=others
        )
    return _CountedVerdicts(row.rule, error_type=row.rule_error_type, others=others)


def _collect_other_verdicts(row: _ItemRow, source: MetricSource) -> dict[TargetCriterion, Any]:
    """Return the automatic verdicts on parts and on other criteria than `correct`."""
    verdicts: dict[TargetCriterion, Any] = {}
    for automatic_source in SOURCE_PRECEDENCE[source]:
        for verdict_source, target, criterion, value in row.other_verdicts or ():
            if verdict_source == automatic_source and (target, criterion) != ITEM_CORRECT:
                verdicts[target, criterion] = parse_json(value)
    return verdicts


def _find_derived_verdict(human_verdicts: Iterable[_HumanVerdict], otherwise: Any) -> Any:
    """Return the verdict on the whole item that follows from other human verdicts."""
    derived = otherwise
    for verdict in human_verdicts:
        if verdict.target_criterion == ITEM_CORRECT and verdict.derived is not None:
            derived = verdict.derived
    return derived


def _find_effective_overrides(
    automatic_verdicts: Mapping[TargetCriterion, Any], human_verdicts: list[_HumanVerdict]
) -> dict[TargetCriterion, Any]:
    """Return the effective verdicts that differ from the automatic ones."""
    overrides: dict[TargetCriterion, Any] = {}
    for human in human_verdicts:
        automatic = automatic_verdicts.get(human.target_criterion)
        effective = select_effective_verdict(automatic, human.value, human.decided_by)
        if not is_same_verdict(effective, automatic):
            overrides[human.target_criterion] = effective
    return overrides
