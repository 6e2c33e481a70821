"""A run with whose verdicts on it count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fcreview.cli.output import text_of
from fcreview.comparison.outcomes import VerdictSource

if TYPE_CHECKING:
    from fcreview.store.rows import RunRow

SHOWN = 20
"""Flips or items that are shown as text, unless --limit says otherwise."""


@dataclass(frozen=True, slots=True)
class Side:
    row: RunRow
    source: VerdictSource

    @property
    def name(self) -> str:
        """`run 2  gpt-4o  (official)`, visible text."""
        return f"run {self.row.run}  {text_of(self.row.info.model)}  ({self.source})"

    def as_json(self) -> dict[str, Any]:
        """{run, model, generation, language, source}"""
        info = self.row.info
        return {
            "run": self.row.run,
            "model": info.model,
            "generation": info.generation,
            "language": info.language,
            "source": self.source,
        }
