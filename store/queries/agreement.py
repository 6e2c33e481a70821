"""What annotators said of the items of a view, as figures of agreement are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.agreement.ratings import Rating
from fcreview.agreement.repeats import Repeated
from fcreview.store.queries.spoken import spoken_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.tables import ReviewTables
    from fcreview.store.rows import View


def ratings(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> list[Rating]:
    """One a current verdict ("unsure" too), in the order of `spoken_of`. Not those that are stale or were taken back,
    no adjudications, and nothing that only follows from verdicts on parts. FilterError for a filter that is not
    understood."""
    return [
        Rating(of.item, of.key, said.target, said.criterion, said.annotator, said.verdict, said.fault, said.blind)
        for of in spoken_of(connection, reviews, view)
        for said in of.opinions
        if said.verdict is not None and not said.stale and not said.adjudicated
    ]


def repeated(connection: DuckDBPyConnection, reviews: ReviewTables, view: View) -> list[Repeated]:
    """What annotators answered both times that an item came to them: what they held when it came again, and what they
    said then. Not what is stale or was taken back. FilterError for a filter that is not understood."""
    found = []
    for of in spoken_of(connection, reviews, view):
        for annotator in reviews.said.asked_again(of.key):
            first, second = reviews.said.both_answers(of.key, annotator, *of.hashes)
            held = {(said.target, said.criterion): said.verdict for said in first if said.verdict is not None}
            found += [
                Repeated(of.item, of.key, *about, annotator, held[about], said.verdict)
                for said in second
                if said.verdict is not None and (about := (said.target, said.criterion)) in held
            ]
    return found
