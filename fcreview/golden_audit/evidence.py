"""What every feature looks at, worked out once a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.golden_audit.case import AlternativeAnswer, AuditedQuestion, DistinctAnswer, RunProfile
from fcreview.golden_audit.facts import (
    AnswerDifference,
    RunWeights,
    compute_run_weights,
    find_differences,
    group_equal_differences,
)
from fcreview.model.function_schema import FunctionSchema, Parameter, find_schema, read_function_schema
from fcreview.model.item import AcceptedValues, Call


@dataclass(frozen=True, slots=True)
class SharedDifference:
    """A difference that answers have alike, and the runs that have it."""

    difference: AnswerDifference
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GoldenArgument:
    """One argument of a golden call, with what is written of it."""

    call: Call
    name: str
    accept: AcceptedValues
    function_schema: FunctionSchema
    parameter: Parameter | None

    @property
    def label(self) -> str:
        """`argument unit of convert`."""
        return f"{self.name} of {self.call.name}"


@dataclass(frozen=True, slots=True)
class QuestionEvidence:
    """One case, ready to be judged."""

    question: AuditedQuestion
    run_weights: RunWeights
    run_profiles: Mapping[int, RunProfile]
    function_schemas: Sequence[FunctionSchema]
    differences: Sequence[tuple[DistinctAnswer, list[AnswerDifference]]]
    """Of the failing answers that can be read and have something to compare; not what passes in another answer."""
    shared_differences: Sequence[SharedDifference]
    passing_differences: frozenset[tuple[Any, ...]]
    """`Place.alike` of what differs from golden in answers that pass."""
    golden_arguments: Sequence[GoldenArgument]
    """Every golden argument whose function has a document that says which parameters there are."""

    def find_parameter(self, function: str, argument: str) -> Parameter | None:
        document = find_schema(function, self.function_schemas)
        return document.parameters.get(argument) if document else None

    def is_required(self, call: Call, argument: str) -> bool:
        """Whether an answer without the argument fails, as far as answers tell."""
        return (call.turn, call.index, call.name, argument, "-", "") not in self.passing_differences

    def build_alternative(self, place: AnswerDifference, runs: Iterable[int]) -> AlternativeAnswer:
        given = list(runs)
        several = sum(call.name == place.function for call in self.question.golden) > 1 and bool(place.path)
        words = f"call {place.golden_index + 1}, {place.label}" if several else place.label
        return AlternativeAnswer(words, self.run_weights.models_of(given), self.run_weights.families_of(given), tuple(given))


def collect_evidence(
    case: AuditedQuestion, witnesses: Mapping[int, RunProfile], read: Callable[[dict[str, Any]], FunctionSchema]
) -> QuestionEvidence:
    """`read` gives the document of a raw one, each once."""
    heard = compute_run_weights(case, witnesses)
    passing = frozenset(place.match_key for answer in case.answers if answer.passed for place in find_differences(case, answer))
    differences = [
        (answer, kept)
        for answer in case.failing_answers
        if answer.is_readable and (kept := [place for place in find_differences(case, answer) if place.match_key not in passing])
    ]
    shared = [
        SharedDifference(place, tuple(run for run in runs if run in heard.bits)) for place, runs in group_equal_differences(differences).values()
    ]
    documents = [read(raw) for raw in case.functions]
    arguments = _wanted(case.golden, documents)
    return QuestionEvidence(case, heard, witnesses, documents, differences, shared, passing, arguments)


def _wanted(golden: Sequence[Call], documents: Sequence[FunctionSchema]) -> list[GoldenArgument]:
    found = []
    for call in golden:
        document = find_schema(call.name, documents)
        if document is None or not document.lists_parameters:
            continue
        for name, accept in (call.arguments or {}).items():
            found.append(GoldenArgument(call, name, accept, document, document.parameters.get(name)))
    return found


def cached_schema_reader() -> Callable[[dict[str, Any]], FunctionSchema]:
    """Reads function documents; the same object once."""
    known: dict[int, tuple[dict[str, Any], FunctionSchema]] = {}

    def read(raw: dict[str, Any]) -> FunctionSchema:
        if id(raw) not in known:
            known[id(raw)] = (raw, read_function_schema(raw))
        return known[id(raw)][1]

    return read
