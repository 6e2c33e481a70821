"""Build the blocks of a golden and a predicted call: a table of arguments if unfolded, one line
if folded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from fcreview.matching.diff import diff_call
from fcreview.matching.first_difference import ArgumentRow, build_argument_rows
from fcreview.model.address import argument_address, call_address, turn_address
from fcreview.model.item import AcceptedValues, Call, CallPair, GoldenObject
from fcreview.model.sanitize import sanitize
from fcreview.tui.item_view.blocks import Block, CallOrder, DisplayOptions, IndexedItem, text_block
from fcreview.tui.item_view.call_diff import (
    SIDE_LABEL_CELLS,
    Columns,
    argument_lines,
    column_headings,
    compute_argument_columns,
    difference_reasons,
    folded_pair_lines,
    format_call,
    format_pair_position,
    labelled_side_lines,
    pair_heading,
    undecoded_call_lines,
)
from fcreview.tui.item_view.function_docs import call_docs_blocks
from fcreview.tui.item_view.verdicts import has_failure_or_review, target_verdict_and_review_blocks
from fcreview.tui.text.lines import Line, format_json_text, make_line, rule_line, wrap_sanitized

NOT_DECODED = "(not decoded)"
MAX_EQUAL_ROWS = 8


def single_turn_pair_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the blocks of the calls of an item with one turn and no tool results."""
    pairs = indexed.pairs.get(0, [])
    if pairs:
        return [
            block
            for at, pair in enumerate(pairs)
            for block in pair_blocks(indexed, pair, at, options)
        ]

    calls = indexed.calls_of_unpaired_turn(0)
    if not calls:
        return [] if indexed.item.extra.golden_reply is not None else [no_calls_block(indexed, 0)]

    blocks: list[Block] = []
    for number, call in enumerate(calls, 1):
        label = indexed.step_label(0, call.step) if indexed.has_several_steps(0) else "call"
        blocks += unpaired_call_blocks(
            f"{turn_address(0)}/call:{number}/unpaired", label, call, options
        )
    return blocks


UNPAIRED_CALL_ROWS = 3


def unpaired_call_blocks(key: str, label: str, call: Call, options: DisplayOptions) -> list[Block]:
    """Return the blocks of a call with which the benchmark compares nothing: the call and, if it
    could not be decoded, the reason.
    """
    text = format_call(call)
    if call.arguments is None and call.name:
        text = f"{call.name} {call.raw or ''}".rstrip()
    title = f"turn {call.turn + 1} {label} {call.name}".rstrip()
    head = text_block(
        key,
        label,
        text,
        options,
        folded_rows=UNPAIRED_CALL_ROWS,
        style="predicted",
        title=sanitize(title),
    )
    head.copied_value = lambda: call_to_json(call)
    if call.decode_error is None:
        return [head]
    return [head, text_block(f"{key}/error", "error", call.decode_error, options, style="bad")]


def _is_pair_folded_by_default(indexed: IndexedItem, pair: CallPair, address: str) -> bool:
    """Whether a pair is folded at first.

    Equal pairs are folded if the item has other calls. In a trajectory, missing and extra calls are
    folded too. A pair is never folded if it was reviewed, if a verdict fails it, if a judge
    comments on it, or if it is the decisive step.
    """
    decisive, predicted = indexed.decisive_step, indexed.golden_and_predicted_call(pair)[1]
    if decisive is not None and decisive.message_number == indexed.message_number(predicted):
        return False
    if (
        has_failure_or_review(indexed, address)
        or find_golden_compared_with_extra(indexed, pair, address) is not None
    ):
        return False
    in_trajectory = indexed.is_trajectory and not indexed.only_last_turn_judged
    has_neighbours = len(indexed.pairs[pair.turn]) > 1 or in_trajectory
    return (pair.state in "=~" and has_neighbours) or (pair.state in "-+ " and in_trajectory)


