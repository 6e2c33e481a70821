"""Move the cursor in the document of an item, fold the blocks of the document and search its
text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fcreview.model.address import (
    ITEM,
    call_address,
    get_enclosing_call_address,
    is_address,
    parse_address,
    turn_address,
)
from fcreview.store.rows import ItemDetail, Suspicion
from fcreview.tui.item_view.blocks import INCIDENT_KEY, Block, DisplayOptions, IndexedItem
from fcreview.tui.item_view.document import build_document
from fcreview.tui.item_view.function_docs import docs_choices, next_docs_choice
from fcreview.tui.text.lines import plain_text


class SearchHit(NamedTuple):
    """Line of a block that contains the searched text."""

    key: str
    row: int
    """Index of the line in the unfolded block, or -1 if only the pager shows the text."""


def find_hits(blocks: Sequence[Block], text: str, cells: int) -> list[SearchHit]:
    """Find a text in the blocks, ignoring case.

    The blocks must have been built with `unfold_all`.
    """
    text = text.casefold()
    hits: list[SearchHit] = []
    for block in blocks:
        rows = [
            row
            for row, line in enumerate(block.lines(cells))
            if text in plain_text(line).casefold()
        ]
        hits += [SearchHit(block.key, row) for row in rows]
        if not rows and block.full_text is not None and text in block.full_text().casefold():
            hits.append(SearchHit(block.key, -1))
    return hits


def _folds_that_reveal(hit: SearchHit, blocks: Sequence[Block]) -> dict[str, bool]:
    block = next(block for block in blocks if block.key == hit.key)
    opens_in_place = hit.row >= 0 and block.foldable and not block.opens_pager
    keys = {block.parent, get_enclosing_call_address(hit.key), hit.key if opens_in_place else None}
    return {each.key: False for each in blocks if each.foldable and each.key in keys}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Search hit that the cursor moved to."""

    number: int
    """Position of the hit among all hits, from 1."""
    count: int
    row: int


def find_start_index(blocks: Sequence[Block], suspicion: Suspicion | None = None) -> int:
    """Return the index of the block where the cursor starts: an incident, because the item then has
    no answer, else the first call that the reasons of `suspicion` mention, else the decisive step,
    else the first difference, else the first judged block, else the first unfolded block.
    """
    stops = cursor_stop_indices(blocks, include_arguments=False)
    if stops and blocks[stops[0]].key == INCIDENT_KEY:
        return stops[0]
    differing = (at for at in stops if blocks[at].differs)
    calls = sorted(
        (at for at in stops if blocks[at].function), key=lambda at: not blocks[at].differs
    )
    reasons = suspicion.reasons if suspicion else ()
    patterns = {
        at: re.compile(rf"(?<![\w.]){re.escape(blocks[at].function)}(?!\w)")
        for at in calls
        if reasons
    }
    suspect = next((at for text in reasons for at in calls if patterns[at].search(text)), None)
    if suspect is not None:
        return suspect
    decisive = find_decisive_step_index(blocks)
    if decisive is not None:
        return decisive
    judged = (
        at for at in stops if blocks[at].is_judged or blocks[at].key.startswith(f"judge:{ITEM}")
    )
    unfolded = (at for at in stops if not blocks[at].folded)
    return next(differing, next(judged, next(unfolded, stops[0] if stops else 0)))


def find_decisive_step_index(blocks: Sequence[Block]) -> int | None:
    return next((at for at, block in enumerate(blocks) if block.is_decisive), None)


def cursor_stop_indices(blocks: Sequence[Block], *, include_arguments: bool) -> list[int]:
    return [
        at
        for at, block in enumerate(blocks)
        if block.is_cursor_stop or (include_arguments and block.is_argument)
    ]


def first_difference_index_inside(blocks: Sequence[Block], index: int) -> int:
    """Return the index of the first differing argument inside the block at `index`, else of the
    first differing call, else `index`.
    """
    head = blocks[index].key
    if blocks[index].differs:
        index = next(
            (
                n
                for n in range(index + 1, len(blocks))
                if blocks[n].parent == head and blocks[n].differs
            ),
            index,
        )
    inside = f"{blocks[index].key}/"
    arguments = (
        n
        for n in range(index + 1, len(blocks))
        if blocks[n].key.startswith(inside) and blocks[n].is_argument
    )
    return next((n for n in arguments if blocks[n].differs), index)


def last_index_of_target(blocks: Sequence[Block], index: int) -> int:
    """Return the index of the last block that belongs to the target at `index`, such as the last
    argument of a call.
    """
    key = blocks[index].key
    part = parse_address(key)
    if blocks[index].target is None or (part is not None and part.call is None):
        return index
    last = index
    for n in range(index + 1, len(blocks)):
        if blocks[n].key.startswith((f"{key}/", f"judge:{key}")):
            last = n
        elif blocks[n].is_cursor_stop:
            break
    return last


