"""Multi-turn and agentic trajectories are read from the inference log, or from the result
without a log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.trajectory import (
    Trajectory,
    build_trajectory,
    make_single_turn_messages,
)
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item, Message


def state(value: Any, name: str = "Files") -> list[dict[str, Any]]:
    return [{"role": "state_info", "class_name": name, "content": {"root": value}}]


LOG: list[Any] = [
    state("start"),
    {
        "begin_of_turn_query": [
            {"role": "developer", "content": "functions"},
            {"role": "user", "content": "go"},
        ],
        "step_0": [
            {"role": "inference_input", "content": "everything again"},
            {
                "role": "assistant",
                "content": [{"cd": '{"folder": "a"}'}, {"ls": "{}"}],
                "reasoning_content": "first",
            },
            {
                "role": "handler_log",
                "content": "ok",
                "model_response_decoded": ["cd(folder='a')", "ls()"],
            },
            {"role": "tool", "content": "moved"},
            {"role": "tool", "content": "files"},
        ],
        "step_1": [
            {"role": "assistant", "content": "Done."},
            {
                "role": "handler_log",
                "content": "Error decoding the model response.",
                "error": "no keys",
            },
        ],
    },
    state("after"),
    {
        "begin_of_turn_query": [{"role": "user", "content": "more"}],
        "step_0": [
            {"role": "assistant", "content": "[mv(a='x')]"},
            {"role": "handler_log", "content": "ok", "model_response_decoded": ["mv(a='x')"]},
            {"role": "tool", "content": "Error during execution: no"},
        ],
    },
    state("after"),
]


def read_log(log: list[Any] = LOG) -> Trajectory:
    return build_trajectory({"result": [], "inference_log": log}, [], lambda raw: None, [])


def summarize(message: Message) -> tuple[int, int, str, str]:
    return message.turn, message.step, message.role, message.content


def test_messages_of_log_are_in_order() -> None:
    assert [summarize(message) for message in read_log().messages] == [
        (0, -1, "state", '{"root":"start"}'),
        (0, -1, "system", "functions"),
        (0, -1, "user", "go"),
        (0, 0, "assistant", "first"),
        (0, 0, "log", "ok"),
        (0, 0, "tool", "moved"),
        (0, 0, "tool", "files"),
        (0, 1, "assistant", "Done."),
        (0, 1, "log", "Error decoding the model response. (no keys)"),
        (0, 2, "state", '{"root":"after"}'),
        (1, -1, "user", "more"),
        (1, 0, "assistant", "[mv(a='x')]"),
        (1, 0, "log", "ok"),
        (1, 0, "tool", "Error during execution: no"),
    ]


def test_observations_have_function_names() -> None:
    assert [message.name for message in read_log().messages if message.role == "tool"] == [
        "cd",
        "ls",
        "mv",
    ]


def test_calls_are_numbered_through_steps_of_turn() -> None:
    calls = read_log().calls
    assert [(call.turn, call.step, call.index, call.name, call.arguments) for call in calls] == [
        (0, 0, 0, "cd", {"folder": "a"}),
        (0, 0, 1, "ls", {}),
        (1, 0, 0, "mv", {"a": "x"}),
    ]
    assert (read_log().n_turns, read_log().n_steps) == (2, 3)


def test_log_need_not_alternate() -> None:
    turns = [part for part in LOG if isinstance(part, dict)]
    assert [call.turn for call in read_log(turns).calls] == [0, 0, 1]
    doubled = [state("a"), state("b", "Mail"), *turns]
    assert read_log(doubled).n_turns == 2


def test_result_is_used_without_log() -> None:
    opening = [
        Message(0, -1, role="user", content="go"),
        Message(1, -1, role="user", content="more"),
        Message(2, -1, role="user", content="never reached"),
    ]
    result = [[[{"cd": '{"folder": "a"}'}], [{"ls": "{}"}], "Done."], ["No."]]
    found = build_trajectory({"result": result}, opening, lambda raw: None, [])
    assert [(call.turn, call.step, call.index, call.name) for call in found.calls] == [
        (0, 0, 0, "cd"),
        (0, 1, 1, "ls"),
    ]
    assert [summarize(message) for message in found.messages] == [
        (0, -1, "user", "go"),
        (0, 2, "assistant", "Done."),
        (1, -1, "user", "more"),
        (1, 0, "assistant", "No."),
        (2, -1, "user", "never reached"),
    ]
    assert (found.n_turns, found.n_steps, found.final_answer) == (2, 4, "No.")


def test_inference_error_is_model_message() -> None:
    found = build_trajectory(
        {"result": "Error during inference: x"},
        [Message(0, -1, role="user", content="go")],
        lambda raw: None,
        [],
    )
    assert [message.role for message in found.messages] == ["user", "assistant"]
    assert found.calls == []


@pytest.mark.parametrize(
    "result", [None, {}, [None], [[None]], [[[]]], [[{"a": 1}]], 3, [["x", 5]], [{"a": "b"}]]
)
@pytest.mark.parametrize(
    "log", [None, [], [None], [{}], [{"step_0": [None, {}]}], [[None, {"content": 1}]], "x"]
)
def test_odd_shapes_do_not_raise(result: Any, log: Any) -> None:
    build_trajectory({"result": result, "inference_log": log}, [], lambda raw: None, [])


def test_native_calls_add_no_message() -> None:
    opening = [Message(0, -1, role="user", content="go")]
    assert make_single_turn_messages({"result": [{"f": "{}"}]}, opening) is opening
    texts = [
        message.content
        for message in make_single_turn_messages({"result": ["well", {"f": "{}"}]}, opening)
    ]
    assert texts == ["go", "well"]
    texts = [
        message.content
        for message in make_single_turn_messages(
            {"result": "f()", "reasoning_content": "hm"}, opening
        )
    ]
    assert texts == ["go", "hm", "f()"]


@pytest.fixture(scope="module")
def multi_turn(bench: Path) -> list[Item]:
    def read() -> Iterator[Item]:
        for plan in discover([bench / "bfcl_v4/result/gpt-4o-mini-2024-07-18-FC/multi_turn"]).plans:
            yield from (item for item in read_items(plan) if isinstance(item, Item))

    return list(read())


@pytest.mark.sweep
def test_published_multi_turn_items_keep_calls_and_observations(
    bench: Path, multi_turn: list[Item]
) -> None:
    assert len(multi_turn) == 800
    for item in multi_turn:
        with Path(item.file).open("rb") as file:
            file.seek(item.offset)
            record = json.loads(file.read(item.length))
        assert record["id"] == item.id
        turns = [part for part in record.get("inference_log", ()) if isinstance(part, dict)]
        logged = [entry for turn in turns for step in turn.values() for entry in step]
        tools = sum(entry.get("role") == "tool" for entry in logged)
        assert sum(message.role == "tool" for message in item.messages) == tools
        assert len(item.predicted) == tools
        assert all(call.arguments is not None for call in item.predicted)
        assert [(call.turn, call.index) for call in item.predicted] == sorted(
            {(call.turn, call.index) for call in item.predicted}
        )


def test_published_failures_name_turn(multi_turn: list[Item]) -> None:
    for item in multi_turn:
        turns = [verdict.target for verdict in item.verdicts if verdict.target.startswith("turn:")]
        if item.official or (item.error_type or "").endswith(
            ("inference_error", "force_terminated")
        ):
            assert turns == []
        else:
            assert turns == [f"turn:{item.extra.failing_turn + 1}"]
            assert any(call.turn == item.extra.failing_turn for call in item.golden)
        if item.error_type == "multi_turn:instance_state_mismatch":
            assert item.extra.state_differences
        if item.error_type == "multi_turn:execution_response_mismatch":
            assert item.extra.metadata["missing_responses"]


def test_aborted_items_have_evaluator_message(multi_turn: list[Item]) -> None:
    broken = [item for item in multi_turn if item.error_type == "multi_turn:inference_error"]
    assert broken
    assert {item.diff_function for item in broken} == {None}
    assert all("inference" in (item.first_difference or "") for item in broken)