def pair_blocks(
    indexed: IndexedItem, pair: CallPair, pair_index: int, options: DisplayOptions
) -> list[Block]:
    """Return the blocks of a pair: heading, arguments, verdicts and function docs. `pair_index`:
    from 0, in the turn.
    """
    label = format_call_label(indexed.call_orders[pair.turn], pair_index)
    address = call_address(pair.turn, pair_index)
    golden, predicted = indexed.golden_and_predicted_call(pair)
    folded = options.is_folded(address, _is_pair_folded_by_default(indexed, pair, address))
    remarks = pair_remarks(indexed, pair, address)
    has_step = predicted is not None and indexed.has_several_steps(pair.turn)
    step = (
        [indexed.step_label(pair.turn, predicted.step)]
        if predicted is not None and has_step
        else []
    )
    ending: Line = (
        *((f" · {remark}", "warn") for remark in remarks),
        *((f" · {label}", "dim") for label in step),
    )
    inside_turn = indexed.is_trajectory and not indexed.is_earlier_dialogue(pair.turn)
    head = Block(
        address,
        partial(folded_pair_lines, pair, label, golden or predicted, ending, inside_turn),
        target=address,
        differs=pair.state in "!-+",
        is_judged=indexed.only_last_turn_judged,
        foldable=True,
        folded=folded,
        title=f"turn {pair.turn + 1} call {pair_index + 1}",
        function=golden.name if golden is not None else "",
        copied_value=lambda: {"golden": call_to_json(golden), "predicted": call_to_json(predicted)},
    )
    docs = call_docs_blocks(indexed, pair, address, options)
    if folded:
        return [head, *docs]
    table = _pair_table(indexed, pair, address, options)
    # Cached, because there may be a million rows.
    widths = cache(partial(compute_argument_columns, table.rows))

    place = format_pair_position(pair, label)
    if options.frames:
        head.frame_footer = ((" · ".join([place, *step]), "dim"),)
        place, step = "", []

    def heading_lines(cells: int) -> list[Line]:
        lines = [pair_heading(pair, place, cells, [*remarks, *step])]
        lines += table.lines_above(cells)
        if table.rows:
            lines.append(column_headings(widths(cells)))
        elif not table.undecoded:
            lines.append(make_line("  no arguments", "dim"))
        return lines

    head.lines = heading_lines
    if table.undecoded is not None:
        raw = table.undecoded.raw or ""
        head.full_text = lambda: raw
    rows, equal_rows = _split_off_equal_rows(
        table.rows, options.is_folded(f"{address}/equal", True)
    )
    blocks = [head]
    for row in rows:
        target = argument_address(pair.turn, pair_index, row.path)
        blocks.append(
            argument_block(target, row, widths, f"{head.title} · {sanitize(row.path)}", target)
        )
    if equal_rows:
        blocks.append(_equal_rows_block(f"{address}/equal", equal_rows))
    return [*blocks, *target_verdict_and_review_blocks(indexed, address), *docs]


def format_call_label(order: CallOrder, pair_index: int) -> str:
    """Return the number of a call in its turn, such as `call 2 of 3`. If the model made the golden
    calls in another order, return `golden call 2 of 2`.
    """
    if order.is_other_than_golden and pair_index < order.n_golden:
        return f"golden call {pair_index + 1} of {order.n_golden}"
    return f"call {pair_index + 1} of {order.n_pairs}"


@dataclass(frozen=True, slots=True)
class PairTable:
    """Content of an unfolded pair between the heading and the verdicts."""

    rows: list[ArgumentRow]
    lines_above: Callable[[int], list[Line]]
    """Returns the lines above the rows, with the raw text of undecoded calls.

    The argument is the width in cells.
    """
    undecoded: Call | None = None


def _pair_table(
    indexed: IndexedItem, pair: CallPair, address: str, options: DisplayOptions
) -> PairTable:
    golden, predicted = indexed.golden_and_predicted_call(pair)
    if golden is not None and golden.arguments is None:
        return _undecoded_golden_table(golden, predicted, options)
    if predicted is not None and predicted.arguments is None:
        draw = partial(
            undecoded_call_lines,
            predicted,
            options=options,
            is_undecoded="undecoded" in indexed.item.flags,
        )
        if pair.state == " " and not indexed.golden_calls:
            return PairTable([], lines_above=partial(draw, is_error=False), undecoded=predicted)
        rows = [
            replace(row, predicted=NOT_DECODED) for row in _pair_argument_rows(pair, golden, None)
        ]
        return PairTable(rows, lines_above=draw, undecoded=predicted)
    compared = find_golden_compared_with_extra(indexed, pair, address)
    if compared is not None and predicted is not None:
        return PairTable(
            build_argument_rows(compared, predicted, diff_call(compared, predicted)), lambda _: []
        )
    return PairTable(_pair_argument_rows(pair, golden, predicted), lambda _: [])


def _undecoded_golden_table(
    golden: Call, predicted: Call | None, options: DisplayOptions
) -> PairTable:
    def lines_above(cells: int) -> list[Line]:
        lines = undecoded_call_lines(golden, cells, options)
        if predicted is None:
            return lines
        if predicted.arguments is None:
            return lines + undecoded_call_lines(predicted, cells, options)
        rows = wrap_sanitized(format_call(predicted), cells - SIDE_LABEL_CELLS)
        return lines + labelled_side_lines("predicted", rows)

    return PairTable([], lines_above=lines_above, undecoded=golden)


