"""Write a folder with a patch for a benchmark's repository and the texts that go with it.

The folder contains `golden.patch` for `git apply` at the repository's root, `title.txt`,
`branch.txt`, `pull_request.md` and `changed.jsonl`, and for tau2-bench `issue.md`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from fcreview.exporters.base import ExportError, ExportSource
from fcreview.exporters.golden_patch import (
    ResolvedFix,
    collect_resolved_fixes,
    format_unified_diff,
)
from fcreview.exporters.upstream import texts
from fcreview.exporters.upstream.checkout import (
    NO_COMMIT,
    GitCheckout,
    ImportedFiles,
    RepositoryFiles,
    check_commit,
    find_git_root,
)
from fcreview.exporters.upstream.evidence import EvidenceReader
from fcreview.exporters.upstream.repositories import (
    REPOSITORIES,
    BfclRepository,
    RecordPlace,
    RefusedFix,
    Tau2Repository,
    UpstreamRepository,
)
from fcreview.exporters.upstream.texts import Datapoint
from fcreview.model.json_value import canonical_json
from fcreview.run_plan import GoldenExecution, GoldenExecutionError


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """What the user asked for."""

    repository: str
    checkout: Path | None = None
    commit: str | None = None


@dataclass(slots=True)
class UpstreamResult:
    title: str = ""
    branch: str = ""
    commit: str = ""
    datapoints: list[Datapoint] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Changed files of the repository."""
    refused: list[str] = field(default_factory=list)
    """Corrected golden answers that are not in the patch, with the reasons."""


def write_upstream_patch(
    source: ExportSource, request: UpstreamRequest, folder: Path
) -> UpstreamResult:
    """Write the accepted golden fixes of a benchmark as a pull request into an empty folder.

    Raises ExportError if there is nothing to send.
    """
    repository = REPOSITORIES[request.repository]
    resolved = collect_resolved_fixes(source)
    fixes = [fix for fix in resolved.fixes if fix.detail.run.benchmark == repository.benchmark]
    if not fixes:
        raise ExportError(f"no resolved golden fix of {repository.name} to send. {resolved.advice}")

    files = _open_files(repository, request, fixes)
    writer = _PatchWriter(source, repository, files)
    for fixes_of_record in _group_by_record(fixes):
        writer.add_fixes(fixes_of_record)
    if not writer.result.datapoints:
        reasons = "; ".join(writer.result.refused)
        raise ExportError(f"no golden fix can be sent to {repository.url}: {reasons}")

    writer.write(folder)
    return writer.result


def _open_files(
    repository: UpstreamRepository, request: UpstreamRequest, fixes: Sequence[ResolvedFix]
) -> RepositoryFiles:
    """Open the checkout that the user named or that contains the imported dataset. Without one,
    use the imported dataset itself.
    """
    commit = None if request.commit is None else check_commit(request.commit)
    if request.checkout is not None:
        return GitCheckout.open(request.checkout, commit)

    imported = _map_imported_files(repository, fixes)
    root = _find_common_checkout(imported)
    if root is not None:
        return GitCheckout.open(root, commit)
    # Without a checkout, the patch must name the commit that it applies to.
    if commit is None:
        raise ExportError(NO_COMMIT)
    return ImportedFiles(commit, imported)


def _map_imported_files(
    repository: UpstreamRepository, fixes: Sequence[ResolvedFix]
) -> dict[str, Path]:
    """Return the imported files that the fixes change, by their path in the repository."""
    imported: dict[str, Path] = {}
    for fix in fixes:
        try:
            imported |= repository.map_imported_files(fix)
        except RefusedFix:
            continue  # `_PatchWriter.add_fix` reports the reason.
    return imported


def _find_common_checkout(imported: dict[str, Path]) -> Path | None:
    """Return the checkout that contains all files. None if they are from several checkouts."""
    roots = {find_git_root(file, path) for path, file in imported.items()}
    if len(roots) != 1:
        return None
    (root,) = roots
    return root


def _group_by_record(fixes: Sequence[ResolvedFix]) -> list[list[ResolvedFix]]:
    """Group the fixes of one record, which several runs or trials can have."""
    groups: defaultdict[tuple[str, ...], list[ResolvedFix]] = defaultdict(list)
    for fix in fixes:
        label = fix.label
        key = (label["generation"], label["language"], label["category"], fix.applied.record)
        groups[key].append(fix)
    return list(groups.values())


@dataclass(slots=True)
class _EditedFile:
    old: str
    new: str


