"""Render a golden and a predicted call side by side: a heading, a table of arguments, and the
differences inside long values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, zip_longest
from typing import NamedTuple

from fcreview.matching.first_difference import (
    ArgumentRow,
    build_argument_rows,
    describe_hidden_difference,
)
from fcreview.model.item import Call, CallPair, Side
from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.text.lines import (
    BLANK_LINE,
    RULE_MARGIN,
    Line,
    LineBuilder,
    StyledText,
    fit_line,
    line_width,
    make_line,
    prefix_rows_with_label,
    rule_line,
    truncate_middle,
    wrap_first_rows,
    wrap_sanitized,
)
from fcreview.tui.text.styles import STATE_STYLES, symbols

Span = tuple[int, int]
"""(start, end) of a piece of a text, as character offsets. `end` is exclusive."""
WORD_PATTERN = re.compile(r"\s+|\w+|[^\w\s]")
STRING_OR_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"?|[\w.+-]+|.', re.DOTALL)
"""A JSON string, or a number, `true`, `false` or `null`, or one other character."""
JSON_WORDS = ("true", "false", "null")
NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?", re.ASCII)
MAX_LITERAL_SEARCH_CHARS = 10_000
MIN_WORD_DIFF_CHARS = 40
MAX_WORD_DIFF_WORDS = 600
MAX_ALTERNATIVES = 50


def find_changed_spans(reference: str, text: str) -> list[Span]:
    """Find the (start, end) spans of `text` that differ from `reference`.

    `reference` may list accepted values, such as `"a" or "b"`. Then the text is compared with the
    value that begins most like it. A span is empty where the text lacks words.
    """
    closest_value = _find_closest_value(reference, text)

    # The difference is what remains between the common beginning and the common end.
    start = common_prefix_length(closest_value, text)
    end = len(text) - _common_suffix_length(closest_value[start:], text[start:])
    whole_difference = [_extend_to_literals(text, (start, end))]
    if end - start < MIN_WORD_DIFF_CHARS:
        return whole_difference

    # In a long difference, words are compared, so that equal words inside it are not marked.
    words = WORD_PATTERN.findall(text)
    reference_words = WORD_PATTERN.findall(closest_value)
    # Comparing word by word takes quadratic time.
    if max(len(words), len(reference_words)) > MAX_WORD_DIFF_WORDS:
        return whole_difference
    return _find_changed_words(reference_words, words) or whole_difference


def _extend_to_literals(text: str, span: Span) -> Span:
    """Extend a span so that it divides no number and none of the words `true`, `false` and `null`.

    Inside strings, single characters can be marked.
    """
    if len(text) > MAX_LITERAL_SEARCH_CHARS:
        return span

    extended_start, extended_end = span
    for token in STRING_OR_LITERAL.finditer(text):
        is_literal = token[0] in JSON_WORDS or NUMBER.fullmatch(token[0]) is not None
        if is_literal and _touches(span, token.span()):
            extended_start = min(extended_start, token.start())
            extended_end = max(extended_end, token.end())
    return extended_start, extended_end


def _touches(span: Span, token_span: Span) -> bool:
    """Whether a changed span and a token have a character in common.

    An empty span is a place where characters are missing. It touches a token in which it lies or
    which it ends.
    """
    start, end = span
    token_start, token_end = token_span
    if start == end:
        return token_start < start <= token_end
    return token_start < end and start < token_end


def _find_changed_words(reference_words: Sequence[str], words: Sequence[str]) -> list[Span]:
    """Return the spans of the words that the reference does not have in the same place.

    The spans are (start, end) indexes in the text that the words form together.
    """
    # Index in the joined text at which each word begins. The last one is the length of the text.
    offsets = list(accumulate(map(len, words), initial=0))
    matcher = SequenceMatcher(None, reference_words, words, autojunk=False)
    spans = []
    for kind, _, _, first, end in matcher.get_opcodes():
        if kind != "equal" and first < end:
            spans.append((offsets[first], offsets[end]))
    return spans


ALTERNATIVE_SEPARATOR = " or "


def _find_closest_value(reference: str, text: str) -> str:
    """Return the accepted value of the reference that begins most like the text.

    The reference lists values, such as `"a" or "b"`. A value may itself contain ` or `, so the
    reference cannot simply be split there.
    """
    # A value may begin at the start of the reference and after each separator. Where it ends is
    # not known yet, so each candidate goes on to the end of the reference.
    suffixes = [reference]
    separator = reference.find(ALTERNATIVE_SEPARATOR)
    while separator >= 0 and len(suffixes) < MAX_ALTERNATIVES:
        value_start = separator + len(ALTERNATIVE_SEPARATOR)
        suffixes.append(reference[value_start:])
        separator = reference.find(ALTERNATIVE_SEPARATOR, value_start)
    closest_suffix = max(suffixes, key=lambda suffix: common_prefix_length(suffix, text))

    # A separator inside the common beginning belongs to the value.
    n_common = common_prefix_length(closest_suffix, text)
    value_end = closest_suffix.find(ALTERNATIVE_SEPARATOR, n_common)
    return closest_suffix if value_end < 0 else closest_suffix[:value_end]


def common_prefix_length(a: str, b: str) -> int:
    """Return the number of characters at which two texts begin equally.

    Bisection compares slices instead of characters, which is fast for texts of several megabytes.
    """
    shorter = min(len(a), len(b))
    if a[:shorter] == b[:shorter]:
        return shorter

    # The texts are equal up to `low`, and differ before `high`.
    low = 0
    high = shorter
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _common_suffix_length(a: str, b: str) -> int:
    """Return the number of characters at which two texts end equally."""
    return common_prefix_length(a[::-1], b[::-1])


def mark_spans(
    piece: str, offset: int, spans: Sequence[Span], style: str, span_style: str = "diff"
) -> Line:
    """Style a piece of a text so that the given spans of the text stand out.

    The spans are (start, end) indexes in the whole text, of which `piece` begins at index `offset`.
    Blanks at the ends of a span are drawn as `␣`, because they would be invisible.
    """
    if not piece:
        return make_line(piece, style)

    line = LineBuilder()
    n_added_chars = 0
    for span_start, span_end in spans:
        # The part of the span that is in the piece, as indexes in the piece.
        start = max(span_start - offset, n_added_chars)
        end = min(span_end - offset, len(piece))
        is_outside_piece = start >= end
        if is_outside_piece:
            continue

        line.add(piece[n_added_chars:start], style)
        line.add(_show_edge_blanks(piece[start:end]), span_style)
        n_added_chars = end
    line.add(piece[n_added_chars:], style)
    return line.build()


def _show_edge_blanks(text: str) -> str:
    """Draw the blanks at both ends of a text as `␣`, and keep those between words."""
    sign = symbols().visible_space
    without_leading = text.lstrip(" ")
    if not without_leading:
        return sign * len(text)
    without_blanks = without_leading.rstrip(" ")
    n_leading = len(text) - len(without_leading)
    n_trailing = len(without_leading) - len(without_blanks)
    return sign * n_leading + without_blanks + sign * n_trailing


MAX_COLUMN_ROWS = 3
GOLDEN_COLUMN_CELLS = 44
"""Width of the golden column, in cells, on wide screens.

