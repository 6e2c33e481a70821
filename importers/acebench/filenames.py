"""Names of ACEBench's files and categories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

FileKind = Literal["result", "score", "process"]
_FILE_NAME = re.compile(
    r"data_(?P<category>(?:normal|special|agent)_[a-z_]+?)_(?P<kind>result|score|process)\.json"
)

HISTORY_KINDS = ("multi_step", "multi_turn")
"""Folders of the dialogue histories of the two agent categories."""

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


class FileName(NamedTuple):
    """The two parts of the name of a result, score or process file.

    Both are empty for the names of other files.
    """

    category: str
    kind: FileKind | Literal[""]


def parse_file_name(path: Path) -> FileName:
    """Return the category and the kind of a file, such as a result or score file. Both are empty
    for other files.
    """
    match = _FILE_NAME.fullmatch(path.name)
    if match is None or match["category"] not in CATEGORY_ORDER:
        return FileName("", "")
    kinds: dict[str, FileKind] = {"result": "result", "score": "score", "process": "process"}
    return FileName(match["category"], kinds[match["kind"]])


def list_result_files(folder: Path) -> list[Path]:
    """Return the result files in a folder, in the order of categories."""
    paths = [
        path
        for path in folder.glob("data_*_result.json")
        if parse_file_name(path).kind and path.is_file()
    ]
    return sort_by_category(paths)


def list_score_files(folder: Path) -> list[Path]:
    """Return the score and process files in a folder."""
    paths = [path for path in sorted(folder.glob("data_*.json")) if path.is_file()]
    return [path for path in paths if parse_file_name(path).kind in ("score", "process")]


def sort_by_category(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: CATEGORY_ORDER[parse_file_name(path).category])
