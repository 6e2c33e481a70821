"""Where the reader stands in an item: block, folds, search. Pure: every move can be tried without a screen.

Search in an item: where a text occurs, which occurrence is next, and what has to be unfolded to show it. Pure.

What a verdict would be about: the item, or what the cursor is on; and what was to be seen when its key was pressed.
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from fcreview.model.address import ITEM, call_address, call_of, part_of, turn_address
from fcreview.store.rows import ItemDetail
from fcreview.tui.item_view.blocks import Block, Options, scene
from fcreview.tui.item_view.document import document, first_difference, opening, stops_of, target_at
from fcreview.tui.item_view.function_docs import after, kinds
from fcreview.tui.review.judge import About
from fcreview.tui.review.status import SILENT, Remark
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


@dataclass(frozen=True, slots=True)
class Match:
    """What a search came to: `number` of `count`, and the row of the block the cursor is on now."""

    number: int
    count: int
    row: int
    """-1 where it lies in text that only the pager shows."""


@dataclass(slots=True)
class Cursor:
    """On one item at a time. What moves it says whether it could."""

    detail: ItemDetail
    annotator: str
    blind: bool = False
    """What others said is hidden until this annotator gave a verdict."""
    options: Options = field(default_factory=Options)
    blocks: list[Block] = field(init=False)
    at: int = field(init=False)
    """Place of the block under the cursor."""
    inside: bool = False
    """Moving among arguments too."""
    sought: str = ""
    """What was searched last, of whichever item."""
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
        """What a verdict on the thing under the cursor would be about."""
        return target_at(self.blocks, self.at)

    def show(self, detail: ItemDetail) -> None:
        """An item from its top; a trajectory where it first fails."""
        self.detail, self.inside, self._hit = detail, False, None
        self.options = replace(self.options, folds={}, documented="")
        self._build("")
        self.at = opening(self.blocks)
        if self.options.documents and (address := self.call_here) is not None:
            self.options = replace(self.options, documented=address)
            self.rebuild()

    def renew(self, detail: ItemDetail) -> None:
        """The same item after something was said of it."""
        self.detail = detail
        self.rebuild()

    def rebuild(self, at: str | None = None) -> None:
        """Built anew with the cursor kept by its block's key; `at` puts it on another."""
        wanted = at or self.block.key
        self._build(wanted)
        self.at = self.index_of(wanted)

    def _build(self, key: str) -> None:
        argument = key.partition("/arg:")[2] or None
        options = replace(self.options, hidden=self.hidden, argument=argument)
        self.blocks = document(self.detail, self.annotator, options)

    def to(self, target: str) -> bool:
        """To the block that a verdict on this target would be given at, unfolded if it has to be."""
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
        """Whether a verdict on it can be given at a block, folded away or not."""
        if any(block.target == target for block in self.blocks):
            return True
        opened = document(self.detail, self.annotator, replace(self.options, hidden=self.hidden, open_all=True))
        return any(block.target == target for block in opened)

    def index_of(self, key: str, default: int | None = None) -> int:
        """The block of a key, or of the nearest enclosing address that is there."""
        places = {block.key: at for at, block in enumerate(self.blocks)}
        while key:
            if key in places:
                return places[key]
            key = key.rpartition("/")[0]
        return opening(self.blocks) if default is None else default

    def step(self, by: int) -> bool:
        """To the next stop, or the one before."""
        return self._to(stops_of(self.blocks, arguments=self.inside), by)

    def turn(self, by: int) -> bool:
        turns = [n for n, block in enumerate(self.blocks) if block.key.startswith("turn:") and "/" not in block.key]
        return self._to(turns, by)

    def _to(self, stops: Sequence[int], by: int) -> bool:
        beyond = [at for at in stops if (at > self.at if by > 0 else at < self.at)]
        if beyond:
            self.at = beyond[0] if by > 0 else beyond[-1]
            if self.options.documents and self.block.argument:
                self.rebuild()  # the parameter under the cursor is marked in the document
        return bool(beyond)

    def difference(self) -> bool:
        at = first_difference(self.blocks)
        if at is None:
            return False
        self.inside = self.inside or self.blocks[at].argument
        self.at = at
        return True

    def arguments(self) -> bool:
        """Into the arguments below the cursor, or out of them; False where there are none."""
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
        """Folds or unfolds the block under the cursor; False where it unfolds in the pager only, or not at all."""
        block = self.block
        if not block.foldable or (block.pages and block.folded):
            return False
        self._fold(block.key, not block.folded)
        return True

    def _fold(self, key: str, folded: bool) -> None:
        self.options = replace(self.options, folds={**self.options.folds, key: folded})
        self.rebuild()

    def dialogue(self) -> None:
        """All messages, or only those that matter."""
        self.options = replace(self.options, dialogue=not self.options.dialogue)
        self.rebuild()

    def function(self) -> Block | None:
        """Shows golden's function of the call under the cursor, then predicted's, then all, then none. Of a turn, its
        first call's. What it was shown or hidden at; None if there is no function to show."""
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
        """Where the document stands, or what it stood at."""
        key = "offer" if shown == "all" else f"{address}/document" if shown and address else address
        return self.index_of(key, self.at) if key else self.at

    @property
    def call_here(self) -> str | None:
        """The call under the cursor, the first of the turn under it, else the item's first."""
        target = self.target
        part = part_of(target)
        if part is not None and part.call is None:
            pairs = [pair for pair in self.detail.item.pairs if pair.turn == part.turn]
            return call_address(part.turn, 0) if pairs else None
        here = [target, *(block.target or "" for block in self.blocks)]
        return next((call for each in here if (call := call_of(each))), None)

    def search(self, wanted: str, cells: int, by: int = 1) -> Match | None:
        """To the next (1) or previous (-1) match, going round. What is folded away is searched too, and unfolded where
        it has to be."""
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


