"""What every feature looks at, worked out once a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.golden_audit.case import Alternative, Answer, Case, Witness
from fcreview.golden_audit.facts import (
    Place,
    Voices,
    by_alike,
    places,
    voices,
)
from fcreview.model.function_schema import FunctionSchema, Parameter, read_function_schema, schema_of
from fcreview.model.item import Accept, Call


@dataclass(frozen=True, slots=True)
class Shared:
    """A difference that answers have alike, and the runs that have it."""

    place: Place
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One argument of a golden call, with what is written of it."""

    call: Call
    name: str
    accept: Accept
    document: FunctionSchema
    parameter: Parameter | None

    @property
    def words(self) -> str:
        """`argument unit of convert`."""
        return f"{self.name} of {self.call.name}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One case, ready to be judged."""

    case: Case
    voices: Voices
    witnesses: Mapping[int, Witness]
    documents: Sequence[FunctionSchema]
    differences: Sequence[tuple[Answer, list[Place]]]
    """Of the failing answers that can be read and have something to compare; not what passes in another answer."""
    shared: Sequence[Shared]
    passing: frozenset[tuple[Any, ...]]
    """`Place.alike` of what differs from golden in answers that pass."""
    wanted: Sequence[Wanted]
    """Every golden argument whose function has a document that says which parameters there are."""

    def parameter(self, function: str, argument: str) -> Parameter | None:
        document = schema_of(function, self.documents)
        return document.parameters.get(argument) if document else None

    def demanded(self, call: Call, argument: str) -> bool:
        """Whether an answer without the argument fails, as far as answers tell."""
        return (call.turn, call.index, call.name, argument, "-", "") not in self.passing

    def alternative(self, place: Place, runs: Iterable[int]) -> Alternative:
        given = list(runs)
        several = sum(call.name == place.function for call in self.case.golden) > 1 and bool(place.path)
        words = f"call {place.call + 1}, {place.words}" if several else place.words
        return Alternative(words, self.voices.names(given), self.voices.families_of(given), tuple(given))


def evidence(
    case: Case, witnesses: Mapping[int, Witness], read: Callable[[dict[str, Any]], FunctionSchema]
) -> Evidence:
    """`read` gives the document of a raw one, each once."""
    heard = voices(case, witnesses)
    passing = frozenset(place.alike for answer in case.answers if answer.passed for place in places(case, answer))
    differences = [
        (answer, kept)
        for answer in case.failing
        if answer.readable and (kept := [place for place in places(case, answer) if place.alike not in passing])
    ]
    shared = [
        Shared(place, tuple(run for run in runs if run in heard.of)) for place, runs in by_alike(differences).values()
    ]
    documents = [read(raw) for raw in case.functions]
    arguments = _wanted(case.golden, documents)
    return Evidence(case, heard, witnesses, documents, differences, shared, passing, arguments)


def _wanted(golden: Sequence[Call], documents: Sequence[FunctionSchema]) -> list[Wanted]:
    found = []
    for call in golden:
        document = schema_of(call.name, documents)
        if document is None or not document.stated:
            continue
        for name, accept in (call.arguments or {}).items():
            found.append(Wanted(call, name, accept, document, document.parameters.get(name)))
    return found


def reader() -> Callable[[dict[str, Any]], FunctionSchema]:
    """Reads function documents; the same object once."""
    known: dict[int, tuple[dict[str, Any], FunctionSchema]] = {}

    def read(raw: dict[str, Any]) -> FunctionSchema:
        if id(raw) not in known:
            known[id(raw)] = (raw, read_function_schema(raw))
        return known[id(raw)][1]

    return read
