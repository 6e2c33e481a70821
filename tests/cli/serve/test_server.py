"""The server checks who may open the page, the websocket and downloads, and limits what a
session process gets.
"""

from __future__ import annotations

import asyncio
import json
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType, WSServerHandshakeError

from fcreview.cli import serve_login, serve_server
from fcreview.cli.serve_login import SECRET_HEADER, PasswordLogin
from fcreview.cli.serve_server import open_unix_socket
from fcreview.cli.serve_session import INHERITED
from fcreview.cli.serve_users import UsersFile
from fcreview.errors import CommandError
from tests.cli.serve.conftest import PASSWORD, SECRET, Browser, start_server

pytestmark = pytest.mark.process
ELSEWHERE = "http://evil.example"
PATHS = ("/", "/ws", "/download/x", "/static/page.js", "/terminal/js/textual.js")
HOSTILE_NAMES = (
    "",
    "../evil",
    "a/b",
    ".hidden",
    "-x",
    "a b",
    "x" * 65,
    "a\x1b[2J",
    "alice,bob",
    "%2e%2e",
)


async def receive_environment(websocket: ClientWebSocketResponse) -> dict[str, str]:
    """Return the environment of the process behind a websocket."""
    message = await websocket.receive(timeout=30)
    assert message.type == WSMsgType.BINARY, message
    found: dict[str, str] = json.loads(message.data)
    return found


async def open_session(browser: Browser, **headers: str) -> ClientWebSocketResponse:
    return await browser.ws_connect(
        "/ws?width=100&height=30", headers={"Origin": browser.origin, **headers}
    )


async def test_login_opens_app_as_annotator(browser: Browser) -> None:
    assert "Password" in await (await browser.get("/")).text()
    assert await browser.log_in() == 303
    page = await browser.get("/")
    assert "textual-terminal" in await page.text()
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    environment = await receive_environment(await open_session(browser))
    assert environment["FCREVIEW_ANNOTATOR"] == "alice"
    assert (environment["COLUMNS"], environment["ROWS"]) == ("100", "30")


async def test_cookie_is_hidden_from_scripts_and_other_sites(
    browser: Browser, users_file: UsersFile
) -> None:
    secure = await start_server(PasswordLogin(users_file, "fcreview", is_secure=True))
    for each, wanted in ((browser, {"fcreview"}), (secure, {"__Host-fcreview"})):
        form = {"name": "alice", "password": PASSWORD}
        answer = await each.post(
            "/login", data=form, headers={"Origin": each.origin}, allow_redirects=False
        )
        assert set(answer.cookies) == wanted
        cookie = answer.cookies[wanted.pop()]
        assert (
            cookie["httponly"]
            and cookie["samesite"] == "Strict"
            and bool(cookie["secure"]) is (each is secure)
        )
    await secure.close()


async def test_login_attempts_are_limited(browser: Browser) -> None:
    assert [await browser.log_in("alice", "wrong") for _ in range(5)] == [401] * 5
    assert await browser.log_in() == 429
    assert await browser.log_in("bob") == 303
    statuses = await asyncio.gather(*(browser.log_in("carol") for _ in range(8)))
    assert sorted(statuses) == [401] * 5 + [429] * 3


async def test_login_is_required(browser: Browser) -> None:
    assert (await browser.get("/download/x")).status == 403
    with pytest.raises(WSServerHandshakeError, match="403"):
        await open_session(browser)
    for name in HOSTILE_NAMES:
        assert await browser.log_in(name) in (401, 429)


async def test_other_host_is_refused(browser: Browser) -> None:
    await browser.log_in()
    for path in PATHS:
        for host in ("evil.example", "127.0.0.1", f"evil.example:{browser.port}"):
            assert (
                await browser.get(path, headers={"Host": host, "Origin": browser.origin})
            ).status == 421, path


async def test_other_origin_is_refused(browser: Browser) -> None:
    await browser.log_in()
    for path in PATHS:
        for origin in (ELSEWHERE, "null", f"https://127.0.0.1:{browser.port}"):
            assert (await browser.get(path, headers={"Origin": origin})).status == 403, path
    for path in ("/login", "/logout"):
        for headers in ({}, {"Origin": ELSEWHERE}):
            assert (await browser.post(path, headers=headers, data={})).status == 403
    assert (await browser.get("/ws")).status == 403  # browsers always send the origin
    for path in PATHS[1:]:
        headers = {"Sec-Fetch-Site": "cross-site", "Origin": browser.origin}
        assert (await browser.get(path, headers=headers)).status == 403
    assert not browser.server_state.sessions


