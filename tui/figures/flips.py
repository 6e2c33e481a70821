"""Lay out the list of flips, which are items that only one of two runs passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fcreview.model.sanitize import display_width, sanitize
from fcreview.stats.run_comparison import Flip, ItemOutcome, explain_outcome
from fcreview.store.rows import QueueRow
from fcreview.tui.queue.columns import (
    difference_line,
    parse_difference_line,
    shorten_difference_line,
)
from fcreview.tui.text.graphics import verdict_badge
from fcreview.tui.text.lines import (
    CELL_GAP,
    FixedColumn,
    Line,
    TableLines,
    fixed_columns_width,
    lay_out_fixed_columns,
    line_width,
    make_line,
    sanitize_and_wrap,
)
from fcreview.tui.text.short_names import shorten_ids

BADGE_CELLS = 6
"""Width of the badges PASS and FAIL, in cells."""
MIN_ID_CELLS = 14
MAX_ID_CELLS = 40


def find_failing_item(flip: Flip) -> int:
    """Return the number of the item in the run that fails it."""
    if flip.passing_side == "a":
        return flip.b.item
    return flip.a.item


def lay_out_flips(
    flips: Sequence[Flip], failing_rows: Mapping[int, QueueRow], width: int
) -> TableLines:
    """Lay out the flips: the id of the item, its verdicts in both runs, and why one run fails it.

    `failing_rows`: rows of the failing items, by item number. `width`: width in cells.
    """
    ids = [flip.a.question_key.id for flip in flips]
    id_cells = _choose_id_cells(ids, width)
    short_ids = shorten_ids(ids, id_cells)

    def make_id_cell(flip: Flip) -> Line:
        item_id = flip.a.question_key.id
        return make_line(short_ids.get(item_id) or sanitize(item_id))

    columns = [
        FixedColumn("item", width=id_cells, make_cell=make_id_cell, gap=""),
        FixedColumn("A", width=BADGE_CELLS, make_cell=_verdict_a_cell),
        FixedColumn("B", width=BADGE_CELLS, make_cell=_verdict_b_cell),
    ]
    reason_cells = width - fixed_columns_width(columns) - len(CELL_GAP)

    def make_reason_cell(flip: Flip) -> Line:
        return shorten_difference_line(_failure_line(flip, failing_rows), reason_cells)

    title = "first difference of the failing run"
    reason = FixedColumn(title, width=reason_cells, make_cell=make_reason_cell)
    return lay_out_fixed_columns([*columns, reason], flips)


def _choose_id_cells(ids: Sequence[str], width: int) -> int:
    """Return the width of the ids: that of the longest one, but at most a third of the list."""
    longest = max((display_width(sanitize(item_id)) for item_id in ids), default=0)
    most = min(MAX_ID_CELLS, width // 3)
    return max(min(longest, most), MIN_ID_CELLS)


def _verdict_a_cell(flip: Flip) -> Line:
    return (verdict_badge(flip.a.verdict),)


def _verdict_b_cell(flip: Flip) -> Line:
    return (verdict_badge(flip.b.verdict),)


def _failure_line(flip: Flip, failing_rows: Mapping[int, QueueRow]) -> Line:
    """Return the first difference of the failing run as in the list of items, such as `city  Rome
    → Paris`.

    A flip with different golden answers or equal predictions is not explained by a difference, so
    its cause is given in words.
    """
    cause = make_line(sanitize(flip.cause))
    if flip.golden_differs or flip.same_prediction:
        return cause
    row = failing_rows.get(find_failing_item(flip))
    if row is None:
        return cause
    return difference_line(row) or cause


def explain_flip(flip: Flip, width: int) -> list[Line]:
    """Return why only one run passes an item, with a line for each run: `B: city  Rome → Paris`.

    A flip with different golden answers or equal predictions is explained in words.
    """
    if flip.golden_differs or flip.same_prediction:
        return [make_line(row, "strong") for row in sanitize_and_wrap(flip.cause, width)]

    lines = []
    for letter, outcome in (("A", flip.a), ("B", flip.b)):
        label = make_line(f"{letter}: ", "strong")
        explanation = _explain_side(outcome, width - line_width(label))
        if explanation:
            lines.append((*label, *explanation))
    return lines


def _explain_side(outcome: ItemOutcome, width: int) -> Line:
    """Return the first difference of one run, or the error type of a run that fails without one.

    The first difference of a run that passes follows the words `passes despite`.
    """
    if not outcome.first_difference:
        return make_line(sanitize(explain_outcome(outcome)), "strong")

    difference = parse_difference_line(outcome.first_difference)
    if not outcome.verdict:
        return shorten_difference_line(difference, width)
    prefix = make_line("passes despite ", "strong")
    return (*prefix, *shorten_difference_line(difference, width - line_width(prefix)))
