"""Dataset paths are remembered, moved paths are found, and lost ones are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.model.item import Run
from fcreview.run_plan import RunPlan
from fcreview.store.importing.source_files import (
    DatasetFolders,
    SourceFile,
    StoredRun,
    find_folder_of_lost_dataset,
)
from fcreview.store.workspace import Workspace, find_workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "all" / "runs").mkdir(parents=True)
    return find_workspace(tmp_path / "all" / "runs")


def run(workspace: Workspace, name: str = "maple") -> Run:
    return Run("bfcl", "V4", "en", name, str(workspace.parent_folder / name))


def made(*paths: Path) -> list[Path]:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return list(paths)


def stored(workspace: Workspace, data: list[Path], results: list[Path]) -> StoredRun:
    """Return the value that the store has after an import from these files."""
    files = [("data", path) for path in data] + [("result", path) for path in results]
    return StoredRun(
        1,
        1,
        5,
        0,
        run(workspace),
        [SourceFile(workspace.to_stored_path(path), kind, 2, 0) for kind, path in files],
    )


def test_folders_are_found_at_old_and_moved_paths(workspace: Workspace, tmp_path: Path) -> None:
    beside, far = tmp_path / "all" / "data", tmp_path / "far"
    for folder in (beside, far):
        folder.mkdir()
    remembered = DatasetFolders(workspace)
    remembered.remember_folders(run(workspace), [beside, far])
    remembered.save()
    assert DatasetFolders(workspace).get_dataset_folders(run(workspace)) == (beside, far)
    (tmp_path / "all").rename(tmp_path / "new")
    moved = Workspace(tmp_path / "new" / "runs" / ".fcreview")
    assert DatasetFolders(moved).get_dataset_folders(run(moved)) == (tmp_path / "new" / "data", far)
    far.rmdir()
    assert DatasetFolders(moved).get_dataset_folders(run(moved)) == (tmp_path / "new" / "data", far)


def test_most_common_dataset_is_the_default(workspace: Workspace, tmp_path: Path) -> None:
    remembered = DatasetFolders(workspace)
    assert remembered.most_common_folders == ()
    for name, folder in (("maple", "a"), ("birch", "b"), ("cedar", "b")):
        remembered.remember_folders(run(workspace, name), [tmp_path / folder])
    assert remembered.most_common_folders == (tmp_path / "b",)
    for name in ("birch", "cedar"):
        remembered.remember_folders(run(workspace, name), ())
    remembered.save()
    again = DatasetFolders(workspace)
    assert (
        again.most_common_folders == again.get_dataset_folders(run(workspace)) == (tmp_path / "a",)
    )
    assert again.get_dataset_folders(run(workspace, "birch")) == ()


def test_deleted_conversation_has_no_lost_dataset(workspace: Workspace) -> None:
    """HammerBench stores the data of a conversation next to its result."""
    folders = [workspace.parent_folder / "maple" / name for name in ("one", "two")]
    data = made(*(folder / "data.json" for folder in folders))
    results = made(*(folder / "result.json" for folder in folders))
    before = stored(workspace, data, results)
    for path in (results[1], data[1]):
        path.unlink()
    plan = RunPlan(run(workspace), results[:1], data=data[:1])
    assert find_folder_of_lost_dataset(workspace, plan, before, ()) == folders[1]
    folders[1].rmdir()
    assert find_folder_of_lost_dataset(workspace, plan, before, ()) is None


def test_file_of_the_same_name_replaces_a_lost_one_unless_chosen(
    workspace: Workspace, tmp_path: Path
) -> None:
    results = made(workspace.parent_folder / "maple" / "result.json")
    old, new = tmp_path / "old", tmp_path / "new"
    before = stored(workspace, [old / "q.json", old / "answers" / "q.json"], results)
    plan = RunPlan(run(workspace), results, data=made(new / "q.json", new / "answers" / "q.json"))
    assert find_folder_of_lost_dataset(workspace, plan, before, ()) is None
    assert find_folder_of_lost_dataset(workspace, plan, before, (new,)) is None
    assert find_folder_of_lost_dataset(workspace, plan, before, (old,)) == old
    half = RunPlan(run(workspace), results, data=[new / "q.json"])
    assert find_folder_of_lost_dataset(workspace, half, before, ()) in (old, old / "answers")


def test_existing_unneeded_files_are_not_lost(workspace: Workspace, tmp_path: Path) -> None:
    results = made(workspace.parent_folder / "maple" / "result.json")
    data = made(tmp_path / "data" / "one.json", tmp_path / "data" / "two.json")
    before = stored(workspace, data, results)
    assert (
        find_folder_of_lost_dataset(
            workspace, RunPlan(run(workspace), results, data=data[:1]), before, ()
        )
        is None
    )
    assert (
        find_folder_of_lost_dataset(
            workspace, RunPlan(run(workspace), results), before, (tmp_path / "data",)
        )
        is None
    )
    assert (
        find_folder_of_lost_dataset(workspace, RunPlan(run(workspace), results), before, ())
        == tmp_path / "data"
    )
