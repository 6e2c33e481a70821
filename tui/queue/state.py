"""What the queue shows, as the person set it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.store.filters.language import Filter, parse, quote
from fcreview.store.filters.narrowing import FAILING, narrowed
from fcreview.store.rows import QUEUES, TELLING, View

ORDERS = {
    "failures": "failing items first",
    "dataset": "as in the benchmark's files",
    "disagreement": "where rule or judge contradicts the official verdict first",
    "unreviewed": "what you have not judged yet first",
    "random": "shuffled; taken again, shuffled anew",
    "stratified": "shuffled, of every category in turn",
    "judged": "only what a judge said something of",
    "uncertain": "only near misses: one argument differs, or a middling score",
    "suspects": "only golden answers that look wrong, most suspect first",
}
SHUFFLED = ("random", "stratified")
SHARE = "your share of the queue file, in its order"
ALL_RUNS = -1
"""What stands for them in a list of runs."""


def orders(blind: bool, file: str | None = None) -> dict[str, str]:
    """What the queue can be, and what that means; `file`: the queue file that was opened."""
    shown = {queue: ORDERS[queue] for queue in QUEUES if not (blind and queue in TELLING)}
    return {file: SHARE, **shown} if file else shown


@dataclass(frozen=True, slots=True)
class Setting:
    """What is set at one level of the queue; see `QueueState`."""

    where: str = ""
    search: str = ""
    queue: str = "failures"
    seed: int = 0
    run: int | None = None
    file: str | None = None
    items: tuple[int, ...] = ()


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
    file: str | None = None
    """The queue file that was opened."""
    items: tuple[int, ...] = ()
    """Those that a figure is of: filters look among them. Empty for all."""

    @classmethod
    def of(cls, view: View, blind: bool = False) -> QueueState:
        queue = view.queue if view.queue in orders(blind, view.file) else "dataset"
        return cls(where=view.where, queue=queue, seed=view.seed, blind=blind, scope=view.runs, file=view.file)

    @property
    def view(self) -> View:
        runs = self.scope if self.run is None else (self.run,)
        return View(self.combined(), self.queue, self.seed, runs, self.queue == self.file, self.items)

    @property
    def setting(self) -> Setting:
        return Setting(self.where, self.search, self.queue, self.seed, self.run, self.file, self.items)

    def restore(self, setting: Setting) -> None:
        """An order that is not offered now, such as a queue file of another time, stays what it is."""
        self.file = setting.file or self.file
        if setting.queue in orders(self.blind, self.file):
            self.queue, self.seed = setting.queue, setting.seed
        self.where, self.search, self.run, self.items = setting.where, setting.search, setting.run, setting.items

    @property
    def narrowed(self) -> bool:
        """Whether there is something that clearing takes away."""
        return bool(self.where or self.search or self.items)

    def combined(self) -> str:
        """Filter and search as one filter: both must hold. A search finds texts and ids."""
        if not self.search:
            return self.where
        searched = f"(text:{quote(self.search)} OR {quote(self.search)})"
        return f"({self.where}) {searched}" if self.where else searched

    def check(self, where: str) -> Filter:
        """Raises FilterError with the place of what is wrong, if there is something."""
        return parse(where, blind=self.blind)

    def clear(self) -> None:
        self._only("")

    def take_terms(self, terms: Sequence[str]) -> None:
        """Failing items of a group only, beside what is set."""
        self.where = narrowed(self.where, FAILING, *terms)

    def take_issue(self, where: str) -> None:
        """`where` selects the issue's item; empty for an issue of a file."""
        if where:
            self._only(where)

    def take_items(self, items: Sequence[int]) -> None:
        """These items only, whatever was set."""
        self._only("")
        self.items = tuple(items)

    def take_where(self, where: str) -> None:
        """This filter, whatever was set."""
        self._only(where)

    def _only(self, where: str) -> None:
        self.where, self.search, self.items = where, "", ()

    def take_file(self, name: str) -> None:
        """This annotator's share of a queue file."""
        self.file = self.queue = name

    def take_run(self, run: int) -> None:
        self.run = None if run == ALL_RUNS else run

    def take_order(self, queue: str) -> None:
        """What is shuffled, taken again, is shuffled anew."""
        if queue == self.queue and queue in SHUFFLED:
            self.seed += 1
        self.queue = queue
