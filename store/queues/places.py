"""Queue files as a table beside the store: which item comes where in whose share.

`queue_places`: queue, annotator, place (from 0), item, number (that of `presentations`). A file is taken in when it is
first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.store.queues.file import QueueFile, read_queue
from fcreview.store.queues.presentations import presented
from fcreview.store.reviews.references import References

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.workspace import Workspace

_TABLE = """
CREATE TEMP TABLE IF NOT EXISTS queue_places
(queue VARCHAR, annotator VARCHAR, place BIGINT, item BIGINT, "number" BIGINT)
"""


class QueuePlaces:
    """Not for two threads at once."""

    def __init__(self, connection: DuckDBPyConnection, workspace: Workspace) -> None:
        self._connection, self._workspace = connection, workspace
        self._taken: dict[str, QueueFile] = {}
        self._items: dict[str, list[int | None]] = {}

    def take(self, name: str) -> QueueFile:
        """The queue, its places in the table. QueueError if it is not there or cannot be read."""
        if name not in self._taken:
            queue = read_queue(self._workspace, name)
            items = self._items[name] = self._found(queue)
            self._connection.execute(_TABLE)
            rows = [
                (share.annotator, place, item, presented(item, 2 if place in share.repeats else 1))
                for share in queue.shares
                for place, at in enumerate(share.order)
                if (item := items[at]) is not None
            ]
            columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
            self._connection.execute(
                "INSERT INTO queue_places SELECT $1, unnest($2::VARCHAR[]), unnest($3::BIGINT[]),"
                " unnest($4::BIGINT[]), unnest($5::BIGINT[])",
                [name, *columns],
            )
            self._taken[name] = queue
        return self._taken[name]

    def items(self, name: str) -> list[int | None]:
        """The queue's items in the store, in the order of the file; None for one that is not in it any more."""
        self.take(name)
        return self._items[name]

    def _found(self, queue: QueueFile) -> list[int | None]:
        """Where runs of one model share a key, the one whose answer was drawn."""
        references = References(self._connection)
        references.find_many(list(dict.fromkeys(item.key for item in queue.items)))
        found: list[int | None] = []
        for item in queue.items:
            there = references.of(item.key)
            drawn = (each.item for each in there if each[1:] == (item.prediction_hash, item.golden_hash))
            found.append(next(drawn, there[0].item if there else None))
        return found
