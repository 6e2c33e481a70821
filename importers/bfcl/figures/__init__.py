"""BFCL's published tables: accuracy, format sensitivity, cost and latency."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.figures import Figure, Scored
from fcreview.importers.bfcl.figures.cost import cost_and_latency
from fcreview.importers.bfcl.figures.formats import format_sensitivity
from fcreview.importers.bfcl.figures.rates import rates_of
from fcreview.importers.bfcl.figures.tables import table
from fcreview.model import Run


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:
    """The tables of the run's generation. Nothing where this source has no verdict at all."""
    if all(row.valid is None for row in rows):
        return []
    return [
        *table(run.generation, rates_of(rows, run.official_metrics)),
        *format_sensitivity(rows),
        *cost_and_latency(rows, run),
    ]
