"""Importing with several processes, beside readers, beside another import, and killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fcreview.store.importing.import_runs import import_runs
from fcreview.store.store import Store, View
from fcreview.store.workspace import find_workspace
from tests.store.factory import import_items, read, write_run
from tests.store.importing.imported import ids

ROOT = Path(__file__).resolve().parents[3]


def test_several_processes_give_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has threads, so the others are spawned."""
    monkeypatch.syspath_prepend(str(ROOT))
    workspace = find_workspace(tmp_path)
    plans = [write_run(tmp_path / f"m{n}", [{}] * (n + 1), f"m{n}") for n in range(5)]
    seen: list[tuple[str, int, int]] = []
    summary = import_runs(workspace, plans, read, jobs=2, progress=lambda *said: seen.append(said))
    assert summary.n_items == 15
    assert len(ids(workspace)) == 15
    assert seen[-1][1] == seen[-1][2] > 0
    assert [number for _, number, _ in seen] == sorted(number for _, number, _ in seen)


def test_a_reader_sees_the_old_store_until_it_opens_the_new_one(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    with Store.open(workspace) as before:
        import_runs(workspace, [write_run(tmp_path / "a", [{}, {}, {}], "a")], read)
        assert before.count(View()) == 1
        assert before.detail(before.find("simple_0")[0]).item.id == "simple_0"
        with Store.open(workspace) as after:
            assert after.count(View()) == 3
            assert before.count(View(queue="dataset")) == 1


FORKED = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from fcreview.store.importing import reading
from fcreview.store.importing.import_runs import import_runs
from fcreview.store.workspace import find_workspace
from tests.store.factory import read, write_run

place = Path({place!r})
plans = [write_run(place / name, [{{}}, {{}}], name) for name in "abc"]
forks = reading._may_fork() == (len(list(Path("/proc/self/task").iterdir())) == 1)
print(forks, import_runs(find_workspace(place), plans, read, jobs=2).n_items)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")
def test_a_plain_process_forks_if_no_library_has_started_threads(tmp_path: Path) -> None:
    """DuckDB 1.5 starts one when it is imported, 2.0 does not."""
    program = FORKED.format(root=str(ROOT), place=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True 6\n", "")
    assert len(ids(find_workspace(tmp_path))) == 6


IMPORT = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from fcreview.store.importing.import_runs import import_runs
from fcreview.store.workspace import find_workspace
from tests.store.factory import read, write_run

def slowly(plan):
    for item in read(plan):
        print("reading", flush=True)
        time.sleep({pause})
        yield item

place = Path({place!r})
import_runs(find_workspace(place), [write_run(place / {model!r}, [{{}}] * {rows}, {model!r})], slowly)
"""


def start(place: Path, model: str, rows: int, pause: float) -> subprocess.Popen[str]:
    program = IMPORT.format(root=str(ROOT), place=str(place), model=model, rows=rows, pause=pause)
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def test_a_killed_import_leaves_the_old_store_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    process = start(tmp_path, "b", 1000, 0.05)
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (workspace.root / "store.duckdb.99999.tmp").write_bytes(b"half")
    assert list(workspace.temporary.iterdir()) != []
    assert ids(workspace) == ["a/simple_0"]
    import_runs(workspace, [write_run(tmp_path / "b", [{}], "b")], read)
    assert ids(workspace) == ["a/simple_0", "b/simple_0"]
    assert list(workspace.root.glob("*.tmp*")) == []
    assert not workspace.temporary.exists() or list(workspace.temporary.iterdir()) == []


def test_of_two_importers_the_second_waits_and_nothing_is_lost(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    process = start(tmp_path, "b", 5, 0.1)
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    started = time.monotonic()
    import_runs(workspace, [write_run(tmp_path / "c", [{}], "c")], read)
    assert time.monotonic() - started > 0.2
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert sorted({name.split("/")[0] for name in ids(workspace)}) == ["a", "b", "c"]
