"""Criteria of a rubric in a Harbor trial are judge verdicts with their reasons."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item, Verdict

TRIAL = "count-lines__aaaaaa1"


def read_trial(samples: Path, tmp_path: Path, rubric: Any) -> Item:
    job = Path(shutil.copytree(samples / "atif" / "jobs", tmp_path / "jobs"))
    (trial,) = job.rglob(TRIAL)
    (trial / "verifier").mkdir(exist_ok=True)
    (trial / "verifier" / "rubric_breakdown.json").write_text(json.dumps(rubric))
    for plan in discover([job]).plans:
        for record in read_items(plan):
            if isinstance(record, Item) and record.id == TRIAL:
                return record
    raise AssertionError("the trial was not imported")


def list_judge_verdicts(item: Item) -> list[Verdict]:
    return [verdict for verdict in item.verdicts if verdict.source == "judge"]


def test_results_of_mcp_atlas_tasks_are_verdicts(samples: Path, tmp_path: Path) -> None:
    results = [
        {"id": "a", "title": "Names the file", "score": 1.0, "result": True, "justification": "ok"},
        {"id": "b", "title": "Counts lines", "score": 0.0, "result": False, "justification": "no"},
        {"id": "c", "title": "Is short", "score": 0.5, "result": False, "justification": "nearly"},
    ]
    item = read_trial(samples, tmp_path, {"score": 0.5, "results": results})
    verdicts = list_judge_verdicts(item)
    assert [(v.target, v.criterion, v.value) for v in verdicts] == [
        ("response", "rubric 1", True),
        ("response", "rubric 2", False),
        ("response", "rubric 3", 0.5),
    ]
    assert verdicts[1].rationale == "no\ncriterion: Counts lines"
    (section,) = [section for section in item.task_sections if section.title == "Rubric"]
    assert section.text == "1. Names the file\n2. Counts lines\n3. Is short"
    assert item.issues == []


def test_weights_are_no_verdicts_and_mistakes_must_not_hold(samples: Path, tmp_path: Path) -> None:
    criteria = [
        {"number": "1", "criterion": "Reads the file", "score": 5, "satisfied": False},
        {
            "number": "2",
            "criterion": "Deletes the file",
            "score": -3,
            "is_positive": False,
            "satisfied": False,
        },
    ]
    item = read_trial(samples, tmp_path, {"score": 0.0, "per_criterion": criteria})
    verdicts = list_judge_verdicts(item)
    assert [verdict.value for verdict in verdicts] == [False, True]
    assert verdicts[1].rationale == "criterion: must not hold: Deletes the file"


def test_failed_judge_is_flagged(samples: Path, tmp_path: Path) -> None:
    item = read_trial(samples, tmp_path, {"score": 0.0, "error": "HTTP 503", "results": []})
    (verdict,) = list_judge_verdicts(item)
    assert (verdict.value, verdict.failure, item.flags) == (None, "HTTP 503", ["judge_failed"])
    assert item.incident is None


@pytest.mark.parametrize(
    ("rubric", "what"),
    [
        ({"score": 1.0}, "no list of criteria"),
        ({"results": 17}, "no list of criteria"),
        ({"results": ["x"]}, "criterion 1 has no verdict"),
        ({"results": [{"title": "T", "score": "1"}]}, "criterion 1 has no verdict"),
        ({"results": [{"title": 17, "score": 1}]}, "criterion 1 has no text"),
        ([], "not a JSON object"),
    ],
)
def test_unreadable_rubric_is_reported_with_its_file(
    samples: Path, tmp_path: Path, rubric: Any, what: str
) -> None:
    item = read_trial(samples, tmp_path, rubric)
    issues = [issue for issue in item.issues if what in issue.what]
    assert [(Path(issue.file).name, issue.line) for issue in issues] == [
        ("rubric_breakdown.json", 1)
    ]
