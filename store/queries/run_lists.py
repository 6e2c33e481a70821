"""Lists of runs: in which order, in which groups, and which of them words select. Pure; for screens and commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.store.rows import RunRow

_DATE = re.compile(r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_OURS = {"result", "score", "results", "scores"}
"""Folders that every archive of results has: they tell no run from another."""


def folder_label(row: RunRow) -> str:
    """The date in the name of a folder above the run (`2024-07-24`), else the folder that holds it."""
    parts = [part for part in re.split(r"[\\/]+", row.info.path) if part]
    above = parts[:-1]
    for part in reversed(above):
        if found := _DATE.search(part):
            return "-".join(found.groups())
    return next((part for part in reversed(above) if part not in _OURS), above[-1] if above else "")


def _falling(passed: int, known: int) -> tuple[bool, float]:
    """By rate, highest first; what has none comes last."""
    return not known, -passed / known if known else 0.0


SortKey = Callable[[RunRow], Any]
SORT_KEYS: dict[str, SortKey] = {
    "run": lambda row: row.run,
    "model": lambda row: (row.info.model.lower(), row.run),
    "generation": lambda row: (row.info.benchmark, row.info.generation, row.info.language, row.run),
    "date": lambda row: (folder_label(row), row.run),
    "items": lambda row: -row.n_items,
    "official": lambda row: _falling(row.official_pass, row.official_known),
    "rule": lambda row: _falling(row.rule_pass, row.rule_known),
    "corrected": lambda row: _falling(row.effective_pass, row.effective_known),
    "reviewed": lambda row: -row.reviewed,
    "yours": lambda row: -row.yours,
    "issues": lambda row: -row.n_issues,
}
"""Numbers: highest first."""
RATE_ORDERS = ("official", "rule", "corrected")
VERDICT_ORDERS = (*RATE_ORDERS, "reviewed", "issues")
"""Orders that say what others found."""
GROUP_LABELS: dict[str, Callable[[RunRow], str]] = {
    "model": lambda row: row.info.model,
    "generation": lambda row: row.info.full_title,
    "date": folder_label,
}


@dataclass(frozen=True, slots=True)
class RunGroup:
    name: str
    """Empty where runs are not grouped."""
    runs: list[RunRow] = field(default_factory=list)


def search_text(row: RunRow) -> str:
    """What `matching` looks into."""
    info = row.info
    return " ".join((info.benchmark, info.generation, info.language, info.title, info.model, info.path)).lower()


def search_runs(runs: Iterable[RunRow], text: str) -> list[RunRow]:
    """Those that have every word of the text in benchmark, generation, language, model or path."""
    parts = text.lower().split()
    return [row for row in runs if all(part in search_text(row) for part in parts)]


def sort_runs(runs: Iterable[RunRow], order: str, *, reverse: bool = False) -> list[RunRow]:
    """What is equal stays as it was; reversed, what has no rate is still last."""
    key = SORT_KEYS[order]
    found = sorted(runs, key=key)
    if not reverse:
        return found
    without = [order in RATE_ORDERS and key(row)[0] for row in found]
    rated = [row for row, none in zip(found, without, strict=True) if not none]
    return [*reversed(rated), *(row for row, none in zip(found, without, strict=True) if none)]


def group_runs(runs: Sequence[RunRow], by: str) -> list[RunGroup]:
    """In the order of their first runs; `by` empty: one group."""
    if not by:
        return [RunGroup("", list(runs))]
    groups: dict[str, RunGroup] = {}
    for row in runs:
        name = GROUP_LABELS[by](row)
        groups.setdefault(name, RunGroup(name)).runs.append(row)
    return list(groups.values())
