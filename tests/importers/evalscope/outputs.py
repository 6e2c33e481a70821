"""Read and change output folders of EvalScope in tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item, RunFact
from fcreview.model.metric import ScoredItem

Line = dict[str, Any]
MODEL = "maple-8b"


@dataclass
class Reading:
    """What was read of a folder."""

    items: dict[str, Item] = field(default_factory=dict)
    issues: list[ImportIssue] = field(default_factory=list)
    facts: list[RunFact] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        return [issue.what for issue in self.issues if issue.severity != "notice"]


def read_output(folder: Path) -> Reading:
    """Read all runs of a folder. Items with the same id in several runs must not occur."""
    reading = Reading()
    found = discover([folder])
    reading.issues += found.issues
    for plan in found.plans:
        assert plan.importer == "evalscope"
        for record in read_items(plan):
            if isinstance(record, Item):
                assert record.id not in reading.items
                reading.items[record.id] = record
                reading.issues += record.issues
            elif isinstance(record, ImportIssue):
                reading.issues.append(record)
            elif isinstance(record, RunFact):
                reading.facts.append(record)
    return reading


def copy_subset(samples: Path, target: Path, name: str, folder: str = "20261012_101530") -> Path:
    """Copy the files of one subset, `BENCHMARK_SUBSET`, with configuration and report."""
    source = samples / "evalscope" / folder
    for path in source.rglob("*"):
        is_of_subset = path.stem == name
        is_report = path.suffix == ".json" and name.startswith(path.stem)
        if is_of_subset or is_report or path.suffix == ".yaml":
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    return target


def edit_line(
    folder: Path, kind: str, name: str, index: int, change: Callable[[Line], object]
) -> None:
    """Change the line of one sample in `predictions` or `reviews`."""
    path = folder / kind / MODEL / f"{name}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["index"] == index:
            change(line)
    write_lines(path, lines)


def write_lines(path: Path, lines: list[Line]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def get_official_values(item: Item) -> dict[str, Any]:
    return {each.criterion: each.value for each in item.verdicts if each.source == "official"}


def make_scored_items(items: list[Item]) -> list[ScoredItem]:
    return [
        ScoredItem(
            item.id,
            item.category,
            item.group,
            item.official,
            values=get_official_values(item),
            metadata=item.extra.metadata,
        )
        for item in items
    ]
