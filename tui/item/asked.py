"""What a verdict key speaks to: the criterion of the automatic verdict that stands at its target. Pure.

Of a call that a judge called equivalent, `p` and `f` answer whether it is; of an argument said to be hallucinated, `p`
says that it is not. Where nothing else is asked, and on the item itself, they say whether it is correct.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fcreview.criteria import FAULTY, PASSING, REMARKS, ZERO_TO_TWO
from fcreview.model import Item, Verdict
from fcreview.review import CORRECT, UNSURE, Opinion
from fcreview.store.rows import ItemDetail
from fcreview.targets import ITEM, RESPONSE

SOURCES = ("judge", "official", "rule")
"""Whose verdict is answered where several stand at a target: a judge's first."""
GOLDEN_WRONG = "golden wrong, so "
"""Before what that makes of the verdict."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is answered."""

    target: str = ITEM
    criterion: str = CORRECT
    automatic: Any = None
    """What the benchmark says; None: nothing."""
    scored: str = ""
    """What a score would be given for: `response completeness`. Empty where none is asked, or elsewhere."""

    def value(self, verdict: Any) -> Any:
        """What is stored for right (true), wrong (false) or unsure; None where that does not say it: other labels."""
        if verdict == UNSURE:
            return verdict
        if isinstance(self.automatic, list):
            return self.automatic if verdict else None
        return not verdict if self.criterion in FAULTY else verdict


def asked(item: Item, target: str) -> Asked:
    if target != ITEM:
        here = [v for v in item.verdicts if v.target == target and answerable(v)]
        for source in SOURCES:
            for verdict in here:
                if verdict.source == source:
                    return Asked(target, verdict.criterion, verdict.value)
    return Asked(target)


def answerable(verdict: Verdict) -> bool:
    """Whether `p` and `f` can answer it."""
    if verdict.criterion in REMARKS:
        return False
    if isinstance(verdict.value, list):
        return verdict.target == RESPONSE
    return isinstance(verdict.value, bool) and verdict.criterion in (*PASSING, *FAULTY)


def judged_open(detail: ItemDetail, annotator: str, but: Iterable[tuple[str, str]] = ()) -> list[tuple[str, str]]:
    """(target, criterion) of what a judge said and this annotator has not answered, the response last: what the queue
    `judged` leads to. `but`: what was answered just now."""
    mine = {(o.target, o.criterion) for o in detail.opinions if _stands(o, annotator)} | set(but)
    said = [v for v in detail.item.verdicts if v.source == "judge" and _asks(v)]
    left = [each for each in dict.fromkeys((v.target, v.criterion) for v in said) if each not in mine]
    return sorted(left, key=lambda each: each[0] == RESPONSE)


def _asks(verdict: Verdict) -> bool:
    if verdict.target == ITEM:
        return verdict.criterion == CORRECT
    return answerable(verdict) or verdict.criterion in ZERO_TO_TWO


def _stands(opinion: Opinion, annotator: str) -> bool:
    return opinion.annotator == annotator and opinion.verdict is not None and not opinion.stale
