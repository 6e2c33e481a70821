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
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import diff_bytes, unified_diff
from pathlib import Path
from typing import Any

import orjson

from fcreview.errata import ErrataEntry, Evidence, hash_question, join_user_messages
from fcreview.exporters.base import ExportError, ExportSource, Label
from fcreview.exporters.report_pages import format_code_block, format_code_span, format_titled_block
from fcreview.exporters.repository_paths import find_repository_root
from fcreview.model.address import ITEM
from fcreview.model.effective_verdict import DISPUTED
from fcreview.model.golden_fix import ACCEPTED, PROPOSED, REJECTED
from fcreview.model.item import Call
from fcreview.model.json_value import canonical_json
from fcreview.model.wording import format_count
from fcreview.run_plan import AppliedGoldenFix, RunPlan, Unrepresentable
from fcreview.safe_files import read_file
from fcreview.store.rows import ItemDetail, QueueRow, RunRow

MAX_NAMED_MODELS = 12
RESOLUTION_TEXTS = {"adjudication": "adjudicated", "majority": "most annotators agree"}
UNANIMOUS_TEXT = "all annotators agree"


def format_issue_report(entries: Sequence[ErrataEntry], *, has_patch: bool) -> str:
    """Return a Markdown report on wrong golden answers for the maintainers of the benchmark.

    With `has_patch`, it asks them to apply the patch beside it.
    """
    entries_by_category = _group_entries_by_category(entries)
    n_answers = format_count(len(entries), "golden answer")
    n_categories = format_count(len(entries_by_category), "category", "categories")
    advice = " Apply the patch to the dataset files." if has_patch else ""
    lines = [
        "# Golden answers to correct",
        "",
        f"Annotators corrected {n_answers} in {n_categories}.",
        f"Each section below shows the current and the corrected answer.{advice}",
        "",
    ]
    for (title, category), entries_of_category in entries_by_category.items():
        heading = f"{format_code_span(title)}: {format_code_span(category)}"
        lines.append(f"## {heading} ({len(entries_of_category)})")
        lines.append("")
        for entry in entries_of_category:
            lines += _format_issue_section(entry)
            lines.append("")
    return "\n".join(lines)


def _group_entries_by_category(
    entries: Sequence[ErrataEntry],
) -> dict[tuple[str, str], list[ErrataEntry]]:
    """Group corrections by the title of the benchmark and the category of the item."""
    entries_by_category: dict[tuple[str, str], list[ErrataEntry]] = {}
    for entry in entries:
        key = (entry.title or entry.benchmark, entry.category)
        entries_by_category.setdefault(key, []).append(entry)
    return entries_by_category


def _format_issue_section(entry: ErrataEntry) -> Iterator[str]:
    """Format a corrected golden answer as Markdown: question, both answers, reasons, and who
    decided.
    """
    yield f"### {format_code_span(entry.id)}"
    yield ""
    yield from format_titled_block("Question", format_code_block(entry.question))
    yield from _format_golden_answer("Current golden answer", entry.old)
    yield from _format_golden_answer("Corrected golden answer", entry.new)
    if entry.reasons:
        reasons = format_code_block("\n\n".join(entry.reasons))
        yield from format_titled_block("Reason", reasons)

    decision = RESOLUTION_TEXTS.get(entry.decided_by, UNANIMOUS_TEXT)
    names = ", ".join(format_code_span(name) for name in entry.settled_by)
    yield f"**Resolved**: {decision}: {names}"
    yield ""
    yield f"**Runs**: {_describe_evidence(entry.evidence)}"


def _format_golden_answer(title: str, answer: Any) -> Iterable[str]:
    return format_titled_block(title, format_code_block(_format_json(answer), "json"))


def _describe_evidence(evidence: Evidence) -> str:
    """Describe how many runs pass with the current golden answer, and which models fail."""
    text = f"{evidence.passed} of {evidence.runs} pass with the current golden answer"
    if not evidence.failed:
        return text

    named_models = evidence.failed[:MAX_NAMED_MODELS]
    text += f"; failed: {', '.join(format_code_span(model) for model in named_models)}"
    n_more = len(evidence.failed) - MAX_NAMED_MODELS
    if n_more > 0:
        text += f" and {n_more} more"
    return text


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
    """The runs of a dataset, and the label with the golden fix of each corrected item."""

    runs: list[RunRow] = field(default_factory=list)
    plans: list[RunPlan] = field(default_factory=list)
    fixes: dict[ItemName, Label] = field(default_factory=dict)

    def add_fix(self, label: Label) -> None:
        """Add the fix of an item, unless another run has the same fix."""
        self.fixes.setdefault(_get_item_name(label), label)

    def find_conflict(self, label: Label) -> str | None:
        """Return a message if another run has a different fix of the item, else None."""
        known = self.fixes.get(_get_item_name(label), label)
        if known["golden_fix"] == label["golden_fix"]:
            return None
        return f"{label['id']}: two runs have different golden fixes"


