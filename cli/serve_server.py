"""Web server: the page, its websocket with a process of `fcreview open`, and downloads."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import stat
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import textual_serve
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from aiohttp.typedefs import Handler, Middleware

from fcreview.cli.serve_connections import BACKLOG, ConnectionLimiter, choose_max_connections
from fcreview.cli.serve_downloads import DownloadStore, send_download
from fcreview.cli.serve_login import (
    MAX_FORM_BYTES,
    PAGES,
    AllowedOrigins,
    Login,
    add_security_headers,
    is_loopback_host,
    make_origin_guard,
)
from fcreview.cli.serve_session import (
    SessionCommand,
    SessionProcess,
    clamp_terminal_dimension,
)
from fcreview.errors import CommandError

# scripts, fonts and styles of the terminal in the page
TERMINAL_FILES = Path(textual_serve.__file__).parent / "static"
# Size limit of a message from the browser. Users cannot paste a longer text.
MAX_MESSAGE_BYTES = 1 << 20
MAX_PING_LENGTH = 100  # number of characters of a ping that the answer repeats
DEFAULT_COLUMNS = 80
DEFAULT_ROWS = 24
HEARTBEAT = 15.0  # seconds between checks whether the browser is still connected
KEEPALIVE_SECONDS = 75.0  # seconds for which an idle connection of a logged-in annotator stays open
CHECK_SECONDS = 1.0  # seconds between two checks of logins and downloads
CLOSE_SECONDS = 5.0  # longest time to send the browser the reason why its session ends
SESSIONS: web.AppKey[BrowserServer] = web.AppKey("sessions")
LOGGED_OUT = "You are logged out. Your reviews are saved."
OVERLOADED = "The app does not read its input, so the session ends. Your reviews are saved."


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Address at which the server accepts connections: a host and port, or a Unix socket."""

    host: str = "127.0.0.1"
    port: int = 8000
    socket_path: Path | None = None
    tls: ssl.SSLContext | None = None


@dataclass(slots=True, eq=False)
class Session:
    """The process of a session with its websocket, and the request that opened it."""

    process: SessionProcess
    websocket: web.WebSocketResponse
    request: web.Request
    ending: asyncio.Task[None] | None = None  # set while the process ends

    @property
    def annotator(self) -> str:
        return self.process.annotator

    async def close_with_reason(self, reason: str) -> None:
        await _close_with_reason(self.websocket, reason)


