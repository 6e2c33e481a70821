"""Lakes on the command line: recognize one, find its workspace, and print its problems."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.cli.output import print_limited
from fcreview.errors import UsageError
from fcreview.importers.common.discovery import LAKE_FILE
from fcreview.model.sanitize import sanitize

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

MAX_PROBLEMS = 5  # limit of damaged files that a warning lists
_S3 = "s3:/"


def find_lake(paths: Sequence[Path]) -> str | None:
    """Return the absolute path or address of the lake that the paths name, or None if they name result files."""
    found = [lake for path in paths if (lake := _to_lake(path)) is not None]
    if found and len(paths) > 1:
        raise UsageError("a lake cannot be opened together with other paths: pass the lake alone")
    return found[0] if found else None


def _to_lake(path: Path) -> str | None:
    if str(path).startswith(_S3):
        return resolve_location(str(path))
    folder = path.parent if path.name == ".fcreview" else path
    return os.path.realpath(folder) if (folder / LAKE_FILE).is_file() else None


def resolve_location(location: str) -> str:
    """Return the absolute path or address of a lake. Path removes a slash of `s3://`, so one is accepted."""
    if location.startswith(_S3):
        return "s3://" + location[len(_S3) :].strip("/")
    return os.path.realpath(os.path.expanduser(location))  # noqa: PTH111


def locate_lake_workspace(lake: str, folder: Path | None) -> Workspace:
    """Return the workspace with the reviews of a lake: in `folder` (`--workspace`), or `.fcreview/` in the lake."""
    from fcreview.store.workspace import find_workspace

    if folder is None and not os.path.isabs(lake):  # noqa: PTH117 - an address
        raise UsageError(f"--workspace is required for {lake}: choose a local folder for the reviews")
    folder = folder or Path(lake)
    return replace(find_workspace(folder, folder), lake=lake)


def take_lake_problems() -> list[str]:
    """Return the messages about damaged files that this process has found in lakes since the last call."""
    from fcreview.store.lake.reader import found_problems

    problems = list(dict.fromkeys(found_problems))
    found_problems.clear()
    return problems


def print_lake_problems() -> None:
    """Print warnings about the damaged files of lakes that this command has read. Their runs are omitted."""
    more = "{} more damaged files. Run fcreview doctor to list them"
    print_limited([*map(sanitize, take_lake_problems())], MAX_PROBLEMS, more.format)
