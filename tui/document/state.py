"""Where the environment ended up otherwise than with the golden calls: a row an attribute, golden beside predicted."""

from __future__ import annotations

from typing import Any

from fcreview.calls.table import ArgumentRow
from fcreview.tui.document.blocks import Block
from fcreview.tui.document.calls import argument_lines, columns, heading_row
from fcreview.tui.document.scene import Scene, turn_address
from fcreview.tui.text.lines import Line, rule
from fcreview.values import to_json_text

FIELD = "state_differences"
"""In `Item.extra`: `{attribute: {"model": value, "ground_truth": value}}`, of the failing turn."""


def state_blocks(of: Scene, turn: int) -> list[Block]:
    """A heading and a row each for the attributes that differ after the failing turn; nothing for other turns."""
    rows = state_rows(of.item.extra.get(FIELD)) if turn == of.failing else []
    if not rows:
        return []
    parent = turn_address(turn)
    title = f"turn {turn + 1} · state after the turn"

    def heading(cells: int) -> list[Line]:
        return [rule(((title, ""),), cells), heading_row(columns(rows, cells), "field")]

    head = Block(f"{parent}/end", heading, stop=True, differs=True, parent=parent, title=title)
    return [head, *(_attribute(row, rows, parent, title) for row in rows)]


def state_rows(differences: Any) -> list[ArgumentRow]:
    if not isinstance(differences, dict):
        return []
    return [
        ArgumentRow(str(name), 0, "!", _text(both, "ground_truth"), _text(both, "model"), None)
        for name, both in differences.items()
        if isinstance(both, dict) and both.keys() >= {"model", "ground_truth"}
    ]


def _text(both: dict[str, Any], side: str) -> str:
    value = both[side]
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
