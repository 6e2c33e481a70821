"""What the queue showed when it was last read, kept in the workspace: it stands on the screen while the store opens.

`first`: {"made": [...], "total", "cursor", "window", "rows": [a row's fields], "extent": {...}, "done", "bars":
{name: [[text, style]]}, "cells"}. It is shown only if nothing it was made of has changed since, and what the store says
then takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from fcreview import __version__
from fcreview.sanitise import visible
from fcreview.store.own import Own
from fcreview.store.rows import Extent, QueueRow, View
from fcreview.store.unchanged import Stamp
from fcreview.tui.queue.levels import Standing
from fcreview.tui.queue.loading import Loaded
from fcreview.tui.text.lines import Line

T = TypeVar("T")
FOLDER = "first"
KINDS = {
    "int": (int,),
    "str": (str,),
    "bool": (bool,),
    "str | None": (str, type(None)),
    "bool | None": (bool, type(None)),
    "Any": (str, bool, type(None)),
}
"""What a field of a row may hold, by how it is declared."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a queue that was read depends on."""

    stamp: Stamp
    """Of the workspace, from before it was read."""
    view: View
    annotator: str
    blind: bool

    def as_json(self) -> list[Any]:
        view = [list(value) if isinstance(value, tuple) else value for value in asdict(self.view).values()]
        return [__version__, self.stamp, view, self.annotator, self.blind]


@dataclass(frozen=True, slots=True)
class Glance:
    loaded: Loaded
    bars: Mapping[str, Line]
    """The header's lines by name."""
    cells: int
    """That they were drawn for."""


def keep(own: Own, made: Made, glance: Glance) -> None:
    if not made.stamp:
        return
    kept = asdict(glance.loaded) | {"made": made.as_json(), "bars": dict(glance.bars), "cells": glance.cells}
    own.keep(FOLDER, kept)


def kept(own: Own, made: Made, standing: Standing) -> Glance | None:
    """What was kept, if it is of the same and the cursor is to stand where it stood then."""
    found = own.read(FOLDER)
    if not made.stamp or found.pop("made", None) != made.as_json():
        return None
    try:
        bars = {
            str(name): tuple((visible(text), str(style)) for text, style in bar) for name, bar in found["bars"].items()
        }
        rows = [_of(QueueRow, each) for each in found["rows"]]
        total, cursor, window = (int(found[name]) for name in ("total", "cursor", "window"))
        loaded = Loaded(total, cursor, window, rows, _of(Extent, found["extent"]), visible(found["done"]))
        glance = Glance(loaded, bars, int(found["cells"]))
    except (TypeError, ValueError, LookupError, AttributeError):
        return None
    return glance if _stands(loaded, standing) else None


def _stands(loaded: Loaded, standing: Standing) -> bool:
    row = loaded.row
    if standing.item is not None or (row is None) != (loaded.total == 0):
        return False
    if standing.name is not None:
        return row is not None and standing.name == (row.id, row.run)
    return loaded.cursor == standing.line


def _of(kind: type[T], found: Mapping[str, Any]) -> T:
    """TypeError for what such a thing cannot hold."""
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name in found and type(found[each.name]) not in KINDS[str(each.type)]:
            raise TypeError(each.name)
    return kind(**found)
