"""Which datasets are remembered, and what counts as lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.model.item import Run
from fcreview.run_plan import RunPlan
from fcreview.store.importing.builder import StoredRun
from fcreview.store.importing.dataset_paths import DatasetFolders, find_lost_dataset
from fcreview.store.importing.sources import SourceFile
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
    """As the store keeps what was imported from these files."""
    files = [("data", path) for path in data] + [("result", path) for path in results]
    return StoredRun(1, 1, 5, 0, None, [SourceFile(workspace.to_stored_path(path), kind, 2, 0) for kind, path in files])


def test_folders_are_found_where_everything_was_moved_to_or_where_they_were(
    workspace: Workspace, tmp_path: Path
) -> None:
    beside, far = tmp_path / "all" / "data", tmp_path / "far"
    for folder in (beside, far):
        folder.mkdir()
    remembered = DatasetFolders(workspace)
    remembered.set_folders(run(workspace), [beside, far])
    remembered.save()
    assert DatasetFolders(workspace).folders_of(run(workspace)) == (beside, far)
    (tmp_path / "all").rename(tmp_path / "new")
    moved = Workspace(tmp_path / "new" / "runs" / ".fcreview")
    assert DatasetFolders(moved).folders_of(run(moved)) == (tmp_path / "new" / "data", far)
    far.rmdir()
    assert DatasetFolders(moved).folders_of(run(moved)) == (tmp_path / "new" / "data", far)


def test_what_most_runs_have_is_usual_and_what_is_forgotten_is_gone(workspace: Workspace, tmp_path: Path) -> None:
    remembered = DatasetFolders(workspace)
    assert remembered.most_common == ()
    for name, folder in (("maple", "a"), ("birch", "b"), ("cedar", "b")):
        remembered.set_folders(run(workspace, name), [tmp_path / folder])
    assert remembered.most_common == (tmp_path / "b",)
    for name in ("birch", "cedar"):
        remembered.set_folders(run(workspace, name), ())
    remembered.save()
    again = DatasetFolders(workspace)
    assert again.most_common == again.folders_of(run(workspace)) == (tmp_path / "a",)
    assert again.folders_of(run(workspace, "birch")) == ()


def test_a_conversation_that_was_deleted_takes_its_data_along(workspace: Workspace) -> None:
    """HammerBench keeps a conversation's data beside its result."""
    folders = [workspace.parent_folder / "maple" / name for name in ("one", "two")]
    data = made(*(folder / "data.json" for folder in folders))
    results = made(*(folder / "result.json" for folder in folders))
    before = stored(workspace, data, results)
    for path in (results[1], data[1]):
        path.unlink()
    plan = RunPlan(run(workspace), results[:1], data=data[:1])
    assert find_lost_dataset(workspace, plan, before, ()) == folders[1]
    folders[1].rmdir()
    assert find_lost_dataset(workspace, plan, before, ()) is None


def test_a_file_of_that_name_elsewhere_replaces_one_unless_a_person_chose(workspace: Workspace, tmp_path: Path) -> None:
    results = made(workspace.parent_folder / "maple" / "result.json")
    old, new = tmp_path / "old", tmp_path / "new"
    before = stored(workspace, [old / "q.json", old / "answers" / "q.json"], results)
    plan = RunPlan(run(workspace), results, data=made(new / "q.json", new / "answers" / "q.json"))
    assert find_lost_dataset(workspace, plan, before, ()) is None
    assert find_lost_dataset(workspace, plan, before, (new,)) is None
    assert find_lost_dataset(workspace, plan, before, (old,)) == old
    half = RunPlan(run(workspace), results, data=[new / "q.json"])
    assert find_lost_dataset(workspace, half, before, ()) in (old, old / "answers")


def test_what_is_there_and_not_needed_is_not_lost(workspace: Workspace, tmp_path: Path) -> None:
    results = made(workspace.parent_folder / "maple" / "result.json")
    data = made(tmp_path / "data" / "one.json", tmp_path / "data" / "two.json")
    before = stored(workspace, data, results)
    assert find_lost_dataset(workspace, RunPlan(run(workspace), results, data=data[:1]), before, ()) is None
    assert find_lost_dataset(workspace, RunPlan(run(workspace), results), before, (tmp_path / "data",)) is None
    assert find_lost_dataset(workspace, RunPlan(run(workspace), results), before, ()) == tmp_path / "data"
