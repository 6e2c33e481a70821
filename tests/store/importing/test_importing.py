"""An import reads new and changed runs again and keeps all others."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import pytest

from fcreview.store.importing import workers
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.store import Store, View
from fcreview.store.workspace import WorkspaceError, find_workspace
from tests.store.factory import import_items, read, write_run
from tests.store.importing.imported import fail_if_read, list_statuses, read_ids, write_plan


def test_records_become_items_and_problems_become_issues(tmp_path: Path) -> None:
    workspace, summary = import_items(
        tmp_path, {"a": [{}, {"issue": "bad line"}, {"official": True}], "b": [{}]}
    )
    assert summary.n_items == 3
    assert [run["issues"] for run in summary.runs] == [1, 0]
    assert [(issue["line"], issue["what"]) for issue in summary.issues] == [(2, "bad line")]
    assert read_ids(workspace) == ["a/simple_0", "a/simple_2", "b/simple_0"]


def test_reading_examines_only_new_objects_for_garbage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The datasets that the importers keep in memory have millions of objects."""
    monkeypatch.setattr(workers, "READING_THRESHOLDS", (10, 1_000_000, 1_000_000))
    workspace = find_workspace(tmp_path, create=True)
    workspace.files.make_folder(workspace.temporary)
    job = workers.ReadJob(1, write_run(tmp_path / "a", [{}] * 20), sources=[])
    outcomes = workers.read_and_stage_runs(
        workspace, workspace.temporary, [job], read, n_workers=1, on_progress=None
    )
    generations: set[int] = set()

    def add_generation(_: str, collection: dict[str, int]) -> None:
        generations.add(collection["generation"])

    gc.collect()
    gc.callbacks.append(add_generation)
    try:
        outcome = next(outcomes)
    finally:
        gc.callbacks.remove(add_generation)
    assert outcome.staged is not None
    assert outcome.staged.n_items == 20
    assert generations == {0}


def test_unchanged_run_is_not_read_again(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    before = workspace.store.stat()
    summary = import_runs(workspace, [write_plan(tmp_path, "a")], fail_if_read)
    assert list_statuses(summary) == {"a": "unchanged"}
    assert summary.n_items == 1
    after = workspace.store.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_touched_file_is_only_hashed(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    os.utime(tmp_path / "a" / "results.jsonl", ns=(1, 1))
    assert list_statuses(import_runs(workspace, [write_plan(tmp_path, "a")], fail_if_read)) == {
        "a": "unchanged"
    }
    inode = workspace.store.stat().st_ino
    assert list_statuses(import_runs(workspace, [write_plan(tmp_path, "a")], fail_if_read)) == {
        "a": "unchanged"
    }
    assert workspace.store.stat().st_ino == inode
    assert read_ids(workspace) == ["a/simple_0"]


@pytest.mark.parametrize("same_size", [True, False])
def test_only_the_changed_run_is_read_again(tmp_path: Path, same_size: bool) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{"id": "x1"}], "b": [{}]})
    write_run(tmp_path / "a", [{"id": "x2" if same_size else "longer"}], "a")
    os.utime(tmp_path / "a" / "results.jsonl", ns=(5, 5))
    summary = import_runs(workspace, [write_plan(tmp_path, "a"), write_plan(tmp_path, "b")], read)
    assert list_statuses(summary) == {"a": "imported", "b": "unchanged"}
    assert sorted(read_ids(workspace)) == ["a/x2" if same_size else "a/longer", "b/simple_0"]


@pytest.mark.sweep
def test_new_importer_version_or_other_file_is_read_again(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    plan = write_plan(tmp_path, "a")
    plan.version = 2
    assert list_statuses(import_runs(workspace, [plan], read)) == {"a": "imported"}
    dataset = tmp_path / "data.json"
    dataset.write_text("[]")
    plan.data.append(dataset)
    assert list_statuses(import_runs(workspace, [plan], read)) == {"a": "imported"}
    assert read_ids(workspace) == ["a/simple_0"]


def test_earlier_runs_of_other_folders_are_kept(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    import_runs(workspace, [write_run(tmp_path / "b", [{}, {}], "b")], read)
    assert read_ids(workspace) == ["a/simple_0", "b/simple_0", "b/simple_1"]


def test_failing_reader_keeps_old_items_and_other_runs_are_imported(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}], "b": [{}]})
    plans = [
        write_run(tmp_path / "a", [{}, {"crash": "boom"}], "a"),
        write_run(tmp_path / "b", [{}, {}], "b"),
    ]
    summary = import_runs(workspace, plans, read)
    assert list_statuses(summary) == {"a": "failed", "b": "imported"}
    assert any("boom" in issue["what"] and "kept" in issue["what"] for issue in summary.issues)
    assert read_ids(workspace) == ["a/simple_0", "b/simple_0", "b/simple_1"]
    assert list_statuses(import_runs(workspace, plans, read)) == {"a": "failed", "b": "unchanged"}


