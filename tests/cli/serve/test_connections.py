"""Unfinished connections do not keep annotators from logging in, and an app that does not read does
not outlive its tab.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from time import monotonic

import pytest
import pytest_asyncio
from aiohttp import ClientSession, CookieJar, WSMsgType, web
from aiohttp.test_utils import get_port_socket

from fcreview.cli import serve_connections, serve_session
from fcreview.cli.serve_connections import ConnectionLimiter
from fcreview.cli.serve_login import AllowedOrigins, PasswordLogin
from fcreview.cli.serve_server import BrowserServer
from fcreview.cli.serve_users import UsersFile
from tests.cli.serve.conftest import PASSWORD, Browser, ProgramCommand, start_server

pytestmark = pytest.mark.process
N_UNFINISHED = 600
DEAF_PROGRAM = """
import sys, time
sys.stdout.buffer.write(b"__GANGLION__\\nD\\0\\0\\0\\1x")
sys.stdout.buffer.flush()
time.sleep(1000)
"""
"""A program that never reads its input."""


class LimitedServer:
    """A server with its own listening socket, as `fcreview serve` has."""

    def __init__(self, users_file: UsersFile, limiter: ConnectionLimiter) -> None:
        self.listener = get_port_socket("127.0.0.1", 0, socket.AF_INET)
        self.port = self.listener.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        login = PasswordLogin(users_file, "fcreview", is_secure=False)
        self.server = BrowserServer(
            ProgramCommand([], {"PATH": "/bin"}),
            login,
            AllowedOrigins(frozenset({self.origin})),
            connections=limiter,
        )
        self.runner = web.AppRunner(self.server.make_web_app())

    async def start(self) -> None:
        await self.runner.setup()
        assert self.runner.server is not None
        self.listener.listen(128)
        accepting = self.server.connections.accept(self.listener, self.runner.server)
        self._accepting = asyncio.create_task(accepting)

    async def stop(self) -> None:
        self._accepting.cancel()
        with suppress(asyncio.CancelledError):
            await self._accepting
        await self.runner.cleanup()
        self.listener.close()

    async def open(self, text: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text.encode())
        return reader, writer

    async def log_in(self) -> int:
        """Log in as alice with a new connection, and return the status of the page."""
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
            form = {"name": "alice", "password": PASSWORD}
            headers = {"Origin": self.origin}
            page = await client.post(f"{self.origin}/login", data=form, headers=headers)
            assert "textual-terminal" in await page.text()
            return page.status


@pytest_asyncio.fixture
async def server(users_file: UsersFile) -> AsyncIterator[LimitedServer]:
    found = LimitedServer(users_file, ConnectionLimiter(200))
    await found.start()
    yield found
    await found.stop()


@pytest.mark.parametrize("text", ["", "GET / HTTP/1.1\r\nHost: x\r\nX-A: "])
async def test_unfinished_connections_do_not_block_a_login(
    server: LimitedServer, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    connections = [await server.open(text) for _ in range(N_UNFINISHED)]
    assert await server.log_in() == 200
    assert len(server.server.connections._connections) <= 200
    assert capsys.readouterr().err.count("\n") == 1
    for _, writer in connections:
        writer.close()


async def test_connection_without_a_complete_header_is_closed(
    users_file: UsersFile, capsys: pytest.CaptureFixture[str]
) -> None:
    server = LimitedServer(users_file, ConnectionLimiter(header_seconds=0.3))
    await server.start()
    reader, writer = await server.open("GET / HTTP/1.1\r\n")
    started = monotonic()
    with suppress(ConnectionError):
        for _ in range(100):  # slowly, so that the connection is never idle
            writer.write(b"X: y\r\n")
            await asyncio.wait_for(asyncio.shield(writer.drain()), 1)
            await asyncio.sleep(0.1)
            if reader.at_eof():
                break
    assert monotonic() - started < 8
    assert capsys.readouterr().err == ""
    writer.close()
    await server.stop()


async def test_limit_of_an_address_leaves_connections_of_others(users_file: UsersFile) -> None:
    limiter = ConnectionLimiter(max_per_address=3, is_local=lambda _: False)
    server = LimitedServer(users_file, limiter)
    await server.start()
    first = [await server.open() for _ in range(3)]
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, local_addr=("127.0.0.2", 0)
    )
    others = [await server.open() for _ in range(5)]
    assert await asyncio.wait_for(first[0][0].read(), 30) == b""
    assert await asyncio.wait_for(others[1][0].read(), 30) == b""
    assert sorted(each.address for each in limiter._connections) == ["127.0.0.1"] * 3 + [
        "127.0.0.2"
    ]
    writer.write(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    await server.stop()


async def test_open_session_has_no_deadline(
    users_file: UsersFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_connections, "NEXT_REQUEST_SECONDS", 0.2)
    server = LimitedServer(users_file, ConnectionLimiter(header_seconds=0.2))
    await server.start()
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
        headers = {"Origin": server.origin}
        form = {"name": "alice", "password": PASSWORD}
        await client.post(f"{server.origin}/login", data=form, headers=headers)
        websocket = await client.ws_connect(f"{server.origin}/ws", headers=headers)
        assert (await websocket.receive(timeout=30)).type == WSMsgType.BINARY
        await asyncio.sleep(1)
        await websocket.send_json(["ping", "1"])
        assert await websocket.receive_json(timeout=30) == ["pong", "1"]
    await server.stop()


async def test_app_that_does_not_read_ends_with_its_tab(
    users_file: UsersFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_session, "END_TIMEOUT", 0.5)
    browser = await start_server(
        PasswordLogin(users_file, "fcreview", is_secure=False), program=DEAF_PROGRAM
    )
    await browser.log_in()
    websocket = await browser.open_session()
    assert (await websocket.receive(timeout=30)).type == WSMsgType.BINARY
    for _ in range(3):  # more than the pipe to the app holds
        await websocket.send_json(["stdin", "x" * 900_000])
    await websocket.send_json(["ping", "1"])
    assert await websocket.receive_json(timeout=30) == ["pong", "1"]
    process = process_of(browser)
    process.send_signal(signal.SIGSTOP)
    await websocket.close()
    await asyncio.wait_for(process.wait(), 30)
    await browser.close()


async def test_flood_of_pastes_ends_the_session_with_a_reason(users_file: UsersFile) -> None:
    browser = await start_server(
        PasswordLogin(users_file, "fcreview", is_secure=False), program=DEAF_PROGRAM
    )
    await browser.log_in()
    websocket = await browser.open_session()
    assert (await websocket.receive(timeout=30)).type == WSMsgType.BINARY
    process = process_of(browser)
    with suppress(ConnectionError):
        for _ in range(20):
            await websocket.send_json(["stdin", "x" * 900_000])
    message = await websocket.receive(timeout=30)
    assert b"does not read its input" in message.data
    assert (await websocket.receive(timeout=30)).type == WSMsgType.CLOSE
    await asyncio.wait_for(process.wait(), 30)
    await browser.close()


def process_of(browser: Browser) -> asyncio.subprocess.Process:
    (session,) = browser.server_state.sessions
    process = session.process._process
    assert process is not None
    return process
