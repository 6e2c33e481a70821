"""Run `fcreview` in this process or in a separate one, and return the exit code and the output.

A process takes 0.3 s to start and is needed only to test pipes, signals, terminals and the start
itself. `tests/cli/test_in_process.py` checks that both ways give the same results.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.cli.main import run_command_line

PROGRAM = [sys.executable, "-m", "fcreview.cli"]


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Parsed JSON Lines of standard output."""
        return [json.loads(line) for line in self.out.split("\n") if line]


def environment(home: Path, **changes: str) -> dict[str, str]:
    """Return the environment of the annotator `tester` with this home folder, without FCREVIEW_
    and XDG_ variables.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FCREVIEW_", "XDG_"))
    }
    kept.pop("COLUMNS", None)
    return kept | {"HOME": str(home), "FCREVIEW_ANNOTATOR": "tester", "PYTHONUTF8": "1"} | changes


def run_in_subprocess(
    arguments: Sequence[str | Path], cwd: Path, environ: Mapping[str, str]
) -> Done:
    """Run the command in a separate process without a terminal."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environ,
        cwd=cwd,
        timeout=120,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_in_this_process(
    arguments: Sequence[str | Path], cwd: Path, environ: Mapping[str, str]
) -> Done:
    """Run the command in this process and undo all global changes.

    FCREVIEW_DEBUG=1 raises its error.
    """
    out, err = _stream(), _stream()
    with _changed_environment(cwd, environ), _streams(out, err):
        code = run_command_line([str(each) for each in arguments])
    return Done(code, _text(out), _text(err))


def _stream() -> io.TextIOWrapper:
    """Return a stream with the encoding that `app` sets for standard output."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="\n")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


@contextmanager
def _streams(out: io.TextIOWrapper, err: io.TextIOWrapper) -> Iterator[None]:
    usual = sys.stdin, sys.stdout, sys.stderr
    with Path(os.devnull).open() as nothing:
        sys.stdin, sys.stdout, sys.stderr = nothing, out, err
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = usual


@contextmanager
def _changed_environment(cwd: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Change to this folder and environment, with empty caches, and restore everything on exit."""
    place, usual, temporary = Path.cwd(), dict(os.environ), tempfile.tempdir
    tempfile.tempdir = None
    _set_environment(environ)
    os.chdir(cwd)
    clear_caches()
    try:
        yield
    finally:
        os.chdir(place)
        _set_environment(usual)
        tempfile.tempdir = temporary
        clear_caches()


def _set_environment(environ: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    os.environ.update(environ)


_caches: dict[str, list[Any]] = {}
"""Cached functions by module."""


def clear_caches() -> None:
    """Clear the caches of all fcreview modules, as in a new process."""
    for name in [name for name in sys.modules if name.startswith("fcreview.")]:
        if name not in _caches:
            values = list(vars(sys.modules[name]).values())
            _caches[name] = [
                value
                for value in values
                if hasattr(value, "cache_clear") and value.__module__ == name
            ]
        for cached in _caches[name]:
            cached.cache_clear()
