"""Web server: the page, its websocket with a process of `fcreview open`, and downloads."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import stat
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import orjson
import textual_serve
from aiohttp import WSCloseCode, WSMsgType, hdrs, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from fcreview.cli.output import print_message
from fcreview.cli.serve_login import (
    PAGES,
    AllowedOrigins,
    Login,
    add_security_headers,
    make_origin_guard,
)
from fcreview.errors import CommandError
from fcreview.model.sanitize import sanitize

# scripts, fonts and styles of the terminal in the page
TERMINAL_FILES = Path(textual_serve.__file__).parent / "static"
MAX_FORM_BYTES = 16_384
# Size limit of a message from the browser. Users cannot paste a longer text.
MAX_MESSAGE_BYTES = 1 << 20
HEARTBEAT = 15.0  # seconds between checks whether the browser is still connected
SESSIONS: web.AppKey[BrowserServer] = web.AppKey("sessions")
INHERITED = (
    *("PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PYTHONUTF8"),
    *("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
    *("FCREVIEW_CONFIG", "FCREVIEW_DATA", "FCREVIEW_THEME", "FCREVIEW_ASCII", "NO_COLOR"),
)
"""Environment variables that a session inherits. Other variables may contain secrets."""
# line that Textual's web driver in the app process writes before its first packet
PRELUDE = b"__GANGLION__\n"
MAX_SIZE = 1_000  # largest number of columns and rows of a terminal
# Seconds until the server kills a process that does not end. The app exits after at most ten.
END_TIMEOUT = 15.0
MAX_ERRORS = (
    20_000  # maximum length in bytes of a session's error output that the server shows or prints
)


@dataclass(frozen=True, slots=True)
class SessionCommand:
    """Command that the process of each session runs."""

    options: Sequence[str]  # options and paths of `fcreview open`
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def process_arguments(self) -> list[str]:
        """Program and arguments of the process.

        With `-P`, Python imports no modules from the working folder.
        """
        return [sys.executable, "-P", "-m", "fcreview.cli", "open", *self.options]

    def build_environment(self, annotator: str, columns: int, rows: int) -> dict[str, str]:
        return {name: self.environment[name] for name in INHERITED if name in self.environment} | {
            "FCREVIEW_ANNOTATOR": annotator,
            "FCREVIEW_BROWSER": "1",
            "TEXTUAL_FPS": "60",
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "COLORTERM": "truecolor",
            "COLUMNS": str(columns),
            "ROWS": str(rows),
        }


def clamp_terminal_dimension(sent: object, default: int) -> int:
    """Limit the number of columns or rows that a browser sent to a valid number; `default` if it
    sent no number.
    """
    try:
        return max(1, min(int(sent), MAX_SIZE))  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return default


class SessionProcess(AppService):
    """Process of the app for one websocket and one annotator."""

    def __init__(
        self,
        command: SessionCommand,
        annotator: str,
        websocket: web.WebSocketResponse,
        downloads: DownloadManager,
    ) -> None:
        super().__init__(
            "fcreview open",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._close_websocket,
            download_manager=downloads,
        )
        self.annotator = annotator
        self._session_command = command
        self._websocket = websocket
        self._is_exiting = self._is_stopping = False
        self._starting = asyncio.Lock()

    async def _close_websocket(self) -> None:
        self._is_exiting = True
        await self._websocket.close()

    async def start(self, width: int, height: int) -> None:
        """Start the process, unless `stop` has been called."""
        async with self._starting:
            if not self._is_stopping:
                await super().start(width, height)

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        return self._session_command.build_environment(self.annotator, width, height)

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = self._build_environment(width, height)
        self._process = process = await asyncio.create_subprocess_exec(
            *self._session_command.process_arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment,
            start_new_session=True,  # Ctrl+C in the server's terminal must not reach the process
        )
        self._stdin = process.stdin
        return process

    async def run(self) -> None:
        """Forward packets until the process ends.

        If the app does not start, show the reason in the browser.
        """
        process = self._process
        if process is None or process.stdout is None or process.stderr is None:
            return
        errors = asyncio.create_task(_read_error_output(process.stderr))
        is_started = False
        try:
            is_started = await _wait_for_app_start(process.stdout)
            while is_started:
                await self._forward_packet(process.stdout)
        except asyncio.IncompleteReadError:
            pass
        code = await process.wait()
        # an import process that is still running may keep the stream open
        await asyncio.wait([errors], timeout=1)
        text = _decode_error_output(errors.result() if errors.done() else b"")
        errors.cancel()
        if not is_started:
            with suppress(ConnectionError, RuntimeError):
                await self._websocket.send_bytes("\r\n".join(["", *text.split("\n")]).encode())
        if code > 0 and text and not self._is_stopping:
            print_message(
                f"fcreview: the session of {self.annotator} failed with exit code {code}\n{text}"
            )
        await self._close_websocket()

    async def _forward_packet(self, stdout: asyncio.StreamReader) -> None:
        """Forward a packet to the browser.

        If the browser is gone, drop the packet, so that the process can end.
        """
        kind = await stdout.readexactly(1)
        payload = await stdout.readexactly(int.from_bytes(await stdout.readexactly(4), "big"))
        with suppress(ConnectionError, RuntimeError):
            if kind == b"D":
                await self.on_data(payload)
            elif kind == b"M":
                await self.on_meta(payload)
            elif kind == b"P":
                await self.on_packed(payload)

    async def on_meta(self, data: bytes) -> None:
        """Ignore requests to open a URL.

        The app sends none, and a session must not make requests to other hosts.
        """
        if orjson.loads(data).get("type") != "open_url":
            await super().on_meta(data)

    async def stop(self) -> None:
        """Ask the process to save the position and to end. Kill it if it does not end."""
        self._is_stopping = True
        async with self._starting:
            task, self._task, process = self._task, None, self._process
        if task is None or process is None:
            return
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        if not self._is_exiting:
            with suppress(ProcessLookupError):
                process.terminate()
        try:
            await asyncio.wait_for(process.wait(), END_TIMEOUT)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await task


async def _read_error_output(stream: asyncio.StreamReader) -> bytes:
    start = b""
    while chunk := await stream.read(4096):
        start += chunk[: MAX_ERRORS - len(start)]
    return start


async def _wait_for_app_start(stream: asyncio.StreamReader) -> bool:
    try:
        while line := await stream.readline():
            if line == PRELUDE:
                return True
    except ValueError:  # the line is longer than the stream's limit
        pass
    return False


def _decode_error_output(text: bytes) -> str:
    return "\n".join(sanitize(line) for line in text.decode("utf-8", "replace").strip().split("\n"))


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Address at which the server accepts connections: a host and port, or a Unix socket."""

    host: str = "127.0.0.1"
    port: int = 8000
    socket_path: Path | None = None
    tls: ssl.SSLContext | None = None


