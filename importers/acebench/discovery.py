"""Recognize ACEBench files, and find the datasets, scores and dialogue histories of a run.

A run is one model in one language.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fcreview.importers.common.discovery import gather_files, report_missing_scores
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions

FILE_NAME = re.compile(r"data_((?:normal|special|agent)_[a-z_]+?)_(result|score|process)\.json")
LANGUAGE_SUFFIX = re.compile(r"(?:^|_)(en|zh)$")
MAX_PARENT_FOLDERS = 4
"""Number of levels above a model's folder at which fcreview searches for datasets, scores and dialogue histories."""

HISTORY_KINDS = ("multi_step", "multi_turn")
"""Folders of the dialogue histories of the two agent categories."""

CATEGORIES = (
    "normal_single_turn_single_function", "normal_single_turn_parallel_function", "normal_multi_turn_user_adjust",
    "normal_multi_turn_user_switch", "normal_similar_api", "normal_preference", "normal_atom_bool", "normal_atom_enum",
    "normal_atom_number", "normal_atom_list", "normal_atom_object_deep", "normal_atom_object_short",
    "special_incomplete", "special_error_param", "special_irrelevant", "agent_multi_step", "agent_multi_turn",
)  # fmt: skip
CATEGORY_ORDER = {name: position for position, name in enumerate(CATEGORIES)}


class FileName(NamedTuple):
    """The two parts of the name of a result, score or process file. Both are empty for the names of other files."""

    category: str
    kind: str
    """`result`, `score` or `process`."""


def parse_file_name(path: Path) -> FileName:
    match = FILE_NAME.fullmatch(path.name)
    return FileName(match[1], match[2]) if match and match[1] in CATEGORY_ORDER else FileName("", "")


def find_language(path: Path) -> str | None:
    """Return `en` or `zh`, with which the name of a parent folder ends, or None. The nearest such folder counts."""
    matches = map(LANGUAGE_SUFFIX.search, reversed(path.parts[:-1]))
    return next((match[1] for match in matches if match), None)


def find_model_and_folder(path: Path) -> tuple[str, Path]:
    """Return the model's name and folder. The name is the path below `result_en` or a similar folder.

    Without such a folder, it is the name of the file's folder.
    """
    parents = list(path.parents)
    for position, parent in enumerate(parents):
        if re.fullmatch(r"(?:result|score)_(?:en|zh)", parent.name) and position:
            return "/".join(reversed([each.name for each in parents[:position]])), parents[position - 1]
    return parents[0].name, parents[0]


def find_folders_of_kind(model_folder: Path, file_kind: str, language: str, model: str) -> Iterator[Path]:
    """Yield the model's folders for files of one kind, nearest first.

    The evaluator replaces each `/` in a model name by `_`.
    """
    for root in list(model_folder.parents)[:MAX_PARENT_FOLDERS]:
        for parent in (
            root / f"{file_kind}_all" / f"{file_kind}_{language}",
            root / f"{file_kind}_{language}",
            root / file_kind,
        ):
            for name in dict.fromkeys((model, model.replace("/", "_"))):
                if (parent / name).is_dir():
                    yield parent / name


