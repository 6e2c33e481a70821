"""What annotators do not agree on in the items of a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.agreement.disputes import Dispute, disputes
from fcreview.store.queries.spoken import spoken_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.tables import ReviewTables
    from fcreview.store.rows import View


@dataclass(frozen=True, slots=True)
class Disputed:
    """A dispute and where it is."""

    item: int
    dispute: Dispute


def disputed(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> list[Disputed]:
    """What is not settled, in the order of items. FilterError for a filter that is not understood."""
    found = [
        Disputed(of.item, dispute)
        for of in spoken_of(connection, reviews, view)
        if len(of.opinions) > 1
        for dispute in disputes(of.key, of.opinions, reviews.build(of.item))
    ]
    return sorted(found, key=lambda each: each.item)


def disputed_in(reviews: ReviewTables, item: int) -> list[Dispute]:
    """What is not settled of one item. KeyError if there is no such item."""
    key, *hashes = reviews.reference(item)
    return disputes(key, reviews.opinions(key, *hashes), reviews.build(item))
