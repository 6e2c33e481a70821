"""Where two texts part: which stretches of the predicted one are marked. Pure.

A golden and a predicted call beside each other: heading, argument table, and where two long values part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from fcreview.matching.confusables import hidden_difference
from fcreview.matching.first_difference import ArgumentRow, argument_rows
from fcreview.model.item import Call, Pair, Side
from fcreview.model.sanitize import visible, width
from fcreview.tui.item_view.blocks import Options
from fcreview.tui.text.lines import RULE, Line, Part, column, cut_middle, fit, fold_text, line, line_width, rule, wrap
from fcreview.tui.text.theme import STATE_STYLES, symbols

Stretch = tuple[int, int]
"""Start and end in the predicted text."""
WORDS = re.compile(r"\s+|\w+|[^\w\s]")
LONG = 40
"""Characters from which on words are compared; a shorter text has one stretch."""
MOST_WORDS = 600
"""Beyond that the comparison would take too long."""
ALTERNATIVES = 50


def stretches(golden: str, predicted: str) -> list[Stretch]:
    """What differs from the golden text, word by word in long texts: what lies between two changes is not marked. Where
    words are only missing there is one stretch, which may be empty."""
    start, end, closest = _between(golden, predicted)
    if end - start < LONG:
        return [(start, end)]
    ours, theirs = WORDS.findall(predicted), WORDS.findall(closest)
    if max(len(ours), len(theirs)) > MOST_WORDS:
        return [(start, end)]
    places = [0]
    for each in ours:
        places.append(places[-1] + len(each))
    found: list[Stretch] = []
    for kind, _, _, c, d in SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if kind != "equal" and d > c:
            found.append((places[c], places[d]))
    return found or [(start, end)]


def changed(golden: str, predicted: str) -> Stretch:
    """Where `predicted` leaves the golden text and where both run together again.

    Of golden alternatives (`"a" or "b"`), the one that agrees longest is taken.
    """
    start, end, _ = _between(golden, predicted)
    return start, end


def _between(golden: str, predicted: str) -> tuple[int, int, str]:
    """As `changed`, and the alternative that was taken."""
    candidates = [golden]
    at = golden.find(" or ")
    while at >= 0 and len(candidates) < ALTERNATIVES:
        candidates.append(golden[at + 4 :])
        at = golden.find(" or ", at + 4)
    starts = [agree(each, predicted) for each in candidates]
    start = max(starts)
    tail_of = candidates[starts.index(start)]
    stop = tail_of.find(" or ", start)
    tail_of = tail_of if stop < 0 else tail_of[:stop]
    same = 0
    while same < min(len(tail_of), len(predicted)) - start and tail_of[-1 - same] == predicted[-1 - same]:
        same += 1
    return start, len(predicted) - same, tail_of


def agree(a: str, b: str) -> int:
    """Length of the common start; compared in halves, so that long equal texts cost little."""
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


def marked(piece: str, seen: int, of: Sequence[Stretch], style: str, mark: str = "diff") -> tuple[Part, ...]:
    """The piece, which begins at `seen` in its text, with the stretches underlined; blanks at the edge of one, which
    could not be told from no blanks, as `␣`."""
    parts: list[Part] = []
    at = 0
    for first, last in of:
        start, end = min(max(first - seen, at), len(piece)), min(max(last - seen, 0), len(piece))
        if start < end:
            parts += [(piece[at:start], style), (_edged(piece[start:end]), mark)]
            at = end
    parts.append((piece[at:], style))
    return tuple(part for part in parts if part[0]) or ((piece, style),)


def _edged(text: str) -> str:
    bare = text.strip(" ")
    if bare == text:
        return text
    head = len(text) - len(text.lstrip(" ")) if bare else len(text)
    return symbols().blank * head + bare + symbols().blank * (len(text) - len(bare) - head)


def shifted(of: Sequence[Stretch], by: int) -> list[Stretch]:
    return [(start - by, end - by) for start, end in of]


COLUMN_ROWS = 3
"""A value that needs more rows of its column than this is shown below its name over the whole width."""
READABLE = 44
"""Cells between the beginnings of both values, from where on more would only part them; longer values get more."""
SHORT_NAME = 24
"""Cells of a function's name that gives way to what is said of its call."""
ONE_SIDED = {"-": "missing", "+": "extra"}
UNDECODED_ROWS = 8
PLAIN_TO_SEE = re.compile(r"value differs: |function differs: |(one|[0-9,]+) places? inside differs?$")
"""Reasons that only repeat what the row, or the one below it, shows."""
SIDE = 15
"""Cells of the side's name in front of such a value."""
WIDE_ROWS = 2
"""Rows such a value gets there; around the first difference if it is longer still."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of the columns of an argument table. Each line starts with the state and a blank."""

    name: int
    golden: int
    predicted: int

    @property
    def total(self) -> int:
        return 2 + self.name + 2 + self.golden + 2 + self.predicted


