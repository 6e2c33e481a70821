"""Detect changes in the files that runs were imported from, and remember the dataset folders of
each run.

`.fcreview/datasets.json` contains the folders given with --data for each run key (see
`build_run_key`): `{key: [{"beside": "../data", "at": "/bench/data"}]}`. `beside` is relative to the
folder that contains `.fcreview/`, so that a user can move both folders together. `at` is the
absolute path. An import that rebuilds the store still finds the datasets, because the file is
separate from the store.
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
    """A file from which a run was imported, and its state then.

    The fields are the columns of the table `sources`.
    """

    path: str  # path as `Workspace.to_stored_path` returns it
    kind: str  # `result`, `score`, `data` or `log`
    size: int  # size in bytes; -1 if the file is missing or not a regular file
    mtime_ns: int  # modification time in nanoseconds
    hash: str = (
        ""  # See `hash_file`. Empty if the file was unreadable or changed during the import.
    )


def iter_source_kinds_and_paths(plan: RunPlan) -> Iterator[tuple[str, Path]]:
    """Yield the kind and the path of each file of a run. A file of one kind is yielded once."""
    paths_by_kind = {
        "result": plan.results,
        "score": plan.scores,
        "data": plan.data,
        "log": plan.logs,
    }
    for kind, paths in paths_by_kind.items():
        for path in dict.fromkeys(paths):
            yield kind, path


def stat_sources(plan: RunPlan, to_stored_path: Callable[[Path], str]) -> list[SourceFile]:
    """Return the run's files with their current sizes and modification times, but without
    hashes.
    """
    return [
        _stat_source(path, to_stored_path(path), kind)
        for kind, path in iter_source_kinds_and_paths(plan)
    ]


def _stat_source(path: Path, stored_path: str, kind: str) -> SourceFile:
    """Return the state of a file. The size -1 says that it cannot be read as a file."""
    try:
        status = path.stat()
    except OSError:
        return SourceFile(stored_path, kind=kind, size=-1, mtime_ns=0)
    return SourceFile(
        stored_path,
        kind=kind,
        size=status.st_size if stat.S_ISREG(status.st_mode) else -1,
        mtime_ns=status.st_mtime_ns,
    )


def add_content_hash(source: SourceFile, path: Path, known_hash: str | None = None) -> SourceFile:
    """Return `source` with the hash of its content, which is `known_hash` if given. The hash is
    empty if the file has changed since `source` was created.
    """
    if source.size < 0:
        # It cannot be read as a file.
        return source
    content_hash = hash_file(path) if known_hash is None else known_hash
    current = _stat_source(path, source.path, source.kind)
    if current != source:
        content_hash = ""
    return replace(source, hash=content_hash)


def is_content_unchanged(
    workspace: Workspace, current_files: list[SourceFile], stored_files: list[SourceFile]
) -> bool:
    """Whether the files of a run have the same content as at its last import.

    A file of another size has changed. A file of the same size and time has not. Only if the time
    differs, the file is read and its hash compared.
    """
    stored_by_name = {(source.path, source.kind): source for source in stored_files}
    if len(stored_by_name) != len(current_files):
        return False
    pairs = []
    for source in current_files:
        stored = stored_by_name.get((source.path, source.kind))
        if stored is None or not _can_be_unchanged(source, stored):
            return False
        pairs.append((source, stored))

    # Only now are files read, because that can take long.
    for source, stored in pairs:
        if source.mtime_ns == stored.mtime_ns:
            continue
        if hash_file(workspace.to_absolute_path(source.path)) != stored.hash:
            return False
    return True


def _can_be_unchanged(source: SourceFile, stored: SourceFile) -> bool:
    """Whether the sizes are equal and the store has a hash to compare the content with."""
    exists = source.size >= 0
    return exists and source.size == stored.size and bool(stored.hash)


def hash_file(path: Path) -> str:
    """Return the BLAKE2b hash of a file (16 bytes, in hex); empty if the file cannot be read."""
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
    """A run in the store, with the state of its files and a fingerprint of its import options,
    to detect changes.
    """

    run_number: int
    import_fingerprint: int
    n_items: int
    n_issues: int
    info: Run
    """The run without facts, settings and metrics."""
    sources: list[SourceFile] = field(default_factory=list)


def build_run_key(workspace: Workspace, run: Run) -> str:
    """Return the key that identifies a run: a JSON list of benchmark, version, language, model
    and path.
    """
    stored_path = workspace.to_stored_path(run.path)
    return orjson.dumps(
        [run.benchmark, run.generation, run.language, run.model, stored_path]
    ).decode()


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    folders: tuple[
        Path, ...
    ] = ()  # Folders of --data. They are remembered for each run whose dataset they contain.
    forget: bool = (
        False  # forget the folders, and import runs without their dataset (--forget-data)
    )


class DatasetFolders:
    """The remembered dataset folders of each run of a workspace.

    A missing or invalid file counts as empty.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = workspace.root / "datasets.json"
        saved = workspace.files.read_json_object(self._path)
        self._folders = {key: tuple(parse_folders(value)) for key, value in saved.items()}
        self._changed = False

    def get_dataset_folders(self, run: Run) -> tuple[Path, ...]:
        """Return the dataset folders of a run.

        A folder that moved together with the workspace has its new path.
        """
        folders = self._folders.get(build_run_key(self._workspace, run), ())
        return tuple(folder.find_current_path(self._workspace) for folder in folders)

    @property
    def most_common_folders(self) -> tuple[Path, ...]:
        """The dataset folders that most runs have; empty if no run has a remembered folder."""
        if not self._folders:
            return ()
        counts = Counter(self._folders.values())
        most_common, _ = counts.most_common(1)[0]
        return tuple(folder.find_current_path(self._workspace) for folder in most_common)

    def remember_folders(self, run: Run, folders: Sequence[Path]) -> None:
        """Replace the remembered dataset folders of a run. An empty list forgets them."""
        key = build_run_key(self._workspace, run)
        remembered = tuple(RememberedFolder.from_path(path, self._workspace) for path in folders)
        if self._folders.get(key, ()) != remembered:
            self._changed = True
            self._folders.pop(key, None)
            if remembered:
                self._folders[key] = remembered

    def save(self) -> None:
        """Replace `datasets.json` if folders have changed.

        Raises: OSError if the file cannot be written.
        """
        if self._changed:
            self._workspace.files.write_json(self._path, self._folders)
            self._changed = False