DISARMED = Remark("verdicts are about the whole item again", "warn")
NOTHING = Remark("there is nothing to judge by itself under the cursor", "warn")


class Aim:
    def __init__(self) -> None:
        self.on_cursor = False
        """Verdicts are about what the cursor is on, not about the item."""

    def target(self, reader: Cursor) -> str:
        return reader.target if self.on_cursor else ITEM

    def turn(self, reader: Cursor) -> Remark:
        """To the other of both, if there is one."""
        if not self.on_cursor and reader.target == ITEM:
            return NOTHING
        self.on_cursor = not self.on_cursor
        return SILENT if self.on_cursor else DISARMED

    def moved(self, reader: Cursor) -> Remark | None:
        """The cursor is elsewhere; what there is to say if nothing there can be judged by itself."""
        if not self.on_cursor or reader.target != ITEM:
            return None
        self.on_cursor = False
        return DISARMED


class Sight:
    """Another item may come while a key is on its way: until it is drawn, keys are about the one that was there."""

    def __init__(self) -> None:
        self._named: About | None = None
        self._before: About | None = None
        self._drawn = inf
        self._led = False
        """It was a list beside it that led to this item."""

    def names(self, about: About) -> None:
        """What the screen names from now on."""
        self._named = about

    def turned(self, led: bool = False) -> None:
        """Another item is there, and not drawn yet; `led`: it was named by a list before it was there."""
        self._before, self._drawn, self._led = None if led else self._named, inf, led

    def early(self, pressed: float | None) -> bool:
        """Whether the list named this item and the header still another one when the key was pressed."""
        return self._led and pressed is not None and pressed < self._drawn

    def drawn(self, moment: float) -> None:
        self._drawn = moment

    def at(self, pressed: float | None, now: About) -> About:
        """What a key is about that was pressed at that moment; None: not by a key."""
        return now if self._before is None or pressed is None or pressed >= self._drawn else self._before
