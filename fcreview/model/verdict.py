"""What is asked of a target, and what may be answered: the words people give, and the values that are stored.

A criterion is known by its name, else by the values that the benchmark itself gives on it.

The verdict that counts: of several annotators, of several sources, of the parts of an item.

The only definition there is. The store asks the same in SQL, with text generated from the same `SCORING` order
(`fcreview.store.reviews.verdict_sql`). A verdict is `true`, `false`, "unsure", "disputed", a number or a list of
labels; None is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fcreview.model.address import RESPONSE, call_of, part_of, turn_address
from fcreview.model.item import Item, Source
from fcreview.model.review import CORRECT, OWN, UNSURE, Said

EQUIVALENT = "equivalent"
ABSTENTIONS: dict[str, Any] = {"unsure": UNSURE}
"""Word -> stored verdict of an annotator who answers without deciding."""
PASS_FAIL: dict[str, Any] = {"pass": True, "fail": False, **ABSTENTIONS}
YES_NO: dict[str, Any] = {"yes": True, "no": False, **ABSTENTIONS}


def decides(verdict: Any) -> bool:
    """Whether a verdict counts: not None (no verdict) and no abstention."""
    return verdict is not None and verdict not in ABSTENTIONS.values()


@dataclass(frozen=True, slots=True)
class Scale:
    """What may be answered: certain words, and besides them numbers or a set of labels."""

    words: Mapping[str, Any] = field(default_factory=lambda: ABSTENTIONS)
    numbers: tuple[float, float] | None = None
    """Least and greatest, both allowed."""
    labels: bool = False
    known: tuple[str, ...] = ()
    """The labels there are, where that is known; others may be given."""

    def allowed(self) -> str:
        """`pass, fail, unsure`; `a number from 0 to 1, unsure`."""
        return ", ".join(filter(None, (self._range(), "labels separated by commas" * self.labels, *self.words)))

    def value(self, text: str) -> Any:
        """What is stored for what was typed. ValueError if the scale does not have it."""
        if text in self.words:
            return self.words[text]
        if self.labels:
            return list(dict.fromkeys(label for part in text.split(",") if (label := part.strip())))
        if self.numbers is not None and (number := _number(text)) is not None:
            low, high = self.numbers
            if low <= number <= high:
                return number
        raise ValueError(self.allowed())

    def _range(self) -> str:
        if self.numbers is None:
            return ""
        low, high = (f"{bound:g}" if math.isfinite(bound) else "" for bound in self.numbers)
        return f"a number from {low} to {high}" if low and high else "a number"


_SHARE = Scale(numbers=(0.0, 1.0))
_ANY_NUMBER = Scale(numbers=(-math.inf, math.inf))
_ZERO_TO_TWO = Scale(words={"0": 0, "1": 1, "2": 2, **ABSTENTIONS})

DIALOG_ACTS = (
    "agent_function_calling",
    "agent_inform_user",
    "agent_seek_information",
    "agent_reject_request",
    "agent_other",
)
"""CONFETTI's (Figure 5 of its paper)."""

SCALES: dict[str, Scale] = {
    CORRECT: Scale(PASS_FAIL),
    EQUIVALENT: Scale(PASS_FAIL),
    "func_ok": Scale(PASS_FAIL),
    "args_ok": Scale(PASS_FAIL),
    "args_ok_llm": Scale(PASS_FAIL),
    "name_matches": Scale(PASS_FAIL),
    "hallucinated": Scale(YES_NO),
    "completeness": _ZERO_TO_TWO,
    "correctness": _ZERO_TO_TWO,
    "soft_score": _SHARE,
    "process_accuracy": _SHARE,
    "dialog_act": Scale(labels=True, known=DIALOG_ACTS),
}
"""Criteria known by name."""

ZERO_TO_TWO = tuple(name for name, scale in SCALES.items() if scale is _ZERO_TO_TWO)
"""Criteria that are scored 0, 1 or 2."""
FAULTY = ("hallucinated",)
"""Criteria on which true is what is wrong."""
REMARKS = ("name_matches",)
"""What a judge notes on the way to its verdict: not what a verdict on the call is about."""
ASKED = (CORRECT, EQUIVALENT, "hallucinated", "completeness", "correctness")
"""Criteria that may be asked of any item; every other only where the benchmark itself gives values on it."""
PASSING = tuple(name for name, scale in SCALES.items() if scale.words is PASS_FAIL)
"""Criteria on which true means right and is marked so; true on any other means yes."""


