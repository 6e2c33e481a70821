"""Accept connections, and limit those that have not sent a request of a logged-in annotator.

A program that opens many connections and sends nothing, or half a request, must not keep annotators
from logging in. So a connection has a deadline for its request, and if there are too many, the
server closes the one that has waited longest. Connections of logged-in annotators have no deadline.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from fcreview.cli.output import print_message
from fcreview.model.wording import format_count

HEADER_SECONDS = 10.0  # seconds for the TLS handshake and the header of the first request
NEXT_REQUEST_SECONDS = 60.0  # seconds for the response, and for the header of a further request
MAX_CONNECTIONS = 512  # at most, without those of logged-in annotators
MAX_PER_ADDRESS = 128  # at most from one address, except from this machine, where a proxy may run
LOG_SECONDS = 60.0  # seconds between two messages about closed connections
NO_FILES_SECONDS = 0.5  # pause after the operating system refused another connection
BACKLOG = 128  # connections that wait in the operating system

ProtocolFactory = Callable[[], asyncio.Protocol]


@dataclass(slots=True, eq=False)
class Connection:
    """A connection of a browser or a proxy."""

    address: str  # empty for a Unix socket
    waiting_since: float | None  # value of `monotonic()`; None while a request is handled
    patience: float  # seconds after which the server closes a waiting connection
    is_logged_in: bool = False
    transport: asyncio.Transport | None = None  # None until the TLS handshake has ended
    opening: asyncio.Task[None] | None = None

    def is_late(self, now: float) -> bool:
        return self.waiting_since is not None and now > self.waiting_since + self.patience

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()


class CountedProtocol(asyncio.Protocol):
    """Passes the events of a connection to the HTTP protocol, and its beginning and end to the
    limiter.
    """

    def __init__(
        self, protocol: asyncio.Protocol, limiter: ConnectionLimiter, connection: Connection
    ) -> None:
        self._protocol = protocol
        self._limiter = limiter
        self._connection = connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._limiter.add_transport(self._connection, transport)
        self._protocol.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._limiter.remove(self._connection)
        self._protocol.connection_lost(error)


@dataclass(slots=True)
class ConnectionLimiter:
    """All open connections."""

    max_connections: int = MAX_CONNECTIONS
    max_per_address: int = MAX_PER_ADDRESS
    header_seconds: float = HEADER_SECONDS
    is_local: Callable[[str], bool] = lambda address: not address
    """Whether an address belongs to this machine."""
    _connections: set[Connection] = field(default_factory=set)
    _by_transport: dict[asyncio.BaseTransport, Connection] = field(default_factory=dict)
    _n_closed: Counter[str] = field(default_factory=Counter)  # by the address that caused it
    _next_message: float = 0.0  # value of `monotonic()` for the next message

    async def accept(
        self,
        listener: socket.socket,
        make_protocol: ProtocolFactory,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Accept the connections of a listening socket until cancelled.

        The number of connections is limited, so that nobody can keep others from connecting.
        """
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        closing_late = asyncio.create_task(self._close_late_connections())
        try:
            while True:
                try:
                    client, peer = await loop.sock_accept(listener)
                except OSError as error:
                    # Usually, too many files are open.
                    self._make_room_for_files(error)
                    await asyncio.sleep(NO_FILES_SECONDS)
                    continue
                address = peer[0] if isinstance(peer, tuple) else ""
                self._open(client, address, make_protocol, tls)
        finally:
            closing_late.cancel()

    def begin_request(self, transport: asyncio.BaseTransport | None, *, is_logged_in: bool) -> None:
        """Note that the header of a request has arrived."""
        connection = self._find(transport)
        if connection is not None:
            connection.waiting_since = None
            connection.is_logged_in = is_logged_in

    def end_request(self, transport: asyncio.BaseTransport | None) -> None:
        """Note that a request was handled. The response may still be on its way."""
        connection = self._find(transport)
        if connection is not None and not connection.is_logged_in:
            connection.waiting_since = monotonic()
            connection.patience = NEXT_REQUEST_SECONDS

    def add_transport(self, connection: Connection, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            connection.transport = transport
        self._by_transport[transport] = connection

    def remove(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection.transport is not None:
            self._by_transport.pop(connection.transport, None)

    def _find(self, transport: asyncio.BaseTransport | None) -> Connection | None:
        return None if transport is None else self._by_transport.get(transport)

    def _open(
        self,
        client: socket.socket,
        address: str,
        make_protocol: ProtocolFactory,
        tls: ssl.SSLContext | None,
    ) -> None:
        """Register a new connection and set it up in a task. If there is no room for it,
        close it.
        """
        if not self._make_room(address):
            client.close()
            return

        connection = Connection(address, waiting_since=monotonic(), patience=self.header_seconds)
        self._connections.add(connection)
        connection.opening = asyncio.create_task(
            self._connect(connection, client, make_protocol, tls)
        )

    async def _connect(
        self,
        connection: Connection,
        client: socket.socket,
        make_protocol: ProtocolFactory,
        tls: ssl.SSLContext | None,
    ) -> None:
        """Set up a connection: the TLS handshake, and the protocol that answers requests."""
        handshake_seconds = None if tls is None else self.header_seconds
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: CountedProtocol(make_protocol(), self, connection),
                client,
                ssl=tls,
                ssl_handshake_timeout=handshake_seconds,
            )
        except OSError:
            # The client has gone, or the TLS handshake failed.
            pass
        finally:
            if connection.transport is None:
                self.remove(connection)

    def _make_room(self, address: str) -> bool:
        """If there are too many connections, close the one that has waited longest.

        Return False if no connection is waiting.
        """
        counted = [each for each in self._connections if not each.is_logged_in]
        from_address = [each for each in counted if each.address == address]
        if len(from_address) >= self.max_per_address and not self.is_local(address):
            self._report_limit(address)
            return self._close_longest_waiting(from_address)
        if len(counted) >= self.max_connections:
            self._report_limit(address)
            return self._close_longest_waiting(counted)
        return True

    def _make_room_for_files(self, error: OSError) -> None:
        self._report(f"a connection cannot be accepted: {error.strerror or error}")
        self._close_longest_waiting([each for each in self._connections if not each.is_logged_in])

    def _close_longest_waiting(self, connections: list[Connection]) -> bool:
        """Close the connection that has waited longest for a request, to make room for another one.

        Return False if none is waiting.
        """
        longest_waiting: Connection | None = None
        earliest = monotonic()
        for connection in connections:
            if connection.waiting_since is not None and connection.waiting_since <= earliest:
                earliest = connection.waiting_since
                longest_waiting = connection
        if longest_waiting is None:
            return False
        self._close(longest_waiting)
        return True

    async def _close_late_connections(self) -> None:
        """Close connections that do not send a request in time, to make room for others. Runs until
        it is cancelled.
        """
        while True:
            await asyncio.sleep(min(1.0, self.header_seconds / 2))
            now = monotonic()
            for connection in list(self._connections):
                if connection.is_late(now):
                    self._close(connection)

    def _close(self, connection: Connection) -> None:
        # Removed now, because the event loop reports the end of the connection later.
        self.remove(connection)
        connection.abort()

    def _report_limit(self, address: str) -> None:
        """Count a closed connection, and print how many were closed since the last such message.

        Within `LOG_SECONDS` after any message, they are only counted. `_report` sets that time.
        """
        self._n_closed[address] += 1
        if monotonic() < self._next_message:
            return

        total = self._n_closed.total()
        busiest, _ = self._n_closed.most_common(1)[0]
        self._report(
            f"too many connections without a login, most from {busiest or 'the socket'}."
            f" {format_count(total, 'waiting connection')} closed"
        )
        self._n_closed.clear()

    def _report(self, text: str) -> None:
        """Print a message, unless another was printed less than `LOG_SECONDS` ago."""
        now = monotonic()
        if now >= self._next_message:
            self._next_message = now + LOG_SECONDS
            print_message(f"fcreview: {text}")


def choose_max_connections() -> int:
    """Return the limit for connections, which is lower if the process may open few files."""
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft_limit == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(16, min(MAX_CONNECTIONS, soft_limit // 2))
