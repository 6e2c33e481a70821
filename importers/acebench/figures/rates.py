"""A category's rates from its items' verdicts. Where people differ on an item it has none, and the rate says over how
many it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.figures import Scored
from fcreview.review import OWN
from fcreview.targets import ITEM

MULTIPLE = ("normal_multi_turn_user_switch", "normal_multi_turn_user_adjust")
PROCESS = "process_accuracy"
MILESTONES = "milestones met"
"""Name in `Extra.more` of the process accuracy that an agent item has, or would have, if its end state is wrong."""


@dataclass(frozen=True, slots=True)
class Rate:
    value: float | None
    """As printed; None if nothing is known."""
    exact: float | None
    """Not rounded."""
    n: int
    of: int
    counted: str = "items"


def accuracy(valid: Sequence[bool | None], digits: int | None = 3) -> Rate:
    known = [one for one in valid if one is not None]
    exact = sum(known) / len(known) if known else None
    return Rate(_rounded(exact, digits), exact, len(known), len(valid))


def by_dialogue(steps: Sequence[tuple[str, bool | None]]) -> tuple[Rate, Rate]:
    """(accuracy, process accuracy) of a multi-turn category: dialogues with every step valid, and the mean share of
    valid steps.

    `steps` are (dialogue number, valid) in file order; consecutive steps of the same number form a dialogue. A
    dialogue with a step without a verdict has no share, and fails only if another step does.
    """
    dialogues: list[tuple[str, list[bool | None]]] = []
    for number, valid in steps:
        if not dialogues or dialogues[-1][0] != number:
            dialogues.append((number, []))
        dialogues[-1][1].append(valid)
    wholes = [False if False in flags else None if None in flags else True for _, flags in dialogues]
    known = [whole for whole in wholes if whole is not None]
    exact = round(sum(known) / len(known), 3) if known else None
    shares = [round(sum(map(bool, flags)) / len(flags), 3) for _, flags in dialogues if None not in flags]
    mean = sum(shares) / len(shares) if shares else None
    return (
        Rate(exact, exact, len(known), len(dialogues), "dialogues"),
        Rate(_rounded(mean, 3), mean, len(shares), len(dialogues), "dialogues"),
    )


def process_of(rows: Sequence[Scored]) -> Rate:
    """Mean process accuracy of an agent category; over 0 items if this source says nothing of the process."""
    if all(PROCESS not in row.values for row in rows):
        return Rate(None, None, 0, 0)
    shares = [share for row in rows if (share := share_of(row)) is not None]
    mean = sum(shares) / len(shares) if shares else None
    return Rate(_rounded(mean, 3), mean, len(shares), len(rows))


def share_of(row: Scored) -> float | None:
    """An item's process accuracy; None if it cannot be told.

    The evaluator's rule: an end state that is right scores 1, whatever was called; else the milestones count. So what
    people say of the end state decides here too, unless they speak of the process itself.
    """
    said = row.values.get(PROCESS)
    value = float(said) if isinstance(said, (int, float)) else None
    if (ITEM, PROCESS) in row.overruled:
        return value
    met = row.more.get(MILESTONES)
    share = float(met) if isinstance(met, (int, float)) else None
    if OWN not in row.overruled:  # the process file rounds what the mean takes as it is
        return share if share is not None and value == round(share, 3) else value
    if row.overruled[OWN] is True:
        return 1.0
    if row.overruled[OWN] is None and share != 1.0:
        return None
    return share


def _rounded(value: float | None, digits: int | None) -> float | None:
    return value if value is None or digits is None else round(value, digits)
