"""A document is a list of blocks; a block knows its lines for a width and is asked only when it comes into view.

An item's calls, pairs and messages by turn.

Blocks of running text: messages, observations, snapshots. Long ones show their head and size, and open elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.matching.repeated_calls import Repeats
from fcreview.model.item import GOLDEN_CALL, Call, Item, Message, Pair, Steps, Verdict, step_numbers
from fcreview.model.review import Opinion
from fcreview.model.sanitize import clip, visible
from fcreview.tui.text.lines import Line, fold_text, labelled, size_text, spread

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


STEP_ROLES = ("assistant", "tool")


@dataclass(slots=True)
class Scene:
    item: Item
    golden: dict[tuple[int, int], Call] = field(default_factory=dict)
    """By (turn, index), both from 0."""
    predicted: dict[tuple[int, int], Call] = field(default_factory=dict)
    pairs: dict[int, list[Pair]] = field(default_factory=lambda: defaultdict(list))
    messages: dict[int, list[Message]] = field(default_factory=lambda: defaultdict(list))
    steps: Steps = field(default_factory=dict)
    """The steps' numbers, as people count them."""
    turns: int = 1
    failing: int | None = None
    """The turn the benchmark's evaluation stopped at, from 0."""
    snapshot: bool = False
    """A dialogue that is given, of which only the last turn is judged."""
    opinions: Sequence[Opinion] = ()
    """What people said and the reader may see."""
    annotator: str = ""
    hidden: bool = False
    """Blind: nothing that was said of the item is shown, but by this annotator."""
    repeats: Repeats | None = None
    """Made when first asked for."""
    long: bool = False
    """A trajectory of turns or steps rather than one question and one answer."""
    steps_in: Counter[int] = field(default_factory=Counter)
    """How many steps a turn has."""
    verdicts: dict[str, list[Verdict]] = field(default_factory=lambda: defaultdict(list))
    """By what they are about: an item may have as many as it has arguments, and each of its lines asks. So below."""
    flags: dict[str, list[Verdict]] = field(default_factory=lambda: defaultdict(list))
    """What is said of arguments, by their call."""
    said: dict[str, list[Opinion]] = field(default_factory=lambda: defaultdict(list))
    """`opinions` by what they are about."""

    def made_before(self, call: Call) -> str | None:
        """Where the very same call was made before."""
        if self.repeats is None:
            self.repeats = Repeats(self.item)
        return self.repeats.before(call)

    def sides(self, pair: Pair) -> tuple[Call | None, Call | None]:
        golden = None if pair.golden is None else self.golden.get((pair.turn, pair.golden))
        predicted = None if pair.predicted is None else self.predicted.get((pair.turn, pair.predicted))
        return golden, predicted

    def busy(self) -> list[int]:
        """Turns in which calls were made or expected."""
        return [turn for turn in range(self.turns) if self.pairs.get(turn)]

    def step(self, turn: int, step: int) -> str:
        """`step 2`: as it is shown; both count from 0 here."""
        return f"step {self.steps[turn, step]}"

    def several(self, turn: int) -> bool:
        """Whether the turn has more than one step, so that it matters which one a call is of."""
        return self.steps_in[turn] > 1

    def context(self, turn: int) -> bool:
        """Whether the turn only leads up to the one that is judged: a snapshot's dialogue so far."""
        return self.snapshot and turn < self.turns - 1

    def alone(self, turn: int) -> list[Call]:
        """The calls of a turn in which no pair is: nothing golden is there to compare them with."""
        if self.pairs.get(turn):
            return []
        return [call for (at, _), call in self.predicted.items() if at == turn]

    def differing(self) -> list[int]:
        return [turn for turn, pairs in sorted(self.pairs.items()) if any(p.state in "!-+" for p in pairs)]


