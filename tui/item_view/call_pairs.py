"""Build the blocks of a golden and a predicted call: a table of arguments if unfolded, one line
if folded.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from fcreview.matching.diff import diff_call
from fcreview.matching.first_difference import ArgumentRow, build_argument_rows
from fcreview.model.address import argument_address, call_address, turn_address
from fcreview.model.item import AcceptedValues, Call, CallPair, GoldenObject
from fcreview.model.sanitize import sanitize
from fcreview.tui.item_view.blocks import (
    DIFFERING_STATES,
    Block,
    CallOrder,
    DisplayOptions,
    IndexedItem,
    LineRenderer,
    text_block,
)
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
from fcreview.tui.text.lines import (
    Line,
    LineBuilder,
    format_json_text,
    make_line,
    prefix_rows_with_label,
    rule_line,
    wrap_sanitized,
)

NOT_DECODED = "(not decoded)"
MAX_EQUAL_ROWS = 8


def single_turn_pair_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the blocks of the calls of an item with one turn and no tool results.

    Predicted calls are shown beside the golden calls with which they are compared. If the benchmark
    compares no calls, they are shown alone. If there are none, a line says so.
    """
    blocks: list[Block] = []
    for index, pair in enumerate(indexed.pairs.get(0, [])):
        blocks += pair_blocks(indexed, pair, index, options)
    if blocks:
        return blocks

    for number, call in enumerate(indexed.calls_of_unpaired_turn(0), 1):
        label = "call"
        if indexed.has_several_steps(0):
            label = indexed.step_label(0, call.step)
        key = f"{turn_address(0)}/call:{number}/unpaired"
        blocks += unpaired_call_blocks(key, label, call, options)
    # If a golden reply exists, an item without calls is nothing special.
    if blocks or indexed.item.extra.golden_reply is not None:
        return blocks
    return [no_calls_block(indexed, 0)]


UNPAIRED_CALL_ROWS = 3


def unpaired_call_blocks(key: str, label: str, call: Call, options: DisplayOptions) -> list[Block]:
    """Return the blocks of a predicted call that the benchmark compares with no golden call.

    If the call could not be decoded, a second block has the reason.
    """
    title = f"turn {call.turn + 1} {label} {call.name}".rstrip()
    head = text_block(
        key,
        label,
        _format_unpaired_call(call),
        options,
        folded_rows=UNPAIRED_CALL_ROWS,
        style="predicted",
        title=sanitize(title),
    )
    head.copied_value = lambda: call_to_json(call)
    if call.decode_error is None:
        return [head]
    return [head, text_block(f"{key}/error", "error", call.decode_error, options, style="bad")]


def _format_unpaired_call(call: Call) -> str:
    if call.arguments is None and call.name:
        # The name was found, but not the arguments. The raw text shows them.
        return f"{call.name} {call.raw or ''}".rstrip()
    return format_call(call)


def _is_pair_folded_by_default(indexed: IndexedItem, pair: CallPair, address: str) -> bool:
    """Whether a pair of calls is folded to one line until the reader unfolds it.

    Equal pairs are folded if the item has other calls. In a trajectory, which has many calls,
    missing and extra calls are folded too. A pair is never folded if it was reviewed, if a verdict
    fails it, if a judge comments on it, or if it is the decisive step.
    """
    if _is_decisive_step(indexed, pair) or has_failure_or_review(indexed, address):
        return False
    # The benchmark compared this extra call with a golden call, so the reader needs the arguments.
    if find_golden_compared_with_extra(indexed, pair, address) is not None:
        return False

    in_trajectory = indexed.is_trajectory and not indexed.only_last_turn_judged
    # `=`: equal, `~`: equivalent.
    if pair.state in "=~":
        has_other_calls = len(indexed.pairs[pair.turn]) > 1
        return has_other_calls or in_trajectory
    # `-`: the model lacks the golden call, `+`: extra call, blank: extra call that does not count.
    return pair.state in "-+ " and in_trajectory


def _is_decisive_step(indexed: IndexedItem, pair: CallPair) -> bool:
    mark = indexed.decisive_step
    _, predicted = indexed.golden_and_predicted_call(pair)
    return mark is not None and mark.message_number == indexed.message_number(predicted)


