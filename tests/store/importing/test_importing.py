"""Importing: what is read again, what stays, and that nobody is disturbed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.model import Call, ImportIssue, Item, Message, Run, Verdict
from fcreview.plan import RunPlan
from fcreview.store.importing import building
from fcreview.store.importing.import_runs import import_runs
from fcreview.store.store import Store, View
from fcreview.store.workspace import Workspace, WorkspaceError, find_workspace
from tests.store.factory import import_items, make_item, read, write_run

ROOT = Path(__file__).resolve().parents[3]


def statuses(summary: Any) -> dict[str, str]:
    return {run["model"]: run["status"] for run in summary.runs}


def ids(workspace: Workspace) -> list[str]:
    with Store.open(workspace) as store:
        return [f"{row.model}/{row.id}" for row in store.page(View(queue="dataset"), 0, 1000)]


def never(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    raise AssertionError(f"{plan.run.model} was read")


def write_plan(place: Path, model: str) -> RunPlan:
    """The plan of a run that is there already."""
    return RunPlan(Run("bfcl", "V4", "en", model, str(place / model)), [place / model / "results.jsonl"])


def test_every_record_becomes_an_item_and_every_problem_an_issue(tmp_path: Path) -> None:
    workspace, summary = import_items(tmp_path, {"a": [{}, {"issue": "bad line"}, {"official": True}], "b": [{}]})
    assert summary.n_items == 3
    assert [run["issues"] for run in summary.runs] == [1, 0]
    assert [(issue["line"], issue["what"]) for issue in summary.issues] == [(2, "bad line")]
    assert ids(workspace) == ["a/simple_0", "a/simple_2", "b/simple_0"]


def test_an_unchanged_run_is_not_read_and_the_store_not_written(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    before = workspace.store.stat()
    summary = import_runs(workspace, [write_plan(tmp_path, "a")], never)
    assert statuses(summary) == {"a": "unchanged"}
    assert summary.n_items == 1
    after = workspace.store.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_touching_a_file_reads_its_hash_only_and_remembers_the_time(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    os.utime(tmp_path / "a" / "results.jsonl", ns=(1, 1))
    assert statuses(import_runs(workspace, [write_plan(tmp_path, "a")], never)) == {"a": "unchanged"}
    inode = workspace.store.stat().st_ino
    assert statuses(import_runs(workspace, [write_plan(tmp_path, "a")], never)) == {"a": "unchanged"}
    assert workspace.store.stat().st_ino == inode
    assert ids(workspace) == ["a/simple_0"]


@pytest.mark.parametrize("same_size", [True, False])
def test_only_the_changed_run_is_read_again(tmp_path: Path, same_size: bool) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{"id": "x1"}], "b": [{}]})
    write_run(tmp_path / "a", [{"id": "x2" if same_size else "longer"}], "a")
    os.utime(tmp_path / "a" / "results.jsonl", ns=(5, 5))
    summary = import_runs(workspace, [write_plan(tmp_path, "a"), write_plan(tmp_path, "b")], read)
    assert statuses(summary) == {"a": "imported", "b": "unchanged"}
    assert sorted(ids(workspace)) == ["a/x2" if same_size else "a/longer", "b/simple_0"]


def test_a_new_importer_version_or_another_file_reads_again(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    plan = write_plan(tmp_path, "a")
    plan.version = 2
    assert statuses(import_runs(workspace, [plan], read)) == {"a": "imported"}
    dataset = tmp_path / "data.json"
    dataset.write_text("[]")
    plan.data.append(dataset)
    assert statuses(import_runs(workspace, [plan], read)) == {"a": "imported"}
    assert ids(workspace) == ["a/simple_0"]


def test_runs_imported_earlier_from_elsewhere_stay(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    import_runs(workspace, [write_run(tmp_path / "b", [{}, {}], "b")], read)
    assert ids(workspace) == ["a/simple_0", "b/simple_0", "b/simple_1"]


def test_a_failing_reader_keeps_the_old_items_and_does_not_stop_the_others(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}], "b": [{}]})
    plans = [write_run(tmp_path / "a", [{}, {"crash": "boom"}], "a"), write_run(tmp_path / "b", [{}, {}], "b")]
    summary = import_runs(workspace, plans, read)
    assert statuses(summary) == {"a": "failed", "b": "imported"}
    assert any("boom" in issue["what"] and "kept" in issue["what"] for issue in summary.issues)
    assert ids(workspace) == ["a/simple_0", "b/simple_0", "b/simple_1"]
    assert statuses(import_runs(workspace, plans, read)) == {"a": "failed", "b": "unchanged"}


def test_what_duckdb_refuses_is_left_out_and_told_with_its_place(tmp_path: Path) -> None:
    rows = [{"tokens_in": 5}, {"tokens_in": 2**64}, {"n_turns": "many", "tokens_in": 7}]
    workspace, summary = import_items(tmp_path, {"a": rows, "b": [{}]})
    assert statuses(summary) == {"a": "imported", "b": "imported"}
    assert ids(workspace) == ["a/simple_0", "a/simple_1", "a/simple_2", "b/simple_0"]
    issue = summary.issues[0]
    assert (issue["item"], Path(issue["file"]).name, issue["line"]) == ("simple_1", "results.jsonl", 2)
    assert "18446744073709551616" in issue["what"]
    with Store.open(workspace) as store:
        assert store.sql("SELECT tokens_in FROM items ORDER BY item LIMIT 3")[1] == [(5,), (None,), (7,)]


def test_a_part_that_needs_more_memory_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MEMORY", "12MB")
    long = {"messages": [["x" * 8_000_000]]}
    row = {"extra": long, "functions": [{"name": "f", **long}]}
    workspace = find_workspace(tmp_path)
    plans = [write_run(tmp_path / "a", [row, {}], "a"), write_run(tmp_path / "b", [{}], "b")]
    summary = import_runs(workspace, plans, read, jobs=1)
    assert summary.issues == []
    assert statuses(summary) == {"a": "imported", "b": "imported"}
    assert ids(workspace) == ["a/simple_0", "a/simple_1", "b/simple_0"]


def test_official_metrics_of_any_kind_are_kept(tmp_path: Path) -> None:
    workspace = find_workspace(tmp_path)
    plan = write_run(tmp_path / "a", [{}], "a")
    plan.run.official_metrics["simple"] = {"accuracy": "\ud800", "correct_count": 10**30}
    assert statuses(import_runs(workspace, [plan], read)) == {"a": "imported"}


def test_a_pipe_among_the_sources_is_not_waited_for(tmp_path: Path) -> None:
    plan = write_run(tmp_path / "a", [{}], "a")
    os.mkfifo(tmp_path / "a" / "score.json")
    plan.scores.append(tmp_path / "a" / "score.json")
    assert statuses(import_runs(find_workspace(tmp_path), [plan], read)) == {"a": "imported"}


def test_functions_of_a_failed_run_are_not_missing_in_another(tmp_path: Path) -> None:
    rows = [{"functions": [{"name": "only_here"}]}]
    workspace, _ = import_items(tmp_path, {"a": [*rows, {"crash": "x"}], "b": rows, "c": rows})
    with Store.open(workspace) as store:
        for item in store.find("simple_0"):
            assert store.detail(item).item.functions == [{"name": "only_here"}]
        assert store.sql("SELECT count(*) FROM functions")[1] == [(1,)]


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


def test_a_damaged_store_is_built_anew_with_a_notice(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    workspace.store.write_bytes(b"not a database at all" * 1000)
    summary = import_runs(workspace, [write_plan(tmp_path, "a")], read)
    assert statuses(summary) == {"a": "imported"}
    assert [issue["severity"] for issue in summary.issues] == ["notice"]
    assert ids(workspace) == ["a/simple_0"]


def test_a_workspace_moved_as_a_whole_is_unchanged(tmp_path: Path) -> None:
    import_items(tmp_path / "here", {"a": [{}]})
    (tmp_path / "here").rename(tmp_path / "there")
    workspace = find_workspace(tmp_path / "there")
    assert statuses(import_runs(workspace, [write_plan(tmp_path / "there", "a")], never)) == {"a": "unchanged"}
    with Store.open(workspace) as store:
        assert store.runs()[0].info.path == str(tmp_path / "there" / "a")
        assert store.raw(store.find("simple_0")[0]) == "{}\n"


def test_replacing_a_large_run_does_not_let_the_file_grow_forever(tmp_path: Path) -> None:
    rows = [{"messages": [], "question": os.urandom(1500).hex()} for _ in range(6000)]
    workspace, _ = import_items(tmp_path, {"a": rows})
    sizes = []
    for number in range(3):
        import_runs(workspace, [write_run(tmp_path / "a", [*rows, {"id": f"n{number}"}], "a")], read)
        sizes.append(workspace.store.stat().st_size)
    assert sizes[-1] < 2.2 * sizes[0]
    assert len(ids(workspace)) == 1000
    with Store.open(workspace) as store:
        assert store.count(View()) == 6001


def hostile(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    arguments: dict[Any, Any] = {"huge": 10**400, "tuple": (1, 2.0), "half": "\ud800", "deep": deep, 3: "key"}
    yield make_item(0, id="bad\ud800", predicted=[Call("predicted", "f", arguments)])
    text = 'é\0\x1b[31m"\\\n' * 100_000
    yield make_item(1, id="text", category=text, question=text, error_type=text, first_difference=text)
    yield make_item(2, id="none", predicted=[Call("predicted", "f", None, decode_error="?")], messages=[], verdicts=[])
    yield make_item(3, id="judged", verdicts=[Verdict("judge", value) for value in ("unsure", None, 2, ["a"])])


def test_hostile_values_are_stored(tmp_path: Path) -> None:
    workspace = find_workspace(tmp_path)
    assert import_runs(workspace, [write_run(tmp_path / "a", [{}])], hostile).n_items == 4
    with Store.open(workspace) as store:
        first = store.detail(1 << 32).item
        assert first.id == "bad\\ud800"
        arguments = first.predicted[0].arguments
        assert arguments is not None
        assert arguments["huge"] == str(10**400)
        assert arguments["tuple"] == [1, 2.0]
        text = store.detail(store.find("text")[0]).item
        assert text.category == text.error_type == text.first_difference == 'é\0\x1b[31m"\\\n' * 100_000
        assert store.detail(store.find("none")[0]).item.predicted[0].arguments is None
        judged = store.detail(store.find("judged")[0]).item
        assert [verdict.value for verdict in judged.verdicts] == ["unsure", None, 2, ["a"]]


def fifty_megabytes(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    yield make_item(0)
    yield make_item(1, messages=[Message(0, 0, "tool", "observation " * 4_500_000)])


def test_a_record_of_fifty_megabytes_is_stored_and_read(tmp_path: Path) -> None:
    workspace = find_workspace(tmp_path)
    assert statuses(import_runs(workspace, [write_run(tmp_path / "a", [{}])], fifty_megabytes)) == {
        "maple-8b": "imported"
    }
    with Store.open(workspace) as store:
        assert len(store.detail(store.find("simple_1")[0]).item.messages[0].content) == 54_000_000
        assert store.count(View(where="text:observation")) == 1


def test_a_workspace_that_cannot_be_written_to_says_so(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    workspace.lock.unlink()
    workspace.lock.mkdir()
    with pytest.raises(WorkspaceError, match="--workspace"):
        import_runs(workspace, [write_plan(tmp_path, "a")], read)
