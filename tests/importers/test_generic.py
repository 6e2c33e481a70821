"""The generic format and chat logs are read, and errors name line and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.generic_format.discovery import RECORD_FIELDS
from fcreview.importers.generic_format.read import Record, build_json_schema
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item

USER = {"role": "user", "content": "hi"}


def assistant_message(**arguments: object) -> dict:
    call = {"type": "function", "function": {"name": "f", "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def read(tmp_path: Path, *lines: object) -> tuple[list[Item], list[ImportIssue]]:
    path = tmp_path / "run.jsonl"
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    (plan,) = discover([path]).plans
    found = list(read_items(plan))
    return [x for x in found if isinstance(x, Item)], [
        x for x in found if isinstance(x, ImportIssue)
    ]


def test_golden_alternatives_and_optional_arguments(tmp_path: Path) -> None:
    golden = [
        {
            "name": "f",
            "arguments": {"x": {"any_of": [1, 2]}, "y": {"any_of": [3], "optional": True}},
        }
    ]
    items, issues = read(
        tmp_path,
        {"id": "a", "messages": [USER, assistant_message(x=2)], "golden": golden},
        {"id": "b", "messages": [USER, assistant_message(x=5)], "golden": golden},
        {"id": "c", "messages": [USER], "golden": golden},
        {"id": "d", "messages": [USER, assistant_message(x=1)]},
    )
    assert issues == []
    assert [(i.rule, i.rule_error_type) for i in items] == [
        (True, None),
        (False, "wrong_value"),
        (False, "missing_call"),
        (None, None),
    ]


def test_errors_name_line_and_field(tmp_path: Path) -> None:
    good = {"id": "a", "messages": [USER]}
    bad = {"id": "b", "messages": [{"role": "usr", "content": "x"}], "golden": [{"arguments": {}}]}
    items, issues = read(tmp_path, good, bad, "{broken")
    assert [item.id for item in items] == ["a"]
    assert [issue.line for issue in issues] == [2, 2, 3]
    assert issues[0].what.startswith("messages.0.role:")
    assert issues[1].what.startswith("golden.0.name:")


def test_given_verdicts_fill_columns(tmp_path: Path) -> None:
    verdicts = [
        {"source": "official", "value": False, "error_type": "late"},
        {"source": "judge", "value": True, "by": "j", "rationale": "fine"},
        {"source": "judge", "value": 2, "target": "response", "criterion": "completeness"},
    ]
    (item,), _ = read(
        tmp_path,
        {"fcreview": 1, "model": "m"},
        {"id": "a", "messages": [USER], "verdicts": verdicts},
    )
    assert (item.official, item.error_type, item.judge, item.rule) == (False, "late", True, None)
    assert item.verdicts[2].value == 2


def test_chat_logs_without_golden_answers_are_read(tmp_path: Path) -> None:
    wrapped = {
        "request": {"messages": [USER], "tools": []},
        "response": {"choices": [{"message": assistant_message(x=1)}]},
    }
    items, issues = read(tmp_path, {"messages": [USER, assistant_message(x=1)]}, wrapped)
    assert issues == []
    assert [(item.category, item.predicted[0].arguments) for item in items] == [
        ("chat", {"x": 1})
    ] * 2


def test_invalid_arguments_are_shown_raw(tmp_path: Path) -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": "{oops"}}
    (item,), _ = read(
        tmp_path,
        {"id": "a", "messages": [USER, {"role": "assistant", "tool_calls": [call]}], "golden": []},
    )
    assert item.predicted[0].arguments is None
    assert item.predicted[0].raw == "{oops"


def test_schema_names_fields() -> None:
    schema = build_json_schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"Record", "Header", "ChatMessage", "GoldenCall"} <= schema["$defs"].keys()
    json.dumps(schema)


def test_record_fields_equal_schema() -> None:
    assert Record.model_fields.keys() == RECORD_FIELDS


ANTHROPIC_CALL = {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Oslo"}}
ANTHROPIC_RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "12"}
ANTHROPIC_MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "weather"},
    {"role": "assistant", "content": [{"type": "text", "text": "let me see"}, ANTHROPIC_CALL]},
    {"role": "user", "content": [ANTHROPIC_RESULT, {"type": "text", "text": "and now?"}]},
]
GOLDEN = [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
ANTHROPIC_LINES: dict[str, dict[str, Any]] = {
    "messages": {"messages": ANTHROPIC_MESSAGES},
    "request and response": {
        "request": {"system": "Be brief.", "messages": ANTHROPIC_MESSAGES[:1]},
        "response": {
            "role": "assistant",
            "content": [ANTHROPIC_CALL],
            "usage": {"input_tokens": 3},
        },
    },
    "record": {"id": "a", "messages": ANTHROPIC_MESSAGES, "golden": GOLDEN},
}


@pytest.mark.parametrize("kind", ANTHROPIC_LINES)
def test_tool_use_blocks_are_calls(tmp_path: Path, kind: str) -> None:
    line = ANTHROPIC_LINES[kind] | {
        "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}]
    }
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(line) + "\n")
    (plan,) = discover([path]).plans
    (item,) = [record for record in read_items(plan) if isinstance(record, Item)]
    assert [(call.name, call.arguments) for call in item.predicted] == [
        ("get_weather", {"city": "Oslo"})
    ]
    assert item.functions == [{"name": "get_weather", "parameters": {"type": "object"}}]
    assert not item.issues
    if kind == "request and response":
        assert (item.messages[0].role, item.messages[0].content, item.tokens_in) == (
            "system",
            "Be brief.",
            3,
        )
    else:
        assert [(each.role, each.content) for each in item.messages] == [
            ("user", "weather"),
            ("assistant", "let me see"),
            ("tool", "12"),
            ("user", "and now?"),
        ]
        assert item.messages[2].name == "get_weather"
    assert item.rule is (True if kind == "record" else None)


def test_terminal_bench_results_are_named(tmp_path: Path) -> None:
    trial = {
        "trial_name": "t.1-of-1.run",
        "task_id": "t",
        "is_resolved": True,
        "failure_mode": "unset",
    }
    for name, content in (
        ("t/t.1-of-1.run/results.json", trial),
        ("results.json", {"id": "u", "results": [trial]}),
    ):
        path = tmp_path / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1))
    found = discover([tmp_path])
    assert found.plans == []
    assert "results.json looks like a terminal-bench result" in found.issues[-1].what


def test_results_are_shown_in_the_order_of_the_calls(tmp_path: Path) -> None:
    calls = [
        {"type": "tool_use", "id": name, "name": name, "input": {}} for name in ("a", "b", "c")
    ]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A"}}
    results = [
        {"type": "tool_result", "tool_use_id": "c", "content": [image]},
        {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True},
    ]
    messages = [
        USER,
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
        {"role": "assistant", "content": "Done."},
    ]
    items, _ = read(tmp_path, {"messages": messages})
    assert [(m.role, m.name, m.content) for m in items[0].messages] == [
        ("user", None, "hi"),
        ("tool", "a", "[error] no"),
        ("tool", "b", "[no result recorded]"),
        ("tool", "c", "[image image/png, 1 bytes]"),
        ("assistant", None, "Done."),
    ]
    assert items[0].n_turns == 1
