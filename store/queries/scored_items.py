"""Query the verdicts on items by source, for metrics and run comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.model.address import ITEM, WHOLE_TARGETS
from fcreview.model.effective_verdict import (
    DISPUTED,
    SCORING_ORDER,
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
from fcreview.model.review import CORRECT, ITEM_CORRECT, Annotation
from fcreview.model.verdict import TargetCriterion
from fcreview.stats.run_comparison import ItemOutcome, QuestionKey, VerdictSource
from fcreview.store.database import and_runs_of_items_sql
from fcreview.store.queries.view_items import FROM_ITEMS, build_view_condition
from fcreview.store.reviews.review_sql import (
    AUTOMATIC_INCIDENT,
    AUTOMATIC_VERDICT,
    EFFECTIVE_VERDICT,
    HAS_INCIDENT,
    incident_kind_sql,
    is_resolved_sql,
)

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
    """Return the view's items in the given runs with the verdicts of one source, in dataset
    order.
    """
    where, params, _ = build_view_condition(replace(view, runs=tuple(runs)), blind=False)
    verdict, error = _OUTCOME_COLUMNS[source]
    dataset_rows = connection.execute(
        "SELECT run, benchmark, generation, language FROM runs"
    ).fetchall()
    dataset_of = {
        run: (benchmark, generation, language)
        for run, benchmark, generation, language in dataset_rows
    }
    outcomes: dict[int, list[ItemOutcome]] = {run: [] for run in runs}
    rows = connection.execute(
        f"SELECT i.run, i.item, i.category, i.id, i.\"group\", coalesce(i.question, ''), {verdict},"
        f" {error},"
        " i.first_difference, coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, ''),"
        f" {_build_review_columns_sql(source)}, CASE WHEN {HAS_INCIDENT} THEN {incident_kind_sql()}"
        " END"
        f" {FROM_ITEMS} WHERE {where} ORDER BY i.item",
        params,
    )
    # The items of all runs share the key objects, which saves memory.
    keys: dict[tuple[tuple[str, str, str], str, str], QuestionKey] = {}
    for run, item, category, item_id, *rest, incident in rows.fetchall():
        at = (dataset_of[run], category, item_id)
        key = keys.get(at) or keys.setdefault(at, QuestionKey(*dataset_of[run], category, item_id))
        outcome = ItemOutcome(item, key, *rest)
        if incident is not None:
            outcome = outcome._replace(first_difference=describe_incident(incident, None))
        outcomes[run].append(outcome)
    return outcomes


def fetch_outcomes_without_details(
    connection: Connection, view: View, runs: Sequence[int], source: VerdictSource
) -> dict[int, list[ItemOutcome]]:
    """Like `fetch_outcomes`, but only with questions and verdicts, which is fast enough for
    hundreds of runs.
    """
    where, params, _ = build_view_condition(replace(view, runs=tuple(runs)), blind=False)
    verdict, _ = _OUTCOME_COLUMNS[source]
    content = 'hash(r.benchmark, r.generation, r.language, i.category, i.id, i."group", i.question)'
    tables = f"{FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where}"
    contents = {
        number: (QuestionKey(*key), group, question)
        for number, group, question, *key in connection.execute(
            f"SELECT {content}, any_value(i.\"group\"), any_value(coalesce(i.question, '')),"
            " any_value(r.benchmark), any_value(r.generation), any_value(r.language),"
            " any_value(i.category),"
            f" any_value(i.id) {tables} GROUP BY 1",
            params,
        ).fetchall()
    }
    outcomes: dict[int, list[ItemOutcome]] = {run: [] for run in runs}
    review = _build_review_columns_sql(source)
    rows = connection.execute(
        f"SELECT i.item, {content}, {verdict}, {review} {tables} ORDER BY i.item", params
    )
    while batch := rows.fetchmany(ROWS_PER_FETCH):
        for item, number, passed, *reviews in batch:
            key, group, question = contents[number]
            outcome = ItemOutcome(item, key, group, question, passed, None, None, "", "", *reviews)
            outcomes[item >> 32].append(outcome)
    return outcomes


ROWS_PER_FETCH = 10_000  # maximum number of rows that are in memory both as rows and as outcomes
_SELECT_VERDICTS = f"SELECT item, {', '.join(SCORING_ORDER)}, verdicts FROM item_rows WHERE "
_JUDGE_VERDICTS = """
SELECT item, v.target, v.criterion, CAST(v."value" AS VARCHAR), v."by"
FROM (SELECT item, unnest(verdicts) AS v FROM item_rows WHERE item IN ({items}){runs}) WHERE v.source = 'judge'
"""


def find_overridden_verdicts(
    connection: Connection, annotations: Sequence[tuple[int, Annotation]]
) -> list[dict[str, Any] | None]:
    items = list({item for item, annotation in annotations if is_definite(annotation.verdict)})
    if not items:
        return [None] * len(annotations)
    verdicts: dict[tuple[int, str, str], dict[str, dict[str, Any]]] = {}
    # A key press records a verdict on one item. The index finds one item several times as fast as a
    # join with a list.
    where, value = (
        ("item = $1", items[0])
        if len(items) == 1
        else ("item IN (SELECT unnest($1::BIGINT[]))", items)
    )
    where += and_runs_of_items_sql(connection, items)
    for item, *columns, listed in connection.execute(_SELECT_VERDICTS + where, [value]).fetchall():
        judge = get_only_judge(each["by"] for each in listed or () if each["source"] == "judge")
        verdicts[item, *ITEM_CORRECT] = {
            source: {"by": judge if source == "judge" else None, "value": verdict}
            for source, verdict in zip(SCORING_ORDER, columns, strict=True)
        }
        for each in listed or ():
            by_source = verdicts.setdefault((item, each["target"], each["criterion"]), {})
            by_source[each["source"]] = {"by": each["by"], "value": parse_json(each["value"])}
    return [
        select_overridden_verdict(
            verdicts.get((item, annotation.target, annotation.criterion), {}), annotation.verdict
        )
        for item, annotation in annotations
    ]


def get_only_judge(judge_names: Iterable[str | None]) -> str | None:
    """Return the judge of an item's judge verdicts. None if they are from several judges."""
    judges = set(judge_names)
    return judges.pop() if len(judges) == 1 else None


