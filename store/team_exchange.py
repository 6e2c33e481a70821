"""Exchange journal lines, queues and run digests between a workspace and the server of its team.

fcreview sends only lines that are on disk in the user's own journal. It appends lines from the
server unchanged to a file for each annotator in `reviews/team/`. These files are partial journals:
a member receives only some lines of an annotator, so gaps in the chain are expected. Readers verify
these lines like all journal lines. The user's own lines from another machine are added to the
user's journal.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.safe_files import MAX_JOURNAL_BYTES, check_file_size
from fcreview.store.queue_file import QueueError, QueueFile, parse_queue, serialize_queue
from fcreview.store.queue_sampling import MergedQueue, merge_queue
from fcreview.store.reviews.journal import (
    Journal,
    LineError,
    lock_journal,
    parse_line,
    strip_byte_order_mark,
)
from fcreview.store.reviews.line_order import Place, order_events, parse_place
from fcreview.store.reviews.server_places import append_server_places, measure_places_files
from fcreview.store.team_server import (
    Membership,
    PulledLine,
    RunDigest,
    ServerAddress,
    TeamError,
    TeamServer,
)
from fcreview.store.workspace import (
    AnnotatorError,
    AnnotatorState,
    check_annotator,
    is_same_filename,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.store.workspace import Workspace

STATE = "team"  # kind of `AnnotatorState` with the cursor and the number of sent bytes
STATE_VERSION = 2  # with version 2, the cursor also covers the places of the lines


@dataclass(frozen=True, slots=True)
class TeamLink:
    address: ServerAddress
    project: str
    annotator: str


@dataclass(frozen=True, slots=True)
class _ExchangeState:
    cursor: str = ""  # cursor of the last lines from the server; empty to fetch all lines
    sent_bytes: int = 0  # size of the user's journal when the server last had all of its lines


class Exchange:
    """Sends the user's journal lines, and stores the lines of other members. Not thread-safe."""

    def __init__(self, workspace: Workspace, link: TeamLink) -> None:
        """Begin where the last exchange with the server ended."""
        self.link = link
        self.server: TeamServer | None = None
        self.membership: Membership | None = None
        self.inbox = Inbox(workspace, check_annotator(link.annotator))
        self._state_file = AnnotatorState(workspace.root, link.annotator)
        state = self._read_state()
        self.outbox = Outbox(workspace, link.annotator, state.sent_bytes)
        self._cursor = state.cursor

    def _read_state(self) -> _ExchangeState:
        """Read the saved state of the exchange with the team's server: up to where lines were
        received (the cursor) and how many bytes were sent.

        The state of another server or project is ignored. The cursor is empty if all lines must be
        fetched again.
        """
        saved = self._state_file.read(STATE)
        if saved.get("server") != str(self.link.address):
            return _ExchangeState()
        if saved.get("project") != self.link.project:
            return _ExchangeState()

        sent_bytes = saved.get("sent")
        if not isinstance(sent_bytes, int) or sent_bytes < 0:
            sent_bytes = 0
        cursor = saved.get("cursor")
        # An older version of fcreview did not store the places of lines, so all are fetched again.
        is_current = saved.get("version") == STATE_VERSION
        if not is_current or not isinstance(cursor, str):
            cursor = ""
        if not self._has_all_received_lines(saved.get("sizes")):
            cursor = ""
        return _ExchangeState(cursor, sent_bytes)

    @property
    def refusal_message(self) -> str:
        """Message about the lines that the server refused; empty if there are none."""
        refused = self.outbox.refused
        if not refused:
            return ""
        first_reason = next(iter(refused.values()))
        lines = format_count(len(refused), "journal line")
        return f"the server refused {lines}: {first_reason}"

    def connect(self, password: str | None = None) -> TeamServer:
        """Connect, and find the lines that the server lacks.

        Raises UnreachableError or TeamError.
        """
        self.close()
        server = TeamServer.connect(self.link.address, password)
        try:
            member = server.fetch_membership()
            self._check_membership(member)
            self.outbox.find_missing_lines(server)
        except BaseException:
            server.close()
            raise
        self.server = server
        self.membership = member
        return server

    def _check_membership(self, member: Membership) -> None:
        """Raise TeamError if the server knows the user by another name or in another project."""
        link = self.link
        if (member.project, member.annotator) != (link.project, link.annotator):
            raise TeamError(
                f"the server knows you as annotator {member.annotator!a} of project"
                f" {member.project!a}, but this workspace belongs to annotator"
                f" {link.annotator!a} of project {link.project!a}. Run fcreview team join again"
            )

    def push_lines(self) -> int:
        """Send all unsent lines, and return the number of lines that the server accepted."""
        server = self._require_server()
        sent = 0
        while self.outbox.count_unsent_lines():
            sent += self.outbox.send_next_batch(server)
            self._save_state()
        return sent

    def pull_lines(self) -> int:
        """Fetch and store the new lines of the team, and return their number."""
        cursor, lines = self._require_server().pull_lines(self._cursor)
        count = self.inbox.store_lines(lines) if lines else 0
        if cursor != self._cursor:
            self._cursor = cursor
            # Without new lines, the saved cursor is still right.
            if lines:
                self._save_state()
        return count

    def pull_all_lines(self) -> list[PulledLine]:
        """Fetch and store all lines that the user may receive, and return them."""
        self._cursor, lines = self._require_server().pull_lines("")
        self.inbox.store_lines(lines)
        self._save_state()
        return lines

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None

    def _require_server(self) -> TeamServer:
        if self.server is None:
            raise TeamError("fcreview is not connected to the server of the team")
        return self.server

    def _has_all_received_lines(self, saved_sizes: object) -> bool:
        """Return whether all files of received lines are at least as large as when the cursor
        was saved.
        """
        if not isinstance(saved_sizes, dict):
            return False
        sizes = self.inbox.measure_file_sizes()
        for name, saved_size in saved_sizes.items():
            if not isinstance(saved_size, int) or sizes.get(name, 0) < saved_size:
                return False
        return True

    def _save_state(self) -> None:
        """Save how far the exchange is, so that the next one continues there."""
        state = {
            "version": STATE_VERSION,
            "server": str(self.link.address),
            "project": self.link.project,
            "cursor": self._cursor,
            "sent": self.outbox.sent_bytes,
            "sizes": self.inbox.measure_file_sizes(),
        }
        self._state_file.try_write(STATE, state)


