"""Which files lie at the paths that were opened: a bounded walk in a stable order."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.model import ImportIssue

SKIPPED = frozenset(
    {".fcreview", ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache"}
)
DATA = (".json", ".jsonl", ".ndjson")
"""Names of which people expect that they are read."""
MAX_FILES = 200_000
MAX_DEPTH = 16


@dataclass(slots=True)
class Gathered:
    """`files` are absolute, each once, sorted within their folder; hidden files are left out."""

    files: list[Path] = field(default_factory=list)
    issues: list[ImportIssue] = field(default_factory=list)


def gather(paths: Iterable[Path], *, max_files: int = MAX_FILES, max_depth: int = MAX_DEPTH) -> Gathered:
    """The files at and below `paths`. Links to folders are followed, but no folder is entered twice, so loops end.

    A path that does not exist or cannot be listed, and a bound that was reached, is an issue; nothing is raised.
    """
    found = Gathered()
    files: dict[Path, None] = {}
    entered: set[tuple[int, int]] = set()
    for path in paths:
        path = Path(os.path.abspath(path))  # noqa: PTH100 (resolve() would follow links and change names)
        if path.is_dir():
            _walk(path, 0, files, entered, found.issues, max_files, max_depth)
        elif path.exists():
            files[path] = None
        else:
            found.issues.append(ImportIssue(str(path), None, "no such file or folder", severity="error"))
    if len(files) >= max_files:
        what = f"more than {max_files:,} files; the rest was not looked at: open a folder further down"
        found.issues.append(ImportIssue(str(next(iter(files)).parent), None, what))
    found.files = list(files)
    return found


def _walk(
    folder: Path,
    depth: int,
    files: dict[Path, None],
    entered: set[tuple[int, int]],
    issues: list[ImportIssue],
    max_files: int,
    max_depth: int,
) -> None:
    if len(files) >= max_files:
        return
    try:
        status = folder.stat()
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        issues.append(ImportIssue(str(folder), None, f"cannot be listed: {error.strerror or error}"))
        return
    place = (status.st_dev, status.st_ino)
    if place in entered:
        return
    entered.add(place)
    if depth > max_depth:
        issues.append(ImportIssue(str(folder), None, f"more than {max_depth} folders deep: not looked at"))
        return
    folders: list[str] = []
    for entry in listed:
        if entry.name in SKIPPED or entry.name.startswith("."):
            continue
        try:
            if entry.is_dir():
                folders.append(entry.name)
            elif entry.is_file():
                if len(files) < max_files:
                    files[folder / entry.name] = None
            elif entry.name.endswith(DATA):
                issues.append(ImportIssue(str(folder / entry.name), None, "not a file, and no link to one: not read"))
        except OSError as error:  # a link that leads round in a circle
            issues.append(ImportIssue(str(folder / entry.name), None, f"cannot be read: {error.strerror or error}"))
    for name in folders:
        _walk(folder / name, depth + 1, files, entered, issues, max_files, max_depth)
