"""A download is complete and has its length, or the browser gets an error."""

from __future__ import annotations

import asyncio
import random
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import ClientWebSocketResponse, WSMsgType

from fcreview.cli import serve_downloads, serve_session
from fcreview.cli.serve_login import PasswordLogin
from fcreview.cli.serve_users import UsersFile
from tests.cli.serve.conftest import Browser, start_server

pytestmark = pytest.mark.process
SIZE = 1_000_000
CONTENT = random.Random(1).randbytes(SIZE)
N_CUTS = 100
PROGRAM = """
import json, os, random, signal, sys

def send(kind, payload):
    sys.stdout.buffer.write(kind + len(payload).to_bytes(4, "big") + payload)
    sys.stdout.buffer.flush()

def read_requests():
    stdin = sys.stdin.buffer
    while kind := stdin.read(1):
        payload = stdin.read(int.from_bytes(stdin.read(4), "big"))
        if kind == b"M":
            yield json.loads(payload)
        else:
            command, _, position = payload.decode().partition(" ")
            yield {"type": command, "position": int(position)}

content = random.Random(1).randbytes(1_000_000)
key, offset, end, cut = "", 0, "", len(content)
sys.stdout.buffer.write(b"__GANGLION__\\n")
for request in read_requests():
    if request["type"] in ("complete", "exit", "stop"):
        end, cut, key = request["type"], request["position"], os.urandom(8).hex()
        offset = 0
        send(b"D", key.encode())
        about = {"type": "deliver_file_start", "key": key, "path": "/x/labels.jsonl"}
        send(b"M", json.dumps(about).encode())
    elif request["type"] == "deliver_chunk_request":
        if end != "complete" and offset >= cut:
            if end == "exit":
                os._exit(1)
            os.kill(os.getpid(), signal.SIGSTOP)
        size = request["size"] if end == "complete" else min(request["size"], cut - offset)
        chunk = content[offset : offset + size]
        offset += len(chunk)
        fields = (b"deliver_chunk", key.encode(), chunk)
        texts = b"".join(b"s%d:%s" % (len(text), text) for text in (b"deliver_chunk", key.encode()))
        send(b"P", b"t" + texts + b"%d:%s" % (len(chunk), chunk) + b"e")
"""
"""A program that delivers a file as the app does.

The input `complete 0` starts a delivery, `exit N` a delivery in which the program ends after N
bytes, and `stop N` one in which it stops. It first sends the key of the download as text.
"""


@pytest_asyncio.fixture
async def browser(users_file: UsersFile) -> AsyncIterator[Browser]:
    """A browser of alice, on a server that starts `PROGRAM`."""
    login = PasswordLogin(users_file, "fcreview", is_secure=False)
    found = await start_server(login, program=PROGRAM)
    await found.log_in()
    yield found
    await found.close()


class Tab:
    """A tab of the browser with an open session."""

    def __init__(self, browser: Browser, websocket: ClientWebSocketResponse) -> None:
        self._browser = browser
        self.websocket = websocket

    async def deliver(self, how: str, position: int = 0) -> str:
        """Make the program deliver the file, and return the key of the download."""
        await self.websocket.send_json(["stdin", f"{how} {position}"])
        message = await self.websocket.receive(timeout=30)
        assert message.type == WSMsgType.BINARY, message
        return bytes(message.data).decode()

    async def wait_for_offer(self, key: str) -> None:
        assert await self.websocket.receive_json(timeout=30) == ["deliver_file_start", key]


@pytest.fixture
def open_tab(browser: Browser) -> Callable[[], Awaitable[Tab]]:
    async def open_session() -> Tab:
        return Tab(browser, await browser.open_session())

    return open_session


async def fetch(browser: Browser, key: str) -> tuple[int, bytes, int | None]:
    """Return the status, the content and the announced length of a download."""
    answer = await browser.get(f"/download/{key}")
    return answer.status, await answer.read(), answer.content_length


OpenTab = Callable[[], Awaitable[Tab]]


