"""Whether a workspace is as it was: what rows of a view depend on, as the file system tells it, without opening any."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

Stamp = list[list[str | int]]
"""[[file, bytes, nanoseconds of its last change]], the store's first."""


def stamp_of(workspace: Workspace) -> Stamp:
    """Taken before the files are read: what is written while they are read makes another stamp. Empty without a
    store."""
    if not workspace.store.is_file():
        return []
    return [_line(workspace.root, each) for each in (workspace.store, *_journals(workspace))]


def _journals(workspace: Workspace) -> Iterator[Path]:
    for folder in (workspace.reviews, workspace.queues):
        if folder.is_dir():
            yield from sorted(each for each in folder.iterdir() if not each.name.startswith("."))


def _line(root: Path, file: Path) -> list[str | int]:
    name = os.fsencode(file.relative_to(root)).decode("utf-8", "backslashreplace")  # may be no text
    try:
        found = file.stat()
    except OSError:
        return [name, -1, 0]
    return [name, found.st_size, found.st_mtime_ns]
