"""Run the app in a browser: send frames and receive keys as packets on stdout and stdin (`fcreview serve`)."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any

from textual.drivers.web_driver import WebDriver

from fcreview.tui.terminal_output import ScreenDiffDriver


def _write_packet(descriptor: int, packet: bytes) -> int:
    """Write a packet, and return the number of written bytes: 0 if the server has ended."""
    try:
        return os.write(descriptor, packet)
    except BrokenPipeError:  # the input ends too, and then the app quits
        return 0


class PacketDriver(WebDriver):
    """Textual's driver for browsers. If the server ends, the app quits as after SIGTERM."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._write = partial(_write_packet, self.fileno)

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGTERM)


class CompactWebDriver(ScreenDiffDriver, PacketDriver):
    """`PacketDriver` with reduced output."""
