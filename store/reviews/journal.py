"""Write review journals: `.fcreview/reviews/<annotator>.jsonl`. fcreview cannot rebuild a lost
journal.

Each event is one line of JSON. The line contains the hash of the previous event, so the events form
a chain. fcreview appends a line with one `write` and syncs the file before `append` returns. It
never overwrites or deletes a line that it has reported as saved. Readers accept a complete last
line without its newline. If a write fails at any byte, fcreview cuts the file back to its former
size. So readers see either all events of a write, such as a bulk review, or none.

Readers validate every field of a line. They skip an invalid line and report the reason.

Each annotator has their own journal, so annotators need no lock. Two processes of the same
annotator use an advisory lock. Without the lock, no line is lost either, but the chain gets two
branches.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.errors import FcreviewError
from fcreview.model.json_value import has_non_finite_number, is_string_list, json_hash
from fcreview.model.review import (
    ACTS,
    ANNOTATION_FIELDS,
    JOURNAL_VERSION,
    OPTIONAL_FIELDS,
    Annotation,
    Event,
    ItemKey,
    describe_field_error,
)
from fcreview.safe_files import MAX_JOURNAL_BYTES, WorkspaceFiles, check_file_size
from fcreview.store.reviews.line_order import LatestPlace, Place, parse_place
from fcreview.store.workspace import check_annotator, fold_filename

if TYPE_CHECKING:
    from fcreview.store.reviews.review_index import UnreviewedItem
    from fcreview.store.workspace import Workspace

LOCK_TIMEOUT = (
    2.0  # seconds to wait for another process of the same annotator before writing without the lock
)
_TAIL_BYTES = 1 << 16
_KEY_FIELDS = frozenset(ItemKey._fields)
_WRITTEN_FIELDS = tuple(
    field.name for field in fields(Event) if field.name not in ("extra", "hash")
)
_KNOWN_FIELDS = {*_WRITTEN_FIELDS, "hash"}
_REQUIRED_TEXT_FIELDS = ("event", "time", "annotator", "act")
_TEXT_FIELDS = ("prediction_hash", "golden_hash", "target", "criterion", "previous", "hash")
# interning stores equal values of many lines once
_INTERNED_FIELDS = (
    "annotator",
    "act",
    "target",
    "criterion",
)
_STR = {str}


class LineError(ValueError):
    """Raised for an invalid journal line, which readers skip. The message states the reason."""


class JournalError(FcreviewError):
    """Raised when a review was not saved. The message states the reason."""


class _PartialWriteError(OSError):
    """Raised when a write failed and its first lines could not be removed from the file."""

    def __init__(self, error: OSError, n_saved: int, total: int) -> None:
        super().__init__(error.errno, error.strerror)
        self.n_saved = n_saved
        self.total = total


class _UnconfirmedWriteError(OSError):
    """Raised when all lines were written but `fsync` failed, so a crash can lose the lines."""


class JournalNames:
    """The names of the journals in a workspace, to find names that differ only in case.

    A file system that ignores case would use the same file for both.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._names: dict[str, list[str]] = {}
        for path in sorted(Path(workspace.reviews).glob("*.jsonl")):
            self._names.setdefault(fold_filename(path.stem), []).append(path.stem)

    def find_similar_name(self, annotator: str) -> str | None:
        """Return the name of a journal that differs from the annotator's only in case, or None."""
        for name in self._names.get(fold_filename(annotator), ()):
            if name != annotator:
                return name
        return None

    def find_pair(self) -> tuple[str, str] | None:
        """Return two names that differ only in case, or None."""
        for names in self._names.values():
            if len(names) > 1:
                return names[0], names[1]
        return None


