"""A dispute in words: answers, what the benchmark says, what most say. The same in commands and on screens. Pure."""

from __future__ import annotations

from fcreview.agreement.disputes import Dispute
from fcreview.model import Item, Verdict
from fcreview.review import CORRECT, Opinion
from fcreview.rollup import DISPUTED, SCORING, agreed
from fcreview.targets import ITEM
from fcreview.text.words import word

ONLY_FAULT = "all let it pass; who is wrong is open"


def automatic_of(item: Item, dispute: Dispute) -> list[Verdict]:
    """What the benchmark says of the target; an importer may give the item's own verdict as a column only."""
    said = [v for v in item.verdicts if (v.target, v.criterion) == (dispute.target, dispute.criterion)]
    if (dispute.target, dispute.criterion) == (ITEM, CORRECT):
        known = {v.source for v in said}
        own = {source: getattr(item, source) for source in SCORING if source not in known}
        said += [Verdict(source, value) for source, value in own.items() if value is not None]
    return said


def told_of(item: Item, dispute: Dispute) -> list[Verdict]:
    """The same, and what a judge says of the target on other criteria."""
    others = [v for v in item.verdicts if (v.source, v.target) == ("judge", dispute.target)]
    return [*automatic_of(item, dispute), *(v for v in others if v.criterion != dispute.criterion)]


def answer_text(answer: Opinion) -> str:
    """`pass, wrong: golden`."""
    said = word(answer.verdict, answer.criterion)
    return f"{said}, wrong: {answer.fault}" if answer.fault else said


def verdict_text(verdict: Verdict, criterion: str) -> str:
    """`gpt-4o equivalent pass: why`; the criterion only where it is another than the one that is disputed."""
    by = verdict.by if verdict.source == "judge" else ""
    other = verdict.criterion if verdict.criterion != criterion else ""
    said = " ".join(filter(None, (by, other, word(verdict.value, verdict.criterion))))
    return ": ".join(filter(None, (said, verdict.error_type, verdict.rationale)))


def only_fault(dispute: Dispute) -> bool:
    """All let it pass, and differ in who is wrong."""
    return bool(agreed(answer.verdict for answer in dispute.answers) != DISPUTED)


def majority_text(dispute: Dispute) -> str:
    if only_fault(dispute):
        return ONLY_FAULT
    return "none" if dispute.majority is None else f"{word(dispute.majority, dispute.criterion)} (not taken)"