The column is wider only for longer values.
"""
MIN_NAME_CELLS = 24
"""Minimum width, in cells, of a function name in a heading.

The remarks after the name are cut first.
"""
ONE_SIDED_LABELS = {"-": "missing", "+": "extra"}
MAX_REASON_ROWS = 2
"""Maximum number of rows of the reason for a difference."""
MAX_PROBLEM_ROWS = 3
"""Maximum number of rows of the reason why an answer is no call."""
UNDECODED_ROWS = 8
OBVIOUS_REASON = re.compile(
    r"value differs: |function differs: |(one|[0-9,]+) places? inside differs?$"
)
SIDE_LABEL_CELLS = 15
STACKED_ROWS = 2


GAP_CELLS = 2
GAP: StyledText = (" " * GAP_CELLS, "")
"""Blanks between two columns of an argument table."""
N_GAPS = 3
"""Number of gaps of an argument table. The first one stands for the state symbol and a blank."""
MIN_NAME_COLUMN_CELLS = 8
MIN_VALUE_COLUMNS_CELLS = 16


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths of the columns of an argument table, in cells. The state symbol and a blank precede
    the first column.
    """

    name: int
    golden: int
    predicted: int

    @property
    def total_cells(self) -> int:
        return N_GAPS * GAP_CELLS + self.name + self.golden + self.predicted