@dataclass(frozen=True, slots=True)
class _ShownPair:
    """Call pair with the texts of its heading."""

    pair: CallPair
    index: int
    """Index in the turn, from 0."""
    golden: Call | None
    predicted: Call | None
    call_label: str
    """Number of the call in its turn: `call 1 of 2`."""
    remarks: Sequence[str]
    step_labels: Sequence[str]
    """Label of the step of the predicted call. Empty if the turn has only one step."""

    @property
    def address(self) -> str:
        return call_address(self.pair.turn, self.index)

    @property
    def title(self) -> str:
        return f"turn {self.pair.turn + 1} call {self.index + 1}"


def pair_blocks(
    indexed: IndexedItem, pair: CallPair, pair_index: int, options: DisplayOptions
) -> list[Block]:
    """Return the blocks of a golden call and the predicted call that is compared with it.

    The blocks are a heading, a row for each argument, the verdicts on the call, and the docs of the
    function if the reader opened them. A folded pair has only one line and the docs. `pair_index`:
    index of the pair in its turn.
    """
    shown = _prepare_pair(indexed, pair, pair_index)
    address = shown.address
    folded_by_default = _is_pair_folded_by_default(indexed, pair, address)
    if options.is_folded(address, folded_by_default):
        blocks = [_folded_pair_block(indexed, shown)]
    else:
        blocks = _unfolded_pair_blocks(indexed, shown, options)
        blocks += target_verdict_and_review_blocks(indexed, address)
    return blocks + call_docs_blocks(indexed, pair, address, options)


def _prepare_pair(indexed: IndexedItem, pair: CallPair, pair_index: int) -> _ShownPair:
    """Collect what is shown of a pair: its calls, and the texts of its heading."""
    golden, predicted = indexed.golden_and_predicted_call(pair)
    # The step says which of the model's replies has the call.
    step_labels = []
    if predicted is not None and indexed.has_several_steps(pair.turn):
        step_labels.append(indexed.step_label(pair.turn, predicted.step))
    return _ShownPair(
        pair=pair,
        index=pair_index,
        golden=golden,
        predicted=predicted,
        call_label=format_call_label(indexed.call_orders[pair.turn], pair_index),
        remarks=pair_remarks(indexed, pair, call_address(pair.turn, pair_index)),
        step_labels=step_labels,
    )


def _pair_heading_block(
    indexed: IndexedItem, shown: _ShownPair, render_lines: LineRenderer, *, folded: bool
) -> Block:
    """Return the heading of a pair, with `render_lines` as its lines.

    The address of the call is its target: a verdict key on this block reviews the call.
    """
    golden = shown.golden
    predicted = shown.predicted
    return Block(
        shown.address,
        render_lines,
        target=shown.address,
        differs=shown.pair.state in DIFFERING_STATES,
        is_judged=indexed.only_last_turn_judged,
        foldable=True,
        folded=folded,
        title=shown.title,
        function=golden.name if golden is not None else "",
        copied_value=lambda: {
            "golden": call_to_json(golden),
            "predicted": call_to_json(predicted),
        },
    )


def _folded_pair_block(indexed: IndexedItem, shown: _ShownPair) -> Block:
    """Return the block of a folded pair, which is one line."""
    ending = LineBuilder()
    for remark in shown.remarks:
        ending.add(f" · {remark}", "warn")
    for label in shown.step_labels:
        ending.add(f" · {label}", "dim")

    # In a trajectory, the heading of the turn stands above the pair. Elsewhere, the line itself
    # names the turn.
    turn = shown.pair.turn
    is_below_turn_heading = indexed.is_trajectory and not indexed.is_earlier_dialogue(turn)
    render_lines = partial(
        folded_pair_lines,
        shown.pair,
        shown.golden or shown.predicted,
        call_label=shown.call_label,
        suffix=ending.build(),
        shows_turn=not is_below_turn_heading,
    )
    return _pair_heading_block(indexed, shown, render_lines, folded=True)


