"""Entries of Mistral's conversations: a flat list, like OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    Fragment,
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Role,
    assemble_message,
)
from fcreview.importers.dialects.openai_chat import read_content
from fcreview.importers.dialects.reading import collect_fragments

ROLES_BY_ENTRY: dict[str, Role] = {
    "message.input": "user",
    "message.output": "assistant",
    "function.call": "assistant",
    "function.result": "tool",
    "tool.execution": "assistant",
    "agent.handoff": "assistant",
}


def read_messages(entries: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the messages of a Mistral conversation.

    The model writes its reply as several entries, such as a text and calls. All its entries until
    another role become one message, whose place is that of the first one.
    """
    reply = _Reply()
    for index, entry in enumerate(entries):
        path = f"outputs[{index}]"
        # The issues of the entry are passed on. The other readings are its content.
        readings = _read_entry(as_object(entry), entry, path=path)
        fragments = yield from collect_fragments(readings)

        role = ROLES_BY_ENTRY.get(values.get_type(entry), "assistant")
        if role == "assistant":
            reply.add(fragments, path)
            continue
        # An entry of another role ends the reply.
        yield from reply.take_message()
        yield assemble_message(role, fragments, path=path)
    yield from reply.take_message()


class _Reply:
    """The entries of one reply, in the order of the file."""

    def __init__(self) -> None:
        self._fragments: list[Fragment] = []
        self._path = ""

    def add(self, fragments: Sequence[Fragment], path: str) -> None:
        """Add an entry. `path` is its place in the file."""
        if not self._fragments:
            self._path = path
        self._fragments += fragments

    def take_message(self) -> Iterator[ParsedMessage | MessageIssue]:
        """Yield the message of the entries, if there are any, and begin a new reply."""
        if self._fragments:
            yield assemble_message("assistant", self._fragments, path=self._path)
        self._fragments = []


def _read_entry(fields: dict[str, Any], entry: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one entry of a Mistral conversation.

    An entry is a message, a call, a call that the provider executed itself, a result, or a handoff
    to another agent. `fields` is the entry as an object, and `entry` the entry as it is written.
    """
    match fields.get("type"):
        case "message.input":
            yield from read_content(fields.get("content"), path=f"{path}.content", role="user")
        case "message.output":
            yield from read_content(fields.get("content"), path=f"{path}.content", role="assistant")
        case "function.call":
            yield from _read_call(fields, fields.get("tool_call_id"), path=path)
        case "tool.execution":
            yield from _read_call(fields, fields.get("id"), path=path, is_by_provider=True)
        case "function.result":
            yield from _read_result(fields, path=path)
        case "agent.handoff":
            yield Note(entry)
        case kind:
            label = f"entry {values.to_text(kind)}".strip()
            yield from values.read_unknown(label, entry, path=path)


def _read_call(
    fields: dict[str, Any], call_id: Any, *, path: str, is_by_provider: bool = False
) -> Iterator[Reading]:
    return values.read_call(
        call_id,
        fields.get("name"),
        fields.get("arguments"),
        path=path,
        is_by_provider=is_by_provider,
    )


def _read_result(entry: dict[str, Any], *, path: str) -> Iterator[Reading]:
    if "result" not in entry:
        yield MessageIssue("result without a text", path=path, raw=entry)
    text = values.to_text(entry.get("result"))
    yield from values.read_result(entry.get("tool_call_id"), text, path=path)
