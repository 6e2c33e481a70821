"""Ratings from tables of labels, with one row per unit, one column per annotator and None for a
missing label.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fcreview.model.review import ItemKey
from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_ratings import PAIR_COEFFICIENTS, AgreementCoefficient, Rating

NAMES = ("alice", "bob", "carol", "dan", "eve")
KEY = ItemKey("acebench", "v1", "en", "maple", "normal", "n_0")
Units = Sequence[Sequence[Any]]


def make_ratings(units: Units, criterion: str = "kind", key: ItemKey = KEY) -> list[Rating]:
    return [
        Rating(item, key, "item", criterion, NAMES[at], value)
        for item, unit in enumerate(units)
        for at, value in enumerate(unit)
        if value is not None
    ]


def compute_coefficients(units: Units, criterion: str = "kind") -> dict[str, AgreementCoefficient]:
    """Return the coefficients by metric, such as `alpha`.

    Those of pairs include the names: `cohen alice bob`.
    """
    found = compute_agreement(make_ratings(units, criterion), ["overall"], "all")
    return {coefficient_name(each): each for each in found}


def coefficient_name(coefficient: AgreementCoefficient) -> str:
    pair = coefficient.metric in PAIR_COEFFICIENTS or (
        coefficient.metric == "percent" and len(coefficient.annotators) == 2
    )
    return " ".join([coefficient.metric, *(coefficient.annotators if pair else ())])


def make_label_table(
    seed: int, values: Sequence[Any], annotators: int, missing: float = 0.0, units: int = 25
) -> list[list[Any]]:
    """Return random labels of annotators who are right in at least 70 % of cases.

    The first values are more common.
    """
    draw = random.Random(seed)

    def draw_unit() -> list[Any]:
        true = values[min(draw.randrange(len(values)), draw.randrange(len(values)))]
        return [
            None
            if draw.random() < missing
            else true
            if draw.random() < 0.7
            else draw.choice(values)
            for _ in range(annotators)
        ]

    return [draw_unit() for _ in range(units)]
