"""Items of a view that somebody spoke of, with what everybody thinks of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.review import ItemKey, Opinion
from fcreview.store.queries.pages import FROM, condition

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.tables import ReviewTables
    from fcreview.store.rows import View


@dataclass(frozen=True, slots=True)
class Spoken:
    """One answer to one item."""

    item: int
    key: ItemKey
    hashes: tuple[str, str]
    """Of the answer: prediction and golden."""
    opinions: list[Opinion]


def spoken_of(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> Iterator[Spoken]:
    """In the order in which items were first spoken of. Where runs of one model hold the same answer to the same item,
    it is there once. FilterError for a filter that is not understood."""
    where, params, _ = condition(view, blind=False)
    text = f"SELECT i.item {FROM} WHERE h.item IS NOT NULL AND ({where})"
    chosen = {item for (item,) in connection.execute(text, params).fetchall()}
    for key, references in reviews.spoken_of():
        answers = {
            (prediction_hash, golden_hash): item
            for item, prediction_hash, golden_hash in reversed(references)
            if item in chosen
        }
        for hashes, item in answers.items():
            yield Spoken(item, key, hashes, reviews.opinions(key, *hashes))
