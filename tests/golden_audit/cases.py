"""Cases made by hand: a golden answer, a function document, and what models answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.golden_audit.consistency import GoldenAnswerIndex
from fcreview.golden_audit.evidence import (
    QuestionEvidence,
    RunWeigher,
    collect_evidence,
    create_schema_reader,
    find_model_family,
)
from fcreview.golden_audit.question import AuditedQuestion, DistinctAnswer, Reason, RunProfile, find_differences
from fcreview.matching.align import align_turns
from fcreview.model.item import AcceptedValues, Call
from fcreview.stats.run_comparison import QuestionKey

OPTIONAL = object()
"""Among accepted values: it may be left out."""
MODELS = ["gpt-4", "gpt-4o", "claude-3", "mistral-large", "llama-3", "qwen-2"]
"""Runs 0 to 5; the first two are of one family."""


def document(name: str = "convert", required: Sequence[str] = (), **parameters: Any) -> dict[str, Any]:
    """`unit={"type": "string"}`, or just the description of a text."""
    properties = {
        each: {"type": "string", "description": what} if isinstance(what, str) else what
        for each, what in parameters.items()
    }
    return {"name": name, "parameters": {"type": "dict", "properties": properties, "required": list(required)}}


def golden(name: str = "convert", index: int = 0, **arguments: Sequence[Any]) -> Call:
    accepted = {
        each: AcceptedValues([value for value in values if value is not OPTIONAL], OPTIONAL in values)
        for each, values in arguments.items()
    }
    return Call("golden", name, accepted, index=index)


@dataclass
class Said:
    """What some runs answered: the arguments of one call, or None for an answer that cannot be read."""

    runs: Sequence[int]
    arguments: Mapping[str, Any] | None = field(default_factory=dict)
    passed: bool = False
    contradicted: bool = False
    name: str = "convert"


def case(
    calls: Sequence[Call],
    documents: Sequence[dict[str, Any]],
    said: Sequence[Said] = (),
    question: str = "Convert 5 to km.",
    number: int = 0,
    faults: Mapping[str, int] | None = None,
) -> AuditedQuestion:
    made = AuditedQuestion(
        QuestionKey("bfcl", "V4", "en", "simple", f"simple_{number}"), question, list(calls), list(documents)
    )
    for one in said:
        given = Call("predicted", one.name, None if one.arguments is None else dict(one.arguments))
        if one.arguments is None:
            given.decode_error = "not a call"
        pairs = align_turns(made.golden, [given])
        differences = find_differences(made.golden, [given], pairs)
        readable = one.arguments is not None
        made.answers.append(DistinctAnswer(list(one.runs), one.passed, one.contradicted, readable, differences))
    made.faults = Counter(faults or {})
    return made


def witnesses(rates: Sequence[float] = (0.9,) * len(MODELS)) -> dict[int, RunProfile]:
    return {
        run: RunProfile(model, find_model_family(model), rate, {"simple": rate})
        for run, (model, rate) in enumerate(zip(MODELS, rates, strict=True))
    }


def seen(of: AuditedQuestion, rates: Sequence[float] = (0.9,) * len(MODELS)) -> QuestionEvidence:
    return collect_evidence(of, RunWeigher(witnesses(rates)), create_schema_reader())


def nothing_else() -> GoldenAnswerIndex:
    return GoldenAnswerIndex([])


def of_kind(reasons: Sequence[Reason], kind: str) -> list[Reason]:
    return [reason for reason in reasons if reason.kind == kind]
