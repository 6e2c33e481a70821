"""A flip as lines: the question, then the golden answer and both predictions beside each other, or stacked where there
is no room. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from fcreview.calls.table import argument_rows
from fcreview.comparison.flips import Flip
from fcreview.model import Call, Item, Pair
from fcreview.sanitise import visible
from fcreview.text.columns import GAP
from fcreview.text.words import word
from fcreview.tui.text.lines import BLANK, Line, column, line, rule, wrap, wrap_text
from fcreview.values import to_json_text

BESIDE_FROM = 120
"""Cells from which three columns stand side by side."""
QUESTION = 8
"""Lines of the question."""


def flip_lines(flip: Flip, a: Item, b: Item, cells: int) -> list[Line]:
    """`a`, `b`: the item in the two runs."""
    said = [message.content for message in a.messages if message.role == "user"]
    lines = [line(row) for row in wrap_text("\n".join(said) or a.question, cells, QUESTION)]
    lines += [line(row, "strong") for row in wrap(visible(flip.cause), cells)]
    sides: list[tuple[str, list[Line]]] = [("golden", golden_lines(a))]
    if flip.golden_differs:
        sides[0] = ("golden of A, then of B", [*golden_lines(a), line("of B", "dim"), *golden_lines(b)])
    sides += [
        (f"{name} {word(side.verdict)}", predicted_lines(item))
        for name, side, item in (("A", flip.a, a), ("B", flip.b, b))
    ]
    if cells < BESIDE_FROM:
        return [*lines, *(each for title, part in sides for each in _stacked(title, part, cells))]
    size = (cells - 2 * GAP) // 3
    heads = [_row([rule(((title, "strong"),), size) for title, _ in sides], size)]
    columns = [[row for each in part for row in _wrapped(each, size)] for _, part in sides]
    return [*lines, BLANK, *heads, *(_row(list(row), size) for row in zip_longest(*columns, fillvalue=BLANK))]


def golden_lines(item: Item) -> list[Line]:
    found: list[Line] = []
    for call in item.golden:
        found += _head(call, " ", item)
        for name, accept in (call.arguments or {}).items():
            found.append(line(f"    {visible(name)}: {visible(to_json_text(accept))}"))
    return found or [line("no call", "dim")]


def predicted_lines(item: Item) -> list[Line]:
    """Calls in the order of their pairs, each argument with how it compares; what is missing too."""
    found: list[Line] = []
    paired = {(pair.turn, pair.predicted) for pair in item.pairs}
    for pair in item.pairs:
        found += _pair(pair, item)
    for call in item.predicted:
        if (call.turn, call.index) not in paired:
            found += _head(call, " ", item)
            found += [line(f"    {visible(k)}: {visible(to_json_text(v))}") for k, v in (call.arguments or {}).items()]
    return found or [line("no call", "dim")]


def _pair(pair: Pair, item: Item) -> list[Line]:
    golden = _call(item.golden, pair.turn, pair.golden)
    predicted = _call(item.predicted, pair.turn, pair.predicted)
    if predicted is None:
        return [line(f"- {visible(pair.name)} not called", "diff")]
    found = _head(predicted, pair.state, item)
    for row in argument_rows(golden, predicted, pair.diff):
        if row.path:
            text = f"{'  ' * row.depth}{row.path}: {row.predicted if row.predicted is not None else 'left out'}"
            found.append(line(f"  {row.state} {visible(text)}", "" if row.state in "=~" else "diff"))
    return found


def _head(call: Call, state: str, item: Item) -> list[Line]:
    """The function, and of an item with several turns in which."""
    several = any(each.turn for each in (*item.golden, *item.predicted))
    head = [
        line(
            f"{state} {visible(call.name)}{f'  turn {call.turn + 1}' if several else ''}",
            "strong" if state in " =~" else "diff",
        )
    ]
    if call.arguments is None:
        head.append(line(f"    {visible(call.decode_error or call.raw or 'cannot be read')}", "dim"))
    return head


def _call(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    return next((call for call in calls if call.turn == turn and call.index == index), None)


def _stacked(title: str, part: Sequence[Line], cells: int) -> list[Line]:
    return [rule(((title, "strong"),), cells), *(row for each in part for row in _wrapped(each, cells))]


def _wrapped(of: Line, cells: int) -> list[Line]:
    return [line(row, style) for text, style in of for row in wrap(text, cells)]


def _row(parts: Sequence[Line], size: int) -> Line:
    made: list[tuple[str, str]] = []
    for at, part in enumerate(parts):
        text, style = part[0] if len(part) == 1 else ("".join(each for each, _ in part), "strong" if part else "")
        made += [*([(" " * GAP, "")] if at else []), column(text, size, style)]
    return tuple(made)
