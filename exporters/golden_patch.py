"""Export corrected golden answers as a patch of the dataset, with a report for the benchmark's
maintainers.

The folder contains `golden.patch` for the dataset, `run.patch` for run files with copies of golden
answers, `changed.jsonl` with one line per corrected answer, and the report `issue.md`. The report
escapes all text from data, so that it cannot contain Markdown markup.

A golden fix is resolved if an adjudicator recorded it, or if it is the only fix and annotators do
not disagree on the item. The export validates each fix again, because a fix from an imported file
may not have the form that the benchmark requires.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import diff_bytes, unified_diff
from pathlib import Path
from typing import Any

import orjson

from fcreview.errata import ErrataEntry, Evidence, hash_question, join_user_messages
from fcreview.exporters.base import ExportError, ExportSource, Label
from fcreview.exporters.report_pages import format_code_block, format_code_span, format_titled_block
from fcreview.model.address import ITEM
from fcreview.model.effective_verdict import DISPUTED
from fcreview.model.json_value import canonical_json
from fcreview.model.wording import format_count
from fcreview.run_plan import AppliedGoldenFix, RunPlan, Unrepresentable
from fcreview.safe_files import read_file
from fcreview.store.rows import ItemDetail, QueueRow, RunRow

MAX_NAMED_MODELS = 12


def format_issue_report(entries: Sequence[ErrataEntry], *, has_patch: bool) -> str:
    """Return a Markdown report on golden answers for the benchmark's maintainers. With `has_patch`,
    it asks them to apply the patch.
    """
    categories: dict[tuple[str, str], list[ErrataEntry]] = {}
    for entry in entries:
        categories.setdefault((entry.title or entry.benchmark, entry.category), []).append(entry)
    lines = ["# Golden answers to correct", ""]
    many = format_count(len(entries), "golden answer")
    lines += [
        f"Annotators corrected {many} in {format_count(len(categories), 'category', 'categories')}."
    ]
    advice = " Apply the patch to the dataset files." if has_patch else ""
    lines += [f"Each section below shows the current and the corrected answer.{advice}", ""]
    for (kind, category), part in categories.items():
        lines += [f"## {format_code_span(kind)}: {format_code_span(category)} ({len(part)})", ""]
        for entry in part:
            lines += [*_format_issue_section(entry), ""]
    return "\n".join(lines)


def _format_issue_section(entry: ErrataEntry) -> Iterator[str]:
    yield f"### {format_code_span(entry.id)}"
    yield ""
    yield from format_titled_block("Question", format_code_block(entry.question))
    yield from format_titled_block(
        "Current golden answer", format_code_block(_format_json(entry.old), "json")
    )
    yield from format_titled_block(
        "Corrected golden answer", format_code_block(_format_json(entry.new), "json")
    )
    if entry.reasons:
        yield from format_titled_block("Reason", format_code_block("\n\n".join(entry.reasons)))
    decided_by = {"adjudication": "adjudicated", "majority": "most annotators agree"}
    how = decided_by.get(entry.decided_by, "all annotators agree")
    yield f"**Resolved**: {how}: {', '.join(map(format_code_span, entry.settled_by))}"
    yield ""
    seen, failed = entry.evidence, entry.evidence.failed
    more = f" and {len(failed) - MAX_NAMED_MODELS} more" if len(failed) > MAX_NAMED_MODELS else ""
    named = (
        f"; failed: {', '.join(map(format_code_span, failed[:MAX_NAMED_MODELS]))}{more}"
        if failed
        else ""
    )
    yield f"**Runs**: {seen.passed} of {seen.runs} pass with the current golden answer{named}"


def _format_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


ItemName = tuple[str, str]
"""Name of an item in a dataset: (category, item id)."""
DatasetKey = tuple[str, str, str, str]
"""Key of a dataset: (benchmark, version, language, folder).

