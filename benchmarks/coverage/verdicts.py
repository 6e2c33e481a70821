"""Measure how often the intervals of `fcreview estimate` contain the true value, on verdicts of
published runs.

One source is the truth and another is the automatic verdict: the recomputed verdict, a judge, or
the truth with some verdicts flipped at random, more in some categories than in others. Samples are
drawn as queue files draw them (uniform, stratified by category, uniform and then extended).

Usage: python benchmarks/coverage/verdicts.py BENCH [--repetitions N] [--setting NAME] (BENCH:
folder of published runs) Prints a Markdown table. Each row has the coverage of the interval in
percent and, in points, its mean half-width, the mean error of the estimate (bias) and its root mean
square error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from published import Setting, read_settings

from fcreview.model.metric import MetricKey, ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.answer_model import MetricCalculator
from fcreview.stats.estimation import (
    INTERVAL_PERCENTILES,
    MIN_CATEGORY_ITEMS,
    UNEVEN_INTERVAL_PERCENTILES,
    EstimationInput,
    draw_metrics,
)
from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.posterior import (
    Cells,
    FloatArray,
    IntArray,
    ItemStatus,
    PosteriorDraws,
    VarianceModel,
    allocate_reviews,
    draw_posterior,
)
from fcreview.stats.sampling import allocate_proportionally as in_proportion
from fcreview.stats.score_interval import ScoreStratum, compute_score_interval

DESIGNS = ("uniform", "stratified", "extended")
SIZES = (50, 100, 200)
VARYING_SIZES = (42, 48, 100, 200, 400)
"""Sizes of uniform samples where the error of the automatic verdict differs between categories."""
DRAWS = 400
EVEN = "all items"
"""Figure in which all items have the same weight."""


@dataclass(frozen=True, slots=True)
class IntervalCoverage:
    """Coverage of the intervals of one figure, for one design and sample size."""

    share: float
    half_width: float
    """Mean half-width, 0 to 1."""
    bias: float
    """Mean error of the estimate."""
    rmse: float
    printed: float
    """Share of the samples with an interval."""


class Population:
    """The items of a setting, grouped into cells of equal category and automatic verdict."""

    def __init__(self, setting: Setting) -> None:
        self.truth = setting.truth
        self.category = setting.category
        n_categories = self.category.max() + 1
        # Items with the same code are in the same cell.
        code = setting.automatic.astype(np.int64) * n_categories + self.category
        _, first_items, self.cell = np.unique(code, return_index=True, return_inverse=True)
        self.pool = setting.automatic[first_items].astype(np.int64)
        self.cell_category = self.category[first_items]
        self.sizes = np.bincount(self.cell)

        self.weights = {}
        self.values = {}
        weights_by_category = {EVEN: np.full(n_categories, 1 / len(self.truth)), **setting.weights}
        for name, weights in weights_by_category.items():
            n_passing = np.bincount(self.category, self.truth, len(weights))
            self.weights[name] = weights[self.cell_category]
            self.values[name] = float((n_passing * weights).sum())

    def is_category_score(self, name: str) -> bool:
        """Whether a figure is the pass rate of one category among others."""
        counted = self.weights[name] != 0
        return not counted.all() and len(set(self.cell_category[counted])) == 1

    def count_cells(self, sample: IntArray, fraction: FloatArray) -> Cells:
        """Count the reviewed and the passed items of a sample in each cell.

        `fraction`: chance of an item of each cell to be drawn.
        """
        reviewed = np.bincount(self.cell[sample], minlength=len(self.pool))
        passed = np.bincount(self.cell[sample], self.truth[sample], len(self.pool)).astype(np.int64)
        return Cells(
            self.pool,
            reviewed=reviewed,
            passed=passed,
            unreviewed=self.sizes - reviewed,
            inclusion_probability=fraction,
        )

    def draw_cells(
        self, design: str, size: int, target: str, generator: np.random.Generator
    ) -> Cells:
        sample, probability = self._choose_items(design, size, target, generator)
        return self.count_cells(sample, probability)

    def draw_items(
        self, design: str, size: int, target: str, generator: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return the items of a sample, and the probability of each item to be drawn."""
        sample, probability = self._choose_items(design, size, target, generator)
        return sample, probability[self.cell]

    def _choose_items(
        self, design: str, size: int, target: str, generator: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return the items of a sample, and the probability of the items of each cell to be
        drawn.
        """
        if design == "stratified":
            return self._draw_by_category(size, generator)
        everything = np.arange(len(self.truth))
        n_first = size if design == "uniform" else size // 2
        first = _draw(generator, everything, n_first)
        probability = np.full(len(self.pool), len(first) / len(self.truth))
        if design == "uniform":
            return first, probability
        return self._extend(first, probability, size - len(first), target, generator)

    def _draw_by_category(
        self, size: int, generator: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Draw from each category in proportion to its size."""
        everything = np.arange(len(self.truth))
        sizes = {f"{number:04}": int(n) for number, n in enumerate(np.bincount(self.category))}
        strata = in_proportion(sizes, size)
        samples = []
        for stratum in strata:
            members = everything[self.category == int(stratum.name)]
            samples.append(_draw(generator, members, stratum.drawn))
        probability = [strata[category].probability for category in self.cell_category]
        return np.concatenate(samples), np.array(probability)

    def _extend(
        self,
        first: IntArray,
        probability: FloatArray,
        n_more: int,
        target: str,
        generator: np.random.Generator,
    ) -> tuple[IntArray, FloatArray]:
        """Draw more items as `fcreview queue extend` does: by verdict, and by category if the
        target weighs them differently.

        Args:
            first: The items of the sample so far.
            probability: The probability of the items of each cell to be in it.
            n_more: Number of items to draw.
            target: The figure whose interval the extension narrows.
            generator: Source of random numbers.
        """
        weights = self.weights[target]
        is_even = np.ptp(weights) < 1e-12
        # The strata of the extension consist of cells.
        stratum_key = self.pool if is_even else np.arange(len(self.pool))
        _, stratum = np.unique(stratum_key, return_inverse=True)
        n_strata = stratum.max() + 1

        def sum_by_stratum(counts: IntArray) -> IntArray:
            return np.bincount(stratum, counts).astype(np.int64)

        cells = self.count_cells(first, probability)
        strata = Cells(
            pool=np.array([self.pool[stratum == number][0] for number in range(n_strata)]),
            reviewed=sum_by_stratum(cells.reviewed),
            passed=sum_by_stratum(cells.passed),
            unreviewed=sum_by_stratum(cells.unreviewed),
            inclusion_probability=np.ones(n_strata),
        )
        mean_weights = np.bincount(stratum, weights * self.sizes) / np.bincount(stratum, self.sizes)
        seed = int(generator.integers(2**31))
        posterior = draw_posterior(strata, DRAWS, seed)
        model = VarianceModel(strata, posterior=posterior, weights=mean_weights, variance=1.0)
        counts = allocate_reviews(model, n_more)

        left = np.setdiff1d(np.arange(len(self.truth)), first)
        stratum_of_left = stratum[self.cell[left]]
        samples = [first]
        for number, count in enumerate(counts):
            samples.append(_draw(generator, left[stratum_of_left == number], count))
        probability_of_second = (counts / np.maximum(strata.unreviewed, 1))[stratum]
        return (
            np.concatenate(samples),
            probability + (1 - probability) * probability_of_second,
        )


def _draw(generator: np.random.Generator, candidates: IntArray, count: int) -> IntArray:
    return generator.choice(candidates, count, replace=False)


def measure_coverage(
    population: Population, design: str, size: int, repetitions: int
) -> dict[str, IntervalCoverage | None]:
    """Draw samples, and count how often the interval of each score contains the true value.

    An extension has a score as its target, so each score has samples of its own. Other samples are
    the same for all scores.
    """
    generator = np.random.default_rng([repetitions, size, DESIGNS.index(design)])
    all_names = list(population.weights)
    names_by_target = {"": all_names}
    if design == "extended":
        names_by_target = {name: [name] for name in all_names}

    found: dict[str, list[tuple[bool, float, float] | None]] = {name: [] for name in all_names}
    for repetition in range(repetitions):
        for target, names in names_by_target.items():
            cells = population.draw_cells(design, size, target, generator)
            posterior = draw_posterior(cells, DRAWS, repetition)
            for name in names:
                found[name].append(
                    _measure_interval(population, cells, posterior, name, repetition)
                )
    return {name: _summarize(each) for name, each in found.items()}


def _measure_interval(
    population: Population, cells: Cells, posterior: PosteriorDraws, name: str, seed: int
) -> tuple[bool, float, float] | None:
    """Return whether the interval of a score contains the true value, its half-width, and the error
    of the estimate. None if the score has no interval.
    """
    if population.is_category_score(name):
        return _measure_category_interval(population, cells, name, seed)
    values = (cells.passed + posterior.passes) @ population.weights[name]
    percentiles = UNEVEN_INTERVAL_PERCENTILES
    if name == EVEN:
        values = values[: posterior.n_pooled]
        percentiles = INTERVAL_PERCENTILES
    low, high = np.percentile(values, percentiles)
    estimated = float(values[: posterior.n_estimated].mean())
    return _compare_with_truth(population.values[name], low, high, estimated)


def _measure_category_interval(
    population: Population, cells: Cells, name: str, seed: int
) -> tuple[bool, float, float] | None:
    """Do the same for the pass rate of a category. A category with few reviewed items has no
    interval.
    """
    indexes = np.flatnonzero(population.weights[name])
    if cells.reviewed[indexes].sum() < MIN_CATEGORY_ITEMS:
        return None

    # Each cell of a category has another automatic verdict, and is a pool of its own.
    own_cells = cells.select(indexes, np.arange(len(indexes)))
    weights = population.weights[name][indexes]
    passes = draw_posterior(own_cells, DRAWS, seed).passes[:DRAWS]
    low, high = np.percentile((own_cells.passed + passes) @ weights, UNEVEN_INTERVAL_PERCENTILES)

    strata = []
    for index, weight in enumerate(weights.tolist()):
        stratum = ScoreStratum(
            int(own_cells.reviewed[index] + own_cells.unreviewed[index]),
            n_reviewed=int(own_cells.reviewed[index]),
            n_passed=int(own_cells.passed[index]),
            weight=weight,
        )
        strata.append(stratum)
    estimated = compute_score_interval(strata, constant=0.0).estimated
    return _compare_with_truth(population.values[name], low, high, estimated)


def _compare_with_truth(
    truth: float, low: float, high: float, estimated: float
) -> tuple[bool, float, float]:
    is_covered = bool(low - 1e-12 <= truth <= high + 1e-12)
    return is_covered, (high - low) / 2, estimated - truth


def _summarize(measured: Sequence[tuple[bool, float, float] | None]) -> IntervalCoverage | None:
    """Summarize (hit, half-width, error) of each repetition that has an interval. None if less than
    half of them have one.
    """
    printed = [each for each in measured if each is not None]
    if len(printed) < len(measured) / 2:
        return None
    numbers = np.array(printed, dtype=float)
    share, half_width, bias = numbers.mean(axis=0).tolist()
    rmse = float(np.sqrt((numbers[:, 2] ** 2).mean()))
    return IntervalCoverage(
        share, half_width=half_width, bias=bias, rmse=rmse, printed=len(printed) / len(measured)
    )


def wilson_size(share: float, half_width: float) -> float:
    """Return the size of a uniform sample for which Wilson's interval, which ignores the judge,
    is as narrow.
    """
    return max(NORMAL_QUANTILE**2 * share * (1 - share) / half_width**2 - NORMAL_QUANTILE**2, 1.0)


def format_rows(setting: Setting, repetitions: int) -> Iterator[str]:
    """Yield a row for each design, number of labels and score of a setting.

    The last column compares the number of labels with what a plain random sample (Wilson's
    interval) would need for the same width.
    """
    population = Population(setting)
    agree = float((setting.truth == setting.automatic).mean())
    designs, sizes = (("uniform",), VARYING_SIZES) if setting.varies else (DESIGNS, SIZES)
    for design in designs:
        for size in sizes:
            for name, one in measure_coverage(population, design, size, repetitions).items():
                if one is None:
                    # Few samples have enough items of the category.
                    continue
                labels = (
                    f"{size / wilson_size(population.values[name], one.half_width):.2f}"
                    if name == EVEN
                    else ""
                )
                numbers = (
                    f"{100 * one.share:.1f} | {100 * one.half_width:.2f} | {100 * one.bias:+.2f}"
                )
                yield (
                    f"| {setting.name} | {100 * agree:.1f} | {name} | {design} | {size} | {numbers}"
                    f" | {100 * one.rmse:.2f} | {labels} |"
                )


def measure_metric(setting: Setting, key: MetricKey, size: int, repetitions: int) -> str:
    """Measure a figure that is not a sum over items, with uniform samples and `draw_metrics`."""
    everything = np.arange(len(setting.truth))
    truth = dict(enumerate(setting.truth.tolist()))
    before = [
        replace(row, valid=bool(flag))
        for row, flag in zip(setting.rows, setting.automatic, strict=True)
    ]
    value = MetricCalculator(before, before, setting.figures).compute_with_verdicts(truth.items())[
        key
    ]
    hits, width = 0, 0.0
    for repetition in range(repetitions):
        sample = set(_draw(np.random.default_rng([size, repetition]), everything, size).tolist())
        after = [
            _with_verdict(row, truth[at]) if at in sample else row for at, row in enumerate(before)
        ]
        probability = size / len(truth)
        statuses = [
            ItemStatus(
                row.category,
                automatic=row.valid,
                human=truth[at] if at in sample else None,
                stratum=("",),
                inclusion_probability=probability,
                has_sample_verdict=at in sample,
            )
            for at, row in enumerate(before)
        ]
        draws = draw_metrics(
            EstimationInput(
                before, reviewed_items=after, statuses=statuses, compute_metrics=setting.figures
            ),
            repetition,
        )
        if draws is None:
            raise ValueError("nothing was drawn")
        low, high = np.percentile(draws.values[key], UNEVEN_INTERVAL_PERCENTILES)
        hits += bool(low - 1e-9 <= value <= high + 1e-9)
        width += (high - low) / 2
    coverage = f"{100 * hits / repetitions:.1f} (±{100 * width / repetitions:.1f})"
    return f"{setting.name}, {key[2]}, uniform {size}, {repetitions} repetitions: {coverage}"


def _with_verdict(row: ScoredItem, verdict: bool) -> ScoredItem:
    return (
        row
        if row.valid is verdict
        else replace(row, valid=verdict, overrides={ITEM_CORRECT: verdict})
    )


def main() -> None:
    """Print a table of all settings. A composed score takes long, so it is measured only on
    request.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--setting", default="", help="only settings with this text in their name")
    parser.add_argument(
        "--composed", type=int, default=0, metavar="N", help="N repetitions of ACEBench's Summary"
    )
    arguments = parser.parse_args()
    print(
        "| setting | agree | figure | design | size | coverage | half-width | bias | RMSE | labels"
        " / Wilson's |"
    )
    print("|---" * 10 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for setting in read_settings(arguments.bench, Path(folder), arguments.setting):
            if arguments.composed and setting.name.startswith("ACEBench"):
                print(
                    measure_metric(setting, ("sound", 0, "Summary"), 100, arguments.composed),
                    flush=True,
                )
                continue
            started = time.monotonic()
            for line in format_rows(setting, arguments.repetitions):
                print(line, flush=True)
            print(
                f"{setting.name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True
            )


if __name__ == "__main__":
    main()