class Journal:
    """Appends events to the journal of one annotator."""

    def __init__(
        self, workspace: Workspace, annotator: str, names: JournalNames | None = None
    ) -> None:
        """Prepare the journal of an annotator. `names` are the journals of the workspace, if the
        caller has listed them.

        Raises AnnotatorError for an invalid name. Raises JournalError if another annotator's name
        differs only in case, because some file systems would use one file for both.
        """
        self.workspace = workspace
        self._files = workspace.files
        self.annotator = check_annotator(annotator)
        self.path = Path(workspace.reviews) / f"{self.annotator}.jsonl"
        self._place_scanner = _PlaceScanner(self.annotator)
        other = (names or JournalNames(workspace)).find_similar_name(self.annotator)
        if other is not None:
            raise JournalError(
                f"annotator {other!a} already exists, and {self.annotator!a} differs from it only"
                f" in case. Use {other!a} or a different name."
            )

    def append(self, key: ItemKey, annotation: Annotation, **event_fields: Any) -> Event:
        """Write one event and sync it to disk. After a JournalError, the event does not count."""
        return self.extend([self.make_event(key, annotation, **event_fields)])[0]

    def extend(self, events: Sequence[Event]) -> list[Event]:
        """Write several events at once and return them with their hashes.

        Either all events are written or none. Raises JournalError like `append`.
        """
        if not events:
            return []
        written: list[Event] = []

        def serialize_events(end: _JournalEnd) -> list[bytes]:
            events_and_lines = _chain_events(events, end)
            written.extend(event for event, _ in events_and_lines)
            return [line for _, line in events_and_lines]

        # This calls `serialize_events` once. It returns only if all lines are written.
        self._write(serialize_events, len(events))
        return written

    def append_missing_lines(self, lines_by_hash: Mapping[str, bytes]) -> set[str]:
        """Append the lines that this journal lacks, sync them to disk, and return their hashes.
        `lines_by_hash`: valid lines of another copy of this journal. Raises JournalError like
        `extend`.
        """
        if not lines_by_hash:
            return set()
        missing = dict(lines_by_hash)

        def select_missing_lines(_: _JournalEnd) -> list[bytes]:
            # Another process may have appended lines until this process got the lock.
            for present_line in read_valid_lines(self._files, self.path, []):
                missing.pop(present_line.event.hash, None)
            return [line.rstrip(b"\n") + b"\n" for line in missing.values()]

        # This calls `select_missing_lines` once, so that `missing` then has the written lines.
        self._write(select_missing_lines, len(missing))
        return set(missing)

    def append_bulk_review(
        self,
        reviews: Iterable[tuple[UnreviewedItem, Annotation]],
        *,
        queue: str | None = None,
    ) -> list[Event]:
        """Write one bulk review, with one event for each item."""
        shared = {"blind": False, "queue": queue, "bulk": secrets.token_hex(16)}
        events = []
        for item, annotation in reviews:
            hashes = {"prediction_hash": item.prediction_hash, "golden_hash": item.golden_hash}
            events.append(self.make_event(item.key, annotation, **hashes, **shared))
        return self.extend(events)

    def retract(self, *events: Event) -> list[Event]:
        """Write one retraction for each of these events of the annotator, and return the
        retractions.
        """
        retractions = []
        for event in events:
            annotation = Annotation(act="retract", target=event.target, criterion=event.criterion)
            hashes = {"prediction_hash": event.prediction_hash, "golden_hash": event.golden_hash}
            retractions.append(
                self.make_event(event.key, annotation, retracts=event.event, **hashes)
            )
        return self.extend(retractions)

    def make_event(self, key: ItemKey, annotation: Annotation, **event_fields: Any) -> Event:
        """Return the event of an annotation by this annotator, with a new id and the current time.
        `extend` writes it.
        """
        names = ("act", "target", "criterion", *ANNOTATION_FIELDS)
        annotation_fields = {name: getattr(annotation, name) for name in names}
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return Event(
            event=secrets.token_hex(16),
            time=now,
            annotator=self.annotator,
            key=key,
            **annotation_fields,
            **event_fields,
        )

    def _write(self, make_lines: Callable[[_JournalEnd], list[bytes]], n_events: int) -> None:
        """Write the lines for `n_events` events. Raises JournalError.

        `make_lines` is called once, when no other process can append.
        """
        try:
            self._lock_and_write_lines(make_lines)
        except LineError as error:
            raise JournalError(f"invalid review: {error}") from None
        except OSError as error:
            raise JournalError(self._describe_failed_write(error, n_events)) from error

    def _describe_failed_write(self, error: OSError, n_events: int) -> str:
        """Return the error message about a failed write. It begins with the reason, because narrow
        screens cut off the path.
        """
        reason = error.strerror or error
        if isinstance(error, _UnconfirmedWriteError):
            return (
                f"{reason}. The review may be lost, because it could not be synced to {self.path}"
            )
        if isinstance(error, _PartialWriteError):
            counts = f"the first {error.n_saved:,} of {error.total:,} reviews were saved"
            return f"{reason}. Only {counts} in {self.path}"
        if n_events == 1:
            return f"{reason}. The review was not saved in {self.path}"
        return f"{reason}. The {n_events:,} reviews were not saved in {self.path}"

    def _lock_and_write_lines(self, make_lines: Callable[[_JournalEnd], list[bytes]]) -> None:
        """Append lines to the journal, while no other process can append.

        `make_lines` gets the end of the journal, with the hash to which the first new line is
        chained, and returns the lines. The lines are on disk when this returns.

        The order of the steps matters: the lock comes before the end of the journal is read,
        because other processes move it. A torn line is safe in its copy before it gets the newline
        that separates it from the new lines. The lock is released after the sync.
        """
        self._make_folder()
        descriptor = self._files.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            # Readers refuse a larger journal.
            check_file_size(descriptor, str(self.path), MAX_JOURNAL_BYTES)
            lock_journal(descriptor)
            self._write_lines(descriptor, make_lines)
        finally:
            # Releases the lock.
            os.close(descriptor)

    def _make_folder(self) -> None:
        """Create the folder of the journal if it is missing, and make sure that it is on disk."""
        folder = self.path.parent
        if not folder.is_dir():
            self._files.make_folder(folder)
            self._files.sync_folder(folder.parent)

    def _write_lines(
        self, descriptor: int, make_lines: Callable[[_JournalEnd], list[bytes]]
    ) -> None:
        """Append lines to the open and locked journal. `make_lines` gets its end."""
        size = os.fstat(descriptor).st_size
        if size == 0:
            # The file may be new, so that its name must reach the disk too.
            self._files.sync_folder(self.path.parent)
        last_hash, torn_line = _read_last_hash_and_fragment(descriptor, size)
        # Not every caller needs the latest place, for which the whole journal may be read.
        end = _JournalEnd(
            last_hash,
            find_latest_place=lambda: self._place_scanner.find_latest_place(descriptor),
        )
        lines = make_lines(end)
        if not lines:
            return
        # A crash can leave a part of a line.
        if torn_line:
            self._save_torn_line(torn_line)
        _append_and_sync(descriptor, lines, prefix=b"\n" if torn_line else b"")

    def _save_torn_line(self, fragment: bytes) -> None:
        """Copy a line that a crash left incomplete to `reviews/torn/`.

        If only its newline is missing, do nothing.
        """
        with contextlib.suppress(LineError):
            parse_line(fragment)
            return

        files = self._files
        file = torn_line_path(self.path, fragment)
        files.make_folder(file.parent)
        # An earlier writer may have copied the line already.
        with contextlib.suppress(OSError):
            if files.read(file, MAX_JOURNAL_BYTES) == fragment:
                return
        files.write(file, fragment, sync=True)
        files.sync_folder(file.parent.parent)


