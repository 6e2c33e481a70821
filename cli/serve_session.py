"""A session of the browser: the process of `fcreview open` behind one websocket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from fcreview.cli.output import print_message
from fcreview.cli.serve_downloads import DownloadStore, Transfer, store_export
from fcreview.model.sanitize import sanitize

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
KILL_TIMEOUT = 15.0  # seconds until the server gives up waiting for a killed process
# Maximum length in bytes of a session's error output that the server shows or prints.
ERRORS_TIMEOUT = 1.0  # seconds until the server gives up waiting for the rest of the error output
READ_BYTES = 4096
MAX_ERRORS = 20_000
# Bytes of input that the app has not read yet, above which the server ends the session.
MAX_UNREAD_BYTES = 4 << 20


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
        """Return the environment variables of the app for an annotator and a size of the terminal.

        Only some variables of the server are passed on, because others may contain secrets.
        """
        inherited = {name: self.environment[name] for name in INHERITED if name in self.environment}
        return inherited | {
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
        number = int(sent)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return default
    clamped: int = max(1, min(number, MAX_SIZE))
    return clamped


class ChunkReceiver(DownloadManager):
    """Receives the files that the app exports, in chunks. It replaces the download manager of
    textual-serve.

    The manager of textual-serve sends a file to the browser while the app still reads it, so an
    incomplete file would look complete.
    """

    def __init__(self) -> None:
        super().__init__()
        self.transfers: dict[str, Transfer] = {}

    async def chunk_received(self, delivery_key: str, chunk: bytes | str) -> None:
        transfer = self.transfers.get(delivery_key)
        if transfer is not None and isinstance(chunk, bytes):
            transfer.receive_chunk(chunk)


class SessionProcess(AppService):
    """Process of the app for one websocket and one annotator."""

    def __init__(
        self,
        command: SessionCommand,
        annotator: str,
        websocket: web.WebSocketResponse,
        downloads: DownloadStore,
    ) -> None:
        """Prepare the process. The app starts only when the browser has sent its size."""
        receiver = ChunkReceiver()
        super().__init__(
            "fcreview open",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._close_websocket,
            download_manager=receiver,
        )
        self.annotator = annotator
        # Whether the app has stopped to read its input.
        self.is_overloaded = False
        self._session_command = command
        self._websocket = websocket
        self._downloads = downloads
        self._transfers = receiver.transfers
        self._transfer_tasks: set[asyncio.Task[None]] = set()
        # Whether the app has ended, or ends by itself.
        self._is_exiting = False
        # Whether the server has called `stop`.
        self._is_stopping = False
        # The lock is held while the process starts.
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
        """Start the app in a process of its own, whose terminal is the browser. The size is in
        cells.
        """
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
        """Forward what the app draws to the browser, until the app ends.

        If the app does not start, show the reason in the browser.
        """
        process = self._process
        if process is None or process.stdout is None or process.stderr is None:
            return

        reading_errors = asyncio.create_task(_read_error_output(process.stderr))
        was_started = await self._forward_until_end(process, process.stdout)
        exit_code = await process.wait()
        error_text = await _finish_reading_errors(reading_errors)
        if not was_started:
            # The browser may have closed the connection already.
            with suppress(ConnectionError, RuntimeError):
                await self._websocket.send_bytes(_to_terminal_lines(error_text))
        if exit_code > 0 and error_text and not self._is_stopping:
            print_message(
                f"fcreview: the session of {self.annotator} failed with exit code {exit_code}\n"
                f"{error_text}"
            )
        await self._close_websocket()

    async def _forward_until_end(self, process: Process, stdout: asyncio.StreamReader) -> bool:
        """Forward the packets of the app until it ends. Kill it if a packet is malformed.

        Returns whether the app had started.
        """
        is_started = False
        try:
            is_started = await _wait_for_app_start(stdout)
            while is_started:
                await self._forward_packet(stdout)
        except asyncio.IncompleteReadError:
            # The stream of packets ends when the process has ended.
            pass
        except Exception as error:
            print_message(f"fcreview: a session of {self.annotator} failed: {error!a}")
            process.kill()
        return is_started

    async def _forward_packet(self, stdout: asyncio.StreamReader) -> None:
        """Forward a packet of the app to the browser.

        A packet is a byte with its kind, its size in 4 bytes, and its content. If the browser is
        gone, the packet is dropped, so that the process can end. Raises IncompleteReadError at the
        end of the packets.
        """
        kind = await stdout.readexactly(1)
        size = int.from_bytes(await stdout.readexactly(4), "big")
        payload = await stdout.readexactly(size)
        with suppress(ConnectionError, RuntimeError):
            # Textual's kinds: `D` is drawn data, `M` is JSON, `P` is packed data.
            if kind == b"D":
                await self.on_data(payload)
            elif kind == b"M":
                await self.on_meta(payload)
            elif kind == b"P":
                await self.on_packed(payload)

    async def on_meta(self, data: bytes) -> None:
        """Handle a request of the app: close the websocket when the app ends, or receive an export.

        Other requests are ignored. The app does not send any, and a session must not open URLs of
        other hosts.
        """
        meta = orjson.loads(data)
        if meta.get("type") == "exit":
            await self._close_websocket()
        elif meta.get("type") == "deliver_file_start":
            name = Path(str(meta.get("path"))).name
            task = asyncio.create_task(self._receive_export(str(meta.get("key")), name))
            self._transfer_tasks.add(task)
            task.add_done_callback(self._transfer_tasks.discard)

    async def _receive_export(self, key: str, name: str) -> None:
        """Receive a complete export from the app, then tell the browser to download it."""

        async def request_chunk(size: int) -> bool:
            return await self.send_meta({"type": "deliver_chunk_request", "key": key, "size": size})

        transfer = Transfer(request_chunk)
        self._transfers[key] = transfer
        try:
            await store_export(self._downloads, transfer, key, annotator=self.annotator, name=name)
        finally:
            del self._transfers[key]
        with suppress(ConnectionError, RuntimeError):
            await self._websocket.send_str(json.dumps(["deliver_file_start", key]))

    async def send_bytes(self, data: bytes) -> bool:
        """Send keys or pasted text to the app."""
        return self._write_to_app(self.encode_packet(b"D", data))

    async def send_meta(self, data: dict[str, str | int | bool | None]) -> bool:
        """Send a request to the app."""
        return self._write_to_app(self.encode_packet(b"M", json.dumps(data).encode()))

    def _write_to_app(self, packet: bytes) -> bool:
        """Write a packet without waiting until the app has read it. Return False if it cannot.

        Without waiting, the server still notices that the browser closes its tab.
        """
        stdin = self._stdin
        if stdin is None or stdin.is_closing():
            return False
        if stdin.transport.get_write_buffer_size() + len(packet) > MAX_UNREAD_BYTES:
            self.is_overloaded = True
            return False
        stdin.write(packet)
        return True

    async def stop(self) -> None:
        """Ask the process to save the position and to end. Kill it if it does not end.

        Only the first call stops the process.
        """
        self._is_stopping = True
        # A process that is just being started is stopped after its start.
        async with self._starting:
            forwarding = self._task
            process = self._process
            # A further call finds nothing to stop.
            self._task = None
        if forwarding is None or process is None:
            return

        for transfer in list(self._transfer_tasks):
            transfer.cancel()
        self._ask_to_end(process)

        # The forwarding ends when the process has ended.
        await asyncio.wait([forwarding], timeout=END_TIMEOUT)
        if not forwarding.done():
            _kill_with_children(process)
            await asyncio.wait([forwarding], timeout=KILL_TIMEOUT)

        # After a kill that has no effect, the forwarding still waits.
        forwarding.cancel()
        await asyncio.wait([forwarding])
        if self._stdin is not None:
            self._stdin.close()

    def _ask_to_end(self, process: Process) -> None:
        """Send a signal to the process, unless the app already ends because its user left it."""
        if self._is_exiting:
            return
        with suppress(ProcessLookupError):
            process.terminate()


def _kill_with_children(process: Process) -> None:
    """Kill a process and those that it started, such as imports. They form a process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _read_error_output(stream: asyncio.StreamReader) -> bytes:
    """Read the stream to its end, but keep only its start."""
    kept = b""
    while chunk := await stream.read(READ_BYTES):
        n_free = MAX_ERRORS - len(kept)
        kept += chunk[:n_free]
    return kept


async def _finish_reading_errors(reading: asyncio.Task[bytes]) -> str:
    """Return the error output of a process that has ended.

    An import process that is still running may keep the stream open. Then the output is lost.
    """
    await asyncio.wait([reading], timeout=ERRORS_TIMEOUT)
    output = reading.result() if reading.done() else b""
    reading.cancel()
    return _decode_error_output(output)


def _to_terminal_lines(text: str) -> bytes:
    """Return a text as a terminal needs it, on lines of its own."""
    return "\r\n".join(["", *text.split("\n")]).encode()


async def _wait_for_app_start(stream: asyncio.StreamReader) -> bool:
    """Wait until the app has started. Return False if it ends before.

    Textual writes a certain line before its first packet.
    """
    try:
        while line := await stream.readline():
            if line == PRELUDE:
                return True
    except ValueError:
        # The line is longer than the stream's limit.
        pass
    return False


def _decode_error_output(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().split("\n")
    return "\n".join(sanitize(line) for line in lines)