@dataclass(slots=True)
class BrowserServer:
    """Server that runs a session, with its own process, for each browser tab."""

    command: SessionCommand
    login: Login
    allowed: AllowedOrigins
    max_sessions: int = 20
    downloads: DownloadManager = field(default_factory=DownloadManager)
    sessions: dict[SessionProcess, web.WebSocketResponse] = field(default_factory=dict)
    _endings: dict[SessionProcess, asyncio.Task[None]] = field(default_factory=dict)

    def make_web_app(self) -> web.Application:
        app = web.Application(
            middlewares=[make_origin_guard(self.allowed)], client_max_size=MAX_FORM_BYTES
        )
        app[SESSIONS] = self
        pages = {
            "/": self._show_page,
            "/ws": self._run_session,
            "/download/{key}": self._send_download,
        }
        app.add_routes(
            [
                *(web.get(path, handler) for path, handler in pages.items()),
                *self.login.list_routes(),
            ]
        )
        app.add_routes([web.static("/static", PAGES), web.static("/terminal", TERMINAL_FILES)])
        app.on_response_prepare.append(add_security_headers)
        app.on_shutdown.append(lambda _: self.end_sessions())
        return app

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
        annotator = self._require_login(request)
        websocket = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=MAX_MESSAGE_BYTES)
        await websocket.prepare(request)
        await self._wait_for_ending_sessions(annotator)
        if len(self.sessions) >= self.max_sessions:
            await _close_with_reason(
                websocket,
                f"{len(self.sessions)} sessions are open, which is the limit. Try again later.",
            )
            return websocket
        session = SessionProcess(self.command, annotator, websocket, self.downloads)
        self.sessions[session] = websocket
        try:
            await session.start(
                clamp_terminal_dimension(request.query.get("width"), 80),
                clamp_terminal_dimension(request.query.get("height"), 24),
            )
            await _forward_messages(
                websocket, session, lambda: self.login.identify_annotator(request) == annotator
            )
        except OSError as error:
            await _close_with_reason(
                websocket, f"fcreview could not start the app: {error.strerror or error}"
            )
        finally:
            await self._end_session(session)
        return websocket

    async def _wait_for_ending_sessions(self, annotator: str) -> None:
        """Wait until the annotator's ending sessions have saved their positions, where a
        reloaded page resumes.
        """
        endings = [
            task for session, task in self._endings.items() if session.annotator == annotator
        ]
        if endings:
            await asyncio.wait(endings)

    async def _end_session(self, session: SessionProcess) -> None:
        """End a session. Its process ends even if the caller is cancelled."""

        async def stop_and_forget() -> None:
            try:
                await session.stop()
            finally:
                self._endings.pop(session, None)
                self.sessions.pop(session, None)

        if session not in self._endings:
            self._endings[session] = asyncio.create_task(stop_and_forget())
        await asyncio.shield(self._endings[session])

    async def end_sessions(self) -> None:
        """End all sessions in parallel."""

        async def close_and_end(session: SessionProcess, websocket: web.WebSocketResponse) -> None:
            with suppress(ConnectionError, RuntimeError, TimeoutError):
                await asyncio.wait_for(websocket.close(code=WSCloseCode.GOING_AWAY), 1)
            await self._end_session(session)

        await asyncio.gather(*(close_and_end(*each) for each in self.sessions.items()))

    async def _send_download(self, request: web.Request) -> web.StreamResponse:
        """Send a file that a session of the same annotator offers for download.

        Each file can be downloaded once.
        """
        annotator, key = self._require_login(request), request.match_info["key"]
        try:
            download = await self.downloads.get_download_metadata(key)
        except KeyError:
            download = None
        session = download.app_service if download is not None else None
        if (
            download is None
            or not isinstance(session, SessionProcess)
            or session.annotator != annotator
        ):
            raise web.HTTPNotFound(text="Download not found. Export the file again in the app.\n")
        response = web.StreamResponse()
        response.content_type = "application/octet-stream"
        name = quote(download.file_name, safe="")
        response.headers[hdrs.CONTENT_DISPOSITION] = f"attachment; filename*=UTF-8''{name}"
        await response.prepare(request)
        async for chunk in self.downloads.download(key):
            await response.write(chunk)
        await response.write_eof()
        return response


