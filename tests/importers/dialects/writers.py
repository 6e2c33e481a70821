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
    has_text_beside_calls: bool = True


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
            text = reply.text if dialect.has_text_beside_calls or not calls else ""
            expected.append(("assistant", text, reasoning, calls))
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


def _write_ai_sdk(conversation: Conversation) -> Any:
    """Write messages for a model, whose calls and results are parts of the content."""
    messages: list[Any] = [{"role": "system", "content": conversation.system}]
    for turn in conversation.turns:
        messages.append({"role": "user", "content": [{"type": "text", "text": turn.question}]})
        for reply in turn.replies:
            parts: list[Any] = [{"type": "text", "text": reply.text}]
            if reply.reasoning:
                parts.insert(0, {"type": "reasoning", "text": reply.reasoning})
            for call in reply.calls:
                names = {"toolCallId": call.id, "toolName": call.name}
                parts.append({"type": "tool-call", "input": call.arguments, **names})
            messages.append({"role": "assistant", "content": parts})
            results = [_write_ai_sdk_result(call) for call in reply.calls]
            if results:
                messages.append({"role": "tool", "content": results})
    return {"messages": messages}


def _write_ai_sdk_result(call: Call) -> Any:
    kind = "error-text" if call.is_error else "text"
    return {
        "type": "tool-result",
        "toolCallId": call.id,
        "toolName": call.name,
        "output": {"type": kind, "value": call.result},
    }


def write_ai_sdk_turns(conversation: Conversation) -> Any:
    """Write messages of the user interface, of which one is a whole turn of the model."""
    messages: list[Any] = [_write_ui_message("system", [_write_ui_text(conversation.system)])]
    for turn in conversation.turns:
        messages.append(_write_ui_message("user", [_write_ui_text(turn.question)]))
        parts: list[Any] = []
        for reply in turn.replies:
            parts.append({"type": "step-start"})
            if reply.reasoning:
                parts.append({"type": "reasoning", "text": reply.reasoning, "state": "done"})
            parts.append(_write_ui_text(reply.text))
            parts.extend(_write_ui_call(call) for call in reply.calls)
        messages.append(_write_ui_message("assistant", parts))
    return {"messages": messages}


def _write_ui_message(role: str, parts: list[Any]) -> Any:
    return {"id": "m", "role": role, "parts": parts}


def _write_ui_text(text: str) -> Any:
    return {"type": "text", "text": text}


def _write_ui_call(call: Call) -> Any:
    outcome: dict[str, Any] = {"state": "output-available", "output": call.result}
    if call.is_error:
        outcome = {"state": "output-error", "errorText": call.result}
    kind = f"tool-{call.name}"
    return {"type": kind, "toolCallId": call.id, "input": call.arguments, **outcome}


def _write_pydantic_ai(conversation: Conversation) -> Any:
    messages: list[Any] = []
    request = [{"part_kind": "system-prompt", "content": conversation.system}]
    for turn in conversation.turns:
        request.append({"part_kind": "user-prompt", "content": turn.question})
        for reply in turn.replies:
            messages.append({"kind": "request", "parts": request})
            parts: list[Any] = [{"part_kind": "text", "content": reply.text}]
            if reply.reasoning:
                parts.insert(0, {"part_kind": "thinking", "content": reply.reasoning})
            for call in reply.calls:
                names = {"tool_name": call.name, "tool_call_id": call.id}
                arguments = json.dumps(call.arguments)
                parts.append({"part_kind": "tool-call", "args": arguments, **names})
            messages.append({"kind": "response", "parts": parts})
            request = [_write_pydantic_ai_result(call) for call in reply.calls]
    return {"messages": messages}


def _write_pydantic_ai_result(call: Call) -> Any:
    names = {"tool_name": call.name, "tool_call_id": call.id, "content": call.result}
    if call.is_error:
        return {"part_kind": "retry-prompt", **names}
    return {"part_kind": "tool-return", "outcome": "success", **names}


def _write_autogen(conversation: Conversation) -> Any:
    """Write the context of a model, whose messages have a type instead of a role."""
    messages: list[Any] = [{"type": "SystemMessage", "content": conversation.system}]
    for turn in conversation.turns:
        messages.append({"type": "TextMessage", "source": "user", "content": turn.question})
        for reply in turn.replies:
            message: dict[str, Any] = {"type": "AssistantMessage", "source": "agent"}
            message |= {"content": reply.text, "thought": reply.reasoning}
            if reply.calls:
                message["content"] = [_write_autogen_call(call) for call in reply.calls]
            messages.append(message)
            results = [
                {"call_id": c.id, "name": c.name, "content": c.result, "is_error": c.is_error}
                for c in reply.calls
            ]
            if results:
                messages.append({"type": "FunctionExecutionResultMessage", "content": results})
    return {"messages": messages}