def first_difference_index(blocks: Sequence[Block]) -> int | None:
    """Return the index of the first differing argument, else of the first differing call or
    turn, else None.
    """
    differing = [at for at, block in enumerate(blocks) if block.differs]
    return next(
        (at for at in differing if blocks[at].is_argument), differing[0] if differing else None
    )


def verdict_target_at(blocks: Sequence[Block], index: int) -> str:
    """Return the address that a verdict at a block applies to: the target of the block, else its
    turn, else the item.
    """
    if not 0 <= index < len(blocks):
        return ITEM
    block = blocks[index]
    return block.target or (
        block.parent if block.parent is not None and is_address(block.parent) else ITEM
    )


@dataclass(slots=True)
class Cursor:
    """Cursor in the document of the displayed item.

    Methods that move the cursor return False if it cannot move.
    """

    detail: ItemDetail
    annotator: str
    blind: bool = False
    """Whether the verdicts of other sources are hidden until the annotator records a verdict on
    the item.
    """
    options: DisplayOptions = field(default_factory=DisplayOptions)
    blocks: list[Block] = field(init=False)
    index: int = field(init=False)
    in_arguments: bool = False
    last_search: str = ""
    """Text of the last search. A search in the next item can reuse it."""
    _last_hit: SearchHit | None = None

    def __post_init__(self) -> None:
        self.show_item(self.detail, self.options.suspicion)

    @property
    def hides_verdicts(self) -> bool:
        """Whether the verdicts of other sources on this item are hidden now."""
        return self.blind and self.detail.row.you is None

    @property
    def block(self) -> Block:
        return self.blocks[self.index]

    @property
    def target(self) -> str:
        """Address of the part that a verdict at the cursor applies to."""
        return verdict_target_at(self.blocks, self.index)

    @property
    def criterion(self) -> str:
        """Criterion of the verdict keys at the cursor, if the cursor is at a further scorer's
        verdict; else empty.
        """
        return self.block.criterion

    @property
    def has_own_verdict(self) -> bool:
        """Whether the block at the cursor can have a verdict of its own, other than the verdict
        on the item.
        """
        return self.target != ITEM or bool(self.criterion)

    def show_item(self, detail: ItemDetail, suspicion: Suspicion | None = None) -> None:
        """Show another item. `suspicion`: why its golden answer looks wrong."""
        self.detail, self.in_arguments, self._last_hit = detail, False, None
        self.options = replace(self.options, folds={}, docs_call="", suspicion=suspicion)
        self._build_blocks("")
        self.index = find_start_index(self.blocks, suspicion)
        if suspicion and self.block.function and self.block.folded:
            self.options = replace(self.options, folds={self.block.key: False})
            self.rebuild()
        if self.options.docs_choice and (address := self.nearest_call_address) is not None:
            self.options = replace(self.options, docs_call=address)
            self.rebuild()

    def refresh(self, detail: ItemDetail) -> None:
        self.detail = detail
        self.rebuild()

    def rebuild(self, block_key: str | None = None) -> None:
        """Rebuild the blocks.

        The cursor stays on the same block, or moves to the block with this key.
        """
        block_key = block_key or self.block.key
        self._build_blocks(block_key)
        self.index = self.find_block_index(block_key)

    def _build_blocks(self, cursor_block_key: str) -> None:
        argument = cursor_block_key.partition("/arg:")[2] or None
        options = replace(self.options, hide_verdicts=self.hides_verdicts, marked_argument=argument)
        self.blocks = build_document(self.detail, self.annotator, options)

    def _build_unfolded(self) -> list[Block]:
        options = replace(self.options, hide_verdicts=self.hides_verdicts, unfold_all=True)
        return build_document(self.detail, self.annotator, options)

    def move_to_target(self, target: str) -> bool:
        """Move to the block with this verdict target, and unfold the blocks that contain it."""
        folds = dict(self.options.folds)
        if (part := parse_address(target)) is not None:
            folds[turn_address(part.turn)] = False
        if (call := get_enclosing_call_address(target)) is not None and call != target:
            folds |= {call: False, f"{call}/equal": False}
        self.options = replace(self.options, folds=folds)
        self.rebuild()
        index = next(
            (index for index, block in enumerate(self.blocks) if block.target == target), None
        )
        if index is None:
            return False
        self.index, self.in_arguments = index, self.blocks[index].is_argument
        return True

    def has_target(self, target: str) -> bool:
        """Whether the document has a block with this verdict target, even if a folded block
        contains it.
        """
        is_shown = any(block.target == target for block in self.blocks)
        return is_shown or any(block.target == target for block in self._build_unfolded())

    def find_block_index(self, block_key: str, default: int | None = None) -> int:
        """Return the index of the block with this key, else of an enclosing block, else
        `default`, else the start.
        """
        indexes = {block.key: index for index, block in enumerate(self.blocks)}
        while block_key:
            if block_key in indexes:
                return indexes[block_key]
            block_key = block_key.rpartition("/")[0]
        return find_start_index(self.blocks) if default is None else default

    def move(self, direction: int) -> bool:
        """Move to the next (1) or previous (-1) block where the cursor can stop."""
        return self._move_to_nearest_stop(
            cursor_stop_indices(self.blocks, include_arguments=self.in_arguments), direction
        )

    def move_by_turn(self, direction: int) -> bool:
        """Move to the next (1) or previous (-1) turn."""
        turns = [
            n
            for n, block in enumerate(self.blocks)
            if block.key.startswith("turn:") and "/" not in block.key
        ]
        return self._move_to_nearest_stop(turns, direction)

    def _move_to_nearest_stop(self, stops: Sequence[int], direction: int) -> bool:
        reachable = [
            stop for stop in stops if (stop > self.index if direction > 0 else stop < self.index)
        ]
        if reachable:
            self.index = reachable[0] if direction > 0 else reachable[-1]
            if self.options.docs_choice and self.block.is_argument:
                self.rebuild()  # the function docs mark the parameter under the cursor
        return bool(reachable)

    def move_to_decisive_or_difference(self) -> bool:
        """Move to the decisive step or, if the cursor is there or there is none, to the first
        difference.
        """
        index = find_decisive_step_index(self.blocks)
        if index is None or index == self.index:
            index = first_difference_index(self.blocks)
        if index is None:
            return False
        self.in_arguments = (
            self.in_arguments or self.blocks[index].is_argument
        ) and not self.blocks[index].is_decisive
        self.index = index
        return True

    def toggle_arguments(self) -> bool:
        """Move to the first argument at or below the cursor or, from an argument, back to the
        call.
        """
        if self.in_arguments:
            self.in_arguments = False
            self.index = self.find_block_index(self.block.key.partition("/arg:")[0])
            return True
        index = next(
            (n for n in range(self.index, len(self.blocks)) if self.blocks[n].is_argument), None
        )
        if index is None:
            return False
        self.in_arguments, self.index = True, index
        return True

    def toggle_fold(self) -> bool:
        """Fold or unfold the block under the cursor.

        Return False if it cannot be folded or opens in the pager.
        """
        block = self.block
        if not block.foldable or (block.opens_pager and block.folded):
            return False
        self.options = replace(
            self.options, folds={**self.options.folds, block.key: not block.folded}
        )
        self.rebuild()
        return True

    def toggle_dialogue(self) -> None:
        self.options = replace(self.options, full_dialogue=not self.options.full_dialogue)
        self.rebuild()

    def show_next_docs(self) -> Block | None:
        """Show the next set of function docs: golden, predicted, all or none. Return the block to
        scroll to: the docs, or the call if no docs are shown. None if the item has no functions."""
        address = self.nearest_call_address
        if address is None and not self.detail.item.functions:
            return None
        has_moved = (
            address is not None
            and address != self.options.docs_call
            and self.options.docs_choice != "all"
        )
        shown = "" if has_moved else self.options.docs_choice
        choice = next_docs_choice(docs_choices(IndexedItem(self.detail.item), address), shown)
        part = parse_address(address) if address is not None else None
        folds = dict(self.options.folds) | (
            {turn_address(part.turn): False} if part is not None else {}
        )
        self.options = replace(
            self.options, docs_choice=choice, docs_call=address or "", folds=folds
        )
        self.rebuild()
        key = (
            "offer" if choice == "all" else f"{address}/document" if choice and address else address
        )
        return self.blocks[self.find_block_index(key, self.index) if key else self.index]

    @property
    def nearest_call_address(self) -> str | None:
        """Address of the call under the cursor, else of the first call in the turn or, outside
        turns, in the item.
        """
        target = self.target
        part = parse_address(target)
        if part is not None and part.call is None:
            has_calls = any(pair.turn == part.turn for pair in self.detail.item.pairs)
            return call_address(part.turn, 0) if has_calls else None
        targets = [target, *(block.target or "" for block in self.blocks)]
        return next((call for each in targets if (call := get_enclosing_call_address(each))), None)

    def search(self, text: str, cells: int, direction: int = 1) -> SearchResult | None:
        """Move to the next (1) or previous (-1) search hit, also in folded blocks. After the last
        hit, continue at the first. None without a hit.
        """
        if text != self.last_search:
            self._last_hit = None
        self.last_search = text
        blocks = self._build_unfolded()
        hits = find_hits(blocks, text, cells)
        if not hits:
            self._last_hit = None
            return None
        if self._last_hit in hits:
            hit = hits[(hits.index(self._last_hit) + direction) % len(hits)]
        else:
            order = {block.key: index for index, block in enumerate(blocks)}
            start = order.get(self.block.key, 0)
            hit = next((hit for hit in hits if order[hit.key] >= start), hits[0])
        self._last_hit = hit
        self.options = replace(
            self.options, folds={**self.options.folds, **_folds_that_reveal(hit, blocks)}
        )
        self.rebuild(block_key=hit.key)
        return SearchResult(hits.index(hit) + 1, count=len(hits), row=hit.row)