def compute_argument_columns(
    rows: Sequence[ArgumentRow], cells: int, name_share: float = 0.25
) -> Columns:
    """Divide `cells` between the columns for the name, the golden and the predicted value of
    arguments.

    Names take at most `name_share` of the width, so that long names leave room for the values. They
    take more if the values are short.
    """
    needed_name = _column_width("argument", (argument_label(row) for row in rows))
    needed_golden = _column_width("golden", (_golden_text(row) for row in rows))
    needed_predicted = _column_width("predicted", (_predicted_text(row) for row in rows))

    cells_without_gaps = cells - N_GAPS * GAP_CELLS
    # Cells that remain if both values are shown in full.
    cells_beside_values = cells_without_gaps - needed_golden - needed_predicted
    max_name = max(int(cells * name_share), cells_beside_values, MIN_NAME_COLUMN_CELLS)
    name = min(needed_name, max_name)

    value_cells = max(cells_without_gaps - name, MIN_VALUE_COLUMNS_CELLS)
    golden = _choose_golden_width(value_cells, needed_golden, needed_predicted)
    return Columns(name=name, golden=golden, predicted=value_cells - golden)


def _choose_golden_width(cells: int, needed_golden: int, needed_predicted: int) -> int:
    """Return the width of the column of golden values, beside which predicted values are shown.

    `cells`: width of both columns together. If both kinds of values fit, the width is near a fixed
    one, so that the columns do not move from item to item. If not, each column has half of the
    cells, unless one needs less and leaves the rest to the other.
    """
    half = cells // 2
    cells_left_by_predicted = cells - needed_predicted
    both_fit = needed_golden <= cells_left_by_predicted
    if both_fit:
        preferred = min(half, GOLDEN_COLUMN_CELLS)
        return min(max(preferred, needed_golden), cells_left_by_predicted)

    if needed_golden < half:
        return needed_golden
    return max(half, cells_left_by_predicted)


def _column_width(heading: str, texts: Iterable[str]) -> int:
    return max(map(display_width, (heading, *texts)))


def _golden_text(row: ArgumentRow) -> str:
    return sanitize(row.golden or missing_golden_label(row))


def _predicted_text(row: ArgumentRow) -> str:
    return sanitize(row.predicted or missing_predicted_label(row))


def argument_label(row: ArgumentRow) -> str:
    """Return the name of the argument or, for a nested value, its path inside the argument, such
    as `.price`. A nested path is indented by a blank.
    """
    if row.depth == 0:
        return sanitize(row.path or "function")

    # The path of a nested value is `order.price` or `orders[0]`. The first character may be a dot.
    end_of_name = re.search(r"[.\[]", row.path[1:])
    path_inside = row.path
    if end_of_name is not None:
        path_inside = row.path[1 + end_of_name.start() :]
    return f" {sanitize(path_inside)}"


def column_headings(widths: Columns, first_heading: str = "argument") -> Line:
    """Return the headings of a table of arguments: name, golden value, predicted value."""
    line = LineBuilder()
    line.add(*GAP)
    line.add_padded(first_heading, widths.name + GAP_CELLS, "dim")
    line.add_padded("golden", widths.golden + GAP_CELLS, "golden")
    line.add("predicted", "predicted")
    return line.build()


MAX_NAME_CELLS_OF_INDENT = 12
REASON_INDENT = 6
"""Indentation of a reason, in cells, if the name column is wider than
`MAX_NAME_CELLS_OF_INDENT`.
"""


