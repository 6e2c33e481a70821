"""Bombs of EvalScope's output folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, Bomb, Json, name_values, nest, write_lines

ITEM = "default_0"
SIMPLE_ITEM = "simple_python_0"


def make_prediction(index: int, messages: list[Json], **fields: Any) -> Json:
    reply = {"role": "assistant", "content": "answer", "tool_calls": None}
    choice = {"message": reply, "stop_reason": "stop", "logprobs": None}
    prediction = {
        "index": index,
        "model_output": {"choices": [choice], "error": None},
        "messages": messages,
        "agent_trace": None,
        "metadata": {"should_call_tool": True, "tools": []},
    }
    return prediction | fields


def make_review(index: int, messages: list[Json], **fields: Any) -> Json:
    score = {"value": {"passed": True}, "main_score_name": None, "metadata": {"error_reason": ""}}
    sample_score = {"score": score | {"explanation": None}, "sample_metadata": fields}
    return {"index": index, "target": None, "messages": messages, "sample_score": sample_score}


def write_predictions(
    folder: Path, predictions: list[Json], name: str = "general_fc_default"
) -> None:
    write_lines(folder / "predictions" / "model" / f"{name}.jsonl", predictions)


def make_call(number: int, arguments: Any) -> Json:
    function = {"name": "f", "arguments": arguments}
    return {"id": f"c{number}", "function": function, "parse_error": None}


def calls_in_a_reply(folder: Path, size: int) -> None:
    """Calls in one reply, and their results in reverse order."""
    calls = [make_call(number, {"a": number}) for number in range(size)]
    messages: list[Json] = [{"role": "assistant", "content": "", "tool_calls": calls}]
    for number in reversed(range(size)):
        result = {"role": "tool", "content": "ok", "tool_call_id": f"c{number}"}
        messages.append(result | {"function": "f", "error": None})
    write_predictions(folder, [make_prediction(0, messages)])


def text_calls_of_a_trace(folder: Path, size: int) -> None:
    """Results after one message of an agent whose calls are events of the trace."""
    messages: list[Json] = [{"role": "assistant", "content": "[f()]", "tool_calls": None}]
    events = []
    for number in range(size):
        payload = {"id": f"c{number}", "name": "f", "arguments": {}}
        events.append({"type": "tool_call", "payload": payload})
        result = {"role": "tool", "content": "ok", "tool_call_id": f"c{number}"}
        messages.append(result | {"function": "f", "error": None})
    trace = {"events": events}
    write_predictions(folder, [make_prediction(0, messages, agent_trace=trace)])


def deep_arguments(folder: Path, size: int) -> None:
    message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [make_call(0, "NESTED")],
    }
    write_predictions(folder, [make_prediction(0, [message])])
    (path,) = folder.rglob("*.jsonl")
    path.write_text(path.read_text().replace('"NESTED"', f'{{"a": {nest(size)}}}'))


def deep_bfcl_reply(folder: Path, size: int) -> None:
    """A reply whose text is nested JSON, and an error that is a nested Python list."""
    function = {"name": "f", "description": "", "parameters": {"type": "dict", "properties": {}}}
    metadata = {
        "id": SIMPLE_ITEM,
        "question": [[{"role": "user", "content": "go"}]],
        "function": [function],
        "category": "simple_python",
        "ground_truth": [{"f": {}}],
    }
    prediction = make_prediction(0, [{"role": "user", "content": "go"}], metadata=metadata)
    prediction["model_output"]["choices"][0]["message"]["content"] = nest(size)
    write_predictions(folder, [prediction], "bfcl_v4_simple_python")
    review = make_review(0, [{"role": "user", "content": "go"}], **metadata)
    score = review["sample_score"]["score"]
    score["value"] = {"acc": 0}
    score["metadata"] = {"error": nest(size), "error_type": "x", "error_message": "None"}
    write_lines(folder / "reviews" / "model" / "bfcl_v4_simple_python.jsonl", [review])


def wide_metadata(folder: Path, size: int) -> None:
    message = {"role": "user", "content": "go"}
    metadata = {"should_call_tool": True, "tools": []} | name_values(size)
    write_predictions(folder, [make_prediction(0, [message], metadata=metadata)])


def long_text(folder: Path, size: int) -> None:
    message = {"role": "user", "content": "x" * (size * MEGABYTE)}
    write_predictions(folder, [make_prediction(0, [message])])


def repeated_lines(folder: Path, size: int) -> None:
    message = {"role": "user", "content": "go"}
    write_predictions(folder, [make_prediction(0, [message])] * size)


def orphan_reviews(folder: Path, size: int) -> None:
    message = {"role": "user", "content": "go"}
    write_predictions(folder, [make_prediction(0, [message])])
    reviews = [make_review(number, [message]) for number in range(size)]
    write_lines(folder / "reviews" / "model" / "general_fc_default.jsonl", reviews)


def many_scores(folder: Path, size: int) -> None:
    message = {"role": "user", "content": "go"}
    write_predictions(folder, [make_prediction(0, [message])])
    review = make_review(0, [message])
    review["sample_score"]["score"]["value"] = {f"s{n}": n / size for n in range(size)}
    write_lines(folder / "reviews" / "model" / "general_fc_default.jsonl", [review])


def many_tools(folder: Path, size: int) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    metadata = {"should_call_tool": True, "tools": [tool] * size}
    prediction = make_prediction(0, [{"role": "user", "content": "go"}], metadata=metadata)
    write_predictions(folder, [prediction])


def reference_trajectory(folder: Path, size: int) -> None:
    """Golden calls of MCP-Atlas, and as many calls of the model in reverse order."""
    golden = []
    for number in range(size):
        function = {"name": "f", "arguments": json.dumps({"a": number})}
        call = {"id": f"g{number}", "type": "function", "function": function}
        golden.append({"role": "assistant", "content": "", "tool_calls": [call]})
    calls = [make_call(number, {"a": number}) for number in reversed(range(size))]
    metadata = {
        "task_id": ITEM,
        "trajectory": json.dumps(golden),
        "gtfa_claims": ["a"],
        "enabled_tools": ["f"],
    }
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    prediction = make_prediction(0, [message], metadata=metadata)
    write_predictions(folder, [prediction], "mcp_atlas_default")


BOMBS = {
    "calls": Bomb(calls_in_a_reply, ITEM, size=4_000, small_size=500),
    "trace": Bomb(text_calls_of_a_trace, ITEM, size=4_000, small_size=500),
    "deep": Bomb(deep_arguments, ITEM, size=10_000, small_size=10_000, has_items=False),
    "deep reply": Bomb(deep_bfcl_reply, SIMPLE_ITEM, size=10_000, small_size=1_000),
    "wide": Bomb(wide_metadata, ITEM, size=40_000, small_size=0),
    "long": Bomb(long_text, ITEM, size=14, small_size=14, is_cut=True),
    "repeated": Bomb(repeated_lines, ITEM, size=4_000, small_size=0),
    "orphans": Bomb(orphan_reviews, ITEM, size=4_000, small_size=0),
    "many scores": Bomb(many_scores, ITEM, size=5_000, small_size=0),
    "many tools": Bomb(many_tools, ITEM, size=5_000, small_size=0),
    "trajectory": Bomb(reference_trajectory, ITEM, size=1_000, small_size=200),
}
