"""Native function calling: `result` is a list of `{name: arguments}` with arguments as JSON text or as an
object (D1)."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from fcreview.importers.bfcl.decode.decoding import Calls, Undecodable, well_formed

# orjson reads integers beyond 64 bit as floats; the standard library keeps them.
long_number = re.compile(r"[0-9]{19}").search


def load_json(text: str) -> Any:
    """JSON as the standard library reads it: NaN, Infinity, big integers and lone surrogates included.

    Raises Undecodable.
    """
    if not long_number(text):
        try:
            return orjson.loads(text)
        except ValueError:
            pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise Undecodable(f"not JSON: {error}") from None


def decode_calls(result: list[Any]) -> Calls:
    """Calls of a native record. Raises Undecodable and WrongFormat."""
    calls: Calls = []
    wrong = False
    for item in result:
        if type(item) is not dict:
            raise Undecodable("text where a call was expected" if isinstance(item, str) else "not an object")
        if not item:
            raise Undecodable("a call without a name")
        if "tool_name" in item and "parameters" in item:
            name, arguments = item["tool_name"], item["parameters"]
        else:
            name = next(iter(item))
            arguments = item[name]
        if type(arguments) is str:
            arguments = load_json(arguments)
        elif len(item) != 1 and "tool_name" not in item:
            arguments = None  # Gemini's objects are taken as they are, and must have one key
        if type(arguments) is not dict or type(name) is not str:
            wrong = True
        calls.append((name, arguments))
    return well_formed(calls) if wrong else calls


def as_text(calls: Calls) -> Calls:
    """Every argument as Python's text of it, as Hermes' V1 handler and early native ones deliver Java and JavaScript
    arguments."""
    return [(name, {key: str(value) for key, value in arguments.items()}) for name, arguments in calls]
