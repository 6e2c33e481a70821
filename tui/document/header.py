"""The item screen's first line, and the line that says what the item is."""

from __future__ import annotations

from fcreview.sanitise import clip, visible, width
from fcreview.store.rows import ItemDetail
from fcreview.text.words import count_of
from fcreview.tui.text.format import cut_middle, cut_type
from fcreview.tui.text.lines import Line, Part, fit, line_width, spread
from fcreview.tui.text.theme import symbols, verdict_style

LEAST_ID = 20
"""Cells an id keeps beside a long error type."""
LEAST_ERROR = 8
LEAST_GROUP = 13
"""Cells a group's name keeps: as many as tell one from another."""


def header_line(detail: ItemDetail, position: int | None, total: int, cells: int, *, hidden: bool = False) -> Line:
    """` live_simple_3-2-1   3/640   official ✗   rule ✗   judge ·   you ·        value_error:string`

    Place and marks are never cut: with little room their gaps shrink, a judge that said nothing is left out, then the
    error type loses its beginning, then the id its middle.
    """
    row = detail.row
    item, error = visible(row.id), "" if hidden else visible(row.error_type or row.rule_error_type or "")
    place = f"{'–' if position is None else f'{position + 1:,}'}/{total:,}"
    marks = [("official", row.official), ("rule", row.rule), ("judge", row.judge)]
    shown = [(name, None if hidden else value) for name, value in marks] + [("you", row.you)]
    judged = any(verdict.source == "judge" for verdict in detail.item.verdicts)
    fewer = shown if judged or row.judge is not None else [mark for mark in shown if mark[0] != "judge"]
    for gap, names in (("   ", shown), ("  ", shown), ("  ", fewer), (" ", fewer)):
        verdicts: list[Part] = [(gap + place, "dim")]
        for name, value in names:
            sign = symbols().yours(value, row.your_parts) if name == "you" else symbols().verdict(value)
            verdicts += [(f"{gap}{name} ", "dim"), (sign, verdict_style(value))]
        verdicts += [(" STALE", "warn")] if row.stale else []
        used = line_width(tuple(verdicts)) + 1
        if used + width(item) + 2 + width(error) <= cells:
            break
    kind = min(width(error), width(error.rpartition(":")[2]) + 2) + 2 if error else 0
    item = cut_middle(item, max(cells - used - kind, min(width(item), LEAST_ID, cells - used)))
    left: Line = ((" " + item, "strong"), *verdicts)
    room = cells - line_width(left) - 2
    if room < LEAST_ERROR or not error:
        return fit(left, cells)
    return spread(left, ((cut_type(error, room), "bad"),), cells)


def about_line(detail: ItemDetail, cells: int) -> list[Line]:
    """Category, cost, model, benchmark: one dim line at the document's top. What differs from item to item is first; a
    group gives of its middle before anything is cut at the end."""
    run, item = detail.run, detail.item
    parts = (
        [f"{count_of(item.n_turns, 'turn')}, {count_of(item.n_steps, 'step')}"]
        if item.n_turns > 1 or item.n_steps > 1
        else []
    )
    parts += [f"{item.tokens_in}+{item.tokens_out or 0} tokens"] if item.tokens_in is not None else []
    parts += [f"{item.latency:.1f} s"] if item.latency is not None else []
    parts += [run.model, run.kind]
    first = [visible(item.category)]
    if item.group:
        room = cells - width(visible(" · ".join([*first, "group ", *parts])))
        first.append(f"group {cut_middle(visible(item.group), max(room, LEAST_GROUP), 1 / 2)}")
    return [((clip(visible(" · ".join([*first, *parts])), cells), "dim"),)]
