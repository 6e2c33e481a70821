"""Find the requests to models in exports of tracing programs: OpenTelemetry and LangSmith.

A line of OpenTelemetry's JSON has many spans, and a line of LangSmith is one run of any kind. Each
request with its messages becomes a record of the generic format. The others are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import JsonRecord, parse_json_text
from fcreview.importers.common.records import as_list, as_object, is_integer, list_objects
from fcreview.importers.dialects.read import find_tools, has_reply, join_exchange
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count

JsonObject = dict[str, Any]
MODEL_ATTRIBUTES = "gen_ai."
"""Beginning of the names of OpenTelemetry's attributes of requests to a model."""
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
TOOLS = "gen_ai.tool.definitions"
OPERATION = "gen_ai.operation.name"
CONTENT_ATTRIBUTES = (INPUT, OUTPUT, INSTRUCTIONS, TOOLS)
"""Attributes with the content of a request, as JSON or as JSON text."""
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
ERROR_STATUSES = (2, "STATUS_CODE_ERROR")
MAX_ATTRIBUTE_DEPTH = 50
LANGSMITH_FIELDS = frozenset({"trace_id", "session_id", "dotted_order", "parent_run_id"})
"""Fields of LangSmith's runs. A run has at least one of them."""
MODEL_RUN = "llm"


def is_trace(value: Any) -> bool:
    """Whether a JSON value has the form of OpenTelemetry's or LangSmith's exports.

    Spans need an attribute about models, because programs of any kind write spans.
    """
    fields = as_object(value)
    if _is_langsmith_run(fields):
        return True
    return any(_has_model_attribute(span) for span in _list_spans(fields))


