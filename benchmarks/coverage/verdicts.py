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
from collections.abc import Iterator
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
    VarianceModel,
    allocate_reviews,
    draw_posterior,
)
from fcreview.stats.sampling import allocate_proportionally as in_proportion

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


class Population:
    """The items of a setting, grouped into cells of equal category and automatic verdict."""

    def __init__(self, setting: Setting) -> None:
        self.truth, self.category = setting.truth, setting.category
        code = setting.automatic.astype(np.int64) * (self.category.max() + 1) + self.category
        _, first, self.cell = np.unique(code, return_index=True, return_inverse=True)
        self.pool, self.cell_category = (
            setting.automatic[first].astype(np.int64),
            self.category[first],
        )
        self.sizes = np.bincount(self.cell)
        per_category = {
            EVEN: np.full(self.category.max() + 1, 1 / len(self.truth)),
            **setting.weights,
        }
        self.weights = {name: weight[self.cell_category] for name, weight in per_category.items()}
        self.values = {
            name: float((np.bincount(self.category, self.truth, len(weight)) * weight).sum())
            for name, weight in per_category.items()
        }

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
        everything = np.arange(len(self.truth))
        if design == "stratified":
            counts = np.bincount(self.category)
            parts = in_proportion({f"{at:04}": int(count) for at, count in enumerate(counts)}, size)
            samples = [
                _draw(generator, everything[self.category == int(one.name)], one.drawn)
                for one in parts
            ]
            probability = np.array(
                [
                    parts[self.category[np.flatnonzero(self.cell == at)[0]]].probability
                    for at in self._all
                ]
            )
            return np.concatenate(samples), probability
        first = _draw(generator, everything, size if design == "uniform" else size // 2)
        probability = np.full(len(self.pool), len(first) / len(self.truth))
        if design == "uniform":
            return first, probability
        return self._extended(
            first, self.count_cells(first, probability), size - len(first), target, generator
        )

    def _extended(
        self, first: IntArray, cells: Cells, more: int, target: str, generator: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Draw as `fcreview queue extend` does: by verdict, and by category if the target weighs
        them differently.
        """
        weight = self.weights[target]
        merged = self.pool if np.ptp(weight) < 1e-12 else self._all
        _, group = np.unique(merged, return_inverse=True)
        pooled = Cells(
            np.array([self.pool[group == at][0] for at in range(group.max() + 1)]),
            *(
                np.bincount(group, some).astype(np.int64)
                for some in (cells.reviewed, cells.passed, cells.unreviewed)
            ),
            np.ones(group.max() + 1),
        )
        mean = np.bincount(group, weight * self.sizes) / np.bincount(group, self.sizes)
        seed = int(generator.integers(2**31))
        parts = allocate_reviews(
            VarianceModel(
                pooled, posterior=draw_posterior(pooled, DRAWS, seed), weights=mean, variance=1.0
            ),
            more,
        )
        left = np.setdiff1d(np.arange(len(self.truth)), first)
        second = [
            _draw(generator, left[group[self.cell[left]] == at], count)
            for at, count in enumerate(parts)
        ]
        probability_of_second = parts / np.maximum(pooled.unreviewed, 1)
        return np.concatenate([first, *second]), cells.inclusion_probability + (
            1 - cells.inclusion_probability
        ) * probability_of_second[group]

    @property
    def _all(self) -> IntArray:
        return np.arange(len(self.pool))


def _draw(generator: np.random.Generator, candidates: IntArray, count: int) -> IntArray:
    return generator.choice(candidates, count, replace=False)


def measure_coverage(
    population: Population, design: str, size: int, repetitions: int
) -> dict[str, IntervalCoverage]:
    """Draw samples, and count how often the interval of each score contains the true value."""
    generator = np.random.default_rng([repetitions, size, DESIGNS.index(design)])
    found: dict[str, list[tuple[bool, float, float]]] = {name: [] for name in population.weights}
    for repetition in range(repetitions):
        for target in population.weights if design == "extended" else ("",):
            cells = population.draw_cells(design, size, target, generator)
            made = draw_posterior(cells, DRAWS, repetition)
            passes = cells.passed + made.passes
            for name in (target,) if target else population.weights:
                even = name == EVEN
                values = (passes @ population.weights[name])[: made.n_pooled if even else None]
                low, high = np.percentile(
                    values, INTERVAL_PERCENTILES if even else UNEVEN_INTERVAL_PERCENTILES
                )
                hit = bool(low - 1e-12 <= population.values[name] <= high + 1e-12)
                error = float(values[: made.n_estimated].mean()) - population.values[name]
                found[name].append((hit, (high - low) / 2, error))
    return {name: _summarize(np.array(each)) for name, each in found.items()}


def _summarize(measured: FloatArray) -> IntervalCoverage:
    """Summarize (hit, half-width, error) of each repetition."""
    share, half_width, bias = measured.mean(axis=0).tolist()
    return IntervalCoverage(
        share, half_width=half_width, bias=bias, rmse=float(np.sqrt((measured[:, 2] ** 2).mean()))
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