def _write_autogen_call(call: Call) -> Any:
    return {"id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}


def _write_haystack(conversation: Conversation) -> Any:
    messages: list[Any] = [_write_haystack_message("system", [{"text": conversation.system}])]
    for turn in conversation.turns:
        messages.append(_write_haystack_message("user", [{"text": turn.question}]))
        for reply in turn.replies:
            parts: list[Any] = [{"text": reply.text}]
            if reply.reasoning:
                parts.insert(0, {"reasoning": {"reasoning_text": reply.reasoning, "extra": {}}})
            parts += [{"tool_call": _write_haystack_call(call)} for call in reply.calls]
            messages.append(_write_haystack_message("assistant", parts))
            for call in reply.calls:
                result = {"result": call.result, "origin": _write_haystack_call(call)}
                part = {"tool_call_result": result | {"error": call.is_error}}
                messages.append(_write_haystack_message("tool", [part]))
    return {"messages": messages}


def _write_haystack_message(role: str, parts: list[Any]) -> Any:
    return {"role": role, "meta": {}, "name": None, "content": parts}


def _write_haystack_call(call: Call) -> Any:
    return {"id": call.id, "tool_name": call.name, "arguments": call.arguments, "extra": None}


def _write_llama_index(conversation: Conversation) -> Any:
    messages: list[Any] = [_write_llama_index_message("system", conversation.system)]
    for turn in conversation.turns:
        messages.append(_write_llama_index_message("user", turn.question))
        for reply in turn.replies:
            message = _write_llama_index_message("assistant", reply.text)
            if reply.reasoning:
                thinking = {"block_type": "thinking", "content": reply.reasoning}
                message["blocks"].insert(0, thinking)
            for call in reply.calls:
                names = {"tool_call_id": call.id, "tool_name": call.name}
                block = {"block_type": "tool_call", "tool_kwargs": call.arguments, **names}
                message["blocks"].append(block)
            messages.append(message)
            for call in reply.calls:
                result = _write_llama_index_message("tool", call.result)
                result["additional_kwargs"] = {"tool_call_id": call.id, "name": call.name}
                messages.append(result)
    return {"messages": messages}


def _write_llama_index_message(role: str, text: str) -> Any:
    blocks = [{"block_type": "text", "text": text}]
    return {"role": role, "additional_kwargs": {}, "blocks": blocks}


def _write_sharegpt(conversation: Conversation) -> Any:
    """Write calls and results as messages of their own, like data of LLaMA-Factory."""
    messages = [_speak("system", conversation.system)]
    for turn in conversation.turns:
        messages.append(_speak("human", turn.question))
        for reply in turn.replies:
            text = _write_thought(reply) + reply.text
            if text or not reply.calls:
                messages.append(_speak("gpt", text))
            for call in reply.calls:
                messages.append(_speak("function_call", _write_call_text(call)))
            messages += [_speak("observation", call.result) for call in reply.calls]
    return {"conversations": messages}


def write_sharegpt_tags(conversation: Conversation) -> Any:
    """Write calls and results as tags in texts, like data of Hermes models."""
    messages = [_speak("system", conversation.system)]
    for turn in conversation.turns:
        messages.append(_speak("human", turn.question))
        for reply in turn.replies:
            calls = [f"\n<tool_call>\n{_write_call_text(c)}\n</tool_call>" for c in reply.calls]
            text = _write_thought(reply) + reply.text
            messages.append(_speak("gpt", text + "".join(calls)))
            results = [f"<tool_response>\n{c.result}\n</tool_response>" for c in reply.calls]
            if results:
                messages.append(_speak("tool", "\n".join(results)))
    return {"conversations": messages}


def _speak(speaker: str, value: str) -> Any:
    return {"from": speaker, "value": value}


def _write_thought(reply: Reply) -> str:
    return f"<think>\n{reply.reasoning}\n</think>\n\n" if reply.reasoning else ""


def _write_call_text(call: Call) -> str:
    return json.dumps({"name": call.name, "arguments": call.arguments})


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
    "ai_sdk": Dialect(_write_ai_sdk, has_error_marks=True),
    "autogen": Dialect(_write_autogen, has_error_marks=True, has_text_beside_calls=False),
    "pydantic_ai": Dialect(_write_pydantic_ai, has_error_marks=True),
    "haystack": Dialect(_write_haystack, has_error_marks=True),
    "llama_index": Dialect(_write_llama_index),
    "sharegpt": Dialect(_write_sharegpt, has_ids=False),
}
