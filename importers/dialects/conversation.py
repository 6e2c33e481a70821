"""Conversation that every dialect is read into, and the fragments of which messages consist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool", "log"]
"""`log` is a note on the conversation, which the model did not see."""
Severity = Literal["error", "warning", "notice"]


@dataclass(frozen=True, slots=True)
class MessageIssue:
    """Something in the messages that was not read, or not read as it is written."""

    what: str
    _: KW_ONLY
    path: str
    """Place in the conversation: `messages[2].content[0]`."""
    raw: Any = None
    """JSON value that the issue is about."""
    severity: Severity = "warning"


@dataclass(slots=True)
class ToolResult:
    """Answer of a tool to a call."""

    call_id: str | None
    """Id of the call; None if the dialect or the writer has no ids."""
    _: KW_ONLY
    text: str
    is_error: bool | None = None
    """None if the dialect has no mark for errors. It does not mean that there was no error."""
    name: str | None = None
    """Function of the call, if the result names it."""
    attachments: Sequence[str] = ()
    """Placeholders of images and files in the result."""
    call_index: int | None = None
    """Number of the call in the conversation, from 0; None if the result fits no call."""
    path: str = ""


@dataclass(slots=True)
class ToolCall:
    """Call of a tool by the model."""

    id: str | None
    name: str
    _: KW_ONLY
    arguments: dict[str, Any] | None
    """None if the arguments are no JSON object. Then `raw` has their text."""
    raw: str | None = None
    """Arguments as written, if they are a text."""
    problem: str | None = None
    """Why there are no arguments: `are not JSON`."""
    is_custom: bool = False
    """Whether the tool takes a free text, which is the argument `input`."""
    is_by_provider: bool = False
    """Whether the provider of the model ran the tool."""
    server: str | None = None
    """Name of the MCP server that has the tool."""
    result: ToolResult | None = None
    """Result that is part of the model's message. Only calls by the provider have one."""


@dataclass(frozen=True, slots=True)
class Text:
    """Part of a message's text."""

    text: str
    is_refusal: bool = False


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Image, sound or file, which is named but not stored."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """JSON that is neither text nor call, such as a citation. It is kept with the message."""

    value: Any
    is_unknown: bool = False
    """Whether no rule describes the part, so that it may be a text or a call."""


Fragment = Text | Reasoning | Placeholder | Note | ToolCall | ToolResult
Reading = Fragment | MessageIssue
"""What the reader of a part yields."""


@dataclass(slots=True)
class ParsedMessage:
    """Message of a conversation in any dialect.

    A message of the role `tool` has one or more results and no text of its own.
    """

    role: Role
    _: KW_ONLY
    text: str = ""
    reasoning: str | None = None
    calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    stop_reason: str | None = None
    is_refusal: bool = False
    notes: list[Any] = field(default_factory=list)
    unknown_parts: list[Any] = field(default_factory=list)
    """JSON of parts that no rule describes."""
    name: str | None = None
    """Name of the speaker, if the message has one."""
    path: str = ""


@dataclass(slots=True)
class ParsedConversation:
    dialect: str
    _: KW_ONLY
    messages: list[ParsedMessage] = field(default_factory=list)
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Docs of the tools on offer: name, description and JSON Schema of the parameters."""
    issues: list[MessageIssue] = field(default_factory=list)


def assemble_message(
    role: Role,
    fragments: Iterable[Fragment],
    *,
    path: str,
    stop_reason: str | None = None,
    name: str | None = None,
) -> ParsedMessage:
    """Make one message of the fragments that were read from its content: texts, reasoning, calls,
    results and notes.

    Texts and reasoning are joined without a separator, in their order.

    Args:
        role: Who speaks.
        fragments: The fragments.
        path: Place of the message in the conversation, such as `messages[2]`.
        stop_reason: Why the model stopped, if the message says so.
        name: Name of the speaker.
    """
    message = ParsedMessage(role, path=path, stop_reason=stop_reason, name=name)
    for fragment in fragments:
        match fragment:
            case Text(text, is_refusal):
                message.text += text
                message.is_refusal |= is_refusal
            case Reasoning(text):
                message.reasoning = (message.reasoning or "") + text
            case Placeholder(text):
                message.notes.append(text)
            case Note(value, is_unknown=True):
                message.unknown_parts.append(value)
            case Note(value):
                message.notes.append(value)
            case ToolCall():
                message.calls.append(fragment)
            case ToolResult():
                _add_result(message, fragment)
    return message


def _add_result(message: ParsedMessage, result: ToolResult) -> None:
    """Add a result to the call of the same message that it answers, or else to the message.

    A provider that runs a tool itself writes the result beside the call.
    """
    for call in message.calls:
        if call.is_by_provider and call.id is not None and call.id == result.call_id:
            call.result = result
            return
    message.results.append(result)


def split_results(message: ParsedMessage) -> list[ParsedMessage]:
    """Turn a message with results into one tool message for each result, and then the rest.

    Anthropic, Gemini and Bedrock write results as parts of a user message.
    """
    if not message.results:
        return [message]
    tool_messages = [
        ParsedMessage("tool", results=[result], path=result.path or message.path)
        for result in message.results
    ]
    message.results = []
    has_content = message.text or message.calls or message.notes or message.reasoning
    if has_content or message.unknown_parts:
        return [*tool_messages, message]
    return tool_messages