@dataclass(frozen=True, slots=True)
class _JournalEnd:
    """The end of a journal, while its writer holds the lock."""

    last_hash: str  # hash of the last valid event
    # returns a place that is not before any line of the journal
    find_latest_place: Callable[[], Place]


def _chain_events(events: Iterable[Event], end: _JournalEnd) -> list[tuple[Event, bytes]]:
    """Return each event as it is written, with its line. The first one follows the end of the
    journal, and each further one the event before it: by its hash, and by its place in the order
    of the annotator's lines.
    """
    chained = []
    previous_hash = end.last_hash
    place = end.find_latest_place()
    for event in events:
        place = place.next_at(event.time)
        placed_event = replace(event, place=place.to_texts())
        written, line = hash_and_serialize_event(placed_event, previous_hash)
        chained.append((written, line))
        previous_hash = written.hash
    return chained


class _PlaceScanner:
    """Finds the latest place in a journal: the first call reads all lines, later calls only
    appended lines.
    """

    def __init__(self, annotator: str) -> None:
        self._annotator = annotator
        self._latest = LatestPlace()
        self._inode = 0
        self._offset = 0

    def find_latest_place(self, descriptor: int) -> Place:
        """Return the place of the annotator's last line in the order of all lines that the
        annotator wrote on any computer.

        `descriptor` is the open journal. Only lines that were appended since the last call are
        read, unless the file was replaced.
        """
        state = os.fstat(descriptor)
        if state.st_ino != self._inode or state.st_size < self._offset:
            self._latest = LatestPlace()
            self._inode = state.st_ino
            self._offset = 0

        data = _read_range(descriptor, self._offset, state.st_size)
        *lines, rest = data.split(b"\n")
        self._offset += len(data) - len(rest)
        for line in lines:
            self._add_line(line)
        # A complete last line counts even without its newline. It is read again with the next
        # lines.
        self._add_line(rest)
        return self._latest.get()

    def _add_line(self, line: bytes) -> None:
        """Take a line of the annotator into account for the latest place.

        The line is not verified. If it is invalid, the places of later lines are only larger than
        they need to be.
        """
        try:
            content = orjson.loads(strip_byte_order_mark(line))
            annotator = content["annotator"]
            time = content["time"]
            place = content.get("place")
        except (ValueError, LookupError, TypeError, AttributeError):
            return
        is_valid = isinstance(time, str) and (place is None or is_string_list(place))
        if annotator == self._annotator and is_valid:
            self._latest.add_line(time, parse_place(place))


