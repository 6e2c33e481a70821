"""The cursor in an item's document: its block, the folds and the search. Pure, so every move can be tested without a
screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fcreview.model.address import call_address, call_of, part_of, turn_address
from fcreview.store.rows import ItemDetail
from fcreview.tui.item_view.blocks import Block, Options, scene
from fcreview.tui.item_view.document import document, first_difference, opening, stops_of, target_at
from fcreview.tui.item_view.function_docs import after, kinds
from fcreview.tui.text.lines import plain


class Hit(NamedTuple):
    """A search match: a block and the row among its unfolded lines."""

    key: str
    row: int
    """-1 if the match is in text that only the pager shows."""


def find(blocks: Sequence[Block], needle: str, cells: int) -> list[Hit]:
    """Matches of a text, ignoring case, in blocks that were built with `open_all`."""
    wanted = needle.casefold()
    hits: list[Hit] = []
    for block in blocks:
        rows = [at for at, each in enumerate(block.lines(cells)) if wanted in plain(each).casefold()]
        hits += [Hit(block.key, row) for row in rows]
        if not rows and block.full is not None and wanted in block.full().casefold():
            hits.append(Hit(block.key, -1))
    return hits


def next_hit(hits: Sequence[Hit], last: Hit | None, here: str, blocks: Sequence[Block], by: int = 1) -> Hit | None:
    """The match after (`by` 1) or before (-1) the last one, wrapping around.

    Without a last one, the first match from the block `here` on.
    """
    if last in hits and last is not None:
        return hits[(hits.index(last) + by) % len(hits)]
    order = {block.key: at for at, block in enumerate(blocks)}
    start = order.get(here, 0)
    return next((hit for hit in hits if order[hit.key] >= start), hits[0] if hits else None)


def unfolded_for(hit: Hit, blocks: Sequence[Block]) -> dict[str, bool]:
    """Folds to open so that the match is visible, as {block key: False}."""
    block = next(block for block in blocks if block.key == hit.key)
    keys = [block.parent, call_of(hit.key), hit.key if hit.row >= 0 and block.foldable and not block.pages else None]
    known = {each.key for each in blocks if each.foldable}
    return {key: False for key in keys if key is not None and key in known}


@dataclass(frozen=True, slots=True)
class Match:
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
    options: Options = field(default_factory=Options)
    blocks: list[Block] = field(init=False)
    at: int = field(init=False)
    """Index of the block under the cursor."""
    inside: bool = False
    """True if moves stop at arguments too."""
    sought: str = ""
    """The text searched last, in any item."""
    _hit: Hit | None = None

    def __post_init__(self) -> None:
        self.show(self.detail)

    @property
    def hidden(self) -> bool:
        return self.blind and self.detail.row.you is None

    @property
    def block(self) -> Block:
        return self.blocks[self.at]

    @property
    def target(self) -> str:
        """The target of a verdict on the block under the cursor."""
        return target_at(self.blocks, self.at)

    def show(self, detail: ItemDetail) -> None:
        """Show an item from its top, a trajectory from its first failure."""
        self.detail, self.inside, self._hit = detail, False, None
        self.options = replace(self.options, folds={}, documented="")
        self._build("")
        self.at = opening(self.blocks)
        if self.options.documents and (address := self.call_here) is not None:
            self.options = replace(self.options, documented=address)
            self.rebuild()

    def renew(self, detail: ItemDetail) -> None:
        """Show the same item with its current reviews."""
        self.detail = detail
        self.rebuild()

    def rebuild(self, at: str | None = None) -> None:
        """Rebuild the blocks. The cursor stays on the same block, or moves to the block with the key `at`."""
        wanted = at or self.block.key
        self._build(wanted)
        self.at = self.index_of(wanted)

    def _build(self, key: str) -> None:
        argument = key.partition("/arg:")[2] or None
        options = replace(self.options, hidden=self.hidden, argument=argument)
        self.blocks = document(self.detail, self.annotator, options)

    def to(self, target: str) -> bool:
        """Move to the block at which a verdict on this target is given, unfolding it if necessary."""
        folds = dict(self.options.folds)
        if (part := part_of(target)) is not None:
            folds[turn_address(part.turn)] = False
        if (call := call_of(target)) is not None:
            folds |= {call: False, f"{call}/equal": False} if call != target else {}
        self.options = replace(self.options, folds=folds)
        self.rebuild()
        at = next((at for at, block in enumerate(self.blocks) if block.target == target), None)
        if at is None:
            return False
        self.at, self.inside = at, self.blocks[at].argument
        return True

    def shows(self, target: str) -> bool:
        """Whether a block, folded or not, takes a verdict on this target."""
        if any(block.target == target for block in self.blocks):
            return True
        opened = document(self.detail, self.annotator, replace(self.options, hidden=self.hidden, open_all=True))
        return any(block.target == target for block in opened)

    def index_of(self, key: str, default: int | None = None) -> int:
        """Index of the block with this key, or of the nearest enclosing block."""
        places = {block.key: at for at, block in enumerate(self.blocks)}
        while key:
            if key in places:
                return places[key]
            key = key.rpartition("/")[0]
        return opening(self.blocks) if default is None else default

    def step(self, by: int) -> bool:
        """Move to the next (1) or previous (-1) stop."""
        return self._to(stops_of(self.blocks, arguments=self.inside), by)

    def turn(self, by: int) -> bool:
        turns = [n for n, block in enumerate(self.blocks) if block.key.startswith("turn:") and "/" not in block.key]
        return self._to(turns, by)

    def _to(self, stops: Sequence[int], by: int) -> bool:
        beyond = [at for at in stops if (at > self.at if by > 0 else at < self.at)]
        if beyond:
            self.at = beyond[0] if by > 0 else beyond[-1]
            if self.options.documents and self.block.argument:
                self.rebuild()  # to mark the parameter under the cursor in the document
        return bool(beyond)

    def difference(self) -> bool:
        at = first_difference(self.blocks)
        if at is None:
            return False
        self.inside = self.inside or self.blocks[at].argument
        self.at = at
        return True

    def arguments(self) -> bool:
        """Enter or leave the arguments below the cursor. False if there are none."""
        if self.inside:
            self.inside = False
            self.at = self.index_of(self.block.key.partition("/arg:")[0])
            return True
        at = next((n for n in range(self.at, len(self.blocks)) if self.blocks[n].argument), None)
        if at is None:
            return False
        self.inside, self.at = True, at
        return True

    def fold(self) -> bool:
        """Fold or unfold the block under the cursor. False if it unfolds only in the pager, or not at all."""
        block = self.block
        if not block.foldable or (block.pages and block.folded):
            return False
        self._fold(block.key, not block.folded)
        return True

    def _fold(self, key: str, folded: bool) -> None:
        self.options = replace(self.options, folds={**self.options.folds, key: folded})
        self.rebuild()

    def dialogue(self) -> None:
        """Switch between all messages and a summary of them."""
        self.options = replace(self.options, dialogue=not self.options.dialogue)
        self.rebuild()

    def function(self) -> Block | None:
        """Show the golden function of the call under the cursor, then the predicted one, then all, then none.

        On a turn, its first call counts. Returns the block of the documents, or None if there is no function.
        """
        address = self.call_here
        if address is None and not self.detail.item.functions:
            return None
        of = scene(self.detail.item)
        moved = address is not None and address != self.options.documented and self.options.documents != "all"
        shown = "" if moved else self.options.documents
        following = after(kinds(of, address), shown)
        part = part_of(address) if address is not None else None
        folds = dict(self.options.folds) | ({turn_address(part.turn): False} if part is not None else {})
        self.options = replace(self.options, documents=following, documented=address or "", folds=folds)
        self.rebuild()
        return self.blocks[self._document_at(address, following)]

    def _document_at(self, address: str | None, shown: str) -> int:
        """Index of the function documents, or of the block they belonged to."""
        key = "offer" if shown == "all" else f"{address}/document" if shown and address else address
        return self.index_of(key, self.at) if key else self.at

    @property
    def call_here(self) -> str | None:
        """Address of the call under the cursor, else the turn's first call, else the item's first call."""
        target = self.target
        part = part_of(target)
        if part is not None and part.call is None:
            pairs = [pair for pair in self.detail.item.pairs if pair.turn == part.turn]
            return call_address(part.turn, 0) if pairs else None
        here = [target, *(block.target or "" for block in self.blocks)]
        return next((call for each in here if (call := call_of(each))), None)

    def search(self, wanted: str, cells: int, by: int = 1) -> Match | None:
        """Move to the next (1) or previous (-1) match, wrapping around. Folded text is searched too and unfolded if
        necessary."""
        if wanted != self.sought:
            self._hit = None
        self.sought = wanted
        options = replace(self.options, hidden=self.hidden, open_all=True)
        opened = document(self.detail, self.annotator, options)
        hits = find(opened, wanted, cells)
        hit = self._hit = next_hit(hits, self._hit, self.block.key, opened, by)
        if hit is None:
            return None
        self.options = replace(self.options, folds={**self.options.folds, **unfolded_for(hit, opened)})
        self.rebuild(at=hit.key)
        return Match(hits.index(hit) + 1, len(hits), hit.row)