Runs with the same dataset have the same golden answers.
"""


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
    """Rows of the item in all runs of the dataset."""

    @property
    def _identity_fields(self) -> dict[str, Any]:
        return {
            name: self.label[name]
            for name in ("benchmark", "generation", "language", "category", "id")
        }

    @property
    def _n_passing_before(self) -> int:
        return sum(_get_official_or_recomputed_verdict(row) is True for row in self.rows)

    def to_errata_entry(self) -> ErrataEntry:
        messages = self.detail.item.messages
        failed = tuple(
            row.model for row in self.rows if _get_official_or_recomputed_verdict(row) is False
        )
        return ErrataEntry(
            **self._identity_fields,
            question_hash=hash_question(messages),
            old=self.applied.old,
            new=self.applied.new,
            question=join_user_messages(messages) or self.detail.item.question,
            reasons=tuple(list_review_notes(self.label)),
            settled_by=tuple(list_fix_authors(self.label)),
            decided_by=self.label["decided_by"],
            file=self.applied.path.name,
            title=self.detail.run.full_title,
            evidence=Evidence(len(self.rows), self._n_passing_before, failed),
        )

    def to_json_object(self, dataset_root: Path) -> dict[str, Any]:
        return self._identity_fields | {
            "file": self.applied.path.relative_to(dataset_root).as_posix(),
            "old": self.applied.old,
            "new": self.applied.new,
            "decided_by": self.label["decided_by"],
            "settled_by": list_fix_authors(self.label),
            "reasons": list_review_notes(self.label),
            "runs": len(self.rows),
            "runs_passed": self._n_passing_before,
        }


def _get_official_or_recomputed_verdict(row: QueueRow) -> bool | None:
    return row.official if row.official is not None else row.rule


def list_fix_authors(label: Label) -> list[str]:
    """Return the names of the adjudicators or, if there are none, of the annotators who recorded
    the golden fix.
    """
    same = [
        opinion for opinion in label["opinions"] if opinion["golden_fix"] == label["golden_fix"]
    ]
    by_adjudicators = [opinion for opinion in same if opinion["act"] == "adjudicate"]
    return sorted({opinion["annotator"] for opinion in by_adjudicators or same})


def list_review_notes(label: Label) -> list[str]:
    return [opinion["note"] for opinion in label["opinions"] if opinion["note"]]


@dataclass(slots=True)
class ResolvedFixes:
    fixes: list[ResolvedFix] = field(default_factory=list)
    dataset: dict[Path, bytes] = field(default_factory=dict)
    """New content of each changed dataset file."""
    copies: dict[Path, bytes] = field(default_factory=dict)
    """New content of each changed run file that contains copies of golden answers."""


def collect_resolved_fixes(source: ExportSource) -> ResolvedFixes:
    """Collect the resolved fixes of all items, and the new contents of the files. Prints a message
    about each rejected fix.
    """
    found = ResolvedFixes()
    for group in _group_fixes_by_dataset(source):
        found.fixes += [
            _build_resolved_fix(source, group, each)
            for each in _apply_fixes_of_dataset(source, group, found)
        ]
    return found


def _group_fixes_by_dataset(source: ExportSource) -> list[_DatasetRuns]:
    groups: dict[DatasetKey, _DatasetRuns] = {}
    of_run: dict[int, _DatasetRuns] = {}
    for row in source.runs:
        info, plan = row.info, source.benchmark_services.find_plan(row.info)
        place = info.dataset if plan.data and info.dataset else info.path
        group = groups.setdefault(
            (info.benchmark, info.generation, info.language, place), _DatasetRuns()
        )
        group.runs.append(row)
        group.plans.append(plan)
        of_run[row.run] = group
    refused: dict[str, int] = {}
    for label in (label for chunk in source.iter_label_chunks() for label in chunk):
        if not any(opinion["golden_fix"] for opinion in label["opinions"]):
            continue
        group, item = of_run[label["run"]], (label["category"], label["id"])
        why = _find_fix_rejection_reason(source, label)
        if why is None and group.fixes.get(item, label)["golden_fix"] != label["golden_fix"]:
            why = f"{label['id']}: two runs have different golden fixes"
        if why:
            refused[why] = refused.get(why, 0) + 1
        else:
            group.fixes.setdefault(item, label)
    for why, count in refused.items():
        source.print_note(f"{format_count(count, 'golden fix', 'golden fixes')} rejected: {why}")
    return [group for group in groups.values() if group.fixes]


def _find_fix_rejection_reason(source: ExportSource, label: Label) -> str | None:
    fix = label["golden_fix"]
    if label["target"] != ITEM:
        return "the fix is on a part of the item. Record it on the whole item."
    if all(opinion["stale"] for opinion in label["opinions"] if opinion["golden_fix"]):
        return "the answer changed after the review"
    if label["decided_by"] == DISPUTED or fix is None:
        return "annotators disagree. Adjudicate the item."
    (item,) = source.store.find_items(label["id"], label["run"])[:1]
    detail = source.store.read_detail(item)
    problem = source.benchmark_services.explain_golden_fix_rejection(detail.run, detail.item, fix)
    return f"{label['id']}: {problem}" if problem else None


def _apply_fixes_of_dataset(
    source: ExportSource, group: _DatasetRuns, resolved: ResolvedFixes
) -> Iterable[AppliedGoldenFix]:
    """Add the corrected files to `resolved`, and return the applied fixes. All runs of the dataset
    get all fixes, because runs may share a file.
    """
    found: dict[ItemName, AppliedGoldenFix] = {}
    for row, plan in zip(group.runs, group.plans, strict=True):
        own = {each["category"] for each in row.categories}
        fixes = {item: label["golden_fix"] for item, label in group.fixes.items() if item[0] in own}
        for each in source.benchmark_services.rewrite_golden(plan, fixes):
            if isinstance(each, AppliedGoldenFix):
                if canonical_json(each.old) != canonical_json(each.new):
                    found.setdefault(each.item, each)
            elif isinstance(each, Unrepresentable):
                source.print_note(
                    f"{row.info.full_title}, {row.run_name}: {each.description} ({each.count:,})"
                )
            else:
                is_copy = bool(plan.data) and each.path in plan.results
                (resolved.copies if is_copy else resolved.dataset)[each.path] = each.content
    return found.values()


def _build_resolved_fix(
    source: ExportSource, group: _DatasetRuns, applied: AppliedGoldenFix
) -> ResolvedFix:
    category, name = applied.item
    label, runs = group.fixes[applied.item], {row.run for row in group.runs}
    rows = source.store.fetch_rows(source.store.find_items(name))
    rows = [row for row in rows if row.category == category and row.run in runs]
    item = next(row.item for row in rows if row.run == label["run"])
    return ResolvedFix(source.store.read_detail(item), label=label, applied=applied, rows=rows)


NO_NEWLINE_MARK = b"\\ No newline at end of file\n"


def format_unified_diff(path: str, old: bytes, new: bytes) -> bytes:
    """Return a unified diff for `git apply` and `patch -p1`, empty if the contents are equal. The
    diff works for files in any encoding, because it compares bytes. `path` is relative and has
    forward slashes.
    """
    before, after = _split_at_line_feeds(old), _split_at_line_feeds(new)
    lines = list(diff_bytes(unified_diff, before, after, b"", b""))[2:]
    if not lines:
        return b""
    ours, theirs = _quote_path_for_diff(f"a/{path}"), _quote_path_for_diff(f"b/{path}")
    # The program `patch` needs a tab to find the end of a name with spaces.
    end = "\t" if " " in path else ""
    head = f"diff --git {ours} {theirs}\n--- {ours}{end}\n+++ {theirs}{end}\n".encode(
        "utf-8", "surrogateescape"
    )
    return head + b"".join(
        line if line.endswith(b"\n") else line + b"\n" + NO_NEWLINE_MARK for line in lines
    )


def _quote_path_for_diff(path: str) -> str:
    if not any(char in '"\\' or ord(char) < 32 or ord(char) == 127 for char in path):
        return path
    plain = path.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"'
        + "".join(
            f"\\{ord(char):03o}" if ord(char) < 32 or ord(char) == 127 else char for char in plain
        )
        + '"'
    )


def _split_at_line_feeds(content: bytes) -> list[bytes]:
    *lines, last = content.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def write_golden_patch(source: ExportSource, folder: Path) -> None:
    """Write the patch files and the report.

    Raises ExportError if there is no resolved golden fix.
    """
    found = collect_resolved_fixes(source)
    fixes = found.fixes
    if not fixes:
        raise ExportError(
            "no resolved golden fix to export. Record one with fcreview label --golden-fix, or"
            " adjudicate."
        )
    root = _write_patch(folder / "golden.patch", found.dataset)
    if found.copies:
        run_root = _write_patch(folder / "run.patch", found.copies)
        source.print_note(
            "run.patch corrects the golden answers in the run files."
            f" Apply it in {run_root} with git apply or patch -p1."
        )
    lines = (
        orjson.dumps(each.to_json_object(root), option=orjson.OPT_APPEND_NEWLINE) for each in fixes
    )
    (folder / "changed.jsonl").write_bytes(b"".join(lines))
    (folder / "issue.md").write_text(
        format_issue_report([each.to_errata_entry() for each in fixes], has_patch=True), "utf-8"
    )
    source.print_note(
        f"golden.patch corrects the dataset. Apply it in {root} with git apply or patch -p1."
    )
    source.counts = {"golden answer": len(fixes), "dataset file": len(found.dataset)}


def _write_patch(path: Path, new_contents: dict[Path, bytes]) -> Path:
    """Write a patch of files, and return the folder to apply it in."""
    folders = [
        each.parent.parent if each.parent.name == "possible_answer" else each.parent
        for each in new_contents
    ]
    root = Path(os.path.commonpath(folders))
    files = sorted(new_contents.items())
    path.write_bytes(
        b"".join(
            format_unified_diff(each.relative_to(root).as_posix(), read_file(each), new)
            for each, new in files
        )
    )
    return root
