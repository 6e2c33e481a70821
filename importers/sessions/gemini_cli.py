"""Read sessions of Gemini CLI: one JSON document, or in newer versions one message a line.

Rules: formats/sessions.md of the specification, section 4, after the program's published sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_file import read_json_document
from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.jsonl import read_records
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects.values import get_type
from fcreview.importers.sessions.session import (
    API_ERROR,
    MAX_ENTRIES,
    NOTE_LENGTH,
    OTHER_SESSION,
    ApiError,
    Session,
    SessionNote,
    WrittenMessage,
    label_type,
    read_object,
)
from fcreview.model.item import ImportIssue
from fcreview.model.json_value import to_json_text

SESSION_FIELDS = (
    "sessionId",
    "projectHash",
    "startTime",
    "lastUpdated",
    "summary",
    "kind",
    "directories",
    "memoryScratchpad",
)
METADATA_FIELDS = ("projectHash", "summary", "kind")
MESSAGE_FIELDS = {
    "id",
    "timestamp",
    "type",
    "content",
    "displayContent",
    "toolCalls",
    "thoughts",
    "tokens",
    "model",
}
CALL_FIELDS = {
    "id",
    "name",
    "args",
    "result",
    "status",
    "timestamp",
    "displayName",
    "description",
    "resultDisplay",
    "renderOutputAsMarkdown",
    "agentId",
}
THOUGHT_TEXTS = ("subject", "description")
THOUGHT_FIELDS = {*THOUGHT_TEXTS, "timestamp"}
NOTICES = ("info", "warning")
REWOUND = "rewound"
REPLACED = "earlier messages"
ERROR = "error"
CANCELLED = "cancelled"
FAILED_STATUSES = (ERROR, CANCELLED)
"""The program itself writes the result of a cancelled call as an error."""
FINISHED_STATUSES = ("success", *FAILED_STATUSES)
KNOWN_STATUSES = (
    "success",
    "error",
    CANCELLED,
    "executing",
    "validating",
    "scheduled",
    "awaiting_approval",
)


@dataclass(slots=True)
class _Message:
    """A message with its line, or a note in its place."""

    value: dict[str, Any]
    line: int
    length: int


def read_session(path: Path) -> Session:
    """Read a session of Gemini CLI, whose file is one document or a log of changes."""
    session = Session(path, program="gemini_cli")
    if path.suffix == ".json":
        messages = _read_document(session)
    else:
        messages = _SessionLog(session).read()
    for message in messages:
        if isinstance(message, SessionNote):
            session.entries.append(message)
        elif len(session.entries) >= MAX_ENTRIES:
            session.n_skipped_messages += 1
        else:
            _add_message(session, message)
    session.finish()
    return session


def _read_document(session: Session) -> list[_Message | SessionNote]:
    """Read the messages of a session that is one JSON document."""
    document = read_json_document(session.file, "messages")
    for issue in document.issues:
        session.add_file_issue(issue)
    _read_fields(session, document.fields, line=1)
    messages: list[_Message | SessionNote] = []
    for record in document.records:
        value = read_object(session, record)
        if value is not None:
            messages.append(_Message(value, record.line, record.length))
    return messages


def _read_fields(session: Session, fields: dict[str, Any], line: int) -> None:
    """Read the fields of the session itself."""
    _note_session_id(session, fields.get("sessionId"), line)
    for name in ("startTime", "lastUpdated"):
        session.note_time(fields.get(name))
    for name in METADATA_FIELDS:
        if fields.get(name) is not None:
            session.metadata[name] = fields[name]
    for name, value in fields.items():
        is_empty = value in (None, "", [], {})
        if name not in SESSION_FIELDS and not is_empty:
            session.add_unread_line(f"field {name[:60]} of the session", line)


def _note_session_id(session: Session, session_id: Any, line: int) -> None:
    """Keep the first id of the session. Another one is an issue."""
    if not isinstance(session_id, str):
        return
    if not session.id:
        session.id = session_id
        session.first_line = line
    elif session_id != session.id:
        session.add_issue(OTHER_SESSION, line)


class _SessionLog:
    """Messages of the newer form, in which later lines change or remove earlier ones."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._messages: list[_Message | SessionNote] = []
        self._positions: dict[str, int] = {}
        """Position of each message in the list, by its id."""

    def read(self) -> list[_Message | SessionNote]:
        """Read the lines of the session, and return its messages and notes in order."""
        for record in read_records(self._session.file):
            if isinstance(record, ImportIssue):
                self._session.add_file_issue(record)
                continue
            value = read_object(self._session, record)
            if value is not None:
                self._read_line(value, record)
        return self._messages

    def _read_line(self, value: dict[str, Any], record: JsonRecord) -> None:
        """Read one line of a log: a change of the session, or a message."""
        if "$rewindTo" in value:
            self._rewind(value["$rewindTo"], record.line)
        elif "$set" in value:
            self._set(value["$set"], record)
        elif "sessionId" in value and "type" not in value:
            self._read_head(value, record)
        else:
            self._put(_Message(value, record.line, record.length))

    def _read_head(self, value: dict[str, Any], record: JsonRecord) -> None:
        """Read the fields of the session. A session of the old form on one line has its messages
        there, too.
        """
        fields = dict(value)
        messages = fields.pop("messages", None)
        _read_fields(self._session, fields, line=record.line)
        self._put_all(messages, record)

    def _put_all(self, messages: Any, record: JsonRecord) -> None:
        """Add each message of a list. Anything else becomes an issue."""
        if messages is not None and not isinstance(messages, list):
            self._session.add_issue("messages is not a list", record.line)
        for message in as_list(messages):
            if isinstance(message, dict):
                self._put(_Message(message, record.line, record.length))
            else:
                self._session.add_unread_line("a message that is not an object", record.line)

    def _put(self, message: _Message) -> None:
        """Add a message. One with a known id replaces the earlier one in its place."""
        message_id = message.value.get("id")
        known_position = self._find(message_id)
        if known_position is not None:
            self._messages[known_position] = message
            return
        if isinstance(message_id, str):
            self._positions[message_id] = len(self._messages)
        self._messages.append(message)

    def _find(self, message_id: Any) -> int | None:
        return self._positions.get(message_id) if isinstance(message_id, str) else None

    def _rewind(self, message_id: Any, line: int) -> None:
        """Remove a message and all after it. An unknown id removes all messages."""
        position = self._find(message_id)
        if position is None:
            self._session.add_issue("rewound to an unknown message, so to the start", line)
        self._fold(position or 0, REWOUND, line)

    def _set(self, changes: Any, record: JsonRecord) -> None:
        """Apply a line that changes fields of the session. A list of messages replaces all earlier
        ones, which are kept as an older version.
        """
        fields = as_object(changes)
        if not isinstance(changes, dict):
            self._session.add_unread_line("a change that is not an object", record.line)
        _read_fields(
            self._session,
            {name: value for name, value in fields.items() if name != "messages"},
            line=record.line,
        )
        if isinstance(fields.get("messages"), list):
            self._fold(0, REPLACED, record.line)
        self._put_all(fields.get("messages"), record)

    def _fold(self, position: int, name: str, line: int) -> None:
        """Replace the messages from a position on, which no longer count, by one note with their
        texts.
        """
        removed = self._messages[position:]
        if not removed:
            return

        text = "\n".join(_format_message(message) for message in removed)
        for message in removed:
            if isinstance(message, _Message):
                _read_older_message(self._session, message)
                self._positions.pop(str(message.value.get("id")), None)
        self._messages[position:] = [SessionNote(name, text=text, line=line)]


