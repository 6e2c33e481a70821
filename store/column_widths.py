"""Measure the column widths of a queue over all rows of a view, so that they are the same on every page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from fcreview.model.item import Run
from fcreview.model.sanitize import display_width
from fcreview.store.queries.item_order import ViewOrder
from fcreview.store.rows import ColumnWidths

_ERROR_TYPE = "coalesce(nullif(i.error_type, ''), CASE WHEN i.rule = false THEN i.rule_error_type END)"
"""SQL expression for the error type that a row of the queue displays."""
_CELLS = "least(strlen({0}), 2 * length({0}))"
"""SQL template for the maximum width of a text in terminal cells. A wide character has two cells and three bytes."""
_IS_SAME = "count(*) > 1 AND count({0}) IN (0, count(*)) AND min({0}) IS NOT DISTINCT FROM max({0})"
"""SQL template for whether a column has the same value in all of several rows. `count(DISTINCT)` takes longer."""
_BLIND_COLUMNS = {
    "item": f"max({_CELLS.format('i.id')})",
    "category": f"max({_CELLS.format('i.category')})",
    "id_repeats_category": "bool_and(starts_with(i.id, i.category))",
    "runs": "list(DISTINCT i.run)",
}
"""Column -> SQL expression, for columns that do not depend on verdicts."""
MAX_MEASURED_ITEMS = 1_000_000
"""Items whose texts are measured. In a larger view, later texts may be cut off."""
VERDICTS = ("official", "rule", "judge")
_VERDICT_COLUMNS = {
    "error": f"max({_CELLS.format(_ERROR_TYPE)})",
    **{f"same_{name}": _IS_SAME.format(f"i.{name}") for name in VERDICTS},
    "has_rule": "count(i.rule) > 0",
    "has_judge": "count(i.judge) > 0",
    "has_difference": "count(i.first_difference) > 0",
}


def build_run_names(runs: Mapping[int, Run]) -> dict[int, str]:
    """Return a display name for each run: the model, and a suffix that distinguishes several runs of the model.

    The suffix is the version or the language of the benchmark, else the run number. Runs of different benchmarks can
    have the same name.
    """
    names = {run: info.model for run, info in runs.items()}
    models = {run: (info.benchmark, info.model) for run, info in runs.items()}
    for attribute in ("generation", "language"):
        values: dict[tuple[str, str], set[str]] = {}
        for run, info in runs.items():
            values.setdefault(models[run], set()).add(getattr(info, attribute))
        for run, info in runs.items():
            if len(values[models[run]]) > 1:
                names[run] += f" {getattr(info, attribute)}"
    counts = Counter((info.benchmark, names[run]) for run, info in runs.items())
    return {run: f"{name} #{run}" if counts[runs[run].benchmark, name] > 1 else name for run, name in names.items()}


def measure_columns(
    connection: DuckDBPyConnection,
    order: ViewOrder,
    runs: Sequence[int],
    run_names: dict[int, str],
    *,
    blind: bool,
) -> ColumnWidths:
    """Measure the columns of the items in an order, or of the first `MAX_MEASURED_ITEMS`.

    In blind mode, values that depend on verdicts are omitted. `runs` are those of the view; empty for all.
    """
    columns = _BLIND_COLUMNS if blind else _BLIND_COLUMNS | _VERDICT_COLUMNS
    source = f"{order.table} t JOIN item_rows i ON i.item = t.item"
    if order.count > min(order.n_rows, MAX_MEASURED_ITEMS):
        source += f" WHERE t.rowid < {MAX_MEASURED_ITEMS}"
        unknown = {f"same_{name}": "false" for name in VERDICTS} | {"runs": f"{list(runs or run_names)}"}
        columns = {name: unknown.get(name, sql) for name, sql in columns.items()}
    row = connection.execute(f"SELECT {', '.join(columns.values())} FROM {source}").fetchone()
    values = dict(zip(columns, row or (), strict=True))
    names = sorted({run_names.get(run, "") for run in values.pop("runs") or ()})
    names = names if len(names) > 1 else []
    constant = frozenset(name for name in VERDICTS if values.pop(f"same_{name}", False))
    widths = {name: value for name, value in values.items() if value is not None}
    return ColumnWidths(
        **widths, constant=constant, model=max(map(display_width, names), default=0), run_names=tuple(names)
    )
