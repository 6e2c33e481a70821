"""Golden answers that look wrong, as a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fcreview.reporting.blocks import Section, Text, table
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.suspects.score import Suspect

SHOWN = 20
REASONS = 3
"""Of each: the most telling."""
MODELS = 3
LONGEST = 400
"""Letters of a question."""


def suspects_section(found: Sequence[Suspect]) -> Section:
    """Most suspect first; those without a reason are left out."""
    title = "Golden answers that look wrong"
    telling = [suspect for suspect in found if suspect.reasons]
    if not telling:
        return Section(title, [Text("Nothing speaks against any golden answer.")])
    says = f"{count_of(len(telling), 'question')} with a reason to doubt the golden answer, the question or the checker"
    rest = f"; the {SHOWN} most suspect." if len(telling) > SHOWN else "."
    heads = ["score", "item", "runs fail", "why", "instead", "question"]
    return Section(title, [Text(says + rest), table(heads, [_row(each) for each in telling[:SHOWN]], (0,))])


def _row(suspect: Suspect) -> list[str]:
    case, other = suspect.case, suspect.alternative
    who = f" ({', '.join(other.models[:MODELS])}{', ...' if len(other.models) > MODELS else ''})" if other else ""
    return [
        f"{suspect.score:.2f}",
        case.key.id,
        f"{case.n_failing} of {len(case.runs)}",
        "; ".join(reason.text for reason in suspect.reasons[:REASONS]),
        f"{other.answer}{who if other.models else ''}" if other else "",
        _beginning(" ".join(case.question.split())),
    ]


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …"