def find_golden_compared_with_extra(
    indexed: IndexedItem, pair: CallPair, address: str
) -> Call | None:
    """Return the golden call that the benchmark compared with an extra call.

    None if it is unknown or hidden.
    """
    compared = {} if indexed.hide_verdicts else indexed.item.extra.compared_with or {}
    return indexed.golden_calls.get((pair.turn, compared[address])) if address in compared else None


def pair_remarks(indexed: IndexedItem, pair: CallPair, address: str) -> list[str]:
    """Return the remarks for the heading of a pair, such as `by the simulated user` or
    `duplicate of turn 1 step 2`.
    """
    golden, predicted = indexed.golden_and_predicted_call(pair)
    remarks: list[str] = []
    if predicted is not None and (pair.turn, predicted.index) in indexed.user_calls:
        remarks.append("by the simulated user")
    if pair.state in "-!" and pair.state in indexed.uncounted_states and not indexed.hide_verdicts:
        remarks.append("not counted")
    if (
        golden
        and predicted
        and golden.name != predicted.name
        and all(place.path for place in pair.diff)
    ):
        remarks.append(f"predicted as {predicted.name}")
    if predicted is not None and pair.state in "!+ ":
        earlier = indexed.repeated_calls.describe_earlier_occurrence(predicted)
        remarks += [f"duplicate of {earlier}"] if earlier else []
    compared = find_golden_compared_with_extra(indexed, pair, address)
    if compared is not None:
        number = indexed.call_orders[pair.turn].number_by_golden_index.get(compared.index, 0)
        remarks.append(f"vs golden call {number}")
    return remarks


def _pair_argument_rows(
    pair: CallPair, golden: Call | None, predicted: Call | None
) -> list[ArgumentRow]:
    rows = build_argument_rows(golden, predicted, pair.diff)
    if pair.state == " ":
        rows = [replace(row, state="=") for row in rows]
    return rows if golden and predicted else [row for row in rows if row.path]


def _split_off_equal_rows(
    rows: list[ArgumentRow], fold_equal_rows: bool
) -> tuple[list[ArgumentRow], list[ArgumentRow]]:
    """Return (rows to show, equal rows to fold into one line). Few equal rows are not folded."""
    equal = [row for row in rows if row.state == "="]
    if not fold_equal_rows or len(equal) <= MAX_EQUAL_ROWS:
        return rows, []
    return [row for row in rows if row.state != "="], equal


def argument_block(
    key: str,
    row: ArgumentRow,
    column_widths: Callable[[int], Columns],
    title: str,
    target: str | None = None,
) -> Block:
    return Block(
        key,
        lambda cells: argument_lines(row, column_widths(cells)),
        target=target,
        is_argument=True,
        differs=row.state in "!-+",
        title=title,
        full_text=lambda: _format_full_values(row),
        copied_value=lambda: {
            "argument": row.path,
            "golden": row.golden,
            "predicted": row.predicted,
        },
    )


def _format_full_values(row: ArgumentRow) -> str:
    golden, predicted = (
        format_json_text(value) if value else "(none)" for value in (row.golden, row.predicted)
    )
    return "\n".join(["golden", golden, "", "predicted", predicted, "", *difference_reasons(row)])


def _equal_rows_block(key: str, rows: list[ArgumentRow]) -> Block:
    def render_lines(cells: int) -> list[Line]:
        names = sanitize(", ".join(row.path for row in rows if row.depth == 0))
        pieces = wrap_sanitized(f"{len(rows)} equal: {names}", cells - 2, 2)
        return [
            (("= " if at == 0 else "  ", "dim"), (piece, "dim")) for at, piece in enumerate(pieces)
        ]

    return Block(key, render_lines, foldable=True, folded=True)


def no_calls_block(indexed: IndexedItem, turn: int) -> Block:
    text = f"turn {turn + 1} · no golden or predicted calls"
    return Block(
        f"{turn_address(turn)}/calls",
        lambda cells: [
            make_line(text, "dim") if indexed.is_trajectory else rule_line(((text, "dim"),), cells)
        ],
    )


def call_to_json(call: Call | None) -> Any:
    """Convert a call to `{name: {argument: value}}`. The value of a golden argument is the list of
    accepted values. For a call that could not be decoded, return the raw text.
    """
    if call is None:
        return None
    if call.arguments is None:
        return call.raw
    return {call.name: _unwrap_accepted_values(call.arguments)}


def _unwrap_accepted_values(value: Any) -> Any:
    if isinstance(value, AcceptedValues):
        value = value.any_of
    elif isinstance(value, GoldenObject):
        value = value.fields
    if isinstance(value, dict):
        return {name: _unwrap_accepted_values(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_unwrap_accepted_values(inner) for inner in value]
    return value
