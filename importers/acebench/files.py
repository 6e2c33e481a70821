"""Which files are ACEBench's: names, languages, categories, and how results, scores and datasets lie around each
other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

NAME = re.compile(r"data_((?:normal|special|agent)_[a-z_]+?)_(result|score|process)\.json")
LANGUAGE = re.compile(r"(?:^|_)(en|zh)$")

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
ORDER = {name: position for position, name in enumerate(CATEGORIES)}


def recognise(path: Path) -> tuple[str, str] | None:
    """(category, `result`, `score` or `process`) of a file by its name, None if it is not ACEBench's."""
    found = NAME.fullmatch(path.name)
    return (found[1], found[2]) if found and found[1] in ORDER else None


def language(path: Path) -> str | None:
    """`en` or `zh` from the nearest folder that says so; no record does."""
    for part in reversed(path.parts[:-1]):
        found = LANGUAGE.search(part)
        if found:
            return found[1]
    return None


def model(path: Path) -> tuple[str, Path]:
    """(model, its folder): the folders between `result_en` and the file, so `org/name` stays together; else the
    parent."""
    parents = list(path.parents)
    for position, parent in enumerate(parents):
        if re.fullmatch(r"(?:result|score)_(?:en|zh)", parent.name) and position:
            return "/".join(reversed([p.name for p in parents[:position]])), parents[position - 1]
    return parents[0].name, parents[0]


def beside(folder: Path, kind: str, lang: str, name: str) -> Iterator[Path]:
    """Folders where the `score`s (or `result`s) of a model may lie, given its result folder, nearest first."""
    for root in list(folder.parents)[:4]:
        for place in (root / f"{kind}_all" / f"{kind}_{lang}", root / f"{kind}_{lang}", root / kind):
            for spelling in dict.fromkeys((name, name.replace("/", "_"))):
                if (place / spelling).is_dir():
                    yield place / spelling


def datasets(folder: Path, lang: str, given: Iterable[Path]) -> Iterator[Path]:
    """Folders `data_en` or `data_zh` that may hold the questions: those that were named first, then around the run."""
    for root in [*given, *list(folder.parents)[:4]]:
        for place in (root, root / f"data_{lang}", root / "data_all" / f"data_{lang}", root / "data" / f"data_{lang}"):
            other = LANGUAGE.search(place.name)
            if other and other[1] != lang:
                continue
            if (place / "possible_answer").is_dir() and any(place.glob("data_*_*.json")):
                yield place
