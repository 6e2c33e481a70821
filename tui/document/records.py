"""An item's records as they stand in the run's files, one below the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fcreview.model import Item
from fcreview.tui.text.text_source import pretty
from fcreview.tui.text.theme import symbols


class Record(NamedTuple):
    name: str
    place: str
    """File and line, or empty."""
    text: str
    """As it came, or why it cannot be shown."""


def place_of(file: object, line: object) -> str:
    return f"{file}:{line}" if file and line else str(file or "")


def score_place(item: Item) -> str:
    """Where the importer found the score file's entry."""
    place = item.extra.score_record
    return place_of(place.file, place.line) if place is not None else ""


def joined(records: Sequence[Record], *, indented: bool) -> str:
    """Each under a heading and its file and line; a single one too: that says where it is from."""
    dash = symbols().rule * 2
    parts = []
    for record in records:
        head = f"{dash} {record.name} {dash}" + (f"\n{record.place}" if record.place else "")
        parts.append(f"{head}\n{pretty(record.text.strip()) if indented else record.text.rstrip()}\n")
    return "\n".join(parts)
