"""What an automatic source said beside what people settled, and the groups in which the two are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from fcreview.agreement.ratings import category as label_of
from fcreview.agreement.ratings import level_of

Scope = Literal["overall", "benchmark", "category", "tier", "error", "function"]
SCOPES: tuple[Scope, ...] = ("overall", "benchmark", "category", "tier", "error", "function")
Chosen = Literal["random", "by hand", "both"]
"""How the items came before people: in a sample with known probabilities, otherwise, some so and some so."""


@dataclass(frozen=True, slots=True)
class Case:
    """One automatic verdict on one target and criterion that people settled."""

    item: int
    source: str
    """`official`, `rule` or `judge`."""
    judge: str | None
    """Which judge; None for the other sources."""
    criterion: str
    said: Any
    settled: Any
    random: bool
    """The review was given in a queue file, or the item is of one that is settled whole."""
    benchmark: str
    category: str
    tier: str | None = None
    """Of the checker, where one says by what it decided."""
    error: str | None = None
    function: str | None = None
    """Of the first difference."""

    @property
    def right(self) -> bool:
        return label_of(self.said) == label_of(self.settled)


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Cases of one source and criterion that one set of figures is made of."""

    scope: Scope
    name: str | None
    """The benchmark, category, ...; None overall, and for cases without one."""
    source: str
    judge: str | None
    criterion: str
    cases: tuple[Case, ...]

    @property
    def binary(self) -> bool:
        """Whether both say yes or no."""
        return all(isinstance(value, bool) for case in self.cases for value in (case.said, case.settled))

    @property
    def chosen(self) -> Chosen:
        random = sum(case.random for case in self.cases)
        return "random" if random == len(self.cases) else "both" if random else "by hand"


def comparable(cases: Iterable[Case]) -> list[Case]:
    """Numbers compare as numbers: 1 and 1.0 are one label."""
    found = []
    for case in cases:
        if level_of((case.said, case.settled)) == "ordinal":
            case = replace(case, said=float(case.said), settled=float(case.settled))
        found.append(case)
    return found


def case_groups(cases: Iterable[Case], scopes: Iterable[Scope]) -> Iterator[CaseGroup]:
    """By scope; within it by source, judge and criterion, then by name. What has no tier, error or function is left
    out of those scopes."""
    comparing = comparable(cases)
    for scope in scopes:
        found: dict[tuple[str, str | None, str, str | None], list[Case]] = {}
        for case in comparing:
            name = None if scope == "overall" else getattr(case, scope)
            if scope == "overall" or name is not None:
                found.setdefault((case.source, case.judge, case.criterion, name), []).append(case)
        for (source, judge, criterion, name), some in sorted(
            found.items(), key=lambda pair: [n or "" for n in pair[0]]
        ):
            yield CaseGroup(scope, name, source, judge, criterion, tuple(some))
