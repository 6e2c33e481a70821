"""Every kind of line that an item screen can have the cursor on: which blocks there are, and what is asked there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document, target_at
from fcreview.tui.review.recorder import pending_question, score_criteria


@dataclass(frozen=True, slots=True)
class Place:
    """A line of an item."""

    item: int
    block: str
    """Its key; a search puts the cursor on any block."""
    target: str
    open_all: bool
    """Only there when everything is unfolded."""


def places(store: Store, every: int = 1) -> list[Place]:
    """One of each kind in the store's items, or in every so many of them."""
    found: dict[tuple[object, ...], Place] = {}
    view = View(queue="dataset")
    for at in range(0, store.count_items(view), every):
        detail = store.read_detail(store.fetch_page(view, at, 1)[0].item)
        for kind, place in _of(detail):
            found.setdefault(kind, place)
    return list(found.values())


def _of(detail: ItemDetail) -> Iterator[tuple[tuple[object, ...], Place]]:
    scored = bool(score_criteria(detail))
    for open_all in (False, True):
        blocks = build_document(detail, "alice", DisplayOptions(unfold_all=open_all, frames=True))
        for at, block in enumerate(blocks):
            target = target_at(blocks, at)
            what = pending_question(detail.item, target)
            automatic = type(what.automatic)
            kind = (_shape(block.key), _shape(target), block.folded, what.criterion, automatic, scored)
            yield kind, Place(detail.row.item, block.key, target, open_all)


def _shape(key: str) -> str:
    """`turn:2/call:1/arg:city` -> `turn:N/call:N/arg`."""
    head, argument, _ = key.partition("/arg:")
    head = "extra:" if head.startswith("extra:") else head
    return re.sub(r"\d+", "N", head) + ("/arg" if argument else "")
