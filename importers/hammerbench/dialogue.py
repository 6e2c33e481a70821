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

_ROLE_PREFIX = re.compile(r"^(user|assistant):", re.MULTILINE)
_QUOTE_MARK = re.compile(r"<EK>:?|(?:^|\n)EK:|^EK:")
QUOTED_MESSAGE_NAME = "quoted"
"""`Message.name` of text that a user only attached: HammerBench's quoted messages."""


def read_dialogue(records: list[dict[str, Any]], snapshot: int) -> list[Message]:
    """Messages up to the `snapshot`-th (from 1) golden call, which itself is left out. Earlier golden calls are
    shown as the assistant's, since the next turn builds on them."""
    found: list[Message] = []
    turn, calls = -1, 0
    for record in records:
        role, content = record.get("role"), record.get("content")
        if role == "user":
            turn += 1
            found += parse_user_message(str(content), turn)
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


def split_golden_reply(messages: list[Message]) -> tuple[list[Message], str | None]:
    """The dialogue without the golden answer that closes it where no tool fits, and that answer."""
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.name is not None:
        return messages, None
    return messages[:-1], last.content


def parse_log_input(text: str) -> list[Message]:
    """`user:...` and `assistant:...` at line starts; text before the first of them is the user's."""
    starts = list(_ROLE_PREFIX.finditer(text))
    if not starts:
        return parse_user_message(text, 0)
    found: list[Message] = []
    turn = -1
    for position, start in enumerate(starts):
        end = starts[position + 1].start() if position + 1 < len(starts) else len(text)
        content = text[start.end() : end].rstrip("\n")
        if start[1] == "user":
            turn += 1
            found += parse_user_message(content, turn)
        else:
            found.append(Message(max(turn, 0), 1, "assistant", content))
    return found


def parse_user_message(content: str, turn: int) -> list[Message]:
    """A user's message, with what is quoted in it (`<EK>:`, `EK:`) as a message of its own."""
    found = _QUOTE_MARK.search(content)
    if not found:
        return [Message(turn, -1, "user", content)]
    before, quoted = content[: found.start()].strip(), content[found.end() :].strip()
    if not before and "\nquery:" in quoted:
        quoted, _, before = quoted.partition("\nquery:")
    parts = [Message(turn, -1, "user", before.strip())] if before.strip() else []
    return [*parts, Message(turn, -1, "user", quoted.strip(), QUOTED_MESSAGE_NAME)]


JSON_FENCE = "```json"
ParsedCall = dict[str, Any]
"""`{"name": str, "arguments": {...}}`, and `"blank": [names]` of arguments that were dropped for being empty."""


def choose_parser(path: str) -> str:
    """`ministral`, `xlam`, `toolace` or `default`, from the log's path in lower case, tested in this order."""
    lower = path.lower()
    return next((name for name in ("ministral", "xlam", "toolace") if name in lower), "default")


def parse_prediction(prediction: Any, parser: str = "default") -> ParsedCall | None:
    """The call in a prediction, None if it stays text. An object that is already a call is taken as it is."""
    if isinstance(prediction, dict):
        return prediction if isinstance(prediction.get("name"), str) else None
    if not isinstance(prediction, str):
        return None
    reader = {"ministral": _parse_ministral, "xlam": _parse_xlam, "toolace": _parse_toolace}.get(parser, _parse_default)
    try:
        return reader(prediction)
    except (ValueError, RecursionError, MemoryError):
        return None


def _parse_default(text: str) -> ParsedCall | None:
    whole = _parse_json_object(text.strip())
    if whole is not None and "name" in whole and "parameters" in whole:
        return _make_call(whole)
    blocks = re.findall(r"```json(.*?)(?:```|\Z)", text, re.DOTALL) if JSON_FENCE in text else _find_unfenced_json(text)
    calls = []
    for block in blocks:
        block = block.strip()
        if not block:
            continue
        value = _parse_json_object(block) or _parse_json_object(block.split("\n")[-1])
        if value is None:
            return None
        calls.append(value)
    return _make_call(calls[0]) if calls else None


def _find_unfenced_json(text: str) -> list[str]:
    start = text.find('{"name"')
    return [text[start:]] if start >= 0 else []


def _parse_json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _make_call(value: dict[str, Any]) -> ParsedCall | None:
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


def _parse_ministral(text: str) -> ParsedCall | None:
    _, mark, rest = text.partition("[TOOL_CALLS]")
    return _parse_first_call(rest[rest.find("[") :]) if mark and "[" in rest else None


def _parse_xlam(text: str) -> ParsedCall | None:
    _, mark, rest = text.partition('"tool_calls":')
    line = rest.split("\n")[0]
    return _parse_first_call(line[line.rfind("[") :]) if mark and "[" in line else None


def _parse_first_call(text: str) -> ParsedCall | None:
    end = text.find("]")
    value = json.loads(text[: end + 1]) if end >= 0 else None
    return _make_call(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else None


def _parse_toolace(text: str) -> ParsedCall | None:
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
