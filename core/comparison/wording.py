"""Comparisons in words: the same in commands, on screens and in reports. Pure."""

from __future__ import annotations

from fcreview.comparison.compared import Comparison, Part
from fcreview.comparison.outcomes import VerdictSource
from fcreview.estimate.intervals import LEVEL
from fcreview.text.words import count_of

INTERVAL = f"{100 * LEVEL:.0f} % score interval for paired proportions (Tango 1998)"
P_VALUE = "McNemar's exact test, two-sided"


def points(value: float | None) -> str:
    """A difference of shares in percentage points: `+2.5`; `·` for none."""
    return "·" if value is None else f"{100 * value + 0.0:+.1f}"


def p_value(p: float | None) -> str:
    """`0.031`, `<0.001`; `·` for none."""
    if p is None:
        return "·"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def difference_of(part: Part) -> str:
    """`+2.5 [-0.4, +5.4]`, in percentage points."""
    found = part.difference
    return points(found.value) + (f" [{points(found.low)}, {points(found.high)}]" if found.value is not None else "")


def tellable(comparison: Comparison, a: VerdictSource, b: VerdictSource) -> bool:
    """Whether the rates may be told: a recomputed verdict that only a part has is of a part that is no accident."""
    return all(
        source != "rule" or judged == comparison.overall.of
        for source, judged in zip((a, b), comparison.judged, strict=True)
    )


def remarks(comparison: Comparison, a: VerdictSource, b: VerdictSource) -> list[str]:
    """What is to be known of a comparison besides its numbers, a line each."""
    found = []
    lonely_a, lonely_b = comparison.lonely
    if lonely_a or lonely_b:
        lost = count_of(lonely_a, "item") + f" of A and {lonely_b:,} of B have no partner"
        if comparison.asked_otherwise:
            lost += f", {comparison.asked_otherwise:,} of them because the question is another"
        found.append(lost)
    if len(comparison.generations) > 1:
        found.append(f"generations {', '.join(comparison.generations)}: matched by all else")
    overall = comparison.overall
    if overall.counts.n < overall.of:
        has = [
            f"{name} ({source}) {judged:,}"
            for name, source, judged in zip(("A", "B"), (a, b), comparison.judged, strict=True)
            if judged < overall.of
        ]
        found.append(f"of {count_of(overall.of, 'pair')} both have a verdict on {overall.counts.n:,}: {', '.join(has)}")
    if not tellable(comparison, a, b):
        found.append("which items can be recomputed is no accident: rates and their difference are not told")
    if comparison.in_groups:
        found.append("several items are of one conversation: p and interval take them as independent and are too sure")
    return found
