import os
from pathlib import Path

import pytest

from fcreview.store.workspace import AnnotatorState


def test_each_kind_of_each_annotator_is_apart(tmp_path: Path) -> None:
    alice = AnnotatorState(tmp_path, "alice")
    alice.write("first", {"a": 1})
    alice.try_write("positions", {"b": 2})
    assert (alice.read("first"), alice.read("positions")) == ({"a": 1}, {"b": 2})
    assert AnnotatorState(tmp_path, "bob").read("first") == {}


def test_a_workspace_that_has_gone_is_not_made_anew(tmp_path: Path) -> None:
    own = AnnotatorState(tmp_path / "gone", "alice")
    own.try_write("first", {})
    with pytest.raises(FileNotFoundError):
        own.write("first", {})
    assert not list(tmp_path.iterdir())


def test_without_a_workspace_nothing_is_kept() -> None:
    own = AnnotatorState(None, "alice")
    own.try_write("first", {"a": 1})
    assert own.read("first") == {}
    with pytest.raises(OSError, match="no workspace"):
        own.write("first", {})


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_somebody_put_where_it_is_made_is_not_written_into(tmp_path: Path, kind: str) -> None:
    """In a folder that a group may write to, the name of the file in the making can be guessed."""
    other = tmp_path / "other"
    other.write_text("theirs")
    trap = tmp_path / "first" / f"alice.{os.getpid()}.tmp"
    trap.parent.mkdir()
    trap.symlink_to(other) if kind == "link" else os.mkfifo(trap)
    AnnotatorState(tmp_path, "alice").write("first", {"a": 1})
    assert AnnotatorState(tmp_path, "alice").read("first") == {"a": 1}
    assert not (tmp_path / "first" / "alice.json").is_symlink()
    assert other.read_text() == "theirs"


def test_a_file_of_a_thousand_gigabytes_is_none(tmp_path: Path) -> None:
    """It takes no room on the disk."""
    own = AnnotatorState(tmp_path, "alice")
    own.write("first", {"a": 1})
    os.truncate(tmp_path / "first" / "alice.json", 1 << 40)
    assert own.read("first") == {}
