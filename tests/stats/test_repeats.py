"""Figures of repeated runs equal independent programs."""

from __future__ import annotations

import random
from itertools import combinations
from statistics import mean, stdev

import numpy as np
import pytest

from fcreview.stats.repeats import (
    GroupSummary,
    RunGroup,
    compute_pass_at_k,
    compute_pass_hat_k,
    summarize_groups,
)
from fcreview.stats.run_comparison import ItemOutcome, align_runs, compare_runs
from tests.oracles import student_quantile
from tests.stats.comparison_cases import make_outcome, make_outcomes, make_trials


def summarize(*groups: list[list[ItemOutcome]]) -> list[GroupSummary]:
    """Summarize groups of runs, in the order of the groups."""
    runs = [run for group in groups for run in group]
    run_groups = []
    start = 0
    for number, group in enumerate(groups):
        run_groups.append(RunGroup(f"group {number}", range(start, start + len(group))))
        start += len(group)
    summaries = summarize_groups(align_runs(runs).items, run_groups)
    return sorted(summaries, key=lambda summary: summary.group.name)


def draw_runs(n_runs: int, n_questions: int, seed: int, rate: float = 0.6) -> list[str]:
    generator = random.Random(seed)
    chances = [generator.betavariate(2 * rate, 2 * (1 - rate)) for _ in range(n_questions)]
    return [
        "".join("P" if generator.random() < chance else "F" for chance in chances)
        for _ in range(n_runs)
    ]


@pytest.mark.parametrize("passes", [(True, False, True, True), (False,) * 4, (True,) * 5])
def test_pass_figures_are_shares_of_all_choices_of_k_trials(passes: tuple[bool, ...]) -> None:
    for k in range(1, len(passes) + 1):
        choices = list(combinations(passes, k))
        all_pass = sum(all(choice) for choice in choices) / len(choices)
        any_passes = sum(any(choice) for choice in choices) / len(choices)
        n_passed, n_trials = sum(passes), len(passes)
        assert float(compute_pass_hat_k(n_passed, n_trials, k)) == pytest.approx(all_pass)
        assert float(compute_pass_at_k(n_passed, n_trials, k)) == pytest.approx(any_passes)


def test_mean_spread_and_unstable_questions() -> None:
    (summary,) = summarize([make_outcomes("PPFF"), make_outcomes("PFFF"), make_outcomes("PFFF")])
    assert summary.run_values == [0.5, 0.25, 0.25]
    assert summary.mean is not None and summary.mean.value == pytest.approx(1 / 3)
    assert summary.spread == pytest.approx(stdev([0.5, 0.25, 0.25]))
    assert (summary.n_questions, summary.n_unstable, summary.n_left_out) == (4, 1, 0)
    values = {figure.name: figure.value for figure in summary.figures}
    assert values["pass^3"] == 0.25 and values["pass@3"] == 0.5
    assert values["pass^2"] == 0.25 and values["pass@2"] == pytest.approx((1 + 2 / 3) / 4)


def test_intervals_equal_a_program_with_arrays() -> None:
    """Wilson's interval with the number of items that have the clustered variance."""
    letters = draw_runs(n_runs=4, n_questions=90, seed=3)
    (summary,) = summarize([make_outcomes(run) for run in letters])
    assert summary.mean is not None
    means = np.array([[letter == "P" for letter in run] for run in letters]).mean(axis=0)
    value = means.mean()
    squares = ((means - value) ** 2).sum() + value * (1 - value)
    variance = squares / (len(means) - 1) / len(means)
    z = student_quantile(0.975, len(means) - 1)
    # Wilson's interval solves (p - value)^2 = z^2 p (1 - p) / n.
    n = value * (1 - value) / variance
    roots = np.roots([1 + z**2 / n, -2 * value - z**2 / n, value**2])
    assert summary.mean.low == pytest.approx(min(roots), abs=2e-4)
    assert summary.mean.high == pytest.approx(max(roots), abs=2e-4)


def test_rare_answers_near_all_passes_count_each_question_as_one_item() -> None:
    """One of 100 questions lacks a third of the points of pass@2, so its variance says little."""
    stable = "P" * 99
    (summary,) = summarize([make_outcomes(stable + last) for last in "PFF"])
    (pass_at_2,) = [figure for figure in summary.figures if figure.name == "pass@2"]

    value = (99 + 2 / 3) / 100
    z = student_quantile(0.975, 99)
    roots = np.roots([1 + z**2 / 100, -2 * value - z**2 / 100, value**2])
    assert pass_at_2.value == pytest.approx(value)
    assert pass_at_2.low == pytest.approx(min(roots), abs=2e-4)
    assert pass_at_2.high == pytest.approx(max(roots), abs=2e-4)


