"""Export corrected golden answers as a patch of the dataset, with a report for the benchmark's maintainers.

The folder contains `golden.patch` for the dataset, `run.patch` for copies of golden answers in run files,
`changed.jsonl` with one line per corrected answer, and `issue.md`, the report. Text from data is never markup in the
report.

A golden fix counts as resolved if an adjudicator gave it, or if it is the only fix and annotators do not disagree on
the item. Each fix is validated again, because a fix from an imported file may not have the form that the benchmark
requires.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from fcreview.errata import ErrataEntry, Evidence, hash_question, join_user_messages
from fcreview.exporters.base import ExportError, ExportSource, Label
from fcreview.exporters.report_pages import code_block, code_span, format_titled_block
from fcreview.model.address import ITEM
from fcreview.model.json_value import canonical_json
from fcreview.model.verdict import DISPUTED
from fcreview.model.wording import format_count
from fcreview.run_plan import AppliedGoldenFix, RunPlan, Unrepresentable
from fcreview.safe_files import read_file
from fcreview.store.rows import ItemDetail, QueueRow, RunRow

MAX_NAMED_MODELS = 12


def format_issue_report(entries: Sequence[ErrataEntry], *, patch: bool) -> str:
    """Return a Markdown report for the benchmark's maintainers. `patch` states whether a patch accompanies the
    report."""
    categories: dict[tuple[str, str], list[ErrataEntry]] = {}
    for entry in entries:
        categories.setdefault((entry.title or entry.benchmark, entry.category), []).append(entry)
    lines = ["# Golden answers that look wrong", ""]
    many = format_count(len(entries), "golden answer")
    lines += [f"{many} in {format_count(len(categories), 'category', 'categories')}, reviewed by hand."]
    advice = " Apply the patch to the dataset files." if patch else ""
    lines += [f"Each item has a corrected golden answer.{advice}", ""]
    for (kind, category), part in categories.items():
        lines += [f"## {code_span(kind)}: {code_span(category)} ({len(part)})", ""]
        for entry in part:
            lines += [*_format_issue_section(entry), ""]
    return "\n".join(lines)


def _format_issue_section(entry: ErrataEntry) -> Iterator[str]:
    yield f"### {code_span(entry.id)}"
    yield ""
    yield from format_titled_block("Question", code_block(entry.question))
    yield from format_titled_block("Current golden answer", code_block(_format_json(entry.old), "json"))
    yield from format_titled_block("Corrected golden answer", code_block(_format_json(entry.new), "json"))
    if entry.reasons:
        yield from format_titled_block("Reason", code_block("\n\n".join(entry.reasons)))
    decided_by = {"adjudication": "adjudicated", "majority": "most annotators agree"}
    how = decided_by.get(entry.decided_by, "all annotators agree")
    yield f"**Resolved**: {how}: {', '.join(map(code_span, entry.settled_by))}"
    yield ""
    seen, failed = entry.evidence, entry.evidence.failed
    more = f" and {len(failed) - MAX_NAMED_MODELS} more" if len(failed) > MAX_NAMED_MODELS else ""
    named = f"; failed: {', '.join(map(code_span, failed[:MAX_NAMED_MODELS]))}{more}" if failed else ""
    yield f"**Runs**: {seen.passed} of {seen.runs} pass with the current golden answer{named}"


def _format_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


ItemName = tuple[str, str]
DatasetKey = tuple[str, str, str, str]
"""(benchmark, version, language, folder) of a dataset. Runs with the same dataset have the same golden answers."""


@dataclass(slots=True)
class _DatasetRuns:
    runs: list[RunRow] = field(default_factory=list)
    plans: list[RunPlan] = field(default_factory=list)
    fixes: dict[ItemName, Label] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResolvedFix:
    detail: ItemDetail
    label: Label
    applied: AppliedGoldenFix
    rows: Sequence[QueueRow]

    @property
    def _key(self) -> dict[str, Any]:
        return {name: self.label[name] for name in ("benchmark", "generation", "language", "category", "id")}

    @property
    def _n_passed(self) -> int:
        return sum(_benchmark_verdict(row) is True for row in self.rows)

    def to_errata_entry(self) -> ErrataEntry:
        messages = self.detail.item.messages
        failed = tuple(row.model for row in self.rows if _benchmark_verdict(row) is False)
        return ErrataEntry(
            **self._key, question_hash=hash_question(messages), old=self.applied.old, new=self.applied.new,
            question=join_user_messages(messages) or self.detail.item.question,
            reasons=tuple(list_opinion_notes(self.label)), settled_by=tuple(list_fix_authors(self.label)),
            decided_by=self.label["decided_by"], file=self.applied.path.name, title=self.detail.run.full_title,
            evidence=Evidence(len(self.rows), self._n_passed, failed),
        )  # fmt: skip

    def as_json(self, root: Path) -> dict[str, Any]:
        return self._key | {
            "file": self.applied.path.relative_to(root).as_posix(), "old": self.applied.old, "new": self.applied.new,
            "decided_by": self.label["decided_by"], "settled_by": list_fix_authors(self.label),
            "reasons": list_opinion_notes(self.label), "runs": len(self.rows), "runs_passed": self._n_passed,
        }  # fmt: skip


def _benchmark_verdict(row: QueueRow) -> bool | None:
    return row.official if row.official is not None else row.rule


def list_fix_authors(label: Label) -> list[str]:
    """Return the adjudicators who gave the label's fix. If no adjudicator gave it, return the annotators who did."""
    same = [opinion for opinion in label["opinions"] if opinion["golden_fix"] == label["golden_fix"]]
    rulers = [opinion for opinion in same if opinion["act"] == "adjudicate"]
    return sorted({opinion["annotator"] for opinion in rulers or same})


