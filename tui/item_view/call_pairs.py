"""Blocks for pairs of a golden and a predicted call: a table of arguments if unfolded, one line if folded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from fcreview.matching.diff import diff_call
from fcreview.matching.first_difference import ArgumentRow, argument_rows
from fcreview.model.address import argument_address, call_address, turn_address
from fcreview.model.item import Accept, Call, Fields, Pair
from fcreview.model.sanitize import visible
from fcreview.tui.item_view.blocks import Block, Options, Scene
from fcreview.tui.item_view.call_diff import (
    SIDE_LABEL_CELLS,
    Columns,
    argument_lines,
    call_text,
    column_headings,
    folded_pair_lines,
    labelled_side_lines,
    measure_columns,
    pair_heading,
    row_reasons,
    undecoded_call_lines,
)
from fcreview.tui.item_view.function_docs import call_docs_blocks
from fcreview.tui.item_view.verdicts import needs_attention, target_verdict_blocks
from fcreview.tui.text.lines import Line, laid_out_text, line, rule, wrap

NOT_DECODED = "(not decoded)"
"""Shown instead of the arguments of an undecoded call, whose text may contain them."""
MAX_EQUAL_ROWS = 8
"""Number of equal arguments up to which each has a row. More are folded to one line."""


def single_turn_pair_blocks(indexed: Scene, options: Options) -> list[Block]:
    """Blocks of all pairs of an item that is not a trajectory."""
    pairs = indexed.pairs.get(0, [])
    if not pairs:
        has_other_answer = indexed.item.extra.golden_reply is not None or indexed.calls_without_golden(0)
        return [] if has_other_answer else [no_calls_block(indexed, 0)]
    return [block for at, pair in enumerate(pairs) for block in pair_blocks(indexed, pair, at, options)]


def is_folded_by_default(indexed: Scene, pair: Pair, address: str) -> bool:
    """Whether a pair needs no attention: equal next to other calls, or one-sided in a trajectory, without a comment."""
    if needs_attention(indexed, address) or compared_golden_call(indexed, pair, address) is not None:
        return False
    in_trajectory = indexed.is_trajectory and not indexed.only_last_turn_judged
    has_neighbours = len(indexed.pairs[pair.turn]) > 1 or in_trajectory
    return (pair.state in "=~" and has_neighbours) or (pair.state in "-+" and in_trajectory)


def pair_blocks(indexed: Scene, pair: Pair, position: int, options: Options) -> list[Block]:
    """Blocks of one pair: heading, arguments, verdicts, and the function docs if they are shown here.

    `position` is the index of the pair in its turn.
    """
    count, address = len(indexed.pairs[pair.turn]), call_address(pair.turn, position)
    golden, predicted = indexed.calls_of(pair)
    folded = options.is_folded(address, is_folded_by_default(indexed, pair, address))
    remarks = pair_remarks(indexed, pair, address)
    has_step = predicted is not None and indexed.has_several_steps(pair.turn)
    step = [indexed.step_label(pair.turn, predicted.step)] if predicted is not None and has_step else []
    ending: Line = (*((f" · {remark}", "warn") for remark in remarks), *((f" · {label}", "dim") for label in step))
    inside_turn = indexed.is_trajectory and not indexed.is_earlier_dialogue(pair.turn)
    head = Block(
        address,
        partial(folded_pair_lines, pair, position + 1, count, golden or predicted, ending, inside_turn),
        target=address,
        differs=pair.state in "!-+",
        is_judged=indexed.only_last_turn_judged,
        foldable=True,
        folded=folded,
        title=f"turn {pair.turn + 1} call {position + 1}",
        copy=lambda: {"golden": call_value(golden), "predicted": call_value(predicted)},
    )
    docs = call_docs_blocks(indexed, pair, address, options)
    if folded:
        return [head, *docs]
    table = _pair_table(indexed, pair, address, options)
    widths = cache(partial(measure_columns, table.rows))  # Shared by all rows, of which there may be a million.

    def heading_lines(cells: int) -> list[Line]:
        lines = [pair_heading(pair, position + 1, count, cells, [*remarks, *step])]
        lines += table.lines_above(cells)
        if table.rows:
            lines.append(column_headings(widths(cells)))
        elif not table.undecoded:
            lines.append(line("  no arguments", "dim"))
        return lines

    head.lines = heading_lines
    if table.undecoded is not None:
        raw = table.undecoded.raw or ""
        head.full = lambda: raw
    rows, equal_rows = _split_equal_rows(table.rows, options.is_folded(f"{address}/equal", True))
    blocks = [head, *(_argument_block(row, widths, pair, position) for row in rows)]
    if equal_rows:
        blocks.append(_equal_rows_block(f"{address}/equal", equal_rows))
    return [*blocks, *target_verdict_blocks(indexed, address), *docs]


@dataclass(frozen=True, slots=True)
class PairTable:
    """Content of an unfolded pair between its heading and its verdicts."""

    rows: list[ArgumentRow]
    lines_above: Callable[[int], list[Line]]
    """Renders undecoded text above the rows, for a width in cells."""
    undecoded: Call | None = None
    """Call that could not be decoded."""


def _pair_table(indexed: Scene, pair: Pair, address: str, options: Options) -> PairTable:
    golden, predicted = indexed.calls_of(pair)
    if golden is not None and golden.arguments is None:
        return _undecoded_golden_table(golden, predicted, options)
    if predicted is not None and predicted.arguments is None:
        rows = [replace(row, predicted=NOT_DECODED) for row in _pair_rows(pair, golden, None)]
        return PairTable(rows, lambda cells: undecoded_call_lines(predicted, cells, options), predicted)
    compared = compared_golden_call(indexed, pair, address)
    if compared is not None and predicted is not None:
        return PairTable(argument_rows(compared, predicted, diff_call(compared, predicted)), lambda _: [])
    return PairTable(_pair_rows(pair, golden, predicted), lambda _: [])


def _undecoded_golden_table(golden: Call, predicted: Call | None, options: Options) -> PairTable:
    """Both calls as text below each other, because arguments cannot be compared with an undecoded golden call."""

    def lines_above(cells: int) -> list[Line]:
        lines = undecoded_call_lines(golden, cells, options)
        if predicted is None:
            return lines
        if predicted.arguments is None:
            return lines + undecoded_call_lines(predicted, cells, options)
        rows = wrap(call_text(predicted.name, predicted), cells - SIDE_LABEL_CELLS)
        return lines + labelled_side_lines("predicted", rows)

    return PairTable([], lines_above, golden)


def compared_golden_call(indexed: Scene, pair: Pair, address: str) -> Call | None:
    """The golden call that the benchmark compared with an unmatched predicted call; None if unknown or hidden."""
    compared = {} if indexed.hidden else indexed.item.extra.held_against or {}
    return indexed.golden_calls.get((pair.turn, compared[address])) if address in compared else None


def pair_remarks(indexed: Scene, pair: Pair, address: str) -> list[str]:
    """Remarks in a pair's heading: another spelling of the function, an earlier duplicate, the compared golden call."""
    golden, predicted = indexed.calls_of(pair)
    remarks: list[str] = []
    if golden and predicted and golden.name != predicted.name and all(place.path for place in pair.diff):
        remarks.append(f"predicted as {predicted.name}")
    if predicted is not None and pair.state in "!+" and (duplicate := indexed.find_duplicate(predicted)):
        remarks.append(f"duplicate of {duplicate}")
    if (compared := compared_golden_call(indexed, pair, address)) is not None:
        number = next((n for n, other in enumerate(indexed.pairs[pair.turn], 1) if other.golden == compared.index), 0)
        remarks.append(f"compared with golden call {number}")
    return remarks


