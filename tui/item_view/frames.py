"""Draw frames around the unfolded calls of an item and, on large screens, around all other sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fcreview.model.address import RESPONSE, parse_address
from fcreview.tui.item_view.blocks import Block, LineRenderer
from fcreview.tui.text.graphics import FRAME_CELLS, frame_bottom, frame_side, frame_top
from fcreview.tui.text.lines import Line
from fcreview.tui.text.theme import symbols

CALL_BORDER, SECTION_BORDER = "dim", "track"
SECTIONS = ("suspicions", "verdicts", "answer", "erratum", "offer", "reviews", "issues", "extra", RESPONSE)
"""Keys of the blocks, besides calls and judge verdicts, that begin a section."""


def frame_blocks(blocks: Sequence[Block], *, sections: bool) -> list[Block]:
    """Draw a frame around each unfolded call and, with `sections`, around the other sections."""
    framed, at = list(blocks), 0
    while at < len(blocks):
        head, border = blocks[at], CALL_BORDER
        last = _last_row_of_call(blocks, at)
        if last is None and sections and _begins_section(head):
            last, border = _last_row_of_section(blocks, at), SECTION_BORDER
        if last is not None:
            for index in range(at, last + 1):
                facts = head.facts if index == last else None
                render = partial(_framed_lines, blocks[index].lines, index == at, facts, border)
                framed[index] = replace(blocks[index], lines=render)
            at = last
        at += 1
    return framed


def _last_row_of_call(blocks: Sequence[Block], at: int) -> int | None:
    """Return the index of the last row of the unfolded call at `at`. None if the block is not an unfolded call."""
    head = blocks[at]
    part = parse_address(head.key)
    if part is None or part.call is None or part.argument is not None or head.folded:
        return None
    last = at
    for index in range(at + 1, len(blocks)):
        block = blocks[index]
        inside = block.is_argument or block.key.endswith(("/equal", "/said"))
        if not block.key.startswith(f"{head.key}/") or not inside:
            break
        last = index
    return last


def _begins_section(block: Block) -> bool:
    if block.key.startswith("judge:"):
        return True
    return block.key.endswith("/document") or (block.key in SECTIONS and not block.folded)


def _last_row_of_section(blocks: Sequence[Block], at: int) -> int:
    key, last = blocks[at].key, at
    while last + 1 < len(blocks) and blocks[last + 1].key.startswith((f"{key}/", f"{key}:")):
        last += 1
    return last


def _framed_lines(render: LineRenderer, is_first: bool, facts: Line | None, border: str, cells: int) -> list[Line]:
    """Return lines with a border. `facts`: text in the border below the lines. None if there is no border below."""
    lines = render(max(cells - FRAME_CELLS, 8))
    framed: list[Line] = []
    if is_first:
        title, *lines = lines or [()]
        framed.append(frame_top(_without_rule(title), cells, border))
    framed += [frame_side(_with_difference_sign(line), cells, border) for line in lines]
    if facts is not None:
        framed.append(frame_bottom(facts, cells, border))
    return framed


def _without_rule(line: Line) -> Line:
    """Return the text of a heading without the horizontal rule around it."""
    rule = symbols().rule
    parts = [part for part in line if part[1] != "dim" or set(part[0].strip()) - {rule}]
    return tuple(parts) if line and set(line[0][0].strip()) == {rule} else line


def _with_difference_sign(line: Line) -> Line:
    """Show the state `!` of an argument as `≠`."""
    if line and line[0] == ("! ", "differs"):
        return ((f"{symbols().differs} ", "differs"), *line[1:])
    return line
