"""Driver for an app in a browser: frames and keys are packets on standard output and input (`fcreview serve`)."""

from __future__ import annotations

import os
import signal

from textual.drivers.web_driver import WebDriver

from fcreview.tui.terminal_output import ScreenDiffDriver


class PacketDriver(WebDriver):
    """Textual's driver for browsers. If the server has gone, the app quits as after SIGTERM."""

    def write(self, data: str) -> None:
        try:
            super().write(data)
        except BrokenPipeError:  # the input ends as well
            return

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGTERM)


class CompactWebDriver(ScreenDiffDriver, PacketDriver):
    """`PacketDriver` with a `ScreenDiff`."""
