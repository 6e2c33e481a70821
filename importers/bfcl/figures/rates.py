"""Means over BFCL categories, and what they rest on.

Three things may be the matter with a category: it was not run, it was run but this source has no verdict on it, or
on some of its items only. What was not run counts as 0 where the official program counts it so, and is left out
elsewhere; a mean with a category without a verdict is not given; one over a part says the denominator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fcreview.figures import Scored
from fcreview.text.stated import stated


class Rate(NamedTuple):
    """Passes out of the items with a known verdict, and how many items there are."""

    passed: int
    known: int
    items: int
    note: str = ""
    """Why there is no verdict that says something."""


Rates = Mapping[str, Rate]
"""By category; one that was not run is not in it."""


class Mean(NamedTuple):
    """A figure over one or more categories."""

    value: float | None
    """0 to 1; None if a category that was run has no verdict, or none was run."""
    n: int
    """Items with a verdict."""
    of: int
    """Items of the categories that were run; 0 if none was."""
    missing: tuple[str, ...] = ()
    """Categories that were not run."""


def rates_of(rows: Iterable[Scored], headers: Mapping[str, Any]) -> dict[str, Rate]:
    """`headers` are the score files', by category."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        count = counts.setdefault(row.category, [0, 0, 0])
        count[2] += row.times
        if row.valid is not None:
            count[0] += row.times if row.valid else 0
            count[1] += row.times
    rates = {}
    for name, (passed, known, items) in counts.items():
        said = stated(headers.get(name), items, passed)
        rates[name] = Rate(0, 0, items, said.words) if said else Rate(passed, known, items)
    return rates


def mean(parts: Sequence[Mean], *, absent_is_0: bool = False) -> Mean:
    """Unweighted."""
    run = [part for part in parts if part.of]
    n, of = sum(part.n for part in parts), sum(part.of for part in parts)
    missing = tuple(category for part in parts for category in part.missing)
    values = [part.value for part in run if part.value is not None]
    if len(values) < len(run) or not (run or absent_is_0):
        return Mean(None, n, of, missing)
    return Mean(sum(values) / len(parts if absent_is_0 else run), n, of, missing)


def of_one(rates: Rates, category: str) -> Mean:
    """Of a single category."""
    rate = rates.get(category)
    if rate is None:
        return Mean(None, 0, 0, (category,))
    return Mean(rate.passed / rate.known if rate.known else None, rate.known, rate.items)


def weighted(rates: Rates, categories: Sequence[str], sizes: Mapping[str, int] | None = None) -> Mean:
    """Passes of all categories out of all their items. With `sizes`, one that was not run counts as that many items
    failed."""
    run = [rates[category] for category in categories if category in rates]
    missing = tuple(category for category in categories if category not in rates)
    failed = sum(sizes[category] for category in missing) if sizes else 0
    known, items = sum(part.known for part in run), sum(part.items for part in run)
    if any(part.known == 0 for part in run) or not known + failed:
        return Mean(None, known, items, missing)
    return Mean(sum(part.passed for part in run) / (known + failed), known, items, missing)


def pooled(rates: Rates, categories: Iterable[str]) -> Mean:
    """Passes out of whatever has a verdict: it says its denominator."""
    run = [rates[category] for category in categories if category in rates]
    known = sum(part.known for part in run)
    value = sum(part.passed for part in run) / known if known else None
    return Mean(value, known, sum(part.items for part in run))
