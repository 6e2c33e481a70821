"""Measure the intervals of `fcreview estimate` under the ways in which people really work.

A synthetic run has 1,000 items in conversations of four, or 250 tasks with four trials. Automatic
verdicts are wrong for 4 % of the passes and 25 % of the failures; in conversations, errors cluster.
The settings are: a plain sample, a sample with triage of wrong failures before, beside and after
it, two queues, queues by verdict, an extended queue, samples of whole conversations, annotators who
err, and "unsure" where the automatic verdict is wrong.

Usage: python benchmarks/coverage/designs.py [--repetitions N] [--setting NAME] Prints a Markdown
table. Each row has the coverage of the interval (or range) that is shown, its mean half-width, the
ratio to the half-width of the reference interval (`--method score`), and the bias as a part of the
half-width.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcreview.model.metric import Metric, ScoredItem, build_pass_rate_metric
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.estimation import (
    INTERVAL_PERCENTILES,
    EstimationInput,
    EstimationSettings,
    MetricEstimate,
    estimate_metrics,
    estimate_pass_rate,
)
from fcreview.stats.label_errors import LabelAgreement, correct_share
from fcreview.stats.posterior import (
    ItemStatus,
    VarianceModel,
    allocate_reviews,
    build_population,
    draw_posterior,
)
from fcreview.stats.score_interval import ScoreStratum, compute_score_interval

N_ITEMS = 1000
GROUP_SIZE = 4
SIZES = (100, 200)
WRONG_PASSES = 0.04
WRONG_FAILURES = 0.25
PASS_RATE = 0.7
N_TRIAGED = 50


@dataclass(frozen=True, slots=True)
class Run:
    items: list[ScoredItem]
    truth: list[bool]

    @property
    def pass_rate(self) -> float:
        return sum(self.truth) / len(self.truth)


def make_run(*, clustered: bool) -> Run:
    """Make a run whose true verdicts are known. The automatic verdicts have errors.

    `clustered`: some groups of items have many errors and others few, as in conversations.
    """
    generator = np.random.default_rng(11)
    items: list[ScoredItem] = []
    truth: list[bool] = []
    for group in range(N_ITEMS // GROUP_SIZE):
        excess = generator.beta(0.4, 0.4) * 2 if clustered else 1.0
        for step in range(GROUP_SIZE):
            verdict = bool(generator.random() < PASS_RATE)
            error_rate = (WRONG_PASSES if verdict else WRONG_FAILURES) * excess
            items.append(
                ScoredItem(f"{group}-{step}", category="all", group=f"group {group}", valid=verdict)
            )
            truth.append(verdict is not bool(generator.random() < error_rate))
    return Run(items, truth)


def compute_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Return accuracy (as PR, the mean progress of conversations of equal length) and SR, the share
    of conversations without a failure (as pass^4 of four trials).
    """
    groups: dict[str | None, list[bool]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item.valid is True)
    success = [all(verdicts) for verdicts in groups.values()]
    return [
        build_pass_rate_metric("accuracy", "accuracy", items),
        Metric("groups", "SR", value=sum(success) / len(success)),
    ]


