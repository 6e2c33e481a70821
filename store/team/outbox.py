"""The user's own journal as the lines to send. A line is on disk in the journal before it is sent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import orjson

from fcreview.safe_files import MAX_JOURNAL_BYTES, check_file_size
from fcreview.store.reviews.journal import LineError, parse_line

if TYPE_CHECKING:
    from fcreview.store.team.server import TeamServer
    from fcreview.store.workspace import Workspace

BATCH_LINES = 256
BATCH_BYTES = 2_000_000
HASHES_PER_REQUEST = 20_000


class Outbox:
    """Finds the lines of a journal that the server does not have, and sends them."""

    def __init__(self, workspace: Workspace, annotator: str, sent_bytes: int = 0) -> None:
        """`sent_bytes`: length of the journal when everything in it was sent, as last known."""
        self.annotator = annotator
        self.refused: dict[str, str] = {}
        """Reasons for which the server refused lines since the last `reconcile`, by hash of the line."""
        self.sent_bytes = sent_bytes
        self._files, self._path = workspace.files, workspace.reviews / f"{annotator}.jsonl"
        self._offset = sent_bytes
        self._inode = 0
        self._known: set[str] = set()
        """Hashes of lines that the server has or has refused."""
        self._pending: dict[str, bytes] = {}

    @property
    def n_unsent(self) -> int:
        """Number of lines that were found and not sent yet, without the refused ones."""
        return len(self._pending)

    def scan(self) -> int:
        """Find lines that were appended to the journal, and return the number of unsent lines."""
        for line in self._read_new_lines():
            try:
                content = orjson.loads(line)
                if content["annotator"] == self.annotator and content["hash"] not in self._known:
                    self._pending[content["hash"]] = line
            except (ValueError, LookupError, TypeError):
                continue
        return self.n_unsent

    def reconcile(self, server: TeamServer) -> None:
        """Compare the whole journal with the server, which may have been restored from an older backup."""
        self._offset = 0
        self._known.clear()
        self._pending.clear()
        self.refused.clear()
        self.scan()
        hashes = list(self._pending)
        missing: set[str] = set()
        for start in range(0, len(hashes), HASHES_PER_REQUEST):
            missing |= server.find_missing(hashes[start : start + HASHES_PER_REQUEST])
        self._known = set(hashes) - missing
        self._pending = {name: line for name, line in self._pending.items() if name in missing and _is_valid(line)}
        self._note_progress()

    def send_batch(self, server: TeamServer) -> int:
        """Send the next lines, and return the number that the server accepted. It has them on disk then."""
        batch: list[tuple[str, bytes]] = []
        size = 0
        for name, line in self._pending.items():
            if batch and (len(batch) == BATCH_LINES or size + len(line) > BATCH_BYTES):
                break
            batch.append((name, line))
            size += len(line)
        problems = server.push([line for _, line in batch]) if batch else {}
        for place, (name, _) in enumerate(batch):
            if place in problems:
                self.refused[name] = problems[place]
            self._known.add(name)
            del self._pending[name]
        self._note_progress()
        return len(batch) - len(problems)

    def _note_progress(self) -> None:
        if not self._pending:
            self.sent_bytes = self._offset

    def _read_new_lines(self) -> list[bytes]:
        """Return the complete lines after the last ones. All lines again, if the journal was replaced."""
        try:
            with self._files.open_file(self._path) as file:
                check_file_size(file.fileno(), str(self._path), MAX_JOURNAL_BYTES)
                state = os.fstat(file.fileno())
                if state.st_size < self._offset or (self._inode and state.st_ino != self._inode):
                    self._offset = 0
                self._inode = state.st_ino
                if state.st_size == self._offset:
                    return []
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        *lines, rest = data.split(b"\n")
        self._offset += len(data) - len(rest)
        if rest and _is_valid(rest):  # only its newline is missing
            self._offset += len(rest)
            lines.append(rest)
        return [line for line in lines if line.strip()]


def _is_valid(line: bytes) -> bool:
    try:
        parse_line(line)
    except LineError:
        return False
    return True
