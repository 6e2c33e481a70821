"""Table of the progress of annotators in queue files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.model.sanitize import sanitize
from fcreview.tables.table import Column, Table, make_row

QUEUE_TITLE = "queue"
ITEMS_TITLE = "items"


@dataclass(frozen=True, slots=True)
class ShareProgress:
    """Number of items in an annotator's share, and how many of these items the annotator has
    reviewed.
    """

    annotator: str
    done: int
    total: int
    """Number of items to review. A hidden duplicate counts as one more."""
    missing: int
    """Number of items of the share that are no longer in the database.

    `total` does not count them.
    """

    @property
    def summary(self) -> str:
        """The progress as text, such as `12 of 80`."""
        return f"{self.done:,} of {self.total:,}"


@dataclass(frozen=True, slots=True)
class QueueShares:
    """A queue file with the progress of its annotators."""

    name: str
    n_items: int
    shares: Sequence[ShareProgress]


def build_progress_table(queues: Sequence[QueueShares]) -> Table:
    """Return a table with a row for each annotator of each queue.

    If items of a queue are no longer in the database, a last column counts them.
    """
    columns = [
        Column(QUEUE_TITLE),
        Column(ITEMS_TITLE, align_right=True),
        Column("annotator"),
        Column("done"),
    ]
    has_missing = any(share.missing for queue in queues for share in queue.shares)
    if has_missing:
        columns.append(Column("missing", align_right=True))

    rows = []
    for queue in queues:
        for share in queue.shares:
            texts = [
                sanitize(queue.name),
                f"{queue.n_items:,}",
                sanitize(share.annotator),
                share.summary,
            ]
            if has_missing:
                texts.append(f"{share.missing:,}")
            rows.append(make_row(texts))
    return Table(columns, rows)
