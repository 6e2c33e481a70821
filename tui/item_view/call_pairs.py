"""The pairs of one turn as blocks: open as a table of arguments, or one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from fcreview.matching.diff import diff_call
from fcreview.matching.first_difference import ArgumentRow, argument_rows
from fcreview.model.address import argument_address, call_address, is_address, turn_address
from fcreview.model.item import Accept, Call, Fields, Pair
from fcreview.model.sanitize import visible
from fcreview.tui.item_view.blocks import Block, Options, Scene
from fcreview.tui.item_view.call_diff import (
    SIDE,
    Columns,
    argument_lines,
    call_text,
    columns,
    heading_row,
    one_line,
    pair_heading,
    side_lines,
    undecoded,
    why,
)
from fcreview.tui.item_view.function_docs import document_blocks
from fcreview.tui.item_view.verdicts import refused, said_block
from fcreview.tui.text.lines import Line, laid_out_text, line, rule, wrap

NOT_DECODED = "(not decoded)"
"""What stands for an argument of a call that could not be read: it may well be in the text."""
MANY_EQUAL = 8
"""More equal arguments than this are shown as one line."""


def pair_blocks(of: Scene, turn: int, options: Options) -> list[Block]:
    """All pairs of an item that is one question and one answer."""
    pairs = of.pairs.get(turn, [])
    if not pairs:
        said = of.item.extra.golden_reply is not None or of.alone(turn)
        return [] if said else [no_calls(of, turn, None)]
    return [block for at, pair in enumerate(pairs) for block in pair_block(of, pair, at, options, None)]


def folded_by_default(of: Scene, pair: Pair, address: str) -> bool:
    """Only what needs to be looked at is open: not equal calls beside others, nor calls of one side in a trajectory,
    unless somebody said something of them."""
    if refused(of, address) or held_against(of, pair, address) is not None:
        return False
    trajectory = of.long and not of.snapshot
    beside = len(of.pairs[pair.turn]) > 1 or trajectory
    return (pair.state in "=~" and beside) or (pair.state in "-+" and trajectory)


def pair_block(of: Scene, pair: Pair, position: int, options: Options, parent: str | None) -> list[Block]:
    """The call's heading, its arguments, what was said of it, and the document of its function while that is shown."""
    count, address = len(of.pairs[pair.turn]), call_address(pair.turn, position)
    golden, predicted = of.sides(pair)
    folded = options.folded(address, folded_by_default(of, pair, address))
    also = remarks(of, pair, address)
    step = [of.step(pair.turn, predicted.step)] if predicted is not None and of.several(pair.turn) else []
    ending: Line = (*((f" · {each}", "warn") for each in also), *((f" · {each}", "dim") for each in step))
    inside = parent is not None and is_address(parent)
    head = Block(
        address,
        partial(one_line, pair, position + 1, count, golden or predicted, ending, inside),
        target=address,
        stop=True,
        differs=pair.state in "!-+",
        opens=of.snapshot,
        foldable=True,
        folded=folded,
        parent=parent,
        title=f"turn {pair.turn + 1} call {position + 1}",
        copy=lambda: {"golden": call_value(golden), "predicted": call_value(predicted)},
    )
    document = document_blocks(of, pair, address, options, parent)
    if folded:
        return [head, *document]
    table = _table(of, pair, address, options)
    widths = cache(partial(columns, table.rows))  # the same for all rows, of which there may be a million

    def heading(cells: int) -> list[Line]:
        lines = [pair_heading(pair, position + 1, count, cells, [*also, *step])]
        lines += table.before(cells)
        if table.rows:
            lines.append(heading_row(widths(cells)))
        elif not table.broken:
            lines.append(line("  no arguments", "dim"))
        return lines

    head.lines = heading
    if table.broken is not None:
        broken = table.broken
        head.full = lambda: broken.raw or ""
    shown, equal = _few(table.rows, options.folded(f"{address}/equal", True))
    blocks = [head, *(_argument(row, widths, pair, position, parent) for row in shown)]
    if equal:
        blocks.append(_equal(f"{address}/equal", equal, parent))
    return [*blocks, *said_block(of, address, parent), *document]


