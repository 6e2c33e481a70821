"""Move the cursor in the document of an item, fold the blocks of the document and search its
text.
"""

from __future__ import annotations

import re
from collections.abc import (
    Mapping,
    Sequence,
)
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
from fcreview.tui.item_view.blocks import (
    DIALOGUE_KEYS,
    INCIDENT_KEY,
    Block,
    DisplayOptions,
    DocsChoice,
    IndexedItem,
)
from fcreview.tui.item_view.document import build_document
from fcreview.tui.item_view.function_docs import (
    FUNCTIONS_KEY,
    docs_choices,
    next_docs_choice,
)
from fcreview.tui.text.lines import plain_text

ONLY_IN_PAGER = -1


class SearchHit(NamedTuple):
    """Line of a block that contains the searched text."""

    key: str
    row: int
    """Index of the line in the unfolded block, or `ONLY_IN_PAGER` if only the pager shows the
    text.
    """


def find_hits(blocks: Sequence[Block], text: str, cells: int) -> list[SearchHit]:
    """Find all places of a text in the item, ignoring case.

    A place is a row of a block. Text that a block shows only in the pager counts as one place. The
    blocks must have been built with `unfold_all`.
    """
    text = text.casefold()
    hits: list[SearchHit] = []
    for block in blocks:
        shown_hits = []
        for row, line in enumerate(block.lines(cells)):
            if text in plain_text(line).casefold():
                shown_hits.append(SearchHit(block.key, row))
        hits += shown_hits
        if not shown_hits and _is_in_full_text(block, text):
            hits.append(SearchHit(block.key, ONLY_IN_PAGER))
    return hits


def _is_in_full_text(block: Block, text: str) -> bool:
    return block.full_text is not None and text in block.full_text().casefold()


def _folds_that_reveal(hit: SearchHit, blocks: Sequence[Block]) -> dict[str, bool]:
    """Return which blocks to unfold, so that a search hit becomes visible: block key -> False.

    These are the block with the found text and the blocks that contain it. If only the pager shows
    the text, the block itself stays folded.
    """
    hit_block = next(block for block in blocks if block.key == hit.key)
    keys_to_unfold = {hit_block.parent, get_enclosing_call_address(hit.key)}
    is_only_in_pager = hit.row == ONLY_IN_PAGER or hit_block.opens_pager
    if not is_only_in_pager:
        keys_to_unfold.add(hit.key)

    folds = {}
    for block in blocks:
        if block.foldable and block.key in keys_to_unfold:
            folds[block.key] = False
    return folds


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Search hit that the cursor moved to."""

    number: int
    """Position of the hit among all hits, from 1."""
    count: int
    row: int


def find_start_index(blocks: Sequence[Block], suspicion: Suspicion | None = None) -> int:
    """Return the index of the block where the cursor starts: what the reader should see first.

    An incident comes first, because the item then has no answer. Then: the call that the reasons of
    `suspicion` mention, the decisive step, the first difference, the first judged block, and the
    first unfolded block.
    """
    stops = cursor_stop_indices(blocks, include_arguments=False)
    if stops and blocks[stops[0]].key == INCIDENT_KEY:
        return stops[0]

    suspect = _find_suspect_call_index(blocks, stops, suspicion)
    if suspect is not None:
        return suspect
    decisive = find_decisive_step_index(blocks)
    if decisive is not None:
        return decisive

    differing = [index for index in stops if blocks[index].differs]
    judged = [index for index in stops if _is_judged(blocks[index])]
    unfolded = [index for index in stops if not blocks[index].folded]
    for candidates in (differing, judged, unfolded, stops):
        if candidates:
            return candidates[0]
    return 0


def _is_judged(block: Block) -> bool:
    """Whether the benchmark judges the block, or the block shows a judge's verdict on the item."""
    return block.is_judged or block.key.startswith(f"judge:{ITEM}")


def _find_suspect_call_index(
    blocks: Sequence[Block], stops: Sequence[int], suspicion: Suspicion | None
) -> int | None:
    """Return the index of the first call whose function the reasons of a suspicion mention.

    Calls that differ from the golden answer come first, because they are more likely to be meant.
    """
    if suspicion is None:
        return None
    calls = [index for index in stops if blocks[index].function]
    calls.sort(key=lambda index: not blocks[index].differs)
    for reason in suspicion.reasons:
        for index in calls:
            # A name inside a longer name, such as `find` in `maps.find`, is another function.
            name = re.escape(blocks[index].function)
            if re.search(rf"(?<![\w.]){name}(?!\w)", reason):
                return index
    return None


def find_suspect_argument_index(blocks: Sequence[Block], call_key: str) -> int | None:
    """Return the index of the argument of a call that has a note with reasons."""
    for index, block in enumerate(blocks):
        if block.is_suspect and block.key.startswith(f"{call_key}/"):
            return index
    return None


