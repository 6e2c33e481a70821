"""Golden fixes: a patch of the dataset, and a text for upstream.

A text for a benchmark's maintainers: wrong golden answers by category, each with question, old and new answer,
reason, who settled it, and what the runs here make of it. Markdown, in which nothing that comes from data is read as
markup.

Golden fixes that hold, each with its place in the dataset, and the files that change by them.

A fix counts if it is the adjudicator's, or the only one that was given and people do not differ on the item. It is
checked again before it counts: a fix from a file may be of another form than the benchmark's.

Unified diffs of files that differ in a few places, as `git apply` and `patch -p1` take them. Bytes are bytes: no
line is decoded, and only line feeds part lines.

A folder with what people say golden answers should be: `golden.patch` for the dataset, `run.patch` for copies of
golden answers that runs hold, `changed.jsonl` with a line for each answer, and `issue.md`, a text for upstream.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from fcreview.corrections.erratum import ErrataEntry, Evidence, hash_question, join_user_messages
from fcreview.exporters.base import ExportError, Label, Source
from fcreview.exporters.report.markdown import block, code, titled
from fcreview.model.address import ITEM
from fcreview.model.verdict import DISPUTED
from fcreview.model.wording import format_count
from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan
from fcreview.safe_files import read_file
from fcreview.store.rows import ItemDetail, QueueRow, RunRow

MODELS = 12
"""Models that are named."""


def issue_text(entries: Sequence[ErrataEntry], *, patch: bool) -> str:
    """`patch`: a patch of the dataset's files goes with it."""
    categories: dict[tuple[str, str], list[ErrataEntry]] = {}
    for entry in entries:
        categories.setdefault((entry.title or entry.benchmark, entry.category), []).append(entry)
    lines = ["# Golden answers that look wrong", ""]
    many = format_count(len(entries), "golden answer")
    lines += [f"{many} in {format_count(len(categories), 'category', 'categories')}, reviewed by hand."]
    lines += ["Each has a correction; the patch applies to the dataset's files." if patch else "Each has a correction."]
    lines += [""]
    for (kind, category), part in categories.items():
        lines += [f"## {code(kind)}: {code(category)} ({len(part)})", ""]
        for entry in part:
            lines += [*_section(entry), ""]
    return "\n".join(lines)


