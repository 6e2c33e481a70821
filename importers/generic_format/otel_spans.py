"""Read the spans of OpenTelemetry that are requests to a model."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.records import as_list, as_object, is_integer, list_objects
from fcreview.importers.dialects.token_counts import TokenCounts
from fcreview.importers.generic_format import indexed_attributes
from fcreview.importers.generic_format.traced_requests import (
    JsonObject,
    TracedContent,
    TracedRequest,
    TraceLine,
    UnreadEntries,
    choose_id,
    decode,
    get_text,
)
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count

RESOURCES = "resourceSpans"
MODEL_ATTRIBUTES = "gen_ai."
"""Beginning of the names of the attributes of requests to a model."""
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
TOOLS = "gen_ai.tool.definitions"
CONTENT_ATTRIBUTES = (INPUT, OUTPUT, INSTRUCTIONS, TOOLS)
"""Attributes with the content of a request, as JSON or as JSON text."""
FINISH_REASONS = "gen_ai.response.finish_reasons"
OPERATION = "gen_ai.operation.name"
OTHER_OPERATIONS = (
    "create_agent",
    "embeddings",
    "execute_tool",
    "invoke_agent",
    "invoke_workflow",
    "retrieval",
)
"""Operations that are no request to a model. The messages of an agent repeat those of its requests.
"""
REQUEST_TYPE = "llm.request.type"
OTHER_REQUEST_TYPES = ("embedding", "rerank")
"""Types of requests, in OpenLLMetry's attribute, whose answer is no reply."""
TOKENS_IN = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
TOKENS_OUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
"""Attributes with the numbers of tokens. The second ones are those of older conventions."""
DROPPED_ATTRIBUTES = "droppedAttributesCount"
ERROR_STATUSES = (2, "STATUS_CODE_ERROR")
MAX_ATTRIBUTE_DEPTH = 50
UNKNOWN_ERROR = "the request failed"

SpanReading = Iterator[JsonRecord | ImportIssue]


def list_spans(fields: Mapping[str, Any]) -> Iterator[JsonObject]:
    """Yield the spans of a line in OpenTelemetry's JSON."""
    for resource in list_objects(fields.get(RESOURCES)):
        for scope in list_objects(resource.get("scopeSpans")):
            yield from list_objects(scope.get("spans"))


def has_model_attribute(span: JsonObject) -> bool:
    return any(
        str(attribute.get("key")).startswith(MODEL_ATTRIBUTES)
        for attribute in list_objects(span.get("attributes"))
    )


def read_spans(line: TraceLine, fields: JsonObject, unread: UnreadEntries) -> SpanReading:
    """Yield the record of each request in a line, and issues. `unread` counts the other spans."""
    for span in list_spans(fields):
        attributes = _collect_attributes(span)
        reason = _explain_unread_span(span, attributes)
        if reason is not None:
            unread.add(reason, line.record.line)
            continue
        yield from _report_dropped_attributes(line, span)
        yield from _read_request(line, span, attributes)


def _explain_unread_span(span: JsonObject, attributes: JsonObject) -> str | None:
    """Return why a span gives no item. None for a request with its messages."""
    if not has_model_attribute(span):
        return "spans of another kind than requests to a model"
    if attributes.get(OPERATION) in OTHER_OPERATIONS:
        return f"spans of the operation {attributes[OPERATION]}"
    if attributes.get(REQUEST_TYPE) in OTHER_REQUEST_TYPES:
        return f"spans of the request type {attributes[REQUEST_TYPE]}"
    has_messages = INPUT in attributes or OUTPUT in attributes
    if has_messages or indexed_attributes.has_messages(attributes):
        return None
    return (
        f"requests without {INPUT} and {OUTPUT}. Their content was not recorded, or has another"
        " form"
    )


def _report_dropped_attributes(line: TraceLine, span: JsonObject) -> Iterator[ImportIssue]:
    """Yield an issue if the program that wrote a span left attributes out. OpenTelemetry limits
    their number.
    """
    n_dropped = span.get(DROPPED_ATTRIBUTES)
    if is_integer(n_dropped) and n_dropped > 0:
        count = format_count(n_dropped, "attribute")
        message = f"{count} of the span not recorded, so that messages may be missing"
        yield line.make_issue(message, item=choose_id(span, "spanId", line))


def _read_request(line: TraceLine, span: JsonObject, attributes: JsonObject) -> SpanReading:
    """Yield the record of a request, and issues about what is not read of it."""
    span_id = choose_id(span, "spanId", line)
    if INPUT in attributes or OUTPUT in attributes:
        content = yield from _read_content(line, attributes, item=span_id)
    else:
        content = yield from _read_indexed_content(line, attributes, item=span_id)

    yield from _report_missing_prompt(line, attributes, content, item=span_id)
    error = _find_error(span, attributes)
    if error is None:
        yield from _report_missing_reply(line, attributes, content, item=span_id)
    request = TracedRequest(
        span_id,
        group=get_text(span, "traceId"),
        messages=[*content.messages, *content.replies[:1]],
        tools=content.tools,
        tokens=_read_token_counts(attributes),
        extra=_collect_metadata(attributes),
        finish_reason=_find_finish_reason(content, attributes),
        error=error,
    )
    yield request.make_record(line)


