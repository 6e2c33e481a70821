"""File names of BFCL: which generation, category and kind a name states, and where a model's folder is.

The outer folders (`result/`, `score/`, `result-BFCL/` ...) are free to choose, so only base names, the inner group
folders of V4 and, where a name says too little, the keys of the first record decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

FileKind = Literal["result", "score", "question", "answer", "ignored"]

GROUP_FOLDERS = frozenset(
    {"non_live", "live", "multi_turn", "agentic", "format_sensitivity", "memory", "kv", "vector", "rec_sum"}
)
"""Folders between a V4 model folder and its files."""

_VERSIONED_NAME = re.compile(r"BFCL_v(\d+)_(.+?)(_result|_score)?\.jsonl?")
_V1_NAME = re.compile(r"gorilla_openfunctions_v1_test_(.+?)(_result|_score)?\.jsonl?")
_UNVERSIONED_NAME = re.compile(r"([a-z][a-z_]*?)(_score|_result)?\.jsonl?")
_OUTER_FOLDER = re.compile(r"(?:.*[-_.])?(?:results?|scores?)(?:[-_.].*)?", re.IGNORECASE)
_FOLDER_WITHOUT_MODEL = re.compile(r"(?:results?|scores?)(?:[-_.]bfcl.*)?", re.IGNORECASE)
_DATE = re.compile(r"20\d\d-\d\d-\d\d")
_ITEM_ID = re.compile(r"(.+)_(\d+)((?:-.*)?)", re.DOTALL)

VERSIONS = ("V1", "V2", "V3", "V4")
"""Those whose rules are known; files of later ones are read as V4's."""


def rules_version(generation: str) -> str:
    return generation if generation in VERSIONS else VERSIONS[-1]


V1_CATEGORIES = (
    "simple", "multiple_function", "parallel_function", "parallel_multiple_function", "relevance", "java", "javascript",
    "executable_simple", "executable_multiple_function", "executable_parallel_function",
    "executable_parallel_multiple_function", "rest", "chatable", "sql",
)  # fmt: skip
V2_CATEGORIES = (
    "simple", "java", "javascript", "multiple", "parallel", "parallel_multiple", "irrelevance",
    "exec_simple", "exec_multiple", "exec_parallel", "exec_parallel_multiple", "rest", "chatable", "sql",
    "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "live_irrelevance", "live_relevance",
)  # fmt: skip
MULTI_TURN_CATEGORIES = (
    "multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context",
    "multi_turn_composite",
)  # fmt: skip
AGENTIC_CATEGORIES = ("memory_kv", "memory_vector", "memory_rec_sum", "web_search_base", "web_search_no_snippet")
V4_CATEGORIES = (
    "simple_python", "simple_java", "simple_javascript", *V2_CATEGORIES[3:7], *V2_CATEGORIES[14:],
    *MULTI_TURN_CATEGORIES, *AGENTIC_CATEGORIES, "format_sensitivity",
)  # fmt: skip
CATEGORY_ORDER = {
    name: place
    for place, name in enumerate(
        dict.fromkeys(
            [*V4_CATEGORIES[:3], *V2_CATEGORIES[:3], "multiple", "multiple_function", "parallel", "parallel_function",
             "parallel_multiple", "parallel_multiple_function", "irrelevance", *V1_CATEGORIES, *V2_CATEGORIES,
             *V4_CATEGORIES]
        )
    )
}  # fmt: skip
"""In which order a run's categories are read."""


CONFETTI_CATEGORIES = ("conversationsclean", "dialogacts", "conversationsclean_soft")
"""Categories of CONFETTI, which took over the file names of V2."""


@dataclass(frozen=True, slots=True)
class ClassifiedFile:
    """What a file is. `reason` is set for ignored files: what they are, in the plural."""

    path: Path
    kind: FileKind
    version: str
    category: str
    ignored_reason: str = ""
    is_certain: bool = True
    """False if the name alone does not say that the file is of BFCL."""


def classify_file(path: Path, peek: Any) -> ClassifiedFile | None:
    """What a file is, or None if it is not of BFCL. `peek(path)`, its first record, is asked only where needed."""
    name = path.name
    ignored = _ignored_reason(path)
    if ignored is not None:
        return ClassifiedFile(path, "ignored", "", "", ignored)
    if (match := _VERSIONED_NAME.fullmatch(name)) and match[2] in CONFETTI_CATEGORIES:
        return None
    if match := _VERSIONED_NAME.fullmatch(name):
        generation, category, suffix = f"V{int(match[1])}", match[2], match[3]
        if suffix:
            return ClassifiedFile(path, "result" if suffix == "_result" else "score", generation, category)
        kind = _kind_of_record(peek(path)) or ("answer" if path.parent.name == "possible_answer" else "question")
        return ClassifiedFile(path, kind, generation, category)
    if match := _V1_NAME.fullmatch(name):
        if match[2]:
            return ClassifiedFile(path, "result" if match[2] == "_result" else "score", "V1", match[1])
        answer = path.parent.name == "possible_answer"
        return ClassifiedFile(path, "answer" if answer else _kind_of_record(peek(path)) or "question", "V1", match[1])
    if (match := _UNVERSIONED_NAME.fullmatch(name)) and not name.startswith("data_"):  # those are of ACEBench
        return _classify_unversioned(path, match[1], match[2], peek)
    return None


