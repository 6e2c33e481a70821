from pathlib import Path

import pytest

from fcreview.store.own import Own


def test_each_kind_of_each_annotator_is_apart(tmp_path: Path) -> None:
    alice = Own(tmp_path, "alice")
    alice.write("first", {"a": 1})
    alice.keep("positions", {"b": 2})
    assert (alice.read("first"), alice.read("positions")) == ({"a": 1}, {"b": 2})
    assert Own(tmp_path, "bob").read("first") == {}


def test_a_workspace_that_has_gone_is_not_made_anew(tmp_path: Path) -> None:
    own = Own(tmp_path / "gone", "alice")
    own.keep("first", {})
    with pytest.raises(FileNotFoundError):
        own.write("first", {})
    assert not list(tmp_path.iterdir())


def test_without_a_workspace_nothing_is_kept() -> None:
    own = Own(None, "alice")
    own.keep("first", {"a": 1})
    assert own.read("first") == {}
    with pytest.raises(OSError, match="no workspace"):
        own.write("first", {})