def compute_accuracy(items: Sequence[ScoredItem]) -> list[Metric]:
    return compute_metrics(items)[:1]


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one simulated review, and the settings of the estimate."""

    statuses: list[ItemStatus]
    agreement: LabelAgreement | None = None


Design = Callable[[Run, int, np.random.Generator], Labels]


def make_statuses(run: Run, size: int) -> list[ItemStatus]:
    return [
        ItemStatus(item.category, item.valid, stratum=("",), inclusion_probability=size / N_ITEMS)
        for item in run.items
    ]


def review(
    statuses: list[ItemStatus], run: Run, positions: Sequence[int], *, is_random: bool
) -> None:
    """Give human verdicts to the items at these positions. They are the true ones."""
    for position in positions:
        statuses[position] = replace(
            statuses[position],
            human=run.truth[position],
            has_sample_verdict=is_random,
            sample_outcome="decided" if is_random else None,
        )


def draw_sample(size: int, generator: np.random.Generator) -> list[int]:
    return [int(position) for position in generator.choice(N_ITEMS, size, replace=False)]


def find_wrong_failures(run: Run, generator: np.random.Generator) -> list[int]:
    wrong = [at for at, item in enumerate(run.items) if item.valid is False and run.truth[at]]
    return [int(position) for position in generator.permutation(wrong)]


def plain(run: Run, size: int, generator: np.random.Generator) -> Labels:
    statuses = make_statuses(run, size)
    review(statuses, run, draw_sample(size, generator), is_random=True)
    return Labels(statuses)


def triage_before(run: Run, size: int, generator: np.random.Generator) -> Labels:
    """Design: before the random sample, a person corrects some of the wrong failures."""
    statuses = make_statuses(run, size)
    triaged = find_wrong_failures(run, generator)[:N_TRIAGED]
    sample = draw_sample(size, generator)
    review(statuses, run, sample, is_random=True)
    for position in triaged:
        statuses[position] = replace(
            statuses[position],
            human=run.truth[position],
            has_sample_verdict=False,
            is_known_before_sample=True,
        )
    return Labels(statuses)


def triage_beside(run: Run, size: int, generator: np.random.Generator) -> Labels:
    """A person who looks at failures sees, in the list, which ones are reviewed already."""
    statuses = make_statuses(run, size)
    sample = draw_sample(size, generator)
    review(statuses, run, sample, is_random=True)
    others = [
        position for position in find_wrong_failures(run, generator) if position not in set(sample)
    ]
    review(statuses, run, others[:N_TRIAGED], is_random=False)
    return Labels(statuses)


def two_queues(run: Run, size: int, generator: np.random.Generator) -> Labels:
    """Design: two random samples are drawn one after the other.

    The second one has no items of the first, so an item is in one of them with this probability.
    """
    first, second = size // 2, size - size // 2
    statuses = make_statuses(run, size)
    sample = draw_sample(size, generator)
    probability = first / N_ITEMS + (1 - first / N_ITEMS) * second / (N_ITEMS - first)
    statuses = [
        replace(status, stratum=("", ""), inclusion_probability=probability) for status in statuses
    ]
    review(statuses, run, sample, is_random=True)
    return Labels(statuses)


def extend(run: Run, size: int, generator: np.random.Generator) -> Labels:
    """Draw half of the sample, review it, and extend it by verdict as `queue extend --size`
    does.
    """
    first = size // 2
    statuses = make_statuses(run, first)
    review(statuses, run, draw_sample(first, generator), is_random=True)
    population = build_population(statuses)
    weights = np.full(len(population.cells), 1 / N_ITEMS)
    model = VarianceModel(
        population.cells, posterior=draw_posterior(population.cells), weights=weights, variance=1.0
    )
    probability: dict[bool, float] = {}
    counts = allocate_reviews(model, size - first)
    for key, candidates, count in zip(
        population.cell_keys, population.unreviewed, counts, strict=True
    ):
        chosen = [int(position) for position in generator.permutation(candidates)[:count]]
        review(statuses, run, chosen, is_random=True)
        second = count / len(candidates) if candidates else 0.0
        probability[key.automatic is True] = first / N_ITEMS + (1 - first / N_ITEMS) * second
    return Labels(
        [
            replace(status, inclusion_probability=probability[status.automatic is True])
            for status in statuses
        ]
    )


def conversations(run: Run, size: int, generator: np.random.Generator) -> Labels:
    """Design: the random sample has whole groups of items, such as all turns of a conversation."""
    n_groups = size // GROUP_SIZE
    groups = generator.choice(N_ITEMS // GROUP_SIZE, n_groups, replace=False)
    sample = [int(group) * GROUP_SIZE + step for group in groups for step in range(GROUP_SIZE)]
    statuses = [
        replace(status, cluster=item.group)
        for status, item in zip(make_statuses(run, size), run.items, strict=True)
    ]
    review(statuses, run, sample, is_random=True)
    return Labels(statuses)


def err(error: float) -> Design:
    """Annotators are wrong with a probability.

    A quarter of the sample has two of them, and is adjudicated.
    """

    def label(run: Run, size: int, generator: np.random.Generator) -> Labels:
        statuses = make_statuses(run, size)
        sample = draw_sample(size, generator)
        n_double = size // 4
        n_different = 0
        for place, position in enumerate(sample):
            wrong = generator.random(2) < error
            is_double = place < n_double
            n_different += bool(is_double and wrong[0] != wrong[1])
            is_adjudicated = is_double and wrong[0] != wrong[1]
            verdict = run.truth[position] is not bool(wrong[0] and not is_adjudicated)
            statuses[position] = replace(
                statuses[position], human=verdict, has_sample_verdict=True, sample_outcome="decided"
            )
        agreement = LabelAgreement(
            n_single=size - n_double, n_double=n_double, n_different=n_different
        )
        return Labels(statuses, agreement)

    return label


def queues_by_verdict(run: Run, size: int, generator: np.random.Generator) -> Labels:
    """Draw half of the sample from the automatic passes, and the other half from the failures, as
    with `queue create --where official:pass` and `--where official:fail`.
    """
    statuses = make_statuses(run, size)
    sample: list[int] = []
    for verdict in (True, False):
        positions = [at for at, item in enumerate(run.items) if item.valid is verdict]
        n_drawn = size // 2
        sample += [int(at) for at in generator.permutation(positions)[:n_drawn]]
        for position in positions:
            statuses[position] = replace(
                statuses[position],
                stratum=("", None) if verdict else (None, ""),
                inclusion_probability=n_drawn / len(positions),
            )
    review(statuses, run, sample, is_random=True)
    return Labels(statuses)


def unsure_of_wrong_passes(run: Run, size: int, generator: np.random.Generator) -> Labels:
    """Annotators are unsure of two thirds of the wrong passes. All undecided items fail, so the true
    accuracy is at the low end of what they allow.
    """
    statuses = make_statuses(run, size)
    sample = draw_sample(size, generator)
    review(statuses, run, sample, is_random=True)
    for position in sample:
        is_wrong_pass = run.items[position].valid is True and not run.truth[position]
        if is_wrong_pass and generator.random() < 2 / 3:
            statuses[position] = replace(
                statuses[position], human=None, has_sample_verdict=False, sample_outcome="unsure"
            )
    return Labels(statuses)


def unsure_where_wrong(run: Run, size: int, generator: np.random.Generator) -> Labels:
    """Annotators are unsure of a third of the items on which the automatic verdict is wrong."""
    statuses = make_statuses(run, size)
    sample = draw_sample(size, generator)
    review(statuses, run, sample, is_random=True)
    for position in sample:
        if run.items[position].valid is not run.truth[position] and generator.random() < 1 / 3:
            statuses[position] = replace(
                statuses[position], human=None, has_sample_verdict=False, sample_outcome="unsure"
            )
    return Labels(statuses)


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    design: Design
    clustered: bool = False


SETTINGS = (
    Setting("plain sample", plain),
    Setting("triage before", triage_before),
    Setting("triage beside and after", triage_beside),
    Setting("two queues", two_queues),
    Setting("extended queue", extend),
    Setting("queues by verdict", queues_by_verdict),
    Setting("single items of clustered conversations", plain, clustered=True),
    Setting("whole conversations or trials of tasks", conversations, clustered=True),
    Setting("annotators err in 3 %, corrected", err(0.03)),
    Setting("annotators err in 5 %, corrected", err(0.05)),
    Setting("unsure where the automatic verdict is wrong", unsure_where_wrong),
    Setting("unsure of wrong passes only", unsure_of_wrong_passes),
)


def build_input(
    run: Run,
    statuses: list[ItemStatus],
    metrics: Callable[[Sequence[ScoredItem]], Sequence[Metric]],
) -> EstimationInput:
    """Build what the estimation gets: the items before and after the reviews, and their
    statuses.
    """
    after = []
    for item, status in zip(run.items, statuses, strict=True):
        is_override = status.human is not None and status.human is not item.valid
        after.append(
            replace(item, valid=status.human, overrides={ITEM_CORRECT: status.human})
            if is_override
            else item
        )
    return EstimationInput(
        run.items, reviewed_items=after, statuses=statuses, compute_metrics=metrics
    )


@dataclass(frozen=True, slots=True)
class Measured:
    covers: bool
    error: float
    half_width: float
    reference_half_width: float | None


def measure(
    run: Run, labels: Labels, seed: int, *, clustered: bool
) -> Iterator[tuple[str, Measured]]:
    """Measure one estimate. The accuracy of samples of single items is estimated by
    `estimate_pass_rate`, which draws as `estimate_metrics` does and is faster.
    """
    is_group_sample = labels.statuses[0].cluster is not None
    if labels.agreement is not None:
        yield "accuracy", measure_corrected(run, labels.statuses, labels.agreement, seed)
        return
    if not is_group_sample:
        found = estimate_pass_rate(labels.statuses, half_width=0.02, seed=seed)
        if found is not None:
            ends = (
                found.bounds
                if found.is_bounds_headline and found.bounds
                else (found.low, found.high)
            )
            reference = compute_reference_half_width(labels.statuses)
            yield "accuracy", make_measured(ends, found.estimated, run.pass_rate, reference)
        return

    metrics = compute_metrics if clustered else compute_accuracy
    true_items = [
        replace(item, valid=verdict) for item, verdict in zip(run.items, run.truth, strict=True)
    ]
    truth = {metric.name: metric.value for metric in metrics(true_items)}
    estimation_input = build_input(run, labels.statuses, metrics)
    reference_settings = EstimationSettings(seed=seed, interval_method="score")
    references = {
        reference.name: reference
        for reference in estimate_metrics(estimation_input, reference_settings)
    }
    for one in estimate_metrics(estimation_input, EstimationSettings(seed=seed)):
        shown = get_shown_interval(one)
        value = truth[one.name]
        reference_ends = get_shown_interval(references[one.name])
        if shown is None or one.estimated is None or value is None or reference_ends is None:
            continue
        half_width = (reference_ends[1] - reference_ends[0]) / 2
        yield one.name, make_measured(shown, one.estimated, value, reference=half_width)


def measure_corrected(
    run: Run, statuses: Sequence[ItemStatus], agreement: LabelAgreement, seed: int
) -> Measured:
    """Measure the estimate of `--correct-annotators`, which is the same as that of
    `estimate_metrics` for the accuracy, and much faster.
    """
    population = build_population(statuses)
    posterior = draw_posterior(population.cells, seed=seed)
    n_reviewed_passes = sum(status.human is True for status in statuses)
    n_passes = n_reviewed_passes + posterior.passes[: posterior.n_pooled].sum(axis=1)
    error_shares = agreement.draw_error_shares(len(n_passes), seed)
    corrected = correct_share(n_passes / len(statuses), error_shares)
    low, high = map(float, np.percentile(corrected, INTERVAL_PERCENTILES))
    return make_measured((low, high), float(corrected.mean()), run.pass_rate, reference=None)


def make_measured(
    ends: tuple[float, float], estimated: float, truth: float, reference: float | None
) -> Measured:
    """Compare an estimate with the truth. `ends`: ends of its interval."""
    return Measured(
        covers=ends[0] - 1e-9 <= truth <= ends[1] + 1e-9,
        error=estimated - truth,
        half_width=(ends[1] - ends[0]) / 2,
        reference_half_width=reference,
    )


def compute_reference_half_width(statuses: Sequence[ItemStatus]) -> float:
    """Return the half-width of the poststratified score interval, with the undecided items left
    out.
    """
    cells = build_population(statuses).cells
    strata = [
        ScoreStratum(
            n_items=int(cells.reviewed[cell] + cells.without_sample_verdict[cell]),
            n_reviewed=int(cells.reviewed[cell]),
            n_passed=int(cells.passed[cell]),
            weight=1 / len(statuses),
        )
        for cell in range(len(cells))
    ]
    interval = compute_score_interval(strata, constant=0.0)
    return (interval.high - interval.low) / 2


def get_shown_interval(estimate: MetricEstimate) -> tuple[float, float] | None:
    if estimate.is_bounds_headline:
        return estimate.bounds
    if estimate.low is None or estimate.high is None:
        return None
    return estimate.low, estimate.high


def format_rows(setting: Setting, repetitions: int) -> Iterator[str]:
    """Repeat a design with samples of each size, and yield a row for each score."""
    run = make_run(clustered=setting.clustered)
    for size in SIZES:
        found: dict[str, list[Measured]] = {}
        for seed in range(repetitions):
            labels = setting.design(run, size, np.random.default_rng([seed, size]))
            for name, measured in measure(run, labels, seed, clustered=setting.clustered):
                found.setdefault(name, []).append(measured)
        if not found:
            yield f"| {setting.name} | {size} | – | no interval | | | |"
        for name, results in found.items():
            yield format_row(setting.name, size, name, results)


def format_row(setting: str, size: int, metric: str, results: Sequence[Measured]) -> str:
    """Return the row of a score: coverage, width of the interval, and bias relative to the
    width.
    """
    coverage = 100 * float(np.mean([each.covers for each in results]))
    half_width = float(np.mean([each.half_width for each in results]))
    bias = float(np.mean([each.error for each in results])) / half_width
    references = [
        each.reference_half_width for each in results if each.reference_half_width is not None
    ]
    ratio = f"{half_width / float(np.mean(references)):.2f}" if references else "–"
    return (
        f"| {setting} | {size} | {metric} | {coverage:.1f} | ±{100 * half_width:.2f} | {ratio} |"
        f" {bias:+.2f} |"
    )


def main() -> None:
    """Print a row for each design, number of labels and score."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--setting", default="", help="only settings with this text in their name")
    arguments = parser.parse_args()
    print(
        "| setting | labels | score | coverage | half-width | of the reference | bias / half-width"
        " |"
    )
    print("|---" * 7 + "|")
    for setting in SETTINGS:
        if arguments.setting.lower() in setting.name.lower():
            for row in format_rows(setting, arguments.repetitions):
                print(row, flush=True)


if __name__ == "__main__":
    main()
