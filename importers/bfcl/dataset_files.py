"""Find the question and answer files of a BFCL version in dataset folders.

Question files usually have golden answers in `possible_answer/` beside them. Translated questions
often share the golden answers of their parent folder, or those of another `--data` folder, and
their names may have a suffix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.dataset import DatasetFiles
from fcreview.importers.bfcl.filenames import read_first

ANSWER_FOLDER = "possible_answer"
DOC_FOLDER = "multi_turn_func_doc"
MAX_LISTED_ENTRIES = 20_000
"""Maximum number of entries of a folder that are searched for question files with a suffix."""


class DatasetFinder:
    """Finds the dataset files of a BFCL version in a folder: questions, golden answers and function
    docs.

    Golden answers and function docs can also be in the folder above the questions, or in one of the
    `named_folders`, which the user named. Questions more than one level below a named folder do not
    use its files, because they may be of another version.
    """

    def __init__(self, version: str, named_folders: Sequence[Path] = ()) -> None:
        self._version = version
        self._named_folders = named_folders
        self._question_names: dict[Path, list[str]] = {}

    def find_files(self, folder: Path, category: str) -> DatasetFiles | None:
        """Return the dataset files of a category in a folder; None if it has no question file."""
        questions = self._find_questions(folder, category)
        if questions is None:
            return None
        names = dict.fromkeys(
            (questions.name, filenames.question_file_name(self._version, category))
        )
        return DatasetFiles(
            questions,
            answers=self._find_answers(folder, list(names)),
            function_docs=self._find_function_docs(folder),
        )

    def is_exact_name(self, questions: Path, category: str) -> bool:
        """Whether a question file has the name of the official dataset."""
        return questions.name == filenames.question_file_name(self._version, category)

    def _find_questions(self, folder: Path, category: str) -> Path | None:
        exact = folder / filenames.question_file_name(self._version, category)
        if exact.is_file():
            return exact
        similar = [folder / name for name in self._list_similar_names(folder, category)]
        return next((path for path in similar if _has_questions_of(path, category)), None)

    def _list_similar_names(self, folder: Path, category: str) -> list[str]:
        """Return the question files of a category whose name is not exactly the official one.

        An example is `BFCL_v4_simple_python_translated.json`. The files of other official
        categories, such as `BFCL_v4_simple_javascript.json`, are left out.
        """
        prefix, extension = filenames.question_file_name(self._version, "*").split("*")
        pattern = re.compile(
            rf"{re.escape(prefix)}(?:.+_)?{re.escape(category)}(?:[_.-].+)?{re.escape(extension)}"
        )

        similar_names = []
        for name in self._list_question_names(folder, prefix):
            named_category = name.removeprefix(prefix).removesuffix(extension)
            if pattern.fullmatch(name) and named_category not in filenames.CATEGORY_ORDER:
                similar_names.append(name)
        return similar_names

    def _list_question_names(self, folder: Path, prefix: str) -> list[str]:
        """Return the names of the question files in a folder. The result is cached by folder,
        because all categories of the version have the same prefix.
        """
        if folder not in self._question_names:
            try:
                with os.scandir(folder) as entries:
                    listed = islice(entries, MAX_LISTED_ENTRIES)
                    self._question_names[folder] = sorted(
                        e.name for e in listed if e.name.startswith(prefix)
                    )
            except OSError:
                self._question_names[folder] = []
        return self._question_names[folder]

    def _find_answers(self, folder: Path, names: Sequence[str]) -> Path | None:
        """Return the answer file beside the questions, or else one that other question folders
        share.
        """
        answer_folders = [folder / ANSWER_FOLDER]
        for sharing_folder in self._list_sharing_folders(folder):
            answer_folders.append(sharing_folder / ANSWER_FOLDER)
        # The user may have named a folder of answers itself.
        for named_folder in self._named_folders:
            if named_folder.name == ANSWER_FOLDER:
                answer_folders.append(named_folder)

        for answer_folder in answer_folders:
            for name in names:
                if (answer_folder / name).is_file():
                    return answer_folder / name
        return None

    def _find_function_docs(self, folder: Path) -> Path | None:
        places = [each / DOC_FOLDER for each in (folder, *self._list_sharing_folders(folder))]
        return next((place for place in places if place.is_dir()), None)

    def _list_sharing_folders(self, folder: Path) -> list[Path]:
        """Return the folders whose golden answers and function docs can belong to questions in
        `folder`.
        """
        named_elsewhere = [each for each in self._named_folders if not folder.is_relative_to(each)]
        return [folder.parent, *named_elsewhere]


def _has_questions_of(path: Path, category: str) -> bool:
    """Whether the first record of a file is a question whose id is of the category.

    V1 has questions without ids.
    """
    first = read_first(path)
    if not isinstance(first, dict) or "question" not in first or "result" in first:
        return False
    item_id = first.get("id")
    return not isinstance(item_id, str) or filenames.get_id_category(item_id) == category


def is_question_file(path: Path) -> bool:
    """Whether a file contains questions.

    Its name is not enough, because V1 results may have the same name.
    """
    first = read_first(path)
    return isinstance(first, dict) and "question" in first and "result" not in first


def is_damaged_question_file(path: Path) -> bool:
    """Whether a file with the name of a question file has no record.

    A file with a V1 name is a question file only if there is a folder `possible_answer` beside it.
    """
    is_v1_name = not path.name.startswith("BFCL_")
    if is_v1_name and not (path.parent / ANSWER_FOLDER).is_dir():
        return False
    return not isinstance(read_first(path), dict)
