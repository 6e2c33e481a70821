"""Where the environment ended up otherwise than with the golden calls: a row an attribute, golden beside predicted."""

from __future__ import annotations

from collections.abc import Mapping

from fcreview.calls.table import ArgumentRow
from fcreview.extra import StateDifference
from fcreview.targets import turn_address
from fcreview.tui.document.blocks import Block
from fcreview.tui.document.calls import argument_lines, columns, heading_row
from fcreview.tui.document.scene import Scene
from fcreview.tui.text.lines import Line, rule
from fcreview.values import to_json_text


def state_blocks(of: Scene, turn: int) -> list[Block]:
    """A heading and a row each for the attributes that differ after the failing turn; nothing for other turns."""
    rows = state_rows(of.item.extra.state_differences or {}) if turn == of.failing else []
    if not rows:
        return []
    parent = turn_address(turn)
    title = f"turn {turn + 1} · state after the turn"

    def heading(cells: int) -> list[Line]:
        return [rule(((title, ""),), cells), heading_row(columns(rows, cells), "field")]

    head = Block(f"{parent}/end", heading, stop=True, differs=True, parent=parent, title=title)
    return [head, *(_attribute(row, rows, parent, title) for row in rows)]


def state_rows(differences: Mapping[str, StateDifference]) -> list[ArgumentRow]:
    return [
        ArgumentRow(name, 0, "!", _text(both.golden), _text(both.predicted), None) for name, both in differences.items()
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json_text(value)


def _attribute(row: ArgumentRow, rows: list[ArgumentRow], parent: str, title: str) -> Block:
    return Block(
        f"{parent}/end/arg:{row.path}",
        lambda cells: argument_lines(row, columns(rows, cells)),
        argument=True,
        differs=True,
        parent=parent,
        title=f"{title} · {row.path}",
        full=lambda: f"golden\n{row.golden}\n\npredicted\n{row.predicted}",
        copy=lambda: {"attribute": row.path, "golden": row.golden, "predicted": row.predicted},
    )
