"""Score files of all generations: 1-based positions, headers that count, errors in two places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl import scores
from fcreview.model.item import Extra, StateDifference


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "simple_score.json"


def test_positions_count_from_one(path: Path, lines: Any, header: Any, failing: Any) -> None:
    lines(path, header(8, 10), failing(1), failing(10))
    scored = scores.load_score_file(path, "relevance", dict)
    assert list(scored.failing) == ["relevance_0", "relevance_9"]
    assert scored.is_complete
    assert scored.issues == []


def test_positions_become_the_ids_of_live_items(path: Path, lines: Any, header: Any, failing: Any) -> None:
    names = {0: "live_simple_0-0-0", 19: "live_simple_19-3-15"}
    lines(path, header(1, 2), failing(20))
    assert list(scores.load_score_file(path, "live_simple", lambda: names).failing) == ["live_simple_19-3-15"]


def test_the_embedded_question_decides_and_a_shift_is_told(path: Path, lines: Any, header: Any, failing: Any) -> None:
    lines(path, header(0, 2), failing(1, prompt={"id": "simple_0"}), failing(5, prompt={"id": "simple_5"}))
    scored = scores.load_score_file(path, "simple", dict)
    assert list(scored.failing) == ["simple_0", "simple_5"]
    assert [issue.item for issue in scored.issues] == ["simple_5"]


def test_text_ids_stay(path: Path, lines: Any, header: Any, failing: Any) -> None:
    lines(path, header(1, 2), failing("live_simple_3-2-1"))
    assert list(scores.load_score_file(path, "live_simple", dict).failing) == ["live_simple_3-2-1"]


def test_missing_entries_make_passes_unknown(path: Path, lines: Any, header: Any, failing: Any) -> None:
    lines(path, header(1, 3), failing(1))
    scored = scores.load_score_file(path, "simple", dict)
    assert not scored.is_complete
    assert "header states 2 failures, but the file lists 1" in scored.issues[0].what


def test_a_broken_entry_still_names_its_item(path: Path, lines: Any, header: Any, failing: Any) -> None:
    lines(path, header(1, 3), failing(1), failing(3))
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    scored = scores.load_score_file(path, "simple", dict)
    assert list(scored.failing) == ["simple_0", "simple_2"]
    assert scored.is_complete
    assert scored.issues[0].line == 3


def test_no_header(path: Path, lines: Any, failing: Any) -> None:
    lines(path, failing(1))
    scored = scores.load_score_file(path, "simple", dict)
    assert list(scored.failing) == ["simple_0"]
    assert not scored.is_complete
    assert scored.issues[0].severity == "error"


def test_an_empty_score_file(path: Path) -> None:
    path.touch()
    scored = scores.load_score_file(path, "simple", dict)
    assert (scored.failing, scored.is_complete, len(scored.issues)) == ({}, False, 1)


@pytest.mark.parametrize(
    ("record", "kind", "words"),
    [
        ({"error": ["a", "b"], "error_type": "type_error:simple"}, "type_error:simple", "a\nb"),
        (
            {"error": {"error_type": "multi_turn:inference_error", "error_message": ["no", "list"]}},
            "multi_turn:inference_error",
            "no\nlist",
        ),
        (
            {"error": {"error_type": "agentic:answer_not_found", "error_message": "none"}},
            "agentic:answer_not_found",
            "none",
        ),
        (
            {"error": ["no match", {"Model Result Index 0": {"sub_error": ["x", "y"], "sub_error_type": "t"}}],
             "error_type": "p:cannot_find_match"},
            "p:cannot_find_match",
            "no match\nModel Result Index 0: t: x y",
        ),
        ({"error_type": "quite:new"}, "quite:new", None),
        ({}, None, None),
    ],
)  # fmt: skip
def test_error_type_and_words(record: dict[str, Any], kind: str | None, words: str | None) -> None:
    assert scores.read_error_type(record) == kind
    assert scores.read_rationale(record) == words


def test_the_failing_turn_of_a_response_mismatch_is_in_the_message() -> None:
    details = {"missing_items": ["x"], "ground_truth_response (only the current turn)": ["x", "y"]}
    record = {"error": {"error_message": "... for turn 3.", "error_type": "multi_turn:execution_response_mismatch",
                        "details": details}}  # fmt: skip
    more = {"missing_responses": ["x"], "golden_outputs_of_turn": ["x", "y"]}
    assert turn_details(record) == Extra(failing_turn=3, metadata=more)


def test_the_failing_turn_of_a_state_mismatch_is_the_last_executed() -> None:
    executed = [{"model": [["a"]], "ground_truth": ["a"]}, {"model": [], "ground_truth": ["b"]}]
    record = {"error": {"error_message": "state differs", "error_type": "multi_turn:instance_state_mismatch",
                        "details": {"differences": {"root": {"model": 1, "ground_truth": 2}}},
                        "execution_result": executed}}  # fmt: skip
    found = turn_details(record)
    assert found.failing_turn == 1
    assert found.state_differences == {"root": StateDifference(golden=2, predicted=1)}
    assert found.metadata["golden_outputs"] == [["a"], ["b"]]


@pytest.mark.parametrize("odd", ["root differs", ["root"], {"root": 1, "cwd": {"model": 1}}])
def test_state_differences_of_another_form_are_kept_as_they_are(odd: Any) -> None:
    record = {"error": {"error_message": "state differs", "details": {"differences": odd}}}
    assert turn_details(record) == Extra(metadata={"other state differences": odd})


def test_inference_errors_name_no_turn() -> None:
    record = {"error": {"error_message": ["Error"], "error_type": "multi_turn:inference_error"}}
    assert turn_details(record) == Extra()


def turn_details(record: dict[str, Any]) -> Extra:
    extra = Extra()
    scores.add_turn_details(record, extra)
    return extra