async def _close_with_reason(websocket: web.WebSocketResponse, reason: str) -> None:
    with suppress(ConnectionError, RuntimeError):
        await websocket.send_bytes(f"\r\n {reason}\r\n".encode())
        await websocket.close()


async def _forward_messages(
    websocket: web.WebSocketResponse, session: SessionProcess, is_logged_in: Callable[[], bool]
) -> None:
    async for message in websocket:
        if not is_logged_in():
            await websocket.close()
            return
        if message.type != WSMsgType.TEXT:
            continue
        try:
            kind, value = (*message.json(), None)[:2]
        except (ValueError, TypeError, RecursionError):
            continue
        if kind == "stdin" and isinstance(value, str):
            await session.send_bytes(value.encode("utf-8", "replace"))
        elif kind == "resize" and isinstance(value, dict):
            await session.set_terminal_size(
                clamp_terminal_dimension(value.get("width"), 80),
                clamp_terminal_dimension(value.get("height"), 24),
            )
        elif kind == "ping" and isinstance(value, str):
            await websocket.send_json(["pong", value[:100]])
        elif kind == "focus":
            await session.focus()
        elif kind == "blur":
            await session.blur()


def open_unix_socket(path: Path) -> socket.socket:
    """Open a Unix socket to which only its owner can connect.

    Raises: CommandError if another server uses the path.
    """
    with ExitStack() as cleanup:
        server = cleanup.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            with suppress(FileNotFoundError):
                if not stat.S_ISSOCK(path.lstat().st_mode):
                    raise CommandError(
                        f"{path}: the file exists and is not a socket. Choose another path"
                    )
                if _is_socket_in_use(path):
                    raise CommandError(
                        f"{path}: another server uses this socket. Choose another path"
                    )
                path.unlink()
            previous = os.umask(0o177)
            try:
                server.bind(os.fspath(path))
            finally:
                os.umask(previous)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}") from error
        cleanup.pop_all()
    return server


def _is_socket_in_use(path: Path) -> bool:
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
        family, _, _, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM
        )[0]
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

    `make_server` creates the server for a port; the port of a Unix socket is 0. It calls
    `announce_port` with the port when the server accepts connections.
    """
    if address.socket_path is not None:
        listener, port = open_unix_socket(address.socket_path), 0
    else:
        listener = open_tcp_socket(address.host, address.port)
        port = listener.getsockname()[1]
    runner = web.AppRunner(
        make_server(port).make_web_app(), access_log=None, shutdown_timeout=1, handle_signals=False
    )
    try:
        await runner.setup()
        await web.SockSite(runner, listener, ssl_context=address.tls).start()
        is_stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, is_stopped.set)
        announce_port(port)
        await is_stopped.wait()
    finally:
        await runner.cleanup()
        listener.close()
        if address.socket_path is not None:
            address.socket_path.unlink(missing_ok=True)
