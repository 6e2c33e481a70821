"""Messages that a model was given as context: turns before the one that it had to answer."""

from __future__ import annotations

import json

from fcreview.importers.dialects.conversation import ParsedConversation, ToolCall


def quote_calls(conversation: ParsedConversation) -> None:
    """Turn the calls and results of a conversation into notes, which are shown but not compared or
    counted.

    Such calls are part of the question that the model got, and are not its prediction.
    """
    names: list[str] = []
    for message in conversation.messages:
        for call in message.calls:
            names.append(call.name)
            message.notes.append(f"[call {call.name} {_format_arguments(call)}]")
            if call.result is not None:
                message.notes.append(f"[result {call.result.text}]")
        message.calls = []

        # A result refers to its call by number. Without the call, it needs the function's name.
        for result in message.results:
            if result.call_index is not None:
                result.name = result.name or names[result.call_index]
                result.call_index = None


def _format_arguments(call: ToolCall) -> str:
    if call.arguments is None:
        return call.raw or "without arguments"
    return json.dumps(call.arguments, ensure_ascii=False)