def find_dataset_folders(model_folder: Path, language: str, dataset_folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the dataset folders of a language: first those in `dataset_folders`, then those near the run."""
    for root in [*dataset_folders, *list(model_folder.parents)[:MAX_PARENT_FOLDERS]]:
        name = f"data_{language}"
        for folder in (root, root / name, root / "data_all" / name, root / "data" / name):
            match = LANGUAGE_SUFFIX.search(folder.name)
            if match and match[1] != language:
                continue
            if (folder / "possible_answer").is_dir() and any(folder.glob("data_*_*.json")):
                yield folder


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,  # noqa: ARG001
) -> DiscoveredRuns:
    found = DiscoveredRuns()
    files_by_run: dict[tuple[str, str], dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    model_folders: dict[tuple[str, str], Path] = {}
    for path in files:
        _, kind = parse_file_name(path)
        if not kind:
            is_golden = path.parent.name == "possible_answer" and path.name.startswith("data_")
            if is_golden or path.name == "result.xlsx":
                found.claimed.add(path)
            continue
        found.claimed.add(path)
        model, folder = find_model_and_folder(path)
        key = (model, find_language(path) or "")
        files_by_run[key][kind].append(path)
        if kind == "result" or key not in model_folders:
            model_folders[key] = folder
    for (model, language), files_by_kind in files_by_run.items():
        model_folder = model_folders[model, language]
        if not files_by_kind["result"]:
            folders = find_folders_of_kind(model_folder, "result", language, model)
            results = [path for folder in folders for path in folder.glob("data_*_result.json")]
            files_by_kind["result"] = [path for path in results if parse_file_name(path).kind and path.is_file()]
        if not files_by_kind["result"]:
            for path in files_by_kind["score"] + files_by_kind["process"]:
                what = "this score file has no result files. It lists only failures, so no items were imported."
                found.issues.append(ImportIssue(str(path), None, what))
            continue
        plan = _make_plan(model, language, files_by_kind, model_folder, dataset_folders)
        found.plans.append(plan)
        found.claimed.update(plan.files)
        if plan.run.dataset:
            dataset_files = gather_files([Path(plan.run.dataset)], max_depth=2).files
            found.claimed.update(path for path in dataset_files if path.name.startswith("data_"))
    return found


def _make_plan(
    model: str, language: str, files_by_kind: dict[str, list[Path]], model_folder: Path, dataset_folders: Sequence[Path]
) -> RunPlan:
    scores = files_by_kind["score"] + files_by_kind["process"]
    if not scores:
        for folder in find_folders_of_kind(model_folder, "score", language, model):
            paths = sorted(folder.glob("data_*.json"))
            scores = [path for path in paths if parse_file_name(path).kind and path.is_file()]
            if scores:
                break
    results = sorted(files_by_kind["result"], key=lambda path: CATEGORY_ORDER[parse_file_name(path).category])
    categories = [parse_file_name(path).category for path in results]
    dataset = next(find_dataset_folders(model_folder, language, dataset_folders), None) if language else None
    run = Run("acebench", "v1", language, model, str(model_folder), dataset=str(dataset) if dataset else None)
    reason = f"{len(results)} files data_<category>_result.json under {model_folder.name}"
    plan = RunPlan(run, results, scores, reason=reason)
    if dataset is not None:
        folders = (dataset, dataset / "possible_answer")
        data_files = (folder / f"data_{category}.json" for category in categories for folder in folders)
        plan.data = [path for path in data_files if path.is_file()]
    plan.logs = _find_dialogue_histories(model_folder, language, model, categories)
    if not language:
        what = "the run has no questions, because no folder name states its language (result_en or result_zh)"
        plan.issues.append(ImportIssue(str(model_folder), None, what))
    elif dataset is None:
        what = f"the dataset data_{language} was not found. Pass --data DIR to recompute verdicts."
        plan.issues.append(ImportIssue(str(model_folder), None, what))
    scored = {category for category, kind in map(parse_file_name, scores) if kind == "score"}
    report_missing_scores(plan, categories, [category for category in categories if category not in scored])
    return plan


def _find_dialogue_histories(model_folder: Path, language: str, model: str, categories: Sequence[str]) -> list[Path]:
    kinds = [kind for kind in ("multi_step", "multi_turn") if f"agent_{kind}" in categories]
    for root in list(model_folder.parents)[:MAX_PARENT_FOLDERS]:
        folders = [root / "data_all" / f"data_{language}" / "dialogue_history" / kind / model for kind in kinds]
        paths = [path for folder in folders for path in sorted(folder.glob("*_dialogue_history.txt"))]
        if found := [path for path in paths if path.is_file()]:
            return found
    return []
