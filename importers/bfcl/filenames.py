"""Recognize the BFCL version, the category and the kind of a file from file names and item ids.

Users choose the names of the outer folders (`result/`, `score/`, `result-BFCL/` ...). Files are
therefore identified by their own names, V4's group folders and, where a name is ambiguous, the keys
of the first record.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

from fcreview.importers.common.copies import has_copy_mark, list_original_names
from fcreview.importers.common.jsonl import read_first_record

FileKind = Literal["result", "score", "question", "answer", "ignored"]

GROUP_FOLDERS = frozenset(
    {
        "non_live",
        "live",
        "multi_turn",
        "agentic",
        "format_sensitivity",
        "memory",
        "kv",
        "vector",
        "rec_sum",
    }
)

MAX_MODEL_DEPTH = 5
MAX_SNAPSHOT_DEPTH = 5
"""Number of folders above a file among which the folder `memory_snapshot` is searched."""

_VERSIONED_NAME = re.compile(r"BFCL_v(\d+)_(.+?)(?:_(result|score))?\.jsonl?")
_V1_NAME = re.compile(r"gorilla_openfunctions_v1_test_(.+?)(?:_(result|score))?\.jsonl?")
_RESULT_OR_SCORE_NAME = re.compile(
    r"(?:BFCL_v\d+|gorilla_openfunctions_v1_test)_.+?_(?:result|score)\.jsonl?"
)
_UNVERSIONED_NAME = re.compile(r"([a-z][a-z_]*?)(?:_(score|result))?\.jsonl?")
_LEADERBOARD_NAME = re.compile(
    r"data(_(non_live|live|combined|overall|multi_turn|agentic|format_sensitivity))?\.csv"
)
_OUTER_FOLDER = re.compile(r"(?:.*[-_.])?(?:results?|scores?)(?:[-_.].*)?", re.IGNORECASE)
_PROGRAM_FOLDER = re.compile(r"(?:results?|scores?)(?:[-_.].*)?", re.IGNORECASE)
_FOLDER_WITHOUT_MODEL = re.compile(r"(?:results?|scores?)(?:[-_.]bfcl.*)?", re.IGNORECASE)
_RESULT_OR_SCORE = re.compile(r"(?<![a-z])(?:results?|scores?)(?![a-z])")
_DATE = re.compile(r"20\d\d-\d\d-\d\d")
_ITEM_ID = re.compile(r"(.+)_\d+(?:-.*)?", re.DOTALL)

VERSIONS = ("V1", "V2", "V3", "V4")
FLAT_VERSIONS = VERSIONS[:3]
"""BFCL versions that write all files of a model directly into its folder."""


def get_rules_version(version: str) -> str:
    """Return the BFCL version whose rules apply: the version itself, or V4 for a newer version."""
    return version if version in VERSIONS else VERSIONS[-1]


V1_CATEGORIES = (
    "simple",
    "multiple_function",
    "parallel_function",
    "parallel_multiple_function",
    "relevance",
    "java",
    "javascript",
    "executable_simple",
    "executable_multiple_function",
    "executable_parallel_function",
    "executable_parallel_multiple_function",
    "rest",
    "chatable",
    "sql",
)
V2_CATEGORIES = (
    "simple",
    "java",
    "javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "exec_simple",
    "exec_multiple",
    "exec_parallel",
    "exec_parallel_multiple",
    "rest",
    "chatable",
    "sql",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
MULTI_TURN_CATEGORIES = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
    "multi_turn_composite",
)
AGENTIC_CATEGORIES = (
    "memory_kv",
    "memory_vector",
    "memory_rec_sum",
    "web_search_base",
    "web_search_no_snippet",
)
V4_CATEGORIES = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    *V2_CATEGORIES[3:7],
    *V2_CATEGORIES[14:],
    *MULTI_TURN_CATEGORIES,
    *AGENTIC_CATEGORIES,
    "format_sensitivity",
)
_ORDERED_CATEGORIES = (
    *V4_CATEGORIES[:3],
    *V2_CATEGORIES[:3],
    "multiple",
    "multiple_function",
    "parallel",
    "parallel_function",
    "parallel_multiple",
    "parallel_multiple_function",
    "irrelevance",
    *V1_CATEGORIES,
    *V2_CATEGORIES,
    *V4_CATEGORIES,
)
CATEGORY_ORDER = {
    name: position for position, name in enumerate(dict.fromkeys(_ORDERED_CATEGORIES))
}
UNSCORED_CATEGORIES = ("chatable", "sql", "multi_turn_composite")
"""Categories that BFCL never scores, so that their items count in no metric."""
CONFETTI_CATEGORIES = ("conversationsclean", "dialogacts", "conversationsclean_soft")
"""Categories of CONFETTI, whose files are named like V2 files of BFCL and must not be imported
as BFCL.
"""


COPIES = "copies of result and score files, by their names. Rename a file to import it"


@dataclass(frozen=True, slots=True)
class ClassifiedFile:
    path: Path
    kind: FileKind
    version: str
    category: str
    ignored_description: str = ""
    """Text that the import notice shows for an ignored file, such as `leaderboard tables`.

    Empty for no notice.
    """
    is_certain: bool = True
    """Whether only BFCL has files of this name."""


@lru_cache(maxsize=256)
def read_first(path: Path) -> Any:
    """Return the first record of a file, or None.

    The cache is cleared when the search for runs starts.
    """
    return read_first_record(path)


def classify_file(path: Path) -> ClassifiedFile | None:
    """Find out the kind, the version and the category of a BFCL file by its name, such as
    `BFCL_v3_simple_score.json`.

    If the name could also be that of another benchmark's file, the first record decides. Returns
    None for files that are not of BFCL.
    """
    ignored = _describe_ignored_file(path)
    if ignored is not None:
        return _make_ignored_file(path, ignored)
    if has_copy_mark(path.name) and _has_known_original(path.name):
        return _make_ignored_file(path, COPIES)

    versioned = _VERSIONED_NAME.fullmatch(path.name)
    if versioned is not None:
        number, category, suffix = versioned.groups()
        # The benchmark CONFETTI names its files like BFCL.
        if category in CONFETTI_CATEGORIES:
            return None
        return _classify_by_name(path, f"V{int(number)}", category, suffix)
    v1 = _V1_NAME.fullmatch(path.name)
    if v1 is not None:
        category, suffix = v1.groups()
        return _classify_by_name(path, "V1", category, suffix)

    unversioned = _UNVERSIONED_NAME.fullmatch(path.name)
    if unversioned is None or _is_of_other_program(path.name):
        return None
    category, suffix = unversioned.groups()
    return _classify_unversioned_file(path, category, suffix)


def _is_of_other_program(name: str) -> bool:
    """Whether a name without a version is that of an ACEBench file, or of the copy of a file.

    A name such as `simple_score.json` could be anything.
    """
    return name.startswith("data_") or has_copy_mark(name)


def _make_ignored_file(path: Path, description: str) -> ClassifiedFile:
    return ClassifiedFile(
        path, kind="ignored", version="", category="", ignored_description=description
    )


def _classify_by_name(
    path: Path, version: str, category: str, suffix: str | None
) -> ClassifiedFile:
    """Classify a file whose name states the version.

    Without a suffix, the first record tells the kind: results of V1 may have the name of the
    question file.
    """
    kind = cast("FileKind | None", suffix) or _infer_kind_from_record(read_first(path))
    if kind is None:
        kind = "answer" if path.parent.name == "possible_answer" else "question"
    return ClassifiedFile(path, kind=kind, version=version, category=category)


def _has_known_original(name: str) -> bool:
    """Whether a copied file is the copy of a result or score file. A category may have the mark of
    a copy in its name, as in `BFCL_v4_my_backup_result.json`.
    """
    if _RESULT_OR_SCORE_NAME.fullmatch(name):
        return False
    return any(_RESULT_OR_SCORE_NAME.fullmatch(original) for original in list_original_names(name))


def _classify_unversioned_file(
    path: Path, category: str, suffix: str | None
) -> ClassifiedFile | None:
    """Classify a file such as `simple_score.json`, whose name states no version.

    The first record must look like a result or a score of BFCL. Otherwise, the file is of another
    program, and None is returned.
    """
    version = _guess_version(category, suffix)
    if version is None:
        return None
    if suffix == "score":
        return _classify_unversioned_scores(path, version, category)
    return _classify_unversioned_results(path, version, category)


def _classify_unversioned_scores(path: Path, version: str, category: str) -> ClassifiedFile | None:
    """Classify a file with the name of a score file.

    The header of a score file is certainly BFCL's. Without it, for example if the file is empty,
    the name of a category of V1 is still a good sign.
    """
    is_certain = _infer_kind_from_record(read_first(path)) == "score"
    if not is_certain and category not in V1_CATEGORIES:
        return None
    return ClassifiedFile(
        path, kind="score", version=version, category=category, is_certain=is_certain
    )


def _classify_unversioned_results(path: Path, version: str, category: str) -> ClassifiedFile | None:
    """Classify a file with the name of a result file.

    Many programs write records with a field `result`, so the record never makes it certain, and an
    id of another category rules it out.
    """
    first_record = read_first(path)
    if _infer_kind_from_record(first_record) != "result":
        return None
    item_id = first_record.get("id")
    if isinstance(item_id, str) and not item_id.startswith(category):
        return None
    return ClassifiedFile(path, kind="result", version=version, category=category, is_certain=False)


def _guess_version(category: str, suffix: str | None) -> str | None:
    """Return the version of a file whose name does not state it. Only V1 has such score files."""
    if suffix == "score" or category in V1_CATEGORIES:
        return "V1"
    if category in V4_CATEGORIES:
        return "V4"
    return None


def _infer_kind_from_record(first: Any) -> FileKind | None:
    """Return what kind of file has such a first record: scores, results, questions or golden
    answers.
    """
    if not isinstance(first, dict):
        return None
    if "accuracy" in first and "total_count" in first:
        return "score"
    # A dataset record can have a question and a golden answer. It is a question then.
    if "result" in first:
        return "result"
    if "question" in first:
        return "question"
    if "ground_truth" in first:
        return "answer"
    return None


def _describe_ignored_file(path: Path) -> str | None:
    """Return the text of the import notice for an ignored BFCL file. The text is empty if the file
    is ignored without a notice, and None if it is not ignored.
    """
    name = path.name
    nearest_folders = path.parts[:-1][-MAX_SNAPSHOT_DEPTH:]
    if "memory_snapshot" in nearest_folders and path.suffix == ".json":
        return "memory snapshots of the memory categories"
    if name.endswith("_prereq_result.json"):
        return "results of the unscored prerequisite phase that fills the memory"
    if name == "result.json" and _is_raw_output_dump(path):
        return "raw model outputs (result.json) without ids"
    if _LEADERBOARD_NAME.fullmatch(name):
        return "leaderboard tables (rates are recomputed from the score files)"
    if path.parent.name in ("multi_turn_func_doc", "memory_prereq_conversation"):
        # Dataset files need no notice.
        return ""
    return None


def _is_raw_output_dump(path: Path) -> bool:
    """Whether a file `result.json` is a dump of V1's raw outputs.

    Other programs, such as Harbor, use this name too.
    """
    first = read_first(path)
    return isinstance(first, dict) and "answer_id" in first


def find_model_folder(path: Path) -> Path:
    """Return the folder with all files of one model: the file's folder, or the folder above V4's
    group folders, such as `live`.
    """
    folder = _find_outermost_group_folder(path) or path.parent
    while folder.name in GROUP_FOLDERS and folder.parent != folder:
        folder = folder.parent
    return folder


def _find_outermost_group_folder(path: Path) -> Path | None:
    """Return the outermost of the group folders in which a file is, or None if it is in none.

    A group folder can be some levels above the file, but not above the folder of all models.
    """
    nearest, *folders_above = list(path.parents)[:MAX_MODEL_DEPTH]
    outermost = nearest if nearest.name in GROUP_FOLDERS else None
    for folder in folders_above:
        if is_result_or_score_folder(folder):
            break
        if folder.name in GROUP_FOLDERS:
            outermost = folder
    return outermost


def has_date(name: str) -> bool:
    """Whether a name contains an ISO date."""
    return _DATE.search(name) is not None


def find_date_in_path(folder: Path) -> str | None:
    """Return the first ISO date in the last five parts of a path; None if they contain no date."""
    for part in folder.parts[-5:]:
        date = _DATE.search(part)
        if date is not None:
            return date[0]
    return None


def is_early_v1_file(path: Path) -> bool:
    """Whether a V1 file was probably scored before the middle of July 2024, when BFCL changed its
    rules.

    A date in a folder name decides. Without one, only `result-BFCL` and `score-BFCL`, the first
    published names, are early.
    """
    date = find_date_in_path(path.parent)
    if date is not None:
        return date < "2024-07-15"
    folder_names = {part.lower() for part in path.parts[:-1]}
    return "result-bfcl" in folder_names or "score-bfcl" in folder_names


def is_result_or_score_folder(folder: Path) -> bool:
    """Whether a folder has a name like `result`, `score`, `result-BFCL` or `my_scores`."""
    return _OUTER_FOLDER.fullmatch(folder.name) is not None


def is_official_output_folder(folder: Path) -> bool:
    """Whether the official program looks for models in a folder of this name, such as `result`
    or `score-BFCL`.
    """
    return _PROGRAM_FOLDER.fullmatch(folder.name) is not None


def can_belong_to_same_run(folder: Path, other: Path) -> bool:
    """Whether two folder names are equal without the words `result` and `score`.

    `result-ct2` belongs to `score-ct2`, not to `score` or `score-0TESTS`. A folder without these
    words in its name can belong to any run.
    """
    if not is_result_or_score_folder(folder) or not is_result_or_score_folder(other):
        return True
    return _remove_kind(folder.name) == _remove_kind(other.name)


def _remove_kind(folder_name: str) -> str:
    """Return a folder name without the word `result` or `score`, and the signs around it."""
    return _RESULT_OR_SCORE.sub("", folder_name.lower()).strip("-_.")


def get_model_name(folder: Path) -> str:
    """Return the name of the model in a model folder: the folder's name, or RUN for files
    directly in `RUN/result/`.
    """
    return (
        folder.parent.name
        if _FOLDER_WITHOUT_MODEL.fullmatch(folder.name) and folder.parent.name
        else folder.name
    )


def get_id_category(item_id: str) -> str:
    """Return the category in an id such as `live_simple_19-3-15`, or the whole id if it has no
    number.
    """
    match = _ITEM_ID.fullmatch(item_id)
    return match[1] if match else item_id


def split_format_sensitivity_id(item_id: str) -> tuple[str, str, str] | None:
    """Split `format_sensitivity_N:CONFIG:ORIGINAL` into its three parts.

    Returns None for any other id.
    """
    # The original id may contain further colons.
    parts = item_id.split(":", 2)
    if len(parts) < 3:
        return None
    stem, config, original_id = parts
    return stem, config, original_id


def resolve_category_and_config(item_id: str, category: str) -> tuple[str, str | None]:
    """Return the category whose rules apply to an item, and its prompt configuration.

    Only items of format sensitivity have a configuration. They repeat items of other categories.
    """
    if category != "format_sensitivity":
        return category, None
    parts = split_format_sensitivity_id(item_id)
    if parts is None:
        return category, None
    _, config, original_id = parts
    return get_id_category(original_id), config


@lru_cache(maxsize=16_384)
def parse_item_number(item_id: str) -> int | None:
    """Return the number after the last `_` of an id, or None.

    Text after the first `:` of the id is ignored.
    """
    number = item_id.partition(":")[0].rpartition("_")[2].partition("-")[0]
    # More digits are no number of an item, and might not fit in 64 bits.
    return int(number) if number.isdecimal() and len(number) < 18 else None


def to_dataset_id(item_id: str, category: str) -> str:
    """Return the id of the dataset item that a result belongs to.

    It is the id of the result without backend, variant or configuration.
    """
    for stem in ("memory", "web_search"):
        if category.startswith(stem):
            return (
                stem + item_id.removeprefix(category) if item_id.startswith(category) else item_id
            )
    parts = split_format_sensitivity_id(item_id)
    if parts is None:
        return item_id
    _, _, original_id = parts
    return original_id


def to_item_id(dataset_id: str, category: str) -> str:
    """Return the id of the result of a dataset item. It is the reverse of `to_dataset_id`, except
    for format sensitivity, where it needs the configuration.
    """
    for stem in ("memory", "web_search"):
        if category.startswith(stem) and dataset_id.startswith(stem):
            return category + dataset_id.removeprefix(stem)
    return dataset_id


def find_question_category(category: str) -> str:
    """Return the category whose question file is used.

    All memory categories share one file, and web search too.
    """
    if category.startswith("memory_"):
        return "memory"
    return "web_search" if category.startswith("web_search") else category


def question_file_name(version: str, category: str) -> str:
    if version == "V1":
        return f"gorilla_openfunctions_v1_test_{category}.json"
    return f"BFCL_{version.lower()}_{category}.json"