def find_decisive_step_index(blocks: Sequence[Block]) -> int | None:
    for index, block in enumerate(blocks):
        if block.is_decisive:
            return index
    return None


def cursor_stop_indices(blocks: Sequence[Block], *, include_arguments: bool) -> list[int]:
    """Return the indexes of the blocks at which the cursor stops when it moves."""
    stops = []
    for index, block in enumerate(blocks):
        if block.is_cursor_stop or (include_arguments and block.is_argument):
            stops.append(index)
    return stops


def first_difference_index_inside(blocks: Sequence[Block], index: int) -> int:
    """Return the index of the first differing argument inside the block at `index`, else of the
    first differing call, else `index`.
    """
    call_index = _first_differing_child_index(blocks, index)
    prefix = f"{blocks[call_index].key}/"
    for argument_index in range(call_index + 1, len(blocks)):
        block = blocks[argument_index]
        if block.is_argument and block.differs and block.key.startswith(prefix):
            return argument_index
    return call_index


def _first_differing_child_index(blocks: Sequence[Block], index: int) -> int:
    """Return the index of the first differing block below the block at `index`, such as a call of a
    turn.

    It is `index` itself if that block does not differ, or if nothing below it does.
    """
    head = blocks[index]
    if not head.differs:
        return index
    for child_index in range(index + 1, len(blocks)):
        child = blocks[child_index]
        if child.parent == head.key and child.differs:
            return child_index
    return index


def find_header_index(blocks: Sequence[Block], index: int) -> int:
    """Return the index of the heading of the call to which the block belongs, else `index`."""
    call = get_enclosing_call_address(blocks[index].key)
    if call is None:
        return index
    for header_index in range(index, -1, -1):
        if blocks[header_index].key == call:
            return header_index
    return index


def last_index_of_target(blocks: Sequence[Block], index: int) -> int:
    """Return the index of the last block that belongs to the target at `index`, such as the last
    argument of a call.

    It is `index` itself for a block without a target, and for the heading of a turn, whose calls
    and messages are targets of their own.
    """
    block = blocks[index]
    part = parse_address(block.key)
    is_turn = part is not None and part.call is None
    if block.target is None or is_turn:
        return index

    # The keys of its arguments and verdicts begin with the key of the call.
    prefixes = (f"{block.key}/", f"judge:{block.key}")
    last = index
    for later_index in range(index + 1, len(blocks)):
        later = blocks[later_index]
        if later.key.startswith(prefixes):
            last = later_index
        elif later.is_cursor_stop:
            # The next target begins. Blocks at which the cursor does not stop, such as remarks, can
            # be between the parts of this one.
            break
    return last


def first_difference_index(blocks: Sequence[Block]) -> int | None:
    """Return the index of the first differing argument, else of the first differing call or
    turn, else None.
    """
    differing = [index for index, block in enumerate(blocks) if block.differs]
    for index in differing:
        if blocks[index].is_argument:
            return index
    return differing[0] if differing else None


