"""Which files lie at the paths that were opened: a bounded walk in a stable order."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.model.item import ImportIssue

SKIPPED_FOLDERS = frozenset(
    {".fcreview", ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache"}
)
DATA_SUFFIXES = (".json", ".jsonl", ".ndjson")
"""Names of which people expect that they are read."""
MAX_FILES = 200_000
MAX_FOLDERS = 50_000
MAX_DEPTH = 16
NOT_UTF8 = "its name is not UTF-8: not read; rename it"


@dataclass(slots=True)
class GatheredFiles:
    """`files` are absolute, each once, sorted within their folder; hidden files are left out."""

    files: list[Path] = field(default_factory=list)
    issues: list[ImportIssue] = field(default_factory=list)


def gather_files(paths: Iterable[Path], *, max_files: int | None = None, max_depth: int = MAX_DEPTH) -> GatheredFiles:
    """The files at and below `paths`. Links to folders are followed, but no folder is entered twice, so loops end.

    A path that does not exist or cannot be listed, a name that is no text, and a bound that was reached, is an issue;
    nothing is raised. `max_files` is MAX_FILES unless given.
    """
    walk = _FolderWalk(MAX_FILES if max_files is None else max_files, max_depth)
    issues = walk.issues
    for path in paths:
        path = Path(os.path.abspath(path))  # noqa: PTH100 (resolve() would follow links and change names)
        if not is_utf8_name(str(path)):
            issues.append(ImportIssue(escape_name(str(path)), None, NOT_UTF8, severity="error"))
        elif path.is_dir():
            walk.enter(path, 0)
        elif path.exists():
            walk.files[path] = None
        else:
            issues.append(ImportIssue(str(path), None, "no such file or folder", severity="error"))
    if walk.limit_reached and walk.files:
        what = f"{walk.limit_reached}; the rest was not looked at: open a folder further down"
        issues.append(ImportIssue(os.path.commonpath([path.parent for path in walk.files]), None, what))
    return GatheredFiles(list(walk.files), issues)


@dataclass(slots=True)
class _FolderWalk:
    max_files: int
    max_depth: int
    files: dict[Path, None] = field(default_factory=dict)
    entered: set[tuple[int, int]] = field(default_factory=set)
    issues: list[ImportIssue] = field(default_factory=list)

    @property
    def limit_reached(self) -> str:
        """Which bound was reached; empty if none was."""
        if len(self.files) >= self.max_files:
            return f"more than {self.max_files:,} files"
        return f"more than {MAX_FOLDERS:,} folders" if len(self.entered) >= MAX_FOLDERS else ""

    def enter(self, folder: Path, depth: int) -> None:
        if self.limit_reached:
            return
        try:
            status = folder.stat()
            place = (status.st_dev, status.st_ino)
            if place in self.entered:
                return
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.issues.append(ImportIssue(str(folder), None, f"cannot be listed: {error.strerror or error}"))
            return
        self.entered.add(place)
        if depth > self.max_depth:
            what = f"more than {self.max_depth} folders deep: not looked at"
            self.issues.append(ImportIssue(str(folder), None, what))
            return
        for name in [entry.name for entry in listed if self._add_entry(folder, entry)]:
            self.enter(folder / name, depth + 1)

    def _add_entry(self, folder: Path, entry: os.DirEntry[str]) -> bool:
        """Whether it is to be entered; a file is kept."""
        if entry.name in SKIPPED_FOLDERS or entry.name.startswith("."):
            return False
        path = folder / entry.name
        if not is_utf8_name(entry.name):
            self.issues.append(ImportIssue(escape_name(str(path)), None, NOT_UTF8))
            return False
        try:
            if entry.is_dir():
                return True
            if entry.is_file():
                if len(self.files) < self.max_files:
                    self.files[path] = None
            elif entry.name.endswith(DATA_SUFFIXES):
                self.issues.append(ImportIssue(str(path), None, "not a file, and no link to one: not read"))
        except OSError as error:  # a link that leads round in a circle
            self.issues.append(ImportIssue(str(path), None, f"cannot be read: {error.strerror or error}"))
        return False


def is_utf8_name(name: str) -> bool:
    """Whether a name from the disk is UTF-8: Python keeps other bytes as lone surrogates, which nothing can store."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def escape_name(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")
