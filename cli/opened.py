"""What a command works on: a workspace that is up to date, and the items of it that it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.output import emit, note
from fcreview.rollup import UNANIMOUS, Policy
from fcreview.sanitise import visible

if TYPE_CHECKING:
    from fcreview.cli.common import Place
    from fcreview.store.queues.file import QueueFile
    from fcreview.store.reviewer import Reviewer
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.rows import RunRow, View
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace

TOLD = 3
"""Warnings about journals that every command shows."""
LISTED = 8
"""Runs that are named where one has to be chosen."""


@dataclass(slots=True)
class Opened:
    """A workspace brought up to date, and which of its runs lie at the paths that were named."""

    workspace: Workspace
    annotator: str
    scope: tuple[int, ...] = ()
    """Numbers of those runs; empty for every run of the workspace."""
    policy: Policy = UNANIMOUS
    """What counts where annotators differ."""
    place: Place | None = None
    """What was named on the command line."""
    _store: Store | None = None
    _runs: list[RunRow] = field(default_factory=list)

    @property
    def store(self) -> Store:
        """Opened when first asked for."""
        if self._store is None:
            from fcreview.store.store import Store

            self._store = Store.open(self.workspace, self.annotator, policy=self.policy)
            _tell(self._store.reviews.warnings)
        return self._store

    @property
    def runs(self) -> list[RunRow]:
        if not self._runs:
            self._runs = [row for row in self.store.runs() if not self.scope or row.run in self.scope]
        return self._runs

    def head(self, *, as_json: bool = False) -> None:
        """Says at the head of figures and lists that they are made with another policy than the usual one; on stderr,
        where JSON follows."""
        if self.policy != UNANIMOUS:
            (note if as_json else emit)(
                f"policy {self.policy}: where annotators differ, what more than half say counts"
            )

    def why_none(self, view: View) -> str:
        """The likely reason why the view holds no item: a filter on what somebody else reviewed, say."""
        from fcreview.store.filters.language import parse
        from fcreview.store.reviews.reader import journal_files

        if not view.where.strip():
            return "there are no items"
        said = f"no item matches {visible(view.where)}"
        names = [journal.stem for journal in journal_files(self.workspace)]
        if not parse(view.where).reviews or self.annotator in names:
            return said
        others = f"reviews are of {visible(', '.join(names[:8]))}: --annotator NAME" if names else "nobody reviewed yet"
        return f"{said}: {visible(self.annotator)} has no reviews here, {others}"

    def close(self) -> None:
        if self._store is not None:
            self._store.close()

    def view(
        self, where: str = "", *, queue: str = "dataset", seed: int = 0, run: str | None = None, blind: bool = False
    ) -> View:
        """The items at the paths that the filter selects, where `@name` stands for one that the annotator saved.
        FilterError if it is not understood, UsageError for a queue that is not there or, blind, tells verdicts."""
        from fcreview.store.filters.saved import expanded, saved
        from fcreview.store.own import Own
        from fcreview.store.rows import QUEUES, SUSPECTS, TELLING, View

        if queue not in QUEUES:
            self.queue_file(queue)
        if blind and queue in TELLING:
            open_ = [name for name in QUEUES if name not in TELLING]
            raise UsageError(
                f"--queue {queue} tells verdicts: with --blind there are {', '.join(open_)}, and queue files"
            )
        where = expanded(where, saved(Own(self.workspace.root, self.annotator)), blind=blind)
        view = View(where, queue, seed, (self.run(run),) if run else self.scope)
        if queue == SUSPECTS:
            self.store.take_suspects(view)
        return view

    def to_review(
        self, where: str = "", *, queue: str | None = None, seed: int = 0, run: str | None = None, blind: bool = False
    ) -> View:
        """As `view`, of a queue file the annotator's share. Failures, or blind the dataset, if no queue is named."""
        usual = "dataset" if blind else "failures"
        return self.share(self.view(where, queue=queue or usual, seed=seed, run=run, blind=blind))

    def queue_file(self, name: str) -> QueueFile:
        """Ready to be asked for as `View.queue`. UsageError if there is none of this name."""
        from fcreview.store.queues.file import queue_names
        from fcreview.store.rows import QUEUES

        known = queue_names(self.workspace)
        if name not in known:
            raise UsageError(f"no queue {name!r}: there are {', '.join((*QUEUES, *known))}")
        return self.store.take_queue(name)

    def share(self, view: View) -> View:
        """Of a queue file the annotator's share; of another view what it is. CommandError for who has none."""
        if view.file is None:
            return view
        queue = self.queue_file(view.file)
        if queue.share_of(self.annotator) is None:
            names = ", ".join(share.annotator for share in queue.shares)
            raise CommandError(f"queue {view.file} has no share for {self.annotator}: --annotator is one of {names}")
        return replace(view, share=True)

    def run(self, named: str) -> int:
        """The number of the run that a person means by its number or model."""
        found = [row for row in self.runs if named in (str(row.run), row.info.model)]
        if len(found) == 1:
            return found[0].run
        said = "not one" if found else "none"
        raise CommandError(f"run {named!r} is {said} of the runs here: {listed(found or self.runs)}")

    def chosen(self, named: str | None) -> list[RunRow]:
        """The run that --run means; all of them where it was not given."""
        number = None if named is None else self.run(named)
        return [row for row in self.runs if number in (None, row.run)]

    def reviewer(self) -> Reviewer:
        from fcreview.store.reviewer import Reviewer

        return Reviewer(self.store, self.journal())

    def journal(self) -> Journal:
        from fcreview.store.reviews.journal import Journal

        return Journal(self.workspace, self.annotator)


def listed(rows: Sequence[RunRow]) -> str:
    """`1 gpt-4o, 2 maple-8b`, for who has to choose one; not safe to draw yet."""
    known = ", ".join(f"{row.run} {row.info.model}" for row in rows[:LISTED])
    return known + (f" and {len(rows) - LISTED} more" if len(rows) > LISTED else "")


def _tell(warnings: Sequence[str]) -> None:
    """Reviews that do not count because their lines cannot be read, on stderr."""
    for warning in warnings[:TOLD]:
        note(f"fcreview: {warning}")
    if len(warnings) > TOLD:
        note(f"fcreview: {len(warnings) - TOLD} more problems in the journals: fcreview doctor shows them")
