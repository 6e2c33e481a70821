"""Pair the result files of each model with its score files.

Results can have several evaluations, such as `score/MODEL` and `score_v1/MODEL`. Each evaluation is
a run. Scores in a folder of another suffix, or of another model name (`--score`), belong to results
only if their entries quote the replies in the results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Literal

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.dataset import Dataset
from fcreview.importers.bfcl.filenames import ClassifiedFile, FileKind
from fcreview.importers.bfcl.joining import load_results
from fcreview.importers.bfcl.model_files import (
    SUFFIXES,
    Files,
    FilesByRun,
    RunKey,
    find_files_of_kind,
    list_subfolders,
    merge_model_subfolders,
)
from fcreview.importers.bfcl.model_folder import find_run_folder
from fcreview.importers.bfcl.quoted_replies import QuotedReplies
from fcreview.importers.bfcl.scores import load_score_file
from fcreview.importers.common.discovery import gather_files
from fcreview.importers.common.jsonl import is_large_file
from fcreview.model.item import ImportIssue

ENOUGH_COMPARED_REPLIES = 40
MAX_SCORE_FILES = 20_000
"""Maximum number of files in a folder of --score."""


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The files that belong to a model's result files or score files: the score files for its
    results, or the results for its scores.
    """

    folder: Path | None = None
    """Model folder of the files; None if there are none."""
    files: Files = field(default_factory=list)
    other_folders: list[Path] = field(default_factory=list)
    """Model folders that fit equally well."""
    has_all_files: bool = False
    """Whether the user opened all result (or score) files of the model folder. If not, `files` has
    only files of the opened categories.
    """

    def make_choice_issue(
        self, folder: Path, kind: FileKind, ignored_folders: Sequence[Path]
    ) -> ImportIssue:
        """Report that files of a model are in several folders, and which of them is used."""
        listed = ", ".join(map(str, ignored_folders))
        what = (
            f"several folders contain {kind} files of this model. Using {self.folder}; ignoring"
            f" {listed}"
        )
        return ImportIssue(str(folder), what=what)


@dataclass(frozen=True, slots=True)
class NamedFolder:
    """A folder of --score."""

    path: Path
    is_for_run: bool = False
    """Whether the user named the folder for this run earlier.

    If not, its scores may belong to another run.
    """


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Score files of a run's results."""

    folder: Path
    """Model folder of the score files."""
    files: Files
    named_folder: Path | None = None
    """Folder of --score that contains the files."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of a run."""

    path: Path
    """Path that identifies the run: the results' folder or, for a further evaluation, that of
    its scores.
    """
    model_folder: Path
    version: str
    results: Files
    scores: Files
    issues: list[ImportIssue] = field(default_factory=list)
    evaluation: str = ""
    """What distinguishes the score folder from those of other evaluations of the same results."""
    named_score_folder: Path | None = None
    results_folder: Path | None = None


