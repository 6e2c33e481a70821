"""A program that is ended by a signal leaves no process and no temporary file, and restores the
terminal.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import PROGRAM, run_in_subprocess
from tests.examples import only_long, split_by_form
from tests.faults.processes import children, processes_with, times
from tests.faults.pty_program import TerminalApp
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
SIMPLE = "sample_runs/bfcl/result/maple-8b/non_live/BFCL_v4_simple_python_result.json"
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that are large enough to be imported by several processes."""
    folder = tmp_path_factory.mktemp("many") / "runs"
    shutil.copytree(ROOT / "sample_runs" / "bfcl" / "data", folder / "data")
    lines = (ROOT / SIMPLE).read_bytes()
    for number in range(4):
        file = folder / "result" / f"maple-{number}" / "non_live" / Path(SIMPLE).name
        file.parent.mkdir(parents=True)
        file.write_bytes(lines * (3_000_000 // len(lines)))
    return folder


@pytest.fixture
def workspace() -> Iterator[Path]:
    """A folder whose name is on no other command line."""
    with tempfile.TemporaryDirectory(prefix="fcreview-endings-") as name:
        yield Path(name)


def importing(many: Path, workspace: Path, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    words = [*PROGRAM, "import", str(many), "--workspace", str(workspace)]
    return subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environ,
        start_new_session=True,
    )


@pytest.mark.sweep
@pytest.mark.parametrize(
    "number",
    split_by_form([signal.SIGKILL, *SIGNALS], quick=[signal.SIGKILL, signal.SIGTERM]),
    ids=lambda number: number.name,
)
def test_ended_import_leaves_no_process(
    many: Path, workspace: Path, environ: dict[str, str], number: signal.Signals
) -> None:
    """Send the signal at random moments while the workers read."""
    seen = 0
    for _ in range(times(1, 50)):
        shutil.rmtree(workspace / ".fcreview", ignore_errors=True)
        program = importing(many, workspace, environ)
        until(lambda: children(program.pid) >= 2 or program.poll() is not None)  # noqa: B023 - waited for
        seen += program.poll() is None
        time.sleep(random.uniform(0, 0.3))
        program.send_signal(number)
        assert program.wait(30) in (0, -number, 128 + number)
        until(lambda: not processes_with(str(workspace)), 5)
        if program.returncode != -signal.SIGKILL:
            assert unexpected_files(workspace) == []
    assert seen, "the import ended before the workers started"


def unexpected_files(workspace: Path) -> list[str]:
    known = (
        "reviews",
        "store.lock",
        "tmp",
        "store.duckdb",
        "seen.json",
        "sources.json",
        "datasets.json",
    )
    root = workspace / ".fcreview"
    return [
        each.name for each in [*root.iterdir(), *(root / "tmp").glob("*")] if each.name not in known
    ]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=only_long)],
    ids=lambda number: number.name,
)
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({}, id="queue", marks=only_long),
        pytest.param({"\r": "verdict on"}, id="item", marks=only_long),
        pytest.param({"\r": "verdict on", "p": "saved: "}, id="verdict"),
        pytest.param({"/": "Esc"}, id="search"),
    ],
)
def test_signal_ends_the_app_and_restores_the_terminal(
    sample: Path, environ: dict[str, str], number: signal.Signals, keys: dict[str, str]
) -> None:
    with TerminalApp(["open", sample], environ) as app:
        app.until("▌")
        if keys:
            app.until("1 Runs")
            app.type("\x1b")
            app.until(lambda: "1 Runs" not in app.text() and "F filter" in app.text())
        for key, shows in keys.items():
            app.type(key)
            app.until(shows)
        app.signal(number)
        app.signal(number)
        assert app.wait() == 128 + number
        assert app.restored
        assert b"Traceback" not in app.bytes
    assert len(journal(sample)) == ("p" in keys)


def journal(sample: Path) -> list[bytes]:
    files = (sample / ".fcreview" / "reviews").glob("*.jsonl")
    return [line for file in files for line in file.read_bytes().splitlines()]


@pytest.mark.sweep
@pytest.mark.parametrize("keys", [pytest.param("", marks=only_long), "\r"], ids=["queue", "item"])
def test_dropped_connection_leaves_no_process(
    sample: Path, environ: dict[str, str], keys: str
) -> None:
    """The connection may also drop while the app draws."""
    for _ in range(times(2, 50)):
        with TerminalApp(["open", sample], environ) as app:
            app.until("▌")
            app.type(keys + "jjjj")
            time.sleep(random.uniform(0, 0.05))
            app.hang_up()
            assert app.wait(8) == 128 + signal.SIGHUP
    until(lambda: not processes_with(str(sample)), 5)


@pytest.mark.sweep
def test_app_without_hangup_signal_ends_with_the_terminal(
    sample: Path, environ: dict[str, str]
) -> None:
    """A program below `make` gets no SIGHUP.

    It must not stay and read a terminal that is gone in a loop.
    """
    with TerminalApp(["open", sample], environ, ignores_hangup=True) as app:
        app.until("▌")
        app.hang_up()
        assert app.wait(8) == 128 + signal.SIGHUP


STATEMENTS = {
    "rows": "SELECT count(*) FROM range(10000000000) a, range(1000) b",
    "one value": "SELECT list_sum(list_transform(range(200000000), lambda x: x + 1)) FROM"
    " range(1000)",
}
"""DuckDB cannot interrupt the second statement."""


@pytest.mark.sweep
@pytest.mark.parametrize("query", split_by_form(STATEMENTS, quick=[*STATEMENTS][:1]))
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, pytest.param(signal.SIGINT, marks=only_long)],
    ids=lambda number: number.name,
)
def test_signal_ends_a_long_statement(
    sample: Path, environ: dict[str, str], query: str, number: signal.Signals
) -> None:
    program = subprocess.Popen(
        [*PROGRAM, "sql", str(sample), STATEMENTS[query]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    )
    until(lambda: _seconds_used(program.pid) > 2)
    program.send_signal(number)
    out, error = program.communicate(timeout=20)
    assert (program.returncode, out, error) == (128 + number, b"", b"")


@pytest.mark.sweep
@pytest.mark.parametrize("query", STATEMENTS)
def test_statement_times_out(sample: Path, environ: dict[str, str], query: str) -> None:
    done = run_in_subprocess(
        ["sql", sample, STATEMENTS[query], "--seconds", "0.5"], sample, environ
    )
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("fcreview: the query timed out after 0.5 seconds")


def _seconds_used(process: int) -> float:
    """Return the processor time.

    The start takes less than two seconds, so later the statement is running.
    """
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
