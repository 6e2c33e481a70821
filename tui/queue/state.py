"""What the queue shows, as the person set it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fcreview.store.filters.language import Filter, parse, quote
from fcreview.store.rows import QUEUES, View

ORDERS = {
    "failures": "failing items first",
    "dataset": "as in the benchmark's files",
    "disagreement": "where the checker or the judge contradicts the official verdict first",
    "unreviewed": "what you have not judged yet first",
    "random": "shuffled; taken again, shuffled anew",
}
TELLING = ("failures", "disagreement")
"""Orders that tell verdicts: not offered in blind mode."""
_SCOPE = re.compile(r"run:(\d+(?:,\d+)+)(?: \((.*)\))?", re.DOTALL)
"""How a filter begins that was made for the paths that were opened: `run:1,2 (official:fail)`."""


def orders(blind: bool) -> list[str]:
    return [queue for queue in QUEUES if not (blind and queue in TELLING)]


@dataclass(slots=True)
class QueueState:
    where: str = ""
    search: str = ""
    """Words that items must contain, typed behind `/`."""
    queue: str = "failures"
    seed: int = 0
    run: int | None = None
    blind: bool = False
    scope: tuple[int, ...] = ()
    """Runs that were opened; empty for all of the workspace. Not a part of the filter: clearing that keeps it."""

    @classmethod
    def of(cls, view: View, blind: bool = False) -> QueueState:
        queue = view.queue if view.queue in orders(blind) else "dataset"
        where, scope = view.where, tuple[int, ...]()
        if found := _SCOPE.fullmatch(where.strip()):
            scope, where = tuple(map(int, found[1].split(","))), found[2] or ""
        return cls(where=where, queue=queue, seed=view.seed, run=view.run, blind=blind, scope=scope)

    @property
    def view(self) -> View:
        return View(where=self.combined(), queue=self.queue, seed=self.seed, run=self.run)

    def combined(self) -> str:
        """Filter, search and the runs that were opened as one filter: all must hold."""
        terms = ["text:" + quote(self.search)] if self.search else []
        if self.scope and self.run is None:
            terms.insert(0, "run:" + ",".join(map(str, self.scope)))
        if not terms:
            return self.where
        return " ".join([f"({self.where})", *terms] if self.where else terms)

    def check(self, where: str) -> Filter:
        """Raises FilterError with the place of what is wrong, if there is something."""
        return parse(where, blind=self.blind)

    def take_order(self, queue: str) -> None:
        """Random again shuffles anew."""
        if queue == "random" and self.queue == "random":
            self.seed += 1
        self.queue = queue
