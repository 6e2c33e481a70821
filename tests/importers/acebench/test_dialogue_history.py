"""No message of a dialogue history is lost, and results stand under their calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.acebench.dialogue_history import parse_dialogue_history
from fcreview.importers.registry import discover
from fcreview.model.item import Item
from tests.importers.acebench.conftest import CASES, read_run, write_jsonl

WIDTHS = (15, 10, 25)
CONTENT_WIDTH = 120
Messages = list[tuple[str, str, str]]


def write_table(messages: Messages) -> str:
    """Write a history as the official runner does: it cuts a content only if it has no control
    characters.
    """
    heading = [
        name.ljust(width)
        for name, width in zip(("message_index", "sender", "recipient"), WIDTHS, strict=True)
    ]
    lines = ["| " + " | ".join([*heading, "content".ljust(CONTENT_WIDTH)]) + " |"]
    lines.append("|" + "|".join("-" * (width + 2) for width in (*WIDTHS, CONTENT_WIDTH)) + "|")
    for index, (sender, recipient, content) in enumerate(messages):
        pieces = [content]
        if "\n" not in content and content:
            pieces = [
                content[start : start + CONTENT_WIDTH]
                for start in range(0, len(content), CONTENT_WIDTH)
            ]
        for number, piece in enumerate(pieces):
            cells = (str(index), sender, recipient) if number == 0 else (" ", " ", " ")
            columns = [cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)]
            lines.append("| " + " | ".join([*columns, piece.ljust(CONTENT_WIDTH)]) + " |")
    return "\n".join(lines)


def parse(text: str) -> Messages:
    return [
        (one.sender, one.recipient, one.content) for one in parse_dialogue_history(text).messages
    ]


MARKDOWN = "Choose:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nor | nothing"
ODD_CONTENTS = [
    "a\nb",
    "a\n\n\n- b\n",
    "\nbegins with a line break",
    MARKDOWN,
    "| message_index | sender | recipient | content |\n|---|---|---|---|\n| 2 | user | agent | x |",
    "quoted:\n| 2 | user | agent | this is a line of the message |\n|   |   |   | and this |",
    "ends with a bar |\n| 2 | user | agent | x |",
    "word " * 60,
    "一二三四五" * 40,
    "x" * CONTENT_WIDTH + " y",
    "",
    "one | two || three",
    "a\u2028b\x0bc",
]


@pytest.mark.parametrize("content", ODD_CONTENTS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_content_is_read_as_written(content: str, line_end: str) -> None:
    messages = [
        ("user", "agent", "q"),
        ("agent", "user", content),
        ("user", "agent", "r"),
        ("agent", "user", content),
    ]
    found = parse(write_table(messages).replace("\n", line_end))
    assert found == [(sender, recipient, text.rstrip()) for sender, recipient, text in messages]


@given(
    st.lists(st.text(alphabet=st.sampled_from("ab |-\n1"), max_size=300), min_size=1, max_size=5)
)
def test_any_contents_are_read_as_written(contents: list[str]) -> None:
    messages = [("agent", "user", content) for content in contents]
    found = parse(write_table(messages))
    assert found == [(sender, recipient, text.rstrip()) for sender, recipient, text in messages]


@given(st.text(alphabet=st.sampled_from("ab|- \n\r0123user"), max_size=400))
def test_any_file_is_read(text: str) -> None:
    parse_dialogue_history(text)


def test_lines_before_messages_are_reported() -> None:
    history = parse_dialogue_history("note\n\nmore\n" + write_table([("user", "agent", "q")]))
    assert history.unreadable_lines == [1, 3]
    assert [message.content for message in history.messages] == ["q"]


def read_case() -> tuple[Item, list[str]]:
    (plan,) = discover([CASES / "12-acebench-dialogue-with-line-breaks"]).plans
    run = read_run(plan)
    return run.items["agent_multi_turn_0"], [
        issue.what for issue in run.issues if issue.severity != "notice"
    ]


def test_message_with_line_breaks_is_complete() -> None:
    item, problems = read_case()
    assert [message.content for message in item.messages if message.step == 0] == [
        "I can help.\n\nWhich text should I send?\n- short\n- long",
        "Just say Hi.",
    ]
    assert problems == []


def test_results_stand_under_their_calls() -> None:
    item, _ = read_case()
    results = {message.step: message.content for message in item.messages if message.role == "tool"}
    assert {call.name: results[call.step] for call in item.predicted} == {
        "turn_on_wifi": "status: True message: Wi-Fi has been turned on",
        "send_message": "status: True message: Message sent",
    }
    texts = [
        (message.step, message.content) for message in item.messages if message.role == "assistant"
    ]
    assert texts[1:] == [(2, "I will send it now."), (3, "finish conversation")]


def read_agent_item(
    root: Path, process: list[str], messages: Messages, category: str = "agent_multi_turn"
) -> tuple[Item, list[str]]:
    result: dict[str, Any] = {"id": f"{category}_0", "result": [], "process": process}
    write_jsonl(root / f"result_all/result_en/org/m/data_{category}_result.json", [result])
    folder = root / f"data_all/data_en/dialogue_history/{category.removeprefix('agent_')}/org/m"
    folder.mkdir(parents=True)
    (folder / "0_dialogue_history.txt").write_text(write_table(messages), "utf-8", newline="")
    (plan,) = discover([root]).plans
    run = read_run(plan)
    return run.items[f"{category}_0"], [issue.what for issue in run.items[f"{category}_0"].issues]


def test_message_that_is_not_in_result_record_moves_no_result(tmp_path: Path) -> None:
    """The message that ends a conversation is executed in multi-step items, but it is not in the
    result record.
    """
    messages = [
        ("user", "agent", "q"),
        ("agent", "execution", "[undecoded("),
        ("execution", "agent", "no"),
        ("agent", "execution", "[f(a=1)]"),
        ("execution", "agent", "one"),
        ("agent", "execution", "finish conversation"),
    ]
    item, issues = read_agent_item(tmp_path, ["[f(a=1)]"], messages, "agent_multi_step")
    assert [(call.name, call.step) for call in item.predicted] == [("f", 1)]
    assert [
        (message.step, message.content) for message in item.messages if message.role == "tool"
    ] == [
        (0, "no"),
        (1, "one"),
    ]
    texts = [message.content for message in item.messages if message.role == "assistant"]
    assert texts == ["[undecoded(", "finish conversation"]
    assert issues == []


def test_message_to_user_that_is_executed_has_its_result(tmp_path: Path) -> None:
    messages = [
        ("user", "agent", "q"),
        ("agent", "user", "Which city?"),
        ("execution", "agent", "Please do not ask me any questions"),
        ("agent", "execution", "[f()]"),
        ("execution", "agent", "one"),
    ]
    item, _ = read_agent_item(tmp_path, ["Which city?", "[f()]"], messages, "agent_multi_step")
    assert [(call.name, call.step) for call in item.predicted] == [("Which city?", 0), ("f", 1)]
    assert [message.step for message in item.messages if message.role == "tool"] == [0, 1]


def test_escapes_in_call_are_read_as_by_runner(tmp_path: Path) -> None:
    call = "[send(text='a\\nb')]"
    messages = [
        ("user", "agent", "q"),
        ("agent", "execution", json.loads(f'"{call}"')),
        ("execution", "agent", "sent"),
    ]
    item, issues = read_agent_item(tmp_path, [call], messages)
    assert issues == []
    assert [message.content for message in item.messages if message.role == "tool"] == ["sent"]


def test_history_of_other_conversation_is_not_shown(tmp_path: Path) -> None:
    messages = [
        ("user", "agent", "q"),
        ("agent", "execution", "[g()]"),
        ("execution", "agent", "one"),
    ]
    item, issues = read_agent_item(tmp_path, ["[f(a=1)]"], messages)
    assert all(message.role != "tool" for message in item.messages)
    assert issues == [
        "the dialogue history has none of the calls in the result record, so it is not shown"
    ]


def test_unreadable_lines_give_one_notice(tmp_path: Path) -> None:
    messages = [
        ("user", "agent", "q"),
        ("agent", "execution", "[f()]"),
        ("execution", "agent", "one"),
    ]
    read_agent_item(tmp_path, ["[f()]"], messages)
    file = tmp_path / "data_all/data_en/dialogue_history/multi_turn/org/m/0_dialogue_history.txt"
    file.write_text("a\nb\nc\n" + file.read_text("utf-8"), "utf-8")
    (plan,) = discover([tmp_path]).plans
    (item,) = read_run(plan).items.values()
    assert [issue.what for issue in item.issues] == [
        "3 lines of the dialogue history, from line 1, belong to no message"
    ]


def test_text_around_call_is_shown_without_history(tmp_path: Path) -> None:
    result = {"id": "agent_multi_turn_0", "result": [], "process": ["I will do it.\n[f(a=1)]"]}
    write_jsonl(tmp_path / "result_en/m/data_agent_multi_turn_result.json", [result])
    (plan,) = discover([tmp_path]).plans
    (item,) = read_run(plan).items.values()
    texts = [
        (message.step, message.content) for message in item.messages if message.role == "assistant"
    ]
    assert texts == [(0, "I will do it.")]
    assert [call.name for call in item.predicted] == ["f"]