def argument_lines(row: ArgumentRow, widths: Columns) -> list[Line]:
    """Render an argument: its golden and its predicted value, and the reason for a difference.

    The values are side by side, or one below the other if one is too long for its column.
    """
    # One row more than fits shows whether a value is too long.
    golden_rows = wrap_sanitized(sanitize(row.golden or ""), widths.golden, MAX_COLUMN_ROWS + 1)
    predicted_rows = wrap_sanitized(
        sanitize(row.predicted or ""), widths.predicted, MAX_COLUMN_ROWS + 1
    )
    spans = _changed_predicted_spans(row)
    n_rows = max(len(golden_rows), len(predicted_rows))
    if n_rows > MAX_COLUMN_ROWS:
        lines = _stacked_lines(row, spans, widths.total_cells)
    else:
        lines = _side_by_side_lines(row, golden_rows, predicted_rows, spans, widths)
    if len(lines) == 1 and differs_in_number_form(row):
        return [_add_type_names(lines[0], row, widths.total_cells)]
    return lines + _reason_lines(row, widths)


def differs_in_number_form(row: ArgumentRow) -> bool:
    """Whether both values are the same number in another form, such as `5` and `5.0`."""
    golden = _parse_number(row.golden)
    predicted = _parse_number(row.predicted)
    return golden is not None and golden == predicted and row.golden != row.predicted


def _parse_number(text: str | None) -> float | None:
    """Return the number of a JSON text. None for other values."""
    if text is None or NUMBER.fullmatch(text) is None:
        return None
    return float(text)


def _add_type_names(line: Line, row: ArgumentRow, cells: int) -> Line:
    """Append `integer, golden float` to the line of a number, if there is room."""
    if row.state not in "!~":
        return line
    note = f"{_number_type(row.predicted)}, golden {_number_type(row.golden)}"
    noted: Line = (*line, GAP, (note, "dim"))
    return noted if line_width(noted) <= cells else line


def _number_type(text: str | None) -> str:
    is_integer = text is not None and text.lstrip("-").isdigit()
    return "integer" if is_integer else "float"


def _changed_predicted_spans(row: ArgumentRow) -> list[Span]:
    """Return the spans of the predicted value that differ from the golden value."""
    if row.state not in "!~" or row.golden is None or row.predicted is None:
        return []
    return find_changed_spans(sanitize(row.golden), sanitize(row.predicted))


def _reason_lines(row: ArgumentRow, widths: Columns) -> list[Line]:
    """Return the reasons for a difference, indented to the values if the names are short."""
    indent = REASON_INDENT
    if widths.name <= MAX_NAME_CELLS_OF_INDENT:
        indent = GAP_CELLS + widths.name + GAP_CELLS

    lines: list[Line] = []
    for reason in difference_reasons(row):
        for text in wrap_sanitized(reason, widths.total_cells - indent, MAX_REASON_ROWS):
            lines.append(((" " * indent, ""), (text, "dim")))
    return lines


def _is_accepted_omission(row: ArgumentRow) -> bool:
    """Whether the prediction lacks the argument, and the golden answer allows this."""
    return row.state == "-" and row.optional and not row.is_required_by_function


def _state_sign(row: ArgumentRow) -> StyledText:
    state = "=" if _is_accepted_omission(row) else row.state
    return f"{symbols().state_symbol(state)} ", STATE_STYLES[state]


def missing_golden_label(row: ArgumentRow) -> str:
    """Return the label that replaces a missing golden value. Empty if the value exists."""
    return "(none)" if row.golden is None else ""


def missing_predicted_label(row: ArgumentRow) -> str:
    """Return the label that replaces a missing predicted value. Empty if the value exists."""
    if row.predicted is not None:
        return ""
    if row.optional and not row.is_required_by_function:
        return "(optional, omitted)"
    return "(missing)"


