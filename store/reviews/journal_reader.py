"""The beginning of a journal that was read before: told by its bytes, so that it need not be verified again.

Reading journals: whole at the start, then only what was added. What cannot be read is set aside with a warning.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.model.decision import find_retracted_events
from fcreview.model.review import Event
from fcreview.safe_files import MAX_JOURNAL_BYTES, check_file_size, open_file, read_file
from fcreview.store.reviews.journal_format import LineError, sort_by_chain, parse_verified_line, parse_line, read_stated_hash

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class JournalPrefix:
    """What was read, with nothing to warn of."""

    size: int
    digest: str
    """As `digest_of` gives it, in hex."""


def start_digest(data: bytes = b"") -> blake2b:
    """blake2b-32, to be gone on with."""
    return blake2b(data, digest_size=32)


def has_prefix(path: Path, prefix: JournalPrefix) -> bool:
    """Whether the file still begins with what was read."""
    return read_prefix(path, prefix) is not None


def read_prefix(path: Path, prefix: JournalPrefix) -> bytes | None:
    """What was read; None if the file does not begin with it any more, or cannot be read."""
    try:
        with open_file(path) as file:
            data = file.read(prefix.size)
    except OSError:
        return None
    fits = len(data) == prefix.size and start_digest(data).hexdigest() == prefix.digest
    return data if fits else None


_MARK = 64
MAX_WARNINGS_PER_FILE = 20
"""Warnings kept for one file; beyond them only their number is told."""


@dataclass(slots=True)
class JournalReport:
    """State of one journal file, for `fcreview doctor`."""

    annotator: str
    """The file's name without `.jsonl`."""
    events: int
    """Acts that count or were retracted; retractions themselves are not counted."""
    retracted: int
    warnings: list[str] = field(default_factory=list)
    """Altered or unreadable lines, breaks of the chain, an unfinished last line: one line of text each."""
    torn: list[str] = field(default_factory=list)
    """Unfinished lines of earlier crashes that were set aside, with the file that holds the copy."""


def read_journals(workspace: Workspace) -> tuple[list[Event], list[str]]:
    """All events of all annotators, each once, each annotator's in order; and what was set aside."""
    reader = JournalReader(workspace)
    return reader.read(), reader.warnings


def check_journals(workspace: Workspace) -> list[JournalReport]:
    """One report a journal file, by name."""
    return [_check(workspace, path) for path in list_journals(workspace)]


def torn_line_path(journal: Path, fragment: bytes) -> Path:
    """Where the copy of an unfinished line is kept."""
    return journal.parent / "torn" / f"{journal.stem}-{blake2b(fragment, digest_size=4).hexdigest()}.txt"


class JournalReader:
    """Follows all journals of a workspace, those that other processes write included."""

    def __init__(self, workspace: Workspace, only: Path | None = None) -> None:
        self.replaced = False
        """Set by `read` if a file was exchanged for another (git, rsync), or what was added does not follow what was
        read last (merged copies): what was read before no longer holds."""
        self._workspace = workspace
        self._only = only
        self._files: dict[Path, _File] = {}
        self._seen: dict[str, str] = {}

    @property
    def warnings(self) -> list[str]:
        return [text for file in self._files.values() for text in file.all_warnings()]

    def read(self) -> list[Event]:
        """Events added since the last call; all of them at the first call, or if `replaced` is set after it."""
        self.replaced = any(file.replaced() for file in self._files.values())
        if self.replaced:
            self._forget()
        events = self._added()
        if any(file.forked for file in self._files.values()):
            self.replaced = True
            self._forget()
            events = self._added()
        return events

    def _forget(self) -> None:
        self._files.clear()
        self._seen.clear()

    def _added(self) -> list[Event]:
        events: list[Event] = []
        for path in self._paths():
            file = self._files.setdefault(path, _File(path))
            events += self._fresh(file, sort_by_chain(file.read()))
        return events

    def read_verified(self, prefixes: Mapping[str, JournalPrefix]) -> list[Event] | None:
        """Instead of the first `read`: the events of what was verified before, by name of the file, without verifying
        it again. None, and nothing was read, if anything there is not as it was."""
        found: dict[_File, list[Event]] = {}
        for path in self._paths():
            if path.name in prefixes:
                file = _File(path)
                events = file.read_known(prefixes[path.name])
                if events is None:
                    return None
                found[file] = sort_by_chain(events)
        if len(found) < len(prefixes):
            return None
        self._files = {file.path: file for file in found}
        return [event for file, events in found.items() for event in self._fresh(file, events)]

    def verified_prefixes(self) -> dict[str, JournalPrefix] | None:
        """What was read until now, by name of the file; None if there is anything to warn of, or was."""
        if any(file.all_warnings() or file.torn for file in self._files.values()):
            return None
        return {path.name: file.verified() for path, file in self._files.items() if file.offset}

    def has_changed_since(self, prefixes: Mapping[str, JournalPrefix]) -> bool:
        """Whether there is more to read than these, or less."""
        try:
            sizes = {path.name: path.stat().st_size for path in self._paths()}
        except OSError:
            return True
        return {name: size for name, size in sizes.items() if size} != {name: at.size for name, at in prefixes.items()}

    def _paths(self) -> list[Path]:
        return list_journals(self._workspace) if self._only is None else [self._only]

    def _fresh(self, file: _File, events: list[Event]) -> list[Event]:
        """Each event once, whichever copies of a journal it stands in."""
        kept = []
        for event in events:
            known = self._seen.get(event.event)
            if known is None:
                self._seen[event.event] = event.hash
                kept.append(event)
            elif known != event.hash:
                file.warn(f"a second event with the id {event.event[:32]!a}, not counted")
        return kept


