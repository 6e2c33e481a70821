"""Corrected figures: the law (no review changes nothing), hand-picked items, finite populations, weighted figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fcreview.model.metric import Metric, ScoredItem, metrics_by_category
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.estimation import EstimationInput, MetricEstimate, estimate_metrics
from fcreview.stats.posterior import ItemStatus


def two_tables(rows: Sequence[ScoredItem]) -> list[Metric]:
    """Accuracy by category, the plain mean of categories, a figure of something else, and dialogues all right."""
    lines = metrics_by_category(rows)
    shares = [line.value for line in lines[1:] if line.value is not None]
    groups: dict[str | None, list[bool]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(bool(row.valid))
    return [
        *lines,
        Metric("weighted", "mean of categories", sum(shares) / len(shares)),
        Metric("weighted", "dialogues", sum(map(all, groups.values())) / len(groups)),
        Metric("cost", "tokens", 12.0, "score"),
    ]


def run_of(standings: Sequence[ItemStatus]) -> EstimationInput:
    before = [ScoredItem(f"i{at}", each.category, f"d{at // 2}", each.automatic) for at, each in enumerate(standings)]
    after = [
        row
        if each.human in (None, each.automatic)
        else replace(row, valid=each.human, overrides={ITEM_CORRECT: each.human})
        for row, each in zip(before, standings, strict=True)
    ]
    return EstimationInput(before, after, standings, two_tables)


def made(n: int = 400, seed: int = 0) -> tuple[list[ItemStatus], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Unreviewed items of two categories and their truth: the judge is wrong on a tenth of them."""
    generator = np.random.default_rng(seed)
    own = generator.random(n) < 0.7
    truth = own ^ (generator.random(n) < 0.1)
    names = ["live" if at % 5 == 0 else "simple" for at in range(n)]
    return [ItemStatus(name, bool(flag)) for name, flag in zip(names, own, strict=True)], truth


def settle(standings: list[ItemStatus], truth: Sequence[bool], places: Sequence[int], *, random: bool) -> None:
    for at in places:
        standings[at] = replace(standings[at], human=bool(truth[at]), is_random=random)


def drawn_from(standings: Sequence[ItemStatus], part: float) -> list[ItemStatus]:
    return [replace(each, stratum=("",), inclusion_probability=part) for each in standings]


def found(standings: Sequence[ItemStatus]) -> dict[str, MetricEstimate]:
    return {one.name: one for one in estimate_metrics(run_of(standings), half_width=2.0)}


def test_without_a_review_corrected_is_automatic_and_nothing_has_an_interval() -> None:
    for one in found(made()[0]).values():
        assert one.corrected == one.automatic and one.low is one.high is one.needed is None


def test_picked_failures_never_make_an_interval() -> None:
    """Only failures are looked at, as many as one likes: what they say of the others is nothing."""
    standings, truth = made()
    failures = [at for at, each in enumerate(standings) if not each.automatic]
    for many in (5, 50, len(failures)):
        settle(standings, truth, failures[:many], random=False)
        for one in found(standings).values():
            assert one.low is None and one.high is None and one.n_random == 0
            assert one.method in ("known only", "other verdicts")
    assert found(standings)["all items"].n_known == len(failures)


@pytest.mark.sweep
def test_picked_failures_beside_a_sample_are_known_and_do_not_count_as_drawn() -> None:
    standings, truth = made()
    standings = drawn_from(standings, 0.2)
    sample = np.random.default_rng(1).choice(400, 80, replace=False).tolist()
    picked = [at for at, each in enumerate(standings) if not each.automatic and at not in sample]
    settle(standings, truth, sample, random=True)
    alone = found(standings)["all items"]
    settle(standings, truth, picked, random=False)
    both = found(standings)["all items"]
    assert both.n_random == alone.n_random == 80 and both.n_known == 80 + len(picked)
    assert both.low is not None and both.high is not None and alone.low is not None and alone.high is not None
    assert both.high - both.low < alone.high - alone.low  # what is known is not drawn any more
    assert both.low <= truth.mean() <= both.high


def test_what_no_sample_could_draw_has_no_interval() -> None:
    standings, truth = made()
    standings = [each if each.category == "live" else drawn_from([each], 0.1)[0] for each in standings]
    settle(standings, truth, [at for at in range(60) if at % 5], random=True)
    figures = found(standings)
    assert figures["simple"].low is not None
    for name in ("all items", "live", "mean of categories"):
        assert figures[name].low is None and figures[name].method == "not sampled"


def test_a_population_reviewed_whole_is_known() -> None:
    standings, truth = made(60)
    standings = drawn_from(standings, 1.0)
    settle(standings, truth, range(60), random=True)
    one = found(standings)["all items"]
    assert one.low == one.high == one.corrected == one.estimated == pytest.approx(truth.mean())
    assert one.method == "all known" and one.needed == 0


@pytest.mark.sweep
def test_a_weighted_figure_is_computed_and_no_share() -> None:
    """`live` is a fifth of the items and half of the mean: a plain share's interval would be too narrow for it."""
    standings, truth = made(1000)
    standings = drawn_from(standings, 0.1)
    settle(standings, truth, np.random.default_rng(2).choice(1000, 100, replace=False).tolist(), random=True)
    figures = found(standings)
    share, mean, whole = (figures[name] for name in ("all items", "mean of categories", "dialogues"))
    widths = [one.high - one.low for one in (share, mean, whole) if one.high is not None and one.low is not None]
    assert len(widths) == 3 and widths[1] > 1.1 * widths[0]
    dialogues = truth.reshape(-1, 2).all(axis=1).mean()
    assert whole.low is not None and whole.high is not None and whole.low <= dialogues <= whole.high
    assert figures["tokens"].method == "other verdicts" and figures["tokens"].low is None


def test_disputed_items_are_drawn_like_unreviewed_ones() -> None:
    standings, truth = made(50)
    standings = drawn_from(standings, 0.5)
    settle(standings, truth, range(25), random=True)
    run = run_of(standings)
    after = [*run.reviewed_items[:-1], replace(run.reviewed_items[-1], valid=None, overrides={ITEM_CORRECT: None})]
    one = next(estimate_metrics(replace(run, reviewed_items=after), 2.0))
    assert one.low is not None and one.estimated is not None