@dataclass(frozen=True, slots=True)
class Table:
    """What is shown of an open pair between its heading and what was said of it."""

    rows: list[ArgumentRow]
    before: Callable[[int], list[Line]]
    """Lines above the rows: texts that could not be read."""
    broken: Call | None = None
    """The call whose text could not be read."""


def _table(of: Scene, pair: Pair, address: str, options: Options) -> Table:
    golden, predicted = of.sides(pair)
    if golden is not None and golden.arguments is None:
        return _unreadable(golden, predicted, options)
    if predicted is not None and predicted.arguments is None:
        rows = [replace(row, predicted=NOT_DECODED) for row in rows_of(pair, golden, None)]
        return Table(rows, lambda cells: undecoded(predicted, cells, options), predicted)
    partner = held_against(of, pair, address)
    if partner is not None and predicted is not None:
        return Table(argument_rows(partner, predicted, diff_call(partner, predicted)), lambda _: [])
    return Table(rows_of(pair, golden, predicted), lambda _: [])


def _unreadable(golden: Call, predicted: Call | None, options: Options) -> Table:
    """No argument can be held against a golden text that cannot be read: both stand below each other as texts."""

    def before(cells: int) -> list[Line]:
        lines = undecoded(golden, cells, options)
        if predicted is None:
            return lines
        if predicted.arguments is None:
            return lines + undecoded(predicted, cells, options)
        return lines + side_lines("predicted", wrap(call_text(predicted.name, predicted), cells - SIDE))

    return Table([], before, golden)


def held_against(of: Scene, pair: Pair, address: str) -> Call | None:
    """The golden call that a call without a partner was compared with."""
    known = {} if of.hidden else of.item.extra.held_against or {}
    return of.golden.get((pair.turn, known[address])) if address in known else None


def remarks(of: Scene, pair: Pair, address: str) -> list[str]:
    """What there is to say of a call beside its arguments: another spelling of its function, that it was made before,
    and which golden call it was compared with."""
    golden, predicted = of.sides(pair)
    found: list[str] = []
    named = golden and predicted and golden.name != predicted.name
    if named and predicted and not any(not place.path for place in pair.diff):
        found.append(f"predicted as {predicted.name}")
    if predicted is not None and pair.state in "!+" and (where := of.made_before(predicted)):
        found.append(f"again, as in {where}")
    if (partner := held_against(of, pair, address)) is not None:
        number = next((n for n, each in enumerate(of.pairs[pair.turn], 1) if each.golden == partner.index), 0)
        found.append(f"golden of call {number}")
    return found


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


def _argument(
    row: ArgumentRow, widths: Callable[[int], Columns], pair: Pair, position: int, parent: str | None
) -> Block:
    address = argument_address(pair.turn, position, row.path)
    return Block(
        address,
        lambda cells: argument_lines(row, widths(cells)),
        target=address,
        argument=True,
        differs=row.state in "!-+",
        parent=parent,
        title=f"turn {pair.turn + 1} call {position + 1} · {visible(row.path)}",
        full=lambda: _whole(row),
        copy=lambda: {"argument": row.path, "golden": row.golden, "predicted": row.predicted},
    )


def _whole(row: ArgumentRow) -> str:
    """Both values, JSON laid out; golden alternatives stay on their line."""
    golden, predicted = (laid_out_text(value) if value else "(none)" for value in (row.golden, row.predicted))
    return "\n".join(["golden", golden, "", "predicted", predicted, "", *why(row)])


def _equal(key: str, rows: list[ArgumentRow], parent: str | None) -> Block:
    def lines(cells: int) -> list[Line]:
        names = visible(", ".join(row.path for row in rows if row.depth == 0))
        text = f"{len(rows)} equal: {names}"
        return [
            (("= " if at == 0 else "  ", "dim"), (piece, "dim")) for at, piece in enumerate(wrap(text, cells - 2, 2))
        ]

    return Block(key, lines, stop=True, foldable=True, folded=True, parent=parent)


def no_calls(of: Scene, turn: int, parent: str | None) -> Block:
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
