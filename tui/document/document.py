"""An item as a document: which blocks, in which order, and the questions the screen asks about them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from fcreview.store.rows import ItemDetail
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.header import about_line
from fcreview.tui.document.scene import call_of, scene
from fcreview.tui.document.turns import turn_blocks
from fcreview.tui.document.verdicts import answer_blocks, extra_blocks, issue_blocks, opinion_blocks, verdict_blocks
from fcreview.tui.text.lines import BLANK, plain


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
    return blocks


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


class Hit(NamedTuple):
    """Where a search found something: a block, and the row of its unfolded lines."""

    key: str
    row: int
    """-1 where it lies in text that only the pager shows."""


def find(blocks: Sequence[Block], needle: str, cells: int) -> list[Hit]:
    """Where a text occurs in blocks that were built with `open_all`; upper and lower case are the same."""
    wanted = needle.casefold()
    hits: list[Hit] = []
    for block in blocks:
        rows = [at for at, each in enumerate(block.lines(cells)) if wanted in plain(each).casefold()]
        hits += [Hit(block.key, row) for row in rows]
        if not rows and block.full is not None and wanted in block.full().casefold():
            hits.append(Hit(block.key, -1))
    return hits


def next_hit(hits: Sequence[Hit], last: Hit | None, here: str, blocks: Sequence[Block]) -> Hit | None:
    """The hit behind the last one, or from the block `here` on if there is none yet; round at the end."""
    if last in hits and last is not None:
        return hits[(hits.index(last) + 1) % len(hits)]
    order = {block.key: at for at, block in enumerate(blocks)}
    start = order.get(here, 0)
    return next((hit for hit in hits if order[hit.key] >= start), hits[0] if hits else None)


def unfolded_for(hit: Hit, blocks: Sequence[Block]) -> dict[str, bool]:
    """What has to be unfolded so that a hit is on screen."""
    block = next(block for block in blocks if block.key == hit.key)
    keys = [block.parent, call_of(hit.key), hit.key if hit.row >= 0 and block.foldable and not block.pages else None]
    known = {each.key for each in blocks if each.foldable}
    return {key: False for key in keys if key is not None and key in known}
