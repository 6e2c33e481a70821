"""Streams of Gemini, whose pieces are responses with further parts of each candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object, is_integer, list_objects
from fcreview.importers.dialects.gemini import with_camel_case_keys
from fcreview.importers.dialects.streams.pieces import JsonObject, StreamForm, merge_fields

LATER_FIELDS = {"promptFeedback", "usageMetadata"}
"""Fields of a piece without candidates."""


RESPONSE_FIELDS = frozenset(
    {
        "automaticFunctionCallingHistory",
        "candidates",
        "createTime",
        "modelStatus",
        "modelVersion",
        "parsed",
        "promptFeedback",
        "responseId",
        "sdkHttpResponse",
        "usageMetadata",
    }
)
"""Fields of a response of `generateContent`, with those that Google's SDK for Python adds."""


def _has_candidates(event: JsonObject) -> bool:
    return isinstance(event.get("candidates"), list)


def _is_only_piece(event: JsonObject) -> bool:
    """Whether an event is a response without the reason why its reply ended.

    An object with other fields is a record of a log, with an id or a request of its own, and not
    an event of the API.
    """
    has_only_fields_of_responses = with_camel_case_keys(event).keys() <= RESPONSE_FIELDS
    candidates = list_objects(event.get("candidates"))
    has_content = any("content" in candidate for candidate in candidates)
    has_reason = any(map(_has_reason, candidates))
    return has_only_fields_of_responses and has_content and not has_reason


def _is_piece(event: JsonObject) -> bool:
    return _has_candidates(event) or bool(with_camel_case_keys(event).keys() & LATER_FIELDS)


def _has_reason(candidate: Any) -> bool:
    return bool(with_camel_case_keys(candidate).get("finishReason"))


def _list_first_candidate(events: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the pieces of the first candidate, which is the reply."""
    pieces: list[JsonObject] = []
    for event in events:
        for candidate in list_objects(event.get("candidates"))[:1]:
            if candidate.get("index") in (0, None):
                pieces.append(candidate)
    return pieces


def _count_replies(events: Sequence[JsonObject]) -> int:
    """Return the number of ids or, without ids, of reasons after which further pieces follow."""
    ids = [with_camel_case_keys(event).get("responseId") for event in events]
    known_ids = {response_id for response_id in ids if isinstance(response_id, str)}
    if known_ids:
        return len(known_ids)
    has_reason = [_has_reason(piece) for piece in _list_first_candidate(events)]
    # Older models repeat the reason in every piece.
    if all(has_reason):
        return 1
    return 1 + sum(has_reason[:-1])


def _is_ended(events: Sequence[JsonObject]) -> bool:
    return any(map(_has_reason, _list_first_candidate(events)))


def _join(events: Sequence[JsonObject]) -> JsonObject:
    """Join the responses of a stream. The last one has the token counts."""
    candidates: dict[int, _Candidate] = {}
    for event in events:
        for position, written in enumerate(list_objects(event.get("candidates"))):
            index = written.get("index")
            number = index if is_integer(index) else position
            candidates.setdefault(number, _Candidate()).add(written)
    joined = [candidates[number].to_json() for number in sorted(candidates)]
    return merge_fields(events) | {"candidates": joined}


FORM = StreamForm(
    end="finishReason",
    is_only_piece=_is_only_piece,
    is_piece=_is_piece,
    count_replies=_count_replies,
    is_ended=_is_ended,
    join=_join,
)


class _Candidate:
    """Collects the pieces of a candidate."""

    def __init__(self) -> None:
        self._fields: JsonObject = {}
        self._parts: list[Any] = []

    def add(self, piece: JsonObject) -> None:
        self._fields = merge_fields([self._fields, piece])
        self._parts.extend(as_list(as_object(piece.get("content")).get("parts")))

    def to_json(self) -> JsonObject:
        if not self._parts:
            return self._fields
        return self._fields | {"content": {"role": "model", "parts": self._parts}}
