"""From verdicts on parts to a verdict on the item, and from many opinions to the one that counts.

A verdict here is `true`, `false`, "unsure", "disputed", a number or a list of labels; None is no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

DISPUTED = "disputed"
UNSURE = "unsure"

Combine = Callable[[Sequence[Any]], Any]


def all_pass(values: Sequence[Any]) -> Any:
    """True if every part passes, False if one fails; else disputed if a part is, else None (also without any parts)."""
    if any(value is False for value in values):
        return False
    if DISPUTED in values:
        return DISPUTED
    return True if values and all(value is True for value in values) else None


def product(values: Sequence[Any]) -> float | str | None:
    """The product of rates along a chain; true counts 1, false 0. A zero settles it, whatever else is open."""
    known = [float(value) for value in values if isinstance(value, (bool, int, float))]
    if 0.0 in known:
        return 0.0
    if DISPUTED in values:
        return DISPUTED
    return prod(known) if values and len(known) == len(values) else None


def human(opinions: Iterable[Any]) -> Any:
    """What the annotators hold together: their unanimous verdict, disputed if they differ, None if nobody has one.

    An annotator who is unsure abstains. Lists of labels are compared as sets.
    """
    held = [value for value in opinions if value is not None and value != UNSURE]
    if not held:
        return None
    return held[0] if all(_alike(held[0], other) for other in held[1:]) else DISPUTED


def effective(scored: Sequence[Any], opinions: Iterable[Any] = (), adjudication: Any = None) -> Any:
    """The verdict that counts: the adjudication, else the annotators', else the first of `scored` that there is.

    `scored` are the judge's, official and rule verdicts in the order in which the benchmark itself would score.
    """
    if adjudication is not None and adjudication != UNSURE:
        return adjudication
    agreed = human(opinions)
    if agreed is not None:
        return agreed
    return next((value for value in scored if value is not None), None)


def item_verdict(
    parts: Mapping[str, Any], scored: Mapping[str, Any], own: Any = None, combine: Combine = all_pass
) -> Any:
    """What verdicts on parts of an item (by target) say of the item, by the benchmark's rule `combine`.

    `scored` holds every part that the benchmark scores, with its own verdict or None: parts nobody judged keep it.
    A verdict on the item itself, `own`, stands above all parts. None if no part that counts was judged, or the rule
    cannot tell yet.
    """
    if own is not None and own != UNSURE:
        return own
    judged = {target: value for target, value in parts.items() if value is not None and value != UNSURE}
    if not judged.keys() & scored.keys():
        return None
    return combine([judged.get(target, value) for target, value in scored.items()])


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(set(map(repr, one)) ^ set(map(repr, other))) == 0
    return type(one) is type(other) and bool(one == other)
