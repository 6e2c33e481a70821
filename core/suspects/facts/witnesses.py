"""How much a run's answer says: a failure speaks the louder the more seldom the run fails on such questions, and runs
of one family share one voice.

A failing run's voice is the surprise of its failure in bits, log2(1 / share of failures in the category): a run that
passes 90 % has 3.3 bits, one that passes 50 % has one, one that cannot make two calls at once next to none where two
are asked. Divided by the family's runs on the question, so a family has the mean of its members' voices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2

from fcreview.suspects.case import Case, Witness

UNHEARD = 3.0
"""Bits of a run that is not there and has no opinion: so one failing run is no unanimity."""


@dataclass(frozen=True, slots=True)
class Voices:
    """Of the runs that answered one case."""

    of: Mapping[int, float]
    """Bits, by run."""
    families: Mapping[int, str]
    models: Mapping[int, str]

    def share(self, runs: Iterable[int]) -> float:
        """What part of all voices these are, 0 to below 1."""
        return sum(self.of.get(run, 0.0) for run in runs) / (sum(self.of.values()) + UNHEARD)

    def names(self, runs: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({self.models[run] for run in runs}))

    def families_of(self, runs: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({self.families[run] for run in runs}))


def voices(case: Case, witnesses: Mapping[int, Witness]) -> Voices:
    """Of every run with a verdict whose answer could be read."""
    heard = [
        run
        for answer in case.answers
        if answer.passed is not None and (answer.passed or answer.readable)
        for run in answer.runs
        if run in witnesses
    ]
    members = Counter(witnesses[run].family for run in heard)
    bits = {run: surprise(witnesses[run].by_category.get(case.key.category, 0.5)) for run in heard}
    return Voices(
        {run: bits[run] / members[witnesses[run].family] for run in heard},
        {run: witnesses[run].family for run in heard},
        {run: witnesses[run].model for run in heard},
    )


def surprise(rate: float) -> float:
    """Bits of a failure of a run that passes at this rate."""
    return -log2(max(1.0 - rate, 1e-3))


def smoothed(passed: int, known: int) -> float:
    """The rate drawn towards a half by two more items, of which one passes."""
    return (passed + 1) / (known + 2)
