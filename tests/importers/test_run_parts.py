"""The parts of a run, read one after the other, give what the whole run gives."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview import run_plan
from fcreview.importers.common import budgets, jsonl
from fcreview.importers.common.jsonl import (
    LineRange,
    read_records,
    read_records_in_range,
    split_into_line_ranges,
)
from fcreview.importers.inspect import parts as inspect_parts
from fcreview.importers.registry import discover, read_items, split_run
from fcreview.model.item import ImportIssue, PartSummary, ReadRecord, Run
from fcreview.run_plan import DependentParts, RunPlan

ROOT = Path(__file__).resolve().parents[2]
SPLIT_BENCHMARKS = {"bfcl", "generic", "inspect"}
"""Benchmarks whose importer divides large runs."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide even the smallest runs."""
    monkeypatch.setattr(run_plan, "MIN_PART_BYTES", 1)
    monkeypatch.setattr(jsonl, "MIN_PART_BYTES", 1)
    monkeypatch.setattr(inspect_parts, "PART_BYTES", 1)


def read_in_parts(plan: RunPlan) -> tuple[list[ReadRecord], Run]:
    """Return the records of the parts of a run and of its end, and what reading set in the run."""
    records: list[ReadRecord] = []
    summaries = []
    official_metrics: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for part in split_run(plan):
        plan_of_part = replace(deepcopy(plan), part=part)
        *records_of_part, summary = read_items(plan_of_part)
        assert isinstance(summary, PartSummary)
        records += records_of_part
        summaries.append(summary.content)
        official_metrics |= plan_of_part.run.official_metrics
        settings |= plan_of_part.run.settings

    plan_of_end = replace(deepcopy(plan), part_summaries=summaries)
    plan_of_end.run.official_metrics |= official_metrics
    plan_of_end.run.settings |= settings
    records += read_items(plan_of_end)
    return records, plan_of_end.run


def list_plans(path: Path) -> list[RunPlan]:
    """Return the runs that consist of at least two parts."""
    return [plan for plan in discover([path]).plans if len(split_run(plan)) > 1]


@pytest.mark.parametrize("benchmark", sorted(SPLIT_BENCHMARKS))
def test_parts_of_a_run_give_the_records_of_the_whole_run(benchmark: str) -> None:
    plans = list_plans(ROOT / "sample_runs" / benchmark)
    assert plans
    for plan in plans:
        in_parts, run_in_parts = read_in_parts(plan)
        assert in_parts == list(read_items(plan))
        assert run_in_parts.official_metrics == plan.run.official_metrics
        assert run_in_parts.settings == plan.run.settings


def test_generic_ids_in_two_parts_need_the_whole_run(tmp_path: Path) -> None:
    row = {"id": "a", "category": "c", "messages": [{"role": "user", "content": "Hi"}]}
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for _ in range(40)))
    (plan,) = list_plans(tmp_path)
    with pytest.raises(DependentParts):
        read_in_parts(plan)


def test_bfcl_scores_of_other_replies_need_the_whole_run(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "sample_runs" / "bfcl", tmp_path / "run")
    for path in folder.glob("result/*/**/*.json"):
        results = [json.loads(line) for line in path.read_text().splitlines()]
        other_results = [result | {"result": "[other()]"} for result in results]
        path.write_text("".join(json.dumps(result) + "\n" for result in other_results))
    plans = list_plans(folder)
    assert plans
    for plan in plans:
        with pytest.raises(DependentParts):
            read_in_parts(plan)


def write_log(
    folder: Path, samples: Sequence[dict[str, Any]], *, has_summaries: bool = True
) -> RunPlan:
    """Write an archive with the samples, and return the plan of its run."""
    folder.mkdir()
    fields = {"task": "t", "task_id": "t", "model": "m", "created": "2026-09-01T10:00:00+00:00"}
    header = {"version": 2, "status": "success", "eval": fields, "results": None}
    with zipfile.ZipFile(folder / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(header))
        for number, sample in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
        if has_summaries:
            archive.writestr("summaries.json", json.dumps(samples))
        archive.writestr("header.json", json.dumps(header))
    (plan,) = discover([folder]).plans
    return plan


