"""The process of a session without a server: packets on its input and output."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.commands import PROGRAM

pytestmark = [pytest.mark.process, pytest.mark.sweep]


def read_packet(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    kind, size = process.stdout.read(1), int.from_bytes(process.stdout.read(4), "big")
    return kind, process.stdout.read(size)


def test_a_session_ends_with_its_server_and_keeps_its_place(known_run: Path, environ: dict[str, str]) -> None:
    environ |= {"FCREVIEW_BROWSER": "1", "FCREVIEW_ANNOTATOR": "anna", "COLUMNS": "100", "ROWS": "30"}
    process = subprocess.Popen(
        [*PROGRAM, "open", str(known_run)], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == b"__GANGLION__\n"
    drawn = b""
    while b"maple" not in drawn:
        drawn += read_packet(process)[1]
    keys = b"jj"
    process.stdin.write(b"D" + len(keys).to_bytes(4, "big") + keys)
    process.stdin.flush()
    while b"3/6" not in drawn:
        drawn += read_packet(process)[1]
    process.stdin.close()  # as when the server was killed
    process.stdout.close()
    assert process.wait(30) != 0
    position = json.loads((known_run / ".fcreview" / "positions" / "anna.json").read_text())
    assert position["levels"][-1]["line"] == 2
    assert not list((known_run / ".fcreview").glob("first/*")) and not list(Path(environ["HOME"]).iterdir())