def columns(rows: Sequence[ArgumentRow], cells: int, names: float = 0.25) -> Columns:
    """Names get what they need up to a share of the width; the values share the rest, equally if both need it."""
    name = max([width(label(row)) for row in rows] + [len("argument")])
    name = min(name, max(int(cells * names), 8))
    rest = max(cells - name - 6, 16)
    golden = max([width(visible(row.golden or absent(row)[0])) for row in rows] + [len("golden")])
    predicted = max([width(visible(row.predicted or absent(row)[1])) for row in rows] + [len("predicted")])
    half = rest // 2
    if golden + predicted <= rest:  # everything fits: columns start at the same places from item to item if they can
        left = half if golden <= half and predicted <= rest - half else (golden if golden > half else rest - predicted)
        left = min(left, max(golden, READABLE))
    else:
        left = golden if golden < half else (rest - predicted if predicted < half else half)
    return Columns(name, left, rest - left)


def label(row: ArgumentRow) -> str:
    """The argument's name; of a place inside it what lies behind the name, as `.price` or `[2].name`."""
    if row.depth == 0:
        return visible(row.path or "function")
    inside = re.search(r"[.\[]", row.path[1:])
    return " " + visible(row.path[1 + inside.start() :] if inside else row.path)


def heading_row(of: Columns, what: str = "argument") -> Line:
    return (
        ("  ", ""),
        column(what, of.name + 2, "dim"),
        column("golden", of.golden + 2, "dim"),
        ("predicted", "dim"),
    )


def argument_lines(row: ArgumentRow, of: Columns) -> list[Line]:
    """One argument: in its columns if it fits them, else stacked under its name, each side labelled."""
    golden, predicted = visible(row.golden or ""), visible(row.predicted or "")
    left, right = wrap(golden, of.golden, COLUMN_ROWS + 1), wrap(predicted, of.predicted, COLUMN_ROWS + 1)
    if max(len(left), len(right)) > COLUMN_ROWS:
        lines = _stacked(row, golden, predicted, of)
    else:
        lines = _columned(row, left, right, changes(row, golden, predicted), of)
    indent = " " * (of.name + 4 if of.name <= 12 else 6)
    for said in why(row):
        lines += [((indent, ""), (piece, "dim")) for piece in wrap(said, of.total - len(indent), 2)]
    return lines


def absent(row: ArgumentRow) -> tuple[str, str]:
    """What stands where a side has no value: (golden, predicted)."""
    golden = "" if row.golden is not None else "(none)"
    left_out = "(optional, left out)" if row.optional and not row.wanted else "(missing)"
    predicted = left_out if row.predicted is None else ""
    return golden, predicted


def changes(row: ArgumentRow, golden: str, predicted: str) -> list[Stretch]:
    """What to underline in the predicted text; nothing where there is nothing to compare."""
    if row.state not in "!~" or row.golden is None or row.predicted is None:
        return []
    return stretches(golden, predicted)


def why(row: ArgumentRow) -> list[str]:
    """What is said of it below: the reason, unless it is plain to see, and what cannot be seen."""
    if row.state not in "!~" and not row.wanted:
        return []
    said = [visible(row.reason)] if row.reason and not PLAIN_TO_SEE.match(row.reason) else []
    alternatives = (row.golden or "").split(" or ")[:ALTERNATIVES] if row.predicted is not None else []
    hidden = next(filter(None, (hidden_difference(each, row.predicted or "") for each in alternatives)), None)
    return [*said, visible(hidden)] if hidden else said


def changed_style(row: ArgumentRow) -> str:
    """Style of the part that is not the same: what is equal by the benchmark's rules is no fault and not red."""
    return "near" if row.state == "~" else "diff"


def _columned(row: ArgumentRow, left: list[str], right: list[str], change: list[Stretch], of: Columns) -> list[Line]:
    unimportant = row.state == "=" or (row.state == "-" and row.optional and not row.wanted)
    looks = ("dim", "dim", "dim") if unimportant else ("", "golden", "predicted")
    no_golden, no_predicted = absent(row)
    lines: list[Line] = []
    seen = 0
    for at in range(max(len(left), len(right))):
        piece = right[at] if at < len(right) else ""
        gold = column((left[at] if at < len(left) else "").rstrip(), of.golden + 2, looks[1])
        value = marked(piece, seen, change, looks[2], changed_style(row))
        lines.append(
            (
                ((row.state if at == 0 else " ") + " ", STATE_STYLES[row.state]),
                column(label(row) if at == 0 else "", of.name, looks[0]),
                ("  ", ""),
                column(no_golden, of.golden + 2, "dim") if no_golden and at == 0 else gold,
                *(((no_predicted, "dim"),) if no_predicted and at == 0 else value),
            )
        )
        seen += len(piece)
    return lines


