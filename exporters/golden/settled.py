"""Golden fixes that hold, each with its place in the dataset, and the files that change by them.

A fix counts if it is the adjudicator's, or the only one that was given and people do not differ on the item. It is
checked again before it counts: a fix from a file may be of another form than the benchmark's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.errata.entry import Entry, Evidence, question_hash, question_text
from fcreview.exporters.base import Label, Source
from fcreview.plan import GoldenFixed, NoPlace, Rewritten, RunPlan
from fcreview.rollup import DISPUTED
from fcreview.store.rows import ItemDetail, QueueRow, RunRow
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
class Files:
    """New contents by path."""

    dataset: dict[Path, bytes] = field(default_factory=dict)
    copies: dict[Path, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fix:
    """A golden answer that people settled, with what is known of the item."""

    detail: ItemDetail
    label: Label
    fixed: GoldenFixed
    rows: Sequence[QueueRow]
    """The item in every run of the dataset."""

    def entry(self) -> Entry:
        """As errata have it."""
        key = {name: self.label[name] for name in ("benchmark", "generation", "language", "category", "id")}
        messages = self.detail.item.messages
        return Entry(
            **key,
            question_hash=question_hash(messages),
            old=self.fixed.old,
            new=self.fixed.new,
            question=question_text(messages) or self.detail.item.question,
            reasons=tuple(reasons(self.label)),
            settled_by=tuple(settled_by(self.label)),
            decided_by=self.label["decided_by"],
            file=self.fixed.path.name,
            title=self.detail.run.kind,
            evidence=Evidence(
                len(self.rows),
                sum(_own(row) is True for row in self.rows),
                tuple(row.model for row in self.rows if _own(row) is False),
            ),
        )

    def as_json(self, root: Path) -> dict[str, Any]:
        """`{"benchmark", "generation", "language", "category", "id", "file", "old", "new", "decided_by", "settled_by",
        "reasons", "runs", "runs_passed"}`; `runs_passed` by the benchmark's own verdict."""
        key = {name: self.label[name] for name in ("benchmark", "generation", "language", "category", "id")}
        return key | {
            "file": self.fixed.path.relative_to(root).as_posix(),
            "old": self.fixed.old,
            "new": self.fixed.new,
            "decided_by": self.label["decided_by"],
            "settled_by": settled_by(self.label),
            "reasons": reasons(self.label),
            "runs": len(self.rows),
            "runs_passed": sum(_own(row) is True for row in self.rows),
        }


def _own(row: QueueRow) -> bool | None:
    return row.official if row.official is not None else row.rule


def settled_by(label: Label) -> list[str]:
    """Who gave the fix: the adjudicators, where they did."""
    same = [said for said in label["opinions"] if said["golden_fix"] == label["golden_fix"]]
    rulers = [said for said in same if said["act"] == "adjudicate"]
    return sorted({said["annotator"] for said in rulers or same})


def reasons(label: Label) -> list[str]:
    return [said["note"] for said in label["opinions"] if said["note"]]


@dataclass(slots=True)
class Settled:
    fixes: list[Fix] = field(default_factory=list)
    files: Files = field(default_factory=Files)


def settled(source: Source) -> Settled:
    """Of all items of the source. Tells what is left out."""
    found = Settled()
    for group in _groups(source):
        fixed = _regolden(source, group, found.files)
        found.fixes += [_told(source, group, each) for each in fixed.values()]
    return found


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


def _regolden(source: Source, group: _Group, files: Files) -> dict[Item, GoldenFixed]:
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


def _sort_in(plan: RunPlan, each: Rewritten, files: Files) -> None:
    copies = bool(plan.data) and each.path in plan.results
    (files.copies if copies else files.dataset)[each.path] = each.content


def _told(source: Source, group: _Group, fixed: GoldenFixed) -> Fix:
    category, name = fixed.item
    label = group.fixes[fixed.item]
    runs = {row.run for row in group.runs}
    rows = [row for row in source.store.rows(source.store.find(name)) if row.category == category and row.run in runs]
    item = next(row.item for row in rows if row.run == label["run"])
    return Fix(source.store.detail(item), label, fixed, rows)
