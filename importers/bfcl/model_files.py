"""List the result and score files of model folders, without copies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.filenames import ClassifiedFile, FileKind
from fcreview.importers.bfcl.model_folder import find_run_folder, is_repeat_name
from fcreview.importers.common.copies import find_original, find_original_folder, has_copy_folder
from fcreview.importers.common.discovery import is_utf8_name

MAX_SUBFOLDERS = 500
MAX_GROUP_DEPTH = 4
SUFFIXES = (".json", ".jsonl", ".csv")

Files = list[ClassifiedFile]
RunKey = tuple[Path, str]
"""Model folder and BFCL version."""
FilesByRun = dict[RunKey, Files]


def merge_model_subfolders(files_by_run: FilesByRun) -> FilesByRun:
    """Merge the files in subfolders of a V4 model folder into one run.

    V4 sorts a model's files into subfolders such as `MODEL/live` and `MODEL/multi_turn`. But if two
    subfolders have files of the same category, they are runs of their own.
    """
    files_by_model: FilesByRun = {}
    for (_, version), files in files_by_run.items():
        for file in files:
            model_key = (find_run_folder(file.path, version), version)
            files_by_model.setdefault(model_key, []).append(file)

    merged: FilesByRun = {}
    for (model_folder, version), files in files_by_model.items():
        categories = {file.category for file in files}
        is_one_run = len(categories) == len(files)
        for file in files:
            folder = model_folder if is_one_run else filenames.find_model_folder(file.path)
            merged.setdefault((folder, version), []).append(file)
    return merged


def drop_files_in_copy_folders(files_by_run: FilesByRun) -> dict[Path, Path]:
    """Remove files in folders such as `MODEL/backup` from `files_by_run` if the model has another
    file of the same category.

    Returns each removed file with the file that is kept instead.
    """
    kept_by_dropped = _find_originals_of_copies(files_by_run)
    for run_key, files in list(files_by_run.items()):
        kept = [file for file in files if file.path not in kept_by_dropped]
        if kept:
            files_by_run[run_key] = kept
        else:
            del files_by_run[run_key]
    return kept_by_dropped


def _find_originals_of_copies(files_by_run: FilesByRun) -> dict[Path, Path]:
    """Return the files in folders of copies, each with its original: another file of the same
    model, version and category. Files without an original are left out.
    """
    original_by_place: dict[_FilePlace, Path] = {}
    place_by_copy: dict[Path, _FilePlace] = {}
    for (_, version), files in files_by_run.items():
        for file in files:
            run_folder = find_run_folder(file.path, version)
            place = _FilePlace(run_folder, version, file.category)
            folders_below_run = file.path.relative_to(run_folder).parts[:-1]
            if has_copy_folder(folders_below_run):
                place_by_copy[file.path] = place
            else:
                original_by_place.setdefault(place, file.path)

    original_by_copy: dict[Path, Path] = {}
    for path, place in place_by_copy.items():
        if place in original_by_place:
            original_by_copy[path] = original_by_place[place]
    return original_by_copy


@dataclass(frozen=True)
class _FilePlace:
    """What a copied file has in common with its original."""

    run_folder: Path
    version: str
    category: str


def find_files_of_kind(folder: Path, version: str, kind: FileKind) -> Files:
    """Find the result or score files in the folder of a model. Copies are left out, and so are the
    files of repetitions in subfolders.
    """
    found: Files = []
    for file in _walk_model_folder(folder, version, kind):
        folder_names = file.path.relative_to(folder).parts[:-1]
        if find_original(file.path, folder) is None and not any(map(is_repeat_name, folder_names)):
            found.append(file)
    run_key = (folder, version)
    files_by_run = {run_key: found}
    # This removes files from the dictionary, and the run itself if none is left.
    drop_files_in_copy_folders(files_by_run)
    return files_by_run.get(run_key, [])


def _walk_model_folder(folder: Path, version: str, kind: FileKind, depth: int = 0) -> Files:
    """Return the files of one version and kind in a model's folder and in its subfolders.

    Some versions sort the files of a model into subfolders with any name. In others, only
    subfolders with the name of a group of categories, such as `live`, belong to the model.
    """
    has_parts = _has_parts(folder, version, depth)
    files = []
    for name, is_folder in list_folder(folder):
        path = folder / name
        if is_folder:
            is_part = has_parts and not filenames.is_result_or_score_folder(path)
            # Groups such as `live` are entered in every version.
            is_entered = is_part or name in filenames.GROUP_FOLDERS
            if is_entered and depth < MAX_GROUP_DEPTH:
                files += _walk_model_folder(path, version, kind, depth + 1)
            continue

        file = filenames.classify_file(path) if path.suffix in SUFFIXES else None
        if file is not None and file.kind == kind and file.version == version:
            files.append(file)
    return files


def _has_parts(folder: Path, version: str, depth: int) -> bool:
    """Whether the subfolders of a folder are parts of a model's output, whatever their names.

    They are in versions that sort the files of a model into subfolders, if the folder itself is a
    part, or the folder of a model in an output folder of the official program. `depth` is 0 for the
    folder of the model.
    """
    if version in filenames.FLAT_VERSIONS:
        return False
    if depth > 0 or folder.name in filenames.GROUP_FOLDERS:
        return True
    return filenames.is_official_output_folder(folder.parent)


def list_folder(folder: Path, *, follow_links: bool = True) -> list[tuple[str, bool]]:
    """Return (name, whether it is a folder) of each visible entry, sorted.

    Empty if the folder cannot be listed.
    """
    try:
        with os.scandir(folder) as entries:
            visible = (
                entry
                for entry in entries
                if not entry.name.startswith(".") and is_utf8_name(entry.name)
            )
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=follow_links)) for entry in visible
            )
    except OSError:
        return []


def list_subfolders(folder: Path) -> list[Path]:
    """List the subfolders of a folder, without copies of others such as `score_backup`."""
    subfolders = [folder / name for name, is_folder in list_folder(folder) if is_folder][
        :MAX_SUBFOLDERS
    ]
    return [subfolder for subfolder in subfolders if find_original_folder(subfolder) is None]
