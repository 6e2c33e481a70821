"""No field is lost in silence: a changed line gives the same reading, or an issue with its line.

The mutations are drawn from all fields of the sample runs: a field is removed, renamed, or gets a
value of another type.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from tests.examples import only_long
from tests.importers.evalscope.outputs import copy_subset, write_lines

FieldPath = tuple[Any, ...]
Operation = Literal["remove", "rename", "retype"]
OPERATIONS: tuple[Operation, ...] = ("remove", "rename", "retype")
NEW_VALUES: tuple[Any, ...] = (7, "text", [1], {"a": 1}, True)
IGNORED_FIELDS = ("perf_metrics", "latency", "ttft", "tpot", "source", "timestamp", "latency_ms")
"""Fields that say nothing about the conversation or its verdict."""
N_MUTATIONS = 60
N_MUTATIONS_OF_SWEEP = 2_000


@dataclass
class Mutation:
    operation: Operation
    path: FieldPath
    new_value: Any = None

    def apply(self, line: Any) -> None:
        *parents, name = self.path
        owner = line
        for key in parents:
            owner = owner[key]
        if self.operation == "remove":
            del owner[name]
        elif self.operation == "retype":
            owner[name] = self.new_value
        else:
            renamed = {f"{key}_x" if key == name else key: value for key, value in owner.items()}
            owner.clear()
            owner.update(renamed)


def list_field_paths(value: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths of all fields of objects at any depth."""
    if isinstance(value, dict):
        for name, field in value.items():
            if name not in IGNORED_FIELDS:
                yield (*path, name)
                yield from list_field_paths(field, (*path, name))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from list_field_paths(element, (*path, index))


def draw_mutation(line: Any, chance: random.Random) -> Mutation:
    path = chance.choice(list(list_field_paths(line)))
    old_value = line
    for key in path:
        old_value = old_value[key]
    operation = chance.choice(OPERATIONS)
    if old_value is None and operation == "retype":  # null carries nothing
        operation = "remove"
    other_values = [value for value in NEW_VALUES if type(value) is not type(old_value)]
    if isinstance(old_value, (int, float)):  # EvalScope writes verdicts as 1, 1.0 or true
        other_values = [value for value in other_values if not isinstance(value, (bool, int))]
    return Mutation(operation, path, chance.choice(other_values))


def read_folder(folder: Path) -> tuple[dict[str, Any], Counter[str]]:
    """Return what the items show, and the issues with a line by text."""
    shown: dict[str, Any] = {}
    issues: list[ImportIssue] = []
    for plan in discover([folder]).plans:
        for record in read_items(plan):
            if isinstance(record, Item):
                shown[record.id] = describe_item(record)
                issues += record.issues
            elif isinstance(record, ImportIssue):
                issues.append(record)
    return shown, Counter(issue.what for issue in issues if issue.line)


def describe_item(item: Item) -> list[Any]:
    """Return everything that an item shows of its sample, except the metadata."""
    return [
        [asdict(message) for message in item.messages],
        [asdict(call) for call in (*item.predicted, *item.golden)],
        item.functions,
        [asdict(verdict) for verdict in item.verdicts],
        (item.official, item.rule, item.incident, item.category, item.group),
        (item.extra.golden_reply, item.extra.accepted_answers, item.extra.final_answer),
        [asdict(section) for section in item.task_sections],
    ]


def list_subsets(samples: Path) -> list[tuple[str, str]]:
    """Return (folder, name of the file without its suffix) of each subset."""
    files = (samples / "evalscope").rglob("reviews/*/*.jsonl")
    return sorted((path.parts[-4], path.stem) for path in files)


@pytest.mark.parametrize(
    ("seed", "n_mutations"),
    [(1, N_MUTATIONS), pytest.param(2, N_MUTATIONS_OF_SWEEP, marks=(pytest.mark.sweep, only_long))],
)
def test_changed_fields_are_read_alike_or_reported(
    samples: Path, tmp_path: Path, seed: int, n_mutations: int
) -> None:
    chance = random.Random(seed)
    subsets = list_subsets(samples)
    unchanged = {}
    for number, (folder_name, name) in enumerate(subsets):
        folder = copy_subset(samples, tmp_path / str(number), name, folder_name)
        unchanged[folder_name, name] = (folder, *read_folder(folder))

    lost = []
    for _ in range(n_mutations):
        subset = chance.choice(subsets)
        folder, shown, issues = unchanged[subset]
        path = chance.choice(sorted(folder.rglob(f"{subset[1]}.jsonl")))
        original = path.read_bytes()
        lines = [json.loads(line) for line in original.splitlines()]
        line_number = chance.randrange(len(lines))
        mutation = draw_mutation(lines[line_number], chance)
        mutation.apply(lines[line_number])
        write_lines(path, lines)
        new_shown, new_issues = read_folder(folder)
        path.write_bytes(original)
        if new_shown != shown and not new_issues - issues:
            lost.append((path.parts[-3], subset[1], mutation))
    assert lost == []
