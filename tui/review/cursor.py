"""The cursor in an item's document: its block, the folds and the search. Pure, so every move can be tested without a
screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fcreview.model.address import call_address, enclosing_call, parse_address, turn_address
from fcreview.store.rows import ItemDetail
from fcreview.tui.item_view.blocks import Block, DisplayOptions, IndexedItem
from fcreview.tui.item_view.document import build_document, cursor_stops, first_difference, starting_block, target_at
from fcreview.tui.item_view.function_docs import docs_choices, next_docs_choice
from fcreview.tui.text.lines import plain_text


class SearchHit(NamedTuple):
    """A search match: a block and the row among its unfolded lines."""

    key: str
    row: int
    """-1 if the match is in text that only the pager shows."""


def find_hits(blocks: Sequence[Block], needle: str, cells: int) -> list[SearchHit]:
    """Matches of a text, ignoring case, in blocks that were built with `unfold_all`."""
    wanted = needle.casefold()
    hits: list[SearchHit] = []
    for block in blocks:
        rows = [at for at, each in enumerate(block.lines(cells)) if wanted in plain_text(each).casefold()]
        hits += [SearchHit(block.key, row) for row in rows]
        if not rows and block.full_text is not None and wanted in block.full_text().casefold():
            hits.append(SearchHit(block.key, -1))
    return hits


def next_hit(hits: Sequence[SearchHit], last: SearchHit | None, start_key: str, blocks: Sequence[Block], step: int = 1) -> SearchHit | None:
    """The match after (`by` 1) or before (-1) the last one, wrapping around.

    Without a last one, the first match from the block `here` on.
    """
    if last in hits and last is not None:
        return hits[(hits.index(last) + step) % len(hits)]
    order = {block.key: at for at, block in enumerate(blocks)}
    start = order.get(start_key, 0)
    return next((hit for hit in hits if order[hit.key] >= start), hits[0] if hits else None)


def folds_showing(hit: SearchHit, blocks: Sequence[Block]) -> dict[str, bool]:
    """Folds to open so that the match is visible, as {block key: False}."""
    block = next(block for block in blocks if block.key == hit.key)
    keys = [
        block.parent,
        enclosing_call(hit.key),
        hit.key if hit.row >= 0 and block.foldable and not block.opens_pager else None,
    ]
    known = {each.key for each in blocks if each.foldable}
    return {key: False for key in keys if key is not None and key in known}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search: match `number` of `count`, and its row in the block under the cursor."""

    number: int
    count: int
    row: int
    """-1 if the match is in text that only the pager shows."""


