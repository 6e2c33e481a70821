"""`fcreview` with arguments, in this process or in one of its own: an exit code, and what was printed.

A process takes 0.3 s to start. What concerns processes (pipes, signals, terminals, start-up) needs one; all else is the
same in this one: `tests/cli/test_in_process.py` compares the two.
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

from fcreview.cli.app import run

PROGRAM = [sys.executable, "-m", "fcreview.cli"]


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Standard output as JSON Lines; fails if anything else stands there."""
        return [json.loads(line) for line in self.out.split("\n") if line]


def environment(home: Path, **changes: str) -> dict[str, str]:
    """Of a person with this home folder, called tester, whatever is set where the tests run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FCREVIEW_", "XDG_"))}
    kept.pop("COLUMNS", None)
    return kept | {"HOME": str(home), "FCREVIEW_ANNOTATOR": "tester", "PYTHONUTF8": "1"} | changes


def in_a_process(arguments: Sequence[str | Path], cwd: Path, environ: Mapping[str, str]) -> Done:
    """Without a terminal."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environ,
        cwd=cwd,
        timeout=120,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_this_process(arguments: Sequence[str | Path], cwd: Path, environ: Mapping[str, str]) -> Done:
    """The same; nothing of it stays. An error that `run` lets through (FCREVIEW_DEBUG=1) is raised here."""
    out, err = _stream(), _stream()
    with _elsewhere(cwd, environ), _streams(out, err):
        code = run([str(each) for each in arguments])
    return Done(code, _text(out), _text(err))


def _stream() -> io.TextIOWrapper:
    """As `app` sets standard output up."""
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
def _elsewhere(cwd: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """In this folder and environment, with nothing remembered from what ran before."""
    place, usual, temporary = Path.cwd(), dict(os.environ), tempfile.tempdir
    tempfile.tempdir = None
    _set_environment(environ)
    os.chdir(cwd)
    forget()
    try:
        yield
    finally:
        os.chdir(place)
        _set_environment(usual)
        tempfile.tempdir = temporary
        forget()


def _set_environment(environ: Mapping[str, str]) -> None:
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    os.environ.update(environ)


_caches: dict[str, list[Any]] = {}
"""By module: its functions that remember their answers."""


def forget() -> None:
    """Empties the caches of all our modules: a process of its own begins with none."""
    for name in [name for name in sys.modules if name.startswith("fcreview.")]:
        if name not in _caches:
            values = list(vars(sys.modules[name]).values())
            _caches[name] = [value for value in values if hasattr(value, "cache_clear") and value.__module__ == name]
        for cached in _caches[name]:
            cached.cache_clear()
