"""Building blocks of an item's document: `Block`, display options, the item indexed by turn, and blocks of text.

A document is a list of blocks. Each block renders its lines for a given width, and only when it scrolls into view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from fcreview.matching.repeated_calls import RepeatedCalls
from fcreview.model.item import GOLDEN_CALL, Call, CallPair, Item, number_steps
from fcreview.model.review import Opinion
from fcreview.model.sanitize import clip, display_width, sanitize
from fcreview.tui.text.lines import Line, format_size, justify_line, label_rows, wrap_head

UNLIMITED_ROWS = 10_000
MAX_INLINE_CHARS = 8000
"""Length, in characters, up to which a text unfolds in place. A longer text opens in the pager."""
LABEL_CELLS = 8
"""Width, in cells, of the label before a message."""

LineRenderer = Callable[[int], list[Line]]
"""Renders the lines of a block for a width in cells."""


@dataclass(slots=True)
class Block:
    """A piece of an item's document, such as a message, a call or an argument."""

    key: str
    """Identifier that stays the same while the item is open, such as `turn:2`, `turn:2/call:1/arg:city` or
    `turn:1/step:3/tool:1`."""
    lines: LineRenderer
    target: str | None = None
    """Address of the verdict target that the block shows. None means that verdicts here are on the parent block."""
    is_heading: bool = False
    """Whether the cursor stops here even though the block cannot be folded."""
    is_argument: bool = False
    """Whether the block is an argument. The cursor stops at arguments only while it moves by argument."""
    differs: bool = False
    """Whether the golden answer and the prediction differ here."""
    is_judged: bool = False
    """Whether the benchmark judges this block. The cursor starts here if nothing differs."""
    foldable: bool = False
    folded: bool = False
    parent: str | None = None
    """Key of the turn (or of the earlier dialogue) that contains the block; None at the top level."""
    title: str = ""
    """Heading of the pager that shows the full text."""
    opens_pager: bool = False
    """Whether the block opens in the pager instead of unfolding in place."""
    full_text: Callable[[], str] | None = None
    """Returns the full text, unsanitized, for the pager and for search."""
    copied_value: Callable[[], Any] | None = None
    """Returns the JSON value that the copy action puts on the clipboard."""

    @property
    def is_stop(self) -> bool:
        """Whether the cursor stops here on its way to the next or previous block."""
        return self.foldable or self.is_heading


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How an item is displayed."""

    folds: Mapping[str, bool] = field(default_factory=dict)
    """Block key -> True if the reader folded the block, False if they unfolded it. Other blocks use their default."""
    full_dialogue: bool = False
    """Whether system messages, logs and raw replies are shown too."""
    hide_verdicts: bool = False
    """Whether verdicts, reasons and reviews of others are hidden, as in blind review."""
    marked_argument: str | None = None
    """Path of the argument under the cursor, which the function docs mark."""
    docs_choice: str = ""
    """Function docs on display: `golden` or `predicted` (of one call), `all`, or empty for none."""
    docs_call: str = ""
    """Address of the call whose function docs are shown below it."""
    unfold_all: bool = False
    """Whether every block is unfolded, as search needs it."""
    group_keys: str = ""
    """Keys that lead to the other items of the conversation, as shown to the reader."""
    open_key: str = "enter"
    """Key that unfolds a block, as shown to the reader."""
    print_hint: str = ""
    """Hint on folded text in printed output, where no key works, such as `whole with --full`. Empty on screen."""

    def is_folded(self, key: str, default: bool) -> bool:
        """Whether a block is folded. Printed output ignores `folds` and unfolds all turns."""
        if self.unfold_all:
            return False
        return default and "/" in key if self.print_hint else self.folds.get(key, default)

    @property
    def unfold_hint(self) -> str:
        """Hint how to see the full text: `enter to open` on screen."""
        return self.print_hint or f"{self.open_key} to open"

    def row_limit(self, limit: int) -> int:
        """Number of rows of a text that has no block of its own. Complete printed output ignores the limit."""
        return UNLIMITED_ROWS if self.print_hint and self.unfold_all else limit


def nest_blocks(blocks: Sequence[Block], parent: str) -> Sequence[Block]:
    """Set the parent of all blocks to the block with the key `parent`."""
    for block in blocks:
        block.parent = parent
    return blocks


class BlockSource:
    """Adapter that lets a `Layout` scroll through blocks."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks

    def __len__(self) -> int:
        return len(self.blocks)

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        """Render the block at `index` for a width of `cells`."""
        return self.blocks[index].lines(cells)


