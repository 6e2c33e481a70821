"""Items of runs as comparisons need them: small columns only, one query for all runs.

What the benchmark and its judges say of the targets of an item.

Items as `figures.Scored` rows, once a source: what a benchmark's figures are computed from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.model.address import ITEM, WHOLE_TARGETS
from fcreview.model.decision import TargetCriterion
from fcreview.model.json_value import parse_json
from fcreview.model.metric import METRIC_SOURCES, METRIC_SOURCES_WITH_ERRATA, MetricSource, ScoredItem
from fcreview.model.review import CORRECT, ITEM_CORRECT, Annotation
from fcreview.model.verdict import SCORING_ORDER, DecidedBy, same_verdict, automatic_verdict, decides, effective_verdict, first_contradicted
from fcreview.stats.run_comparison import QuestionKey, ItemOutcome, VerdictSource
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition
from fcreview.store.reviews.verdict_sql import EFFECTIVE_VERDICT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.model.item import SourceName
    from fcreview.store.rows import View


_VERDICT: dict[VerdictSource, tuple[str, str]] = {
    "official": ("i.official", "i.error_type"),
    "rule": ("i.rule", "coalesce(i.rule_error_type, i.rule_note)"),
    "effective": (EFFECTIVE_VERDICT, "coalesce(i.error_type, i.rule_error_type)"),
}
"""Verdict, and what it calls the error."""


def fetch_outcomes(
    connection: DuckDBPyConnection, view: View, runs: Sequence[int], source: VerdictSource
) -> dict[int, list[ItemOutcome]]:
    """By run, in dataset order: the items that the view's filter selects. FilterError for a filter that is not
    understood."""
    where, params, _ = build_condition(replace(view, runs=tuple(runs)), blind=False)
    verdict, error = _VERDICT[source]
    datasets = connection.execute("SELECT run, benchmark, generation, language FROM runs").fetchall()
    dataset_of = {run: (benchmark, generation, language) for run, benchmark, generation, language in datasets}
    found: dict[int, list[ItemOutcome]] = {run: [] for run in runs}
    rows = connection.execute(
        f'SELECT i.run, i.item, i.category, i.id, i."group", i.question, {verdict}, {error}, i.first_difference,'
        f" i.prediction_hash, i.golden_hash {FROM_ITEMS} WHERE {where} ORDER BY i.item",
        params,
    )
    places: dict[tuple[tuple[str, str, str], str, str], QuestionKey] = {}
    """One for all runs."""
    for (
        run,
        item,
        category,
        name,
        group,
        question,
        passes,
        error_type,
        difference,
        prediction,
        golden,
    ) in rows.fetchall():
        at = (dataset_of[run], category, name)
        place = places.get(at) or places.setdefault(at, QuestionKey(*dataset_of[run], category, name))
        found[run].append(
            ItemOutcome(item, place, group, question or "", passes, error_type, difference, prediction or "", golden or "")
        )
    return found


_AUTOMATIC = f"SELECT item, {', '.join(SCORING_ORDER)}, verdicts FROM item_rows WHERE "
_ONE, _SEVERAL = "item = $1", "item IN (SELECT unnest($1::BIGINT[]))"
"""A join reads the whole column of items: of one, which is what a key asks, that is several times as slow."""
_JUDGED = """
SELECT item, v.target, v.criterion, CAST(v."value" AS VARCHAR), v."by"
FROM (SELECT item, unnest(verdicts) AS v FROM item_rows WHERE item IN ({items})) WHERE v.source = 'judge'
"""


def find_overrides(connection: DuckDBPyConnection, asked: Sequence[tuple[int, Annotation]]) -> list[dict[str, Any] | None]:
    """For each (item, what is said of it) {source, by, value} of the automatic verdict that counts on it (the first of
    `SCORING` that says something), if that is another; None if it says the same, if there is none, and of "unsure"."""
    items = list({item for item, said in asked if decides(said.verdict)})
    if not items:
        return [None] * len(asked)
    found: dict[tuple[int, str, str], dict[str, dict[str, Any]]] = {}
    which, bound = (_ONE, items[0]) if len(items) == 1 else (_SEVERAL, items)
    for item, *own, verdicts in connection.execute(_AUTOMATIC + which, [bound]).fetchall():
        found[item, *ITEM_CORRECT] = {source: {"by": None, "value": value} for source, value in zip(SCORING_ORDER, own, strict=True)}
        for each in verdicts or ():
            value = parse_json(each["value"])
            about = found.setdefault((item, each["target"], each["criterion"]), {})
            about[each["source"]] = {"by": each["by"], "value": value}
    return [
        first_contradicted(found.get((item, said.target, said.criterion), {}), said.verdict) for item, said in asked
    ]


def fetch_judge_verdicts(connection: DuckDBPyConnection, items: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """What judges say of these items and their parts: {target, criterion, value, by}."""
    found: dict[int, list[dict[str, Any]]] = {}
    numbers = ", ".join(str(int(item)) for item in items)
    for item, target, criterion, value, by in connection.execute(_JUDGED.format(items=numbers or "NULL")).fetchall():
        said = {"target": target, "criterion": criterion, "value": parse_json(value), "by": by}
        found.setdefault(item, []).append(said)
    return found


SOURCE_PRECEDENCE: dict[MetricSource, tuple[SourceName, ...]] = {
    "official": ("judge", "official"),
    "rule": ("judge", "rule"),
    "errata": ("judge", "rule"),
    "corrected": ("judge", "rule", "official"),
}
"""Whose values count for a source, later ones over earlier: a judge's are recorded with both. People's come on top."""
_BESIDE = f"i.verdicts, lambda v: v.target <> '{ITEM}' OR v.criterion <> '{CORRECT}'"
"""Automatic verdicts that have no column of their own."""
_ITEMS = f"""
SELECT i.item, i.run, i.id, i.category, i."group", i.official, i.rule, i.judge, i.error_type, i.rule_error_type,
       i.extra->'$.more', i.extra->'$.without_errata', i.n_golden, i.n_predicted, i.n_turns,
       coalesce(len(i.functions), 0), i.tokens_in, i.tokens_out, i.setting,
       list_transform(list_filter({_BESIDE}), lambda v: [v.source, v.target, v.criterion, CAST(v."value" AS VARCHAR)]),
       CASE WHEN i.latency IS NOT NULL THEN coalesce(i.seconds, [i.latency]) END
