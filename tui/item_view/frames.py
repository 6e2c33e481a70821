"""Frames around unfolded calls, so that heading and arguments look like one panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fcreview.model.address import parse_address
from fcreview.tui.item_view.blocks import Block, LineRenderer
from fcreview.tui.text.lines import Line, fit_line, line_width
from fcreview.tui.text.theme import symbols

FRAME_CELLS = 4
"""Cells of a line that the two sides of a frame use."""
BORDER_STYLE = "dim"


def frame_calls(blocks: Sequence[Block]) -> list[Block]:
    """Draw a frame around each unfolded call: its heading and its arguments."""
    framed, at = list(blocks), 0
    while at < len(blocks):
        last = _last_row(blocks, at)
        if last is not None:
            for index in range(at, last + 1):
                block = blocks[index]
                render = partial(_framed_lines, block.lines, index == at, index == last)
                framed[index] = replace(block, lines=render)
            at = last
        at += 1
    return framed


def _last_row(blocks: Sequence[Block], at: int) -> int | None:
    """Return the index of the last argument of the unfolded call at `at`. None if the block is no unfolded call."""
    head = blocks[at]
    part = parse_address(head.key)
    if part is None or part.call is None or part.argument is not None or head.folded:
        return None
    last = at
    for index in range(at + 1, len(blocks)):
        block = blocks[index]
        if not block.key.startswith(f"{head.key}/") or not (block.is_argument or block.key.endswith("/equal")):
            break
        last = index
    return last


def _framed_lines(render: LineRenderer, is_first: bool, is_last: bool, cells: int) -> list[Line]:
    sign = symbols()
    inner = max(cells - FRAME_CELLS, 8)
    lines = render(inner)
    framed: list[Line] = []
    if is_first:
        top, *lines = lines or [()]
        rule = (sign.rule * max(inner - line_width(top), 0), "dim")
        framed.append((_border(sign.top_left + sign.rule), *top, rule, _border(sign.rule + sign.top_right)))
    for line in lines:
        fitted = fit_line(_with_difference_sign(line), inner)
        padding = (" " * max(inner - line_width(fitted), 0), "")
        framed.append((_border(f"{sign.bar} "), *fitted, padding, _border(f" {sign.bar}")))
    if is_last:
        framed.append((_border(sign.bottom_left + sign.rule * (inner + 2) + sign.bottom_right),))
    return framed


def _border(text: str) -> tuple[str, str]:
    return text, BORDER_STYLE


def _with_difference_sign(line: Line) -> Line:
    """Show the state `!` of an argument as `≠`."""
    if line and line[0] == ("! ", "differs"):
        return ((f"{symbols().differs} ", "differs"), *line[1:])
    return line
