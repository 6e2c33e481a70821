"""Find the folders of scores, results and dialogue histories that belong to a folder of a run.

The official programs write `result_all/result_en/MODEL` and `score_all/score_en/MODEL`, where the
evaluator replaces each `/` of the model's name by `_`. Other programs keep the folder names and
write `score` instead of `result`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from fcreview.importers.acebench.filenames import HISTORY_KINDS
from fcreview.importers.acebench.identity import MAX_LEVELS, ModelFolder

CounterpartKind = Literal["result", "score"]
_KIND_WORDS = {
    "result": re.compile("result", re.IGNORECASE),
    "score": re.compile("score", re.IGNORECASE),
}


def find_counterpart_folders(
    folder: Path, model_folder: ModelFolder, kind: CounterpartKind, languages: Sequence[str]
) -> Iterator[Path]:
    """Yield the existing folders that can hold the files of one kind for the run of `folder`,
    nearest first.
    """
    seen = set()
    for candidate in _list_candidates(folder, model_folder, kind, languages):
        if candidate not in seen and candidate.is_dir():
            seen.add(candidate)
            yield candidate


def _list_candidates(
    folder: Path, model_folder: ModelFolder, kind: CounterpartKind, languages: Sequence[str]
) -> Iterator[Path]:
    """Yield the folders in which the scores of results (or the results of scores) can be.

    The official program writes them beside each other, such as `result_all/result_en/MODEL` and
    `score_all/score_en/MODEL`. Other programs write them into one folder, or into a subfolder.

    Args:
        folder: The folder of the known files.
        model_folder: Model and settings of the run, which name the last folder.
        kind: The kind of the files to find: `score` or `result`.
        languages: The languages that the files can have.
    """
    yield folder
    yield folder / kind
    yield folder / f"{kind}s"
    yield from _list_mirrored_folders(folder, kind)

    # From each folder above, go down again by the names that the official program uses.
    run_names = list_run_names(model_folder)
    for root in list(folder.parents)[:MAX_LEVELS]:
        for parent in _list_folders_of_kind(root, kind, languages):
            for name in run_names:
                yield parent / name


def _list_folders_of_kind(
    root: Path, kind: CounterpartKind, languages: Sequence[str]
) -> Iterator[Path]:
    """Yield the folders in an output folder that can have the scores or results of all models."""
    for language in languages:
        yield root / f"{kind}_all" / f"{kind}_{language}"
        yield root / f"{kind}_{language}"
    yield root / kind
    yield root / f"{kind}s"


def _list_mirrored_folders(folder: Path, kind: CounterpartKind) -> Iterator[Path]:
    """Yield `folder` with the word of the other kind replaced: `scores_en/MODEL` for
    `results_en/MODEL` if `kind` is `score`.

    If several folder names contain the word, the lowest name alone is replaced first, then the
    lowest two, and so on.
    """
    word_to_replace = "score" if kind == "result" else "result"
    other_kind = _KIND_WORDS[word_to_replace]
    names = list(folder.parts)
    last = len(names) - 1
    topmost = max(last - MAX_LEVELS, 0)
    for index in range(last, topmost, -1):
        mirrored = other_kind.sub(kind, names[index])
        if mirrored != names[index]:
            # The replaced name stays replaced while higher names are tried.
            names[index] = mirrored
            yield Path(*names)


def list_run_names(model_folder: ModelFolder) -> list[str]:
    """Return the names that the folder of a run can have in another tree: `org/m/run1`,
    `org_m_run1`.
    """
    path = "/".join([model_folder.model, *model_folder.settings])
    names = [path, path.replace("/", "_")]
    model = model_folder.model.replace("/", "_")
    if model_folder.settings:
        names.append("/".join([model, *model_folder.settings]))
    return list(dict.fromkeys(names))


def find_dialogue_histories(
    folder: Path,
    model_folder: ModelFolder,
    *,
    language: str,
    dataset: Path | None,
    categories: Sequence[str],
) -> list[Path]:
    """Return the dialogue histories of the run's agent categories: one file for each item."""
    parents = list(_list_history_parents(folder, language, dataset))
    histories: list[Path] = []
    for kind in HISTORY_KINDS:
        if f"agent_{kind}" in categories:
            histories += _find_histories_of_kind(parents, model_folder, kind)
    return histories


def _find_histories_of_kind(
    parents: Sequence[Path], model_folder: ModelFolder, kind: str
) -> list[Path]:
    """Return the histories in the first of the folders that has some."""
    folder_names = ["", *list_run_names(model_folder)]
    for parent in parents:
        for name in folder_names:
            paths = sorted((parent / kind / name).glob("*_dialogue_history.txt"))
            histories = [path for path in paths if path.is_file()]
            if histories:
                return histories
    return []


def _list_history_parents(folder: Path, language: str, dataset: Path | None) -> Iterator[Path]:
    """Yield the folders that can contain dialogue histories: near the results, and in the
    dataset.
    """
    for root in [folder, *list(folder.parents)[:MAX_LEVELS]]:
        yield root / "dialogue_history"
        if language:
            yield root / "data_all" / f"data_{language}" / "dialogue_history"
    if dataset is not None:
        yield dataset / "dialogue_history"
