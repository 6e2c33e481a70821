"""Imports work with several processes, at the same time as another import, and after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from benchmarks.synthetic import write_run as write_bfcl_run
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.workspace import find_workspace
from tests.store.factory import import_items, read, write_run
from tests.store.importing.imported import read_ids
from tests.waiting import is_waiting_for_lock, until

ROOT = Path(__file__).resolve().parents[3]
ERROR_WHILE_WORKERS_SEND = """
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor

from fcreview.store.importing.workers import ParentWatchdog

context = multiprocessing.get_context("fork")
with (
    ParentWatchdog(context) as watchdog,
    ProcessPoolExecutor(2, context, watchdog.initialize_worker, watchdog.initargs) as pool,
    watchdog.end_workers_on_error(pool),
):
    for _ in range(8):
        pool.submit(bytes, 100_000_000)
    time.sleep(0.3)
    raise KeyError("while workers send")
"""
pytestmark = pytest.mark.process


@pytest.mark.sweep
def test_several_processes_give_the_same_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process has threads, so workers are spawned."""
    monkeypatch.syspath_prepend(str(ROOT))
    workspace = find_workspace(tmp_path)
    plans = [write_run(tmp_path / f"m{n}", [{}] * (n + 1), f"m{n}") for n in range(5)]
    seen: list[tuple[str, int, int]] = []
    summary = import_runs(
        workspace, plans, read, n_workers=2, on_progress=lambda *said: seen.append(said)
    )
    assert summary.n_items == 15
    assert len(read_ids(workspace)) == 15
    assert seen[-1][1] == seen[-1][2] > 0
    assert [number for _, number, _ in seen] == sorted(number for _, number, _ in seen)


FORKED = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from fcreview.store.importing import workers as reading
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.workspace import find_workspace
from tests.store.factory import read, write_run

place = Path({place!r})
plans = [write_run(place / name, [{{}}, {{}}], name) for name in "abc"]
forks = reading._can_fork() == (len(list(Path("/proc/self/task").iterdir())) == 1)
print(forks, import_runs(find_workspace(place), plans, read, n_workers=2).n_items)
"""


@pytest.mark.sweep
@pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")
def test_process_without_threads_forks_workers(tmp_path: Path) -> None:
    """DuckDB 1.5 starts a thread when it is imported, DuckDB 2.0 does not."""
    program = FORKED.format(root=str(ROOT), place=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("True 6\n", "")
    assert len(read_ids(find_workspace(tmp_path))) == 6


IMPORT = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.workspace import find_workspace
from tests.store.factory import read, write_run

def when_told(plan):
    for item in read(plan):
        print("reading", flush=True)
        sys.stdin.readline()
        yield item

place = Path({place!r})
import_runs(find_workspace(place), [write_run(place / {model!r}, [{{}}] * 5, {model!r})], when_told)
"""


@contextmanager
def start_import(place: Path, model: str) -> Iterator[subprocess.Popen[str]]:
    """Start an import in another process, which continues when its standard input is closed."""
    program = IMPORT.format(root=str(ROOT), place=str(place), model=model)
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reading\n"
        yield process


@pytest.mark.sweep
def test_killed_import_keeps_the_old_store_and_the_next_cleans_up(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    with start_import(tmp_path, "b") as process:
        process.send_signal(signal.SIGKILL)
    (workspace.root / "store.duckdb.99999.tmp").write_bytes(b"half")
    assert list(workspace.temporary.iterdir()) != []
    assert read_ids(workspace) == ["a/simple_0"]
    import_runs(workspace, [write_run(tmp_path / "b", [{}], "b")], read)
    assert read_ids(workspace) == ["a/simple_0", "b/simple_0"]
    assert list(workspace.root.glob("*.tmp*")) == []
    assert not workspace.temporary.exists() or list(workspace.temporary.iterdir()) == []


@pytest.mark.sweep
def test_second_import_waits_and_nothing_is_lost(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    plans = [write_run(tmp_path / "c", [{}], "c")]
    with start_import(tmp_path, "b") as process:
        second = Thread(target=import_runs, args=(workspace, plans, read))
        second.start()
        until(lambda: is_waiting_for_lock(os.getpid()))
        process.communicate(timeout=30)
        second.join(30)
    assert process.returncode == 0
    assert sorted({name.split("/")[0] for name in read_ids(workspace)}) == ["a", "b", "c"]


STUCK = """
import sys
from fcreview.cli.main import main
from fcreview.store.importing.builder import StoreBuilder

def finish(builder):
    print("finishing", flush=True)
    builder._execute("SELECT list_sum(list_transform(range(200000000), lambda x: x + 1))")

StoreBuilder.finish_and_replace_store = finish
sys.argv = ["fcreview", "import", {path!r}]
main()
"""


def test_signal_ends_an_import_in_an_uninterruptible_statement(tmp_path: Path) -> None:
    folder = write_bfcl_run(tmp_path / "run", 8)
    command = [sys.executable, "-c", STUCK.format(path=str(folder))]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "finishing\n"
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
        # Takes 0.9 s on an idle machine. The statement takes a minute.
        assert time.monotonic() - start < 4
    root = folder / ".fcreview"
    assert [path.name for path in root.rglob("*") if path.is_file()] == ["store.lock"]
    done = subprocess.run(  # The lock is free.
        [sys.executable, "-m", "fcreview.cli", "import", folder],
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0


def test_worker_that_ends_while_it_sends_is_not_awaited() -> None:
    """A part of a result is in the pipe, and no worker is left that could send the rest."""
    command = [sys.executable, "-c", ERROR_WHILE_WORKERS_SEND]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "KeyError: 'while workers send'" in done.stderr
