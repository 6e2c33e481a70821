"""Keys, tags, reasons and colours of the configuration file work in the app, and errors name the
file.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyte
import pytest

from tests.faults.pty_program import screen_text

Cli = Callable[..., Any]
KEYS = {"enter": b"\r", "escape": b"\x1b", "pagedown": b"\x1b[6~"}


class Terminal:
    """`fcreview` in a terminal of 100x30 cells."""

    def __init__(self, arguments: list[str], environ: dict[str, str]) -> None:
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self._screen)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
            program = [sys.executable, "-m", "fcreview.cli", *arguments]
            os.execve(  # noqa: S606
                sys.executable,
                program,
                {**environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"},
            )

    def wait_for(self, *texts: str) -> list[str]:
        """Wait until the screen has all of the texts, and return its lines."""
        end = time.monotonic() + 60
        while not all(text in screen_text(self._screen) for text in texts):
            assert time.monotonic() < end, screen_text(self._screen)
            if select.select([self._fd], [], [], 0.2)[0]:
                try:
                    self._stream.feed(os.read(self._fd, 65536))
                except OSError:
                    pytest.fail("program ended: " + screen_text(self._screen))
        return [line.rstrip() for line in screen_text(self._screen).splitlines()]

    def colours_of(self, text: str) -> set[str]:
        """Return the colours of this character on the screen."""
        cells = (cell for row in self._screen.buffer.values() for cell in row.values())
        return {cell.fg for cell in cells if cell.data == text}

    def press(self, key: str) -> None:
        os.write(self._fd, KEYS.get(key, key.encode()))

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)


@contextmanager
def terminal(*arguments: str, environ: dict[str, str]) -> Iterator[Terminal]:
    screen = Terminal(list(arguments), environ)
    try:
        yield screen
    finally:
        screen.close()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def read_journal(root: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for file in (root / ".fcreview" / "reviews").glob("*.jsonl")
        for line in file.open()
    ]


@pytest.mark.sweep
@pytest.mark.process
def test_configured_key_replaces_default_key(
    one_run: Path, environ: dict[str, str], config: Path
) -> None:
    config.write_text('[keys]\n"item.pass" = "y"\n"queue.open" = "l"\n')
    with terminal(
        "open", str(one_run), environ=environ | {"FCREVIEW_CONFIG": str(config)}
    ) as screen:
        screen.wait_for("simple_python_1", " l open")
        screen.press("l")
        screen.wait_for("verdict on: item", " y pass  f fail")
        screen.press("p")
        screen.press("?")
        text = "\n".join(screen.wait_for("keys: item", "golden wrong"))
        assert "  y " in text.partition("pass")[0] and "copy" not in text
        screen.press("pagedown")
        assert "copy" not in "\n".join(screen.wait_for("raw records"))
        screen.press("escape")
        screen.wait_for("verdict on: item")
        assert read_journal(one_run) == []
        screen.press("y")
        screen.wait_for("saved: pass · simple_python_1")
        (event,) = read_journal(one_run)
        assert (event["key"]["id"], event["verdict"]) == ("simple_python_1", True)
        screen.press("\x11")  # Ctrl-Q
        screen.wait_for("1 item reviewed. The reviews are in")


@pytest.mark.sweep
@pytest.mark.process
def test_demo_uses_configured_keys(environ: dict[str, str], config: Path, tmp_path: Path) -> None:
    config.write_text('[keys]\n"queue.clusters" = "C"\n')
    folder = str(tmp_path / "demo")
    with terminal(
        "demo", "--into", folder, environ=environ | {"FCREVIEW_CONFIG": str(config)}
    ) as screen:
        screen.wait_for("Next", "L Review ")
        screen.press("L")
        screen.wait_for("› failures", "C clusters")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"item.psas" = "y"', "[keys] item.psas: unknown action. Did you mean item.pass?"),
        (
            '"item.pass" = "y"\n"item.fail" = "y"',
            '[keys] "y" is assigned to both item.pass and item.fail',
        ),
        (
            '"item.pass" = 3',
            '[keys] must have lines such as "item.pass" = "p,y", with the action id in quotes',
        ),
        (
            'item.pass = "y"',
            '[keys] must have lines such as "item.pass" = "p,y", with the action id in quotes',
        ),
    ],
)
def test_invalid_key_is_reported_with_file(
    cli: Cli, one_run: Path, config: Path, text: str, message: str
) -> None:
    config.write_text(f"[keys]\n{text}\n")
    done = cli("items", one_run, FCREVIEW_CONFIG=str(config))
    assert (done.code, done.out, done.err) == (1, "", f"fcreview: {config}: {message}\n")


def test_keys_must_be_table(cli: Cli, one_run: Path, config: Path) -> None:
    config.write_text('keys = "p"\n')
    assert (
        f"{config}: [keys] must have lines such as"
        in cli("runs", one_run, FCREVIEW_CONFIG=str(config)).err
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('tags = "ambiguous"', 'tags must be a list of strings such as ["ambiguous"]'),
        ('tags = ["a", " "]', 'tags must be a list of strings such as ["ambiguous"]'),
        ("reasons = [3]", 'reasons must be a list of strings such as ["ambiguous"]'),
        (
            f"reasons = {[f'r{at}' for at in range(10)]}",
            "reasons must have at most 9 entries, because each has a digit key",
        ),
    ],
)
def test_invalid_tags_and_reasons_are_reported_with_file(
    cli: Cli, one_run: Path, config: Path, text: str, message: str
) -> None:
    config.write_text(f"{text}\n")
    done = cli("items", one_run, FCREVIEW_CONFIG=str(config))
    assert (done.code, done.out, done.err) == (1, "", f"fcreview: {config}: {message}\n")


@pytest.mark.sweep
@pytest.mark.process
def test_configured_tags_and_reasons_are_exported(
    cli: Cli, one_run: Path, environ: dict[str, str], config: Path
) -> None:
    config.write_text(
        'tags = ["unit  of measure", "ambiguous"]\nreasons = ["too lax"]\n'
        "[review]\nkey_guard_ms = 0\n"
    )
    with terminal(
        "open", str(one_run), environ=environ | {"FCREVIEW_CONFIG": str(config)}
    ) as screen:
        screen.wait_for("simple_python_1", "enter open")
        screen.press("enter")
        screen.wait_for("verdict on: item")
        screen.press("e")
        screen.wait_for("[ ] 1 unit of measure", "[ ] 2 ambiguous")
        screen.press("2")
        screen.wait_for("[x] 2 ambiguous")
        screen.press("enter")
        screen.wait_for("saved: tags ambiguous")
        screen.press("p")
        screen.wait_for("saved: pass", "1 too lax")
        screen.press("1")
        screen.wait_for("saved: override reason: too lax")
    exported = [
        json.loads(line) for line in cli("export", one_run, "--only", "reviewed").out.splitlines()
    ]
    ((opinion,),) = [label["opinions"] for label in exported if label["opinions"]]
    assert (opinion["tags"], opinion["overrules"]["reason"]) == (["ambiguous"], "too lax")


@pytest.mark.sweep
@pytest.mark.process
def test_configured_colours_are_used(one_run: Path, environ: dict[str, str], config: Path) -> None:
    config.write_text('colours = "safe"\n')
    with terminal(
        "open", str(one_run), environ=environ | {"FCREVIEW_CONFIG": str(config)}
    ) as screen:
        screen.wait_for("failures first", "simple_python_1")
        assert screen.colours_of("✗") == {"ff875f"}


@pytest.mark.parametrize("value", ['"pink"', "3", "[]"])
def test_unknown_colours_are_refused(cli: Cli, one_run: Path, config: Path, value: str) -> None:
    config.write_text(f"colours = {value}\n")
    done = cli("items", one_run, FCREVIEW_CONFIG=str(config))
    assert done.code == 1
    assert done.err.startswith(
        f"fcreview: {config}: theme must be one of fcreview-dark, fcreview-light, fcreview-safe"
    )
