"""Recognize the BFCL files among the opened ones, and sort them by kind.

This module does not load the readers of results, scores and datasets, because most searches find no
BFCL files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.model_files import SUFFIXES, FilesByRun
from fcreview.model.item import ImportIssue


@dataclass(slots=True)
class BfclFiles:
    """The files of BFCL among the opened files, by kind."""

    claimed: list[Path] = field(default_factory=list)
    results: FilesByRun = field(default_factory=dict)
    scores: FilesByRun = field(default_factory=dict)
    question_folders: dict[Path, None] = field(default_factory=dict)
    """Folders with question files, in the order of the files."""
    ignored: Counter[tuple[Path, str]] = field(default_factory=Counter)
    """(folder, description) -> number of files that fcreview ignores."""

    def report_ignored(self) -> Iterator[ImportIssue]:
        for (folder, description), count in self.ignored.items():
            noun = "file" if count == 1 else "files"
            what = f"skipped {count} {noun}: {description}"
            yield ImportIssue(str(folder), what=what, severity="notice")


def classify_files(files: Sequence[Path]) -> BfclFiles:
    """Select the BFCL files among the opened ones, and sort them by kind, model and version."""
    # Files can have changed since the last search.
    filenames.read_first.cache_clear()
    found = BfclFiles()
    for path in files:
        if path.suffix not in SUFFIXES:
            continue
        file = filenames.classify_file(path)
        if file is None:
            continue

        found.claimed.append(path)
        if file.kind in ("result", "score"):
            files_by_run = found.results if file.kind == "result" else found.scores
            run_key = (filenames.find_model_folder(path), file.version)
            files_by_run.setdefault(run_key, []).append(file)
        elif file.kind == "question":
            found.question_folders[path.parent] = None
        elif file.kind == "ignored" and file.ignored_description:
            found.ignored[_find_reported_folder(path), file.ignored_description] += 1
    return found


def _find_reported_folder(path: Path) -> Path:
    """Return the folder for the notice about an ignored file: the snapshots of an agent's memory
    are in many subfolders of one folder.
    """
    for folder in path.parents:
        if folder.name == "memory_snapshot":
            return folder
    return path.parent
