"""Query the reviewed items of a view, for inter-annotator agreement, self-agreement and disagreements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.model.decision import Disagreement, find_disagreements
from fcreview.model.review import ItemKey, Opinion
from fcreview.stats.agreement_ratings import Rating, RepeatedRating
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.rows import View


@dataclass(frozen=True, slots=True)
class ReviewedItem:
    item: int
    key: ItemKey
    hashes: tuple[str, str]  # (hash of the prediction, hash of the golden answer) of the item
    opinions: list[Opinion]


def fetch_reviewed_items(
    connection: Connection, reviews: ReviewTables, view: View, *, with_bulk: bool = False
) -> Iterator[ReviewedItem]:
    """Yield the view's reviewed items in the order of their first reviews.

    If several runs of a model have the same answer to an item, only one of them is included. Without bulk reviews, an
    item can have no opinions. Raises FilterError if the view's filter is not valid.
    """
    where, params, _ = build_condition(view, blind=False)
    sql = f"SELECT i.item {FROM_ITEMS} WHERE h.item IS NOT NULL AND ({where})"
    selected = {item for (item,) in connection.execute(sql, params).fetchall()}
    for key, references in reviews.reviewed_keys():
        item_by_hashes = {
            (prediction_hash, golden_hash): item
            for item, prediction_hash, golden_hash in reversed(references)
            if item in selected
        }
        for hashes, item in item_by_hashes.items():
            opinions = reviews.events.opinions_on(key, *hashes, with_bulk=with_bulk)
            yield ReviewedItem(item, key, hashes, opinions)


def fetch_ratings(connection: Connection, reviews: ReviewTables, view: View) -> list[Rating]:
    """Return one rating for each current verdict of an annotator, also for "unsure". Bulk reviews are omitted."""
    return [
        Rating(each.item, each.key, o.target, o.criterion, o.annotator, o.verdict, o.fault, o.blind)
        for each in fetch_reviewed_items(connection, reviews, view)
        for o in each.opinions
        if o.verdict is not None and not o.stale and not o.is_adjudication
    ]


def fetch_duplicate_reviews(connection: Connection, reviews: ReviewTables, view: View) -> list[RepeatedRating]:
    """Return the first and second verdict of each annotator on each hidden duplicate. Stale verdicts are omitted."""
    found = []
    for each in fetch_reviewed_items(connection, reviews, view):
        for annotator in reviews.events.annotators_with_repetition(each.key):
            first, second = reviews.events.first_and_second_opinions(each.key, annotator, *each.hashes)
            first_verdicts = {(o.target, o.criterion): o.verdict for o in first if o.verdict is not None}
            found += [
                RepeatedRating(each.item, each.key, *question, annotator, first_verdicts[question], o.verdict)
                for o in second
                if o.verdict is not None and (question := (o.target, o.criterion)) in first_verdicts
            ]
    return found


@dataclass(frozen=True, slots=True)
class ItemDisagreement:
    """An open disagreement and the item that it is about."""

    item: int
    disagreement: Disagreement


def fetch_disagreements(connection: Connection, reviews: ReviewTables, view: View) -> list[ItemDisagreement]:
    """Return the open disagreements in item order. Raises FilterError if the view's filter is not valid."""
    found = [
        ItemDisagreement(each.item, disagreement)
        for each in fetch_reviewed_items(connection, reviews, view, with_bulk=True)
        if len(each.opinions) > 1
        for disagreement in find_disagreements(each.key, each.opinions, reviews.roll_up_context(each.item))
    ]
    return sorted(found, key=lambda each: each.item)


def fetch_item_disagreements(reviews: ReviewTables, item: int) -> list[Disagreement]:
    key, *hashes = reviews.key_and_hashes(item)
    return find_disagreements(key, reviews.events.opinions_on(key, *hashes), reviews.roll_up_context(item))
