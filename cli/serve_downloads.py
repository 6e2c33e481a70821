"""Downloads of browser sessions.

The app of a session sends an export in chunks. The server first writes all of them to a private
temporary file, and only then offers the file to the browser. So a browser gets a complete file with
its length, as often as it asks, or an error, but never a part of a file that looks complete.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from io import BufferedRandom
from time import monotonic
from urllib.parse import quote

from aiohttp import hdrs, web

from fcreview.cli.output import print_message
from fcreview.errors import FcreviewError

CHUNK_BYTES = (
    1 << 18
)  # bytes that the server requests from the app, or sends to the browser, at once
CHUNK_SECONDS = 60.0  # seconds that the app may take for a chunk, for example while it is busy
KEPT_SECONDS = 600.0  # seconds for which the browser can fetch a file
KEPT_FILES = 5  # maximum number of files that the server keeps of an annotator
MAX_KEYS = 1_000  # number of downloads, also without a file, that the server remembers

RequestChunk = Callable[[int], Awaitable[bool]]
"""Asks the app for a chunk of at most so many bytes. Returns False if the app has ended."""


class TransferError(FcreviewError):
    """Raised when the app does not send an export completely. The message states the reason."""


@dataclass(slots=True)
class Download:
    """An export that an annotator can fetch, or the reason why it is not available."""

    annotator: str
    name: str
    expires: float  # value of `time.monotonic()` at which the server deletes the file
    file: BufferedRandom | None = None
    problem: str = ""  # why there is no file

    def discard_file(self, problem: str) -> None:
        if self.file is None:
            return
        self.file.close()
        self.file = None
        self.problem = problem


@dataclass(slots=True)
class DownloadStore:
    """Complete exports of all sessions, by the random key that the app gave them."""

    _downloads: dict[str, Download] = field(default_factory=dict)

    def add_file(self, key: str, annotator: str, name: str, file: BufferedRandom) -> None:
        """Offer a complete file. The store closes the file later, which deletes it."""
        self._add(key, Download(annotator, name, monotonic() + KEPT_SECONDS, file=file))

    def add_failure(self, key: str, annotator: str, name: str, problem: str) -> None:
        """Remember why an export is not available, so that the browser gets the reason."""
        self._add(key, Download(annotator, name, monotonic() + KEPT_SECONDS, problem=problem))

    def discard_expired_files(self) -> None:
        now = monotonic()
        for download in self._downloads.values():
            if download.expires < now:
                download.discard_file("expired")

    def discard_all(self) -> None:
        for download in self._downloads.values():
            download.discard_file("the server has stopped")
        self._downloads.clear()

    def find(self, key: str, annotator: str) -> Download | None:
        """Return a download of the annotator. None if it does not exist or belongs to another."""
        self.discard_expired_files()
        download = self._downloads.get(key)
        if download is None or download.annotator != annotator:
            return None
        return download

    def _add(self, key: str, download: Download) -> None:
        """Offer a download. Old downloads are discarded, so that the files take limited room.

        An annotator keeps the newest files only. After that, the key still tells why a file is
        gone.
        """
        if key in self._downloads:
            return
        self.discard_expired_files()
        self._downloads[key] = download
        self._discard_old_files_of(download.annotator)
        while len(self._downloads) > MAX_KEYS:
            oldest_key = next(iter(self._downloads))
            oldest_download = self._downloads.pop(oldest_key)
            oldest_download.discard_file("expired")

    def _discard_old_files_of(self, annotator: str) -> None:
        """Discard all files of an annotator except the newest."""
        with_file = []
        for download in self._downloads.values():
            if download.annotator == annotator and download.file is not None:
                with_file.append(download)
        for download in with_file[:-KEPT_FILES]:
            download.discard_file(f"deleted, because {KEPT_FILES} newer exports are kept")


@dataclass(slots=True)
class Transfer:
    """Receives one export from the app, chunk by chunk."""

    request_chunk: RequestChunk
    _chunk: asyncio.Future[bytes] | None = None  # set while a chunk is requested

    def receive_chunk(self, chunk: bytes) -> None:
        """Take the requested chunk. Ignores a chunk that was not requested."""
        if self._chunk is not None and not self._chunk.done():
            self._chunk.set_result(chunk)

    async def write_to_file(self) -> BufferedRandom:
        """Receive the export, and return the complete file, which nobody else can open.

        Raises: TransferError if the app ends or does not answer, OSError if the disk is full.
        """
        file = tempfile.TemporaryFile(prefix="fcreview-")  # noqa: SIM115 - the store closes it
        try:
            while chunk := await self._fetch_chunk():
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(file.flush)
        except BaseException:
            file.close()
            raise
        return file

    async def _fetch_chunk(self) -> bytes:
        """Return the next chunk. The app sends an empty chunk after the end of the file."""
        self._chunk = asyncio.get_running_loop().create_future()
        if not await self.request_chunk(CHUNK_BYTES):
            raise TransferError("the session has ended")
        try:
            return await asyncio.wait_for(self._chunk, CHUNK_SECONDS)
        except TimeoutError:
            raise TransferError(f"the app did not answer for {CHUNK_SECONDS:.0f} s") from None


async def store_export(
    store: DownloadStore, transfer: Transfer, key: str, *, annotator: str, name: str
) -> None:
    """Receive an export from the app, and offer the complete file or the reason of a failure."""
    try:
        file = await transfer.write_to_file()
    except (TransferError, OSError) as error:
        problem = str(error)
        if isinstance(error, OSError):
            problem = error.strerror or problem
        print_message(f"fcreview: a download of {annotator} failed: {problem}")
        store.add_failure(key, annotator, name, f"failed: {problem}")
        return
    store.add_file(key, annotator, name, file)


async def send_download(request: web.Request, download: Download | None) -> web.StreamResponse:
    """Send an exported file to the browser.

    Raises: HTTPNotFound for an unknown file, HTTPGone for a file that is no longer available.
    """
    if download is None:
        raise web.HTTPNotFound(text="Download not found. Export the file again in the app.\n")
    if download.file is None:
        raise web.HTTPGone(text=f"Download {download.problem}. Export the file again in the app.\n")

    # Another descriptor of the file, because the store may close its own while the file is sent.
    descriptor = os.dup(download.file.fileno())
    try:
        size = os.fstat(descriptor).st_size
        response = web.StreamResponse()
        response.content_type = "application/octet-stream"
        response.content_length = size
        quoted_name = quote(download.name, safe="")
        response.headers[hdrs.CONTENT_DISPOSITION] = f"attachment; filename*=UTF-8''{quoted_name}"
        await response.prepare(request)
        if request.method != hdrs.METH_HEAD:
            await _send_file(response, descriptor, size)
    finally:
        os.close(descriptor)
    return response


async def _send_file(response: web.StreamResponse, descriptor: int, size: int) -> None:
    """Send a file of a known size. Raises ConnectionResetError if it is shorter."""
    position = 0
    while position < size:
        chunk = await asyncio.to_thread(os.pread, descriptor, CHUNK_BYTES, position)
        if not chunk:
            # The browser has the length, so it reports a connection that ends too early.
            raise ConnectionResetError("the temporary file of a download is cut")
        await response.write(chunk)
        position += len(chunk)
    await response.write_eof()