class Pairing:
    """Pairs the result and score files in the opened paths."""

    def __init__(self, results: FilesByRun, scores: FilesByRun) -> None:
        self._results = results
        self._scores = scores
        self._run_of_result = {file.path: key for key, files in results.items() for file in files}
        self._used: set[Path] = set()
        self._counterparts: dict[RunKey, Counterpart] = {}
        self._evaluations: dict[RunKey, list[Evaluation]] = {}
        self._score_models: dict[Path, FilesByRun] = {}
        """Folder of --score -> its score files."""

    def pair_files(
        self, named_folders: Mapping[RunKey, Sequence[NamedFolder]]
    ) -> Iterator[RunFiles]:
        """Yield a run for each evaluation of results, then for scores without results.

        `named_folders` are the folders of --score in which the scores of each run are searched as
        well.
        """
        # The order matters: scores that an earlier step gave to a run are not used again.
        for key in self._results:
            self._find_own_evaluation(key)
        for key in self._results:
            self._find_evaluations_beside_own(key)
        for key in self._scores:
            self._assign_scores_to_results(key)
        for key, folders in named_folders.items():
            self._find_named_evaluations(key, folders)
        for key in self._results:
            yield from self._list_evaluated_runs(key)
        for key in self._scores:
            yield from self._list_runs_of_scores(key)

    def _add_evaluation(self, key: RunKey, evaluation: Evaluation) -> None:
        self._evaluations[key].append(evaluation)
        self._used.update(file.path for file in evaluation.files)

    def _find_own_evaluation(self, key: RunKey) -> None:
        """Find the scores of opened results by the names of folders."""
        folder, version = key
        counterpart = _find_counterpart_files(folder, version, self._results[key])
        self._counterparts[key] = counterpart
        self._evaluations[key] = []
        if counterpart.folder is not None:
            self._add_evaluation(key, Evaluation(counterpart.folder, counterpart.files))

    def _find_evaluations_beside_own(self, key: RunKey) -> None:
        """Find other evaluations, such as `score_v1/MODEL` beside `score/MODEL`, if the user
        opened all results.
        """
        folder, version = key
        if not self._evaluations[key] or not self._counterparts[key].has_all_files:
            return
        for candidate in _list_other_score_folders(folder, version):
            files = find_files_of_kind(candidate, version, "score")
            is_new = bool(files) and self._used.isdisjoint(file.path for file in files)
            if is_new and has_same_replies(self._results[key], files):
                self._add_evaluation(key, Evaluation(candidate, files))

    def _assign_scores_to_results(self, key: RunKey) -> None:
        """Add opened scores that are left over to the opened results of their model, if they
        quote these results.
        """
        folder, version = key
        files = self._scores[key]
        if self._is_used(files):
            return
        owner = self._find_opened_results(_find_counterpart_files(folder, version, files))
        owner = owner or self._find_results_of_same_path(key)
        if owner is not None and has_same_replies(self._results[owner], files):
            self._add_evaluation(owner, Evaluation(folder, files))

    def _find_named_evaluations(self, key: RunKey, named_folders: Sequence[NamedFolder]) -> None:
        """Add the scores of a run in the folders that the user named with --score, unless they are
        already used.
        """
        for named in named_folders:
            if named.path not in self._score_models:
                self._score_models[named.path] = list_score_models(named.path)
            is_only_run = named.is_for_run or len(self._results) == 1
            chosen = _choose_named_scores(
                key, self._results[key], self._score_models[named.path], is_only_run=is_only_run
            )
            if chosen is not None and self._used.isdisjoint(file.path for file in chosen.files):
                self._add_evaluation(key, replace(chosen, named_folder=named.path))

    def _list_evaluated_runs(self, key: RunKey) -> Iterator[RunFiles]:
        """Yield the runs of a model's results: one for each evaluation, or one without scores.

        An evaluation is a set of score files. Results can be evaluated several times, for example
        by two versions of the program. The first evaluation gets the issues and the results' own
        path.
        """
        folder, version = key
        results = self._results[key]
        run = RunFiles(
            path=folder if self._counterparts[key].has_all_files else _find_common_path(results),
            model_folder=folder,
            version=version,
            results=results,
            scores=[],
            results_folder=folder,
        )
        evaluations = self._evaluations[key]
        if not evaluations:
            yield run
            return

        names = _name_evaluations(evaluations)
        for number, evaluation in enumerate(evaluations):
            evaluated_run = replace(
                run,
                scores=evaluation.files,
                evaluation=names[number],
                named_score_folder=evaluation.named_folder,
            )
            if number == 0:
                yield replace(evaluated_run, issues=self._report_ignored_scores(key))
            else:
                yield replace(evaluated_run, path=evaluation.folder, issues=[])

    def _report_ignored_scores(self, key: RunKey) -> list[ImportIssue]:
        """Return an issue if other folders, which are not used, may have the scores, too."""
        folder, _ = key
        counterpart = self._counterparts[key]
        used_folders = {evaluation.folder for evaluation in self._evaluations[key]}
        ignored = [other for other in counterpart.other_folders if other not in used_folders]
        if not ignored:
            return []
        return [counterpart.make_choice_issue(folder, "score", ignored)]

    def _list_runs_of_scores(self, key: RunKey) -> Iterator[RunFiles]:
        """Yield a run for scores that belong to none of the opened results.

        The results are searched where the program writes them. Yields nothing if all score files,
        or some of those beside opened results, already belong to a run.
        """
        folder, version = key
        score_files = self._scores[key]
        if self._is_used(score_files):
            return
        found = _find_counterpart_files(folder, version, score_files)
        if self._find_opened_results(found) is None:
            yield self._make_run_of_scores(key, found)
            return

        # The opened results have other scores, so these do not belong to them. If some of the files
        # are used, they are those other scores.
        are_all_unused = self._used.isdisjoint(file.path for file in score_files)
        if are_all_unused:
            yield _make_run_without_results(key, score_files)

    def _make_run_of_scores(self, key: RunKey, found: Counterpart) -> RunFiles:
        """Make a run of scores with the results that were found for them.

        If none were found, the run has only the failing items, which the score entries quote.
        """
        folder, version = key
        score_files = self._scores[key]
        model_folder = folder
        if found.files:
            model_folder = _find_model_folder_of_results(found.files[0].path, key, score_files)
        # The path identifies the run: the whole folder, or the files that were opened.
        if found.has_all_files:
            path = model_folder
        else:
            path = _find_common_path(found.files or score_files)

        issues = []
        if found.other_folders:
            issues.append(found.make_choice_issue(folder, "result", found.other_folders))
        return RunFiles(
            path,
            model_folder=model_folder,
            version=version,
            results=found.files,
            scores=score_files,
            issues=issues,
        )

    def _find_opened_results(self, found: Counterpart) -> RunKey | None:
        """Return the opened results that contain the result files of scores."""
        return self._run_of_result.get(found.files[0].path) if found.files else None

    def _find_results_of_same_path(self, scores_key: RunKey) -> RunKey | None:
        """Return the key of the results that are at the same place as the scores, or None.

        That is, they have the same path in an output folder beside that of the scores. Results
        without an evaluation are left out.
        """
        scores_folder, scores_version = scores_key
        for results_key, evaluations in self._evaluations.items():
            results_folder, results_version = results_key
            if not evaluations or results_version != scores_version:
                continue
            if _are_in_same_place(results_folder, scores_folder):
                return results_key
        return None

    def _is_used(self, files: Files) -> bool:
        return {file.path for file in files} <= self._used