def _read_range(descriptor: int, start: int, end: int) -> bytes:
    """Read the bytes of a file from `start` to `end`, or to the end of the file if it is shorter."""
    parts = []
    while start < end:
        part = os.pread(descriptor, end - start, start)
        if not part:
            break
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _read_last_hash_and_fragment(descriptor: int, size: int) -> tuple[str, bytes]:
    """Return the hash of the last valid event in the file, and the bytes after the last newline."""
    window = _TAIL_BYTES
    while True:
        start = max(0, size - window)
        *lines, fragment = os.pread(descriptor, size - start, start).split(b"\n")
        if start:
            # The first line begins before the window.
            lines = lines[1:]
        for line in (fragment, *reversed(lines)):
            with contextlib.suppress(LineError):
                return parse_line(line).hash, fragment
        if start == 0:
            return "", fragment
        # The last valid line begins before the window.
        window *= 8


def _append_and_sync(descriptor: int, lines: Sequence[bytes], prefix: bytes = b"") -> None:
    """Append all lines to a file, or none of them, and make sure that they are on disk.

    A failed write is removed from the file again. Raises OSError if no line was saved, and
    `_PartialWriteError` if the first lines stay in the file, because another process has written
    after them.

    Args:
        descriptor: The open file.
        lines: The lines, each with a newline.
        prefix: Bytes that come before the first line.
    """
    data = prefix + b"".join(lines)
    start = os.fstat(descriptor).st_size
    n_written, error = _write_until_error(descriptor, data)
    # If only the last newline is missing, all lines count. The next writer adds the newline.
    lacks_only_newline = n_written == len(data) - 1
    if error is None or lacks_only_newline:
        _sync_file(descriptor)
        return

    # Lines are counted after the removal, which can fail or be impossible.
    _remove_failed_write(descriptor, start, n_written)
    n_line_bytes = n_written - len(prefix)
    n_saved = _count_saved_lines(descriptor, start, n_line_bytes, lines)
    if n_saved:
        raise _PartialWriteError(error, n_saved=n_saved, total=len(lines)) from error
    raise error


def _write_until_error(descriptor: int, data: bytes) -> tuple[int, OSError | None]:
    """Append data to a file. Return the number of written bytes, and the error if it is not all.

    A signal or a full disk can make a write incomplete. The next write then completes it, or gives
    the error.
    """
    n_written = 0
    try:
        while n_written < len(data):
            n_written += os.write(descriptor, data[n_written:])
    except OSError as error:
        return n_written, error
    return n_written, None


