"""Headless Chromium for tests, controlled over a pipe (DevTools protocol), without a network.

Records every request of a page and every message in its console.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT = 60.0
"""Seconds to wait for an answer on a busy machine."""
_OPTIONS = (
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ),
    *(
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
        "--disable-dev-shm-usage",
    ),
    *("--hide-scrollbars", "--remote-debugging-pipe"),
)


def chromium() -> str | None:
    """Return the path of an installed Chromium or Chrome, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass(slots=True)
class Seen:
    """Requests, console messages and websocket frames of a page."""

    requests: list[str] = field(default_factory=list)
    """Requested URLs, including blocked ones."""
    complaints: list[str] = field(default_factory=list)
    """Console messages, log entries and exceptions."""
    frames: list[bytes] = field(default_factory=list)
    """Binary websocket messages."""


class Browser:
    """A browser tab."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._last, self._read = 0, b""
        self._session = ""
        self.seen = Seen()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a DevTools method and return its result. Raises RuntimeError if the method fails."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        found: dict[str, Any] = answer["result"]
        return found

    def open(self, page: Path | str) -> Seen:
        """Open a file or URL and wait until the page is loaded and painted."""
        self.seen = Seen()
        address = page if isinstance(page, str) else page.as_uri()
        self.ask("Page.navigate", url=address)
        self.wait_for(
            f"document.readyState == 'complete' && location.href == {json.dumps(address)}"
        )
        self.ask("Runtime.evaluate", expression=_PAINTED, awaitPromise=True)
        return self.seen

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true in the page."""
        end = time.monotonic() + TIMEOUT
        while not self.value(condition):
            if time.monotonic() > end:
                raise RuntimeError(f"never true: {condition}")
            time.sleep(0.02)

    def press(self, *keys: str, control: bool = False) -> None:
        """Press characters, or named keys such as `Enter`."""
        for key in keys:
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 and not control else "")
            how = {"key": key, "modifiers": 2 * control, **_key_code(key)}
            self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **how)
            self.ask("Input.dispatchKeyEvent", type="keyUp", **how)

    def value(self, expression: str) -> Any:
        """Evaluate a JavaScript expression in the page and return its JSON value."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def look(self, width: int, height: int = 844, *, phone: bool = False, media: str = "") -> None:
        """Set the size of the window in CSS pixels.

        `media` is `print` for the print style sheet.
        """
        sizes = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.ask("Emulation.setDeviceMetricsOverride", **sizes)
        self.ask("Emulation.setEmulatedMedia", media=media)
        self.ask("Runtime.evaluate", expression=_PAINTED, awaitPromise=True)

    def picture(self) -> bytes:
        """Return a PNG of the visible part of the page."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def pdf(self) -> bytes:
        """Print the page on A4 with the page's own margins."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
        return base64.b64decode(self.ask("Page.printToPDF", **paper)["data"])

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.seen.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.seen.requests.append(params["url"])
        elif method == "Network.webSocketFrameReceived" and params["response"]["opcode"] == 2:
            self.seen.frames.append(base64.b64decode(params["response"]["payloadData"]))
        elif method == "Log.entryAdded":
            self.seen.complaints.append(params["entry"]["text"])
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.seen.complaints.append(json.dumps(params))

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + TIMEOUT
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._back], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._back, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer")
            self._read += part
        line, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


def _key_code(key: str) -> dict[str, int]:
    codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40}
    return {
        "windowsVirtualKeyCode": codes[key]
        if key in codes
        else ord(key.upper())
        if key.isalnum()
        else 0
    }


_PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@contextmanager
def open_browser(program: str, folder: Path) -> Iterator[Browser]:
    """Start a browser with its profile in `folder`, and end it on exit."""
    asked, to = os.pipe()
    back, answered = os.pipe()
    script = f'exec "$@" 3<&{asked} 4>&{answered}'
    command = [
        "bash",
        "-c",
        script,
        "bash",
        program,
        *_OPTIONS,
        f"--user-data-dir={folder}",
        "about:blank",
    ]
    environment = os.environ | {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_CACHE_HOME": str(folder),
    }
    process = subprocess.Popen(
        command,
        pass_fds=(asked, answered),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(asked)
    os.close(answered)
    try:
        browser = Browser(to, back)
        yield browser
        browser._session = ""
        browser.ask("Browser.close")
    finally:
        os.close(to)
        os.close(back)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
