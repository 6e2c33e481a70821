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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.dataset import (
    Dataset,
    DatasetFiles,
    DatasetItem,
    load_dataset,
    to_json_text,
)
from fcreview.importers.bfcl.dataset_files import (
    DatasetFinder,
    is_damaged_question_file,
    is_question_file,
)
from fcreview.importers.bfcl.joining import (
    Results,
    find_items_with_question,
    has_function_name,
    is_same_golden_answer,
    is_same_question,
    load_results,
    mask_api_keys,
)
from fcreview.importers.bfcl.model_files import (
    FilesByRun,
    RunKey,
    drop_files_in_copy_folders,
    list_folder,
    merge_model_subfolders,
)
from fcreview.importers.bfcl.model_folder import describe_model_folder
from fcreview.importers.bfcl.opened_files import BfclFiles
from fcreview.importers.bfcl.pairing import NamedFolder, Pairing, RunFiles
from fcreview.importers.common.copies import report_copies
from fcreview.importers.common.discovery import SKIPPED_FOLDERS, report_missing_scores
from fcreview.importers.common.file_cache import FileStamp, file_stamp
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.not_run import list_some
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from fcreview.safe_files import open_file

HASHED_BYTES = 1 << 20
"""Number of bytes of a dataset file that are hashed at once."""
NANOSECONDS = 1e9
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
    bfcl_files: BfclFiles,
    dataset_folders: Sequence[Path],
    search: SearchOptions,
) -> DiscoveredRuns:
    """Find the runs of BFCL files, and for each its score files and its dataset.

    Args:
        bfcl_files: The BFCL files among the opened files.
        dataset_folders: The folders that the user named with --data.
        search: Other options of the user, such as the folders of --score.
    """
    found = DiscoveredRuns(claimed=set(bfcl_files.claimed))
    found.issues += bfcl_files.report_ignored()
    for files_by_run in (bfcl_files.results, bfcl_files.scores):
        kept_by_dropped = drop_files_in_copy_folders(files_by_run)
        found.issues += report_copies(kept_by_dropped)

    data_folders = _list_data_folders(dataset_folders)
    question_folders = list(bfcl_files.question_folders)
    results_by_run = merge_model_subfolders(bfcl_files.results)
    scores_by_run = merge_model_subfolders(bfcl_files.scores)
    pairing = Pairing(results_by_run, scores_by_run)
    for files_of_run in pairing.pair_files(_list_named_score_folders(results_by_run, search)):
        plan = _make_plan(files_of_run)
        attach_dataset(plan, data_folders, question_folders, dataset_folders)
        _report_missing_scores(plan)
        found.plans.append(plan)
        # Score files can be outside of the opened paths.
        found.claimed.update(plan.results, plan.scores)

    _report_lost_score_folders(found.plans, search)
    return found


def _list_data_folders(dataset_folders: Sequence[Path]) -> list[Path]:
    """Return the folders that the user named, each followed by its subfolders."""
    folders: list[Path] = []
    for root in dataset_folders:
        folders += walk_folders(root)
    return folders


def _report_missing_scores(plan: RunPlan) -> None:
    """Report the categories without a score file, except those that BFCL never scores."""
    categories: FilesByCategory = plan.importer_data
    without_scores = [name for name, files in categories.items() if not files.scores]
    missing = [name for name in without_scores if name not in filenames.UNSCORED_CATEGORIES]
    report_missing_scores(plan, categories, missing)


def _list_named_score_folders(
    results: FilesByRun, search: SearchOptions
) -> dict[RunKey, list[NamedFolder]]:
    """Return the folders of --score, and those of earlier commands, for each run with results."""
    folders_by_run: dict[RunKey, list[NamedFolder]] = {}
    for run_key in results:
        model_folder, _ = run_key
        remembered = search.remembered_scores.get(model_folder, ())
        folders = [NamedFolder(folder, is_for_run=True) for folder in remembered]
        folders += [NamedFolder(folder) for folder in search.scores if folder not in remembered]
        if folders:
            folders_by_run[run_key] = folders
    return folders_by_run