class Inbox:
    """Appends lines from the server to files of the workspace.

    A line is not appended to a file that already has it.
    """

    def __init__(self, workspace: Workspace, annotator: str) -> None:
        self.annotator = annotator
        # Messages about lines that were not stored, each once.
        self.warnings: dict[str, None] = {}
        self._workspace = workspace
        self._journal = Journal(workspace, annotator)
        self._files: dict[Path, _LineFile] = {}

    def store_lines(self, lines: Sequence[PulledLine]) -> int:
        """Store lines on disk, and return the number of new lines.

        Raises OSError or JournalError.
        """
        lines_by_annotator: dict[str, list[PulledLine]] = {}
        for line in lines:
            lines_by_annotator.setdefault(line.annotator, []).append(line)

        n_new = 0
        for name, lines_of_annotator in lines_by_annotator.items():
            # The own name was checked before. The server could send any other name.
            if name == self.annotator:
                n_new += self._store_own_lines(lines_of_annotator)
            elif self._is_usable_annotator(name):
                n_new += self._store_lines_of_other(name, lines_of_annotator)
            else:
                self._warn_of_ignored_lines(name, len(lines_of_annotator))
        return n_new

    def _warn_of_ignored_lines(self, name: str, n_lines: int) -> None:
        warning = (
            f"team: {n_lines} lines were ignored, because their annotator {sanitize(name)!a} is not"
            " valid"
        )
        self.warnings[warning] = None

    def _store_own_lines(self, lines: Sequence[PulledLine]) -> int:
        """Store lines of the user's own journal, and return the number of new lines.

        They come from the user's other computers, and are appended to the journal itself. An
        informed line is stored a second time in the folder of informed lines, but is counted once.
        """
        # The places are stored first, so that no reader sees a line without its place.
        self._store_places(self.annotator, lines)
        new_lines = self._append_to_journal([line.body for line in lines])
        new_informed_lines = self._append_informed_lines(self.annotator, lines)
        return len({*new_lines, *new_informed_lines})

    def _store_lines_of_other(self, name: str, lines: Sequence[PulledLine]) -> int:
        """Store lines of another annotator's journal, and return the number of new lines."""
        # The places are stored first, so that no reader sees a line without its place.
        self._store_places(name, lines)
        uninformed_lines = [line.body for line in lines if not line.is_informed]
        new_lines = self._append_lines(self._workspace.team_reviews, name, uninformed_lines)
        new_informed_lines = self._append_informed_lines(name, lines)
        return len(new_lines) + len(new_informed_lines)

    def _append_informed_lines(self, annotator: str, lines: Sequence[PulledLine]) -> list[bytes]:
        """Append the informed lines to a file in a folder of their own, and return the new ones.

        An informed line is a review by an annotator who had already seen other verdicts. The folder
        says that it does not count as blind.
        """
        informed_lines = [line.body for line in lines if line.is_informed]
        return self._append_lines(self._workspace.informed_team_reviews, annotator, informed_lines)

    def _append_lines(self, folder: Path, annotator: str, lines: Sequence[bytes]) -> list[bytes]:
        if not lines:
            return []
        return self._get_line_file(folder / f"{annotator}.jsonl").append_new_lines(lines)

    def _store_places(self, annotator: str, lines: Sequence[PulledLine]) -> None:
        """Save the server's places of the lines that have no place of their own."""
        places: dict[str, Place] = {}
        for line in lines:
            try:
                event = parse_line(line.body)
            except LineError:
                continue
            if line.place is not None and parse_place(event.place) is None:
                places[event.hash] = line.place
        if places:
            append_server_places(self._workspace, annotator, places)

    def count_lost_lines_by_annotator(self, lines: Sequence[PulledLine]) -> dict[str, int]:
        """Return the number of stored lines of each annotator that the server no longer has."""
        delivered = {_line_digest(line.body) for line in lines}
        n_lost_by_annotator: dict[str, int] = {}
        for path in self._list_files():
            lost = self._get_line_file(path).read_line_digests() - delivered
            if lost:
                n_earlier = n_lost_by_annotator.get(path.stem, 0)
                n_lost_by_annotator[path.stem] = n_earlier + len(lost)
        return n_lost_by_annotator

    def measure_file_sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file of received lines, by its path in `reviews/`."""
        reviews = self._workspace.reviews
        sizes = {
            path.relative_to(reviews).as_posix(): path.lstat().st_size
            for path in self._list_files()
        }
        return sizes | measure_places_files(self._workspace)

    def _list_files(self) -> list[Path]:
        return sorted(self._workspace.team_reviews.rglob("*.jsonl"))

    def _get_line_file(self, path: Path) -> _LineFile:
        return self._files.setdefault(path, _LineFile(self._workspace, path))

    def _append_to_journal(self, lines: Sequence[bytes]) -> list[bytes]:
        """Append the user's own lines from another machine to the user's journal, and return
        the appended ones.
        """
        line_by_hash: dict[str, bytes] = {}
        for line in self._get_line_file(self._journal.path).find_new_lines(lines):
            try:
                event = parse_line(line)
            except LineError as error:
                self.warnings[f"team: an invalid line of your journal was ignored: {error}"] = None
                continue
            if event.annotator == self.annotator:
                line_by_hash[event.hash] = line

        appended_hashes = self._journal.append_missing_lines(line_by_hash)
        return [line_by_hash[line_hash] for line_hash in appended_hashes]

    def _is_usable_annotator(self, name: str) -> bool:
        """Return whether files of this workspace can have a name from the server.

        It must be a valid name, and must not differ from a known name only in case, because some
        file systems treat such names as equal.
        """
        try:
            if check_annotator(name) != name:
                return False
        except AnnotatorError:
            return False
        known_names = {self.annotator}
        for folder in (
            self._workspace.reviews,
            self._workspace.team_reviews,
            self._workspace.informed_team_reviews,
        ):
            known_names.update(path.stem for path in folder.glob("*.jsonl"))
        return not any(
            known_name != name and is_same_filename(known_name, name) for known_name in known_names
        )


class _LineFile:
    """A file of journal lines, with the digests of its lines in memory."""

    def __init__(self, workspace: Workspace, path: Path) -> None:
        self._files = workspace.files
        self._path = path
        self._digests: set[bytes] = set()
        # Inode and size of the file when it was last read or written.
        self._state = (0, 0)

    def read_line_digests(self) -> set[bytes]:
        """Return the digests of all lines of the journal. Only lines that are new since the last
        call are read.
        """
        try:
            with self._files.open_file(self._path) as file:
                self._update_digests(file.fileno())
        except FileNotFoundError:
            self._digests = set()
            self._state = (0, 0)
        return self._digests

    def find_new_lines(self, lines: Sequence[bytes]) -> list[bytes]:
        """Return the lines that the file lacks, without duplicates and without lines that
        contain a line break.
        """
        known = self.read_line_digests()
        return [
            line
            for line in dict.fromkeys(lines)
            if b"\n" not in line and _line_digest(line) not in known
        ]

    def append_new_lines(self, lines: Sequence[bytes]) -> list[bytes]:
        """Append the lines that the file lacks, sync the file to disk, and return the appended
        lines.
        """
        self._files.make_folder(self._path.parent)
        descriptor = self._files.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            lock_journal(descriptor)
            new_lines = self.find_new_lines(lines)
            if new_lines:
                _append_and_sync(descriptor, new_lines)
                self._digests.update(_line_digest(line) for line in new_lines)
                self._state = _inode_and_size(descriptor)
        finally:
            # Releases the lock.
            os.close(descriptor)
        return new_lines

    def _update_digests(self, descriptor: int) -> None:
        """Read the digests of all lines of the file again, if the file has changed."""
        if _inode_and_size(descriptor) == self._state:
            return
        check_file_size(descriptor, str(self._path), MAX_JOURNAL_BYTES)
        self._state = _inode_and_size(descriptor)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            self._digests = {
                _line_digest(line) for line in file.read(self._state[1]).split(b"\n") if line
            }


def _append_and_sync(descriptor: int, lines: Sequence[bytes]) -> None:
    """Append lines to a file and sync it to disk. An incomplete last line is ended first."""
    data = b"".join(line + b"\n" for line in lines)
    size = os.fstat(descriptor).st_size
    is_last_line_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    if is_last_line_torn:
        data = b"\n" + data

    while data:
        n_written = os.write(descriptor, data)
        data = data[n_written:]
    os.fsync(descriptor)


def _inode_and_size(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_ino, status.st_size


def _line_digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()


BATCH_LINES = 256  # maximum number of lines in a request
BATCH_BYTES = 2_000_000  # A request with several lines has at most this size in bytes.
HASHES_PER_REQUEST = 20_000


class Outbox:
    """Finds the lines of the user's journal that the server does not have, and sends them."""

    def __init__(self, workspace: Workspace, annotator: str, sent_bytes: int = 0) -> None:
        """Args: sent_bytes: size of the journal when the server last had all of its lines."""
        self.annotator = annotator
        self.refused: dict[
            str, str
        ] = {}  # reason by hash of the line, since the last `find_missing_lines`
        self.sent_bytes = sent_bytes
        self._files = workspace.files
        self._path = workspace.reviews / f"{annotator}.jsonl"
        self._offset = sent_bytes
        self._inode = 0
        # Hashes of lines that the server has or has refused.
        self._known: set[str] = set()
        self._pending: dict[str, bytes] = {}

    def count_unsent_lines(self) -> int:
        """Read appended lines of the journal, and return the number of all unsent lines, without
        refused lines.
        """
        self._add_pending_lines()
        return len(self._pending)

    def _add_pending_lines(self) -> None:
        """Read the lines of the journal after the last read one, and add those to `_pending` that
        the server neither has nor has refused.
        """
        for line in map(strip_byte_order_mark, self._read_new_lines()):
            try:
                content = orjson.loads(line)
                annotator, line_hash = content["annotator"], content["hash"]
                is_unsent = annotator == self.annotator and line_hash not in self._known
            except (ValueError, LookupError, TypeError):
                # The line is damaged.
                continue
            if is_unsent:
                self._pending[line_hash] = line

    def find_missing_lines(self, server: TeamServer) -> None:
        """Find all lines of the user's journal that the server lacks, by asking it for all hashes.

        A server that was restored from a backup can lack lines sent before.
        """
        state_before = (self._offset, self._known, self._pending)
        # From the start of the journal and without a known line, all lines become pending.
        self._offset = 0
        self._known = set()
        self._pending = {}
        self._add_pending_lines()
        all_lines = self._pending
        try:
            missing = _find_missing_hashes(server, list(all_lines))
        except BaseException:
            # Without an answer, the lines that were sent earlier still count as sent.
            self._offset, self._known, self._pending = state_before
            raise

        self.refused.clear()
        self._known = all_lines.keys() - missing
        self._pending = _sort_valid_lines(
            [line for line_hash, line in all_lines.items() if line_hash in missing]
        )
        self._update_sent_bytes()

    def send_next_batch(self, server: TeamServer) -> int:
        """Send the next batch of lines, and return the number of lines that the server has
        saved.
        """
        batch = self._select_next_batch()
        # Why the server refuses a line, by the position of the line in the batch.
        reasons = server.push_lines(list(batch.values())) if batch else {}
        for position, line_hash in enumerate(batch):
            if position in reasons:
                self.refused[line_hash] = reasons[position]
            self._known.add(line_hash)
            del self._pending[line_hash]
        self._update_sent_bytes()
        return len(batch) - len(reasons)

    def _select_next_batch(self) -> dict[str, bytes]:
        """Return unsent lines by their hashes: at least one, and as many as a request may have."""
        batch: dict[str, bytes] = {}
        size = 0
        for line_hash, line in self._pending.items():
            is_full = len(batch) == BATCH_LINES or size + len(line) > BATCH_BYTES
            if batch and is_full:
                break
            batch[line_hash] = line
            size += len(line)
        return batch

    def _update_sent_bytes(self) -> None:
        if not self._pending:
            self.sent_bytes = self._offset

    def _read_new_lines(self) -> list[bytes]:
        """Return the complete lines since the last call, or all lines if the journal was
        replaced.
        """
        try:
            data = self._read_new_bytes()
        except OSError:
            return []
        *lines, unfinished_line = data.split(b"\n")
        self._offset += len(data) - len(unfinished_line)
        # Only its newline is missing.
        if unfinished_line and _is_valid_line(unfinished_line):
            self._offset += len(unfinished_line)
            lines.append(unfinished_line)
        return [line for line in lines if line.strip()]

    def _read_new_bytes(self) -> bytes:
        """Read the journal from the last offset, or from the beginning if it was replaced."""
        with self._files.open_file(self._path) as file:
            check_file_size(file.fileno(), str(self._path), MAX_JOURNAL_BYTES)
            state = os.fstat(file.fileno())
            is_other_file = self._inode and state.st_ino != self._inode
            if is_other_file or state.st_size < self._offset:
                self._offset = 0
            self._inode = state.st_ino
            file.seek(self._offset)
            return file.read()


