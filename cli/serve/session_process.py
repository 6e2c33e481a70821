"""Process of one browser session: `fcreview open` with a listed environment, without a shell."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import orjson
from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from fcreview.cli.output import print_message
from fcreview.model.sanitize import sanitize

INHERITED = (
    *("PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PYTHONUTF8"),
    *("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
    *("FCREVIEW_CONFIG", "FCREVIEW_DATA", "FCREVIEW_THEME", "FCREVIEW_ASCII", "NO_COLOR"),
)
"""Variables that a session's process gets from the server. It gets no others, so no secret of the server."""
PRELUDE = b"__GANGLION__\n"
"""Line that the app's driver writes before its first packet."""
MAX_SIZE = 1_000
"""Largest number of columns and rows of a terminal."""
END_TIMEOUT = 15.0
"""Seconds until a process that does not end is killed. The app itself gives up after ten."""
MAX_ERRORS = 20_000
"""Maximum length in bytes of the error output that is shown or printed."""


@dataclass(frozen=True, slots=True)
class SessionCommand:
    """Command that a session's process runs, the same for all annotators."""

    options: Sequence[str]
    """Options and paths of `fcreview open`."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def arguments(self) -> list[str]:
        """Program and arguments. `-P` keeps modules in the working folder from being imported."""
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


def clamp_size(value: object, default: int) -> int:
    """Return a number of columns or rows that a browser sent."""
    try:
        return max(1, min(int(value), MAX_SIZE))  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return default


class SessionProcess(AppService):
    """Process of the app for one websocket. The annotator is an attribute, so that sessions cannot be mixed."""

    def __init__(
        self, command: SessionCommand, annotator: str, websocket: web.WebSocketResponse, downloads: DownloadManager
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
        """Start the process, unless `stop` was called before."""
        async with self._starting:
            if not self._is_stopping:
                await super().start(width, height)

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        return self._session_command.build_environment(self.annotator, width, height)

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        self._process = process = await asyncio.create_subprocess_exec(
            *self._session_command.arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._build_environment(width, height),
            start_new_session=True,  # Ctrl+C in the server's terminal must not reach it
        )
        self._stdin = process.stdin
        return process

    async def run(self) -> None:
        """Forward packets until the process ends. If the app does not start, show the reason in the browser."""
        process = self._process
        if process is None or process.stdout is None or process.stderr is None:
            return
        errors = asyncio.create_task(_read_start(process.stderr))
        is_started = False
        try:
            is_started = await _skip_to_prelude(process.stdout)
            while is_started:
                await self._forward_packet(process.stdout)
        except asyncio.IncompleteReadError:
            pass
        code = await process.wait()
        await asyncio.wait([errors], timeout=1)  # a process of an import may keep the stream open
        text = sanitize_lines(errors.result() if errors.done() else b"")
        errors.cancel()
        if not is_started:
            with suppress(ConnectionError, RuntimeError):
                await self._websocket.send_bytes("\r\n".join(["", *text.split("\n")]).encode())
        if code > 0 and text and not self._is_stopping:
            print_message(f"fcreview: session of {self.annotator} failed (exit code {code})\n{text}")
        await self._close_websocket()

    async def _forward_packet(self, stdout: asyncio.StreamReader) -> None:
        """Forward a packet. Without a browser, packets are read and dropped, so that the process can go on to end."""
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
        """Ignore requests to open an address: the app sends none, and nothing may leave the host."""
        if orjson.loads(data).get("type") != "open_url":
            await super().on_meta(data)

    async def stop(self) -> None:
        """End the process: it saves the reviews and the position. Kill it if it does not end."""
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


async def _read_start(stream: asyncio.StreamReader) -> bytes:
    """Read a stream to its end and return its start."""
    start = b""
    while chunk := await stream.read(4096):
        start += chunk[: MAX_ERRORS - len(start)]
    return start


async def _skip_to_prelude(stream: asyncio.StreamReader) -> bool:
    """Read up to the first packet. False if the output ends before."""
    try:
        while line := await stream.readline():
            if line == PRELUDE:
                return True
    except ValueError:  # a line that is too long
        pass
    return False


def sanitize_lines(text: bytes) -> str:
    return "\n".join(sanitize(line) for line in text.decode("utf-8", "replace").strip().split("\n"))
