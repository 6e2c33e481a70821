"""The note on the decisive step, which the document shows before the message."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fcreview.model.sanitize import sanitize
from fcreview.tui.item_view.blocks import Block, IndexedItem
from fcreview.tui.item_view.decisive_mark import DecisiveStepMark
from fcreview.tui.item_view.verdicts import paragraph_lines
from fcreview.tui.text.lines import Line, justify_line
from fcreview.tui.text.theme import symbols

NOTE_ROWS = 3


def add_decisive_note(blocks: Sequence[Block], indexed: IndexedItem, confirm_key: str) -> list[Block]:
    """Insert the note before the first block of the message, or of the nearest earlier message that is shown."""
    mark = indexed.decisive_step
    numbered = [(block.message, -at) for at, block in enumerate(blocks) if block.message is not None]
    earlier = [each for each in numbered if mark is not None and each[0] <= mark.message]
    if mark is None or not earlier:
        return [*blocks]
    at = -max(earlier)[1]
    step = blocks[at]
    note = Block(
        f"{step.key}/decisive",
        partial(_note_lines, mark, confirm_key),
        is_heading=True,
        is_decisive=True,
        message=mark.message,
        parent=step.parent,
        title="decisive step",
        copied_value=lambda: {"decisive_step": mark.message, "reason": mark.reason},
    )
    return [*blocks[:at], note, *blocks[at:]]


def _note_lines(mark: DecisiveStepMark, confirm_key: str, cells: int) -> list[Line]:
    """Render `▼ decisive step · message 5 · confirmed by you`, with the kind at the right, and the reason below."""
    is_guess = mark.message == mark.guess
    if is_guess:
        hint = f" · {confirm_key} to confirm" if confirm_key else ""
        source = f"confirmed by {', '.join(mark.people)}" if mark.people else f"guess from facts{hint}"
    else:
        source = f"marked by {', '.join(mark.people)}"
    left: Line = (
        (f"{symbols().unfolded} decisive step", "warn"),
        (sanitize(f" · message {mark.message} · {source}"), "dim"),
    )
    if is_guess or not mark.reason:
        lines = [justify_line(left, ((f"{sanitize(mark.kind)} ", "dim"),), cells)]
        return [*lines, *paragraph_lines("", mark.reason, cells, "", NOTE_ROWS)]
    guess = paragraph_lines(f"guess: message {mark.guess}  ", mark.reason, cells, "dim", NOTE_ROWS)
    return [justify_line(left, (), cells), *guess]
