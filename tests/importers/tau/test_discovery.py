"""Recognition of tau-bench files by their start."""

import json
from pathlib import Path

import pytest

from fcreview.importers.registry import discover

RUN = {"info": {"agent_info": {"llm": "m"}, "num_trials": 1}, "tasks": [], "simulations": []}


def find_benchmarks(path: Path) -> list[str]:
    return [plan.run.benchmark for plan in discover([path]).plans]


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_document_is_recognised_in_any_layout(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(RUN, indent=indent))
    assert find_benchmarks(file) == ["tau"]


def test_json_lines_are_recognised_by_their_first_line(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    other_record = json.dumps({"other": 1})
    file.write_text(f"{json.dumps(RUN)}\n{other_record}\n")
    assert find_benchmarks(file) == ["tau"]
    file.write_text(f"{other_record}\n{json.dumps(RUN)}\n")
    assert find_benchmarks(file) == []
