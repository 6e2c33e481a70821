"""Find the text of calls in replies in which the decoder of a run read no call.

A server without a parser for a model's calls returns them as text, such as `[TOOL_CALLS] [{"name":
...}]`, and some models write calls in code fences or tags that the handler does not expect. Prose
that only mentions a function is no call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from fcreview.importers.bfcl.decoders.base import parse_json
from fcreview.importers.bfcl.decoders.python_calls import clean_prompt_text, parse_calls
from fcreview.importers.common.records import Undecodable

MAX_SEARCHED = 20_000
"""Number of characters of a reply that are searched."""
MAX_PIECES = 40
"""Maximum number of pieces of a reply that are parsed."""
NEAR_MARKER = 2_000
"""Number of characters after a marker that are searched for the name of a function."""

MARKER = re.compile(
    r"\[TOOL_CALLS\]|<\|?tool_calls?(?:_start|_begin|_section_begin)?\|?>|<\|?function_calls?\|?>|<function[=>]"
    r"|<start_function_call>|<functions>|<TOOLCALL>|<\|python_tag\|>|<tool_code>|\bfunctools\[",
    re.IGNORECASE,
)
"""Tags that models write around calls."""
FENCE = re.compile(r"```[\w.+-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_QUOTED_CALL = re.compile(r"""\[\s*(?P<quote>['"])(?P<name>[\w.]+)(?:(?P=quote)\s*,\s*\{|\()""")
"""Matches the beginning of a list with a name in quotes, followed by `(` or by an object."""
NAME_FIELDS = ("name", "function", "tool_name", "function_name", "tool")
ARGUMENT_FIELDS = ("arguments", "parameters", "args", "input", "tool_input", "kwargs")
CALL_LINE = re.compile(r"\s*[-*>\d.)\s]*\[?\s*[A-Za-z_][\w.]*\(.*\)\s*[\],;.]*\s*")
"""Matches a line that may consist of calls in Python syntax."""


def holds_call_text(reply: Any, names: Collection[str]) -> bool:
    """Whether a reply seems to contain a call, in any form that models use.

    This finds calls that the decoder of the run could not read. `names` are the available
    functions; empty if they are unknown.
    """
    if isinstance(reply, list):
        return _holds_native_call(reply, names)
    if isinstance(reply, dict):
        return _is_call_object(reply, names)
    if not isinstance(reply, str):
        return False

    text = reply[:MAX_SEARCHED]
    spellings = _list_spellings(names)
    if _has_marked_call(text, spellings):
        return True
    pieces = islice(_split_into_pieces(text), MAX_PIECES)
    return any(_is_call_text(piece, spellings) for piece in pieces)


def _list_spellings(names: Collection[str]) -> set[str]:
    """Return the names as they are, and with `_` for `.`, as native APIs need them."""
    spellings: set[str] = set()
    for name in names:
        spellings.update((name, name.replace(".", "_")))
    spellings.discard("")
    return spellings


def _holds_native_call(reply: list[Any], names: Collection[str]) -> bool:
    """Whether a list contains an object, which only a call can be, or the text of a call."""
    return any(
        isinstance(part, dict) or (isinstance(part, str) and holds_call_text(part, names))
        for part in reply
    )


def _has_marked_call(text: str, names: Collection[str]) -> bool:
    """Whether the name of a function or, if the functions are unknown, a call or an object
    follows a tag of calls.
    """
    for marker in MARKER.finditer(text):
        after = text[marker.end() : marker.end() + NEAR_MARKER]
        if any(name in after for name in names):
            return True
        if not names and re.match(r"\s*\[?\s*(\{|[A-Za-z_][\w.]*\()", after):
            return True
    return False


def _split_into_pieces(text: str) -> Iterator[str]:
    """Yield the parts of a reply that may be calls: the contents of code fences, JSON, and lines
    in call syntax.
    """
    for fence in FENCE.finditer(text):
        yield fence[1]
        yield from _find_call_lines(fence[1])
    # The whole text can be JSON. Else its longest part in brackets can be.
    yield text
    for opening, closing in (("[", "]"), ("{", "}")):
        start = text.find(opening)
        end = text.rfind(closing)
        if 0 <= start < end:
            yield text[start : end + 1]
    yield from _find_call_lines(text)


def _find_call_lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if "(" in line and len(line) < NEAR_MARKER and CALL_LINE.fullmatch(line):
            yield line.strip().strip("-*> ,;")


def _is_call_text(piece: str, names: Collection[str]) -> bool:
    """Whether a piece of a reply is a call of one of the functions, as Python or as JSON."""
    text = piece.strip().strip("`").strip()
    if text.startswith(("['", '["')):
        return _is_list_of_quoted_calls(text, names)
    if not text.startswith(("{", "[{")):
        return _is_python_call(text, names)
    try:
        return _is_call_json(parse_json(text), names)
    except Undecodable:
        return _is_json_with_damage(text, names)


def _is_list_of_quoted_calls(piece: str, names: Collection[str]) -> bool:
    """Whether text is a list such as `["f(a=1)"]` or `['f', {"a": 1}]`.

    `names` are the available functions. Without them, any name counts.
    """
    match = _QUOTED_CALL.match(piece)
    return match is not None and (not names or match["name"] in names)


def _is_call_json(value: Any, names: Collection[str]) -> bool:
    if isinstance(value, list):
        return any(_is_call_object(element, names) for element in value)
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        return _is_call_json(value["tool_calls"], names)
    return _is_call_object(value, names)


def _is_call_object(value: Any, names: Collection[str]) -> bool:
    """Whether an object is a call.

    The forms are `{"name": "f", "arguments": ...}` with several spellings of the keys, the same
    below the key `function`, and `{"f": arguments}`. `names` are the available functions; empty if
    they are unknown.
    """
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("function"), dict):
        return _is_call_object(value["function"], names)

    name = _find_call_name(value)
    if name is not None and name in names:
        return True
    if name is not None and not names:
        # Many objects have a name. Without known functions, only arguments show that it is a call.
        return any(field in value for field in ARGUMENT_FIELDS)
    return any(key in names and isinstance(content, (dict, str)) for key, content in value.items())


def _find_call_name(value: dict[str, Any]) -> str | None:
    for field in NAME_FIELDS:
        if isinstance(value.get(field), str):
            return str(value[field])
    return None


def _is_json_with_damage(piece: str, names: Collection[str]) -> bool:
    """Whether text is nearly JSON of a call, such as several objects or an object without its
    end.
    """
    for field in NAME_FIELDS:
        quoted_name = rf"""['"]{field}['"]\s*:\s*['"](?P<name>[\w.:/-]{{1,200}})['"]"""
        for match in re.finditer(quoted_name, piece):
            if match["name"] in names:
                return True
    return False


def _is_python_call(piece: str, names: Collection[str]) -> bool:
    """Whether text consists of calls in Python syntax, and one calls an available function with
    named arguments.

    Prose describes functions without names of arguments: `area(base, height)`.
    """
    if not piece.endswith((")", "]")):
        return False
    try:
        calls = parse_calls(clean_prompt_text(piece))
    except (ValueError, RecursionError, MemoryError):
        return False
    return any(arguments and (not names or name in names) for name, arguments in calls)
