"""Read sessions as items: a session is an item, and a prompt of the user begins a turn."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fcreview.importers.common.discovery import measure_file
from fcreview.importers.common.incidents import apply_incident, make_error_incident
from fcreview.importers.common.records import add_issue, fill_safely
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedConversation,
    ParsedMessage,
)
from fcreview.importers.dialects.embedded import read_with_foreign_messages
from fcreview.importers.dialects.pairing import pair_results
from fcreview.importers.dialects.to_item import MAX_ISSUES_WITH_ONE_TEXT, fill_conversation
from fcreview.importers.sessions import claude_code, codex, gemini_cli
from fcreview.importers.sessions.session import (
    PROGRAM_TITLES,
    Program,
    Session,
    SessionFiles,
    SessionNote,
    WrittenMessage,
)
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import ImportIssue, Item, ReadRecord
from fcreview.model.json_value import answer_hash
from fcreview.run_plan import RunPlan

DIALECTS: dict[Program, str] = {
    "claude_code": "anthropic",
    "codex": "openai_responses",
    "gemini_cli": "gemini",
}
BY_PROGRAM = "program"
"""Name of messages that the program wrote instead of the user."""
NO_GOLDEN_ANSWER = "sessions have no golden answer"
MAX_SHOWN_RAW_BYTES = 4 << 20
"""Size of the largest file that is shown as the raw record of its item."""
_PATH = re.compile(
    r"^(?:messages|contents|input|output)"
    r"(?:\[(?P<message>\d+)\](?:\.(?:content|parts)\[(?P<block>\d+)\])?)?"
)
"""Matches the beginning of the path of a reading, such as `messages[3].content[1].input`."""
_EXIT_CODE = re.compile(
    r'(?:\AExit code: |Process exited with code |"exit_code": ?)(?P<code>-?\d{1,10})'
)
MAX_SEARCHED_CHARACTERS = 10_000


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield an item for each session, with an issue for everything that is not read."""
    known_ids: set[str] = set()
    sessions: Sequence[SessionFiles] = plan.importer_data
    for files in sessions:
        session = _read_session(files)
        if not session.entries:
            yield from session.issues
            what = "the session has no messages"
            yield ImportIssue(str(files.main), what=what)
            continue
        yield _make_item(session, files, known_ids)


def _read_session(files: SessionFiles) -> Session:
    """Read the files of a session with the reader of the program that wrote them."""
    match files.program:
        case "claude_code":
            return claude_code.read_session(files.main, files.subagents)
        case "codex":
            return codex.read_session(files.main, files.parent)
        case "gemini_cli":
            return gemini_cli.read_session(files.main)


def _make_item(session: Session, files: SessionFiles, known_ids: set[str]) -> Item:
    """Make the item of a session, with a unique id, which is added to `known_ids`."""
    item_id = _choose_item_id(session, files, known_ids)
    known_ids.add(item_id)

    item = Item(item_id, category=PROGRAM_TITLES[session.program], file=str(session.file))
    item.line = session.first_line
    # A file that is too large is not shown as the raw record of the item.
    size = measure_file(session.file)
    item.length = size if size <= MAX_SHOWN_RAW_BYTES else 0
    fill_safely(item, partial(_fill_item, item, session))
    for issue in session.issues:
        issue.item = item.id
    item.issues.extend(session.issues)
    _set_incident(item, session)
    return item


def _choose_item_id(session: Session, files: SessionFiles, known_ids: set[str]) -> str:
    """Return the id of the item of a session: the session's own id, else the name of the file.

    An id that is known already gets the name of the file, and the session an issue.
    """
    file_name = files.main.stem
    session_id = session.id or file_name
    # The file of a subagent has the session id of its caller, so its name is the id.
    is_subagent = files.program == "claude_code" and file_name.startswith("agent-")
    item_id = file_name if is_subagent else session_id
    if item_id not in known_ids:
        return item_id

    # A session that was resumed or copied keeps its id in a file of another name.
    unique_id = f"{item_id}#{file_name}"
    session.add_issue(f"{session_id} occurs more than once; imported as {unique_id}", line=None)
    return unique_id


def _fill_item(item: Item, session: Session) -> None:
    """Set the content of an item from a recorded session with a coding agent, which has no golden
    answer.
    """
    written = [entry for entry in session.entries if isinstance(entry, WrittenMessage)]
    conversation = _read_conversation(session, written)
    fill_conversation(item, conversation)
    item.pairs = align_calls_by_turn([], item.predicted)
    item.rule_note = NO_GOLDEN_ANSWER
    item.tokens_in = session.tokens_in
    item.tokens_out = session.tokens_out
    item.ended = "interrupted" if session.is_interrupted else None
    item.extra.metadata = _collect_metadata(session)
    item.prediction_hash = answer_hash([answer_hash(message.value) for message in written])


def _collect_metadata(session: Session) -> dict[str, object]:
    """Collect what is known about a session as metadata of its item: program, models, times and
    errors of the API.
    """
    metadata: dict[str, object] = {"program": PROGRAM_TITLES[session.program]}
    most_common = session.models.most_common()
    if most_common:
        metadata["model"] = most_common[0][0]
        metadata["replies by model"] = dict(most_common)
    metadata |= session.metadata
    for name, time in (("first time", session.first_time), ("last time", session.last_time)):
        if time is not None:
            metadata[name] = time
    if session.api_errors:
        metadata["API errors"] = [error.text for error in session.api_errors]
    return metadata