@dataclass(frozen=True, slots=True)
class RememberedFolder:
    """A folder in `datasets.json` or `score_folders.json`.

    The fields are the keys of its JSON object.
    """

    beside: str  # path relative to the folder that contains `.fcreview/`
    at: str

    @classmethod
    def from_path(cls, path: Path, workspace: Workspace) -> RememberedFolder:
        absolute = os.path.abspath(path)  # noqa: PTH100 - symbolic links stay unresolved
        return cls(os.path.relpath(absolute, workspace.parent_folder), absolute)

    def find_current_path(self, workspace: Workspace) -> Path:
        beside = workspace.to_absolute_path(self.beside)
        return beside if beside.is_dir() else Path(self.at)


def select_folders_with_dataset(folders: Sequence[Path], plan: RunPlan) -> tuple[Path, ...]:
    """Return the folders that contain a dataset file of the run."""
    return tuple(
        folder for folder in folders if any(path.is_relative_to(folder) for path in plan.data)
    )


def find_folder_without_dataset(plan: RunPlan, remembered_folders: Sequence[Path]) -> Path | None:
    """Return a remembered folder of the run's dataset that is missing or empty (not mounted). If
    all folders have files but none has the dataset, return the first one.

    Otherwise, or if no folder is remembered, return None.
    """
    for folder in remembered_folders:
        if not _is_nonempty_folder(folder):
            return folder

    has_dataset = bool(plan.data)
    if has_dataset or not remembered_folders:
        return None
    # All folders have files, but none has the dataset. Messages name one folder: the first, because
    # nothing tells in which of them the dataset was.
    return remembered_folders[0]


