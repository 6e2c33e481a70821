"""Compare the importers of conversations with that of chat logs, on the same conversations.

    python benchmarks/importers_compared.py [CONVERSATIONS]

Writes the same conversations in each format, reads each one five times in turn, and prints the
least processor time and its ratio to that of chat logs. Fails if a ratio is above the budget.
"""

from __future__ import annotations

import csv
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item

DEFAULT_CONVERSATIONS = 1_000
N_ROUNDS = 5
N_CALLS = 6
MAX_RATIO = 1.5
WORDS = [
    "rain",
    "garden",
    "harbour",
    "Tuesday",
    "lamp",
    "invoice",
    "blue",
    "forty",
    "report",
    "window",
    "river",
]
TOOLS = [
    {
        "name": f"tool_{number}",
        "description": "Looks something up in a list.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
    }
    for number in range(8)
]

Json = dict[str, Any]
Messages = list[Json]


@dataclass(frozen=True, slots=True)
class Form:
    name: str
    write: Callable[[Path, Sequence[Messages]], None]


def make_conversation(rng: random.Random) -> Messages:
    """Return a question, calls with their results, and an answer in OpenAI's chat format."""
    messages: Messages = [
        {"role": "system", "content": make_text(rng, 60)},
        {"role": "user", "content": make_text(rng, 40)},
    ]
    for number in range(N_CALLS):
        arguments = {"query": make_text(rng, 6), "limit": rng.randrange(50)}
        function = {
            "name": rng.choice(TOOLS)["name"],
            "arguments": json.dumps(arguments),
        }
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": make_text(rng, 8), "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": f"c{number}", "content": make_text(rng, 80)}
        )
    messages.append({"role": "assistant", "content": make_text(rng, 50)})
    return messages


def make_text(rng: random.Random, n_words: int) -> str:
    return " ".join(rng.choices(WORDS, k=n_words))


def list_calls(messages: Messages) -> Iterator[Json]:
    for message in messages:
        yield from message.get("tool_calls", [])


# -- formats


def write_chat_log(folder: Path, conversations: Sequence[Messages]) -> None:
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    write_lines(
        folder / "chat.jsonl",
        ({"id": str(n), "messages": m, "tools": tools} for n, m in enumerate(conversations)),
    )


def write_evalscope(folder: Path, conversations: Sequence[Messages]) -> None:
    write_lines(
        folder / "predictions/m/own_default.jsonl", map(make_prediction, *number(conversations))
    )
    write_lines(folder / "reviews/m/own_default.jsonl", map(make_review, *number(conversations)))


def number(conversations: Sequence[Messages]) -> tuple[range, Sequence[Messages]]:
    return range(len(conversations)), conversations


def make_prediction(index: int, messages: Messages) -> Json:
    written = [to_evalscope_message(message) for message in messages]
    output = {"model": "m", "choices": [{"message": written[-1], "stop_reason": "stop"}]}
    metadata = {"tools": TOOLS}
    return {
        "index": index, "model": "m", "model_output": output, "messages": written,
        "agent_trace": None, "metadata": metadata,
    }  # fmt: skip


def make_review(index: int, messages: Messages) -> Json:
    score = {
        "value": {"acc": index % 2}, "status": "success", "judge_summary": None,
        "extracted_prediction": "", "prediction": messages[-1]["content"], "explanation": None,
        "metadata": {}, "main_score_name": "acc",
    }  # fmt: skip
    sample_score = {
        "score": score, "sample_id": index, "group_id": index, "generation_index": 0,
        "sample_metadata": {},
    }  # fmt: skip
    written = [to_evalscope_message(message) for message in messages]
    return {
        "index": index, "target": [""], "messages": written, "agent_trace": None,
        "sample_score": sample_score,
    }  # fmt: skip


def to_evalscope_message(message: Json) -> Json:
    written: Json = {"id": "r", "role": message["role"], "content": message["content"]}
    if message["role"] == "assistant":
        written["tool_calls"] = [to_evalscope_call(call) for call in list_calls([message])] or None
    if message["role"] == "tool":
        written |= {"tool_call_id": message["tool_call_id"], "function": None, "error": None}
    return written


