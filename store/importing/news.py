"""What an import brought: items that are new, that have changed, that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fcreview.store.connecting import attach
from fcreview.store.importing.building import literal
from fcreview.store.rows import News

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

_ITEMS = (
    "SELECT run, hash(category, id) AS item, any_value(hash(prediction_hash, golden_hash)) AS content"
    " FROM store.item_rows GROUP BY ALL"
)


class Before:
    """The items as they were before an import: two hashes of each. Use as a context manager."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._connection = attach(workspace.store)
        self._connection.execute(f"CREATE TEMP TABLE before AS {_ITEMS}")
        self._connection.execute("USE memory")
        self._connection.execute("DETACH store")  # so that the file that takes its place can be attached

    def __enter__(self) -> Before:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def news(self, runs: Sequence[int]) -> News:
        """Of these runs; of all, if none is named. An item has changed if its prediction or golden answer has."""
        self._connection.execute(f"ATTACH {literal(self._workspace.store)} AS store (READ_ONLY)")
        found = self._connection.execute(
            "SELECT count(*) FILTER (b.run IS NULL), count(*) FILTER (b.content <> a.content),"
            f" count(*) FILTER (a.run IS NULL) FROM ({_ITEMS}) a FULL JOIN temp.before b USING (run, item)"
            " WHERE len(?::INTEGER[]) = 0 OR list_contains(?::INTEGER[], coalesce(a.run, b.run))",
            [list(runs), list(runs)],
        ).fetchall()
        return News(*found[0])