def list_opinion_notes(label: Label) -> list[str]:
    return [opinion["note"] for opinion in label["opinions"] if opinion["note"]]


@dataclass(slots=True)
class ResolvedFixes:
    fixes: list[ResolvedFix] = field(default_factory=list)
    dataset: dict[Path, bytes] = field(default_factory=dict)
    """Path -> new content of a dataset file."""
    copies: dict[Path, bytes] = field(default_factory=dict)
    """Path -> new content of a run file that contains copies of golden answers."""


def collect_resolved_fixes(source: ExportSource) -> ResolvedFixes:
    """Collect the resolved fixes of all items and rewrite the files. Prints a message about each rejected fix."""
    found = ResolvedFixes()
    for group in _group_fixes(source):
        found.fixes += [_build_resolved_fix(source, group, each) for each in _rewrite_golden(source, group, found)]
    return found


def _group_fixes(source: ExportSource) -> list[_DatasetRuns]:
    groups: dict[DatasetKey, _DatasetRuns] = {}
    of_run: dict[int, _DatasetRuns] = {}
    for row in source.runs:
        info, plan = row.info, source.benchmarks.find_plan(row.info)
        place = info.dataset if plan.data and info.dataset else info.path
        group = groups.setdefault((info.benchmark, info.generation, info.language, place), _DatasetRuns())
        group.runs.append(row)
        group.plans.append(plan)
        of_run[row.run] = group
    refused: dict[str, int] = {}
    for label in (label for chunk in source.labels() for label in chunk):
        if not any(opinion["golden_fix"] for opinion in label["opinions"]):
            continue
        group, item = of_run[label["run"]], (label["category"], label["id"])
        why = _find_rejection_reason(source, label)
        if why is None and group.fixes.get(item, label)["golden_fix"] != label["golden_fix"]:
            why = f"{label['id']}: two runs have different fixes"
        if why:
            refused[why] = refused.get(why, 0) + 1
        else:
            group.fixes.setdefault(item, label)
    for why, count in refused.items():
        source.benchmarks.print_message(f"{format_count(count, 'golden fix', 'golden fixes')} rejected: {why}")
    return [group for group in groups.values() if group.fixes]