def scale_of(criterion: str, seen: Iterable[Any] = ()) -> Scale | None:
    """The scale of a criterion; None for one that is not known and on which nothing was seen.

    `seen` are the benchmark's own values on it: they decide between labels and words (HammerBench names the
    hallucinated arguments of an item, CONFETTI says yes or no of each), and are all there is to go by for a criterion
    without a scale of its own. A number's range is 0 to 1 if the values are parts of 1, else open: whole numbers do
    not tell where their scale ends.
    """
    values = [value for value in seen if value is not None]
    if any(isinstance(value, list) for value in values):
        return Scale(labels=True)
    if criterion in SCALES or not values:
        return SCALES.get(criterion)
    if all(isinstance(value, bool) for value in values):
        return Scale({**YES_NO, **PASS_FAIL})
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        shares = all(0 <= value <= 1 for value in values) and any(isinstance(value, float) for value in values)
        return _SHARE if shares else _ANY_NUMBER
    return Scale(labels=True)


def _number(text: str) -> int | float | None:
    """A finite number as people write it: whole where it is written so."""
    try:
        number = int(text) if text.lstrip("+-").isdecimal() and len(text) < 16 else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


DISPUTED = "disputed"
DecidedBy = Literal["adjudication", "unanimous", "majority", "disputed"]
SETTLED: tuple[DecidedBy, ...] = ("adjudication", "unanimous", "majority")
"""How people decide; where they differ, they do not."""
Policy = Literal["unanimous", "majority"]
POLICIES: tuple[Policy, ...] = ("unanimous", "majority")
"""What counts where nobody adjudicated: only what all annotators say, or what more than half of them say."""
UNANIMOUS: Policy = "unanimous"
SCORING: tuple[Source, ...] = ("official", "rule", "judge")
"""Automatic sources in the order in which the benchmark itself would score: the first that says something counts."""


def agreed(verdicts: Iterable[Any]) -> Any:
    """What the annotators hold together: their unanimous verdict, disputed if they differ, None if nobody has one.

    An annotator who is unsure abstains. Lists of labels are compared as sets.
    """
    held = [*filter(decides, verdicts)]
    if not held:
        return None
    return held[0] if all(alike(held[0], other) for other in held[1:]) else DISPUTED


def majority(verdicts: Iterable[Any]) -> Any:
    """What more than half of the annotators say, of those who are not unsure; None if no verdict has so many."""
    held = [*filter(decides, verdicts)]
    return next((one for one in held if 2 * sum(alike(one, other) for other in held) > len(held)), None)


def automatic(verdicts: Mapping[Source, Any]) -> Any:
    """What the benchmark says before anybody reviewed."""
    return next((verdicts[source] for source in SCORING if verdicts.get(source) is not None), None)


def effective(own: Any, human: Any = None, decided_by: DecidedBy | None = None) -> Any:
    """The verdict that counts: people's if they settled it, none while they differ, else the benchmark's `own`."""
    if decided_by in SETTLED:
        return human
    return None if decided_by == DISPUTED else own


@dataclass(slots=True)
class Build:
    """What the roll-up must know of an item besides what people say of its parts."""

    pairs: Mapping[int, int] = field(default_factory=dict)
    """Call pairs by turn, from 0."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """What the benchmark says of the parts: address -> pass or fail."""
    needs: Sequence[Sequence[str]] | None = None
    """See `Extra.needs`."""
    item: bool | None = None
    """What the benchmark says of the item itself."""


def whole(verdicts: Mapping[str, Any], build: Build) -> bool | None:
    """True, False or None (says nothing) for the item, from one person's verdicts on its parts.

    A verdict that only confirms the benchmark's own says nothing, as the item's own verdict has it in already. What the
    person passes over stands as the benchmark has it.
    """
    said = {address: value for address, value in verdicts.items() if not alike(value, build.own.get(address))}
    if not any(isinstance(value, bool) for value in said.values()):
        return None
    if build.needs is None:
        failed = {call_of(address) for address, value in said.items() if value is False}
        right = {address: True for address, value in build.own.items() if value is True and address not in failed}
        return rolled_up({**right, **said}, build.pairs)
    if said.get(RESPONSE) is False:
        return False
    met = all(any(_right(address, said, build.own) for address in group) for group in build.needs)
    return True if met else False if False in said.values() else None


def unreviewed(build: Build) -> bool | None:
    """The item as the benchmark has it; what its parts come to, where it says nothing of the item."""
    if build.item is not None:
        return build.item
    if build.needs is None:
        return rolled_up(build.own, build.pairs)
    return all(any(build.own.get(address) is True for address in group) for group in build.needs)


def contradicts(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two people's verdicts on parts cannot both hold: on the same part, or where one lets pass what lies
    around a part that the other fails."""
    return any(
        (address == place and not alike(value, held)) or _within(address, place, value, held)
        for address, value in one.items()
        if isinstance(value, bool)
        for place, held in other.items()
        if isinstance(held, bool)
    )


