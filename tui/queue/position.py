"""Where a person left the queue, kept in the workspace until the program is opened again.

One file an annotator, `.fcreview/positions/<annotator>.json`:
{"scope": [run], "blind": bool, "levels": [{where, search, queue, seed, run, item, line, via}]}, the last of them the
queue as it was left. May be thrown away at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fcreview.store.filters.language import FilterError
from fcreview.tui.queue.levels import Level, Standing, as_json, of_json
from fcreview.tui.queue.state import QueueState, Setting

MOST = 20
"""Levels that are kept: the innermost."""


@dataclass(frozen=True, slots=True)
class Position:
    setting: Setting
    standing: Standing
    levels: Sequence[Level] = ()


def file_of(folder: Path, annotator: str) -> Path:
    return folder / "positions" / f"{annotator}.json"


def keep(file: Path, state: QueueState, position: Position) -> None:
    """Written whole or not at all; a workspace that cannot be written to keeps none."""
    from fcreview.store.kept import write_object

    levels = [as_json(each.setting, each.standing) | {"via": each.via} for each in position.levels[-MOST:]]
    levels.append(as_json(position.setting, position.standing) | {"via": ""})
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        write_object(file, {"scope": list(state.scope), "blind": state.blind, "levels": levels})


def kept(file: Path, state: QueueState) -> Position | None:
    """The position, if it is of the same runs seen in the same way, and its filters are still understood."""
    from fcreview.store.kept import read_object

    found = read_object(file)
    if found.get("scope") != list(state.scope) or found.get("blind") is not state.blind:
        return None
    try:
        levels = [Level(*of_json(each), str(each["via"])) for each in found["levels"]]
        for level in levels:
            state.check(level.setting.where)
        *above, here = levels
    except (FilterError, ValueError, TypeError, KeyError):
        return None
    return Position(here.setting, here.standing, above)