def _find_rejection_reason(source: ExportSource, label: Label) -> str | None:
    fix = label["golden_fix"]
    if label["target"] != ITEM:
        return "recorded for a part of the item, not for the item"
    if all(opinion["stale"] for opinion in label["opinions"] if opinion["golden_fix"]):
        return "stale: the answer changed after the review"
    if label["decided_by"] == DISPUTED or fix is None:
        return "annotators disagree"
    (item,) = source.store.find_items(label["id"], label["run"])[:1]
    detail = source.store.read_detail(item)
    problem = source.benchmarks.golden_problem(detail.run, detail.item, fix)
    return f"{label['id']}: {problem}" if problem else None


def _rewrite_golden(source: ExportSource, group: _DatasetRuns, files: ResolvedFixes) -> Iterable[AppliedGoldenFix]:
    """Add the corrected dataset files to `files`. All runs of the group get all of its fixes, because they may share a
    file."""
    found: dict[ItemName, AppliedGoldenFix] = {}
    for row, plan in zip(group.runs, group.plans, strict=True):
        own = {each["category"] for each in row.categories}
        fixes = {item: label["golden_fix"] for item, label in group.fixes.items() if item[0] in own}
        for each in source.benchmarks.rewrite_golden(plan, fixes):
            if isinstance(each, AppliedGoldenFix):
                if canonical_json(each.old) != canonical_json(each.new):
                    found.setdefault(each.item, each)
            elif isinstance(each, Unrepresentable):
                source.benchmarks.print_message(
                    f"{row.info.full_title}, {row.info.model}: {each.description} ({each.count:,})"
                )
            else:
                is_copy = bool(plan.data) and each.path in plan.results
                (files.copies if is_copy else files.dataset)[each.path] = each.content
    return found.values()


def _build_resolved_fix(source: ExportSource, group: _DatasetRuns, fixed: AppliedGoldenFix) -> ResolvedFix:
    category, name = fixed.item
    label, runs = group.fixes[fixed.item], {row.run for row in group.runs}
    rows = source.store.fetch_rows(source.store.find_items(name))
    rows = [row for row in rows if row.category == category and row.run in runs]
    item = next(row.item for row in rows if row.run == label["run"])
    return ResolvedFix(source.store.read_detail(item), label, fixed, rows)


CONTEXT_LINES = 3
SYNC_LINES = 4
"""Number of consecutive equal lines after which a change ends."""
NO_NEWLINE_MARK = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """A change: lines `new_start` to `new_end` of the new file replace lines `start` to `end` of the old file. Lines
    count from 0, and the end line is exclusive."""

    start: int
    end: int
    new_start: int
    new_end: int


def unified_diff(name: str, old: bytes, new: bytes) -> bytes:
    """Return a unified diff for `git apply` and `patch -p1`, or nothing for equal contents. Lines are not decoded, and
    only line feeds end a line. `name` is a path with `/`."""
    before, after = _split_lines(old), _split_lines(new)
    changes = list(_find_changes(before, after))
    if not changes:
        return b""
    ours, theirs = _quote_name(f"a/{name}"), _quote_name(f"b/{name}")
    end = "\t" if " " in name else ""  # `patch` needs a tab to find the end of a name with spaces.
    head = f"diff --git {ours} {theirs}\n--- {ours}{end}\n+++ {theirs}{end}\n"
    return head.encode("utf-8", "surrogateescape") + b"".join(
        _format_hunk(group, before, after) for group in _group_changes(changes)
    )


def _quote_name(name: str) -> str:
    if not any(char in '"\\' or ord(char) < 32 or ord(char) == 127 for char in name):
        return name
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(f"\\{ord(char):03o}" if ord(char) < 32 or ord(char) == 127 else char for char in plain) + '"'