async def test_link_on_other_site_opens_page(browser: Browser) -> None:
    answer = await browser.get("/", headers={"Sec-Fetch-Site": "cross-site"})
    assert "refresh" in await answer.text()  # the browser then sends the cookie


async def test_user_header_needs_secret(proxied_browser: Browser) -> None:
    assert (
        await proxied_browser.get("/", headers={"X-User": "alice", SECRET_HEADER: SECRET})
    ).status == 200
    for headers in (
        {"X-User": "alice"},
        {"X-User": "alice", SECRET_HEADER: SECRET + "x"},
        {SECRET_HEADER: SECRET},
    ):
        assert (await proxied_browser.get("/", headers=headers)).status == 403
        with pytest.raises(WSServerHandshakeError, match="403"):
            await open_session(proxied_browser, **headers)
    twice: Any = [("X-User", "alice"), ("X-User", "bob"), (SECRET_HEADER, SECRET)]
    assert (await proxied_browser.get("/", headers=twice)).status == 403


async def test_hostile_names_in_header_are_refused(proxied_browser: Browser) -> None:
    for name in HOSTILE_NAMES:
        if name.isprintable():  # the client cannot send others
            assert (
                await proxied_browser.get("/", headers={"X-User": name, SECRET_HEADER: SECRET})
            ).status == 403, name


async def test_concurrent_annotators_are_not_mixed(proxied_browser: Browser) -> None:
    names = [f"annotator{at}" for at in range(6)]
    sockets = await asyncio.gather(
        *(
            open_session(proxied_browser, **{"X-User": name, SECRET_HEADER: SECRET})
            for name in names
        )
    )
    found = await asyncio.gather(*map(receive_environment, sockets))
    assert [each["FCREVIEW_ANNOTATOR"] for each in found] == names


async def test_process_gets_only_listed_variables(browser: Browser) -> None:
    await browser.log_in()
    environment = await receive_environment(await open_session(browser))
    own = {
        "FCREVIEW_ANNOTATOR",
        "FCREVIEW_BROWSER",
        "TEXTUAL_FPS",
        "TEXTUAL_COLOR_SYSTEM",
        "COLORTERM",
    }
    assert set(environment) - {"LC_CTYPE"} == {"PATH", "HOME", "COLUMNS", "ROWS"} | own
    assert not any(
        "SECRET" in name or name.startswith(("PG", "PYTHONPATH", "LD_")) for name in INHERITED
    )


async def test_sessions_are_limited_and_end_with_tab(browser: Browser) -> None:
    await browser.log_in()
    sockets = [await open_session(browser) for _ in range(3)]
    await asyncio.gather(*map(receive_environment, sockets))
    processes = [session.process._process for session in browser.server_state.sessions]
    refused = await open_session(browser)
    assert b"3 sessions are open" in (await refused.receive(timeout=30)).data
    await sockets[0].close()
    again = await open_session(browser)  # the server waits for the process of the closed tab
    assert (await receive_environment(again))["FCREVIEW_ANNOTATOR"] == "alice"
    await browser.server_state.end_sessions()
    assert not browser.server_state.sessions
    assert all(process is not None and process.returncode is not None for process in processes)


async def test_session_ending_at_start_leaves_no_process(browser: Browser) -> None:
    await browser.log_in()
    await open_session(browser)
    (session,) = browser.server_state.sessions
    await browser.server_state.end_sessions()
    process = session.process._process
    assert process is None or process.returncode is not None


async def test_malformed_messages_are_ignored(browser: Browser) -> None:
    await browser.log_in()
    websocket = await open_session(browser)
    await receive_environment(websocket)
    for text in (
        "",
        "[",
        "[]",
        "{}",
        "1",
        '["stdin"]',
        '["stdin", 1]',
        '["resize", {"width": 1e9}]',
        '["resize", 3]',
    ):
        await websocket.send_str(text)
    await websocket.send_json(["ping", "1"])
    assert await websocket.receive_json(timeout=30) == ["pong", "1"]


async def test_download_belongs_to_annotator(browser: Browser) -> None:
    store = browser.server_state.downloads
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the store closes it
    file.write(b"text")
    file.flush()
    store.add_file("key", "alice", 'a"\r\nb.html', file)
    await browser.log_in("bob")
    assert (await browser.get("/download/key")).status == 404
    await browser.log_in("alice")
    found = await browser.get("/download/key")
    assert await found.read() == b"text" and found.content_type == "application/octet-stream"
    assert found.headers["Content-Disposition"] == "attachment; filename*=UTF-8''a%22%0D%0Ab.html"


