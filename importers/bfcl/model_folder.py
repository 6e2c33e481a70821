"""Find the model and the repetition of a run in the names of its folders.

Official programs write `result/MODEL/`. People who repeat a run add a folder below the model
(`result/MODEL/run1/`), or above it (`result/2025-01-31/MODEL/`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fcreview.importers.bfcl import filenames

_DATE = r"20\d\d[-_.]?\d\d[-_.]?\d\d(?:[-_.T ]?\d\d[-_.:h]?\d\d(?:[-_.:]?\d\d)?)?"
_WORD = (
    r"(?:runs?|trials?|seeds?|reps?|repeats?|repetitions?|attempts?|try|iters?|iterations?|rounds?|samples?|pass|"
    r"exps?|experiments?|rollouts?|batch|fold|replicas?|sessions?|ver|version|v|temp|temperature|top_?p)"
)
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_REPEAT_PART = (
    rf"(?:{_DATE}|{_WORD}[-_ =#.]?{_NUMBER}|{_WORD}[-_ =#.][a-z]|{_NUMBER}(?:st|nd|rd|th)?(?:[-_"
    rf" ]{_WORD})?)"
)
_REPEAT_NAME = re.compile(rf"{_REPEAT_PART}(?:[-_ .,]{_REPEAT_PART}){{0,5}}", re.IGNORECASE)
"""Name of the folder of a repetition: `run1`, `trial_2`, `seed42_temp0.7`, `2025-01-31`, `3`."""
MAX_REPEAT_NAME_LENGTH = 60


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What the folder of a run tells about it."""

    model: str
    repetition: tuple[str, ...] = ()
    """Names of the folders below the model's folder, the innermost first."""


def is_repeat_name(name: str) -> bool:
    """Whether a folder is named as one of several repetitions, such as `run1`, `trial_2` or
    `2025-01-31`.
    """
    return len(name) <= MAX_REPEAT_NAME_LENGTH and _REPEAT_NAME.fullmatch(name) is not None


def find_run_folder(path: Path, version: str) -> Path:
    """Return the folder of a file's run.

    Since V4, this is a folder in `result/` or `score/`, whose subfolders belong to the run. But a
    subfolder that is named as a repetition, such as `run2`, is a run of its own.
    """
    nearest = filenames.find_model_folder(path)
    if version in filenames.FLAT_VERSIONS:
        return nearest
    folders = _list_folders_below_official_output_folder(nearest)
    if not folders:
        return nearest

    # From the innermost folder outwards: `MODEL/run2/part` is a part of the run in `run2`.
    *inner_folders, outermost = folders
    for folder in inner_folders:
        if is_repeat_name(folder.name):
            return folder
    # The folders of models can be inside the folder of a repetition or of a date, too, as in
    # `2025-01-31/MODEL`. This folder has the runs of several models, so it is no run.
    if is_repeat_name(outermost.name) or filenames.has_date(outermost.name):
        return nearest
    return outermost


def _list_folders_below_official_output_folder(innermost: Path) -> list[Path]:
    """Return the folders from `innermost` to the child of `result` or `score`, or an empty list."""
    found: list[Path] = []
    for folder in (innermost, *innermost.parents)[: filenames.MAX_MODEL_DEPTH]:
        if filenames.is_official_output_folder(folder):
            return found
        found.append(folder)
    is_in_output_folder = filenames.is_official_output_folder(found[-1].parent)
    return found if is_in_output_folder else []


def describe_model_folder(folder: Path, version: str) -> ModelFolder:
    """Find out the model of a run by the folders of its files, such as `result/MODEL/run2`.

    The model is the innermost folder whose name the official program knows. If it knows none, it is
    the innermost folder below `result` or `score` that is not named as a repetition. The folders
    below the model tell its repetitions apart.
    """
    # The name is that of the folder above if `folder` itself is a folder for results or scores.
    model_name = filenames.get_model_name(folder)
    innermost = folder if folder.name == model_name else folder.parent
    folders = _list_folders_of_run(innermost)

    # The names come from the innermost folder outwards, so those before a candidate are below it.
    for depth, candidate in enumerate(folders.names):
        if _is_known_model(candidate, version):
            return ModelFolder(candidate, repetition=folders.names[:depth])
    if folders.is_below_output_folder:
        for depth, candidate in enumerate(folders.names):
            if not is_repeat_name(candidate):
                return ModelFolder(candidate, repetition=folders.names[:depth])
    return ModelFolder(model_name)


@dataclass(frozen=True, slots=True)
class _RunFolders:
    names: tuple[str, ...]
    """Names of the folder of a run and of the folders above it, the innermost first."""
    is_below_output_folder: bool
    """Whether the outermost of these folders is in a folder such as `result` or `score`."""


def _list_folders_of_run(innermost: Path) -> _RunFolders:
    names = [innermost.name]
    for parent in list(innermost.parents)[: filenames.MAX_MODEL_DEPTH - 1]:
        if filenames.is_result_or_score_folder(parent):
            return _RunFolders(tuple(names), is_below_output_folder=True)
        names.append(parent.name)
    return _RunFolders(tuple(names), is_below_output_folder=False)


def _is_known_model(name: str, version: str) -> bool:
    """Whether the official program of a BFCL version knows a model of this name."""
    from fcreview.importers.bfcl.decoders.models import find_model_decoder

    return find_model_decoder(name, filenames.get_rules_version(version)).is_certain
