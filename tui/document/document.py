"""An item as a document: which blocks, in which order, and the questions the screen asks about them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fcreview.store.rows import ItemDetail
from fcreview.targets import ITEM, is_address, part_of
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.extra import extra_blocks
from fcreview.tui.document.header import about_line
from fcreview.tui.document.offer.offer import offer_blocks
from fcreview.tui.document.said.answer import answer_blocks
from fcreview.tui.document.said.corrected import erratum_blocks
from fcreview.tui.document.said.judges import judge_blocks
from fcreview.tui.document.said.marks import marked
from fcreview.tui.document.scene import scene
from fcreview.tui.document.told.minimap import group_strip, turn_map
from fcreview.tui.document.turns import turn_blocks
from fcreview.tui.document.verdicts import issue_blocks, opinion_blocks, verdict_blocks
from fcreview.tui.text.lines import BLANK

REASON_ROWS = 3
"""Rows of a reason above a trajectory: the first difference is to be seen without scrolling."""


def document(detail: ItemDetail, annotator: str, options: Options) -> list[Block]:
    """The blocks of an item. A trajectory opens with why it failed, in a few rows; where one answer is judged, what was
    said of it stands behind it, as judges do in any case."""
    of = scene(detail.item, detail.opinions, annotator, hidden=options.hidden)
    trajectory = of.long and not of.snapshot
    blocks = [Block("about", partial(about_line, detail))]
    blocks += group_strip(detail.siblings, detail.row.item, options.group_keys)
    blocks += turn_map(of)
    if trajectory:
        blocks += verdict_blocks(of, REASON_ROWS)
    blocks += turn_blocks(of, options)
    blocks += answer_blocks(detail.item, options)
    blocks += erratum_blocks(detail.item.extra.erratum, options)
    if not trajectory:
        blocks += verdict_blocks(of)
    blocks += judge_blocks(of)
    blocks += offer_blocks(of, options)
    blocks += opinion_blocks(of)
    blocks += issue_blocks(detail.item.issues)
    blocks += extra_blocks(detail.item, options)
    blocks.append(Block("end", lambda _: [BLANK]))
    return marked(blocks, detail.opinions, annotator)


def opening(blocks: Sequence[Block]) -> int:
    """The block the cursor starts on: the first that differs, else what is judged, else the first stop that is not
    folded."""
    stops = stops_of(blocks, arguments=False)
    differing = (at for at in stops if blocks[at].differs)
    judged = (at for at in stops if blocks[at].opens)
    unfolded = (at for at in stops if not blocks[at].folded)
    return next(differing, next(judged, next(unfolded, stops[0] if stops else 0)))


def stops_of(blocks: Sequence[Block], *, arguments: bool) -> list[int]:
    """Where `j` and `k` halt: targets and folds, and single arguments too while moving inside them."""
    return [at for at, block in enumerate(blocks) if block.stop or (arguments and block.argument)]


def decisive(blocks: Sequence[Block], at: int) -> int:
    """What has to be on screen when the cursor starts at `at`: of a turn its first call that differs, of a call its
    first argument that does."""
    head = blocks[at].key
    if blocks[at].differs:
        at = next((n for n in range(at + 1, len(blocks)) if blocks[n].parent == head and blocks[n].differs), at)
    inside = f"{blocks[at].key}/"
    arguments = (n for n in range(at + 1, len(blocks)) if blocks[n].key.startswith(inside) and blocks[n].argument)
    return next((n for n in arguments if blocks[n].differs), at)


def extent(blocks: Sequence[Block], at: int) -> int:
    """The last block of what a verdict at this one rests on: a call's arguments and what was said of it, the text of a
    reply and what judges said of that. Of a turn, and of what has none, the block itself."""
    head = blocks[at].key
    part = part_of(head)
    if blocks[at].target is None or (part is not None and part.call is None):
        return at
    until = at
    for n in range(at + 1, len(blocks)):
        if blocks[n].key.startswith((f"{head}/", f"judge:{head}")):
            until = n
        elif blocks[n].stop:
            break
    return until


def first_difference(blocks: Sequence[Block]) -> int | None:
    """The first argument that differs, else the first call or turn that does."""
    deep = next((at for at, block in enumerate(blocks) if block.differs and block.argument), None)
    return deep if deep is not None else next((at for at, block in enumerate(blocks) if block.differs), None)


def target_at(blocks: Sequence[Block], at: int) -> str:
    """What a verdict given at this block is about: its own target, else that of the turn it is shown in."""
    if not 0 <= at < len(blocks):
        return "item"
    return blocks[at].target or part_or_item(blocks[at].parent)


def part_or_item(key: str | None) -> str:
    """What a block lies in, if that is something a verdict can be about."""
    return key if key is not None and is_address(key) else ITEM
