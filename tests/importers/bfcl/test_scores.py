"""Score files of all versions are read: 1-based positions, counts in headers and errors in two
forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl import scores
from fcreview.importers.bfcl.dataset import Dataset, DatasetItem
from fcreview.importers.bfcl.joining import Results
from fcreview.model.item import Extra, StateDifference


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "simple_score.json"


def load(path: Path, category: str, item_ids: Sequence[str] = ()) -> scores.ScoreFile:
    dataset = Dataset()
    for item_id in item_ids:
        dataset.items.add_item(DatasetItem(item_id, category))
    return scores.load_score_file(path, category, Results(category), dataset)


def test_positions_count_from_one(path: Path, write_lines: Any, header: Any, failure: Any) -> None:
    write_lines(path, header(8, 10), failure(1), failure(10))
    scored = load(path, "relevance")
    assert list(scored.failing) == ["relevance_0", "relevance_9"]
    assert scored.is_complete
    assert scored.issues == []


def test_positions_become_ids_of_live_items(
    path: Path, write_lines: Any, header: Any, failure: Any
) -> None:
    names = ["live_simple_0-0-0", "live_simple_19-3-15"]
    write_lines(path, header(1, 2), failure(20))
    assert list(load(path, "live_simple", names).failing) == ["live_simple_19-3-15"]


def test_embedded_question_decides_and_shift_is_reported(
    path: Path, write_lines: Any, header: Any, failure: Any
) -> None:
    write_lines(
        path,
        header(0, 2),
        failure(1, prompt={"id": "simple_0"}),
        failure(5, prompt={"id": "simple_5"}),
    )
    scored = load(path, "simple")
    assert list(scored.failing) == ["simple_0", "simple_5"]
    assert [issue.item for issue in scored.issues] == ["simple_5"]


def test_text_ids_are_kept(path: Path, write_lines: Any, header: Any, failure: Any) -> None:
    write_lines(path, header(1, 2), failure("live_simple_3-2-1"))
    assert list(load(path, "live_simple").failing) == ["live_simple_3-2-1"]


def test_missing_entries_make_passes_unknown(
    path: Path, write_lines: Any, header: Any, failure: Any
) -> None:
    write_lines(path, header(1, 3), failure(1))
    scored = load(path, "simple")
    assert not scored.is_complete
    assert "header states 2 failures, but the file lists 1" in scored.issues[0].what


def test_broken_entry_names_its_item(
    path: Path, write_lines: Any, header: Any, failure: Any
) -> None:
    write_lines(path, header(1, 3), failure(1), failure(3))
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    scored = load(path, "simple")
    assert list(scored.failing) == ["simple_0", "simple_2"]
    assert scored.is_complete
    assert scored.issues[0].line == 3


def test_no_header(path: Path, write_lines: Any, failure: Any) -> None:
    write_lines(path, failure(1))
    scored = load(path, "simple")
    assert list(scored.failing) == ["simple_0"]
    assert not scored.is_complete
    assert scored.issues[0].severity == "error"


def test_empty_score_file(path: Path) -> None:
    path.touch()
    scored = load(path, "simple")
    assert (scored.failing, scored.is_complete, len(scored.issues)) == ({}, False, 1)


@pytest.mark.parametrize(
    ("record", "kind", "words"),
    [
        ({"error": ["a", "b"], "error_type": "type_error:simple"}, "type_error:simple", "a\nb"),
        (
            {
                "error": {
                    "error_type": "multi_turn:inference_error",
                    "error_message": ["no", "list"],
                }
            },
            "multi_turn:inference_error",
            "no\nlist",
        ),
        (
            {"error": {"error_type": "agentic:answer_not_found", "error_message": "none"}},
            "agentic:answer_not_found",
            "none",
        ),
        (
            {
                "error": [
                    "no match",
                    {"Model Result Index 0": {"sub_error": ["x", "y"], "sub_error_type": "t"}},
                ],
                "error_type": "p:cannot_find_match",
            },
            "p:cannot_find_match",
            "no match\nModel Result Index 0: t: x y",
        ),
        ({"error_type": "quite:new"}, "quite:new", None),
        ({}, None, None),
    ],
)
def test_error_type_and_message(
    record: dict[str, Any], kind: str | None, words: str | None
) -> None:
    assert scores.read_error_type(record) == kind
    assert scores.read_rationale(record) == words


def test_response_mismatch_names_failing_turn() -> None:
    details = {"missing_items": ["x"], "ground_truth_response (only the current turn)": ["x", "y"]}
    record = {
        "error": {
            "error_message": "... for turn 3.",
            "error_type": "multi_turn:execution_response_mismatch",
            "details": details,
        }
    }
    more = {"missing_responses": ["x"], "golden_outputs_of_turn": ["x", "y"]}
    assert make_turn_details(record) == Extra(failing_turn=3, metadata=more)


def test_state_mismatch_fails_last_executed_turn() -> None:
    executed = [{"model": [["a"]], "ground_truth": ["a"]}, {"model": [], "ground_truth": ["b"]}]
    record = {
        "error": {
            "error_message": "state differs",
            "error_type": "multi_turn:instance_state_mismatch",
            "details": {"differences": {"root": {"model": 1, "ground_truth": 2}}},
            "execution_result": executed,
        }
    }
    found = make_turn_details(record)
    assert found.failing_turn == 1
    assert found.state_differences == {"root": StateDifference(golden=2, predicted=1)}
    assert found.metadata["golden_outputs"] == [["a"], ["b"]]


@pytest.mark.parametrize("odd", ["root differs", ["root"], {"root": 1, "cwd": {"model": 1}}])
def test_odd_state_differences_are_kept(odd: Any) -> None:
    record = {"error": {"error_message": "state differs", "details": {"differences": odd}}}
    assert make_turn_details(record) == Extra(metadata={"other state differences": odd})


def test_inference_errors_name_no_turn() -> None:
    record = {"error": {"error_message": ["Error"], "error_type": "multi_turn:inference_error"}}
    assert make_turn_details(record) == Extra()


def make_turn_details(record: dict[str, Any]) -> Extra:
    extra = Extra()
    scores.add_multi_turn_details(record, extra)
    return extra
