"""Detection gives each folder of the test data to the importers that own it, and to no other.

`owners.toml` is the table of owners. A new importer changes the lines of its own folders only.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from fcreview.importers.registry import discover, list_importer_names
from fcreview.model.item import ImportIssue
from tests.conftest import ROOT, bench_folder

REFUSED = "refused"
SLOW_FOLDERS = ("acebench", "api_errors_other", "bfcl_families", "inspect_bfcl")
"""Folders of the bench with hundreds of files or large logs."""
BASES = {
    "bench": bench_folder(),
    "cases": bench_folder().parent / "cases",
    "sample_runs": ROOT / "sample_runs",
}
"""Section of the table -> folder to which its paths are relative."""
DEPTHS = {"bench": "*", "cases": "*/*", "sample_runs": "*"}
"""Section of the table -> pattern of the folders that must have a line."""


@dataclass(frozen=True)
class OwnedFolder:
    """A line of the table."""

    section: str
    path: str
    importers: list[str]

    @property
    def is_slow(self) -> bool:
        return self.section == "bench" and self.path in SLOW_FOLDERS

    def __str__(self) -> str:
        return f"{self.section}/{self.path}"


def read_table() -> list[OwnedFolder]:
    table = tomllib.loads((Path(__file__).parent / "owners.toml").read_text("utf-8"))
    folders = []
    for section, lines in table.items():
        for path, owners in lines.items():
            importers = [] if owners == REFUSED else owners
            folders.append(OwnedFolder(section, path, importers))
    return folders


def make_parameters(folders: list[OwnedFolder]) -> list[object]:
    """Mark the folders of the bench, and the slow ones among them."""
    parameters = []
    for folder in folders:
        marks = []
        if folder.section != "sample_runs":
            marks.append(pytest.mark.bench)
        if folder.is_slow:
            marks.append(pytest.mark.sweep)
        parameters.append(pytest.param(folder, marks=marks, id=str(folder)))
    return parameters


TABLE = read_table()


@pytest.mark.parametrize("folder", make_parameters(TABLE))
def test_folder_is_claimed_by_its_owners(folder: OwnedFolder) -> None:
    base = BASES[folder.section]
    if not base.is_dir():
        pytest.skip(f"no {folder.section}: set FCREVIEW_BENCH or copy them to ../shared")
    path = base / folder.path
    if not path.is_dir():
        pytest.skip(f"this copy of {folder.section} has no folder {folder.path}")

    found = discover([path])

    assert sorted({plan.importer for plan in found.plans}) == folder.importers
    assert [issue.what for issue in found.issues if "Ambiguous input" in issue.what] == []
    if not folder.importers:
        assert_refused_with_reason(found.issues)


def assert_refused_with_reason(issues: list[ImportIssue]) -> None:
    reasons = [issue.what for issue in issues if issue.severity == "error"]
    assert len(reasons) == 1
    assert reasons[0]


@pytest.mark.parametrize("section", BASES)
def test_each_folder_has_an_owner(section: str) -> None:
    base = BASES[section]
    if not base.is_dir():
        pytest.skip(f"no {section}: set FCREVIEW_BENCH or copy them to ../shared")
    known = {folder.path for folder in TABLE if folder.section == section}
    for folder in base.glob(DEPTHS[section]):
        if not folder.is_dir() or folder.name == "__pycache__":
            continue
        path = folder.relative_to(base).as_posix()
        has_line = path in known or any(line.startswith(f"{path}/") for line in known)
        assert has_line, f"{section}/{path} has no line in tests/importers/owners.toml"


def test_each_importer_owns_a_folder() -> None:
    owners = {name for folder in TABLE for name in folder.importers}
    for name in list_importer_names():
        assert name in owners, f"tests/importers/owners.toml has no folder of the importer {name}"
    unknown = sorted(owners - set(list_importer_names()))
    assert not unknown, f"tests/importers/owners.toml names unknown importers: {unknown}"
