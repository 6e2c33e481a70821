"""What current versions of the programs write is read, or named with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import ImportIssue
from tests.importers.sessions.test_sessions import (
    answer,
    claude,
    codex,
    find_notes,
    list_calls,
    read_one,
    use,
    write_lines,
)

Json = dict[str, Any]


def list_issues(issues: list[ImportIssue]) -> list[tuple[int | None, str]]:
    return [(issue.line, issue.what) for issue in issues]


# -- Claude Code

TALK = [
    claude("u", None, "user", "Go."),
    claude("a", "u", "assistant", [use("1")]),
    claude("r", "a", "user", [answer("1")]),
    claude("b", "r", "assistant", "Done."),
]


@pytest.mark.parametrize(
    ("line", "issue"),
    [
        ({"type": "permission-mode", "permissionMode": "plan"}, None),
        ({"type": "ai-title", "aiTitle": "Garden"}, None),
        ({"type": "system", "subtype": "turn_duration", "durationMs": 3}, None),
        ({"type": "system", "subtype": "hologram", "data": 1}, "a system line of type hologram"),
        ({"type": "system", "data": 1}, "a system line without a type"),
        ({"type": "content-replacement", "replacements": []}, "a line of type content-replacement"),
        ({"type": "attachment"}, "an attachment that is not an object"),
    ],
)
def test_line_of_claude_code_without_a_message_is_known_or_an_issue(
    tmp_path: Path, line: Json, issue: str | None
) -> None:
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", [*TALK, line | {"sessionId": "s"}]))
    assert list_calls(item) == ["tool_1"]
    assert list_issues(issues) == ([] if issue is None else [(5, f"{issue} is not read")])


def test_attachments_are_counted_and_a_queued_prompt_is_a_note(tmp_path: Path) -> None:
    attachments = [
        {"type": "file", "filename": "a.py"},
        {"type": "file", "filename": "b.py"},
        {"type": "queued_command", "prompt": "Also water the beds."},
    ]
    lines = [{"type": "attachment", "attachment": each, "sessionId": "s"} for each in attachments]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", [*TALK[:3], *lines, TALK[3]]))
    assert item.extra.metadata["attachments"] == {"file": 2, "queued_command": 1}
    assert find_notes(item, "queued prompt") == ["[queued prompt] Also water the beds."]
    assert (list_calls(item), item.n_turns, issues) == (["tool_1"], 1, [])


def test_messages_that_a_compaction_writes_again_count_once(tmp_path: Path) -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "uuid": "c",
        "parentUuid": None,
        "sessionId": "s",
    }
    summary = claude("s1", "c", "user", "Summary.", isCompactSummary=True)
    again = [claude("a", "s1", "assistant", [use("1")]), claude("r", "a", "user", [answer("1")])]
    last = claude("z", "r", "assistant", "Ready.")
    rows = [*TALK, boundary, summary, *again, last]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert list_calls(item) == ["tool_1"]
    assert [message.content for message in item.messages].count("Done.") == 1
    assert list_issues(issues) == [(7, "2 lines repeat earlier ones and count once")]
    assert find_notes(item, "older version") == []


def test_line_with_the_id_of_another_message_is_an_issue(tmp_path: Path) -> None:
    rows = [*TALK, claude("b", "r", "assistant", "Done twice.")]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert "Done twice." in [message.content for message in item.messages]
    assert (5, "the line has the id of line 4, but another message") in list_issues(issues)


@pytest.mark.parametrize("is_answered", [True, False])
def test_api_error_of_a_system_line_is_an_incident_if_no_reply_follows(
    tmp_path: Path, is_answered: bool
) -> None:
    error = {
        "type": "system",
        "subtype": "api_error",
        "error": {"status": 529, "message": "Overloaded"},
        "sessionId": "s",
    }
    rows = [*TALK[:3], error]
    if is_answered:
        rows.append(TALK[3])
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert item.incident == (None if is_answered else "server")
    notices = [issue for issue in item.issues if "after which the session went on" in issue.what]
    assert len(notices) == int(is_answered)


# -- Codex


def event(kind: str, **more: Any) -> Json:
    return {"type": "event_msg", "payload": {"type": kind} | more}


@pytest.mark.parametrize(
    ("line", "issue"),
    [
        (event("turn_started"), None),
        (event("collab_agent_spawn_end"), None),
        (event("agent_message_content_delta"), None),
        (event("hologram"), "an event of type hologram is not read"),
        ({"type": "event_msg", "payload": {}}, "an event without a type is not read"),
    ],
)
def test_event_of_codex_is_known_or_an_issue(tmp_path: Path, line: Json, issue: str | None) -> None:
    item, issues = read_one(write_lines(tmp_path / "rollout.jsonl", [*codex("done"), line]))
    assert list_calls(item) == ["shell"]
    assert list_issues(issues) == ([] if issue is None else [(5, issue)])


def test_compaction_of_codex_follows_the_reply_before_it(tmp_path: Path) -> None:
    compaction = {"type": "compacted", "payload": {"message": "All so far."}}
    reply = {"type": "message", "role": "assistant", "content": "Finished."}
    reply_line = {"type": "response_item", "payload": reply}
    rows = [*codex("done"), reply_line, compaction, *prompt("More.", "9")]
    item, _ = read_one(write_lines(tmp_path / "rollout.jsonl", rows))
    texts = [message.content for message in item.messages]
    note = texts.index("[compaction] All so far.")
    assert texts[note - 1 : note + 2] == ["Finished.", "[compaction] All so far.", "More."]


def prompt(text: str, call_id: str) -> list[Json]:
    payloads = [
        {"type": "message", "role": "user", "content": text},
        {"type": "function_call", "call_id": call_id, "name": f"run_{call_id}", "arguments": "{}"},
        {"type": "function_call_output", "call_id": call_id, "output": "ok"},
    ]
    return [{"type": "response_item", "payload": payload} for payload in payloads]


def test_rolled_back_turns_of_codex_are_a_note(tmp_path: Path) -> None:
    rows = [
        *codex("done"),
        *prompt("Second.", "2"),
        *prompt("Third.", "3"),
        event("thread_rolled_back", num_turns=2),
        *prompt("Again.", "4"),
    ]
    item, issues = read_one(write_lines(tmp_path / "rollout.jsonl", rows))
    assert (list_calls(item), item.n_turns, issues) == (["shell", "run_4"], 2, [])
    (note,) = find_notes(item, "rolled back")
    assert "Second." in note and "call run_3" in note


@pytest.mark.parametrize(
    ("n_turns", "calls", "issue"),
    [
        (9, [], "more turns are rolled back than there are"),
        (None, ["shell"], "num_turns of a rollback is not a number from 1"),
        (0, ["shell"], "num_turns of a rollback is not a number from 1"),
    ],
)
def test_rollback_that_does_not_fit_is_an_issue(
    tmp_path: Path, n_turns: Any, calls: list[str], issue: str
) -> None:
    rows = [*codex("done"), event("thread_rolled_back", num_turns=n_turns)]
    item, issues = read_one(write_lines(tmp_path / "rollout.jsonl", rows))
    assert (list_calls(item), list_issues(issues)) == (calls, [(5, issue)])


# -- Gemini CLI


def test_session_of_gemini_on_one_line_has_its_messages(tmp_path: Path) -> None:
    head = {
        "sessionId": "g",
        "projectHash": "h",
        "startTime": "t",
        "memoryScratchpad": {"version": 1},
        "messages": [{"id": "1", "type": "user", "content": "Go."}, "lost"],
    }
    rows = [head, {"id": "2", "type": "gemini", "content": "Done."}]
    item, issues = read_one(write_lines(tmp_path / "session.jsonl", rows))
    assert [message.content for message in item.messages] == ["Go.", "Done."]
    assert list_issues(issues) == [(1, "a message that is not an object is not read")]


@pytest.mark.parametrize("place", ["head", "set"])
def test_messages_of_gemini_that_are_no_list_are_an_issue(tmp_path: Path, place: str) -> None:
    head: Json = {"sessionId": "g", "projectHash": "h", "startTime": "t"}
    message = {"id": "1", "type": "user", "content": "Go."}
    if place == "head":
        rows: list[Json] = [head | {"messages": {"1": message}}, message]
    else:
        rows = [head, message, {"$set": {"messages": json.dumps([message])}}]
    item, issues = read_one(write_lines(tmp_path / "session.jsonl", rows))
    assert [each.content for each in item.messages] == ["Go."]
    assert [issue.what for issue in issues] == ["messages is not a list"]