def _split_lines(raw: bytes) -> list[bytes]:
    *lines, last = raw.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _find_changes(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[ChangedLines]:
    at, there = 0, 0
    while at < len(old) or there < len(new):
        if at < len(old) and there < len(new) and old[at] == new[there]:
            at, there = at + 1, there + 1
            continue
        end, new_end = _find_next_equal_lines(old, new, at, there)
        yield ChangedLines(at, end, there, new_end)
        at, there = end, new_end


def _find_next_equal_lines(old: Sequence[bytes], new: Sequence[bytes], at: int, there: int) -> tuple[int, int]:
    """Return the positions (old, new) where both files continue with equal lines."""
    if len(old) == len(new) and at == there:
        end = at
        while end < len(old) and old[end] != new[end]:
            end += 1
        return end, end
    for distance in range(1, len(old) - at + len(new) - there + 1):
        for gone in range(max(0, distance - (len(new) - there)), min(distance, len(old) - at) + 1):
            ours = old[at + gone : at + gone + SYNC_LINES]
            theirs = new[there + distance - gone : there + distance - gone + SYNC_LINES]
            if ours == theirs:
                return at + gone, there + distance - gone
    return len(old), len(new)


def _group_changes(changes: Sequence[ChangedLines]) -> Iterator[list[ChangedLines]]:
    group: list[ChangedLines] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(change)
    yield group


def _format_hunk(group: Sequence[ChangedLines], old: Sequence[bytes], new: Sequence[bytes]) -> bytes:
    first, last = group[0], group[-1]
    lead = min(CONTEXT_LINES, first.start)
    start, end = first.start - lead, min(len(old), last.end + CONTEXT_LINES)
    new_start, new_end = first.new_start - lead, last.new_end + end - last.end
    body: list[bytes] = []
    at = start
    for change in group:
        body += [b" " + line for line in old[at : change.start]]
        body += [b"-" + line for line in old[change.start : change.end]]
        body += [b"+" + line for line in new[change.new_start : change.new_end]]
        at = change.end
    body += [b" " + line for line in old[at:end]]
    head = f"@@ -{_format_range(start, end)} +{_format_range(new_start, new_end)} @@\n".encode()
    return head + b"".join(line if line.endswith(b"\n") else line + b"\n" + NO_NEWLINE_MARK for line in body)


def _format_range(start: int, end: int) -> str:
    """Format a line range for a diff header. An empty range is written as the line before it."""
    return f"{start + (end > start)},{end - start}"


def write(source: ExportSource, folder: Path) -> None:
    """Write the export. Raises ExportError if there is no resolved fix."""
    found = collect_resolved_fixes(source)
    fixes = found.fixes
    if not fixes:
        raise ExportError("no agreed golden fix to export. Record one with fcreview label --golden-fix, or adjudicate.")
    root = _write_patch(folder / "golden.patch", found.dataset)
    if found.copies:
        run_root = _write_patch(folder / "run.patch", found.copies)
        source.benchmarks.print_message(
            f"run.patch corrects the golden answers in the run files; apply it in {run_root}"
        )
    lines = (orjson.dumps(each.as_json(root), option=orjson.OPT_APPEND_NEWLINE) for each in fixes)
    (folder / "changed.jsonl").write_bytes(b"".join(lines))
    (folder / "issue.md").write_text(
        format_issue_report([each.to_errata_entry() for each in fixes], patch=True), "utf-8"
    )
    source.benchmarks.print_message(f"apply golden.patch in {root} with git apply or patch -p1")
    source.counts = {"golden answer": len(fixes), "dataset file": len(found.dataset)}


def _write_patch(path: Path, contents: dict[Path, bytes]) -> Path:
    folders = [each.parent.parent if each.parent.name == "possible_answer" else each.parent for each in contents]
    root = Path(os.path.commonpath(folders))
    files = sorted(contents.items())
    path.write_bytes(
        b"".join(unified_diff(each.relative_to(root).as_posix(), read_file(each), new) for each, new in files)
    )
    return root