def _format_message(message: _Message | SessionNote) -> str:
    """Format a message that cannot be part of the conversation as the text of a note: its content
    and its calls.
    """
    if isinstance(message, SessionNote):
        return message.text
    fields = message.value
    content = fields.get("content")
    text = content if isinstance(content, str) else to_json_text(content)
    lines = [f"{fields.get('type')}: {text}"]
    for call in as_list(fields.get("toolCalls")):
        written = as_object(call)
        lines.append(f"call {written.get('name')}({to_json_text(written.get('args'))})")
    return "\n".join(lines)[:NOTE_LENGTH]


# -- one message


def _read_older_message(session: Session, message: _Message) -> None:
    """Read a message that no longer counts, only to report what is wrong with it."""
    scratch = Session(session.file, id=session.id, n_characters=session.n_characters)
    _add_message(scratch, message)
    scratch.finish()
    session.issues.extend(scratch.issues)
    written = [entry for entry in scratch.entries if isinstance(entry, WrittenMessage)]
    session.older_messages.extend(written)


def _add_message(session: Session, message: _Message) -> None:
    """Add a message to the session, unless it is nested too deeply."""
    try:
        fields = session.keep(message.value, message.length)
    except RecursionError:
        what = "message is nested too deeply to be read"
        session.add_issue(what, message.line, severity="error")
        return
    session.note_time(fields.get("timestamp"))
    _report_message_fields(session, fields, message.line)
    _add_by_type(session, fields, message.line)