def _get_item_name(label: Label) -> ItemName:
    return label["category"], label["id"]


@dataclass(frozen=True, slots=True)
class ResolvedFix:
    detail: ItemDetail
    label: Label
    applied: AppliedGoldenFix
    rows: Sequence[QueueRow]
    """Rows of the item in all runs of the dataset."""
    new_calls: Sequence[Call] = ()
    """Golden calls of the correction. Empty if it has none."""

    @property
    def _identity_fields(self) -> dict[str, Any]:
        return {
            name: self.label[name]
            for name in ("benchmark", "generation", "language", "category", "id")
        }

    @property
    def n_passing_before(self) -> int:
        return sum(get_official_or_recomputed_verdict(row) is True for row in self.rows)

    def to_errata_entry(self) -> ErrataEntry:
        """Convert the correction to an entry of an errata file, with the evidence for it."""
        return ErrataEntry(
            **self._identity_fields,
            question_hash=hash_question(self.detail.item.messages),
            old=self.applied.old,
            new=self.applied.new,
            question=join_user_messages(self.detail.item.messages) or self.detail.item.question,
            reasons=tuple(list_review_notes(self.label)),
            settled_by=tuple(list_fix_authors(self.label)),
            decided_by=self.label["decided_by"],
            file=self.applied.path.name,
            title=self.detail.run.full_title,
            evidence=self._build_evidence(),
        )

    def _build_evidence(self) -> Evidence:
        """Return how many runs pass with the current golden answer, and which models fail."""
        failed_models = []
        for row in self.rows:
            if get_official_or_recomputed_verdict(row) is False:
                failed_models.append(row.model)
        return Evidence(len(self.rows), self.n_passing_before, tuple(failed_models))

    def to_json_object(self, dataset_root: Path) -> dict[str, Any]:
        """Build the line of `changed.jsonl`. The path of the file is relative to the dataset."""
        return self._identity_fields | {
            "file": self.applied.path.relative_to(dataset_root).as_posix(),
            "old": self.applied.old,
            "new": self.applied.new,
            "decided_by": self.label["decided_by"],
            "settled_by": list_fix_authors(self.label),
            "reasons": list_review_notes(self.label),
            "runs": len(self.rows),
            "runs_passed": self.n_passing_before,
        }


def get_official_or_recomputed_verdict(row: QueueRow) -> bool | None:
    return row.official if row.official is not None else row.rule


def list_fix_authors(label: Label) -> list[str]:
    """Return the names of the adjudicators or, if there are none, of the annotators who recorded
    the golden fix.
    """
    annotators = set()
    adjudicators = set()
    for opinion in label["opinions"]:
        if opinion["golden_fix"] != label["golden_fix"]:
            continue
        annotators.add(opinion["annotator"])
        if opinion["act"] == "adjudicate":
            adjudicators.add(opinion["annotator"])
    return sorted(adjudicators or annotators)


def list_review_notes(label: Label) -> list[str]:
    return [opinion["note"] for opinion in label["opinions"] if opinion["note"]]


@dataclass(slots=True)
class ResolvedFixes:
    fixes: list[ResolvedFix] = field(default_factory=list)
    dataset: dict[Path, bytes] = field(default_factory=dict)
    """New content of each changed dataset file."""
    copies: dict[Path, bytes] = field(default_factory=dict)
    """New content of each changed run file that contains copies of golden answers."""
    n_waiting: int = 0
    """Number of golden fixes that count only after an adjudication."""

    @property
    def advice(self) -> str:
        """What to do to get a resolved fix. For the message that there is none."""
        if not self.n_waiting:
            return "Record one with `fcreview label --golden-fix`, or adjudicate."
        fixes = format_count(self.n_waiting, "golden fix waits", "golden fixes wait")
        return f"{fixes} for adjudication. Adjudicate in the app, or run `fcreview adjudicate`."


