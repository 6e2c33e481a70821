"""Remember the workspaces that the user opened last.

The file `recent.json` beside the theme of the user has the object `{"folders": [path]}`, the latest
folder first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fcreview.cli.config import locate_theme_file
from fcreview.cli.output import emit, format_cell
from fcreview.safe_files import read_file

MAX_RECENT_FOLDERS = 10
MAX_FILE_BYTES = 100_000


def list_recent_workspaces() -> list[Path]:
    """Return the folders of workspaces that were opened last and still exist, the latest first."""
    try:
        folders = json.loads(read_file(_locate_file(), MAX_FILE_BYTES))["folders"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    if not isinstance(folders, list):
        return []
    paths = [Path(folder) for folder in folders if isinstance(folder, str) and "\0" not in folder]
    return [path for path in paths if os.path.isdir(path / ".fcreview")]  # noqa: PTH112 - no errors


def record_recent_workspace(folder: Path) -> None:
    """Record that the workspace in `folder` was opened. Ignore errors of the file system."""
    others = [other for other in list_recent_workspaces() if other != folder]
    folders = [str(path) for path in (folder, *others)]
    with suppress(OSError, UnicodeError):
        file = _locate_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"folders": folders[:MAX_RECENT_FOLDERS]}), "utf-8")


def _locate_file() -> Path:
    return locate_theme_file().with_name("recent.json")


def print_recent_workspaces(folders: Sequence[Path]) -> None:
    """Print the command that opens each of these workspaces."""
    emit("Recent workspaces:")
    for folder in folders:
        emit(f"  fcreview open {format_cell(str(folder))}")
    emit("Run fcreview --help for all commands.")