def test_failed_run_removes_no_functions_of_another_run(tmp_path: Path) -> None:
    rows = [{"functions": [{"name": "only_here"}]}]
    workspace, _ = import_items(tmp_path, {"a": [*rows, {"crash": "x"}], "b": rows, "c": rows})
    with Store.open(workspace) as store:
        for item in store.find_items("simple_0"):
            assert store.read_detail(item).item.functions == [{"name": "only_here"}]
        assert store.run_sql("SELECT count(*) FROM functions")[1] == [(1,)]


def test_moved_workspace_is_unchanged(tmp_path: Path) -> None:
    import_items(tmp_path / "here", {"a": [{}]})
    (tmp_path / "here").rename(tmp_path / "there")
    workspace = find_workspace(tmp_path / "there")
    assert list_statuses(
        import_runs(workspace, [write_plan(tmp_path / "there", "a")], fail_if_read)
    ) == {"a": "unchanged"}
    with Store.open(workspace) as store:
        assert store.fetch_runs()[0].info.path == str(tmp_path / "there" / "a")
        assert store.read_raw_record(store.find_items("simple_0")[0]) == "{}\n"


@pytest.mark.parametrize("dataset", ["here/data", "here", "far", "data.json in each folder", None])
def test_copied_workspace_uses_its_own_dataset(tmp_path: Path, dataset: str | None) -> None:
    """The path of a dataset outside the copied folder is unchanged, and so is a description."""
    plan = write_run(tmp_path / "here" / "a", [{}], "a")
    is_path = dataset is not None and " " not in dataset
    plan.run.dataset = str(tmp_path / dataset) if dataset and is_path else dataset
    import_runs(find_workspace(tmp_path / "here", create=True), [plan], read)
    shutil.copytree(tmp_path / "here", tmp_path / "copy")
    workspace = find_workspace(tmp_path / "copy")
    expected = str(tmp_path / dataset.replace("here", "copy")) if dataset and is_path else dataset
    with Store.open(workspace) as store:
        assert store.fetch_runs()[0].info.dataset == expected
        ((stored,),) = store.run_sql("SELECT dataset FROM runs")[1]
    assert str(tmp_path / "here") not in (stored or "")
    summary = import_runs(workspace, [write_plan(tmp_path / "copy", "a")], fail_if_read)
    assert [(run["status"], run["dataset"]) for run in summary.runs] == [("unchanged", expected)]


def test_runs_of_another_importer_version_are_counted(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}], "b": [{}]})
    plans = [write_plan(tmp_path, "a"), write_plan(tmp_path, "b")]
    plans[0].version = 2
    plans[1].options = {"decoder": "hermes"}
    summary = import_runs(workspace, plans, read)
    assert list_statuses(summary) == {"a": "imported", "b": "imported"}
    assert summary.n_upgraded == 1
    assert import_runs(workspace, plans, read).n_upgraded == 0


@pytest.mark.sweep
@pytest.mark.slow
def test_replacing_a_large_run_does_not_grow_the_file(tmp_path: Path) -> None:
    rows = [{"messages": [], "question": os.urandom(1500).hex()} for _ in range(6000)]
    workspace, _ = import_items(tmp_path, {"a": rows})
    sizes = []
    for number in range(3):
        import_runs(
            workspace, [write_run(tmp_path / "a", [*rows, {"id": f"n{number}"}], "a")], read
        )
        sizes.append(workspace.store.stat().st_size)
    assert sizes[-1] < 2.2 * sizes[0]
    assert len(read_ids(workspace)) == 1000
    with Store.open(workspace) as store:
        assert store.count_items(View()) == 6001


def test_unwritable_workspace_is_an_error(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    workspace.lock.unlink()
    workspace.lock.mkdir()
    with pytest.raises(WorkspaceError, match="--workspace"):
        import_runs(workspace, [write_plan(tmp_path, "a")], read)


def test_open_reader_sees_the_old_store(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}]})
    with Store.open(workspace) as before:
        import_runs(workspace, [write_run(tmp_path / "a", [{}, {}, {}], "a")], read)
        assert before.count_items(View()) == 1
        assert before.read_detail(before.find_items("simple_0")[0]).item.id == "simple_0"
        with Store.open(workspace) as after:
            assert after.count_items(View()) == 3
            assert before.count_items(View(queue="dataset")) == 1
