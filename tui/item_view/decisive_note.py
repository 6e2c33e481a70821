"""Render the note on the decisive step, which is shown above its message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fcreview.model.sanitize import sanitize
from fcreview.tui.item_view.blocks import Block, IndexedItem, LineRenderer
from fcreview.tui.item_view.decisive_mark import DecisiveStepMark
from fcreview.tui.item_view.verdicts import paragraph_lines
from fcreview.tui.text.lines import Line, justify_line, line_width

NOTE_ROWS = 3


def add_decisive_note(blocks: Sequence[Block], indexed: IndexedItem, confirm_key: str) -> list[Block]:
    """Add the note above the first block of the message, or of the nearest earlier message that is shown."""
    mark = indexed.decisive_step
    numbered = [(block.message, -at) for at, block in enumerate(blocks) if block.message is not None]
    earlier = [each for each in numbered if mark is not None and each[0] <= mark.message]
    if mark is None or not earlier:
        return [*blocks]
    at = -max(earlier)[1]
    render = partial(_lines_with_note, blocks[at].lines, mark, confirm_key)
    step = replace(blocks[at], lines=render, is_decisive=True, is_heading=True, message=mark.message)
    return [*blocks[:at], step, *blocks[at + 1 :]]


def _lines_with_note(render: LineRenderer, mark: DecisiveStepMark, confirm_key: str, cells: int) -> list[Line]:
    return [*_note_lines(mark, confirm_key, cells), *render(cells)]


def _note_lines(mark: DecisiveStepMark, confirm_key: str, cells: int) -> list[Line]:
    """Render `decisive step · message 5 · confirmed by you`, with the kind at the right, and the reason below."""
    is_guess = mark.message == mark.guess
    if is_guess:
        hint = f" · {confirm_key} to confirm" if confirm_key else ""
        source = f"confirmed by {', '.join(mark.people)}" if mark.people else f"guess from facts{hint}"
    else:
        source = f"marked by {', '.join(mark.people)}"
    left: Line = (
        ("decisive step", "warn"),
        (sanitize(f" · message {mark.message} · {source}"), "dim"),
    )
    if is_guess or not mark.reason:
        kind: Line = ((f"{sanitize(mark.kind)} ", "dim"),)
        lines = [justify_line(left, kind if line_width(left) + line_width(kind) < cells else (), cells)]
        return [*lines, *paragraph_lines("", mark.reason, cells, "", NOTE_ROWS)]
    guess = paragraph_lines(f"guess: message {mark.guess}  ", mark.reason, cells, "dim", NOTE_ROWS)
    return [justify_line(left, (), cells), *guess]
