"""A snapshot's dialogue: from the dataset's records, else from the flat log's `input` text.

A HammerBench prediction as a call: the three parser families and the default one.

Source of the rules: the released `evaluate.py` and `utils` of HammerBench (March 2025). Which family reads a log
is decided by the log's path, not by its content.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from fcreview.model.item import GOLDEN_CALL, Message

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


FENCE = "```json"
Parsed = dict[str, Any]
"""`{"name": str, "arguments": {...}}`, and `"blank": [names]` of arguments that were dropped for being empty."""


def family(path: str) -> str:
    """`ministral`, `xlam`, `toolace` or `default`, from the log's path in lower case, tested in this order."""
    lower = path.lower()
    return next((name for name in ("ministral", "xlam", "toolace") if name in lower), "default")


def parse(prediction: Any, parser: str = "default") -> Parsed | None:
    """The call in a prediction, None if it stays text. An object that is already a call is taken as it is."""
    if isinstance(prediction, dict):
        return prediction if isinstance(prediction.get("name"), str) else None
    if not isinstance(prediction, str):
        return None
    reader = {"ministral": _ministral, "xlam": _xlam, "toolace": _toolace}.get(parser, _default)
    try:
        return reader(prediction)
    except (ValueError, RecursionError, MemoryError):
        return None


def _default(text: str) -> Parsed | None:
    whole = _object(text.strip())
    if whole is not None and "name" in whole and "parameters" in whole:
        return _call(whole)
    blocks = re.findall(r"```json(.*?)(?:```|\Z)", text, re.DOTALL) if FENCE in text else _from_name(text)
    calls = []
    for block in blocks:
        block = block.strip()
        if not block:
            continue
        value = _object(block) or _object(block.split("\n")[-1])
        if value is None:
            return None
        calls.append(value)
    return _call(calls[0]) if calls else None


def _from_name(text: str) -> list[str]:
    start = text.find('{"name"')
    return [text[start:]] if start >= 0 else []


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _call(value: dict[str, Any]) -> Parsed | None:
    name = value.get("name")
    arguments = value.get("arguments")
    if not isinstance(arguments, dict):
        arguments = value.get("parameters")
    if not isinstance(arguments, dict):
        arguments = {}
    blank = [key for key, item in arguments.items() if isinstance(item, str) and item in ("", "\\")]
    kept = {key: item for key, item in arguments.items() if key not in blank}
    if name is None:
        return None
    return {"name": name, "arguments": kept} | ({"blank": blank} if blank else {})


def _ministral(text: str) -> Parsed | None:
    _, mark, rest = text.partition("[TOOL_CALLS]")
    return _first_of_list(rest[rest.find("[") :]) if mark and "[" in rest else None


def _xlam(text: str) -> Parsed | None:
    _, mark, rest = text.partition('"tool_calls":')
    line = rest.split("\n")[0]
    return _first_of_list(line[line.rfind("[") :]) if mark and "[" in line else None


def _first_of_list(text: str) -> Parsed | None:
    end = text.find("]")
    value = json.loads(text[: end + 1]) if end >= 0 else None
    return _call(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else None


def _toolace(text: str) -> Parsed | None:
    text = text.strip("[]'")
    if len(text) > 100_000:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(tree, ast.Call):
        return None
    name = ast.unparse(tree.func)
    return {"name": name, "arguments": {word.arg: ast.literal_eval(word.value) for word in tree.keywords if word.arg}}