def _pair_rows(pair: Pair, golden: Call | None, predicted: Call | None) -> list[ArgumentRow]:
    """Rows of the table. The row on the call as a whole is included only if both calls exist."""
    rows = argument_rows(golden, predicted, pair.diff)
    return rows if golden and predicted else [row for row in rows if row.path]


def _split_equal_rows(rows: list[ArgumentRow], fold: bool) -> tuple[list[ArgumentRow], list[ArgumentRow]]:
    """(rows to show, equal rows to fold to one line)."""
    equal = [row for row in rows if row.state == "="]
    if not fold or len(equal) <= MAX_EQUAL_ROWS:
        return rows, []
    return [row for row in rows if row.state != "="], equal


def _argument_block(row: ArgumentRow, widths: Callable[[int], Columns], pair: Pair, position: int) -> Block:
    address = argument_address(pair.turn, position, row.path)
    return Block(
        address,
        lambda cells: argument_lines(row, widths(cells)),
        target=address,
        argument=True,
        differs=row.state in "!-+",
        title=f"turn {pair.turn + 1} call {position + 1} · {visible(row.path)}",
        full=lambda: _full_values(row),
        copy=lambda: {"argument": row.path, "golden": row.golden, "predicted": row.predicted},
    )


def _full_values(row: ArgumentRow) -> str:
    """Both values with JSON indented, and the reasons why they differ. Several accepted values stay on one line."""
    golden, predicted = (laid_out_text(value) if value else "(none)" for value in (row.golden, row.predicted))
    return "\n".join(["golden", golden, "", "predicted", predicted, "", *row_reasons(row)])


def _equal_rows_block(key: str, rows: list[ArgumentRow]) -> Block:
    def lines(cells: int) -> list[Line]:
        names = visible(", ".join(row.path for row in rows if row.depth == 0))
        pieces = wrap(f"{len(rows)} equal: {names}", cells - 2, 2)
        return [(("= " if at == 0 else "  ", "dim"), (piece, "dim")) for at, piece in enumerate(pieces)]

    return Block(key, lines, foldable=True, folded=True)


def no_calls_block(indexed: Scene, turn: int) -> Block:
    """A note that the turn has neither golden nor predicted calls."""
    text = f"turn {turn + 1} · no golden or predicted calls"
    return Block(
        f"{turn_address(turn)}/calls",
        lambda cells: [line(text, "dim") if indexed.is_trajectory else rule(((text, "dim"),), cells)],
    )


def call_value(call: Call | None) -> Any:
    """Convert a call to JSON: `{name: {argument: value}}`, where a golden value is a list of accepted values.

    An undecoded call becomes its raw text.
    """
    if call is None:
        return None
    if call.arguments is None:
        return call.raw
    return {call.name: _plain_json(call.arguments)}


def _plain_json(value: Any) -> Any:
    if isinstance(value, Accept):
        value = value.any_of
    elif isinstance(value, Fields):
        value = value.fields
    if isinstance(value, dict):
        return {name: _plain_json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_json(inner) for inner in value]
    return value