def _unfolded_pair_blocks(
    indexed: IndexedItem, shown: _ShownPair, options: DisplayOptions
) -> list[Block]:
    """Return the heading of a pair and a block for each argument.

    Arguments that are equal in both calls are folded to one line, until the reader unfolds them.
    """
    table = _pair_table(indexed, shown, options)
    # The widths of the columns depend on all rows, and there may be a million. The blocks share one
    # computation of them.
    column_widths = cache(partial(compute_argument_columns, table.rows))
    blocks = [_unfolded_pair_heading_block(indexed, shown, table, column_widths, options)]

    equal_key = f"{shown.address}/equal"
    are_equal_folded = options.is_folded(equal_key, by_default=True)
    shown_rows, folded_rows = _split_off_equal_rows(table.rows, are_equal_folded)
    for row in shown_rows:
        address = argument_address(shown.pair.turn, shown.index, row.path)
        title = f"{shown.title} · {sanitize(row.path)}"
        blocks.append(argument_block(address, row, column_widths, title, target=address))
    if folded_rows:
        blocks.append(_equal_rows_block(equal_key, folded_rows))
    return blocks


def _unfolded_pair_heading_block(
    indexed: IndexedItem,
    shown: _ShownPair,
    table: PairTable,
    column_widths: Callable[[int], Columns],
    options: DisplayOptions,
) -> Block:
    """Return the heading of an unfolded pair, with undecoded calls and column headings."""
    # A frame shows position and steps at its bottom, other headings show them in their line.
    position = format_pair_position(shown.pair, shown.call_label)
    heading_position = "" if options.frames else position
    heading_remarks = list(shown.remarks)
    if not options.frames:
        heading_remarks += shown.step_labels
    render_heading = partial(
        _pair_heading_lines, shown, table, column_widths, heading_position, heading_remarks
    )

    block = _pair_heading_block(indexed, shown, render_heading, folded=False)
    if options.frames:
        block.frame_footer = make_line(" · ".join([position, *shown.step_labels]), "dim")
    # The reader can open the raw text of a call that could not be decoded.
    if table.undecoded is not None:
        raw_text = table.undecoded.raw or ""
        block.full_text = lambda: raw_text
    return block


def _pair_heading_lines(
    shown: _ShownPair,
    table: PairTable,
    widths: Callable[[int], Columns],
    position: str,
    remarks: Sequence[str],
    cells: int,
) -> list[Line]:
    """Render the heading of an unfolded pair: title, calls that could not be decoded, column
    headings.

    `widths`: computes the widths of the argument columns from the width of the list.
    """
    lines = [pair_heading(shown.pair, position, cells, remarks)]
    lines += table.lines_above(cells)
    if table.rows:
        lines.append(column_headings(widths(cells)))
    elif table.undecoded is None:
        lines.append(make_line("  no arguments", "dim"))
    return lines


def format_call_label(order: CallOrder, pair_index: int) -> str:
    """Return the number of a call in its turn, such as `call 2 of 3`. If the model made the golden
    calls in another order, return `golden call 2 of 2`.
    """
    if order.is_other_than_golden and pair_index < order.n_golden:
        return f"golden call {pair_index + 1} of {order.n_golden}"
    return f"call {pair_index + 1} of {order.n_pairs}"


@dataclass(frozen=True, slots=True)
class PairTable:
    """What an unfolded pair of calls shows between its heading and its verdicts.

    A row is an argument, with its golden and its predicted value. Above the rows is the raw text of
    calls that could not be decoded.
    """

    rows: list[ArgumentRow]
    lines_above: Callable[[int], list[Line]]
    """Returns the lines above the rows, with the raw text of undecoded calls.

    The argument is the width in cells.
    """
    undecoded: Call | None = None


def _pair_table(indexed: IndexedItem, shown: _ShownPair, options: DisplayOptions) -> PairTable:
    """Return the table of a pair: a row for each argument, with the golden and the predicted value.

    If one of the calls could not be decoded, its raw text stands above the rows.
    """
    pair = shown.pair
    golden = shown.golden
    predicted = shown.predicted
    if golden is not None and golden.arguments is None:
        return _undecoded_golden_table(golden, predicted, options)
    if predicted is not None and predicted.arguments is None:
        return _undecoded_prediction_table(indexed, pair, golden, predicted, options)

    # The benchmark may have compared an extra call with a golden call, although they are no pair.
    compared = find_golden_compared_with_extra(indexed, pair, shown.address)
    if compared is not None and predicted is not None:
        rows = build_argument_rows(compared, predicted, diff_call(compared, predicted))
    else:
        rows = _pair_argument_rows(pair, golden, predicted)
    return PairTable(rows, _no_lines)