def _report_lost_score_folders(plans: Sequence[RunPlan], search: SearchOptions) -> None:
    """Report the scores that an earlier command named with --score and that no longer exist.

    The first run of the results gets the issue. If it has no other scores, its plan names the lost
    folder.
    """
    for results_folder, remembered_folders in search.remembered_scores.items():
        plans_of_results = [plan for plan in plans if plan.results_folder == results_folder]
        lost_folder = _find_lost_score_folder(plans_of_results, remembered_folders, search)
        if lost_folder is None:
            continue

        plan = plans_of_results[0]
        what = (
            f"the scores are no longer in {lost_folder}, which --score of an earlier command named"
        )
        plan.issues.append(ImportIssue(plan.run.path, what=what))
        if not plan.scores:
            plan.lost_score_folder = lost_folder


def _find_lost_score_folder(
    plans: Sequence[RunPlan], remembered_folders: Sequence[Path], search: SearchOptions
) -> Path | None:
    """Return the first remembered folder from which none of the runs has its scores any more.

    `plans` are the runs of the results for which the folders were named. None if there is no such
    run or folder, or if this command names a folder that is used instead.
    """
    used_folders = {plan.named_score_folder for plan in plans}
    if not plans or not used_folders.isdisjoint(search.scores):
        return None
    for folder in remembered_folders:
        if folder not in used_folders:
            return folder
    return None


def _make_plan(files: RunFiles) -> RunPlan:
    """Make the import plan of a run from its paired result and score files."""
    model_folder = describe_model_folder(files.model_folder, files.version)
    run = Run(
        benchmark="bfcl",
        generation=files.version,
        language="en",
        model=model_folder.model,
        path=str(files.path),
    )
    # These distinguish the run from others of the model, such as `run2` or `score_v1`.
    run.name_parts = [name for name in (*model_folder.repetition, files.evaluation) if name]

    plan = RunPlan(
        run,
        results=[file.path for file in files.results],
        scores=[file.path for file in files.scores],
        issues=list(files.issues),
        importer_data=_group_by_category(files),
        results_folder=files.results_folder,
        named_score_folder=files.named_score_folder,
    )
    _set_confidence(plan, files)
    if files.version not in filenames.VERSIONS:
        what = (
            f"fcreview does not know BFCL {files.version}. The run is imported by the rules of V4"
        )
        plan.issues.append(ImportIssue(str(files.path), what=what))
    return plan


def _group_by_category(files: RunFiles) -> FilesByCategory:
    """Return the files by category, in the order of BFCL. Unknown categories come last."""
    order = filenames.CATEGORY_ORDER
    sorted_files = sorted(
        [*files.results, *files.scores], key=lambda file: order.get(file.category, len(order))
    )
    categories: FilesByCategory = {}
    for file in sorted_files:
        category = categories.setdefault(file.category, CategoryFiles())
        if file.kind == "result":
            category.results.append(file.path)
        else:
            category.scores.append(file.path)
    return categories


def _set_confidence(plan: RunPlan, files: RunFiles) -> None:
    """Set how certain it is that the files belong to BFCL, and why."""
    is_certain = any(file.is_certain for file in [*files.results, *files.scores])
    if is_certain:
        plan.reason = (
            f"{len(files.results)} result files and {len(files.scores)} score files have names of"
            f" BFCL {files.version}"
        )
    else:
        plan.confidence = CONFIDENCE_WITHOUT_VERSION
        plan.reason = (
            "file names and keys resemble those of BFCL, but no file name states the BFCL version"
        )