def difference_reasons(row: ArgumentRow) -> list[str]:
    """Return the reason for a difference, unless the reason is obvious. If the first difference is
    invisible on screen, also return its description.
    """
    # Other states are equal values, and missing or unexpected arguments, which the row shows. Only
    # that the function requires a missing argument must be said.
    has_two_different_values = row.state in "!~"
    if not has_two_different_values and not row.is_required_by_function:
        return []
    reasons = []
    if row.reason and not OBVIOUS_REASON.match(row.reason):
        reasons.append(sanitize(row.reason))
    hidden_difference = _describe_first_hidden_difference(row)
    if hidden_difference:
        reasons.append(sanitize(hidden_difference))
    return reasons


def _describe_first_hidden_difference(row: ArgumentRow) -> str:
    """Describe the invisible difference from an accepted value. Empty if there is none."""
    if row.predicted is None:
        return ""
    accepted_values = (row.golden or "").split(ALTERNATIVE_SEPARATOR)
    for value in accepted_values[:MAX_ALTERNATIVES]:
        description = describe_hidden_difference(value, row.predicted)
        if description:
            return description
    return ""


def _difference_style(row: ArgumentRow) -> str:
    return "near" if row.state == "~" else "diff"


@dataclass(frozen=True, slots=True)
class _WrappedValue:
    """Golden or predicted value, wrapped for its column."""

    rows: Sequence[str]
    style: str
    changed_spans: Sequence[Span] = ()
    """Spans of the joined rows that differ from the other value."""
    changed_style: str = ""

    def styled_rows(self, *, strip_row_ends: bool = False) -> list[Line]:
        """Return the rows with the changed spans marked."""
        lines = []
        offset = 0
        for row in self.rows:
            text = row.rstrip() if strip_row_ends else row
            lines.append(
                mark_spans(text, offset, self.changed_spans, self.style, self.changed_style)
            )
            offset += len(row)
        return lines


def _side_by_side_lines(
    row: ArgumentRow,
    golden_rows: list[str],
    predicted_rows: list[str],
    predicted_spans: list[Span],
    widths: Columns,
) -> list[Line]:
    """Render both values in columns. The state and the name stand before the first row."""
    golden = _wrapped_golden_value(row, golden_rows, predicted_spans)
    predicted = _wrapped_predicted_value(row, predicted_rows, predicted_spans)
    golden_lines = golden.styled_rows(strip_row_ends=True)
    predicted_lines = predicted.styled_rows()

    # The golden value is padded, so that the predicted one begins in its column.
    start = _state_and_name(row, widths)
    golden_end = line_width(start) + GAP_CELLS + widths.golden
    lines: list[Line] = []
    for golden_line, predicted_line in zip_longest(
        golden_lines, predicted_lines, fillvalue=BLANK_LINE
    ):
        line = LineBuilder()
        line.add_line(start)
        line.add(*GAP)
        line.add_line(golden_line)
        line.pad_to(golden_end)
        line.add(*GAP)
        line.add_line(predicted_line)
        lines.append(line.build())
        # Only the first row has the state and the name.
        start = make_line(" " * line_width(start))
    return lines


def _state_and_name(row: ArgumentRow, widths: Columns) -> Line:
    """Return the state symbol and the name of an argument, in the columns of the table."""
    name_style = "dim" if _is_unimportant(row) else ""
    line = LineBuilder()
    line.add(*_state_sign(row))
    line.add_padded(argument_label(row), widths.name, name_style)
    return line.build()


def _wrapped_golden_value(
    row: ArgumentRow, rows: list[str], predicted_spans: Sequence[Span]
) -> _WrappedValue:
    """Return the golden value for its column or, if it is missing, a label that says so."""
    label = missing_golden_label(row)
    if label:
        return _WrappedValue([label], "dim")
    return _WrappedValue(
        rows,
        "dim" if _is_unimportant(row) else "golden",
        changed_spans=_changed_golden_spans(row, predicted_spans),
        changed_style="golden_diff",
    )


def _wrapped_predicted_value(
    row: ArgumentRow, rows: list[str], predicted_spans: Sequence[Span]
) -> _WrappedValue:
    """Return the predicted value for its column or, if it is missing, a label that says so."""
    label = missing_predicted_label(row)
    if label:
        return _WrappedValue([label], "dim")
    return _WrappedValue(
        rows,
        "dim" if _is_unimportant(row) else "predicted",
        changed_spans=predicted_spans,
        changed_style=_difference_style(row),
    )