def _no_lines(_: int) -> list[Line]:
    return []


def _undecoded_prediction_table(
    indexed: IndexedItem,
    pair: CallPair,
    golden: Call | None,
    predicted: Call,
    options: DisplayOptions,
) -> PairTable:
    """Return the raw text of a prediction that could not be decoded, above the golden arguments.

    Without golden calls, an answer that is no call can be right. Then it is shown as ordinary text.
    """
    is_not_compared = pair.state == " "
    can_be_right = is_not_compared and not indexed.golden_calls
    lines_above = partial(
        undecoded_call_lines,
        predicted,
        options=options,
        is_error=not can_be_right,
        is_undecoded="undecoded" in indexed.item.flags,
    )
    if can_be_right:
        return PairTable([], lines_above, undecoded=predicted)
    rows = [replace(row, predicted=NOT_DECODED) for row in _pair_argument_rows(pair, golden, None)]
    return PairTable(rows, lines_above, undecoded=predicted)


def _undecoded_golden_table(
    golden: Call, predicted: Call | None, options: DisplayOptions
) -> PairTable:
    """Return the raw text of a golden call that could not be decoded, and the prediction below it.

    There are no argument rows, because no arguments can be compared.
    """

    def lines_above(cells: int) -> list[Line]:
        lines = undecoded_call_lines(golden, cells, options)
        if predicted is None:
            return lines
        if predicted.arguments is None:
            return lines + undecoded_call_lines(predicted, cells, options)
        rows = wrap_sanitized(format_call(predicted), cells - SIDE_LABEL_CELLS)
        return lines + labelled_side_lines("predicted", rows)

    return PairTable([], lines_above, undecoded=golden)


def find_golden_compared_with_extra(
    indexed: IndexedItem, pair: CallPair, address: str
) -> Call | None:
    """Return the golden call that the benchmark compared with an extra call. None if it is
    unknown or hidden.
    """
    golden_index_by_address = indexed.item.extra.compared_with or {}
    if indexed.hide_verdicts or address not in golden_index_by_address:
        return None
    return indexed.golden_calls.get((pair.turn, golden_index_by_address[address]))


def pair_remarks(indexed: IndexedItem, pair: CallPair, address: str) -> list[str]:
    """Return the remarks for the heading of a pair of calls, such as `by the simulated user`,
    `duplicate of turn 1 step 2` or `vs golden call 2`.
    """
    golden, predicted = indexed.golden_and_predicted_call(pair)
    remarks: list[str] = []
    if predicted is not None and (pair.turn, predicted.index) in indexed.user_calls:
        remarks.append("by the simulated user")
    if _is_uncounted_error(indexed, pair):
        remarks.append("not counted")
    if golden is not None and predicted is not None and golden.name != predicted.name:
        remarks += _renamed_function_remarks(pair, predicted)
    # An equal call needs no explanation. These states are: different, extra, not compared.
    if predicted is not None and pair.state in "!+ ":
        remarks += _duplicate_remarks(indexed, predicted)
    return remarks + _compared_golden_remarks(indexed, pair, address)


def _duplicate_remarks(indexed: IndexedItem, predicted: Call) -> list[str]:
    """Name the place where the model made the same call before, if it did."""
    earlier_place = indexed.repeated_calls.describe_earlier_occurrence(predicted)
    return [f"duplicate of {earlier_place}"] if earlier_place else []


def _compared_golden_remarks(indexed: IndexedItem, pair: CallPair, address: str) -> list[str]:
    """Name the golden call of another pair with which the benchmark compared an extra call."""
    compared_golden = find_golden_compared_with_extra(indexed, pair, address)
    if compared_golden is None:
        return []
    numbers = indexed.call_orders[pair.turn].number_by_golden_index
    return [f"vs golden call {numbers.get(compared_golden.index, 0)}"]


