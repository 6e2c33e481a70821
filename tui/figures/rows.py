"""A row of a table of figures."""

from __future__ import annotations

from dataclasses import dataclass

from fcreview.tui.text.lines import Part
from fcreview.tui.text.theme import symbols

NONE = "·"
"""What figures say where there is no value."""


@dataclass(frozen=True, slots=True)
class Row:
    parts: list[Part]
    items: tuple[int, ...]
    """That it opens; empty: none."""


def shown(text: str) -> str:
    """In the symbols of this terminal."""
    return symbols().none if text == NONE else text