def _read_content(
    line: TraceLine, attributes: JsonObject, *, item: str
) -> Generator[ImportIssue, None, TracedContent]:
    """Return the content in OpenTelemetry's attributes. Yield an issue for each attribute that
    cannot be read, and for further replies.
    """
    lists: dict[str, list[Any]] = {}
    for name in CONTENT_ATTRIBUTES:
        lists[name] = as_list(decode(attributes.get(name)))
        if _is_unreadable(attributes, name):
            message = f"{name} of span {item[:60]} is not a list"
            yield line.make_issue(message, item=item)
    yield from line.report_further_replies(OUTPUT, lists[OUTPUT], item=item)

    messages = lists[INPUT]
    if lists[INSTRUCTIONS]:
        messages = [{"role": "system", "parts": lists[INSTRUCTIONS]}, *messages]
    return TracedContent(messages, lists[OUTPUT], tools=lists[TOOLS])


def _read_indexed_content(
    line: TraceLine, attributes: JsonObject, *, item: str
) -> Generator[ImportIssue, None, TracedContent]:
    """Return the content in OpenLLMetry's attributes, of which each has a field of a message. Yield
    an issue for missing messages, and for further replies.
    """
    for missing in indexed_attributes.find_missing_messages(attributes):
        message = f"{missing} of span {item[:60]} is missing, although a later one is there"
        yield line.make_issue(message, item=item)
    content = indexed_attributes.read_content(attributes)
    replies = content.replies
    yield from line.report_further_replies(indexed_attributes.REPLIES, replies, item=item)
    return content


def _report_missing_prompt(
    line: TraceLine, attributes: JsonObject, content: TracedContent, *, item: str
) -> Iterator[ImportIssue]:
    """Yield an issue if no message of the request was recorded, except a system prompt."""
    has_prompt = any(as_object(message).get("role") != "system" for message in content.messages)
    if not has_prompt and not _is_unreadable(attributes, INPUT):
        yield line.make_issue(f"no prompt of span {item[:60]} was recorded", item=item)


def _report_missing_reply(
    line: TraceLine, attributes: JsonObject, content: TracedContent, *, item: str
) -> Iterator[ImportIssue]:
    """Yield an issue if no reply was recorded. Some programs write it into the input."""
    last_message = as_object(content.messages[-1]) if content.messages else {}
    has_reply = bool(content.replies) or last_message.get("role") == "assistant"
    if not has_reply and not _is_unreadable(attributes, OUTPUT):
        yield line.make_issue(f"no reply of span {item[:60]} was recorded", item=item)


def _is_unreadable(attributes: JsonObject, name: str) -> bool:
    """Whether an attribute is no list of messages, which is an issue already."""
    value = decode(attributes.get(name))
    return value is not None and not isinstance(value, list)


def _find_finish_reason(content: TracedContent, attributes: JsonObject) -> str | None:
    """Return why the model ended its first reply. The reply has it, or an attribute that lists the
    reasons of all replies.
    """
    reply = as_object(content.replies[0]) if content.replies else {}
    reasons = as_list(decode(attributes.get(FINISH_REASONS)))
    for reason in (reply.get("finish_reason"), *reasons[:1]):
        if isinstance(reason, str) and reason:
            return reason
    return None


def _find_error(span: JsonObject, attributes: JsonObject) -> str | None:
    """Return the error of a request that failed, or None."""
    status = as_object(span.get("status"))
    if status.get("code") not in ERROR_STATUSES:
        return None
    return get_text(status, "message") or get_text(attributes, "error.type") or UNKNOWN_ERROR


def _read_token_counts(attributes: JsonObject) -> TokenCounts:
    return TokenCounts(_find_count(attributes, TOKENS_IN), _find_count(attributes, TOKENS_OUT))


def _find_count(attributes: JsonObject, names: Sequence[str]) -> int | None:
    for name in names:
        if is_integer(attributes.get(name)):
            return int(attributes[name])
    return None


def _collect_metadata(attributes: JsonObject) -> JsonObject:
    """Return the attributes that have no place in an item."""
    return {
        name: value
        for name, value in attributes.items()
        if name not in CONTENT_ATTRIBUTES and not indexed_attributes.is_content(name)
    }


# -- attributes


def _collect_attributes(span: JsonObject) -> JsonObject:
    """Return the attributes of a span. Its events can have the content of the request."""
    attributes: JsonObject = {}
    for event in list_objects(span.get("events")):
        attributes |= _read_attributes(event)
    return attributes | _read_attributes(span)


def _read_attributes(owner: JsonObject) -> JsonObject:
    return _read_object(as_list(owner.get("attributes")), depth=0)


def _read_value(written: Any, *, depth: int) -> Any:
    """Return the value of an attribute, which is an object with one key for its type. A value of
    another form stays as it is, so that reading it is an issue.
    """
    fields = as_object(written)
    if written == {}:
        return None
    if depth > MAX_ATTRIBUTE_DEPTH or len(fields) != 1:
        return written

    ((kind, value),) = fields.items()
    if kind not in ("arrayValue", "kvlistValue"):
        return _read_scalar(kind, value)
    entries = as_object(value).get("values", [])
    is_readable = isinstance(value, dict) and isinstance(entries, list)
    if not is_readable:
        return written
    if kind == "arrayValue":
        return [_read_value(entry, depth=depth + 1) for entry in entries]
    return _read_object(entries, depth=depth + 1)


def _read_scalar(kind: str, value: Any) -> Any:
    """Return a single value. The JSON form of Protocol Buffers has integers of 64 bits as texts."""
    is_integer_text = kind == "intValue" and isinstance(value, str)
    if is_integer_text and value.removeprefix("-").isdecimal():
        return int(value)
    return value


def _read_object(entries: Sequence[Any], *, depth: int) -> JsonObject:
    return {
        str(entry.get("key")): _read_value(entry.get("value"), depth=depth)
        for entry in list_objects(entries)
    }
