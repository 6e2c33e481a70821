"""Tasks of MCP-Atlas whose answer is not the model's are incidents, or have an issue."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover
from fcreview.model.item import Item
from tests.importers.run_reading import read_runs

COLUMNS = ["task_id", "PROMPT", "raw_conversation_history", "response", "errors"]
PROMPT = {"role": "user", "content": "How many beds?"}
SEARCH = {
    "role": "assistant",
    "content": "I look at the beds.",
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "garden_list", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "3 beds"}]}
ANSWER = {"role": "assistant", "content": "There are 3 beds."}
RATE_LIMIT = "Error code: 429 - {'error': {'message': 'Rate limit reached'}}"
FAILED_REQUEST = {"message": "Request failed with status code 503", "serverResponse": None}
LIMIT = {"reason": "max_tool_calls_reached", "maxToolCalls": 100, "totalToolCalls": 100}


def read_task(folder: Path, conversation: Any, response: str, errors: Any = None) -> Item:
    """Read an output of the model. `conversation`: messages, or the text of the cell."""
    path = folder / "outputs.csv"
    cell = conversation if isinstance(conversation, str) else json.dumps(conversation)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        errors_cell = "" if errors is None else json.dumps(errors)
        writer.writerow(["t-1", "How many beds?", cell, response, errors_cell])
    (item,), _ = read_runs(discover([path]).plans)
    return item


def describe(item: Item) -> tuple[str | None, str | None]:
    return item.incident, item.incident_certainty


def list_issues(item: Item) -> list[str]:
    assert all(issue.line == 2 for issue in item.issues)
    return [issue.what for issue in item.issues]


def test_ordinary_answer_has_neither_incident_nor_issue(tmp_path: Path) -> None:
    item = read_task(tmp_path, [PROMPT, SEARCH, RESULT, ANSWER], "There are 3 beds.")
    assert (describe(item), list_issues(item)) == ((None, None), [])


def test_other_final_answer_than_the_last_message_is_no_sign(tmp_path: Path) -> None:
    item = read_task(tmp_path, [PROMPT, SEARCH, RESULT], "There are 3 beds.")
    assert (describe(item), list_issues(item)) == ((None, None), [])


@pytest.mark.parametrize("conversation", ["", "[]", [PROMPT]])
def test_error_text_without_a_message_of_the_model_is_an_incident(
    tmp_path: Path, conversation: Any
) -> None:
    item = read_task(tmp_path, conversation, RATE_LIMIT)
    assert (describe(item), list_issues(item)) == (("rate_limit", "rule"), [])


def test_error_text_of_the_model_is_an_issue(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": RATE_LIMIT}
    item = read_task(tmp_path, [PROMPT, SEARCH, RESULT, reply], RATE_LIMIT)
    assert describe(item) == (None, None)
    (issue,) = list_issues(item)
    assert "looks like an error message of a service (rate limit)" in issue


def test_error_text_beside_an_unreadable_conversation_is_an_issue(tmp_path: Path) -> None:
    item = read_task(tmp_path, '[{"role": ', RATE_LIMIT)
    assert describe(item) == (None, None)
    assert any("looks like an error message" in issue for issue in list_issues(item))


def test_answer_without_a_message_of_the_model_is_an_issue(tmp_path: Path) -> None:
    item = read_task(tmp_path, "[]", "There are 3 beds.")
    assert describe(item) == (None, None)
    assert list_issues(item) == [
        "there is an answer, but the conversation has no message of the model"
    ]


@pytest.mark.parametrize("response", ["", "I look at the beds."])
def test_conversation_that_ends_with_a_result_is_an_issue(tmp_path: Path, response: str) -> None:
    item = read_task(tmp_path, [PROMPT, SEARCH, RESULT], response)
    assert describe(item) == (("empty_reply", "weak") if not response else (None, None))
    (issue,) = list_issues(item)
    assert issue.startswith("the conversation ends with the result of a tool")


def test_empty_conversation_without_an_answer_is_an_issue(tmp_path: Path) -> None:
    item = read_task(tmp_path, "[]", "")
    assert describe(item) == ("empty_reply", "weak")
    (issue,) = list_issues(item)
    assert "the first request to the model probably failed" in issue


@pytest.mark.parametrize(
    ("error", "incident"),
    [
        (FAILED_REQUEST, ("server", "marked")),
        (LIMIT, ("limit", "marked")),
        ("max_turns_reached", ("limit", "marked")),
    ],
)
def test_stated_error_explains_a_missing_answer(
    tmp_path: Path, error: Any, incident: tuple[str, str]
) -> None:
    item = read_task(tmp_path, [PROMPT, SEARCH, RESULT], "", errors=[error])
    assert (describe(item), list_issues(item)) == (incident, [])
    assert item.ended is not None


def test_stated_error_beside_an_answer_is_an_issue(tmp_path: Path) -> None:
    item = read_task(
        tmp_path, [PROMPT, SEARCH, RESULT, ANSWER], "There are 3 beds.", errors=[FAILED_REQUEST]
    )
    assert describe(item) == (None, None)
    assert list_issues(item) == [
        "errors has a failed request to the model, so the answer may be cut"
    ]


def test_error_of_a_tool_beside_an_answer_is_no_sign(tmp_path: Path) -> None:
    errors = [{"message": "Failed to call tool garden_list"}]
    item = read_task(tmp_path, [PROMPT, SEARCH, RESULT, ANSWER], "There are 3 beds.", errors=errors)
    assert (describe(item), list_issues(item)) == ((None, None), [])


# -- scored files


def score_task(folder: Path, details: Any, response: str, coverage: str) -> Item:
    path = folder / "scored_maple-8b.csv"
    cells = {
        "TASK": "t-1",
        "PROMPT": "How many beds?",
        "GTFA_CLAIMS": '["There are three beds."]',
        "raw_conversation_history": json.dumps([PROMPT, ANSWER | {"content": response}]),
        "response": response,
        "coverage_score": coverage,
        "coverage_details_json": json.dumps(details),
    }
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(cells))
        writer.writeheader()
        writer.writerow(cells)
    (item,), _ = read_runs(discover([path]).plans)
    return item


def test_task_that_could_not_be_scored_has_a_failed_verdict(tmp_path: Path) -> None:
    details = {"coverage_score": None, "explanation": "Failed: 'NoneType' has no attribute 'get'"}
    item = score_task(tmp_path, details, "There are 3 beds.", "")
    assert item.official is None
    assert [verdict.failure for verdict in item.verdicts] == [details["explanation"]]
    assert item.flags == ["judge_failed"]


def test_answer_that_the_scorer_took_for_empty_is_an_issue(tmp_path: Path) -> None:
    claim = {
        "claim": "There are three beds.",
        "score": 0.0,
        "covered": False,
        "reason": "Empty or error response",
    }
    item = score_task(tmp_path, {"per_claim": [claim]}, "N/A", "0.0")
    assert list_issues(item) == [
        "the scorer did not show the answer to the judge, although it is not empty"
    ]
