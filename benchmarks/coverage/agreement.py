"""Measure how often the intervals of `fcreview agreement` contain the true value, for two
annotators and few items.

Two annotators label items as pass or fail. Both are right with the same probability, independently,
which gives the stated percent agreement. In the settings with several targets, some items are hard:
there, the annotators guess.

Usage: python benchmarks/coverage/agreement.py [--repetitions N] Prints a Markdown table.
Coefficients have no interval in a sample without a disagreement. Such samples do not count for
coverage; the column "no interval" has their share.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np

from fcreview.model.review import ItemKey
from fcreview.stats.agreement import compute_coefficients
from fcreview.stats.agreement_ratings import CoefficientName, Rating, RatingGroup

SIZES = (10, 20, 50, 100)
PREVALENCES = (0.5, 0.8, 0.95)
AGREEMENTS = (0.8, 0.9, 0.95)
COEFFICIENTS: tuple[CoefficientName, ...] = ("percent", "cohen", "alpha", "ac1")
ANNOTATORS = ("alice", "bob")
KEY = ItemKey(
    "bfcl", generation="v4", language="en", model="model", category="simple", id="simple_0"
)
TARGETS_OF_ITEM = 4
HARD_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class AnnotatorSetting:
    """How two annotators label items."""

    prevalence: float
    """Share of targets whose true verdict is pass."""
    agreement: float
    """Probability that both annotators give the same verdict."""
    n_targets: int = 1
    """Number of targets of an item. With several, the agreement differs between items."""

    @property
    def accuracy(self) -> float:
        """Probability that an annotator is right: both agree if both are right or both are
        wrong.
        """
        return (1 + sqrt(2 * self.agreement - 1)) / 2

    def compute_truth(self) -> dict[CoefficientName, float]:
        """Return the true value of each coefficient. Both annotators pass equally often, so that
        Cohen's kappa and alpha are the same.
        """
        passing = self.prevalence * self.accuracy + (1 - self.prevalence) * (1 - self.accuracy)
        agreement = self.agreement
        if self.n_targets > 1:
            passing = (1 - HARD_SHARE) * passing + HARD_SHARE / 2
            agreement = (1 - HARD_SHARE) * agreement + HARD_SHARE / 2
        by_chance = passing**2 + (1 - passing) ** 2
        kappa = (agreement - by_chance) / (1 - by_chance)
        return {
            "percent": agreement,
            "cohen": kappa,
            "alpha": kappa,
            "ac1": (agreement - (1 - by_chance)) / by_chance,
        }

    def draw_ratings(self, n_items: int, generator: np.random.Generator) -> list[Rating]:
        ratings: list[Rating] = []
        for item in range(n_items):
            is_hard = self.n_targets > 1 and generator.random() < HARD_SHARE
            accuracy = 0.5 if is_hard else self.accuracy
            for target in range(self.n_targets):
                truth = generator.random() < self.prevalence
                for annotator in ANNOTATORS:
                    is_right = generator.random() < accuracy
                    ratings.append(
                        Rating(
                            item,
                            key=KEY,
                            target=f"call {target}",
                            criterion="correct",
                            annotator=annotator,
                            value=bool(truth == is_right),
                        )
                    )
        return ratings


@dataclass(frozen=True, slots=True)
class AgreementCoverage:
    covered: float
    """Share of the intervals that contain the true value; NaN without intervals."""
    without_interval: float
    half_width: float


def measure_agreement(
    setting: AnnotatorSetting, n_items: int, repetitions: int, seed: int = 1
) -> dict[CoefficientName, AgreementCoverage]:
    truth = setting.compute_truth()
    generator = np.random.default_rng([seed, n_items, setting.n_targets])
    covered = dict.fromkeys(COEFFICIENTS, 0)
    counted = dict.fromkeys(COEFFICIENTS, 0)
    width = dict.fromkeys(COEFFICIENTS, 0.0)
    for _ in range(repetitions):
        ratings = setting.draw_ratings(n_items, generator)
        for found in compute_coefficients(
            RatingGroup(
                "blind",
                scope="overall",
                benchmark=None,
                category=None,
                criterion="correct",
                ratings=ratings,
            )
        ):
            if found.metric not in truth or found.low is None or found.high is None:
                continue
            counted[found.metric] += 1
            covered[found.metric] += found.low - 1e-9 <= truth[found.metric] <= found.high + 1e-9
            width[found.metric] += (found.high - found.low) / 2
    return {
        name: AgreementCoverage(
            covered=covered[name] / counted[name] if counted[name] else float("nan"),
            without_interval=1 - counted[name] / repetitions,
            half_width=width[name] / counted[name] if counted[name] else float("nan"),
        )
        for name in COEFFICIENTS
    }


def list_settings(n_targets: int) -> list[AnnotatorSetting]:
    return [
        AnnotatorSetting(prevalence, agreement=agreement, n_targets=n_targets)
        for prevalence, agreement in product(PREVALENCES, AGREEMENTS)
    ]


def format_rows(n_targets: int, sizes: Sequence[int], repetitions: int) -> Iterator[str]:
    """Yield a row for each coefficient and size: mean coverage, lowest and highest coverage of
    the settings.
    """
    for n_items in sizes:
        results = [
            measure_agreement(setting, n_items, repetitions) for setting in list_settings(n_targets)
        ]
        for name in COEFFICIENTS:
            coverages = [result[name].covered for result in results]
            mean = f"{100 * float(np.nanmean(coverages)):.1f}"
            spread = (
                f"{100 * float(np.nanmin(coverages)):.1f} to"
                f" {100 * float(np.nanmax(coverages)):.1f}"
            )
            missing = (
                f"{100 * float(np.mean([result[name].without_interval for result in results])):.0f}"
            )
            half_width = (
                f"±{float(np.nanmean([result[name].half_width for result in results])):.2f}"
            )
            yield (
                f"| {n_items} × {n_targets} | {name} | {mean} | {spread} | {half_width} | {missing}"
                " |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=2000)
    arguments = parser.parse_args()
    print(
        "| items × targets | coefficient | coverage, % | settings | half-width | no interval, % |"
    )
    print("|---" * 6 + "|")
    for n_targets in (1, TARGETS_OF_ITEM):
        for line in format_rows(n_targets, SIZES, arguments.repetitions):
            print(line, flush=True)


if __name__ == "__main__":
    main()
