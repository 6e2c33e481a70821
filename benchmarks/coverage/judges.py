"""Measure how much several automatic sources narrow the intervals of `fcreview estimate`.

`judged_panel` has the verdicts of a person and of 20 judges on 500 trajectories. The verdicts of
the person are the truth. Each repetition draws a sample, gives it the true verdicts, chooses
sources as `estimate` does, and estimates the share of items passed, with and without the strata by
sources. Some settings replace judges by random verdicts, to measure what useless judges cost.

Usage: python benchmarks/coverage/judges.py BENCH [--repetitions N] [--setting NAME]
(BENCH: folder with `judged_panel`). Prints a Markdown table: the variance of the estimate relative
to that of the mean of a plain sample of the same size, coverage, mean half-width, its ratio to the
half-width without sources, bias as a part of the half-width, and how often sources were used.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fcreview.stats.estimation import estimate_pass_rate
from fcreview.stats.posterior import ItemStatus
from fcreview.stats.sampling import allocate_optimally
from fcreview.stats.source_strata import (
    SourceVerdicts,
    choose_planned_sources,
    choose_source_strata,
    count_passing_sources,
    predict_pass_rate,
    remove_source_strata,
)

SIZES = (50, 100, 200)
N_IDENTITY_COLUMNS = 2
"""Number of columns of the file before the verdict of the person."""
Verdicts = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Panel:
    truth: Verdicts
    judges: dict[str, Verdicts]

    def list_best(self) -> list[str]:
        """Return the names of the judges, the one that agrees most with the person first."""
        return sorted(
            self.judges, key=lambda name: -float((self.judges[name] == self.truth).mean())
        )


def read_panel(bench: Path) -> Panel:
    with (bench / "judged_panel" / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    columns = list(zip(*rows, strict=True))[N_IDENTITY_COLUMNS:]
    names = header[N_IDENTITY_COLUMNS:]
    verdicts = [np.array([cell == "1" for cell in column]) for column in columns]
    truth, *of_judges = verdicts
    return Panel(truth, judges=dict(zip(names[1:], of_judges, strict=True)))


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    sources: list[SourceVerdicts]
    has_official: bool = False
    """Whether the first source is the official verdict. Otherwise, the automatic verdict is that of
    most judges.
    """
    is_neyman: bool = False
    """Whether the sample is drawn as by `queue create --allocation neyman`."""

    def list_automatic(self) -> list[bool | None]:
        if self.has_official:
            return list(self.sources[0].verdicts)
        counts = count_passing_sources(self.sources)
        automatic: list[bool | None] = []
        for count in counts.tolist():
            is_tie = 2 * count == len(self.sources)
            automatic.append(None if is_tie else 2 * count > len(self.sources))
        return automatic


def make_settings(panel: Panel) -> list[Setting]:
    """Return useful, mixed and useless sources."""
    best = panel.list_best()

    def select(names: Sequence[str]) -> list[SourceVerdicts]:
        return [make_source(name, panel.judges[name]) for name in names]

    random_judges = make_random_judges(len(panel.truth), n_judges=20)
    everyone = list(panel.judges)
    middle = len(best) // 2
    return [
        Setting("three best judges", select(best[:3])),
        Setting("three best judges, Neyman", select(best[:3]), is_neyman=True),
        Setting("five best judges", select(best[:5])),
        Setting("20 judges", select(everyone)),
        Setting("20 judges, Neyman", select(everyone), is_neyman=True),
        Setting("best, middle and worst judge", select([best[0], best[middle], best[-1]])),
        Setting("three worst judges", select(best[-3:])),
        Setting(
            "middle judge official, three best judges",
            select([best[middle], *best[:3]]),
            has_official=True,
        ),
        Setting(
            "best judge official, three random judges",
            [*select(best[:1]), *random_judges[:3]],
            has_official=True,
        ),
        Setting(
            "best judge official, 20 random judges",
            [*select(best[:1]), *random_judges],
            has_official=True,
        ),
        Setting("three random judges", random_judges[:3]),
        Setting("20 random judges", random_judges),
    ]


def make_source(name: str, verdicts: Verdicts) -> SourceVerdicts:
    return SourceVerdicts(name, [bool(verdict) for verdict in verdicts])


def make_random_judges(n_items: int, n_judges: int) -> list[SourceVerdicts]:
    generator = np.random.default_rng(3)
    return [
        make_source(f"random {number}", generator.random(n_items) < 0.5)
        for number in range(n_judges)
    ]


def draw_statuses(
    setting: Setting, truth: Verdicts, size: int, generator: np.random.Generator
) -> tuple[list[ItemStatus], list[str]]:
    """Draw a sample and review it. Return the statuses of all items, and the names of the sources
    by which the sample was drawn.
    """
    if setting.is_neyman:
        return _draw_neyman_sample(setting, truth, size, generator)
    drawn = generator.choice(len(truth), size, replace=False)
    statuses = [
        ItemStatus("all", verdict, stratum=("",), inclusion_probability=size / len(truth))
        for verdict in setting.list_automatic()
    ]
    _review(statuses, truth, drawn.tolist())
    return statuses, []


def _draw_neyman_sample(
    setting: Setting, truth: Verdicts, size: int, generator: np.random.Generator
) -> tuple[list[ItemStatus], list[str]]:
    chosen = choose_planned_sources(setting.sources)
    counts = count_passing_sources(chosen)
    names = [str(count) for count in counts.tolist()]
    sizes = {name: names.count(name) for name in names}
    deviations = {}
    for name in sizes:
        rate = predict_pass_rate(int(name), len(chosen))
        deviations[name] = float(np.sqrt(rate * (1 - rate)))

    probability = {}
    drawn: list[int] = []
    for stratum in allocate_optimally(sizes, deviations, size):
        probability[stratum.name] = stratum.probability
        members = [position for position, name in enumerate(names) if name == stratum.name]
        drawn += generator.choice(members, stratum.drawn, replace=False).tolist()

    statuses = []
    for name, verdict in zip(names, setting.list_automatic(), strict=True):
        statuses.append(
            ItemStatus("all", verdict, stratum=(name,), inclusion_probability=probability[name])
        )
    _review(statuses, truth, drawn)
    return statuses, [source.name for source in chosen]


def _review(statuses: list[ItemStatus], truth: Verdicts, positions: Sequence[int]) -> None:
    for position in positions:
        statuses[position] = replace(
            statuses[position],
            human=bool(truth[position]),
            has_sample_verdict=True,
            sample_outcome="decided",
        )


@dataclass(frozen=True, slots=True)
class Measured:
    error: float
    covers: bool
    half_width: float
    half_width_without: float
    """Half-width of the interval of the same sample without strata by sources."""
    uses_sources: bool


def measure(setting: Setting, truth: Verdicts, size: int, seed: int) -> Measured:
    generator = np.random.default_rng([seed, size])
    statuses, design_sources = draw_statuses(setting, truth, size, generator)
    strata = choose_source_strata(statuses, setting.sources, design_sources)
    with_sources = strata.add_to_statuses(statuses)

    estimate = estimate_pass_rate(with_sources, half_width=0.02, seed=seed)
    without = estimate_pass_rate(remove_source_strata(statuses), half_width=0.02, seed=seed)
    assert estimate is not None
    assert without is not None
    value = float(truth.mean())
    return Measured(
        error=estimate.estimated - value,
        covers=estimate.low <= value <= estimate.high,
        half_width=(estimate.high - estimate.low) / 2,
        half_width_without=(without.high - without.low) / 2,
        uses_sources=bool(strata.names),
    )


def compute_plain_variance(truth: Verdicts, size: int) -> float:
    """Return the variance of the mean of a simple random sample without replacement."""
    return float(truth.var(ddof=1)) / size * (1 - size / len(truth))


def format_row(
    setting: Setting, size: int, results: Sequence[Measured], plain_variance: float
) -> str:
    errors = np.array([each.error for each in results])
    half_width = float(np.mean([each.half_width for each in results]))
    without = float(np.mean([each.half_width_without for each in results]))
    coverage = 100 * float(np.mean([each.covers for each in results]))
    used = 100 * float(np.mean([each.uses_sources for each in results]))
    variance_ratio = float((errors**2).mean()) / plain_variance
    return (
        f"| {setting.name} | {size} | {variance_ratio:.2f} | {coverage:.1f} |"
        f" ±{100 * half_width:.2f} | {half_width / without:.2f} |"
        f" {float(errors.mean()) / half_width:+.2f} | {used:.0f} % |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--setting", default="", help="only settings with this text in their name")
    arguments = parser.parse_args()

    panel = read_panel(arguments.bench)
    print(
        "| sources | labels | variance of plain | coverage | half-width | of without sources |"
        " bias / half-width | used |"
    )
    print("|---" * 8 + "|")
    for setting in make_settings(panel):
        if arguments.setting.lower() not in setting.name.lower():
            continue
        for size in SIZES:
            results = [
                measure(setting, panel.truth, size, seed) for seed in range(arguments.repetitions)
            ]
            plain_variance = compute_plain_variance(panel.truth, size)
            print(format_row(setting, size, results, plain_variance), flush=True)


if __name__ == "__main__":
    main()