def _set_incident(item: Item, session: Session) -> None:
    """Record an error of the API that nothing followed. After others, the session went on."""
    for error in session.api_errors:
        if error.is_last:
            apply_incident(item, make_error_incident(error.text, f"line {error.line}"))
        else:
            what = "an error of the API, after which the session went on"
            add_issue(item, what, severity="notice")
            item.issues[-1].line = error.line


# -- the conversation


def _read_conversation(session: Session, written: Sequence[WrittenMessage]) -> ParsedConversation:
    """Read the messages of a session in the form of the program's API, and insert the notes at
    their places.

    Issues refer to the lines of the file. `written` are the messages as they are in the file.
    """
    dialect = DIALECTS[session.program]
    messages: list[ParsedMessage] = []
    problems: list[MessageIssue] = []
    values = [message.value for message in written]
    for reading in read_with_foreign_messages(values, dialect):
        if isinstance(reading, MessageIssue):
            problems.append(reading)
        else:
            messages.append(_adapt_message(reading, written))

    if session.program == "codex":
        _mark_failed_commands(messages)
    problems.extend(pair_results(messages))
    conversation = ParsedConversation(dialect)
    conversation.messages = list(_insert_notes(session, messages))

    _add_issues(session, problems, written)
    _report_older_messages(session, dialect)
    return conversation


def _report_older_messages(session: Session, dialect: str) -> None:
    """Add the issues of messages that no longer count."""
    older = session.older_messages
    readings = read_with_foreign_messages([message.value for message in older], dialect)
    problems = [reading for reading in readings if isinstance(reading, MessageIssue)]
    _add_issues(session, problems, older)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a reading is in the messages of a session."""

    message: int | None
    """Index of the message. None for the last one."""
    block: int | None = None
    """Index of the content block in the message. None if the reading is not in a block."""


def _parse_path(path: str) -> _Place:
    """Return the place in a path such as `messages[3].content[1].input`."""
    match = _PATH.match(path)
    if match is None or match["message"] is None:
        return _Place(None)
    block = match["block"]
    return _Place(int(match["message"]), block=None if block is None else int(block))


def _adapt_message(message: ParsedMessage, written: Sequence[WrittenMessage]) -> ParsedMessage:
    """Return the message. One that the program wrote in the name of the user becomes a system
    message, because it begins no turn.
    """
    position = _parse_path(message.path).message
    is_of_user = message.role in ("user", "system")
    if position is None or not is_of_user:
        return message
    if written[position].is_by_program:
        return replace(message, role="system", name=BY_PROGRAM)
    return message


def _mark_failed_commands(messages: Sequence[ParsedMessage]) -> None:
    """Mark results with an exit code that is not 0, which stands in their text only."""
    for message in messages:
        for result in message.results:
            match = _EXIT_CODE.search(result.text[:MAX_SEARCHED_CHARACTERS])
            if match is not None and int(match["code"]) != 0:
                result.is_error = True


def _insert_notes(session: Session, messages: Sequence[ParsedMessage]) -> Iterator[ParsedMessage]:
    """Yield the messages, with each note before the first message that follows it."""
    notes = deque(_locate_notes(session))
    if not notes:
        yield from messages
        return
    for message in messages:
        position = _parse_path(message.path).message
        while notes and (position is None or notes[0].position <= position):
            yield notes.popleft().message
        yield message
    for note in notes:
        yield note.message


@dataclass(frozen=True, slots=True)
class _LocatedNote:
    position: int
    """Number of written messages before the note."""
    message: ParsedMessage


def _locate_notes(session: Session) -> Iterator[_LocatedNote]:
    """Yield the notes of a session, each with the number of messages before it."""
    n_messages = 0
    for entry in session.entries:
        if isinstance(entry, SessionNote):
            note = ParsedMessage("log", text=f"[{entry.name}] {entry.text}", name=entry.name)
            yield _LocatedNote(n_messages, note)
        else:
            n_messages += 1


def _add_issues(
    session: Session, problems: Sequence[MessageIssue], written: Sequence[WrittenMessage]
) -> None:
    """Add the problems of the messages to the session as issues, with the lines of the file.

    If many have the same text, only the first ones are added, and one more issue counts the rest.
    """
    lines_by_text: dict[str, list[int | None]] = {}
    for problem in problems:
        line = _find_line(_parse_path(problem.path), written)
        lines = lines_by_text.setdefault(problem.what, [])
        lines.append(line)
        if len(lines) <= MAX_ISSUES_WITH_ONE_TEXT:
            session.add_issue(problem.what, line, severity=problem.severity)

    for what, lines in lines_by_text.items():
        unlisted_lines = lines[MAX_ISSUES_WITH_ONE_TEXT:]
        if unlisted_lines:
            text = f"{what} ({len(unlisted_lines):,} more in this session)"
            session.add_issue(text, unlisted_lines[0])


def _find_line(place: _Place, written: Sequence[WrittenMessage]) -> int | None:
    """Return the number of the line that contains a place. None if the place has no message."""
    if place.message is None:
        return None
    return written[place.message].find_line(place.block)
