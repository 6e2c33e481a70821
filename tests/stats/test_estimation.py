"""Estimates without reviews, from selected items, of finite populations, and of weighted
metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fcreview.model.metric import Metric, ScoredItem, build_category_metrics
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.estimation import (
    MIN_CATEGORY_ITEMS,
    EstimationInput,
    EstimationSettings,
    MetricEstimate,
    PlannedLabels,
    are_bounds_headline,
    estimate_metrics,
    estimate_pass_rate,
    explain_missing_interval,
)
from fcreview.stats.posterior import ItemStatus
from tests.oracles import betabinom


def compute_metrics(rows: Sequence[ScoredItem]) -> list[Metric]:
    """Return accuracy by category, the mean of categories, the share of right dialogues, and an
    unrelated metric.
    """
    lines = build_category_metrics(rows)
    shares = [line.value for line in lines[1:] if line.value is not None]
    groups: dict[str | None, list[bool]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(bool(row.valid))
    return [
        *lines,
        Metric("weighted", "mean of categories", value=sum(shares) / len(shares)),
        Metric("weighted", "dialogues", value=sum(map(all, groups.values())) / len(groups)),
        Metric("cost", "tokens", value=12.0, unit="score"),
    ]


def make_input(standings: Sequence[ItemStatus]) -> EstimationInput:
    before = [
        ScoredItem(f"i{at}", each.category, f"d{at // 2}", each.automatic)
        for at, each in enumerate(standings)
    ]
    after = [
        row
        if each.human in (None, each.automatic)
        else replace(row, valid=each.human, overrides={ITEM_CORRECT: each.human})
        for row, each in zip(before, standings, strict=True)
    ]
    return EstimationInput(before, after, standings, compute_metrics)


def make_items(
    n: int = 400, seed: int = 0
) -> tuple[list[ItemStatus], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return unreviewed items of two categories and their true verdicts.

    The judge is wrong for a tenth of them.
    """
    generator = np.random.default_rng(seed)
    own = generator.random(n) < 0.7
    truth = own ^ (generator.random(n) < 0.1)
    names = ["live" if at % 5 == 0 else "simple" for at in range(n)]
    return [ItemStatus(name, bool(flag)) for name, flag in zip(names, own, strict=True)], truth


def review_items(
    standings: list[ItemStatus], truth: Sequence[bool], places: Sequence[int], *, random: bool
) -> None:
    for at in places:
        standings[at] = replace(standings[at], human=bool(truth[at]), has_sample_verdict=random)


def set_inclusion_probability(standings: Sequence[ItemStatus], part: float) -> list[ItemStatus]:
    return [replace(each, stratum=("",), inclusion_probability=part) for each in standings]


def estimate(standings: Sequence[ItemStatus]) -> dict[str, MetricEstimate]:
    return {one.name: one for one in estimate_metrics(make_input(standings))}


def test_corrected_equals_automatic_without_reviews() -> None:
    for one in estimate(make_items()[0]).values():
        assert one.corrected == one.automatic and one.low is one.high is one.needed is None


def test_selected_failures_never_give_an_interval() -> None:
    """Reviews of failures only carry no information about other items, however many there are."""
    standings, truth = make_items()
    failures = [at for at, each in enumerate(standings) if not each.automatic]
    for many in (5, 50, len(failures)):
        review_items(standings, truth, failures[:many], random=False)
        for one in estimate(standings).values():
            assert one.low is None and one.high is None and one.n_random == 0
            assert one.method in ("known only", "other verdicts")
    assert estimate(standings)["all items"].n_known == len(failures)


@pytest.mark.sweep
def test_selected_items_are_known_but_do_not_count_as_sampled() -> None:
    standings, truth = make_items()
    standings = set_inclusion_probability(standings, 0.2)
    sample = np.random.default_rng(1).choice(400, 80, replace=False).tolist()
    picked = [at for at, each in enumerate(standings) if not each.automatic and at not in sample]
    review_items(standings, truth, sample, random=True)
    alone = estimate(standings)["all items"]
    review_items(standings, truth, picked, random=False)
    both = estimate(standings)["all items"]
    assert both.n_random == alone.n_random == 80 and both.n_known == 80 + len(picked)
    assert (
        both.low is not None
        and both.high is not None
        and alone.low is not None
        and alone.high is not None
    )
    assert both.high - both.low < alone.high - alone.low  # Reviewed items add no uncertainty.
    assert both.low <= truth.mean() <= both.high


