"""Sessions of coding agents are read as their programs wrote them, and nothing is lost."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover
from fcreview.importers.sessions import claude_code
from fcreview.importers.sessions import session as session_module
from fcreview.importers.sessions.session import WrittenMessage
from fcreview.model.item import ImportIssue, Item
from tests.importers.run_reading import read_runs

MAX_SECONDS_OF_LONG_REPLY = 4
SESSION = "11111111-2222-4333-8444-555555555555"


def read(path: Path) -> tuple[list[Item], list[ImportIssue]]:
    found = discover([path])
    errors = [issue for issue in found.issues if issue.severity == "error"]
    items, issues = read_runs(found.plans)
    return items, errors + issues


def read_one(path: Path) -> tuple[Item, list[ImportIssue]]:
    (item,), issues = read(path)
    return item, issues


def list_calls(item: Item) -> list[str]:
    return [call.name for call in item.predicted]


def list_results(item: Item) -> list[tuple[str | None, bool]]:
    """Return the name of the tool, and whether it failed, of each result."""
    return [
        (message.name, message.content.startswith("[error]"))
        for message in item.messages
        if message.role == "tool"
    ]


def find_notes(item: Item, name: str) -> list[str]:
    return [m.content for m in item.messages if m.role == "log" and m.name == name]


@pytest.fixture(scope="module")
def truth(bench: Path) -> dict[str, Any]:
    return json.loads((bench / "sessions/truth.json").read_text())  # type: ignore[no-any-return]


# -- published sessions


def test_claude_session_equals_truth(bench: Path, truth: dict[str, Any]) -> None:
    wanted = truth["claude_code/made_session.jsonl"]
    items, _ = read(bench / "sessions/claude_code")
    item = next(each for each in items if each.id == SESSION)
    assert list_calls(item) == [name for _, name in wanted["calls"]]
    failed = {call_id for call_id, is_error in wanted["results"].items() if is_error}
    assert [is_error for _, is_error in list_results(item)] == [
        call_id in failed for call_id, _ in wanted["calls"]
    ]
    assert item.n_turns == wanted["user_prompts"]
    assert item.extra.metadata["model"] == wanted["model"]
    assert len(item.extra.metadata["API errors"]) == len(wanted["api_errors"])
    assert item.incident is None
    assert (item.ended == "interrupted") is wanted["interrupted"]
    (subagent,) = item.extra.metadata["subagents"]
    assert {subagent["parent_call"]: subagent["file"]} == wanted["subagent"]
    part = truth["claude_code/agent-a1b2c3.jsonl"]
    assert subagent["calls"] == part["calls"]
    assert subagent["parent_call"] == part["parent_call"]
    whats = [issue.what for issue in item.issues]
    issues = wanted["issues"]
    assert sum("is not JSON" in what for what in whats) == issues["not_json_lines"]
    assert sum("not a JSON object" in what for what in whats) == issues["not_object_lines"]
    assert sum("image part" in what for what in whats) == issues["image_parts"]
    assert len(find_notes(item, "older version")) == 1


@pytest.mark.parametrize(
    "name", ["edge_cases", "representative_messages", "todowrite_examples", "sample_session"]
)
def test_published_claude_files_equal_truth(bench: Path, truth: dict[str, Any], name: str) -> None:
    (key,) = [each for each in truth if name in each]
    wanted = truth[key]
    item, issues = read_one(bench / "sessions" / key)
    assert list_calls(item) == [tool for _, tool in wanted["tool_use"]]
    results = [(tool, False) for tool in list_calls(item)]
    for position, (call_id, is_error) in enumerate(wanted["tool_result"]):
        tool = dict(wanted["tool_use"])[call_id]
        results[position] = (tool, is_error)
    assert list_results(item) == results[: len(wanted["tool_result"])]
    counts = {
        "not a JSON object": wanted["not_object"],
        "without a type": wanted["other"].get("null", 0),
        "message is not an object": wanted.get("message_not_object", 0),
        "is a text instead of an object": wanted["unknown_blocks"].get("str", 0),
    }
    for words, count in counts.items():
        found = [issue for issue in issues if words in issue.what]
        assert bool(found) is bool(count), words
        if count > 1:
            assert f"({count} lines)" in found[0].what


def test_codex_session_equals_truth(bench: Path, truth: dict[str, Any]) -> None:
    ((key, wanted),) = [pair for pair in truth.items() if pair[0].startswith("codex/")]
    item, issues = read_one(bench / "sessions" / key)
    assert sorted(list_calls(item)) == sorted(
        name.removesuffix("_call") for _, name in wanted["calls"]
    )
    assert dict(list_results(item)) == {
        "exec_command": True,
        "apply_patch": False,
        "mcp__files__list": False,
        "web_search": False,  # without a result of its own
    }
    prompts = [m.content for m in item.messages if m.role == "user"]
    assert prompts == wanted["user_prompts"]
    assert sum(m.name == "program" for m in item.messages) == len(wanted["not_user_prompts"])
    replies = [m.content for m in item.messages if m.role == "assistant" and m.name is None]
    assert replies == wanted["assistant_texts"]
    assert len(find_notes(item, "compaction")) == wanted["compactions"]
    assert len(item.extra.metadata["API errors"]) == len(wanted["infrastructure_errors"])
    assert (item.ended == "interrupted") is wanted["aborted"]
    assert item.extra.metadata["model"] == wanted["model"]
    whats = [issue.what for issue in issues]
    assert [f"unknown item {name}" in whats for name in wanted["issues"]["unknown_item"]] == [True]
    assert "arguments of call call_3 are not JSON" in whats
    assert (item.tokens_in, item.tokens_out) == (100, 20)


def test_gemini_session_equals_truth(bench: Path, truth: dict[str, Any]) -> None:
    key = "gemini/session-2026-11-28T12-00-3f3f3f3f.json"
    wanted = truth[key]
    item, _ = read_one(bench / "sessions" / key)
    assert list_calls(item) == [name for _, name in wanted["calls"]]
    assert list_results(item) == [("read_file", False), ("read_file", True)]
    assert item.n_turns == wanted["user_prompts"]
    assert item.messages[-1].content == wanted["final_text"]
    assert len(item.extra.metadata["API errors"]) == len(wanted["infrastructure_errors"])


def test_gemini_rewind_equals_truth(bench: Path, truth: dict[str, Any]) -> None:
    key = "gemini/session-2026-11-28T12-10-4a4a4a4a.jsonl"
    wanted = truth[key]
    item, issues = read_one(bench / "sessions" / key)
    assert list_calls(item) == [name for _, name in wanted["calls"]]
    assert list_results(item) == [("list_directory", False)]
    texts = [m.content for m in item.messages if m.role in ("user", "assistant")]
    assert texts == ["List the files.", "There is one file.", "Keep it.", "I keep a.txt."]
    (note,) = find_notes(item, "rewound")
    assert "Delete it." in note and "rm a.txt" in note
    assert item.extra.metadata["summary"] == wanted["summary"]
    assert issues == []


# -- rules


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text(
        "".join(row if isinstance(row, str) else f"{json.dumps(row)}\n" for row in rows)
    )
    return path


def claude(uuid: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content} | more.pop("message", {})
    line = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message}
    return line | more


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": f"tool_{call_id}", "input": {}}


def answer(call_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": f"result {call_id}"}


def test_results_of_parallel_calls_are_kept(tmp_path: Path) -> None:
    """Each call is a line of its own with a result of its own: branches that belong together."""
    reply = {"message": {"id": "m", "model": "x"}}
    rows = [
        claude("u", None, "user", "Go."),
        claude("a", "u", "assistant", [use("1")], **reply),
        claude("b", "a", "assistant", [use("2")], **reply),
        claude("r1", "a", "user", [answer("1")]),
        claude("r2", "b", "user", [answer("2")]),
        claude("c", "r2", "assistant", "Done.", message={"id": "n", "model": "x"}),
    ]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert list_calls(item) == ["tool_1", "tool_2"]
    assert list_results(item) == [("tool_1", False), ("tool_2", False)]
    assert issues == [] and find_notes(item, "older version") == []


def test_edited_prompt_leaves_an_older_version(tmp_path: Path) -> None:
    rows = [
        claude("u", None, "user", "First try."),
        claude("a", "u", "assistant", "First answer."),
        claude("v", None, "user", "Second try."),
        claude("b", "v", "assistant", "Second answer."),
    ]
    rows[2]["parentUuid"] = "root"
    rows.insert(0, claude("root", None, "user", "Hello."))
    rows[1]["parentUuid"] = "root"
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", rows))
    texts = [m.content for m in item.messages if m.role != "log"]
    assert texts == ["Hello.", "Second try.", "Second answer."]
    (note,) = find_notes(item, "older version")
    assert "First try." in note and "First answer." in note


@pytest.mark.parametrize(
    "line",
    [
        {"type": "system", "subtype": "turn_duration"},
        {"type": "attachment", "attachment": {"type": "file"}},
        {"type": "progress"},
    ],
)
def test_branch_from_a_line_without_message_is_an_older_version(
    tmp_path: Path, line: dict[str, Any]
) -> None:
    """Messages go on from lines such as the duration of a turn, which are in the tree, too."""
    rows = [
        claude("u0", None, "user", "Hello."),
        claude("a0", "u0", "assistant", "Hi."),
        line | {"uuid": "s0", "parentUuid": "a0", "sessionId": "s"},
        claude("u1", "s0", "user", "Dead."),
        claude("a1", "u1", "assistant", [use("dead")]),
        claude("u2", "s0", "user", "Edited."),
        claude("a2", "u2", "assistant", "Done."),
    ]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    texts = [m.content for m in item.messages if m.role != "log"]
    assert texts == ["Hello.", "Hi.", "Edited.", "Done."]
    assert (list_calls(item), item.n_turns, issues) == ([], 2, [])
    (note,) = find_notes(item, "older version")
    assert "Dead." in note and "tool_dead" in note


def test_edited_first_prompt_after_a_line_without_message(tmp_path: Path) -> None:
    rows = [
        {"type": "attachment", "uuid": "h", "parentUuid": None, "sessionId": "s"},
        claude("u1", "h", "user", "Dead."),
        claude("a1", "u1", "assistant", "Dead answer."),
        claude("u2", "h", "user", "Edited."),
        claude("a2", "u2", "assistant", "Done."),
    ]
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert [m.content for m in item.messages if m.role != "log"] == ["Edited.", "Done."]


def test_edited_first_prompt_without_a_parent_leaves_an_older_version(tmp_path: Path) -> None:
    rows = [
        claude("u1", None, "user", "Dead."),
        claude("a1", "u1", "assistant", [use("dead")]),
        claude("u2", None, "user", "Edited."),
        claude("a2", "u2", "assistant", "Done."),
    ]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    texts = [m.content for m in item.messages if m.role != "log"]
    assert (texts, list_calls(item), item.n_turns, issues) == (["Edited.", "Done."], [], 1, [])
    (note,) = find_notes(item, "older version")
    assert "Dead." in note and "tool_dead" in note


def stream(kind: str, content: Any, call_id: str | None = None, **message: Any) -> dict[str, Any]:
    """Write a line of the output of `claude -p --output-format stream-json`."""
    message |= {"role": kind, "content": content}
    return {
        "type": kind, "message": message, "parent_tool_use_id": call_id, "session_id": "s",
    }  # fmt: skip


STREAM_START = {
    "type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": ["Read"],
}  # fmt: skip
STREAM = [
    STREAM_START,
    stream("assistant", [{"type": "text", "text": "I look."}], id="m1", model="m"),
    stream("assistant", [use("1")], id="m1", model="m"),
    stream("user", "Find it.", call_id="1"),
    stream("assistant", [use("of_subagent")], call_id="1", id="m2", model="m"),
    stream("user", [answer("1")]),
    {"type": "stream_event", "event": {"type": "message_start"}, "session_id": "s"},
    stream("assistant", [{"type": "text", "text": "Done."}], id="m3", model="m"),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_streamed_output_of_claude_is_read(tmp_path: Path, suffix: str) -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}
    path = write_lines(tmp_path / f"s{suffix}", [*STREAM, result | {"num_turns": 2}])
    item, issues = read_one(path)
    texts = [m.content for m in item.messages if m.role == "assistant"]
    assert (item.id, texts, list_calls(item), issues) == ("s", ["I look.", "Done."], ["tool_1"], [])
    assert list_results(item) == [("tool_1", False)]
    (subagent,) = item.extra.metadata["subagents"]
    assert (subagent["parent_call"], subagent["calls"]) == (
        "1",
        [["of_subagent", "tool_of_subagent"]],
    )
    assert item.extra.metadata["result"]["num_turns"] == 2
    assert item.extra.metadata["tools"] == ["Read"]
    assert item.incident is None


def test_error_in_the_result_of_the_streamed_output_is_an_incident(tmp_path: Path) -> None:
    error = {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 529"}
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", [*STREAM[:3], error]))
    assert (item.incident is not None, item.incident_text) == (True, "API Error: 529")
    limit = error | {"subtype": "error_max_turns"}
    item, _ = read_one(write_lines(tmp_path / "t.jsonl", [*STREAM[:3], limit]))
    assert item.incident is None
    assert item.extra.metadata["result"]["subtype"] == "error_max_turns"


def test_compaction_line_goes_on_with_the_line_before(tmp_path: Path) -> None:
    rows = [
        claude("u", None, "user", "Go."),
        claude("a", "u", "assistant", "First."),
        {"type": "system", "subtype": "compact_boundary", "uuid": "c", "parentUuid": None},
        claude("v", "c", "user", "On."),
        claude("b", "v", "assistant", "Done."),
    ]
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert [m.content for m in item.messages] == ["Go.", "First.", "On.", "Done."]


def test_reply_of_many_lines_is_read_in_linear_time(tmp_path: Path) -> None:
    """Copying the blocks and the open calls for each line is quadratic: 15 s instead of 1 s."""
    n_lines = 30_000
    reply = {"message": {"id": "m", "model": "x"}}
    rows = [claude("u", None, "user", "Go.")]
    for number in range(n_lines):
        rows.append(claude(f"a{number}", "u", "assistant", [use(str(number))], **reply))
    path = write_lines(tmp_path / "s.jsonl", rows)
    start = time.process_time()
    item = claude_code.read_session(path, ())
    seconds = time.process_time() - start
    (message,) = [entry for entry in item.entries[1:] if isinstance(entry, WrittenMessage)]
    assert len(message.value["content"]) == n_lines
    assert seconds < MAX_SECONDS_OF_LONG_REPLY


def test_broken_parent_follows_the_line_before(tmp_path: Path) -> None:
    rows = [
        claude("u", None, "user", "Go."),
        claude("a", "u", "assistant", "Summary."),
        claude("v", "gone", "user", "On."),
        claude("b", "v", "assistant", "Done."),
    ]
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert [m.content for m in item.messages] == ["Go.", "Summary.", "On.", "Done."]


def test_texts_of_the_program_begin_no_turn(tmp_path: Path) -> None:
    rows = [
        claude("u", None, "user", "Go."),
        claude("a", "u", "assistant", "Done."),
        claude("m", "a", "user", "<command-name>/cost</command-name>"),
        claude("n", "m", "user", "<system-reminder>x</system-reminder>"),
        claude("o", "n", "user", "Meta.", isMeta=True),
        claude("p", "o", "user", "Compacted.", isCompactSummary=True),
        claude("b", "p", "assistant", "Still here."),
    ]
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert item.n_turns == 1
    assert [m.name for m in item.messages].count("program") == 4


def test_session_that_ends_with_an_api_error_is_an_incident(tmp_path: Path) -> None:
    rows = [
        claude("u", None, "user", "Go."),
        claude("a", "u", "assistant", "API Error: 529 Overloaded", isApiErrorMessage=True),
    ]
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert item.incident == "overloaded" or item.incident is not None
    assert item.incident_text == "API Error: 529 Overloaded"


def test_subagent_in_the_file_of_the_session(tmp_path: Path) -> None:
    call = use("1") | {"input": {"prompt": "Look."}}
    rows = [
        claude("u", None, "user", "Go."),
        claude("a", "u", "assistant", [call]),
        claude("x", None, "user", "Look.", isSidechain=True),
        claude("y", "x", "assistant", [use("side")], isSidechain=True),
        claude("r", "a", "user", [answer("1")]),
        claude("b", "r", "assistant", "Done."),
    ]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert list_calls(item) == ["tool_1"]
    (subagent,) = item.extra.metadata["subagents"]
    assert (subagent["parent_call"], subagent["calls"]) == ("1", [["side", "tool_side"]])
    assert issues == []
    assert [m.role for m in item.messages] == ["user", "tool", "log", "assistant"]


def test_subagents_in_a_folder_of_the_session(tmp_path: Path) -> None:
    call = use("1") | {"input": {"prompt": "Look."}}
    rows = [claude("u", None, "user", "Go."), claude("a", "u", "assistant", [call])]
    write_lines(tmp_path / "s.jsonl", rows)
    folder = tmp_path / "s/subagents"
    folder.mkdir(parents=True)
    side = claude("x", None, "user", "Look.", isSidechain=True, agentId="q")
    write_lines(folder / "agent-q.jsonl", [side])
    item, issues = read_one(tmp_path)
    assert item.extra.metadata["subagents"][0]["parent_call"] == "1"
    assert issues == []


def test_copies_of_a_session_are_two_items(tmp_path: Path) -> None:
    rows = [claude("u", None, "user", "Go."), claude("a", "u", "assistant", "Done.")]
    write_lines(tmp_path / "a.jsonl", rows)
    write_lines(tmp_path / "b.jsonl", rows)
    items, issues = read(tmp_path)
    assert [item.id for item in items] == ["s", "s#b"]
    assert [issue.what for issue in issues] == ["s occurs more than once; imported as s#b"]


def test_unfinished_last_line_is_a_notice(tmp_path: Path) -> None:
    rows = [
        claude("u", None, "user", "Go."),
        claude("a", "u", "assistant", "Done."),
        '{"type": "us',
    ]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert [(issue.severity, issue.line, issue.raw) for issue in issues] == [("notice", 3, None)]
    assert len(item.messages) == 2


def test_issues_never_quote_the_file(bench: Path) -> None:
    _, issues = read(bench / "sessions")
    assert issues
    assert all(issue.raw is None for issue in issues)


def test_usage_of_a_reply_counts_once(tmp_path: Path) -> None:
    usage = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 100}
    reply = {"message": {"id": "m", "model": "x", "usage": usage}}
    rows = [
        claude("u", None, "user", "Go."),
        claude("a", "u", "assistant", [{"type": "text", "text": "One"}], **reply),
        claude("b", "a", "assistant", [{"type": "text", "text": " two"}], **reply),
    ]
    item, _ = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert (item.tokens_in, item.tokens_out) == (107, 3)
    assert [m.content for m in item.messages] == ["Go.", "One two"]


def test_output_of_codex_exec_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "out.jsonl", [{"type": "thread.started", "thread_id": "1"}])
    found = discover([tmp_path])
    assert found.plans == []
    assert any("codex exec --json" in issue.what for issue in found.issues)


def test_codex_dates_are_one_run(tmp_path: Path) -> None:
    for day in ("03", "04"):
        folder = tmp_path / f"sessions/2026/10/{day}"
        folder.mkdir(parents=True)
        meta = {"type": "session_meta", "payload": {"id": day}}
        item = {"type": "message", "role": "user", "content": "Go."}
        rows = [meta, {"type": "response_item", "payload": item}]
        write_lines(folder / f"rollout-{day}.jsonl", rows)
    (plan,) = discover([tmp_path]).plans
    assert (len(plan.results), plan.run.path) == (2, str(tmp_path / "sessions"))


def test_replaced_context_of_gemini_is_folded(tmp_path: Path) -> None:
    rows: list[Any] = [
        {"sessionId": "g", "projectHash": "h", "startTime": "t"},
        {"id": "1", "type": "user", "content": "Go."},
        {"$set": {"messages": [{"id": "2", "type": "user", "content": "Summary."}]}},
        {"$rewindTo": "unknown"},
        {"id": "3", "type": "user", "content": "Again."},
    ]
    item, issues = read_one(write_lines(tmp_path / "session.jsonl", rows))
    assert [m.content for m in item.messages if m.role == "user"] == ["Again."]
    assert len(find_notes(item, "rewound")) == 1
    assert "Summary." in find_notes(item, "rewound")[0]
    assert [issue.line for issue in issues] == [4]


def test_text_above_the_budget_is_cut_with_an_issue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "MAX_ITEM_TEXT", 5_000)
    rows = [claude("u", None, "user", "x" * 4_000), claude("a", "u", "assistant", "y" * 4_000)]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert len(item.messages[0].content) == 4_000
    assert len(item.messages[1].content) < 2_000
    assert any("were cut after" in issue.what for issue in issues)


@pytest.mark.parametrize("status", ["error", "cancelled", "success"])
def test_shown_result_of_gemini_counts_without_another_one(tmp_path: Path, status: str) -> None:
    call = {"id": "1", "name": "read", "args": {}, "status": status, "result": None}
    call["resultDisplay"] = "File missing"
    rows: list[Any] = [
        {"sessionId": "g", "projectHash": "h", "startTime": "t"},
        {"id": "1", "type": "user", "content": "Go."},
        {"id": "2", "type": "gemini", "content": "", "toolCalls": [call]},
    ]
    item, _ = read_one(write_lines(tmp_path / "session.jsonl", rows))
    assert list_results(item) == [("read", status != "success")]
    (result,) = [m.content for m in item.messages if m.role == "tool"]
    assert "File missing" in result


def test_failed_call_of_gemini_without_any_text_is_an_error(tmp_path: Path) -> None:
    call = {"id": "1", "name": "read", "args": {}, "status": "error", "result": []}
    rows: list[Any] = [
        {"sessionId": "g", "projectHash": "h", "startTime": "t"},
        {"id": "2", "type": "gemini", "content": "", "toolCalls": [call]},
    ]
    item, _ = read_one(write_lines(tmp_path / "session.jsonl", rows))
    assert list_results(item) == [("read", True)]


def codex(output: str, **meta: Any) -> list[dict[str, Any]]:
    payloads: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": "Go."},
        {"type": "function_call", "call_id": "1", "name": "shell", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": output},
    ]
    rows = [{"type": "response_item", "payload": payload} for payload in payloads]
    return [{"type": "session_meta", "payload": {"id": "x"} | meta}, *rows]


@pytest.mark.parametrize(
    ("output", "is_error"),
    [
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno such file", True),
        ("Exit code: 0\nOutput:\nExit code: 1", False),
        ("The file says Exit code: 1", False),
    ],
)
def test_exit_code_at_the_start_of_a_codex_result(
    tmp_path: Path, output: str, is_error: bool
) -> None:
    item, _ = read_one(write_lines(tmp_path / "rollout.jsonl", codex(output)))
    assert list_results(item) == [("shell", is_error)]


def test_fork_of_codex_is_a_notice(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rollout.jsonl", codex("done", forked_from_id="y"))
    _, issues = read_one(path)
    assert [(issue.severity, issue.line) for issue in issues] == [("notice", 1)]
    assert "is a fork" in issues[0].what


def test_calls_of_other_dialects_in_sessions_are_read(tmp_path: Path) -> None:
    function = {"name": "shell", "arguments": '{"x": 1}'}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}
    result = {"role": "tool", "tool_call_id": "1", "content": "done"}
    rows = codex("first")
    rows += [{"type": "response_item", "payload": payload} for payload in (call, result)]
    item, issues = read_one(write_lines(tmp_path / "rollout.jsonl", rows))
    assert [each.arguments for each in item.predicted] == [{}, {"x": 1}]
    assert [text for text, _ in list_results(item)] == ["shell", "shell"]
    assert [issue.severity for issue in issues if issue.severity != "notice"] == []


@pytest.mark.parametrize(
    "mark",
    [
        {"forked_from_id": "y"},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "y"}}}},
    ],
)
def test_copied_part_of_a_fork_of_codex_is_one_note(tmp_path: Path, mark: Any) -> None:
    parent = codex("done")
    parent[0]["payload"]["id"] = "y"
    reply = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "No."}],
    }
    fork = [{"type": "session_meta", "payload": {"id": "x"} | mark}, *parent]
    fork.append({"type": "response_item", "payload": reply})
    parent.append({"type": "response_item", "payload": reply | {"role": "user"}})
    write_lines(tmp_path / "a.jsonl", parent)
    write_lines(tmp_path / "b.jsonl", fork)
    (plan,) = discover([tmp_path]).plans
    items, issues = read_runs([plan])
    by_id = {item.id: item for item in items}
    assert [len(by_id[name].predicted) for name in ("y", "x")] == [1, 0]
    shown = [(message.role, message.content) for message in by_id["x"].messages]
    assert shown == [
        ("log", "[copied] user: Go.\n  call shell({})\n  result done"),
        ("assistant", "No."),
    ]
    assert issues == []


GEMINI_DOCUMENT = {
    "kind": "main",
    "messages": [{"id": "1", "type": "user", "content": "Go."}],
    "startTime": "2026-11-28T12:00:00Z",
    "projectHash": "h",
    "sessionId": "g",
}


@pytest.mark.parametrize("start", ["", "\N{BYTE ORDER MARK}"])
def test_gemini_document_with_other_key_order_and_mark_is_a_session(
    tmp_path: Path, start: str
) -> None:
    (tmp_path / "s.json").write_text(start + json.dumps(GEMINI_DOCUMENT), encoding="utf-8")
    item, _ = read_one(tmp_path)
    assert (item.id, [m.content for m in item.messages]) == ("g", ["Go."])


def test_codex_session_with_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rollout.jsonl", codex("done"))
    path.write_text("\N{BYTE ORDER MARK}" + path.read_text(), encoding="utf-8")
    item, issues = read_one(tmp_path)
    assert (item.category, list_calls(item), issues) == ("Codex", ["shell"], [])


def test_claude_session_with_many_lines_before_the_first_message_is_read(tmp_path: Path) -> None:
    rows = [{"type": "queue-operation", "sessionId": "s"} for _ in range(60)]
    rows += [claude("u", None, "user", "Go."), claude("a", "u", "assistant", "Done.")]
    item, issues = read_one(write_lines(tmp_path / "s.jsonl", rows))
    assert (item.category, item.n_turns, issues) == ("Claude Code", 1, [])


def test_file_named_like_a_subagent_with_a_main_message_is_a_session(tmp_path: Path) -> None:
    first = claude("x", None, "user", "Look.", isSidechain=True)
    rows = [first, claude("u", None, "user", "Go."), claude("a", "u", "assistant", "Done.")]
    write_lines(tmp_path / "agent-q.jsonl", rows[1:])
    write_lines(tmp_path / "agent-r.jsonl", rows)
    write_lines(tmp_path / "main.jsonl", rows[1:])
    items, _ = read(tmp_path)
    assert sorted(item.id for item in items)[:2] == ["agent-q", "agent-r"]
    assert len(items) == 3


# -- mutations

CARRIERS = {
    "role", "content", "text", "thinking", "id", "name", "input", "tool_use_id", "is_error",
    "type", "message", "payload", "arguments", "call_id", "output", "toolCalls", "thoughts",
    "args", "result", "status", "functionResponse", "response", "description", "summary",
}  # fmt: skip
"""Fields that carry a role, a text, reasoning, a call, a result or an id."""
OPTIONAL = {
    ("claude", "content"),  # a tool that returned nothing
    ("claude", "is_error"),
    ("claude", "summary"),
    ("codex", "summary"),
    ("gemini", "summary"),
    ("gemini", "thoughts"),
    ("gemini", "toolCalls"),
    ("gemini", "result"),  # a call without a result
    ("gemini", "output"),  # a tool that returned nothing
    ("gemini", "functionResponse"),
}
"""Fields that the programs leave out, by folder."""
N_MUTATIONS = 250


def describe(items: Sequence[Item]) -> list[Any]:
    return [
        (
            item.id,
            [(m.role, m.name, m.content) for m in item.messages],
            [(c.name, c.arguments, c.raw) for c in item.predicted],
        )
        for item in items
    ]


def list_places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all carriers in a JSON value."""
    places: list[tuple[Any, ...]] = []
    if isinstance(value, dict):
        for name, part in value.items():
            is_user_data = path and path[-1] in ("input", "args", "snapshot", "usage")
            if name in CARRIERS and not is_user_data:
                places.append((*path, name))
            places += list_places(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            places += list_places(part, (*path, index))
    return places


def list_new_issues(
    issues: Sequence[ImportIssue], known: Sequence[ImportIssue]
) -> list[ImportIssue]:
    """Return the issues with a line that were not there before."""
    before = {(issue.what, issue.line) for issue in known}
    return [issue for issue in issues if issue.line and (issue.what, issue.line) not in before]


def shows_value(items: Sequence[Item], changed: Any, place: tuple[Any, ...]) -> bool:
    """Whether the value that a field has now is shown, so that nothing is lost."""
    target = changed
    for step in place[:-1]:
        target = target[step]
    shown = json.dumps(describe(items)).replace('\\"', '"')
    if place[-1] not in target:
        renamed = f"{place[-1]}_x"
        return renamed in target and f'"{renamed}"' in shown
    value = target[place[-1]]
    return json.dumps(value) in shown or (value == ["x"] and '"x"' in shown)


def is_refused(path: Path) -> bool:
    """Whether the file is no session any more, and an error says so."""
    found = discover([path])
    return not found.plans and any(issue.severity == "error" for issue in found.issues)


def mutate(value: Any, place: tuple[Any, ...], rng: random.Random) -> tuple[Any, str]:
    changed = json.loads(json.dumps(value))
    target = changed
    for step in place[:-1]:
        target = target[step]
    how = rng.choice(("removed", "renamed", "retyped"))
    written = target.pop(place[-1])
    if how == "renamed":
        target[f"{place[-1]}_x"] = written
    elif how == "retyped":
        target[place[-1]] = rng.choice([7, True, ["x"], {"x": 1}, [[]]])
    return changed, how


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("claude", "7a*.jsonl"),
        ("codex", "rollout*.jsonl"),
        ("gemini", "*.json"),
        ("gemini", "*.jsonl"),
    ],
)
def test_mutated_field_is_read_or_reported(
    samples: Path, tmp_path: Path, folder: str, pattern: str
) -> None:
    """A changed field gives the same reading, or an issue with a line: no silent loss."""
    (source,) = (samples / "sessions" / folder).rglob(pattern)
    is_document = source.suffix == ".json"
    text = source.read_text()
    values = [json.loads(text)] if is_document else [json.loads(x) for x in text.splitlines()]
    target = tmp_path / source.name
    target.write_text(text)
    before, known_issues = read(target)
    places = [(index, place) for index, each in enumerate(values) for place in list_places(each)]
    rng = random.Random(pattern)
    silent: list[str] = []
    for _ in range(N_MUTATIONS):
        index, place = rng.choice(places)
        changed, how = mutate(values[index], place, rng)
        rows = [*values[:index], changed, *values[index + 1 :]]
        target.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
        after, issues = read(target)
        is_reported = bool(list_new_issues(issues, known_issues))
        is_optional = (folder, place[-1]) in OPTIONAL and how == "removed"
        is_lost = describe(after) != describe(before) and not shows_value(after, changed, place)
        if is_lost and not is_reported and not is_optional and not is_refused(target):
            silent.append(f"{'.'.join(map(str, place))} {how}: {changed!r:.300}")
    assert silent == []