T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def _group_by(values: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


class IndexedItem:
    """An item with its calls, messages, verdicts and reviews indexed for display. Turns and steps count from 0."""

    def __init__(
        self, item: Item, opinions: Sequence[Opinion] = (), annotator: str = "", *, hide_verdicts: bool = False
    ):
        self.item = item
        self.annotator, self.hide_verdicts = annotator, hide_verdicts
        self.opinions = [opinion for opinion in opinions if opinion.annotator == annotator or not hide_verdicts]
        """Reviews that the annotator may see."""
        self.opinions_by_target = _group_by(self.opinions, lambda opinion: opinion.target)
        self.verdicts = _group_by(item.verdicts, lambda verdict: verdict.target)
        """Target -> verdicts. The index is needed because an item can have a verdict on each of a million arguments."""
        on_arguments = [verdict for verdict in item.verdicts if "/arg:" in verdict.target]
        self.argument_verdicts = _group_by(on_arguments, lambda verdict: verdict.target.partition("/arg:")[0])
        """Address of a call -> verdicts on its arguments."""
        self.golden_calls = {(call.turn, call.index): call for call in item.golden}
        """(turn, call index) -> golden call."""
        self.predicted_calls = {(call.turn, call.index): call for call in item.predicted}
        """(turn, call index) -> predicted call."""
        self.pairs = _group_by(item.pairs, lambda pair: pair.turn)
        """Turn -> pairs of golden and predicted calls."""
        self.messages = _group_by(item.messages, lambda message: message.turn)
        """Turn -> messages."""
        self.step_numbers = number_steps(item)
        """(turn, step) -> number of the step as displayed, from 1."""
        self.step_counts = Counter(turn for turn, _ in self.step_numbers)
        """Turn -> number of steps."""
        self.n_turns = max([item.n_turns, 1, *(turn + 1 for turn in self.pairs.keys() | self.messages.keys())])
        failing = item.extra.failing_turn
        is_known = not hide_verdicts and failing is not None and 0 <= failing < self.n_turns
        self.failing_turn = failing if is_known else None
        """Turn at which the benchmark's evaluation stopped; None if unknown or hidden."""
        self.only_last_turn_judged = self._is_only_last_turn_judged()
        """Whether the benchmark supplies the earlier dialogue and judges only the last turn."""
        self.is_trajectory = self.n_turns > 1 or any(message.role == "tool" for message in item.messages)
        """Whether the item has several turns or tool results, rather than one question and one answer."""

    def _is_only_last_turn_judged(self) -> bool:
        """Infer from the earlier turns: they contain golden calls as messages, or neither actions nor call pairs."""
        if any(message.name == GOLDEN_CALL for message in self.item.messages):
            return True
        last = self.n_turns - 1
        has_actions = any(
            message.role in ("tool", "log", "state") and message.step >= 0 and message.turn < last
            for message in self.item.messages
        )
        return last > 0 and not has_actions and not any(turn < last for turn in self.turns_with_calls())

    @cached_property
    def _repeats(self) -> RepeatedCalls:
        return RepeatedCalls(self.item)

    def find_duplicate(self, call: Call) -> str | None:
        """Find where the same call was made earlier, such as `turn 1 step 2`; None if it is new."""
        return self._repeats.find_earlier(call)

    def calls_of(self, pair: CallPair) -> tuple[Call | None, Call | None]:
        """Golden and predicted call of a pair."""
        golden = None if pair.golden is None else self.golden_calls.get((pair.turn, pair.golden))
        predicted = None if pair.predicted is None else self.predicted_calls.get((pair.turn, pair.predicted))
        return golden, predicted

    def turns_with_calls(self) -> list[int]:
        """Turns in which calls were made or expected."""
        return [turn for turn in range(self.n_turns) if self.pairs.get(turn)]

    def turns_with_differences(self) -> list[int]:
        """Turns in which a call is missing, unexpected or different."""
        return [turn for turn, pairs in sorted(self.pairs.items()) if any(p.state in "!-+" for p in pairs)]

    def step_label(self, turn: int, step: int) -> str:
        """Label of a step, such as `step 2`. Steps without messages and calls are not counted."""
        return f"step {self.step_numbers[turn, step]}"

    def has_several_steps(self, turn: int) -> bool:
        """Whether calls of the turn need the label of their step."""
        return self.step_counts[turn] > 1

    def is_earlier_dialogue(self, turn: int) -> bool:
        """Whether the turn only leads up to the turn that is judged."""
        return self.only_last_turn_judged and turn < self.n_turns - 1

    def calls_without_golden(self, turn: int) -> list[Call]:
        """Predicted calls of a turn that has no pairs, because the benchmark defines no golden calls for it."""
        if self.pairs.get(turn):
            return []
        return [call for (at, _), call in self.predicted_calls.items() if at == turn]


def pad_label(label: str) -> str:
    """Pad or cut a label to the width of the label column, which ends with a blank."""
    return sanitize(label)[: LABEL_CELLS - 1].ljust(LABEL_CELLS)


def is_long(text: str, rows: int) -> bool:
    """Estimate whether a text needs more than `rows` rows of 70 cells. The cost does not depend on its length."""
    return len(text) > rows * 70 or text.count("\n", 0, rows * 70) >= rows


def text_block(
    key: str,
    label: str,
    text: str,
    options: DisplayOptions,
    *,
    rows: int = 4,
    style: str = "",
    title: str = "",
) -> Block:
    """A labelled text. If it is long, the block is folded to `rows` rows and shows its size."""
    long = is_long(text, rows)
    folded = long and (options.is_folded(key, True) or len(text) > MAX_INLINE_CHARS)

    def lines(cells: int) -> list[Line]:
        room = max(cells - LABEL_CELLS, 8)
        shown, has_more = wrap_head(text, room, rows if folded else UNLIMITED_ROWS)
        if has_more and rows == 1:
            return [_line_with_size(label, shown[0], text, cells, style)]
        rendered = label_rows(pad_label(label), shown, style)
        if has_more:
            rendered.append(((" " * LABEL_CELLS, ""), (f"… {format_size(text)}, {options.unfold_hint}", "dim")))
        return rendered

    return Block(
        key,
        lines,
        foldable=long,
        folded=folded,
        opens_pager=len(text) > MAX_INLINE_CHARS,
        title=title or label,
        full_text=lambda: text,
    )


def _line_with_size(label: str, head: str, text: str, cells: int, style: str) -> Line:
    """The label, the beginning of a text, and the size of the whole text at the right edge."""
    size = f"  {format_size(text)}"
    room = max(cells - LABEL_CELLS, 8) - len(size)
    return justify_line(((pad_label(label), "dim"), (clip(head, room), style)), ((size, "dim"),), cells)


def snapshot_block(key: str, label: str, name: str, text: str) -> Block:
    """A snapshot of the environment's state: one line with its size, which opens in the pager."""

    def lines(cells: int) -> list[Line]:
        head = sanitize(f"{name} {text[: cells * 2]}" if name else text[: cells * 2])
        return [_line_with_size(label, head, text, cells, "dim")]

    return Block(
        key,
        lines,
        foldable=True,
        folded=True,
        opens_pager=True,
        title=f"{label} {name}",
        full_text=lambda: text,
    )


def note_block(key: str, label: str, text: str, *, style: str = "dim", suffix: str = "", title: str = "") -> Block:
    """A text that is cut to one line, such as an entry of the benchmark's log. `suffix` follows it and is never cut."""

    def lines(cells: int) -> list[Line]:
        shown = clip(sanitize(text[: cells * 2]), cells - LABEL_CELLS - display_width(suffix))
        return [((pad_label(label), "dim"), (shown, style), *([(suffix, "dim")] if suffix else []))]

    return Block(key, lines, title=title or label, full_text=lambda: text)
