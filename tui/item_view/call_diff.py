"""Render a golden and a predicted call side by side: a heading, a table of arguments, and the
differences inside long values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, zip_longest

from fcreview.matching.first_difference import (
    ArgumentRow,
    build_argument_rows,
    describe_hidden_difference,
)
from fcreview.model.item import Call, CallPair, Side
from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.text.lines import (
    RULE_MARGIN,
    Line,
    StyledText,
    fit_line,
    line_width,
    make_line,
    pad_text,
    rule_line,
    truncate_middle,
    wrap_first_rows,
    wrap_sanitized,
)
from fcreview.tui.text.styles import STATE_STYLES, symbols

Span = tuple[int, int]
"""(start, end) of a piece of a text, as character offsets. `end` is exclusive."""
WORD_PATTERN = re.compile(r"\s+|\w+|[^\w\s]")
MIN_WORD_DIFF_CHARS = 40
MAX_WORD_DIFF_WORDS = 600
MAX_ALTERNATIVES = 50


def find_changed_spans(reference: str, text: str) -> list[Span]:
    """Find the spans of `text` that differ from `reference`.

    If the reference lists accepted values (`"a" or "b"`), the text is compared with the value that
    has the longest common beginning. A short difference is one span. A long difference is compared
    word by word. The span is empty where the text only lacks words.
    """
    (start, end), closest = _compare_with_closest_value(reference, text)
    if end - start < MIN_WORD_DIFF_CHARS:
        return [(start, end)]
    words, reference_words = WORD_PATTERN.findall(text), WORD_PATTERN.findall(closest)
    if max(len(words), len(reference_words)) > MAX_WORD_DIFF_WORDS:
        return [(start, end)]
    offsets = list(accumulate(map(len, words), initial=0))
    matcher = SequenceMatcher(None, reference_words, words, autojunk=False)
    spans = [
        (offsets[first], offsets[last])
        for kind, _, _, first, last in matcher.get_opcodes()
        if kind != "equal" and last > first
    ]
    return spans or [(start, end)]


def _compare_with_closest_value(reference: str, text: str) -> tuple[Span, str]:
    """Return (differing span of the text, accepted value with which the text was compared)."""
    candidates = [reference]
    at = reference.find(" or ")
    while at >= 0 and len(candidates) < MAX_ALTERNATIVES:
        candidates.append(reference[at + 4 :])
        at = reference.find(" or ", at + 4)
    starts = [common_prefix_length(candidate, text) for candidate in candidates]
    start = max(starts)
    closest = candidates[starts.index(start)]
    stop = closest.find(" or ", start)
    closest = closest if stop < 0 else closest[:stop]
    end = len(text) - common_prefix_length(closest[start:][::-1], text[start:][::-1])
    return (start, end), closest


def common_prefix_length(a: str, b: str) -> int:
    """Return the length of the common beginning of two texts.

    Bisection is fast for texts of several megabytes.
    """
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def mark_spans(
    piece: str, offset: int, spans: Sequence[Span], style: str, span_style: str = "diff"
) -> Line:
    """Split a piece of a text into styled parts, so that the spans of the text stand out. Blanks at
    the ends of a span are drawn as `␣`. `offset`: index in the text where the piece begins.
    """
    parts: list[StyledText] = []
    at = 0
    for first, last in spans:
        start, end = (
            min(max(first - offset, at), len(piece)),
            min(max(last - offset, 0), len(piece)),
        )
        if start < end:
            parts += [(piece[at:start], style), (_show_edge_blanks(piece[start:end]), span_style)]
            at = end
    parts.append((piece[at:], style))
    return tuple(part for part in parts if part[0]) or ((piece, style),)


def _show_edge_blanks(text: str) -> str:
    bare = text.strip(" ")
    if bare == text:
        return text
    head = len(text) - len(text.lstrip(" ")) if bare else len(text)
    return (
        symbols().visible_space * head
        + bare
        + symbols().visible_space * (len(text) - len(bare) - head)
    )


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
UNDECODED_ROWS = 8
OBVIOUS_REASON = re.compile(
    r"value differs: |function differs: |(one|[0-9,]+) places? inside differs?$"
)
SIDE_LABEL_CELLS = 15
STACKED_ROWS = 2


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths of the columns of an argument table, in cells.

    The state symbol and a blank precede the first column.
    """

    name: int
    golden: int
    predicted: int

    @property
    def total_cells(self) -> int:
        return 2 + self.name + 2 + self.golden + 2 + self.predicted


