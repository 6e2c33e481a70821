"""`map propose` writes a mapping file that reads the first records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.mapping.check import check_mapping_file
from fcreview.importers.mapping.propose import propose_mapping

DIALOG = [
    {"role": "user", "content": "Book a table."},
    {"role": "assistant", "content": "Which day?"},
]


def propose_and_check(path: Path, folder: Path) -> dict[str, int]:
    """Propose a mapping, check it, and return how many items have each key."""
    proposal = propose_mapping(path, folder)
    assert proposal is not None
    mapping = folder / "fcreview-map.toml"
    mapping.write_text(proposal.text)
    report = check_mapping_file(mapping)
    assert report.problems == []
    return {key: count.n_found for key, count in report.counts.keys.items()}


def test_rows_are_proposed_with_judge_and_person(bench: Path, tmp_path: Path) -> None:
    found = propose_and_check(bench / "mapping/inhouse.jsonl", tmp_path)
    assert found["item.messages"] == found["item.golden"] == found["item.tools"] == 5
    assert (found["judge[0].verdict"], found["human[0].verdict"]) == (2, 1)
    assert found["item.trial"] == 5


def test_trials_as_keys_of_an_object_are_proposed(bench: Path, tmp_path: Path) -> None:
    found = propose_and_check(bench / "mapping/runs", tmp_path)
    assert found["item.id"] == found["item.trial"] == found["item.model"] == 6
    assert (found["item.verdict"], found["item.error"]) == (6, 3)


def test_table_with_json_in_cells_is_proposed(bench: Path, tmp_path: Path) -> None:
    found = propose_and_check(bench / "mcp_atlas/scored/scored_mock-model.csv", tmp_path)
    assert found["item.messages"] == found["item.tools"] == found["item.golden"] == 7


def test_parquet_is_proposed(bench: Path, tmp_path: Path) -> None:
    found = propose_and_check(bench / "mapping/inhouse.parquet", tmp_path)
    assert (found["item.id"], found["item.messages"], found["item.verdict"]) == (5, 5, 3)


FORMS: dict[str, Any] = {
    # One object a file: Toolathlon.
    "gpt_desk-task.json": {"messages": DIALOG, "pass": True, "failure": None},
    # A list of results in a document: MCP-Bench, which judges with numbers.
    "bench.json": {
        "model": "m",
        "results": [{"task_id": "a", "task_completion_score": 7.5, "messages": DIALOG}],
    },
    # Conversations with rewards: VitaBench, after tau.
    "vita.json": [{"task_id": "t", "trial": 0, "messages": DIALOG, "reward": 1.0}],
}


@pytest.mark.parametrize("name", FORMS)
def test_published_forms_are_proposed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps(FORMS[name]))
    found = propose_and_check(tmp_path / name, tmp_path)
    assert found["item.id"] == found["item.messages"] == 1
    assert "item.verdict" in found or "item.metadata" in found


def test_file_without_objects_gives_no_proposal(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("1\n2\n")
    assert propose_mapping(tmp_path / "rows.jsonl", tmp_path) is None


def test_proposal_shows_three_items(samples: Path, tmp_path: Path) -> None:
    proposal = propose_mapping(samples / "mapping/orders.jsonl", tmp_path)
    assert proposal is not None
    assert [item.id for item in proposal.items] == [
        "lunch-1_trial_1",
        "lunch-1_trial_2",
        "lunch-2_trial_1",
    ]
