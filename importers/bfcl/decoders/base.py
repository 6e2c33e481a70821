"""What every decoder answers with, and how it says that it could not.

A decoder returns the calls as `[(name, arguments), ...]` with `arguments` a dict, in the order written. An
empty list is a successful decoding of "no call". The two failures are the evaluator's own two (`eval_runner.py`).

What a decoder is: how the replies of one family of models become calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from fcreview.importers.common.python_syntax import brackets_deeper_than
from fcreview.importers.common.records import Undecodable

Calls = list[tuple[str, dict[str, Any]]]

MAX_TEXT = 1_000_000
"""Characters. Longer outputs are not decoded: no call is that long, and a parser's time and memory must
stay bounded."""
MAX_DEPTH = 100
"""Nested brackets. CPython's own parser gives up at 200; below that it is safe from exhausting the C stack."""


class WrongFormat(ValueError):
    """Decoded, but not to a list of one-key objects with object arguments: `ast_decoder:decoder_wrong_output_format`.

    `shown` is what there is to display: `(name, arguments)`, arguments None where there are none. `calls` are names
    with arguments that are no objects: V1 took them for calls.
    """

    def __init__(
        self, reason: str, shown: list[tuple[str, dict[str, Any] | None]] | None = None, calls: Calls | None = None
    ) -> None:
        super().__init__(reason)
        self.display_calls = shown
        self.v1_calls = calls


def validate_calls(found: Iterable[tuple[Any, Any]]) -> Calls:
    """The pairs as calls if every name is text and all arguments are objects. Raises WrongFormat."""
    pairs = list(found)
    for name, arguments in pairs:
        if type(arguments) is not dict or type(name) is not str:
            shown = [(str(each), value if type(value) is dict else None) for each, value in pairs]
            named = pairs if all(type(each) is str for each, _ in pairs) else None
            raise WrongFormat(f"the arguments of {name} are not an object", shown, named)
    return pairs


def check_size(text: str) -> None:
    """Raises Undecodable for text a parser should not be given."""
    if len(text) > MAX_TEXT:
        raise Undecodable(f"text of {len(text)} characters is too long to be decoded")
    if brackets_deeper_than(text, MAX_DEPTH):
        raise Undecodable(f"more than {MAX_DEPTH} nested brackets")


# orjson reads integers beyond 64 bit as floats; the standard library keeps them.
has_long_number = re.compile(r"[0-9]{19}").search


def parse_json(text: str) -> Any:
    """JSON as the standard library reads it: NaN, Infinity, big integers and lone surrogates included.

    Raises Undecodable.
    """
    if not has_long_number(text):
        try:
            return orjson.loads(text)
        except ValueError:
            pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise Undecodable(f"not JSON: {error}") from None


def find_blocks(text: str, opening: str, closing: str) -> list[str]:
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


NameSpelling = Literal["dotted", "flat", "either"]
"""How a family has to write `math.factorial`: as it is, `math_factorial`, or, where nobody knows, in either way."""


@dataclass(frozen=True, slots=True)
class DecoderContext:
    """What the same decoder does differently."""

    version: str = "V4"
    """The generation, "V1" to "V4"."""
    language: str = "python"
    """ "python", "java" or "javascript"."""

    @property
    def v1(self) -> bool:
        return self.version == "V1"


DecodeFunction = Callable[[Any, DecoderContext], Calls]
"""A raw `result` to calls. Raises Undecodable and WrongFormat."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """One family's. Its name is what `--decoder` takes."""

    name: str
    decode: DecodeFunction
    name_spelling: NameSpelling = "dotted"
    example: str = ""
    """What a call looks like."""
    stringifies_arguments: bool = False
    """Arguments of Java and JavaScript calls are turned into Python's text of them."""