def compute_argument_columns(
    rows: Sequence[ArgumentRow], cells: int, name_share: float = 0.25
) -> Columns:
    """Divide `cells` between the columns. The name column takes up to `name_share` of the width, or
    more if the values are short.
    """
    needed_golden = _column_width(
        "golden", (sanitize(row.golden or missing_value_labels(row)[0]) for row in rows)
    )
    needed_predicted = _column_width(
        "predicted", (sanitize(row.predicted or missing_value_labels(row)[1]) for row in rows)
    )
    name_cells = max(int(cells * name_share), cells - 6 - needed_golden - needed_predicted, 8)
    name = min(_column_width("argument", map(argument_label, rows)), name_cells)
    rest = max(cells - name - 6, 16)
    half = rest // 2
    if needed_golden + needed_predicted <= rest:
        # Widths stay near fixed values, so that the columns do not move from item to item.
        golden = min(
            max(half, needed_golden),
            rest - needed_predicted,
            max(needed_golden, GOLDEN_COLUMN_CELLS),
        )
    elif needed_golden < half:
        golden = needed_golden
    else:
        golden = max(half, rest - needed_predicted)
    return Columns(name, golden=golden, predicted=rest - golden)


def _column_width(heading: str, texts: Iterable[str]) -> int:
    return max(map(display_width, (heading, *texts)))


def argument_label(row: ArgumentRow) -> str:
    """Return the name of the argument or, for a nested value, its path inside the argument, such
    as `.price`.
    """
    if row.depth == 0:
        return sanitize(row.path or "function")
    inside = re.search(r"[.\[]", row.path[1:])
    return " " + sanitize(row.path[1 + inside.start() :] if inside else row.path)


def column_headings(widths: Columns, first_heading: str = "argument") -> Line:
    return (
        ("  ", ""),
        pad_text(first_heading, widths.name + 2, "dim"),
        pad_text("golden", widths.golden + 2, "golden"),
        ("predicted", "predicted"),
    )


def argument_lines(row: ArgumentRow, widths: Columns) -> list[Line]:
    """Render the golden and the predicted value side by side, or one below the other if a value is
    too long for its column.
    """
    golden, predicted = sanitize(row.golden or ""), sanitize(row.predicted or "")
    left = wrap_sanitized(golden, widths.golden, MAX_COLUMN_ROWS + 1)
    right = wrap_sanitized(predicted, widths.predicted, MAX_COLUMN_ROWS + 1)
    comparable = row.state in "!~" and row.golden is not None and row.predicted is not None
    spans = find_changed_spans(golden, predicted) if comparable else []
    if max(len(left), len(right)) > MAX_COLUMN_ROWS:
        lines = _stacked_lines(row, golden, predicted, spans, widths.total_cells)
    else:
        lines = _side_by_side_lines(row, left, right, spans, widths)
    indent = " " * (widths.name + 4 if widths.name <= 12 else 6)
    for reason in difference_reasons(row):
        lines += [
            ((indent, ""), (piece, "dim"))
            for piece in wrap_sanitized(reason, widths.total_cells - len(indent), 2)
        ]
    return lines


def _is_accepted_omission(row: ArgumentRow) -> bool:
    """Whether the prediction lacks the argument, and the golden answer allows this."""
    return row.state == "-" and row.optional and not row.is_required_by_function


def _state_sign(row: ArgumentRow) -> StyledText:
    state = "=" if _is_accepted_omission(row) else row.state
    return f"{state} ", STATE_STYLES[state]


def missing_value_labels(row: ArgumentRow) -> tuple[str, str]:
    """Return (golden, predicted): the label that replaces each missing value. The label is empty if
    the value exists.
    """
    omitted = (
        "(optional, omitted)" if row.optional and not row.is_required_by_function else "(missing)"
    )
    return "" if row.golden is not None else "(none)", "" if row.predicted is not None else omitted


def difference_reasons(row: ArgumentRow) -> list[str]:
    """Return the reason for a difference, unless the reason is obvious. If the first difference is
    invisible on screen, also return its description.
    """
    if row.state not in "!~" and not row.is_required_by_function:
        return []
    reasons = [sanitize(row.reason)] if row.reason and not OBVIOUS_REASON.match(row.reason) else []
    accepted = (
        (row.golden or "").split(" or ")[:MAX_ALTERNATIVES] if row.predicted is not None else []
    )
    invisible = next(
        filter(
            None, (describe_hidden_difference(value, row.predicted or "") for value in accepted)
        ),
        None,
    )
    return [*reasons, sanitize(invisible)] if invisible else reasons


