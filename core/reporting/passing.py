"""Runs beside each other: of each dataset the share of items that pass, best run first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.figures import SOURCES
from fcreview.reporting.blocks import Bar, Section, Table, TableRow, Text
from fcreview.text.words import NOTHING, official_rate, rate_of, recomputed

WHAT = (
    "Of each run the share of its items that pass, each item counted once; the highest corrected share first. "
    "The benchmarks' own figures, which weigh items, stand below."
)


@dataclass(frozen=True, slots=True)
class RunPasses:
    name: str
    kind: str
    """Its dataset: `bfcl V1 en`."""
    items: int
    official: tuple[int, int]
    """How many pass, of how many that have such a verdict."""
    rule: tuple[int, int]
    corrected: tuple[int, int]
    stated: tuple[int, int] = (0, 0)
    """What the headers of score files say, where the results are missing."""


def passing_section(runs: Sequence[RunPasses]) -> Section:
    blocks: list[Text | Table] = [Text(WHAT)]
    heads = ["items", *SOURCES]
    for kind in dict.fromkeys(run.kind for run in runs):
        of = sorted((run for run in runs if run.kind == kind), key=_share, reverse=True)
        blocks.append(Table([kind, *heads], [_row(run) for run in of], frozenset(range(1, 1 + len(heads)))))
    return Section("Items that pass", blocks)


def _share(run: RunPasses) -> float:
    passed, known = run.corrected
    return passed / known if known else -1.0


def _row(run: RunPasses) -> TableRow:
    passed, of = run.stated
    cells = [
        run.name,
        f"{run.items:,}",
        official_rate(*run.official, run.items, stated_pass=passed, stated_of=of),
        recomputed(*run.rule, run.items),
        rate_of(*run.corrected, run.items),
    ]
    shares = zip(SOURCES, (run.official, run.rule, run.corrected), strict=True)
    cells = ["·" if cell == NOTHING else cell for cell in cells]
    return TableRow(cells, bars=[Bar(source, ok / known) for source, (ok, known) in shares if 0 < known == run.items])
