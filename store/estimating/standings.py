"""What is known of every item of a run, as an estimate is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.estimate.answers import Asked
from fcreview.estimate.standing import Standing
from fcreview.review import OWN, ItemKey
from fcreview.store.estimating.chosen import Chosen, chosen
from fcreview.store.estimating.samples import Content, Sample, content_of, samples
from fcreview.store.reviews.effective import AUTOMATIC, settled
from fcreview.targets import WHOLE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.tables import ReviewTables
    from fcreview.store.workspace import Workspace

_ITEMS = f"""
SELECT r.benchmark, r.generation, r.language, r.model, i.category, i.id,
       coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, ''), {AUTOMATIC},
       CASE WHEN {settled("h.decided_by")} THEN h.verdict END, i.item
FROM item_rows i JOIN runs r ON r.run = i.run LEFT JOIN human h ON h.item = i.item
WHERE i.run = ? ORDER BY i.seq
"""
_ANSWERS = f"""
SELECT h.item, h.criterion, CASE WHEN {settled("h.decided_by")} THEN h.human END
FROM human_labels h JOIN item_rows i ON i.item = h.item
WHERE i.run = ? AND h.target IN {WHOLE} AND (h.target, h.criterion) <> {OWN} AND h.n_verdicts > 0
"""
"""What was said of whole items besides whether they pass; values as JSON text, null if not settled."""
_OPEN_TO = f"""
SELECT i.item FROM item_rows i
WHERE i.run = ? AND len(list_filter(i.verdicts, lambda v: v.target IN {WHOLE} AND v.criterion = ?)) > 0
"""
"""Items of which the benchmark itself says something on a criterion."""


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
    asked: list[Asked]
    """What was said of the same items on other criteria."""


def standings(connection: DuckDBPyConnection, workspace: Workspace, reviews: ReviewTables, run: int) -> Standings:
    rows = connection.execute(_ITEMS, [run]).fetchall()
    contents = [content_of(*row[:8]) for row in rows]
    usable, problems = samples(connection, workspace)
    there = set(contents)
    usable = [sample for sample in usable if not there.isdisjoint(sample.strata)]
    numbers = {row[10]: content for content, row in zip(contents, rows, strict=True)}
    answers = _answers(connection, run, numbers)
    spoken = {content for given in answers.values() for content in given}
    found_in = {
        content: reviews.said.drawn_in(ItemKey(*row[:6]), row[6], row[7])
        for content, row in zip(contents, rows, strict=True)
        if usable and (row[9] is not None or content in spoken)  # without a sample journals need not be read
    }
    known = {content for content, row in zip(contents, rows, strict=True) if row[9] is not None}
    drawn = chosen(usable, {content: names for content, names in found_in.items() if content in known}, there)
    reviewed = {content for sample in usable for content in sample.items & found_in.keys()}
    items = []
    for content, row in zip(contents, rows, strict=True):
        of = [sample for sample in usable if content in sample.strata]
        stratum = tuple(sample.strata.get(content) for sample in usable) if of else None
        chance = 1 - prod(1 - sample.chance(content, row[8]) for sample in of)
        how = content in drawn.random, content in drawn.spoken_for
        items.append(Standing(row[4], row[8], row[9], stratum, chance, *how, reviewed=content in reviewed))
    asked = []
    for criterion, given in sorted(answers.items()):
        open_to = {numbers[item] for (item,) in connection.execute(_OPEN_TO, [run, criterion]).fetchall()}
        found = {content: found_in.get(content, set()) for content, value in given.items() if value is not None}
        asked.append(_asked(criterion, given, contents, chosen(usable, found, open_to)))
    return Standings(items, contents, usable, problems, asked)


def _answers(connection: DuckDBPyConnection, run: int, of: Mapping[int, Content]) -> dict[str, dict[Content, Any]]:
    """Criterion -> of each item that was spoken of what was settled, None if nothing was."""
    found: dict[str, dict[Content, Any]] = {}
    for item, criterion, text in connection.execute(_ANSWERS, [run]).fetchall():
        found.setdefault(criterion, {})[of[item]] = None if text is None else orjson.loads(text)
    return found


def _asked(criterion: str, given: Mapping[Content, Any], contents: Sequence[Content], how: Chosen) -> Asked:
    return Asked(
        criterion,
        settled=[given.get(content) for content in contents],
        spoken=[content in given for content in contents],
        random=[content in how.random for content in contents],
        spoken_for=[content in how.spoken_for for content in contents],
    )