CONFIDENCE_WITHOUT_VERSION = 0.6
MAX_PARENT_FOLDERS = 5
DATASET_SUBFOLDERS = (
    "",
    "data",
    "bfcl_eval/data",
    "berkeley-function-call-leaderboard/data",
    "berkeley-function-call-leaderboard/bfcl_eval/data",
)
MAX_COMPARED_ENTRIES = 40
_CATEGORIES_WITH_DOC_FILES = ("multi_turn", "memory", "web_search")
"""Beginnings of the names of categories whose function docs are in files of their own."""
_FOLDERS_WITHOUT_QUESTIONS = ("possible_answer", "result", "score")
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
    """Find the dataset of a run, and set it in the plan: `plan.data`, `plan.run.dataset` and the
    dataset files of each category.

    Args:
        plan: The plan of the run.
        data_folders: `named_folders`, each with its subfolders: the folders to search. If one of
            them has a dataset of the run, no other folder is searched.
        opened_folders: The folders in the opened paths that contain question files. They are
            searched after `data_folders`.
        named_folders: The folders that the user named. A dataset can be found in a subfolder of
            each, and then they are combined.
    """
    files_by_category: FilesByCategory = plan.importer_data
    search = _DatasetSearch(plan, _list_all_question_categories(files_by_category), named_folders)
    folders = search.find_folders(data_folders, opened_folders)
    dataset_files_by_name = search.choose_files_of_all_categories(folders)
    search.report_unusual_names(dataset_files_by_name)

    for category, files in files_by_category.items():
        # Some categories of a run have the questions of several categories of the dataset.
        files.dataset_files = [
            dataset_files_by_name[name]
            for name in _list_question_categories(category)
            if name in dataset_files_by_name
        ]
    plan.data = _list_data_files(files_by_category, dataset_files_by_name.values())
    plan.run.dataset = str(folders[0]) if folders else None
    _report_categories_without_dataset(plan)


def _list_all_question_categories(categories: FilesByCategory) -> list[str]:
    """Return the categories of the question files that a run needs, each once."""
    names: dict[str, None] = {}
    for category in categories:
        names |= dict.fromkeys(_list_question_categories(category))
    return list(names)


def _list_data_files(
    categories: FilesByCategory, dataset_files: Iterable[DatasetFiles]
) -> list[Path]:
    """Return the question and answer files, and the function docs if a category needs them."""
    paths: dict[Path, None] = {}
    doc_folders: dict[Path, None] = {}
    for files in dataset_files:
        paths |= dict.fromkeys(files.record_paths)
        if files.function_docs:
            doc_folders[files.function_docs] = None

    data_files = list(paths)
    # Records of other categories contain their function docs.
    if any(category.startswith(_CATEGORIES_WITH_DOC_FILES) for category in categories):
        for folder in doc_folders:
            data_files += sorted(folder.glob("*.json"))
    return data_files


def _report_categories_without_dataset(plan: RunPlan) -> None:
    """Add an issue if some categories of the run have no dataset. The issue says what is missing
    without it.
    """
    categories: FilesByCategory = plan.importer_data
    missing = [name for name, files in categories.items() if not files.dataset_files]
    if not missing:
        return
    of_categories = ""
    if len(missing) < len(categories):
        of_categories = f" for {list_some(missing)}"
    what = (
        f"no BFCL {plan.run.generation} dataset found{of_categories}. Items without a failing score"
        " entry have no question and no golden answer. Pass --data DIR to show them and to"
        " recompute verdicts"
    )
    plan.issues.append(ImportIssue(plan.run.path, what=what))


def _list_question_categories(category: str) -> list[str]:
    if category == "format_sensitivity":
        return _FORMAT_SENSITIVITY_CATEGORIES
    return [filenames.find_question_category(category)]


def _list_answer_folders(files: Iterable[DatasetFiles]) -> list[str]:
    """Return the folders with the golden answers, each once."""
    folders: dict[str, None] = {}
    for each in files:
        if each.answers is not None:
            folders[str(each.answers.parent)] = None
    return list(folders)


