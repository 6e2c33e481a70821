"""Format the first difference of a row in the colours of golden answer and prediction, for lists of items."""

from __future__ import annotations

import re

from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import describe_error_type
from fcreview.store.rows import QueueRow
from fcreview.tui.text.lines import Line, fit_line, line_width, truncate, truncate_difference, truncate_middle
from fcreview.tui.text.theme import symbols

EQUAL_CALLS = "calls are equal"
CALLED_FUNCTION = re.compile(r"(.+) called \(golden (.+)\)")
"""Text of a first difference in the called function."""
DIFFERENCE_TEXTS = (
    re.compile(r"(?P<predicted>\S+) called \(golden (?P<golden>.+)\)"),
    re.compile(r"(?P<predicted>\S+) called, not in golden"),
    re.compile(r"(?P<golden>\S+) not called"),
    re.compile(r"(?P<what>\S+) (?P<predicted>.+?) \((?:golden (?P<golden>.+)|not in golden)\)"),
)
"""Patterns for the text of a first difference whose row is unknown. The first pattern that matches is used."""
NAME = re.compile(r"[\w.]+")
MIN_VALUE_CELLS = 5
"""Smallest width, in cells, of a shortened value."""


def shown_error_type(row: QueueRow) -> str:
    """Return the official error type, or the recomputed error type if only the recomputed verdict fails the item."""
    return row.error_type or (row.rule_error_type or "" if row.rule is False else "")


def fails_with_equal_calls(row: QueueRow) -> bool:
    """Whether the benchmark fails the item although it has golden and predicted calls.

    The result is only meaningful for an item without a first difference, whose calls are therefore equal.
    """
    return row.official is False and row.n_golden > 0 and row.n_predicted > 0


def difference_line(row: QueueRow) -> Line:
    """Return the first difference of a row: the argument, then the golden and the predicted value in their colours.

    For a failing row without a difference, the text explains the error type or is `EQUAL_CALLS`.
    """
    text, arrow = row.first_difference or "", (f" {symbols().arrow} ", "dim")
    function, argument = row.diff_function or "", row.diff_argument
    what, golden, predicted = "", "", ""
    if not text:
        error = shown_error_type(row)
        if meaning := describe_error_type(error):
            return ((meaning, ""),)
        return ((EQUAL_CALLS, "dim"),) if fails_with_equal_calls(row) and not error else ()
    if argument and (row.diff_golden or row.diff_predicted):
        path = text.partition(" ")[0]
        what = path if path.startswith((f"{argument}.", f"{argument}[")) else argument
        golden, predicted = row.diff_golden or "none", row.diff_predicted or "missing"
    elif function and text == f"{function} not called":
        golden, predicted = function, "not called"
    elif function and text == f"{function} called, not in golden":
        golden, predicted = "no call", function
    elif match := CALLED_FUNCTION.fullmatch(text):
        what, golden, predicted = "function", match[2], match[1]
    else:
        return ((sanitize(text), ""),)
    head: Line = ((f"{sanitize(what)}  ", ""),) if what else ()
    return (*head, (sanitize(golden), "golden"), arrow, (sanitize(predicted), "predicted"))


def split_difference(text: str) -> Line:
    """Return the text of a first difference as `difference_line` does. Text of another form is not split."""
    for pattern in DIFFERENCE_TEXTS:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            golden, predicted = parts.get("golden") or "none", parts.get("predicted") or "not called"
            head: Line = ((f"{sanitize(parts['what'])}  ", ""),) if parts.get("what") else ()
            arrow = (f" {symbols().arrow} ", "dim")
            return (*head, (sanitize(golden), "golden"), arrow, (sanitize(predicted), "predicted"))
    return ((sanitize(text), ""),)


def fit_difference(line: Line, size: int) -> Line:
    """Shorten a line of `difference_line` to `size` cells. The golden and predicted value share the available width."""
    if line_width(line) <= size:
        return line
    if len(line) < 3:
        text, style = line[0]
        return ((truncate_difference(text, size), style),)
    *head, (golden, _), arrow, (predicted, _) = line
    room = size - line_width((*head, arrow))
    if room < MIN_VALUE_CELLS * 2:
        return fit_line((*head, (golden, "golden"), arrow, (predicted, "predicted")), size)
    half = room // 2
    golden_cells = max(half, room - display_width(predicted))
    golden = _fit_value(golden, min(golden_cells, display_width(golden)))
    predicted = _fit_value(predicted, room - display_width(golden))
    return (*head, (golden, "golden"), arrow, (predicted, "predicted"))


def _fit_value(text: str, cells: int) -> str:
    """Shorten a value at its end. A dotted function name keeps its end."""
    if NAME.fullmatch(text) and display_width(text) > cells:
        return truncate_middle(text, cells, 0)
    return truncate(text, cells)
