"""Read journals: the first call reads all lines, later calls only appended lines. Invalid lines
cause warnings.

Only events by the annotator in the file name of a journal count, so that nobody can change or
retract the reviews of another annotator by writing to their own journal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from fcreview.model.json_value import canonical_json
from fcreview.model.review import Event, find_retracted_events
from fcreview.model.wording import format_count
from fcreview.safe_files import MAX_JOURNAL_BYTES, WorkspaceFiles, check_file_size
from fcreview.store.reviews.journal import LineError, parse_line, parse_trusted_line, torn_line_path
from fcreview.store.reviews.line_order import FileLine, LineOrder
from fcreview.store.reviews.server_places import ServerPlaces, measure_places_files

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class JournalPrefix:
    """The beginning of a journal that was read, so that readers can recognise it later."""

    size: int
    digest: str  # BLAKE2b hash (32 bytes, in hex) of these first bytes of the journal
    is_valid: bool = True
    """Whether all lines were verified without a warning, so that readers can trust them."""


def create_prefix_digest(data: bytes = b"") -> blake2b:
    """Return a hash object that computes `JournalPrefix.digest`.

    Its `update` method adds more bytes.
    """
    return blake2b(data, digest_size=32)


def read_unchanged_prefix(files: WorkspaceFiles, path: Path, prefix: JournalPrefix) -> bytes | None:
    """Return the bytes of the prefix; None if the file cannot be read or no longer begins with
    the prefix.
    """
    try:
        with files.open_file(path) as file:
            data = file.read(prefix.size)
    except OSError:
        return None
    is_equal = len(data) == prefix.size and create_prefix_digest(data).hexdigest() == prefix.digest
    return data if is_equal else None


CHAIN_BROKEN = (
    "broken hash chain: the previous event is missing, so an older review may count instead of the"
    " missing one"
)
_LAST_BYTES = 64
_SHOWN_NAME_LENGTH = 32  # number of characters of a name in a warning: a name can have any length
_SHOWN_ID_LENGTH = 32  # the same for the id of an event
MAX_WARNINGS_PER_FILE = (
    20  # Maximum number of warnings that are kept for one file. Further warnings are only counted.
)


@dataclass(slots=True)
class JournalReport:
    """The state of one journal file, for `fcreview doctor`."""

    annotator: str  # file name without `.jsonl`; `team/NAME` for lines from a team's server
    events: int  # number of reviews, including retracted ones; retractions are not counted
    retracted: int  # number of retracted reviews
    warnings: list[str] = field(default_factory=list)
    """Messages about altered, invalid and incomplete lines, gaps in the chain, and events by
    other annotators.
    """
    torn: list[str] = field(default_factory=list)
    """One message for each incomplete line of which fcreview has saved a copy, with the name of
    the copy.
    """


def read_events_and_warnings(workspace: Workspace) -> tuple[list[Event], list[str]]:
    """Return the events of all journals without duplicates, in journal order, and the warnings."""
    reader = JournalReader(workspace)
    return reader.read_new_events(), reader.warnings


def check_journals(workspace: Workspace) -> list[JournalReport]:
    return [
        _check_journal(workspace, path)
        for path in [*list_journals(workspace), *list_team_journals(workspace)]
    ]


class JournalReader:
    """Reads all journals of a workspace, and later the lines that this and other processes have
    appended.

    All files of an annotator form one set of lines with one order (see `line_order`).
    """

    def __init__(self, workspace: Workspace, only: Path | None = None) -> None:
        """Create a reader of all journals of a workspace or, with `only`, of a single journal."""
        self.replaced = False
        """Whether the last `read_new_events` returned all events: git, rsync or a merge changed a
        journal, a new line belongs before lines that were read earlier, or an earlier review was
        not blind after all.
        """
        self._workspace = workspace
        self._only = only
        self._server_places = ServerPlaces(workspace)
        self._files: dict[Path, _JournalFile] = {}
        self._forget_lines()

    def _forget_lines(self) -> None:
        """Begin as if no line had been read."""
        self._files.clear()
        # The order of the lines of each annotator.
        self._orders: dict[str, LineOrder] = {}
        # Events by (annotator, event id).
        self._read_events: dict[tuple[str, str], Event] = {}
        self._informed: set[tuple[str, str]] = set()
        """(annotator, event id) of events that were written after other reviews of the item were
        revealed
        """

    @property
    def warnings(self) -> list[str]:
        """Messages about journal lines that do not count, and about gaps in a chain."""
        texts = []
        for file in self._files.values():
            texts += file.list_warnings()
            texts += self._describe_foreign_events(file)
        return texts

    def _describe_foreign_events(self, file: _JournalFile) -> list[str]:
        """Return the warnings about events by other annotators than the journal's owner."""
        texts = []
        # If all events are by one other annotator, the file is a renamed journal, or a copy that a
        # sync program made.
        has_events_of_owner = bool(file.last_hash)
        is_misnamed = not has_events_of_owner and len(file.foreign) == 1
        for annotator, events in file.foreign.items():
            if is_misnamed and any(event.is_review for event in events):
                texts.append(self._describe_misnamed_journal(file.path, annotator, events))
            else:
                line_numbers = [event.number for event in events]
                texts.append(describe_foreign_events(file.path, annotator, line_numbers))
        return texts

    def _describe_misnamed_journal(
        self, path: Path, annotator: str, events: Sequence[_ForeignEvent]
    ) -> str:
        """Return the warning about a file that has reviews of `annotator`, but not the name of the
        annotator's journal. It tells how to merge the file, or that the file can be deleted.
        """
        known_events = self._find_known_events()
        missing = [event for event in events if (annotator, event.event) not in known_events]
        shown_annotator = ascii(annotator[:_SHOWN_NAME_LENGTH])
        if not missing:
            return (
                f"{path.name}: all reviews in this file also count in the journal of"
                f" {shown_annotator}, so you can delete the file"
            )

        counts = _count_reviews_and_undos(missing)
        command = shlex.join(
            ["fcreview", "merge", os.fspath(self._workspace.parent_folder), os.fspath(path)]
        )
        return (
            f"{path.name}: {counts} by {shown_annotator} not counted, because the file has another"
            f" name than the journal. To merge this file, run: {command}"
        )

    def _find_known_events(self) -> Container[tuple[str, str]]:
        """Return the events that count in the workspace, as (annotator, event id)."""
        if self._only is None:
            return self._read_events
        reader = JournalReader(self._workspace)
        reader.read_new_events()
        return reader._read_events

    @property
    def torn_lines(self) -> list[str]:
        """One message for each line that a crash left incomplete and of which fcreview has saved
        a copy.
        """
        return [text for file in self._files.values() for text in file.torn]

    def read_new_events(self) -> list[Event]:
        """Return the events since the last call, one annotator after the other. The first call and
        a call that sets `replaced` return all events.
        """
        self.replaced = False
        self._server_places.refresh()
        if not any(file.is_replaced() for file in self._files.values()):
            events = self._read_appended_events()
            if events is not None:
                return events

        self.replaced = True
        self._forget_lines()
        return self._read_appended_events() or []

    def _read_appended_events(self) -> list[Event] | None:
        """Return the events since the last call. Return None if an event that was returned earlier
        has changed its place or its flag `blind`.
        """
        lines: _LinesByAnnotator = {}
        for path in self._list_journal_paths():
            file = self._files.setdefault(path, self._make_journal_file(path))
            self._add_lines_of_file(lines, file, file.read_new_events())
        return self._order_lines(lines)

    def _add_lines_of_file(
        self, lines: _LinesByAnnotator, file: _JournalFile, events: Iterable[Event]
    ) -> None:
        """Add the new lines of a journal file, each with the line before it in the file."""
        lines_of_owner = lines.setdefault(journal_owner(file.path), [])
        for event in events:
            line_before = "" if file.is_partial else file.last_hash
            lines_of_owner.append((file, FileLine(event, line_before)))
            file.last_hash = event.hash

    def _order_lines(self, lines: _LinesByAnnotator) -> list[Event] | None:
        """Return the new events of all annotators: by annotator, in the order of the names of their
        journals, and those of one annotator in the order in which they count.

        Returns None if the new lines change the order of earlier ones. Everything must then be read
        again, after `_forget_lines`.
        """
        ordered: list[Event] = []
        for annotator in sorted(lines, key=lambda name: f"{name}.jsonl"):
            events = self._order_lines_of_annotator(annotator, lines[annotator])
            if events is None:
                return None
            ordered += events
        return ordered

    def _order_lines_of_annotator(
        self, annotator: str, lines: _LinesOfAnnotator
    ) -> list[Event] | None:
        """Return the new events of an annotator in the order in which they count, or None if all
        lines must be read again: an earlier event was not blind, earlier lines have other places,
        or a new line belongs before an earlier one.
        """
        if not self._mark_informed_events(lines):
            return None

        order = self._orders.setdefault(annotator, LineOrder())
        keeps_order = order.set_server_places(self._server_places.get_places(annotator))
        if not keeps_order:
            return None
        events = order.add_lines(line for _, line in lines)
        if events is None:
            return None

        # For warnings, a line in several files comes from the first of them.
        file_by_hash: dict[str, _JournalFile] = {}
        for file, line in lines:
            file_by_hash.setdefault(line.event.hash, file)
        return self._drop_known_events(events, file_by_hash)

    def _mark_informed_events(self, lines: _LinesOfAnnotator) -> bool:
        """Remember which events were informed: their writer had seen other reviews of the item.

        Return False if an event that was returned earlier was informed, but not returned as such.
        """
        for file, line in lines:
            if not file.is_informed:
                continue
            identity = line.event.annotator, line.event.event
            self._informed.add(identity)
            known = self._read_events.get(identity)
            if known is not None and known.blind is not False:
                return False
        return True

    def _drop_known_events(
        self, events: Iterable[Event], file_by_hash: Mapping[str, _JournalFile]
    ) -> list[Event]:
        """Return the events that were not read before, and remember them. An event is known by its
        annotator and id; another event with the same id gets a warning.

        `file_by_hash`: hash of an event -> the file that contains it.
        """
        new = []
        for event in events:
            known = self._read_events.get((event.annotator, event.event))
            if known is None:
                self._remember_event(event)
                new.append(event)
            elif not is_same_event(known, event):
                _warn_of_equal_id(file_by_hash[event.hash], event)
        return new

    def _remember_event(self, event: Event) -> None:
        """Remember an event. An informed event is marked as not blind, whatever its line says.

        The team's server records whether it had revealed other reviews to the annotator. Its record
        takes precedence over the line.
        """
        identity = event.annotator, event.event
        self._read_events[identity] = event
        if identity in self._informed:
            event.blind = False

    def read_verified_events(self, prefixes: Mapping[str, JournalPrefix]) -> list[Event] | None:
        """Return the events of journals that were verified in an earlier session, in order. Begin
        anew with these parts of the journals: `read_new_events` then returns the events after them.

        `prefixes` maps the name of a journal, or of a file with the server's places, to the part of
        it that was verified: its length and hash. Returns None if a journal no longer begins with
        its part, or if the order that the team's server gave to the lines has changed.
        """
        self._forget_lines()
        self._server_places.refresh()
        known_places = {name: prefix for name, prefix in prefixes.items() if _is_places_file(name)}
        if known_places != self._get_prefixes_of_places():
            return None

        known_journals = {
            name: prefix for name, prefix in prefixes.items() if not _is_places_file(name)
        }
        lines: _LinesByAnnotator = {}
        files: dict[Path, _JournalFile] = {}
        for path in self._list_journal_paths():
            file = self._make_journal_file(path)
            if file.name not in known_journals:
                continue
            events = file.read_verified_events(known_journals[file.name])
            if events is None:
                return None
            files[path] = file
            self._add_lines_of_file(lines, file, events)
        is_journal_missing = len(files) < len(known_journals)
        if is_journal_missing:
            return None
        self._files = files
        return self._order_lines(lines)

    def get_prefixes(self) -> dict[str, JournalPrefix]:
        """Return the prefix of each journal that has been read, by journal name.

        Files of the server's places are included, because they decide the order too.
        """
        prefixes = {file.name: file.to_prefix() for file in self._files.values() if file.offset}
        return prefixes | self._get_prefixes_of_places()

    def _get_prefixes_of_places(self) -> dict[str, JournalPrefix]:
        contents = self._server_places.list_contents()
        return {
            name: JournalPrefix(len(content), create_prefix_digest(content).hexdigest())
            for name, content in contents.items()
        }

    def has_size_changed_since(self, prefixes: Mapping[str, JournalPrefix]) -> bool:
        """Return whether the sizes of the journals differ from the sizes of the prefixes."""
        try:
            sizes = {
                self._make_journal_file(path).name: path.stat().st_size
                for path in self._list_journal_paths()
            }
            sizes |= measure_places_files(self._workspace)
        except OSError:
            return True
        known = {name: prefix.size for name, prefix in prefixes.items()}
        return {name: size for name, size in sizes.items() if size} != known

    def _list_journal_paths(self) -> list[Path]:
        if self._only is not None:
            return [self._only]
        return [*list_journals(self._workspace), *list_team_journals(self._workspace)]

    def _make_journal_file(self, path: Path) -> _JournalFile:
        """Return the reader of a journal file. Journals in the folders of a team server may lack
        lines.
        """
        workspace = self._workspace
        return _JournalFile(
            path,
            files=workspace.files,
            name=path.relative_to(workspace.reviews).as_posix(),
            is_partial=path.is_relative_to(workspace.team_reviews),
            is_informed=path.parent == workspace.informed_team_reviews,
        )