def _make_run_without_results(key: RunKey, scores: Files) -> RunFiles:
    """Return a run that has only scores. The results in the same folder belong to other scores, so
    they are not those that were scored here.
    """
    folder, version = key
    what = (
        "these scores have no results: the result files in this folder belong to other score files"
    )
    return RunFiles(
        folder,
        model_folder=folder,
        version=version,
        results=[],
        scores=scores,
        issues=[ImportIssue(str(folder), what=what)],
    )


def _find_model_folder_of_results(result: Path, scores_key: RunKey, scores: Files) -> Path:
    """Return the model folder of results, at the same level as that of their scores."""
    folder, version = scores_key
    is_outermost = folder == find_run_folder(scores[0].path, version)
    if is_outermost:
        return find_run_folder(result, version)
    return filenames.find_model_folder(result)


def has_same_replies(results: Files, scores: Files) -> bool:
    """Whether the score entries quote the same replies as the result files contain. True, too, if
    no entry can be compared.
    """
    return _compare_replies(results, scores).are_of_results


@dataclass(frozen=True, slots=True)
class _ComparedReplies:
    n_equal: int
    n_compared: int

    @property
    def are_of_results(self) -> bool:
        """Whether at least half of the compared replies are equal. True, too, if none could be
        compared.
        """
        return self.n_equal * 2 >= self.n_compared


