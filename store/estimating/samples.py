"""Which items each queue file could have drawn, and with which chance: what makes a review one of a random sample."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from fcreview.estimate.standing import cell_text
from fcreview.review import ItemKey
from fcreview.sampling.shares import Sharing
from fcreview.store.filters.words import FilterError
from fcreview.store.queues.creating import Wanted, population_of
from fcreview.store.queues.file import QueueError, QueueFile, QueueItem, read_queues
from fcreview.store.rows import View

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.workspace import Workspace

RUN = ("benchmark", "generation", "language", "model")
"""What tells a run from others, in keys and in queue files."""
Content = str
"""Key and hashes of an item as JSON text."""


@dataclass(slots=True)
class Sample:
    """A queue file that was drawn afresh, with those that go on with it."""

    queue: QueueFile
    strata: dict[Content, str]
    """Of every item that it could have drawn."""
    files: dict[str, set[Content]]
    """By name of the queue file, and of those that extend it, the items that were drawn."""
    extensions: list[QueueFile] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        return set(self.files)

    @property
    def items(self) -> set[Content]:
        """That were drawn, by one file or another."""
        return set().union(*self.files.values())

    def chance(self, content: Content, own: bool | None) -> float:
        """With which the item was drawn, by the queue or by one that extends it; `own`: its automatic verdict."""
        stratum = self.strata[content]
        chances = {each.name: each.probability for each in self.queue.strata}
        left = 1.0 - chances[stratum]
        key = ItemKey(*orjson.loads(content)[: len(ItemKey._fields)])
        for queue in self.extensions:
            if any(all(run[name] == getattr(key, name) for name in RUN) for run in queue.design.runs):
                cells = cell_text(stratum, own), cell_text(stratum, own, key.category)
                left *= 1.0 - next((each.probability for each in queue.strata if each.name in cells), 0.0)
        return 1.0 - left


def samples(connection: DuckDBPyConnection, workspace: Workspace) -> tuple[list[Sample], list[str]]:
    """The samples that can still be reconstructed, and why others cannot: they are not counted as random."""
    found: dict[str, Sample] = {}
    problems, extending = [], []
    for queue in read_queues(workspace):
        if isinstance(queue, QueueError):
            problems.append(str(queue))
        elif queue.design.extends:
            extending.append(queue)
        else:
            strata = _strata(connection, queue)
            if strata is None:
                problems.append(f"queue {queue.name}: the items it was drawn from are not the same any more")
                continue
            found[queue.name] = Sample(queue, strata, {queue.name: _contents(queue)})
    for queue in sorted(extending, key=lambda each: each.created):
        sample = next((each for each in found.values() if queue.design.extends in each.names), None)
        if sample is None:
            problems.append(f"queue {queue.name}: {queue.design.extends}, which it extends, cannot be used")
            continue
        _extend(sample, queue)
    return list(found.values()), problems


def drawn_whole(workspace: Workspace, known: Set[Content]) -> set[Content]:
    """Items of queue files of which every item is known: nobody chose among them, whether or not reviews name the
    file."""
    files = [_contents(queue) for queue in read_queues(workspace) if not isinstance(queue, QueueError)]
    return set().union(*(items for items in files if items <= known))


def content_of(*parts: str | None) -> Content:
    """Of key fields and the two hashes."""
    return orjson.dumps([part or "" for part in parts]).decode()


def _extend(sample: Sample, queue: QueueFile) -> None:
    sample.files[queue.name] = _contents(queue)
    sample.extensions.append(queue)


def _strata(connection: DuckDBPyConnection, queue: QueueFile) -> dict[Content, str] | None:
    """As it was when the queue was made; None if it is not."""
    sizes = {stratum.name: stratum.size for stratum in queue.strata}
    drawn = _contents(queue)
    for runs in (_runs(connection, queue), ()):
        wanted = Wanted(
            queue.name, View(queue.design.where, "dataset", 0, runs), None, queue.design.stratify, Sharing(())
        )
        try:
            strata = population_of(connection, wanted)
        except (FilterError, QueueError):
            return None
        counts: dict[str, int] = {}
        for name in strata.values():
            counts[name] = counts.get(name, 0) + 1
        if counts == sizes and drawn <= strata.keys():
            return strata
    return None


def _runs(connection: DuckDBPyConnection, queue: QueueFile) -> tuple[int, ...]:
    """Those that it was drawn from, by what they are."""
    drawn = {tuple(run[name] for name in RUN) for run in queue.design.runs}
    rows = connection.execute(f"SELECT run, {', '.join(RUN)} FROM runs ORDER BY run").fetchall()
    return tuple(run for run, *of in rows if tuple(of) in drawn)


def _contents(queue: QueueFile) -> set[Content]:
    return {_content(item) for item in queue.items}


def _content(item: QueueItem) -> Content:
    return content_of(*item.key, item.prediction_hash, item.golden_hash)
