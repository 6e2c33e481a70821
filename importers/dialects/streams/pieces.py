"""What the streams of all APIs have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.dialects.values import to_text

JsonObject = dict[str, Any]
EMPTY_VALUES: Sequence[Any] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class StreamForm:
    """Form in which an API streams a reply."""

    end: str
    """Name of the last event, as issues show it."""
    is_only_piece: Callable[[JsonObject], bool]
    """Whether an event can only be a piece, and no response by itself."""
    is_piece: Callable[[JsonObject], bool]
    """Whether an event belongs to a stream in this form."""
    count_replies: Callable[[Sequence[JsonObject]], int]
    """Return the number of replies to which events belong."""
    is_ended: Callable[[Sequence[JsonObject]], bool]
    """Whether the last event of a reply is among the events."""
    join: Callable[[Sequence[JsonObject]], JsonObject]
    """Return the response that the API would have sent as a whole."""


class Pieces:
    """Fields whose values arrive in pieces: texts are appended, the fields of objects are joined in
    the same way, and other values replace each other.
    """

    def __init__(self, start: Any = None, *, whole: Sequence[str] = ()) -> None:
        """`whole` names the fields that every piece repeats as a whole."""
        self._whole = whole
        self._values: dict[str, list[Any]] = {}
        self._objects: dict[str, Pieces] = {}
        self.add(start)

    def add(self, fields: Any) -> None:
        for name, value in as_object(fields).items():
            if isinstance(value, dict):
                self._objects.setdefault(name, Pieces(whole=self._whole)).add(value)
            else:
                self._values.setdefault(name, []).append(value)

    def join(self) -> JsonObject:
        joined: JsonObject = {name: pieces.join() for name, pieces in self._objects.items()}
        for name, values in self._values.items():
            joined[name] = _join_values(values, is_whole=name in self._whole)
        return joined


def _join_values(values: Sequence[Any], *, is_whole: bool) -> Any:
    """Return the values of one field as one value. Other values among texts become JSON text."""
    filled_values = [value for value in values if value not in EMPTY_VALUES]
    has_text = any(isinstance(value, str) for value in values)
    if has_text and not is_whole:
        return "".join(map(to_text, filled_values))
    return filled_values[-1] if filled_values else values[-1]


def merge_fields(events: Iterable[JsonObject]) -> JsonObject:
    """Return the fields of all events. The last value counts, except an empty one."""
    merged: JsonObject = {}
    for event in events:
        for name, value in event.items():
            if name not in merged or value not in EMPTY_VALUES:
                merged[name] = value
    return merged
