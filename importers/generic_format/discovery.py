"""Recognize files in the generic format and OpenAI-style chat logs by their first record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import read_first_record
from fcreview.importers.common.records import as_object
from fcreview.importers.dialects.detection import is_message, is_message_list
from fcreview.importers.dialects.read import (
    MESSAGE_FIELDS,
    REPLY_FIELDS,
    SYSTEM_FIELDS,
    TOOL_FIELDS,
    find_tools,
    has_messages,
    has_reply,
    join_exchange,
)
from fcreview.importers.dialects.streams.join import is_stream_piece
from fcreview.importers.dialects.token_counts import read_token_counts
from fcreview.importers.generic_format.exchange import (
    decode_texts,
    find_id_field,
    find_request,
    find_response,
    find_unread_output,
    has_prompt,
    is_failed_request,
)
from fcreview.importers.generic_format.traces import is_trace
from fcreview.importers.generic_format.whole_conversation import (
    is_conversation,
    may_be_whole_conversation,
    read_whole_conversation,
)
from fcreview.model.item import Run
from fcreview.model.json_value import to_plain_json
from fcreview.model.sanitize import redact_credentials
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions

SUFFIXES = (".jsonl", ".ndjson", ".json")
MAX_NAMED_SETTINGS = 8
MAX_SETTING_LENGTH = 40
MAX_FIRST_LINE_BYTES = 8 << 20
RECORD_FIELDS = frozenset(
    {
        "id",
        "category",
        "group",
        "messages",
        "tools",
        "golden",
        "predicted",
        "ordered",
        "verdicts",
        "tokens_in",
        "tokens_out",
        "latency",
        "error",
        "finish_reason",
        "extra",
    }
)
"""Names of the fields of `read.Record`. They are listed here because importing `read` is slow."""
DISTINCTIVE_FIELDS = RECORD_FIELDS - {"id", "messages", "tools", "error", "finish_reason"}
"""Fields that chat logs do not have. A line with one of them is a record of the generic format."""
SETTINGS_FIELDS = ("model_parameters", "optional_params", "metadata")
"""Fields in which LiteLLM and Braintrust keep the declared tools."""
CHAT_LOG_FIELDS = frozenset(
    {
        "request",
        "body",
        "request_body",
        "response",
        "response_body",
        "modelInput",
        "modelOutput",
        *MESSAGE_FIELDS,
        *SYSTEM_FIELDS,
        *TOOL_FIELDS,
        *REPLY_FIELDS,
    }
)
"""Fields of a chat log that are not stored as metadata, because they have their own place in an
item.
"""


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],  # noqa: ARG001 - the files have no dataset
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the runs among the opened files: each file in the generic format is one."""
    found = DiscoveredRuns()
    for path in files:
        if path.suffix in SUFFIXES:
            plan = _make_plan(path, _read_first_record(path))
            if plan:
                found.plans.append(plan)
                found.claimed.add(path)
    return found


def _read_first_record(path: Path) -> Any:
    """Return the first record of a file. A file that is one conversation has no other record.

    None if the first record is a piece of a stream, and the pieces belong to several replies.
    """
    record = read_first_record(path, MAX_FIRST_LINE_BYTES)
    if not may_be_whole_conversation(record):
        return record
    conversation = read_whole_conversation(path)
    if conversation is not None:
        return conversation.value
    return None if is_stream_piece(record) else record


def _make_plan(path: Path, first_record: Any) -> RunPlan | None:
    """Make the import plan of a file by its first record, or return None if it is neither the
    generic format nor a chat log.

    The confidence says how sure that is, because other importers may recognise the file as well.
    """
    run = Run(
        benchmark="generic",
        generation="",
        language="",
        model=path.stem,
        path=str(path),
        needs_dataset=False,
    )
    # The confidence falls from a header, which names the format, to a chat log, as many programs
    # write it.
    fields = as_object(first_record)
    if "fcreview" in fields:
        _apply_header(run, fields)
        confidence = 1.0
        reason = "the first line is a header of the generic format"
    elif _is_generic_record(fields):
        confidence = 0.6
        reason = "the records have id and messages"
    elif is_trace(first_record):
        run.generation = "chat log"
        confidence = 0.4
        reason = "requests to models in traces"
    elif _is_chat_log_line(first_record):
        run.generation = "chat log"
        confidence = 0.4
        reason = "a chat log"
    else:
        return None
    return RunPlan(run, [path], confidence=confidence, reason=reason, needs_scores=False)


def _is_chat_log_line(first_record: Any) -> bool:
    """Whether a record is a line of a chat log. Messages of which none has the form of any API are
    those of a program that fcreview does not know.
    """
    record = convert_chat_log_line(first_record, 1)
    if record is first_record:
        return False
    messages = record["messages"]
    return not messages or any(is_message(message) for message in messages)


def _apply_header(run: Run, fields: dict[str, Any]) -> None:
    """Set the benchmark, the model and the settings of a run from the header of its file."""
    header = to_plain_json(fields)
    run.benchmark = str(header.get("benchmark") or run.benchmark)
    run.generation = str(header.get("generation") or "")
    run.language = str(header.get("language") or "")
    run.model = str(header.get("model") or run.model)
    run.settings = as_object(header.get("settings"))
    run.name_parts = [Path(run.path).stem, *_describe_settings(run.settings)]


