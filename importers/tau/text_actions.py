"""Read actions that the agent writes as text, in runs of tau-bench v1 with the strategy `act` or `react`.

A message of the agent ends with `Action:` and a JSON object with name and arguments. Text that is not JSON is a reply.
The result of a call is the next user message, which begins with `API output: `.
Source: `agents/chat_react_agent.py` of sierra-research/tau-bench.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fcreview.importers.common.records import read_function_docs
from fcreview.importers.tau.conversation import ConversationMessage, ToolCall, function_doc

MARK = "Action:"
RESULT = "API output: "
TOOLS = "\n#Available tools\n"
REPLY_ACTION = "respond"
"""Action that is a reply instead of a call."""


def has_text_actions(messages: Sequence[ConversationMessage]) -> bool:
    """Whether the first message lists the tools as text and no message has a tool call."""
    return bool(messages) and TOOLS in messages[0].content and not any(message.calls for message in messages)


def read_tools(messages: Sequence[ConversationMessage]) -> list[dict[str, Any]]:
    """Return the function docs in the first message."""
    try:
        value, _ = json.JSONDecoder().raw_decode(messages[0].content.partition(TOOLS)[2])
    except (ValueError, RecursionError):
        return []
    return [function_doc(each) for each in read_function_docs(value)]


def read_text_actions(messages: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Return the messages with the actions in their text converted to calls and replies."""
    found: list[ConversationMessage] = []
    called: str | None = None
    for message in messages:
        if message.role == "assistant":
            found.append(_read_action(message.content))
            called = found[-1].calls[0].name if found[-1].calls else None
        elif message.role == "user" and called is not None and message.content.startswith(RESULT):
            found.append(ConversationMessage("tool", message.content.removeprefix(RESULT), name=called))
            called = None
        else:
            found.append(message)
    return found


def _read_action(content: str) -> ConversationMessage:
    thought, _, text = content.rpartition(MARK)
    thought, text = thought.strip(), text.strip()
    try:
        action = json.loads(text)
    except (ValueError, RecursionError):
        return ConversationMessage("assistant", content, reply=text)
    if not isinstance(action, dict) or not isinstance(action.get("name"), str):
        return ConversationMessage("assistant", thought, [ToolCall("", None, text, "not an action")])
    name, arguments = action["name"], action.get("arguments")
    if not isinstance(arguments, dict):
        return ConversationMessage("assistant", thought, [ToolCall(name, None, text, "arguments are not an object")])
    if name != REPLY_ACTION:
        return ConversationMessage("assistant", thought, [ToolCall(name, arguments)])
    reply = arguments.get("content")
    reply = reply if isinstance(reply, str) else ""
    return ConversationMessage("assistant", f"{thought}\n\n{reply}".strip(), reply=reply)


def read_action_name(content: Any) -> str | None:
    """Return the name of the function that a message calls in its text, or None."""
    if not isinstance(content, str) or MARK not in content:
        return None
    calls = _read_action(content).calls
    return calls[0].name if calls else None