class _DatasetSearch:
    """Searches the dataset of one run. `categories` are the categories of question files."""

    def __init__(self, plan: RunPlan, categories: list[str], named_folders: Sequence[Path]) -> None:
        self._categories = categories
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
                self._report_data_folders_without_dataset(data_folders)
            folders = self._find_question_folders([*opened_folders, *self._list_usual_folders()])

        different_folders = self._drop_duplicates(folders)
        if len(different_folders) < 2:
            return different_folders
        ranking = self._rank_folders(different_folders)
        self._report_ranking(ranking)
        return ranking.folders

    def _report_data_folders_without_dataset(self, data_folders: Sequence[Path]) -> None:
        what = (
            f"the data folders contain no BFCL {self._plan.run.generation} dataset for this run."
            " Searching near the run instead"
        )
        self._plan.issues.append(ImportIssue(str(data_folders[0]), what=what))

    def _list_usual_folders(self) -> list[Path]:
        """Return the folders where a dataset usually is: near the run, or in a Python package."""
        first_file = (self._plan.results or self._plan.scores)[0]
        model_folder = filenames.find_model_folder(first_file)
        folders: list[Path] = []
        for near_folder in [model_folder, *list(model_folder.parents)[:MAX_PARENT_FOLDERS]]:
            folders += [near_folder / name for name in DATASET_SUBFOLDERS]
        return folders + _find_installed_data_folders()

    def choose_files_of_all_categories(self, folders: Sequence[Path]) -> dict[str, DatasetFiles]:
        """Return the dataset files of each category that has any."""
        files_by_name: dict[str, DatasetFiles] = {}
        for name in self._categories:
            files = self._choose_files(folders, name)
            if files is not None:
                files_by_name[name] = files
        return files_by_name

    def _choose_files(self, folders: Sequence[Path], category: str) -> DatasetFiles | None:
        """Choose the dataset files of a category among the files in several folders. Return None if
        no folder has any.

        `folders` are sorted, the best one first. A question file with the official name is
        preferred, and a damaged one is used only if there is no other. If the user named several
        folders, the result also has the first files of each other named folder.
        """
        candidates = self._list_files(folders, category)
        candidates.sort(key=lambda files: not self._finder.is_exact_name(files.questions, category))
        usable = [files for files in candidates if is_question_file(files.questions)]
        damaged = [files for files in candidates if is_damaged_question_file(files.questions)]
        if not usable:
            return damaged[0] if damaged else None

        # The user should know that the best candidate could not be used.
        if damaged and candidates.index(damaged[0]) < candidates.index(usable[0]):
            self._report_damaged_questions(damaged[0], usable[0])
        return self._add_files_of_other_named_folders(usable)

    def _report_damaged_questions(self, damaged: DatasetFiles, used: DatasetFiles) -> None:
        what = f"this question file is empty or unreadable. Using {used.questions}"
        issue = ImportIssue(str(damaged.questions), what=what, severity="error")
        self._plan.issues.append(issue)

    def _list_files(self, folders: Sequence[Path], category: str) -> list[DatasetFiles]:
        """Return the dataset files of a category in each folder that has any."""
        candidates = [self._finder.find_files(folder, category) for folder in folders]
        return [files for files in candidates if files is not None]

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

    def report_unusual_names(self, files_by_name: Mapping[str, DatasetFiles]) -> None:
        """Report dataset files that may not be the expected ones: question files whose name is only
        similar to the official one, and golden answers from another folder than the questions.

        `files_by_name` maps categories to their dataset files.
        """
        similar_files = [
            files.questions
            for name, files in files_by_name.items()
            if not self._finder.is_exact_name(files.questions, name)
        ]
        if similar_files:
            names = list_some([path.name for path in similar_files])
            what = f"no question file has the exact name. Using {names}"
            self._add_notice(similar_files[0], what)

        with_answers_elsewhere = [
            files for files in files_by_name.values() if files.has_answers_elsewhere
        ]
        if with_answers_elsewhere:
            folders = list_some(_list_answer_folders(with_answers_elsewhere))
            what = f"no golden answers beside these questions. Using those in {folders}"
            self._add_notice(with_answers_elsewhere[0].questions, what)

    def _add_notice(self, path: Path, what: str) -> None:
        self._plan.issues.append(ImportIssue(str(path), what=what, severity="notice"))

    def _find_question_folders(self, folders: Sequence[Path]) -> list[Path]:
        """Return the folders with readable questions or, without one, those with damaged ones."""
        usable: dict[Path, None] = {}
        damaged: dict[Path, None] = {}
        for folder in folders:
            candidates = [self._finder.find_files(folder, name) for name in self._categories]
            paths = [files.questions for files in candidates if files is not None]
            if any(is_question_file(path) for path in paths):
                usable[folder] = None
            elif any(is_damaged_question_file(path) for path in paths):
                damaged[folder] = None
        return list(usable or damaged)

    def _drop_duplicates(self, folders: list[Path]) -> list[Path]:
        """Keep the first of several folders with equal dataset files."""
        if len(folders) < 2:
            return folders
        first_by_content: dict[tuple[tuple[bytes, ...], ...], Path] = {}
        for folder in folders:
            first_by_content.setdefault(self._hash_dataset(folder), folder)
        return list(first_by_content.values())

    def _hash_dataset(self, folder: Path) -> tuple[tuple[bytes, ...], ...]:
        """Return the hashes of the files of each category."""
        hashes = []
        for name in self._categories:
            files = self._finder.find_files(folder, name)
            paths = files.record_paths if files is not None else []
            hashes.append(tuple(_hash_file(path, file_stamp(path)) for path in paths))
        return tuple(hashes)

    def _rank_folders(self, folders: list[Path]) -> _Ranking:
        """Sort the folders with a possible dataset of the run, the most probable one first.

        Score entries quote questions, so the dataset with the same questions is certain.
        """
        matches = _count_matching_entries(folders, self._plan, self._finder)
        by_matches = sorted(folders, key=lambda folder: -matches[folder].n_equal)
        most_matches = matches[by_matches[0]].n_equal
        best = [folder for folder in by_matches if matches[folder].n_equal == most_matches]
        if len(best) == 1:
            return _Ranking(by_matches, reason=_describe_matches(by_matches, matches))

        others = by_matches[len(best) :]
        fits = _count_fitting_results(best, self._plan, self._finder)
        ranked_best = self._sort_by_fit(best, fits)
        reason = _describe_fits(ranked_best, fits)
        return _Ranking(ranked_best + others, reason=reason, is_certain=False)

    def _sort_by_fit(
        self, folders: Sequence[Path], fits: Mapping[Path, FittingResults]
    ) -> list[Path]:
        """Sort folders whose datasets match the score entries equally well, the best one first.

        These decide in turn: how many replies fit the questions, which folder the user named
        earlier, and which dataset is newer.
        """

        def make_sort_key(folder: Path) -> tuple[Any, ...]:
            date = _make_date_sort_key(folder, self._plan, self._finder)
            return fits[folder], self._rank_named_folder(folder), date

        # A better folder has a higher key.
        return sorted(folders, key=make_sort_key, reverse=True)

    def _report_ranking(self, ranking: _Ranking) -> None:
        """Add an issue that says which of several matching datasets is used, and why. It is a
        warning if the choice is uncertain, else a notice.
        """
        chosen, *others = ranking.folders
        start = f"{len(ranking.folders)} different datasets match. Using {chosen}"
        severity: Literal["warning", "notice"] = "notice"
        if self._has_several_named_folders(ranking.folders):
            listed = list_some([str(folder) for folder in others])
            what = f"{start}, and the records that only the others have: {listed}"
        else:
            what = f"{start}. {ranking.reason}. Use --data DIR to choose another"
            if not ranking.is_certain:
                severity = "warning"
        self._plan.issues.append(ImportIssue(self._plan.run.path, what=what, severity=severity))

    def _has_several_named_folders(self, folders: Sequence[Path]) -> bool:
        """Whether the datasets are in different folders that the user named, or some in none."""
        return len({self._find_named_folder(folder) for folder in folders}) > 1

    def _rank_named_folder(self, folder: Path) -> int:
        """Return a higher number for a folder that the user named earlier."""
        named_folder = self._find_named_folder(folder)
        return -self._named_folders.index(named_folder) if named_folder is not None else 0


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Dataset folders of a run, the best first, with the reason for their order."""

    folders: list[Path]
    reason: str
    is_certain: bool = True
    """Whether the first folder matches more score entries than all others."""


def _describe_matches(folders: Sequence[Path], matches: Mapping[Path, MatchingEntries]) -> str:
    """Say how many questions and golden answers in each dataset folder match the score files."""
    counts = [
        f"{folder} ({matches[folder].n_equal} of {matches[folder].n_compared})"
        for folder in folders
    ]
    return f"Questions and golden answers that match the score files: {'; '.join(counts)}"


def _describe_fits(folders: Sequence[Path], fits: Mapping[Path, FittingResults]) -> str:
    counts = [f"{folder} ({fits[folder].n_known})" for folder in folders]
    return (
        "The score files match these datasets equally well, so the newest one that fits the results"
        f" is used. Number of results whose id is in the dataset: {'; '.join(counts)}"
    )


def walk_folders(root: Path, max_depth: int = 4) -> Iterator[Path]:
    """Yield a folder and its subfolders, because `--data` may name `data/` or a whole checkout
    of the repository.
    """
    root = Path(os.path.abspath(root))  # noqa: PTH100
    yield root
    if max_depth == 0:
        return
    for name, is_folder in list_folder(root, follow_links=False):
        is_skipped = name in SKIPPED_FOLDERS or name in _FOLDERS_WITHOUT_QUESTIONS
        if is_folder and not is_skipped:
            yield from walk_folders(root / name, max_depth - 1)


@lru_cache(maxsize=1)
def _find_installed_data_folders() -> list[Path]:
    """Return the dataset folder of the Python package `bfcl_eval`, if it is installed."""
    try:
        spec = importlib.util.find_spec("bfcl_eval")
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    return [Path(folder) / "data" for folder in spec.submodule_search_locations or []]


@lru_cache(maxsize=1024)
def _hash_file(path: Path, stamp: FileStamp) -> bytes:  # noqa: ARG001
    """Return the hash of a dataset file.

    Placeholders of API keys are ignored, because they differ between copies. `stamp` is the size
    and date of the file: if the file changes, the cached hash has another stamp and is not used.
    """
    digest = hashlib.blake2b(digest_size=16)
    with open_file(path) as file:
        while lines := file.readlines(HASHED_BYTES):
            text = b"".join(lines)
            if not _has_api_key_hint(text):
                digest.update(text)
                continue
            for line in lines:
                digest.update(_mask_api_keys_in_line(line))
    return digest.digest()


def _mask_api_keys_in_line(line: bytes) -> bytes:
    if not _has_api_key_hint(line):
        return line
    return mask_api_keys(line.decode("utf-8", "replace")).encode()


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
    """Count for each dataset folder how well its questions fit the results of a run.

    There are two counts: the results whose id is in the dataset, and the results whose reply names
    a function of the question. The second count omits questions that are the same in all folders,
    because they do not show which dataset the run used.
    """
    n_known: Counter[Path] = Counter()
    n_with_function: Counter[Path] = Counter()
    for result in _iterate_results_in_folders(folders, plan, finder):
        n_known.update(result.items_by_folder.keys())
        if not _is_same_in_all_folders(result.items_by_folder, folders):
            n_with_function.update(result.list_folders_with_function())
    return {folder: FittingResults(n_known[folder], n_with_function[folder]) for folder in folders}


@dataclass(frozen=True, slots=True)
class _ResultInFolders:
    """A result with its item in each dataset folder that has one."""

    results: Results
    item_id: str
    items_by_folder: Mapping[Path, DatasetItem]

    def list_folders_with_function(self) -> list[Path]:
        """Return the folders in which the reply names a function of the question."""
        reply = _read_reply_text(self.results, self.item_id)
        return [
            folder
            for folder, item in self.items_by_folder.items()
            if has_function_name(reply, item)
        ]


def _iterate_results_in_folders(
    folders: list[Path], plan: RunPlan, finder: DatasetFinder
) -> Iterator[_ResultInFolders]:
    """Yield the results of a run, category by category, with their items."""
    files_by_category: FilesByCategory = plan.importer_data
    for category, files in files_by_category.items():
        results = load_results(files.results, category)
        datasets_by_folder = {
            folder: _load_datasets(folder, category, finder) for folder in folders
        }
        for item_id in results.records:
            dataset_id = filenames.to_dataset_id(item_id, category)
            items_by_folder = _find_item_in_each_folder(dataset_id, datasets_by_folder)
            yield _ResultInFolders(results, item_id, items_by_folder)


def _load_datasets(folder: Path, category: str, finder: DatasetFinder) -> list[Dataset]:
    """Load the datasets of a category in a folder. Only format sensitivity has more than one."""
    datasets = []
    for name in _list_question_categories(category):
        files = finder.find_files(folder, name)
        if files is not None:
            datasets.append(load_dataset(files, name))
    return datasets


def _find_item_in_each_folder(
    dataset_id: str, datasets_by_folder: Mapping[Path, Sequence[Dataset]]
) -> dict[Path, DatasetItem]:
    """Return the item with an id in each folder that has it."""
    items_by_folder: dict[Path, DatasetItem] = {}
    for folder, datasets in datasets_by_folder.items():
        for dataset in datasets:
            item = dataset.items.get(dataset_id)
            if item is not None:
                items_by_folder[folder] = item
                break
    return items_by_folder


def _is_same_in_all_folders(
    items_by_folder: Mapping[Path, DatasetItem], folders: Sequence[Path]
) -> bool:
    """Whether all folders, or none, have the item. Datasets share the object of equal items."""
    if not items_by_folder:
        return True
    is_in_all_folders = len(items_by_folder) == len(folders)
    return is_in_all_folders and len(set(map(id, items_by_folder.values()))) == 1


def _read_reply_text(results: Results, item_id: str) -> str:
    record = results.read_record(item_id)
    return to_json_text(record.get("result")) if isinstance(record, dict) else ""


def _make_date_sort_key(folder: Path, plan: RunPlan, finder: DatasetFinder) -> tuple[str, int]:
    """Return the key by which the newest of several dataset folders is found.

    It is a date (that in the path, else that of the newest file), and the time of the newest file
    in nanoseconds.
    """
    newest = 0
    for name in _list_all_question_categories(plan.importer_data):
        files = finder.find_files(folder, name)
        if files is None:
            continue
        for path in files.record_paths:
            newest = max(newest, file_stamp(path).modified_ns)

    day = filenames.find_date_in_path(folder)
    if not day:
        day = date.fromtimestamp(newest / NANOSECONDS).isoformat()
    return day, newest


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
    n_equal: Counter[Path] = Counter()
    n_compared = 0
    categories: FilesByCategory = plan.importer_data
    for category, category_files in categories.items():
        datasets = _load_dataset_of_each_folder(folders, category, finder)
        for path in category_files.scores:
            for entry in _read_entries_with_question(path):
                n_compared += 1
                n_equal.update(_find_datasets_with_item(datasets, entry, category))
    return {folder: MatchingEntries(n_equal[folder], n_compared) for folder in folders}


def _load_dataset_of_each_folder(
    folders: Sequence[Path], category: str, finder: DatasetFinder
) -> dict[Path, Dataset]:
    """Return the dataset of a category from each folder that has it."""
    name = filenames.find_question_category(category)
    datasets: dict[Path, Dataset] = {}
    for folder in folders:
        files = finder.find_files(folder, name)
        if files is not None:
            datasets[folder] = load_dataset(files, category)
    return datasets


def _read_entries_with_question(path: Path) -> Iterator[dict[str, Any]]:
    """Yield those of the first entries of a score file that quote the question."""
    records = (record for record in read_records(path) if isinstance(record, JsonRecord))
    for record in islice(records, MAX_COMPARED_ENTRIES):
        entry = record.value
        prompt = entry.get("prompt") if isinstance(entry, dict) else None
        if isinstance(prompt, dict) and "question" in prompt:
            yield entry


def _find_datasets_with_item(
    datasets: Mapping[Path, Dataset], entry: dict[str, Any], category: str
) -> Iterator[Path]:
    """Yield the folders whose dataset has the question and the golden answer that a score entry
    quotes.
    """
    # Datasets share the objects of equal items, so each object is compared only once. The key is
    # its identity in memory.
    is_quoted_by_identity: dict[int, bool] = {}
    for folder, dataset in datasets.items():
        for candidate in _find_candidates(dataset, entry["prompt"], category):
            identity = id(candidate)
            if identity not in is_quoted_by_identity:
                is_quoted_by_identity[identity] = _is_quoted_item(candidate, entry)
            if is_quoted_by_identity[identity]:
                yield folder
                break


def _find_candidates(
    dataset: Dataset, prompt: dict[str, Any], category: str
) -> Iterable[DatasetItem]:
    """Return the items that can be the one of a quoted question.

    Without an id, these are all items with the text of the question.
    """
    stated_id = prompt.get("id")
    if not isinstance(stated_id, str):
        return find_items_with_question(dataset, prompt["question"])
    item = dataset.items.get(filenames.to_dataset_id(stated_id, category))
    return [] if item is None else [item]


def _is_quoted_item(item: DatasetItem, entry: dict[str, Any]) -> bool:
    """Whether a score entry quotes an item's question and, if it quotes one, its golden answer."""
    if not is_same_question(item.turns, entry["prompt"]["question"]):
        return False
    if "possible_answer" not in entry:
        return True
    return is_same_golden_answer(item.ground_truth, entry["possible_answer"])