def _is_unimportant(row: ArgumentRow) -> bool:
    """Whether an argument needs no review.

    This is so if its values are equal, or if the prediction may omit the argument.
    """
    return row.state == "=" or _is_accepted_omission(row)


def _changed_golden_spans(row: ArgumentRow, predicted_spans: Sequence[Span]) -> list[Span]:
    """Return the spans of the golden value that differ from the predicted one.

    Spans are marked in both values or in none: there are none if the predicted value has none.
    There are also none if a value lists alternatives (`"a" or "b"`), because they would depend on
    which alternative is meant.
    """
    has_different_values = row.state == "!"
    if not has_different_values or not predicted_spans:
        return []

    golden = sanitize(row.golden or "")
    predicted = sanitize(row.predicted or "")
    if ALTERNATIVE_SEPARATOR in golden or ALTERNATIVE_SEPARATOR in predicted:
        return []
    return find_changed_spans(predicted, golden)


MIN_STACKED_CELLS = 8


def _stacked_lines(row: ArgumentRow, predicted_spans: list[Span], cells: int) -> list[Line]:
    """Render the golden value above the predicted value, each cut to the part with the first
    difference.

    Equal values are shown once.
    """
    golden = sanitize(row.golden or "")
    predicted = sanitize(row.predicted or "")
    value_cells = max(cells - SIDE_LABEL_CELLS, MIN_STACKED_CELLS)
    if golden == predicted:
        window = cut_text_around(golden, position=0, cells=value_cells)
        label = "    both".ljust(SIDE_LABEL_CELLS)
        return [_stacked_heading(row, None, cells), ((label, "dim"), (window.text, "dim"))]

    # The heading names the position of the first difference, if it is known.
    first_difference = None
    if predicted_spans:
        first_difference, _ = predicted_spans[0]
    heading = _stacked_heading(row, first_difference, cells)

    shown_position = first_difference or 0
    golden_lines = _stacked_golden_lines(row, golden, shown_position, value_cells)
    predicted_lines = _stacked_predicted_lines(
        row, predicted, shown_position, value_cells, predicted_spans
    )
    return [heading, *golden_lines, *predicted_lines]


def _stacked_golden_lines(
    row: ArgumentRow, golden: str, position: int, value_cells: int
) -> list[Line]:
    """Return the part of the golden value around its first difference, with a label."""
    missing_label = missing_golden_label(row)
    window = cut_text_around(golden, position, value_cells * STACKED_ROWS)
    is_dim = row.state == "=" or missing_label != ""
    rows = wrap_sanitized(window.text or missing_label, value_cells)
    return _stacked_value_lines("golden", rows, "dim" if is_dim else "golden")


def _stacked_predicted_lines(
    row: ArgumentRow, predicted: str, position: int, value_cells: int, spans: Sequence[Span]
) -> list[Line]:
    """Return the part of the predicted value around its first difference, with a label."""
    missing_label = missing_predicted_label(row)
    window = cut_text_around(predicted, position, value_cells * STACKED_ROWS)
    # Only a value that differs stands out.
    is_dim = row.state == "=" or missing_label != ""
    return _stacked_value_lines(
        "predicted",
        wrap_sanitized(window.text or missing_label, value_cells),
        "dim" if is_dim else "predicted",
        offset=window.offset,
        spans=spans,
        span_style=_difference_style(row),
    )


def _stacked_heading(row: ArgumentRow, first_difference: int | None, cells: int) -> Line:
    """Return the heading of an argument whose values are one below the other.

    It has the state, the name and the place of the first difference. `first_difference`: index of a
    character, or None if it is unknown.
    """
    line = LineBuilder()
    line.add(*_state_sign(row))
    line.add(argument_label(row), "dim" if row.state == "=" else "")
    if first_difference is not None:
        line.add(f"   first difference at character {first_difference + 1}", "dim")
    return fit_line(line.build(), cells)


