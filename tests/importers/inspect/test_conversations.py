"""Conversations of logs show every call with its result, server tools, media, agents and replies
in events.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item
from tests.importers.inspect.test_damage import make_log
from tests.tui.item_view.document_text import document_lines, make_detail

CASES = Path(__file__).parents[2] / "cases" / "inspect"


def show(item: Item) -> list[str]:
    """Return the lines of the conversation as the item screen shows them."""
    lines = [line.strip() for line in document_lines(make_detail(item))]
    start = next(number for number, line in enumerate(lines) if line.startswith("user"))
    return lines[
        start : lines.index(next(line for line in lines if line.startswith("── final answer")))
    ]


def read_case(name: str) -> dict[str, Item]:
    (plan,) = discover([CASES / name]).plans
    return {item.id: item for item in read_items(plan) if isinstance(item, Item)}


def read_messages(path: Path, *messages: dict[str, Any], **fields: Any) -> Item:
    log = make_log()
    sample = log["samples"][0]
    sample |= {"messages": [{"role": "user", "content": "How?"}, *messages], **fields}
    log["samples"] = [sample]
    path.write_text(json.dumps(log))
    (plan,) = discover([path]).plans
    (item,) = (item for item in read_items(plan) if isinstance(item, Item))
    return item


def make_reply(text: str = "", /, *calls: tuple[str, str], **fields: Any) -> dict[str, Any]:
    """Return a reply with calls, each given as its id and the name of its function."""
    entries = [
        {"id": call_id, "function": name, "arguments": {"call": call_id}} for call_id, name in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": entries, **fields}


def make_result(call_id: str | None, name: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "function": name, "content": text}


CASE_LINES = {
    ("12-parse-error", "empty-args"): [
        "step 1  list_files {}",
        'error   Extra data: line 1 column 3 (char 2): {}""',
        "result  error (parsing): Extra data",
    ],
    ("12-parse-error", "two-same-id"): [
        "step 1  f(a=1)",
        "result  one",
        "step 1  g(a=2)",
        "result  two",
    ],
    ("12-parse-error", "no-result"): ["call    f(a=1)"],
    ("12-parse-error", "orphan-result"): ["result  orphan"],
    ("13-server-tools", "web"): [
        'step 1  web_search(query="weather")',
        'result  [{"title":"T","url":"http://e"}]',
        "step 1  It is sunny",
    ],
    ("13-server-tools", "mcp"): ['step 1  create_issue(title="a")', "result  error: denied"],
    ("13-server-tools", "code"): ['step 1  python(input="print(1)")', "result  1"],
    ("14-handoff", "h"): [
        "step 1  transfer_to_surfer()",
        "result  Successfully transferred to surfer.",
        "surfer  [surfer] I look",
        'step 2  web_go(url="http://a")',
        "result  page",
    ],
    ("15-media", "big-img"): ["step 1  screenshot()", "result  [image image/png, 2,197 kB]"],
    ("15-media", "doc"): ["user    [document report.pdf, application/pdf, 6 B]"],
    ("23-single-call-not-executed", "one-call"): ['call    get_weather(city="Oslo", unit="C")'],
    ("23-single-call-not-executed", "two-calls"): [
        'call    get_weather(city="Oslo")',
        'call    get_time(city="Oslo")',
    ],
    ("23-single-call-not-executed", "with-result"): [
        'step 1  get_weather(city="Oslo")',
        "result  12 degrees, RESULTTEXT",
    ],
}


@pytest.mark.parametrize(("case", "item_id"), CASE_LINES)
def test_calls_and_results_of_a_case_are_shown_in_order(case: str, item_id: str) -> None:
    lines = show(read_case(case)[item_id])
    expected = CASE_LINES[case, item_id]
    at = lines.index(expected[0])
    assert lines[at : at + len(expected)] == expected


def test_results_in_another_order_stand_below_their_calls(tmp_path: Path) -> None:
    reply = make_reply("", ("1", "f"), ("2", "f"))
    item = read_messages(
        tmp_path / "log.json", reply, make_result("2", "f", "two"), make_result("1", "f", "one")
    )
    assert show(item)[1:5] == [
        'step 1  f(call="1")',
        "result  one",
        'step 1  f(call="2")',
        "result  two",
    ]


def test_call_without_result_does_not_get_the_result_of_a_later_call(tmp_path: Path) -> None:
    reply = make_reply("", ("1", "f"), ("2", "f"))
    item = read_messages(tmp_path / "log.json", reply, make_result("2", "f", "two"))
    assert show(item)[1:5] == [
        'step 1  f(call="1")',
        "result  (no result)",
        'step 1  f(call="2")',
        "result  two",
    ]


def test_results_without_ids_are_assigned_by_name_and_order(tmp_path: Path) -> None:
    reply = make_reply("", ("1", "f"), ("2", "g"))
    item = read_messages(
        tmp_path / "log.json", reply, make_result(None, "g", "of g"), make_result(None, "f", "of f")
    )
    assert show(item)[1:5] == [
        'step 1  f(call="1")',
        "result  of f",
        'step 1  g(call="2")',
        "result  of g",
    ]


def test_result_of_an_unknown_call_is_kept_with_an_issue(tmp_path: Path) -> None:
    item = read_messages(
        tmp_path / "log.json", make_reply("", ("1", "f")), make_result("9", "g", "orphan")
    )
    assert show(item)[1:4] == ['step 1  f(call="1")', "result  (no result)", "result  orphan"]
    assert [issue.what for issue in item.issues] == [
        "1 tool result without a call in the messages: 9"
    ]


def make_model_event(message: dict[str, Any], span: str | None = None) -> dict[str, Any]:
    return {
        "event": "model",
        "span_id": span,
        "model": "m",
        "output": {"choices": [{"message": message}]},
    }


def make_span(name: str, kind: str, parent: str | None = None) -> dict[str, Any]:
    return {"event": "span_begin", "id": name, "name": name, "type": kind, "parent_id": parent}


def test_replies_that_exist_only_in_events_are_shown_where_they_happened(tmp_path: Path) -> None:
    first, last = make_reply("first", id="a"), make_reply("last", id="c")
    compacted = make_reply("compacted", ("1", "f"), id="b")
    events = [make_model_event(message) for message in (first, compacted, last)]
    item = read_messages(tmp_path / "log.json", first, last, events=events)
    assert [message.content for message in item.messages] == ["How?", "first", "compacted", "last"]
    assert [call.name for call in item.predicted] == ["f"]
    lines = show(item)
    assert "event   compacted" in lines and 'step 2  f(call="1")' in lines


def test_reply_is_known_by_text_and_calls_if_the_log_has_no_ids(tmp_path: Path) -> None:
    reply = make_reply("same", ("1", "f"))
    item = read_messages(tmp_path / "log.json", reply, events=[make_model_event(reply)])
    assert len(item.predicted) == 1


def test_conversation_of_a_sample_without_replies_comes_from_its_events(tmp_path: Path) -> None:
    item = read_messages(
        tmp_path / "log.json", events=[make_model_event(make_reply("from the event"))]
    )
    assert "from the event" in show(item)


@pytest.mark.parametrize("form", ["span", "step"])
def test_replies_of_graders_are_not_part_of_the_conversation(tmp_path: Path, form: str) -> None:
    reply, grade = (
        make_reply("reply", id="a"),
        make_model_event(make_reply("GRADE: C", id="g"), "judge"),
    )
    begin = (
        make_span("judge", "scorer")
        if form == "span"
        else {"event": "step", "action": "begin", "type": "scorer"}
    )
    item = read_messages(
        tmp_path / "log.json", reply, events=[make_model_event(reply), begin, grade]
    )
    assert [message.content for message in item.messages] == ["How?", "reply"]


def test_steps_of_other_agents_have_the_name_of_the_agent(tmp_path: Path) -> None:
    main, sub = make_reply("plan", id="a"), make_reply("", ("1", "f"), id="b")
    spans = [make_span("main", "agent"), make_span("surfer", "agent", "main")]
    events = [*spans, make_model_event(main, "main"), make_model_event(sub, "surfer")]
    item = read_messages(
        tmp_path / "log.json", main, sub, make_result("1", "f", "found"), events=events
    )
    lines = show(item)
    at = lines.index("surfer")
    assert lines[at : at + 3] == ["surfer", 'step 2  f(call="1")', "result  found"]
    assert "step 1  plan" in lines


def test_server_tool_of_a_reply_with_other_calls_keeps_its_result(tmp_path: Path) -> None:
    use = {
        "type": "tool_use",
        "tool_type": "mcp_call",
        "name": "search",
        "context": "wiki",
        "arguments": "{}",
    }
    reply = make_reply("", ("1", "f")) | {
        "content": [use | {"result": "page"}, {"type": "text", "text": "so"}]
    }
    item = read_messages(tmp_path / "log.json", reply, make_result("1", "f", "one"))
    assert show(item)[1:6] == [
        "step 1  search()",
        "result  page",
        'step 1  f(call="1")',
        "result  one",
        "step 1  so",
    ]
    assert item.extra.metadata["server tools"] == ["search (mcp_call, wiki)"]


def test_large_sample_without_a_reply_says_that_its_events_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcreview.importers.inspect.log.MAX_WHOLE_BYTES", 10)
    item = read_messages(tmp_path / "log.json")
    assert [
        (issue.severity, "replies in its events may be missing" in issue.what)
        for issue in item.issues
    ] == [("notice", True)]
    assert not read_messages(tmp_path / "log.json", make_reply("so")).issues