def _find_missing_hashes(server: TeamServer, hashes: Sequence[str]) -> set[str]:
    missing: set[str] = set()
    for start in range(0, len(hashes), HASHES_PER_REQUEST):
        missing |= server.find_missing_hashes(hashes[start : start + HASHES_PER_REQUEST])
    return missing


def _sort_valid_lines(lines: Iterable[bytes]) -> dict[str, bytes]:
    """Return the valid lines of a journal by hash, in their order.

    The order matters because the server finds the place of an old line by the place of the line
    before.
    """
    events = []
    line_by_hash = {}
    for line in lines:
        with contextlib.suppress(LineError):
            event = parse_line(line)
            events.append(event)
            line_by_hash[event.hash] = line
    return {event.hash: line_by_hash[event.hash] for event in order_events(events)}


def _is_valid_line(line: bytes) -> bool:
    try:
        parse_line(line)
    except LineError:
        return False
    return True


POLL_SECONDS = 1.0  # seconds between two requests for new lines
SCAN_SECONDS = 0.2  # seconds between two checks of the user's own journal
MAX_WAIT_SECONDS = 30.0  # longest pause after a failed attempt to connect
STOP_SECONDS = 2.0  # longest time to send unsent lines at the end
START_SECONDS = 0.5  # pause before the first attempt, so that the first screen does not wait for it