def _difference_style(row: ArgumentRow) -> str:
    return "near" if row.state == "~" else "diff"


def _side_by_side_lines(
    row: ArgumentRow,
    golden_rows: list[str],
    predicted_rows: list[str],
    predicted_spans: list[Span],
    widths: Columns,
) -> list[Line]:
    unimportant = row.state == "=" or _is_accepted_omission(row)
    name_style, golden_style, predicted_style = (
        ("dim",) * 3 if unimportant else ("", "golden", "predicted")
    )
    no_golden, no_predicted = missing_value_labels(row)
    if no_golden:
        golden_rows, golden_style = [no_golden], "dim"
    if no_predicted:
        predicted_rows, predicted_style = [no_predicted], "dim"
    lines: list[Line] = []
    offset = golden_offset = 0
    golden_spans = _changed_golden_spans(row, predicted_spans)
    for at, (golden, piece) in enumerate(zip_longest(golden_rows, predicted_rows, fillvalue="")):
        label = argument_label(row) if at == 0 else ""
        lines.append(
            (
                _state_sign(row) if at == 0 else ("  ", ""),
                pad_text(label, widths.name, name_style),
                ("  ", ""),
                *mark_spans(
                    golden.rstrip(), golden_offset, golden_spans, golden_style, "golden_diff"
                ),
                (" " * (widths.golden + 2 - display_width(golden.rstrip())), ""),
                *mark_spans(
                    piece, offset, predicted_spans, predicted_style, _difference_style(row)
                ),
            )
        )
        offset, golden_offset = offset + len(piece), golden_offset + len(golden)
    return lines


def _changed_golden_spans(row: ArgumentRow, predicted_spans: Sequence[Span]) -> list[Span]:
    """Return the spans of the golden value that differ.

    Empty if a value lists alternatives (`"a" or "b"`).
    """
    golden, predicted = sanitize(row.golden or ""), sanitize(row.predicted or "")
    if not predicted_spans or row.state != "!" or " or " in golden or " or " in predicted:
        return []
    return find_changed_spans(predicted, golden)


def _stacked_lines(
    row: ArgumentRow, golden: str, predicted: str, predicted_spans: list[Span], cells: int
) -> list[Line]:
    room = max(cells - SIDE_LABEL_CELLS, 8)
    start = predicted_spans[0][0] if predicted_spans else 0
    head: list[StyledText] = [
        _state_sign(row),
        (argument_label(row), "dim" if row.state == "=" else ""),
    ]
    if predicted_spans and golden != predicted:
        head.append((f"   first difference at character {start + 1}", "dim"))
    lines = [fit_line(tuple(head), cells)]
    if golden == predicted:
        shown, _ = cut_text_around(golden, 0, room)
        return [*lines, (("    both".ljust(SIDE_LABEL_CELLS), "dim"), (shown, "dim"))]
    sides: tuple[tuple[Side, str], ...] = (("golden", golden), ("predicted", predicted))
    for (side, text), missing in zip(sides, missing_value_labels(row), strict=True):
        shown, offset = cut_text_around(text, start, room * STACKED_ROWS)
        style = "dim" if row.state == "=" or missing else side
        side_spans = predicted_spans if side == "predicted" else []
        for at, piece in enumerate(wrap_sanitized(shown or missing, room)):
            marked = mark_spans(piece, offset, side_spans, style, _difference_style(row))
            lines.append(((_side_label(side, at), "dim"), *marked))
            offset += len(piece)
    return lines


def _side_label(side: Side, row_index: int) -> str:
    return f"    {side if row_index == 0 else '':<{SIDE_LABEL_CELLS - 4}}"


def cut_text_around(text: str, position: int, cells: int) -> tuple[str, int]:
    """Cut a text to `cells` around `position`.

    Return (window, offset), where `window[i]` is `text[i + offset]`.
    """
    if display_width(text) <= cells:
        return text, 0
    before = cells // 4
    start = max(0, position - before) if position > cells - before else 0
    head = "…" if start else ""
    shown = wrap_sanitized(text[start:], cells - 2, 1)[0]
    tail = "…" if start + len(shown) < len(text) else ""
    return head + shown + tail, start - len(head)


