"""Read sessions of Codex: lines with a time, a type and a payload.

Rules: formats/sessions.md of the specification, section 3, after the program's published sources.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import JsonRecord
from fcreview.importers.common.jsonl import read_records
from fcreview.importers.common.records import as_object, is_integer, list_objects
from fcreview.importers.dialects.token_counts import NO_COUNTS, read_token_counts
from fcreview.importers.dialects.values import get_type, to_text
from fcreview.importers.sessions.session import (
    API_ERROR,
    INTERRUPTED,
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
from fcreview.model.json_value import answer_hash, to_json_text

PROGRAM_TEXTS = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "# AGENTS.md",
    "<turn_aborted>",
    "<collaboration_mode>",
    "<skills_instructions>",
)
"""Beginnings of user messages that the program writes."""
PROGRAM_ROLES = ("developer", "system")
IGNORED_ITEMS = {"ghost_snapshot"}
CALL_ENDING = "_call"
"""Ending of the types of items with which the model calls a tool."""
ROLLBACK_EVENT = "thread_rolled_back"
"""Event after which the last turns no longer count."""
KNOWN_EVENTS = {
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "background_event",
    "context_compacted",
    "deprecation_notice",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "elicitation_request",
    "entered_review_mode",
    "exec_approval_request",
    "apply_patch_approval_request",
    "exec_command_begin",
    "exec_command_end",
    "exited_review_mode",
    "guardian_assessment",
    "image_generation_begin",
    "image_generation_end",
    "item_completed",
    "item_started",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "patch_apply_begin",
    "patch_apply_end",
    "plan_update",
    "raw_response_item",
    "request_user_input",
    "session_configured",
    "shutdown_complete",
    "stream_info",
    "task_complete",
    "task_started",
    "terminal_interaction",
    "thread_goal_updated",
    "thread_name_updated",
    "thread_settings_applied",
    "turn_complete",
    "turn_diff",
    "turn_started",
    "undo_completed",
    "undo_started",
    "user_message",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
    "web_search_end",
}
"""Events that repeat items, or say what the screen showed."""
KNOWN_EVENT_STARTS = ("collab_", "realtime_", "hook_")
"""Beginnings of the names of further such events: of subagents, of speech, and of hooks."""
KNOWN_EVENT_ENDS = ("_delta",)
ERROR_EVENTS = {"error", "stream_error"}
OTHER_LINES = {"world_state"}
META_FIELDS = (
    "cwd",
    "originator",
    "cli_version",
    "source",
    "model_provider",
    "git",
    "forked_from_id",
)
COMPACTION = "compaction"
ROLLED_BACK = "rolled back"
"""Name of the note with turns that the user took back."""
COPIED = "copied"
"""Name of the note with the items that a fork repeats."""
FORK = (
    "the session is a fork: it begins with a copy of the messages of another session, whose calls"
    " and replies count here, too. That session is not among the files"
)


def read_session(path: Path, parent: Path | None = None) -> Session:
    """Read a session. `parent`: the session of which it is a fork, if its file is known."""
    session = Session(path, program="codex")
    n_copied = 0 if parent is None else _count_copied_items(path, parent)
    reader = _CodexReader(session, n_copied)
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            session.add_file_issue(record)
            continue
        value = read_object(session, record)
        if value is not None:
            reader.read_line(value, record)
    reader.finish()
    return session


def _count_copied_items(path: Path, parent: Path) -> int:
    """Return the number of items at the start of a session that its parent has, too."""
    n_copied = 0
    for item, parent_item in zip(_read_items(path), _read_items(parent), strict=False):
        if answer_hash(item) != answer_hash(parent_item):
            break
        n_copied += 1
    return n_copied


def _read_items(path: Path) -> Iterator[Any]:
    """Yield the messages, calls and results in a session file of Codex."""
    for record in read_records(path):
        if not isinstance(record, JsonRecord):
            continue
        fields = as_object(record.value)
        payload = fields.get("payload")
        if fields.get("type") == "response_item" and get_type(payload) not in IGNORED_ITEMS:
            yield payload


class _CodexReader:
    """Reads the lines of a session in their order.

    `n_copied`: number of items at the start that are copied from another session. They become one
    note, because they count there.
    """

    def __init__(self, session: Session, n_copied: int = 0) -> None:
        self._session = session
        self._n_copied_items = n_copied
        self._n_items = 0
        self._copied_texts: list[str] = []
        self._model: str | None = None
        self._is_in_reply = False
        self._tokens = NO_COUNTS

    def read_line(self, value: dict[str, Any], record: JsonRecord) -> None:
        """Read one line of a session file of Codex, by its type: data about the session or a turn,
        an item of the conversation, an event, or a compaction.

        `value` is the content of the line, and `record` its place.
        """
        session = self._session
        session.note_time(value.get("timestamp"))
        payload = value.get("payload")
        kind = get_type(value)
        if kind in OTHER_LINES:
            return
        if not isinstance(payload, dict):
            session.add_unread_line("a line without a payload", record.line)
            return

        match kind:
            case "session_meta":
                self._read_meta(payload, record.line)
            case "turn_context":
                self._read_context(payload)
            case "response_item":
                self._read_item(payload, record)
            case "event_msg":
                self._read_event(payload, record.line)
            case "compacted":
                self._read_compaction(payload, record.line)
            case _:
                session.add_unread_line(f"a line {label_type(kind)}", record.line)

    def finish(self) -> None:
        """Mark an error that nothing followed, and take over the tokens of the last count."""
        session = self._session
        self._add_tokens()
        session.finish()

    def _read_meta(self, payload: dict[str, Any], line: int) -> None:
        """Read the first line. Resuming a session may write another one.

        A session can be a fork of another one, whose messages it repeats. If the other file is
        unknown, so that the repeated messages count here, this is reported once.
        """
        session = self._session
        self._note_id(payload, line)
        is_reported = "forked_from_id" in session.metadata
        is_fork = bool(payload.get("forked_from_id"))
        if is_fork and not is_reported and self._n_copied_items == 0:
            session.add_issue(FORK, line, severity="notice")
        for name in META_FIELDS:
            if payload.get(name) is not None:
                session.metadata.setdefault(name, payload[name])

    def _note_id(self, payload: dict[str, Any], line: int) -> None:
        """Note the id of the session. Another id is an issue, except in a copy of another session,
        which a fork or a subagent begins with.
        """
        session = self._session
        session_id = payload.get("id")
        if not isinstance(session_id, str):
            return
        if not session.id:
            session.id = session_id
            session.first_line = line
            return
        is_subagent = isinstance(session.metadata.get("source"), dict)
        begins_with_copy = is_subagent or "forked_from_id" in session.metadata
        if session_id != session.id and not begins_with_copy:
            session.add_issue(OTHER_SESSION, line)
            self._add_tokens()

    def _read_context(self, payload: dict[str, Any]) -> None:
        """Read the settings of the next turn."""
        if isinstance(payload.get("model"), str):
            self._model = payload["model"]
        for name in ("effort", "approval_policy"):
            if isinstance(payload.get(name), str):
                self._session.metadata[name] = payload[name]

    def _read_item(self, payload: dict[str, Any], record: JsonRecord) -> None:
        """Read a line with an item of the conversation: a message, a call, a result or
        reasoning.
        """
        session = self._session
        if get_type(payload) in IGNORED_ITEMS:
            return

        self._n_items += 1
        if self._n_items <= self._n_copied_items:
            self._add_copied_item(payload, record.line)
            return

        if len(session.entries) >= MAX_ENTRIES:
            session.n_skipped_messages += 1
            return
        try:
            item = session.keep(payload, record.length)
        except RecursionError:
            what = "item is nested too deeply to be read"
            session.add_issue(what, record.line, severity="error")
            return
        session.entries.append(_write_message(item, record.line))
        self._note_reply(item)

    def _add_copied_item(self, item: dict[str, Any], line: int) -> None:
        """Keep the text of a copied item. The last one ends the note."""
        self._copied_texts.append(_format_item(item)[:NOTE_LENGTH])
        if self._n_items == self._n_copied_items:
            text = "\n".join(self._copied_texts)
            self._session.entries.append(SessionNote(COPIED, text=text, line=line))
            self._session.metadata["copied items"] = self._n_copied_items

    def _note_reply(self, item: dict[str, Any]) -> None:
        """Count a reply of the model, and forget errors and interruptions before it."""
        is_of_model = item.get("role") == "assistant" or get_type(item).endswith(CALL_ENDING)
        if not is_of_model:
            self._is_in_reply = False
            return
        if not self._is_in_reply and self._model is not None:
            self._session.models[self._model] += 1
        self._is_in_reply = True
        self._session.is_interrupted = False
        for error in self._session.api_errors:
            error.is_last = False

    def _read_event(self, payload: dict[str, Any], line: int) -> None:
        """Read an event. Most events repeat the items, which are read instead."""
        session = self._session
        # A fork also repeats the events of the other session, between the copied items.
        if self._n_items < self._n_copied_items:
            return
        kind = get_type(payload)
        if kind in ERROR_EVENTS:
            self._add_error(payload, line)
        elif kind == "turn_aborted":
            reason = str(payload.get("reason") or "")
            session.entries.append(SessionNote(INTERRUPTED, text=reason, line=line))
            session.is_interrupted = True
        elif kind == "token_count":
            self._read_token_counts(as_object(payload.get("info")).get("total_token_usage"))
        elif kind == ROLLBACK_EVENT:
            self._roll_back(payload.get("num_turns"), line)
        elif not _is_known_event(kind):
            session.add_unread_line(f"an event {label_type(kind)}", line)

    def _add_error(self, payload: dict[str, Any], line: int) -> None:
        """Add an error of the API, which is the last one until the session goes on."""
        message = payload.get("message")
        text = message if isinstance(message, str) else to_json_text(payload)
        self._session.api_errors.append(ApiError(text, line, is_last=True))
        self._session.entries.append(SessionNote(API_ERROR, text=text, line=line))

    def _read_token_counts(self, usage: Any) -> None:
        """Read the tokens since the start of the program. If they become fewer, the program was
        started again.
        """
        new_counts = read_token_counts({"usage": usage})
        if new_counts == NO_COUNTS:
            return
        if (new_counts.tokens_in or 0) < (self._tokens.tokens_in or 0):
            self._add_tokens()
        self._tokens = new_counts

    def _add_tokens(self) -> None:
        """Add the last counts to the session. Counts after them begin at 0."""
        self._session.add_tokens(self._tokens.tokens_in, self._tokens.tokens_out)
        self._tokens = NO_COUNTS

    def _roll_back(self, n_turns: Any, line: int) -> None:
        """Fold the last turns into a note. The user took them back, so they no longer count."""
        session = self._session
        if not is_integer(n_turns) or n_turns < 1:
            session.add_issue("num_turns of a rollback is not a number from 1", line)
            return

        # Each prompt of the user begins a turn.
        turn_starts = [index for index, entry in enumerate(session.entries) if _is_prompt(entry)]
        if n_turns > len(turn_starts):
            session.add_issue("more turns are rolled back than there are", line)
        if turn_starts:
            first_removed_turn = max(len(turn_starts) - n_turns, 0)
            self._fold_entries_from(turn_starts[first_removed_turn], line)

    def _fold_entries_from(self, first_index: int, line: int) -> None:
        """Replace the entries from an index on by one note with their texts."""
        session = self._session
        removed_entries = session.entries[first_index:]
        texts = [_format_entry(entry)[:NOTE_LENGTH] for entry in removed_entries]
        note = SessionNote(ROLLED_BACK, text="\n".join(texts), line=line)
        session.entries[first_index:] = [note]
        for entry in removed_entries:
            if isinstance(entry, WrittenMessage):
                session.older_messages.append(entry)

        # An interruption or error in the removed turns no longer ends the session.
        session.is_interrupted = False
        for error in session.api_errors:
            error.is_last = False

    def _read_compaction(self, payload: dict[str, Any], line: int) -> None:
        """Add a note that the program replaced the conversation by a summary."""
        message = payload.get("message")
        if not isinstance(message, str):
            self._session.add_issue("message of a compaction is not a text", line)
            message = ""
        history = payload.get("replacement_history")
        text = message or to_json_text(history)
        self._session.entries.append(SessionNote(COMPACTION, text=text, line=line))


def _is_known_event(kind: str) -> bool:
    if kind in KNOWN_EVENTS:
        return True
    return kind.startswith(KNOWN_EVENT_STARTS) or kind.endswith(KNOWN_EVENT_ENDS)


def _is_prompt(entry: WrittenMessage | SessionNote) -> bool:
    """Whether an entry is a message of the user, which begins a turn."""
    if not isinstance(entry, WrittenMessage) or entry.is_by_program:
        return False
    return get_type(entry.value) in ("", "message") and entry.value.get("role") == "user"


def _format_entry(entry: WrittenMessage | SessionNote) -> str:
    if isinstance(entry, SessionNote):
        return f"[{entry.name}] {entry.text}"
    return _format_item(entry.value)


def _format_item(item: dict[str, Any]) -> str:
    """Return a copied item as text: role and text of a message, name and arguments of a call."""
    kind = get_type(item)
    if kind == "message":
        content = item.get("content")
        texts = [part.get("text") for part in list_objects(content)]
        spoken = "".join(text for text in texts if isinstance(text, str))
        if isinstance(content, str):
            spoken = content
        return f"{item.get('role')}: {spoken}"
    if kind == "function_call":
        return f"  call {item.get('name')}({item.get('arguments')})"
    if kind == "function_call_output":
        return f"  result {to_text(item.get('output'))}"
    return to_json_text(item)


def _write_message(item: dict[str, Any], line: int) -> WrittenMessage:
    """Return an item as a message. Texts that the program wrote in the name of the user are
    marked.
    """
    written = WrittenMessage(dict(item), [line])
    if _is_by_program(item):
        written.value["role"] = "developer"
        written.is_by_program = True
    return written


def _is_by_program(item: dict[str, Any]) -> bool:
    """Whether the program wrote a message: a developer's, or a user's of its own tags only."""
    if item.get("role") in PROGRAM_ROLES:
        return True
    if item.get("role") != "user":
        return False
    texts = [part.get("text") for part in list_objects(item.get("content"))]
    # The program writes some texts in the name of the user, each in a tag of its own.
    known = [text.lstrip() for text in texts if isinstance(text, str)]
    return bool(known) and all(text.startswith(PROGRAM_TEXTS) for text in known)