@dataclass(frozen=True, slots=True)
class _ForeignEvent:
    """An event that does not count, because the journal belongs to another annotator."""

    number: int  # line number
    event: str
    is_review: bool


@dataclass(slots=True, eq=False)
class _JournalFile:
    """One journal file, and how far the reader has read it."""

    path: Path
    files: WorkspaceFiles
    name: str  # path below `reviews/`
    is_partial: bool = False  # whether lines can be missing, as in a journal from a team's server
    is_informed: bool = (
        False  # whether the events were written after other reviews of the item were revealed
    )
    offset: int = 0  # number of bytes that have been read
    inode: int = 0
    last_bytes: bytes = (
        b""  # The last bytes before `offset`. If they change, the file was rewritten in place.
    )
    # hash of all bytes before `offset`
    digest: blake2b = field(default_factory=create_prefix_digest)
    last_hash: str = ""  # hash of the owner's last event that was read
    n_lines: int = 0
    fragment: bytes = b""  # bytes of an unfinished last line
    hashes: set[str] = field(default_factory=set)  # `hash` of every line, including skipped lines
    warnings: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    n_omitted_warnings: int = 0
    foreign: dict[str, list[_ForeignEvent]] = field(default_factory=dict)  # by other annotator

    def is_replaced(self) -> bool:
        """Whether the file is another one than the one that was read: it has another inode, or
        other bytes before the place up to which it was read.
        """
        if not self.offset:
            return False
        try:
            with self.files.open_file(self.path) as file:
                if os.fstat(file.fileno()).st_ino != self.inode:
                    return True
                file.seek(self.offset - len(self.last_bytes))
                return file.read(len(self.last_bytes)) != self.last_bytes
        except OSError:
            return True

    def read_new_events(self) -> list[Event]:
        """Return the owner's events after `offset`.

        A complete last line counts even without its newline.
        """
        try:
            data = self._read_unread_bytes()
        except OSError as error:
            self.fragment = b""
            self.add_warning(f"{self.name}: the file cannot be read: {error.strerror or error}")
            return []
        return self._add_bytes(data)

    def _add_bytes(self, data: bytes) -> list[Event]:
        """Return the owner's events in the bytes after `offset`, and move `offset` after them.

        An incomplete last line stays unread, as `fragment`. It is read again, with the bytes that
        follow later.
        """
        *lines, last_line = data.split(b"\n")
        events = self._parse_lines(lines)
        event_without_newline = _parse_line_without_newline(last_line)
        if event_without_newline is None:
            self.fragment = last_line
        else:
            # `n_lines` counts newlines, so it counts this line when its newline follows.
            events.append((self.n_lines + 1, event_without_newline))
            self.hashes.add(event_without_newline.hash)
            self.fragment = b""

        n_consumed = len(data) - len(self.fragment)
        self._move_offset_after(data[:n_consumed])
        return self._select_events_of_owner(events)

    def _move_offset_after(self, consumed: bytes) -> None:
        """Move `offset` after the bytes that follow it, and what describes the bytes before it."""
        self.offset += len(consumed)
        self.last_bytes = (self.last_bytes + consumed)[-_LAST_BYTES:]
        self.digest.update(consumed)

    def read_verified_events(self, prefix: JournalPrefix) -> list[Event] | None:
        """Return the events in the beginning of the journal that a cache was computed from, or None
        if it has changed since. Reading continues after these bytes.

        Call it before anything else was read. The lines of a prefix without warnings are not
        checked again, which saves much time.
        """
        try:
            self.inode = self.path.stat().st_ino
        except OSError:
            return None
        data = read_unchanged_prefix(self.files, self.path, prefix)
        if data is None:
            return None
        if not prefix.is_valid:
            return self._add_bytes(data)

        # A prefix with invalid lines or with events by other annotators is not valid.
        events = [parse_trusted_line(line) for line in data.split(b"\n") if line.strip()]
        self.hashes = {event.hash for event in events}
        self.n_lines = data.count(b"\n")
        self._move_offset_after(data)
        return events

    def to_prefix(self) -> JournalPrefix:
        has_invalid_lines = bool(self.warnings or self.n_omitted_warnings or self.torn)
        is_valid = not has_invalid_lines and not self.foreign
        return JournalPrefix(self.offset, digest=self.digest.hexdigest(), is_valid=is_valid)

    def list_warnings(self) -> list[str]:
        """Return the warnings about a journal file, including the last line if it is incomplete."""
        texts = list(self.warnings)
        if self.n_omitted_warnings:
            texts.append(f"{self.name}: {self.n_omitted_warnings} more warnings are not shown")
        if self.fragment:
            texts.append(
                f"{self.name} line {self.n_lines + 1} is incomplete and was skipped"
                f" ({len(self.fragment)} bytes)"
            )
        return texts

    def add_warning(self, text: str) -> None:
        """Add a warning once. Beyond a maximum, warnings are only counted."""
        if text in self.warnings:
            return
        if len(self.warnings) < MAX_WARNINGS_PER_FILE:
            self.warnings.append(text)
        else:
            self.n_omitted_warnings += 1

    def _read_unread_bytes(self) -> bytes:
        """Return what was appended to the file since the last read.

        Remembers the inode of the file, by which `is_replaced` recognises it.
        """
        with self.files.open_file(self.path) as file:
            check_file_size(file.fileno(), str(self.path), MAX_JOURNAL_BYTES)
            state = os.fstat(file.fileno())
            if self.offset and state.st_size == self.offset:
                return b""
            self.inode = state.st_ino
            file.seek(self.offset)
            data = file.read()
            if data and not data.endswith(b"\n"):
                # Another process may be writing this line. If this process gets the lock, the
                # writer is done, and the second read gets the whole line. Without the lock, it
                # gets what is written by then, and the caller handles an incomplete line.
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                file.seek(self.offset)
                data = file.read()
        return data

    def _parse_lines(self, lines: list[bytes]) -> list[tuple[int, Event]]:
        """Parse new lines of a journal into pairs (line number, event).

        An invalid line becomes a warning. Each event names the hash of the event before it. If that
        event is missing, there is a warning too.
        """
        events: list[tuple[int, Event]] = []
        for line in lines:
            self.n_lines += 1
            if not line.strip():
                continue
            try:
                event = parse_line(line)
            except LineError as error:
                self._skip_line(line, str(error))
            else:
                events.append((self.n_lines, event))
                self.hashes.add(event.hash)

        # A partial journal, from a team's server, may lack the event before.
        for number, event in events:
            is_chained = not event.previous or event.previous in self.hashes
            if not is_chained and not self.is_partial:
                self.add_warning(f"{self.name} line {number}: {CHAIN_BROKEN}")
        return events

    def _select_events_of_owner(self, events: Iterable[tuple[int, Event]]) -> list[Event]:
        """Return the events by the annotator whose journal this is. Events by others, given with
        their line numbers, are only noted.
        """
        own = []
        owner = journal_owner(self.path)
        for number, event in events:
            if event.annotator == owner:
                own.append(event)
            else:
                foreign = _ForeignEvent(number, event.event, is_review=event.act != "retract")
                self.foreign.setdefault(event.annotator, []).append(foreign)
        return own

    def _skip_line(self, line: bytes, reason: str) -> None:
        """Add a warning for an invalid line. An incomplete line that was already copied to the
        folder `torn` is only listed there.

        The hash that the line states still counts, so that the next line has its predecessor.
        """
        stated = _read_stated_hash(line)
        if stated is not None:
            self.hashes.add(stated)
        copy = torn_line_path(self.path, line)
        if self._is_copied(line, copy):
            self.torn.append(
                f"{self.name} line {self.n_lines} is incomplete and was copied to torn/{copy.name}"
            )
        else:
            self.add_warning(f"{self.name} line {self.n_lines} was skipped: {reason}")

    def _is_copied(self, line: bytes, copy: Path) -> bool:
        try:
            return self.files.read(copy, MAX_JOURNAL_BYTES) == line
        except OSError:
            return False