def _report_message_fields(session: Session, fields: dict[str, Any], line: int) -> None:
    """Report the fields of a message that are not read, and a missing content."""
    for name, value in fields.items():
        if name not in MESSAGE_FIELDS and value not in (None, "", [], {}):
            session.add_unread_line(f"field {name[:60]} of a message", line)
    if fields.get("content") is None:
        session.add_issue("content of a message is missing", line)


def _add_by_type(session: Session, fields: dict[str, Any], line: int) -> None:
    """Add a message of the user or the model, an error of the API, or a notice of the program."""
    kind = get_type(fields)
    if kind == "user":
        parts = list(_list_parts(fields.get("content")))
        _add(session, {"role": "user", "parts": parts}, line)
        session.is_interrupted = False
    elif kind == "gemini":
        _add_reply(session, fields, line)
    elif kind == "error":
        # It is the last error until a reply follows.
        text = _format_content(fields.get("content"))
        session.api_errors.append(ApiError(text, line, is_last=True))
        session.entries.append(SessionNote(API_ERROR, text=text, line=line))
    elif kind in NOTICES:
        text = _format_content(fields.get("content"))
        session.entries.append(SessionNote(str(kind), text=text, line=line))
    else:
        session.add_unread_line(f"a message {label_type(kind)}", line)


def _add(session: Session, content: dict[str, Any], line: int) -> None:
    session.entries.append(WrittenMessage(content, [line]))


def _format_content(content: Any) -> str:
    return content if isinstance(content, str) else to_json_text(content)


def _list_parts(content: Any) -> Iterator[Any]:
    """Yield the parts of a content: a text, one part, or a list of texts and parts."""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield {"text": part}
        elif part is not None:
            yield part


def _add_reply(session: Session, fields: dict[str, Any], line: int) -> None:
    """Add a reply of the model: thoughts, text, calls, and then a message with the results of the
    calls.

    The program stores all of this in one record. The text was said before the calls. `line` is the
    line of the record.
    """
    _count_reply(session, fields)
    parts = list(_list_thoughts(session, fields.get("thoughts"), line))
    calls = list(_list_calls(session, fields.get("toolCalls"), line))
    parts += [part for part in _list_parts(fields.get("content")) if part != {"text": ""}]
    parts += [_make_call_part(call) for call in calls]
    reply = {"role": "model", "parts": parts}
    if not parts:
        reply["finishReason"] = "no content"
    _add(session, reply, line)

    results = list(_list_results(session, calls, line))
    if results:
        _add(session, {"role": "user", "parts": results}, line)


