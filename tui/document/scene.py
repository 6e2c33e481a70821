"""An item's calls, pairs and messages by turn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fcreview.calls.steps import Steps, step_numbers
from fcreview.calls.told import Repeats
from fcreview.model import GOLDEN_CALL, Call, Item, Message, Pair, Verdict
from fcreview.review import Opinion

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
