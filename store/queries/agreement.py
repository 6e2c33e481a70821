"""What annotators said of the items of a view, as figures of agreement are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.agreement.ratings import Rating
from fcreview.store.queries.pages import FROM, condition

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.tables import ReviewTables
    from fcreview.store.rows import View


def ratings(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> list[Rating]:
    """One a current verdict ("unsure" too), in the order in which items were first spoken of. Not those that are stale
    or were taken back, no adjudications, and nothing that only follows from verdicts on parts.

    Where runs of one model hold the same answer to the same item, what was said of it is there once. FilterError for a
    filter that is not understood.
    """
    where, params, _ = condition(view, blind=False)
    text = f"SELECT i.item {FROM} WHERE h.item IS NOT NULL AND ({where})"
    chosen = {item for (item,) in connection.execute(text, params).fetchall()}
    found: list[Rating] = []
    for key, references in reviews.spoken_of():
        answers = {
            (prediction_hash, golden_hash): item
            for item, prediction_hash, golden_hash in reversed(references)
            if item in chosen
        }
        for hashes, item in answers.items():
            found += [
                Rating(item, key, said.target, said.criterion, said.annotator, said.verdict, said.fault, said.blind)
                for said in reviews.opinions(key, *hashes)
                if said.verdict is not None and not said.stale and not said.adjudicated
            ]
    return found
