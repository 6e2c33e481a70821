"""The pairs of one turn as blocks: open as a table of arguments, or one line each."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

from fcreview.calls.table import ArgumentRow, argument_rows
from fcreview.model import Accept, Call, Fields, Pair
from fcreview.sanitise import visible
from fcreview.targets import argument_address, call_address, turn_address
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.calls import (
    argument_lines,
    columns,
    heading_row,
    one_line,
    pair_heading,
    undecoded,
)
from fcreview.tui.document.function import function_lines, function_named
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.verdicts import call_verdicts
from fcreview.tui.text.lines import Line, line, rule, wrap

NOT_DECODED = "(not decoded)"
"""What stands for an argument of a call that could not be read: it may well be in the text."""
MANY_EQUAL = 8
"""More equal arguments than this are shown as one line."""


def pair_blocks(of: Scene, turn: int, options: Options) -> list[Block]:
    pairs = of.pairs.get(turn, [])
    parent = turn_address(turn) if of.long else None
    if not pairs:
        return [] if of.context(turn) or of.alone(turn) else [_no_calls(of, turn, parent)]
    blocks: list[Block] = []
    for position, pair in enumerate(pairs):
        blocks += _pair(of, pair, position, len(pairs), options, parent)
    return blocks


def folded_by_default(of: Scene, pair: Pair, count: int) -> bool:
    """Only what needs to be looked at is open: not equal calls beside others, nor calls of one side in a trajectory."""
    return (pair.state == "=" and (count > 1 or of.long)) or (pair.state in "-+" and of.long)


def _pair(of: Scene, pair: Pair, position: int, count: int, options: Options, parent: str | None) -> list[Block]:
    address = call_address(pair.turn, position)
    golden, predicted = of.sides(pair)
    folded = options.folded(address, folded_by_default(of, pair, count))
    head = Block(
        address,
        partial(one_line, pair, position + 1, count, golden or predicted, parent is not None),
        target=address,
        stop=True,
        differs=pair.state in "!-+",
        foldable=True,
        folded=folded,
        parent=parent,
        title=f"turn {pair.turn + 1} call {position + 1}",
        copy=lambda: {"golden": call_value(golden), "predicted": call_value(predicted)},
    )
    about = f"{address}/document"
    named = golden.name if golden else predicted.name if predicted else pair.name
    document = (
        []
        if options.folded(about, True) or options.open_all
        else [_document(about, of, named, options.argument, parent)]
    )
    if folded:
        return [head, *document]
    broken = predicted is not None and predicted.arguments is None
    rows = rows_of(pair, golden, None if broken else predicted)
    if broken:
        rows = [replace(row, predicted=NOT_DECODED) for row in rows]
    shown, equal = _few(rows, options.folded(f"{address}/equal", True))

    same = golden is not None and predicted is not None and not (rows and rows[0].path == "")
    also = predicted.name if same and predicted and golden and predicted.name != golden.name else ""

    def heading(cells: int) -> list[Line]:
        lines = [pair_heading(pair, position + 1, count, cells, also)]
        if not options.hidden:
            lines += call_verdicts(of.item, address, cells)
        if broken and predicted is not None:
            lines += undecoded(predicted, cells, options)
        if rows:
            lines.append(heading_row(columns(rows, cells)))
        else:
            lines.append(line("  no arguments", "dim"))
        return lines

    head.lines = heading
    if broken and predicted is not None:
        head.full = lambda: predicted.raw or ""
    blocks = [head, *(_argument(row, rows, pair, position, parent) for row in shown)]
    if equal:
        blocks.append(_equal(f"{address}/equal", equal, parent))
    return [*blocks, *document]


def _document(key: str, of: Scene, name: str, argument: str | None, parent: str | None) -> Block:
    document = function_named(of.item.functions, name)
    return Block(
        key,
        lambda cells: function_lines(name, document, argument, cells),
        stop=True,
        foldable=True,
        parent=parent,
        title=f"document of {visible(name)}",
        full=lambda: json.dumps(document, ensure_ascii=False, default=str),
        copy=lambda: document,
    )


def rows_of(pair: Pair, golden: Call | None, predicted: Call | None) -> list[ArgumentRow]:
    """The table's rows. What is said of the call as a whole is among them only if both sides have one."""
    rows = argument_rows(golden, predicted, pair.diff)
    return rows if golden and predicted else [row for row in rows if row.path]


def _few(rows: list[ArgumentRow], fold: bool) -> tuple[list[ArgumentRow], list[ArgumentRow]]:
    """Rows to show, and equal ones to be counted only."""
    equal = [row for row in rows if row.state == "="]
    if not fold or len(equal) <= MANY_EQUAL:
        return rows, []
    return [row for row in rows if row.state != "="], equal


def _argument(row: ArgumentRow, rows: list[ArgumentRow], pair: Pair, position: int, parent: str | None) -> Block:
    address = argument_address(pair.turn, position, row.path)
    return Block(
        address,
        lambda cells: argument_lines(row, columns(rows, cells)),
        target=address,
        argument=True,
        differs=row.state in "!-+",
        parent=parent,
        title=f"turn {pair.turn + 1} call {position + 1} · {visible(row.path)}",
        full=lambda: (
            f"golden\n{row.golden or '(none)'}\n\npredicted\n{row.predicted or '(none)'}\n\n{row.reason or ''}"
        ),
        copy=lambda: {"argument": row.path, "golden": row.golden, "predicted": row.predicted},
    )


def _equal(key: str, rows: list[ArgumentRow], parent: str | None) -> Block:
    def lines(cells: int) -> list[Line]:
        names = visible(", ".join(row.path for row in rows if row.depth == 0))
        text = f"{len(rows)} equal: {names}"
        return [
            (("= " if at == 0 else "  ", "dim"), (piece, "dim")) for at, piece in enumerate(wrap(text, cells - 2, 2))
        ]

    return Block(key, lines, stop=True, foldable=True, folded=True, parent=parent)


def _no_calls(of: Scene, turn: int, parent: str | None) -> Block:
    text = f"turn {turn + 1} · no golden call, none predicted"
    return Block(
        f"{turn_address(turn)}/calls",
        lambda cells: [line(text, "dim") if of.long else rule(((text, "dim"),), cells)],
        parent=parent,
    )


def call_value(call: Call | None) -> Any:
    """The call as JSON values: `{name: {argument: value}}`, golden values as lists of alternatives."""
    if call is None:
        return None
    if call.arguments is None:
        return call.raw
    return {call.name: _value(call.arguments)}


def _value(value: Any) -> Any:
    if isinstance(value, Accept):
        return [_value(each) for each in value.any_of]
    if isinstance(value, Fields):
        return {name: _value(each) for name, each in value.fields.items()}
    if isinstance(value, dict):
        return {name: _value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(each) for each in value]
    return value
