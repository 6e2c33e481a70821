"""Sort, group and search lists of runs, and shorten their names. These functions need no database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from fcreview.store.rows import RunRow

_DATE = re.compile(r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_IS_FILE = re.compile(r"\.(json|jsonl|ndjson|eval)$")
_WORDS = re.compile(r"[^_-]+[_-]*|[_-]+")
MAX_FILE_LABEL = 16  # If a file name has more characters, all file names are shortened.
_COMMON_FOLDERS = {"result", "score", "results", "scores"}  # names that do not distinguish runs


def find_run_date_or_folder(row: RunRow) -> str:
    """Return the date in the name of a folder above the run, such as `2024-07-24`. Without a date, return the name of
    the nearest folder that distinguishes runs."""
    parts = [part for part in re.split(r"[\\/]+", row.info.path) if part]
    parents = parts[:-1][::-1]
    for name in parents:
        if match := _DATE.search(name):
            return "-".join(match.groups())
    return next((name for name in parents if name not in _COMMON_FOLDERS), parents[0] if parents else "")


def shorten_file_names(rows: Iterable[RunRow]) -> dict[int, str]:
    """Return a short name of each run's file, by run number. Words at the start that all names share are removed. The
    name is empty if the run is a folder."""
    names = {row.run: PurePath(row.info.path).name for row in rows}
    names = {
        run: name.split(".json")[0].removesuffix(".eval") if _IS_FILE.search(name) else ""
        for run, name in names.items()
    }
    if max(map(len, names.values()), default=0) <= MAX_FILE_LABEL:
        return names
    parts = {run: _WORDS.findall(name) for run, name in names.items()}
    leading = [each[:-1] for each in parts.values() if each]
    n_common = next(
        (at for at, words in enumerate(zip(*leading, strict=False)) if len(set(words)) > 1), min(map(len, leading))
    )
    return {run: "".join(words[n_common:]) for run, words in parts.items()}


def build_run_names_with_files(rows: Sequence[RunRow]) -> dict[int, str]:
    """Return a name of each run, by run number: the model, and the file name if several runs have the same dataset and
    model."""
    groups: dict[tuple[str, str], list[RunRow]] = {}
    for row in rows:
        groups.setdefault((row.info.full_title, row.info.model), []).append(row)
    names: dict[int, str] = {}
    for (_, model), group in groups.items():
        labels = shorten_file_names(group) if len(group) > 1 else {}
        names |= {row.run: f"{model} · {labels[row.run]}" if labels.get(row.run) else model for row in group}
    return names


def _make_descending_rate_key(passed: int, known: int) -> tuple[bool, float]:
    return not known, -passed / known if known else 0.0


SortKey = Callable[[RunRow], Any]
SORT_KEYS: dict[str, SortKey] = {
    "run": lambda row: row.run,
    "model": lambda row: (row.info.model.lower(), row.run),
    "generation": lambda row: (row.info.benchmark, row.info.generation, row.info.language, row.run),
    "date": lambda row: (find_run_date_or_folder(row), row.run),
    "items": lambda row: -row.n_items,
    "official": lambda row: _make_descending_rate_key(row.official_pass, row.official_known),
    "rule": lambda row: _make_descending_rate_key(row.rule_pass, row.rule_known),
    "corrected": lambda row: _make_descending_rate_key(row.effective_pass, row.effective_known),
    "reviewed": lambda row: -row.reviewed,
    "yours": lambda row: -row.yours,
    "issues": lambda row: -row.n_issues,
}
RATE_ORDERS = ("official", "rule", "corrected")  # Sort orders by a pass rate. Some runs have no pass rate.
VERDICT_ORDERS = (*RATE_ORDERS, "reviewed", "issues")  # sort orders that blind mode does not allow
GROUP_LABELS: dict[str, Callable[[RunRow], str]] = {
    "model": lambda row: row.info.model,
    "generation": lambda row: row.info.full_title,
    "date": find_run_date_or_folder,
}


@dataclass(frozen=True, slots=True)
class RunGroup:
    """A group of runs under one heading of a list."""

    name: str  # heading; empty if the runs are not grouped
    runs: list[RunRow] = field(default_factory=list)


def _build_search_text(row: RunRow) -> str:
    info = row.info
    return " ".join((info.benchmark, info.generation, info.language, info.title, info.model, info.path)).lower()


def search_runs(runs: Iterable[RunRow], text: str) -> list[RunRow]:
    """Return the runs whose benchmark, version, language, title, model and path together contain every word of the
    text."""
    words = text.lower().split()
    return [row for row in runs if all(word in _build_search_text(row) for word in words)]


def sort_runs(runs: Iterable[RunRow], order: str, *, reverse: bool = False) -> list[RunRow]:
    """Sort runs by one of `SORT_KEYS`. Equal runs keep their order. Runs without a pass rate stay last, even in
    reverse."""
    key = SORT_KEYS[order]
    found = sorted(runs, key=key)
    if not reverse:
        return found
    unrated = [row for row in found if order in RATE_ORDERS and key(row)[0]]
    return [*reversed(found[: len(found) - len(unrated)]), *unrated]


def group_runs(runs: Sequence[RunRow], by: str) -> list[RunGroup]:
    """Group runs by one of `GROUP_LABELS`. Groups are in the order of their first runs. If `by` is empty, return one
    group."""
    if not by:
        return [RunGroup("", list(runs))]
    groups: dict[str, RunGroup] = {}
    for row in runs:
        name = GROUP_LABELS[by](row)
        groups.setdefault(name, RunGroup(name)).runs.append(row)
    return list(groups.values())
