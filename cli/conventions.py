"""Compute a run's figures as the official code of each tool computes them, and format them as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fcreview.cli.output import cell_text, format_table
from fcreview.model.wording import format_count, format_metric_value
from fcreview.stats.conventions import ConventionRow, RunConventions, compare_conventions, find_spreads

if TYPE_CHECKING:
    from fcreview.model.item import Run
    from fcreview.store.analysis import UnblindedAnalysis

MAX_LISTED_ITEMS = 3
NO_TRIALS = "fcreview knows no conventions for this benchmark"


def compute_run_conventions(analysis: UnblindedAnalysis, number: int, run: Run) -> RunConventions:
    """Compute the conventions of a run from its effective verdicts."""
    from fcreview.importers.registry import list_trials
    from fcreview.store.rows import View

    table = list_trials(analysis.fetch_scored_items(number)["corrected"], run)
    if table is None:
        return RunConventions(run.model, [], {})
    numbers: dict[str, list[int]] = {}
    for outcome in analysis.fetch_outcomes(View(queue="dataset"), [number], "effective")[number]:
        numbers.setdefault(outcome.question_key.id, []).append(outcome.item)
    return RunConventions(run.model, compare_conventions(table), numbers)


def convention_fields(row: ConventionRow) -> dict[str, Any]:
    return asdict(row) | {"items": list(row.items)}


def format_conventions(fields: dict[str, Any], rows: Sequence[ConventionRow]) -> Iterator[str]:
    """Format the conventions of a run as a table, then the range of each figure that differs."""
    words = [cell_text(fields[name]) for name in ("benchmark", "generation", "language", "model") if fields[name]]
    yield f"run {fields['run']}   {'  '.join(words)}   {format_count(fields['n_items'], 'item')}"
    if not rows:
        yield f"  {NO_TRIALS}"
        yield ""
        return
    cells, last = [], ""
    for row in rows:
        cells.append([
            row.figure if row.figure != last else "",
            f"{'* ' if row.is_own else '  '}{row.convention}",
            format_metric_value(row.value, "share", 2),
            f"{row.n:,}",
            f"{row.n_tasks:,}",
            cell_text(describe_causes(row)),
        ])  # fmt: skip
        last = row.figure
    heads = ["figure", "  convention", "value", "trials", "tasks", "differences"]
    yield ""
    for text in format_table(heads, cells, right_aligned=(2, 3, 4), max_width=60):
        yield text.rstrip()
    yield ""
    yield "* marks the convention of the run's own tool."
    yield "The last column lists the items that a convention counts differently."
    for spread in find_spreads(rows):
        if spread.high - spread.low > 1e-9:
            low, high = (format_metric_value(each, "share", 2) for each in (spread.low, spread.high))
            points = 100 * (spread.high - spread.low)
            yield f"{spread.figure}: {low} to {high} by convention ({points:.1f} points)"
    yield ""


def describe_causes(row: ConventionRow) -> str:
    """Describe why a row differs: its note, and the items that the convention counts differently."""
    parts = [row.note] if row.note else []
    if row.items:
        more = ", …" if len(row.items) > MAX_LISTED_ITEMS else ""
        parts.append(f"{format_count(len(row.items), 'item')}: {', '.join(row.items[:MAX_LISTED_ITEMS])}{more}")
    return "; ".join(parts)