async def test_a_file_is_sent_completely_any_number_of_times(
    browser: Browser, open_tab: OpenTab
) -> None:
    tab = await open_tab()
    key = await tab.deliver("complete")
    await tab.wait_for_offer(key)
    assert (await browser.head(f"/download/{key}")).content_length == SIZE
    fetched = await asyncio.gather(*[fetch(browser, key) for _ in range(5)])
    assert fetched == [(200, CONTENT, SIZE)] * 5

    await tab.websocket.close()
    assert await fetch(browser, key) == (200, CONTENT, SIZE)


async def test_a_file_is_complete_when_the_tab_closes_or_another_fetch_stops(
    browser: Browser, open_tab: OpenTab
) -> None:
    tab = await open_tab()
    key = await tab.deliver("complete")
    await tab.wait_for_offer(key)
    first = await browser.get(f"/download/{key}")
    start = await first.content.readexactly(1000)
    stopped = await browser.get(f"/download/{key}")
    stopped.close()
    await tab.websocket.close()
    await browser.server_state.end_sessions()
    for _ in range(serve_downloads.KEPT_FILES):
        other = await open_tab()
        await other.wait_for_offer(await other.deliver("complete"))
        await other.websocket.close()
    assert start + await first.read() == CONTENT
    assert (await fetch(browser, key))[0] == 410


@pytest.mark.slow
@pytest.mark.parametrize("how", ["exit", "stop"])
async def test_a_transfer_that_is_cut_at_any_position_never_ends_as_a_complete_file(
    browser: Browser, open_tab: OpenTab, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "stop":
        monkeypatch.setattr(serve_downloads, "CHUNK_SECONDS", 0.2)
        monkeypatch.setattr(serve_session, "END_TIMEOUT", 0.2)
    positions = [*random.Random(2).sample(range(SIZE), N_CUTS - 2), 0, SIZE - 1]
    tries = asyncio.Semaphore(5)

    async def fetch_cut_transfer(position: int) -> tuple[int, bool]:
        """Return the status, and whether the content is the beginning of the file."""
        async with tries:
            tab = await open_tab()
            key = await tab.deliver(how, position)
            if how == "stop":
                await tab.wait_for_offer(key)  # the browser then gets the reason
            else:
                message = await tab.websocket.receive(timeout=30)
                assert message.type == WSMsgType.CLOSE, message
            status, content, _ = await fetch(browser, key)
            await tab.websocket.close()
            return status, CONTENT.startswith(content)

    results = await asyncio.gather(*[fetch_cut_transfer(position) for position in positions])
    expected_status = 410 if how == "stop" else 404
    assert results == [(expected_status, False)] * N_CUTS


async def test_an_app_that_is_busy_still_delivers_the_file(
    browser: Browser, open_tab: OpenTab
) -> None:
    tab = await open_tab()
    key = await tab.deliver("stop", SIZE // 2)
    (session,) = browser.server_state.sessions
    process = session.process._process
    assert process is not None
    status = Path(f"/proc/{process.pid}/stat")
    while status.read_text().rpartition(")")[2].split()[0] != "T":
        await asyncio.sleep(0.01)
    assert (await browser.get(f"/download/{key}")).status == 404
    await asyncio.sleep(5)  # textual-serve gives up after 4 s
    process.send_signal(signal.SIGCONT)
    await tab.wait_for_offer(key)
    status_code, content, size = await fetch(browser, key)
    assert (status_code, size) == (200, len(content))


async def test_a_full_disk_is_reported(browser: Browser, open_tab: OpenTab) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    tab = await open_tab()
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, hard))
    try:
        key = await tab.deliver("complete")
        await tab.wait_for_offer(key)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    answer = await browser.get(f"/download/{key}")
    assert answer.status == 410
    assert "File too large" in await answer.text()


async def test_old_files_expire(
    browser: Browser, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_downloads, "KEPT_SECONDS", 0.0)
    tab = await open_tab()
    key = await tab.deliver("complete")
    await tab.wait_for_offer(key)
    answer = await browser.get(f"/download/{key}")
    assert answer.status == 410
    assert "expired" in await answer.text()