def fetch_judge_verdicts(
    connection: Connection, items: Sequence[int]
) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    numbers = ", ".join(str(int(item)) for item in items) or "NULL"
    query = _JUDGE_VERDICTS.format(items=numbers, runs=and_runs_of_items_sql(connection, items))
    for item, target, criterion, value, by in connection.execute(query).fetchall():
        verdict = {"target": target, "criterion": criterion, "value": parse_json(value), "by": by}
        found.setdefault(item, []).append(verdict)
    return found


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
SELECT h.item, h.target, h.criterion, h.human, h.decided_by, h.derived FROM human_labels h JOIN item_rows i USING (item)
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
    """Verdict that follows from other human verdicts; None if the annotators decided, or if
    nothing follows.
    """


class _HumanReviews:
    def __init__(self, connection: Connection, runs: list[int]) -> None:
        self.verdicts: defaultdict[int, list[_HumanVerdict]] = defaultdict(list)
        for item, target, criterion, human, decided_by, derived in connection.execute(
            _HUMAN_VERDICTS, [runs]
        ).fetchall():
            verdict = _HumanVerdict(
                target,
                criterion,
                value=parse_json(human),
                decided_by=decided_by,
                derived=parse_json(derived),
            )
            self.verdicts[item].append(verdict)
        self.tags: dict[int, list[str]] = dict(connection.execute(_TAGS, [runs]).fetchall())


def fetch_scored_items(
    connection: Connection, run: int, *, with_errata: bool = False
) -> ScoredBySource:
    rows = [
        _ItemRow(*row)
        for row in connection.execute(_ITEMS.format(condition="true"), [[run]]).fetchall()
    ]
    sources = METRIC_SOURCES_WITH_ERRATA if with_errata else METRIC_SOURCES
    return _score_by_source(rows, _HumanReviews(connection, [run]), sources)


