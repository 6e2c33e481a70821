"""All kinds of lines of the item screen: its blocks, and the pending question on each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.cursor import verdict_target_at
from fcreview.tui.item_view.document import build_document
from fcreview.tui.review.recorder import find_pending_question, find_score_criteria


@dataclass(frozen=True, slots=True)
class ItemLine:
    """A line of an item."""

    item: int
    block: str
    """The key of its block. A search can move the cursor to any block."""
    target: str
    open_all: bool
    """Whether the line exists only if everything is unfolded."""


def find_line_kinds(store: Store, every: int = 1) -> list[ItemLine]:
    """Return one line of each kind, from every `every`-th item of the store."""
    found: dict[tuple[object, ...], ItemLine] = {}
    view = View(queue="dataset")
    for at in range(0, store.count_items(view), every):
        detail = store.read_detail(store.fetch_page(view, at, 1)[0].item)
        for kind, line in _item_lines(detail):
            found.setdefault(kind, line)
    return list(found.values())


def _item_lines(detail: ItemDetail) -> Iterator[tuple[tuple[object, ...], ItemLine]]:
    scored = bool(find_score_criteria(detail))
    for open_all in (False, True):
        blocks = build_document(detail, "alice", DisplayOptions(unfold_all=open_all, frames=True))
        for at, block in enumerate(blocks):
            target = verdict_target_at(blocks, at)
            question = find_pending_question(detail.item, target)
            automatic = type(question.automatic)
            kind = (
                _key_pattern(block.key),
                _key_pattern(target),
                block.folded,
                question.criterion,
                automatic,
                scored,
            )
            yield kind, ItemLine(detail.row.item, block.key, target, open_all)


def _key_pattern(key: str) -> str:
    """Replace numbers and names: `turn:2/call:1/arg:city` -> `turn:N/call:N/arg`."""
    head, argument, _ = key.partition("/arg:")
    head = "extra:" if head.startswith("extra:") else head
    return re.sub(r"\d+", "N", head) + ("/arg" if argument else "")
