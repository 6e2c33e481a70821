"""Items of runs as comparisons need them: small columns only, one query for all runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fcreview.comparison.outcomes import ItemPlace, Outcome, VerdictSource
from fcreview.store.queries.pages import FROM, condition
from fcreview.store.reviews.effective import EFFECTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from fcreview.store.rows import View

_VERDICT: dict[VerdictSource, tuple[str, str]] = {
    "official": ("i.official", "i.error_type"),
    "rule": ("i.rule", "coalesce(i.rule_error_type, i.rule_note)"),
    "effective": (EFFECTIVE, "coalesce(i.error_type, i.rule_error_type)"),
}
"""Verdict, and what it calls the error."""


def outcomes(
    connection: DuckDBPyConnection, view: View, runs: Sequence[int], source: VerdictSource
) -> dict[int, list[Outcome]]:
    """By run, in dataset order: the items that the view's filter selects. FilterError for a filter that is not
    understood."""
    where, params, _ = condition(replace(view, runs=tuple(runs)), blind=False)
    verdict, error = _VERDICT[source]
    datasets = connection.execute("SELECT run, benchmark, generation, language FROM runs").fetchall()
    dataset_of = {run: (benchmark, generation, language) for run, benchmark, generation, language in datasets}
    found: dict[int, list[Outcome]] = {run: [] for run in runs}
    rows = connection.execute(
        f'SELECT i.run, i.item, i.category, i.id, i."group", i.question, {verdict}, {error}, i.first_difference,'
        f" i.prediction_hash, i.golden_hash {FROM} WHERE {where} ORDER BY i.item",
        params,
    )
    places: dict[tuple[tuple[str, str, str], str, str], ItemPlace] = {}
    """One for all runs."""
    for (
        run,
        item,
        category,
        name,
        group,
        question,
        passes,
        error_type,
        difference,
        prediction,
        golden,
    ) in rows.fetchall():
        at = (dataset_of[run], category, name)
        place = places.get(at) or places.setdefault(at, ItemPlace(*dataset_of[run], category, name))
        found[run].append(
            Outcome(item, place, group, question or "", passes, error_type, difference, prediction or "", golden or "")
        )
    return found
