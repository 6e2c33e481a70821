"""Figures of other answers than pass and fail: an interval only where a sample was asked, and one that holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fcreview.model.metric import Metric, ScoredItem, pass_rate
from fcreview.stats.answer_model import PLACEHOLDER_NAME, AnswerModel, CriterionAnswers, describe_chain_contexts
from fcreview.stats.estimation import (
    UNEVEN_INTERVAL_PERCENTILES,
    EstimationInput,
    MetricEstimate,
    estimate_metrics,
    explain_method,
)
from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.posterior import ItemStatus, count_needed_uniform_reviews

N = 300
SOFT = "soft_score"


def figures(rows: Sequence[ScoredItem]) -> list[Metric]:
    """A pass rate, the mean score, the mean product of two after each other, and something else."""
    scores = np.array([float(row.values[SOFT]) for row in rows])
    products = scores.reshape(-1, 2).prod(axis=1)
    return [
        Metric("f", "rate", pass_rate(rows)),
        Metric("f", "soft", float(scores.mean())),
        Metric("f", "chains", float(products.mean())),
        Metric("f", "steps", 3.0, "score"),
    ]


def scores(seed: int, n: int = N) -> tuple[list[float], list[float]]:
    """(the benchmark's, people's): they differ on an item in five, and then in either direction."""
    generator = np.random.default_rng(seed)
    people = generator.choice([0.0, 0.3, 0.6, 0.9, 1.0], n, p=[0.2, 0.1, 0.1, 0.1, 0.5])
    own = np.where(generator.random(n) < 0.2, generator.permutation(people), people)
    return own.tolist(), people.tolist()


def asked_of(
    people: Sequence[Any], places: Sequence[int], *, random: bool = True, criterion: str = SOFT
) -> CriterionAnswers:
    chosen = set(places)
    flags = [at in chosen for at in range(len(people))]
    settled = [value if flag else None for value, flag in zip(people, flags, strict=True)]
    return CriterionAnswers(criterion, settled, flags, [flag and random for flag in flags], [False] * len(people))


def run_of(
    own: Sequence[float], people: Sequence[float], places: Sequence[int], asked: Sequence[CriterionAnswers] = ()
) -> EstimationInput:
    """Verdicts of the items at these places were confirmed, as those of a random sample."""
    rows = [ScoredItem(f"i{at}", "calls", None, score > 0, values={SOFT: score}) for at, score in enumerate(own)]
    known = {at: people[at] for each in asked for at, flag in enumerate(each.is_reviewed) if flag}
    after = [
        replace(row, values={SOFT: known[at]}, overrides={("item", SOFT): known[at]}) if at in known else row
        for at, row in enumerate(rows)
    ]
    standings = [ItemStatus("calls", row.valid, None, ("",), len(places) / len(rows)) for row in rows]
    for at in places:
        standings[at] = replace(standings[at], human=rows[at].valid, is_random=True, is_sample_reviewed=True)
    return EstimationInput(rows, after, standings, figures, asked)


def found(run: EstimationInput) -> dict[str, MetricEstimate]:
    return {one.name: one for one in estimate_metrics(run, half_width=2.0)}


def sample(many: int, seed: int = 0) -> list[int]:
    chosen: list[int] = np.random.default_rng([9, seed]).choice(N, many, replace=False).tolist()
    return chosen


@pytest.mark.sweep
def test_a_sample_that_was_asked_makes_an_interval_of_scores_and_of_their_products() -> None:
    own, people = scores(1)
    places = sample(80)
    one = found(run_of(own, people, places, [asked_of(people, places)]))
    truth = {
        each.name: each.value for each in figures([ScoredItem("", "", None, None, values={SOFT: v}) for v in people])
    }
    for name in ("soft", "chains"):
        each, value = one[name], truth[name]
        assert each.method == "posterior" and each.n_random == each.n_known == 80 and each.criteria == (SOFT,)
        assert each.low is not None and each.high is not None and value is not None and each.needed
        assert each.low <= value <= each.high and 0.02 < each.high - each.low < 0.25
    assert one["rate"].method == "posterior" and one["rate"].criteria == ()
    assert one["steps"].method == "other verdicts" and one["steps"].low is None


@pytest.mark.sweep
def test_a_sample_that_was_only_asked_whether_items_pass_says_so() -> None:
    own, people = scores(2)
    for each in (found(run_of(own, people, sample(40)))[name] for name in ("soft", "chains")):
        assert each.low is None and each.method == "not asked" and each.corrected == each.automatic
        assert SOFT in explain_method(each.method, each.criteria)
    assert found(run_of(own, people, []))["soft"].method == "known only"


def test_who_says_a_score_only_where_it_is_wrong_makes_no_interval() -> None:
    """What was said of some items of the sample was chosen: those that nobody scored may all be right."""
    own, people = scores(3)
    places = sample(80)
    wrong = [at for at in places if own[at] != people[at]]
    one = found(run_of(own, people, places, [asked_of(people, wrong)]))["soft"]
    assert 0 < len(wrong) < 80 and one.low is None and one.method == "not asked"
    picked = found(run_of(own, people, [], [asked_of(people, wrong, random=False)]))["soft"]
    assert picked.low is None and picked.method == "known only" and picked.n_known == len(wrong)


def test_scores_that_are_all_known_have_no_width() -> None:
    own, people = scores(4)
    one = found(run_of(own, people, [], [asked_of(people, range(N), random=False)]))["soft"]
    assert one.method == "all known" and one.low == one.high == one.corrected == pytest.approx(np.mean(people))


def drawn(own: Sequence[Any], people: Sequence[Any], criterion: str, places: Sequence[int]) -> list[dict[int, Any]]:
    rows = [ScoredItem(f"i{at}", "c", None, True, values={criterion: value}) for at, value in enumerate(own)]
    standings = [ItemStatus("c", True, None, ("",), 0.1) for _ in rows]
    answers = AnswerModel(rows, standings, asked_of(people, places, criterion=criterion))
    assert answers.is_sampled
    return [dict(each) for each in answers.iter_draws(200)]


def test_answers_stay_on_their_scale_and_known_items_are_never_drawn() -> None:
    places = range(0, 100, 4)
    zero_to_two = drawn([0, 1, 2, 2] * 25, [1, 1, 2, 0] * 25, "completeness", places)
    labels = drawn([["agent_other"]] * 100, [["agent_other"], ["agent_reject_request"]] * 50, "dialog_act", range(40))
    names = drawn([["a"], []] * 50, [["a"], ["b", "c"]] * 50, "hallucinated", range(40))
    assert {value for each in zero_to_two for value in each.values()} <= {0, 1, 2}
    assert {at for each in zero_to_two for at in each}.isdisjoint(places)
    assert {label for each in labels for value in each.values() for label in value} > {"agent_reject_request"}
    of_none = {tuple(value) for each in names for at, value in each.items() if at % 2}
    assert {("b", "c")} < of_none <= {("a",), ("b", "c"), (PLACEHOLDER_NAME,)}


def test_where_no_error_was_seen_yet_one_is_drawn_as_people_answer_elsewhere() -> None:
    """A 1 that is wrong is mostly a 0 where people say nothing but 0 and 1; not a half, which moves a mean less."""
    own = [1.0, 0.0] * 300
    values = [value for each in drawn(own, own, SOFT, range(60)) for at, value in each.items() if at % 2 == 0]
    assert np.mean(np.array(values) == 0.0) > 0.9 and any(0 < value < 1 for value in values)


def test_items_are_told_apart_by_what_the_rest_of_their_chain_says() -> None:
    chains = ["one", "two", "two", "three", "three", "three", None]
    own = [0.0, 0.5, 0.0, 1.0, 0.4, 1.0, 1.0]
    rows = [
        ScoredItem(
            f"i{at}", "c", None, True, values={SOFT: value}, metadata={"chain": {"turn": chain}} if chain else {}
        )
        for at, (chain, value) in enumerate(zip(chains, own, strict=True))
    ]
    assert describe_chain_contexts(rows, own) == ["", "others are 0", *["others count"] * 4, ""]
    standings = [ItemStatus("c", True, None, ("",), 0.1) for _ in rows]
    names = AnswerModel(rows, standings, asked_of(own, range(0, 7, 2))).population.cell_keys
    assert {(name.automatic, name.context) for name in names} == {
        ("least", ""), ("high", "others are 0"), ("least", "others count"),
        ("most", "others count"), ("low", "others count"), ("most", ""),
    }  # fmt: skip


def test_other_answers_are_drawn_as_often_as_people_gave_them() -> None:
    """Of answers 1.0 that do not stand people make 0.25 three times as often as 0.75."""
    own, people = [1.0] * 2000, ([1.0] * 4 + [0.25] * 3 + [0.75]) * 250
    draws = drawn(own, people, SOFT, range(1000))
    changed = np.array([len(each) for each in draws])
    means = np.array([np.mean(list(each.values())) for each in draws])
    assert abs(changed.mean() / 1000 - 0.5) < 0.01
    assert abs(means.mean() - 0.375) < 0.01 and 0.002 < means.std() < 0.03


@pytest.mark.parametrize(("variance", "reviewed", "left"), [(0.001, 60, 440), (0.004, 30, 170)])
def test_needed_is_where_the_variance_of_a_mean_over_what_is_left_is_small_enough(
    variance: float, reviewed: int, left: int
) -> None:
    further = count_needed_uniform_reviews(variance, reviewed, left, 0.04)
    assert further is not None and 0 < further <= left
    then = [variance * (reviewed / (reviewed + more)) * ((left - more) / left) for more in (further - 1, further)]
    target = (0.04 / NORMAL_QUANTILE) ** 2
    assert then[0] > target >= then[1]
    assert (
        count_needed_uniform_reviews(target, reviewed, left, 0.04) == 0
        and count_needed_uniform_reviews(1.0, 0, left, 0.04) is None
    )


@pytest.mark.sweep
def test_the_intervals_hold_as_often_as_they_say() -> None:
    held, rounds = np.zeros(2), 60
    for at in range(rounds):
        own, people = map(np.array, scores(at))
        places = sample(60, at)
        run = run_of(own.tolist(), people.tolist(), places)
        answers = AnswerModel(run.automatic_items, run.statuses, asked_of(people.tolist(), places))
        known = own.copy()
        known[places] = people[places]
        made = np.tile(known, (300, 1))
        for row, others in zip(made, answers.iter_draws(300, at), strict=True):
            row[list(others)] = list(others.values())
        for which, value in enumerate((lambda of: of.mean(axis=1), lambda of: (of[:, ::2] * of[:, 1::2]).mean(axis=1))):
            low, high = np.percentile(value(made), UNEVEN_INTERVAL_PERCENTILES)
            held[which] += low <= value(people[np.newaxis])[0] <= high
    assert (held / rounds >= 0.92).all(), held
