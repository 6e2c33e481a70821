"""Agreement by other people's programs, and by hand where there is none: from labels by unit and annotator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import krippendorff
import numpy as np

from tests.oracles import AnnotationTask

Labels = Mapping[Any, Mapping[str, str]]
"""unit -> annotator -> label; who is not sure is left out."""


def figures(labels: Labels, people: Sequence[str], categories: int) -> dict[str, float]:
    """`percent`, `fleiss`, `alpha`, `ac1` and `cohen alice bob`. `categories`: of the scale, used or not."""
    several = {unit: said for unit, said in labels.items() if len(said) > 1}
    found = {"percent": _percent(several), "alpha": _alpha(several, people), "ac1": _ac1(labels, categories)}
    sizes = Counter(len(said) for said in several.values())
    usual = max(sizes, key=lambda size: (sizes[size], size))
    found["fleiss"] = _task({unit: said for unit, said in several.items() if len(said) == usual}, usual).pi()
    for one, other in combinations(people, 2):
        both = {
            unit: {p: said[p] for p in (one, other)} for unit, said in labels.items() if {one, other} <= said.keys()
        }
        task = AnnotationTask([(who, unit, label) for unit, said in both.items() for who, label in said.items()])
        found[f"cohen {one} {other}"] = task.kappa_pairwise(one, other)
    return found


def _task(labels: Labels, size: int) -> Any:
    """Coders by place: it does not matter to Fleiss whose a label is."""
    return AnnotationTask(
        [
            (f"c{at}", unit, label)
            for unit, said in labels.items()
            for at, label in enumerate(list(said.values())[:size])
        ]
    )


def _percent(labels: Labels) -> float:
    shares = []
    for said in labels.values():
        pairs = list(combinations(said.values(), 2))
        shares.append(sum(one == other for one, other in pairs) / len(pairs))
    return sum(shares) / len(shares)


def _alpha(labels: Labels, people: Sequence[str]) -> float:
    names = sorted({label for said in labels.values() for label in said.values()})
    matrix = [[names.index(said[who]) if who in said else np.nan for said in labels.values()] for who in people]
    return float(krippendorff.alpha(np.array(matrix), level_of_measurement="nominal"))


def _ac1(labels: Labels, categories: int) -> float:
    """Handbook of Inter-Rater Reliability (Gwet 2014), chapter 2: every unit weighs the same in the shares."""
    several = {unit: said for unit, said in labels.items() if len(said) > 1}
    seen = _percent(several)
    share: Counter[str] = Counter()
    for said in labels.values():
        for label in said.values():
            share[label] += 1 / len(said) / len(labels)  # type: ignore[assignment]
    chance = sum(each * (1 - each) for each in share.values()) / (categories - 1)
    return (seen - chance) / (1 - chance)
