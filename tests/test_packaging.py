"""What is in the folders is what gets installed."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("core", "cli", "exporters", "importers", "sample_runs", "store", "tui")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def test_the_packages_are_the_folders_of_the_rooms() -> None:
    found = set(runpy.run_path(str(ROOT / "setup.py"), run_name="looked at")["packages"](ROOT))
    assert {"fcreview", "fcreview.matching", "fcreview.cli.commands", "fcreview.importers.bfcl.checker"} <= found
    assert {name.split(".")[1] for name in found if "." in name} >= set(ROOMS) - {"core"}


def test_every_python_file_lies_in_a_package() -> None:
    loose = {
        str(file.relative_to(ROOT))
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if not (file.parent / "__init__.py").exists()
    }
    assert not loose


def test_every_room_is_mapped_to_its_folder() -> None:
    expected = {"fcreview" if room == "core" else f"fcreview.{room}": room for room in ROOMS}
    assert SETUPTOOLS["package-dir"] == expected


def data_files() -> list[Path]:
    """Files of packages that are not Python."""
    return [
        file
        for room in ROOMS
        for file in (ROOT / room).rglob("*")
        if file.is_file() and file.suffix not in (".py", ".pyc") and "__pycache__" not in file.parts
        and ".fcreview" not in file.parts
    ]  # fmt: skip


def test_there_are_data_files_to_speak_of() -> None:
    suffixes = {file.suffix for file in data_files()}
    assert {".sql", ".tcss", ".json", ".typed"} <= suffixes


def test_every_data_file_is_package_data() -> None:
    """Each is matched by a pattern of the package it lies in, or of one above it."""
    patterns = [
        ROOT / folder / pattern
        for package, folder in SETUPTOOLS["package-dir"].items()
        for pattern in SETUPTOOLS["package-data"].get(package, [])
    ]
    left_out = [
        str(file.relative_to(ROOT))
        for file in data_files()
        if not any(file.match(str(pattern)) or _matches(file, pattern) for pattern in patterns)
    ]
    assert not left_out


def _matches(file: Path, pattern: Path) -> bool:
    """`**` as setuptools means it: any number of folders."""
    before, found, after = str(pattern).partition("/**/")
    return bool(found) and file.is_relative_to(before) and file.match(after)


def test_the_version_is_said_once() -> None:
    import fcreview

    assert fcreview.__version__ == PROJECT["project"]["version"]


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in text
    assert "9. Accepting Warranty or Additional Liability" in text
    assert len(text) > 11_000