def fetch_combined_scored_items(
    connection: Connection, runs: Sequence[int], *, keep_part_verdicts: bool
) -> dict[int, ScoredBySource]:
    """Return the items of several runs with the verdicts of each metric source, except `errata`.
    Items with equal verdicts are combined into one, and `n_items` counts them. Reviewed items are
    not combined. With `keep_part_verdicts`, items with automatic verdicts on parts or on other
    criteria are not combined either.
    """
    rows: dict[int, list[_ItemRow]] = {run: [] for run in runs}
    separate = _IS_REVIEWED_OR_HAS_PART_VERDICTS if keep_part_verdicts else _IS_REVIEWED
    for query in (_ITEMS.format(condition=separate), _AGGREGATED_ITEMS.format(separate=separate)):
        for values in connection.execute(query, [list(runs)]).fetchall():
            rows[values[1]].append(_ItemRow(*values))
    reviews = _HumanReviews(connection, list(runs))
    for run_rows in rows.values():
        # Metrics list categories in the order of their first items.
        run_rows.sort(key=lambda row: row.item)
    return {run: _score_by_source(run_rows, reviews) for run, run_rows in rows.items()}


def _score_by_source(
    rows: list[_ItemRow], reviews: _HumanReviews, sources: Sequence[MetricSource] = METRIC_SOURCES
) -> ScoredBySource:
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


def _to_scored_item(
    row: _ItemRow, source: MetricSource, human_verdicts: list[_HumanVerdict]
) -> ScoredItem:
    verdicts: dict[TargetCriterion, Any] = {}
    for automatic_source in SOURCE_PRECEDENCE[source]:
        for verdict_source, target, criterion, value in row.other_verdicts or ():
            if verdict_source == automatic_source and (target, criterion) != ITEM_CORRECT:
                verdicts[target, criterion] = parse_json(value)
    automatic = select_automatic_verdict(
        {"official": row.official, "rule": row.rule, "judge": row.judge}
    )
    counted = human_verdicts if source == "corrected" else []
    # Metrics derive verdicts themselves, so that only decided verdicts are overrides.
    decided = [human for human in counted if human.derived is None]
    derived = {
        (human.target, human.criterion): human.derived
        for human in counted
        if human.derived is not None
    }
    overrides = _find_effective_overrides(verdicts | {ITEM_CORRECT: automatic}, decided)
    verdicts |= {
        question: value for question, value in overrides.items() if question != ITEM_CORRECT
    }
    without_errata = parse_json(row.without_errata) or {
        "valid": row.rule,
        "error_type": row.rule_error_type,
    }
    valid = {
        "official": row.official,
        "rule": without_errata["valid"],
        "errata": row.rule,
        "corrected": overrides.get(ITEM_CORRECT, derived.get(ITEM_CORRECT, automatic)),
    }[source]
    error_types = {
        "official": row.error_type,
        "rule": without_errata["error_type"],
        "errata": row.rule_error_type,
        "corrected": row.error_type or row.rule_error_type,
    }
    return ScoredItem(
        id=row.id,
        category=row.category,
        group=row.group,
        valid=valid if isinstance(valid, bool) else None,
        error_type=error_types[source] if valid is False else None,
        values={
            criterion: value
            for (target, criterion), value in verdicts.items()
            if target in WHOLE_TARGETS
        },
        part_verdicts=[
            (target, criterion, value)
            for (target, criterion), value in verdicts.items()
            if target not in WHOLE_TARGETS
        ],
        overrides=overrides,
        reviewed=[(human.target, human.criterion) for human in decided],
        disputed=[
            (human.target, human.criterion) for human in counted if human.decided_by == DISPUTED
        ],
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


def _find_effective_overrides(
    automatic_verdicts: Mapping[TargetCriterion, Any], human_verdicts: list[_HumanVerdict]
) -> dict[TargetCriterion, Any]:
    overrides: dict[TargetCriterion, Any] = {}
    for human in human_verdicts:
        own = automatic_verdicts.get((human.target, human.criterion))
        effective = select_effective_verdict(own, human.value, human.decided_by)
        if not is_same_verdict(effective, own):
            overrides[human.target, human.criterion] = effective
    return overrides