def _remove_failed_write(descriptor: int, start: int, n_written: int) -> None:
    """Cut a file back to `start`, the size in bytes that it had before an incomplete write.

    Does nothing if other bytes follow the written ones, because another process has appended them
    without the lock.
    """
    if os.fstat(descriptor).st_size != start + n_written:
        return
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, start)
        os.fsync(descriptor)


def _count_saved_lines(
    descriptor: int, start: int, n_line_bytes: int, lines: Sequence[bytes]
) -> int:
    """Return how many lines a failed write has completely left in the file.

    `n_line_bytes` is the number of bytes that were written after the prefix.
    """
    if os.fstat(descriptor).st_size == start:
        return 0
    # A line counts as saved even without its newline.
    return sum(end - 1 <= n_line_bytes for end in accumulate(map(len, lines)))


def _sync_file(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise _UnconfirmedWriteError(error.errno, error.strerror) from error


def lock_journal(descriptor: int) -> None:
    """Wait at most `LOCK_TIMEOUT` seconds for other processes of this annotator, and lock the
    journal if possible.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.001)
        except OSError:
            return


def torn_line_path(journal: Path, fragment: bytes) -> Path:
    return (
        journal.parent
        / "torn"
        / f"{journal.stem}-{blake2b(fragment, digest_size=4).hexdigest()}.txt"
    )


@dataclass(frozen=True, slots=True)
class JournalLine:
    number: int  # line number, from 1
    line: bytes  # the line without its newline
    event: Event


def read_valid_lines(files: WorkspaceFiles, path: Path, warnings: list[str]) -> list[JournalLine]:
    """Return the valid lines of a journal, and append a message to `warnings` for each invalid
    line.
    """
    try:
        lines = strip_byte_order_mark(files.read(path, MAX_JOURNAL_BYTES)).split(b"\n")
    except OSError as error:
        warnings.append(f"{path.name}: the file cannot be read: {error.strerror or error}")
        return []
    valid_lines = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = parse_line(line)
        except LineError as error:
            warnings.append(f"{path.name} line {number} was not copied: {error}")
        else:
            valid_lines.append(JournalLine(number, line=line, event=event))
    return valid_lines


def hash_event(content: dict[str, Any]) -> str:
    """Return the hash of an event: BLAKE2b (16 bytes, in hex) of its canonical JSON without the
    field `hash`.
    """
    unhashed = content.copy()
    unhashed.pop("hash", None)
    return json_hash(unhashed, 16)


def hash_and_serialize_event(event: Event, previous_hash: str) -> tuple[Event, bytes]:
    """Make the line of an event in a journal, and chain it to the line before it by its hash.

    Returns the event with its fields `previous` and `hash`, and the line with a newline. Raises
    LineError if a field has an invalid value, or one that JSON cannot represent, such as NaN.
    """
    content = _list_written_fields(event)
    content["previous"] = previous_hash
    _validate_event(content)
    # orjson would write these numbers as null.
    if has_non_finite_number(content):
        raise LineError("the review contains NaN or an infinite number, which JSON does not have")

    try:
        # Readers hash the parsed line, so the writer also computes the hash from parsed JSON.
        content = orjson.loads(orjson.dumps(content))
        # The hash is the last field, so that the last bytes of a journal identify its content.
        content["hash"] = hash_event(content)
        line = orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)
    except (TypeError, ValueError) as error:
        raise LineError(f"the review cannot be written as JSON: {error}") from None
    return _to_event(content), line


def _list_written_fields(event: Event) -> dict[str, Any]:
    """Return the fields of an event that its line has, without those that the chain adds.

    Fields that are None are omitted. Fields that a newer version of fcreview wrote are kept.
    """
    fields = dict(event.extra or {})
    for name in _WRITTEN_FIELDS:
        value = getattr(event, name)
        if value is not None:
            fields[name] = value
    fields["key"] = event.key._asdict()
    return {name: _replace_surrogates(value) for name, value in fields.items()}


def parse_line(line: bytes) -> Event:
    """Parse and validate a line.

    Raises LineError if it is not JSON, lacks a field, or was altered.
    """
    try:
        content = orjson.loads(strip_byte_order_mark(line))
    except ValueError:
        raise LineError("the line is not valid JSON") from None
    if not isinstance(content, dict):
        raise LineError("the line is not a JSON object")
    _validate_event(content)
    try:
        expected_hash = hash_event(content)
    except (TypeError, ValueError):
        raise LineError("the JSON value is nested too deeply") from None
    if content.get("hash") != expected_hash:
        raise LineError("the line was altered (its hash does not match its content)")
    return _to_event(content)


def parse_trusted_line(line: bytes) -> Event:
    """Parse a line without validation. `parse_line` must have accepted the line before."""
    return _to_event(orjson.loads(strip_byte_order_mark(line)))


def strip_byte_order_mark(data: bytes) -> bytes:
    """Remove the byte order mark that some editors write at the start of a file."""
    return data.removeprefix(codecs.BOM_UTF8)


def _validate_event(content: dict[str, Any]) -> None:
    """Check the content of a journal line. Raises LineError with the first problem."""
    version = content.get("version", JOURNAL_VERSION)
    if type(version) is not int or version < 1:
        raise LineError("`version` is not a positive integer")
    problem = _describe_invalid_field(content)
    if problem and version > JOURNAL_VERSION:
        raise LineError(f"{problem} (the line was written by a newer version)")
    if problem:
        raise LineError(problem)


def _describe_invalid_field(content: dict[str, Any]) -> str | None:
    """Return why a field of an event is invalid, or None if all fields are valid."""
    for name in _REQUIRED_TEXT_FIELDS:
        if type(content.get(name)) is not str:
            return f"`{name}` is missing or not a string"
    for name in _TEXT_FIELDS:
        if type(content.get(name, "")) is not str:
            return f"`{name}` is not a string"

    if not content["event"]:
        return "the event id is empty"
    if content["act"] not in ACTS:
        return "`act` is invalid"
    if not _is_item_key(content.get("key")):
        return f"`key` must be an object with the text fields {', '.join(ItemKey._fields)}"

    problem = _describe_invalid_optional_field(content)
    if problem:
        return problem
    if content["act"] == "retract" and not content.get("retracts"):
        return "the retraction does not name the retracted event"
    return None


def _describe_invalid_optional_field(content: Mapping[str, Any]) -> str | None:
    """Return a message about the first optional field with a wrong value, or None."""
    for name in OPTIONAL_FIELDS:
        value = content.get(name)
        problem = None if value is None else describe_field_error(name, value)
        if problem:
            return problem
    return None


def _is_item_key(value: object) -> bool:
    """Whether a JSON value has exactly the fields of `ItemKey`, all with texts."""
    if type(value) is not dict or value.keys() != _KEY_FIELDS:
        return False
    return {*map(type, value.values())} == _STR


def _to_event(content: dict[str, Any]) -> Event:
    """Convert the valid content of a line of a journal to an event.

    `content` may be changed, so the caller must not use it afterwards.
    """
    fields = content
    if not content.keys() <= _KNOWN_FIELDS:
        fields = _move_unknown_fields_to_extra(content)

    # Many events have equal values. Each value needs memory only once.
    for name in _INTERNED_FIELDS:
        if name in fields:
            fields[name] = intern(fields[name])
    key = fields["key"]
    fields["key"] = ItemKey(
        intern(key["benchmark"]),
        generation=intern(key["generation"]),
        language=intern(key["language"]),
        model=intern(key["model"]),
        category=intern(key["category"]),
        id=key["id"],
    )
    return Event(**fields)


def _move_unknown_fields_to_extra(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Event`. Fields that only a newer version of fcreview knows are in
    `extra`, so that they are kept if the event is written again.
    """
    fields = {}
    extra = {}
    for name, value in content.items():
        if name in _KNOWN_FIELDS:
            fields[name] = value
        else:
            extra[name] = value
    fields["extra"] = extra
    return fields


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates by U+FFFD.

    A terminal can send them as invalid bytes, and UTF-8 cannot represent them.
    """
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_replace_surrogates(part) for part in value]
    if isinstance(value, dict):
        return {
            _replace_surrogates(name): _replace_surrogates(part) for name, part in value.items()
        }
    return value
