"""Detect changes of the files that runs were imported from, and remember the dataset folder of each run.

The folders given with --data are remembered in `.fcreview/datasets.json` for each run key (`build_run_key`):
`{key: [{"beside": "../data", "at": "/bench/data"}]}`, with `beside` relative to the folder that contains `.fcreview/`,
so that both can be moved together, and `at` absolute. The file is separate from the store, so that a rebuilt store
still finds the datasets.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from fcreview.model.item import Run
from fcreview.run_plan import RunPlan
from fcreview.safe_files import open_file
from fcreview.store.workspace import Workspace

_CHUNK_SIZE = 1 << 20  # number of bytes that are read and hashed at a time


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The state of a file when a run was imported from it. The fields are columns of the table `sources`."""

    path: str  # path as `Workspace.to_stored_path` returns it
    kind: str  # `result`, `score`, `data` or `log`
    size: int  # size in bytes; -1 if the file is missing or not a regular file
    mtime_ns: int  # modification time in nanoseconds
    hash: str = ""  # See `hash_file`. Empty if the file was unreadable or changed during the import.


def iter_files(plan: RunPlan) -> Iterator[tuple[str, Path]]:
    paths_by_kind = {"result": plan.results, "score": plan.scores, "data": plan.data, "log": plan.logs}
    for kind, paths in paths_by_kind.items():
        for path in dict.fromkeys(paths):
            yield kind, path


def stat_sources(plan: RunPlan, to_stored_path: Callable[[Path], str]) -> list[SourceFile]:
    """Return the current state of the run's files, without hashes."""
    return [_stat_source(path, to_stored_path(path), kind) for kind, path in iter_files(plan)]


def _stat_source(path: Path, stored_path: str, kind: str) -> SourceFile:
    try:
        status = path.stat()
    except OSError:
        return SourceFile(stored_path, kind, -1, 0)
    return SourceFile(stored_path, kind, status.st_size if stat.S_ISREG(status.st_mode) else -1, status.st_mtime_ns)


def hash_source(source: SourceFile, path: Path, known_hash: str | None = None) -> SourceFile:
    """Add the hash of the file, `known_hash` if given. The hash stays empty if the file has changed since `source` was
    created."""
    if source.size < 0:
        return source
    content_hash = hash_file(path) if known_hash is None else known_hash
    return replace(source, hash=content_hash if _stat_source(path, source.path, source.kind) == source else "")


def is_unchanged(now: list[SourceFile], stored: list[SourceFile], to_absolute_path: Callable[[str], Path]) -> bool:
    """Whether the files have the imported content. Reads a file only if its time changed but not its size."""
    before = {(source.path, source.kind): source for source in stored}
    if len(before) != len(now) or any((source.path, source.kind) not in before for source in now):
        return False
    pairs = [(source, before[source.path, source.kind]) for source in now]
    if any(source.size != old.size or source.size < 0 or not old.hash for source, old in pairs):
        return False
    return all(
        source.mtime_ns == old.mtime_ns or hash_file(to_absolute_path(source.path)) == old.hash for source, old in pairs
    )


def hash_file(path: Path) -> str:
    """Return the BLAKE2b hash of the content (16 bytes, in hex); empty if the file cannot be read."""
    digest = blake2b(digest_size=16)
    try:
        with open_file(path) as stream:
            while chunk := stream.read(_CHUNK_SIZE):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()


@dataclass(slots=True)
class StoredRun:
    """A run in the store, with the data that shows whether its files or import options changed."""

    run_number: int
    import_fingerprint: int
    n_items: int
    n_issues: int
    dataset: str | None
    sources: list[SourceFile] = field(default_factory=list)


def build_run_key(workspace: Workspace, run: Run) -> str:
    """Return the identity of a run: a JSON list of benchmark, version, language, model and path."""
    stored_path = workspace.to_stored_path(run.path)
    return orjson.dumps([run.benchmark, run.generation, run.language, run.model, stored_path]).decode()


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
        """Return the folders of a run. A folder that was moved together with the workspace has its new path."""
        folders = self._folders.get(build_run_key(self._workspace, run), ())
        return tuple(folder.locate(self._workspace) for folder in folders)

    @property
    def most_common(self) -> tuple[Path, ...]:
        """The folders that are remembered for most runs; empty if none are remembered."""
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
