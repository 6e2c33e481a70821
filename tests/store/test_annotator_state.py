import os
from pathlib import Path

import pytest

from fcreview.store.workspace import AnnotatorState


def test_state_is_separate_by_kind_and_annotator(tmp_path: Path) -> None:
    alice = AnnotatorState(tmp_path, "alice")
    alice.write("first", {"a": 1})
    alice.try_write("positions", {"b": 2})
    assert (alice.read("first"), alice.read("positions")) == ({"a": 1}, {"b": 2})
    assert AnnotatorState(tmp_path, "bob").read("first") == {}


def test_deleted_workspace_is_not_created_again(tmp_path: Path) -> None:
    own = AnnotatorState(tmp_path / "gone", "alice")
    own.try_write("first", {})
    with pytest.raises(FileNotFoundError):
        own.write("first", {})
    assert not list(tmp_path.iterdir())


def test_no_state_without_a_workspace() -> None:
    own = AnnotatorState(None, "alice")
    own.try_write("first", {"a": 1})
    assert own.read("first") == {}
    with pytest.raises(OSError, match="no workspace"):
        own.write("first", {})


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_existing_temporary_file_is_not_written_to(tmp_path: Path, kind: str) -> None:
    """In a folder that a group can write to, the name of the temporary file can be guessed."""
    other = tmp_path / "other"
    other.write_text("theirs")
    trap = tmp_path / "first" / f"alice.{os.getpid()}.tmp"
    trap.parent.mkdir()
    trap.symlink_to(other) if kind == "link" else os.mkfifo(trap)
    AnnotatorState(tmp_path, "alice").write("first", {"a": 1})
    assert AnnotatorState(tmp_path, "alice").read("first") == {"a": 1}
    assert not (tmp_path / "first" / "alice.json").is_symlink()
    assert other.read_text() == "theirs"


def test_very_large_file_is_ignored(tmp_path: Path) -> None:
    """The file is sparse and needs no disk space."""
    own = AnnotatorState(tmp_path, "alice")
    own.write("first", {"a": 1})
    os.truncate(tmp_path / "first" / "alice.json", 1 << 40)
    assert own.read("first") == {}