def collect_resolved_fixes(source: ExportSource) -> ResolvedFixes:
    """Collect the resolved fixes of all items, and the new contents of the files. Prints a message
    about each rejected fix.
    """
    grouped = _group_fixes_by_dataset(source)
    resolved = ResolvedFixes(n_waiting=grouped.n_waiting)
    for dataset in grouped.datasets:
        corrections = _apply_fixes_of_dataset(source, dataset)
        resolved.dataset |= corrections.dataset
        resolved.copies |= corrections.copies
        for applied in corrections.fixes.values():
            resolved.fixes.append(_build_resolved_fix(source, dataset, applied))
    return resolved


PROPOSED_REASON = "the fix is only proposed. Adjudicate the item."
DISPUTED_REASON = "annotators disagree. Adjudicate the item."


@dataclass(frozen=True, slots=True)
class _GroupedFixes:
    datasets: Sequence[_DatasetRuns]
    """Datasets with a correction, each with its runs."""
    n_waiting: int
    """Number of corrections that count only after an adjudication."""


def _group_fixes_by_dataset(source: ExportSource) -> _GroupedFixes:
    """Group the corrections of golden answers by dataset. Print why corrections are rejected."""
    datasets = _group_runs_by_dataset(source)
    n_rejected = _add_fixes_to_datasets(source, datasets)
    for reason, count in n_rejected.items():
        fixes = format_count(count, "golden fix", "golden fixes")
        source.print_note(f"{fixes} rejected: {reason}")
    return _GroupedFixes(
        [dataset for dataset in datasets if dataset.fixes],
        n_waiting=n_rejected[PROPOSED_REASON] + n_rejected[DISPUTED_REASON],
    )


def _add_fixes_to_datasets(source: ExportSource, datasets: Iterable[_DatasetRuns]) -> Counter[str]:
    """Add each correction of a golden answer to its dataset, and count the rejected ones by reason.

    A correction is rejected if it is not accepted, or if an earlier run has a different one for the
    item.
    """
    dataset_by_run = {}
    for dataset in datasets:
        for row in dataset.runs:
            dataset_by_run[row.run] = dataset

    n_rejected: Counter[str] = Counter()
    for label in _iter_labels_with_fix(source):
        dataset = dataset_by_run[label["run"]]
        reason = _find_fix_rejection_reason(source, label) or dataset.find_conflict(label)
        if reason is None:
            dataset.add_fix(label)
        else:
            n_rejected[reason] += 1
    return n_rejected


def _iter_labels_with_fix(source: ExportSource) -> Iterator[Label]:
    """Yield the labels to which an annotator recorded a golden fix, agreed or not."""
    for chunk in source.iter_label_chunks():
        for label in chunk:
            if any(opinion["golden_fix"] for opinion in label["opinions"]):
                yield label


def _group_runs_by_dataset(source: ExportSource) -> list[_DatasetRuns]:
    """Group the runs of the view that have the same golden answers."""
    datasets: dict[DatasetKey, _DatasetRuns] = {}
    for row in source.runs:
        run = row.info
        plan = source.benchmark_services.find_plan(run)
        # A run without dataset files shares its golden answers with no other run.
        folder = run.dataset if plan.data and run.dataset else run.path
        key = (run.benchmark, run.generation, run.language, folder)
        dataset = datasets.setdefault(key, _DatasetRuns())
        dataset.runs.append(row)
        dataset.plans.append(plan)
    return list(datasets.values())


def _find_fix_rejection_reason(source: ExportSource, label: Label) -> str | None:
    """Return the reason why the correction of a golden answer cannot be used; None if it can be
    used. At least one opinion of the label has a correction.
    """
    reason = _explain_why_not_accepted(label)
    if reason is not None:
        return reason
    item_numbers = source.store.find_items(label["id"], label["run"])
    detail = source.store.read_detail(item_numbers[0])
    problem = source.benchmark_services.explain_golden_fix_rejection(
        detail.run, detail.item, label["golden_fix"]
    )
    if problem:
        return f"{label['id']}: {problem}"
    return None


def _explain_why_not_accepted(label: Label) -> str | None:
    """Return why the correction of a golden answer does not count, by the reviews of it. None if
    it counts.
    """
    if label["target"] != ITEM:
        return "the fix is on a part of the item. Record it on the whole item."
    opinions_with_fix = [opinion for opinion in label["opinions"] if opinion["golden_fix"]]
    if all(opinion["stale"] for opinion in opinions_with_fix):
        return "the answer changed after the review"

    status = label["golden_status"]
    if status == REJECTED:
        return "an adjudicator kept the golden answer of the dataset"
    if status == PROPOSED:
        return PROPOSED_REASON
    # Annotators who differ in their corrections leave the label without one.
    has_fix = label["golden_fix"] is not None
    # An accepted correction counts although annotators disagree on the verdict.
    is_disputed = label["decided_by"] == DISPUTED and status != ACCEPTED
    return DISPUTED_REASON if is_disputed or not has_fix else None


