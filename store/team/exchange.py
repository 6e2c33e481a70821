"""Exchange of journal lines between a workspace and the server of its team."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.model.wording import format_count
from fcreview.store.team.inbox import Inbox
from fcreview.store.team.outbox import Outbox
from fcreview.store.team.server import Membership, TeamError, TeamServer
from fcreview.store.workspace import AnnotatorState, check_annotator

if TYPE_CHECKING:
    from fcreview.store.team.address import ServerAddress
    from fcreview.store.team.server import PulledLine
    from fcreview.store.workspace import Workspace

STATE = "team"
"""Kind of `AnnotatorState` with the cursor and the number of sent bytes."""


@dataclass(frozen=True, slots=True)
class TeamLink:
    """The team to which a user has connected a workspace."""

    address: ServerAddress
    project: str
    annotator: str


class Exchange:
    """Sends the user's lines and stores the lines of others. Not thread-safe."""

    def __init__(self, workspace: Workspace, link: TeamLink) -> None:
        self.link = link
        self.server: TeamServer | None = None
        self.membership: Membership | None = None
        self.inbox = Inbox(workspace, check_annotator(link.annotator))
        self._state_file = AnnotatorState(workspace.root, link.annotator)
        state = self._state_file.read(STATE)
        is_current = state.get("server") == str(link.address) and state.get("project") == link.project
        cursor, sent = (state.get("cursor"), state.get("sent")) if is_current else ("", 0)
        self.outbox = Outbox(workspace, link.annotator, sent if isinstance(sent, int) and sent > 0 else 0)
        self._cursor = cursor if isinstance(cursor, str) and self._has_all_files(state.get("sizes")) else ""

    @property
    def n_unsent(self) -> int:
        return self.outbox.n_unsent

    @property
    def refusal(self) -> str:
        """Message about the lines that the server refused; empty if there are none."""
        refused = self.outbox.refused
        if not refused:
            return ""
        return f"{format_count(len(refused), 'line')} refused by the server: {next(iter(refused.values()))}"

    def connect(self, password: str | None = None) -> TeamServer:
        """Connect, and find the lines that the server lacks. Raises UnreachableError or TeamError."""
        self.close()
        server = TeamServer.connect(self.link.address, password)
        try:
            member = server.fetch_membership()
            if (member.project, member.annotator) != (self.link.project, self.link.annotator):
                raise TeamError(
                    f"the server knows you as {member.annotator!a} of {member.project!a}, not as"
                    f" {self.link.annotator!a} of {self.link.project!a}. Run fcreview team join again"
                )
            self.outbox.reconcile(server)
        except BaseException:
            server.close()
            raise
        self.server, self.membership = server, member
        return server

    def push(self) -> int:
        """Send all unsent lines, and return the number that the server accepted."""
        sent, server = 0, self._require_server()
        while self.outbox.scan():
            sent += self.outbox.send_batch(server)
            self._save_state()
        return sent

    def pull(self) -> int:
        """Store the new lines of the team, and return their number."""
        cursor, lines = self._require_server().pull(self._cursor)
        count = self.inbox.store(lines) if lines else 0
        if cursor != self._cursor:
            self._cursor = cursor
            if lines:  # without news, the saved cursor finds the same lines
                self._save_state()
        return count

    def pull_all(self) -> list[PulledLine]:
        """Store all lines that the server shows to the user, and return them."""
        self._cursor, lines = self._require_server().pull("")
        self.inbox.store(lines)
        self._save_state()
        return lines

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None

    def _require_server(self) -> TeamServer:
        if self.server is None:
            raise TeamError("not connected")
        return self.server

    def _has_all_files(self, sizes: object) -> bool:
        """Whether no file of received lines is smaller than when the cursor was saved."""
        now = self.inbox.sizes()
        return isinstance(sizes, dict) and all(
            isinstance(size, int) and now.get(name, 0) >= size for name, size in sizes.items()
        )

    def _save_state(self) -> None:
        state = {"server": str(self.link.address), "project": self.link.project, "cursor": self._cursor}
        self._state_file.try_write(STATE, state | {"sent": self.outbox.sent_bytes, "sizes": self.inbox.sizes()})
