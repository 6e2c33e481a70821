"""`fcreview serve` in a real browser: log in, review, reload."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyte
import pytest

from fcreview.cli.serve_users import UsersFile
from tests.chromium import TIMEOUT, Browser, chromium, open_browser
from tests.commands import PROGRAM
from tests.waiting import until

pytestmark = [pytest.mark.sweep, pytest.mark.process]
PASSWORD = "correct horse"  # noqa: S105
OPEN_ELSEWHERE = """new Promise(done => {{
    const socket = new WebSocket('ws://{}/ws');
    socket.onopen = () => done('open');
    socket.onerror = () => done('refused');
}})"""


class Server:
    """`fcreview serve` in a separate process, with the user alice."""

    def __init__(self, runs: Path, users: Path, environ: dict[str, str]) -> None:
        arguments = [*PROGRAM, "serve", str(runs), "--users", str(users), "--port", "0"]
        self.process = subprocess.Popen(arguments, env=environ, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.address = re.findall(r"http://localhost:\d+", line)[0]

    @property
    def sessions(self) -> list[str]:
        """Process ids of the sessions."""
        at = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return at.read_text().split()


@pytest.fixture
def server(imported_run: Path, environ: dict[str, str], tmp_path: Path) -> Iterator[Server]:
    UsersFile(tmp_path / "users.toml").set_password("alice", PASSWORD)
    # The tests review an item at once, without the time that a person needs to read it.
    (tmp_path / "config.toml").write_text("[review]\nkey_guard_ms = 0\n")
    config = {"FCREVIEW_CONFIG": str(tmp_path / "config.toml")}
    found = Server(imported_run, tmp_path / "users.toml", environ | config)
    yield found
    found.process.kill()
    found.process.wait()


def screen_of(browser: Browser) -> str:
    """Return the screen that the app has drawn since the page was loaded."""
    browser.value("0")  # process the messages that have arrived
    (socket,) = (each for each in browser.seen.requests if each.startswith("ws"))
    size = parse_qs(urlsplit(socket).query)
    screen = pyte.Screen(int(size["width"][0]), int(size["height"][0]))
    pyte.ByteStream(screen).feed(b"".join(browser.seen.frames).replace(b"\x1b[?2026$p", b""))
    return "\n".join(screen.display)


def wait_for_text(browser: Browser, pattern: str) -> str:
    end = time.monotonic() + TIMEOUT
    while not re.search(pattern, text := screen_of(browser)):
        assert time.monotonic() < end, f"{pattern} never shown:\n{text}"
        time.sleep(0.05)
    return text


def wait_for_page(browser: Browser) -> None:
    """Wait until the page of the app is loaded and its websocket is open."""
    browser.wait_for("document.body !== null && document.body.classList.contains('-loaded')")


def open_socket_from_other_origin(browser: Browser, address: str) -> str:
    """Open the websocket from a page of another origin and return the result."""
    expression = OPEN_ELSEWHERE.format(urlsplit(address).netloc)
    answer = browser.ask(
        "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
    )
    return str(answer["result"]["value"])


def test_a_browser_reviews_and_resumes_after_a_reload(
    browser: Browser, server: Server, imported_run: Path
) -> None:
    assert open_socket_from_other_origin(browser, server.address) == "refused"
    browser.look(1280, 720)
    browser.open(server.address + "/")
    browser.press(*"alice", "Tab", *PASSWORD, "Enter")
    wait_for_page(browser)
    wait_for_text(browser, r"\b1/6\b")
    browser.press("j", "j")  # without a click, because the page has the focus
    wait_for_text(browser, r"\b3/6\s+official")  # the item is shown beside the list
    browser.press("c", control=True)  # copies the text instead of quitting
    browser.press("Enter", "p")
    journal = imported_run / ".fcreview" / "reviews" / "alice.jsonl"
    wait_for_text(browser, r"\b4/6\b")
    until(lambda: journal.exists() and b'"verdict":true' in journal.read_bytes())
    wait_for_text(browser, r"\b4/6\b")
    first_requests, before = browser.seen.requests[:], server.sessions
    browser.seen.requests.clear()
    browser.seen.frames.clear()

    browser.ask("Page.reload")
    wait_for_page(browser)
    wait_for_text(browser, r"\b4/6\b")
    (session,) = server.sessions
    assert [session] != before and journal.read_bytes().count(b"\n") == 1
    asked = [
        each for each in first_requests + browser.seen.requests if not each.startswith("data:")
    ]
    assert {urlsplit(each).netloc for each in asked} == {urlsplit(server.address).netloc}
    # The terminal's script measures itself, and complains about WebGL and a busy machine.
    harmless = ("ping=", "WebGL", "exceeded allotted deadline")
    assert not [
        complaint
        for complaint in browser.seen.complaints
        if not any(text in complaint for text in harmless)
    ]

    server.process.terminate()
    assert server.process.wait(TIMEOUT) == 0
    assert not Path(f"/proc/{session}").exists()
    browser.wait_for("document.activeElement.id === 'reopen'")


def log_in(browser: Browser, server: Server) -> None:
    browser.open(server.address + "/")
    browser.press(*"alice", "Tab", *PASSWORD, "Enter")
    wait_for_page(browser)


def test_a_phone_in_portrait_shows_the_app(browser: Browser, server: Server) -> None:
    browser.look(390, 844, phone=True)
    log_in(browser, server)
    wait_for_text(browser, r"\b1/6\b")
    assert browser.value("document.getElementById('small').hidden")
    browser.look(280, 600, phone=True)
    browser.wait_for("!document.getElementById('small').hidden")
    assert "Turn the phone" in browser.value("document.getElementById('small').innerText")
    browser.look(1280, 720)
    browser.wait_for("document.getElementById('small').hidden")


def test_going_back_after_a_wrong_password_sends_no_form_again(
    browser: Browser, server: Server
) -> None:
    browser.look(1280, 720)
    browser.ask("Network.clearBrowserCookies")
    browser.open(server.address + "/")
    browser.press(*"alice", "Tab", *"wrong password", "Enter")
    browser.wait_for("document.body !== null && document.body.innerText.includes('Wrong name')")
    assert browser.value("location.search") == "?login=wrong"  # so the page was not a form's answer
    assert browser.value("performance.getEntriesByType('navigation')[0].redirectCount") == 1


def test_a_second_tab_shows_a_new_verdict_without_a_key(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    program = chromium()
    assert program is not None
    browser.look(1280, 720)
    browser.ask("Network.clearBrowserCookies")
    log_in(browser, server)
    wait_for_text(browser, r"\b0 of 6 reviewed")
    with open_browser(program, tmp_path / "profile") as second:
        second.look(1280, 720)
        log_in(second, server)
        wait_for_text(second, r"\b0 of 6 reviewed")
        second.press("Enter", "p")
        wait_for_text(second, r"\b1 of 6 reviewed")
    wait_for_text(browser, r"\b1 of 6 reviewed")
