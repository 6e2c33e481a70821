"""The verdict that counts: of several annotators, of several sources, of the parts of an item.

The only definition there is. The store asks the same in SQL, with text generated from the same `SCORING` order
(`fcreview.store.reviews.effective`). A verdict is `true`, `false`, "unsure", "disputed", a number or a list of labels;
None is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fcreview.model import Source
from fcreview.review import UNSURE
from fcreview.targets import RESPONSE, call_of, part_of, turn_address

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
    held = [value for value in verdicts if value is not None and value != UNSURE]
    if not held:
        return None
    return held[0] if all(alike(held[0], other) for other in held[1:]) else DISPUTED


def majority(verdicts: Iterable[Any]) -> Any:
    """What more than half of the annotators say, of those who are not unsure; None if no verdict has so many."""
    held = [value for value in verdicts if value is not None and value != UNSURE]
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
