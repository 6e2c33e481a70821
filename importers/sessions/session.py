"""A session of a coding agent, as the readers of all programs produce it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fcreview.importers.common.budgets import MAX_ITEM_TEXT, MAX_ITEM_TEXT_SHOWN
from fcreview.importers.common.json_text import (
    JsonRecord,
    escape_and_cut_strings,
    is_nested_too_deeply,
)
from fcreview.importers.common.records import is_integer
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count

Program = Literal["claude_code", "codex", "gemini_cli"]
PROGRAM_TITLES: dict[Program, str] = {
    "claude_code": "Claude Code",
    "codex": "Codex",
    "gemini_cli": "Gemini CLI",
}
API_ERROR = "API error"
INTERRUPTED = "interrupted"
"""Names of notes."""
OTHER_SESSION = "another session begins here. Its messages are read as one session with the others"
"""Issue of a file that has several sessions, for example because files were joined."""
MAX_ENTRIES = 100_000
"""Maximum number of messages of one session."""
MAX_STRING_OVER_BUDGET = 1_000
"""Length after which texts are cut when a session has more text than an item may have."""
NOTE_LENGTH = 20_000
"""Maximum number of characters of one message in a note on an older version or a subagent."""


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files of one session."""

    program: Program
    main: Path
    subagents: tuple[Path, ...] = ()
    parent: Path | None = None
    """Session of which this one is a fork, so that it begins with a copy of its messages."""


@dataclass(slots=True)
class WrittenMessage:
    """A message in the dialect of the program's API, and the lines from which it was read."""

    value: dict[str, Any]
    lines: list[int]
    """Line of each block of the message. A message of one line has only this line."""
    is_by_program: bool = False
    """Whether the program wrote the message instead of the user. Such a message begins no turn."""

    def find_line(self, block: int | None) -> int:
        """Return the line of a block, or of the message."""
        if block is not None and block < len(self.lines):
            return self.lines[block]
        return self.lines[0]


@dataclass(slots=True)
class SessionNote:
    """Something that happened in a session, but that the model did not see as a message."""

    name: str
    text: str
    line: int


@dataclass(slots=True)
class ApiError:
    text: str
    line: int
    is_last: bool = False
    """Whether nothing followed in the session, so that the answer is missing."""


@dataclass(slots=True)
class Session:
    """A session, or the conversation of a subagent."""

    file: Path
    id: str = ""
    program: Program = "claude_code"
    entries: list[WrittenMessage | SessionNote] = field(default_factory=list)
    older_messages: list[WrittenMessage] = field(default_factory=list)
    """Messages that no longer count. They are read only to report what is wrong with them."""
    issues: list[ImportIssue] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    """Number of replies of each model."""
    metadata: dict[str, Any] = field(default_factory=dict)
    first_time: str | None = None
    last_time: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    api_errors: list[ApiError] = field(default_factory=list)
    is_interrupted: bool = False
    first_line: int = 1
    n_characters: int = 0
    """Length of the lines that were kept. Above the budget of an item, their texts are cut."""
    n_cut_lines: int = 0
    n_skipped_messages: int = 0
    unread_lines: dict[str, list[int]] = field(default_factory=dict)
    """Lines that were not read, by what is unknown about them."""

    def add_issue(
        self,
        what: str,
        line: int | None,
        *,
        severity: Literal["error", "warning", "notice"] = "warning",
    ) -> None:
        """Add an issue. It never quotes the file, because sessions hold private texts."""
        self.issues.append(ImportIssue(str(self.file), line, what=what, severity=severity))

    def add_unread_line(self, what: str, line: int) -> None:
        self.unread_lines.setdefault(what, []).append(line)

    def add_file_issue(self, issue: ImportIssue) -> None:
        """Add an issue of a line that is not JSON, without its text.

        The last line of a running session is often unfinished.
        """
        issue.raw = None
        if issue.what.startswith("the last line is cut off"):
            issue.severity = "notice"
        self.issues.append(issue)

    def note_time(self, time: Any) -> None:
        if not isinstance(time, str) or not time:
            return
        self.first_time = min(self.first_time or time, time)
        self.last_time = max(self.last_time or time, time)

    def add_tokens(self, n_in: Any, n_out: Any) -> None:
        """Add numbers of tokens. A value that is no whole number counts as unknown."""
        if is_integer(n_in):
            self.tokens_in = (self.tokens_in or 0) + n_in
        if is_integer(n_out):
            self.tokens_out = (self.tokens_out or 0) + n_out

    def keep(self, value: Any, length: int) -> Any:
        """Return a value of a line, with its texts cut if the session has too much text.

        Raises RecursionError for a value with more levels than the store can write.
        """
        # The first texts of a session stay whole.
        self.n_characters += length
        if self.n_characters <= MAX_ITEM_TEXT:
            if is_nested_too_deeply(value):
                raise RecursionError("a value is nested too deeply")
            return value
        self.n_cut_lines += 1
        return escape_and_cut_strings(value, MAX_STRING_OVER_BUDGET)

    def finish(self) -> None:
        """Add issues about what was left out while the session was read."""
        if not self.id:
            self.add_issue("the session has no id; it is named after its file", self.first_line)
        for what, lines in self.unread_lines.items():
            more = f" ({len(lines):,} lines)" if len(lines) > 1 else ""
            self.add_issue(f"{what} is not read{more}", lines[0])
        self._report_limits()

    def _report_limits(self) -> None:
        """Add issues about texts that were cut, and about messages that were skipped."""
        if self.n_cut_lines:
            count = format_count(self.n_cut_lines, "line")
            what = (
                f"the texts of {count} were cut after {MAX_STRING_OVER_BUDGET:,} characters,"
                f" because an item may have at most {MAX_ITEM_TEXT_SHOWN} of text"
            )
            self.add_issue(what, line=None)
        if self.n_skipped_messages:
            count = format_count(self.n_skipped_messages, "message")
            what = f"{count} skipped, because a session may have at most {MAX_ENTRIES:,}"
            self.add_issue(what, line=None, severity="error")


def label_type(kind: str) -> str:
    return f"of type {kind[:60]}" if kind else "without a type"


def read_object(session: Session, record: JsonRecord) -> dict[str, Any] | None:
    """Return the object in a line, or None with an issue for another value."""
    if isinstance(record.value, dict):
        return record.value
    session.add_unread_line("a line that is not a JSON object", record.line)
    return None
