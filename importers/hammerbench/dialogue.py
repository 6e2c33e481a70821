"""Read the dialogues and predictions of HammerBench snapshots.

A dialogue is read from the dataset, or else from the text `input` of a flat log. A prediction is parsed by one of four
parsers, which is chosen by the path of the log, not by the content.

Source of the rules: the released `evaluate.py` and `utils` (March 2025).
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.model.item import GOLDEN_CALL, Message

_ROLE_PREFIX = re.compile(r"^(user|assistant):", re.MULTILINE)
_QUOTE_MARK = re.compile(r"<EK>:?|(?:^|\n)EK:|^EK:")
QUOTED_MESSAGE_NAME = "quoted"
"""`Message.name` of text that a user attached, which HammerBench calls a quoted message."""


def read_dialogue(records: list[dict[str, Any]], snapshot: int) -> list[Message]:
    """Read the messages before a golden call from dataset records.

    Earlier golden calls become messages of the assistant, because later turns build on them.

    Args:
        records: messages of a dataset record.
        snapshot: number of the golden call, from 1.
    """
    messages: list[Message] = []
    turn, calls = -1, 0
    for record in records:
        role, content = record.get("role"), record.get("content")
        if role == "user":
            turn += 1
            messages += parse_user_message(str(content), turn)
        elif role == "function call":
            calls += 1
            if calls == snapshot:
                break
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            messages.append(Message(max(turn, 0), 0, "assistant", text, GOLDEN_CALL))
        elif turn + 1 > snapshot:
            break
        else:
            messages.append(Message(max(turn, 0), 1, "assistant", str(content)))
    return messages


def split_golden_reply(messages: list[Message]) -> tuple[list[Message], str | None]:
    """Return the messages without the final message of the assistant, and the text of that message or None.

    In a dialogue without a suitable function, the final message is the golden answer. If the last message is not text
    by the assistant, all messages and None are returned.
    """
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.name is not None:
        return messages, None
    return messages[:-1], last.content


def parse_log_input(text: str) -> list[Message]:
    """Parse the `input` of a flat log: messages that begin with `user:` or `assistant:`, or else one user message."""
    _, *parts = _ROLE_PREFIX.split(text)
    if not parts:
        return parse_user_message(text, 0)
    messages: list[Message] = []
    turn = -1
    for role, content in zip(parts[::2], parts[1::2], strict=True):
        content = content.rstrip("\n")
        if role == "user":
            turn += 1
            messages += parse_user_message(content, turn)
        else:
            messages.append(Message(max(turn, 0), 1, "assistant", content))
    return messages


def parse_user_message(content: str, turn: int) -> list[Message]:
    """Parse a user message. Quoted text (after `<EK>:` or `EK:`) becomes a message of its own."""
    mark = _QUOTE_MARK.search(content)
    if not mark:
        return [Message(turn, -1, "user", content)]
    own_text, quoted_text = content[: mark.start()].strip(), content[mark.end() :].strip()
    if not own_text and "\nquery:" in quoted_text:
        quoted_text, _, own_text = quoted_text.partition("\nquery:")
    messages = [Message(turn, -1, "user", own_text.strip())] if own_text.strip() else []
    return [*messages, Message(turn, -1, "user", quoted_text.strip(), QUOTED_MESSAGE_NAME)]


JSON_FENCE = "```json"
"""Beginning of a fenced JSON block."""
ParsedCall = dict[str, Any]
"""`{"name": str, "arguments": {...}}`. The optional key `"blank"` lists the arguments that were dropped as empty."""


def choose_parser(log_path: str) -> str:
    """Return `ministral`, `xlam` or `toolace`, whichever the path of the log contains first, else `default`."""
    lower_path = log_path.lower()
    return next((name for name in ("ministral", "xlam", "toolace") if name in lower_path), "default")


def parse_prediction(prediction: Any, parser: str = "default") -> ParsedCall | None:
    """Parse the call in a prediction. An object with a name is returned unchanged. Returns None for text."""
    if isinstance(prediction, dict):
        return prediction if isinstance(prediction.get("name"), str) else None
    if not isinstance(prediction, str):
        return None
    parse = {"ministral": _parse_ministral, "xlam": _parse_xlam, "toolace": _parse_toolace}.get(parser, _parse_default)
    try:
        return parse(prediction)
    except (ValueError, RecursionError, MemoryError):
        return None


def _parse_default(text: str) -> ParsedCall | None:
    json_object = _parse_json_object(text.strip())
    if json_object is not None and "name" in json_object and "parameters" in json_object:
        return _make_parsed_call(json_object)
    if JSON_FENCE in text:
        blocks = re.findall(r"```json(.*?)(?:```|\Z)", text, re.DOTALL)
    else:
        blocks = re.findall(r'\{"name".*', text, re.DOTALL)
    stripped = [block.strip() for block in blocks if block.strip()]
    calls = [_parse_json_object(block) or _parse_json_object(block.split("\n")[-1]) for block in stripped]
    return _make_parsed_call(calls[0]) if calls and calls[0] is not None and None not in calls else None


def _parse_json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _make_parsed_call(value: dict[str, Any]) -> ParsedCall | None:
    name, arguments = value.get("name"), value.get("arguments")
    if name is None:
        return None
    arguments = arguments if isinstance(arguments, dict) else as_object(value.get("parameters"))
    blank = [key for key, argument in arguments.items() if isinstance(argument, str) and argument in ("", "\\")]
    nonblank = {key: argument for key, argument in arguments.items() if key not in blank}
    return {"name": name, "arguments": nonblank} | ({"blank": blank} if blank else {})


def _parse_ministral(text: str) -> ParsedCall | None:
    _, mark, rest = text.partition("[TOOL_CALLS]")
    return _parse_first_call_of_list(rest[rest.find("[") :]) if mark and "[" in rest else None


def _parse_xlam(text: str) -> ParsedCall | None:
    _, mark, rest = text.partition('"tool_calls":')
    line = rest.split("\n")[0]
    return _parse_first_call_of_list(line[line.rfind("[") :]) if mark and "[" in line else None


def _parse_first_call_of_list(text: str) -> ParsedCall | None:
    end = text.find("]")
    value = json.loads(text[: end + 1]) if end >= 0 else None
    return _make_parsed_call(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else None


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
