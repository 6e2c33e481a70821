"""Define the plan for reading a run from disk, and the files in which reviewed verdicts and golden fixes are written
back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from fcreview.errata import Errata
from fcreview.model.item import ImportIssue, Run


@dataclass(slots=True)
class RunPlan:
    """Run that was found on disk, with its files. A plan is small and picklable."""

    run: Run
    results: list[Path]
    scores: list[Path] = field(default_factory=list)
    data: list[Path] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)
    confidence: float = 1.0
    """Certainty, from 0 to 1, that the files belong to the benchmark. The most certain importer reads them."""
    reason: str = ""
    """Why the importer assigned the files to this benchmark. `fcreview doctor` shows the reason."""
    issues: list[ImportIssue] = field(default_factory=list)
    importer_data: Any = None
    """Picklable data from the importer's `find_runs` for its `read_items`. Runs are read in other processes."""
    importer: str = ""
    needs_scores: bool = True
    """Whether missing score files cause a warning. False if the results contain the verdicts."""
    decoder: str = ""
    errata: Errata | None = None
    version: int = 1

    @property
    def import_fingerprint(self) -> int:
        """Number below 2^31 that depends on importer version, decoder and errata. If it changes, the run is
        re-imported."""
        options = self.decoder + (f" {self.errata.digest}" if self.errata else "")
        return self.version + 1000 * (crc32(options.encode()) & 0xFFFFF if options else 0)

    def is_version_of(self, import_fingerprint: int) -> bool:
        return import_fingerprint % 1000 == self.version

    @property
    def files(self) -> list[Path]:
        """Files from which the items are read. If the size or time of a file changes, the run is re-imported."""
        return [*self.results, *self.scores, *self.data, *self.logs]


@dataclass(slots=True)
class DiscoveredRuns:
    """Runs that an importer found in a set of files."""

    plans: list[RunPlan] = field(default_factory=list)
    issues: list[ImportIssue] = field(default_factory=list)
    claimed: set[Path] = field(default_factory=set)
    """Files that the importer recognized. Those of no run, such as leaderboards, are ignored with a notice."""


@dataclass(frozen=True, slots=True)
class RewrittenFile:
    """Copy of a file of a run or a dataset, with the reviewed verdicts or golden fixes."""

    path: Path
    content: bytes


@dataclass(frozen=True, slots=True)
class Unrepresentable:
    """Reviews of one kind that the file format of a benchmark cannot represent."""

    description: str
    """Text that names the reviews, such as `soft_score of an argument`."""
    count: int = 1


@dataclass(frozen=True, slots=True)
class AppliedGoldenFix:
    """Golden answer that was replaced in a copy of a dataset file."""

    item: tuple[str, str]
    path: Path
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class ReviewedVerdict:
    """Verdict of the annotators on an item or a part of it, for benchmarks whose files record who decided and why."""

    item_id: str
    target: str
    criterion: str
    value: Any
    author: str
    time: str
    reason: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """Annotators, agreement and event ids of the decision, as JSON."""
