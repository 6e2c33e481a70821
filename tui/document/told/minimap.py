"""All turns of a trajectory on a line, with what came of each; and the items of a conversation beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.store.rows import Sibling
from fcreview.targets import turn_address
from fcreview.tui.document.blocks import Block
from fcreview.tui.document.said.target import mark_of, opinions_on
from fcreview.tui.document.scene import Scene
from fcreview.tui.text.lines import Line, Part, line_width
from fcreview.tui.text.theme import STATE_STYLES, symbols, verdict_style

WORST = "!-+~="
ROWS = 3
"""Rows of the map at most: of very many turns those around the first that fails are left."""


def turn_map(of: Scene) -> list[Block]:
    """` turns  1 =  2 =  3 -+ fails here`: nothing where only one turn is judged."""
    if of.turns < 2 or of.snapshot:
        return []
    entries = [_turn(of, turn) for turn in range(of.turns)]
    return [Block("turns", lambda cells: flow("turns  ", entries, cells)[:ROWS], title="turns")]


def _turn(of: Scene, turn: int) -> Line:
    states = {pair.state for pair in of.pairs.get(turn, [])}
    wrong = [state for state in WORST if state in states and state in "!-+"]
    marks = wrong or [state for state in WORST if state in states][:1]
    fails = turn == of.failing
    parts: list[Part] = [(f"{turn + 1} ", "bad" if fails else "dim")]
    parts += [(state, STATE_STYLES[state]) for state in marks] or [(symbols().none, "dim")]
    parts += [(" fails here", "bad")] if fails else []
    parts += [(mark_of(of, turn_address(turn)), "strong")] if opinions_on(of, turn_address(turn)) else []
    return tuple(parts)


def flow(head: str, entries: Sequence[Line], cells: int) -> list[Line]:
    """The entries behind each other, with two blanks between, over as many rows as they need."""
    rows: list[Line] = []
    row: Line = ((head, "dim"),)
    for entry in entries:
        if line_width(row) + line_width(entry) + 2 > cells and line_width(row) > len(head):
            rows.append(row)
            row = ((" " * len(head), ""),)
        row = (*row, *entry, ("  ", ""))
    return [*rows, row]


def group_strip(siblings: Sequence[Sibling], item: int, keys: str) -> list[Block]:
    """`group  1 ✓  2 ✗  [3 ✗]  4 ·`: the items of the conversation, this one in brackets; `keys` lead to the others."""
    if len(siblings) < 2:
        return []
    at = next((n for n, one in enumerate(siblings) if one.item == item), 0)
    return [Block("group", lambda cells: [_strip(siblings, at, keys, cells)], title="group")]


def _strip(siblings: Sequence[Sibling], at: int, keys: str, cells: int) -> Line:
    ending: Line = ((f" {keys}", "dim"),) if keys else ()
    room = cells - line_width(ending) - 8
    first = last = at
    while True:  # as many as there is room for, this one in the middle
        wider = [(a, b) for a, b in ((first - 1, last), (first, last + 1)) if a >= 0 and b < len(siblings)]
        fits = [(a, b) for a, b in wider if line_width(_members(siblings, a, b, at)) <= room]
        if not fits:
            break
        first, last = min(fits, key=lambda ends: abs((at - ends[0]) - (ends[1] - at)))
    return (("group  ", "dim"), *_members(siblings, first, last, at), *ending)


def _members(siblings: Sequence[Sibling], first: int, last: int, at: int) -> Line:
    parts: list[Part] = [("… ", "dim")] if first > 0 else []
    for n in range(first, last + 1):
        one = siblings[n]
        mark: Part = (symbols().verdict(one.mark), verdict_style(one.mark))
        here: list[Part] = [(f"[{n + 1} ", "strong"), mark, ("]", "strong")]
        parts += here if n == at else [(f"{n + 1} ", "dim"), mark]
        parts.append(("  ", ""))
    return (*parts, *([("…", "dim")] if last < len(siblings) - 1 else []))
