"""Name the copies of the workspace's files that sync programs keep if two machines changed a file.

fcreview reads only the file with the original name, so that a queue does not appear twice. What is
only in the copy, such as a correction, does not count. Journals have messages of their own, which
say how many reviews wait in a copy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fcreview.model.sync_copy import find_original_name
from fcreview.store.workspace import Workspace

_FOLDERS = ("", "queues", "judgements", "filters")
"""Folders of the workspace whose files change what commands and screens show."""


def describe_sync_copies(workspace: Workspace) -> list[str]:
    """Return a message for each copy of a file that changes what commands and screens show."""
    messages = []
    for folder in _FOLDERS:
        for path in find_sync_copies(workspace.root / folder):
            location = path.relative_to(workspace.root)
            messages.append(f"{location}: {describe_sync_copy(path)}")
    return messages


def find_sync_copies(folder: Path, original_name: str | None = None) -> Iterator[Path]:
    """Yield the copies in a folder, in alphabetical order. A folder that cannot be read has none.

    `original_name`: file whose copies are wanted. None: the copies of all files.
    """
    names: list[str] = []
    with suppress(OSError):
        names = sorted(os.listdir(folder))  # noqa: PTH208 - only the names are needed
    for name in names:
        original = find_original_name(name)
        if original is not None and original_name in (None, original):
            yield folder / name


def describe_sync_copy(path: Path) -> str:
    """Return what is wrong with a copy, and what to do."""
    return (
        f"a copy of {find_original_name(path.name)} that another machine changed. fcreview does not"
        " use it. Compare both files, and delete the copy"
    )
