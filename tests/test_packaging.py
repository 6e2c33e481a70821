"""Every folder of the package is installed, with its data files."""

from __future__ import annotations

import tomllib

from setuptools import find_packages

from tests.sources import PACKAGES, ROOT

LINKED = (*(folder for folder in PACKAGES if folder != "fcreview"), "sample_runs")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def test_package_links_to_top_level_folders() -> None:
    for folder in LINKED:
        link = ROOT / "fcreview" / folder
        assert link.is_symlink(), folder
        assert link.readlink().as_posix() == f"../{folder}"


def test_every_folder_of_python_files_is_installed() -> None:
    packages = set(find_packages(str(ROOT), include=SETUPTOOLS["packages"]["find"]["include"]))
    folders = {
        file.parent.relative_to(ROOT).as_posix()
        for folder in (*PACKAGES, "sample_runs")
        for file in (ROOT / folder).rglob("*.py")
    }
    expected = {name.removeprefix("fcreview/").replace("/", ".") for name in folders}
    assert {name.removeprefix("fcreview.") for name in packages} == expected
    assert {
        "fcreview",
        "fcreview.matching",
        "fcreview.cli.commands",
        "fcreview.importers.bfcl.checker",
    } <= packages


def data_files() -> dict[str, str]:
    """Return (path from the root, package with a `package-data` entry) of each file that is not
    Python.
    """
    return {
        file.relative_to(ROOT).as_posix(): "fcreview"
        if folder == "fcreview"
        else f"fcreview.{folder}"
        for folder in (*PACKAGES, "sample_runs")
        for file in (ROOT / folder).rglob("*")
        if file.is_file()
        and file.suffix not in (".py", ".pyc")
        and not {"__pycache__", ".fcreview"}.intersection(file.parts)
    }


def test_every_data_file_is_package_data() -> None:
    suffixes = {name.rpartition(".")[2] for name in data_files()}
    assert {"sql", "tcss", "json", "typed"} <= suffixes
    patterns = {
        package: [ROOT / package.removeprefix("fcreview.") / pattern for pattern in found]
        for package, found in SETUPTOOLS["package-data"].items()
    }
    missing = [
        name
        for name, package in data_files().items()
        if not any(
            (ROOT / name).match(str(pattern).replace("/**/", "/")) or _below(name, str(pattern))
            for pattern in patterns.get(package, [])
        )
    ]
    assert not missing


def _below(name: str, pattern: str) -> bool:
    """Match `**` as setuptools does: any number of folders."""
    before, found, after = pattern.partition("/**/")
    return bool(found) and (ROOT / name).is_relative_to(before) and (ROOT / name).match(after)


def test_version_is_stated_once() -> None:
    import fcreview

    assert fcreview.__version__ == PROJECT["project"]["version"]


def test_licence_is_complete_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in text
    assert "9. Accepting Warranty or Additional Liability" in text
    assert len(text) > 11_000
