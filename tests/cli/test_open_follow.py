"""`open --follow` shows results that are appended, truncated and deleted, and ends without
leftover processes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import environment
from tests.examples import split_by_form
from tests.faults.processes import processes_with
from tests.faults.pty_program import TerminalApp
from tests.waiting import until

Cli = Callable[..., Any]
RUN = "result/maple-8b"
FIRST = f"{RUN}/non_live/BFCL_v4_simple_python_result.json"
LAST = f"{RUN}/non_live/BFCL_v4_simple_java_result.json"
LINE = (
    '{"id": "simple_python_%s", "result": "[alarm.set(time=3)]", "input_token_count": 1,'
    ' "output_token_count": 1}\n'
)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    config = tmp_path / "config.toml"
    config.write_text("follow = 0.2\n")
    (tmp_path / "home").mkdir()
    path = os.environ.get("PYTHONPATH", "")
    return environment(tmp_path / "home", PYTHONPATH=path, FCREVIEW_CONFIG=str(config))


@pytest.fixture
def place(samples: Path, tmp_path: Path) -> Path:
    place = shutil.copytree(samples / "bfcl", tmp_path / "bfcl")
    # items in a score file are kept without a result
    (place / "score/maple-8b/non_live/BFCL_v4_simple_java_score.json").unlink()
    return place


def append(file: Path, text: str) -> None:
    with file.open("a") as stream:
        stream.write(text)


@pytest.mark.process
@pytest.mark.sweep
def test_follow_shows_changed_results(place: Path, environ: dict[str, str]) -> None:
    with TerminalApp(["open", place / RUN, "--follow"], environ) as app:
        app.until("1/39")
        app.type("jj")
        app.until("3/39")
        append(place / FIRST, LINE % 71)
        app.until("3/40")
        app.until("1 new item")
        assert "▌  simple_python_3" in app.text()
        app.type("\r")
        app.until(" 3/40   official")
        app.type("jj")
        (place / LAST).unlink()
        app.until(" 3/38   official")
        append(place / FIRST, (LINE % 72)[:30])
        append(place / FIRST, (LINE % 72)[30:])
        app.until(" 3/39   official")
        app.give_verdict("f", "saved: fail")
        app.signal(signal.SIGTERM)
        assert app.wait() == 128 + signal.SIGTERM
        assert app.restored and b"Traceback" not in app.bytes
    until(lambda: not processes_with(str(place)), 5)
    journal = (place / RUN / ".fcreview" / "reviews" / "tester.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"]["id"] for line in journal] == ["simple_python_3"]


@pytest.mark.process
@pytest.mark.sweep
@pytest.mark.parametrize(
    "how", split_by_form(["q", "SIGTERM", "SIGHUP", "SIGKILL"], quick=["q", "SIGKILL"])
)
def test_follow_leaves_no_process(place: Path, environ: dict[str, str], how: str) -> None:
    """The app ends during an import."""
    lines = (place / FIRST).read_text()
    with TerminalApp(["open", place / RUN, "--follow"], environ) as app:
        app.until("1/39")
        append(place / FIRST, lines * (4_000_000 // len(lines)))
        app.until(lambda: len(processes_with(str(place))) > 1)
        if how == "q":
            app.type("q")
        else:
            app.signal(signal.Signals[how])
        assert app.wait() in (0, -signal.SIGKILL, 128 + signal.SIGTERM, 128 + signal.SIGHUP)
    until(lambda: not processes_with(str(place)), 20)


def test_follow_needs_terminal(cli: Cli, one_run: Path) -> None:
    done = cli("open", one_run, "--follow")
    assert done.code == 0
    assert "--follow needs a terminal" in done.err and done.out == cli("open", one_run).out


@pytest.mark.parametrize("value", ["0", "true", '"5"', "nan", "-1", "inf"])
def test_invalid_follow_interval_is_refused(
    cli: Cli, one_run: Path, tmp_path: Path, value: str
) -> None:
    config = tmp_path / "odd.toml"
    config.write_text(f"follow = {value}\n")
    done = cli("items", one_run, FCREVIEW_CONFIG=str(config))
    assert done.code == 1
    assert f"{config}: follow must be a number of seconds" in done.err