def _is_generic_record(fields: dict[str, Any]) -> bool:
    has_messages_list = isinstance(fields.get("messages"), list)
    return has_messages_list and "id" in fields and bool(fields.keys() & DISTINCTIVE_FIELDS)


def _describe_settings(settings: dict[str, Any]) -> list[str]:
    """Describe the first settings with short values, which can distinguish runs of one model:
    `temperature 0.7`.
    """
    public = redact_credentials(settings)
    texts = [
        f"{name} {value}" for name, value in public.items() if isinstance(value, str | int | float)
    ]
    short_texts = [text for text in texts if len(text) <= MAX_SETTING_LENGTH]
    return short_texts[:MAX_NAMED_SETTINGS]


def convert_chat_log_line(value: Any, line_number: int) -> Any:
    """Convert a line of a chat log to a record of the generic format. Any other value is returned
    unchanged.

    A chat log has the messages of a request, such as `{"messages": [...]}` or Gemini's `contents`,
    or the request and the response beside each other. They can be in the form of any API.
    `line_number` becomes the id of a line without one.
    """
    if is_message_list(value):
        return {"id": f"chat_{line_number}", "category": "chat", "messages": value}
    if not isinstance(value, dict) or _has_field_of_records(value):
        return value
    # A trace of Langfuse has its calls in observations, so its input and output are not enough.
    if isinstance(value.get("observations"), list):
        return value

    line = decode_texts(value)
    request = find_request(line)
    response = find_response(line)
    if not _is_exchange(line, request, response) and not is_conversation(line):
        return value
    id_field = find_id_field(line)
    item_id = str(line[id_field]) if id_field else f"chat_{line_number}"
    return {"id": item_id} | _make_chat_fields(line, request, response)


def _make_chat_fields(
    line: dict[str, Any], request: dict[str, Any], response: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields of a record of the generic format for a line, without its id."""
    messages = _list_messages(line, request, response)
    return {
        "category": "chat",
        "messages": messages,
        "tools": _list_tools(line, request, response),
        **asdict(read_token_counts(response or line)),
        "extra": _collect_metadata(line, messages),
    }


def _is_exchange(line: dict[str, Any], request: dict[str, Any], response: dict[str, Any]) -> bool:
    """Whether a line has a request with messages or a prompt, a reply, or a failed request."""
    # The line itself can be the request. Then a prompt may be a field of anything else.
    has_prompt_of_request = request is not line and has_prompt(request)
    has_request = has_messages(request) or has_prompt_of_request
    return has_request or has_reply(response) or is_failed_request(line)


def _has_field_of_records(fields: dict[str, Any]) -> bool:
    """Whether a line has a field that makes it a record of the generic format.

    Conversations of training data can have such a field, too, but never as `messages`.
    """
    if not fields.keys() & DISTINCTIVE_FIELDS:
        return False
    is_training_row = "messages" not in fields and is_message_list(fields.get("conversations"))
    return not is_training_row


def _list_messages(
    line: dict[str, Any], request: dict[str, Any], response: dict[str, Any]
) -> list[Any]:
    """Return the messages of a request, and the reply.

    The reply is in the response or, without one, in fields of the line. If neither ends with a
    message of the model, it is the output that has the form of no API.
    """
    reply = response
    if not response:
        reply = {name: line[name] for name in REPLY_FIELDS if name in line}
    messages = join_exchange(request, reply)

    output = find_unread_output(line)
    has_reply_already = bool(messages) and as_object(messages[-1]).get("role") == "assistant"
    if output is not None and not has_reply_already:
        messages.append(_make_reply(output))
    return messages


def _make_reply(output: Any) -> Any:
    """Return an output as a message. One of unknown form stays, so that reading it is an issue."""
    if isinstance(output, str):
        return {"role": "assistant", "content": output}
    return output


def _collect_metadata(line: dict[str, Any], messages: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a line that have no place in an item, with an output that is not the
    reply.
    """
    known_fields = {*CHAT_LOG_FIELDS, find_id_field(line)}
    metadata = {name: field for name, field in line.items() if name not in known_fields}
    output = find_unread_output(line)
    if output is not None and messages[-1:] != [_make_reply(output)]:
        metadata["output"] = output
    return metadata


def _list_tools(line: dict[str, Any], request: Any, response: Any) -> list[Any]:
    """Return the declared tools of the request, or of the settings that a proxy writes beside it.

    Anything that is no list of tools becomes a list, so that reading it is an issue.
    """
    settings = [line.get(name) for name in SETTINGS_FIELDS]
    tools = find_tools(request, line, response, *settings)
    # Training data have an empty text for no tools.
    if tools is None or tools == "":
        return []
    if isinstance(tools, list):
        return tools
    if not isinstance(tools, dict):
        return [tools]
    # Bedrock has the list in an object, and some programs have functions by name.
    if isinstance(tools.get("tools"), list):
        return list(tools["tools"])
    if all(isinstance(tool, dict) for tool in tools.values()):
        return [{"name": name} | tool for name, tool in tools.items()]
    return [tools]
