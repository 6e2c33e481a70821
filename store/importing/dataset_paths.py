"""The dataset folder of each run: remember the folders given with --data, and detect datasets that are missing.

The file is `.fcreview/datasets.json`. It contains the folders of each run key (`builder.build_run_key`):
`{key: [{"beside": "../data", "at": "/bench/data"}]}`, with `beside` relative to the folder that contains `.fcreview/`,
so that both can be moved together, and `at` absolute. It is separate from the store, so that a rebuilt store still
finds the datasets.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.model.item import Run
from fcreview.run_plan import RunPlan
from fcreview.store.importing.builder import StoredRun, build_run_key
from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    folders: tuple[Path, ...] = ()  # Folders of --data. They are remembered for each run whose dataset they contain.
    forget: bool = False  # forget the folders, and import runs without their dataset (--forget-data)


class DatasetFolders:
    """The remembered folders of each run of a workspace. A missing or invalid file is treated as empty."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = workspace.root / "datasets.json"
        saved = workspace.files.read_json_object(self._path)
        self._folders = {key: tuple(_parse_folders(value)) for key, value in saved.items()}
        self._changed = False

    def folders_of(self, run: Run) -> tuple[Path, ...]:
        """Return the folders of a run at their present paths. A folder that does not exist keeps its original path."""
        folders = self._folders.get(build_run_key(self._workspace, run), ())
        return tuple(folder.locate(self._workspace) for folder in folders)

    @property
    def most_common(self) -> tuple[Path, ...]:
        """The remembered folders that most runs share; empty if no run has remembered folders."""
        ((folders, _),) = Counter(self._folders.values()).most_common(1) or [((), 0)]
        return tuple(folder.locate(self._workspace) for folder in folders)

    def set_folders(self, run: Run, folders: Sequence[Path]) -> None:
        """Remember the folders of a run, replacing earlier ones. With an empty list, forget the folders of the run."""
        key = build_run_key(self._workspace, run)
        remembered = tuple(_RememberedFolder.from_path(path, self._workspace) for path in folders)
        if self._folders.get(key, ()) != remembered:
            self._changed = True
            self._folders.pop(key, None)
            if remembered:
                self._folders[key] = remembered

    def save(self) -> None:
        """Replace the file atomically if anything changed. Raises: OSError if it cannot be written."""
        if self._changed:
            self._workspace.files.write_json(self._path, self._folders)
            self._changed = False


@dataclass(frozen=True, slots=True)
class _RememberedFolder:
    """A folder in `datasets.json`. The field names are keys of the file."""

    beside: str  # path relative to the folder that contains `.fcreview/`
    at: str

    @classmethod
    def from_path(cls, path: Path, workspace: Workspace) -> _RememberedFolder:
        absolute = os.path.abspath(path)  # noqa: PTH100 - symbolic links stay unresolved
        return cls(os.path.relpath(absolute, workspace.parent_folder), absolute)

    def locate(self, workspace: Workspace) -> Path:
        beside = workspace.to_absolute_path(self.beside)
        return beside if beside.is_dir() else Path(self.at)


def select_dataset_folders(folders: Sequence[Path], plan: RunPlan) -> tuple[Path, ...]:
    """Return the folders that contain a dataset file of the run."""
    return tuple(folder for folder in folders if any(path.is_relative_to(folder) for path in plan.data))


def find_missing_folder(plan: RunPlan, remembered: Sequence[Path]) -> Path | None:
    """Return a remembered folder that is missing, empty (not mounted), or without a dataset that the run needs."""
    missing = next((folder for folder in remembered if not _has_content(folder)), None)
    return missing or (remembered[0] if remembered and not plan.data else None)


def find_lost_dataset(
    workspace: Workspace, plan: RunPlan, stored: StoredRun, remembered: Sequence[Path]
) -> Path | None:
    """Return the folder of the dataset that the run was imported with, if dataset files are missing now.

    A missing file is replaced by a file with the same name in another folder. If the user chose the dataset folders
    (`remembered`), only files in these folders can replace it. Returns None if no file is missing.
    """
    before = {source.path for source in stored.sources if source.kind == "data"}
    now = {workspace.to_stored_path(path): path for path in plan.data}
    new_paths = [path for stored_path, path in now.items() if stored_path not in before]
    replacements = Counter(path.name for path in new_paths if not remembered or _folder_of(path, remembered))
    result_folders = {
        workspace.to_absolute_path(source.path).parent for source in stored.sources if source.kind == "result"
    }
    lost = []
    for path in map(workspace.to_absolute_path, sorted(before - now.keys())):
        if path.is_file():
            # The plan does not need an existing dataset file whose results were deleted. But if the plan has no dataset
            # and no folder is remembered, the import did not know where to search, so the dataset is lost.
            is_needed = not plan.data and not remembered
        else:  # a dataset in the folder of a result may have been deleted together with the result
            is_needed = path.parent not in result_folders or path.parent.is_dir()
        replacements[path.name] -= is_needed
        if replacements[path.name] < 0:
            lost.append(path)
    if not lost:
        return None
    chosen = _folder_of(lost[0], remembered) or find_missing_folder(plan, remembered)
    return chosen or Path(os.path.commonpath([path.parent for path in lost]))


def _folder_of(path: Path, folders: Sequence[Path]) -> Path | None:
    return next((folder for folder in folders if path.is_relative_to(folder)), None)


def _has_content(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is not None
    except OSError:
        return False


def _parse_folders(value: Any) -> Iterator[_RememberedFolder]:
    for folder in value if isinstance(value, list) else ():
        if isinstance(folder, dict) and isinstance(folder.get("beside"), str) and isinstance(folder.get("at"), str):
            yield _RememberedFolder(folder["beside"], folder["at"])
