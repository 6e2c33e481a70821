"""A mark on the line of every part that this annotator judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fcreview.criteria import PASSING
from fcreview.review import Opinion
from fcreview.sanitise import visible
from fcreview.targets import ITEM
from fcreview.text.words import word
from fcreview.tui.document.blocks import Block, LinesFor
from fcreview.tui.text.format import cut
from fcreview.tui.text.lines import Line, Part, line_width, spread
from fcreview.tui.text.theme import symbols, verdict_style

LONGEST_MARK = 28


def marked(blocks: Sequence[Block], opinions: Sequence[Opinion], annotator: str) -> list[Block]:
    """The blocks, with a mark on the first line of the first block of every target that this annotator judged."""
    said: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        mine = opinion.annotator == annotator and opinion.verdict is not None and not opinion.stale
        if mine and opinion.target != ITEM:
            said.setdefault(opinion.target, []).append(opinion)
    made = []
    for block in blocks:
        here = said.pop(block.target or "", None)
        made.append(block if here is None else replace(block, lines=partial(_marked_lines, block.lines, here)))
    return made


def _marked_lines(lines: LinesFor, opinions: Sequence[Opinion], cells: int) -> list[Line]:
    first, *others = lines(cells) or [()]
    mark = _mark(opinions)
    if first and set(first[-1][0]) <= {symbols().rule}:  # a rule to the edge gives way without a sign
        text, style = first[-1]
        first = (*first[:-1], (text[: max(len(text) - line_width(mark) - 1, 0)], style))
    return [spread(first, mark, cells), *others]


def _mark(opinions: Sequence[Opinion]) -> Line:
    parts: list[Part] = [(" you", "dim")]
    for opinion in opinions:
        parts.append((f" {_said(opinion.verdict, opinion.criterion)}", _style(opinion.verdict, opinion.criterion)))
    return (*parts, (" ", ""))


def _said(value: Any, criterion: str) -> str:
    """A symbol where true means right, else the word: `no`, `2`."""
    plain = isinstance(value, list) or (isinstance(value, bool) and criterion not in PASSING)
    return cut(visible(word(value, criterion)), LONGEST_MARK) if plain else symbols().verdict(value)


def _style(value: Any, criterion: str) -> str:
    return verdict_style(value) if criterion in PASSING else "strong"
