"""How much room the rows of a view need, over all of it: columns do not change from page to page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from duckdb import DuckDBPyConnection

from fcreview.model.item import Run
from fcreview.model.sanitize import width
from fcreview.store.rows import Extent

_ERROR = "coalesce(nullif(i.error_type, ''), CASE WHEN i.rule = false THEN i.rule_error_type END)"
"""As a row of the queue shows it."""
_CELLS = "least(strlen({0}), 2 * length({0}))"
"""Cells on the screen, or a few more: wide characters take two, and three bytes."""
_OPEN = {
    "item": f"max({_CELLS.format('i.id')})",
    "category": f"max({_CELLS.format('i.category')})",
    "repeats": "bool_and(starts_with(i.id, i.category))",
    "runs": "list(DISTINCT i.run)",
}
_TELLING = {
    "error": f"max({_CELLS.format(_ERROR)})",
    "same_error": f"count(*) > 1 AND count(DISTINCT {_ERROR}) = 1 AND count({_ERROR}) = count(*)",
    "rule": "count(i.rule) > 0",
    "judge": "count(i.judge) > 0",
    "difference": "count(i.first_difference) > 0",
}


def names_of(runs: Mapping[int, Run]) -> dict[int, str]:
    """The model of each run, and what tells it from the benchmark's other runs of that model: generation, language,
    else its number. Ids may be the same in all of them."""
    names = {run: info.model for run, info in runs.items()}
    of = {run: (info.benchmark, info.model) for run, info in runs.items()}
    for said in ("generation", "language"):
        values: dict[tuple[str, str], set[str]] = {}
        for run, info in runs.items():
            values.setdefault(of[run], set()).add(getattr(info, said))
        for run, info in runs.items():
            if len(values[of[run]]) > 1:
                names[run] += f" {getattr(info, said)}"
    times = Counter((info.benchmark, names[run]) for run, info in runs.items())
    return {run: f"{name} #{run}" if times[runs[run].benchmark, name] > 1 else name for run, name in names.items()}


def extent(connection: DuckDBPyConnection, table: str, models: dict[int, str], *, blind: bool) -> Extent:
    """Of the items in the table of an order; in blind mode nothing that tells of verdicts. `models`: names of runs."""
    asked = _OPEN if blind else _OPEN | _TELLING
    found = connection.execute(
        f"SELECT {', '.join(asked.values())} FROM {table} t JOIN item_rows i ON i.item = t.item"
    ).fetchone()
    values = dict(zip(asked, found or (), strict=True))
    names = {models.get(run, "") for run in values.pop("runs") or ()}
    known = {name: value for name, value in values.items() if value is not None}
    return Extent(**known, model=max(map(width, names), default=0) if len(names) > 1 else 0)
