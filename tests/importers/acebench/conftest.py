"""Fixtures that write small ACEBench runs, and helpers that read runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item, MissingItem, RunFact
from fcreview.run_plan import ImportOption, RunPlan

CASES = Path(__file__).parents[2] / "cases" / "acebench"
FUNCTION = {
    "name": "find",
    "parameters": {
        "type": "object",
        "properties": {"place": {"type": "string"}},
        "required": ["place"],
    },
}
SINGLE = "normal_single_turn_single_function"
PARALLEL = "normal_single_turn_parallel_function"
MULTI_TURN = "normal_multi_turn_user_adjust"


@dataclass
class ReadRun:
    """Everything that an importer yields for a run."""

    items: dict[str, Item] = field(default_factory=dict)
    facts: dict[str, RunFact] = field(default_factory=dict)
    not_run: list[MissingItem] = field(default_factory=list)
    issues: list[ImportIssue] = field(default_factory=list)

    @property
    def verdicts(self) -> dict[str, bool | None]:
        return {item_id: item.rule for item_id, item in self.items.items()}

    @property
    def official_verdicts(self) -> dict[str, bool | None]:
        return {item_id: item.official for item_id, item in self.items.items()}


def read_run(plan: RunPlan, **options: str) -> ReadRun:
    """Read a run with import options such as `evaluator="2025-08"`."""
    names: dict[str, ImportOption] = {"evaluator": "evaluator"}
    plan.options = {names[name]: value for name, value in options.items()}
    run = ReadRun(issues=list(plan.issues))
    for record in read_items(plan):
        match record:
            case Item():
                run.items[record.id] = record
                run.issues += record.issues
            case RunFact():
                run.facts[record.name] = record
            case MissingItem():
                run.not_run.append(record)
            case ImportIssue():
                run.issues.append(record)
    return run


def write_jsonl(path: Path, records: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8"
    )
    return path


@dataclass
class RunWriter:
    """Writes the dataset, results and scores of one model, category by category."""

    root: Path
    language: str = "en"
    model: str = "m"

    def write_dataset(self, category: str, golden: list[Any]) -> None:
        folder = self.root / f"data_all/data_{self.language}"
        ids = [f"{category}_{number}" for number in range(len(golden))]
        questions = [
            {"id": each, "question": "user: Where?", "function": [FUNCTION], "time": ""}
            for each in ids
        ]
        answers = [
            {"id": each, "ground_truth": truth} for each, truth in zip(ids, golden, strict=True)
        ]
        write_jsonl(folder / f"data_{category}.json", questions)
        write_jsonl(folder / f"possible_answer/data_{category}.json", answers)

    def write_results(self, category: str, replies: list[Any]) -> None:
        records = [
            {"id": f"{category}_{number}", "result": reply} for number, reply in enumerate(replies)
        ]
        write_jsonl(
            self.root
            / f"result_all/result_{self.language}/{self.model}/data_{category}_result.json",
            records,
        )

    def write_scores(self, category: str, entries: list[Any], total: int) -> None:
        header = {"accuracy": 0.5, "correct_count": total - len({entry["id"] for entry in entries})}
        records = [header | {"total_count": total}, *entries]
        write_jsonl(
            self.root / f"score_all/score_{self.language}/{self.model}/data_{category}_score.json",
            records,
        )

    def read(self, **options: str) -> ReadRun:
        (plan,) = discover([self.root]).plans
        return read_run(plan, **options)


@pytest.fixture
def run_writer(tmp_path: Path) -> RunWriter:
    return RunWriter(tmp_path)


def make_failure(
    category: str, number: int, error_type: str, quoted: Any, **fields: Any
) -> dict[str, Any]:
    """Make the score entry of a failing normal item."""
    quote = {"model_result_raw" if error_type == "wrong_output_format" else "model_result": quoted}
    entry = {"id": f"{category}_{number}", "valid": False, "error": ["e"], "error_type": error_type}
    return entry | quote | fields
