"""Automatic verdicts beside what people settled, as calibration is made of them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.calibration.cases import Case
from fcreview.review import OWN
from fcreview.rollup import SCORING, alike
from fcreview.store.estimating.samples import content_of, drawn_whole
from fcreview.store.filters.keys import ERROR
from fcreview.store.queries.pages import FROM, condition
from fcreview.store.queries.spoken import spoken_of
from fcreview.store.reviews.effective import settled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.tables import ReviewTables
    from fcreview.store.rows import View
    from fcreview.store.workspace import Workspace

_PEOPLE = f"SELECT item, target, criterion, human FROM human_labels WHERE {settled('decided_by')}"
_SAID = """
SELECT i.item, r.benchmark, i.category, i.diff_function, {error}, i.official, i.rule, i.judge,
       list_transform(i.verdicts, lambda v: [v.source, v.target, v.criterion, CAST(v."value" AS VARCHAR), v."by"])
{table} JOIN runs r ON r.run = i.run WHERE h.item IS NOT NULL AND ({where}) ORDER BY i.item
"""
_SETTLED = f"""
SELECT i.item, r.benchmark, r.generation, r.language, r.model, i.category, i.id,
       coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, '')
FROM human h JOIN item_rows i ON i.item = h.item JOIN runs r ON r.run = i.run
WHERE h.verdict IS NOT NULL AND {settled("h.decided_by")}
"""
_FILE = ".json"
"""How a verdict's `by` ends that names the score file, not how it was found."""


def cases(connection: DuckDBPyConnection, workspace: Workspace, reviews: ReviewTables, view: View) -> list[Case]:
    """One an automatic verdict on something that people settled (adjudicated, else unanimous, or by the policy of the
    reviews), in the order of items. FilterError for a filter that is not understood."""
    whole = _of_whole_files(connection, workspace)
    drawn = {
        of.item: of.item in whole or bool(reviews.said.drawn_in(of.key, *of.hashes))
        for of in spoken_of(connection, reviews, view)
    }
    people: defaultdict[int, dict[tuple[str, str], Any]] = defaultdict(dict)
    for item, target, criterion, human in connection.execute(_PEOPLE).fetchall():
        if human is not None:
            people[item][target, criterion] = orjson.loads(human)
    where, params, _ = condition(view, blind=False)
    rows = connection.execute(_SAID.format(error=ERROR, table=FROM, where=where), params).fetchall()
    found = []
    for item, benchmark, category, function, error, *own, listed in rows:
        if item not in people or item not in drawn:
            continue
        for (source, judge, target, criterion, tier), value in _automatic(own, listed or []).items():
            human = people[item].get((target, criterion))
            if human is None or value is None:
                continue
            about = (benchmark, category, tier, error, function)
            found.append(Case(item, source, judge, criterion, value, human, drawn[item], *about))
    return found


def _of_whole_files(connection: DuckDBPyConnection, workspace: Workspace) -> set[int]:
    """Settled items of queue files that are settled whole: a random sample, though no review may say so."""
    contents = {item: content_of(*content) for item, *content in connection.execute(_SETTLED).fetchall()}
    whole = drawn_whole(workspace, set(contents.values()))
    return {item for item, content in contents.items() if content in whole}


def _automatic(own: list[Any], listed: list[list[str]]) -> dict[tuple[str, str | None, str, str, str | None], Any]:
    """{(source, judge, target, criterion, tier): value}"""
    found: dict[tuple[str, str | None, str, str, str | None], Any] = {}
    for source, target, criterion, text, by in listed:
        judge = (by or "judge") if source == "judge" else None
        tier = None if source == "judge" or not by or by.endswith(_FILE) else by
        found[source, judge, target, criterion, tier] = orjson.loads(text) if text is not None else None
    for source, value in zip(SCORING, own, strict=True):  # an importer may give the item's own verdict only so
        same = any((each[0], each[2:4]) == (source, OWN) and alike(said, value) for each, said in found.items())
        if value is not None and not same:
            found[source, "judge" if source == "judge" else None, *OWN, None] = value
    return found
