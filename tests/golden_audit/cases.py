"""Questions for audit tests, with golden answers, function docs and answers of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.golden_audit.evidence import (
    QuestionEvidence,
    RunWeigher,
    collect_evidence,
    create_cached_schema_reader,
)
from fcreview.golden_audit.golden_checks import GoldenAnswerIndex
from fcreview.golden_audit.question import (
    AuditedQuestion,
    DistinctAnswer,
    Reason,
    RunProfile,
    find_differences,
    find_model_family,
)
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import AcceptedValues, Call
from fcreview.model.review import QuestionKey

OPTIONAL = object()
"""Accepted value which states that the argument may be omitted."""
MODELS = ["gpt-4", "gpt-4o", "claude-3", "mistral-large", "llama-3", "qwen-2"]
"""Models of runs 0 to 5. The first two belong to one family."""


def make_schema(
    name: str = "convert", required: Sequence[str] = (), **parameters: Any
) -> dict[str, Any]:
    """Return function docs. A parameter is a schema, or the description of a string parameter."""
    properties = {
        each: {"type": "string", "description": what} if isinstance(what, str) else what
        for each, what in parameters.items()
    }
    return {
        "name": name,
        "parameters": {"type": "dict", "properties": properties, "required": list(required)},
    }


def make_golden(name: str = "convert", index: int = 0, **arguments: Sequence[Any]) -> Call:
    accepted = {
        each: AcceptedValues(
            [value for value in values if value is not OPTIONAL], OPTIONAL in values
        )
        for each, values in arguments.items()
    }
    return Call("golden", name, arguments=accepted, index=index)


@dataclass
class ModelAnswer:
    """The same answer of several runs: arguments of one call, or None if the answer is
    unreadable.
    """

    runs: Sequence[int]
    arguments: Mapping[str, Any] | None = field(default_factory=dict)
    passed: bool = False
    contradicted: bool = False
    name: str = "convert"


def make_question(
    calls: Sequence[Call],
    documents: Sequence[dict[str, Any]],
    answers: Sequence[ModelAnswer] = (),
    question: str = "Convert 5 to km.",
    number: int = 0,
    faults: Mapping[str, int] | None = None,
) -> AuditedQuestion:
    result = AuditedQuestion(
        QuestionKey("bfcl", "V4", "en", "simple", f"simple_{number}"),
        question,
        list(calls),
        list(documents),
    )
    for one in answers:
        given = Call(
            "predicted", one.name, arguments=None if one.arguments is None else dict(one.arguments)
        )
        if one.arguments is None:
            given.decode_error = "not a call"
        pairs = align_calls_by_turn(result.golden, [given])
        differences = find_differences(result.golden, [given], pairs)
        readable = one.arguments is not None
        result.answers.append(
            DistinctAnswer(list(one.runs), one.passed, one.contradicted, readable, differences)
        )
    result.faults = Counter(faults or {})
    return result


def make_profiles(rates: Sequence[float] = (0.9,) * len(MODELS)) -> dict[int, RunProfile]:
    return {
        run: RunProfile(model, find_model_family(model), rate, {"simple": rate})
        for run, (model, rate) in enumerate(zip(MODELS, rates, strict=True))
    }


def make_evidence(
    audited: AuditedQuestion, rates: Sequence[float] = (0.9,) * len(MODELS)
) -> QuestionEvidence:
    return collect_evidence(
        audited, RunWeigher(make_profiles(rates)), create_cached_schema_reader()
    )


def make_empty_index() -> GoldenAnswerIndex:
    return GoldenAnswerIndex([])


def select_kind(reasons: Sequence[Reason], kind: str) -> list[Reason]:
    return [reason for reason in reasons if reason.kind == kind]
