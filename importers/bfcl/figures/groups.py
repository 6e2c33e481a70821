"""Figures over categories, and the figures that these are parts of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fcreview.figures import Figure
from fcreview.importers.bfcl.figures.rates import Mean, Rates, mean, of_one, weighted


@dataclass(slots=True)
class CategoryGroup:
    """A figure and those it is made of; a category has none."""

    name: str
    mean: Mean
    parts: Sequence[CategoryGroup] = ()
    note: str = ""
    hidden: bool = False
    """The program prints N/A for it; what stands above it is computed with its `mean`."""

    def lines(self, level: int) -> Iterator[Figure]:
        if self.mean.of or self.mean.value is not None:
            value = None if self.hidden else self.mean.value
            under = self.mean
            n, of = (under.n, under.of) if under.of else (None, None)
            yield Figure("accuracy", self.name, value, level=level, note=self.note, n=n, of=of, digits=2)
        for part in self.parts:
            yield from part.lines(level + 1)

    def categories(self) -> Iterator[str]:
        if not self.parts:
            yield self.name
        for part in self.parts:
            yield from part.categories()


def all_of(rates: Rates, categories: Sequence[str]) -> list[CategoryGroup]:
    return [category_of(rates, category) for category in categories]


def category_of(rates: Rates, category: str) -> CategoryGroup:
    note = rates[category].note if category in rates else ""
    return CategoryGroup(category, of_one(rates, category), note=note)


def unweighted(
    name: str, parts: Sequence[CategoryGroup], _: Rates | None = None, *, absent_is_0: bool = False
) -> CategoryGroup:
    under = mean([part.mean for part in parts], absent_is_0=absent_is_0)
    return CategoryGroup(name, under, parts, counted_as_0(under) if absent_is_0 else without(under.missing))


def weighted_group(name: str, parts: Sequence[CategoryGroup], rates: Rates) -> CategoryGroup:
    under = weighted(rates, [part.name for part in parts])
    return CategoryGroup(name, under, parts, without(under.missing))


def na_if_missing(group: CategoryGroup) -> CategoryGroup:
    if group.mean.missing:
        group.hidden = True
        group.note = f"not run: {', '.join(group.mean.missing)}; printed as N/A, counted as 0 above"
        if not group.mean.of:
            group.mean = Mean(None, 0, 0, group.mean.missing)
    return group


def counted_as_0(under: Mean) -> str:
    return f"not run, counted as 0: {', '.join(under.missing)}" if under.missing else ""


def without(missing: Sequence[str]) -> str:
    return f"without {', '.join(missing)}: not run" if missing else ""
