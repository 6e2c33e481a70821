"""Folders are searched in a stable order, with limits and without loops."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fcreview.importers.common.discovery import gather_files


def create_file(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_files_are_sorted_and_unique(tmp_path: Path) -> None:
    create_file(
        tmp_path / "b" / "2.json",
        tmp_path / "b" / "1.json",
        tmp_path / "a" / "3.json",
        tmp_path / "z.json",
    )
    found = gather_files([tmp_path, tmp_path / "a", tmp_path / "z.json"])
    assert [path.relative_to(tmp_path).as_posix() for path in found.files] == [
        "z.json",
        "a/3.json",
        "b/1.json",
        "b/2.json",
    ]
    assert found.issues == []


def test_workspaces_repositories_and_hidden_files_are_skipped(tmp_path: Path) -> None:
    create_file(
        *(
            tmp_path / name / "x.json"
            for name in (".fcreview", ".git", "node_modules", ".venv", ".other", "kept")
        )
    )
    create_file(tmp_path / ".DS_Store")
    assert [path.parent.name for path in gather_files([tmp_path]).files] == ["kept"]


def test_links_are_followed_without_loops(tmp_path: Path) -> None:
    create_file(tmp_path / "real" / "x.json")
    (tmp_path / "real" / "round").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert [path.name for path in gather_files([tmp_path]).files] == ["x.json"]
    assert [path.name for path in gather_files([tmp_path / "other"]).files] == ["x.json"]


def test_missing_path_is_error(tmp_path: Path) -> None:
    found = gather_files([tmp_path / "nowhere"])
    assert found.files == []
    assert [issue.severity for issue in found.issues] == ["error"]


def test_limits_are_reported(tmp_path: Path) -> None:
    create_file(*(tmp_path / f"{number}.json" for number in range(20)))
    found = gather_files([tmp_path], max_files=5)
    assert len(found.files) == 5
    assert "more than 5" in found.issues[0].what
    create_file(tmp_path / "a" / "b" / "c" / "d" / "deep.json")
    found = gather_files([tmp_path / "a"], max_depth=2)
    assert found.files == []
    assert "folders deep" in found.issues[0].what


def test_special_files_are_reported(tmp_path: Path) -> None:
    create_file(tmp_path / "x.json")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "round.jsonl").symlink_to(tmp_path / "round.jsonl")
    os.mkfifo(tmp_path / "pipe.json")
    found = gather_files([tmp_path])
    assert [path.name for path in found.files] == ["x.json"]
    assert sorted(Path(issue.file).name for issue in found.issues) == [
        "gone.json",
        "pipe.json",
        "round.jsonl",
    ]


def test_undecodable_names_are_reported_and_not_read(tmp_path: Path) -> None:
    create_file(
        tmp_path / "x.json",
        tmp_path / os.fsdecode(b"\xff.json"),
        tmp_path / os.fsdecode(b"\xfe") / "y.json",
    )
    found = gather_files([tmp_path, tmp_path / os.fsdecode(b"\xfe")])
    assert [path.name for path in found.files] == ["x.json"]
    assert ["UTF-8" in issue.what for issue in found.issues] == [True] * 3
    assert all(issue.file.encode() for issue in found.issues)


def test_empty_folders_count_for_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_file(tmp_path / "a" / "x.json", tmp_path / "z" / "y.json")
    for number in range(20):
        (tmp_path / "b" / str(number)).mkdir(parents=True)
    monkeypatch.setattr("fcreview.importers.common.discovery.MAX_FOLDERS", 10)
    found = gather_files([tmp_path])
    assert [path.name for path in found.files] == ["x.json"]
    assert "more than 10 folders" in found.issues[0].what
