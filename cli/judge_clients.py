"""Send prompts to a judge: an OpenAI-compatible endpoint, or a command that runs on this machine.

A client returns a verdict or raises JudgeFailure. It never follows a redirection, because the key
would go to another host, and it reads at most `MAX_REPLY_BYTES` of a reply. Texts in replies and
errors are returned without the key.
"""

from __future__ import annotations

import http.client
import os
import select
import shlex
import signal
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar
from urllib.parse import SplitResult, urlsplit

import orjson

from fcreview.errors import CommandError, UsageError
from fcreview.judging.reply import (
    JudgeFailure,
    JudgeReply,
    Redactor,
    parse_command_reply,
    parse_completion,
)
from fcreview.model.sanitize import redact_third_party_keys

T = TypeVar("T")

MAX_REPLY_BYTES = 1 << 20
"""Largest reply of a judge that is read, in bytes."""
COMPLETIONS_PATH = "/chat/completions"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
TEMPORARY_STATUSES = (408, 409, 425, 429)
"""HTTP statuses, besides 500 and above, after which the same request can succeed."""
WRONG_SETUP_STATUSES = (401, 403, 404, 405, 407)
"""HTTP statuses that every further request would get too."""
CHUNK_BYTES = 1 << 16


class JudgeUnavailableError(CommandError):
    """Raised if all further requests would fail too, for example because the key is wrong."""


@dataclass(frozen=True, slots=True)
class JudgeRequest(Generic[T]):
    """A question to a judge."""

    id: str
    prompt: str
    item: Mapping[str, Any]
    """What identifies the item, as JSON."""
    subject: T
    """What the caller needs to record the result."""