def _count_reply(session: Session, fields: dict[str, Any]) -> None:
    """Count the model and the tokens of a reply. Errors before it are not the last thing that
    happened.
    """
    if isinstance(fields.get("model"), str):
        session.models[fields["model"]] += 1
    tokens = as_object(fields.get("tokens"))
    session.add_tokens(tokens.get("input"), tokens.get("output"))
    # The program counts the tokens of thoughts, and of results of built-in tools, apart.
    session.add_tokens(tokens.get("tool"), tokens.get("thoughts"))
    for error in session.api_errors:
        error.is_last = False


def _list_thoughts(session: Session, thoughts: Any, line: int) -> Iterator[dict[str, Any]]:
    """Yield one part with all thoughts. Each thought is a line `subject: description`."""
    if thoughts is not None and not isinstance(thoughts, list):
        session.add_issue("thoughts is not a list", line)
    lines: list[str] = []
    for thought in as_list(thoughts):
        fields = as_object(thought)
        texts = [fields[name] for name in THOUGHT_TEXTS if isinstance(fields.get(name), str)]
        if texts:
            lines.append(": ".join(texts))
        lacks_text = len(texts) < len(THOUGHT_TEXTS)
        has_other_fields = not fields.keys() <= THOUGHT_FIELDS
        if lacks_text or has_other_fields:
            session.add_issue("a thought has other fields than subject and description", line)
    if lines:
        yield {"text": "\n".join(lines), "thought": True}


def _list_calls(session: Session, calls: Any, line: int) -> Iterator[dict[str, Any]]:
    """Yield the calls that are objects, and report what is wrong with each call."""
    if calls is not None and not isinstance(calls, list):
        session.add_issue("toolCalls is not a list", line)
    for call in as_list(calls):
        if not isinstance(call, dict):
            session.add_issue("a call is not an object", line)
            continue
        for name, value in call.items():
            if name not in CALL_FIELDS and value not in (None, "", [], {}):
                session.add_unread_line(f"field {name[:60]} of a call", line)
        if call.get("status") not in KNOWN_STATUSES:
            session.add_issue("unknown status of a call", line)
        if "args" not in call:
            session.add_issue("arguments of a call are missing", line)
        yield call


def _make_call_part(call: dict[str, Any]) -> dict[str, Any]:
    written = {name: call[name] for name in ("id", "name", "args") if name in call}
    return {"functionCall": written or {"name": None}}


def _list_results(session: Session, calls: Sequence[dict[str, Any]], line: int) -> Iterator[Any]:
    """Yield the results, which stand in the calls. A call with the status `error` failed."""
    for call in calls:
        result = call.get("result")
        if result in (None, []) and _has_shown_result(call):
            yield _make_shown_result(call)
            continue
        if result is not None and not isinstance(result, list):
            session.add_issue("result of a call is not a list of parts", line)
        for part in as_list(result):
            yield _mark_error(part) if call.get("status") == "error" else part


def _has_shown_result(call: dict[str, Any]) -> bool:
    """Whether a call without a result for the model is finished, and says how.

    A cancelled call that shows nothing has no result. A failed call is an error in any case.
    """
    status = call.get("status")
    is_finished_with_text = status in FINISHED_STATUSES and bool(call.get("resultDisplay"))
    return is_finished_with_text or status == ERROR


def _make_shown_result(call: dict[str, Any]) -> dict[str, Any]:
    """Return the result that the program showed to the user, as a response to the call."""
    display = call.get("resultDisplay")
    text = _format_content(display) if display else ""
    kind = "error" if call.get("status") in FAILED_STATUSES else "output"
    written = {name: call[name] for name in ("id", "name") if name in call}
    return {"functionResponse": written | {"response": {kind: text}}}


def _mark_error(part: Any) -> Any:
    """Return a response with an error, if its text alone does not say so."""
    written = as_object(as_object(part).get("functionResponse"))
    response = as_object(written.get("response"))
    if not written or response.get("error") is not None:
        return part
    error = response.get("output", response)
    return {"functionResponse": written | {"response": {"error": error}}}