@dataclass(frozen=True, slots=True)
class SyncStatus:
    unsent: int = 0  # number of the user's lines that the server does not have yet
    received: int = 0  # number of lines that were received since the start
    problem: str = ""  # why the last attempt failed; empty after a successful one
    refusal: str = ""  # message about lines that the server refused; empty if there are none
    is_counted: bool = True  # whether `unsent` is known. The files may be unreadable

    @property
    def note(self) -> str:
        """Text for the top line of the app, while lines cannot be sent."""
        if not self.problem:
            return ""
        if not self.is_counted:
            return "reviews not sent"
        return f"{self.unsent:,} unsent" if self.unsent else ""


class TeamSync:
    """Sends and receives lines in a background thread. Other threads read only `status`."""

    def __init__(self, workspace: Workspace, link: TeamLink) -> None:
        """Prepare the thread that exchanges lines with the team's server. `start` starts it."""
        self.status = SyncStatus()
        self._workspace = workspace
        self._link = link
        self._exchange: Exchange | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run_sync_loop, name="team", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> SyncStatus:
        """Wait at most `STOP_SECONDS` until lines are sent, unless the last attempt failed.

        Return the last status.
        """
        self._stopping.set()
        if self._thread.is_alive() and not self.status.problem:
            self._thread.join(STOP_SECONDS)
        return self.status

    def _run_sync_loop(self) -> None:
        """Send and receive lines until the app ends. After each failure, the pause before the next
        attempt doubles, up to a maximum.
        """
        self._stopping.wait(START_SECONDS)
        pause = POLL_SECONDS
        is_last = False
        while not is_last:
            # After the app has ended, lines are sent once more, unless the server is unavailable.
            is_last = self._stopping.is_set()
            if is_last and self.status.problem:
                break

            problem = self._try_to_exchange_lines()
            if problem:
                pause = min(2 * pause, MAX_WAIT_SECONDS)
            else:
                pause = POLL_SECONDS
            self._update_status(problem)
            if not is_last:
                self._wait_for_lines(pause, is_connected=not problem)
        self._close_connection()

    def _try_to_exchange_lines(self) -> str:
        """Exchange lines once, and return the problem, or an empty text without a problem.

        No exception leaves this method, because nobody would notice the end of the thread.
        """
        try:
            self._exchange_lines()
        except (FcreviewError, OSError) as error:
            problem = str(error) or type(error).__name__
        except Exception as error:
            problem = f"internal error: {type(error).__name__}: {error}"
        else:
            return ""
        # The next attempt connects again.
        self._close_connection()
        return problem

    def _exchange_lines(self) -> None:
        """Send the user's new lines to the team's server, and receive those of others. Connects
        first if there is no connection.
        """
        if self._exchange is None:
            self._exchange = Exchange(self._workspace, self._link)
        exchange = self._exchange
        if exchange.server is None:
            copy_missing_team_queues(exchange.connect(), self._workspace)
        exchange.push_lines()
        received = exchange.pull_lines()
        self.status = replace(self.status, received=self.status.received + received)

    def _update_status(self, problem: str) -> None:
        refusal = ""
        if self._exchange is not None:
            refusal = self._exchange.refusal_message
        self.status = replace(self.status, problem=problem, refusal=refusal)
        self._count_unsent_lines()

    def _count_unsent_lines(self) -> int:
        """Count the lines of the journal that the server lacks, and show the number."""
        try:
            if self._exchange is None:
                raise TeamError("the files of the team cannot be read")
            unsent = self._exchange.outbox.count_unsent_lines()
        except (FcreviewError, OSError):
            self.status = replace(self.status, is_counted=False)
            return 0
        if unsent != self.status.unsent or not self.status.is_counted:
            self.status = replace(self.status, unsent=unsent, is_counted=True)
        return unsent

    def _wait_for_lines(self, seconds: float, *, is_connected: bool) -> None:
        """Wait for the next attempt, or until the user has written lines that can be sent."""
        deadline = time.monotonic() + seconds
        while not self._stopping.wait(SCAN_SECONDS) and time.monotonic() < deadline:
            if self._count_unsent_lines() and is_connected:
                return

    def _close_connection(self) -> None:
        if self._exchange is not None:
            self._exchange.close()