def _stacked_value_lines(
    side: Side,
    rows: Sequence[str],
    style: str,
    *,
    offset: int = 0,
    spans: Sequence[Span] = (),
    span_style: str = "",
) -> list[Line]:
    """Return the rows of one value, the first one with the label of its side.

    The rows are a part of the value that begins at index `offset`. `spans`: differences to mark, as
    indexes in the value.
    """
    lines: list[Line] = []
    row_offset = offset
    for index, row in enumerate(rows):
        marked = mark_spans(row, row_offset, spans, style, span_style)
        lines.append(((_side_label(side, index), "dim"), *marked))
        row_offset += len(row)
    return lines


def _side_label(side: Side, row_index: int) -> str:
    """Return the label of the first row of a side, and blanks for other rows."""
    label = f"    {side}" if row_index == 0 else ""
    return label.ljust(SIDE_LABEL_CELLS)


class TextWindow(NamedTuple):
    """Part of a text that is shown."""

    text: str
    offset: int
    """Offset of the window: `text[i]` is the character `i + offset` of the whole text."""


def cut_text_around(text: str, position: int, cells: int) -> TextWindow:
    """Cut a text to `cells` so that the character at index `position` is visible.

    An ellipsis stands for the text before and after. The result also has the index at which it
    begins.
    """
    if display_width(text) <= cells:
        return TextWindow(text, 0)

    # A quarter of the window is before the position, unless the beginning of the text fits too.
    # Wide characters before it take up to half of the window, so the position stays visible.
    n_chars_before = cells // 4
    fits_from_beginning = display_width(text[:position]) <= cells - n_chars_before
    start = 0 if fits_from_beginning else max(0, position - n_chars_before)

    cells_without_ellipses = cells - 2
    shown = wrap_sanitized(text[start:], cells_without_ellipses, 1)[0]
    leading = "…" if start > 0 else ""
    trailing = "…" if start + len(shown) < len(text) else ""
    # The window begins at the ellipsis, so that an index in the text minus the offset is an index
    # in the window.
    return TextWindow(leading + shown + trailing, start - len(leading))


def format_pair_position(pair: CallPair, call_label: str) -> str:
    """Return the position of a pair: `turn 1 · call 1 of 2`. `call_label`: `call 1 of 2`."""
    return f"turn {pair.turn + 1} · {call_label}"


def pair_heading(
    pair: CallPair, position_text: str, cells: int, remarks: Sequence[str] = ()
) -> Line:
    """Return `── turn 1 · call 1 of 2 · get_weather · remark ──`.

    `position_text` (`turn 1 · call 1 of 2`) is empty if the frame around the pair shows it. If the
    heading is too long, the remarks are cut first, then the name of the function.
    """
    beginning = make_line(f"{position_text} · ") if position_text else BLANK_LINE
    state = _one_sided_state(pair)
    remarks_text = "".join(f" · {sanitize(remark)}" for remark in remarks)
    free_cells = cells - RULE_MARGIN - line_width(beginning) - line_width(state)
    name_cells = _choose_name_width(free_cells, display_width(remarks_text))

    heading = LineBuilder()
    heading.add_line(beginning)
    heading.add(truncate_middle(sanitize(pair.name) or "answer", name_cells), "strong")
    heading.add_line(state)
    heading.add(remarks_text, "dim")
    return rule_line(heading.build(), cells)


def _choose_name_width(free_cells: int, remarks_cells: int) -> int:
    """Return the width of the function's name, which shares `free_cells` with the remarks.

    It gets what the remarks leave. If they leave too little, it gets its minimum nevertheless, and
    the end of the heading is cut.
    """
    min_name_cells = max(min(free_cells, MIN_NAME_CELLS), 1)
    return max(free_cells - remarks_cells, min_name_cells)


def _one_sided_state(pair: CallPair) -> Line:
    """Return the state of a pair in words, if one of its calls is missing. Else an empty line."""
    if pair.state not in ONE_SIDED_LABELS:
        return BLANK_LINE
    sign = symbols().state_symbol(pair.state)
    label = ONE_SIDED_LABELS[pair.state]
    return make_line(f" · {sign} {label}", STATE_STYLES[pair.state])


