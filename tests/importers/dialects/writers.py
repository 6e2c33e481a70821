"""Random conversations, and programs that write them in each dialect as its API does."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

WORDS = ("Rome", "Oslo", "7 km", "a b", "Ünïcode", "", "true", "<tool>", '{"x": 1}')


@dataclass
class Call:
    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    is_error: bool


@dataclass
class Reply:
    text: str
    reasoning: str | None
    calls: list[Call] = field(default_factory=list)


@dataclass
class Turn:
    question: str
    replies: list[Reply]


@dataclass
class Conversation:
    system: str
    turns: list[Turn]


@dataclass(frozen=True)
class Dialect:
    write: Callable[[Conversation], Any]
    has_ids: bool = True
    has_error_marks: bool = False
    has_reasoning: bool = True


def make_value(rng: random.Random, depth: int = 0) -> Any:
    kinds = ["text", "integer", "float", "bool", "null"] + (["list", "object"] if depth < 2 else [])
    match rng.choice(kinds):
        case "text":
            return rng.choice(WORDS)
        case "integer":
            return rng.choice([0, -3, 12, 10**20])
        case "float":
            return rng.choice([1.0, -0.5, 1e-7])
        case "bool":
            return rng.random() < 0.5
        case "list":
            return [make_value(rng, depth + 1) for _ in range(rng.randrange(3))]
        case "object":
            return {f"k{i}": make_value(rng, depth + 1) for i in range(rng.randrange(3))}
    return None


def make_conversation(rng: random.Random) -> Conversation:
    """Make a conversation with parallel calls, several steps and several turns."""
    numbers = iter(range(1000))
    turns = []
    for turn in range(rng.randint(1, 3)):
        replies = []
        for _ in range(rng.randrange(3)):
            calls = [
                Call(
                    id=f"c{next(numbers)}",
                    name=rng.choice(["get_weather", "add_note"]),
                    arguments={f"a{i}": make_value(rng) for i in range(rng.randrange(3))},
                    result=rng.choice(["sunny", "", "no such city"]),
                    is_error=rng.random() < 0.3,
                )
                for _ in range(rng.randint(1, 3))
            ]
            replies.append(Reply(rng.choice(["", "I look."]), make_reasoning(rng), calls))
        replies.append(Reply(f"Answer {turn}.", make_reasoning(rng)))
        turns.append(Turn(f"Question {turn}?", replies))
    return Conversation("Use the tools.", turns)


def make_reasoning(rng: random.Random) -> str | None:
    return rng.choice([None, "Two look-ups."])


def expect(conversation: Conversation, dialect: Dialect) -> list[tuple[Any, ...]]:
    """List what a reader has to find: (role, text, reasoning, calls) or ("result", ...)."""
    expected: list[tuple[Any, ...]] = [("system", conversation.system)]
    n_calls = 0
    for turn in conversation.turns:
        expected.append(("user", turn.question))
        for reply in turn.replies:
            calls = [
                (call.id if dialect.has_ids else None, call.name, call.arguments)
                for call in reply.calls
            ]
            reasoning = reply.reasoning if dialect.has_reasoning else None
            expected.append(("assistant", reply.text, reasoning, calls))
            for position, call in enumerate(reply.calls):
                mark = call.is_error if dialect.has_error_marks else None
                expected.append(("result", n_calls + position, call.result, mark))
            n_calls += len(reply.calls)
    return expected


def _write_openai(conversation: Conversation, *, as_objects: bool = False) -> Any:
    messages: list[Any] = [{"role": "system", "content": conversation.system}]
    for turn in conversation.turns:
        messages.append({"role": "user", "content": turn.question})
        for reply in turn.replies:
            message: dict[str, Any] = {"role": "assistant", "content": reply.text}
            if reply.reasoning:
                message["thinking" if as_objects else "reasoning_content"] = reply.reasoning
            if reply.calls:
                message["tool_calls"] = [_write_openai_call(c, as_objects) for c in reply.calls]
            messages.append(message)
            for call in reply.calls:
                name = {"tool_name": call.name} if as_objects else {"tool_call_id": call.id}
                messages.append({"role": "tool", "content": call.result, **name})
    return {"messages": messages}


def _write_openai_call(call: Call, as_objects: bool) -> Any:
    if as_objects:
        return {"function": {"name": call.name, "arguments": call.arguments}}
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return {"id": call.id, "type": "function", "function": function}


def _write_ollama(conversation: Conversation) -> Any:
    return _write_openai(conversation, as_objects=True)


def _write_responses(conversation: Conversation) -> Any:
    items: list[Any] = [{"role": "system", "content": conversation.system}]
    for turn in conversation.turns:
        items.append({"role": "user", "content": turn.question})
        for reply in turn.replies:
            if reply.reasoning:
                summary = [{"type": "summary_text", "text": reply.reasoning}]
                items.append({"type": "reasoning", "id": "rs", "summary": summary})
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            items.append({"type": "message", "role": "assistant", "content": content})
            for call in reply.calls:
                arguments = json.dumps(call.arguments)
                names = {"id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
                items.append({"type": "function_call", "arguments": arguments, **names})
            for call in reply.calls:
                output = {"call_id": call.id, "output": call.result}
                items.append({"type": "function_call_output", **output})
    return {"input": items}


def _write_anthropic(conversation: Conversation) -> Any:
    messages: list[Any] = []
    for turn in conversation.turns:
        messages.append({"role": "user", "content": turn.question})
        for reply in turn.replies:
            blocks: list[Any] = []
            if reply.reasoning:
                blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": "s"})
            if reply.text:
                blocks.append({"type": "text", "text": reply.text})
            for call in reply.calls:
                names = {"id": call.id, "name": call.name, "input": call.arguments}
                blocks.append({"type": "tool_use", **names})
            messages.append({"role": "assistant", "content": blocks})
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": c.id,
                    "content": c.result,
                    "is_error": c.is_error,
                }
                for c in reply.calls
            ]
            if results:
                messages.append({"role": "user", "content": results})
    return {"system": conversation.system, "messages": messages}


def _write_gemini(conversation: Conversation) -> Any:
    contents: list[Any] = []
    for turn in conversation.turns:
        contents.append({"role": "user", "parts": [{"text": turn.question}]})
        for reply in turn.replies:
            parts: list[Any] = []
            if reply.reasoning:
                parts.append({"text": reply.reasoning, "thought": True})
            if reply.text or not reply.calls:
                parts.append({"text": reply.text})
            for call in reply.calls:
                names = {"name": call.name, "args": call.arguments}
                parts.append({"functionCall": names})
            contents.append({"role": "model", "parts": parts})
            results = []
            for call in reply.calls:
                response = {"error" if call.is_error else "output": call.result}
                answer = {"name": call.name, "response": response}
                results.append({"functionResponse": answer})
            if results:
                contents.append({"role": "user", "parts": results})
    return {"systemInstruction": {"parts": [{"text": conversation.system}]}, "contents": contents}


def _write_bedrock(conversation: Conversation) -> Any:
    messages: list[Any] = []
    for turn in conversation.turns:
        messages.append({"role": "user", "content": [{"text": turn.question}]})
        for reply in turn.replies:
            blocks: list[Any] = []
            if reply.reasoning:
                text = {"reasoningText": {"text": reply.reasoning}}
                blocks.append({"reasoningContent": text})
            if reply.text:
                blocks.append({"text": reply.text})
            for call in reply.calls:
                names = {"toolUseId": call.id, "name": call.name, "input": call.arguments}
                blocks.append({"toolUse": names})
            messages.append({"role": "assistant", "content": blocks})
            results = [
                {
                    "toolResult": {
                        "toolUseId": call.id,
                        "content": [{"text": call.result}],
                        "status": "error" if call.is_error else "success",
                    }
                }
                for call in reply.calls
            ]
            if results:
                messages.append({"role": "user", "content": results})
    return {"system": [{"text": conversation.system}], "messages": messages}


def _write_cohere_v1(conversation: Conversation) -> Any:
    history: list[Any] = [{"role": "SYSTEM", "message": conversation.system}]
    for turn in conversation.turns:
        history.append({"role": "USER", "message": turn.question})
        for reply in turn.replies:
            message: dict[str, Any] = {"role": "CHATBOT", "message": reply.text}
            calls = [{"name": c.name, "parameters": c.arguments} for c in reply.calls]
            if calls:
                message["tool_calls"] = calls
            history.append(message)
            results = [
                {"call": written, "outputs": call.result}
                for written, call in zip(calls, reply.calls, strict=True)
            ]
            if results:
                history.append({"role": "TOOL", "tool_results": results})
    return {"chat_history": history}


def _write_langchain(conversation: Conversation) -> Any:
    messages: list[Any] = [_wrap("system", content=conversation.system)]
    for turn in conversation.turns:
        messages.append(_wrap("human", content=turn.question))
        for reply in turn.replies:
            content: list[Any] = [{"type": "text", "text": reply.text}]
            if reply.reasoning:
                content.insert(0, {"type": "reasoning", "reasoning": reply.reasoning})
            calls = [
                {"name": c.name, "args": c.arguments, "id": c.id, "type": "tool_call"}
                for c in reply.calls
            ]
            messages.append(_wrap("ai", content=content, tool_calls=calls, invalid_tool_calls=[]))
            for call in reply.calls:
                status = "error" if call.is_error else "success"
                names = {"tool_call_id": call.id, "status": status}
                messages.append(_wrap("tool", content=call.result, **names))
    return messages


def _wrap(kind: str, **data: Any) -> Any:
    return {"type": kind, "data": {"type": kind, "additional_kwargs": {}, **data}}


def _write_otel(conversation: Conversation) -> Any:
    messages: list[Any] = [_write_otel_text("system", conversation.system)]
    for turn in conversation.turns:
        messages.append(_write_otel_text("user", turn.question))
        for reply in turn.replies:
            parts: list[Any] = [{"type": "text", "content": reply.text}]
            if reply.reasoning:
                parts.insert(0, {"type": "reasoning", "content": reply.reasoning})
            for call in reply.calls:
                names = {"id": call.id, "name": call.name, "arguments": call.arguments}
                parts.append({"type": "tool_call", **names})
            messages.append({"role": "assistant", "parts": parts})
            results = [
                {"type": "tool_call_response", "id": c.id, "response": c.result}
                for c in reply.calls
            ]
            if results:
                messages.append({"role": "tool", "parts": results})
    return messages


def _write_otel_text(role: str, text: str) -> Any:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


DIALECTS = {
    "openai_chat": Dialect(_write_openai),
    "ollama": Dialect(_write_ollama, has_ids=False),
    "openai_responses": Dialect(_write_responses),
    "anthropic": Dialect(_write_anthropic, has_error_marks=True),
    "gemini": Dialect(_write_gemini, has_ids=False, has_error_marks=True),
    "bedrock_converse": Dialect(_write_bedrock, has_error_marks=True),
    "cohere_v1": Dialect(_write_cohere_v1, has_ids=False, has_reasoning=False),
    "langchain": Dialect(_write_langchain, has_error_marks=True),
    "otel_genai": Dialect(_write_otel),
}
