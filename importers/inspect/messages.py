"""Convert the messages of an Inspect sample to turns, steps and predicted calls, and collect data from its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fcreview.importers.common.records import first_question, list_objects
from fcreview.model.item import Call, Item, Message, Role
from fcreview.model.json_value import to_json_text, to_plain_json

ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
}  # fmt: skip
MAX_DATA_URI = 200
"""Maximum number of characters of an image or a sound in a message. The rest is cut off."""


@dataclass(slots=True)
class Conversation:
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    n_turns: int = 1
    n_steps: int = 1
    tool_errors: list[str] = field(default_factory=list)
    """Types of the errors of tool messages, such as `timeout`."""

    def apply_to(self, item: Item) -> None:
        item.messages, item.predicted = self.messages, self.calls
        item.n_turns, item.n_steps = self.n_turns, self.n_steps
        item.question = item.question or first_question(self.messages)


def build_conversation(messages: Any, *, is_turn_per_user_message: bool = False) -> Conversation:
    """Build the conversation of a sample. Each reply is a step, and a user message after a reply begins a new turn.

    With `is_turn_per_user_message`, every user message after the first one begins a new turn.
    """
    found = Conversation()
    turn, step, index, n_steps, n_users = 0, -1, 0, 0, 0
    for message in list_objects(messages):
        role = ROLES.get(str(message.get("role")), "log")
        if role == "user":
            if step >= 0 or (is_turn_per_user_message and n_users):
                turn, step, index = turn + 1, -1, 0
            n_users += 1
        if role == "assistant":
            step, n_steps = step + 1, n_steps + 1
        found.messages += _convert_message(message, role, turn, -1 if role in ("system", "user") else max(step, 0))
        for call in list_objects(message.get("tool_calls")):
            name, arguments, raw, call_error = read_tool_call(call)
            found.calls.append(Call("predicted", name, arguments, turn, max(step, 0), index, raw, call_error))
            index += 1
        error = message.get("error")
        if isinstance(error, dict):
            found.tool_errors.append(str(error.get("type") or "unknown"))
    found.n_turns, found.n_steps = turn + 1, max(n_steps, 1)
    return found


class ParsedToolCall(NamedTuple):
    name: str
    arguments: dict[str, Any] | None
    raw: str | None = None
    """Text of arguments that are not an object."""
    error: str | None = None
    """Why the call cannot be decoded."""


def read_tool_call(call: dict[str, Any]) -> ParsedToolCall:
    name, arguments, error = str(call.get("function") or ""), call.get("arguments"), call.get("parse_error")
    if error or not isinstance(arguments, dict):
        return ParsedToolCall(name, None, to_json_text(arguments), str(error or "the arguments are not an object"))
    return ParsedToolCall(name, to_plain_json(arguments))


def _convert_message(message: dict[str, Any], role: Role, turn: int, step: int) -> Iterator[Message]:
    name = message.get("function") if role == "tool" else None
    for kind, text in iterate_content_parts(message.get("content")):
        if kind == "reasoning":
            yield Message(turn, step, role, text, "reasoning")
    text = get_text_and_error(message)
    if text or role != "assistant":
        yield Message(turn, step, role, text, str(name) if name else None)


class ContentPart(NamedTuple):
    kind: str
    """`text`, `reasoning`, `image` or another type of Inspect's message content."""
    text: str


def iterate_content_parts(content: Any) -> Iterator[ContentPart]:
    """Yield the parts of a message. An image or a sound becomes text: its kind and the beginning of its data."""
    if isinstance(content, (str, list)):
        for part in [content] if isinstance(content, str) else content:
            if isinstance(part, (dict, str)):
                yield _convert_content_part(part) if isinstance(part, dict) else ContentPart("text", part)
    elif content is not None:
        yield ContentPart("text", to_json_text(content))


def _convert_content_part(part: dict[str, Any]) -> ContentPart:
    kind = str(part.get("type"))
    if kind == "text":
        return ContentPart(kind, str(part.get("text") or ""))
    if kind == "reasoning":
        if part.get("redacted") and not part.get("summary"):
            return ContentPart(kind, "(the provider hides the reasoning)")
        return ContentPart(kind, str(part.get("reasoning") or part.get("summary") or ""))
    text = next((value for key in (kind, "text", "data") if isinstance(value := part.get(key), str)), None)
    if text is None:
        text = to_json_text({key: value for key, value in part.items() if key != "type"})
    return ContentPart(kind, f"[{kind}: {text[:MAX_DATA_URI]}{'…' if len(text) > MAX_DATA_URI else ''}]")


def get_text_without_reasoning(content: Any) -> str:
    return "\n".join(text for kind, text in iterate_content_parts(content) if kind != "reasoning")


def get_text_and_error(message: dict[str, Any]) -> str:
    """Return the text of a message without its reasoning, preceded by the error of the message if it has one."""
    error, text = message.get("error"), get_text_without_reasoning(message.get("content"))
    if isinstance(error, dict):
        return "\n".join(filter(None, (f"error ({error.get('type')}): {error.get('message')}", text)))
    return text


def list_answers_to_hash(messages: Any) -> list[Any]:
    """Return the model's messages and calls without ids and times, from which the prediction hash is computed."""
    answers: list[Any] = []
    for message in list_objects(messages):
        if message.get("role") == "assistant":
            calls = message.get("tool_calls") or ()
            plain = [[c.get("function"), c.get("arguments")] if isinstance(c, dict) else c for c in calls]
            answers.append([get_text_without_reasoning(message.get("content")), plain])
    return answers


def find_last_reply_text(messages: Sequence[Message]) -> str | None:
    """Return the text of the last reply that contains text, or None."""
    replies = (each for each in reversed(messages) if each.role == "assistant" and each.name != "reasoning")
    return next((each.content for each in replies), None)


@dataclass(slots=True)
class EventData:
    """Data from the events of a sample."""

    functions: list[dict[str, Any]] = field(default_factory=list)
    """Function docs of the first model call with available functions."""
    graders: dict[str, str] = field(default_factory=dict)
    """Name of a scorer -> model that it calls."""


def collect_event_data(events: Any) -> EventData:
    """Collect data from a list of events. Unknown kinds and forms of events are ignored."""
    event_data = EventData()
    parents: dict[str, str | None] = {}
    scorers: dict[str, str] = {}
    for event in list_objects(events):
        kind, name = event.get("event"), str(event.get("id"))
        if kind == "span_begin":
            parents[name] = event.get("parent_id")
            if event.get("type") == "scorer":
                scorers[name] = str(event.get("name"))
        elif kind == "model":
            scorer = _find_enclosing_scorer(event.get("span_id"), parents, scorers)
            if scorer is not None:
                event_data.graders[scorer.rpartition("/")[2]] = str(event.get("model"))
            else:
                event_data.functions = event_data.functions or list_objects(event.get("tools"))
    return event_data


def _find_enclosing_scorer(span_id: Any, parent_ids: dict[str, str | None], scorer_names: dict[str, str]) -> str | None:
    for _ in range(50):
        if not isinstance(span_id, str):
            return None
        if span_id in scorer_names:
            return scorer_names[span_id]
        span_id = parent_ids.get(span_id)
    return None
