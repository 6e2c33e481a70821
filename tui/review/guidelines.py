"""Read the annotation guidelines of a workspace: the file `.fcreview/guidelines.md`."""

from __future__ import annotations

from pathlib import Path

from fcreview.safe_files import WorkspaceFiles
from fcreview.tui.text.messages import StatusMessage

GUIDELINES_FILE_NAME = "guidelines.md"
MAX_GUIDELINES_BYTES = 1_000_000
NO_GUIDELINES = StatusMessage(
    f"no guidelines: write them to {GUIDELINES_FILE_NAME} in the folder .fcreview", "warn"
)


def read_guidelines(workspace_folder: Path | None) -> str | None:
    """Return the text of the guidelines. None if the file is missing, empty or too large."""
    if workspace_folder is None:
        return None
    path = workspace_folder / GUIDELINES_FILE_NAME
    try:
        content = WorkspaceFiles(workspace_folder).read(path, MAX_GUIDELINES_BYTES)
    except OSError:
        return None
    return content.decode("utf-8", "replace").strip() or None
