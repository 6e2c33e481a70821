"""An item as a document: which blocks, in which order, and the questions the screen asks about them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fcreview.criteria import PASSING
from fcreview.review import Opinion
from fcreview.sanitise import visible
from fcreview.store.rows import ItemDetail
from fcreview.targets import ITEM
from fcreview.text.words import word
from fcreview.tui.document.blocks import Block, LinesFor, Options
from fcreview.tui.document.header import about_line
from fcreview.tui.document.scene import scene
from fcreview.tui.document.turns import turn_blocks
from fcreview.tui.document.verdicts import answer_blocks, extra_blocks, issue_blocks, opinion_blocks, verdict_blocks
from fcreview.tui.text.format import cut
from fcreview.tui.text.lines import BLANK, Line, Part, line_width, spread
from fcreview.tui.text.theme import symbols, verdict_style

LONGEST_MARK = 28


def document(detail: ItemDetail, annotator: str, options: Options) -> list[Block]:
    """The blocks of an item. A trajectory opens with why it failed, a single answer ends with it."""
    of = scene(detail.item)
    if options.hidden:
        of.failing = None
    verdicts = verdict_blocks(detail, options)
    blocks = [Block("about", partial(about_line, detail))]
    if of.long:
        blocks += verdicts
    blocks += turn_blocks(of, options)
    blocks += answer_blocks(detail.item, options)
    if not of.long:
        blocks += verdicts
    blocks += opinion_blocks(detail, annotator, options)
    blocks += issue_blocks(detail.item.issues)
    blocks += extra_blocks(detail.item, options)
    blocks.append(Block("end", lambda _: [BLANK]))
    return marked(blocks, detail.opinions, annotator)


def opening(blocks: Sequence[Block]) -> int:
    """The block the cursor starts on: the first that differs, else the first stop that is not folded."""
    stops = stops_of(blocks, arguments=False)
    differing = (at for at in stops if blocks[at].differs)
    unfolded = (at for at in stops if not blocks[at].folded)
    return next(differing, next(unfolded, stops[0] if stops else 0))


def stops_of(blocks: Sequence[Block], *, arguments: bool) -> list[int]:
    """Where `j` and `k` halt: targets and folds, and single arguments too while moving inside them."""
    return [at for at, block in enumerate(blocks) if block.stop or (arguments and block.argument)]


def first_difference(blocks: Sequence[Block]) -> int | None:
    """The first argument that differs, else the first call or turn that does."""
    deep = next((at for at, block in enumerate(blocks) if block.differs and block.argument), None)
    return deep if deep is not None else next((at for at, block in enumerate(blocks) if block.differs), None)


def target_at(blocks: Sequence[Block], at: int) -> str:
    """What a verdict given at this block is about: its own target, else that of the turn it is shown in."""
    if not 0 <= at < len(blocks):
        return "item"
    return blocks[at].target or blocks[at].parent or "item"


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
