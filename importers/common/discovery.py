"""List the files at and below the opened paths, up to fixed limits and in a stable order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fcreview.model.item import ImportIssue
from fcreview.model.run_name import COMMON_FOLDERS

if TYPE_CHECKING:
    from fcreview.run_plan import RunPlan

SKIPPED_FOLDERS = frozenset(
    {
        ".fcreview",
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".tox",
        ".mypy_cache",
    }
)
LAKE_FILE = "_lake.json"
"""A folder with this file is a lake, which has no result files. See docs/lake.md."""
DATA_SUFFIXES = (".json", ".jsonl", ".ndjson")
"""Suffixes of result files.

An issue reports a path with such a suffix that is not a regular file.
"""
MAX_FILES = 200_000
MAX_FOLDERS = 50_000
MAX_DEPTH = 16
MAX_LISTED = 4
NOT_UTF8 = "skipped because the name is not UTF-8. Rename the file or folder."


def list_telling_folders(folder: Path) -> list[str]:
    """Return the name of a folder above a run for `Run.name_parts`, such as a provider. The list is
    empty for a folder such as `result`, which does not distinguish runs.
    """
    if not folder.name or folder.name in COMMON_FOLDERS:
        return []
    return [folder.name]


def list_environment_folders() -> list[Path]:
    """Return the dataset folders in the environment variable FCREVIEW_DATA."""
    folders = os.environ.get("FCREVIEW_DATA", "").split(os.pathsep)
    return [Path(folder) for folder in folders if folder]


@dataclass(slots=True)
class GatheredFiles:
    """Files found by `gather_files`, and the paths that it skipped."""

    files: list[Path] = field(default_factory=list)
    """Absolute paths without duplicates, sorted within each folder. Hidden files are omitted."""
    issues: list[ImportIssue] = field(default_factory=list)


def gather_files(
    paths: Iterable[Path], *, max_files: int | None = None, max_depth: int = MAX_DEPTH
) -> GatheredFiles:
    """List the files at and below `paths`. Links to folders are followed, but no folder is entered
    twice.

    Missing paths, unreadable folders and exceeded limits become issues.
    """
    walk = _FolderWalk(MAX_FILES if max_files is None else max_files, max_depth)
    issues = walk.issues
    for path in paths:
        path = Path(os.path.abspath(path))  # noqa: PTH100 (resolve() would follow links and change names)
        if not is_utf8_name(str(path)):
            issues.append(
                ImportIssue(escape_file_name(str(path)), None, what=NOT_UTF8, severity="error")
            )
        elif path.is_dir():
            walk.walk_folder(path, 0)
        elif path.exists():
            walk.files[path] = None
        else:
            issues.append(
                ImportIssue(str(path), None, what="no such file or folder", severity="error")
            )
    if walk.exceeded_limit and walk.files:
        what = (
            f"there are {walk.exceeded_limit}. The others were skipped. Open a subfolder instead."
        )
        issues.append(
            ImportIssue(os.path.commonpath([path.parent for path in walk.files]), None, what=what)
        )
    return GatheredFiles(list(walk.files), issues)


@dataclass(slots=True)
class _FolderWalk:
    max_files: int
    max_depth: int
    files: dict[Path, None] = field(default_factory=dict)
    entered: set[tuple[int, int]] = field(default_factory=set)
    issues: list[ImportIssue] = field(default_factory=list)

    @property
    def exceeded_limit(self) -> str:
        """Description of the limit that was exceeded, such as `more than 5 files`, or an empty
        string.
        """
        if len(self.files) >= self.max_files:
            return f"more than {self.max_files:,} files"
        return f"more than {MAX_FOLDERS:,} folders" if len(self.entered) >= MAX_FOLDERS else ""

    def walk_folder(self, folder: Path, depth: int) -> None:
        if self.exceeded_limit:
            return
        try:
            status = folder.stat()
            inode = (status.st_dev, status.st_ino)
            if inode in self.entered:
                return
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            what = f"the folder cannot be listed: {error.strerror or error}"
            self.issues.append(ImportIssue(str(folder), None, what=what))
            return
        self.entered.add(inode)
        if depth > self.max_depth:
            what = f"skipped because it is more than {self.max_depth} folders deep"
            self.issues.append(ImportIssue(str(folder), None, what=what))
            return
        if any(entry.name == LAKE_FILE for entry in listed):
            return
        for subfolder in self._add_files_and_list_subfolders(folder, listed):
            self.walk_folder(subfolder, depth + 1)

    def _add_files_and_list_subfolders(
        self, folder: Path, entries: Iterable[os.DirEntry[str]]
    ) -> list[Path]:
        """Add the files among the entries of a folder to `files`, and return the subfolders to
        enter.
        """
        subfolders = []
        for entry in entries:
            if entry.name in SKIPPED_FOLDERS or entry.name.startswith("."):
                continue
            path = folder / entry.name
            if not is_utf8_name(entry.name):
                self.issues.append(ImportIssue(escape_file_name(str(path)), None, what=NOT_UTF8))
                continue
            try:
                if entry.is_dir():
                    subfolders.append(path)
                elif entry.is_file():
                    if len(self.files) < self.max_files:
                        self.files[path] = None
                elif entry.name.endswith(DATA_SUFFIXES):
                    self.issues.append(
                        ImportIssue(
                            str(path), None, what="skipped because it is not a regular file"
                        )
                    )
            except OSError as error:  # for example a link that points to itself
                self.issues.append(
                    ImportIssue(
                        str(path), None, what=f"the file cannot be read: {error.strerror or error}"
                    )
                )
        return subfolders


def report_missing_scores(
    plan: RunPlan, categories: Iterable[str], unscored: Sequence[str]
) -> None:
    """Add an issue to the plan if some of its categories, `unscored`, have no score file."""
    if not unscored:
        return
    more = f" and {len(unscored) - MAX_LISTED} more" if len(unscored) > MAX_LISTED else ""
    what = (
        f"no score file for {', '.join(unscored[:MAX_LISTED])}{more}. Their items have no official"
        " verdict"
    )
    if set(unscored) == set(categories):
        what = "no score files, so the items have no official verdict"
    severity: Literal["warning", "notice"] = "warning" if plan.scores else "notice"
    plan.issues.append(ImportIssue(plan.run.path, None, what=what, severity=severity))


def is_utf8_name(name: str) -> bool:
    """Return whether a file name is UTF-8.

    Python reads other bytes as lone surrogates, which DuckDB cannot store.
    """
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def escape_file_name(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")