def split_traces(
    path: Path, lines: Iterable[JsonRecord | ImportIssue]
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield a record for each request to a model in the lines with traces. Other lines stay.

    Spans and runs without messages are counted in an issue at the end.
    """
    unread = _UnreadSpans()
    for line in lines:
        fields = {} if isinstance(line, ImportIssue) else as_object(line.value)
        if isinstance(line, JsonRecord) and _is_langsmith_run(fields):
            yield from _read_langsmith_run(path, line, unread)
        elif isinstance(line, JsonRecord) and "resourceSpans" in fields:
            yield from _read_spans(path, line, unread)
        else:
            yield line
    yield from unread.report(path)


@dataclass(slots=True)
class _UnreadSpans:
    """Counts what gives no item, by the reason."""

    counts: Counter[str] = field(default_factory=Counter)
    first_lines: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, line: int) -> None:
        self.counts[reason] += 1
        self.first_lines.setdefault(reason, line)

    def report(self, path: Path) -> Iterator[ImportIssue]:
        for reason, count in self.counts.items():
            what = f"{format_count(count, 'entry', 'entries')} not read: {reason}"
            yield ImportIssue(str(path), self.first_lines[reason], what=what, severity="notice")


# -- spans of OpenTelemetry


def _list_spans(fields: Mapping[str, Any]) -> Iterator[JsonObject]:
    """Yield the spans of a line in OpenTelemetry's JSON."""
    for resource in list_objects(fields.get("resourceSpans")):
        for scope in list_objects(resource.get("scopeSpans")):
            yield from list_objects(scope.get("spans"))


def _has_model_attribute(span: JsonObject) -> bool:
    return any(
        str(attribute.get("key")).startswith(MODEL_ATTRIBUTES)
        for attribute in list_objects(span.get("attributes"))
    )


def _read_spans(
    path: Path, line: JsonRecord, unread: _UnreadSpans
) -> Iterator[JsonRecord | ImportIssue]:
    for span in _list_spans(line.value):
        if not _has_model_attribute(span):
            unread.add("spans of another kind than requests to a model", line.line)
            continue
        attributes = _collect_attributes(span)
        operation = attributes.get(OPERATION)
        if operation in OTHER_OPERATIONS:
            unread.add(f"spans of the operation {operation}", line.line)
        elif INPUT not in attributes and OUTPUT not in attributes:
            what = f"requests without {INPUT} and {OUTPUT}. Their content was not recorded"
            unread.add(f"{what}, or has another form", line.line)
        else:
            yield from _make_span_record(path, line, span, attributes)


def _collect_attributes(span: JsonObject) -> JsonObject:
    """Return the attributes of a span. Its events can have the content of the request."""
    attributes: JsonObject = {}
    for event in list_objects(span.get("events")):
        attributes |= _read_attributes(event)
    return attributes | _read_attributes(span)


def _read_attributes(owner: JsonObject) -> JsonObject:
    return {
        str(attribute.get("key")): _read_value(attribute.get("value"), depth=0)
        for attribute in list_objects(owner.get("attributes"))
    }


def _read_value(written: Any, *, depth: int) -> Any:
    """Return the value of an attribute, which is an object with one key for its type."""
    fields = as_object(written)
    if depth > MAX_ATTRIBUTE_DEPTH or len(fields) != 1:
        return written
    ((kind, value),) = fields.items()
    if kind == "arrayValue":
        elements = as_list(as_object(value).get("values"))
        return [_read_value(element, depth=depth + 1) for element in elements]
    if kind == "kvlistValue":
        return {
            str(entry.get("key")): _read_value(entry.get("value"), depth=depth + 1)
            for entry in list_objects(as_object(value).get("values"))
        }
    # The JSON form of Protocol Buffers has integers of 64 bits as texts.
    is_integer_text = kind == "intValue" and isinstance(value, str)
    if is_integer_text and value.removeprefix("-").isdecimal():
        return int(value)
    return value


def _make_span_record(
    path: Path, line: JsonRecord, span: JsonObject, attributes: JsonObject
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the record of a request, and an issue for each attribute that cannot be read."""
    content: dict[str, list[Any]] = {}
    for name in CONTENT_ATTRIBUTES:
        value = _decode(attributes.get(name))
        content[name] = as_list(value)
        if value is not None and not isinstance(value, list):
            what = f"{name} of span {str(span.get('spanId'))[:60]} is not a list"
            yield ImportIssue(str(path), line.line, what=what)

    messages = [*content[INPUT], *content[OUTPUT]]
    if content[INSTRUCTIONS]:
        messages.insert(0, {"role": "system", "parts": content[INSTRUCTIONS]})
    record = {
        "id": _make_id(span.get("spanId"), line),
        "category": "chat",
        "group": _to_text(span.get("traceId")),
        "messages": messages,
        "tools": content[TOOLS],
        "tokens_in": _to_count(attributes.get("gen_ai.usage.input_tokens")),
        "tokens_out": _to_count(attributes.get("gen_ai.usage.output_tokens")),
        "extra": {
            name: value for name, value in attributes.items() if name not in CONTENT_ATTRIBUTES
        },
    }
    status = as_object(span.get("status"))
    if status.get("code") in ERROR_STATUSES:
        error = status.get("message") or attributes.get("error.type")
        record["error"] = _to_text(error) or "the request failed"
    yield replace(line, value=record)


def _decode(value: Any) -> Any:
    """Return a value that may be JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json_text(value, [])
    except (ValueError, RecursionError):
        return value


def _make_id(written: Any, line: JsonRecord) -> str:
    return _to_text(written) or f"chat_{line.line}"


def _to_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _to_count(value: Any) -> int | None:
    return value if is_integer(value) else None


# -- runs of LangSmith


def _is_langsmith_run(fields: Mapping[str, Any]) -> bool:
    has_run_type = isinstance(fields.get("run_type"), str)
    return has_run_type and "inputs" in fields and bool(fields.keys() & LANGSMITH_FIELDS)


def _read_langsmith_run(
    path: Path, line: JsonRecord, unread: _UnreadSpans
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the record of a request to a model, and issues about what is not read of it."""
    run: JsonObject = line.value
    if run["run_type"] != MODEL_RUN:
        unread.add(f"runs of the type {run['run_type'][:60]}", line.line)
        return

    run_id = _make_id(run.get("id"), line)
    request = _find_langsmith_request(as_object(run.get("inputs")))
    outputs = as_object(run.get("outputs"))
    response = _find_langsmith_response(outputs)
    if outputs and not has_reply(response):
        what = "outputs of the run have no reply that could be read"
        yield ImportIssue(str(path), line.line, what=what, item=run_id)
    n_replies = len(as_list(next(iter(as_list(outputs.get("generations"))), None)))
    if n_replies > 1:
        replies = format_count(n_replies - 1, "further reply", "further replies")
        what = f"{replies} to the same request not read, only the first"
        yield ImportIssue(str(path), line.line, what=what, item=run_id)

    parameters = as_object(as_object(run.get("extra")).get("invocation_params"))
    record = {
        "id": run_id,
        "category": "chat",
        "group": _to_text(run.get("trace_id")),
        "messages": join_exchange(request, response),
        "tools": as_list(find_tools(request, parameters)),
        "tokens_in": _to_count(run.get("prompt_tokens")),
        "tokens_out": _to_count(run.get("completion_tokens")),
        "extra": {
            name: value
            for name, value in run.items()
            if name not in ("id", "inputs", "outputs", "error")
        },
    }
    if run.get("error"):
        record["error"] = str(run["error"])
    yield replace(line, value=record)


def _find_langsmith_request(inputs: JsonObject) -> JsonObject:
    """Return the inputs of a run as a request.

    LangChain has a list of conversations, of which there is one, or texts of prompts.
    """
    messages = inputs.get("messages")
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], list):
        return inputs | {"messages": messages[0]}
    prompts = as_list(inputs.get("prompts"))
    if prompts and "messages" not in inputs:
        return {"messages": [{"role": "user", "content": prompts[0]}]}
    return inputs


def _find_langsmith_response(outputs: JsonObject) -> JsonObject:
    """Return the outputs of a run as a response. LangChain has lists of replies."""
    replies = as_list(next(iter(as_list(outputs.get("generations"))), None))
    reply = as_object(next(iter(replies), None))
    if isinstance(reply.get("message"), dict):
        return {"message": reply["message"]}
    if isinstance(reply.get("text"), str):
        return {"message": {"role": "assistant", "content": reply["text"]}}
    return outputs
