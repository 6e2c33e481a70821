"""Measure how often the intervals of `fcreview report --group` contain the true value.

Each draw has questions with different chances to be passed, from a Beta distribution, and several
runs that answer them. The true mean, pass^k and pass@k are the moments of this distribution. Two
groups of runs with the same chances give the share of differences with p < 0.05, which is 5 % if
the test is right.

Usage: python -m benchmarks.repeats [--draws N]
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from dataclasses import dataclass
from math import prod
from statistics import mean

import numpy as np

from fcreview.model.review import QuestionKey
from fcreview.stats.repeats import RunGroup, summarize_groups
from fcreview.stats.run_comparison import ItemOutcome, align_runs

SEED = 7


@dataclass(frozen=True)
class Setting:
    """A population of questions, and how many of them are drawn and answered."""

    n_clusters: int
    questions_per_cluster: int
    n_runs: int
    a: float
    """Parameters of the Beta distribution of the chance that a run passes a question. All
    questions of a cluster have the same chance.
    """
    b: float

    def compute_true_value(self, figure: str) -> float:
        """Return the expected value of a figure such as `mean`, `pass^2` or `pass@2`."""
        if figure == "mean":
            return self.a / (self.a + self.b)
        k = int(figure[len("pass^") :])
        if figure.startswith("pass^"):
            return compute_moment(self.a, self.b, k)
        return 1 - compute_moment(self.b, self.a, k)


def compute_moment(a: float, b: float, k: int) -> float:
    """Return the mean of x^k if x has the distribution Beta(a, b)."""
    return prod((a + step) / (a + b + step) for step in range(k))


SETTINGS = (
    Setting(n_clusters=100, questions_per_cluster=1, n_runs=3, a=2, b=1),
    Setting(n_clusters=100, questions_per_cluster=1, n_runs=3, a=0.3, b=0.2),
    Setting(n_clusters=50, questions_per_cluster=4, n_runs=3, a=2, b=1),
    Setting(n_clusters=50, questions_per_cluster=1, n_runs=5, a=8, b=1),
    Setting(n_clusters=40, questions_per_cluster=1, n_runs=4, a=1, b=3),
    Setting(n_clusters=30, questions_per_cluster=1, n_runs=4, a=5, b=1),
    Setting(n_clusters=200, questions_per_cluster=1, n_runs=4, a=10, b=0.5),
    Setting(n_clusters=100, questions_per_cluster=1, n_runs=4, a=0.5, b=5),
)


def draw_runs(setting: Setting, generator: np.random.Generator) -> list[list[ItemOutcome]]:
    """Draw the outcomes of two groups of runs on the same questions."""
    chances = generator.beta(setting.a, setting.b, size=setting.n_clusters)
    runs = []
    for _ in range(2 * setting.n_runs):
        outcomes = []
        for cluster, chance in enumerate(chances):
            for number in range(setting.questions_per_cluster):
                is_passed = bool(generator.random() < chance)
                outcomes.append(make_outcome(setting, f"{cluster}-{number}", cluster, is_passed))
        runs.append(outcomes)
    return runs


def make_outcome(setting: Setting, name: str, cluster: int, is_passed: bool) -> ItemOutcome:
    return ItemOutcome(
        item=0,
        question_key=QuestionKey("simulation", "", "en", "simple", name),
        group=str(cluster) if setting.questions_per_cluster > 1 else None,
        question=f"question {name}",
        verdict=is_passed,
        error_type=None,
        first_difference=None,
        prediction_hash="",
        golden_hash=name,
    )


def measure(setting: Setting, n_draws: int) -> None:
    """Print the coverage of each figure, and the share of significant differences."""
    generator = np.random.default_rng(SEED)
    groups = [
        RunGroup("first", range(setting.n_runs)),
        RunGroup("second", range(setting.n_runs, 2 * setting.n_runs)),
    ]
    n_covered: Counter[str] = Counter()
    half_widths: defaultdict[str, list[float]] = defaultdict(list)
    n_significant = 0
    for _ in range(n_draws):
        summaries = summarize_groups(align_runs(draw_runs(setting, generator)).items, groups)
        by_name = {summary.group.name: summary for summary in summaries}
        for figure in by_name["first"].figures:
            if figure.low is None or figure.high is None:
                continue
            true_value = setting.compute_true_value(figure.name)
            n_covered[figure.name] += figure.low <= true_value <= figure.high
            half_widths[figure.name].append((figure.high - figure.low) / 2)
        versus = summaries[1].versus_best
        if versus is not None and versus.difference.p is not None:
            n_significant += versus.difference.p < 0.05

    print(setting)
    for name, count in n_covered.items():
        half_width = 100 * mean(half_widths[name])
        true_value = 100 * setting.compute_true_value(name)
        print(
            f"  {name:8} {true_value:5.1f}, covered {100 * count / n_draws:5.1f} %,"
            f" half-width {half_width:4.1f}"
        )
    print(f"  p < 0.05 in {100 * n_significant / n_draws:.1f} % of equal groups", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    n_draws = parser.parse_args().draws
    for setting in SETTINGS:
        measure(setting, n_draws)


if __name__ == "__main__":
    main()
