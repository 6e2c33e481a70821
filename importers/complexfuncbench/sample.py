"""A result record and a dataset record as the vocabulary has them: messages, golden and predicted calls by step."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from fcreview.model import Accept, Call, Message


def domain(sample_id: str) -> str:
    """`Car-Rental` of `Car-Rental-12`: the item's category."""
    return sample_id.rpartition("-")[0]


@dataclass(slots=True)
class GoldenPath:
    calls: list[Call] = field(default_factory=list)
    observations: list[Any] = field(default_factory=list)
    """One a call, in the same order."""
    steps: int = 0


def golden_path(record: dict[str, Any] | None) -> GoldenPath:
    path = GoldenPath()
    for entry in (record or {}).get("conversations") or []:
        if not isinstance(entry, dict):
            continue
        if entry.get("function_call"):
            for call in entry["function_call"]:
                given = call.get("arguments") if isinstance(call, dict) else None
                accepts = {name: Accept([value]) for name, value in given.items()} if isinstance(given, dict) else {}
                path.calls.append(Call("golden", str(call.get("name")), accepts, 0, path.steps, len(path.calls)))
            path.steps += 1
        elif entry.get("role") == "observation" and isinstance(entry.get("content"), list):
            path.observations += entry["content"]
    path.observations += [None] * (len(path.calls) - len(path.observations))
    return path


@dataclass(slots=True)
class Made:
    """What the model did. `steps[i]` are the calls of its i-th call turn, `replies[i]` what came back for each."""

    messages: list[Message] = field(default_factory=list)
    steps: list[list[Call]] = field(default_factory=list)
    replies: list[list[Any]] = field(default_factory=list)
    final: str | None = None


def made(record: dict[str, Any]) -> Made:
    """Reads `gen_convs` of every runner: replies as one list, or as one text a call; system turns piled up by the
    GLM runner are told apart from the dialogue and kept once."""
    out = Made()
    count, systems = 0, 0
    for entry in record.get("gen_convs") or []:
        if not isinstance(entry, dict):
            continue
        role, content = entry.get("role"), entry.get("content")
        step = len(out.steps) - 1
        if entry.get("function_call"):
            calls = []
            for call in (
                entry["function_call"] if isinstance(entry["function_call"], list) else [entry["function_call"]]
            ):
                calls.append(_predicted(call, len(out.steps), count))
                count += 1
            out.steps.append(calls)
            out.replies.append([])
        elif role == "observation":
            replies = content if isinstance(content, list) else [_parsed(content)]
            if out.replies:
                out.replies[-1] += replies
            out.messages += [Message(0, max(step, 0), "tool", text_of(reply)) for reply in replies]
        elif role == "system":
            systems += 1
            if systems == 1:
                out.messages.append(Message(0, -1, "system", text_of(content)))
        elif role == "user":
            out.messages.append(Message(0, -1 if step < 0 else step, "user", text_of(content)))
        elif content is not None:
            out.messages.append(Message(0, step + 1, "assistant", text_of(content)))
            out.final = text_of(content)
        if entry.get("function_call"):
            out.final = None
    if systems > 1:
        out.messages.append(Message(0, -1, "log", f"{systems} copies of the system prompt stand in the record"))
    return out


def _predicted(call: Any, step: int, index: int) -> Call:
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return Call("predicted", "", None, 0, step, index, raw=text_of(call), decode_error="not a call")
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        arguments = _parsed(arguments)
    if not isinstance(arguments, dict):
        return Call(
            "predicted", call["name"], None, 0, step, index, raw=text_of(call), decode_error="arguments are no object"
        )
    return Call("predicted", call["name"], arguments, 0, step, index)


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