def _section(entry: ErrataEntry) -> Iterator[str]:
    yield f"### {code(entry.id)}"
    yield ""
    yield from titled("Question", block(entry.question))
    yield from titled("Golden answer now", block(_json(entry.old), "json"))
    yield from titled("Should be", block(_json(entry.new), "json"))
    if entry.reasons:
        yield from titled("Reason", block("\n\n".join(entry.reasons)))
    how = "settled by an adjudicator" if entry.decided_by == "adjudication" else "all who reviewed it agree"
    if entry.decided_by == "majority":
        how = "more than half of those who reviewed it agree"
    yield f"**Settled**: {how}: {', '.join(map(code, entry.settled_by))}"
    yield ""
    seen, failed = entry.evidence, entry.evidence.failed
    named = ", ".join(map(code, failed[:MODELS])) + (
        f" and {len(failed) - MODELS} more" if len(failed) > MODELS else ""
    )
    yield f"**Runs**: {seen.passed} of {seen.runs} pass now" + (f"; failed: {named}" if failed else "")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


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
    fixed: AppliedGoldenFix
    rows: Sequence[QueueRow]
    """The item in every run of the dataset."""

    def entry(self) -> ErrataEntry:
        """As errata have it."""
        key = {name: self.label[name] for name in ("benchmark", "generation", "language", "category", "id")}
        messages = self.detail.item.messages
        return ErrataEntry(
            **key,
            question_hash=hash_question(messages),
            old=self.fixed.old,
            new=self.fixed.new,
            question=join_user_messages(messages) or self.detail.item.question,
            reasons=tuple(reasons(self.label)),
            settled_by=tuple(settled_by(self.label)),
            decided_by=self.label["decided_by"],
            file=self.fixed.path.name,
            title=self.detail.run.full_title,
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
        fixed = _rewrite_golden(source, group, found.files)
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
        source.benchmarks.tell(f"{format_count(count, 'golden fix', 'golden fixes')} left out: {why}")
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
    (item,) = source.store.find_items(label["id"], label["run"])[:1]
    detail = source.store.read_detail(item)
    problem = source.benchmarks.golden_problem(detail.run, detail.item, fix)
    return f"{label['id']}: {problem}" if problem else None


def _against(before: Label | None, label: Label) -> str | None:
    differs = before is not None and before["golden_fix"] != label["golden_fix"]
    return f"{label['id']}: two runs say different things" if differs else None


def _rewrite_golden(source: Source, group: _Group, files: Files) -> dict[Item, AppliedGoldenFix]:
    """Puts the new contents into `files`. Every run is asked with all of the group's fixes, so that files they share
    come out the same."""
    found: dict[Item, AppliedGoldenFix] = {}
    for row, plan in zip(group.runs, group.plans, strict=True):
        own = {each["category"] for each in row.categories}
        fixes = {item: label["golden_fix"] for item, label in group.fixes.items() if item[0] in own}
        for each in source.benchmarks.rewrite_golden(plan, fixes):
            if isinstance(each, AppliedGoldenFix):
                found.setdefault(each.item, each)
            elif isinstance(each, Unrepresentable):
                source.benchmarks.tell(f"{row.info.full_title}, {row.info.model}: {each.description} ({each.count:,})")
            else:
                _sort_in(plan, each, files)
    return found


def _sort_in(plan: RunPlan, each: RewrittenFile, files: Files) -> None:
    copies = bool(plan.data) and each.path in plan.results
    (files.copies if copies else files.dataset)[each.path] = each.content


def _told(source: Source, group: _Group, fixed: AppliedGoldenFix) -> Fix:
    category, name = fixed.item
    label = group.fixes[fixed.item]
    runs = {row.run for row in group.runs}
    rows = [row for row in source.store.fetch_rows(source.store.find_items(name)) if row.category == category and row.run in runs]
    item = next(row.item for row in rows if row.run == label["run"])
    return Fix(source.store.read_detail(item), label, fixed, rows)


CONTEXT = 3
SURE = 4
"""Equal lines after which two files are taken to be in step again."""
NO_END = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `start` to `end` of the old file (from 0, `end` not among them) are those of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def unified(name: str, old: bytes, new: bytes) -> bytes:
    """The diff of `name`, which uses `/`; nothing if they are the same."""
    before, after = _lines(old), _lines(new)
    changes = list(_changes(before, after))
    if not changes:
        return b""
    ours, theirs = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    head = f"diff --git {ours} {theirs}\n--- {ours}{_tab(ours)}\n+++ {theirs}{_tab(theirs)}\n"
    return head.encode("utf-8", "surrogateescape") + b"".join(
        _hunk(group, before, after) for group in _unified_groups(changes)
    )


def _quoted(name: str) -> str:
    """As git writes names: with escapes where there are marks or bytes that would end the name."""
    if not any(char in '"\\' or ord(char) < 32 or ord(char) == 127 for char in name):
        return name
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(f"\\{ord(char):03o}" if ord(char) < 32 or ord(char) == 127 else char for char in plain) + '"'


def _tab(name: str) -> str:
    """Behind a name with blanks, so that `patch` sees where it ends."""
    return "\t" if " " in name else ""


def _lines(raw: bytes) -> list[bytes]:
    """With their line feeds; the last may have none."""
    parts = raw.split(b"\n")
    last = parts.pop()
    return [part + b"\n" for part in parts] + ([last] if last else [])


def _changes(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Change]:
    at, there = 0, 0
    while at < len(old) or there < len(new):
        if at < len(old) and there < len(new) and old[at] == new[there]:
            at, there = at + 1, there + 1
            continue
        end, new_end = _in_step(old, new, at, there)
        yield Change(at, end, there, new_end)
        at, there = end, new_end


def _in_step(old: Sequence[bytes], new: Sequence[bytes], at: int, there: int) -> tuple[int, int]:
    """The nearest lines after a difference from which on both go alike. Files of as many lines differ line by line."""
    if len(old) == len(new) and at == there:
        end = at
        while end < len(old) and old[end] != new[end]:
            end += 1
        return end, end
    for distance in range(1, len(old) - at + len(new) - there + 1):
        for gone in range(max(0, distance - (len(new) - there)), min(distance, len(old) - at) + 1):
            ours = old[at + gone : at + gone + SURE]
            theirs = new[there + distance - gone : there + distance - gone + SURE]
            if ours == theirs:
                return at + gone, there + distance - gone
    return len(old), len(new)


def _unified_groups(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes whose context would overlap stand in one hunk."""
    group: list[Change] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    yield group


def _hunk(group: Sequence[Change], old: Sequence[bytes], new: Sequence[bytes]) -> bytes:
    first, last = group[0], group[-1]
    lead = min(CONTEXT, first.start)
    start, end = first.start - lead, min(len(old), last.end + CONTEXT)
    new_start, new_end = first.new_start - lead, last.new_end + end - last.end
    body: list[bytes] = []
    at = start
    for change in group:
        body += [b" " + line for line in old[at : change.start]]
        body += [b"-" + line for line in old[change.start : change.end]]
        body += [b"+" + line for line in new[change.new_start : change.new_end]]
        at = change.end
    body += [b" " + line for line in old[at:end]]
    head = f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@\n".encode()
    return head + b"".join(line if line.endswith(b"\n") else line + b"\n" + NO_END for line in body)


def _range(start: int, end: int) -> str:
    """As diff counts: from 1, the line before if there are none."""
    return f"{start + (end > start)},{end - start}"


def write(source: Source, folder: Path) -> None:
    """ExportError if no fix is settled."""
    found = settled(source)
    files, fixes = found.files, found.fixes
    if not fixes:
        raise ExportError("no golden fix is settled: give one with fcreview label --golden-fix")
    root = _root(files.dataset)
    _patch(folder / "golden.patch", root, files.dataset)
    if files.copies:
        _patch(folder / "run.patch", _root(files.copies), files.copies)
        source.benchmarks.tell(f"run.patch is for the runs' own copies of golden answers, in {_root(files.copies)}")
    lines = (orjson.dumps(each.as_json(root), option=orjson.OPT_APPEND_NEWLINE) for each in fixes)
    (folder / "changed.jsonl").write_bytes(b"".join(lines))
    (folder / "issue.md").write_text(issue_text([each.entry() for each in fixes], patch=True), "utf-8")
    source.benchmarks.tell(f"golden.patch is for {root}: git apply or patch -p1 there")
    source.counts = {"golden answer": len(fixes), "dataset file": len(files.dataset)}


def _root(paths: Iterable[Path]) -> Path:
    """The folder that patches are applied in: above `possible_answer`, which every dataset that has it calls so."""
    folders = [path.parent.parent if path.parent.name == "possible_answer" else path.parent for path in paths]
    return Path(os.path.commonpath([os.fspath(folder) for folder in folders]))


def _patch(path: Path, root: Path, contents: dict[Path, bytes]) -> None:
    parts = [unified(each.relative_to(root).as_posix(), read_file(each), new) for each, new in sorted(contents.items())]
    path.write_bytes(b"".join(parts))