_RUN_DIGESTS = """
SELECT concat_ws(' ', r.benchmark, r.generation, r.language, r.model), count(*),
    md5(string_agg(concat_ws('|', i.category, i.id, i.golden_hash), ' ' ORDER BY i.category, i.id)),
    md5(string_agg(concat_ws('|', i.category, i.id, i.prediction_hash), ' ' ORDER BY i.category, i.id))
FROM item_rows i JOIN runs r USING (run) GROUP BY ALL ORDER BY ALL
"""


def publish_queue(server: TeamServer, queue: QueueFile) -> None:
    """Save a queue on the team's server and assign its shares.

    Raises TeamError if an annotator is not a member.
    """
    shares = []
    for share in queue.shares:
        # A hidden duplicate is in the order twice, but assigned once.
        positions = dict.fromkeys(share.order)
        keys = [queue.items[position].key._asdict() for position in positions]
        shares.append({"annotator": share.annotator, "keys": keys})
    server.assign_queue(queue.name, serialize_queue(queue), orjson.dumps(shares).decode())


def copy_missing_team_queues(server: TeamServer, workspace: Workspace) -> list[MergedQueue]:
    """Copy the team's queues that the workspace lacks.

    Raises QueueError if a file cannot be written.
    """
    results = []
    for name, body in server.fetch_queue_files():
        queue: QueueFile | QueueError
        try:
            queue = parse_queue(body, f"team queue {name!a}")
        except QueueError as error:
            queue = error
        results.append(merge_queue(workspace, queue))
    return results


