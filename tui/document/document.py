"""An item as a document: which blocks, in which order, and the questions the screen asks about them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fcreview.store.rows import ItemDetail
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.header import about_line
from fcreview.tui.document.marks import marked
from fcreview.tui.document.scene import scene
from fcreview.tui.document.turns import turn_blocks
from fcreview.tui.document.verdicts import answer_blocks, extra_blocks, issue_blocks, opinion_blocks, verdict_blocks
from fcreview.tui.text.lines import BLANK


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