FROM item_rows i WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND {{only}} ORDER BY i.item
"""
_SPOKEN = "i.item IN (SELECT item FROM human_labels)"
_SPECIAL = f"({_SPOKEN} OR len(list_filter({_BESIDE})) > 0)"
_ALIKE = """
SELECT min(i.item), i.run, '', i.category, NULL, i.official, i.rule, i.judge, i.error_type,
       i.rule_error_type, NULL, NULL, 0, 0, 1, 0,
       sum(i.tokens_in)::BIGINT, sum(i.tokens_out)::BIGINT, i.setting, NULL,
       list_concat(list(i.latency) FILTER (i.seconds IS NULL AND i.latency IS NOT NULL),
                   flatten(list(i.seconds) FILTER (i.seconds IS NOT NULL))),
       count(*)
FROM item_rows i WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND NOT {special}
GROUP BY i.run, i.category, i.setting, i.official, i.rule, i.judge, i.error_type, i.rule_error_type
"""
_PEOPLE = """
SELECT h.item, h.target, h.criterion, h.human, h.decided_by FROM human_labels h JOIN item_rows i USING (item)
WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND h.decided_by IS NOT NULL
"""
_TAGS = """
SELECT h.item, list_distinct(flatten(list(h.tags ORDER BY h.target, h.criterion)))
FROM human_labels h JOIN item_rows i USING (item)
WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND len(h.tags) > 0 GROUP BY h.item
"""
RUNS_PER_QUERY = 200
"""Runs to be counted at a time: the seconds of their steps are in memory."""
ScoredBySource = dict[MetricSource, list[ScoredItem]]


@dataclass(slots=True)
class _Stored:
    """A row of `_ITEMS` or `_ALIKE`."""

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
    more: str | None
    """The benchmark's own values, as JSON text."""
    without_errata: str | None
    """`Extra.without_errata`, as JSON text."""
    n_golden: int
    n_predicted: int
    n_turns: int
    n_functions: int
    tokens_in: int | None
    tokens_out: int | None
    setting: str | None
    said: list[tuple[str, str, str, str]] | None
    """(source, target, criterion, value as JSON text) of every other automatic verdict."""
    seconds: list[float] | None
    times: int = 1


@dataclass(slots=True)
class _Human:
    """What people decided of one target on one criterion; a row of `_PEOPLE` without the item."""

    target: str
    criterion: str
    value: Any
    decided_by: DecidedBy


def fetch_scored_items(connection: DuckDBPyConnection, run: int, *, with_errata: bool = False) -> ScoredBySource:
    """The run's items in dataset order, as seen officially, by recomputation, and after reviews; and with errata."""
    rows = [_Stored(*row) for row in connection.execute(_ITEMS.format(only="true"), [[run]]).fetchall()]
    return _sourced(rows, _People(connection, [run]), METRIC_SOURCES_WITH_ERRATA if with_errata else METRIC_SOURCES)