@dataclass(slots=True)
class Cursor:
    """The cursor of one item at a time. Moves return whether there was somewhere to go."""

    detail: ItemDetail
    annotator: str
    blind: bool = False
    """Hide other verdicts until this annotator submits one."""
    options: DisplayOptions = field(default_factory=DisplayOptions)
    blocks: list[Block] = field(init=False)
    index: int = field(init=False)
    """Index of the block under the cursor."""
    in_arguments: bool = False
    """True if moves stop at arguments too."""
    last_search: str = ""
    """The text searched last, in any item."""
    _last_hit: SearchHit | None = None

    def __post_init__(self) -> None:
        self.show_item(self.detail)

    @property
    def hides_verdicts(self) -> bool:
        return self.blind and self.detail.row.you is None

    @property
    def block(self) -> Block:
        return self.blocks[self.index]

    @property
    def target(self) -> str:
        """The target of a verdict on the block under the cursor."""
        return target_at(self.blocks, self.index)

    def show_item(self, detail: ItemDetail) -> None:
        """Show an item from its top, a trajectory from its first failure."""
        self.detail, self.in_arguments, self._last_hit = detail, False, None
        self.options = replace(self.options, folds={}, docs_call="")
        self._build("")
        self.index = starting_block(self.blocks)
        if self.options.docs_choice and (address := self.current_call) is not None:
            self.options = replace(self.options, docs_call=address)
            self.rebuild()

    def refresh(self, detail: ItemDetail) -> None:
        """Show the same item with its current reviews."""
        self.detail = detail
        self.rebuild()

    def rebuild(self, key: str | None = None) -> None:
        """Rebuild the blocks. The cursor stays on the same block, or moves to the block with the key `at`."""
        wanted = key or self.block.key
        self._build(wanted)
        self.index = self.index_of(wanted)

    def _build(self, key: str) -> None:
        argument = key.partition("/arg:")[2] or None
        options = replace(self.options, hide_verdicts=self.hides_verdicts, marked_argument=argument)
        self.blocks = build_document(self.detail, self.annotator, options)

    def move_to_target(self, target: str) -> bool:
        """Move to the block at which a verdict on this target is given, unfolding it if necessary."""
        folds = dict(self.options.folds)
        if (part := parse_address(target)) is not None:
            folds[turn_address(part.turn)] = False
        if (call := enclosing_call(target)) is not None:
            folds |= {call: False, f"{call}/equal": False} if call != target else {}
        self.options = replace(self.options, folds=folds)
        self.rebuild()
        at = next((at for at, block in enumerate(self.blocks) if block.target == target), None)
        if at is None:
            return False
        self.index, self.in_arguments = at, self.blocks[at].is_argument
        return True

    def has_target(self, target: str) -> bool:
        """Whether a block, folded or not, takes a verdict on this target."""
        if any(block.target == target for block in self.blocks):
            return True
        opened = build_document(
            self.detail, self.annotator, replace(self.options, hide_verdicts=self.hides_verdicts, unfold_all=True)
        )
        return any(block.target == target for block in opened)

    def index_of(self, key: str, default: int | None = None) -> int:
        """Index of the block with this key, or of the nearest enclosing block."""
        places = {block.key: at for at, block in enumerate(self.blocks)}
        while key:
            if key in places:
                return places[key]
            key = key.rpartition("/")[0]
        return starting_block(self.blocks) if default is None else default

    def move(self, by: int) -> bool:
        """Move to the next (1) or previous (-1) stop."""
        return self._move_among(cursor_stops(self.blocks, arguments=self.in_arguments), by)

    def move_to_turn(self, by: int) -> bool:
        turns = [n for n, block in enumerate(self.blocks) if block.key.startswith("turn:") and "/" not in block.key]
        return self._move_among(turns, by)

    def _move_among(self, stops: Sequence[int], by: int) -> bool:
        beyond = [at for at in stops if (at > self.index if by > 0 else at < self.index)]
        if beyond:
            self.index = beyond[0] if by > 0 else beyond[-1]
            if self.options.docs_choice and self.block.is_argument:
                self.rebuild()  # to mark the parameter under the cursor in the document
        return bool(beyond)

    def move_to_difference(self) -> bool:
        at = first_difference(self.blocks)
        if at is None:
            return False
        self.in_arguments = self.in_arguments or self.blocks[at].is_argument
        self.index = at
        return True

    def toggle_arguments(self) -> bool:
        """Enter or leave the arguments below the cursor. False if there are none."""
        if self.in_arguments:
            self.in_arguments = False
            self.index = self.index_of(self.block.key.partition("/arg:")[0])
            return True
        at = next((n for n in range(self.index, len(self.blocks)) if self.blocks[n].is_argument), None)
        if at is None:
            return False
        self.in_arguments, self.index = True, at
        return True

    def toggle_fold(self) -> bool:
        """Fold or unfold the block under the cursor. False if it unfolds only in the pager, or not at all."""
        block = self.block
        if not block.foldable or (block.opens_pager and block.folded):
            return False
        self._set_fold(block.key, not block.folded)
        return True

    def _set_fold(self, key: str, folded: bool) -> None:
        self.options = replace(self.options, folds={**self.options.folds, key: folded})
        self.rebuild()

    def toggle_dialogue(self) -> None:
        """Switch between all messages and a summary of them."""
        self.options = replace(self.options, full_dialogue=not self.options.full_dialogue)
        self.rebuild()

    def show_next_docs(self) -> Block | None:
        """Show the golden function of the call under the cursor, then the predicted one, then all, then none.

        On a turn, its first call counts. Returns the block of the documents, or None if there is no function.
        """
        address = self.current_call
        if address is None and not self.detail.item.functions:
            return None
        of = IndexedItem(self.detail.item)
        moved = address is not None and address != self.options.docs_call and self.options.docs_choice != "all"
        shown = "" if moved else self.options.docs_choice
        following = next_docs_choice(docs_choices(of, address), shown)
        part = parse_address(address) if address is not None else None
        folds = dict(self.options.folds) | ({turn_address(part.turn): False} if part is not None else {})
        self.options = replace(self.options, docs_choice=following, docs_call=address or "", folds=folds)
        self.rebuild()
        return self.blocks[self._docs_index(address, following)]

    def _docs_index(self, address: str | None, shown: str) -> int:
        """Index of the function documents, or of the block they belonged to."""
        key = "offer" if shown == "all" else f"{address}/document" if shown and address else address
        return self.index_of(key, self.index) if key else self.index

    @property
    def current_call(self) -> str | None:
        """Address of the call under the cursor, else the turn's first call, else the item's first call."""
        target = self.target
        part = parse_address(target)
        if part is not None and part.call is None:
            pairs = [pair for pair in self.detail.item.pairs if pair.turn == part.turn]
            return call_address(part.turn, 0) if pairs else None
        here = [target, *(block.target or "" for block in self.blocks)]
        return next((call for each in here if (call := enclosing_call(each))), None)

    def search(self, text: str, cells: int, step: int = 1) -> SearchResult | None:
        """Move to the next (1) or previous (-1) match, wrapping around. Folded text is searched too and unfolded if
        necessary."""
        if text != self.last_search:
            self._last_hit = None
        self.last_search = text
        options = replace(self.options, hide_verdicts=self.hides_verdicts, unfold_all=True)
        opened = build_document(self.detail, self.annotator, options)
        hits = find_hits(opened, text, cells)
        hit = self._last_hit = next_hit(hits, self._last_hit, self.block.key, opened, step)
        if hit is None:
            return None
        self.options = replace(self.options, folds={**self.options.folds, **folds_showing(hit, opened)})
        self.rebuild(key=hit.key)
        return SearchResult(hits.index(hit) + 1, len(hits), hit.row)