async def test_page_after_a_wrong_login_can_be_reloaded(browser: Browser) -> None:
    form = {"name": "alice", "password": "wrong"}
    page = await browser.post("/login", data=form, headers={"Origin": browser.origin})
    assert page.method == "GET" and page.status == 401
    assert "Wrong name or password." in await page.text()
    page = await browser.get("/?login=%3Cb%3E")
    assert page.status == 200 and "<b>" not in await page.text()


MALFORMED_FORMS: list[tuple[str, bytes]] = [
    ("application/x-www-form-urlencoded", b"\xff=\xfe"),
    ("application/x-www-form-urlencoded", b"name=%ff&password=%fe"),
    ("application/x-www-form-urlencoded", b"name=alice&name=bob&password=x"),
    ("application/x-www-form-urlencoded", b"&".join(b"x=1" for _ in range(50))),
    ("application/x-www-form-urlencoded; charset=nonsense", b"\xff"),
    ("multipart/form-data", b"x"),
    ("multipart/form-data; boundary=x", b"--x\r\nnonsense"),
    ("application/json", b"{}"),
    ("nonsense", b"name=alice"),
]


@pytest.mark.parametrize(("content_type", "body"), MALFORMED_FORMS)
async def test_malformed_login_form_is_refused(
    browser: Browser, content_type: str, body: bytes
) -> None:
    headers = {"Origin": browser.origin, "Content-Type": content_type}
    answer = await browser.post("/login", data=body, headers=headers)
    assert answer.status == 400, await answer.text()


async def test_malformed_body_of_login_form_is_refused(browser: Browser) -> None:
    headers = {
        "Origin": browser.origin,
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Encoding": "gzip",
    }
    answer = await browser.post("/login", data=b"no gzip", headers=headers)
    assert answer.status == 400, await answer.text()


async def test_login_form_that_does_not_arrive_is_refused(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_login, "FORM_SECONDS", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", browser.port)
    origin = browser.origin
    host = origin.removeprefix("http://")
    writer.write(
        f"POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Length: 99\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n\r\nname=".encode()
    )
    assert (await asyncio.wait_for(reader.readline(), 30)).startswith(b"HTTP/1.1 408")
    writer.close()


async def wait_for_close(websocket: ClientWebSocketResponse) -> list[bytes]:
    """Wait until the server closes the websocket, without a key press. Return what it sent."""
    received = []
    while (message := await websocket.receive(timeout=30)).type == WSMsgType.BINARY:
        received.append(message.data)
    assert message.type == WSMsgType.CLOSE, message
    return received


async def test_all_tabs_close_after_logout(browser: Browser) -> None:
    await browser.log_in()
    tabs = [await open_session(browser) for _ in range(2)]
    for tab in tabs:
        await receive_environment(tab)
    await browser.post("/logout", headers={"Origin": browser.origin})
    for tab in tabs:
        assert b"You are logged out" in (await wait_for_close(tab))[-1]
    assert "Password" in await (await browser.get("/")).text()


async def test_logout_closes_no_tab_of_another_annotator(
    browser: Browser, users_file: UsersFile
) -> None:
    await browser.log_in("alice")
    alice = await open_session(browser)
    await receive_environment(alice)
    await browser.log_in("bob")
    bob = await open_session(browser)
    await receive_environment(bob)
    await browser.post("/logout", headers={"Origin": browser.origin})
    await wait_for_close(bob)
    await alice.send_json(["ping", "1"])
    assert await alice.receive_json(timeout=30) == ["pong", "1"]


async def test_tab_closes_when_the_user_is_removed(browser: Browser, users_file: UsersFile) -> None:
    await browser.log_in("bob")
    websocket = await open_session(browser)
    await receive_environment(websocket)
    users_file.set_password("bob", "another password")
    await wait_for_close(websocket)
    assert "Password" in await (await browser.get("/")).text()


async def test_tab_closes_when_the_login_expires(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_login, "LOGIN_SECONDS", 1)
    await browser.log_in()
    websocket = await open_session(browser)
    await wait_for_close(websocket)


async def test_no_key_reaches_the_app_after_the_login_ended(
    browser: Browser, users_file: UsersFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_server, "CHECK_SECONDS", 1000)
    await browser.log_in("bob")
    websocket = await open_session(browser)
    await receive_environment(websocket)
    await browser.log_in("bob")  # ends the first wait, which was for a second
    users_file.set_password("bob", "another password")
    await websocket.send_json(["stdin", "p"])
    await wait_for_close(websocket)


def test_only_owner_can_connect_to_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    open_unix_socket(path).close()
    with open_unix_socket(path) as listener:  # replaces the socket of a crashed server
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        listener.listen()
        with pytest.raises(CommandError, match="another server"):
            open_unix_socket(path)
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match="not a socket"):
        open_unix_socket(tmp_path / "file")
