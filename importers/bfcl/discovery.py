"""Find BFCL runs and their datasets.

A run is one model folder with result files of one BFCL version. fcreview also looks for its score
files outside the opened paths. For results in `result/MODEL` it searches the same folder and
`score/MODEL`, and for results in `RUN/result` or directly in `RUN` it searches `RUN/score`. If only
score files are opened, it looks for result files in the same way.

The dataset must be of the run's own BFCL version. If several different datasets match, fcreview
uses the one with the most questions and golden answers from the score files. If several datasets
have equally many, it uses the one that fits the most results, then the newest. An issue reports the
choice.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.dataset import (
    Dataset,
    DatasetFiles,
    DatasetItem,
    FileStamp,
    file_stamp,
    load_dataset,
    to_json_text,
)
from fcreview.importers.bfcl.dataset_files import (
    DatasetFinder,
    is_damaged_question_file,
    is_question_file,
)
from fcreview.importers.bfcl.joining import (
    find_items_with_question,
    has_function_name,
    is_same_golden_answer,
    is_same_question,
    load_results,
    mask_api_keys,
)
from fcreview.importers.bfcl.model_files import (
    SUFFIXES,
    FilesByRun,
    RunKey,
    drop_files_in_copy_folders,
    list_folder,
    merge_model_subfolders,
)
from fcreview.importers.bfcl.model_folder import describe_model_folder
from fcreview.importers.bfcl.pairing import NamedFolder, Pairing, RunFiles
from fcreview.importers.common.copies import report_copies
from fcreview.importers.common.discovery import SKIPPED_FOLDERS, report_missing_scores
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.not_run import list_some
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

_API_KEY_HINTS = (b"api_key", b"api-key", b"api key", b"apikey", b"[redacted]")


@dataclass(slots=True)
class CategoryFiles:
    results: list[Path] = field(default_factory=list)
    scores: list[Path] = field(default_factory=list)
    dataset_files: list[DatasetFiles] = field(default_factory=list)
    """Dataset files of the category.

    The list has more than one element only for format sensitivity.
    """


FilesByCategory = dict[str, CategoryFiles]
"""`RunPlan.importer_data` of a BFCL run: category -> files, in import order."""


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],
    search: SearchOptions,
) -> DiscoveredRuns:
    """Find the BFCL runs in `files`, with score files and datasets.

    Notices state the numbers of ignored files.
    """
    filenames.read_first.cache_clear()
    found = DiscoveredRuns()
    results: FilesByRun = {}
    scores: FilesByRun = {}
    question_folders: dict[Path, None] = {}
    ignored: Counter[tuple[Path, str]] = Counter()
    for path in files:
        file = filenames.classify_file(path) if path.suffix in SUFFIXES else None
        if file is None:
            continue
        found.claimed.add(path)
        if file.kind == "ignored":
            if file.ignored_description:
                snapshots = next(
                    (folder for folder in path.parents if folder.name == "memory_snapshot"), None
                )
                ignored[snapshots or path.parent, file.ignored_description] += 1
        elif file.kind in ("result", "score"):
            by_run = results if file.kind == "result" else scores
            by_run.setdefault((filenames.find_model_folder(path), file.version), []).append(file)
        elif file.kind == "question":
            question_folders[path.parent] = None
    for (folder, reason), count in ignored.items():
        what = f"skipped {count} {'file' if count == 1 else 'files'}: {reason}"
        found.issues.append(ImportIssue(str(folder), None, what=what, severity="notice"))
    for files_by_run in (results, scores):
        found.issues += report_copies(drop_files_in_copy_folders(files_by_run))
    data_folders = [folder for root in dataset_folders for folder in walk_folders(root)]
    merged_results = merge_model_subfolders(results)
    pairing = Pairing(merged_results, merge_model_subfolders(scores))
    for files_of_run in pairing.pair_files(_list_named_score_folders(merged_results, search)):
        plan = _make_plan(files_of_run)
        attach_dataset(plan, data_folders, list(question_folders), dataset_folders)
        categories: FilesByCategory = plan.importer_data
        unscored = [
            name
            for name, each in categories.items()
            if not each.scores and name not in filenames.UNSCORED_CATEGORIES
        ]
        report_missing_scores(plan, categories, unscored)
        found.claimed.update(plan.results, plan.scores)
        found.plans.append(plan)
    _report_lost_score_folders(found.plans, search)
    return found


def _list_named_score_folders(
    results: FilesByRun, search: SearchOptions
) -> dict[RunKey, list[NamedFolder]]:
    """Return the folders of --score, and those of earlier commands, for each run with results."""
    named: dict[RunKey, list[NamedFolder]] = {}
    for key in results:
        remembered = search.remembered_scores.get(key[0], ())
        folders = [NamedFolder(folder, is_for_run=True) for folder in remembered]
        folders += [NamedFolder(folder) for folder in search.scores if folder not in remembered]
        if folders:
            named[key] = folders
    return named


def _report_lost_score_folders(plans: Sequence[RunPlan], search: SearchOptions) -> None:
    """Set `lost_score_folder` of runs whose scores an earlier command named, and that are
    missing now.
    """
    for results_folder, score_folders in search.remembered_scores.items():
        plans_of_results = [plan for plan in plans if plan.results_folder == results_folder]
        found = {plan.named_score_folder for plan in plans_of_results}
        lost = [folder for folder in score_folders if folder not in found]
        has_new_folder = not found.isdisjoint(search.scores)
        if not plans_of_results or not lost or has_new_folder:
            continue
        first = plans_of_results[0]
        what = f"the scores are no longer in {lost[0]}, which --score of an earlier command named"
        first.issues.append(ImportIssue(first.run.path, None, what=what))
        if not first.scores:
            first.lost_score_folder = lost[0]


def _make_plan(files: RunFiles) -> RunPlan:
    categories: FilesByCategory = {}
    order = filenames.CATEGORY_ORDER
    for file in sorted(
        [*files.results, *files.scores], key=lambda file: order.get(file.category, len(order))
    ):
        category = categories.setdefault(file.category, CategoryFiles())
        (category.results if file.kind == "result" else category.scores).append(file.path)

    model_folder = describe_model_folder(files.model_folder, files.version)
    run = Run("bfcl", files.version, "en", model_folder.model, str(files.path))
    run.name_parts = [name for name in (*model_folder.repetition, files.evaluation) if name]
    plan = RunPlan(
        run,
        results=[file.path for file in files.results],
        scores=[file.path for file in files.scores],
    )
    plan.issues = list(files.issues)
    plan.importer_data = categories
    plan.results_folder = files.results_folder
    plan.named_score_folder = files.named_score_folder
    plan.reason = (
        f"{len(files.results)} result files and {len(files.scores)} score files have names of BFCL"
    )
    plan.reason += f" {files.version}"
    if not any(file.is_certain for file in [*files.results, *files.scores]):
        plan.confidence = 0.6
        plan.reason = (
            "file names and keys resemble those of BFCL, but no file name states the BFCL version"
        )
    if files.version not in filenames.VERSIONS:
        what = (
            f"fcreview does not know BFCL {files.version}. The run is imported by the rules of V4"
        )
        plan.issues.append(ImportIssue(str(files.path), None, what=what))
    return plan


MAX_PARENT_FOLDERS = 5
DATASET_SUBFOLDERS = (
    "",
    "data",
    "bfcl_eval/data",
    "berkeley-function-call-leaderboard/data",
    "berkeley-function-call-leaderboard/bfcl_eval/data",
)
MAX_COMPARED_ENTRIES = 40
_FORMAT_SENSITIVITY_CATEGORIES = [
    *filenames.V4_CATEGORIES[:3],
    *filenames.V2_CATEGORIES[3:6],
    *filenames.V2_CATEGORIES[14:18],
]


def attach_dataset(
    plan: RunPlan,
    data_folders: Sequence[Path],
    opened_folders: Sequence[Path],
    named_folders: Sequence[Path] = (),
) -> None:
    """Find the run's dataset. Set `plan.data`, `plan.run.dataset` and the dataset files of all
    categories.

    Args:
        data_folders: the folders that the user named and their subfolders. If one of them has a
        dataset of the run, no
            other folder is searched.
        opened_folders: the folders in the opened paths that contain question files.
        named_folders: the folders that the user named. Datasets in several of them are combined.
    """
    categories: FilesByCategory = plan.importer_data
    needed = {category: _list_question_categories(category) for category in categories}
    search = _DatasetSearch(
        plan,
        list(dict.fromkeys(name for names in needed.values() for name in names)),
        named_folders,
    )
    folders = search.find_folders(data_folders, opened_folders)
    found = {
        name: files for name in search.categories if (files := search.choose_files(folders, name))
    }
    search.report_unusual_names(found)

    for category, names in needed.items():
        categories[category].dataset_files = [found[name] for name in names if name in found]
    plan.data = list(dict.fromkeys(path for files in found.values() for path in files.record_paths))
    if any(category.startswith(("multi_turn", "memory", "web_search")) for category in needed):
        doc_folders = dict.fromkeys(
            files.function_docs for files in found.values() if files.function_docs
        )
        plan.data += [
            path for folder in doc_folders if folder for path in sorted(folder.glob("*.json"))
        ]
    plan.run.dataset = str(folders[0]) if folders else None
    _report_categories_without_dataset(
        plan, {name for name, names in needed.items() if found.keys().isdisjoint(names)}
    )


def _report_categories_without_dataset(plan: RunPlan, missing: set[str]) -> None:
    if not missing:
        return
    names = [category for category in plan.importer_data if category in missing]
    of_categories = "" if len(names) == len(plan.importer_data) else f" for {list_some(names)}"
    what = (
        f"no BFCL {plan.run.generation} dataset found{of_categories}. Items without a failing score"
        " entry have no"
    )
    what += " question and no golden answer. Pass --data DIR to show them and to recompute verdicts"
    plan.issues.append(ImportIssue(plan.run.path, None, what=what))


def _list_question_categories(category: str) -> list[str]:
    if category == "format_sensitivity":
        return _FORMAT_SENSITIVITY_CATEGORIES
    return [filenames.find_question_category(category)]


class _DatasetSearch:
    """Searches the dataset of one run. `categories` are the categories of question files."""

    def __init__(self, plan: RunPlan, categories: list[str], named_folders: Sequence[Path]) -> None:
        self.categories = categories
        self._plan = plan
        self._named_folders = named_folders
        self._finder = DatasetFinder(plan.run.generation, named_folders)

    def find_folders(
        self, data_folders: Sequence[Path], opened_folders: Sequence[Path]
    ) -> list[Path]:
        """Return the folders with a dataset of the run, the best first. Reports the choice."""
        folders = self._find_question_folders(data_folders)
        if not folders:
            if data_folders:
                what = (
                    f"the data folders contain no BFCL {self._plan.run.generation} dataset for this"
                    " run. Searching"
                )
                what += " near the run instead"
                self._plan.issues.append(ImportIssue(str(data_folders[0]), None, what=what))
            folders = self._find_question_folders([*opened_folders, *self._list_usual_folders()])
        return self._rank_folders(self._drop_duplicates(folders))

    def _list_usual_folders(self) -> list[Path]:
        folder = filenames.find_model_folder((self._plan.results or self._plan.scores)[0])
        near_run = [folder, *list(folder.parents)[:MAX_PARENT_FOLDERS]]
        below = [above / name for above in near_run for name in DATASET_SUBFOLDERS]
        return [*below, *_find_installed_data_folders()]

    def choose_files(self, folders: Sequence[Path], category: str) -> DatasetFiles | None:
        """Return the dataset files in the first folder with readable questions or, without one, the
        first damaged ones.

        Files with the name of the official dataset come first. The files of other folders of the
        user are added.
        """
        found = [
            files for folder in folders if (files := self._finder.find_files(folder, category))
        ]
        found.sort(key=lambda files: not self._finder.is_exact_name(files.questions, category))
        usable = [files for files in found if is_question_file(files.questions)]
        damaged = [files for files in found if is_damaged_question_file(files.questions)]
        if usable and damaged and found.index(damaged[0]) < found.index(usable[0]):
            what = f"this question file is empty or unreadable. Using {usable[0].questions}"
            self._plan.issues.append(
                ImportIssue(str(damaged[0].questions), None, what=what, severity="error")
            )
        if usable:
            return self._add_files_of_other_named_folders(usable)
        return damaged[0] if damaged else None

    def _add_files_of_other_named_folders(self, found: Sequence[DatasetFiles]) -> DatasetFiles:
        """Return the first files with the first files in each other folder that the user named."""
        first = found[0]
        first_folder = self._find_named_folder(first.questions)
        if first_folder is None:
            return first
        by_named_folder: dict[Path, DatasetFiles] = {}
        for files in found[1:]:
            named_folder = self._find_named_folder(files.questions)
            if named_folder is not None and named_folder != first_folder:
                by_named_folder.setdefault(named_folder, files)
        return replace(first, others=tuple(by_named_folder.values()))

    def _find_named_folder(self, path: Path) -> Path | None:
        """Return the innermost folder of the user that contains a path."""
        containing = [folder for folder in self._named_folders if path.is_relative_to(folder)]
        return max(containing, key=lambda folder: len(folder.parts), default=None)

    def report_unusual_names(self, found: Mapping[str, DatasetFiles]) -> None:
        """Add a notice for question files with a suffix, and for golden answers from another
        folder.
        """
        similar = [
            files.questions
            for name, files in found.items()
            if not self._finder.is_exact_name(files.questions, name)
        ]
        if similar:
            what = (
                "no question file has the exact name. Using"
                f" {list_some([path.name for path in similar])}"
            )
            self._plan.issues.append(
                ImportIssue(str(similar[0]), None, what=what, severity="notice")
            )
        shared = [
            files
            for files in found.values()
            if files.answers is not None and files.answers.parent.parent != files.questions.parent
        ]
        if shared:
            answer_folders = dict.fromkeys(
                str(files.answers.parent) for files in shared if files.answers is not None
            )
            what = (
                "no golden answers beside these questions. Using those in"
                f" {list_some(list(answer_folders))}"
            )
            self._plan.issues.append(
                ImportIssue(str(shared[0].questions), None, what=what, severity="notice")
            )

    def _find_question_folders(self, folders: Sequence[Path]) -> list[Path]:
        found: dict[Path, bool] = {}
        for folder in folders:
            candidates = [self._finder.find_files(folder, category) for category in self.categories]
            paths = [files.questions for files in candidates if files is not None]
            is_usable = any(is_question_file(path) for path in paths)
            if is_usable or any(is_damaged_question_file(path) for path in paths):
                found[folder] = is_usable
        return [
            folder for folder, is_usable in found.items() if is_usable or True not in found.values()
        ]

    def _drop_duplicates(self, folders: list[Path]) -> list[Path]:
        """Keep the first of several folders with equal dataset files."""
        if len(folders) < 2:
            return folders
        first: dict[tuple[Any, ...], Path] = {}
        for folder in folders:
            candidates = [self._finder.find_files(folder, category) for category in self.categories]
            paths = [files.record_paths if files else [] for files in candidates]
            key = tuple(
                tuple(_hash_file(path, file_stamp(path)) for path in several) for several in paths
            )
            first.setdefault(key, folder)
        return list(first.values())

    def _rank_folders(self, folders: list[Path]) -> list[Path]:
        """Sort dataset folders by matching score entries, then by fitting results, by the order of
        the user's folders, and by date. Reports the choice.
        """
        if len(folders) < 2:
            return folders
        plan = self._plan
        matches = _count_matching_entries(folders, plan, self._finder)
        ranked = sorted(folders, key=lambda folder: -matches[folder].n_equal)
        best = [
            folder for folder in ranked if matches[folder].n_equal == matches[ranked[0]].n_equal
        ]
        if len(best) > 1:
            fits = _count_fitting_results(best, plan, self._finder)
            dates = {folder: _make_date_sort_key(folder, plan, self._finder) for folder in best}
            best.sort(
                key=lambda folder: (fits[folder], self._rank_named_folder(folder), dates[folder]),
                reverse=True,
            )
            ranked[: len(best)] = best
            counts = "; ".join(f"{folder} ({fits[folder].n_known})" for folder in best)
            what = (
                "The score files match these datasets equally well, so the newest one that fits the"
                " results is used. "
            )
            what += f"Number of results whose id is in the dataset: {counts}"
        else:
            counts = "; ".join(
                f"{folder} ({matches[folder].n_equal} of {matches[folder].n_compared})"
                for folder in ranked
            )
            what = f"Questions and golden answers that match the score files: {counts}"
        what = (
            f"{len(ranked)} different datasets match. Using {ranked[0]}. {what}. Use --data DIR to"
            " choose another"
        )
        severity: Literal["warning", "notice"] = "warning" if len(best) > 1 else "notice"
        # the user named several datasets
        if len({self._find_named_folder(folder) for folder in ranked}) > 1:
            what = (
                f"{len(ranked)} different datasets match. Using {ranked[0]}, and the records that"
                " only the others have"
            )
            what += f": {list_some([str(folder) for folder in ranked[1:]])}"
            severity = "notice"
        plan.issues.append(ImportIssue(plan.run.path, None, what=what, severity=severity))
        return ranked

    def _rank_named_folder(self, folder: Path) -> int:
        """Return a higher number for a folder that the user named earlier."""
        named_folder = self._find_named_folder(folder)
        return -self._named_folders.index(named_folder) if named_folder is not None else 0


def walk_folders(root: Path, max_depth: int = 4) -> Iterator[Path]:
    """Yield a folder and its subfolders, because `--data` may name `data/` or a whole checkout
    of the repository.
    """
    root = Path(os.path.abspath(root))  # noqa: PTH100
    yield root
    for name, is_folder in list_folder(root, follow_links=False) if max_depth else ():
        if (
            is_folder
            and name not in SKIPPED_FOLDERS
            and name not in ("possible_answer", "result", "score")
        ):
            yield from walk_folders(root / name, max_depth - 1)


@lru_cache(maxsize=1)
def _find_installed_data_folders() -> list[Path]:
    try:
        spec = importlib.util.find_spec("bfcl_eval")
    except (ImportError, ValueError):
        return []
    return (
        [Path(folder) / "data" for folder in spec.submodule_search_locations or []] if spec else []
    )


@lru_cache(maxsize=1024)
def _hash_file(path: Path, stamp: FileStamp) -> bytes:  # noqa: ARG001
    """Return the hash of a dataset file.

    Placeholders of API keys are ignored, because they differ between copies.
    """
    digest = hashlib.blake2b(digest_size=16)
    with open_file(path) as file:
        while lines := file.readlines(1 << 20):
            text = b"".join(lines)
            if not _has_api_key_hint(text):
                digest.update(text)
                continue
            for line in lines:
                has_key = _has_api_key_hint(line)
                digest.update(
                    mask_api_keys(line.decode("utf-8", "replace")).encode() if has_key else line
                )
    return digest.digest()


def _has_api_key_hint(text: bytes) -> bool:
    lowered = text.lower()
    return any(hint in lowered for hint in _API_KEY_HINTS)


class FittingResults(NamedTuple):
    n_known: int
    """Number of results whose id is in the dataset."""
    n_with_function: int
    """Number of results that contain the name of an available function. Only items that differ
    between the datasets are counted.
    """


def _count_fitting_results(
    folders: list[Path], plan: RunPlan, finder: DatasetFinder
) -> dict[Path, FittingResults]:
    """Count for each dataset folder the results that fit its datasets."""
    n_known, n_named = Counter[Path](), Counter[Path]()
    categories: FilesByCategory = plan.importer_data
    for category, category_files in categories.items():
        found = load_results(category_files.results, category)
        datasets = {
            folder: [
                load_dataset(files, name)
                for name in _list_question_categories(category)
                if (files := finder.find_files(folder, name))
            ]
            for folder in folders
        }
        for item_id in found.records:
            dataset_id = filenames.to_dataset_id(item_id, category)
            items = {
                folder: next(
                    (item for dataset in several if (item := dataset.items.get(dataset_id))), None
                )
                for folder, several in datasets.items()
            }
            n_known.update(folder for folder, item in items.items() if item is not None)
            # an item that is equal in all datasets cannot distinguish them
            if len(set(map(id, items.values()))) > 1:
                record = found.read_record(item_id)
                reply = to_json_text(record.get("result")) if isinstance(record, dict) else ""
                n_named.update(
                    folder
                    for folder, item in items.items()
                    if item and has_function_name(reply, item)
                )
    return {folder: FittingResults(n_known[folder], n_named[folder]) for folder in folders}


def _make_date_sort_key(folder: Path, plan: RunPlan, finder: DatasetFinder) -> tuple[str, int]:
    """Return (ISO date in the path or else of the newest file, time of the newest file in
    nanoseconds).
    """
    names = [
        name for category in plan.importer_data for name in _list_question_categories(category)
    ]
    found = (finder.find_files(folder, name) for name in names)
    changed = max(
        (file_stamp(path)[1] for files in found if files for path in files.record_paths), default=0
    )
    return filenames.find_date_in_path(folder) or date.fromtimestamp(
        changed / 1e9
    ).isoformat(), changed


class MatchingEntries(NamedTuple):
    n_equal: int
    """Number of score entries whose question and golden answer are in the dataset folder."""
    n_compared: int


def _count_matching_entries(
    folders: Sequence[Path], plan: RunPlan, finder: DatasetFinder
) -> dict[Path, MatchingEntries]:
    """Count for each dataset folder the score entries whose question and golden answer it
    contains.
    """
    n_equal, n_compared = Counter[Path](), 0
    categories: FilesByCategory = plan.importer_data
    for category, category_files in categories.items():
        name = filenames.find_question_category(category)
        found = {folder: finder.find_files(folder, name) for folder in folders}
        datasets = {
            folder: load_dataset(files, category)
            for folder, files in found.items()
            if files is not None
        }
        for path in category_files.scores:
            entries = (
                record.value for record in read_records(path) if isinstance(record, JsonRecord)
            )
            for entry, _ in zip(entries, range(MAX_COMPARED_ENTRIES), strict=False):
                prompt = entry.get("prompt") if isinstance(entry, dict) else None
                if isinstance(prompt, dict) and "question" in prompt:
                    n_compared += 1
                    n_equal.update(_find_datasets_with_item(datasets, entry, prompt, category))
    return {folder: MatchingEntries(n_equal[folder], n_compared) for folder in folders}


def _find_datasets_with_item(
    datasets: dict[Path, Dataset], entry: dict[str, Any], prompt: dict[str, Any], category: str
) -> Iterator[Path]:
    """Yield the folders of the datasets that contain the question and golden answer in a score
    entry.
    """
    stated, question = prompt.get("id"), prompt["question"]
    dataset_id = filenames.to_dataset_id(stated, category) if isinstance(stated, str) else None
    compared: dict[int, bool] = {}

    def is_equal_to_entry(item: DatasetItem) -> bool:
        if id(item) not in compared:
            compared[id(item)] = is_same_question(item.turns, question) and (
                "possible_answer" not in entry
                or is_same_golden_answer(item.ground_truth, entry["possible_answer"])
            )
        return compared[id(item)]

    for folder, dataset in datasets.items():
        items = [item] if dataset_id and (item := dataset.items.get(dataset_id)) else []
        if any(
            map(
                is_equal_to_entry,
                find_items_with_question(dataset, question) if dataset_id is None else items,
            )
        ):
            yield folder
