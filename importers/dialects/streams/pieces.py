"""What the streams of all APIs have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.records import as_object

JsonObject = dict[str, Any]


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
        self._values: JsonObject = {}
        self._texts: dict[str, list[str]] = {}
        self._objects: dict[str, Pieces] = {}
        self.add(start)

    def add(self, fields: Any) -> None:
        for name, value in as_object(fields).items():
            self._add_field(name, value)

    def _add_field(self, name: str, value: Any) -> None:
        if isinstance(value, str) and name not in self._whole:
            self._texts.setdefault(name, []).append(value)
        elif isinstance(value, dict):
            self._objects.setdefault(name, Pieces(whole=self._whole)).add(value)
        elif value is not None or name not in self._values:
            self._values[name] = value

    def join(self) -> JsonObject:
        joined = dict(self._values)
        for name, pieces in self._objects.items():
            joined[name] = pieces.join()
        for name, texts in self._texts.items():
            joined[name] = "".join(texts)
        return joined


def merge_fields(events: Iterable[JsonObject]) -> JsonObject:
    """Return the fields of all events. The last value counts, except an empty one."""
    merged: JsonObject = {}
    for event in events:
        for name, value in event.items():
            if name not in merged or value not in (None, "", [], {}):
                merged[name] = value
    return merged
