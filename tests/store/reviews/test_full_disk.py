"""Wherever the disk becomes full, exactly the events that are reported as saved count."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from fcreview.model.review import Annotation
from fcreview.store.reviews.journal import Journal, JournalError, parse_line
from fcreview.store.reviews.journal_reader import JournalReader, read_events_and_warnings
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill_journal, make_key, read_ids

TOLD = r"No space left on device\. The (3 reviews were|review was) not saved in .*alice\.jsonl$"


def by_hash(lines: Sequence[bytes]) -> dict[str, bytes]:
    return {parse_line(line).hash: line for line in lines}


class LimitedDisk:
    """Replaces `os.write` by one that fails after a number of bytes."""

    def __init__(self, patched: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self._write = os.write
        patched.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        some = self._write(descriptor, data[: self.room])
        self.room -= some
        return some


def test_exactly_the_reported_events_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    length = len(fill_journal(Workspace(tmp_path / "usual"), count=1).read_bytes())
    for room in sorted({*range(0, length, 5), length - 2, length - 1, length}):
        workspace, told = Workspace(tmp_path / str(room)), True
        with monkeypatch.context() as patched:
            LimitedDisk(patched, room)
            try:
                fill_journal(workspace, count=1)
            except JournalError as error:
                told = False
                assert "not saved" in str(error)
        assert told == (room >= length - 1), "the newline is not missed"
        assert len(read_ids(workspace)) == told
        Journal(workspace, "alice").append(make_key("next"), Annotation(verdict=True))
        assert read_ids(workspace) == ["simple_0"] * told + ["next"]
        assert read_events_and_warnings(workspace)[1] == []


def test_either_all_lines_of_a_batch_count_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at each byte of three lines, for imported labels and merged lines."""
    lines = fill_journal(Workspace(tmp_path / "usual")).read_bytes().splitlines(keepends=True)
    ends = [sum(map(len, lines[: number + 1])) - 1 for number in range(3)]
    for room in sorted({0, 5, *ends, *(end - 1 for end in ends), *(end + 1 for end in ends)}):
        workspace = Workspace(tmp_path / str(room))
        has_room_for_all = room >= ends[-1]
        with monkeypatch.context() as patched:
            LimitedDisk(patched, room)
            if has_room_for_all:
                assert len(Journal(workspace, "alice").append_missing_lines(by_hash(lines))) == 3
            else:
                with pytest.raises(JournalError, match=TOLD):
                    Journal(workspace, "alice").append_missing_lines(by_hash(lines))
                assert (workspace.reviews / "alice.jsonl").read_bytes() == b""
        assert len(read_ids(workspace)) == 3 * has_room_for_all
        assert len(Journal(workspace, "alice").append_missing_lines(by_hash(lines))) == 3 * (
            not has_room_for_all
        )
        assert read_ids(workspace) == ["simple_0", "simple_1", "simple_2"]


def test_open_reader_drops_lines_of_a_failed_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of another process sees the first line in the moment before it is removed."""
    workspace = Workspace(tmp_path / "own")
    fill_journal(workspace, count=1)
    lines = fill_journal(Workspace(tmp_path / "other")).read_bytes().splitlines(keepends=True)
    reader = JournalReader(workspace)
    assert len(reader.read_new_events()) == 1
    cut = os.ftruncate

    def read_before_cut(descriptor: int, size: int) -> None:
        assert len(reader.read_new_events()) == 1
        cut(descriptor, size)

    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", read_before_cut)
        LimitedDisk(patched, len(lines[0]))
        with pytest.raises(JournalError, match=TOLD):
            Journal(workspace, "alice").append_missing_lines(by_hash(lines))
    assert len(reader.read_new_events()) == 1
    assert reader.replaced
    assert len(read_ids(workspace)) == 1


def test_lines_of_a_process_without_the_lock_stay(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that cannot get the lock appends a line while the write of another one fails."""
    path = fill_journal(workspace)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"")
    write = os.write
    n_calls = 0

    def write_twice(descriptor: int, data: bytes) -> int:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            return write(descriptor, lines[0])
        write(descriptor, lines[2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", write_twice)
        with pytest.raises(JournalError, match=r"Only the first 1 of 2 reviews were saved"):
            Journal(workspace, "alice").append_missing_lines(by_hash(lines[:2]))
    assert read_ids(workspace) == ["simple_0", "simple_2"]


def test_exactly_the_reported_events_count_after_a_torn_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fill_journal(Workspace(tmp_path / "usual"))
    data = path.read_bytes()
    (first, second), cut = data.splitlines()[:2], 40
    for room in (0, 1, 2, len(second), len(second) + 1, len(second) + 2):
        workspace = Workspace(tmp_path / str(room))
        journal = Journal(workspace, "alice")
        journal.path.parent.mkdir(parents=True)
        journal.path.write_bytes(first + b"\n" + second[:cut])
        with monkeypatch.context() as patched:
            LimitedDisk(patched, room)
            if room > len(second):
                assert len(journal.append_missing_lines(by_hash([second]))) == 1
            else:
                with pytest.raises(JournalError, match=TOLD):
                    journal.append_missing_lines(by_hash([second]))
        assert read_ids(workspace) == ["simple_0", "simple_1"][: 1 + (room > len(second))]
        assert journal.path.read_bytes().startswith(first + b"\n" + second[:cut])


def test_unconfirmed_event_is_reported_as_uncertain(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some disks report a full disk only at fsync.

    The event is then read back if it was written.
    """
    path, sync = fill_journal(workspace), os.fsync

    def broken(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(
            JournalError,
            match=r"Input/output error\. The review may be lost, because it could not be synced to .*alice",
        ):
            Journal(workspace, "alice").append(make_key("late"), Annotation(verdict=True))
    assert read_ids(workspace)[-1] == "late"