def _stacked(row: ArgumentRow, golden: str, predicted: str, of: Columns) -> list[Line]:
    room = max(of.total - SIDE, 8)
    change = changes(row, golden, predicted)
    start = change[0][0] if change else 0
    head: list[Part] = [(row.state + " ", STATE_STYLES[row.state]), (label(row), "dim" if row.state == "=" else "")]
    if row.state in "!~" and golden != predicted and row.golden is not None and row.predicted is not None:
        head.append((f"   differs from character {start + 1} on", "dim"))
    lines = [fit(tuple(head), of.total)]
    if golden == predicted:
        shown, _ = around(golden, 0, room)
        return [*lines, (("    both".ljust(SIDE), "dim"), (shown, "dim"))]
    for side, text, missing in zip(("golden", "predicted"), (golden, predicted), absent(row), strict=True):
        shown, cut = around(text, start, room * WIDE_ROWS)
        style = "dim" if row.state == "=" or missing else side
        of_this = shifted(change, cut) if side == "predicted" else []
        seen = 0
        for at, piece in enumerate(wrap(shown or missing, room)):
            name = f"    {side if at == 0 else '':<{SIDE - 4}}"
            lines.append(((name, "dim"), *marked(piece, seen, of_this, style, changed_style(row))))
            seen += len(piece)
    return lines


def around(text: str, at: int, room: int) -> tuple[str, int]:
    """A window of `text` that shows what lies at `at`, with `…` for what is left out, and how far it was moved."""
    if width(text) <= room:
        return text, 0
    before = room // 4
    start = max(0, at - before) if at > room - before else 0
    head = "…" if start else ""
    shown = wrap(text[start:], room - 2, 1)[0]
    tail = "…" if start + len(shown) < len(text) else ""
    return head + shown + tail, start - len(head)


def pair_heading(pair: Pair, number: int, count: int, cells: int, also: Sequence[str] = ()) -> Line:
    """`── turn 1 · call 1 of 2 · get_weather · - missing ──`; `also`: what else there is to say of the call."""
    what = f"turn {pair.turn + 1} · call {number} of {count} · "
    state: list[Part] = []
    if pair.state in ONE_SIDED:
        state = [(f" · {pair.state} {ONE_SIDED[pair.state]}", STATE_STYLES[pair.state])]
    said = [(f" · {visible(each)}", "dim") for each in also]
    room = cells - RULE - width(what) - line_width(tuple(state))
    name = cut_middle(visible(pair.name), max(room - line_width(tuple(said)), min(room, SHORT_NAME), 1))
    return rule(((what, ""), (name, "strong"), *state, *said), cells)


def call_text(name: str, call: Call | None) -> str:
    """`cd(folder="a")` on one line; golden alternatives joined as in the table."""
    if call is None:
        return name
    if call.arguments is None:
        return visible(call.raw or name)
    golden, predicted = (call, None) if call.side == "golden" else (None, call)
    parts = [
        f"{row.path}={row.golden if call.side == 'golden' else row.predicted}"
        for row in argument_rows(golden, predicted, [])
        if row.depth == 0
    ]
    return visible(f"{call.name}({', '.join(parts)})")


def one_line(
    pair: Pair, number: int, count: int, call: Call | None, also: Line, inside: bool, cells: int
) -> list[Line]:
    """A folded pair. `inside`: below the heading of its turn, which need not be named again. `also` stands at its end,
    and is not cut."""
    head = f"{pair.state} "
    made = fit(
        (
            (head, STATE_STYLES[pair.state]),
            ("" if inside else f"turn {pair.turn + 1} · ", "dim"),
            (f"call {number} of {count} · ", "dim"),
            (f"{ONE_SIDED[pair.state]}: " if pair.state in ONE_SIDED else "", STATE_STYLES[pair.state]),
            (call_text(pair.name, call), "dim" if pair.state == "=" else ""),
        ),
        max(cells - line_width(also), 20),
    )
    return [fit((*made, *also), cells)]


def side_lines(side: Side, pieces: Sequence[str]) -> list[Line]:
    """`    golden     f(a=1)`: a text of one side over the whole width."""
    return [((f"    {side if at == 0 else '':<{SIDE - 4}}", "dim"), (piece, side)) for at, piece in enumerate(pieces)]


def undecoded(call: Call, cells: int, options: Options) -> list[Line]:
    """A text that is not a call: why, and the text as it came."""
    what = "golden answer cannot be read" if call.side == "golden" else "cannot be decoded"
    why = visible(call.decode_error or "not a call")
    pieces, more = fold_text(call.raw or "", cells - SIDE, options.rows(UNDECODED_ROWS))
    lines: list[Line] = [(("! ", "bad"), (piece, "bad")) for piece in wrap(f"{what}: {why}", cells - 2, 3)]
    lines += side_lines(call.side, pieces if call.raw else ())
    if more:
        lines.append(line(f"    … {options.opens('opens the whole text')}", "dim"))
    return lines