def _parse_line_without_newline(line: bytes) -> Event | None:
    """Return the event in the last line of a journal. None if the line is empty or incomplete.

    A line counts without its newline if it is complete otherwise.
    """
    if not line:
        return None
    try:
        return parse_line(line)
    except LineError:
        return None


def _read_stated_hash(line: bytes) -> str | None:
    """Return the `hash` field of a line that may be invalid.

    The next event refers to it as `previous`.
    """
    try:
        content = orjson.loads(line)
    except ValueError:
        return None
    stated = content.get("hash") if isinstance(content, dict) else None
    return stated if isinstance(stated, str) else None


_LinesOfAnnotator = list[tuple[_JournalFile, FileLine]]
_LinesByAnnotator = dict[str, _LinesOfAnnotator]


def _warn_of_equal_id(file: _JournalFile, event: Event) -> None:
    file.add_warning(
        f"{file.name}: another event has the id {event.event[:_SHOWN_ID_LENGTH]!a}, so this event"
        " was skipped"
    )


def _is_places_file(name: str) -> bool:
    return not name.endswith(".jsonl")


def journal_owner(path: Path) -> str:
    """Return the annotator whose events count in a journal: the file name in Unicode form NFC."""
    return unicodedata.normalize("NFC", path.stem)


def describe_foreign_events(
    path: Path, annotator: str, line_numbers: Sequence[int], verb: str = "ignores"
) -> str:
    """Return a message about events of another annotator, which a journal has at these lines."""
    first_line = line_numbers[0]
    events = format_count(len(line_numbers), "event")
    shown_name = annotator[:_SHOWN_NAME_LENGTH]
    owner = journal_owner(path)
    return (
        f"{path.name} line {first_line}: fcreview {verb} {events} by {shown_name!a}, because only"
        f" events by {owner!a} count in this file"
    )


