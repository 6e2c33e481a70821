"""Fixtures with a server in this process that starts a small program in place of the app."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import ClientWebSocketResponse
from aiohttp.test_utils import TestClient, TestServer, get_port_socket

from fcreview.cli import serve_users as users
from fcreview.cli.serve_login import AllowedOrigins, HeaderLogin, Login, PasswordLogin
from fcreview.cli.serve_server import BrowserServer
from fcreview.cli.serve_session import SessionCommand
from fcreview.cli.serve_users import UsersFile

PASSWORD = "correct horse"  # noqa: S105
SECRET = "a secret of the proxy"  # noqa: S105
PROGRAM = """
import json, os, sys
text = json.dumps(dict(os.environ)).encode()
sys.stdout.buffer.write(b"__GANGLION__\\nD" + len(text).to_bytes(4, "big") + text)
sys.stdout.buffer.flush()
sys.stdin.buffer.read()
"""
"""A program that sends its environment and waits for the end of its input."""


@dataclass(frozen=True, slots=True)
class ProgramCommand(SessionCommand):
    program: str = PROGRAM

    @property
    def process_arguments(self) -> list[str]:
        return [sys.executable, "-I", "-S", "-c", self.program]


class Browser(TestClient):  # type: ignore[type-arg]
    """A browser that sends the origin of the server's page."""

    server_state: BrowserServer
    origin: str

    async def log_in(self, name: str = "alice", password: str = PASSWORD) -> int:
        """Send the login form, and return 303, or the status of the page after a failure."""
        form = {"name": name, "password": password}
        answer = await self.post(
            "/login", data=form, headers={"Origin": self.origin}, allow_redirects=False
        )
        assert answer.status == 303, await answer.text()
        return {"/": 303, "/?login=wrong": 401, "/?login=limited": 429}[answer.headers["Location"]]

    async def open_session(self, **headers: str) -> ClientWebSocketResponse:
        return await self.ws_connect(
            "/ws?width=100&height=30", headers={"Origin": self.origin, **headers}
        )


async def start_server(login: Login, max_sessions: int = 20, program: str = PROGRAM) -> Browser:
    listener = get_port_socket("127.0.0.1", 0, socket.AF_INET)
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    environment = {
        "PATH": "/bin",
        "HOME": "/home/x",
        "PGPASSWORD": "x",
        "FCREVIEW_SERVE_SECRET": "x",
    }
    command = ProgramCommand([], environment, program)
    server = BrowserServer(command, login, AllowedOrigins(frozenset({origin})), max_sessions)
    browser = Browser(TestServer(server.make_web_app(), socket_factory=lambda *_: listener))
    browser.server_state, browser.origin = server, origin
    await browser.start_server()
    return browser


@pytest.fixture
def users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UsersFile:
    """A users file with alice and bob and fast hashes."""
    monkeypatch.setattr(users, "_COST", users.ScryptCost(4, 8, 1))
    monkeypatch.setattr(users, "_UNKNOWN_USER", users.PasswordHash.create("unknown user"))
    file = UsersFile(tmp_path / "users.toml")
    for name in ("alice", "bob"):
        file.set_password(name, PASSWORD)
    return file


@pytest_asyncio.fixture
async def browser(users_file: UsersFile) -> AsyncIterator[Browser]:
    """A browser that is not logged in."""
    found = await start_server(
        PasswordLogin(users_file, "fcreview", is_secure=False), max_sessions=3
    )
    yield found
    await found.close()


@pytest_asyncio.fixture
async def proxied_browser() -> AsyncIterator[Browser]:
    """A browser behind a proxy that sends `X-User` and a secret."""
    found = await start_server(HeaderLogin("X-User", SECRET))
    yield found
    await found.close()
