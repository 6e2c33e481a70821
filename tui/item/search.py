"""Search in an item: where a text occurs, which occurrence is next, and what has to be unfolded to show it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fcreview.targets import call_of
from fcreview.tui.document.blocks import Block
from fcreview.tui.text.lines import plain


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


def next_hit(hits: Sequence[Hit], last: Hit | None, here: str, blocks: Sequence[Block], by: int = 1) -> Hit | None:
    """The hit behind (-1: before) the last one, or from the block `here` on if there is none yet; round at the end."""
    if last in hits and last is not None:
        return hits[(hits.index(last) + by) % len(hits)]
    order = {block.key: at for at, block in enumerate(blocks)}
    start = order.get(here, 0)
    return next((hit for hit in hits if order[hit.key] >= start), hits[0] if hits else None)


def unfolded_for(hit: Hit, blocks: Sequence[Block]) -> dict[str, bool]:
    """What has to be unfolded so that a hit is on screen."""
    block = next(block for block in blocks if block.key == hit.key)
    keys = [block.parent, call_of(hit.key), hit.key if hit.row >= 0 and block.foldable and not block.pages else None]
    known = {each.key for each in blocks if each.foldable}
    return {key: False for key in keys if key is not None and key in known}