class _PatchWriter:
    """Adds golden fixes to the files of a repository one after the other."""

    def __init__(
        self, source: ExportSource, repository: UpstreamRepository, files: RepositoryFiles
    ) -> None:
        self._source = source
        self._repository = repository
        self._files = files
        self._evidence = EvidenceReader(source)
        self._edited: dict[str, _EditedFile] = {}
        self.result = UpstreamResult(commit=files.commit)

    def add_fixes(self, fixes: Sequence[ResolvedFix]) -> None:
        """Add the fixes of one record to the patch. If they cannot be sent, add the reason to the
        result.
        """
        try:
            self._add_fixes(fixes)
        except (RefusedFix, GoldenExecutionError) as error:
            name = fixes[0].applied.record or fixes[0].label["id"]
            self.result.refused.append(f"{name}: {error}")

    def _add_fixes(self, fixes: Sequence[ResolvedFix]) -> None:
        """Check the fixes of one record, which must be equal, and edit the files with the record.

        Raises RefusedFix if they differ from each other, or do not fit the files.
        """
        fix = fixes[0]
        different_fixes = {canonical_json(each.applied.new_fields) for each in fixes}
        if len(different_fixes) > 1:
            raise RefusedFix("several runs have different golden fixes")

        path, *other_paths = self._repository.find_answer_files(fix, self._files)
        place = self._find_record(path, fix.applied.record)
        self._check_question(path, place, fix)
        self._check_golden(place, fix)
        execution = self._execute(path, place, fix)

        datapoint = self._make_datapoint(path, place, fixes, execution)
        self._edit(path, place, fix)
        copies = self._edit_copies(other_paths, place, fix)
        self.result.datapoints.append(replace(datapoint, copies=copies))

    def _edit_copies(
        self, paths: Sequence[str], place: RecordPlace, fix: ResolvedFix
    ) -> tuple[str, ...]:
        """Edit the other files that repeat the record. Return the paths of the edited files."""
        return tuple(path for path in paths if self._edit_copy(path, place, fix))

    def _find_record(self, path: str, record_id: str) -> RecordPlace:
        place = self._repository.find_record(self._read(path), record_id)
        if place is None:
            raise RefusedFix(f"{path} has no such record")
        return place

    def _read(self, path: str) -> str:
        """Return the text of a file with the edits made so far."""
        if path not in self._edited:
            content = (self._files.read(path) or b"").decode("utf-8", "surrogateescape")
            self._edited[path] = _EditedFile(content, content)
        return self._edited[path].new

    def _check_question(self, path: str, place: RecordPlace, fix: ResolvedFix) -> None:
        """Refuse a fix if the repository asks another question than the reviewed one."""
        imported = self._repository.read_imported_question(fix)
        if imported is None:
            raise RefusedFix("the imported dataset has no question to compare with the repository")
        question = self._repository.read_question(self._files, path, place)
        if not self._is_same(self._select_parts(question), self._select_parts(imported)):
            raise RefusedFix(
                "the question in the repository differs from the reviewed one. Import the run with"
                " --data CHECKOUT and review it again"
            )

    def _select_parts(self, question: dict[str, Any]) -> dict[str, Any]:
        return self._repository.select_question_parts(question)

    def _check_golden(self, place: RecordPlace, fix: ResolvedFix) -> None:
        """Refuse a fix if the repository has another golden answer than the reviewed one."""
        current = {name: place.golden.get(name) for name in fix.applied.new_fields}
        if self._is_same(current, fix.applied.new_fields):
            raise RefusedFix("the repository already has the corrected golden answer")
        if not self._is_same(current, fix.applied.old_fields):
            raise RefusedFix("the golden answer in the repository differs from the reviewed one")

    def _is_same(self, one: Any, other: Any) -> bool:
        """Whether two JSON values are equal, apart from how different files write them."""
        normalize = self._repository.normalize
        return canonical_json(normalize(one)) == canonical_json(normalize(other))

    def _execute(self, path: str, place: RecordPlace, fix: ResolvedFix) -> GoldenExecution | None:
        """Execute the corrected golden calls with the benchmark's package, if it can do that."""
        execute = self._source.benchmark_services.execute_golden
        if execute is None:
            raise RefusedFix("this command cannot execute golden answers")
        question = self._repository.read_question(self._files, path, place)
        return execute(self._repository.benchmark, question, fix.applied.new_fields)

    def _make_datapoint(
        self,
        path: str,
        place: RecordPlace,
        fixes: Sequence[ResolvedFix],
        execution: GoldenExecution | None,
    ) -> Datapoint:
        """Return the data about the fixes of one record for the texts of the pull request: the old
        and new fields, a link to the old lines, and the evidence.

        The fixes are of several runs or trials, and all make the same correction, so the first one
        stands for them. All of them are evidence.
        """
        first_fix = fixes[0]
        new_fields = self._repository.adapt_fields(place, first_fix.applied.new_fields)
        is_whole_record_golden = place.record is place.golden
        if is_whole_record_golden:
            old = place.record
            new = place.record | new_fields
        else:
            old = {name: place.golden.get(name) for name in new_fields}
            new = new_fields
        return Datapoint(
            name=first_fix.applied.record,
            path=path,
            link=self._make_link_to_old_lines(path, place, first_fix),
            commit=self._files.commit,
            old=old,
            new=new,
            fix=first_fix,
            evidence=self._evidence.collect(fixes, has_trials=self._repository.has_trials),
            execution=execution,
        )

    def _make_link_to_old_lines(self, path: str, place: RecordPlace, fix: ResolvedFix) -> str:
        """Return the link to the lines of a record before any edit, because earlier edits may have
        moved the record from them to `place`.
        """
        old_text = self._edited[path].old
        original_place = self._repository.find_record(old_text, fix.applied.record)
        lines = _find_lines(old_text, original_place or place)
        return self._repository.make_link(self._files.commit, path, lines)

    def _edit(self, path: str, place: RecordPlace, fix: ResolvedFix) -> None:
        """Write the corrected golden answer into the text of a file. Raises ExportError if the
        edited text does not have it.
        """
        new_fields = self._repository.adapt_fields(place, fix.applied.new_fields)
        text = place.edit(self._read(path), new_fields)
        edited = self._repository.find_record(text, fix.applied.record)
        if edited is None or edited.golden != place.golden | new_fields:
            raise ExportError(f"{path}: the record {fix.applied.record} could not be edited")
        self._edited[path].new = text

    def _edit_copy(self, path: str, main: RecordPlace, fix: ResolvedFix) -> bool:
        """Correct the same golden answer in another file. Returns whether the file has it."""
        place = self._repository.find_record(self._read(path), fix.applied.record)
        if place is None:
            return False
        names = list(fix.applied.new_fields)
        own_fields = {name: place.golden.get(name) for name in names}
        main_fields = {name: main.golden.get(name) for name in names}
        if not self._is_same(own_fields, main_fields):
            return False
        self._edit(path, place, fix)
        return True

    def write(self, folder: Path) -> None:
        """Write the patch and the texts, and complete the result: `files`, `title` and `branch`."""
        # This also lists the edited files in the result, which the title and the branch name.
        patch = self._format_patch()
        names = [datapoint.name for datapoint in self.result.datapoints]
        self.result.title = self._repository.make_title(self.result.files, names)
        self.result.branch = self._repository.make_branch(self.result.files, names)

        (folder / "golden.patch").write_bytes(patch)
        _write_text(folder / "title.txt", self.result.title)
        _write_text(folder / "branch.txt", self.result.branch)
        _write_text(folder / "pull_request.md", self._format_pull_request())
        if self._repository.has_issue:
            _write_text(folder / "issue.md", texts.format_tau2_issue(self.result.datapoints))

        lines = []
        for datapoint in self.result.datapoints:
            lines.append(orjson.dumps(_to_json_object(datapoint)) + b"\n")
        (folder / "changed.jsonl").write_bytes(b"".join(lines))

    def _format_patch(self) -> bytes:
        """Return the differences of all edited files, and add their names to the result."""
        diffs = []
        for path, file in sorted(self._edited.items()):
            old = file.old.encode("utf-8", "surrogateescape")
            new = file.new.encode("utf-8", "surrogateescape")
            if old != new:
                diffs.append(format_unified_diff(path, old, new))
                self.result.files.append(path)
        return b"".join(diffs)

    def _format_pull_request(self) -> str:
        datapoints = self.result.datapoints
        if isinstance(self._repository, BfclRepository):
            return texts.format_bfcl_pull_request(self._repository, datapoints)
        if isinstance(self._repository, Tau2Repository):
            return texts.format_tau2_pull_request(self._repository, datapoints)
        return texts.format_acebench_pull_request(datapoints)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text.rstrip("\n") + "\n", "utf-8")


def _find_lines(text: str, place: RecordPlace) -> tuple[int, int]:
    """Return the first and the last line of a record, from 1."""
    first = text.count("\n", 0, place.span.start) + 1
    return first, first + text.count("\n", place.span.start, place.span.end)


def _to_json_object(datapoint: Datapoint) -> dict[str, Any]:
    """Return the line of `changed.jsonl`."""
    evidence = datapoint.evidence
    return {
        "id": datapoint.name,
        "file": datapoint.path,
        "link": datapoint.link,
        "old": datapoint.fix.applied.old_fields,
        "new": datapoint.fix.applied.new_fields,
        "copies": list(datapoint.copies),
        "runs": evidence.n_runs,
        "runs_passed": evidence.n_passing_before,
        "newly_passing": list(evidence.newly_passing),
        "newly_failing": list(evidence.newly_failing),
        "settled_by": list(evidence.authors),
        "decided_by": datapoint.fix.label["decided_by"],
        "executed_with": None if datapoint.execution is None else datapoint.execution.package,
    }
