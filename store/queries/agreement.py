"""What annotators said of the items of a view, as figures of agreement are made of it.

Items of a view that somebody spoke of, with what everybody thinks of them.

What annotators do not agree on in the items of a view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.model.decision import Dispute, disputes
from fcreview.model.review import ItemKey, Opinion
from fcreview.stats.agreement import Rating
from fcreview.stats.self_agreement import Repeated
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.rows import View


@dataclass(frozen=True, slots=True)
class ReviewedItem:
    """One answer to one item."""

    item: int
    key: ItemKey
    hashes: tuple[str, str]
    """Of the answer: prediction and golden."""
    opinions: list[Opinion]


def fetch_reviewed_items(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> Iterator[ReviewedItem]:
    """In the order in which items were first spoken of. Where runs of one model hold the same answer to the same item,
    it is there once. FilterError for a filter that is not understood."""
    where, params, _ = build_condition(view, blind=False)
    text = f"SELECT i.item {FROM_ITEMS} WHERE h.item IS NOT NULL AND ({where})"
    chosen = {item for (item,) in connection.execute(text, params).fetchall()}
    for key, references in reviews.reviewed_keys():
        answers = {
            (prediction_hash, golden_hash): item
            for item, prediction_hash, golden_hash in reversed(references)
            if item in chosen
        }
        for hashes, item in answers.items():
            yield ReviewedItem(item, key, hashes, reviews.opinions(key, *hashes))


def fetch_ratings(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> list[Rating]:
    """One a current verdict ("unsure" too), in the order of `spoken_of`. Not those that are stale or were taken back,
    no adjudications, and nothing that only follows from verdicts on parts. FilterError for a filter that is not
    understood."""
    return [
        Rating(of.item, of.key, said.target, said.criterion, said.annotator, said.verdict, said.fault, said.blind)
        for of in fetch_reviewed_items(connection, reviews, view)
        for said in of.opinions
        if said.verdict is not None and not said.stale and not said.adjudicated
    ]


def fetch_duplicate_reviews(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> list[Repeated]:
    """What annotators answered both times that an item came to them: what they held when it came again, and what they
    said then. Not what is stale or was taken back. FilterError for a filter that is not understood."""
    found = []
    for of in fetch_reviewed_items(connection, reviews, view):
        for annotator in reviews.events.annotators_with_repetition(of.key):
            first, second = reviews.events.first_and_second_opinions(of.key, annotator, *of.hashes)
            held = {(said.target, said.criterion): said.verdict for said in first if said.verdict is not None}
            found += [
                Repeated(of.item, of.key, *about, annotator, held[about], said.verdict)
                for said in second
                if said.verdict is not None and (about := (said.target, said.criterion)) in held
            ]
    return found


@dataclass(frozen=True, slots=True)
class ItemDisagreement:
    """A dispute and where it is."""

    item: int
    dispute: Dispute


def fetch_disagreements(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> list[ItemDisagreement]:
    """What is not settled, in the order of items. FilterError for a filter that is not understood."""
    found = [
        ItemDisagreement(of.item, dispute)
        for of in fetch_reviewed_items(connection, reviews, view)
        if len(of.opinions) > 1
        for dispute in disputes(of.key, of.opinions, reviews.roll_up_context(of.item))
    ]
    return sorted(found, key=lambda each: each.item)


def fetch_item_disagreements(reviews: ReviewTables, item: int) -> list[Dispute]:
    """What is not settled of one item. KeyError if there is no such item."""
    key, *hashes = reviews.key_and_hashes(item)
    return disputes(key, reviews.opinions(key, *hashes), reviews.roll_up_context(item))