def is_same_event(one: Event, other: Event) -> bool:
    """Return whether two events are the same, even if they follow different events in two copies
    of a workspace.
    """
    return one.hash == other.hash or _content_without_chain(one) == _content_without_chain(other)


def _content_without_chain(event: Event) -> bytes:
    return canonical_json(replace(event, place=None, previous="", hash=""), tuple)


def list_journals(workspace: Workspace) -> list[Path]:
    """Return the paths of the annotators' journals, sorted by name.

    A path may not be a regular file.
    """
    return sorted(Path(workspace.reviews).glob("*.jsonl"))


def measure_journals(workspace: Workspace) -> dict[Path, int]:
    """Return the size in bytes of each journal, to notice that a process has written to one."""
    sizes = {}
    for path in [*list_journals(workspace), *list_team_journals(workspace)]:
        with contextlib.suppress(OSError):
            sizes[path] = path.lstat().st_size
    return sizes


def list_team_journals(workspace: Workspace) -> list[Path]:
    """Return the paths of the partial journals from the team's server, sorted by folder and
    name.
    """
    folders = (workspace.team_reviews, workspace.informed_team_reviews)
    return [path for folder in folders for path in sorted(folder.glob("*.jsonl"))]


def _check_journal(workspace: Workspace, path: Path) -> JournalReport:
    """Read one journal on its own, and report its numbers of reviews and its problems."""
    reader = JournalReader(workspace, only=path)
    events = reader.read_new_events()
    retractions = find_retracted_events(events)
    reviews = [event for event in events if event.act != "retract"]
    n_retracted = sum((event.event, event.annotator) in retractions for event in reviews)
    name = path.relative_to(workspace.reviews).with_suffix("").as_posix()
    return JournalReport(
        name,
        events=len(reviews),
        retracted=n_retracted,
        warnings=reader.warnings,
        torn=reader.torn_lines,
    )


def _count_reviews_and_undos(events: Sequence[_ForeignEvent]) -> str:
    """Return the numbers of events as text: `2 reviews and 1 undo`."""
    n_reviews = sum(event.is_review for event in events)
    n_undos = len(events) - n_reviews
    counts = []
    if n_reviews:
        counts.append(format_count(n_reviews, "review"))
    if n_undos:
        counts.append(format_count(n_undos, "undo", "undos"))
    return " and ".join(counts)
