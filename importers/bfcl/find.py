"""Finding BFCL runs: results and scores of one model, wherever both folders lie, as one `RunPlan`.

A run is one model folder of result files of one generation. Its scores are looked for in the same folder and beside it
(`result/MODEL` - `score/MODEL`, `RUN/result` - `RUN/score`, `RUN/*.json` - `RUN/score`), on disk, also outside the path
that was opened; the other way round when scores were opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from fcreview.importers.bfcl import files as names
from fcreview.importers.bfcl.files import Kind, Named
from fcreview.importers.bfcl.locate import Categories, CategoryFiles, below, locate
from fcreview.importers.common.gather import is_text
from fcreview.importers.common.jsonl import head
from fcreview.model import ImportIssue, Run
from fcreview.plan import Found, RunPlan

NAME = "bfcl"
MAX_SIBLINGS = 500
_SUFFIXES = (".json", ".jsonl", ".csv")

ByFolder = dict[tuple[Path, str], list[Named]]
"""Model folder and generation -> its files."""


def find(files: Sequence[Path], data: Sequence[Path]) -> Found:
    """The BFCL runs among `files`, with their scores and datasets; files of BFCL that are not read are claimed."""
    peek = lru_cache(maxsize=None)(head)
    found = Found()
    results: ByFolder = {}
    scores: ByFolder = {}
    questions: dict[Path, None] = {}
    ignored: dict[tuple[Path, str], int] = {}
    for path in files:
        named = names.classify(path, peek) if path.suffix in _SUFFIXES else None
        if named is None:
            continue
        found.claimed.add(path)
        if named.kind == "ignored":
            if named.reason:
                place = (_ignored_folder(path), named.reason)
                ignored[place] = ignored.get(place, 0) + 1
        elif named.kind in ("result", "score"):
            group = results if named.kind == "result" else scores
            group.setdefault((names.model_folder(path), named.generation), []).append(named)
        elif named.kind == "question":
            questions[path.parent] = None
    for (folder, reason), count in ignored.items():
        files_word = "file" if count == 1 else "files"
        found.issues.append(
            ImportIssue(str(folder), None, f"not read: {count} {files_word}, {reason}", severity="notice")
        )
    asked = [folder for root in data for folder in below(root)]
    for plan in _plans(results, scores, peek):
        locate(plan, asked, list(questions), peek)
        found.claimed.update(plan.results, plan.scores)
        found.plans.append(plan)
    return found


def _ignored_folder(path: Path) -> Path:
    """One notice for a whole tree of memory snapshots, else one a folder."""
    for folder in path.parents:
        if folder.name == "memory_snapshot":
            return folder
    return path.parent


def _plans(results: ByFolder, scores: ByFolder, peek: Any) -> Iterator[RunPlan]:
    used: set[Path] = set()
    for (folder, generation), given in results.items():
        counterpart, issues = _counterpart(folder, generation, "score", given, peek)
        whole = {named.path for named in given} >= {n.path for n in _role_files(folder, generation, "result", peek)}
        if not whole:
            categories = {named.category for named in given}
            counterpart = [named for named in counterpart if named.category in categories]
        used.update(named.path for named in counterpart)
        yield _plan(folder if whole else _common(given), folder, generation, given, counterpart, issues)
    for (folder, generation), given in scores.items():
        if {named.path for named in given} <= used:
            continue
        counterpart, issues = _counterpart(folder, generation, "result", given, peek)
        on_disk = _role_files(folder, generation, "score", peek)
        whole = {named.path for named in given} >= {named.path for named in on_disk}
        if not whole:
            categories = {named.category for named in given}
            counterpart = [named for named in counterpart if named.category in categories]
        if counterpart and (names.model_folder(counterpart[0].path), generation) in results:
            yield from _left_over(folder, generation, given, used)
            continue
        model = names.model_folder(counterpart[0].path) if counterpart else folder
        place = model if whole else _common(counterpart or given)
        yield _plan(place, model, generation, counterpart, given, issues)


def _left_over(folder: Path, generation: str, given: list[Named], used: set[Path]) -> Iterator[RunPlan]:
    """Scores of a model whose results were paired with other scores."""
    rest = [named for named in given if named.path not in used]
    issue = ImportIssue(str(folder), None, "these scores were not joined: the results beside them have other scores")
    if len(rest) == len(given):
        yield _plan(folder, folder, generation, [], rest, [issue])


def _common(given: Sequence[Named]) -> Path:
    return given[0].path if len(given) == 1 else Path(os.path.commonpath([named.path for named in given]))


def _plan(
    place: Path, folder: Path, generation: str, results: list[Named], scores: list[Named], issues: list[ImportIssue]
) -> RunPlan:
    categories: Categories = {}
    for named in sorted([*results, *scores], key=lambda named: names.ORDER.get(named.category, len(names.ORDER))):
        parts = categories.setdefault(named.category, CategoryFiles())
        (parts.results if named.kind == "result" else parts.scores).append(named.path)
    run = Run(NAME, generation, "en", names.model_name(folder), str(place))
    sure = any(named.sure for named in [*results, *scores])
    reason = f"{len(results)} result and {len(scores)} score files named as BFCL {generation} names them"
    if not sure:
        reason = "file names and keys are like BFCL's, but no name states the version"
    plan = RunPlan(run, [n.path for n in results], [n.path for n in scores], confidence=1.0 if sure else 0.6,
                   reason=reason, issues=issues, private=categories)  # fmt: skip
    if generation not in names.GENERATIONS:
        what = f"BFCL {generation} is newer than this importer: read and checked by V4's rules"
        plan.issues.append(ImportIssue(str(place), None, what))
    return plan


def _counterpart(
    folder: Path, generation: str, role: Kind, given: Sequence[Named], peek: Any
) -> tuple[list[Named], list[ImportIssue]]:
    """The files of the other role that belong to a model folder: the best named folder that shares a category."""
    categories = {named.category for named in given}
    fits: list[tuple[tuple[int, int], Path, list[Named]]] = []
    for rank, candidate in _candidates(folder, role):
        there = _role_files(candidate, generation, role, peek)
        shared = len(categories & {named.category for named in there})
        if shared:
            fits.append(((rank, shared), candidate, there))
    if not fits:
        return [], []
    fits.sort(key=lambda fit: fit[0], reverse=True)
    best = [fit for fit in fits if fit[0] == fits[0][0]]
    issues = []
    if len(best) > 1:
        others = ", ".join(str(fit[1]) for fit in best[1:])
        what = f"several folders of {role} files fit: {best[0][1]} is taken, not {others}"
        issues.append(ImportIssue(str(folder), None, what))
    return best[0][2], issues


def _candidates(folder: Path, role: Kind) -> Iterator[tuple[int, Path]]:
    """(rank, folder) of places where the other role's files of a model may lie; a higher rank is surer."""
    yield 5, folder
    if names.is_outer(folder):
        for sibling in _folders(folder.parent):
            if sibling != folder and names.is_outer(sibling) and role in sibling.name.lower():
                yield 4 if _swapped(folder.name, sibling.name, role) else 3, sibling
    for inner in _folders(folder):
        if names.is_outer(inner) and role in inner.name.lower():
            yield 4, inner
            yield 4, inner / folder.name
    outer = folder.parent
    if names.is_outer(outer) and outer.name.lower().count(role) == 0:
        yield 2, outer.parent  # RUN/score/MODEL with RUN/*.json
    for sibling in _folders(outer.parent):
        if sibling != outer:
            rank = 4 if _swapped(outer.name, sibling.name, role) else 3 if role in sibling.name.lower() else 1
            yield rank, sibling / folder.name


def _swapped(name: str, sibling: str, role: Kind) -> bool:
    """`result-BFCL` and `score-BFCL`."""
    other = "score" if role == "result" else "result"
    return name.lower().replace(other, role) == sibling.lower()


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entry.name for entry in entries if _counts(entry) and entry.is_dir())
    except OSError:
        return []
    return [folder / name for name in found[:MAX_SIBLINGS]]


def _counts(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and is_text(entry.name)


def _role_files(folder: Path, generation: str, role: Kind, peek: Any, depth: int = 0) -> list[Named]:
    """The result or score files of a model folder, V4's group folders included."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted((entry.name, entry.is_dir()) for entry in entries if _counts(entry))
    except OSError:
        return []
    found = []
    for name, is_folder in listed:
        path = folder / name
        if is_folder:
            if name in names.GROUPS and depth < 4:
                found += _role_files(path, generation, role, peek, depth + 1)
        elif path.suffix in _SUFFIXES:
            named = names.classify(path, peek)
            if named is not None and named.kind == role and named.generation == generation:
                found.append(named)
    return found
