"""The process of a browser session exchanges packets on its input and output."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pyte
import pytest

from tests.commands import PROGRAM

pytestmark = [pytest.mark.process, pytest.mark.sweep]
COLUMNS, ROWS = 100, 30


class Session:
    """A process of the app and the screen that it draws."""

    def __init__(self, runs: Path, environ: dict[str, str]) -> None:
        environ |= {
            "FCREVIEW_BROWSER": "1",
            "FCREVIEW_ANNOTATOR": "anna",
            "COLUMNS": str(COLUMNS),
            "ROWS": str(ROWS),
        }
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*PROGRAM, "open", str(runs)], env=environ, stdin=pipe, stdout=pipe, process_group=0
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._input, self._output = self.process.stdin, self.process.stdout
        assert self._output.readline() == b"__GANGLION__\n"
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)

    def wait_for(self, text: str) -> None:
        while text not in "\n".join(self._screen.display):
            kind, size = self._output.read(1), int.from_bytes(self._output.read(4), "big")
            packet = self._output.read(size)
            if kind == b"D":
                self._stream.feed(packet.replace(b"\x1b[?2026$p", b""))

    def type(self, keys: str) -> None:
        self._input.write(b"D" + len(keys).to_bytes(4, "big") + keys.encode())
        self._input.flush()

    def lose_server(self) -> int:
        """Close the pipes, as when the server was killed, and return the exit code."""
        self._input.close()
        self._output.close()
        return self.process.wait(60)


def list_files(folder: Path) -> set[str]:
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}


def test_session_ends_with_server_and_keeps_position(
    imported_run: Path, environ: dict[str, str]
) -> None:
    before = list_files(imported_run)
    session = Session(imported_run, environ)
    session.wait_for("1/6")
    session.type("jj")
    session.wait_for("3/6")
    session.type("\x1a")  # no job of a shell: the session continues
    session.type(":theme fcreview-light")
    session.wait_for("theme fcreview-light ")
    session.type("\r")
    session.wait_for("3/6")
    assert session.lose_server() != 0
    own = imported_run / ".fcreview"
    assert json.loads((own / "positions" / "anna.json").read_text())["levels"][-1]["line"] == 2
    written = list_files(imported_run) - before - {".fcreview/seen.json"}
    assert written <= {".fcreview/positions/anna.json", ".fcreview/theme/anna.json"}
    assert not list(Path(environ["HOME"]).iterdir())