class JudgeClient(ABC):
    """A judge. Each thread has a client of its own."""

    @abstractmethod
    def ask(self, request: JudgeRequest[Any]) -> JudgeReply:
        """Return the verdict of the judge. Raises JudgeFailure or JudgeUnavailableError."""

    @abstractmethod
    def abort(self) -> None:
        """End a running request. Any thread can call this."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources. Only the thread that asks can call this."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint for chat completions, with the key in a separate field."""

    url: SplitResult
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request."""
    key: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """URL without user name, password and query."""
        return f"{self.url.scheme}://{self.url.netloc}{self.url.path}"

    @property
    def redactor(self) -> Redactor:
        return Redactor(self.key)


def parse_endpoint(
    url: str, model: str, *, parameters: Mapping[str, Any], key_variable: str | None
) -> Endpoint:
    """Check the URL of an endpoint, and read its key from an environment variable.

    Raises UsageError, without the key, if something is missing or unsafe.
    """
    parts = _parse_url(url)
    path = parts.path.rstrip("/")
    if not path.endswith(COMPLETIONS_PATH):
        path += COMPLETIONS_PATH
    parts = parts._replace(path=path)
    if not model:
        raise UsageError("--endpoint needs --model NAME")

    key = _read_key(key_variable)
    if key and parts.scheme == "http" and parts.hostname not in LOCAL_HOSTS:
        raise UsageError(
            "the key would be sent without encryption. Use https, or an endpoint on this machine"
        )
    return Endpoint(parts, model, parameters=parameters, key=key)


def _parse_url(url: str) -> SplitResult:
    """Parse the value of --endpoint. Raises UsageError for an unusable URL, and for one with
    secrets.
    """
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise UsageError("--endpoint is no valid URL") from None
    if parts.scheme not in ("http", "https") or not has_host:
        raise UsageError("--endpoint must be a URL such as https://api.example.com/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        # Such parts often contain keys, and the URL is printed and stored.
        raise UsageError(
            "--endpoint must have no user name, query or fragment. Pass a key with --key-env"
        )
    return parts


def _read_key(variable: str | None) -> str:
    """Return the key from an environment variable. Raises UsageError if it is not a usable key."""
    if variable is None:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"the environment variable {variable!a} of --key-env is empty or not set")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"the value of the environment variable {variable!a} is no valid key")
    return key


class EndpointClient(JudgeClient):
    """Sends chat completions over plain HTTP."""

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        self._endpoint = endpoint
        self._redactor = endpoint.redactor
        self._timeout = timeout
        self._socket: socket.socket | None = None
        """Socket of the running request. The connection forgets it when a reply begins that has no
        length.
        """

    def ask(self, request: JudgeRequest[Any]) -> JudgeReply:
        """Ask the endpoint by a chat completion with one message, the prompt."""
        body = {
            "model": self._endpoint.model,
            "messages": [{"role": "user", "content": request.prompt}],
            **self._endpoint.parameters,
        }
        content = self._send(orjson.dumps(body))
        return parse_completion(content, self._redactor)

    def abort(self) -> None:
        _shut_down(self._socket)

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    def _send(self, body: bytes) -> bytes:
        """Send a request, and return the body of a successful response.

        At the deadline, a timer in another thread shuts down the socket. Depending on what this
        thread does at that moment, it then gets an error, or what looks like the end of the reply.
        """
        connection = self._make_connection()
        deadline = _Deadline(self._timeout, self.abort)
        try:
            with deadline:
                content = self._connect_and_exchange(connection, body, deadline)
        # `http.client` raises ValueError for some malformed replies, such as a negative length.
        except (OSError, http.client.HTTPException, ValueError) as error:
            # The timeout of the socket may end some milliseconds before the timer of the request.
            if deadline.is_over or isinstance(error, TimeoutError):
                raise self._make_timeout_failure() from None
            message = self._redactor.shorten(f"{type(error).__name__}: {error}")
            raise JudgeFailure("connection", message, is_temporary=True) from None
        finally:
            self._socket = None
            connection.close()

        if deadline.is_over:
            raise self._make_timeout_failure()
        return content

    def _connect_and_exchange(
        self, connection: http.client.HTTPConnection, body: bytes, deadline: _Deadline
    ) -> bytes:
        """Connect, send a request, and return the body of the response."""
        connection.connect()
        self._socket = connection.sock
        # The timer may have ended before there was a socket that it could shut down.
        if deadline.is_over:
            raise self._make_timeout_failure()
        return self._exchange(connection, body)

    def _make_connection(self) -> http.client.HTTPConnection:
        url = self._endpoint.url
        host = url.hostname or ""
        if url.scheme == "https":
            return http.client.HTTPSConnection(host, url.port, timeout=self._timeout)
        return http.client.HTTPConnection(host, url.port, timeout=self._timeout)

    def _exchange(self, connection: http.client.HTTPConnection, body: bytes) -> bytes:
        """Send a request and return the body of the response. Raises an error for any status but
        200.
        """
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        connection.request("POST", self._endpoint.url.path, body, headers)
        with closing(connection.getresponse()) as response:
            content = _read_bounded(response)
        if response.status != http.client.OK:
            self._raise_for_status(response, content)
        return content

    def _raise_for_status(self, response: http.client.HTTPResponse, content: bytes) -> None:
        """Raise the error for a response with another status than 200. It is JudgeUnavailableError
        if all further requests would fail too, else JudgeFailure.
        """
        status = response.status
        text = content.decode("utf-8", "replace")
        message = self._redactor.shorten(f"HTTP {status} {response.reason}: {text}")

        if 300 <= status < 400:
            raise JudgeUnavailableError(
                f"the endpoint redirects to another address (HTTP {status}). fcreview follows no"
                " redirection, because the key would go there. Pass the final URL"
            )
        if status in WRONG_SETUP_STATUSES:
            raise JudgeUnavailableError(f"the endpoint refuses the requests: {message}")

        is_temporary = status in TEMPORARY_STATUSES or status >= http.client.INTERNAL_SERVER_ERROR
        raise JudgeFailure(
            "http_error",
            message,
            is_temporary=is_temporary,
            retry_after=parse_retry_after(response.headers.get("Retry-After")),
        )

    def _make_timeout_failure(self) -> JudgeFailure:
        return JudgeFailure("timeout", f"no reply in {self._timeout:g} s", is_temporary=True)


class _Deadline:
    """Calls a function if a `with` block takes too long. A timeout of a socket would not be enough,
    because it restarts with each read.
    """

    def __init__(self, seconds: float, abort: Callable[[], None]) -> None:
        self.is_over = False
        self._abort = abort
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self.is_over = True
        self._abort()


def _shut_down(sock: socket.socket | None) -> None:
    """End a connection of another thread, which then gets an error or the end of the data."""
    if sock is None:
        return
    with suppress(OSError):
        # The method of an encrypted socket would change an object that the other thread uses.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _read_bounded(response: http.client.HTTPResponse) -> bytes:
    """Read the body. Raises JudgeFailure if it is larger than `MAX_REPLY_BYTES`."""
    content = b""
    while True:
        chunk = response.read(CHUNK_BYTES)
        if not chunk:
            return content
        content += chunk
        if len(content) > MAX_REPLY_BYTES:
            raise JudgeFailure("too_large", f"the reply has more than {MAX_REPLY_BYTES:,} bytes")


MAX_SECONDS_DIGITS = 9  # so many digits are longer than any sensible pause


def parse_retry_after(value: str | None) -> float | None:
    """Return the seconds of a header `Retry-After`: a number, or a date. None if it is neither."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value[:MAX_SECONDS_DIGITS])
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def parse_command(text: str) -> list[str]:
    """Split a command as a shell does. Raises UsageError if it is empty or has an open quote."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--command cannot be read: {error}") from None
    if not words:
        raise UsageError("--command is empty")
    return words


def describe_command(text: str) -> str:
    """Return a command without keys, to print and to store it."""
    redacted: str = redact_third_party_keys(Redactor().redact(text))
    return redacted


class CommandClient(JudgeClient):
    """Runs a command that reads a request and writes a reply on one line each.

    The command starts with the first request. It starts again after a reply that is late or wrong,
    because a late reply would be taken for that to the next request.
    """

    def __init__(self, words: list[str], timeout: float) -> None:
        self._words = words
        self._timeout = timeout
        self._redactor = Redactor()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: JudgeRequest[Any]) -> JudgeReply:
        """Ask the command. After a failure it is ended, because a late reply would look like the
        next one.
        """
        content = {"id": request.id, "prompt": request.prompt, "item": request.item}
        line = orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)
        try:
            return parse_command_reply(self._exchange(line), request.id, self._redactor)
        except JudgeFailure:
            self.close()
            raise

    def abort(self) -> None:
        # The thread that asks then reads the end of the output, and closes it.
        if self._process is not None:
            _kill_group(self._process)

    def close(self) -> None:
        """End the command with its whole process group, and close its streams."""
        process = self._process
        self._process = None
        if process is None:
            return
        _kill_group(process)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _exchange(self, line: bytes) -> bytes:
        """Send a line to the command, which is started if necessary, and return the line it
        replies.
        """
        process = self._process or self._start()
        self._process = process
        if process.stdin is None or process.stdout is None:
            raise JudgeFailure("command", "the command has no input or output")
        deadline = time.monotonic() + self._timeout
        os.set_blocking(process.stdin.fileno(), False)
        _write_before(process.stdin.fileno(), line, deadline)
        return _read_line_before(process.stdout.fileno(), deadline)

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the command of --command. Raises JudgeUnavailableError if that is impossible."""
        try:
            # A session of its own, so that the whole process group can be ended.
            return subprocess.Popen(  # noqa: S603 - the user names the command
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise JudgeUnavailableError(
                f"the command of --command cannot start: {error.strerror or error}"
            ) from None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a command and the processes that it has started."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _write_before(descriptor: int, data: bytes, deadline: float) -> None:
    """Write data to the command. Raises JudgeFailure at the deadline or if the command ends."""
    n_written = 0
    while n_written < len(data):
        _wait_until_ready(deadline, write=descriptor)
        try:
            n_written += os.write(descriptor, data[n_written : n_written + CHUNK_BYTES])
        except BlockingIOError:
            continue
        except OSError:
            raise JudgeFailure("command", "the command has ended") from None


def _read_line_before(descriptor: int, deadline: float) -> bytes:
    """Read one line. The command writes nothing more before the next request."""
    content = b""
    while not content.endswith(b"\n"):
        _wait_until_ready(deadline, read=descriptor)
        chunk = os.read(descriptor, CHUNK_BYTES)
        if not chunk:
            raise JudgeFailure("command", "the command has ended without a reply")
        content += chunk
        if len(content) > MAX_REPLY_BYTES:
            raise JudgeFailure("too_large", f"the reply has more than {MAX_REPLY_BYTES:,} bytes")
    return content


def _wait_until_ready(
    deadline: float, *, read: int | None = None, write: int | None = None
) -> None:
    """Wait until a file descriptor can be read or written. Raises JudgeFailure if it is late."""
    remaining = deadline - time.monotonic()
    reads = [] if read is None else [read]
    writes = [] if write is None else [write]
    is_ready = remaining > 0 and any(select.select(reads, writes, [], remaining))
    if not is_ready:
        raise JudgeFailure("timeout", "the command gave no reply in time")