def _within(address: str, place: str, value: bool, held: bool) -> bool:
    inner, outer = (value, held) if len(address) > len(place) else (held, value)
    long, short = sorted((address, place), key=len, reverse=True)
    return long.startswith(short + "/") and outer and not inner


def _right(address: str, said: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether a call is right, by its turn's verdict, its own, its arguments', the benchmark's: the first there is."""
    part = part_of(address)
    turn = said.get(turn_address(part.turn)) if part else None
    for direct in (turn, said.get(address)):
        if isinstance(direct, bool):
            return direct
    if any(value is False and other != address and call_of(other) == address for other, value in said.items()):
        return False
    return own.get(address) is True


def rolled_up(verdicts: Mapping[str, Any], pairs: Mapping[int, int]) -> bool | None:
    """True, False or None (says nothing) for the item, from `{target: verdict}` and the call pairs of each turn
    (turns from 0), by the benchmarks' common rule: all calls right, all turns right.

    A part judged wrong makes the whole wrong, unless a verdict on something between the two says otherwise. The
    whole is right only if every call pair of every turn was judged right, itself or with its turn; where there are no
    calls to judge (a question that is answered in words), if the response was.
    """
    turns: dict[int, dict[int | None, list[tuple[str | None, Any]]]] = {turn: {} for turn in pairs}
    for address, value in verdicts.items():
        part = part_of(address)
        if part is not None:
            turns.setdefault(part.turn, {}).setdefault(part.call, []).append((part.argument, value))
    values = [_turn(said, pairs.get(turn, 0)) for turn, said in turns.items()]
    if False in values or verdicts.get(RESPONSE) is False:
        return False
    if not pairs:
        return True if verdicts.get(RESPONSE) is True and None not in values else None
    return True if all(value is True for value in values) else None


def _turn(said: Mapping[int | None, Sequence[tuple[str | None, Any]]], n_pairs: int) -> bool | None:
    direct = next((value for _, value in said.get(None, ())), None)
    if isinstance(direct, bool):
        return direct
    values = [_call(of) for call, of in said.items() if call is not None]
    if False in values:
        return False
    return True if n_pairs and sum(value is True for value in values) >= n_pairs else None


def _call(said: Sequence[tuple[str | None, Any]]) -> bool | None:
    direct = next((value for argument, value in said if argument is None), None)
    if isinstance(direct, bool):
        return direct
    return False if any(value is False for _, value in said) else None


def alike(one: Any, other: Any) -> bool:
    """Whether two verdicts say the same; labels in any order, 1 as 1.0."""
    if isinstance(one, list) and isinstance(other, list):
        return set(map(repr, one)) == set(map(repr, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return isinstance(one, bool) is isinstance(other, bool) and one == other
    return type(one) is type(other) and bool(one == other)


AutomaticVerdicts = Mapping[str, Mapping[str, Any]]
"""{source: {by, value}} of one target and criterion."""


def first_contradicted(automatic: AutomaticVerdicts, verdict: Any) -> dict[str, Any] | None:
    """{source, by, value} of the automatic verdict that counts (the first of `SCORING` that has a value), if the
    annotator's verdict contradicts it. None if it agrees, is "unsure", or there is no automatic verdict."""
    if not decides(verdict):
        return None
    for source in SCORING:
        own = automatic.get(source)
        if own is not None and own["value"] is not None:
            return None if alike(verdict, own["value"]) else {"source": source, **own}
    return None


def contradicted_verdict(item: Item, annotation: Said) -> dict[str, Any] | None:
    """The automatic verdict of the item that the annotation contradicts; see `first_contradicted`."""
    found: dict[str, dict[str, Any]] = {}
    if (annotation.target, annotation.criterion) == OWN:
        found = {source: {"by": None, "value": getattr(item, source)} for source in SCORING}
    for each in item.verdicts:
        if (each.target, each.criterion) == (annotation.target, annotation.criterion):
            found[each.source] = {"by": each.by, "value": each.value}
    return first_contradicted(found, annotation.verdict)