def _is_uncounted_error(indexed: IndexedItem, pair: CallPair) -> bool:
    """Whether the benchmark ignores a missing or different call in the verdict.

    The result is False in blind review, because it would reveal a part of the verdict.
    """
    if indexed.hide_verdicts or pair.state not in "-!":
        return False
    return pair.state in indexed.uncounted_states


def _renamed_function_remarks(pair: CallPair, predicted: Call) -> list[str]:
    # A difference with an empty path is the difference of the names, which the table shows.
    if any(not difference.path for difference in pair.diff):
        return []
    return [f"predicted as {predicted.name}"]


def _pair_argument_rows(
    pair: CallPair, golden: Call | None, predicted: Call | None
) -> list[ArgumentRow]:
    """Return a row for each argument of a pair, with its golden and its predicted value.

    A row without a path is the name of the function.
    """
    rows = []
    for row in build_argument_rows(golden, predicted, pair.diff):
        is_function_name = not row.path
        if is_function_name and (golden is None or predicted is None):
            # The heading says which function is missing or extra.
            continue
        if pair.state == " ":
            # Nothing in a neutral pair is an error.
            rows.append(replace(row, state="="))
        else:
            rows.append(row)
    return rows


def _split_off_equal_rows(
    rows: list[ArgumentRow], fold_equal_rows: bool
) -> tuple[list[ArgumentRow], list[ArgumentRow]]:
    """Return (rows to show, equal rows to fold into one line). Few equal rows are not folded."""
    equal_rows = [row for row in rows if row.state == "="]
    if not fold_equal_rows or len(equal_rows) <= MAX_EQUAL_ROWS:
        return rows, []
    other_rows = [row for row in rows if row.state != "="]
    return other_rows, equal_rows


def argument_block(
    key: str,
    row: ArgumentRow,
    column_widths: Callable[[int], Columns],
    title: str,
    target: str | None = None,
) -> Block:
    """Return the block of an argument, with its golden and its predicted value.

    The reader can open it to see both values in full. Without a `target`, it cannot be reviewed.
    """
    return Block(
        key,
        lambda cells: argument_lines(row, column_widths(cells)),
        target=target,
        is_argument=True,
        differs=row.state in DIFFERING_STATES,
        title=title,
        full_text=lambda: _format_full_values(row),
        copied_value=lambda: {
            "argument": row.path,
            "golden": row.golden,
            "predicted": row.predicted,
        },
    )


def _format_full_values(row: ArgumentRow) -> str:
    golden = format_json_text(row.golden) if row.golden else "(none)"
    predicted = format_json_text(row.predicted) if row.predicted else "(none)"
    parts = ["golden", golden, "", "predicted", predicted, "", *difference_reasons(row)]
    return "\n".join(parts)


def _equal_rows_block(key: str, rows: list[ArgumentRow]) -> Block:
    """Return the line `= 3 equal: city, days, units`, which stands for arguments that are equal."""

    def render_lines(cells: int) -> list[Line]:
        names = ", ".join(row.path for row in rows if row.depth == 0)
        pieces = wrap_sanitized(f"{len(rows)} equal: {sanitize(names)}", cells - 2, 2)
        return prefix_rows_with_label("= ", pieces, "dim")

    return Block(key, render_lines, foldable=True, folded=True)


def no_calls_block(indexed: IndexedItem, turn: int) -> Block:
    """Return the block that says that a turn needs no call, and that the model made none."""
    line = make_line(f"turn {turn + 1} · no golden or predicted calls", "dim")

    def render_lines(cells: int) -> list[Line]:
        return [line] if indexed.is_trajectory else [rule_line(line, cells)]

    return Block(f"{turn_address(turn)}/calls", render_lines)


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
    """Replace golden values of all depths by the plain lists and dictionaries that they contain."""
    if isinstance(value, AcceptedValues):
        return _unwrap_accepted_values(value.any_of)
    if isinstance(value, GoldenObject):
        return _unwrap_accepted_values(value.fields)
    if isinstance(value, dict):
        return {name: _unwrap_accepted_values(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_unwrap_accepted_values(element) for element in value]
    return value