def _compare_replies(results: Files, scores: Files) -> _ComparedReplies:
    """Count how many of the replies that score entries quote are equal to the replies in the result
    files.

    The comparison ends when enough replies are compared. Large files are left out.
    """
    quoted = QuotedReplies()
    for score_file in scores:
        category = score_file.category
        result_paths = [file.path for file in results if file.category == category]
        has_large_file = any(is_large_file(path) for path in (*result_paths, score_file.path))
        if not result_paths or has_large_file:
            continue
        loaded_results = load_results(result_paths, category)
        loaded_scores = load_score_file(score_file.path, category, loaded_results, Dataset())
        quoted.add_category(category, loaded_results, loaded_scores)
        if quoted.n_compared >= ENOUGH_COMPARED_REPLIES:
            break
    n_equal = quoted.n_compared - quoted.n_others
    return _ComparedReplies(n_equal, quoted.n_compared)


def _choose_named_scores(
    key: RunKey, results: Files, score_models: FilesByRun, *, is_only_run: bool
) -> Evaluation | None:
    """Choose the scores of a run in a folder that the user named with --score.

    The folder can have the scores of several models. The one with the name of the run's model is
    used, else the one whose entries quote most of the run's replies. Scores that quote other
    replies, or cannot be compared, are used only if there is no other choice.

    Args:
        key: Folder and version of the run's results.
        results: The result files.
        score_models: The score files in the named folder, by model.
        is_only_run: Whether the folder can only be meant for this run.
    """
    results_folder, version = key
    candidates = _select_scores_of_categories(score_models, version, results)
    for folder, files in candidates.items():
        if folder.name == results_folder.name:
            return Evaluation(folder, files)
    if not candidates:
        return None

    compared = {folder: _compare_replies(results, files) for folder, files in candidates.items()}
    best = max(candidates, key=lambda folder: compared[folder].n_equal)
    is_proven = compared[best].n_equal > 0 and compared[best].are_of_results
    is_only_choice = is_only_run and len(candidates) == 1
    if is_proven or is_only_choice:
        return Evaluation(best, candidates[best])
    return None


def _select_scores_of_categories(
    score_models: FilesByRun, version: str, results: Files
) -> dict[Path, Files]:
    """Return the score files of the results' version and categories by model folder."""
    categories = {file.category for file in results}
    selected: dict[Path, Files] = {}
    for (folder, file_version), files in score_models.items():
        files_of_categories = [file for file in files if file.category in categories]
        if file_version == version and files_of_categories:
            selected[folder] = files_of_categories
    return selected


def list_score_models(folder: Path) -> FilesByRun:
    """Return the score files at and below a folder by model folder."""
    scores: FilesByRun = {}
    for path in gather_files([folder], max_files=MAX_SCORE_FILES).files:
        file = filenames.classify_file(path) if path.suffix in SUFFIXES else None
        if file is not None and file.kind == "score":
            scores.setdefault((filenames.find_model_folder(path), file.version), []).append(file)
    return merge_model_subfolders(scores)


def _list_other_score_folders(results_folder: Path, version: str) -> Iterator[Path]:
    """Yield the folders of the same model in other score folders of the program, such as
    `score_v1/MODEL` for `result/MODEL`.

    A score folder with results of its own, such as `score_v1` beside `result_v1`, belongs to these
    results.
    """
    output_folder = _find_output_folder(results_folder)
    if output_folder is None:
        return
    path_inside = results_folder.relative_to(output_folder)
    siblings = [
        sibling
        for sibling in list_subfolders(output_folder.parent)
        if sibling != output_folder and filenames.is_result_or_score_folder(sibling)
    ]
    for sibling in siblings:
        is_score_folder = "score" in sibling.name.lower()
        if not is_score_folder or not filenames.is_official_output_folder(sibling):
            continue
        if not _has_results_beside(sibling, siblings, path_inside, version):
            yield sibling / path_inside


def _has_results_beside(
    score_folder: Path, siblings: Sequence[Path], path_inside: Path, version: str
) -> bool:
    """Whether one of the folders beside a score folder has the results of these scores.

    `path_inside` leads from such a folder to the results of the model.
    """
    for sibling in siblings:
        is_result_folder = "result" in sibling.name.lower()
        if not is_result_folder or not filenames.can_belong_to_same_run(sibling, score_folder):
            continue
        if find_files_of_kind(sibling / path_inside, version, "result"):
            return True
    return False


