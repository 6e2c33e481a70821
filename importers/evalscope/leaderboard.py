"""Compute the figures of EvalScope's reports from samples, by EvalScope's conventions.

A subset's score is the mean of its samples, with all repeats. A category's score is weighted by
samples, its macro score is the plain mean of its subsets. Every figure is rounded to four decimals,
and aggregates are computed from rounded figures. Source: `report/` and the adapters in
`benchmarks/` of EvalScope 1.14.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fcreview.importers.acebench.leaderboard import PROCESS_ACCURACY
from fcreview.importers.common.records import as_object, is_number
from fcreview.importers.evalscope.reports import AGGREGATES, StatedMetric, parse_stated_metrics
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricUnit, ScoredItem
from fcreview.model.verdict import COVERAGE
from fcreview.stats.conventions import Ending, Trial, TrialTable

REPORT = "report"
"""Key of `Run.official_metrics` with the figures of the report."""
PRIMARY_METRIC = "primary metric"
"""Key of `Run.official_metrics` with the name of the metric by which EvalScope ranks models."""
MAIN_SCORE = "main score"
"""Metadata key of the name of the value that decides the verdict."""
TRIAL = "trial"
INDEX = "index"
"""Metadata key of the index of a sample in its subset."""
QUESTION = "question id"
"""Metadata key that all repeats of a question share."""
DIGITS = 4
"""Decimals of the figures in a report."""
PERCENT_DIGITS = 2
"""The same number of decimals in percent."""
SHARE_ENDINGS = ("acc", "accuracy", "_rate", "_score", "_f1")
"""Ends of the names of metrics from 0 to 1."""
DEFAULT_CATEGORY = "default"
OTHER_VALUES = "other values"
"""Metadata key of the values of a score that are no verdicts: facts, or figures of a program."""
REWARD = "reward"
"""Criterion of a main score from 0 to 1 that is no verdict."""
CRITERIA = {"process_acc": PROCESS_ACCURACY, "coverage_score": COVERAGE}
"""Name of a value in `score.value` -> criterion of its verdict. People can judge these values."""
VALUE_NAMES = {"accuracy": "acc", "pass_rate": "pass"}
"""Name of a metric in the report -> name of the value in `score.value`, if the names differ."""
MEAN_AGGREGATIONS = ("", "mean", "identity")
"""Aggregations that fcreview computes. Version 1 of the report states none."""


@dataclass(frozen=True, slots=True)
class SubsetScore:
    name: str
    score: float
    num: int
    """Number of samples or, for dialogues, of dialogues with a value."""
    total: int
    """The same number with those that have no value."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A figure that the report computes from subsets and from other aggregates."""

    name: str
    parts: tuple[str, ...]
    rule: Literal["mean", "weighted", "shares", "shares of present"] = "mean"
    shares: tuple[float, ...] = ()
    is_shown: bool = True


