"""What was found on disk: runs as planned reads. Passed from the importers to the store by the command line.

And the way back: what becomes of a run's files, and of a dataset's, by what people say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from fcreview.corrections.errata_file import Errata
from fcreview.model.item import ImportIssue, Run


@dataclass(slots=True)
class RunPlan:
    """One run that was found: which files it is made of. Small and picklable; only names and heads were read."""

    run: Run
    results: list[Path]
    scores: list[Path] = field(default_factory=list)
    data: list[Path] = field(default_factory=list)
    """Dataset files (questions, golden answers, function documents) this run is joined with."""
    logs: list[Path] = field(default_factory=list)
    confidence: float = 1.0
    reason: str = ""
    """Why these files are taken for this benchmark: shown by `fcreview doctor`."""
    issues: list[ImportIssue] = field(default_factory=list)
    private: Any = None
    """What the importer's `find` has found out for its `read`, usually a dataclass of its own. It can be pickled, since
    runs are read in other processes; nobody but the importer looks at it."""
    importer: str = ""
    """Key of the importer that reads it, as in `--format`."""
    needs_scores: bool = True
    """False where verdicts stand in the results, or no program writes any: no score file is missing then."""
    decoder: str = ""
    """What is to read the model's replies, where a person said so (`--decoder`); else the importer decides."""
    errata: Errata | None = None
    """What the run's golden answers and rules are read with, where it has any."""
    version: int = 1
    """The importer's version."""

    @property
    def reading(self) -> int:
        """What the items hang on besides the files, below 2^31: with another one, the run is read again."""
        besides = self.decoder + (f" {self.errata.digest}" if self.errata else "")
        return self.version + 1000 * (crc32(besides.encode()) & 0xFFFFF if besides else 0)

    @property
    def files(self) -> list[Path]:
        """Every file the imported items depend on: a change of size or time of one means reading the run again."""
        return [*self.results, *self.scores, *self.data, *self.logs]


@dataclass(slots=True)
class Found:
    """What an importer made of a set of files."""

    plans: list[RunPlan] = field(default_factory=list)
    issues: list[ImportIssue] = field(default_factory=list)
    claimed: set[Path] = field(default_factory=set)
    """Files it recognised, whether they belong to a run or are ignored with a notice (leaderboards, memory dumps)."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file of a run or a dataset as it is by what people say."""

    path: Path
    """Where the original lies, which is not touched."""
    content: bytes


@dataclass(frozen=True, slots=True)
class NoPlace:
    """What people said and a benchmark's files cannot hold."""

    what: str
    """`soft_score of an argument`."""
    count: int = 1


@dataclass(frozen=True, slots=True)
class GoldenFixed:
    """A golden answer that a dataset's file has anew."""

    item: tuple[str, str]
    """(category, id)"""
    path: Path
    old: Any
    """As the file had it."""
    new: Any
