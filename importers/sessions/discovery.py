"""Recognise sessions of coding agents by their first lines.

The sessions of a program in one folder are a run. The dated folders of Codex are one.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from fcreview.importers.common.file_form import BOM, parse_json_or_none
from fcreview.importers.common.records import as_object
from fcreview.importers.sessions.session import PROGRAM_TITLES, Program, SessionFiles
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

IMPORTER = "sessions"
LINE_SUFFIXES = (".jsonl", ".ndjson")
DOCUMENT_SUFFIX = ".json"
PEEKED_BYTES = 1 << 16
"""Number of bytes at the start of a file that are read to recognise it."""
MAX_PEEKED_LINES = 500
"""Claude Code can write many lines about files and queues before the first message."""
CLAUDE_MESSAGES = ("user", "assistant")
SUBAGENT_PREFIX = "agent-"
SUBAGENT_FOLDER = "subagents"
DATE_PARTS = 3
_DATE_PART = re.compile(r"\d{2}|\d{4}")
_FIELD = re.compile(
    r'"(type|subtype|uuid|sessionId|session_id|isSidechain|agentId|message)"\s*:'
    r'\s*("[^"]*"|\{|true)'
)
STREAM_START = '"init"'
"""Subtype of the first line of Claude Code's streamed output."""
_GEMINI_SIGNS = ('"sessionId"', '"projectHash"', '"startTime"')
EXEC_FORMAT = (
    "this is the output of codex exec --json, which is another format than the sessions of Codex."
    " Open the rollout file in the folder sessions of Codex instead"
)
EXEC_EVENTS = ("thread.started", "turn.started", "item.completed", "turn.completed")


@dataclass(frozen=True, slots=True)
class _FoundSession:
    path: Path
    program: Program
    session_id: str = ""
    is_subagent: bool = False
    parent_id: str = ""
    """Session of Codex that this one continues as a fork or subagent."""


@dataclass(slots=True)
class _SessionGroup:
    """The sessions of one run."""

    program: Program
    folder: Path
    sessions: list[_FoundSession] = field(default_factory=list)


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],  # noqa: ARG001 - the files have no dataset
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    """Find the sessions of coding agents among the opened files. The sessions of one program in one
    folder form a run.
    """
    found = DiscoveredRuns()
    sessions: list[_FoundSession] = []
    for path in files:
        session = _recognise(path)
        if session is None:
            continue
        found.claimed.add(path)
        if isinstance(session, ImportIssue):
            found.issues.append(session)
        else:
            sessions.append(session)

    found.plans += [_make_plan(group) for group in _group_by_folder(sessions)]
    return found


def _group_by_folder(sessions: Sequence[_FoundSession]) -> list[_SessionGroup]:
    """Group sessions by their program and the folder of the run."""
    groups: dict[tuple[Program, Path], _SessionGroup] = {}
    for session in sessions:
        folder = _find_run_folder(session)
        group = groups.setdefault((session.program, folder), _SessionGroup(session.program, folder))
        group.sessions.append(session)
    return list(groups.values())


# -- recognising a file


def _recognise(path: Path) -> _FoundSession | ImportIssue | None:
    """Return the session of a coding agent that a file contains, or None if it is no session.

    The first lines show which program wrote the file.
    """
    if path.suffix == DOCUMENT_SUFFIX:
        return _recognise_document(path)
    if path.suffix not in LINE_SUFFIXES:
        return None
    records = _peek_records(path)
    first = next(records, None)
    if first is None:
        return None

    payload = first.get("payload")
    if first.get("type") == "session_meta" and isinstance(payload, dict):
        return _make_codex_session(path, payload)
    if _is_exec_event(first):
        return ImportIssue(str(path), line=1, what=EXEC_FORMAT, severity="error")
    if _is_gemini_header(first):
        return _FoundSession(path, "gemini_cli", str(first["sessionId"]))
    return _recognise_claude_session(path, chain([first], records))


def _is_exec_event(record: dict[str, Any]) -> bool:
    """Whether a record is from the output of `codex exec`, which cannot be imported."""
    has_content = "payload" in record or "message" in record
    return record.get("type") in EXEC_EVENTS and not has_content


