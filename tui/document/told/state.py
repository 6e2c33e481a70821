"""Where the environment ended up otherwise than with the golden calls: a row an attribute, golden beside predicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from fcreview.calls.table import ArgumentRow
from fcreview.extra import ABSENT, StateDifference
from fcreview.model import State
from fcreview.targets import turn_address
from fcreview.tui.document.blocks import Block
from fcreview.tui.document.calls import Columns, argument_lines, columns, heading_row
from fcreview.tui.document.scene import Scene
from fcreview.tui.text.lines import Line, rule
from fcreview.values import to_json_text

NAMES = 0.5
"""Share of the width that the fields' paths may take: they say where it is."""


def state_blocks(of: Scene, turn: int) -> list[Block]:
    """A heading and a row each for the attributes that differ after the failing turn, or after the last one if none is
    named; nothing for other turns, nor while verdicts are hidden."""
    ends = of.turns - 1 if of.failing is None else of.failing
    rows = state_rows(of.item.extra.state_differences or {}) if turn == ends and not of.hidden else []
    if not rows:
        return []
    parent = turn_address(turn)
    title = f"turn {turn + 1} · state after the turn" if of.turns > 1 else "state at the end"

    widths = cache(partial(columns, rows, names=NAMES))

    def heading(cells: int) -> list[Line]:
        return [rule(((title, ""),), cells), heading_row(widths(cells), "field")]

    head = Block(f"{parent}/end", heading, stop=True, differs=True, parent=parent, title=title)
    return [head, *(_attribute(row, widths, parent, title) for row in rows)]


def state_rows(differences: Mapping[str, StateDifference]) -> list[ArgumentRow]:
    return [_row(name, both) for name, both in differences.items()]


def _row(name: str, both: StateDifference) -> ArgumentRow:
    """`-` where only the golden state has it, `+` where only the predicted one does."""
    state: State = "-" if both.predicted == ABSENT else "+" if both.golden == ABSENT else "!"
    return ArgumentRow(name, 0, state, _text(both.golden), _text(both.predicted), None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json_text(value)


def _attribute(row: ArgumentRow, widths: Callable[[int], Columns], parent: str, title: str) -> Block:
    return Block(
        f"{parent}/end/arg:{row.path}",
        lambda cells: argument_lines(row, widths(cells)),
        argument=True,
        differs=True,
        parent=parent,
        title=f"{title} · {row.path}",
        full=lambda: f"golden\n{row.golden}\n\npredicted\n{row.predicted}",
        copy=lambda: {"attribute": row.path, "golden": row.golden, "predicted": row.predicted},
    )
