"""No field of a file that a mapping describes is lost in silence: the reading of a changed record
is the same, an issue names its line, or the counts of `map check` name it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.mapping.counts import MappingCounts
from fcreview.importers.mapping.mapping_file import load_mapping
from fcreview.importers.mapping.read import check_items
from fcreview.model.item import ImportIssue, Item
from tests.examples import only_long
from tests.importers.mutations import (
    Mutation,
    Reading,
    choose_mutations,
    describe_item,
    find_silent_losses,
    list_mutations,
)

Records = Sequence[Any]
FIELDS = frozenset(
    {
        "args",
        "arguments",
        "attempt",
        "case",
        "content",
        "dialog",
        "error",
        "expected",
        "fn",
        "function",
        "functions",
        "id",
        "input",
        "judge",
        "judge_reason",
        "key",
        "kind",
        "label",
        "llm_judge",
        "messages",
        "met",
        "name",
        "ok",
        "outcome",
        "parameters",
        "passed",
        "Question",
        "response",
        "reviewer",
        "role",
        "task_id",
        "text",
        "tool_call_id",
        "tool_calls",
        "type",
        "verdict",
        "who",
        "why",
    }
)
"""Fields that carry a role, a text, a call, a result, an id, a tool, a verdict or its reason."""
VALID_VALUES = (("arguments", "object"), ("args", "object"), ("attempt", "number"))
"""Kinds of values that these fields may have."""
TEXTS = ("why", "error", "response")
"""Fields whose value is shown as JSON if it is not a text."""
NAMES = (("case", "id"), ("task_id",))
"""Fields that may be a number, which is read as its text."""


def is_change(mutation: Mutation) -> bool:
    """Whether a mutation gives a value that the mapping does not allow.

    The schema of a tool is shown as it is, whatever it contains.
    """
    *owners, name = mutation.path
    if "parameters" in owners or (name == "parameters" and mutation.kind == "object"):
        return False
    if mutation.kind in ("remove", "rename"):
        return True
    is_number_of_name = mutation.kind == "number" and mutation.path in NAMES
    return name not in TEXTS and not is_number_of_name


@dataclass(frozen=True, slots=True)
class MutatedFile:
    """A file whose records are changed, and the mapping that reads it."""

    mapping: Path
    path: Path

    def load(self) -> list[Any]:
        text = self.path.read_text()
        if self.path.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines()]
        records: list[Any] = json.loads(text)
        return records

    def save(self, records: Records) -> None:
        if self.path.suffix == ".jsonl":
            self.path.write_text("".join(json.dumps(record) + "\n" for record in records))
        else:
            self.path.write_text(json.dumps(records))

    def read(self, records: Records) -> Reading:
        self.save(records)
        reading = Reading([], [])
        mapping = load_mapping(self.mapping)
        for part in check_items(mapping, self.mapping.parent):
            if isinstance(part, Item):
                reading.content.append([describe_item(part), part.official, part.group])
                reading.issues += part.issues
            elif isinstance(part, ImportIssue):
                reading.issues.append(part)
            else:
                reading.issues += list_counted(part, self.path)
        return reading


def list_counted(counts: MappingCounts, path: Path) -> list[ImportIssue]:
    """Return what `map check` prints of missing values and of joins that do not match."""
    issues = []
    for key, count in counts.keys.items():
        if count.n_missing:
            issues.append(ImportIssue(str(path), 1, what=f"{key}: {count.n_missing} missing"))
    for name, join in counts.joins.items():
        lost = [*join.rows_without_item, *join.items_without_row]
        if lost:
            issues.append(ImportIssue(str(path), 1, what=f"join {name}: {lost}"))
    return issues


def check_file(file: MutatedFile, count: int) -> None:
    records = file.load()
    mutations = filter(is_change, list_mutations(records, FIELDS, VALID_VALUES))
    chosen = choose_mutations(list(mutations), count)
    assert find_silent_losses(records, chosen, file.read) == []


@pytest.mark.parametrize("name", ["orders.jsonl", "judged/oak-judge/orders.json"])
@pytest.mark.parametrize("count", [50, pytest.param(700, marks=(pytest.mark.sweep, only_long))])
def test_no_mutation_of_a_mapped_file_loses_anything_in_silence(
    samples: Path, tmp_path: Path, name: str, count: int
) -> None:
    folder = Path(shutil.copytree(samples / "mapping", tmp_path / "run"))
    check_file(MutatedFile(folder / "fcreview-map.toml", folder / name), count)


def copy_inhouse(bench: Path, folder: Path) -> MutatedFile:
    shutil.copytree(bench / "mapping", folder)
    path = folder / "inhouse.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if is_json(line)) + "\n")
    return MutatedFile(folder / "inhouse.toml", path)


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def copy_livemcpbench(bench: Path, folder: Path) -> MutatedFile:
    shutil.copytree(bench / "livemcpbench", folder / "livemcpbench")
    mapping = folder / "mapping" / "livemcpbench.toml"
    mapping.parent.mkdir()
    shutil.copy(bench / "mapping/livemcpbench.toml", mapping)
    (output,) = (folder / "livemcpbench/baseline/output").glob("*.json")
    return MutatedFile(mapping, output)


@pytest.mark.bench
@pytest.mark.sweep
@only_long
@pytest.mark.parametrize(("copy", "count"), [(copy_inhouse, 600), (copy_livemcpbench, 800)])
def test_no_mutation_of_a_published_file_loses_anything_in_silence(
    bench: Path, tmp_path: Path, copy: Callable[[Path, Path], MutatedFile], count: int
) -> None:
    check_file(copy(bench, tmp_path / "run"), count)