def fetch_aggregated_items(connection: DuckDBPyConnection, runs: Sequence[int], *, keep_part_verdicts: bool) -> dict[int, ScoredBySource]:
    """The same by run, but items of which nothing tells them apart as one row: see `Scored.times`.
    Of runs that no errata are applied to. What somebody spoke of is a row of its own, and with `beside` so is what has
    verdicts besides the one on the whole."""
    rows: dict[int, list[_Stored]] = {run: [] for run in runs}
    special = _SPECIAL if keep_part_verdicts else _SPOKEN
    for query in (_ITEMS.format(only=special), _ALIKE.format(special=special)):
        for values in connection.execute(query, [list(runs)]).fetchall():
            rows[values[1]].append(_Stored(*values))
    people = _People(connection, list(runs))
    for stored in rows.values():
        stored.sort(key=lambda row: row.item)  # categories are listed in the order of their first items
    return {run: _sourced(stored, people) for run, stored in rows.items()}


class _People:
    """What was said of the items of some runs, by item."""

    def __init__(self, connection: DuckDBPyConnection, runs: list[int]) -> None:
        self.said: defaultdict[int, list[_Human]] = defaultdict(list)
        for item, target, criterion, value, decided_by in connection.execute(_PEOPLE, [runs]).fetchall():
            self.said[item].append(_Human(target, criterion, parse_json(value), decided_by))
        self.tags: dict[int, list[str]] = dict(connection.execute(_TAGS, [runs]).fetchall())


def _sourced(rows: list[_Stored], people: _People, sources: Sequence[MetricSource] = METRIC_SOURCES) -> ScoredBySource:
    found = {source: [_row(row, source, people.said.get(row.item, [])) for row in rows] for source in sources}
    for row, seen in zip(rows, found["corrected"], strict=True):
        seen.tags = sorted(people.tags.get(row.item, ()))
    return found


def fetch_items_before_reviews(connection: DuckDBPyConnection, run: int) -> list[ScoredItem]:
    """The run's items in dataset order as the corrected source sees them while nobody has reviewed anything."""
    rows = connection.execute(_ITEMS.format(only="true"), [[run]]).fetchall()
    return [_row(_Stored(*row), "corrected", []) for row in rows]


def _row(row: _Stored, source: MetricSource, people: list[_Human]) -> ScoredItem:
    said: dict[TargetCriterion, Any] = {}
    for who in SOURCE_PRECEDENCE[source]:
        for by, target, criterion, value in row.said or ():
            if by == who and (target, criterion) != ITEM_CORRECT:
                said[target, criterion] = parse_json(value)
    own = automatic_verdict({"official": row.official, "rule": row.rule, "judge": row.judge})
    overruled = _overruled(said | {ITEM_CORRECT: own}, people) if source == "corrected" else {}
    said |= {question: value for question, value in overruled.items() if question != ITEM_CORRECT}
    without = parse_json(row.without_errata) or {"valid": row.rule, "error_type": row.rule_error_type}
    valid = {
        "official": row.official,
        "rule": without["valid"],
        "errata": row.rule,
        "corrected": overruled.get(ITEM_CORRECT, own),
    }[source]
    kinds = {
        "official": row.error_type,
        "rule": without["error_type"],
        "errata": row.rule_error_type,
        "corrected": row.error_type or row.rule_error_type,
    }
    return ScoredItem(
        id=row.id,
        category=row.category,
        group=row.group,
        valid=valid if isinstance(valid, bool) else None,
        error_type=kinds[source] if valid is False else None,
        values={criterion: value for (target, criterion), value in said.items() if target in WHOLE_TARGETS},
        part_verdicts=[(target, criterion, value) for (target, criterion), value in said.items() if target not in WHOLE_TARGETS],
        overrides=overruled,
        metadata=parse_json(row.more) or {},
        n_golden=row.n_golden,
        n_predicted=row.n_predicted,
        n_functions=row.n_functions,
        n_turns=row.n_turns,
        tokens_in=row.tokens_in,
        tokens_out=row.tokens_out,
        seconds=tuple(row.seconds or ()),
        setting=row.setting,
        n_items=row.times,
    )


def _overruled(said: Mapping[TargetCriterion, Any], people: list[_Human]) -> dict[TargetCriterion, Any]:
    """Where people say something else than the benchmark, or differ among themselves."""
    found: dict[TargetCriterion, Any] = {}
    for one in people:
        own = said.get((one.target, one.criterion))
        counts = effective_verdict(own, one.value, one.decided_by)
        if not same_verdict(counts, own):
            found[one.target, one.criterion] = counts
    return found