def to_evalscope_call(call: Json) -> Json:
    function = call["function"]
    arguments = json.loads(function["arguments"])
    return {
        "id": call["id"],
        "function": {"name": function["name"], "arguments": arguments},
        "parse_error": None,
        "type": "function",
    }


def write_nemo_gym(folder: Path, conversations: Sequence[Messages]) -> None:
    write_lines(folder / "rollouts.jsonl", map(make_rollout, *number(conversations)))


def make_rollout(index: int, messages: Messages) -> Json:
    tools = [{"type": "function", **tool, "strict": True} for tool in TOOLS]
    output = list(list_response_items(messages[2:]))
    return {
        "responses_create_params": {"input": messages[:2], "tools": tools},
        "response": {"model": "m", "output": output, "status": "completed", "error": None},
        "reward": float(index % 2),
        "_ng_task_index": index,
        "_ng_rollout_index": 0,
    }


def list_response_items(messages: Messages) -> Iterator[Json]:
    for message in messages:
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            yield {"type": "function_call_output", "call_id": call_id, "output": message["content"]}
            continue
        part = {"type": "output_text", "text": message["content"], "annotations": []}
        yield {"type": "message", "role": "assistant", "id": "m", "content": [part]}
        for call in list_calls([message]):
            yield {"type": "function_call", "call_id": call["id"], "id": "fc", **call["function"]}


def write_verifiers(folder: Path, conversations: Sequence[Messages]) -> None:
    write_lines(folder / "traces.jsonl", map(make_episode, *number(conversations)))


def make_episode(index: int, messages: Messages) -> Json:
    nodes: list[Json] = []
    for position, message in enumerate(messages):
        node: Json = {"message": to_verifiers_message(message)}
        if position:
            node["parent"] = position - 1
        nodes.append(node)
    trace = {
        "version": 1, "verifiers": "0.4.0", "agent": {"name": "agent", "trainable": True},
        "tools": TOOLS, "nodes": nodes, "calls": [], "metrics": {}, "info": {},
        "rewards": {"correct": {"score": float(index % 2), "weight": 1.0}},
        "is_completed": True, "ok": True, "errors": [],
    }  # fmt: skip
    task = {"type": "T", "data": {"idx": index, "prompt": "p", "answer": "a"}, "key": str(index)}
    return {
        "id": str(index), "env": {"id": "e", "name": "e"}, "task": task, "ok": True, "errors": [],
        "traces": [trace],
    }  # fmt: skip


def to_verifiers_message(message: Json) -> Json:
    calls = [
        {"id": call["id"], "type": "function", **call["function"]} for call in list_calls([message])
    ]
    return message | {"tool_calls": calls} if calls else message


def write_mcp_atlas(folder: Path, conversations: Sequence[Messages]) -> None:
    folder.mkdir(parents=True)
    with (folder / "outputs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task_id", "raw_conversation_history", "response"])
        for index, messages in enumerate(conversations):
            writer.writerow([f"t{index}", json.dumps(messages), messages[-1]["content"]])


def write_claude_code(folder: Path, conversations: Sequence[Messages]) -> None:
    for index, messages in enumerate(conversations):
        rows = [make_claude_line(index, position, m) for position, m in enumerate(messages[1:])]
        write_lines(folder / f"{index}.jsonl", rows)