@dataclass(slots=True)
class BrowserServer:
    """Server that runs a session, with its own process, for each browser tab."""

    command: SessionCommand
    login: Login
    allowed: AllowedOrigins
    max_sessions: int = 20
    downloads: DownloadStore = field(default_factory=DownloadStore)
    connections: ConnectionLimiter = field(
        default_factory=lambda: ConnectionLimiter(choose_max_connections(), is_local=is_local)
    )
    sessions: set[Session] = field(default_factory=set)

    def make_web_app(self) -> web.Application:
        """Make the web application: its pages and files, the login, and the guards that check
        requests.
        """
        app = web.Application(
            middlewares=[self._make_connection_guard(), make_origin_guard(self.allowed)],
            client_max_size=MAX_FORM_BYTES,
        )
        app[SESSIONS] = self
        app.add_routes(
            [
                web.get("/", self._show_page),
                web.get("/ws", self._run_session),
                web.get("/download/{key}", self._send_download),
                web.static("/static", PAGES),
                web.static("/terminal", TERMINAL_FILES),
            ]
        )
        app.add_routes(self.login.list_routes())
        app.on_response_prepare.append(add_security_headers)
        app.on_shutdown.append(lambda _: self.end_sessions())
        app.cleanup_ctx.append(self._check_regularly)
        return app

    def _make_connection_guard(self) -> Middleware:
        """Create the middleware that tells the limiter of connections when a request begins and
        ends.

        The limiter closes connections that wait, and keeps those of annotators who are logged in.
        """

        @web.middleware
        async def note_request(request: web.Request, handler: Handler) -> web.StreamResponse:
            is_logged_in = self.login.find_annotator(request) is not None
            self.connections.begin_request(request.transport, is_logged_in=is_logged_in)
            try:
                return await handler(request)
            finally:
                self.connections.end_request(request.transport)

        return note_request

    async def _check_regularly(self, _: web.Application) -> AsyncIterator[None]:
        checking = asyncio.create_task(self._check_logins_and_downloads())
        yield
        checking.cancel()
        self.downloads.discard_all()

    async def _check_logins_and_downloads(self) -> None:
        """Close the sessions of annotators who are no longer logged in, and discard old exports.
        Repeats this until it is cancelled.
        """
        closings: set[asyncio.Task[None]] = set()
        while True:
            await self.login.wait_for_change(CHECK_SECONDS)
            self.downloads.discard_expired_files()
            for session in self.sessions:
                is_logged_in = self.login.find_annotator(session.request) == session.annotator
                is_ending = session.ending is not None or session.websocket.closed
                if is_logged_in or is_ending:
                    continue
                # The event loop does not keep tasks alive, so the set does.
                closing = asyncio.create_task(session.close_with_reason(LOGGED_OUT))
                closings.add(closing)
                closing.add_done_callback(closings.discard)

    async def _show_page(self, request: web.Request) -> web.StreamResponse:
        if self.login.identify_annotator(request) is None:
            return self.login.answer_without_login(request)
        return web.Response(text=(PAGES / "page.html").read_text("utf-8"), content_type="text/html")

    def _require_login(self, request: web.Request) -> str:
        annotator = self.login.identify_annotator(request)
        if annotator is None:
            raise web.HTTPForbidden(text="You are not logged in. Reload the page to log in.\n")
        return annotator

    async def _run_session(self, request: web.Request) -> web.WebSocketResponse:
        """Run the app for a browser tab, until the tab is closed or the app ends.

        The tab and the app exchange messages over a websocket. The number of sessions is limited.
        """
        annotator = self._require_login(request)
        websocket = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=MAX_MESSAGE_BYTES)
        await websocket.prepare(request)

        await self._wait_for_ending_sessions(annotator)
        n_sessions = len(self.sessions)
        if n_sessions >= self.max_sessions:
            await _close_with_reason(
                websocket, f"{n_sessions} sessions are open, which is the limit. Try again later."
            )
            return websocket

        process = SessionProcess(self.command, annotator, websocket, self.downloads)
        session = Session(process, websocket, request)
        self.sessions.add(session)
        try:
            await self._run_process(session)
        except OSError as error:
            await session.close_with_reason(
                f"fcreview could not start the app: {error.strerror or error}"
            )
        finally:
            await self._end_session(session)
        return websocket

    async def _run_process(self, session: Session) -> None:
        """Start the app in the size of the tab, and forward messages until one of them ends."""
        size = session.request.query
        columns = clamp_terminal_dimension(size.get("width"), DEFAULT_COLUMNS)
        rows = clamp_terminal_dimension(size.get("height"), DEFAULT_ROWS)
        await session.process.start(columns, rows)
        await self._forward_messages(session)

    async def _forward_messages(self, session: Session) -> None:
        """Forward messages of the browser to the app, until the browser closes the websocket."""
        async for message in session.websocket:
            if self.login.identify_annotator(session.request) != session.annotator:
                await session.close_with_reason(LOGGED_OUT)
                return
            await _forward_message(message, session)
            if session.process.is_overloaded:
                await session.close_with_reason(OVERLOADED)
                return

    async def _wait_for_ending_sessions(self, annotator: str) -> None:
        """Wait until the annotator's ending sessions have saved their positions, where a
        reloaded page resumes.
        """
        endings = [
            session.ending
            for session in self.sessions
            if session.annotator == annotator and session.ending is not None
        ]
        if endings:
            await asyncio.wait(endings)

    async def _end_session(self, session: Session) -> None:
        """End a session. Its process ends even if the caller is cancelled."""
        if session.ending is None:
            session.ending = asyncio.create_task(self._stop_and_forget(session))
        await asyncio.shield(session.ending)

    async def _stop_and_forget(self, session: Session) -> None:
        try:
            await session.process.stop()
        finally:
            self.sessions.discard(session)

    async def end_sessions(self) -> None:
        """End all sessions in parallel."""

        async def close_and_end(session: Session) -> None:
            with suppress(ConnectionError, RuntimeError, TimeoutError):
                await asyncio.wait_for(session.websocket.close(code=WSCloseCode.GOING_AWAY), 1)
            await self._end_session(session)

        await asyncio.gather(*[close_and_end(session) for session in list(self.sessions)])

    async def _send_download(self, request: web.Request) -> web.StreamResponse:
        """Send an export of the same annotator."""
        annotator = self._require_login(request)
        download = self.downloads.find(request.match_info["key"], annotator)
        return await send_download(request, download)


def is_local(address: str) -> bool:
    """Whether a connection comes from this machine, where a proxy may run."""
    return not address or is_loopback_host(address)


async def _close_with_reason(websocket: web.WebSocketResponse, reason: str) -> None:
    """Show the browser why its session ends, unless it no longer reads."""
    with suppress(ConnectionError, RuntimeError, TimeoutError):
        await asyncio.wait_for(websocket.send_bytes(f"\r\n {reason}\r\n".encode()), CLOSE_SECONDS)
    await websocket.close()


