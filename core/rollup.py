"""The verdict that counts: of several annotators, of several sources, of the parts of an item.

The only definition there is. The store asks the same in SQL, with text generated from the same `SCORING` order
(`fcreview.store.reviews.effective`). A verdict is `true`, `false`, "unsure", "disputed", a number or a list of labels;
None is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from fcreview.model import Source
from fcreview.review import UNSURE
from fcreview.targets import RESPONSE, part_of

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


def rolled_up(verdicts: Mapping[str, Any], pairs: Mapping[int, int]) -> bool | None:
    """True, False or None (says nothing) for the item, from `{target: verdict}` and the call pairs of each turn
    (turns from 0), by the benchmarks' common rule: all calls right, all turns right.

    A part judged wrong makes the whole wrong, unless a verdict on something between the two says otherwise. The
    whole is right only if every call pair of every turn was judged right, itself or with its turn.
    """
    turns: dict[int, dict[int | None, list[tuple[str | None, Any]]]] = {turn: {} for turn in pairs}
    for address, value in verdicts.items():
        part = part_of(address)
        if part is not None:
            turns.setdefault(part.turn, {}).setdefault(part.call, []).append((part.argument, value))
    values = [_turn(said, pairs.get(turn, 0)) for turn, said in turns.items()]
    if False in values or verdicts.get(RESPONSE) is False:
        return False
    return True if pairs and all(value is True for value in values) else None


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
    """Whether two verdicts say the same; labels in any order."""
    if isinstance(one, list) and isinstance(other, list):
        return set(map(repr, one)) == set(map(repr, other))
    return type(one) is type(other) and bool(one == other)
