"""Which files are ACEBench's: names, languages, categories, and how results, scores and datasets lie around each
other.

ACEBench runs among files: one run a model and language.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fcreview.importers.common.discovery import gather_files
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan

FILE_NAME = re.compile(r"data_((?:normal|special|agent)_[a-z_]+?)_(result|score|process)\.json")
LANGUAGE_SUFFIX = re.compile(r"(?:^|_)(en|zh)$")

CATEGORIES = (
    "normal_single_turn_single_function",
    "normal_single_turn_parallel_function",
    "normal_multi_turn_user_adjust",
    "normal_multi_turn_user_switch",
    "normal_similar_api",
    "normal_preference",
    "normal_atom_bool",
    "normal_atom_enum",
    "normal_atom_number",
    "normal_atom_list",
    "normal_atom_object_deep",
    "normal_atom_object_short",
    "special_incomplete",
    "special_error_param",
    "special_irrelevant",
    "agent_multi_step",
    "agent_multi_turn",
)
CATEGORY_ORDER = {name: position for position, name in enumerate(CATEGORIES)}


def parse_file_name(path: Path) -> tuple[str, str] | None:
    """(category, `result`, `score` or `process`) of a file by its name, None if it is not ACEBench's."""
    found = FILE_NAME.fullmatch(path.name)
    return (found[1], found[2]) if found and found[1] in CATEGORY_ORDER else None


def folder_language(path: Path) -> str | None:
    """`en` or `zh` from the nearest folder that says so; no record does."""
    for part in reversed(path.parts[:-1]):
        found = LANGUAGE_SUFFIX.search(part)
        if found:
            return found[1]
    return None


def model_and_folder(path: Path) -> tuple[str, Path]:
    """(model, its folder): the folders between `result_en` and the file, so `org/name` stays together; else the
    parent."""
    parents = list(path.parents)
    for position, parent in enumerate(parents):
        if re.fullmatch(r"(?:result|score)_(?:en|zh)", parent.name) and position:
            return "/".join(reversed([p.name for p in parents[:position]])), parents[position - 1]
    return parents[0].name, parents[0]


def find_model_folders(folder: Path, kind: str, lang: str, name: str) -> Iterator[Path]:
    """Folders where the `score`s (or `result`s) of a model may lie, given its result folder, nearest first."""
    for root in list(folder.parents)[:4]:
        for place in (root / f"{kind}_all" / f"{kind}_{lang}", root / f"{kind}_{lang}", root / kind):
            for spelling in dict.fromkeys((name, name.replace("/", "_"))):
                if (place / spelling).is_dir():
                    yield place / spelling


def find_dataset_folders(folder: Path, lang: str, given: Iterable[Path]) -> Iterator[Path]:
    """Folders `data_en` or `data_zh` that may hold the questions: those that were named first, then around the run."""
    for root in [*given, *list(folder.parents)[:4]]:
        for place in (root, root / f"data_{lang}", root / "data_all" / f"data_{lang}", root / "data" / f"data_{lang}"):
            other = LANGUAGE_SUFFIX.search(place.name)
            if other and other[1] != lang:
                continue
            if (place / "possible_answer").is_dir() and any(place.glob("data_*_*.json")):
                yield place


def find_runs(files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:
    found = DiscoveredRuns()
    groups: dict[tuple[str, str], dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    folders: dict[tuple[str, str], Path] = {}
    for path in files:
        known = parse_file_name(path)
        if known is None:
            if path.name == "result.xlsx" or (
                path.parent.name in ("possible_answer",) and path.name.startswith("data_")
            ):
                found.claimed.add(path)
            continue
        found.claimed.add(path)
        name, folder = model_and_folder(path)
        key = (name, folder_language(path) or "")
        groups[key][known[1]].append(path)
        if known[1] == "result":
            folders[key] = folder
        else:
            folders.setdefault(key, folder)
    for (name, lang), kinds in groups.items():
        if not kinds["result"]:
            folder = folders[(name, lang)]
            results = [p for place in find_model_folders(folder, "result", lang, name) for p in place.glob("data_*_result.json")]
            kinds["result"] = [p for p in results if parse_file_name(p) and p.is_file()]
        if not kinds["result"]:
            for path in kinds["score"] + kinds["process"]:
                text = "a score file without its results: only failures stand in it, so no items were made"
                found.issues.append(ImportIssue(str(path), None, text))
            continue
        plan = _make_plan(name, lang, kinds, folders[(name, lang)], data)
        found.plans.append(plan)
        found.claimed.update(plan.files)
        if plan.run.dataset:
            dataset = gather_files([Path(plan.run.dataset)], max_depth=2).files
            found.claimed.update(path for path in dataset if path.name.startswith("data_"))
    return found


def _make_plan(name: str, lang: str, kinds: dict[str, list[Path]], folder: Path, data: Sequence[Path]) -> RunPlan:
    scores = kinds["score"] + kinds["process"]
    if not scores:
        for place in find_model_folders(folder, "score", lang, name):
            scores = [path for path in sorted(place.glob("data_*.json")) if parse_file_name(path) and path.is_file()]
            if scores:
                break
    results = sorted(dict.fromkeys(kinds["result"]), key=lambda path: CATEGORY_ORDER[parse_file_name(path)[0]])  # type: ignore[index]
    places = list(dict.fromkeys(find_dataset_folders(folder, lang, data))) if lang else []
    categories = [known[0] for path in results if (known := parse_file_name(path))]
    plan = RunPlan(
        run=Run("acebench", "v1", lang, name, str(folder), dataset=str(places[0]) if places else None),
        results=results,
        scores=scores,
        reason=f"{len(results)} files data_<category>_result.json under {folder.name}",
    )
    for place in places[:1]:
        for category in categories:
            for path in (place / f"data_{category}.json", place / "possible_answer" / f"data_{category}.json"):
                if path.is_file():
                    plan.data.append(path)
    plan.logs = _find_dialogue_histories(folder, lang, name, categories)
    if not lang:
        text = (
            "no folder says whether this run is English or Chinese (result_en, result_zh): it opens without questions"
        )
        plan.issues.append(ImportIssue(str(folder), None, text))
    elif not places:
        plan.issues.append(ImportIssue(str(folder), None, f"no questions found for '{lang}': give --data data_all"))
    return plan


def _find_dialogue_histories(folder: Path, lang: str, name: str, categories: Sequence[str]) -> list[Path]:
    found: list[Path] = []
    for root in list(folder.parents)[:4]:
        for kind in ("multi_step", "multi_turn"):
            place = root / "data_all" / f"data_{lang}" / "dialogue_history" / kind / name
            if f"agent_{kind}" in categories and place.is_dir():
                found += sorted(path for path in place.glob("*_dialogue_history.txt") if path.is_file())
        if found:
            break
    return found