def test_metric_of_unsampled_items_has_no_interval() -> None:
    standings, truth = make_items()
    standings = [
        each if each.category == "live" else set_inclusion_probability([each], 0.1)[0]
        for each in standings
    ]
    review_items(standings, truth, [at for at in range(60) if at % 5], random=True)
    estimates = estimate(standings)
    assert estimates["simple"].low is not None
    for name in ("all items", "live", "mean of categories"):
        assert estimates[name].low is None and estimates[name].method == "not sampled"


def test_fully_reviewed_population_is_known() -> None:
    standings, truth = make_items(60)
    standings = set_inclusion_probability(standings, 1.0)
    review_items(standings, truth, range(60), random=True)
    one = estimate(standings)["all items"]
    assert one.low == one.high == one.corrected == one.estimated == pytest.approx(truth.mean())
    assert one.method == "all known" and one.needed == 0


@pytest.mark.sweep
def test_weighted_metric_has_a_wider_interval() -> None:
    """`live` has a fifth of the items and half of the weight, so the interval of a plain rate
    would be too narrow.
    """
    standings, truth = make_items(1000)
    standings = set_inclusion_probability(standings, 0.1)
    review_items(
        standings,
        truth,
        np.random.default_rng(2).choice(1000, 100, replace=False).tolist(),
        random=True,
    )
    estimates = estimate(standings)
    share, mean, whole = (
        estimates[name] for name in ("all items", "mean of categories", "dialogues")
    )
    widths = [
        one.high - one.low
        for one in (share, mean, whole)
        if one.high is not None and one.low is not None
    ]
    assert len(widths) == 2 and widths[1] > 1.1 * widths[0]
    assert whole.method == "whole groups" and whole.low is None
    assert estimates["tokens"].method == "other verdicts" and estimates["tokens"].low is None


def test_disagreements_are_drawn_like_unreviewed_items() -> None:
    standings, truth = make_items(50)
    standings = set_inclusion_probability(standings, 0.5)
    review_items(standings, truth, range(25), random=True)
    run = make_input(standings)
    after = [
        *run.reviewed_items[:-1],
        replace(run.reviewed_items[-1], valid=None, overrides={ITEM_CORRECT: None}),
    ]
    one = next(estimate_metrics(replace(run, reviewed_items=after)))
    assert one.low is not None and one.estimated is not None


@pytest.mark.parametrize(
    ("undecided_share", "half_width", "is_range"),
    [(0.0, 0.03, False), (0.007, 0.03, False), (0.008, 0.03, True), (0.05, 0.1, True)],
)
def test_range_replaces_interval_above_a_quarter_of_the_half_width(
    undecided_share: float, half_width: float, is_range: bool
) -> None:
    assert are_bounds_headline(undecided_share, half_width) is is_range


@pytest.mark.sweep
def test_interval_of_a_planned_sample_has_the_planned_width_in_most_samples() -> None:
    """After the planned number of further reviews, at least about 80 % of the intervals are
    narrow enough.
    """
    standings, truth = make_items(2000)
    generator = np.random.default_rng(3)
    reached = 0
    for seed in range(25):
        order = generator.permutation(2000).tolist()
        first = set_inclusion_probability(standings, 0.05)
        review_items(first, truth, order[:100], random=True)
        pilot = estimate_pass_rate(first, half_width=0.025, seed=seed)
        assert pilot is not None and pilot.needed
        size = 100 + pilot.needed
        second = set_inclusion_probability(standings, size / 2000)
        review_items(second, truth, order[:size], random=True)
        final = estimate_pass_rate(second, half_width=0.025, seed=seed)
        assert final is not None
        reached += (final.high - final.low) / 2 <= 0.025 * 1.02
    assert reached >= 16


