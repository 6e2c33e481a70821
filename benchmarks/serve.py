"""Measure `fcreview serve` in headless Chromium: times to the first picture and of keys, and memory
of sessions.

Usage: python -m benchmarks.serve [PATH] [--sessions N]        (default: a synthetic run of 5,000 items, 20 sessions)
PATH is copied, so that nothing is written to it. Times are from the page: `performance.now()` at a key, and in the
first animation frame after the answer has arrived. Memory is PSS, which counts a page that processes share once.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import aiohttp

from benchmarks.synthetic import write_run
from fcreview.cli.serve_users import UsersFile
from tests.chromium import Browser, chromium, open_browser

FCREVIEW = [sys.executable, "-m", "fcreview.cli"]
STARTS = 5
NAME, PASSWORD = "alice", "correct horse"
RECORD = """
window.keyTimes = []; window.frames_ = [];
const Plain = WebSocket;
window.WebSocket = class extends Plain {
    constructor(...given) {
        super(...given);
        this.addEventListener("message", message => {
            if (typeof message.data !== "string") {
                const text = new TextDecoder().decode(message.data);
                requestAnimationFrame(() => window.frames_.push([performance.now(), text]));
            }
        });
    }
};
document.addEventListener("keydown", () => window.keyTimes.push(performance.now()), true);
"""


def start(run: Path, users: Path, sessions: int) -> tuple[subprocess.Popen[str], str]:
    """Start the server, and return its process and its address."""
    command = [
        *FCREVIEW,
        "serve",
        str(run),
        "--users",
        str(users),
        "--port",
        "0",
        "--max-sessions",
        str(sessions),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, re.findall(r"http://\S+:\d+", process.stdout.readline())[0]


def log_in(browser: Browser, address: str) -> None:
    browser.open(address + "/")
    browser.press(*NAME, "Tab", *PASSWORD, "Enter")
    browser.wait_for("document.body !== null && document.body.classList.contains('-loaded')")


def settle(browser: Browser, seconds: float = 0.4) -> None:
    """Wait until nothing has been drawn for this number of seconds."""
    browser.wait_for(
        "window.frames_.length && performance.now() - frames_[frames_.length - 1][0] >"
        f" {seconds * 1000}"
    )


def measure_starts(browser: Browser) -> None:
    """Print the time until the first picture, and until the items, after the page is loaded
    again.
    """
    first, items = [], []
    for _ in range(STARTS):
        browser.ask("Page.reload")
        time.sleep(0.2)
        browser.wait_for(
            "window.frames_ && frames_.some(each => each[1].includes('simple_python_'))"
        )
        first.append(browser.value("frames_.find(each => each[1].length > 500)[0]"))
        items.append(browser.value("frames_.find(each => each[1].includes('simple_python_'))[0]"))
        settle(browser)
    print(
        f"first picture  median {median(first) / 1000:.2f} s   with items"
        f" {median(items) / 1000:.2f} s"
    )


def measure_key(browser: Browser, label: str, key: str, count: int) -> None:
    times, sizes = [], []
    for _ in range(count):
        settle(browser)
        before = browser.value("frames_.length")
        browser.press(key)
        browser.wait_for(f"frames_.length > {before}")
        settle(browser)
        times.append(browser.value(f"frames_[{before}][0] - keyTimes[keyTimes.length - 1]"))
        sizes.append(
            browser.value(f"frames_.slice({before}).reduce((sum, each) => sum + each[1].length, 0)")
        )
    print(
        f"{label:<14} median {median(times):4.0f} ms   worst {max(times):4.0f} ms  "
        f" {median(sizes):6,.0f} characters"
    )


def read_memory(process: int) -> float:
    """Return the PSS of a process in MB."""
    found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text(), re.M)
    return int(found[1]) / 1024 if found else 0.0


def child_processes(process: int) -> list[int]:
    return [
        int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


async def measure_memory(address: str, server: int, sessions: int) -> None:
    """Open sessions, move to the next items in each, and add up their memory."""
    headers = {"Origin": address}
    async with aiohttp.ClientSession(
        headers=headers, cookie_jar=aiohttp.CookieJar(unsafe=True)
    ) as client:
        await client.post(f"{address}/login", data={"name": NAME, "password": PASSWORD})

        async def use() -> aiohttp.ClientWebSocketResponse:
            websocket = await client.ws_connect(f"{address}/ws?width=140&height=40")
            drawn = b""
            while b"simple_python_" not in drawn:
                drawn += (await websocket.receive_bytes(timeout=120)) or b""
            for key in ("\r", "]", "]", "]", "p", "]"):
                await websocket.send_json(["stdin", key])
                await asyncio.sleep(0.3)
            return websocket

        async def answer(websocket: aiohttp.ClientWebSocketResponse) -> None:
            async for _ in websocket:
                pass

        sockets, readers = [], []
        for _ in range(sessions):
            sockets.append(await use())
            # The server closes a connection without messages.
            readers.append(asyncio.create_task(answer(sockets[-1])))
        await asyncio.sleep(1)
        each = [read_memory(process) for process in child_processes(server)]
        total = sum(each) + read_memory(server)
        print(
            f"{len(each)} sessions    {total:,.0f} MB with the server   {median(each):.0f} MB each"
        )
        for websocket in sockets:
            await websocket.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path, nargs="?")
    parser.add_argument("--sessions", type=int, default=20)
    options = parser.parse_args()
    program = chromium()
    if program is None:
        sys.exit("no Chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = (
            shutil.copytree(options.path, folder / "run")
            if options.path
            else write_run(folder / "run", 5_000)
        )
        UsersFile(folder / "users.toml").set_password(NAME, PASSWORD)
        server, address = start(run, folder / "users.toml", options.sessions)
        try:
            with open_browser(program, folder / "profile") as browser:
                browser.look(1280, 720)
                browser.ask("Page.addScriptToEvaluateOnNewDocument", source=RECORD)
                log_in(browser, address)
                measure_starts(browser)
                measure_key(browser, "cursor down", "j", 12)
                browser.press("Enter")
                measure_key(browser, "next item", "]", 8)
                measure_key(browser, "verdict", "p", 8)
            asyncio.run(measure_memory(address, server.pid, options.sessions))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
