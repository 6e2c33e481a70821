"""Join the pieces of a streamed reply to the response that the API would have sent as a whole.

Proxies log a streamed reply as the list of its pieces, or as the text of server-sent events. Only
pieces of one reply are joined. Nothing is added: a reply that broke off stays incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.dialects.streams import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from fcreview.importers.dialects.streams.events import StreamEvents, read_events
from fcreview.importers.dialects.streams.pieces import JsonObject, StreamForm
from fcreview.model.wording import format_count

FORMS: Sequence[StreamForm] = (
    openai_chat.FORM,
    anthropic.FORM,
    openai_responses.FORM,
    bedrock.FORM,
    cohere.FORM,
    gemini.FORM,
    ollama.FORM,
)
INCOMPLETE = "incomplete"
"""Status of a response that is not whole, as in OpenAI's Responses."""


def join_stream(written: Any) -> JsonObject | None:
    """Return the response whose pieces a list or a text of server-sent events has.

    None if the value has another form, or pieces of several replies. A response that may lack
    something has the status `incomplete`, and the reason in `incomplete_details`.
    """
    stream = read_events(written)
    form = _find_form(stream.events)
    if form is None:
        return None
    pieces = [event for event in stream.events if form.is_piece(event)]
    if form.count_replies(pieces) != 1:
        return None

    response = form.join(pieces)
    for event in stream.events:
        error = _find_error(event)
        if error is not None:
            response["error"] = error
    _mark_incomplete(response, list(_find_gaps(stream, form, pieces)))
    return response


def join_certain_stream(written: Any) -> JsonObject | None:
    """Return the response whose pieces a value has, as `join_stream` does. None if no event is a
    piece for certain.

    The events of some forms have little to tell them from other objects. For example, a list of
    messages that have a field `usage` is no stream, and a reply can be JSON text.
    """
    has_certain_piece = any(map(is_stream_piece, read_events(written).events))
    if not has_certain_piece:
        return None
    return join_stream(written)


def is_stream_piece(value: Any) -> bool:
    """Whether a JSON value is a piece of a streamed reply that is no response by itself."""
    event = as_object(value)
    return any(form.is_only_piece(event) for form in FORMS)


def _find_form(events: Sequence[JsonObject]) -> StreamForm | None:
    """Return the form of the first event that has one. Events of another kind can precede it."""
    for event in events:
        for form in FORMS:
            if form.is_piece(event):
                return form
    return None


def _find_error(event: JsonObject) -> Any:
    """Return the error with which a server ended a stream, or None."""
    if event.get("error"):
        return event["error"]
    if event.get("type") == "error":
        return event
    # Bedrock names the event after the error.
    for name, value in event.items():
        if name.endswith("Exception"):
            return {"type": name} | as_object(value)
    return None


def _find_gaps(
    stream: StreamEvents, form: StreamForm, pieces: Sequence[JsonObject]
) -> Iterator[str]:
    """Yield why the joined response may lack something."""
    if not form.is_ended(pieces) and not stream.is_done:
        yield f"the stream broke off, because it has no final event ({form.end})"
    if stream.n_unread:
        count = format_count(stream.n_unread, "event")
        yield f"{count} of the stream could not be read as a JSON object"
    n_unknown = sum(
        not form.is_piece(event) and _find_error(event) is None for event in stream.events
    )
    if n_unknown:
        count = format_count(n_unknown, "event")
        yield f"{count} of the stream had an unknown form"


def _mark_incomplete(response: JsonObject, gaps: Sequence[str]) -> None:
    if not gaps:
        return
    stated_reason = as_object(response.get("incomplete_details")).get("reason")
    reasons = [stated_reason, *gaps] if stated_reason else gaps
    response["status"] = INCOMPLETE
    response["incomplete_details"] = {"reason": "; ".join(map(str, reasons))}
