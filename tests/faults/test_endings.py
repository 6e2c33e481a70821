"""However the program is ended, it leaves no process and no temporary file, and the terminal as it was."""

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
from tests.examples import only_long
from tests.faults.processes import children, processes_with, times
from tests.faults.pty_program import OnTerminal
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
SIMPLE = "sample_runs/bfcl/result/maple-8b/non_live/BFCL_v4_simple_python_result.json"
ENDED = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that are read by several processes: the sample's model under other names, each file made longer."""
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
    """With a name that no other process has on its command line."""
    with tempfile.TemporaryDirectory(prefix="fcreview-ended-") as name:
        yield Path(name)


def importing(many: Path, workspace: Path, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    words = [*PROGRAM, "import", str(many), "--workspace", str(workspace)]
    return subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ, start_new_session=True
    )


@pytest.mark.sweep
@pytest.mark.parametrize("number", [signal.SIGKILL, *ENDED], ids=lambda number: number.name)
def test_an_import_that_is_ended_leaves_no_process(
    many: Path, workspace: Path, environ: dict[str, str], number: signal.Signals
) -> None:
    """At random moments while its workers read."""
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
            assert left_over(workspace) == []
    assert seen, "the import was over before there were workers"


def left_over(workspace: Path) -> list[str]:
    known = ("reviews", "store.lock", "tmp", "store.duckdb", "seen.json", "sources.json", "datasets.json")
    root = workspace / ".fcreview"
    return [each.name for each in [*root.iterdir(), *(root / "tmp").glob("*")] if each.name not in known]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=only_long)], ids=lambda number: number.name
)
@pytest.mark.parametrize(
    "keys",
    [{}, {"\r": "verdict on"}, {"\r": "verdict on", "p": "saved: "}, {"/": "Esc"}],
    ids=["queue", "item", "verdict", "search"],
)
def test_a_signal_leaves_the_app_and_restores_the_terminal(
    sample: Path, environ: dict[str, str], number: signal.Signals, keys: dict[str, str]
) -> None:
    with OnTerminal(["open", sample], environ) as app:
        app.until("▌")
        if keys:
            app.until("1 Runs")
            app.type("\x1b")
            app.until(lambda: "1 Runs" not in app.text() and "f filter" in app.text())
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
def test_a_dropped_connection_leaves_no_process(sample: Path, environ: dict[str, str], keys: str) -> None:
    """Also in the middle of drawing."""
    for _ in range(times(2, 50)):
        with OnTerminal(["open", sample], environ) as app:
            app.until("▌")
            app.type(keys + "jjjj")
            time.sleep(random.uniform(0, 0.05))
            app.hang_up()
            assert app.wait(8) == 128 + signal.SIGHUP
    until(lambda: not processes_with(str(sample)), 5)


STATEMENTS = {
    "rows": "SELECT count(*) FROM range(10000000000) a, range(1000) b",
    "one value": "SELECT list_sum(list_transform(range(200000000), lambda x: x + 1)) FROM range(1000)",
}
"""The second one DuckDB does not break off."""


@pytest.mark.sweep
@pytest.mark.parametrize("query", STATEMENTS)
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=only_long)], ids=lambda number: number.name
)
def test_a_statement_that_takes_long_ends_with_the_signal(
    sample: Path, environ: dict[str, str], query: str, number: signal.Signals
) -> None:
    program = subprocess.Popen(
        [*PROGRAM, "sql", str(sample), STATEMENTS[query]],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ,
    )  # fmt: skip
    until(lambda: _seconds_used(program.pid) > 2)
    program.send_signal(number)
    out, error = program.communicate(timeout=20)
    assert (program.returncode, out, error) == (128 + number, b"", b"")


@pytest.mark.sweep
@pytest.mark.parametrize("query", STATEMENTS)
def test_a_statement_is_broken_off_when_its_time_is_up(sample: Path, environ: dict[str, str], query: str) -> None:
    done = run_in_subprocess(["sql", sample, STATEMENTS[query], "--seconds", "0.5"], sample, environ)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("fcreview: timed out after 0.5 seconds")


def _seconds_used(process: int) -> float:
    """Of the processor. Starting takes less than two: then it is at the statement."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
