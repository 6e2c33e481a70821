"""Query the items on which an annotator's own verdicts contradict each other, such as `db` fail
and `correct` pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_CONTRADICTIONS = """
SELECT i.item, i.run, i.id, h.contradicting FROM human_labels h JOIN item_rows i USING (item)
WHERE i.run IN (SELECT unnest(?::INTEGER[])) AND len(h.contradicting) > 0 ORDER BY i.item
"""

_ANNOTATORS_OF_ITEM = "SELECT contradicting FROM human WHERE item = ?"


@dataclass(frozen=True, slots=True)
class ItemContradiction:
    item: int
    run: int
    id: str
    annotators: list[str]
    """Names of the annotators whose verdict on the item contradicts their verdicts on its parts
    or criteria.
    """


def fetch_contradictions(connection: Connection, runs: Sequence[int]) -> list[ItemContradiction]:
    rows = connection.execute(_CONTRADICTIONS, [list(runs)]).fetchall()
    return [
        ItemContradiction(item=item, run=run, id=item_id, annotators=annotators)
        for item, run, item_id, annotators in rows
    ]


def has_contradiction(connection: Connection, item: int, annotator: str) -> bool:
    """Whether the verdict of an annotator on an item contradicts their own other verdicts on it."""
    rows = connection.execute(_ANNOTATORS_OF_ITEM, [item]).fetchall()
    return any(annotator in annotators for (annotators,) in rows)
