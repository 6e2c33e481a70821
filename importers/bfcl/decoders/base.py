"""Define types and helpers for all BFCL decoders.

A decoder turns a model's raw reply into calls, in the order written. A reply without calls is
valid. The two errors, `Undecodable` and `WrongFormat`, correspond to errors of the official program
(`eval_runner.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from fcreview.importers.common.records import Undecodable

Calls = list[tuple[str, dict[str, Any]]]
"""(function name, arguments) of each call."""
DisplayCalls = Sequence[tuple[str, dict[str, Any] | None]]
"""(function name, arguments as JSON) of each call; None for arguments that are not an object."""


class WrongFormat(ValueError):
    """Raised for a reply that can be decoded, but not to a list of calls whose arguments are
    objects.

    The official error type is `ast_decoder:decoder_wrong_output_format`. `v1_calls` are the
    unchecked decoded calls, which V1's checker accepts.
    """

    def __init__(
        self, reason: str, display_calls: DisplayCalls | None = None, v1_calls: Calls | None = None
    ) -> None:
        super().__init__(reason)
        self.display_calls = display_calls
        self.v1_calls = v1_calls


def require_text(result: Any) -> str:
    """Return the reply if it is a string. Raises Undecodable for any other type."""
    if type(result) is not str:
        raise Undecodable("the reply is empty" if result is None else "the reply is not text")
    return result


def validate_calls(found: Iterable[tuple[Any, Any]]) -> Calls:
    """Check that decoded calls, pairs of a name and arguments, are well-formed, and return them.

    A name must be a text, and arguments must be an object. Otherwise, raises WrongFormat.
    """
    calls = list(found)
    for name, arguments in calls:
        if type(arguments) is not dict or type(name) is not str:
            raise _make_wrong_format(name, calls)
    return calls


def _make_wrong_format(malformed_name: Any, calls: Calls) -> WrongFormat:
    """Return the error for malformed calls. It contains the calls for display and, because the
    programs of V1 check malformed calls, also for V1.
    """
    shown_calls = []
    for name, arguments in calls:
        is_object = type(arguments) is dict
        shown_calls.append((str(name), arguments if is_object else None))
    # The programs of V1 only count such calls if all names are text.
    have_all_names = all(type(name) is str for name, _ in calls)
    v1_calls = calls if have_all_names else None
    what = f"the arguments of {malformed_name} are not an object"
    return WrongFormat(what, shown_calls, v1_calls)


# orjson reads integers beyond 64 bits as floats; the standard library reads them as integers.
has_long_number = re.compile(r"[0-9]{19}").search


def parse_json(text: str) -> Any:
    """Parse JSON, which may contain NaN, Infinity, big integers and lone surrogates.

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
    """Return the text between each opening tag and the next closing tag.

    A block without a closing tag is omitted.
    """
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


def is_quoted(text: str, quotes: str) -> bool:
    return any(text.startswith(quote) and text.endswith(quote) for quote in quotes)


NameSpelling = Literal["dotted", "flat", "either"]
"""How a model must write `math.factorial`: "dotted" unchanged, "flat" as `math_factorial`,
"either" in either form.
"""


@dataclass(frozen=True, slots=True)
class DecoderContext:
    """BFCL version and language of a category, on which some decoders depend."""

    version: str = "V4"
    language: str = "python"

    @property
    def is_v1(self) -> bool:
        return self.version == "V1"


DecodeFunction = Callable[[Any, DecoderContext], Calls]
"""Function that decodes a raw `result`. It raises Undecodable or WrongFormat."""


@dataclass(frozen=True, slots=True)
class Decoder:
    name: str
    """Name that `--decoder` and the configuration accept."""
    decode: DecodeFunction
    name_spelling: NameSpelling = "dotted"
    stringifies_arguments: bool = False
    """Whether arguments of Java and JavaScript calls are replaced by `str(value)`."""