def format_pair_position(pair: CallPair, call_label: str) -> str:
    """Return the position of a pair: `turn 1 · call 1 of 2`. `call_label`: `call 1 of 2`."""
    return f"turn {pair.turn + 1} · {call_label}"


def pair_heading(
    pair: CallPair, position_text: str, cells: int, remarks: Sequence[str] = ()
) -> Line:
    """Return `── turn 1 · call 1 of 2 · get_weather ──` with remarks. `position_text` is empty if
    the frame shows the position.
    """
    position_text = f"{position_text} · " if position_text else ""
    state: list[StyledText] = []
    if pair.state in ONE_SIDED_LABELS:
        state = [(f" · {pair.state} {ONE_SIDED_LABELS[pair.state]}", STATE_STYLES[pair.state])]
    ending: list[StyledText] = [(f" · {sanitize(remark)}", "dim") for remark in remarks]
    room = cells - RULE_MARGIN - display_width(position_text) - line_width(tuple(state))
    name_cells = max(room - line_width(tuple(ending)), min(room, MIN_NAME_CELLS), 1)
    name: StyledText = (truncate_middle(sanitize(pair.name) or "answer", name_cells), "strong")
    return rule_line(
        (*([(position_text, "")] if position_text else []), name, *state, *ending), cells
    )


def format_call(call: Call) -> str:
    """Format a call as `cd(folder="a")`, or return the raw text of an undecoded call. Sanitized."""
    if call.arguments is None:
        return sanitize(call.raw or call.name)
    golden, predicted = (call, None) if call.side == "golden" else (None, call)
    parts = [
        f"{row.path}={row.golden if call.side == 'golden' else row.predicted}"
        for row in build_argument_rows(golden, predicted, [])
        if row.depth == 0
    ]
    return sanitize(f"{call.name}({', '.join(parts)})")


def folded_pair_lines(
    pair: CallPair, call_label: str, call: Call | None, suffix: Line, omit_turn: bool, cells: int
) -> list[Line]:
    """Render a folded pair on one line. `suffix` is never cut."""
    missing_side = ONE_SIDED_LABELS.get(pair.state)
    summary = fit_line(
        (
            (f"{pair.state} ", STATE_STYLES[pair.state]),
            ("" if omit_turn else f"turn {pair.turn + 1} · ", "dim"),
            (f"{call_label} · ", "dim"),
            (f"{missing_side}: " if missing_side else "", STATE_STYLES[pair.state]),
            (
                format_call(call) if call is not None else pair.name,
                "dim" if pair.state == "=" else "",
            ),
        ),
        max(cells - line_width(suffix), 20),
    )
    return [fit_line((*summary, *suffix), cells)]


def _describe_undecoded_call(call: Call, *, is_error: bool, is_undecoded: bool) -> str:
    if is_undecoded and call.side == "predicted":
        return "undecoded call"
    if not is_error:
        return "no call"
    return (
        "golden answer cannot be parsed"
        if call.side == "golden"
        else "predicted call cannot be decoded"
    )


def labelled_side_lines(side: Side, rows: Sequence[str]) -> list[Line]:
    return [((_side_label(side, at), "dim"), (row, side)) for at, row in enumerate(rows)]


def undecoded_call_lines(
    call: Call,
    cells: int,
    options: DisplayOptions,
    *,
    is_error: bool = True,
    is_undecoded: bool = False,
) -> list[Line]:
    """Render an answer that could not be decoded as a call: the reason, then the raw text.

    Args:
        is_error: Whether the answer should be a call.
        is_undecoded: Whether the answer contains the text of a call.
    """
    problem = _describe_undecoded_call(call, is_error=is_error, is_undecoded=is_undecoded)
    error = f"{problem}: {sanitize(call.decode_error or 'not a call')}"
    rows, has_more = wrap_first_rows(
        call.raw or "", cells - SIDE_LABEL_CELLS, options.get_row_limit(UNDECODED_ROWS)
    )
    pieces = wrap_sanitized(error, cells - 2, 3)
    sign, style = ("! ", "bad") if is_error else ("  ", "dim")
    lines: list[Line] = [
        (("  " if at else sign, style), (piece, style)) for at, piece in enumerate(pieces)
    ]
    lines += labelled_side_lines(call.side, rows if call.raw else ())
    if has_more:
        lines.append(make_line(f"    … {options.unfold_hint}", "dim"))
    return lines