def test_score_method_agrees_with_the_model() -> None:
    standings, truth = make_items(1000)
    standings = set_inclusion_probability(standings, 0.2)
    review_items(
        standings,
        truth,
        np.random.default_rng(4).choice(1000, 200, replace=False).tolist(),
        random=True,
    )
    run = make_input(standings)
    by_model = {one.name: one for one in estimate_metrics(run)}
    by_formula = {
        one.name: one for one in estimate_metrics(run, EstimationSettings(interval_method="score"))
    }
    for name in ("all items", "simple", "mean of categories"):
        model, formula = by_model[name], by_formula[name]
        assert formula.estimated == pytest.approx(model.estimated, abs=0.03)
        assert (
            formula.low is not None
            and formula.high is not None
            and model.low is not None
            and model.high is not None
        )
        assert formula.high - formula.low == pytest.approx(model.high - model.low, rel=0.4)
    assert by_formula["all items"].low != by_model["all items"].low


def make_sampled_items(n: int, n_reviewed: int, seed: int = 4) -> list[ItemStatus]:
    standings, truth = make_items(n)
    standings = set_inclusion_probability(standings, n_reviewed / n)
    sample = np.random.default_rng(seed).choice(n, n_reviewed, replace=False).tolist()
    review_items(standings, truth, sample, random=True)
    return standings


def compute_category_interval(standings: Sequence[ItemStatus], category: str) -> list[float]:
    """Return the ends of the middle 97 % of the pass rate of a category. The passes among the
    unreviewed items with an automatic verdict are beta-binomial (Jeffreys prior).
    """
    members = [each for each in standings if each.category == category]
    n_known = 0
    chances = np.ones(1)
    for automatic in (True, False):
        stratum = [each for each in members if each.automatic is automatic]
        verdicts = [each.human for each in stratum if each.has_sample_verdict]
        passed = sum(map(bool, verdicts))
        left = len(stratum) - len(verdicts)
        n_known += passed
        remaining = betabinom(left, passed + 0.5, len(verdicts) - passed + 0.5)
        chances = np.convolve(chances, remaining.pmf(np.arange(left + 1)))
    ends = [int(np.searchsorted(np.cumsum(chances), chance)) for chance in (0.015, 0.985)]
    return [(n_known + end) / len(members) for end in ends]


def compute_live_rate(rows: Sequence[ScoredItem]) -> list[Metric]:
    verdicts = [row.valid for row in rows if row.category == "live"]
    return [Metric("accuracy", "live", value=verdicts.count(True) / len(verdicts))]


def estimate_live_rate(standings: Sequence[ItemStatus]) -> MetricEstimate:
    (found,) = estimate_metrics(replace(make_input(standings), compute_metrics=compute_live_rate))
    return found


def test_interval_of_a_category_uses_only_its_own_items() -> None:
    standings = make_sampled_items(300, n_reviewed=100)
    found = estimate_live_rate(standings)
    low, high = compute_category_interval(standings, "live")
    # The ends are drawn, with a standard error of 0.05 half-widths.
    assert found.low == pytest.approx(low, abs=0.1 * (high - low))
    assert found.high == pytest.approx(high, abs=0.1 * (high - low))

    # Other verdicts on the items of the other category change nothing.
    inverted = [
        replace(each, human=not each.human)
        if each.category == "simple" and each.has_sample_verdict
        else each
        for each in standings
    ]
    other = estimate_live_rate(inverted)
    assert (other.estimated, other.low, other.high) == (found.estimated, found.low, found.high)


def test_category_with_few_reviewed_items_has_no_interval() -> None:
    estimates = estimate(make_sampled_items(300, n_reviewed=30))
    live = estimates["live"]
    assert 0 < live.n_random < MIN_CATEGORY_ITEMS
    assert live.method == "few items" and live.low is None and live.estimated is None
    assert "fewer than 10" in explain_missing_interval(live.method)
    assert estimates["all items"].low is not None and estimates["simple"].low is not None


def test_plan_counts_fewer_labels_for_wider_intervals() -> None:
    standings, truth = make_items(1000)
    standings = set_inclusion_probability(standings, 0.1)
    review_items(standings, truth, range(100), random=True)
    goals = [PlannedLabels(half_width, labels=None) for half_width in (5.0, 3.0, 1.0)]
    one = next(estimate_metrics(make_input(standings), EstimationSettings(plan=goals)))
    labels = [goal.labels for goal in one.plan]
    assert (
        None not in labels
        and labels == sorted(labels, key=lambda count: count or 0)
        and labels[0] != labels[-1]
    )