def _name_all(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{name}" for name in names)


_AST = ("multiple", "parallel", "parallel_multiple")
_LIVE_AST = _name_all("live_", "simple", *_AST)
_MULTI_TURN = _name_all("multi_turn_", "base", "miss_func", "miss_param", "long_context")
_ATOM = _name_all("normal_atom_", "bool", "enum", "number", "list", "object_deep", "object_short")
_SINGLE_TURN = _name_all("normal_single_turn_", "single_function", "parallel_function")
_DIALOGUES = _name_all("normal_multi_turn_", "user_adjust", "user_switch")
AGGREGATES_BY_BENCHMARK: Mapping[str, tuple[Aggregate, ...]] = {
    "bfcl_v4": (
        Aggregate(
            "simple_ast",
            _name_all("simple_", "python", "java", "javascript"),
            is_shown=False,
        ),
        Aggregate("web_search", _name_all("web_search_", "base", "no_snippet"), is_shown=False),
        Aggregate("memory", _name_all("memory_", "kv", "vector", "rec_sum"), is_shown=False),
        Aggregate("AGENTIC", ("web_search", "memory")),
        Aggregate("MULTI_TURN", _MULTI_TURN),
        Aggregate("NON_LIVE", ("simple_ast", *_AST)),
        Aggregate("LIVE", _LIVE_AST, rule="weighted"),
        Aggregate("HALLUCINATION", ("live_irrelevance", "irrelevance")),
        # Groups that did not run count 0.
        Aggregate(
            "OVERALL",
            ("AGENTIC", "MULTI_TURN", "NON_LIVE", "LIVE", "HALLUCINATION"),
            rule="shares",
            shares=(0.4, 0.3, 0.1, 0.1, 0.1),
        ),
    ),
    "bfcl_v3": (
        Aggregate("simple_ast", ("simple", "java", "javascript"), is_shown=False),
        Aggregate("ast_non_live", ("simple_ast", *_AST), is_shown=False),
        Aggregate("ast_live", _LIVE_AST, rule="weighted", is_shown=False),
        Aggregate(
            "hallucination_live",
            ("live_irrelevance", "live_relevance"),
            rule="weighted",
            is_shown=False,
        ),
        Aggregate("multi_turn_augmented", _MULTI_TURN[1:], rule="weighted", is_shown=False),
        Aggregate("NON_LIVE", ("ast_non_live", "irrelevance")),
        Aggregate("LIVE", ("ast_live", "hallucination_live"), rule="weighted"),
        Aggregate("MULTI_TURN", ("multi_turn_base", "multi_turn_augmented")),
        Aggregate("OVERALL", ("NON_LIVE", "LIVE", "MULTI_TURN")),
    ),
    "acebench": (
        Aggregate("ATOM", _ATOM),
        Aggregate("SINGLE_TURN", _SINGLE_TURN),
        Aggregate("MULTI_TURN", _DIALOGUES),
        Aggregate(
            "NORMAL",
            (*_SINGLE_TURN, *_DIALOGUES, "normal_similar_api", "normal_preference", *_ATOM),
        ),
        Aggregate("SPECIAL", _name_all("special_", "incomplete", "error_param", "irrelevant")),
        Aggregate("AGENT", ("agent_multi_step", "agent_multi_turn")),
        Aggregate(
            "OVERALL",
            ("NORMAL", "SPECIAL", "AGENT"),
            rule="shares of present",
            shares=(0.578, 0.2676, 0.1545),
        ),
    ),
}
"""Benchmark -> aggregates of its accuracy, in the order in which they are computed."""


@dataclass(slots=True)
class MetricFigures:
    """Figures of one metric of a report, computed from samples."""

    name: str
    categories: dict[str, list[SubsetScore]] = field(default_factory=dict)
    aggregates: list[SubsetScore] = field(default_factory=list)
    note: str = ""

    def get_category(self, name: str) -> SubsetScore:
        return weigh(name, self.categories[name])

    @property
    def all_categories(self) -> list[SubsetScore]:
        return [self.get_category(name) for name in self.categories]


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Return the figures of the report: each metric, its categories, subsets and aggregates.

    The primary metric comes first.
    """
    stated = parse_stated_metrics(run.official_metrics.get(REPORT))
    primary_metric = run.official_metrics.get(PRIMARY_METRIC)
    primary_metrics: list[Metric] = []
    other_metrics: list[Metric] = []
    for figures in compute_figures(items, run.generation, stated):
        is_primary = figures.name == primary_metric
        metrics = primary_metrics if is_primary else other_metrics
        metrics += _list_metrics(figures)
    return primary_metrics + other_metrics


def compute_figures(
    items: Sequence[ScoredItem], benchmark: str, stated: Sequence[StatedMetric]
) -> Iterator[MetricFigures]:
    """Compute the figures of each metric that EvalScope's report states, or the accuracy without a
    report.

    A metric has a figure for each subset of the benchmark, and means over subsets.
    """
    items_by_subset: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        items_by_subset[item.category].append(item)

    if not stated:
        figures = MetricFigures("accuracy")
        _fill_figures(figures, items_by_subset, benchmark, metric=None)
        yield figures
    for metric in stated:
        figures = MetricFigures(metric.figure.name)
        if metric.aggregation in MEAN_AGGREGATIONS:
            _fill_figures(figures, items_by_subset, benchmark, metric)
        else:
            figures.note = _explain_missing_figures(metric)
        yield figures


def _explain_missing_figures(metric: StatedMetric) -> str:
    return (
        f"fcreview does not compute the aggregation {metric.aggregation}; the report states"
        f" {metric.figure.score}"
    )


def _fill_figures(
    figures: MetricFigures,
    items_by_subset: Mapping[str, Sequence[ScoredItem]],
    benchmark: str,
    metric: StatedMetric | None,
) -> None:
    """Fill in the scores of all subsets for a metric, and the aggregates over them that the
    benchmark defines.

    Args:
        figures: The figures to fill.
        items_by_subset: The items of each subset.
        benchmark: EvalScope's name of the benchmark.
        metric: The metric in the report, which says to which category a subset belongs.
    """
    categories = _map_subsets_to_categories(items_by_subset, benchmark, metric)
    all_scores: dict[str, SubsetScore] = {}
    for subset, category in categories.items():
        score = _score_subset(figures.name, subset, items_by_subset.get(subset, ()), benchmark)
        if score is not None:
            figures.categories.setdefault(category, []).append(score)
            all_scores[subset] = score
    # The aggregates of a benchmark combine accuracies.
    if get_value_name(figures.name) == "acc":
        figures.aggregates = list(compute_aggregates(benchmark, all_scores))


def _map_subsets_to_categories(
    subsets: Mapping[str, Any], benchmark: str, metric: StatedMetric | None
) -> dict[str, str]:
    """Return subset -> category, in the order of the report. A subset that is not in the report
    has the category in its name (ACEBench: `normal_atom_bool`), or the default one.
    """
    categories: dict[str, str] = {}
    if metric is not None:
        for category in metric.categories:
            # Aggregates are means of several subsets.
            if category.figure.name == AGGREGATES:
                continue
            for subset in category.subsets:
                categories[subset.name] = category.figure.name

    for name in subsets:
        family = DEFAULT_CATEGORY
        if benchmark == "acebench":
            family, _, _ = name.partition("_")
        categories.setdefault(name, family)
    return categories


# -- scores of subsets


def _score_subset(
    metric: str, subset: str, items: Sequence[ScoredItem], benchmark: str
) -> SubsetScore | None:
    """Compute the score of a subset for a metric: mostly the mean value of its samples.

    None if no sample has a value. ACEBench's dialogues, and figures about decisions, have rules of
    their own.
    """
    is_of_dialogues = benchmark == "acebench" and subset.startswith("normal_multi_turn")
    if is_of_dialogues:
        return _score_dialogues(metric, subset, items)
    if metric in DECISION_FIGURES:
        return _score_decisions(metric, subset, items)

    value_name = get_value_name(metric)
    values = [get_value(item, value_name) for item in items]
    known_values = [value for value in values if value is not None]
    if not known_values:
        return None
    mean = round_figure(sum(known_values) / len(known_values))
    return SubsetScore(subset, mean, num=len(known_values), total=len(items))


def _score_decisions(metric: str, subset: str, items: Sequence[ScoredItem]) -> SubsetScore | None:
    """Return a figure over all samples of `general_fc`."""
    values = [get_other_values(item) for item in items]
    if not any(values):
        return None
    figure = round_figure(DECISION_FIGURES[metric](values))
    return SubsetScore(subset, figure, num=len(items), total=len(items))


def get_value_name(metric: str) -> str:
    """Return the name in `score.value` of a metric. Version 1 writes `mean_acc` for `acc`."""
    name = VALUE_NAMES.get(metric, metric)
    return name.removeprefix("mean_")


def get_value(item: ScoredItem, name: str) -> float | None:
    """Return a value of a sample by its name, after the reviews. None if it has no number.

    The main value of a sample decides the verdict on the item. Values in `CRITERIA` are verdicts on
    a criterion. All others are numbers that no review changes.
    """
    main_name = item.metadata.get(MAIN_SCORE, "acc")
    if name == main_name and item.valid is not None:
        return float(item.valid)

    if name in CRITERIA:
        value = item.values.get(CRITERIA[name])
    elif name == main_name:
        # A main value such as 0.5 means no verdict. It is stored as a reward.
        value = item.values.get(REWARD)
    else:
        value = get_other_values(item).get(name)
    return float(value) if isinstance(value, bool) or is_number(value) else None


def get_other_values(item: ScoredItem) -> Mapping[str, Any]:
    """Return the values of a score that no verdict has, by name."""
    return as_object(item.metadata.get(OTHER_VALUES))


def _score_dialogues(metric: str, subset: str, items: Sequence[ScoredItem]) -> SubsetScore | None:
    """Compute the score of ACEBench's dialogues, whose steps are items: the mean score of the
    dialogues.

    EvalScope counts all repeats of a dialogue as one dialogue. None if no step has a verdict.
    """
    dialogues: dict[str, list[bool]] = {}
    for item in items:
        steps = dialogues.setdefault(item.group or item.id, [])
        if item.valid is not None:
            steps.append(item.valid)

    known_dialogues = [steps for steps in dialogues.values() if steps]
    if not known_dialogues:
        return None
    scores = [_score_dialogue(metric, steps) for steps in known_dialogues]
    mean = round_figure(sum(scores) / len(scores))
    return SubsetScore(subset, mean, num=len(scores), total=len(dialogues))


def _score_dialogue(metric: str, steps: Sequence[bool]) -> float:
    """Return the share of right steps for the metric `process_acc`. For others, 1 if all are right,
    else 0.
    """
    if metric == "process_acc":
        return round(sum(steps) / len(steps), 3)
    return float(all(steps))


# -- general_fc


def _count(values: Sequence[Mapping[str, Any]], *names: str) -> int:
    """Count the samples in which all named values are 1."""
    return sum(all(value.get(name) in (1, True) for name in names) for value in values)


CALLED = "finish_reason_tool_call"
SUCCEEDED = "successful_tool_call"
EXPECTED = "should_call_tool"


def _compute_call_f1(values: Sequence[Mapping[str, Any]]) -> float:
    """F1 of the decision to call a tool, over all samples and repeats."""
    n_right = _count(values, CALLED, EXPECTED)
    n_counted = _count(values, CALLED) + _count(values, EXPECTED)
    return 2 * n_right / n_counted if n_counted else 0.0


def _compute_schema_accuracy(values: Sequence[Mapping[str, Any]]) -> float:
    n_attempted = _count(values, CALLED)
    return _count(values, CALLED, SUCCEEDED) / n_attempted if n_attempted else 0.0


DECISION_FIGURES: Mapping[str, Callable[[Sequence[Mapping[str, Any]]], float]] = {
    "tool_call_f1": _compute_call_f1,
    "schema_accuracy": _compute_schema_accuracy,
    "count_finish_reason_tool_call": lambda values: float(_count(values, CALLED)),
    "count_successful_tool_call": lambda values: float(_count(values, SUCCEEDED)),
}
"""Metrics over all samples of `general_fc`, which are not means of samples."""


# -- categories and aggregates


def round_figure(value: float) -> float:
    return round(value, DIGITS)


def weigh(name: str, scores: Sequence[SubsetScore]) -> SubsetScore:
    """Return the mean of rounded scores, weighted by their numbers of samples."""
    num = sum(score.num for score in scores)
    total = sum(score.score * score.num for score in scores)
    return _make_mean(name, scores, total / num if num else 0.0)


def average(name: str, scores: Sequence[SubsetScore]) -> SubsetScore:
    """Return the plain mean of rounded scores."""
    total = sum(score.score for score in scores)
    return _make_mean(name, scores, total / len(scores) if scores else 0.0)


def _make_mean(name: str, scores: Sequence[SubsetScore], mean: float) -> SubsetScore:
    num = sum(score.num for score in scores)
    total = sum(score.total for score in scores)
    return SubsetScore(name, round_figure(mean), num=num, total=total)


def compute_aggregates(benchmark: str, subsets: Mapping[str, SubsetScore]) -> Iterator[SubsetScore]:
    """Yield the shown aggregates of a benchmark that have samples."""
    scores = dict(subsets)
    for aggregate in AGGREGATES_BY_BENCHMARK.get(benchmark, ()):
        score = _combine(aggregate, scores)
        scores[aggregate.name] = score
        if aggregate.is_shown and score.num > 0:
            yield score


def _combine(aggregate: Aggregate, scores: Mapping[str, SubsetScore]) -> SubsetScore:
    """Compute an aggregate over subsets by its rule: a mean weighted by numbers of samples
    ("weighted"), a plain mean ("mean"), or a mean with fixed shares.
    """
    present = [scores[name] for name in aggregate.parts if name in scores and scores[name].num > 0]
    if aggregate.rule == "weighted":
        return weigh(aggregate.name, present)
    if aggregate.rule == "mean":
        return average(aggregate.name, present)
    return _make_mean(aggregate.name, present, _compute_mean_with_shares(aggregate, present))


def _compute_mean_with_shares(aggregate: Aggregate, present: Sequence[SubsetScore]) -> float:
    """Compute the mean of subsets with fixed shares.

    With the rule "shares", subsets that did not run count 0. With any other, they are left out.
    """
    share_by_part = dict(zip(aggregate.parts, aggregate.shares, strict=True))
    weighted_sum = sum(share_by_part[score.name] * score.score for score in present)
    if aggregate.rule == "shares":
        sum_of_shares = sum(aggregate.shares)
    else:
        sum_of_shares = sum(share_by_part[score.name] for score in present)
    return weighted_sum / sum_of_shares if sum_of_shares else 0.0


# -- rows of the metrics table


def _list_metrics(figures: MetricFigures) -> Iterator[Metric]:
    """Yield the figures of a metric as rows of a table: the score over all samples, the mean of the
    categories, then each category with its subsets, and the aggregates.
    """
    table = f"EvalScope: {figures.name}"
    if figures.note:
        yield Metric(table, "score", value=None, note=figures.note)
        return

    categories = figures.all_categories
    unit = choose_unit(figures.name)
    yield _make_metric(table, weigh("score", categories), unit, level=0)
    yield _make_metric(table, average("macro_score", categories), unit, level=0)
    for category in categories:
        subsets = figures.categories[category.name]
        yield _make_metric(table, category, unit, level=1)
        yield _make_metric(table, average(f"{category.name} (macro)", subsets), unit, level=1)
        for subset in subsets:
            yield _make_metric(table, subset, unit, level=2)
    for aggregate in figures.aggregates:
        metric = _make_metric(table, aggregate, unit, level=0)
        metric.note = "aggregate"
        yield metric


def _make_metric(table: str, score: SubsetScore, unit: MetricUnit, level: int) -> Metric:
    """Return the metric of a subset of samples. It has no value without samples."""
    return Metric(
        table,
        score.name,
        value=score.score if score.num else None,
        unit=unit,
        level=level,
        n=score.num,
        total=score.total,
        counted_noun="samples",
        digits=PERCENT_DIGITS,
    )


def choose_unit(metric: str) -> MetricUnit:
    """Return the unit of a metric. Shares are shown in percent, with all decimals of the report."""
    if metric.startswith("count_"):
        return "count"
    return "share" if metric.endswith(SHARE_ENDINGS) else "score"


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    """Return each sample as a trial of its question."""
    trials = []
    for item in items:
        ending: Ending = "not run" if item.valid is None else "graded"
        question = str(item.metadata.get(QUESTION) or item.id)
        trials.append(Trial(item.id, task=question, passed=item.valid is True, ending=ending))
    return TrialTable(trials, "EvalScope")
