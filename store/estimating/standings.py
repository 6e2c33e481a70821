"""What is known of every item of a run, as an estimate is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from fcreview.estimate.standing import Standing
from fcreview.review import ItemKey
from fcreview.store.estimating.samples import Content, Sample, content_of, samples
from fcreview.store.reviews.effective import AUTOMATIC, settled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.tables import ReviewTables
    from fcreview.store.workspace import Workspace

_ITEMS = f"""
SELECT r.benchmark, r.generation, r.language, r.model, i.category, i.id,
       coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, ''), {AUTOMATIC},
       CASE WHEN {settled("h.decided_by")} THEN h.verdict END
FROM item_rows i JOIN runs r ON r.run = i.run LEFT JOIN human h ON h.item = i.item
WHERE i.run = ? ORDER BY i.seq
"""


@dataclass(frozen=True, slots=True)
class Standings:
    items: list[Standing]
    """In dataset order."""
    contents: list[Content]
    """Of the same items."""
    samples: list[Sample]
    """Those that could draw items of this run."""
    problems: list[str]
    """Why a queue file is no random sample."""


def standings(connection: DuckDBPyConnection, workspace: Workspace, reviews: ReviewTables, run: int) -> Standings:
    rows = connection.execute(_ITEMS, [run]).fetchall()
    contents = [content_of(*row[:8]) for row in rows]
    usable, problems = samples(connection, workspace)
    there = set(contents)
    usable = [sample for sample in usable if not there.isdisjoint(sample.strata)]
    found_in = {
        content: reviews.said.drawn_in(ItemKey(*row[:6]), row[6], row[7])
        for content, row in zip(contents, rows, strict=True)
        if usable and row[9] is not None  # without a sample journals need not be read
    }
    chosen = [_random(sample, found_in) for sample in usable]
    random = {content for each in chosen for content in each.random}
    spoken_for = {content for each in chosen for content in each.spoken_for} - random
    items = []
    for content, row in zip(contents, rows, strict=True):
        of = [sample for sample in usable if content in sample.strata]
        stratum = tuple(sample.strata.get(content) for sample in usable) if of else None
        chance = 1 - prod(1 - sample.chance(content, row[8]) for sample in of)
        how = content in random, content in spoken_for
        items.append(Standing(row[4], row[8], row[9], stratum, chance, *how))
    return Standings(items, contents, usable, problems)


@dataclass(frozen=True, slots=True)
class _Chosen:
    random: set[Content]
    spoken_for: set[Content]


def _random(sample: Sample, found_in: Mapping[Content, set[str]]) -> _Chosen:
    """Items that were reviewed because the sample drew them: found in its queue; or, where reviews do not name it, if a
    whole file is settled, so that nobody chose among its items. Then what else is settled may hold some that were
    chosen, and would have been in the sample or not: the sample speaks for those too. `found_in`: of what people
    settled, the queue files that it was found in."""
    known = sample.strata.keys() & found_in.keys()
    named = {content for content in known & sample.items if not sample.names.isdisjoint(found_in[content])}
    whole = set().union(*(items for items in sample.files.values() if items <= known))
    random = named | whole
    return _Chosen(random, known - random if whole - named else set())
