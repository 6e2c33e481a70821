"""The review journal: `.fcreview/reviews/<annotator>.jsonl`, the one thing in a workspace that cannot be rebuilt.

One event a line, one write on an O_APPEND descriptor, fsynced before `append` returns, chained by hash. Nothing is ever
overwritten or deleted here: what cannot be read is set aside with a warning. A line counts for every reader once its
last brace is there, with or without its newline: so what is told of it here is what readers find, at whichever byte the
disk was full. Different annotators need no lock; two processes of the same annotator take turns with an advisory one,
and even without it no line is lost (the chain forks).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.errors import FcreviewError
from fcreview.model.review import ANNOTATION_FIELDS, Event, ItemKey, Annotation
from fcreview.safe_files import (
    MAX_JOURNAL_BYTES,
    check_regular_file,
    check_file_size,
    make_folder,
    read_file,
    apply_folder_permissions,
    write_atomically,
)
from fcreview.store.reviews.journal_format import LineError, parse_line, seal_event
from fcreview.store.reviews.journal_reader import JournalReader, torn_line_path
from fcreview.store.workspace import check_annotator, is_same_filename

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

LOCK_TIMEOUT = 2.0
"""Seconds to wait for another process of the same annotator before writing without the lock."""
_WINDOW = 1 << 16


class JournalError(FcreviewError):
    """A review that was not saved; the message says why."""


class _PartError(OSError):
    """The disk took the first `saved` of so many lines, and said no to the next."""

    def __init__(self, error: OSError, saved: int, of: int) -> None:
        super().__init__(error.errno, error.strerror)
        self.saved, self.of = saved, of


class _UnconfirmedError(OSError):
    """All was written, but nobody knows whether it will still be there."""


class Journal:
    """One annotator's journal, for writing."""

    def __init__(self, workspace: Workspace, annotator: str) -> None:
        """AnnotatorError for a name that cannot be a file; JournalError if it differs from another's in case only."""
        self.workspace = workspace
        self.annotator = check_annotator(annotator)
        self.path = Path(workspace.reviews) / f"{self.annotator}.jsonl"
        for other in sorted(self.path.parent.glob("*.jsonl")):
            if other.stem != self.annotator and is_same_filename(other.stem, self.annotator):
                raise JournalError(f"there is an annotator {other.stem!a} already: take that or another name")

    def append(
        self,
        key: ItemKey,
        annotation: Annotation,
        *,
        prediction_hash: str = "",
        golden_hash: str = "",
        blind: bool | None = None,
        queue: str | None = None,
        presentation: int | None = None,
    ) -> Event:
        """Writes one act; when this returns, it is on disk. The circumstances are as in `Event`.

        JournalError if a field is of the wrong type or the disk says no; then it is not said, and does not count.
        """
        event = self._event(key, annotation, prediction_hash, golden_hash)
        event.blind, event.queue, event.presentation = blind, queue, presentation
        return self._append(event)

    def extend(self, events: Sequence[Event]) -> list[Event]:
        """Writes events that were made elsewhere, all in one write; otherwise as `append`. Where the disk takes only
        the first of them, those count, and the JournalError says how many they are."""
        return self._appended(events) if events else []

    def append_lines(self, lines: Sequence[bytes]) -> int:
        """Appends lines of another copy of this journal as they are, byte for byte, all in one write; those whose event
        is here are left out. Returns how many were written; then they are on disk. JournalError as for `append`."""
        found = {parse_line(line).event: line.rstrip(b"\n") + b"\n" for line in lines}

        def missing(_: str) -> list[bytes]:
            here = {event.event for event in JournalReader(self.workspace, only=self.path).read()}
            return [line for name, line in found.items() if name not in here]

        try:
            return len(self._write(missing)) if found else 0
        except OSError as error:
            raise self._not_saved(error) from error

    def retract(self, event: Event) -> Event:
        """Takes back one of this annotator's events; returns the retraction."""
        said = Annotation(act="retract", target=event.target, criterion=event.criterion)
        retraction = self._event(event.key, said, event.prediction_hash, event.golden_hash)
        retraction.retracts = event.event
        return self._append(retraction)

    def _event(self, key: ItemKey, said: Annotation, prediction_hash: str, golden_hash: str) -> Event:
        return Event(
            event=secrets.token_hex(16),
            time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            annotator=self.annotator,
            key=key,
            prediction_hash=prediction_hash,
            golden_hash=golden_hash,
            act=said.act,
            target=said.target,
            criterion=said.criterion,
            **{name: getattr(said, name) for name in ANNOTATION_FIELDS},
        )

    def _append(self, event: Event) -> Event:
        return self._appended([event])[0]

    def _appended(self, events: Sequence[Event]) -> list[Event]:
        sealed: list[Event] = []

        def chained(previous: str) -> list[bytes]:
            lines = []
            for event in events:
                whole, line = seal_event(event, previous)
                previous = whole.hash
                sealed.append(whole)
                lines.append(line)
            return lines

        try:
            self._write(chained)
        except LineError as error:
            raise JournalError(f"not a review: {error}") from None
        except OSError as error:
            raise self._not_saved(error) from error
        return sealed

    def _not_saved(self, error: OSError) -> JournalError:
        why = error.strerror or error
        if isinstance(error, _UnconfirmedError):
            return JournalError(f"not confirmed by the disk, it may count all the same: {self.path}: {why}")
        some = f"; of {error.of:,} the first {error.saved:,} are saved" if isinstance(error, _PartError) else ""
        return JournalError(f"not saved in {self.path}: {why}{some}")

    def _write(self, made: Callable[[str], list[bytes]]) -> list[bytes]:
        """Appends what is made, in this annotator's turn, from the hash of the last whole event; returns it."""
        folder = self.path.parent
        if not folder.is_dir():
            make_folder(folder)
            _sync_folder(folder.parent)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            check_regular_file(descriptor, str(self.path))  # a device would take it and keep nothing
            check_file_size(descriptor, str(self.path), MAX_JOURNAL_BYTES)  # what nobody reads is not written either
            with _turn(descriptor):
                size = os.fstat(descriptor).st_size
                if size == 0:
                    apply_folder_permissions(self.path)
                    _sync_folder(folder)
                previous, fragment = _tail(descriptor, size)
                lines = made(previous)
                if lines:
                    if fragment:
                        self._set_aside(fragment)
                    _write_lines(descriptor, lines, after=b"\n" * bool(fragment))
        finally:
            os.close(descriptor)
        return lines

    def _set_aside(self, fragment: bytes) -> None:
        """Copies what a crash left of a line to `reviews/torn/`, unless only its newline is missing."""
        with contextlib.suppress(LineError):
            parse_line(fragment)
            return
        file = torn_line_path(self.path, fragment)
        make_folder(file.parent)
        with contextlib.suppress(OSError):
            if read_file(file) == fragment:
                return
        write_atomically(file, fragment, sync=True)
        _sync_folder(file.parent)
        _sync_folder(file.parent.parent)


