"""Fixtures that write small BFCL runs in every layout, with paths and verdicts of the run that
`v4` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import RunPlan

CATEGORY = "simple_python"
RESULT = f"result/m/non_live/BFCL_v4_{CATEGORY}_result.json"
SCORE = f"score/m/non_live/BFCL_v4_{CATEGORY}_score.json"
OFFICIAL = {f"{CATEGORY}_0": True, f"{CATEGORY}_1": False}
Lines = Callable[..., Path]
Read = tuple[list[Item], list[ImportIssue]]


def official_verdicts(found: list[Item]) -> dict[str, bool | None]:
    return {item.id: item.official for item in found}


def issue_texts(*groups: Any) -> list[str]:
    return [issue.what for group in groups for issue in group]


def write_json_lines(path: Path, *values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")
    return path


@pytest.fixture
def write_lines() -> Lines:
    """`write_lines(path, record, ...)` writes JSON Lines without a final line feed, like the
    evaluator.
    """
    return write_json_lines


@pytest.fixture
def question() -> Callable[..., dict[str, Any]]:
    """Make a single-turn question record with the function `area(base, height)`."""

    def make(item: str, text: str = "How large is it?", *, v1: bool = False) -> dict[str, Any]:
        properties = {"base": {"type": "integer"}, "height": {"type": "integer"}}
        document = {
            "name": "area",
            "description": "Area of a triangle.",
            "parameters": {
                "type": "dict",
                "properties": properties,
                "required": ["base", "height"],
            },
        }
        if v1:
            return {"id": item, "question": text, "function": document}
        return {
            "id": item,
            "question": [[{"role": "user", "content": text}]],
            "function": [document],
        }

    return make


@pytest.fixture
def result() -> Callable[..., dict[str, Any]]:
    """Make a result record with the native call `area(base=..., height=5)`."""

    def make(item: Any, base: int = 10, key: str = "id") -> dict[str, Any]:
        arguments = json.dumps({"base": base, "height": 5})
        return {key: item, "result": [{"area": arguments}], "input_token_count": 7, "latency": 0.5}

    return make


@pytest.fixture
def header() -> Callable[[int, int], dict[str, Any]]:
    def make(correct: int, total: int) -> dict[str, Any]:
        return {"accuracy": correct / max(total, 1), "correct_count": correct, "total_count": total}

    return make


@pytest.fixture
def failure() -> Callable[..., dict[str, Any]]:
    """Make a failing score entry with additional fields."""

    def make(item: Any, **more: Any) -> dict[str, Any]:
        return {
            "id": item,
            "model_name": "m",
            "test_category": "c",
            "valid": False,
            "error": ["Invalid value for parameter 'base': 11."],
            "error_type": "value_error:others",
            "model_result_raw": [{"area": '{"base": 11, "height": 5}'}],
            **more,
        }

    return make


@pytest.fixture
def plans() -> Callable[..., list[RunPlan]]:
    def find(*paths: Path, data: Sequence[Path] = ()) -> list[RunPlan]:
        return discover(paths, data=data).plans

    return find


@pytest.fixture
def items() -> Callable[[RunPlan], Read]:
    """Read a plan and return its items and the issues without an item."""

    def read(plan: RunPlan) -> Read:
        found = list(read_items(plan))
        return (
            [one for one in found if isinstance(one, Item)],
            [one for one in found if isinstance(one, ImportIssue)],
        )

    return read


GOLDEN = {"ground_truth": [{"area": {"base": [10], "height": [5]}}]}


@pytest.fixture
def v4(tmp_path: Path, question: Any, result: Any, header: Any, failure: Any) -> Path:
    """A run with dataset and scores in the V4 layout: one passing and one failing simple_python
    item.
    """
    name = "BFCL_v4_simple_python"
    ids = ["simple_python_0", "simple_python_1"]
    write_json_lines(tmp_path / f"data/{name}.json", *(question(item) for item in ids))
    write_json_lines(
        tmp_path / f"data/possible_answer/{name}.json", *({"id": item, **GOLDEN} for item in ids)
    )
    write_json_lines(
        tmp_path / f"result/m/non_live/{name}_result.json", result(ids[0]), result(ids[1], 11)
    )
    entry = failure(ids[1], prompt=question(ids[1]), possible_answer=GOLDEN["ground_truth"])
    write_json_lines(tmp_path / f"score/m/non_live/{name}_score.json", header(1, 2), entry)
    return tmp_path
