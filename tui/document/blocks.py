"""A document is a list of blocks; a block knows its lines for a width and is asked only when it comes into view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.tui.text.lines import Line

EVERY_ROW = 10_000

LinesFor = Callable[[int], list[Line]]


@dataclass(slots=True)
class Block:
    key: str
    """Stable while the item is shown: `turn:2`, `turn:2/call:1/arg:city`, `turn:2/step:3/tool:1`. Folds go by it."""
    lines: LinesFor
    target: str | None = None
    """Address that a verdict given here would be about; also what `y` copies."""
    stop: bool = False
    """`j` and `k` stop here."""
    argument: bool = False
    """A stop only while moving inside arguments."""
    differs: bool = False
    """`.` goes to the first of these."""
    opens: bool = False
    """The cursor starts here where nothing differs: it is what is judged."""
    foldable: bool = False
    folded: bool = False
    parent: str | None = None
    """Key of the turn it is shown in: unfolded when a search hit lies here."""
    title: str = ""
    """Heading of the pager."""
    pages: bool = False
    """Unfolds in the pager, never in place."""
    full: Callable[[], str] | None = None
    """The whole text behind the lines, as it came, for pager and search."""
    copy: Callable[[], Any] | None = None
    """What `y` copies, as JSON values."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the reader wants the item shown."""

    folds: Mapping[str, bool] = field(default_factory=dict)
    """What was folded (true) or unfolded (false) by hand; everything else folds by default rules."""
    dialogue: bool = False
    """System messages, logs and raw replies too."""
    hidden: bool = False
    """Blind: no verdict, no reason and no opinion of anybody else is shown."""
    argument: str | None = None
    """The argument under the cursor, to be marked in the function's document."""
    documents: str = ""
    """Which functions' documents are shown: `golden`, `predicted` (of the call `documented`) or `all`; empty for none.
    Stays on from item to item."""
    documented: str = ""
    """The call below which the document stands."""
    open_all: bool = False
    """Nothing is folded away: what search looks through."""
    group_keys: str = ""
    """Which keys lead to the other items of the group, as people write them."""
    opener: str = "enter"
    """The key that opens what is folded."""
    in_print: str = ""
    """For paper and pipes, where nothing can be opened: what a folded text says instead, such as `whole with --full`.
    Turns are then all open."""

    def folded(self, key: str, default: bool) -> bool:
        if self.open_all:
            return False
        return default and "/" in key if self.in_print else self.folds.get(key, default)

    def opens(self, says: str) -> str:
        """`enter to open`; in print, how to get the text whole there."""
        return self.in_print or f"{self.opener} {says}"

    def rows(self, most: int) -> int:
        """Rows of a text that is not a block of its own: `most`, and all of them where everything is printed."""
        return EVERY_ROW if self.in_print and self.open_all else most


class BlockSource:
    """Blocks as what a `Layout` is made of."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks

    def __len__(self) -> int:
        return len(self.blocks)

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        return self.blocks[index].lines(cells)