def make_claude_line(session: int, position: int, message: Json) -> Json:
    kind = "assistant" if message["role"] == "assistant" else "user"
    parts: list[Json] = [{"type": "text", "text": message["content"]}]
    if message["role"] == "tool":
        parts = [
            {
                "type": "tool_result",
                "tool_use_id": message["tool_call_id"],
                "content": message["content"],
            }
        ]
    for call in list_calls([message]):
        function = call["function"]
        arguments = json.loads(function["arguments"])
        parts.append(
            {"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments}
        )
    content = {"role": kind, "content": parts, "id": f"msg{position}", "model": "m"}
    return {
        "type": kind, "message": content, "uuid": f"u{position}", "sessionId": f"s{session}",
        "parentUuid": f"u{position - 1}" if position else None, "isSidechain": False,
        "timestamp": "2026-11-28T12:00:00Z",
    }  # fmt: skip


def write_codex(folder: Path, conversations: Sequence[Messages]) -> None:
    for index, messages in enumerate(conversations):
        rows = [{"type": "session_meta", "payload": {"id": f"s{index}"}}]
        question = {"type": "message", "role": "user", "content": messages[1]["content"]}
        items = [question, *list_response_items(messages[2:])]
        rows += [{"timestamp": "t", "type": "response_item", "payload": item} for item in items]
        write_lines(folder / f"rollout-{index}.jsonl", rows)


def write_gemini_cli(folder: Path, conversations: Sequence[Messages]) -> None:
    for index, messages in enumerate(conversations):
        times = {"startTime": "t", "lastUpdated": "t"}
        header = {"sessionId": f"s{index}", "projectHash": "h", **times}
        write_lines(folder / f"session-{index}.jsonl", [header, *list_gemini_messages(messages)])


def list_gemini_messages(messages: Messages) -> Iterator[Json]:
    """Yield a user message and the replies, each with the results inside of its calls."""
    results = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    for position, message in enumerate(messages[1:]):
        if message["role"] == "tool":
            continue
        kind = "gemini" if message["role"] == "assistant" else "user"
        written = {"id": str(position), "type": kind, "content": message["content"], "model": "m"}
        calls = [to_gemini_call(call, results) for call in list_calls([message])]
        yield written | {"toolCalls": calls} if calls else written


def to_gemini_call(call: Json, results: dict[str, str]) -> Json:
    name = call["function"]["name"]
    response = {"output": results[call["id"]]}
    part = {"functionResponse": {"id": call["id"], "name": name, "response": response}}
    return {
        "id": call["id"],
        "name": name,
        "args": json.loads(call["function"]["arguments"]),
        "result": [part],
        "status": "success",
    }


MAPPING = """[map]
version = 1
benchmark = "own"
[[source]]
files = "own.jsonl"
[item]
id = "name"
messages = { path = "dialog", dialect = "openai_chat" }
tools = "tools"
verdict = "passed"
"""


def write_mapping(folder: Path, conversations: Sequence[Messages]) -> None:
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    rows = (
        {"name": f"i{index}", "dialog": messages, "tools": tools, "passed": index % 2 == 0}
        for index, messages in enumerate(conversations)
    )
    write_lines(folder / "own.jsonl", rows)
    (folder / "fcreview-map.toml").write_text(MAPPING)


def write_lines(path: Path, rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


FORMS = (
    Form("chat log", write_chat_log),
    Form("EvalScope", write_evalscope),
    Form("NeMo Gym", write_nemo_gym),
    Form("verifiers", write_verifiers),
    Form("MCP-Atlas", write_mcp_atlas),
    Form("Claude Code", write_claude_code),
    Form("Codex", write_codex),
    Form("Gemini CLI", write_gemini_cli),
    Form("mapping", write_mapping),
)


# -- measuring


def read_folder(folder: Path) -> int:
    """Read all runs of a folder, and return the number of calls."""
    n_calls = 0
    for plan in discover([folder]).plans:
        for record in read_items(plan):
            if isinstance(record, Item):
                n_calls += len(record.predicted)
    return n_calls


def measure(folder: Path, n_expected: int) -> float:
    start = time.process_time()
    n_calls = read_folder(folder)
    seconds = time.process_time() - start
    if n_calls != n_expected:
        sys.exit(f"{folder.name}: {n_calls} calls instead of {n_expected}")
    return seconds


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_CONVERSATIONS
    rng = random.Random(1)
    conversations = [make_conversation(rng) for _ in range(count)]
    with tempfile.TemporaryDirectory() as temporary:
        folders = {form.name: Path(temporary) / form.name for form in FORMS}
        for form in FORMS:
            form.write(folders[form.name], conversations)
        seconds: dict[str, list[float]] = {form.name: [] for form in FORMS}
        for _ in range(N_ROUNDS):
            for form in FORMS:
                seconds[form.name].append(measure(folders[form.name], count * N_CALLS))

    base = min(seconds[FORMS[0].name])
    slow_forms: list[str] = []
    for form in FORMS:
        least = min(seconds[form.name])
        print(f"{form.name:<12} {least:6.2f} s {least / base:5.2f}x")
        if least > MAX_RATIO * base:
            slow_forms.append(form.name)
    if slow_forms:
        sys.exit(f"more than {MAX_RATIO} times a chat log: {', '.join(slow_forms)}")


if __name__ == "__main__":
    main()
