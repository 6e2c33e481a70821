"""Calibration of every source, judge and criterion: confusion matrix, figures, and the kinds of cases it gets wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fcreview.agreement.ratings import category as label_of
from fcreview.calibration.cases import Case, CaseGroup, Chosen, Scope, case_groups
from fcreview.calibration.rates import Rate, binary_rates, other_rates

WrongBy = Literal["category", "error", "function"]
WRONG_BY: tuple[WrongBy, ...] = ("category", "error", "function")


@dataclass(frozen=True, slots=True)
class Cell:
    """Cases of which the source and people say these two things."""

    said: Any
    settled: Any
    n: int
    items: tuple[int, ...]
    """Each once."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One source on one criterion in one group."""

    scope: Scope
    name: str | None
    source: str
    judge: str | None
    criterion: str
    binary: bool
    chosen: Chosen
    n: int
    n_random: int
    cells: tuple[Cell, ...]
    """The confusion matrix: right ones first, what does not occur is left out."""
    rates: tuple[Rate, ...]


@dataclass(frozen=True, slots=True)
class WrongKind:
    """Cases alike that a source gets wrong in the same way: those of one category, error type or function."""

    source: str
    judge: str | None
    criterion: str
    by: WrongBy
    name: str
    said: Any
    settled: Any
    wrong: int
    of: int
    """Cases of this kind on which the source said this."""
    items: tuple[int, ...]
    """That it gets wrong; each once."""


def calibration(cases: Iterable[Case], scopes: Iterable[Scope]) -> Iterator[Calibration]:
    yield from map(calibrated, case_groups(cases, scopes))


def calibrated(group: CaseGroup) -> Calibration:
    cells = _cells(group.cases)
    return Calibration(
        scope=group.scope,
        name=group.name,
        source=group.source,
        judge=group.judge,
        criterion=group.criterion,
        binary=group.binary,
        chosen=group.chosen,
        n=len(group.cases),
        n_random=sum(case.random for case in group.cases),
        cells=cells,
        rates=tuple(_rates(group, cells)),
    )


def wrong_kinds(cases: Iterable[Case]) -> Iterator[WrongKind]:
    """Of each source, judge and criterion, most cases first."""
    for group in case_groups(cases, ("overall",)):
        found = [kind for by in WRONG_BY for kind in _kinds(group, by)]
        yield from sorted(found, key=lambda kind: (WRONG_BY.index(kind.by), -kind.wrong, kind.name))


def _kinds(group: CaseGroup, by: WrongBy) -> Iterator[WrongKind]:
    said: Counter[tuple[str, Any]] = Counter()
    wrong: dict[tuple[str, Any, Any], list[Case]] = {}
    for case in group.cases:
        name = getattr(case, by)
        if name is None:
            continue
        said[name, label_of(case.said)] += 1
        if not case.right:
            wrong.setdefault((name, label_of(case.said), label_of(case.settled)), []).append(case)
    for (name, label, _), some in wrong.items():
        items = tuple(dict.fromkeys(case.item for case in some))
        yield WrongKind(
            group.source, group.judge, group.criterion, by, name,
            some[0].said, some[0].settled, len(some), said[name, label], items,
        )  # fmt: skip


def _cells(cases: Iterable[Case]) -> tuple[Cell, ...]:
    found: dict[tuple[Any, Any], list[Case]] = {}
    for case in cases:
        found.setdefault((label_of(case.said), label_of(case.settled)), []).append(case)
    order = sorted(found, key=lambda labels: (labels[0] != labels[1], str(labels[0]) != "True", str(labels)))
    return tuple(
        Cell(some[0].said, some[0].settled, len(some), tuple(dict.fromkeys(case.item for case in some)))
        for some in (found[labels] for labels in order)
    )


def _rates(group: CaseGroup, cells: tuple[Cell, ...]) -> list[Rate]:
    if group.binary:
        counts = {(cell.said, cell.settled): cell.n for cell in cells}
        return binary_rates(
            [counts.get(pair, 0) for pair in ((True, True), (True, False), (False, True), (False, False))]
        )
    number: dict[Any, int] = {}
    pairs = [
        (number.setdefault(label_of(case.said), len(number)), number.setdefault(label_of(case.settled), len(number)))
        for case in group.cases
    ]
    return other_rates(pairs)
