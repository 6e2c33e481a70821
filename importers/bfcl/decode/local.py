"""Text formats of locally served function-calling models (the evaluator's `local_inference` handlers).

Each function takes the whole text and gives calls; Undecodable and WrongFormat as everywhere.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from fcreview.importers.bfcl.decode.decoding import Calls, Undecodable, WrongFormat, check_bounds, well_formed
from fcreview.importers.bfcl.decode.fc import load_json

OPEN, CLOSE = "<tool_call>", "</tool_call>"


def blocks(text: str, opening: str, closing: str) -> list[str]:
    """The texts between each opening tag and the next closing tag; an unclosed block is left out."""
    found = []
    position = text.find(opening)
    while position >= 0:
        start = position + len(opening)
        end = text.find(closing, start)
        if end < 0:
            break
        found.append(text[start:end])
        position = text.find(opening, end)
    return found


def tool_call_tags(text: str) -> Calls:
    """`<tool_call>{"name": ..., "arguments": {...}}</tool_call>` blocks; text without one holds no call."""
    return [_named(load_json(block.strip())) for block in blocks(text, OPEN, CLOSE)]


def hermes(text: str, *, single_quotes: bool) -> Calls:
    """The same, one object per line; `single_quotes` (V1) turns every ' into " before."""
    calls: Calls = []
    for block in blocks(text, OPEN, CLOSE):
        for line in block.split("\n"):
            if line.strip():
                calls.append(_named(load_json(line.replace("'", '"') if single_quotes else line)))
    return calls


def granite(text: str) -> Calls:
    """`<function_call> {"name": ..., "arguments": {...}}`, repeated; prose in between spoils the format."""
    calls: Calls = []
    for part in text.split("<function_call>"):
        part = part.strip()
        if not part:
            continue
        try:
            found = load_json(part)
        except Undecodable:
            raise WrongFormat("text that is not a call", list(calls)) from None
        if isinstance(found, dict) and found.get("name") == "no_function":
            raise WrongFormat("no function is called", list(calls))
        calls.append(_named(found))
    return calls


def json_calls(text: str) -> Calls:
    """`{"tool_calls": [...]}`, a list of `{"name", "arguments"}`, or such objects joined by semicolons."""
    try:
        found = load_json(_unfenced(text))
    except Undecodable:
        if ";" not in text:
            raise
        found = [load_json(part) for part in text.split(";")]
    if isinstance(found, dict):
        found = found.get("tool_calls", [found] if "name" in found else [])
    if not isinstance(found, list):
        raise Undecodable("JSON, but not a list of calls")
    return [_named(item) for item in found]


def hammer(text: str) -> Calls:
    """A list of `{"name", "arguments"}`, perhaps fenced; what is no JSON holds no call."""
    try:
        found = load_json(text.replace("```", ""))
    except Undecodable:
        return []
    if not isinstance(found, list):
        raise Undecodable("JSON, but not a list of calls")
    return [_named(item) for item in found]


def first_tool_call(text: str) -> Calls:
    """What the first `<tool_call>` holds: one call or a list of them."""
    if OPEN not in text:
        raise Undecodable("no <tool_call> in the text")
    found = load_json(_unfenced(text.split(OPEN, 1)[1].split(CLOSE, 1)[0]))
    return [_named(item) for item in (found if isinstance(found, list) else [found])]


def literals_or_semicolons(text: str) -> Calls:
    """`{"name", "parameters"}` objects: as JSON joined by semicolons; else one, or a list, in *Python's*
    notation, where `true` and `null` are nothing."""
    text = text.replace("<|python_tag|>", "")
    if ";" in text:
        return [_named(load_json(part), "parameters") for part in text.split(";")]
    check_bounds(text)
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        reason = str(error).partition(": <")[0]  # Python adds where the tree of it lies in memory
        raise Undecodable(f"not a Python literal: {reason}") from None
    if not isinstance(found, (list, tuple, dict)):
        raise Undecodable("a literal, but not calls")
    return [_named(item, "parameters") for item in ([found] if isinstance(found, dict) else found)]


def name_line(text: str) -> Calls:
    """A name on the very first line, blanks and all, and its JSON arguments on the second; more lines do not count. So
    an empty first line is a call without a name, if the second one holds JSON."""
    lines = text.split("\n")
    if len(lines) < 2:
        raise WrongFormat("no second line with arguments")
    arguments = load_json(lines[1])
    if not isinstance(arguments, dict):
        raise WrongFormat("the arguments are not an object", [(lines[0], None)])
    return [(lines[0], arguments)]


def bracket_region(text: str) -> str:
    """From the first `[` to the last `]`."""
    start, end = text.find("["), text.rfind("]")
    if start < 0 or end < start:
        raise Undecodable("no [ ... ] in the text")
    return text[start : end + 1]


def _named(found: Any, key: str = "arguments") -> tuple[str, dict[str, Any]]:
    if not isinstance(found, dict) or "name" not in found:
        raise Undecodable("JSON, but not a call with a name")
    name, arguments = found["name"], found.get(key, {})
    if isinstance(arguments, str):
        arguments = load_json(arguments)
    return well_formed([(name, arguments)])[0]


FENCE = re.compile(r"^```[a-z]*\n")


def _unfenced(text: str) -> str:
    text = text.strip()
    if text.startswith("```"):
        text = FENCE.sub("", text).rstrip("`\n ")
    return text