def make_sample(sample_id: Any, **fields: Any) -> dict[str, Any]:
    return {"id": sample_id, "epoch": 1, "scores": {"match": {"value": "C"}}} | fields


def test_inspect_samples_with_one_id_in_two_parts_need_the_whole_run(tmp_path: Path) -> None:
    """The same sample is imported once, and equal texts of two ids become two item ids."""
    for name, ids in (("same", ["a", "b", "a"]), ("text", [7, "b", "7"])):
        plan = write_log(tmp_path / name, [make_sample(sample_id) for sample_id in ids])
        with pytest.raises(DependentParts):
            read_in_parts(plan)


def test_inspect_archive_above_its_budget_needs_the_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [make_sample(number, input="x" * 1_000_000) for number in range(4)]
    plan = write_log(tmp_path / "log", samples)
    monkeypatch.setattr(budgets, "MIN_ARCHIVE_BYTES", 30_000_000)
    assert len(read_in_parts(plan)[0]) == len(list(read_items(plan)))
    monkeypatch.setattr(budgets, "MAX_EXPANSION", 1)
    monkeypatch.setattr(budgets, "MIN_ARCHIVE_BYTES", 7_000_000)
    with pytest.raises(DependentParts):
        read_in_parts(plan)


def test_inspect_logs_without_summaries_or_scores_are_not_divided(tmp_path: Path) -> None:
    """Each part would read all samples to find their scores."""
    samples = [make_sample(number) for number in range(3)]
    assert len(split_run(write_log(tmp_path / "log", samples))) == 3
    assert split_run(write_log(tmp_path / "active", samples, has_summaries=False)) == []
    unscored = [make_sample(number, scores={}) for number in range(3)]
    assert split_run(write_log(tmp_path / "unscored", unscored)) == []


def make_lines(rng: random.Random) -> bytes:
    """Return JSON Lines with blank and broken lines, and with LF or CR LF at the line ends."""
    lines = [b'{"a": 1}', b"", b" ", b'{"b": "\\u2028 \xe2\x80\xa8"}', b"{broken", b'"text"']
    content = b'{"first": 0}\n'
    for _ in range(rng.randrange(60)):
        content += rng.choice(lines) + rng.choice([b"\n", b"\n", b"\r\n"])
    return content + rng.choice(lines)


def test_ranges_of_lines_give_all_records_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    rng = random.Random(1)
    for _ in range(40):
        path.write_bytes(make_lines(rng))
        parts = split_into_line_ranges(path)
        assert read_all_ranges(path, [part.selection for part in parts]) == list(read_records(path))

        size = path.stat().st_size
        bounds = sorted(rng.choices(range(size + 5), k=4))
        starts = [0, *bounds]
        ends = [*bounds, None]
        ranges = [LineRange(start, end) for start, end in zip(starts, ends, strict=True)]
        assert read_all_ranges(path, ranges) == list(read_records(path))


def read_all_ranges(path: Path, ranges: Sequence[LineRange]) -> list[Any]:
    return [record for lines in ranges for record in read_records_in_range(path, lines)]


def test_last_range_of_lines_has_the_lines_of_a_file_that_grew(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n')
    ranges = [part.selection for part in split_into_line_ranges(path)]
    with path.open("a") as file:
        file.write('{"a": 3}\n')
    values = [record.value for record in read_all_ranges(path, ranges)]
    assert values == [{"a": 1}, {"a": 2}, {"a": 3}]


@pytest.mark.parametrize(
    "content", [b'[\n{"a": 1},\n{"a": 2}\n]', b"\x1f\x8b zip", b'{\n"a": 1\n}']
)
def test_other_forms_than_lines_are_not_divided(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(content)
    assert split_into_line_ranges(path) == []


def test_range_of_a_file_that_is_gone_is_an_issue(tmp_path: Path) -> None:
    (issue,) = read_records_in_range(tmp_path / "gone.jsonl", LineRange(5, None))
    assert isinstance(issue, ImportIssue)
    assert issue.severity == "error"
