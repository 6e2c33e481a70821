"""Content of dataset files that several runs use."""

import os
from pathlib import Path

import pytest

from fcreview.importers.common import file_cache
from fcreview.importers.common.file_cache import FileCache


class Loader:
    """Loads texts, and counts how often."""

    def __init__(self) -> None:
        self.n_loads = 0

    def load(self, path: Path) -> str:
        self.n_loads += 1
        return path.read_text()


def test_file_is_loaded_once(tmp_path: Path) -> None:
    loader = Loader()
    cache = FileCache(loader.load)
    file = tmp_path / "data.json"
    file.write_text("first")
    assert cache.load(file) is cache.load(file)
    assert loader.n_loads == 1


def test_changed_file_is_loaded_again(tmp_path: Path) -> None:
    cache = FileCache(Loader().load)
    file = tmp_path / "data.json"
    file.write_text("first")
    cache.load(file)
    file.write_text("other")
    os.utime(file, ns=(1, 1))
    assert cache.load(file) == "other"


def test_file_with_other_permissions_is_loaded_again(tmp_path: Path) -> None:
    loader = Loader()
    cache = FileCache(loader.load)
    file = tmp_path / "data.json"
    file.write_text("first")
    cache.load(file)
    file.chmod(0o600)
    cache.load(file)
    assert loader.n_loads == 2


def test_files_above_the_limit_are_forgotten_oldest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_cache, "MAX_CACHED_BYTES", 10)
    loader = Loader()
    cache = FileCache(loader.load)
    old = tmp_path / "old.json"
    new = tmp_path / "new.json"
    old.write_text("a" * 6)
    new.write_text("b" * 6)
    cache.load(old)
    cache.load(new)
    cache.load(new)
    assert loader.n_loads == 2
    cache.load(old)
    assert loader.n_loads == 3


def test_file_larger_than_the_limit_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_cache, "MAX_CACHED_BYTES", 10)
    loader = Loader()
    cache = FileCache(loader.load)
    file = tmp_path / "data.json"
    file.write_text("a" * 11)
    assert cache.load(file) == cache.load(file)
    assert loader.n_loads == 2