def compute_run_digests(connection: Connection) -> list[RunDigest]:
    return [RunDigest(*row) for row in connection.execute(_RUN_DIGESTS).fetchall()]


def report_run_digests(server: TeamServer, digests: list[RunDigest]) -> None:
    server.report_run_digests(orjson.dumps([list(each) for each in digests]).decode())


def describe_run_differences(
    own: list[RunDigest], others: list[tuple[str, RunDigest]], annotator: str
) -> list[str]:
    """Describe each run whose golden answers or predictions are different in the workspace of
    another member.

    Args: others: (annotator, digest) of each run of each member. annotator: annotator name of the
    user.
    """
    own_digests = {digest.run: digest for digest in own}
    problems = []
    for name, other_digest in others:
        own_digest = own_digests.get(other_digest.run)
        if name == annotator or own_digest is None:
            continue
        differences = _list_differences(own_digest, other_digest)
        if differences:
            problems.append(
                f"your copy of {other_digest.run} differs from that of {name}:"
                f" {', '.join(differences)}"
            )
    return problems


def _list_differences(own: RunDigest, other: RunDigest) -> list[str]:
    """Return in what the same run differs in two workspaces."""
    differences = []
    if own.n_items != other.n_items:
        differences.append("number of items")
    if own.golden != other.golden:
        differences.append("golden answers")
    if own.predictions != other.predictions:
        differences.append("predictions")
    return differences