def _classify_unversioned(path: Path, category: str, suffix: str | None, peek: Any) -> ClassifiedFile | None:
    """V1's `CATEGORY_score.json`, and results whose names lost their version."""
    if suffix == "_score":
        first = peek(path)
        if category in V1_CATEGORIES or _kind_of_record(first) == "score":
            return ClassifiedFile(path, "score", "V1", category, is_certain=_kind_of_record(first) == "score")
        return None
    generation = "V1" if category in V1_CATEGORIES else "V4" if category in V4_CATEGORIES else None
    if generation is None:
        return None
    first = peek(path)
    if _kind_of_record(first) != "result":
        return None
    stated = first.get("id")
    if isinstance(stated, str) and not stated.startswith(category):
        return None
    return ClassifiedFile(path, "result", generation, category, is_certain=False)


def _kind_of_record(first: Any) -> FileKind | None:
    """The kind that a first record's keys state."""
    if not isinstance(first, dict):
        return None
    if "accuracy" in first and "total_count" in first:
        return "score"
    if "result" in first:
        return "result"
    if "question" in first:
        return "question"
    return "answer" if "ground_truth" in first else None


def _ignored_reason(path: Path) -> str | None:
    """Why a file that belongs to BFCL is not read: memory dumps, unscored phases, leaderboards, V1's raw dump."""
    name, folders = path.name, path.parts[-6:-1]
    if "memory_snapshot" in folders and path.suffix == ".json":
        return "memory snapshots of the memory categories"
    if name.endswith("_prereq_result.json"):
        return "results of the unscored phase in which memories are written"
    if name == "result.json":
        return "raw generation dumps (result.json) without ids"
    if path.suffix == ".csv" and re.fullmatch(
        r"data(_(non_live|live|combined|overall|multi_turn|agentic|format_sensitivity))?\.csv", name
    ):
        return "leaderboard tables (rates are recomputed from the score files)"
    if path.parent.name in ("multi_turn_func_doc", "memory_prereq_conversation"):
        return ""  # parts of a dataset
    return None


def model_folder(path: Path) -> Path:
    """The folder that all files of one model lie in: V4's group folders are skipped upwards."""
    folder = path.parent
    while folder.name in GROUP_FOLDERS and folder.parent != folder:
        folder = folder.parent
    return folder


def is_early_v1_file(path: Path) -> bool:
    """Whether a V1 file was scored by the first rules, as far as folders tell: they name a date before the middle of
    July 2024, or, as the first publications did, `result-BFCL` and `score-BFCL`. No file says when."""
    date = next((found[0] for part in path.parts[-6:-1] if (found := _DATE.search(part))), None)
    if date is not None:
        return date < "2024-07-15"
    return not {"result-bfcl", "score-bfcl"}.isdisjoint(part.lower() for part in path.parts[:-1])


def is_outer_folder(folder: Path) -> bool:
    """Whether a folder is named like the outer folders `result`, `score`, `result-BFCL`, `my_scores` ..."""
    return _OUTER_FOLDER.fullmatch(folder.name) is not None


def model_name(folder: Path) -> str:
    """The model of a model folder; where files lie in `RUN/result/` itself, the run's name."""
    return folder.parent.name if _FOLDER_WITHOUT_MODEL.fullmatch(folder.name) and folder.parent.name else folder.name


def split_item_id(item: str) -> tuple[str, int | None, str]:
    """`live_simple_19-3-15` -> (`live_simple`, 19, `-3-15`); the number is None if the id has none."""
    match = _ITEM_ID.fullmatch(item)
    return (match[1], int(match[2][:18]), match[3]) if match else (item, None, "")


def split_format_sensitivity_id(item: str) -> tuple[str, str, str] | None:
    """`format_sensitivity_N:CONFIG:ORIGINAL` -> its three parts, or None."""
    parts = item.split(":", 2)
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None


@lru_cache(maxsize=16_384)
def item_number(item: str) -> int | None:
    """The number behind the last `_` of an id, up to the first `-`; for format sensitivity that of the first part."""
    number = item.partition(":")[0].rpartition("_")[2].partition("-")[0]
    return int(number) if number.isdecimal() and len(number) < 18 else None


def to_dataset_id(item: str, category: str) -> str:
    """The dataset's id of a result's id, which for memory and web search carries the backend or variant."""
    if category.startswith("memory"):
        return "memory" + item.removeprefix(category) if item.startswith(category) else item
    if category.startswith("web_search"):
        return "web_search" + item.removeprefix(category) if item.startswith(category) else item
    parts = split_format_sensitivity_id(item)
    return parts[2] if parts else item


def question_category(category: str) -> str:
    """The category in the name of the question file."""
    if category.startswith("memory_"):
        return "memory"
    return "web_search" if category.startswith("web_search") else category


def question_file_name(generation: str, stem: str) -> str:
    if generation == "V1":
        return f"gorilla_openfunctions_v1_test_{stem}.json"
    return f"BFCL_{generation.lower()}_{stem}.json"
