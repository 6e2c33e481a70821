"""Ratings from tables of labels: a row a unit, a column an annotator, None where there is no label."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fcreview.model.review import ItemKey
from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_ratings import AgreementCoefficient, Rating

NAMES = ("alice", "bob", "carol", "dan", "eve")
KEY = ItemKey("acebench", "v1", "en", "maple", "normal", "n_0")
Units = Sequence[Sequence[Any]]


def ratings(units: Units, criterion: str = "kind", key: ItemKey = KEY) -> list[Rating]:
    return [
        Rating(item, key, "item", criterion, NAMES[at], value)
        for item, unit in enumerate(units)
        for at, value in enumerate(unit)
        if value is not None
    ]


def figures(units: Units, criterion: str = "kind") -> dict[str, AgreementCoefficient]:
    """By metric, those of pairs with their names: `alpha`, `cohen alice bob`."""
    found = compute_agreement(ratings(units, criterion), ["overall"], "all")
    return {name_of(each): each for each in found}


def name_of(figure: AgreementCoefficient) -> str:
    pair = figure.metric == "cohen" or (figure.metric == "percent" and len(figure.annotators) == 2)
    return " ".join([figure.metric, *(figure.annotators if pair else ())])


def made_up(
    seed: int, values: Sequence[Any], annotators: int, missing: float = 0.0, units: int = 25
) -> list[list[Any]]:
    """Annotators who mostly say what is true; the first values are the more common ones."""
    draw = random.Random(seed)

    def unit() -> list[Any]:
        true = values[min(draw.randrange(len(values)), draw.randrange(len(values)))]
        return [
            None if draw.random() < missing else true if draw.random() < 0.7 else draw.choice(values)
            for _ in range(annotators)
        ]

    return [unit() for _ in range(units)]
