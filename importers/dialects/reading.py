"""Steps that the readers of all dialects share."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    Fragment,
    MessageIssue,
    ParsedMessage,
    Reading,
    Role,
    assemble_message,
)

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "chatbot": "assistant",
    "tool": "tool",
    "function": "tool",
    # Llama's templates
    "ipython": "tool",
}
STOP_REASON_FIELDS = ("stop_reason", "finish_reason", "finishReason", "finish_message")


def read_role(role: Any) -> Role | None:
    """Return the role under its usual name, or None if it is unknown."""
    return ROLES.get(role.lower()) if isinstance(role, str) else None


def collect_fragments(
    readings: Iterable[Reading],
) -> Generator[MessageIssue, None, list[Fragment]]:
    """Yield the issues among readings, and return the fragments."""
    fragments: list[Fragment] = []
    for reading in readings:
        if isinstance(reading, MessageIssue):
            yield reading
        else:
            fragments.append(reading)
    return fragments


def read_known_role(
    message: Any, *, path: str
) -> Generator[ParsedMessage | MessageIssue, None, Role | None]:
    """Return the role of a message.

    If it has none that is known, yield an issue, and the message as one that was not read.
    """
    if not isinstance(message, dict):
        yield MessageIssue("message is not an object", path=path, raw=message)
        yield ParsedMessage("log", unknown_parts=[message], path=path)
        return None
    role = read_role(message.get("role"))
    if role is None:
        written = message.get("role")
        name = written if isinstance(written, str) else "without a name"
        yield MessageIssue(f"message of unknown role {name}", path=path, raw=message)
        yield ParsedMessage("log", unknown_parts=[message], path=path)
    return role


class ContentReader(Protocol):
    """Yields what a message of a known role contains."""

    def __call__(
        self, message: dict[str, Any], role: Role, /, *, path: str
    ) -> Iterator[Reading]: ...


def read_message(
    message: Any, known_fields: Container[str], read_content: ContentReader, *, path: str
) -> Generator[ParsedMessage | MessageIssue, None, ParsedMessage | None]:
    """Read a message that has a field `role`.

    Yields an issue for each field that is not known, and for what cannot be read. Returns the
    message, as the value of `yield from`. If the role is unknown, the message is yielded as one
    that was not read, and None is returned.
    """
    role = yield from read_known_role(message, path=path)
    if role is None:
        return None
    yield from values.report_unknown_fields(message, known_fields, path=path)
    fragments = yield from collect_fragments(read_content(message, role, path=path))
    parsed = yield from make_message(role, fragments, message, path=path)
    return parsed


def make_message(
    role: Role, fragments: Sequence[Fragment], written: Mapping[str, Any], *, path: str
) -> Generator[MessageIssue, None, ParsedMessage]:
    """Assemble a message, with the stop reason and the speaker that are written beside it.

    Yield an issue if nothing was read and the message does not say why.
    """
    stop_reason = find_stop_reason(written)
    if not fragments and stop_reason is None:
        yield MessageIssue("message without content", path=path, raw=dict(written))
    name = written.get("name")
    return assemble_message(
        role,
        fragments,
        path=path,
        stop_reason=stop_reason,
        name=name if isinstance(name, str) else None,
    )


def find_stop_reason(written: Mapping[str, Any]) -> str | None:
    for field in STOP_REASON_FIELDS:
        value = written.get(field)
        if isinstance(value, str) and value:
            return value
    return None
