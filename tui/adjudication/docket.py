"""What there is to settle, where the adjudicator stands in it, and what has been settled since. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fcreview.agreement.disputes import Dispute
from fcreview.targets import ITEM

Name = tuple[int, str, str]
"""(item, target, criterion)"""


@dataclass(slots=True)
class Case:
    """One target on which annotators differ, as it was when it was last open."""

    item: int
    """`QueueRow.item`"""
    dispute: Dispute
    settled: bool = False

    @property
    def name(self) -> Name:
        return self.item, self.dispute.target, self.dispute.criterion


@dataclass(slots=True)
class Docket:
    """Parts stand before their item: what is settled of them often settles the item."""

    cases: list[Case] = field(default_factory=list)
    at: int = 0

    @classmethod
    def of(cls, found: Iterable[tuple[int, Dispute]]) -> Docket:
        """`found` in the order of items."""
        cases = [Case(item, dispute) for item, dispute in found]
        place = {item: at for at, item in enumerate(dict.fromkeys(case.item for case in cases))}
        return cls(sorted(cases, key=lambda case: (place[case.item], case.dispute.target == ITEM)))

    @property
    def case(self) -> Case | None:
        return self.cases[self.at] if self.cases else None

    @property
    def settled(self) -> int:
        return sum(case.settled for case in self.cases)

    @property
    def done(self) -> bool:
        return self.settled == len(self.cases)

    def renew(self, item: int, disputes: Sequence[Dispute]) -> None:
        """What is open of an item now. A dispute that came up stands behind the item's others."""
        here = self.case
        open_ = {(item, each.target, each.criterion): each for each in disputes}
        for case in self.cases:
            if case.item == item:
                now = open_.pop(case.name, None)
                case.settled, case.dispute = now is None, now or case.dispute
        last = max((at for at, case in enumerate(self.cases) if case.item == item), default=len(self.cases) - 1)
        self.cases[last + 1 : last + 1] = [Case(item, each) for each in open_.values()]
        if here is not None:
            self.at = self.cases.index(here)

    def next_open(self) -> bool:
        """To the next that is not settled, round at the end; False if there is none."""
        size = len(self.cases)
        for step in range(1, size + 1):
            if not self.cases[(self.at + step) % size].settled:
                self.at = (self.at + step) % size
                return True
        return False

    def step(self, by: int) -> bool:
        if not 0 <= self.at + by < len(self.cases):
            return False
        self.at += by
        return True

    def find(self, name: Name) -> bool:
        found = next((at for at, case in enumerate(self.cases) if case.name == name), None)
        if found is not None:
            self.at = found
        return found is not None
