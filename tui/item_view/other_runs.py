"""Show the same item in other runs: a panel below the item, a list of all predictions, and the
predictions of two runs side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Iterable,
    Sequence,
)
from dataclasses import dataclass
from itertools import zip_longest
from typing import (
    TYPE_CHECKING,
)

from fcreview.matching.first_difference import ArgumentRow, build_argument_rows
from fcreview.model.item import Call, CallPair, Item
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import COLUMN_GAP, format_count, format_verdict
from fcreview.store.rows import QueueRow, RunRow, View
from fcreview.tui.item_view.blocks import IndexedItem
from fcreview.tui.queue.columns import difference_line
from fcreview.tui.text.graphics import FRAME_CELLS, box_lines
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    LineBuilder,
    fit_line,
    make_line,
    plain_text,
    rule_line,
    sanitize_and_wrap,
    truncate_middle,
    wrap_sanitized,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import get_verdict_style, symbols

if TYPE_CHECKING:
    from fcreview.stats.run_comparison import Flip, ItemOutcome, VerdictSource
    from fcreview.store.store import Store


MIN_PANEL_ROWS = 3
MAX_RUN_NAME_CELLS = 30


def other_runs_panel_lines(run_rows: Sequence[QueueRow], cells: int, free_rows: int) -> list[Line]:
    """Return a panel that compares the item with the same item in other runs: verdict and first
    difference.

    Empty if there are no other runs, or no room.
    """
    has_several_runs = len(run_rows) > 1
    # Several runs need a second line: at least the one with the number of runs that have no room.
    min_rows = MIN_PANEL_ROWS + 1 if has_several_runs else MIN_PANEL_ROWS
    if not run_rows or free_rows < min_rows:
        return []
    lines = _other_run_lines(run_rows, cells - FRAME_CELLS, free_rows - BORDER_ROWS)
    return box_lines("Other runs", lines, cells, _failure_count_line(run_rows))


def _other_run_lines(run_rows: Sequence[QueueRow], cells: int, max_lines: int) -> list[Line]:
    """Return a line for each run. If there are too many, the last line counts those without one."""
    longest_name = max(display_width(format_run_name(row)) for row in run_rows)
    name_cells = min(longest_name, MAX_RUN_NAME_CELLS)
    if len(run_rows) <= max_lines:
        return [_other_run_line(row, name_cells, cells) for row in run_rows]

    n_shown = max_lines - 1
    lines = [_other_run_line(row, name_cells, cells) for row in run_rows[:n_shown]]
    hidden_runs = format_count(len(run_rows) - n_shown, "more run")
    lines.append(make_line(f"{symbols().ellipsis} {hidden_runs}", "dim"))
    return lines


BORDER_ROWS = 2
NAME_GAP_CELLS = 2


def _other_run_line(row: QueueRow, name_cells: int, cells: int) -> Line:
    """Return the item in another run: verdict, name of the run, and first difference."""
    verdict = get_automatic_verdict(row)
    name = truncate_middle(format_run_name(row), name_cells)
    line = LineBuilder()
    line.add(f"{symbols().verdict_symbol(verdict)} ", get_verdict_style(verdict))
    line.add_padded(name, name_cells + NAME_GAP_CELLS)
    difference = difference_line(row)
    if difference:
        line.add_line(difference)
    elif verdict:
        line.add("no difference", "dim")
    return fit_line(line.build(), cells)


def _failure_count_line(run_rows: Sequence[QueueRow]) -> Line:
    """Return `fail: 3 of 8` for the runs with a verdict. Empty without verdicts."""
    verdicts = _list_known_verdicts(run_rows)
    if not verdicts:
        return BLANK_LINE
    return make_line(f"fail: {verdicts.count(False)} of {len(verdicts)}", "dim")


def _list_known_verdicts(rows: Iterable[QueueRow]) -> list[bool]:
    """Return the automatic verdicts, without missing ones."""
    verdicts = []
    for row in rows:
        verdict = get_automatic_verdict(row)
        if verdict is not None:
            verdicts.append(verdict)
    return verdicts


def get_automatic_verdict(row: QueueRow) -> bool | None:
    """Return the official verdict, else the recomputed verdict, else the judge verdict."""
    for verdict in (row.official, row.rule, row.judge):
        if verdict is not None:
            return verdict
    return None


def read_outcomes(
    runs: Sequence[RunRow], sources: Sequence[VerdictSource], store: Store
) -> list[list[ItemOutcome]]:
    """Return the outcomes of all items, in one list for each run.

    `sources`: source of the verdicts for each run, such as official, in the order of `runs`.
    """
    outcomes = []
    view = View(queue="dataset")
    for row, source in zip(runs, sources, strict=True):
        outcome_by_run = store.analysis.fetch_outcomes(view, (row.run,), source)
        outcomes.append(outcome_by_run[row.run])
    return outcomes


def find_most_given_answer(store: Store, item: int) -> int | None:
    """Return the number of an item with the answer that most runs gave to the question of `item`.

    The answers are compared by the text of their predicted calls. Of equally frequent ones, the
    first counts. Returns None if no run predicted calls.
    """
    first_item_by_calls: dict[str, int] = {}
    n_runs: Counter[str] = Counter()
    for prediction in store.fetch_predictions_of_same_question(item):
        if prediction.calls:
            first_item_by_calls.setdefault(prediction.calls, prediction.item)
            n_runs[prediction.calls] += 1
    if not n_runs:
        return None
    # `max` returns the first of several equal ones.
    most_given_calls = max(n_runs, key=lambda calls: n_runs[calls])
    return first_item_by_calls[most_given_calls]


COLUMNS_MIN_CELLS = 120
"""Smallest width, in cells, for the golden answer and two predictions side by side."""
MAX_QUESTION_LINES = 8


@dataclass(frozen=True, slots=True)
class _Section:
    """Titled lines about the golden answer or a prediction."""

    title: str
    lines: Sequence[Line]

    def wrap(self, cells: int) -> list[Line]:
        """Return a heading and the wrapped lines. A part of a line with another style begins a
        new row.
        """
        wrapped = [rule_line(make_line(self.title, "strong"), cells)]
        for line in self.lines:
            for text, style in line:
                wrapped += [make_line(row, style) for row in wrap_sanitized(text, cells)]
        return wrapped


def flip_detail_lines(
    flip: Flip,
    item_a: Item,
    item_b: Item,
    cells: int,
    *,
    cause: Sequence[Line],
    run_names: tuple[str, str],
) -> list[Line]:
    """Compare an item in two runs, one of which passes: question, cause, golden answer, both
    predictions.

    In a wide terminal, the answers are side by side. `item_a`, `item_b`: the item in run A and in
    run B. `cause`: lines that say why only one run passes. `run_names`: the names of the two runs.
    """
    name_a, name_b = run_names
    lines = [*_flip_question_lines(item_a, cells), *cause]

    sections = [
        _golden_section(item_a, item_b, golden_differs=flip.golden_differs),
        _Section(_title_of_run("A", name_a, flip.a.verdict), _predicted_call_lines(item_a)),
        _Section(_title_of_run("B", name_b, flip.b.verdict), _predicted_call_lines(item_b)),
    ]
    if cells >= COLUMNS_MIN_CELLS:
        return [*lines, BLANK_LINE, *_lay_out_side_by_side(sections, cells)]
    for section in sections:
        lines += section.wrap(cells)
    return lines


def _flip_question_lines(item: Item, cells: int) -> list[Line]:
    messages = [message.content for message in item.messages if message.role == "user"]
    question = "\n".join(messages) or item.question
    return [make_line(row) for row in sanitize_and_wrap(question, cells, MAX_QUESTION_LINES)]


def _title_of_run(letter: str, name: str, verdict: bool | None) -> str:
    """Return `A fail, maple-8b`. The verdict comes first, because a long name is cut."""
    return f"{letter} {format_verdict(verdict)}, {sanitize(name)}"


def _golden_section(item_a: Item, item_b: Item, *, golden_differs: bool) -> _Section:
    """Return the golden answer of two runs. It can differ if they were imported with other
    datasets.
    """
    lines = _golden_call_lines(item_a)
    if not golden_differs:
        return _Section("golden", lines)
    lines.append(make_line("golden answer of B", "dim"))
    lines += _golden_call_lines(item_b)
    return _Section("golden answer of A, then of B", lines)


def _lay_out_side_by_side(sections: Sequence[_Section], cells: int) -> list[Line]:
    """Lay out the sections as columns of equal width."""
    gaps = (len(sections) - 1) * COLUMN_GAP
    column_cells = (cells - gaps) // len(sections)
    columns = [section.wrap(column_cells) for section in sections]
    rows = zip_longest(*columns, fillvalue=BLANK_LINE)
    return [_join_side_by_side(row, column_cells) for row in rows]


def _golden_call_lines(item: Item) -> list[Line]:
    lines: list[Line] = []
    for call in item.golden:
        lines += _call_lines(call, item, "golden")
    return lines or [make_line("no call", "dim")]


def _predicted_call_lines(item: Item) -> list[Line]:
    """Return the predicted calls of an item, with the state of each argument.

    The state says how an argument compares with the golden one. Calls that are compared with
    nothing follow.
    """
    indexed = IndexedItem(item)
    lines: list[Line] = []
    for pair in item.pairs:
        golden, predicted = indexed.golden_and_predicted_call(pair)
        lines += _pair_lines(pair, golden, predicted, item)

    paired = {(pair.turn, pair.predicted) for pair in item.pairs}
    for call in item.predicted:
        if (call.turn, call.index) not in paired:
            lines += _call_lines(call, item, "predicted")
    return lines or [make_line("no call", "dim")]


def _call_lines(call: Call, item: Item, style: str) -> list[Line]:
    """Return a call that is compared with nothing. `style`: the style of its side."""
    lines = _call_name_lines(call, " ", item, style)
    for name, value in (call.arguments or {}).items():
        lines.append(make_line(f"    {sanitize(name)}: {sanitize(to_json_text(value))}", style))
    return lines


def _pair_lines(
    pair: CallPair, golden: Call | None, predicted: Call | None, item: Item
) -> list[Line]:
    """Return the predicted call of a pair, with a line for each argument: `≠ city: Paris`.

    What differs from the golden call has a sign and the colour of predicted calls. If the model did
    not make the golden call, the line says so.
    """
    if predicted is None:
        return [make_line(f"{symbols().missing} {sanitize(pair.name)} not called", "missing")]

    name_style = "strong" if pair.state in EQUAL_STATES else "predicted"
    lines = _call_name_lines(predicted, pair.state, item, name_style)
    for row in build_argument_rows(golden, predicted, pair.diff):
        # A row without a path is the name of the function, which the line above has.
        if row.path:
            lines.append(_predicted_argument_line(row))
    return lines


def _predicted_argument_line(row: ArgumentRow) -> Line:
    indent = "  " * row.depth
    value = "omitted" if row.predicted is None else row.predicted
    argument = sanitize(f"{indent}{row.path}: {value}")
    style = "" if row.state in EQUAL_STATES else "predicted"
    return make_line(f"  {symbols().state_symbol(row.state)} {argument}", style)


EQUAL_STATES = ("=", "~")
"""States of calls and arguments that the benchmark accepts: equal, or equal after normalisation."""


def _call_name_lines(call: Call, state: str, item: Item, style: str) -> list[Line]:
    """Return the line with the name of a call and, if the call was not decoded, the error."""
    text = f"{symbols().state_symbol(state)} {sanitize(call.name)}"
    has_several_turns = any(each.turn > 0 for each in item.golden + item.predicted)
    if has_several_turns:
        text += f"  turn {call.turn + 1}"
    lines = [make_line(text, style)]
    if call.arguments is None:
        problem = call.decode_error or call.raw or "cannot be read"
        lines.append(make_line(f"    {sanitize(problem)}", "dim"))
    return lines


def _join_side_by_side(lines: Sequence[Line], column_cells: int) -> Line:
    """Join lines to one line, in columns of `column_cells`."""
    joined = LineBuilder()
    for line in lines:
        if not joined.is_empty:
            joined.add(" " * COLUMN_GAP)
        if len(line) == 1:
            text, style = line[0]
        else:
            # A heading has several parts, a missing line has none.
            text = plain_text(line)
            style = "strong" if line else ""
        joined.add_padded(text, column_cells, style)
    return joined.build()