@dataclass(frozen=True, slots=True)
class _DatasetCorrections:
    """The corrections of a dataset that change something, and the corrected files."""

    fixes: dict[ItemName, AppliedGoldenFix] = field(default_factory=dict)
    dataset: dict[Path, bytes] = field(default_factory=dict)
    copies: dict[Path, bytes] = field(default_factory=dict)
    """Corrected run files that contain copies of golden answers."""

    def add_fix(self, fix: AppliedGoldenFix) -> None:
        """Add a correction. An item counts once, although each run of the dataset contains it."""
        is_changed = canonical_json(fix.old) != canonical_json(fix.new)
        if is_changed:
            self.fixes.setdefault(fix.item, fix)


def _apply_fixes_of_dataset(source: ExportSource, dataset: _DatasetRuns) -> _DatasetCorrections:
    """Correct the files of a dataset.

    All runs of the dataset get all corrections, because runs may share a file. Each run then gives
    the same content of a shared file.
    """
    corrections = _DatasetCorrections()
    for row, plan in zip(dataset.runs, dataset.plans, strict=True):
        fixes = _select_fixes_of_run(dataset, row)
        for change in source.benchmark_services.rewrite_golden(plan, fixes):
            if isinstance(change, AppliedGoldenFix):
                corrections.add_fix(change)
            elif isinstance(change, Unrepresentable):
                # The files cannot express this correction.
                run_name = f"{row.info.full_title}, {row.run_name}"
                source.print_note(f"{run_name}: {change.description} ({change.count:,})")
            elif _has_copies_of_golden_answers(change.path, plan):
                corrections.copies[change.path] = change.content
            else:
                corrections.dataset[change.path] = change.content
    return corrections


def _has_copies_of_golden_answers(path: Path, plan: RunPlan) -> bool:
    """Whether a corrected file is a result file with copies of the golden answers of the dataset.

    Without dataset files, the result files of a run are themselves the dataset.
    """
    return bool(plan.data) and path in plan.results


def _select_fixes_of_run(dataset: _DatasetRuns, row: RunRow) -> dict[ItemName, Any]:
    """Return the golden fixes of the items whose categories the run has."""
    categories = {entry["category"] for entry in row.categories}
    fixes = {}
    for item_name, label in dataset.fixes.items():
        category, _ = item_name
        if category in categories:
            fixes[item_name] = label["golden_fix"]
    return fixes


def _build_resolved_fix(
    source: ExportSource, dataset: _DatasetRuns, applied: AppliedGoldenFix
) -> ResolvedFix:
    """Combine an applied fix with its label and the rows of its item in all runs of the dataset."""
    category, item_id = applied.item
    label = dataset.fixes[applied.item]
    run_numbers = {row.run for row in dataset.runs}
    rows = []
    for row in source.store.fetch_rows(source.store.find_items(item_id)):
        if row.category == category and row.run in run_numbers:
            rows.append(row)
    detail = source.store.read_detail(_find_item_of_run(rows, label["run"]))
    new_calls = source.benchmark_services.parse_golden_fix(
        detail.run, detail.item, label["golden_fix"]
    )
    return ResolvedFix(detail, label=label, applied=applied, rows=rows, new_calls=new_calls)


def _find_item_of_run(rows: Sequence[QueueRow], run_number: int) -> int:
    for row in rows:
        if row.run == run_number:
            return row.item
    raise LookupError(f"run {run_number} has no such item")


N_FILE_NAME_LINES = 2
"""Number of lines with the names of the files, at the start of a diff of `difflib`."""
NO_NEWLINE_MARK = b"\\ No newline at end of file\n"


