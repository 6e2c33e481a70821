"""List the files at and below the opened paths, up to fixed limits and in a stable order."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
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
    """List the files at and below the opened paths.

    Links to folders are followed, but no folder is entered twice. The number of files and the depth
    of folders are limited. Missing paths, unreadable folders and exceeded limits become issues.
    """
    walk = _FolderWalk(MAX_FILES if max_files is None else max_files, max_depth)
    for path in paths:
        # `Path.resolve` would follow links and change names.
        walk.add_path(Path(os.path.abspath(path)))  # noqa: PTH100
    if walk.exceeded_limit and walk.files:
        what = (
            f"there are {walk.exceeded_limit}. The others were skipped. Open a subfolder instead."
        )
        common_folder = os.path.commonpath([path.parent for path in walk.files])
        walk.issues.append(ImportIssue(common_folder, what=what))
    return GatheredFiles(list(walk.files), walk.issues)


@dataclass(slots=True)
class _FolderWalk:
    """Collects the files of folders, up to limits."""

    max_files: int
    max_depth: int
    files: dict[Path, None] = field(default_factory=dict)
    entered: set[tuple[int, int]] = field(default_factory=set)
    """Device and inode of each folder that was entered."""
    issues: list[ImportIssue] = field(default_factory=list)

    @property
    def exceeded_limit(self) -> str:
        """Description of the limit that was exceeded, such as `more than 5 files`, or an empty
        string.
        """
        if len(self.files) >= self.max_files:
            return f"more than {self.max_files:,} files"
        if len(self.entered) >= MAX_FOLDERS:
            return f"more than {MAX_FOLDERS:,} folders"
        return ""

    def add_path(self, path: Path) -> None:
        """Add a file, or all files of a folder."""
        if not is_utf8_name(str(path)):
            self._add_issue(escape_file_name(str(path)), NOT_UTF8, is_error=True)
        elif path.is_dir():
            self.walk_folder(path, 0)
        elif path.exists():
            self.files[path] = None
        else:
            self._add_issue(str(path), "no such file or folder", is_error=True)

    def walk_folder(self, folder: Path, depth: int) -> None:
        """Add the files of a folder and of its subfolders. `depth` is 0 for an opened folder."""
        if self.exceeded_limit:
            return
        try:
            entries = self._enter_folder(folder)
        except OSError as error:
            self._add_issue(str(folder), f"the folder cannot be listed: {error.strerror or error}")
            return
        # The folder was already entered, or must not be.
        if entries is None:
            return

        if depth > self.max_depth:
            what = f"skipped because it is more than {self.max_depth} folders deep"
            self._add_issue(str(folder), what)
            return
        # A lake is a database of fcreview, which contains imported runs and no files to import.
        if any(entry.name == LAKE_FILE for entry in entries):
            return
        for entry in entries:
            self._add_file(folder, entry)
        for subfolder in self._list_subfolders(folder, entries):
            self.walk_folder(subfolder, depth + 1)

    def _enter_folder(self, folder: Path) -> list[os.DirEntry[str]] | None:
        """Return the entries of a folder sorted by name, or None if it was entered before.

        Raises OSError if it cannot be listed.
        """
        status = folder.stat()
        inode = (status.st_dev, status.st_ino)
        if inode in self.entered:
            return None
        with os.scandir(folder) as entries:
            sorted_entries = sorted(entries, key=lambda entry: entry.name)
        self.entered.add(inode)
        return sorted_entries

    def _add_file(self, folder: Path, entry: os.DirEntry[str]) -> None:
        """Add an entry of a folder if it is a file. Report one whose name or kind is unusable."""
        path = str(folder / entry.name)
        if _is_skipped_name(entry.name):
            return
        if not is_utf8_name(entry.name):
            self._add_issue(escape_file_name(path), NOT_UTF8)
            return
        try:
            if entry.is_file():
                if len(self.files) < self.max_files:
                    self.files[folder / entry.name] = None
            elif not entry.is_dir() and entry.name.endswith(DATA_SUFFIXES):
                self._add_issue(path, "skipped because it is not a regular file")
        except OSError as error:
            # For example a link that points to itself.
            self._add_issue(path, f"the file cannot be read: {error.strerror or error}")

    def _list_subfolders(self, folder: Path, entries: Iterable[os.DirEntry[str]]) -> Iterator[Path]:
        """Yield the subfolders to enter."""
        for entry in entries:
            if _is_skipped_name(entry.name) or not is_utf8_name(entry.name):
                continue
            is_folder = False
            # `_add_file` reports an entry that cannot be read.
            with contextlib.suppress(OSError):
                is_folder = entry.is_dir()
            if is_folder:
                yield folder / entry.name

    def _add_issue(self, path: str, what: str, *, is_error: bool = False) -> None:
        severity: Literal["error", "warning"] = "error" if is_error else "warning"
        self.issues.append(ImportIssue(path, what=what, severity=severity))


def _is_skipped_name(name: str) -> bool:
    return name in SKIPPED_FOLDERS or name.startswith(".")


def report_missing_scores(
    plan: RunPlan, categories: Iterable[str], unscored: Sequence[str]
) -> None:
    """Add an issue to the plan of a run if some of its categories have no score file.

    Args:
        plan: The plan.
        categories: All categories of the run.
        unscored: Those without a score file.
    """
    if not unscored:
        return
    if set(unscored) == set(categories):
        what = "no score files, so the items have no official verdict"
    else:
        listed = ", ".join(unscored[:MAX_LISTED])
        n_more = len(unscored) - MAX_LISTED
        if n_more > 0:
            listed += f" and {n_more} more"
        what = f"no score file for {listed}. Their items have no official verdict"

    # A run without any scores is usual. If only some are missing, they may be lost.
    severity: Literal["warning", "notice"] = "warning" if plan.scores else "notice"
    plan.issues.append(ImportIssue(plan.run.path, what=what, severity=severity))


def is_utf8_name(name: str) -> bool:
    """Return whether a file name is UTF-8.

    Python reads other bytes as lone surrogates, which DuckDB cannot store.
    """
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def escape_file_name(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def measure_file(path: Path) -> int:
    """Return the size of a file in bytes, or 0 if it cannot be read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
