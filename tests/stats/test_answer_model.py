"""Metrics of scores and lists have an interval only after a sample was reviewed, with the stated
coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fcreview.model.metric import Metric, ScoredItem, pass_rate
from fcreview.stats.answer_model import (
    PLACEHOLDER_NAME,
    AnswerModel,
    CriterionAnswers,
    describe_chain_contexts,
)
from fcreview.stats.estimation import (
    UNEVEN_INTERVAL_PERCENTILES,
    EstimationInput,
    MetricEstimate,
    estimate_metrics,
    explain_missing_interval,
)
from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.posterior import ItemStatus, count_needed_uniform_reviews

N = 300
SOFT = "soft_score"


def compute_metrics(rows: Sequence[ScoredItem]) -> list[Metric]:
    """Return a pass rate, the mean score, the mean product of pairs of scores, and an unrelated
    metric.
    """
    scores = np.array([float(row.values[SOFT]) for row in rows])
    products = scores.reshape(-1, 2).prod(axis=1)
    return [
        Metric("f", "rate", value=pass_rate(rows)),
        Metric("f", "soft", value=float(scores.mean())),
        Metric("f", "chains", value=float(products.mean())),
        Metric("f", "steps", value=3.0, unit="score"),
    ]


def make_scores(seed: int, n: int = N) -> tuple[list[float], list[float]]:
    """Return benchmark and human scores, which differ for up to a fifth of the items, in both
    directions.
    """
    generator = np.random.default_rng(seed)
    people = generator.choice([0.0, 0.3, 0.6, 0.9, 1.0], n, p=[0.2, 0.1, 0.1, 0.1, 0.5])
    own = np.where(generator.random(n) < 0.2, generator.permutation(people), people)
    return own.tolist(), people.tolist()


def make_answers(
    people: Sequence[Any], places: Sequence[int], *, random: bool = True, criterion: str = SOFT
) -> CriterionAnswers:
    chosen = set(places)
    flags = [at in chosen for at in range(len(people))]
    settled = [value if flag else None for value, flag in zip(people, flags, strict=True)]
    return CriterionAnswers(criterion, settled, flags, [flag and random for flag in flags])


def make_input(
    own: Sequence[float],
    people: Sequence[float],
    places: Sequence[int],
    answers: Sequence[CriterionAnswers] = (),
) -> EstimationInput:
    """Return the input where the verdicts of a random sample, at these places, are confirmed."""
    rows = [
        ScoredItem(f"i{at}", "calls", None, score > 0, values={SOFT: score})
        for at, score in enumerate(own)
    ]
    known = {at: people[at] for each in answers for at, flag in enumerate(each.is_reviewed) if flag}
    after = [
        replace(row, values={SOFT: known[at]}, overrides={("item", SOFT): known[at]})
        if at in known
        else row
        for at, row in enumerate(rows)
    ]
    standings = [
        ItemStatus("calls", row.valid, None, ("",), len(places) / len(rows)) for row in rows
    ]
    for at in places:
        standings[at] = replace(
            standings[at], human=rows[at].valid, has_sample_verdict=True, is_sample_reviewed=True
        )
    return EstimationInput(rows, after, standings, compute_metrics, answers)


def estimate(run: EstimationInput) -> dict[str, MetricEstimate]:
    return {one.name: one for one in estimate_metrics(run)}


def draw_sample(many: int, seed: int = 0) -> list[int]:
    chosen: list[int] = np.random.default_rng([9, seed]).choice(N, many, replace=False).tolist()
    return chosen


@pytest.mark.sweep
def test_reviewed_scores_give_intervals_for_scores_and_products() -> None:
    own, people = make_scores(1)
    places = draw_sample(80)
    one = estimate(make_input(own, people, places, [make_answers(people, places)]))
    truth = {
        each.name: each.value
        for each in compute_metrics(
            [ScoredItem("", "", None, None, values={SOFT: v}) for v in people]
        )
    }
    for name in ("soft", "chains"):
        each, value = one[name], truth[name]
        assert (
            each.method == "posterior"
            and each.n_random == each.n_known == 80
            and each.criteria == (SOFT,)
        )
        assert each.low is not None and each.high is not None and value is not None and each.needed
        assert each.low <= value <= each.high and 0.02 < each.high - each.low < 0.25
    assert one["rate"].method == "posterior" and one["rate"].criteria == ()
    assert one["steps"].method == "other verdicts" and one["steps"].low is None


@pytest.mark.sweep
def test_reviews_of_verdicts_only_give_no_interval_for_scores() -> None:
    own, people = make_scores(2)
    for each in (
        estimate(make_input(own, people, draw_sample(40)))[name] for name in ("soft", "chains")
    ):
        assert each.low is None and each.method == "not asked" and each.corrected == each.automatic
        assert SOFT in explain_missing_interval(each.method, each.criteria)
    assert estimate(make_input(own, people, []))["soft"].method == "known only"


def test_reviews_of_wrong_scores_only_give_no_interval() -> None:
    """The reviewed items were selected by their error, so the other items may all be right."""
    own, people = make_scores(3)
    places = draw_sample(80)
    wrong = [at for at in places if own[at] != people[at]]
    one = estimate(make_input(own, people, places, [make_answers(people, wrong)]))["soft"]
    assert 0 < len(wrong) < 80 and one.low is None and one.method == "not asked"
    picked = estimate(make_input(own, people, [], [make_answers(people, wrong, random=False)]))[
        "soft"
    ]
    assert picked.low is None and picked.method == "known only" and picked.n_known == len(wrong)


def test_fully_reviewed_scores_have_zero_width_interval() -> None:
    own, people = make_scores(4)
    one = estimate(make_input(own, people, [], [make_answers(people, range(N), random=False)]))[
        "soft"
    ]
    assert one.method == "all known" and one.low == one.high == one.corrected == pytest.approx(
        np.mean(people)
    )


def draw_answers(
    own: Sequence[Any], people: Sequence[Any], criterion: str, places: Sequence[int]
) -> list[dict[int, Any]]:
    rows = [
        ScoredItem(f"i{at}", "c", None, True, values={criterion: value})
        for at, value in enumerate(own)
    ]
    standings = [ItemStatus("c", True, None, ("",), 0.1) for _ in rows]
    answers = AnswerModel(rows, standings, make_answers(people, places, criterion=criterion))
    assert answers.is_sampled
    return [dict(each) for each in answers.draw_right_answers(200)]


def test_draws_stay_on_their_scale_and_exclude_reviewed_items() -> None:
    places = range(0, 100, 4)
    zero_to_two = draw_answers([0, 1, 2, 2] * 25, [1, 1, 2, 0] * 25, "completeness", places)
    labels = draw_answers(
        [["agent_other"]] * 100,
        [["agent_other"], ["agent_reject_request"]] * 50,
        "dialog_act",
        range(40),
    )
    names = draw_answers([["a"], []] * 50, [["a"], ["b", "c"]] * 50, "hallucinated", range(40))
    assert {value for each in zero_to_two for value in each.values()} <= {0, 1, 2}
    assert {at for each in zero_to_two for at in each}.isdisjoint(places)
    assert {label for each in labels for value in each.values() for label in value} > {
        "agent_reject_request"
    }
    of_none = {tuple(value) for each in names for at, value in each.items() if at % 2}
    assert {("b", "c")} < of_none <= {("a",), ("b", "c"), (PLACEHOLDER_NAME,)}


def test_unseen_errors_are_drawn_from_common_answers() -> None:
    """If all reviews are 0 or 1, a wrong 1 is mostly drawn as 0, which changes a mean more than
    0.5 would.
    """
    own = [1.0, 0.0] * 300
    values = [
        value
        for each in draw_answers(own, own, SOFT, range(60))
        for at, value in each.items()
        if at % 2 == 0
    ]
    assert np.mean(np.array(values) == 0.0) > 0.9 and any(0 < value < 1 for value in values)


def test_cells_depend_on_other_items_of_the_chain() -> None:
    chains = ["one", "two", "two", "three", "three", "three", None]
    own = [0.0, 0.5, 0.0, 1.0, 0.4, 1.0, 1.0]
    rows = [
        ScoredItem(
            f"i{at}",
            "c",
            None,
            True,
            values={SOFT: value},
            metadata={"chain": {"turn": chain}} if chain else {},
        )
        for at, (chain, value) in enumerate(zip(chains, own, strict=True))
    ]
    assert describe_chain_contexts(rows, own) == [
        "",
        "another answer is 0",
        *["no other answer is 0"] * 4,
        "",
    ]
    standings = [ItemStatus("c", True, None, ("",), 0.1) for _ in rows]
    names = AnswerModel(rows, standings, make_answers(own, range(0, 7, 2))).population.cell_keys
    assert {(name.automatic, name.context) for name in names} == {
        ("least", ""),
        ("high", "another answer is 0"),
        ("least", "no other answer is 0"),
        ("most", "no other answer is 0"),
        ("low", "no other answer is 0"),
        ("most", ""),
    }


def test_answers_are_drawn_as_often_as_reviewed() -> None:
    """Annotators change 1.0 to 0.25 three times as often as to 0.75."""
    own, people = [1.0] * 2000, ([1.0] * 4 + [0.25] * 3 + [0.75]) * 250
    draws = draw_answers(own, people, SOFT, range(1000))
    changed = np.array([len(each) for each in draws])
    means = np.array([np.mean(list(each.values())) for each in draws])
    assert abs(changed.mean() / 1000 - 0.5) < 0.01
    assert abs(means.mean() - 0.375) < 0.01 and 0.002 < means.std() < 0.03


@pytest.mark.parametrize(("variance", "reviewed", "left"), [(0.001, 60, 440), (0.004, 30, 170)])
def test_needed_reviews_reach_the_target_variance(
    variance: float, reviewed: int, left: int
) -> None:
    further = count_needed_uniform_reviews(variance, reviewed, left, 0.04)
    assert further is not None and 0 < further <= left
    then = [
        variance * (reviewed / (reviewed + more)) * ((left - more) / left)
        for more in (further - 1, further)
    ]
    target = (0.04 / NORMAL_QUANTILE) ** 2
    assert then[0] > target >= then[1]
    assert (
        count_needed_uniform_reviews(target, reviewed, left, 0.04) == 0
        and count_needed_uniform_reviews(1.0, 0, left, 0.04) is None
    )


@pytest.mark.sweep
def test_intervals_have_the_stated_coverage() -> None:
    hits, rounds = np.zeros(2), 60
    for at in range(rounds):
        own, people = map(np.array, make_scores(at))
        places = draw_sample(60, at)
        run = make_input(own.tolist(), people.tolist(), places)
        answers = AnswerModel(
            run.automatic_items, run.statuses, make_answers(people.tolist(), places)
        )
        known = own.copy()
        known[places] = people[places]
        draws = np.tile(known, (300, 1))
        for row, others in zip(draws, answers.draw_right_answers(300, at), strict=True):
            row[list(others)] = list(others.values())
        for which, value in enumerate(
            (
                lambda draw: draw.mean(axis=1),
                lambda draw: (draw[:, ::2] * draw[:, 1::2]).mean(axis=1),
            )
        ):
            low, high = np.percentile(value(draws), UNEVEN_INTERVAL_PERCENTILES)
            hits[which] += low <= value(people[np.newaxis])[0] <= high
    assert (hits / rounds >= 0.92).all(), hits
