"""Show the same item in other runs: a panel below the item, a list of all predictions, and the
predictions of two runs side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from fcreview.matching.first_difference import build_argument_rows
from fcreview.model.item import Call, CallPair, Item
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import COLUMN_GAP, format_count, format_verdict
from fcreview.store.rows import QueueRow, strip_duplicate_mark
from fcreview.tui.item_view.blocks import IndexedItem
from fcreview.tui.item_view.call_diff import common_prefix_length
from fcreview.tui.queue.columns import difference_line
from fcreview.tui.text.graphics import FRAME_CELLS, box_lines
from fcreview.tui.text.lines import (
    BLANK_LINE,
    ChoiceTable,
    Line,
    StyledText,
    TextColumn,
    fit_line,
    make_line,
    pad_text,
    plain_text,
    rule_line,
    sanitize_and_wrap,
    truncate_middle,
    wrap_sanitized,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import get_verdict_style, symbols

if TYPE_CHECKING:
    from fcreview.stats.run_comparison import Flip
    from fcreview.store.store import Store


MIN_PANEL_ROWS = 3
MAX_RUN_NAME_CELLS = 30


def other_runs_panel_lines(run_rows: Sequence[QueueRow], cells: int, free_rows: int) -> list[Line]:
    """Return a panel with the verdict and the first difference of the item in each other run. Empty
    if there is no room.
    """
    if not run_rows or free_rows < MIN_PANEL_ROWS + (len(run_rows) > 1):
        return []
    names = [format_run_name(row) for row in run_rows]
    name_cells = min(max(map(display_width, names)), MAX_RUN_NAME_CELLS)
    fitting = free_rows - 2 if len(run_rows) <= free_rows - 2 else free_rows - 3
    lines: list[Line] = []
    for row, name in list(zip(run_rows, names, strict=True))[:fitting]:
        value = get_automatic_verdict(row)
        sign: StyledText = (f"{symbols().verdict_symbol(value)} ", get_verdict_style(value))
        difference = difference_line(row) or make_line("no difference" if value else "", "dim")
        name_part = pad_text(truncate_middle(name, name_cells), name_cells + 2)
        lines.append(fit_line((sign, name_part, *difference), cells - FRAME_CELLS))
    if len(run_rows) > fitting:
        lines.append(
            make_line(
                f"{symbols().ellipsis} {format_count(len(run_rows) - fitting, 'more run')}", "dim"
            )
        )
    verdicts = [value for row in run_rows if (value := get_automatic_verdict(row)) is not None]
    facts = f"fail: {verdicts.count(False)} of {len(verdicts)}" if verdicts else ""
    return box_lines("Other runs", lines, cells, ((facts, "dim"),) if facts else ())


def get_automatic_verdict(row: QueueRow) -> bool | None:
    """Return the official verdict, else the recomputed verdict, else the judge verdict."""
    return next((value for value in (row.official, row.rule, row.judge) if value is not None), None)


NO_CALL = "(no call)"
MIN_PREFIX = 24
"""Minimum length of a common beginning of predictions, in characters, that is cut."""
PREFIX_TAIL = 8
"""Number of characters at the end of a common beginning that remain."""


@dataclass(frozen=True, slots=True)
class RunPrediction:
    """Prediction of one run for an item."""

    row: QueueRow
    calls: str
    n_equal: int
    """Number of runs with the same prediction."""


def read_predictions(store: Store, item: int) -> list[RunPrediction]:
    """Return the predictions of all runs for this item, the most frequent first.

    Equal predictions are adjacent.
    """
    calls_by_item = {
        each.item: each.calls for each in store.fetch_predictions_of_same_question(item)
    }
    counts = Counter(calls_by_item.values())
    order = [calls for calls, _ in counts.most_common()]
    items = sorted(calls_by_item, key=lambda each: (order.index(calls_by_item[each]), each))
    predictions = [(row, calls_by_item[row.item]) for row in store.fetch_rows(items)]
    return [RunPrediction(row, calls=calls, n_equal=counts[calls]) for row, calls in predictions]


def summarize_predictions(predictions: Sequence[RunPrediction]) -> str:
    """Summarize the predictions: `9 of 12 runs fail · 7 predictions equal`. Failures are omitted if
    no verdict is visible.
    """
    verdicts = [
        verdict for each in predictions if (verdict := get_automatic_verdict(each.row)) is not None
    ]
    most = max(each.n_equal for each in predictions)
    summary = f"{most} predictions equal" if most > 1 else "all predictions differ"
    return (
        f"{verdicts.count(False)} of {format_count(len(verdicts), 'run')} fail · {summary}"
        if verdicts
        else summary
    )


def prediction_choice_table(
    predictions: Sequence[RunPrediction], item: int, *, blind: bool = False
) -> ChoiceTable[int]:
    """List the runs with their predictions.

    `blind`: hide the verdicts of items that the annotator has not reviewed.
    """
    distinct = list(dict.fromkeys(each.calls for each in predictions))
    prefixes = [
        shared
        for other in distinct[1:]
        if (shared := common_prefix_length(distinct[0], other)) > MIN_PREFIX
    ]
    prefix = distinct[0][: min(prefixes, default=0)]
    values = [each.row.item for each in predictions]
    first_rows = {
        distinct.index(each.calls): at for at, each in reversed(list(enumerate(predictions)))
    }
    return ChoiceTable(
        title=f"{sanitize(predictions[0].row.id)} in other runs",
        noun="run",
        columns=(
            TextColumn("equal", align_right=True),
            TextColumn("model", truncate=truncate_middle, min_width=12),
            *(TextColumn(name) for name in ("official", "recomp.", "you")),
            TextColumn("prediction", min_width=30),
        ),
        rows=[
            _prediction_table_row(each, at in first_rows.values(), prefix, blind)
            for at, each in enumerate(predictions)
        ],
        values=values,
        cursor=values.index(strip_duplicate_mark(item))
        if strip_duplicate_mark(item) in values
        else 0,
        note=summarize_predictions(predictions),
    )


def _prediction_table_row(
    prediction: RunPrediction, is_first_occurrence: bool, common_prefix: str, blind: bool
) -> list[StyledText]:
    """Return the cells of a run's row.

    `is_first_occurrence`: whether no run above has the same prediction.
    """
    row, calls = prediction.row, prediction.calls or NO_CALL
    if common_prefix and calls.startswith(common_prefix):
        calls = symbols().ellipsis + calls[len(common_prefix) - PREFIX_TAIL :]
    verdicts: list[StyledText] = [
        (symbols().verdict_symbol(each), get_verdict_style(each))
        for each in (row.official, row.rule, row.you)
    ]
    if blind and row.you is None:
        verdicts[:2] = [("hidden", "dim")] * 2
    count: StyledText = (f"{prediction.n_equal}", "strong") if is_first_occurrence else ("", "")
    return [
        count,
        (format_run_name(row), ""),
        *verdicts,
        (sanitize(calls), "" if is_first_occurrence else "dim"),
    ]


COLUMNS_MIN_CELLS = 120
"""Smallest width, in cells, for the golden answer and two predictions side by side."""
MAX_QUESTION_LINES = 8


def flip_detail_lines(flip: Flip, item_a: Item, item_b: Item, cells: int) -> list[Line]:
    """Return the question, the cause of the flip, the golden answer and the predictions of both
    runs.

    `item_a`, `item_b`: the item in run A and in run B.
    """
    questions = [message.content for message in item_a.messages if message.role == "user"]
    lines = [
        make_line(row)
        for row in sanitize_and_wrap(
            "\n".join(questions) or item_a.question, cells, MAX_QUESTION_LINES
        )
    ]
    lines += [make_line(row, "strong") for row in wrap_sanitized(sanitize(flip.cause), cells)]
    sections = [("golden", _golden_call_lines(item_a))]
    if flip.golden_differs:
        heading_b = make_line("golden answer of B", "dim")
        both = [*_golden_call_lines(item_a), heading_b, *_golden_call_lines(item_b)]
        sections = [("golden answer of A, then of B", both)]
    sections += [
        (f"{name} {format_verdict(outcome.verdict)}", _predicted_call_lines(item))
        for name, outcome, item in (("A", flip.a, item_a), ("B", flip.b, item_b))
    ]
    if cells < COLUMNS_MIN_CELLS:
        return [*lines, *(line for section in sections for line in _section_lines(*section, cells))]
    column_cells = (cells - 2 * COLUMN_GAP) // 3
    columns = [_section_lines(*section, column_cells) for section in sections]
    rows = zip_longest(*columns, fillvalue=BLANK_LINE)
    return [*lines, BLANK_LINE, *(_join_side_by_side(row, column_cells) for row in rows)]


def _golden_call_lines(item: Item) -> list[Line]:
    return [line for call in item.golden for line in _call_lines(call, item)] or [
        make_line("no call", "dim")
    ]


def _predicted_call_lines(item: Item) -> list[Line]:
    """Return the lines of the call pairs, with the state of each argument, and of the predicted
    calls without a pair.
    """
    indexed = IndexedItem(item)
    paired = {(pair.turn, pair.predicted) for pair in item.pairs}
    lines = [
        line
        for pair in item.pairs
        for line in _pair_lines(pair, *indexed.golden_and_predicted_call(pair), item)
    ]
    for call in item.predicted:
        if (call.turn, call.index) not in paired:
            lines += _call_lines(call, item)
    return lines or [make_line("no call", "dim")]


def _call_lines(call: Call, item: Item) -> list[Line]:
    arguments = (call.arguments or {}).items()
    texts = [f"    {sanitize(name)}: {sanitize(to_json_text(value))}" for name, value in arguments]
    return [*_call_name_lines(call, " ", item), *map(make_line, texts)]


def _pair_lines(
    pair: CallPair, golden: Call | None, predicted: Call | None, item: Item
) -> list[Line]:
    if predicted is None:
        return [make_line(f"- {sanitize(pair.name)} not called", "diff")]
    lines = _call_name_lines(predicted, pair.state, item)
    for row in build_argument_rows(golden, predicted, pair.diff):
        if row.path:
            text = (
                f"{'  ' * row.depth}{row.path}:"
                f" {row.predicted if row.predicted is not None else 'omitted'}"
            )
            lines.append(
                make_line(f"  {row.state} {sanitize(text)}", "" if row.state in "=~" else "diff")
            )
    return lines


def _call_name_lines(call: Call, state_symbol: str, item: Item) -> list[Line]:
    """Return the line with the name of a call and, if the call was not decoded, the error."""
    has_turns = any(each.turn for each in (*item.golden, *item.predicted))
    turn = f"  turn {call.turn + 1}" if has_turns else ""
    style = "strong" if state_symbol in " =~" else "diff"
    lines = [make_line(f"{state_symbol} {sanitize(call.name)}{turn}", style)]
    if call.arguments is None:
        lines.append(
            make_line(f"    {sanitize(call.decode_error or call.raw or 'cannot be read')}", "dim")
        )
    return lines


def _section_lines(title: str, lines: Sequence[Line], cells: int) -> list[Line]:
    wrapped = [
        make_line(row, style)
        for line in lines
        for text, style in line
        for row in wrap_sanitized(text, cells)
    ]
    return [rule_line(((title, "strong"),), cells), *wrapped]


def _join_side_by_side(lines: Sequence[Line], column_cells: int) -> Line:
    """Join lines to one line, in columns of `column_cells`."""
    joined: list[StyledText] = []
    for at, line in enumerate(lines):
        text, style = line[0] if len(line) == 1 else (plain_text(line), "strong" if line else "")
        joined += [*([(" " * COLUMN_GAP, "")] if at else []), pad_text(text, column_cells, style)]
    return tuple(joined)