def find_folder_of_lost_dataset(
    workspace: Workspace, plan: RunPlan, stored_run: StoredRun, remembered_folders: Sequence[Path]
) -> Path | None:
    """Return the folder of the dataset files of a run's last import that are missing now. Returns
    None if no file is missing.

    A missing file may have been replaced: another folder now contains a file of the same name. If
    the user chose the dataset folders (`remembered_folders`), only files in these folders are
    replacements.

    A message names the folder, so it should be one that the user knows: a remembered folder with a
    missing file, or one that is empty now. Otherwise, it is the folder with all missing files.
    """
    lost = _find_lost_dataset_files(workspace, plan, stored_run, remembered_folders)
    if not lost:
        return None

    # One missing file is enough, because the folders of a dataset are usually missing together.
    folder = _find_containing_folder(lost[0], remembered_folders)
    if folder is not None:
        return folder
    folder = find_folder_without_dataset(plan, remembered_folders)
    if folder is not None:
        return folder
    return Path(os.path.commonpath([path.parent for path in lost]))


def _find_lost_dataset_files(
    workspace: Workspace, plan: RunPlan, stored_run: StoredRun, remembered_folders: Sequence[Path]
) -> list[Path]:
    """Return the dataset files of a run's last import that the run needs, but that are not found
    now.

    If the run now has a new file of the same name in another folder, the earlier file is not lost.

    Args:
        workspace: The workspace.
        plan: The plan of the run with its present files.
        stored_run: The run in the store, with the files of its last import.
        remembered_folders: The folders that the user named with --data for this run earlier.
    """
    paths_before = {source.path for source in stored_run.sources if source.kind == "data"}
    paths_now = {workspace.to_stored_path(path): path for path in plan.data}
    missing_paths = [
        workspace.to_absolute_path(stored_path)
        for stored_path in sorted(paths_before - paths_now.keys())
    ]
    result_folders = _list_result_folders(workspace, stored_run)
    # Without a dataset and a remembered folder, the import did not know where to search for files.
    knows_no_dataset = not plan.data and not remembered_folders
    needed_paths = []
    for path in missing_paths:
        # The plan does not need an existing dataset file whose results were deleted.
        if path.is_file():
            is_needed = knows_no_dataset
        else:
            is_needed = not _was_deleted_with_results(path, result_folders)
        if is_needed:
            needed_paths.append(path)

    new_paths = [path for stored, path in paths_now.items() if stored not in paths_before]
    # If the user named folders, only new files in these folders are replacements.
    if remembered_folders:
        new_paths = [
            path for path in new_paths if _find_containing_folder(path, remembered_folders)
        ]
    return _omit_replaced_paths(needed_paths, new_paths)


def _was_deleted_with_results(path: Path, result_folders: set[Path]) -> bool:
    """Whether a missing dataset file was in a folder with results that no longer exists."""
    return path.parent in result_folders and not path.parent.is_dir()


def _omit_replaced_paths(paths: Sequence[Path], new_paths: Sequence[Path]) -> list[Path]:
    """Return the paths that no new path replaces. Each new file replaces one file of the same
    name.
    """
    n_replacements = Counter(path.name for path in new_paths)
    not_replaced = []
    for path in paths:
        if n_replacements[path.name] > 0:
            n_replacements[path.name] -= 1
        else:
            not_replaced.append(path)
    return not_replaced


def _list_result_folders(workspace: Workspace, stored_run: StoredRun) -> set[Path]:
    folders = set()
    for source in stored_run.sources:
        if source.kind == "result":
            folders.add(workspace.to_absolute_path(source.path).parent)
    return folders


def _find_containing_folder(path: Path, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        if path.is_relative_to(folder):
            return folder
    return None


def _is_nonempty_folder(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is not None
    except OSError:
        return False


def parse_folders(value: Any) -> Iterator[RememberedFolder]:
    """Yield the valid folders in a list of a file with remembered folders."""
    if not isinstance(value, list):
        return
    for folder in value:
        if not isinstance(folder, dict):
            continue
        beside = folder.get("beside")
        at = folder.get("at")
        if isinstance(beside, str) and isinstance(at, str):
            yield RememberedFolder(beside, at)