def scene(item: Item, opinions: Sequence[Opinion] = (), annotator: str = "", *, hidden: bool = False) -> Scene:
    shown = [each for each in opinions if each.annotator == annotator or not hidden]
    made = Scene(item, opinions=shown, annotator=annotator, hidden=hidden)
    made.steps = step_numbers(item)
    made.golden = {(call.turn, call.index): call for call in item.golden}
    made.predicted = {(call.turn, call.index): call for call in item.predicted}
    for pair in item.pairs:
        made.pairs[pair.turn].append(pair)
    for message in item.messages:
        made.messages[message.turn].append(message)
    made.turns = max([item.n_turns, 1, *(turn + 1 for turn in _turns(item))])
    failing = item.extra.failing_turn
    if not hidden and failing is not None and 0 <= failing < made.turns:
        made.failing = failing
    made.snapshot = _given(made)
    made.long = made.turns > 1 or any(message.role == "tool" for message in item.messages)
    made.steps_in = Counter(turn for turn, _ in made.steps)
    for verdict in item.verdicts:
        made.verdicts[verdict.target].append(verdict)
        call, of_argument, _ = verdict.target.partition("/arg:")
        if of_argument:
            made.flags[call].append(verdict)
    for opinion in shown:
        made.said[opinion.target].append(opinion)
    return made


def _given(of: Scene) -> bool:
    """Whether the dialogue before the last turn is none of the model's: earlier golden calls stand there, or words."""
    if any(message.name == GOLDEN_CALL for message in of.item.messages):
        return True
    last = of.turns - 1
    acted = any(m.role in ("tool", "log", "state") and m.step >= 0 for m in of.item.messages if m.turn < last)
    return last > 0 and not acted and not any(turn < last for turn in of.busy())


def _turns(item: Item) -> Iterable[int]:
    yield from (pair.turn for pair in item.pairs)
    yield from (message.turn for message in item.messages)


def dialogue(item: Item) -> str:
    """All messages as one text: `── turn 1 · user ──` and what was said. For the pager."""
    parts, steps = [], step_numbers(item)
    for message in item.messages:
        name = f" {message.name}" if message.name else ""
        step = "" if message.step < 0 else f" · step {steps[message.turn, message.step]}"
        parts.append(f"── turn {message.turn + 1}{step} · {message.role}{name} ──\n{message.content}\n")
    return "\n".join(parts)


INLINE = 8000
"""Characters up to which a text unfolds in place; a longer one opens in the pager."""
LABEL = 8


def label(word: str, cells: int = LABEL) -> str:
    return visible(word)[: cells - 1].ljust(cells)


def is_long(text: str, rows: int) -> bool:
    """Whether a text is likely to need more than `rows` rows of 70 cells. Cheap for any size."""
    return len(text) > rows * 70 or text.count("\n", 0, rows * 70) >= rows


def text_block(
    key: str,
    word: str,
    text: str,
    options: Options,
    *,
    rows: int = 4,
    style: str = "",
    title: str = "",
) -> Block:
    """A labelled text, folded to `rows` if it is long. What it is about and what it lies in, the caller adds."""
    long = is_long(text, rows)
    folded = long and (options.folded(key, True) or len(text) > INLINE)

    def lines(cells: int) -> list[Line]:
        room = max(cells - LABEL, 8)
        shown, more = fold_text(text, room, rows if folded else EVERY_ROW)
        if more and rows == 1:  # its size at the end of its row
            size = f"  {size_text(text)}"
            left: Line = ((label(word), "dim"), (clip(shown[0], room - len(size)), style))
            return [spread(left, ((size, "dim"),), cells)]
        made = labelled(label(word), shown, style)
        if more:
            made.append(((" " * LABEL, ""), (f"… {size_text(text)}, {options.opens('to open')}", "dim")))
        return made

    return Block(
        key,
        lines,
        stop=long,
        foldable=long,
        folded=folded,
        pages=len(text) > INLINE,
        title=title or word,
        full=lambda: text,
    )


def snapshot_block(key: str, word: str, name: str, text: str, *, parent: str | None = None) -> Block:
    """One line with its size at the end: environment states."""

    def lines(cells: int) -> list[Line]:
        size = f"  {size_text(text)}"
        head = visible(f"{name} {text[: cells * 2]}" if name else text[: cells * 2])
        room = cells - LABEL - len(size)
        return [spread(((label(word), "dim"), (clip(head, room), "dim")), ((size, "dim"),), cells)]

    return Block(
        key,
        lines,
        stop=True,
        foldable=True,
        folded=True,
        pages=True,
        parent=parent,
        title=f"{word} {name}",
        full=lambda: text,
    )


def note_block(key: str, word: str, text: str, *, parent: str | None = None) -> Block:
    """One dim line: what the benchmark's runner noted."""

    def lines(cells: int) -> list[Line]:
        return [((label(word), "dim"), (clip(visible(text[: cells * 2]), cells - LABEL), "dim"))]

    return Block(key, lines, parent=parent, title=word, full=lambda: text)
