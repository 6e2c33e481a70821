"""Collect the evidence about one question for all checks of the audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.golden_audit.facts import RunWeigher, RunWeights, group_equal_differences
from fcreview.golden_audit.question import AlternativeAnswer, AnswerDifference, AuditedQuestion, DistinctAnswer
from fcreview.model.function_schema import FunctionSchema, Parameter, find_schema, read_function_schema
from fcreview.model.item import AcceptedValues, Call


@dataclass(frozen=True, slots=True)
class SharedDifference:
    """A difference from the golden answer and the runs that have it."""

    difference: AnswerDifference
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GoldenArgument:
    """An argument of a golden call, with its function docs."""

    call: Call
    name: str
    accept: AcceptedValues
    function_schema: FunctionSchema
    parameter: Parameter | None
    """Documented parameter; None if the function docs do not list the argument."""

    @property
    def label(self) -> str:
        """Name of the argument in messages: `unit of convert`."""
        return f"{self.name} of {self.call.name}"


@dataclass(frozen=True, slots=True)
class QuestionEvidence:
    """A question with the evidence from the answers of the runs and from the function docs."""

    question: AuditedQuestion
    run_weights: RunWeights
    function_schemas: Sequence[FunctionSchema]
    differences: Sequence[tuple[DistinctAnswer, list[AnswerDifference]]]
    """Readable failing answers, each with the differences from the golden answer. Differences that also occur in a
    passing answer are excluded. Answers without any other difference are excluded too."""
    shared_differences: Sequence[SharedDifference]
    passing_differences: frozenset[tuple[Any, ...]]
    """`AnswerDifference.match_key` of the differences of passing answers."""
    golden_arguments: Sequence[GoldenArgument]
    """Arguments of golden calls whose function docs list parameters."""

    def find_parameter(self, function: str, argument: str) -> Parameter | None:
        """Return the documented parameter; None if the function docs do not list it."""
        schema = find_schema(function, self.function_schemas)
        return schema.parameters.get(argument) if schema else None

    def is_required(self, call: Call, argument: str) -> bool:
        """Whether no passing answer omits the argument."""
        return (call.turn, call.index, call.name, argument, "-", "") not in self.passing_differences

    def build_alternative(self, difference: AnswerDifference, runs: Iterable[int]) -> AlternativeAnswer:
        """Build the alternative answer that these runs gave. Its text names the call if several golden calls have the
        same function."""
        runs = tuple(runs)
        several = sum(call.name == difference.function for call in self.question.golden) > 1 and bool(difference.path)
        text = f"call {difference.golden_index + 1}, {difference.label}" if several else difference.label
        return AlternativeAnswer(text, self.run_weights.models_of(runs), self.run_weights.families_of(runs), runs)


def collect_evidence(
    question: AuditedQuestion, weigher: RunWeigher, read_schema: Callable[[dict[str, Any]], FunctionSchema]
) -> QuestionEvidence:
    """Collect the evidence about a question. `read_schema` parses function docs (`create_schema_reader`)."""
    weights = weigher.compute_weights(question)
    passing = frozenset(
        difference.match_key for answer in question.answers if answer.passed for difference in answer.differences
    )
    differences = []
    remaining: dict[int, list[AnswerDifference]] = {}
    for answer in question.failing_answers:
        found, at = answer.differences if answer.is_readable else (), id(answer.differences)
        if at not in remaining:
            remaining[at] = [difference for difference in found if difference.match_key not in passing]
        if remaining[at]:
            differences.append((answer, remaining[at]))
    shared = [
        SharedDifference(difference, tuple(run for run in runs if run in weights.bits))
        for difference, runs in group_equal_differences(differences)
    ]
    schemas = [read_schema(raw) for raw in question.functions]
    arguments = _list_golden_arguments(question.golden, schemas)
    return QuestionEvidence(question, weights, schemas, differences, shared, passing, arguments)


def _list_golden_arguments(golden: Sequence[Call], schemas: Sequence[FunctionSchema]) -> list[GoldenArgument]:
    arguments = []
    for call in golden:
        schema = find_schema(call.name, schemas)
        if schema is not None and schema.lists_parameters:
            for name, accept in (call.arguments or {}).items():
                arguments.append(GoldenArgument(call, name, accept, schema, schema.parameters.get(name)))
    return arguments


def create_schema_reader() -> Callable[[dict[str, Any]], FunctionSchema]:
    """Return a function that parses function docs. It parses each object once."""
    cache: dict[int, tuple[dict[str, Any], FunctionSchema]] = {}

    def read_schema(raw: dict[str, Any]) -> FunctionSchema:
        if id(raw) not in cache:
            cache[id(raw)] = (raw, read_function_schema(raw))  # The reference to `raw` keeps its id unique.
        return cache[id(raw)][1]

    return read_schema
