"""Choose the dataset of an ACEBench run, and with it the language, which no record states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from fcreview.importers.acebench.filenames import parse_file_name
from fcreview.importers.acebench.identity import (
    MAX_LEVELS,
    find_folder_language,
    read_language_folder,
)
from fcreview.importers.common.jsonl import read_objects_with_id
from fcreview.importers.common.records import (
    function_names,
    load_dataset_records,
    read_function_docs,
)
from fcreview.model.item import ImportIssue

DATASET_LANGUAGES = ("en", "zh")
MAX_SAMPLED_ITEMS = 100
"""Number of replies, in each file, that are compared with the questions to find out their
language.
"""
MIN_MATCHING_SHARE = 0.5
"""Share of replies that must call a function of their question, so that a dataset counts as the
one of the run.
"""
MIN_CHINESE_SHARE = 0.05
"""Share of Chinese characters from which a text counts as Chinese.

English questions contain none.
"""


@dataclass(frozen=True, slots=True)
class LanguageChoice:
    """The language of a run, its dataset, and a remark on how the language was found."""

    language: str
    dataset: Path | None = None
    issue: ImportIssue | None = None
    takes_named_language: bool = False
    """Whether no folder name decides the language, so that the user can name it."""


def choose_language(
    folder: Path, results: Sequence[Path], dataset_folders: Sequence[Path], named_language: str
) -> LanguageChoice:
    """Choose the language of a run, and with it the dataset. No record states the language.

    The first of these that exists decides:

    1. A folder of a language in the path of the results, such as `result_en`.
    2. The language that the user named with --language.
    3. A folder with a suffix such as `_en`, which may mean something else.
    4. The dataset that the replies fit.

    Args:
        folder: The folder with the result files.
        results: The result files.
        dataset_folders: The dataset folders that the user named.
        named_language: The language that the user named, now or in an earlier command, or empty.
    """
    hint = find_folder_language(folder)
    if hint.is_certain:
        issue = _report_ignored_language(folder, hint.language, named_language)
        dataset = _find_dataset(folder, hint.language, dataset_folders)
        return LanguageChoice(hint.language, dataset=dataset, issue=issue)

    language = named_language or hint.language
    if language:
        dataset = _find_dataset(folder, language, dataset_folders)
        return LanguageChoice(language, dataset, takes_named_language=True)

    return _choose_language_by_dataset(folder, results, dataset_folders)


def _choose_language_by_dataset(
    folder: Path, results: Sequence[Path], dataset_folders: Sequence[Path]
) -> LanguageChoice:
    """Choose the language of the only named dataset, or of the one that the replies fit."""
    candidates = _list_candidates(folder, dataset_folders)
    named = [candidate for candidate in candidates if candidate.is_named_by_user]
    named_languages = {candidate.language for candidate in named}
    if len(named_languages) == 1 and not _contradicts_replies(named[0], results):
        return _explain_choice(folder, named[0], "no folder name of the results states it")

    fitting = _find_fitting_dataset(named or candidates, results)
    if fitting is not None:
        return _explain_choice(folder, fitting, "the replies fit its questions")
    return LanguageChoice("", takes_named_language=True)


def _find_dataset(folder: Path, language: str, dataset_folders: Sequence[Path]) -> Path | None:
    return next(find_dataset_folders(folder, language, dataset_folders), None)


def _report_ignored_language(
    folder: Path, language: str, named_language: str
) -> ImportIssue | None:
    """Return an issue if the user named another language than the folder does."""
    if named_language in ("", language):
        return None
    what = (
        f"--language {named_language} has no effect on this run, because a folder name states the"
        f" language {language}"
    )
    return ImportIssue(str(folder), what=what, severity="notice")


@dataclass(frozen=True, slots=True)
class _DatasetCandidate:
    folder: Path
    language: str
    is_named_by_user: bool


def _list_candidates(folder: Path, dataset_folders: Sequence[Path]) -> list[_DatasetCandidate]:
    """List the datasets that can belong to results without a language: at most one for each
    language and place.
    """
    candidates: list[_DatasetCandidate] = []
    for language in DATASET_LANGUAGES:
        for is_named_by_user, roots in ((True, dataset_folders), (False, _list_roots(folder))):
            dataset = next(_find_datasets_in(roots, language), None)
            if dataset is None:
                continue
            # A folder whose name states no language is found for each of them. Then its questions
            # tell the language.
            candidate = _DatasetCandidate(
                dataset,
                language=find_dataset_language(dataset),
                is_named_by_user=is_named_by_user,
            )
            if candidate not in candidates:
                candidates.append(candidate)
    return candidates


def find_dataset_language(dataset: Path) -> str:
    """Return the language of a dataset by its folder name, else by its questions."""
    language = _read_dataset_language(dataset)
    if language:
        return language
    for file in sorted(dataset.glob("data_*.json")):
        records = islice(read_objects_with_id(file), MAX_SAMPLED_ITEMS)
        text = "".join(str(record.get("question")) for record in records)
        if text:
            return "zh" if _is_chinese(text) else "en"
    return ""


def _read_dataset_language(dataset: Path) -> str:
    language = read_language_folder(dataset.name)
    if language:
        return language
    return find_folder_language(Path(dataset.name)).language


def _is_chinese(text: str) -> bool:
    n_chinese = sum("\u4e00" <= character <= "\u9fff" for character in text)
    return n_chinese > MIN_CHINESE_SHARE * len(text)


def _contradicts_replies(candidate: _DatasetCandidate, results: Sequence[Path]) -> bool:
    share = _compute_matching_share(candidate.folder, results)
    return share is not None and share < MIN_MATCHING_SHARE


def _find_fitting_dataset(
    candidates: Sequence[_DatasetCandidate], results: Sequence[Path]
) -> _DatasetCandidate | None:
    """Return the dataset whose functions most replies call, if these are at least half of the
    replies.
    """
    best: _DatasetCandidate | None = None
    best_share = 0.0
    for candidate in candidates:
        share = _compute_matching_share(candidate.folder, results) or 0.0
        if share >= MIN_MATCHING_SHARE and share > best_share:
            best = candidate
            best_share = share
    return best


def _compute_matching_share(dataset: Path, results: Sequence[Path]) -> float | None:
    """Return the share of replies, in a sample, that name a function of the question with the same
    id.

    None if no reply has both a call and a question.
    """
    n_compared = 0
    n_matching = 0
    for result_file in results:
        question_file = dataset / f"data_{parse_file_name(result_file).category}.json"
        functions_by_id = _load_function_names(question_file)
        for record in islice(read_objects_with_id(result_file), MAX_SAMPLED_ITEMS):
            reply = _collect_reply_text(record)
            # A reply without a parenthesis contains no call.
            if "(" not in reply or record["id"] not in functions_by_id:
                continue
            n_compared += 1
            if any(name in reply for name in functions_by_id[record["id"]]):
                n_matching += 1
    if n_compared == 0:
        return None
    return n_matching / n_compared


def _load_function_names(question_file: Path) -> dict[str, set[str]]:
    if not question_file.is_file():
        return {}
    records = load_dataset_records(question_file)
    return {
        item_id: function_names(read_function_docs(record.get("function")))
        for item_id, record in records.by_id.items()
    }


def _collect_reply_text(result: dict[str, Any]) -> str:
    return f"{result.get('result')} {result.get('process', '')}"


def _explain_choice(folder: Path, candidate: _DatasetCandidate, reason: str) -> LanguageChoice:
    """Return the choice of a dataset's language, with a notice that says why it was chosen."""
    what = (
        f"the language is {candidate.language}, that of the dataset {candidate.folder.name}:"
        f" {reason}. Use --language to choose another"
    )
    issue = ImportIssue(str(folder), what=what, severity="notice")
    return LanguageChoice(
        candidate.language, dataset=candidate.folder, issue=issue, takes_named_language=True
    )


def find_dataset_folders(
    folder: Path, language: str, dataset_folders: Sequence[Path]
) -> Iterator[Path]:
    """Yield the dataset folders of a language: first those in `dataset_folders`, then those near
    the run.
    """
    yield from _find_datasets_in([*dataset_folders, *_list_roots(folder)], language)


def _list_roots(folder: Path) -> list[Path]:
    return list(folder.parents)[:MAX_LEVELS]


def _find_datasets_in(roots: Sequence[Path], language: str) -> Iterator[Path]:
    """Yield the folders with the dataset of a language, at the usual places below the roots."""
    name = f"data_{language}"
    for root in roots:
        candidates = (root, root / name, root / "data_all" / name, root / "data" / name)
        for folder in candidates:
            is_other_language = _read_dataset_language(folder) not in ("", language)
            has_answers = (folder / "possible_answer").is_dir()
            if is_other_language or not has_answers:
                continue
            has_questions = any(folder.glob("data_*_*.json"))
            if has_questions:
                yield folder
