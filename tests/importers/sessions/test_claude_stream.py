"""The output of `claude -p --output-format stream-json`: cut, joined and empty files, and tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover
from fcreview.importers.sessions.claude_stream import BROKE_OFF
from fcreview.importers.sessions.session import OTHER_SESSION
from tests.commands import environment, run_in_this_process
from tests.importers.run_reading import read_runs
from tests.importers.sessions.test_sessions import (
    answer,
    claude,
    list_calls,
    read_one,
    use,
    write_lines,
)

Json = dict[str, Any]
USAGE = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1}
"""Token counts at the start of a reply, which its lines repeat."""


def write(kind: str, content: Any, **fields: Any) -> Json:
    message = {"role": kind, "content": content}
    line = {"type": kind, "session_id": "s", "parent_tool_use_id": None, "message": message}
    return line | fields


def reply(message_id: str, *content: Any, **fields: Any) -> Json:
    line = write("assistant", list(content), **fields)
    line["message"] |= {"id": message_id, "model": "m", "usage": USAGE}
    return line


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def piece(**event: Any) -> Json:
    return {"type": "stream_event", "session_id": "s", "parent_tool_use_id": None, "event": event}


def rename(lines: list[Json]) -> list[Json]:
    """Return the lines of another session, whose replies have other ids."""
    renamed = []
    for line in lines:
        message = line.get("message")
        if message and "id" in message:
            line = line | {"message": message | {"id": f"{message['id']} of t"}}
        renamed.append(line | {"session_id": "t"})
    return renamed


START = {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": ["Read"]}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Done.",
    "session_id": "s",
}
CONVERSATION = [
    START,
    reply("m1", text("I look.")),
    reply("m1", use("1")),
    write("user", [answer("1")]),
    reply("m2", text("Done.")),
]


def list_issues(path: Path) -> list[tuple[int | None, str]]:
    item, _ = read_one(path)
    return [(issue.line, issue.what) for issue in item.issues]


@pytest.mark.parametrize("n_lines", range(2, len(CONVERSATION) + 1))
def test_stream_without_a_result_is_an_issue(tmp_path: Path, n_lines: int) -> None:
    path = write_lines(tmp_path / "s.jsonl", CONVERSATION[:n_lines])
    assert (n_lines, BROKE_OFF) in list_issues(path)
    write_lines(path, [*CONVERSATION[:n_lines], RESULT])
    assert BROKE_OFF not in [what for _, what in list_issues(path)]


def test_session_file_needs_no_result(tmp_path: Path) -> None:
    rows = [claude("u", None, "user", "Go."), claude("a", "u", "assistant", "Done.")]
    assert list_issues(write_lines(tmp_path / "s.jsonl", rows)) == []


def test_output_of_two_sessions_is_an_issue(tmp_path: Path) -> None:
    stream = [*CONVERSATION, RESULT]
    path = write_lines(tmp_path / "s.jsonl", [*stream, *rename(stream)])
    assert list_issues(path) == [(len(stream) + 1, OTHER_SESSION)]


def test_output_of_two_sessions_of_which_the_first_was_cut(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", [*CONVERSATION[:3], *rename([*CONVERSATION, RESULT])])
    issues = list_issues(path)
    assert (3, BROKE_OFF) in issues and (4, OTHER_SESSION) in issues


def test_second_prompt_of_a_session_is_no_other_session(tmp_path: Path) -> None:
    second = [START, reply("m3", text("Again.")), RESULT | {"result": "Again."}]
    path = write_lines(tmp_path / "s.jsonl", [*CONVERSATION, RESULT, *second])
    assert list_issues(path) == []
    write_lines(path, [*CONVERSATION, RESULT, *second[:2]])
    assert list_issues(path) == [(len(CONVERSATION) + 3, BROKE_OFF)]


def test_error_before_a_second_prompt_is_no_incident(tmp_path: Path) -> None:
    error = RESULT | {"is_error": True, "result": "API Error: 529"}
    second = [START, reply("m3", text("Again.")), RESULT | {"result": "Again."}]
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", [*CONVERSATION, error, *second]))
    assert item.incident is None
    assert item.extra.metadata["API errors"] == ["API Error: 529"]


def count_tokens(path: Path) -> tuple[int | None, int | None]:
    item, _ = read_one(path)
    return item.tokens_in, item.tokens_out


def test_tokens_of_replies_count_once(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", CONVERSATION)
    assert count_tokens(path) == (14, 2)


def test_tokens_of_the_result_count_instead_of_those_of_replies(tmp_path: Path) -> None:
    usage = {"input_tokens": 6, "cache_read_input_tokens": 8, "output_tokens": 50}
    result = RESULT | {"usage": usage}
    path = write_lines(tmp_path / "s.jsonl", [*CONVERSATION, result])
    assert count_tokens(path) == (14, 50)

    by_model = {"m": {"inputTokens": 6, "cacheReadInputTokens": 8, "outputTokens": 60}}
    by_model["n"] = {"inputTokens": 1, "cacheCreationInputTokens": 2, "outputTokens": 3}
    write_lines(path, [*CONVERSATION, result | {"modelUsage": by_model}])
    assert count_tokens(path) == (17, 63)


def test_tokens_of_the_results_of_two_sessions_are_added(tmp_path: Path) -> None:
    stream = [*CONVERSATION, RESULT | {"usage": {"input_tokens": 14, "output_tokens": 50}}]
    path = write_lines(tmp_path / "s.jsonl", [*stream, *rename(stream)])
    assert count_tokens(path) == (28, 100)


def test_last_result_of_a_session_has_the_tokens_of_all_prompts(tmp_path: Path) -> None:
    first = RESULT | {"modelUsage": {"m": {"inputTokens": 14, "outputTokens": 50}}}
    last = RESULT | {"modelUsage": {"m": {"inputTokens": 21, "outputTokens": 70}}}
    second = [START, reply("m3", text("Done."))]
    path = write_lines(tmp_path / "s.jsonl", [*CONVERSATION, first, *second, last])
    assert count_tokens(path) == (21, 70)
    # Without counts by model, each result can have those of its own prompt.
    results = [result | {"modelUsage": None, "usage": USAGE} for result in (first, last)]
    write_lines(path, [*CONVERSATION, results[0], *second, results[1]])
    assert count_tokens(path) == (21, 3)


def test_pieces_of_a_reply_have_its_final_tokens(tmp_path: Path) -> None:
    lines = [
        START,
        piece(type="message_start", message={"id": "m1", "usage": USAGE}),
        reply("m1", text("Done.")),
        piece(type="message_delta", usage={"input_tokens": None, "output_tokens": 42}),
        piece(type="message_stop"),
    ]
    assert count_tokens(write_lines(tmp_path / "s.jsonl", lines)) == (7, 42)


def test_tokens_of_subagents_count(tmp_path: Path) -> None:
    of_subagent = reply("m9", text("Found."), parent_tool_use_id="1")
    lines = [*CONVERSATION[:3], of_subagent, *CONVERSATION[3:]]
    path = write_lines(tmp_path / "s.jsonl", lines)
    item, _ = read_one(path)
    assert list_calls(item) == ["tool_1"]
    assert (item.tokens_in, item.tokens_out) == (21, 3)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None}, "3"])
def test_unknown_tokens_are_no_tokens(tmp_path: Path, usage: Any) -> None:
    line = reply("m1", text("Done."))
    line["message"]["usage"] = usage
    path = write_lines(tmp_path / "s.jsonl", [START, line, RESULT | {"usage": usage}])
    assert count_tokens(path) == (None, None)


def test_reply_without_content_is_an_issue(tmp_path: Path) -> None:
    line = reply("m1")
    line["message"]["content"] = None
    issues = list_issues(write_lines(tmp_path / "s.jsonl", [START, line, RESULT]))
    assert (2, "content is missing") in issues


def test_message_that_the_program_wrote_begins_no_turn(tmp_path: Path) -> None:
    summary = write("user", "This session is continued.", isSynthetic=True)
    lines = [*CONVERSATION, summary, reply("m3", text("Again.")), RESULT]
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", lines))
    (message,) = [m for m in item.messages if m.content == "This session is continued."]
    assert (item.n_turns, message.role, message.name) == (1, "system", "program")


@pytest.mark.parametrize("number", [1, 2])
def test_line_of_a_reply_without_content_is_an_issue(tmp_path: Path, number: int) -> None:
    lines = [START, reply("m1", text("I look.")), reply("m1", text("Done.")), RESULT]
    lines[number]["message"]["content"] = None
    issues = list_issues(write_lines(tmp_path / "s.jsonl", lines))
    assert issues == [(number + 1, "content of a line of a reply is missing")]


@pytest.mark.parametrize("subtype", [[], {}, 5])
def test_system_line_of_unknown_form_is_an_issue(tmp_path: Path, subtype: Any) -> None:
    line = {"type": "system", "subtype": subtype, "session_id": "s"}
    issues = list_issues(write_lines(tmp_path / "s.jsonl", [*CONVERSATION, line, RESULT]))
    assert issues == [(6, "a system line without a type is not read")]


def test_session_that_failed_at_once_is_an_incident(tmp_path: Path) -> None:
    error = RESULT | {"is_error": True, "result": "Invalid API key"}
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", [START, error]))
    assert (item.incident is not None, item.incident_text) == (True, "Invalid API key")


def test_session_without_a_message_is_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "s.jsonl", [START, RESULT | {"result": ""}])
    items, issues = read_runs(discover([tmp_path]).plans)
    assert (items, [issue.what for issue in issues]) == ([], ["the session has no messages"])


def test_error_that_the_program_writes_is_no_reply(tmp_path: Path) -> None:
    error = reply("m3", text("API Error: 529"), error="rate_limit")
    error["message"]["model"] = "<synthetic>"
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", [*CONVERSATION, error, RESULT]))
    replies = [message.content for message in item.messages if message.role == "assistant"]
    assert replies == ["I look.", "Done."]
    assert (item.incident is not None, item.incident_text) == (True, "API Error: 529")


def test_import_command_reports_a_stream_that_was_cut(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", CONVERSATION[:4])
    done = run_in_this_process(["import", path], tmp_path, environment(tmp_path))
    assert BROKE_OFF in done.out + done.err
    assert "s.jsonl:4" in done.out + done.err
