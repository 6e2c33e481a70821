"""ShareGPT: messages with `from` and `value`, as most data for training have them.

A call is a message of its own, as LLaMA-Factory writes it, or a tag in the text of the model, as
Hermes models write it. Results are messages of their own, too, in which tags can separate them.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    Fragment,
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
    Text,
    split_results,
)
from fcreview.importers.dialects.openai_chat import read_content
from fcreview.importers.dialects.reading import collect_fragments, make_message, read_role
from fcreview.importers.dialects.text_calls import (
    find_tag_style,
    read_call_text,
    read_text_calls,
)

NAME = "sharegpt"
ROLES: Mapping[str, Role] = {
    "gpt": "assistant",
    "chatgpt": "assistant",
    "function_call": "assistant",
    "tool_call": "assistant",
    "observation": "tool",
    "function_response": "tool",
    "tool_response": "tool",
}
"""Role by the value of `from`, beside the usual names of roles."""
CALL_SPEAKERS = ("function_call", "tool_call")
"""Values of `from` of messages whose value is a call, or a list of calls."""
MESSAGE_FIELDS = {"from", "value", "role", "content", "name", "id", "weight", "loss", "train"}
TOOL_TAGS = ("<tools>", "<tool_call>")
"""Tags in a system prompt that tells the model to write its calls as tags."""
RESULT_TAG = "<tool_response>"
RESULT_END = "</tool_response>"


def is_sharegpt_message(message: Mapping[str, Any]) -> bool:
    """Whether a message has the field names of ShareGPT."""
    return "role" not in message and isinstance(message.get("from"), str) and "value" in message


def read_messages(
    messages: Sequence[Any], *, has_tools: bool = False
) -> Iterator[ParsedMessage | MessageIssue]:
    """Read the messages of a conversation. `has_tools` says that it declares tools.

    Tags such as `<tool_call>` in replies are calls if the conversation is about tools. In any other
    one, a text may quote them.
    """
    reads_tags = has_tools or any(map(_mentions_tools, messages))
    for positions in _group_replies(messages):
        yield from _read_group(messages, positions, reads_tags=reads_tags)


def _mentions_tools(message: Any) -> bool:
    """Whether a message has a result of a tool, or is a system prompt about tools."""
    fields = as_object(message)
    role = _find_role(_get_speaker(fields))
    value = _get_value(fields)
    if role == "system" and isinstance(value, str):
        return any(tag in value for tag in TOOL_TAGS)
    return role == "tool"


def _get_speaker(message: Mapping[str, Any]) -> Any:
    """Return who speaks. A system prompt outside of the messages has the usual names of fields."""
    return message.get("from", message.get("role"))


def _get_value(message: Mapping[str, Any]) -> Any:
    return message.get("value", message.get("content"))


def _find_role(speaker: Any) -> Role | None:
    """Return the role of a speaker, or None if it is unknown."""
    if isinstance(speaker, str) and speaker.lower() in ROLES:
        return ROLES[speaker.lower()]
    return read_role(speaker)


def _is_call(message: Any) -> bool:
    return _get_speaker(as_object(message)) in CALL_SPEAKERS


def _group_replies(messages: Sequence[Any]) -> Iterator[list[int]]:
    """Yield the positions of messages that form one message of the conversation.

    The calls of a reply follow its text, and parallel calls each other, as messages of their own.
    """
    positions: list[int] = []
    for position, message in enumerate(messages):
        previous = as_object(messages[position - 1]) if positions else {}
        continues_reply = _is_call(message) and _find_role(_get_speaker(previous)) == "assistant"
        if positions and not continues_reply:
            yield positions
            positions = []
        positions.append(position)
    if positions:
        yield positions


def _read_group(
    messages: Sequence[Any], positions: Sequence[int], *, reads_tags: bool
) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the message that the messages at some positions form."""
    first = messages[positions[0]]
    path = f"messages[{positions[0]}]"
    role = yield from _read_speaker(first, path=path)
    if role is None:
        return

    fragments: list[Fragment] = []
    for position in positions:
        readings = _read_message(
            messages[position], role, reads_tags=reads_tags, path=f"messages[{position}]"
        )
        fragments += yield from collect_fragments(readings)
    parsed = yield from make_message(role, fragments, first, path=path)
    yield from split_results(parsed)


def _read_speaker(
    message: Any, *, path: str
) -> Generator[ParsedMessage | MessageIssue, None, Role | None]:
    """Return the role of a message.

    If it has none that is known, yield an issue, and the message as one that was not read.
    """
    speaker = _get_speaker(as_object(message))
    role = _find_role(speaker)
    if role is None:
        name = speaker if isinstance(speaker, str) else "without a name"
        yield MessageIssue(f"message of unknown role {name}", path=path, raw=message)
        yield ParsedMessage("log", unknown_parts=[message], path=path)
    return role


def _read_message(
    message: dict[str, Any], role: Role, *, reads_tags: bool, path: str
) -> Iterator[Reading]:
    """Yield the fragments of one message, and issues about what is not read."""
    yield from values.report_unknown_fields(message, MESSAGE_FIELDS, path=path)
    value = _get_value(message)
    path = f"{path}.value"
    if _is_call(message):
        yield from _read_calls(value, path=path)
    elif role == "tool":
        yield from _read_results(value, name=message.get("name"), path=path)
    elif not isinstance(value, str):
        yield from values.read_text(value, path=path, what="value")
    elif role == "assistant":
        yield from _read_reply(value, reads_tags=reads_tags, path=path)
    elif role == "user" and _split_results(value):
        # Templates of Hermes and Qwen give results to the model as messages of the user.
        yield from _read_results(value, name=None, path=path)
    else:
        yield Text(value)


def _read_calls(value: Any, *, path: str) -> Iterator[Reading]:
    """Yield the calls of a message that has nothing else. They are JSON, mostly as text."""
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        yield from read_call_text(value, path=path)
    else:
        yield from values.read_text(value, path=path, what="value")


def _read_reply(text: str, *, reads_tags: bool, path: str) -> Iterator[Reading]:
    """Yield the reasoning, the text and the calls of a reply."""
    style = find_tag_style(text) if reads_tags else None
    if style is None:
        yield from read_content(text, path=path, role="assistant")
        return

    reply = read_text_calls(text, style, path=path)
    if reply.reasoning:
        yield Reasoning(reply.reasoning)
    yield Text(reply.text)
    yield from reply.calls
    yield from reply.issues
    for unread in reply.unread_calls:
        yield Note(unread, is_unknown=True)


def _read_results(value: Any, *, name: Any, path: str) -> Iterator[Reading]:
    """Yield the results in a message. Each tag `<tool_response>` has one."""
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        yield from values.read_text(value, path=path, what="value of a result")
        return
    for result in _split_results(value) or [value]:
        yield from values.read_result(None, result, name=name, path=path)


def _split_results(text: str) -> list[str]:
    """Return the results in a text that consists of results in tags. Empty for any other text."""
    before, *tagged_texts = text.split(RESULT_TAG)
    if before.strip():
        return []
    results = []
    for tagged_text in tagged_texts:
        result, end, after = tagged_text.partition(RESULT_END)
        if not end or after.strip():
            return []
        results.append(result.strip())
    return results