def _find_output_folder(folder: Path) -> Path | None:
    """Return the output folder above a model folder, or None.

    This is the folder directly above if its name contains `result` or `score`, such as
    `my_results`. Else it is the nearest folder above with a name that the official program uses.
    """
    if filenames.is_result_or_score_folder(folder.parent):
        return folder.parent
    for parent in list(folder.parents)[: filenames.MAX_MODEL_DEPTH]:
        if filenames.is_official_output_folder(parent):
            return parent
    return None


def _are_in_same_place(folder: Path, other: Path) -> bool:
    """Whether two model folders have the same path in output folders of the same parent folder."""
    output_folder = _find_output_folder(folder)
    other_output_folder = _find_output_folder(other)
    if output_folder is None or other_output_folder is None:
        return False
    if output_folder.parent != other_output_folder.parent:
        return False
    return folder.relative_to(output_folder) == other.relative_to(other_output_folder)


def _name_evaluations(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return what distinguishes the score folders of several evaluations: `score` and `score_v1`.

    Empty for one.
    """
    if len(evaluations) < 2:
        return [""] * len(evaluations)
    paths = [list(evaluation.folder.parts) for evaluation in evaluations]
    _drop_common_parts(paths, index=0)
    _drop_common_parts(paths, index=-1)
    return ["/".join(parts) for parts in paths]


def _drop_common_parts(paths: Sequence[list[str]], *, index: Literal[0, -1]) -> None:
    """Remove the first or last parts that all paths have. Each path keeps one part."""
    while all(len(parts) > 1 for parts in paths) and len({parts[index] for parts in paths}) == 1:
        for parts in paths:
            del parts[index]


def _find_common_path(files: Sequence[ClassifiedFile]) -> Path:
    if len(files) == 1:
        return files[0].path
    return Path(os.path.commonpath([file.path for file in files]))


class _FolderRank(IntEnum):
    """How likely a folder contains the score files of result files, or the reverse. The highest
    rank is the most likely.
    """

    SIBLING = 1
    """The model's folder in a folder beside the output folder, whose name does not say what it
    contains.
    """
    FOLDER_OF_RUN = 2
    """The folder around the output folder."""
    OF_KIND = 3
    """A folder whose name says that it contains files of the kind."""
    COUNTERPART = 4
    """A folder whose name differs only in the kind, such as `score-BFCL` for `result-BFCL`, or an
    output folder inside the model's folder.
    """
    SAME_FOLDER = 5


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Folder that may contain the score files of result files, or the reverse."""

    rank: _FolderRank
    folder: Path


@dataclass(frozen=True, slots=True)
class _Match:
    """Folder with files of the searched kind, for at least one of the model's categories."""

    rank: _FolderRank
    n_shared_categories: int
    folder: Path
    files: Files


def _find_counterpart_files(
    folder: Path, version: str, files: Sequence[ClassifiedFile]
) -> Counterpart:
    """Find the scores of results, or the results of scores, by the names of their folders.

    `files` are the opened files of a model, which are all results or all scores. `folder` is the
    model's folder with these files.
    """
    own_kind = files[0].kind
    other_kind: FileKind = "score" if own_kind == "result" else "result"
    opened = {file.path for file in files}
    all_of_folder = {file.path for file in find_files_of_kind(folder, version, own_kind)}
    are_all_opened = opened >= all_of_folder

    categories = {file.category for file in files}
    matches = _find_matches(folder, version, other_kind, categories)
    if not matches:
        return Counterpart(has_all_files=are_all_opened)
    best, *others = _list_best_matches(matches)
    # If the user opened only some files, only their counterparts are needed.
    needed = [file for file in best.files if are_all_opened or file.category in categories]
    return Counterpart(
        best.folder,
        files=needed,
        other_folders=[match.folder for match in others],
        has_all_files=are_all_opened,
    )


def _find_matches(folder: Path, version: str, kind: FileKind, categories: Set[str]) -> list[_Match]:
    """Return the folders near a model folder with files of the same categories."""
    matches: list[_Match] = []
    for candidate in _rank_candidate_folders(folder, kind):
        candidate_files = find_files_of_kind(candidate.folder, version, kind)
        n_shared = len(categories & {file.category for file in candidate_files})
        if n_shared == 0:
            continue
        match = _Match(
            candidate.rank,
            n_shared_categories=n_shared,
            folder=candidate.folder,
            files=candidate_files,
        )
        matches.append(match)
    return matches


def _list_best_matches(matches: Sequence[_Match]) -> list[_Match]:
    """Return the matches with the highest rank and, among them, the most categories.

    A folder is listed once.
    """
    highest = max((match.rank, match.n_shared_categories) for match in matches)
    best = {
        match.folder: match
        for match in matches
        if (match.rank, match.n_shared_categories) == highest
    }
    return list(best.values())


def _rank_candidate_folders(folder: Path, kind: FileKind) -> Iterator[_Candidate]:
    """Yield the folders that may contain the files of one kind of a model, such as its scores.

    Each folder has a rank that says how well it fits.

    Args:
        folder: The folder with the model's files of the other kind, such as its results.
        kind: The kind that is searched.
    """
    yield _Candidate(_FolderRank.SAME_FOLDER, folder)
    if filenames.is_result_or_score_folder(folder):
        yield from _rank_sibling_output_folders(folder, kind)

    # For the results in MODEL, the scores in MODEL/score or MODEL/score/MODEL.
    for inner in list_subfolders(folder):
        if _is_output_folder_of_kind(inner, kind):
            yield _Candidate(_FolderRank.COUNTERPART, inner)
            yield _Candidate(_FolderRank.COUNTERPART, inner / folder.name)

    # For the scores in RUN/score/MODEL, the results in RUN itself.
    outer = folder.parent
    if filenames.is_result_or_score_folder(outer) and kind not in outer.name.lower():
        yield _Candidate(_FolderRank.FOLDER_OF_RUN, outer.parent)

    yield from _rank_same_paths_in_siblings(folder, kind)


def _rank_sibling_output_folders(folder: Path, kind: FileKind) -> Iterator[_Candidate]:
    """Yield the output folders of a kind beside an output folder without model folders."""
    for sibling in list_subfolders(folder.parent):
        if sibling == folder or not _is_output_folder_of_kind(sibling, kind):
            continue
        if not filenames.can_belong_to_same_run(folder, sibling):
            continue
        if _is_counterpart_name(folder.name, sibling.name, kind):
            yield _Candidate(_FolderRank.COUNTERPART, sibling)
        else:
            yield _Candidate(_FolderRank.OF_KIND, sibling)


def _rank_same_paths_in_siblings(folder: Path, kind: FileKind) -> Iterator[_Candidate]:
    """Yield the folders with the same path in other output folders.

    For results in `result/MODEL/run1`, this is `score/MODEL/run1`. The name of the other output
    folder decides the rank: best is the counterpart of this one, then a name with the kind, such as
    `old_scores`, then any other.
    """
    output_folder = _find_output_folder(folder) or folder.parent
    path_inside = folder.relative_to(output_folder)
    for sibling in list_subfolders(output_folder.parent):
        if sibling == output_folder:
            continue
        if not filenames.can_belong_to_same_run(output_folder, sibling):
            continue

        if _is_counterpart_name(output_folder.name, sibling.name, kind):
            rank = _FolderRank.COUNTERPART
        elif kind in sibling.name.lower():
            rank = _FolderRank.OF_KIND
        else:
            rank = _FolderRank.SIBLING
        yield _Candidate(rank, sibling / path_inside)


def _is_output_folder_of_kind(folder: Path, kind: FileKind) -> bool:
    return filenames.is_result_or_score_folder(folder) and kind in folder.name.lower()


def _is_counterpart_name(name: str, sibling_name: str, sibling_kind: FileKind) -> bool:
    """Whether two folder names differ only in `result` and `score`, as `result-BFCL` and
    `score-BFCL` do.
    """
    own_kind = "score" if sibling_kind == "result" else "result"
    return name.lower().replace(own_kind, sibling_kind) == sibling_name.lower()
