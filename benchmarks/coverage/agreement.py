"""Measure how often the intervals of `fcreview agreement` contain the true value, for few items.

Annotators label items as pass or fail. All are right with the same probability, independently,
which gives the stated percent agreement. In the settings with several targets, some items are hard:
there, the annotators guess.

Usage: python benchmarks/coverage/agreement.py [--repetitions N]
Prints a Markdown table. Coefficients have no interval in a sample without a disagreement. Such
samples do not count for coverage; the column "no interval" has their share.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import sqrt

import numpy as np

from fcreview.model.review import ItemKey
from fcreview.stats.agreement import compute_coefficients
from fcreview.stats.agreement_ratings import CoefficientName, Rating, RatingGroup

SIZES = (10, 20, 50, 100)
PREVALENCES = (0.5, 0.8, 0.95)
AGREEMENTS = (0.8, 0.9, 0.95)
ANNOTATORS = ("alice", "bob", "carol", "dave", "eve")
KEY = ItemKey("bfcl", "v4", "en", "model", "simple", "simple_0")
HARD_SHARE = 0.2
ROUNDING = 1e-9


Sample = tuple[tuple[tuple[bool, ...], ...], ...]
"""Verdicts of all annotators on each target of each item."""


@dataclass(frozen=True, slots=True)
class LabellingDesign:
    """Who labels what."""

    name: str
    n_annotators: int
    missing: float = 0.0
    """Share of targets that the last annotator does not label."""
    n_targets: int = 1
    """Number of targets of an item. With several, the agreement differs between items."""

    def list_coefficients(self) -> list[CoefficientName]:
        pair_or_all: CoefficientName = "cohen" if self.n_annotators == 2 else "fleiss"
        return ["percent", pair_or_all, "alpha", "ac1"]


PAIR_DESIGN = LabellingDesign("2 annotators", n_annotators=2)
DESIGNS = (
    PAIR_DESIGN,
    LabellingDesign("2 annotators, 4 targets", n_annotators=2, n_targets=4),
    LabellingDesign("3 annotators", n_annotators=3),
    LabellingDesign("3 annotators, 4 targets", n_annotators=3, n_targets=4),
    LabellingDesign("3 annotators, 40 % with two labels", n_annotators=3, missing=0.4),
    LabellingDesign("5 annotators", n_annotators=5),
)


@dataclass(frozen=True, slots=True)
class AnnotatorSetting:
    """How annotators label items."""

    prevalence: float
    """Share of targets whose true verdict is pass."""
    agreement: float
    """Probability that two annotators give the same verdict."""
    design: LabellingDesign = PAIR_DESIGN

    @property
    def accuracy(self) -> float:
        """Probability that an annotator is right: two agree if both are right or both are wrong."""
        return (1 + sqrt(2 * self.agreement - 1)) / 2

    @property
    def seeds(self) -> tuple[int, ...]:
        """Numbers that make the samples of different settings independent."""
        design = self.design
        shares = (self.prevalence, self.agreement, design.missing)
        return design.n_targets, design.n_annotators, *(round(100 * share) for share in shares)

    def compute_truth(self) -> dict[CoefficientName, float]:
        """Return the true value of each coefficient. All annotators pass equally often, so that
        kappa and alpha are the same.
        """
        passing = self.prevalence * self.accuracy + (1 - self.prevalence) * (1 - self.accuracy)
        agreement = self.agreement
        if self.design.n_targets > 1:
            passing = (1 - HARD_SHARE) * passing + HARD_SHARE / 2
            agreement = (1 - HARD_SHARE) * agreement + HARD_SHARE / 2
        by_chance = passing**2 + (1 - passing) ** 2
        kappa = (agreement - by_chance) / (1 - by_chance)
        return {
            "percent": agreement,
            "cohen": kappa,
            "fleiss": kappa,
            "alpha": kappa,
            "ac1": (agreement - (1 - by_chance)) / by_chance,
        }

    def draw_sample(self, n_items: int, generator: np.random.Generator) -> Sample:
        """Draw verdicts. Items, targets and, except for Cohen's kappa, annotators are exchangeable,
        so they are sorted. Equal samples then have equal intervals, which are computed once.
        """
        items = []
        for _ in range(n_items):
            is_hard = self.design.n_targets > 1 and generator.random() < HARD_SHARE
            accuracy = 0.5 if is_hard else self.accuracy
            targets = [
                self._draw_verdicts(accuracy, generator) for _ in range(self.design.n_targets)
            ]
            items.append(tuple(sorted(targets)))
        return tuple(sorted(items))

    def _draw_verdicts(self, accuracy: float, generator: np.random.Generator) -> tuple[bool, ...]:
        """Draw the verdicts of the annotators on one target: each is right with a chance of
        `accuracy`.

        With more than two annotators, it does not matter who gave which verdict, so they are
        sorted.
        """
        n_labels = self.design.n_annotators
        if self.design.missing and generator.random() < self.design.missing:
            n_labels -= 1
        truth = generator.random() < self.prevalence
        is_right = generator.random(n_labels) < accuracy
        verdicts = [bool(truth == right) for right in is_right]
        return tuple(verdicts if self.design.n_annotators == 2 else sorted(verdicts))


@dataclass(frozen=True, slots=True)
class AgreementCoverage:
    covered: float
    """Share of the intervals that contain the true value; NaN without intervals."""
    without_interval: float
    half_width: float


def measure_agreement(
    setting: AnnotatorSetting, n_items: int, repetitions: int, seed: int = 1
) -> dict[CoefficientName, AgreementCoverage]:
    """Draw samples of labels, and count how often the interval of each coefficient contains the
    truth.
    """
    truth = setting.compute_truth()
    design = setting.design
    generator = np.random.default_rng([seed, n_items, *setting.seeds])
    names = design.list_coefficients()
    covered = dict.fromkeys(names, 0)
    counted = dict.fromkeys(names, 0)
    width = dict.fromkeys(names, 0.0)
    for _ in range(repetitions):
        sample = setting.draw_sample(n_items, generator)
        for name, (low, high) in compute_intervals(sample, tuple(names)).items():
            counted[name] += 1
            covered[name] += low - ROUNDING <= truth[name] <= high + ROUNDING
            width[name] += (high - low) / 2
    return {
        name: AgreementCoverage(
            covered=covered[name] / counted[name] if counted[name] else float("nan"),
            without_interval=1 - counted[name] / repetitions,
            half_width=width[name] / counted[name] if counted[name] else float("nan"),
        )
        for name in names
    }


@lru_cache(100_000)
def compute_intervals(
    sample: Sample, names: tuple[CoefficientName, ...]
) -> dict[CoefficientName, tuple[float, float]]:
    """Return the ends of the intervals of all annotators together, without coefficients that have
    no interval.
    """
    group = RatingGroup("blind", "overall", None, None, "correct", make_ratings(sample))
    intervals: dict[CoefficientName, tuple[float, float]] = {}
    missing = set(names)
    for coefficient in compute_coefficients(group):
        if coefficient.metric in missing and coefficient.low is not None:
            assert coefficient.high is not None
            intervals[coefficient.metric] = coefficient.low, coefficient.high
        # The coefficients of all annotators come first. Those of the pairs need not be computed.
        missing.discard(coefficient.metric)
        if not missing:
            break
    return intervals


def make_ratings(sample: Sample) -> list[Rating]:
    """Convert a sample to ratings as `fcreview agreement` gets them."""
    ratings: list[Rating] = []
    for item, targets in enumerate(sample):
        for number, verdicts in enumerate(targets):
            for annotator, verdict in zip(ANNOTATORS, verdicts, strict=False):
                target = f"call {number}"
                ratings.append(Rating(item, KEY, target, "correct", annotator, value=verdict))
    return ratings


def list_settings(design: LabellingDesign = PAIR_DESIGN) -> list[AnnotatorSetting]:
    return [
        AnnotatorSetting(prevalence, agreement, design)
        for prevalence, agreement in product(PREVALENCES, AGREEMENTS)
    ]


def format_rows(design: LabellingDesign, n_items: int, repetitions: int) -> Iterator[str]:
    """Yield a row for each coefficient: mean coverage, lowest and highest coverage of the
    settings.
    """
    results = [
        measure_agreement(setting, n_items, repetitions) for setting in list_settings(design)
    ]
    for name in design.list_coefficients():
        shares = [100 * result[name].without_interval for result in results]
        missing = f"{float(np.mean(shares)):.0f}"
        measured = [result[name] for result in results if result[name].without_interval < 1]
        cells = [design.name, f"{n_items}", name, *_format_coverages(measured), missing]
        yield f"| {' | '.join(cells)} |"


def _format_coverages(measured: Sequence[AgreementCoverage]) -> list[str]:
    """Format mean coverage, range of coverages and mean half-width of settings with intervals."""
    if not measured:
        return ["–", "–", "–"]
    coverages = [100 * each.covered for each in measured]
    return [
        f"{float(np.mean(coverages)):.1f}",
        f"{min(coverages):.1f} to {max(coverages):.1f}",
        f"±{float(np.mean([each.half_width for each in measured])):.2f}",
    ]


def main() -> None:
    """Print the coverage of the intervals for each design and number of items."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--design", action="append", choices=[design.name for design in DESIGNS])
    parser.add_argument("--items", type=int, action="append", choices=SIZES)
    arguments = parser.parse_args()
    print("| labels | items | coefficient | coverage, % | settings | half-width | no interval, % |")
    print("|---" * 7 + "|")
    for design, n_items in product(DESIGNS, SIZES):
        if arguments.design and design.name not in arguments.design:
            continue
        if arguments.items and n_items not in arguments.items:
            continue
        for line in format_rows(design, n_items, arguments.repetitions):
            print(line, flush=True)


if __name__ == "__main__":
    main()
