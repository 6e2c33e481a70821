"""Files with several sessions, and the tokens of sessions that were continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.sessions.session import OTHER_SESSION
from tests.importers.sessions.test_sessions import codex, read_one, write_lines

Json = dict[str, Any]


def count_tokens(tokens_in: int, tokens_out: int) -> Json:
    usage = {"input_tokens": tokens_in, "output_tokens": tokens_out}
    payload = {"type": "token_count", "info": {"total_token_usage": usage}}
    return {"type": "event_msg", "payload": payload}


@pytest.mark.parametrize("copied_from", [None, "fork", "subagent"])
def test_second_session_of_codex_in_a_file_is_an_issue(
    tmp_path: Path, copied_from: str | None
) -> None:
    meta: Json = {}
    if copied_from == "fork":
        meta["forked_from_id"] = "y"
    if copied_from == "subagent":
        meta["source"] = {"subagent": {"thread_spawn": {"parent_thread_id": "y"}}}
    rows = [*codex("a", **meta), *codex("b", id="y")]
    item, _ = read_one(write_lines(tmp_path / "rollout.jsonl", rows))
    lines = [issue.line for issue in item.issues if issue.what == OTHER_SESSION]
    # A fork and a subagent begin with a copy of another session.
    assert lines == ([5] if copied_from is None else [])


def test_resumed_session_of_codex_is_one_session(tmp_path: Path) -> None:
    item, issues = read_one(write_lines(tmp_path / "r.jsonl", [*codex("a"), *codex("b")]))
    assert (len(item.predicted), issues) == (2, [])


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([(7, 5), (9, 6)], (9, 6)),
        # The program was started again.
        ([(7, 5), (9, 6), (3, 2)], (12, 8)),
        ([], (None, None)),
    ],
)
def test_tokens_of_codex_since_each_start_are_added(
    tmp_path: Path, counts: list[tuple[int, int]], expected: tuple[int | None, int | None]
) -> None:
    without_info = {"type": "event_msg", "payload": {"type": "token_count", "info": None}}
    rows = [*codex("a"), *(count_tokens(*count) for count in counts), without_info]
    item, _ = read_one(write_lines(tmp_path / "rollout.jsonl", rows))
    assert (item.tokens_in, item.tokens_out) == expected


def test_tokens_of_two_sessions_of_codex_are_added(tmp_path: Path) -> None:
    rows = [*codex("a"), count_tokens(7, 5), *codex("b", id="y"), count_tokens(9, 6)]
    item, _ = read_one(write_lines(tmp_path / "rollout.jsonl", rows))
    assert (item.tokens_in, item.tokens_out) == (16, 11)


def write_gemini(session_id: str) -> list[Json]:
    tokens = {"input": 7, "output": 3, "thoughts": 2, "tool": 1, "cached": 4, "total": 13}
    return [
        {"sessionId": session_id, "projectHash": "h", "startTime": "t"},
        {"id": f"{session_id}-1", "type": "user", "content": "Go."},
        {"id": f"{session_id}-2", "type": "gemini", "content": "Done.", "tokens": tokens},
    ]


def test_second_session_of_gemini_in_a_file_is_an_issue(tmp_path: Path) -> None:
    rows = [*write_gemini("a"), *write_gemini("b")]
    item, _ = read_one(write_lines(tmp_path / "session.jsonl", rows))
    assert [(issue.line, issue.what) for issue in item.issues] == [(4, OTHER_SESSION)]
    assert (item.tokens_in, item.tokens_out) == (16, 10)


def test_tokens_of_thoughts_and_tools_of_gemini_count(tmp_path: Path) -> None:
    item, issues = read_one(write_lines(tmp_path / "session.jsonl", write_gemini("a")))
    assert (item.tokens_in, item.tokens_out, issues) == (8, 5, [])
