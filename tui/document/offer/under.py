"""Which functions, and which parameter of them, the cursor is at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.calls.paths import steps
from fcreview.model import Pair
from fcreview.targets import part_of
from fcreview.tui.document.scene import Scene


@dataclass(frozen=True, slots=True)
class Under:
    functions: Sequence[str] = ()
    """Names: golden's first, then predicted's if that is another one."""
    argument: str | None = None
    """Name of the parameter under the cursor; of a call the first that differs."""

    def __bool__(self) -> bool:
        return bool(self.functions)


NOTHING = Under()
MOST = 20
"""Functions on offer whose documents are made without being asked for."""


def under(of: Scene, key: str) -> Under:
    """`key` is that of a block, or an address: a call, or an argument; nothing for anything else."""
    part = part_of(key)
    if part is None or part.call is None:
        return NOTHING
    pairs = of.pairs.get(part.turn, [])
    if part.call < len(pairs):
        pair = pairs[part.call]
        return Under(tuple(dict.fromkeys(named(of, pair).values())), _argument(pair, part.argument))
    alone = of.alone(part.turn)
    name = alone[part.call].name if part.call < len(alone) else None
    return Under((name,), _first(part.argument)) if name else NOTHING


def offered(of: Scene) -> Under:
    """Where nothing was called, or to be called: what could have been."""
    return Under(tuple(str(each.get("name")) for each in of.item.functions[:MOST]))


def named(of: Scene, pair: Pair) -> dict[str, str]:
    """The function of each side; of a side that made no call, the other's."""
    golden, predicted = of.sides(pair)
    wanted = golden.name if golden else predicted.name if predicted else pair.name
    made = predicted.name if predicted and predicted.name else wanted
    return {"golden": wanted, "predicted": made}


def _argument(pair: Pair, path: str | None) -> str | None:
    """The argument that a place lies in."""
    return _first(path or next((place.path for place in pair.diff if place.path and place.state != "~"), None))


def _first(path: str | None) -> str | None:
    return str(steps(path)[0]) if path else None
