"""Change single fields of records, to test that an importer loses nothing in silence.

Each mutation removes, renames or retypes one field. The reading must then be the same, or an import
issue must name the file and the line.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.model.item import ImportIssue, Item

FieldPath = tuple[str | int, ...]
KINDS = ("remove", "rename", "number", "list", "object")
REPLACEMENTS: dict[str, Any] = {"number": 17, "list": [17], "object": {"x": 1}}


@dataclass(frozen=True, slots=True)
class Mutation:
    record: int
    path: FieldPath
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} of {'.'.join(map(str, self.path))} in record {self.record}"


def list_mutations(
    records: Sequence[Any],
    fields: Collection[str],
    allowed: Collection[tuple[str, str]] = (),
) -> list[Mutation]:
    """Return the mutations of all fields with these names that have a value.

    `allowed` has (field, kind) of values that the format allows, which are then no mutation.
    """
    mutations: list[Mutation] = []
    for index, path in _list_all_paths(records, fields):
        for kind in KINDS:
            if (path[-1], kind) not in allowed:
                mutations.append(Mutation(index, path, kind))
    return mutations


def _list_all_paths(
    records: Sequence[Any], fields: Collection[str]
) -> Iterator[tuple[int, FieldPath]]:
    for index, record in enumerate(records):
        for path in _list_paths(record, fields, ()):
            yield index, path


def _list_paths(value: Any, fields: Collection[str], place: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in fields and inner not in (None, "", [], {}):
                yield (*place, name)
            yield from _list_paths(inner, fields, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _list_paths(inner, fields, (*place, index))


def apply_mutation(records: Sequence[Any], mutation: Mutation) -> list[Any]:
    changed = list(records)
    changed[mutation.record] = record = copy.deepcopy(records[mutation.record])
    *owners, name = mutation.path
    for key in owners:
        record = record[key]
    match mutation.kind:
        case "remove":
            del record[name]
        case "rename":
            record[f"{name}_"] = record.pop(name)
        case kind:
            record[name] = REPLACEMENTS[kind]
    return changed


@dataclass(slots=True)
class Reading:
    """What a reader sees of a run, and the issues of its import."""

    content: list[Any]
    issues: list[ImportIssue]

    @property
    def placed_issues(self) -> set[tuple[str, int | None, str]]:
        return {(issue.file, issue.line, issue.what) for issue in self.issues}


def describe_item(item: Item) -> Any:
    """Return what an item shows: messages, calls, golden answers, functions and verdicts."""
    return [
        item.id,
        [(message.role, message.name, message.content) for message in item.messages],
        [
            (call.name, repr(call.arguments), call.raw, call.turn, call.step)
            for call in item.predicted
        ],
        [(call.name, repr(call.arguments)) for call in item.golden],
        repr(item.functions),
        [
            (v.source, v.target, v.criterion, repr(v.value), v.rationale, v.failure)
            for v in item.verdicts
        ],
        [(section.title, section.text) for section in item.task_sections],
        repr(item.extra.accepted_answers),
        item.extra.golden_reply,
        item.incident,
    ]


def find_silent_losses(
    records: Sequence[Any],
    mutations: Sequence[Mutation],
    read: Callable[[Sequence[Any]], Reading],
) -> list[str]:
    """Return the mutations that change the reading without a new issue with a line."""
    original = read(records)
    silent: list[str] = []
    for mutation in mutations:
        reading = read(apply_mutation(records, mutation))
        new_issues = reading.placed_issues - original.placed_issues
        is_reported = any(line is not None for _, line, _ in new_issues)
        if reading.content != original.content and not is_reported:
            silent.append(str(mutation))
    return silent


def choose_mutations(mutations: Sequence[Mutation], count: int, seed: int = 0) -> list[Mutation]:
    if len(mutations) <= count:
        return list(mutations)
    return random.Random(seed).sample(mutations, count)