def format_unified_diff(path: str, old: bytes, new: bytes) -> bytes:
    """Return a unified diff of a file for `git apply` and `patch -p1`. Empty if the contents are
    equal.

    The diff compares bytes, so that it works for files in any encoding. `path` is relative and has
    forward slashes.
    """
    old_lines = _split_at_line_feeds(old)
    new_lines = _split_at_line_feeds(new)
    diff_lines = list(diff_bytes(unified_diff, old_lines, new_lines, b"", b""))
    if not diff_lines:
        return b""

    parts = [_format_diff_head(path)]
    for line in diff_lines[N_FILE_NAME_LINES:]:
        parts.append(line)
        if not line.endswith(b"\n"):
            parts.append(b"\n" + NO_NEWLINE_MARK)
    return b"".join(parts)


def _format_diff_head(path: str) -> bytes:
    """Return the lines with the names of the old and new file, as git writes them."""
    old_path = _quote_path_for_diff(f"a/{path}")
    new_path = _quote_path_for_diff(f"b/{path}")
    # The program `patch` needs a tab to find the end of a name with spaces.
    end = "\t" if " " in path else ""
    head = f"diff --git {old_path} {new_path}\n--- {old_path}{end}\n+++ {new_path}{end}\n"
    return head.encode("utf-8", "surrogateescape")


def _quote_path_for_diff(path: str) -> str:
    """Quote a path as git does, if it has quotes, backslashes or control characters."""
    if not any(char in '"\\' or _is_control_character(char) for char in path):
        return path
    quoted = ""
    for char in path:
        if char in '"\\':
            quoted += "\\" + char
        elif _is_control_character(char):
            quoted += f"\\{ord(char):03o}"
        else:
            quoted += char
    return f'"{quoted}"'


def _is_control_character(char: str) -> bool:
    return ord(char) < 32 or ord(char) == 127


def _split_at_line_feeds(content: bytes) -> list[bytes]:
    """Split at line feeds only, which the lines keep. `splitlines` would split at `\\r` too."""
    *complete_lines, last_line = content.split(b"\n")
    lines = [line + b"\n" for line in complete_lines]
    if last_line:
        lines.append(last_line)
    return lines


def write_golden_patch(source: ExportSource, folder: Path) -> None:
    """Write the corrections of golden answers: patches for the dataset, a list, and a report.

    Raises ExportError if there is no correction that is decided.
    """
    resolved = collect_resolved_fixes(source)
    if not resolved.fixes:
        raise ExportError(f"no resolved golden fix to export. {resolved.advice}")

    dataset_root = _write_patch(folder / "golden.patch", resolved.dataset)
    if resolved.copies:
        run_root = _write_patch(folder / "run.patch", resolved.copies)
        source.print_note(
            f"run.patch corrects the golden answers in the run files. Apply it in {run_root} with"
            f" git apply or patch -p1."
        )
    _write_list_of_fixes(folder / "changed.jsonl", resolved.fixes, dataset_root)
    entries = [fix.to_errata_entry() for fix in resolved.fixes]
    report = format_issue_report(entries, has_patch=True)
    (folder / "issue.md").write_text(report, "utf-8")

    source.print_note(
        f"golden.patch corrects the dataset. Apply it in {dataset_root} with git apply or patch"
        " -p1."
    )
    source.counts = {"golden answer": len(resolved.fixes), "dataset file": len(resolved.dataset)}


def _write_list_of_fixes(path: Path, fixes: Sequence[ResolvedFix], dataset_root: Path) -> None:
    """Write a JSON line for each corrected golden answer."""
    lines = []
    for fix in fixes:
        lines.append(orjson.dumps(fix.to_json_object(dataset_root)) + b"\n")
    path.write_bytes(b"".join(lines))


def _find_patch_root(files: Sequence[Path]) -> Path:
    """Return the folder in which to apply a patch of several files.

    If the files have the paths of a benchmark's repository, this is the root of the repository, as
    in `fcreview errata patch`. Otherwise, it is their common folder.
    """
    roots = {find_repository_root(file) for file in files}
    if len(roots) == 1:
        (root,) = roots
        if root is not None:
            return root

    folders = []
    for file in files:
        # BFCL keeps its golden answers in a folder beside the questions.
        folder = file.parent
        if folder.name == "possible_answer":
            folder = folder.parent
        folders.append(folder)
    return Path(os.path.commonpath(folders))


def _write_patch(path: Path, new_contents: dict[Path, bytes]) -> Path:
    """Write a patch for several files, and return the folder in which to apply it."""
    root = _find_patch_root(list(new_contents))

    diffs = []
    for file, new_content in sorted(new_contents.items()):
        name = file.relative_to(root).as_posix()
        diffs.append(format_unified_diff(name, read_file(file), new_content))
    path.write_bytes(b"".join(diffs))
    return root
