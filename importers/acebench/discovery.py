"""Find ACEBench runs with their datasets, scores and dialogue histories.

A run is one folder with result files, so that results of different models, settings and repeats are
never mixed. Its model follows from folder names (`identity.py`), its language also from options and
datasets (`language.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fcreview.importers.acebench.counterparts import (
    find_counterpart_folders,
    find_dialogue_histories,
    list_run_names,
)
from fcreview.importers.acebench.filenames import (
    list_result_files,
    list_score_files,
    parse_file_name,
    sort_by_category,
)
from fcreview.importers.acebench.identity import (
    ModelFolder,
    find_folder_language,
    find_model_folder,
)
from fcreview.importers.acebench.language import DATASET_LANGUAGES, LanguageChoice, choose_language
from fcreview.importers.common.discovery import gather_files, report_missing_scores
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions

NO_RESULTS = (
    "this score file has no result files. It lists only failures, so no items were imported."
)
UNKNOWN_LANGUAGE = (
    "the run has no questions, because neither a folder name (result_en or result_zh) nor a dataset"
    " tells its language. Pass --language en or zh, or the folder data_en or data_zh with --data"
)


def find_runs(
    files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
) -> DiscoveredRuns:
    """Find the runs among the opened files: each folder with result files is one.

    Each run gets its dataset, scores and dialogue histories, which can be in other folders. Score
    files that belong to no run become import issues.
    """
    found = DiscoveredRuns()
    found.claimed.update(path for path in files if _is_acebench_file(path))
    opened = _sort_files(files)

    results_by_folder = _list_run_folders(opened)
    n_runs_by_model = Counter(find_model_folder(folder).model for folder in results_by_folder)

    score_folders_of_runs: set[Path] = set()
    for folder, results in results_by_folder.items():
        location = _RunLocation.find(folder, n_runs_by_model)
        choice = choose_language(folder, results, dataset_folders, search.get_language(folder))
        scores = _find_scores(location, choice.language, opened=opened, search=search)
        score_folders_of_runs.update(scores.folders)

        plan = _make_plan(location, results, choice=choice, scores=scores)
        found.plans.append(plan)
        # No other importer may claim the files of the run.
        found.claimed.update(plan.files)
        found.claimed.update(_list_files_of_dataset(plan.run.dataset))

    found.issues += _report_unused_scores(opened, score_folders_of_runs)
    return found


def _is_acebench_file(path: Path) -> bool:
    is_golden = path.parent.name == "possible_answer" and path.name.startswith("data_")
    return bool(parse_file_name(path).kind) or is_golden or path.name == "result.xlsx"


def _list_files_of_dataset(dataset: str | None) -> list[Path]:
    if not dataset:
        return []
    files = gather_files([Path(dataset)], max_depth=2).files
    return [path for path in files if path.name.startswith("data_")]


@dataclass(frozen=True, slots=True)
class _OpenedFiles:
    """The ACEBench files among those that the user opened, by folder."""

    results: dict[Path, list[Path]]
    scores: dict[Path, list[Path]]
    """Score and process files."""


def _sort_files(files: Sequence[Path]) -> _OpenedFiles:
    """Sort opened files into results and scores, both by folder. Other files are left out."""
    opened = _OpenedFiles(defaultdict(list), defaultdict(list))
    for path in files:
        kind = parse_file_name(path).kind
        if kind == "result":
            opened.results[path.parent].append(path)
        elif kind:
            opened.scores[path.parent].append(path)
    return opened


def _list_run_folders(opened: _OpenedFiles) -> dict[Path, list[Path]]:
    """Return folder -> result files of each run.

    If the user opened only the score files of a run, its result files are searched near them.
    """
    results_by_folder = {
        folder: sort_by_category(paths) for folder, paths in opened.results.items()
    }
    for score_folder in opened.scores:
        candidates = _list_result_folders(score_folder)
        if not results_by_folder.keys().isdisjoint(candidates):
            # The results of these scores are already known.
            continue

        for folder in candidates:
            results = list_result_files(folder)
            if results:
                results_by_folder[folder] = results
                break
    return results_by_folder


def _list_result_folders(score_folder: Path) -> list[Path]:
    model_folder = find_model_folder(score_folder)
    languages = _list_languages(find_folder_language(score_folder).language)
    return list(find_counterpart_folders(score_folder, model_folder, "result", languages))


def _list_languages(language: str) -> Sequence[str]:
    return [language] if language else DATASET_LANGUAGES


@dataclass(frozen=True, slots=True)
class _RunLocation:
    """The folder with the result files of a run, and what its name tells."""

    folder: Path
    model_folder: ModelFolder
    is_only_run_of_model: bool

    @classmethod
    def find(cls, folder: Path, n_runs_by_model: Counter[str]) -> _RunLocation:
        model_folder = find_model_folder(folder)
        return cls(folder, model_folder, n_runs_by_model[model_folder.model] == 1)


def _make_plan(
    location: _RunLocation, results: list[Path], *, choice: LanguageChoice, scores: _ScoreChoice
) -> RunPlan:
    """Make the import plan of a run: what the run is, which files belong to it, and the problems
    that were found.

    Args:
        location: The folder of the run with its model and settings.
        results: The result files, one for each category.
        choice: The language of the run, and its dataset.
        scores: The score files, and the folders with other score files.
    """
    folder = location.folder
    run = Run(
        benchmark="acebench",
        generation="v1",
        language=choice.language,
        model=location.model_folder.model,
        path=str(folder),
        dataset=str(choice.dataset) if choice.dataset else None,
        name_parts=list(location.model_folder.settings),
    )
    reason = f"{len(results)} files data_<category>_result.json in {folder.name}"
    plan = RunPlan(run, results, reason=reason)

    categories = [parse_file_name(path).category for path in results]
    plan.data = _list_dataset_files(choice.dataset, categories)
    plan.scores = scores.files
    plan.results_folder = folder
    plan.named_score_folder = scores.named_folder
    plan.lost_score_folder = scores.lost_folder
    plan.takes_named_language = choice.takes_named_language
    plan.logs = find_dialogue_histories(
        folder,
        location.model_folder,
        language=choice.language,
        dataset=choice.dataset,
        categories=categories,
    )

    plan.issues += _report_language_and_dataset(run, choice)
    plan.issues += _report_ignored_scores(run, scores)
    _report_unscored_categories(plan, categories)
    return plan


def _list_dataset_files(dataset: Path | None, categories: Sequence[str]) -> list[Path]:
    """Return the question and answer files of the categories that exist."""
    if dataset is None:
        return []
    files = []
    for category in categories:
        for folder in (dataset, dataset / "possible_answer"):
            path = folder / f"data_{category}.json"
            if path.is_file():
                files.append(path)
    return files


def _report_language_and_dataset(run: Run, choice: LanguageChoice) -> Iterator[ImportIssue]:
    """Yield an issue if the language of a run is unknown or uncertain, or if the dataset of its
    language was not found.
    """
    if choice.issue is not None:
        yield choice.issue
    if not choice.language:
        yield ImportIssue(run.path, what=UNKNOWN_LANGUAGE)
    elif choice.dataset is None:
        what = f"the dataset data_{choice.language} was not found."
        what += " Pass --data DIR to recompute verdicts."
        yield ImportIssue(run.path, what=what)


@dataclass(frozen=True, slots=True)
class _ScoreChoice:
    """The score and process files of a run."""

    files: list[Path]
    ignored_folders: list[Path] = field(default_factory=list)
    """Other folders with score files of the run."""
    named_folder: Path | None = None
    """Folder of --score, in this command or an earlier one, that contains the files."""
    lost_folder: Path | None = None
    """Folder of --score in an earlier command that no longer contains score files of the run."""

    @property
    def folders(self) -> set[Path]:
        return {*(file.parent for file in self.files), *self.ignored_folders}


def _find_scores(
    location: _RunLocation, language: str, *, opened: _OpenedFiles, search: SearchOptions
) -> _ScoreChoice:
    """Find the score files of a run, and note the folders with other score files.

    Three places are searched, and the first one with scores of the run counts: the folders that
    the user named with --score, now or in an earlier command; the folders near the results; the
    files that the user opened.
    """
    remembered_folders = search.remembered_scores.get(location.folder, ())
    named = _find_first_named_scores(location, [*search.scores, *remembered_folders])
    near_folders = _list_folders_with_scores(location, language)
    if named is not None:
        ignored = [folder for folder in near_folders if folder not in named.folders]
        return replace(named, ignored_folders=ignored)

    # The user named a folder in an earlier command, but its scores are gone.
    lost_folder = remembered_folders[0] if remembered_folders else None
    if near_folders:
        files = list_score_files(near_folders[0])
        return _ScoreChoice(files, ignored_folders=near_folders[1:], lost_folder=lost_folder)
    files = _find_opened_scores(location, language, opened)
    return _ScoreChoice(files, lost_folder=lost_folder)


def _find_first_named_scores(
    location: _RunLocation, named_folders: Sequence[Path]
) -> _ScoreChoice | None:
    """Return the scores in the first named folder that has scores of the run, or None."""
    for named_folder in named_folders:
        files = _find_named_scores(location, named_folder)
        if files:
            return _ScoreChoice(files, named_folder=named_folder)
    return None


def _list_folders_with_scores(location: _RunLocation, language: str) -> list[Path]:
    """Return the folders near the results of a run that contain score files."""
    folders = _list_score_folders(location, language)
    return [folder for folder in folders if list_score_files(folder)]


def _report_ignored_scores(run: Run, scores: _ScoreChoice) -> Iterator[ImportIssue]:
    if scores.ignored_folders:
        ignored = ", ".join(map(str, scores.ignored_folders))
        what = "several folders contain score files of this run."
        what += f" Using {scores.files[0].parent}; ignoring {ignored}"
        yield ImportIssue(run.path, what=what)


def _report_unscored_categories(plan: RunPlan, categories: Sequence[str]) -> None:
    """Report the categories of a run for which there is no score file."""
    scored = set()
    for path in plan.scores:
        name = parse_file_name(path)
        if name.kind == "score":
            scored.add(name.category)
    missing = [category for category in categories if category not in scored]
    report_missing_scores(plan, categories, missing)


def _list_score_folders(location: _RunLocation, language: str) -> list[Path]:
    """Return the folders near the results that can contain the scores of a run."""
    languages = _list_languages(language)
    folder = location.folder
    model_folder = location.model_folder
    folders = list(find_counterpart_folders(folder, model_folder, "score", languages))
    if folders or not model_folder.settings or not location.is_only_run_of_model:
        return folders

    # Scores in `score_en/MODEL` belong to results in `result_en/MODEL/SETTING` if there is no other
    # setting.
    model_only = ModelFolder(model_folder.model, root=model_folder.root)
    return list(find_counterpart_folders(folder, model_only, "score", languages))


def _find_opened_scores(location: _RunLocation, language: str, opened: _OpenedFiles) -> list[Path]:
    """Return the opened score files of the same model, settings and language, if only one folder
    has such files.
    """
    matching_folders = []
    for folder in opened.scores:
        if _is_score_folder_of(location, folder, language):
            matching_folders.append(folder)
    if len(matching_folders) != 1:
        return []
    return sorted(opened.scores[matching_folders[0]])


def _is_score_folder_of(location: _RunLocation, score_folder: Path, language: str) -> bool:
    names = set(list_run_names(location.model_folder))
    if names.isdisjoint(list_run_names(find_model_folder(score_folder))):
        return False
    return find_folder_language(score_folder).language in ("", language)


def _find_named_scores(location: _RunLocation, named_folder: Path) -> list[Path]:
    """Return the score files of a run in a folder that the user named with --score.

    The folder can hold the scores of several runs. Then those in the subfolder with the name of
    the run count. If only one folder contains scores, they count whatever its name is.
    """
    files_by_folder: dict[Path, list[Path]] = defaultdict(list)
    for path in gather_files([named_folder]).files:
        if parse_file_name(path).kind in ("score", "process"):
            files_by_folder[path.parent].append(path)

    for run_name in list_run_names(location.model_folder):
        for folder, files in files_by_folder.items():
            if folder.as_posix().endswith(f"/{run_name}"):
                return sorted(files)
    if len(files_by_folder) == 1:
        (files,) = files_by_folder.values()
        return sorted(files)
    return []


def _report_unused_scores(
    opened: _OpenedFiles, score_folders_of_runs: set[Path]
) -> list[ImportIssue]:
    """Report the opened score files that belong to no run."""
    issues = []
    for folder, paths in opened.scores.items():
        if folder not in score_folders_of_runs:
            issues += [ImportIssue(str(path), what=NO_RESULTS) for path in paths]
    return issues
