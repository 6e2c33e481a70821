"""Describe how to read the runs found on disk, and the files that a write-back produces."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from fcreview.errata import Errata
from fcreview.model.item import ImportIssue, Run


@dataclass(slots=True)
class RunPlan:
    """A run that was found on disk, and the files that it consists of. A plan is small and picklable."""

    run: Run
    results: list[Path]
    scores: list[Path] = field(default_factory=list)
    data: list[Path] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)
    confidence: float = 1.0
    """Certainty of the importer, 0 to 1, that the files are of its benchmark. The highest value decides."""
    reason: str = ""
    """Why the files belong to this benchmark, shown by `fcreview doctor`."""
    issues: list[ImportIssue] = field(default_factory=list)
    importer_data: Any = None
    """Data that the importer's `find_runs` passes to its `read_items`. The data must be picklable, because runs are
    read in other processes. Only the importer uses it."""
    importer: str = ""
    """Name of the importer that reads the run, a value of `--format`."""
    needs_scores: bool = True
    """Whether to warn of missing score files. False if results contain verdicts or no score files exist."""
    decoder: str = ""
    """Decoder for the model's replies, as chosen with `--decoder`; empty if the importer chooses."""
    errata: Errata | None = None
    version: int = 1

    @property
    def import_fingerprint(self) -> int:
        """Number below 2^31 from importer version, decoder and errata. If it changes, the run is imported again."""
        options = self.decoder + (f" {self.errata.digest}" if self.errata else "")
        return self.version + 1000 * (crc32(options.encode()) & 0xFFFFF if options else 0)

    def is_version_of(self, import_fingerprint: int) -> bool:
        return import_fingerprint % 1000 == self.version

    @property
    def files(self) -> list[Path]:
        """Files that the items depend on. If a size or modification time changes, the run is imported again."""
        return [*self.results, *self.scores, *self.data, *self.logs]


@dataclass(slots=True)
class DiscoveredRuns:
    """Runs that an importer recognized among a set of files."""

    plans: list[RunPlan] = field(default_factory=list)
    issues: list[ImportIssue] = field(default_factory=list)
    claimed: set[Path] = field(default_factory=set)
    """Files that the importer recognized. Some belong to no run and are ignored with a notice, such as leaderboards."""


@dataclass(frozen=True, slots=True)
class RewrittenFile:
    """A file of a run or a dataset, rewritten with the reviewed verdicts or golden fixes."""

    path: Path
    """The original file, which is never changed."""
    content: bytes


@dataclass(frozen=True, slots=True)
class Unrepresentable:
    """A kind of review that a benchmark's file format cannot represent."""

    description: str
    """Kind of review, such as `soft_score of an argument`."""
    count: int = 1


@dataclass(frozen=True, slots=True)
class AppliedGoldenFix:
    """A golden answer that was replaced in a copy of a dataset file."""

    item: tuple[str, str]
    """(category, id) of the item whose golden answer was replaced."""
    path: Path
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class ReviewedVerdict:
    """The verdict of annotators on an item or a part of it, for a benchmark whose files record who decided and why."""

    item_id: str
    target: str
    criterion: str
    value: Any
    author: str
    time: str
    reason: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """Annotators, agreement and event ids of the decision; JSON."""
