"""Estimates divide items by how many automatic sources pass them, if that narrows the interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.coverage.judges import (
    compute_plain_variance,
    make_settings,
    measure,
    read_panel,
)
from fcreview.model.metric import Metric, ScoredItem, build_pass_rate_metric
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.estimation import (
    EstimationInput,
    EstimationSettings,
    PlannedLabels,
    estimate_metrics,
    estimate_pass_rate,
)
from fcreview.stats.posterior import ItemStatus
from fcreview.stats.source_strata import (
    MAX_SOURCES,
    MIN_REVIEWS,
    JudgeRequests,
    SourceStrata,
    SourceVerdicts,
    choose_planned_sources,
    choose_source_strata,
    order_by_consensus,
    predict_pass_rate,
    remove_source_strata,
)
from tests.oracles import betabinom_pmf

N_ITEMS = 400
N_REVIEWED = 100
Verdicts = NDArray[np.bool_]


def make_truth(seed: int = 0) -> Verdicts:
    return np.random.default_rng(seed).random(N_ITEMS) < 0.6


def make_judge(name: str, truth: Verdicts, right: float, seed: int) -> SourceVerdicts:
    """Return a judge that is right with this probability, independently of other judges."""
    is_right = np.random.default_rng(seed).random(len(truth)) < right
    return make_source(name, np.where(is_right, truth, ~truth))


def make_source(name: str, verdicts: Verdicts) -> SourceVerdicts:
    return SourceVerdicts(name, [bool(verdict) for verdict in verdicts])


def make_judges(truth: Verdicts, right: float = 0.85, n_judges: int = 3) -> list[SourceVerdicts]:
    return [make_judge(f"judge {n}", truth, right, seed=10 + n) for n in range(n_judges)]


def make_random_judges(n_judges: int = 3) -> list[SourceVerdicts]:
    generator = np.random.default_rng(77)
    return [make_source(f"random {n}", generator.random(N_ITEMS) < 0.5) for n in range(n_judges)]


def make_statuses(
    automatic: SourceVerdicts, truth: Verdicts, n_reviewed: int = N_REVIEWED, seed: int = 5
) -> list[ItemStatus]:
    """Return the items of a run of which a simple random sample is reviewed."""
    drawn = np.random.default_rng(seed).choice(len(truth), n_reviewed, replace=False)
    statuses = [
        ItemStatus("all", verdict, stratum=("",), inclusion_probability=n_reviewed / len(truth))
        for verdict in automatic.verdicts
    ]
    for position in drawn.tolist():
        statuses[position] = replace(
            statuses[position],
            human=bool(truth[position]),
            has_sample_verdict=True,
            sample_outcome="decided",
        )
    return statuses


def measure_half_width(statuses: Sequence[ItemStatus]) -> float:
    estimate = estimate_pass_rate(statuses, half_width=0.02)
    assert estimate is not None
    return (estimate.high - estimate.low) / 2


def test_good_judges_divide_the_items_and_narrow_the_interval() -> None:
    truth = make_truth()
    judges = make_judges(truth)
    statuses = make_statuses(judges[0], truth)
    strata = choose_source_strata(statuses, judges)
    assert strata.used_names == ["judge 0", "judge 1", "judge 2"]
    assert [stratum.name for stratum in strata.strata] == [
        f"{count} of 3 pass" for count in range(4)
    ]
    assert sum(stratum.n_items for stratum in strata.strata) == N_ITEMS
    assert sum(stratum.n_reviewed for stratum in strata.strata) == N_REVIEWED

    counts = sum(judge.passes.astype(int) for judge in judges)
    assert list(strata.names) == [f"{count} of 3 pass" for count in counts]
    narrower = measure_half_width(strata.add_to_statuses(statuses))
    assert narrower < 0.85 * measure_half_width(statuses)


def test_estimate_equals_poststratified_posterior_computed_with_scipy() -> None:
    """The number of passes of a stratum is beta-binomial; the sum over strata is the convolution of
    their distributions. Only scipy and numpy compute it here.
    """
    truth = make_truth()
    judges = make_judges(truth)
    statuses = make_statuses(judges[0], truth)
    strata = choose_source_strata(statuses, judges)
    estimate = estimate_pass_rate(strata.add_to_statuses(statuses), half_width=0.02)
    assert estimate is not None

    counts = np.array([judge.verdicts for judge in judges]).sum(axis=0)
    reviewed = np.array([status.human is not None for status in statuses])
    distribution = np.ones(1)
    n_passed = 0
    for count in range(4):
        of_stratum = counts == count
        n = int((of_stratum & reviewed).sum())
        k = int((of_stratum & reviewed & truth).sum())
        others = int(of_stratum.sum()) - n
        n_passed += k
        passes = betabinom_pmf(np.arange(others + 1), others, k + 0.5, n - k + 0.5)
        distribution = np.convolve(distribution, passes)

    values = (n_passed + np.arange(len(distribution))) / N_ITEMS
    mean = float(values @ distribution)
    deviation = sqrt(float((values - mean) ** 2 @ distribution))
    cumulated = distribution.cumsum()
    low = values[np.searchsorted(cumulated, 0.02)]
    high = values[np.searchsorted(cumulated, 0.98)]
    # 1,000 draws have an error of a few hundredths of the deviation.
    assert estimate.estimated == pytest.approx(mean, abs=0.12 * deviation)
    assert estimate.low == pytest.approx(low, abs=0.25 * deviation)
    assert estimate.high == pytest.approx(high, abs=0.25 * deviation)


def compute_accuracy(items: Sequence[ScoredItem]) -> list[Metric]:
    return [build_pass_rate_metric("accuracy", "accuracy", items)]


def make_input(statuses: list[ItemStatus]) -> EstimationInput:
    automatic = []
    reviewed = []
    for number, status in enumerate(statuses):
        item = ScoredItem(str(number), "all", group=None, valid=status.automatic is True)
        automatic.append(item)
        if status.human is not None:
            item = replace(item, valid=status.human, overrides={ITEM_CORRECT: status.human})
        reviewed.append(item)
    return EstimationInput(automatic, reviewed, statuses, compute_accuracy)


def test_score_method_equals_textbook_poststratification() -> None:
    """The estimate is sum of N_h k_h / n_h over N, and its variance is the sum of
    (N_h / N)^2 (1 - n_h / N_h) p_h (1 - p_h) / n_h (Lohr, Sampling, section 4.4).
    """
    truth = make_truth()
    judges = make_judges(truth, right=0.75)
    statuses = make_statuses(judges[0], truth, n_reviewed=200)
    strata = choose_source_strata(statuses, judges)
    run = make_input(strata.add_to_statuses(statuses))
    (estimate,) = estimate_metrics(run, EstimationSettings(interval_method="score"))
    assert estimate.low is not None and estimate.high is not None

    counts = np.array([judge.verdicts for judge in judges]).sum(axis=0)
    reviewed = np.array([status.human is not None for status in statuses])
    value = 0.0
    variance = 0.0
    for count in range(4):
        members = counts == count
        labels = truth[members & reviewed]
        weight = members.mean()
        value += weight * labels.mean()
        unsampled = 1 - len(labels) / members.sum()
        variance += weight**2 * unsampled * labels.var() / len(labels)
    assert estimate.estimated == pytest.approx(value, abs=1e-9)
    # Wilson's limits and those of the normal distribution nearly agree with 200 labels.
    assert (estimate.high - estimate.low) / 2 == pytest.approx(1.96 * sqrt(variance), rel=0.05)


def test_random_judges_are_not_used_and_change_nothing() -> None:
    truth = make_truth()
    official = make_judge("official", truth, 0.9, seed=1)
    for seed in range(10):
        statuses = make_statuses(official, truth, seed=seed)
        strata = choose_source_strata(statuses, [official, *make_random_judges()])
        assert not strata.names
        assert strata.used_names == []
        assert strata.add_to_statuses(statuses) == statuses


def test_intervals_are_never_much_wider_with_useless_judges_only() -> None:
    """Without an official verdict, the automatic verdict is random too."""
    truth = make_truth()
    judges = make_random_judges(20)
    for seed in range(10):
        statuses = make_statuses(judges[0], truth, seed=seed)
        strata = choose_source_strata(statuses, judges)
        half_width = measure_half_width(strata.add_to_statuses(statuses))
        assert half_width <= 1.02 * measure_half_width(statuses)


def test_each_source_that_is_not_used_has_its_reason() -> None:
    truth = make_truth()
    good = make_judges(truth, n_judges=MAX_SOURCES + 1)
    copy = make_source("copy", good[0].passes)
    rare = SourceVerdicts("rare", [True, False] + [None] * (N_ITEMS - 2))
    lenient = SourceVerdicts("lenient", [True] * N_ITEMS)
    (random_judge,) = make_random_judges(1)
    sources = [*good, copy, rare, lenient, random_judge]
    strata = choose_source_strata(make_statuses(good[0], truth), sources)

    reasons = {use.name: use.why for use in strata.uses if not use.is_used}
    assert len(strata.used_names) == MAX_SOURCES
    assert "equals judge 0 on 100.0 %" in reasons["copy"]
    assert "only 2 of 400 items" in reasons["rare"]
    assert reasons["lenient"] == "It passes all items."
    assert "no clear association" in reasons["random 0"]
    (fourth,) = set(reasons) - {"copy", "rare", "lenient", "random 0"}
    assert "agree more with the rest" in reasons[fourth]


def test_few_reviews_and_whole_groups_use_no_source() -> None:
    truth = make_truth()
    judges = make_judges(truth)
    few = choose_source_strata(make_statuses(judges[0], truth, MIN_REVIEWS - 1), judges)
    assert not few.names and f"it has {MIN_REVIEWS - 1}" in few.why

    statuses = [replace(status, cluster="task") for status in make_statuses(judges[0], truth)]
    groups = choose_source_strata(statuses, judges)
    assert not groups.names and "whole groups" in groups.why
    assert choose_source_strata(statuses, judges[:1]).uses == ()


def test_sources_of_the_design_are_used_with_few_reviews() -> None:
    truth = make_truth()
    judges = [*make_judges(truth), *make_random_judges(1)]
    statuses = make_statuses(judges[0], truth, n_reviewed=12)
    strata = choose_source_strata(statuses, judges, design_sources=["judge 1", "random 0"])
    assert strata.used_names == ["judge 1", "random 0"]
    assert strata.names
    assert "other sources" in strata.uses[0].why


def test_strata_with_few_reviews_join_their_neighbours() -> None:
    truth = make_truth()
    judges = make_judges(truth, right=0.97)
    statuses = make_statuses(judges[0], truth)
    strata = choose_source_strata(statuses, judges, design_sources=[j.name for j in judges])
    assert all(stratum.n_reviewed >= 5 for stratum in strata.strata)
    assert len(strata.strata) < 4
    assert set(strata.names) == {stratum.name for stratum in strata.strata}


def test_choice_does_not_depend_on_verdicts_outside_the_sample() -> None:
    """Confirming automatic verdicts beside the sample changes neither sources nor strata."""
    truth = make_truth()
    judges = make_judges(truth)
    statuses = make_statuses(judges[0], truth)
    confirmed = [
        status if status.human is not None else replace(status, human=status.automatic is True)
        for status in statuses
    ]
    assert choose_source_strata(confirmed, judges) == choose_source_strata(statuses, judges)


def test_consensus_orders_sources_without_labels() -> None:
    truth = make_truth()
    (random_judge,) = make_random_judges(1)
    good = make_judges(truth, right=0.9)
    assert order_by_consensus([random_judge, *good])[-1] is random_judge
    assert random_judge not in choose_planned_sources([random_judge, *good])


def test_predicted_rates_are_symmetric_and_never_certain() -> None:
    assert [predict_pass_rate(count, 3) for count in range(4)] == [0.125, 0.375, 0.625, 0.875]


def test_plan_compares_labels_with_and_without_judges() -> None:
    truth = make_truth()
    judges = make_judges(truth)
    statuses = make_statuses(judges[0], truth, n_reviewed=60)
    strata = choose_source_strata(statuses, judges)
    goals = [PlannedLabels(width, labels=None) for width in (5.0, 3.0)]
    settings = EstimationSettings(plan=goals)
    (estimate,) = estimate_metrics(make_input(strata.add_to_statuses(statuses)), settings)
    (without,) = estimate_metrics(make_input(remove_source_strata(statuses)), settings)
    assert [goal.labels for goal in estimate.plan] == [goal.labels for goal in without.plan]
    assert all(goal.with_judges is None for goal in without.plan)
    for goal in estimate.plan:
        assert goal.labels is not None and goal.with_judges is not None
        assert goal.with_judges < goal.labels


@pytest.mark.bench
@pytest.mark.slow
def test_three_judges_halve_the_variance_on_published_verdicts(bench: Path) -> None:
    """500 trajectories with a person and 20 judges. benchmarks/coverage/judges.py measures 1,000
    samples.
    """
    panel = read_panel(bench)
    setting = make_settings(panel)[0]
    results = [measure(setting, panel.truth, size=100, seed=seed) for seed in range(150)]
    errors = np.array([each.error for each in results])
    ratio = float((errors**2).mean()) / compute_plain_variance(panel.truth, 100)
    assert ratio <= 0.55
    assert 0.92 <= np.mean([each.covers for each in results]) <= 0.99


def make_own_judge(
    source: SourceVerdicts, missing: Sequence[int] = (), examples: Sequence[int] = ()
) -> SourceVerdicts:
    """Return a judge of `fcreview judge` that was not asked about some items."""
    verdicts = list(source.verdicts)
    for position in (*missing, *examples):
        verdicts[position] = None
    requests = JudgeRequests(
        is_missing=[position in missing for position in range(len(verdicts))],
        is_example=[position in examples for position in range(len(verdicts))],
    )
    return SourceVerdicts("own", verdicts, requests)


def find_reason(strata: SourceStrata, name: str) -> str:
    (use,) = (use for use in strata.uses if use.name == name)
    return use.why


def test_judge_that_was_not_asked_about_all_represented_items_is_not_used() -> None:
    """If the judge was asked about sampled items only, items without a verdict are no sample."""
    truth = make_truth()
    official = make_judge("official", truth, right=0.7, seed=1)
    good_judge = make_judge("good", truth, right=0.95, seed=2)
    statuses = make_statuses(official, truth)

    complete = choose_source_strata(statuses, [official, make_own_judge(good_judge)])
    assert "own" in complete.used_names

    gaps = make_own_judge(good_judge, missing=(3, 4))
    incomplete = choose_source_strata(statuses, [official, gaps])
    assert find_reason(incomplete, "own").startswith("It was not asked about 2 items.")
    assert choose_planned_sources([official, gaps]) == [official]

    # A failed request says nothing about the choice of items, so it counts as no pass.
    failed = replace(gaps, requests=make_own_judge(good_judge).requests)
    assert "own" in choose_source_strata(statuses, [official, failed]).used_names


def test_example_of_a_judge_excludes_it_only_if_the_sample_represents_the_example() -> None:
    truth = make_truth()
    official = make_judge("official", truth, right=0.7, seed=1)
    judge = make_own_judge(make_judge("good", truth, right=0.95, seed=2), examples=(0, 1))
    statuses = make_statuses(official, truth)
    sampled = choose_source_strata(statuses, [official, judge])
    assert find_reason(sampled, "own") == (
        "Its prompt shows 2 items of the sampled population as examples."
    )
    assert judge in choose_planned_sources([official, judge])

    for position in (0, 1):
        statuses[position] = replace(
            statuses[position],
            human=bool(truth[position]),
            is_known_before_sample=True,
            has_sample_verdict=False,
        )
    assert "own" in choose_source_strata(statuses, [official, judge]).used_names


def test_examples_that_a_sample_provides_would_bias_the_estimate() -> None:
    """The reason for the rule: with 20 right and 20 wrong answers of the sample as examples, the
    reviewed items of each stratum pass too often.
    """
    truth = make_truth()
    official = make_judge("official", truth, right=0.7, seed=1)
    good_judge = make_judge("good", truth, right=0.95, seed=2)
    statuses = make_statuses(official, truth)
    reviewed = [at for at, status in enumerate(statuses) if status.human is not None]
    passing = [at for at in reviewed if truth[at]][:20]
    failing = [at for at in reviewed if not truth[at]][:20]
    judge = make_own_judge(good_judge, examples=(*passing, *failing))
    with_rule = choose_source_strata(statuses, [official, judge])
    assert "own" not in with_rule.used_names

    without_rule = choose_source_strata(statuses, [official, replace(judge, requests=None)])
    assert "own" in without_rule.used_names
    biased = estimate_pass_rate(without_rule.add_to_statuses(statuses), half_width=0.02)
    sound = estimate_pass_rate(with_rule.add_to_statuses(statuses), half_width=0.02)
    assert biased is not None and sound is not None
    share = float(truth.mean())
    assert abs(biased.estimated - share) > 2 * abs(sound.estimated - share)


@pytest.mark.parametrize("verdicts", ["all pass", "like official"])
def test_reason_against_an_own_judge_tells_no_verdict(verdicts: str) -> None:
    truth = make_truth()
    official = make_judge("official", truth, right=0.7, seed=1)
    source = official if verdicts == "like official" else make_source("x", truth | True)
    own = make_own_judge(source)
    statuses = make_statuses(official, truth)
    reason = find_reason(choose_source_strata(statuses, [official, own]), "own")
    assert reason == "It tells the items hardly apart, or not better than another source."


def test_own_judge_is_not_used_if_the_strata_would_tell_its_verdicts() -> None:
    truth = make_truth()
    official = make_judge("official", truth, right=0.7, seed=1)
    own = make_own_judge(make_judge("good", truth, right=0.95, seed=2))
    statuses = make_statuses(official, truth, n_reviewed=N_ITEMS - 6)
    strata = choose_source_strata(statuses, [official, own])
    assert "own" not in strata.used_names
    assert find_reason(strata, "own").startswith("Too few items are without a review")