def _is_gemini_header(record: dict[str, Any]) -> bool:
    return "sessionId" in record and "projectHash" in record and "message" not in record


def _peek_start(path: Path) -> bytes:
    """Return the start of a file without a byte order mark; nothing if it cannot be read."""
    try:
        with open_file(path) as file:
            start = os.pread(file.fileno(), PEEKED_BYTES, 0)
    except OSError:
        return b""
    return start.removeprefix(BOM)


def _peek_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in the first lines of a file, and an empty object for other values.

    A line that is cut is left out. Most files are recognised by their first line, so each line is
    parsed only when it is asked for.
    """
    lines = _peek_start(path).split(b"\n")
    for line in lines[:MAX_PEEKED_LINES]:
        value = _parse_line(line)
        if value is not None:
            yield as_object(value)


def _parse_line(line: bytes) -> Any:
    """Parse a line. Of a long line that was cut, the fields at its start are enough."""
    value = parse_json_or_none(line)
    if value is not None or not line.startswith(b"{"):
        return value
    return _parse_start(line.decode("utf-8", "replace"))


def _parse_start(text: str) -> dict[str, Any]:
    """Return what the start of a long line says about its fields."""
    fields: dict[str, Any] = {}
    for name, value in _FIELD.findall(text):
        if name in fields:
            continue
        if value == "{":
            fields[name] = {}
        elif value == "true":
            fields[name] = True
        else:
            fields[name] = value.strip('"')
    return fields


def _is_claude_line(record: dict[str, Any]) -> bool:
    """Whether a line is a message of Claude Code, or the first line of its streamed output. Very
    old or cut files lack some fields.
    """
    if _is_stream_start(record) and isinstance(record.get("session_id"), str):
        return True
    has_message = record.get("type") in CLAUDE_MESSAGES and isinstance(record.get("message"), dict)
    return has_message and ("uuid" in record or _find_claude_session_id(record) is not None)


def _is_stream_start(record: dict[str, Any]) -> bool:
    return record.get("type") == "system" and record.get("subtype") == "init"


def _find_claude_session_id(record: dict[str, Any]) -> str | None:
    """Return the id of the session. The streamed output has it in another field."""
    for name in ("sessionId", "session_id"):
        if isinstance(record.get(name), str):
            return str(record[name])
    return None


def _recognise_claude_session(
    path: Path, records: Iterable[dict[str, Any]]
) -> _FoundSession | None:
    """Return a session of Claude Code, or None if no record is one of its messages.

    A file with only sidechain messages is that of a subagent, if its name fits.
    """
    is_named_like_subagent = path.name.startswith(SUBAGENT_PREFIX)
    start = _ClaudeStart()
    for record in records:
        start.add(record)
        # Further lines can only say whether the file is that of a subagent.
        is_role_known = start.has_main_message or not is_named_like_subagent
        if start.has_message and start.session_id is not None and is_role_known:
            break

    if not start.has_message:
        return None
    is_subagent = is_named_like_subagent and not start.has_main_message
    return _FoundSession(path, "claude_code", start.session_id or "", is_subagent=is_subagent)


@dataclass(slots=True)
class _ClaudeStart:
    """What the first records of a file say about a session of Claude Code. They can be about the
    session, without a message.
    """

    session_id: str | None = None
    has_message: bool = False
    has_main_message: bool = False
    """Whether a message is not of a subagent."""

    def add(self, record: dict[str, Any]) -> None:
        if self.session_id is None:
            self.session_id = _find_claude_session_id(record)
        if _is_claude_line(record):
            self.has_message = True
            self.has_main_message |= record.get("isSidechain") is not True


def _make_codex_session(path: Path, meta: dict[str, Any]) -> _FoundSession:
    """Return a session of Codex, with the id of the session that started or preceded it."""
    subagent = as_object(as_object(meta.get("source")).get("subagent"))
    spawned_by = as_object(subagent.get("thread_spawn")).get("parent_thread_id")
    parent_id = meta.get("forked_from_id") or spawned_by
    return _FoundSession(
        path,
        "codex",
        str(meta.get("id", "")),
        parent_id=parent_id if isinstance(parent_id, str) else "",
    )


def _recognise_document(path: Path) -> _FoundSession | None:
    """Return the session if a document has the fields of Gemini CLI, in any order, or if its first
    line is that of the streamed output of Claude Code.
    """
    start = _peek_start(path).decode("utf-8", "replace")
    is_object = start.lstrip().startswith("{")
    is_session = is_object and all(sign in start for sign in _GEMINI_SIGNS)
    if is_session:
        return _FoundSession(path, "gemini_cli")
    # The streamed output of Claude Code is often stored under this suffix.
    if STREAM_START not in start:
        return None
    records = _peek_records(path)
    first = next(records, {})
    if _is_stream_start(first):
        return _recognise_claude_session(path, chain([first], records))
    return None


# -- runs


def _find_run_folder(session: _FoundSession) -> Path:
    """Return the folder whose sessions form a run: a project, or for Codex that of all dates."""
    folder = session.path.parent
    if session.program == "codex":
        # Codex writes its sessions to YEAR/MONTH/DAY. The run is the folder above these.
        is_dated = all(_DATE_PART.fullmatch(part) for part in folder.parts[-DATE_PARTS:])
        if is_dated:
            return folder.parents[DATE_PARTS - 1]
        return folder
    if session.program == "claude_code" and folder.name == SUBAGENT_FOLDER:
        return folder.parent.parent
    return folder


def _make_plan(group: _SessionGroup) -> RunPlan:
    """Make the import plan of the sessions of one program in one folder. A single session is named
    by its file instead of the folder.
    """
    sessions = _join_subagents(group.sessions)
    is_single = len(sessions) == 1 and not sessions[0].subagents
    path = sessions[0].main if is_single else group.folder
    run = Run(
        benchmark=IMPORTER,
        generation="",
        language="",
        model=PROGRAM_TITLES[group.program],
        path=str(path),
        needs_dataset=False,
        name_parts=[group.folder.name],
    )

    return RunPlan(
        run,
        [session.main for session in sessions],
        logs=[path for session in sessions for path in session.subagents],
        confidence=1.0,
        reason=f"the first lines are those of a session of {PROGRAM_TITLES[group.program]}",
        needs_scores=False,
        importer_data=tuple(sessions),
    )


def _join_subagents(sessions: Sequence[_FoundSession]) -> list[SessionFiles]:
    """Give each session the files of its subagents. If the session of a subagent is not among the
    files, the subagent is a session by itself.
    """
    main_by_id = _index_main_sessions(sessions)
    main_sessions: list[_FoundSession] = []
    lone_subagents: list[_FoundSession] = []
    subagent_files: defaultdict[Path, list[Path]] = defaultdict(list)
    for session in sessions:
        if not session.is_subagent:
            main_sessions.append(session)
            continue
        main = _find_main_session(session, main_by_id)
        if main is None:
            lone_subagents.append(session)
        else:
            subagent_files[main.path].append(session.path)

    return [
        SessionFiles(
            session.program,
            session.path,
            subagents=tuple(subagent_files[session.path]),
            parent=_find_parent_path(session, main_by_id),
        )
        for session in [*main_sessions, *lone_subagents]
    ]


def _index_main_sessions(sessions: Sequence[_FoundSession]) -> dict[str, _FoundSession]:
    """Return the sessions that are no subagents by their ids. Of several with one id, the first."""
    main_by_id: dict[str, _FoundSession] = {}
    for session in sessions:
        if not session.is_subagent:
            main_by_id.setdefault(session.session_id or session.path.stem, session)
    return main_by_id


def _find_main_session(
    subagent: _FoundSession, main_by_id: Mapping[str, _FoundSession]
) -> _FoundSession | None:
    """Return the session that started a subagent, by the session id in its file or its path."""
    # Newer versions write SESSION/subagents/agent-ID.jsonl.
    session_folder = subagent.path.parent.parent
    return main_by_id.get(subagent.session_id) or main_by_id.get(session_folder.name)


def _find_parent_path(
    session: _FoundSession, main_by_id: Mapping[str, _FoundSession]
) -> Path | None:
    """Return the file of the session from which a session was forked, or that started it."""
    if not session.parent_id:
        return None
    parent = main_by_id.get(session.parent_id)
    if parent is None or parent is session:
        return None
    return parent.path
