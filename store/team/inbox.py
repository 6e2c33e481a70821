"""Lines from the server, each in a file of its annotator below `reviews/team/`.

The files are partial journals: a member sees some lines of an annotator, so breaks of the chain are expected. Lines are
stored as they came. Readers verify them like all journal lines. Lines of the user themselves, from another machine, go
to their own journal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.model.sanitize import sanitize
from fcreview.safe_files import MAX_JOURNAL_BYTES, check_file_size
from fcreview.store.reviews.journal import Journal, LineError, lock_journal, parse_line
from fcreview.store.workspace import AnnotatorError, check_annotator, is_same_filename

if TYPE_CHECKING:
    from fcreview.store.team.server import PulledLine
    from fcreview.store.workspace import Workspace


class Inbox:
    """Appends lines from the server to files of the workspace. A line that a file already has is not repeated."""

    def __init__(self, workspace: Workspace, annotator: str) -> None:
        self.annotator = annotator
        self.warnings: dict[str, None] = {}
        """Messages about lines that were not stored, each once."""
        self._workspace = workspace
        self._journal = Journal(workspace, annotator)
        self._files: dict[Path, _LineFile] = {}

    def store(self, lines: Sequence[PulledLine]) -> int:
        """Store lines and return the number of new ones, which are on disk then. Raises OSError or JournalError."""
        n_new = 0
        groups: dict[tuple[str, bool], list[bytes]] = {}
        for line in lines:
            groups.setdefault((line.annotator, line.is_informed), []).append(line.body)
        for (name, is_informed), bodies in groups.items():
            if name == self.annotator:
                n_new += self._store_own(bodies)
            elif not self._is_usable(name):
                self.warnings[
                    f"team: {len(bodies)} lines of annotator {sanitize(name)!a} were ignored: invalid name"
                ] = None
                continue
            if name != self.annotator or is_informed:
                n_new += self._file_of(name, is_informed).append(bodies)
        return n_new

    def count_lost(self, lines: Sequence[PulledLine]) -> dict[str, int]:
        """Return the number of lines of each annotator that are stored here, but not among all lines of the server."""
        delivered = {_digest(line.body) for line in lines}
        lost: dict[str, int] = {}
        for path, _ in self._list_sizes():
            file = self._files.setdefault(path, _LineFile(self._workspace, path))
            if count := len(file.read_digests() - delivered):
                lost[path.stem] = lost.get(path.stem, 0) + count
        return lost

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the files by name below `reviews/`. A smaller file later has lost lines."""
        return {each.relative_to(self._workspace.reviews).as_posix(): size for each, size in self._list_sizes()}

    def _list_sizes(self) -> Iterable[tuple[Path, int]]:
        for path in sorted(self._workspace.team_reviews.rglob("*.jsonl")):
            yield path, path.lstat().st_size

    def _store_own(self, bodies: Sequence[bytes]) -> int:
        """Append the user's own lines from another machine to their journal, so that both have all lines."""
        own = self._files.setdefault(self._journal.path, _LineFile(self._workspace, self._journal.path))
        new: dict[str, bytes] = {}
        for body in own.find_new(bodies):
            try:
                event = parse_line(body)
            except LineError as error:
                self.warnings[f"team: a line of your own was ignored: {error}"] = None
                continue
            if event.annotator == self.annotator:
                new[event.hash] = body
        return len(self._journal.append_lines(new)) if new else 0

    def _file_of(self, name: str, is_informed: bool) -> _LineFile:
        folder = self._workspace.informed_team_reviews if is_informed else self._workspace.team_reviews
        path = folder / f"{name}.jsonl"
        return self._files.setdefault(path, _LineFile(self._workspace, path))

    def _is_usable(self, name: str) -> bool:
        """Whether the name from the server is a valid file name, and no other name of a file in another case."""
        try:
            if check_annotator(name) != name:
                return False
        except AnnotatorError:
            return False
        folders = (self._workspace.reviews, self._workspace.team_reviews, self._workspace.informed_team_reviews)
        others = {path.stem for folder in folders for path in folder.glob("*.jsonl")} | {self.annotator}
        return not any(other != name and is_same_filename(other, name) for other in others)


class _LineFile:
    """A file of lines and the digests of the lines in it."""

    def __init__(self, workspace: Workspace, path: Path) -> None:
        self._files, self._path = workspace.files, path
        self._digests: set[bytes] = set()
        self._state = (0, 0)
        """Inode and size of the file when it was last read or written."""

    def read_digests(self) -> set[bytes]:
        try:
            with self._files.open_file(self._path) as file:
                self._refresh(file.fileno())
        except FileNotFoundError:
            self._digests, self._state = set(), (0, 0)
        return self._digests

    def find_new(self, lines: Sequence[bytes]) -> list[bytes]:
        """Return the lines that the file lacks, each once. A line with a line break is left out."""
        known = self.read_digests()
        return [line for line in dict.fromkeys(lines) if b"\n" not in line and _digest(line) not in known]

    def append(self, lines: Sequence[bytes]) -> int:
        """Append the lines that the file lacks, and return their number. They are on disk when this returns."""
        self._files.make_folder(self._path.parent)
        descriptor = self._files.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            lock_journal(descriptor)
            new = self.find_new(lines)
            if new:
                size = os.fstat(descriptor).st_size
                is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                data = b"\n" * is_torn + b"".join(line + b"\n" for line in new)
                while data:
                    data = data[os.write(descriptor, data) :]
                os.fsync(descriptor)
                self._digests.update(map(_digest, new))
                self._state = _identify(descriptor)
        finally:
            os.close(descriptor)  # releases the lock
        return len(new)

    def _refresh(self, descriptor: int) -> None:
        if _identify(descriptor) == self._state:
            return
        check_file_size(descriptor, str(self._path), MAX_JOURNAL_BYTES)
        self._state = _identify(descriptor)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            self._digests = {_digest(line) for line in file.read(self._state[1]).split(b"\n") if line}


def _identify(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_ino, status.st_size


def _digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()
