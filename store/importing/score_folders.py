"""Remember the folders of --score for results whose scores are in another place or have another
model name.

`.fcreview/score_folders.json` has the form `{folder of results: [{"beside": "../scores", "at":
"/bench/scores"}]}`, with paths as in `datasets.json`. An import that rebuilds the store still finds
the scores, because the file is separate from the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fcreview.store.importing.source_files import RememberedFolder, parse_folders
from fcreview.store.workspace import Workspace


class ScoreFolders:
    """The remembered score folders of a workspace. A missing or invalid file counts as empty."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = workspace.root / "score_folders.json"
        saved = workspace.files.read_json_object(self._path)
        self._folders = {key: tuple(parse_folders(value)) for key, value in saved.items()}
        self._before = dict(self._folders)

    def get_folders(self) -> Mapping[Path, tuple[Path, ...]]:
        """Return the score folders for each folder of results. A folder that moved together with
        the workspace has its new path.
        """
        return {
            self._workspace.to_absolute_path(key): tuple(
                each.find_current_path(self._workspace) for each in folders
            )
            for key, folders in self._folders.items()
        }

    def add_folders(self, results_folder: Path, folders: Sequence[Path]) -> None:
        """Remember score folders for the results, in addition to earlier ones that still exist."""
        key = self._workspace.to_stored_path(results_folder)
        remembered = []
        for folder in self._folders.get(key, ()):
            if folder.find_current_path(self._workspace).is_dir():
                remembered.append(folder)
        for path in folders:
            remembered.append(RememberedFolder.from_path(path, self._workspace))
        self._folders[key] = tuple(dict.fromkeys(remembered))

    def forget_folders(self, results_folder: Path) -> None:
        self._folders.pop(self._workspace.to_stored_path(results_folder), None)

    def save(self) -> None:
        """Replace the file if folders have changed. Raises: OSError if it cannot be written."""
        if self._folders != self._before:
            self._workspace.files.write_json(self._path, self._folders)
            self._before = dict(self._folders)
