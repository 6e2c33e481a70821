"""Agreement coefficients from other libraries, or calculated here where no library has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import krippendorff
import numpy as np

from tests.oracles import AnnotationTask

Labels = Mapping[Any, Mapping[str, str]]
"""unit -> annotator -> label, without unsure labels."""


def calculate_coefficients(
    labels: Labels, people: Sequence[str], categories: int
) -> dict[str, float]:
    """Return `percent`, `fleiss`, `alpha`, `ac1` and `cohen alice bob`.

    `categories` is the size of the scale.
    """
    multiple = {
        unit: by_annotator for unit, by_annotator in labels.items() if len(by_annotator) > 1
    }
    found = {
        "percent": _percent(multiple),
        "alpha": _alpha(multiple, people),
        "ac1": _ac1(labels, categories),
    }
    sizes = Counter(len(by_annotator) for by_annotator in multiple.values())
    usual = max(sizes, key=lambda size: (sizes[size], size))
    found["fleiss"] = _make_task(
        {
            unit: by_annotator
            for unit, by_annotator in multiple.items()
            if len(by_annotator) == usual
        },
        usual,
    ).pi()
    for one, other in combinations(people, 2):
        both = {
            unit: {p: by_annotator[p] for p in (one, other)}
            for unit, by_annotator in labels.items()
            if {one, other} <= by_annotator.keys()
        }
        task = AnnotationTask(
            [
                (who, unit, label)
                for unit, by_annotator in both.items()
                for who, label in by_annotator.items()
            ]
        )
        found[f"cohen {one} {other}"] = task.kappa_pairwise(one, other)
    return found


def _make_task(labels: Labels, size: int) -> Any:
    """Name coders by position, because Fleiss' kappa does not depend on who gave a label."""
    return AnnotationTask(
        [
            (f"c{at}", unit, label)
            for unit, by_annotator in labels.items()
            for at, label in enumerate(list(by_annotator.values())[:size])
        ]
    )


def _percent(labels: Labels) -> float:
    shares = []
    for by_annotator in labels.values():
        pairs = list(combinations(by_annotator.values(), 2))
        shares.append(sum(one == other for one, other in pairs) / len(pairs))
    return sum(shares) / len(shares)


def _alpha(labels: Labels, people: Sequence[str]) -> float:
    names = sorted({label for by_annotator in labels.values() for label in by_annotator.values()})
    matrix = [
        [
            names.index(by_annotator[who]) if who in by_annotator else np.nan
            for by_annotator in labels.values()
        ]
        for who in people
    ]
    return float(krippendorff.alpha(np.array(matrix), level_of_measurement="nominal"))


def _ac1(labels: Labels, categories: int) -> float:
    """Handbook of Inter-Rater Reliability (Gwet 2014), chapter 2: every unit weighs the same in
    the shares.
    """
    multiple = {
        unit: by_annotator for unit, by_annotator in labels.items() if len(by_annotator) > 1
    }
    observed = _percent(multiple)
    share: Counter[str] = Counter()
    for by_annotator in labels.values():
        for label in by_annotator.values():
            share[label] += 1 / len(by_annotator) / len(labels)  # type: ignore[assignment]
    chance = sum(each * (1 - each) for each in share.values()) / (categories - 1)
    return (observed - chance) / (1 - chance)
