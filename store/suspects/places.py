"""The queue of suspects as a table beside the store: one item of every question whose golden answer looks wrong.

`suspect_places`: scope (the view's runs, as text), item, rank from 0. It is worked out when first asked for, and holds
still in a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.store.rows import View

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.suspects.score import Suspect

_TABLE = """
CREATE TEMP TABLE IF NOT EXISTS suspect_places (scope VARCHAR, item BIGINT, rank BIGINT)
"""


class SuspectPlaces:
    """Not for two threads at once."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._taken: set[str] = set()

    def take(self, view: View) -> None:
        """Makes the rows for the view's runs; its filter does not matter."""
        if view.scope in self._taken:
            return
        from fcreview.store.suspects.panel import panel
        from fcreview.suspects.score import suspects

        found = panel(self._connection, View(runs=view.runs))
        items = [item_of(each) for each in suspects(found.cases, found.witnesses) if each.reasons]
        self._connection.execute(_TABLE)
        self._connection.execute(
            "INSERT INTO suspect_places SELECT $1, unnest($2::BIGINT[]), unnest($3::BIGINT[])",
            [view.scope, items, list(range(len(items)))],
        )
        self._taken.add(view.scope)


def item_of(suspect: Suspect) -> int:
    """The item that shows it best: an answer that competes with golden, else one that fails, else any."""
    other = suspect.alternative
    competing = set(other.runs) if other else set()
    return min(
        (run not in competing, answer.passed is not False, run, item)
        for answer in suspect.case.answers
        for run, item in zip(answer.runs, answer.items, strict=True)
    )[-1]