@dataclass(slots=True, eq=False)
class _File:
    """One journal and how far it was read."""

    path: Path
    offset: int = 0
    inode: int = 0
    mark: bytes = b""
    """The last bytes before `offset`: a file rewritten in place has others there."""
    digest: blake2b = field(default_factory=start_digest)
    """Of the bytes before `offset`."""
    last: str = ""
    """Hash of the last event."""
    forked: bool = False
    """Whether what was added does not follow `last`: then the order of all is another one."""
    lines: int = 0
    fragment: bytes = b""
    known: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    unshown: int = 0

    def replaced(self) -> bool:
        if not self.offset:
            return False
        try:
            with open_file(self.path) as file:
                state = os.fstat(file.fileno())
                file.seek(self.offset - len(self.mark))
                return state.st_ino != self.inode or file.read(len(self.mark)) != self.mark
        except OSError:
            return True

    def read(self) -> list[Event]:
        """The whole lines after `offset`; the last one also without its newline, if nothing else is missing."""
        try:
            data = self._rest()
        except OSError as error:
            self.fragment = b""
            self.warn(f"cannot be read: {error.strerror or error}")
            return []
        *lines, rest = data.split(b"\n")
        self.offset += len(data) - len(rest)
        events = self._parse(lines)
        self.fragment = rest
        if rest:
            with contextlib.suppress(LineError):
                events.append(parse_line(rest))
                self.known.add(events[-1].hash)
                self.offset += len(rest)
                self.fragment = b""
        for event in events:
            self.forked = self.forked or (bool(self.mark) and event.previous != self.last)
            self.last = event.hash
        consumed = data[: len(data) - len(self.fragment)]
        self.mark = (self.mark + consumed)[-_MARK:]
        self.digest.update(consumed)
        return events

    def read_known(self, verified: JournalPrefix) -> list[Event] | None:
        """As the first `read`, what was verified only and without verifying it again; None if it is not as it was."""
        try:
            self.inode = self.path.stat().st_ino
        except OSError:
            return None
        data = read_prefix(self.path, verified)
        if data is None:
            return None
        events = [parse_verified_line(line) for line in data.split(b"\n") if line.strip()]
        self.known = {event.hash for event in events}
        self.last = events[-1].hash if events else ""
        self.offset, self.lines, self.mark = len(data), data.count(b"\n"), data[-_MARK:]
        self.digest = start_digest(data)
        return events

    def verified(self) -> JournalPrefix:
        return JournalPrefix(self.offset, self.digest.hexdigest())

    def all_warnings(self) -> list[str]:
        texts = list(self.warnings)
        if self.unshown:
            texts.append(f"{self.path.name}: {self.unshown} more lines set aside")
        if self.fragment:
            texts.append(f"{self.path.name} line {self.lines + 1}: unfinished, set aside ({len(self.fragment)} bytes)")
        return texts

    def warn(self, text: str, line: int | None = None) -> None:
        full = f"{self.path.name}{f' line {line}' if line else ''}: {text}"
        if full in self.warnings:
            return
        if len(self.warnings) < MAX_WARNINGS_PER_FILE:
            self.warnings.append(full)
        else:
            self.unshown += 1

    def _rest(self) -> bytes:
        with open_file(self.path) as file:
            check_file_size(file.fileno(), str(self.path), MAX_JOURNAL_BYTES)
            state = os.fstat(file.fileno())
            if self.offset and state.st_size == self.offset:
                return b""
            self.inode = state.st_ino
            file.seek(self.offset)
            data = file.read()
            if data and not data.endswith(b"\n"):  # perhaps someone is writing just now: read again in turn
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                file.seek(self.offset)
                data = file.read()
        return data

    def _parse(self, lines: list[bytes]) -> list[Event]:
        events: list[tuple[int, Event]] = []
        for line in lines:
            self.lines += 1
            if not line.strip():
                continue
            try:
                event = parse_line(line)
            except LineError as error:
                self._set_aside(line, str(error))
            else:
                events.append((self.lines, event))
                self.known.add(event.hash)
        for number, event in events:
            if event.previous and event.previous not in self.known:
                self.warn("chain broken: the event before it is not here", number)
        return [event for _, event in events]

    def _set_aside(self, line: bytes, why: str) -> None:
        stated = read_stated_hash(line)
        if stated is not None:
            self.known.add(stated)
        copy = torn_line_path(self.path, line)
        with contextlib.suppress(OSError):
            if read_file(copy) == line:
                self.torn.append(f"{self.path.name} line {self.lines}: unfinished, copied to torn/{copy.name}")
                return
        self.warn(f"{why}, set aside", self.lines)


def list_journals(workspace: Workspace) -> list[Path]:
    """By name; what is no file among them is told by who reads it."""
    return sorted(Path(workspace.reviews).glob("*.jsonl"))


def _check(workspace: Workspace, path: Path) -> JournalReport:
    reader = JournalReader(workspace, only=path)
    events = reader.read()
    gone = find_retracted_events(events)
    acts = [event for event in events if event.act != "retract"]
    retracted = sum((event.event, event.annotator) in gone for event in acts)
    torn = [text for file in reader._files.values() for text in file.torn]
    return JournalReport(path.stem, len(acts), retracted, reader.warnings, torn)
