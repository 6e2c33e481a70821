"""A folder with what people say golden answers should be: `golden.patch` for the dataset, `run.patch` for copies of
golden answers that runs hold, `changed.jsonl` with a line for each answer, and `issue.md`, a text for upstream.

A fix counts if it is the adjudicator's, or the only one that was given and people do not differ on the item. It is
checked again before it is written: a fix from a file may be of another form than the benchmark's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from fcreview.exporters.base import ExportError, Label, Source
from fcreview.exporters.golden.issue import Fix, issue_text
from fcreview.exporters.golden.unified import unified
from fcreview.plan import GoldenFixed, NoPlace, Rewritten, RunPlan
from fcreview.rollup import DISPUTED
from fcreview.store.rows import RunRow
from fcreview.targets import ITEM
from fcreview.text.words import count_of

Item = tuple[str, str]
"""(category, id)"""
Dataset = tuple[str, str, str, str]
"""(benchmark, generation, language, folder): runs of one share golden answers."""


@dataclass(slots=True)
class _Group:
    """Runs of one dataset."""

    runs: list[RunRow] = field(default_factory=list)
    plans: list[RunPlan] = field(default_factory=list)
    fixes: dict[Item, Label] = field(default_factory=dict)
    """The label whose fix it is."""


@dataclass(slots=True)
class _Files:
    """New contents by path."""

    dataset: dict[Path, bytes] = field(default_factory=dict)
    copies: dict[Path, bytes] = field(default_factory=dict)


def write(source: Source, folder: Path) -> None:
    """ExportError if no fix is settled."""
    groups = _groups(source)
    files, fixes = _Files(), list[Fix]()
    for group in groups:
        fixed = _regolden(source, group, files)
        fixes += [_told(source, group, each) for each in fixed.values()]
    if not fixes:
        raise ExportError("no golden fix is settled: give one with fcreview label --golden-fix")
    root = _root(files.dataset)
    _patch(folder / "golden.patch", root, files.dataset)
    if files.copies:
        _patch(folder / "run.patch", _root(files.copies), files.copies)
        source.benchmarks.tell(f"run.patch is for the runs' own copies of golden answers, in {_root(files.copies)}")
    lines = (orjson.dumps(each.as_json(root), option=orjson.OPT_APPEND_NEWLINE) for each in fixes)
    (folder / "changed.jsonl").write_bytes(b"".join(lines))
    (folder / "issue.md").write_text(issue_text(fixes), "utf-8")
    source.benchmarks.tell(f"golden.patch is for {root}: git apply or patch -p1 there")
    source.counts = {"golden answer": len(fixes), "dataset file": len(files.dataset)}


def _groups(source: Source) -> list[_Group]:
    """With the fixes that hold; tells how many do not."""
    groups: dict[Dataset, _Group] = {}
    of_run: dict[int, _Group] = {}
    for row in source.runs:
        info, plan = row.info, source.benchmarks.plan(row.info)
        place = info.dataset if plan.data and info.dataset else info.path
        group = groups.setdefault((info.benchmark, info.generation, info.language, place), _Group())
        group.runs.append(row)
        group.plans.append(plan)
        of_run[row.run] = group
    refused: dict[str, int] = {}
    for label in (label for chunk in source.labels() for label in chunk):
        if not any(said["golden_fix"] for said in label["opinions"]):
            continue
        group, item = of_run[label["run"]], (label["category"], label["id"])
        why = _refused(source, label) or _against(group.fixes.get(item), label)
        if why:
            refused[why] = refused.get(why, 0) + 1
        else:
            group.fixes.setdefault(item, label)
    for why, count in refused.items():
        source.benchmarks.tell(f"{count_of(count, 'golden fix', 'golden fixes')} left out: {why}")
    return [group for group in groups.values() if group.fixes]


def _refused(source: Source, label: Label) -> str | None:
    """Why a label's fix is not written."""
    fix = label["golden_fix"]
    if label["target"] != ITEM:
        return "said of a part, not of the item"
    if all(said["stale"] for said in label["opinions"] if said["golden_fix"]):
        return "said of an earlier answer"
    if label["decided_by"] == DISPUTED or fix is None:
        return "people differ"
    (item,) = source.store.find(label["id"], label["run"])[:1]
    detail = source.store.detail(item)
    problem = source.benchmarks.golden_problem(detail.run, detail.item, fix)
    return f"{label['id']}: {problem}" if problem else None


def _against(before: Label | None, label: Label) -> str | None:
    differs = before is not None and before["golden_fix"] != label["golden_fix"]
    return f"{label['id']}: two runs say different things" if differs else None


def _regolden(source: Source, group: _Group, files: _Files) -> dict[Item, GoldenFixed]:
    """Puts the new contents into `files`. Every run is asked with all of the group's fixes, so that files they share
    come out the same."""
    found: dict[Item, GoldenFixed] = {}
    for row, plan in zip(group.runs, group.plans, strict=True):
        own = {each["category"] for each in row.categories}
        fixes = {item: label["golden_fix"] for item, label in group.fixes.items() if item[0] in own}
        for each in source.benchmarks.regolden(plan, fixes):
            if isinstance(each, GoldenFixed):
                found.setdefault(each.item, each)
            elif isinstance(each, NoPlace):
                source.benchmarks.tell(f"{row.info.kind}, {row.info.model}: {each.what} ({each.count:,})")
            else:
                _sort_in(plan, each, files)
    return found


def _sort_in(plan: RunPlan, each: Rewritten, files: _Files) -> None:
    copies = bool(plan.data) and each.path in plan.results
    (files.copies if copies else files.dataset)[each.path] = each.content


def _told(source: Source, group: _Group, fixed: GoldenFixed) -> Fix:
    category, name = fixed.item
    label = group.fixes[fixed.item]
    runs = {row.run for row in group.runs}
    rows = [row for row in source.store.rows(source.store.find(name)) if row.category == category and row.run in runs]
    item = next(row.item for row in rows if row.run == label["run"])
    return Fix(source.store.detail(item), label, fixed, rows)


def _root(paths: Iterable[Path]) -> Path:
    """The folder that patches are applied in: above `possible_answer`, which every dataset that has it calls so."""
    folders = [path.parent.parent if path.parent.name == "possible_answer" else path.parent for path in paths]
    return Path(os.path.commonpath([os.fspath(folder) for folder in folders]))


def _patch(path: Path, root: Path, contents: dict[Path, bytes]) -> None:
    parts = [
        unified(each.relative_to(root).as_posix(), each.read_bytes(), new) for each, new in sorted(contents.items())
    ]
    path.write_bytes(b"".join(parts))
