"""What a list to choose from holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fcreview.tui.text.lines import Line, Part
from fcreview.tui.text.table import Column, table

T = TypeVar("T")


@dataclass(slots=True)
class Choices(Generic[T]):
    """A table (cells hold visible text) and what each row stands for."""

    title: str
    noun: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Part]]
    values: Sequence[T]
    cursor: int = 0
    empty: str = "nothing here"
    note: str = ""
    """Shown at the right of the title."""
    small: bool = False
    """Needs few lines: what lies behind stays visible."""
    amount: int | None = None
    """How many to say there are, where that is not the number of rows."""

    def lines(self, cells: int) -> tuple[Line, list[Line]]:
        heading, lines = table(self.columns, self.rows, cells - 3)
        return (("  ", ""), *heading), [((" ", ""), *line) for line in lines]
