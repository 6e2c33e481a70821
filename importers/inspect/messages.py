"""Convert the messages of an Inspect sample to turns, steps and predicted calls, and collect facts from its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import first_question, list_objects
from fcreview.model.item import Call, Item, Message, Role
from fcreview.model.json_value import to_json_text, to_plain_json

ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
}  # fmt: skip
MAX_DATA_URI = 200
"""Maximum number of characters that are kept of an image or a sound in a message."""


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


def build_conversation(messages: Any, *, every_user_message: bool = False) -> Conversation:
    """Build the conversation. A user message that follows a reply begins a new turn. Each reply is a step.

    With `every_user_message`, every user message after the first begins a new turn.
    """
    found = Conversation()
    turn, step, index, n_steps, n_users = 0, -1, 0, 0, 0
    for message in list_objects(messages):
        role = ROLES.get(str(message.get("role")), "log")
        if role == "user":
            if step >= 0 or (every_user_message and n_users):
                turn, step, index = turn + 1, -1, 0
            n_users += 1
        if role == "assistant":
            step, n_steps = step + 1, n_steps + 1
        found.messages += _message_parts(message, role, turn, -1 if role in ("system", "user") else max(step, 0))
        for call in list_objects(message.get("tool_calls")):
            name, arguments, raw, call_error = read_call(call)
            found.calls.append(Call("predicted", name, arguments, turn, max(step, 0), index, raw, call_error))
            index += 1
        error = message.get("error")
        if isinstance(error, dict):
            found.tool_errors.append(str(error.get("type") or "unknown"))
    found.n_turns, found.n_steps = turn + 1, max(n_steps, 1)
    return found


def read_call(call: dict[str, Any]) -> tuple[str, dict[str, Any] | None, str | None, str | None]:
    """Return name, arguments, raw text of arguments that are not an object, and the decoding error of a call."""
    name, arguments, error = str(call.get("function") or ""), call.get("arguments"), call.get("parse_error")
    if error or not isinstance(arguments, dict):
        return name, None, to_json_text(arguments), str(error or "the arguments are not an object")
    return name, to_plain_json(arguments), None, None


def _message_parts(message: dict[str, Any], role: Role, turn: int, step: int) -> Iterator[Message]:
    name = message.get("function") if role == "tool" else None
    for kind, text in content_parts(message.get("content")):
        if kind == "reasoning":
            yield Message(turn, step, role, text, "reasoning")
    text = text_with_error(message)
    if text or role != "assistant":
        yield Message(turn, step, role, text, str(name) if name else None)


def content_parts(content: Any) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of each part of a message.

    An image or a sound becomes text: its kind and the beginning of its data.
    """
    if isinstance(content, (str, list)):
        for part in [content] if isinstance(content, str) else content:
            if isinstance(part, (dict, str)):
                yield _content_part(part) if isinstance(part, dict) else ("text", part)
    elif content is not None:
        yield "text", to_json_text(content)


def _content_part(part: dict[str, Any]) -> tuple[str, str]:
    kind = str(part.get("type"))
    if kind == "text":
        return kind, str(part.get("text") or "")
    if kind == "reasoning":
        if part.get("redacted") and not part.get("summary"):
            return kind, "(hidden by the provider)"
        return kind, str(part.get("reasoning") or part.get("summary") or "")
    text = next((value for key in (kind, "text", "data") if isinstance(value := part.get(key), str)), None)
    if text is None:
        text = to_json_text({key: value for key, value in part.items() if key != "type"})
    return kind, f"[{kind}: {text[:MAX_DATA_URI]}{'…' if len(text) > MAX_DATA_URI else ''}]"


def content_text(content: Any) -> str:
    """Return the text of a message without its reasoning."""
    return "\n".join(text for kind, text in content_parts(content) if kind != "reasoning")


def text_with_error(message: dict[str, Any]) -> str:
    """Return the error of a message, if it has one, and its text without its reasoning."""
    error, text = message.get("error"), content_text(message.get("content"))
    if isinstance(error, dict):
        return "\n".join(filter(None, (f"error ({error.get('type')}): {error.get('message')}", text)))
    return text


def list_model_answers(messages: Any) -> list[Any]:
    """Return the model's messages and calls without ids and times, for the prediction hash."""
    answers: list[Any] = []
    for message in list_objects(messages):
        if message.get("role") == "assistant":
            calls = message.get("tool_calls") or ()
            plain = [
                [each.get("function"), each.get("arguments")] if isinstance(each, dict) else each for each in calls
            ]
            answers.append([content_text(message.get("content")), plain])
    return answers


def find_last_reply_text(messages: Sequence[Message]) -> str | None:
    """Return the text of the last reply with text; None if there is none."""
    replies = (each for each in reversed(messages) if each.role == "assistant" and each.name != "reasoning")
    return next((each.content for each in replies), None)


@dataclass(slots=True)
class EventFacts:
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Function docs of the first model call that has functions."""
    graders: dict[str, str] = field(default_factory=dict)


def collect_event_facts(events: Any) -> EventFacts:
    """Collect facts from a list of events. Events of unknown kinds and forms are ignored."""
    facts = EventFacts()
    parents: dict[str, str | None] = {}
    scorers: dict[str, str] = {}
    for event in list_objects(events):
        kind, name = event.get("event"), str(event.get("id"))
        if kind == "span_begin":
            parents[name] = event.get("parent_id")
            if event.get("type") == "scorer":
                scorers[name] = str(event.get("name"))
        elif kind == "model":
            scorer = _enclosing_scorer(event.get("span_id"), parents, scorers)
            if scorer is not None:
                facts.graders[scorer.rpartition("/")[2]] = str(event.get("model"))
            else:
                facts.functions = facts.functions or list_objects(event.get("tools"))
    return facts


def _enclosing_scorer(span: Any, parents: dict[str, str | None], scorers: dict[str, str]) -> str | None:
    for _ in range(50):
        if not isinstance(span, str):
            return None
        if span in scorers:
            return scorers[span]
        span = parents.get(span)
    return None
