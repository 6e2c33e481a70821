"""An import with Dask ends with one message if the scheduler is missing or dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli import dask_cluster
from fcreview.cli.dask_cluster import run_parts_on_cluster
from fcreview.errors import CommandError

Cli = Callable[..., Any]
TIME_LIMIT = 60


def test_missing_scheduler_file_is_reported_at_once(
    cli: Cli, samples: Path, tmp_path: Path
) -> None:
    file = tmp_path / "scheduler.json"
    done = cli("import", samples / "generic", "--lake", tmp_path / "lake", "--dask", file)
    assert done.code == 1
    (line,) = done.err.strip().splitlines()
    assert f"the scheduler file {file} does not exist" in line
    assert not (tmp_path / "lake").exists()


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A Dask scheduler with one worker, and its scheduler file."""
    pytest.importorskip("distributed", reason="Dask is not installed: make cluster")
    file = tmp_path / "scheduler.json"
    program = [sys.executable, "-m", "distributed.cli"]
    options = ["--scheduler-file", str(file), "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    ports = ["--host", "127.0.0.1", "--port", "0"]
    started = subprocess.Popen(
        [*program[:2], "distributed.cli.dask_scheduler", *options, *ports], **quiet
    )
    worker = subprocess.Popen(
        [*program[:2], "distributed.cli.dask_worker", *options, "--no-nanny"], **quiet
    )
    yield started, file
    for process in (worker, started):
        process.kill()
        process.wait()


def double(number: int) -> int:
    return 2 * number


def fail(number: int) -> int:
    raise OSError(f"part {number} cannot be read")


def wait_long(_: int) -> None:
    time.sleep(TIME_LIMIT)


@pytest.mark.process
def test_parts_run_on_the_workers(scheduler: tuple[Any, Path]) -> None:
    wait_for_file(scheduler[1])
    outcomes = run_parts_on_cluster(str(scheduler[1]), 3, lambda number, _: (double, number))
    assert [outcome.result for outcome in outcomes] == [2, 4, 6]
    (failed,) = run_parts_on_cluster(str(scheduler[1]), 1, lambda number, _: (fail, number))
    assert (failed.result, failed.error) == (None, "OSError: part 1 cannot be read")


@pytest.mark.process
def test_dying_scheduler_is_reported_in_one_message(
    scheduler: tuple[subprocess.Popen[bytes], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    process, file = scheduler
    wait_for_file(file)

    def make_call(number: int, count: int) -> tuple[Any, ...]:
        if number == count:
            process.send_signal(signal.SIGKILL)
        return wait_long, number

    with pytest.raises(CommandError, match=r"the connection to the Dask scheduler .* was lost"):
        run_parts_on_cluster(str(file), 4, make_call)
    assert capfd.readouterr() == ("", "")


@pytest.mark.process
def test_dead_scheduler_is_reported(
    scheduler: tuple[subprocess.Popen[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    process, file = scheduler
    wait_for_file(file)
    process.kill()
    process.wait()
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 2)
    with pytest.raises(CommandError, match="cannot connect to the Dask scheduler"):
        run_parts_on_cluster(str(file), 1, lambda number, _: (double, number))


def wait_for_file(path: Path) -> None:
    end = time.monotonic() + TIME_LIMIT
    while not path.is_file() and time.monotonic() < end:
        time.sleep(0.05)
