"""Workspaces are found in parent folders and created where needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fcreview.store.workspace import WorkspaceError, find_default_annotator, find_workspace


def test_workspace_is_created_in_a_folder_or_next_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    file = tmp_path / "b" / "x.json"
    file.write_text("{}")
    assert find_workspace(tmp_path / "a").root == tmp_path / "a" / ".fcreview"
    found = find_workspace(file)
    assert found.root == tmp_path / "b" / ".fcreview"
    assert found.reviews.is_dir()


def test_nearest_parent_workspace_is_used(tmp_path: Path) -> None:
    deep = tmp_path / "runs" / "gpt" / "live"
    deep.mkdir(parents=True)
    outer = find_workspace(tmp_path)
    assert find_workspace(deep).root == outer.root
    inner = find_workspace(deep, tmp_path / "runs")
    assert inner.root == tmp_path / "runs" / ".fcreview"
    assert find_workspace(deep).root == inner.root
    assert find_workspace(inner.root).root == inner.root


def test_override_can_be_the_workspace_folder(tmp_path: Path) -> None:
    found = find_workspace(tmp_path / "nowhere", tmp_path / "w" / ".fcreview")
    assert found.root == tmp_path / "w" / ".fcreview"
    assert found.root.is_dir()


def test_nothing_is_created_without_create(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no workspace"):
        find_workspace(tmp_path, create=False)
    with pytest.raises(WorkspaceError, match="no workspace"):
        find_workspace(tmp_path, tmp_path / "w", create=False)
    assert list(tmp_path.iterdir()) == []


def test_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no such file"):
        find_workspace(tmp_path / "gone")


def test_unknown_home_and_link_to_itself_are_missing_paths(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "runs").mkdir()
    for path in (Path("~nobody-of-this-name/runs"), tmp_path / "loop"):
        with pytest.raises(WorkspaceError, match="no such"):
            find_workspace(path)
        with pytest.raises(WorkspaceError, match="no workspace at"):
            find_workspace(tmp_path / "runs", path, create=False)


def test_unwritable_folder_error_names_the_option(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(WorkspaceError, match="--workspace"):
        find_workspace(tmp_path, file / "below")
    if os.geteuid() == 0:
        pytest.skip("root may write to read-only folders")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(WorkspaceError, match="--workspace"):
        find_workspace(locked)


def test_paths_below_the_workspace_are_stored_relative(tmp_path: Path) -> None:
    workspace = find_workspace(tmp_path)
    assert workspace.to_stored_path(tmp_path / "a" / "b.json") == str(Path("a", "b.json"))
    assert workspace.to_absolute_path("a/b.json") == tmp_path / "a" / "b.json"
    outside = tmp_path.parent / "else"
    assert workspace.to_stored_path(outside) == str(outside)
    assert workspace.to_absolute_path(str(outside)) == outside
    assert workspace.to_absolute_path(workspace.to_stored_path(tmp_path)) == tmp_path


def test_annotator_name_is_a_valid_file_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FCREVIEW_ANNOTATOR", "../Anna Schmidt/x")
    name = find_default_annotator()
    assert "Anna" in name
    assert "/" not in name
    assert not name.startswith(".")