async def _forward_message(message: WSMessage, session: Session) -> None:
    """Forward a message of the browser to the app: keys, the size of the window, or the focus.

    A message is a JSON list of its kind and, for most kinds, a value. Malformed messages are
    ignored.
    """
    if message.type != WSMsgType.TEXT:
        return
    try:
        fields = list(message.json())
    except (ValueError, TypeError, RecursionError):
        return

    process = session.process
    match fields:
        case ["stdin", str(text), *_]:
            await process.send_bytes(text.encode("utf-8", "replace"))
        case ["resize", dict(size), *_]:
            await process.set_terminal_size(
                clamp_terminal_dimension(size.get("width"), DEFAULT_COLUMNS),
                clamp_terminal_dimension(size.get("height"), DEFAULT_ROWS),
            )
        case ["ping", str(text), *_]:
            await session.websocket.send_json(["pong", text[:MAX_PING_LENGTH]])
        case ["focus", *_]:
            await process.focus()
        case ["blur", *_]:
            await process.blur()


def open_unix_socket(path: Path) -> socket.socket:
    """Open a Unix socket to which only its owner can connect.

    Raises: CommandError if another server uses the path.
    """
    with ExitStack() as cleanup:
        server = cleanup.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            _remove_unused_socket(path)
            # The permissions hold from the first moment.
            previous_mask = os.umask(0o177)
            try:
                server.bind(os.fspath(path))
            finally:
                os.umask(previous_mask)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}") from error
        # The socket stays open after the block.
        cleanup.pop_all()
    return server


def _remove_unused_socket(path: Path) -> None:
    """Remove the socket of a server that has ended. Raises CommandError for any other file."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise CommandError(f"{path}: the file exists and is not a socket. Choose another path")
    if _is_socket_in_use(path):
        raise CommandError(f"{path}: another server uses this socket. Choose another path")
    path.unlink(missing_ok=True)


def _is_socket_in_use(path: Path) -> bool:
    """Whether a server accepts connections at the socket, or its state is unknown."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def open_tcp_socket(host: str, port: int) -> socket.socket:
    """Open a socket for a host name or address.

    Raises: CommandError if the address is in use or not available.
    """
    try:
        # A name can have several addresses. The system puts the preferred one first.
        addresses = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, _, _, _, address = addresses[0]
        return socket.create_server(address, family=family)
    except OSError as error:
        problem = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise CommandError(f"{problem}. Choose another --host or --port") from error


async def run_server(
    make_server: Callable[[int], BrowserServer],
    address: ListenAddress,
    announce_port: Callable[[int], object],
) -> None:
    """Run the server until SIGINT or SIGTERM, then end all sessions.

    Args:
        make_server: Creates the server for a port. The port of a Unix socket is 0.
        announce_port: Called with the port when the server accepts connections.
    """
    listener, port = _open_listener(address)
    server = make_server(port)
    runner = web.AppRunner(
        server.make_web_app(),
        access_log=None,
        shutdown_timeout=1,
        handle_signals=False,
        keepalive_timeout=KEEPALIVE_SECONDS,
    )
    try:
        await runner.setup()
        http_server = runner.server
        assert http_server is not None  # noqa: S101 - for the type checker
        listener.listen(BACKLOG)
        announce_port(port)
        await _run_until_signal(server.connections.accept(listener, http_server, address.tls))
    finally:
        await runner.cleanup()
        listener.close()
        if address.socket_path is not None:
            address.socket_path.unlink(missing_ok=True)


def _open_listener(address: ListenAddress) -> tuple[socket.socket, int]:
    """Open the socket of the server. Return it and its port, which is 0 for a Unix socket."""
    if address.socket_path is not None:
        return open_unix_socket(address.socket_path), 0
    listener = open_tcp_socket(address.host, address.port)
    # The system may have chosen the port.
    return listener, listener.getsockname()[1]


async def _run_until_signal(accepting: Coroutine[None, None, None]) -> None:
    """Run a coroutine that accepts connections until a signal arrives or it fails."""
    is_stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(signal_number, is_stopped.set)

    accept_task = asyncio.create_task(accepting)
    stop_task = asyncio.create_task(is_stopped.wait())
    try:
        await asyncio.wait([accept_task, stop_task], return_when=asyncio.FIRST_COMPLETED)
        if accept_task.done():
            # Raises the error that ended it.
            accept_task.result()
    finally:
        accept_task.cancel()
        stop_task.cancel()
