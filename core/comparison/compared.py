"""Two runs, or two sources' verdicts on one run, compared: overall, by category, and every flip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.comparison.flips import Flip, flips
from fcreview.comparison.outcomes import Aligned, Outcome, Row, aligned
from fcreview.comparison.paired import Counts, Difference, counts_of, difference


@dataclass(frozen=True, slots=True)
class Part:
    """Counts of all partners, or of those of one category."""

    category: str | None
    """None: all."""
    counts: Counts
    difference: Difference
    of: int
    """Partners; more than `counts.n` where a side has no verdict on some."""


@dataclass(frozen=True, slots=True)
class Comparison:
    overall: Part
    categories: list[Part]
    """In the order of the dataset; those without partners are not here."""
    flips: list[Flip]
    lonely: tuple[int, int]
    """Items of A and of B that have no partner."""
    asked_otherwise: int
    """Items of one id that ask different questions; counted as lonely too."""
    generations: tuple[str, ...]
    judged: tuple[int, int]
    """Partners on which A's and B's source has a verdict."""
    in_groups: bool
    """Several items are of one conversation, so they are not independent of each other: the test and the interval take
    them as if they were, and are too sure."""


def compared(a: Sequence[Outcome], b: Sequence[Outcome]) -> Comparison:
    both = aligned([a, b])
    partners = both.whole
    categories: dict[str, list[Row]] = {}
    for row in partners:
        categories.setdefault(row.place.category, []).append(row)
    return Comparison(
        overall=_part(None, partners),
        categories=[_part(name, rows) for name, rows in categories.items()],
        flips=flips(partners),
        lonely=(both.alone(0), both.alone(1)),
        asked_otherwise=both.asked_otherwise,
        generations=both.generations,
        judged=(_judged(partners, 0), _judged(partners, 1)),
        in_groups=grouped(both),
    )


def _part(category: str | None, rows: Sequence[Row]) -> Part:
    verdicts = []
    for row in rows:
        a, b = (each.verdict if each else None for each in row.outcomes)
        if a is not None and b is not None:
            verdicts.append((a, b))
    counts = counts_of(verdicts)
    return Part(category, counts, difference(counts), len(rows))


def _judged(rows: Sequence[Row], side: int) -> int:
    return sum(each is not None and each.verdict is not None for row in rows for each in row.outcomes[side : side + 1])


def grouped(both: Aligned) -> bool:
    """Whether any two items are of one group."""
    seen: set[tuple[str, str]] = set()
    for row in both.rows:
        group = next((each.group for each in row.outcomes if each is not None), None)
        if group is not None:
            if (row.place.category, group) in seen:
                return True
            seen.add((row.place.category, group))
    return False