def _tail(descriptor: int, size: int) -> tuple[str, bytes]:
    """Hash of the last whole event, and what stands after the last newline."""
    window = _WINDOW
    while True:
        start = max(0, size - window)
        *lines, fragment = os.pread(descriptor, size - start, start).split(b"\n")
        if start:
            lines = lines[1:]  # begins before the window
        for line in (fragment, *reversed(lines)):
            with contextlib.suppress(LineError):
                return parse_line(line).hash, fragment
        if start == 0:
            return "", fragment
        window *= 8


def _write_lines(descriptor: int, lines: Sequence[bytes], after: bytes = b"") -> None:
    """Appends `after` and the lines, and waits until the disk has them. Returns also where nothing but the last newline
    is missing: the next writer puts it there. Else an OSError: a _PartError if some of the lines count already."""
    data = after + b"".join(lines)
    written = 0
    try:
        while written < len(data):  # a short write (signal, full disk) is gone on with: whole, or the disk's own error
            written += os.write(descriptor, data[written:])
    except OSError as error:
        saved = _whole(lines, written - len(after))
        if saved:
            _sync(descriptor)
        if saved == len(lines):
            return
        if saved:
            raise _PartError(error, saved, len(lines)) from error
        raise
    _sync(descriptor)


def _whole(lines: Sequence[bytes], written: int) -> int:
    """How many lines stand in so many bytes, a newline at the end not asked for."""
    saved = end = 0
    for line in lines:
        end += len(line)
        if written < end - 1:
            break
        saved += 1
    return saved


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise _UnconfirmedError(error.errno, error.strerror) from error


@contextlib.contextmanager
def _turn(descriptor: int) -> Iterator[None]:
    """Waits for other processes of this annotator. Where the lock cannot be had, writing goes on without it."""
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                break
            time.sleep(0.001)
        except OSError:
            break
    yield  # closing the descriptor gives the lock back


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot sync a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
