"""How often the intervals of `fcreview estimate` hold, on verdicts of published runs.

One source is taken for the truth and another for the automatic verdict: the recomputed one, a judge, or the truth with
verdicts flipped at random, more in some categories than in others. Samples are drawn as queue files draw them (uniform,
stratified by category, uniform and then extended), and the truth is looked for in the intervals that come out.

Usage: python benchmarks/coverage/verdicts.py BENCH [--repetitions N] [--setting NAME]
(BENCH: folder of published runs)
Prints Markdown: of each setting, figure, design and size how often the interval holds, and in points its mean
half-width, the mean error of the estimate (bias) and its root mean square error.
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

from published import Setting, settings

from fcreview.model.metric import MetricKey, ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.answer_model import MetricCalculator
from fcreview.stats.estimation import INTERVAL_PERCENTILES, UNEVEN_INTERVAL_PERCENTILES, EstimationInput, draw_metrics
from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.population import ItemStatus
from fcreview.stats.posterior import Cells, FloatArray, IntArray, draw_posterior
from fcreview.stats.sample_size import VarianceModel, allocate_reviews
from fcreview.stats.sampling import allocate_proportionally as in_proportion

DESIGNS = ("uniform", "stratified", "extended")
SIZES = (50, 100, 200)
VARYING_SIZES = (42, 48, 100, 200, 400)
"""Sizes of uniform samples where the error of the automatic verdict differs between categories."""
DRAWS = 400
EVEN = "all items"
"""The figure that weighs items alike."""


@dataclass(frozen=True, slots=True)
class Held:
    """Of one figure, design and size."""

    share: float
    half_width: float
    """Mean, 0 to 1."""
    bias: float
    """Mean error of the estimate."""
    rmse: float


class Population:
    """A setting in cells."""

    def __init__(self, setting: Setting) -> None:
        self.truth, self.category = setting.truth, setting.category
        code = setting.automatic.astype(np.int64) * (self.category.max() + 1) + self.category
        _, first, self.cell = np.unique(code, return_index=True, return_inverse=True)
        self.pool, self.of = setting.automatic[first].astype(np.int64), self.category[first]
        self.sizes = np.bincount(self.cell)
        per_category = {EVEN: np.full(self.category.max() + 1, 1 / len(self.truth)), **setting.weights}
        self.weights = {name: weight[self.of] for name, weight in per_category.items()}
        self.values = {
            name: float((np.bincount(self.category, self.truth, len(weight)) * weight).sum())
            for name, weight in per_category.items()
        }

    def cells(self, sample: IntArray, fraction: FloatArray) -> Cells:
        reviewed = np.bincount(self.cell[sample], minlength=len(self.pool))
        passed = np.bincount(self.cell[sample], self.truth[sample], len(self.pool)).astype(np.int64)
        return Cells(self.pool, reviewed, passed, self.sizes - reviewed, fraction)

    def sample(self, design: str, size: int, target: str, generator: np.random.Generator) -> Cells:
        chosen, chance = self.places(design, size, target, generator)
        return self.cells(chosen, chance)

    def drawn(self, design: str, size: int, target: str, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Items of a sample, and of every item the chance to be drawn."""
        chosen, chance = self.places(design, size, target, generator)
        return chosen, chance[self.cell]

    def places(
        self, design: str, size: int, target: str, generator: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Items of a sample, and of each cell the chance of its items to be drawn."""
        everything = np.arange(len(self.truth))
        if design == "stratified":
            counts = np.bincount(self.category)
            parts = in_proportion({f"{at:04}": int(count) for at, count in enumerate(counts)}, size)
            drawn_ = [_some(generator, everything[self.category == int(one.name)], one.drawn) for one in parts]
            of_cell = np.array(
                [parts[self.category[np.flatnonzero(self.cell == at)[0]]].probability for at in self._all]
            )
            return np.concatenate(drawn_), of_cell
        first = _some(generator, everything, size if design == "uniform" else size // 2)
        chance = np.full(len(self.pool), len(first) / len(self.truth))
        if design == "uniform":
            return first, chance
        return self._extended(first, self.cells(first, chance), size - len(first), target, generator)

    def _extended(
        self, first: IntArray, cells: Cells, more: int, target: str, generator: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """As `fcreview queue extend` draws: by verdict, and by category where the target weighs them differently."""
        weight = self.weights[target]
        merged = self.pool if np.ptp(weight) < 1e-12 else self._all
        _, group = np.unique(merged, return_inverse=True)
        together = Cells(
            np.array([self.pool[group == at][0] for at in range(group.max() + 1)]),
            *(np.bincount(group, some).astype(np.int64) for some in (cells.reviewed, cells.passed, cells.unreviewed)),
            np.ones(group.max() + 1),
        )
        mean = np.bincount(group, weight * self.sizes) / np.bincount(group, self.sizes)
        seed = int(generator.integers(2**31))
        parts = allocate_reviews(VarianceModel(together, draw_posterior(together, DRAWS, seed), mean, 1.0), more)
        left = np.setdiff1d(np.arange(len(self.truth)), first)
        second = [_some(generator, left[group[self.cell[left]] == at], many) for at, many in enumerate(parts)]
        further = parts / np.maximum(together.unreviewed, 1)
        return np.concatenate([first, *second]), cells.inclusion_probability + (
            1 - cells.inclusion_probability
        ) * further[group]

    @property
    def _all(self) -> IntArray:
        return np.arange(len(self.pool))


def _some(generator: np.random.Generator, among: IntArray, many: int) -> IntArray:
    return generator.choice(among, many, replace=False)


def held(people: Population, design: str, size: int, repetitions: int) -> dict[str, Held]:
    generator = np.random.default_rng([repetitions, size, DESIGNS.index(design)])
    found: dict[str, list[tuple[bool, float, float]]] = {name: [] for name in people.weights}
    for repetition in range(repetitions):
        for target in people.weights if design == "extended" else ("",):
            cells = people.sample(design, size, target, generator)
            made = draw_posterior(cells, DRAWS, repetition)
            passes = cells.passed + made.passes
            for name in (target,) if target else people.weights:
                even = name == EVEN
                values = (passes @ people.weights[name])[: made.n_pooled if even else None]
                low, high = np.percentile(values, INTERVAL_PERCENTILES if even else UNEVEN_INTERVAL_PERCENTILES)
                hit = bool(low - 1e-12 <= people.values[name] <= high + 1e-12)
                error = float(values[: made.n_estimated].mean()) - people.values[name]
                found[name].append((hit, (high - low) / 2, error))
    return {name: _summarized(np.array(each)) for name, each in found.items()}


def _summarized(of: FloatArray) -> Held:
    """`of`: hit, half-width and error of each repetition."""
    share, half_width, bias = of.mean(axis=0).tolist()
    return Held(share, half_width, bias, float(np.sqrt((of[:, 2] ** 2).mean())))


def wilson_size(share: float, half_width: float) -> float:
    """Labels of a uniform sample after which Wilson's interval is about as narrow, without regard to the judge."""
    return max(NORMAL_QUANTILE**2 * share * (1 - share) / half_width**2 - NORMAL_QUANTILE**2, 1.0)


def lines(setting: Setting, repetitions: int) -> Iterator[str]:
    people = Population(setting)
    agree = float((setting.truth == setting.automatic).mean())
    designs, sizes = (("uniform",), VARYING_SIZES) if setting.varies else (DESIGNS, SIZES)
    for design in designs:
        for size in sizes:
            for name, one in held(people, design, size, repetitions).items():
                labels = f"{size / wilson_size(people.values[name], one.half_width):.2f}" if name == EVEN else ""
                numbers = f"{100 * one.share:.1f} | {100 * one.half_width:.2f} | {100 * one.bias:+.2f}"
                yield (
                    f"| {setting.name} | {100 * agree:.1f} | {name} | {design} | {size} | {numbers}"
                    f" | {100 * one.rmse:.2f} | {labels} |"
                )


def composed(setting: Setting, key: MetricKey, size: int, repetitions: int) -> str:
    """The same of a figure that is no sum over items: uniform samples through `estimates`' own draws."""
    everything = np.arange(len(setting.truth))
    truth = dict(enumerate(setting.truth.tolist()))
    before = [replace(row, valid=bool(flag)) for row, flag in zip(setting.rows, setting.automatic, strict=True)]
    value = MetricCalculator(before, before, setting.figures).with_verdicts(truth.items())[key]
    hits, width = 0, 0.0
    for repetition in range(repetitions):
        sample = set(_some(np.random.default_rng([size, repetition]), everything, size).tolist())
        after = [_settled(row, truth[at]) if at in sample else row for at, row in enumerate(before)]
        chance = size / len(truth)
        standings = [
            ItemStatus(row.category, row.valid, truth[at] if at in sample else None, ("",), chance, at in sample)
            for at, row in enumerate(before)
        ]
        draws = draw_metrics(EstimationInput(before, after, standings, setting.figures), repetition)
        if draws is None:
            raise ValueError("nothing was drawn")
        low, high = np.percentile(draws.values[key], UNEVEN_INTERVAL_PERCENTILES)
        hits += bool(low - 1e-9 <= value <= high + 1e-9)
        width += (high - low) / 2
    held_ = f"{100 * hits / repetitions:.1f} (±{100 * width / repetitions:.1f})"
    return f"{setting.name}, {key[2]}, uniform {size}, {repetitions} repetitions: {held_}"


def _settled(row: ScoredItem, verdict: bool) -> ScoredItem:
    return row if row.valid is verdict else replace(row, valid=verdict, overrides={ITEM_CORRECT: verdict})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--setting", default="", help="only those with this in their name")
    parser.add_argument("--composed", type=int, default=0, metavar="N", help="N repetitions of ACEBench's Summary")
    wanted = parser.parse_args()
    print("| setting | agree | figure | design | size | coverage | half-width | bias | RMSE | labels / Wilson's |")
    print("|---" * 10 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for setting in settings(wanted.bench, Path(folder), wanted.setting):
            if wanted.composed and setting.name.startswith("ACEBench"):
                print(composed(setting, ("sound", 0, "Summary"), 100, wanted.composed), flush=True)
                continue
            started = time.monotonic()
            for line in lines(setting, wanted.repetitions):
                print(line, flush=True)
            print(f"{setting.name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
