"""Puts the evidence together: a chance for each reason, and together the chance that at least one is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from fcreview.suspects.case import Alternative, Case, Reason, Witness
from fcreview.suspects.consensus import consensus
from fcreview.suspects.document import document
from fcreview.suspects.evidence import evidence, reader
from fcreview.suspects.explained import explained
from fcreview.suspects.grounding import grounding
from fcreview.suspects.learning import learned, verdict_of
from fcreview.suspects.siblings import Siblings, siblings_of

CHANCES = {
    "contract": 0.6,
    "default": 0.5,
    "loose": 0.4,
    "notation": 0.4,
    "siblings": 0.3,
    "ungrounded": 0.25,
    "agreement": 0.6,
    "explained": 0.5,
    "failing": 0.3,
    "reversed": 0.2,
    "contradiction": 0.3,
}
"""How likely a reason, where it is clear, is to be right alone. Rough on purpose: what is against the document is worth
more than not, what stands only in comparison is worth a third, what nearly every model shares is worth more than not."""
SETTLED = {True: "people settled that the benchmark is at fault", False: "people settled that the model is at fault"}


@dataclass(frozen=True, slots=True)
class Suspect:
    """A case and why it may be wrong."""

    case: Case
    score: float
    """0 to 1."""
    reasons: Sequence[Reason]
    """Most telling first, one a kind and place."""

    @property
    def alternative(self) -> Alternative | None:
        """The competing answer of the most telling reason that has one, preferring one that models gave."""
        given = [reason.alternative for reason in self.reasons if reason.alternative]
        return next((each for each in given if each.models), given[0] if given else None)


def suspects(cases: Sequence[Case], witnesses: Mapping[int, Witness]) -> list[Suspect]:
    """Every case, most suspect first; ties in the order given."""
    datasets: dict[tuple[str, str, str], list[Case]] = {}
    for case in cases:
        datasets.setdefault(case.key[:3], []).append(case)
    read = reader()
    judged: list[tuple[Case, list[Reason]]] = []
    for of in datasets.values():
        siblings = Siblings(of)
        for case in of:
            seen = evidence(case, witnesses, read)
            judged.append(
                (
                    case,
                    [
                        *document(seen),
                        *siblings_of(seen, siblings),
                        *grounding(seen),
                        *consensus(seen),
                        *explained(seen, siblings),
                    ],
                )
            )
    chances = learned(CHANCES, judged)
    return sorted((suspect(case, reasons, chances) for case, reasons in judged), key=lambda each: -each.score)


def suspect(case: Case, reasons: Iterable[Reason], chances: Mapping[str, float]) -> Suspect:
    """One minus the chance that every kind of reason is wrong; of a kind the clearest counts."""
    ordered = sorted(reasons, key=lambda reason: -chances[reason.kind] * reason.strength)
    clearest: dict[str, float] = {}
    for reason in ordered:
        clearest.setdefault(reason.kind, chances[reason.kind] * reason.strength)
    score = 1 - prod(1 - chance for chance in clearest.values())
    settled = verdict_of(case)
    if settled is not None:
        ordered.insert(0, Reason("settled", 1.0, SETTLED[settled]))
        score = 1 - (1 - score) / 2 if settled else score / 2
    return Suspect(case, score, ordered)
