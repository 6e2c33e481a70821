"""A snapshot's dialogue: from the dataset's records, else from the flat log's `input` text."""

from __future__ import annotations

import json
import re
from typing import Any

from fcreview.model import GOLDEN_CALL, Message

_START = re.compile(r"^(user|assistant):", re.MULTILINE)
_EXTERNAL = re.compile(r"<EK>:?|(?:^|\n)EK:|^EK:")
EXTERNAL = "quoted"
"""`Message.name` of text that a user only attached: HammerBench's quoted messages."""


def from_records(records: list[dict[str, Any]], snapshot: int) -> list[Message]:
    """Messages up to the `snapshot`-th (from 1) golden call, which itself is left out. Earlier golden calls are
    shown as the assistant's, since the next turn builds on them."""
    found: list[Message] = []
    turn, calls = -1, 0
    for record in records:
        role, content = record.get("role"), record.get("content")
        if role == "user":
            turn += 1
            found += user(str(content), turn)
        elif role == "function call":
            calls += 1
            if calls == snapshot:
                break
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            found.append(Message(max(turn, 0), 0, "assistant", text, GOLDEN_CALL))
        elif turn + 1 > snapshot:
            break
        else:
            found.append(Message(max(turn, 0), 1, "assistant", str(content)))
    return found


def without_refusal(messages: list[Message]) -> tuple[list[Message], str | None]:
    """The dialogue without the golden answer that closes it where no tool fits, and that answer."""
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.name is not None:
        return messages, None
    return messages[:-1], last.content


def from_input(text: str) -> list[Message]:
    """`user:...` and `assistant:...` at line starts; text before the first of them is the user's."""
    starts = list(_START.finditer(text))
    if not starts:
        return user(text, 0)
    found: list[Message] = []
    turn = -1
    for position, start in enumerate(starts):
        end = starts[position + 1].start() if position + 1 < len(starts) else len(text)
        content = text[start.end() : end].rstrip("\n")
        if start[1] == "user":
            turn += 1
            found += user(content, turn)
        else:
            found.append(Message(max(turn, 0), 1, "assistant", content))
    return found


def user(content: str, turn: int) -> list[Message]:
    """A user's message, with what is quoted in it (`<EK>:`, `EK:`) as a message of its own."""
    found = _EXTERNAL.search(content)
    if not found:
        return [Message(turn, -1, "user", content)]
    before, quoted = content[: found.start()].strip(), content[found.end() :].strip()
    if not before and "\nquery:" in quoted:
        quoted, _, before = quoted.partition("\nquery:")
    parts = [Message(turn, -1, "user", before.strip())] if before.strip() else []
    return [*parts, Message(turn, -1, "user", quoted.strip(), EXTERNAL)]