def verdict_target_at(blocks: Sequence[Block], index: int) -> str:
    """Return the address of what a verdict key reviews if the cursor is on the block at `index`.

    It is the target of the block, such as a call. Else it is the turn that contains the block, or
    the item.
    """
    if not 0 <= index < len(blocks):
        return ITEM
    block = blocks[index]
    if block.target:
        return block.target
    if block.parent is not None and is_address(block.parent):
        return block.parent
    return ITEM


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

    def find_call_frame(self) -> range:
        """Return the indexes of the blocks in the frame of the call under the cursor. Empty if the
        cursor is not on a framed call.
        """
        frame = self.block.frame
        if not frame:
            return range(0)
        start = self.index
        while start > 0 and self.blocks[start - 1].frame == frame:
            start -= 1
        stop = self.index + 1
        while stop < len(self.blocks) and self.blocks[stop].frame == frame:
            stop += 1
        return range(start, stop)

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
        """Whether a verdict key can review the block at the cursor instead of the whole item."""
        return self.target != ITEM or bool(self.criterion)

    def show_item(self, detail: ItemDetail, suspicion: Suspicion | None = None) -> None:
        """Show another item, with the cursor where its review should start.

        `suspicion`: why its golden answer looks wrong.
        """
        # What belongs to an item is forgotten: search hit, folds and the call with open docs.
        self.detail = detail
        self.in_arguments = False
        self._last_hit = None
        self.options = replace(self.options, folds={}, docs_call="", suspicion=suspicion)

        self._build_blocks("")
        self.index = find_start_index(self.blocks, suspicion)
        if suspicion is not None:
            self._move_to_suspect_argument()

        # The docs that the reader chose for the previous item are shown for this item too.
        address = self.nearest_call_address
        if self.options.docs_choice and address is not None:
            self.options = replace(self.options, docs_call=address)
            self.rebuild()

    def _move_to_suspect_argument(self) -> None:
        """Unfold the suspect call, and move to its argument that the reasons mention first."""
        if not self.block.function:
            return
        call_key = self.block.key
        self._set_folds({call_key: False, f"{call_key}/equal": False})
        self.rebuild()
        index = find_suspect_argument_index(self.blocks, call_key)
        if index is not None:
            self.index = index
            self.in_arguments = True

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
        """Move to the block with this verdict target, and unfold the blocks that contain it.

        Returns whether there is such a block. `target`: address such as `turn:0/call:1/arg:city`.
        """
        # Unfold the turn. For an argument, also unfold its call and the equal arguments in it.
        part = parse_address(target)
        if part is not None:
            self._set_folds({turn_address(part.turn): False})
        call = get_enclosing_call_address(target)
        if call is not None and call != target:
            self._set_folds({call: False, f"{call}/equal": False})
        self.rebuild()

        for index, block in enumerate(self.blocks):
            if block.target == target:
                self.index = index
                self.in_arguments = block.is_argument
                return True
        return False

    def _set_folds(self, folds: Mapping[str, bool]) -> None:
        """Fold (True) or unfold (False) blocks, by their keys."""
        self.options = replace(self.options, folds={**self.options.folds, **folds})

    def has_target(self, target: str) -> bool:
        """Whether the document has a block with this verdict target, even if a folded block
        contains it.
        """
        if any(block.target == target for block in self.blocks):
            return True
        return any(block.target == target for block in self._build_unfolded())

    def find_block_index(self, block_key: str, default: int | None = None) -> int:
        """Return the index of the block with this key, else of an enclosing block, else
        `default`, else the start.
        """
        indexes = {block.key: index for index, block in enumerate(self.blocks)}
        key = block_key
        while key:
            if key in indexes:
                return indexes[key]
            key, _, _ = key.rpartition("/")
        return find_start_index(self.blocks) if default is None else default

    def move(self, direction: int) -> bool:
        """Move to the next (1) or previous (-1) block where the cursor can stop."""
        stops = cursor_stop_indices(self.blocks, include_arguments=self.in_arguments)
        return self._move_to_nearest_stop(stops, direction)

    def move_to_edge(self, side: int) -> None:
        """Move to the first (-1) or last (1) block where the cursor can stop."""
        stops = cursor_stop_indices(self.blocks, include_arguments=self.in_arguments)
        if stops:
            self.index = stops[0] if side < 0 else stops[-1]

    def move_by_turn(self, direction: int) -> bool:
        """Move to the next (1) or previous (-1) turn."""
        turns = []
        for index, block in enumerate(self.blocks):
            if block.key.startswith("turn:") and "/" not in block.key:
                turns.append(index)
        return self._move_to_nearest_stop(turns, direction)

    def _move_to_nearest_stop(self, stops: Sequence[int], direction: int) -> bool:
        """Move to the next or previous of the blocks at which the cursor stops. Return whether
        there is one.
        """
        if direction > 0:
            reachable = [stop for stop in stops if stop > self.index]
        else:
            reachable = [stop for stop in reversed(stops) if stop < self.index]
        if not reachable:
            return False
        self.index = reachable[0]
        if self.options.docs_choice and self.block.is_argument:
            # The function docs mark the parameter under the cursor.
            self.rebuild()
        return True

    def move_to_decisive_or_difference(self) -> bool:
        """Move to the decisive step. If the cursor is there or there is none, move to the first
        difference.

        Returns whether there is such a place.
        """
        index = find_decisive_step_index(self.blocks)
        if index is None or index == self.index:
            index = first_difference_index(self.blocks)
        if index is None:
            return False
        block = self.blocks[index]
        # At a decisive step, the cursor is on the call itself, not among its arguments.
        if block.is_decisive:
            self.in_arguments = False
        elif block.is_argument:
            self.in_arguments = True
        self.index = index
        return True

    def toggle_arguments(self) -> bool:
        """Move from an argument back to its call, or else to the first argument at or below the
        cursor. Return whether the cursor moved.
        """
        if self.in_arguments:
            self.in_arguments = False
            call_key, _, _ = self.block.key.partition("/arg:")
            self.index = self.find_block_index(call_key)
            return True
        for index in range(self.index, len(self.blocks)):
            if self.blocks[index].is_argument:
                self.in_arguments = True
                self.index = index
                return True
        return False

    def toggle_fold(self) -> bool:
        """Fold or unfold the block under the cursor. Return False if it cannot be folded or
        opens in the pager.
        """
        block = self.block
        opens_in_pager = block.opens_pager and block.folded
        if not block.foldable or opens_in_pager:
            return False
        self._set_folds({block.key: not block.folded})
        self.rebuild()
        return True

    def toggle_dialogue(self) -> None:
        """Show the full dialogue, unfolded, or the short dialogue as in an item that was just
        opened.
        """
        folds = {}
        for key, is_folded in self.options.folds.items():
            if not key.startswith(DIALOGUE_KEYS):
                folds[key] = is_folded
        is_full = not self.options.full_dialogue
        self.options = replace(self.options, full_dialogue=is_full, folds=folds)
        self.rebuild()

    def fold_all(self, *, is_folded: bool) -> None:
        """Fold or unfold every block that unfolds in place."""
        folds = {}
        for block in self._build_unfolded():
            if block.foldable and not block.opens_pager:
                folds[block.key] = is_folded
        self._set_folds(folds)
        self.rebuild()

    def show_next_docs(self) -> Block | None:
        """Show the next set of function docs: golden, predicted, all or none.

        Return the block to scroll to: the docs, or the call if no docs are shown. None if the item
        has no functions.
        """
        call = self.nearest_call_address
        if call is None and not self.detail.displayed_item.functions:
            return None

        # The turn of the call must be unfolded, so that its docs are visible.
        part = parse_address(call) if call is not None else None
        if part is not None:
            self._set_folds({turn_address(part.turn): False})

        choice = self._find_next_docs_choice(call)
        self.options = replace(self.options, docs_choice=choice, docs_call=call or "")
        self.rebuild()
        return self.blocks[self._find_docs_index(choice, call)]

    def _find_next_docs_choice(self, address: str | None) -> DocsChoice:
        """Return the docs that are shown next for the call at `address`.

        At another call than before, the choices begin again, unless the docs of all functions are
        shown.
        """
        choices = docs_choices(IndexedItem(self.detail.displayed_item), address)
        current = self.options.docs_choice
        is_at_other_call = address is not None and address != self.options.docs_call
        if is_at_other_call and current != "all":
            current = ""
        return next_docs_choice(choices, current)

    def _find_docs_index(self, choice: DocsChoice, address: str | None) -> int:
        """Return the index of the block to show after the choice of function docs changed.

        It is the block of the docs or, if no docs are chosen, that of the call at `address`.
        Without either, it is the block under the cursor.
        """
        key = address
        if choice == "all":
            key = FUNCTIONS_KEY
        elif choice and address:
            key = f"{address}/document"
        return self.find_block_index(key, self.index) if key else self.index

    @property
    def nearest_call_address(self) -> str | None:
        """Address of the call at the cursor, or None without such a call.

        It is the call under the cursor, or the first call of the turn under the cursor. Outside
        turns, it is the first call of the item.
        """
        part = parse_address(self.target)
        if part is not None and part.call is None:
            # The cursor is on the heading of a turn.
            has_calls = any(pair.turn == part.turn for pair in self.detail.displayed_item.pairs)
            return call_address(part.turn, 0) if has_calls else None

        targets = [block.target for block in self.blocks if block.target is not None]
        for target in [self.target, *targets]:
            call = get_enclosing_call_address(target)
            if call:
                return call
        return None

    def search(self, text: str, cells: int, direction: int = 1) -> SearchResult | None:
        """Move to the next (1) or previous (-1) place of a text, also in folded blocks.

        After the last place, continue at the first. Blocks that hide the place are unfolded. None
        if the item does not contain the text.
        """
        if text != self.last_search:
            self._last_hit = None
        self.last_search = text
        blocks = self._build_unfolded()
        hits = find_hits(blocks, text, cells)
        if not hits:
            self._last_hit = None
            return None

        hit = self._choose_hit(hits, blocks, direction)
        self._last_hit = hit
        self._set_folds(_folds_that_reveal(hit, blocks))
        self.rebuild(block_key=hit.key)
        return SearchResult(number=hits.index(hit) + 1, count=len(hits), row=hit.row)

    def _choose_hit(
        self, hits: Sequence[SearchHit], blocks: Sequence[Block], direction: int
    ) -> SearchHit:
        """Return the search hit to which the cursor moves.

        A repeated search moves to the hit after the last one, or before it if `direction` is -1. A
        new search moves to the first hit at or below the cursor. The search continues at the other
        end.
        """
        if self._last_hit in hits:
            next_index = hits.index(self._last_hit) + direction
            return hits[next_index % len(hits)]
        index_by_key = {block.key: index for index, block in enumerate(blocks)}
        start = index_by_key.get(self.block.key, 0)
        for hit in hits:
            if index_by_key[hit.key] >= start:
                return hit
        return hits[0]