def test_the_interval_covers_the_chance_of_questions_and_answers() -> None:
    n_covered = 0
    n_draws = 150
    for seed in range(n_draws):
        letters = draw_runs(n_runs=3, n_questions=60, seed=seed, rate=0.7)
        (summary,) = summarize([make_outcomes(run) for run in letters])
        assert summary.mean is not None and summary.mean.low is not None
        assert summary.mean.high is not None
        n_covered += summary.mean.low <= 0.7 <= summary.mean.high
    assert n_covered >= 0.9 * n_draws


def test_items_of_a_conversation_are_one_cluster() -> None:
    """Equal answers in a conversation are no independent evidence."""
    conversations = draw_runs(n_runs=1, n_questions=40, seed=1)[0]
    grouped = []
    single = []
    for number, letter in enumerate(conversations):
        for turn in range(5):
            name = f"{number}-{turn}"
            grouped.append(make_outcome(name, letter == "P", group=str(number)))
            single.append(make_outcome(name, letter == "P"))
    (by_cluster,) = summarize([grouped])
    (by_item,) = summarize([single])
    assert by_cluster.mean is not None and by_item.mean is not None
    assert (by_cluster.n_clusters, by_item.n_clusters) == (40, 200)
    assert by_cluster.mean.low is not None and by_item.mean.low is not None
    widths = [by_cluster.mean.value - by_cluster.mean.low, by_item.mean.value - by_item.mean.low]
    assert 1.9 * widths[1] < widths[0] < 2.5 * widths[1]


def test_own_trials_of_runs_count_as_trials() -> None:
    (summary,) = summarize([make_trials(["PF", "PP"]), make_trials(["PP", "FP"])])
    assert (summary.n_questions, summary.n_unstable) == (2, 2)
    values = {figure.name: figure.value for figure in summary.figures}
    assert values["mean"] == 0.75 and values["pass^4"] == 0 and values["pass@4"] == 1
    assert values["pass^2"] == 0.5


def test_groups_of_one_run_are_compared_like_two_runs() -> None:
    first, second = (make_outcomes(run) for run in draw_runs(2, n_questions=80, seed=4))
    summaries = summarize([first], [second])
    means = [summary.mean.value for summary in summaries if summary.mean is not None]
    best = int(means[1] > means[0])
    worse = summaries[1 - best]
    assert worse.versus_best is not None and summaries[best].versus_best is None
    difference = worse.versus_best.difference

    runs = [first, second] if best == 1 else [second, first]
    expected = compare_runs(runs[0], runs[1]).overall.difference
    assert difference.value == pytest.approx(expected.value)
    assert difference.p == pytest.approx(expected.p)
    assert difference.low == pytest.approx(expected.low)
    assert worse.versus_best.p_holm == difference.p


def test_more_runs_narrow_the_difference() -> None:
    letters = draw_runs(n_runs=10, n_questions=120, seed=8)
    outcomes = [make_outcomes(run) for run in letters]

    def measure_width(n_runs: int) -> float:
        summaries = summarize(outcomes[:n_runs], outcomes[5 : 5 + n_runs])
        (versus,) = (each.versus_best for each in summaries if each.versus_best is not None)
        assert versus.difference.low is not None and versus.difference.high is not None
        return versus.difference.high - versus.difference.low

    assert measure_width(5) < 0.6 * measure_width(1)


def test_questions_without_a_verdict_in_every_run_are_left_out() -> None:
    (summary,) = summarize([make_outcomes("PP.F"), make_outcomes("P.FF")])
    assert (summary.n_questions, summary.n_left_out) == (2, 2)
    assert summary.run_values == [0.5, 0.5]
    (nothing,) = summarize([make_outcomes("P."), make_outcomes(".P")])
    assert (nothing.mean, nothing.n_questions, nothing.spread) == (None, 0, None)


def test_groups_without_a_common_question_are_not_compared() -> None:
    other = [make_outcome("x", True), make_outcome("y", False)]
    summaries = summarize([make_outcomes("PPP")], [other])
    assert all(summary.versus_best is None for summary in summaries)
    assert mean(summaries[1].run_values) == 0.5


def test_p_values_are_corrected_for_the_number_of_groups() -> None:
    groups = [[make_outcomes(run)] for run in ("P" * 30, "P" * 24 + "F" * 6, "P" * 20 + "F" * 10)]
    best, second, third = summarize(*groups)
    assert best.versus_best is None
    assert second.versus_best is not None and third.versus_best is not None
    p_second, p_third = second.versus_best.difference.p, third.versus_best.difference.p
    assert p_second is not None and p_third is not None and p_third < p_second
    assert third.versus_best.p_holm == pytest.approx(2 * p_third)
    assert second.versus_best.p_holm == pytest.approx(max(p_second, 2 * p_third))
