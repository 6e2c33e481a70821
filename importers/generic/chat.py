"""OpenAI-style messages as turns, steps and calls."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.generic.schema import ChatMessage, FunctionCall, PredictedCall
from fcreview.model import Call, Message, Role

ROLES: dict[str, Role] = {"developer": "system", "function": "tool"}


@dataclass(slots=True)
class Chat:
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    turns: int = 1
    steps: int = 0


def read_chat(messages: list[ChatMessage]) -> Chat:
    """A user message opens a turn; every assistant message is a step in it."""
    chat = Chat()
    turn, step, index, answered = 0, -1, 0, False
    for message in messages:
        role: Role = ROLES.get(message.role, message.role)  # type: ignore[arg-type]
        if role == "user" and answered:
            turn, step, index, answered = turn + 1, -1, 0, False
        if role == "assistant":
            step, answered = step + 1, True
            chat.steps += 1
        text = content_text(message.content)
        if text or role != "assistant":
            place = -1 if role in ("user", "system") else max(step, 0)
            chat.messages.append(Message(turn, place, role, text, message.name or message.tool_call_id))
        for made in message.tool_calls or []:
            chat.calls.append(predicted(made.function, turn, max(step, 0), index))
            index += 1
    chat.turns = turn + 1
    return chat


def content_text(content: Any) -> str:
    """Text of a message; parts that are not text stand as their JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) if "text" in part else json.dumps(part, ensure_ascii=False) for part in content)


def predicted(call: FunctionCall | PredictedCall, turn: int, step: int, index: int) -> Call:
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments or "{}")
        except (ValueError, RecursionError) as error:
            return Call("predicted", call.name, None, turn, step, index, arguments, f"arguments are not JSON: {error}")
        if not isinstance(value, dict):
            return Call("predicted", call.name, None, turn, step, index, arguments, "arguments are no JSON object")
        return Call("predicted", call.name, value, turn, step, index, arguments)
    return Call("predicted", call.name, dict(arguments), turn, step, index)
