"""Where runs got their datasets: what a person named once stays known, and what was lost is told from what is not
needed any more.

`.fcreview/datasets.json` holds, by `run_key`, the folders named with --data that gave the run its dataset:
`{key: [{"beside": "../data", "at": "/bench/data"}]}`, relative to the workspace's place (so that all can be moved
together) and absolute. It is no part of the store, so that a store which is built anew still finds them.
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
from fcreview.safe_files import read_json_object, write_json
from fcreview.store.importing.builder import StoredRun, build_run_key
from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    """What the person who imports says of datasets."""

    folders: tuple[Path, ...] = ()
    """Folders of --data: a run that finds its dataset there has that from now on."""
    forget: bool = False
    """What was named before does not hold any more, and less than was imported before will do."""


class DatasetFolders:
    """The folders that were named for each run of a workspace. A file that is lost or wrong is an empty one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._folders = {key: tuple(_folders(places)) for key, places in read_json_object(_file(workspace)).items()}
        self._changed = False

    def folders_of(self, run: Run) -> tuple[Path, ...]:
        """Where they are now; one that is nowhere is given as it was named."""
        return tuple(place.path(self._workspace) for place in self._folders.get(build_run_key(self._workspace, run), ()))

    @property
    def most_common(self) -> tuple[Path, ...]:
        """What most runs have; nothing if none has any."""
        ((places, _),) = Counter(self._folders.values()).most_common(1) or [((), 0)]
        return tuple(place.path(self._workspace) for place in places)

    def set_folders(self, run: Run, folders: Sequence[Path]) -> None:
        """Of this run from now on; none at all to forget them."""
        key, places = build_run_key(self._workspace, run), tuple(_Place.of(path, self._workspace) for path in folders)
        if self._folders.get(key, ()) != places:
            self._changed = True
            self._folders.pop(key, None)
            if places:
                self._folders[key] = places

    def save(self) -> None:
        """Written whole, if anything is new. OSError if it cannot be."""
        if self._changed:
            write_json(_file(self._workspace), self._folders)
            self._changed = False


@dataclass(frozen=True, slots=True)
class _Place:
    beside: str
    at: str

    @classmethod
    def of(cls, path: Path, workspace: Workspace) -> _Place:
        full = os.path.abspath(path)  # noqa: PTH100 - as named: links are not followed
        return cls(os.path.relpath(full, workspace.parent_folder), full)

    def path(self, workspace: Workspace) -> Path:
        beside = workspace.to_absolute_path(self.beside)
        return beside if beside.is_dir() else Path(self.at)


def select_dataset_folders(folders: Sequence[Path], plan: RunPlan) -> tuple[Path, ...]:
    """Those of the folders in which the run's dataset lies."""
    return tuple(folder for folder in folders if any(path.is_relative_to(folder) for path in plan.data))


def find_missing_folder(plan: RunPlan, remembered: Sequence[Path]) -> Path | None:
    """A folder that was named for the run and is not what it was: not there, empty (nothing is mounted there), or
    without a dataset for a run that has no other."""
    gone = [folder for folder in remembered if not _holds_anything(folder)]
    if gone or not remembered:
        return gone[0] if gone else None
    return None if plan.data else remembered[0]


def find_lost_dataset(workspace: Workspace, plan: RunPlan, stored: StoredRun, remembered: Sequence[Path]) -> Path | None:
    """Where the dataset was with which the run was imported, if it, or a part of it, is lost. None if the run would be
    no poorer now: each file is still there, or there is one of that name elsewhere.

    Where a person chose the dataset (`remembered`), one from elsewhere does not replace it.
    """
    before = {source.path for source in stored.sources if source.kind == "data"}
    now = {workspace.to_stored_path(path): path for path in plan.data}
    fresh = [path for short, path in now.items() if short not in before]
    found = Counter(path.name for path in fresh if not remembered or _folder_of(path, remembered))
    results = {workspace.to_absolute_path(source.path).parent for source in stored.sources if source.kind == "result"}
    missed = []
    for path in map(workspace.to_absolute_path, sorted(before - now.keys())):
        if path.is_file():  # it was looked at and is not needed: results were deleted. Or nobody knew where to look
            is_missed = not plan.data and not remembered
        else:  # but what lay beside a result went with it
            is_missed = path.parent not in results or path.parent.is_dir()
        found[path.name] -= is_missed
        if found[path.name] < 0:
            missed.append(path)
    if not missed:
        return None
    chosen = _folder_of(missed[0], remembered) or find_missing_folder(plan, remembered)
    return chosen or Path(os.path.commonpath([path.parent for path in missed]))


def _folder_of(path: Path, folders: Sequence[Path]) -> Path | None:
    return next((folder for folder in folders if path.is_relative_to(folder)), None)


def _holds_anything(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is not None
    except OSError:
        return False


def _file(workspace: Workspace) -> Path:
    return workspace.root / "datasets.json"


def _folders(places: Any) -> Iterator[_Place]:
    for place in places if isinstance(places, list) else ():
        if isinstance(place, dict) and isinstance(place.get("beside"), str) and isinstance(place.get("at"), str):
            yield _Place(place["beside"], place["at"])