def format_call(call: Call) -> str:
    """Format a call as `cd(folder="a")`, or return the raw text of an undecoded call. Sanitized."""
    if call.arguments is None:
        return sanitize(call.raw or call.name)

    arguments = []
    for row in _list_argument_rows(call):
        # Deeper rows are the fields of an object, which the value of the argument contains.
        if row.depth == 0:
            value = row.golden if call.side == "golden" else row.predicted
            arguments.append(f"{row.path}={value}")
    return sanitize(f"{call.name}({', '.join(arguments)})")


def _list_argument_rows(call: Call) -> Sequence[ArgumentRow]:
    """Return the rows of a call that is compared with no other."""
    if call.side == "golden":
        return build_argument_rows(call, None, [])
    return build_argument_rows(None, call, [])


MIN_SUMMARY_CELLS = 20


def folded_pair_lines(
    pair: CallPair,
    call: Call | None,
    cells: int,
    *,
    call_label: str,
    suffix: Line,
    shows_turn: bool,
) -> list[Line]:
    """Render a folded pair on one line: `! turn 2 · call 1 of 2 · get_weather(city="Rome") suffix`.

    The call is cut to fit. `suffix` is never cut.
    """
    state_style = STATE_STYLES[pair.state]
    summary = LineBuilder()
    summary.add(f"{symbols().state_symbol(pair.state)} ", state_style)
    if shows_turn:
        summary.add(f"turn {pair.turn + 1} · ", "dim")
    summary.add(f"{call_label} · ", "dim")
    if pair.state in ONE_SIDED_LABELS:
        summary.add(f"{ONE_SIDED_LABELS[pair.state]}: ", state_style)
    # A pair of equal calls is dim, because the reader can skip it.
    text = pair.name if call is None else format_call(call)
    summary.add(text, "dim" if pair.state == "=" else "")

    summary_cells = max(cells - line_width(suffix), MIN_SUMMARY_CELLS)
    fitted_summary = fit_line(summary.build(), summary_cells)
    return [fit_line((*fitted_summary, *suffix), cells)]


def _describe_undecoded_call(call: Call, *, is_error: bool, is_undecoded: bool) -> str:
    """Say why a call has no arguments that can be compared.

    `is_error`: the model should have answered with a call. `is_undecoded`: its answer contains the
    text of one.
    """
    if is_undecoded and call.side == "predicted":
        return "undecoded call"
    if not is_error:
        return "no call"
    if call.side == "golden":
        return "golden answer cannot be parsed"
    return "predicted call cannot be decoded"


def labelled_side_lines(side: Side, rows: Sequence[str]) -> list[Line]:
    return [((_side_label(side, index), "dim"), (row, side)) for index, row in enumerate(rows)]


def undecoded_call_lines(
    call: Call,
    cells: int,
    options: DisplayOptions,
    *,
    is_error: bool = True,
    is_undecoded: bool = False,
) -> list[Line]:
    """Render an answer that could not be decoded as a call: the reason, then the raw text.

    The raw text is cut to a few rows, and a hint says how to unfold it.

    Args:
        is_error: Whether the model should have answered with a call.
        is_undecoded: Whether the answer contains the text of a call.
    """
    problem = _describe_undecoded_call(call, is_error=is_error, is_undecoded=is_undecoded)
    reason = f"{problem}: {sanitize(call.decode_error or 'not a call')}"
    mark = "! " if is_error else "  "
    style = "bad" if is_error else "dim"
    reason_rows = wrap_sanitized(reason, cells - len(mark), MAX_PROBLEM_ROWS)
    lines = prefix_rows_with_label(mark, reason_rows, style=style, label_style=style)
    if not call.raw:
        return lines

    max_rows = options.get_row_limit(UNDECODED_ROWS)
    raw_rows, has_more = wrap_first_rows(call.raw, cells - SIDE_LABEL_CELLS, max_rows)
    lines += labelled_side_lines(call.side, raw_rows)
    if has_more:
        lines.append(make_line(f"    … {options.unfold_hint}", "dim"))
    return lines
