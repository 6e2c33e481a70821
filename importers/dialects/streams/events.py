"""Read the events of a stream from a list, or from a text as servers send it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.dialects.streams.pieces import JsonObject

DATA_FIELD = "data:"
STARTS_OF_SERVER_EVENTS = (DATA_FIELD, "event:", "id:", "retry:", ":")
"""Beginnings of the lines of server-sent events. A line with `:` is a comment."""
LAST_DATA = "[DONE]"
"""Data of OpenAI's last event, which has no content."""
_LINE_END = re.compile(r"\r\n|\r|\n")
"""Matches the end of a line. Unlike `str.splitlines`, it does not match the separators that a JSON
text can have in its strings.
"""


@dataclass(slots=True)
class StreamEvents:
    """Events of a stream."""

    events: list[JsonObject] = field(default_factory=list)
    n_unread: int = 0
    """Number of events that are not JSON objects."""
    is_done: bool = False
    """Whether the stream ends with OpenAI's mark."""

    def add(self, values: Iterable[Any]) -> None:
        for value in values:
            if isinstance(value, dict):
                self.events.append(value)
            else:
                self.n_unread += 1


def read_events(written: Any) -> StreamEvents:
    """Return the events in a list, in a text of server-sent events, or in a text with one JSON
    value on each line.
    """
    stream = StreamEvents()
    if isinstance(written, list):
        stream.add(written)
    elif isinstance(written, str):
        texts = list(_split_text(written))
        stream.is_done = LAST_DATA in texts
        stream.add(_parse(text) for text in texts if text != LAST_DATA)
    return stream


def _split_text(text: str) -> Iterator[str]:
    """Yield the text of each event. Other fields of server-sent events, such as their name, repeat
    what is in the data.
    """
    is_server_events = text.lstrip().startswith(STARTS_OF_SERVER_EVENTS)
    for line in _LINE_END.split(text):
        data = line
        if is_server_events:
            if not line.startswith(DATA_FIELD):
                continue
            data = line.removeprefix(DATA_FIELD)
        if data.strip():
            yield data.strip()


def _parse(text: str) -> Any:
    """Return the value of a JSON text, or None for another text."""
    try:
        return parse_json_text(text, [])
    except (ValueError, RecursionError):
        return None
