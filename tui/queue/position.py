"""Where a person left the queue, kept in the workspace until the program is opened again.

`positions`: {"scope": [run], "blind": bool, "levels": [{where, search, queue, seed, run, item, line, via}]}, the last
of them the queue as it was left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.store.filters.language import FilterError
from fcreview.store.own import Own
from fcreview.tui.queue.levels import Level, Standing, as_json, of_json
from fcreview.tui.queue.state import QueueState, Setting

FOLDER = "positions"
MOST = 20
"""Levels that are kept: the innermost."""


@dataclass(frozen=True, slots=True)
class Position:
    setting: Setting
    standing: Standing
    levels: Sequence[Level] = ()


def keep(own: Own, state: QueueState, position: Position) -> None:
    levels = [as_json(each.setting, each.standing) | {"via": each.via} for each in position.levels[-MOST:]]
    levels.append(as_json(position.setting, position.standing) | {"via": ""})
    own.keep(FOLDER, {"scope": list(state.scope), "blind": state.blind, "levels": levels})


def kept(own: Own, state: QueueState) -> Position | None:
    """The position, if it is of the same runs seen in the same way, and its filters are still understood."""
    found = own.read(FOLDER)
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
