"""Define the plan for reading a run, and the files to which reviewed verdicts and golden fixes
are written back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from fcreview.errata import Errata
from fcreview.errors import FcreviewError
from fcreview.model.item import ImportIssue, Run

ImportOption = Literal["decoder", "evaluator", "verdict_from", "scorers"]
"""Option that changes how an importer reads a run: `decoder` for BFCL replies, `evaluator` for the
version of ACEBench's rules, `verdict_from` for the scorer of an Inspect log, `scorers` for which of
its values pass. `scorers` is JSON, and only the configuration sets it.
"""


AUTOMATIC_LANGUAGE = "auto"
"""Value of --language with which fcreview forgets the language that the user named earlier."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What the user said about the files, for the search for runs."""

    scores: tuple[Path, ...] = ()
    """Score folders of --score. Their files are joined with results of the same file name, even if
    the names of the models differ.
    """
    language: str = ""
    """Language of the dataset, such as `zh`; empty to find it by folder names.

    `auto` forgets the remembered one.
    """
    remembered_scores: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    """Folder of results -> score folders of --score in earlier commands.

    They may no longer exist.
    """
    mapping_file: Path | None = None
    """File of --map, which says where everything is in the files. No other importer is used."""
    remembered_mappings: tuple[Path, ...] = ()
    """Files of --map in earlier commands."""
    remembered_languages: Mapping[Path, str] = field(default_factory=dict)
    """Folder of results -> language of --language in an earlier command."""

    def get_language(self, folder: Path) -> str:
        """Return the language that the user named for the results in a folder, now or earlier;
        empty if none.
        """
        if self.language == AUTOMATIC_LANGUAGE:
            return ""
        return (self.language or self.remembered_languages.get(folder, "")).lower()


@dataclass(frozen=True, slots=True)
class RunPart:
    """A part of a large run that can be read without the others, such as some of its categories.

    The items of the parts, one part after the other, are the items of the run in its order.
    """

    index: int
    """Position of the part in the run, from 0."""
    n_bytes: int
    """Size of what is read, in bytes, to compare the work of parts."""
    selection: Any
    """What the importer reads in this part, such as the names of categories. It must be
    picklable."""


MIN_PART_BYTES = 2_000_000
"""Size in bytes below which a part takes longer to start than it saves."""
MAX_PARTS = 32


def group_into_parts(sizes: Mapping[Any, int], max_parts: int = MAX_PARTS) -> list[RunPart]:
    """Return the parts of a run that consists of units, such as categories, in their order.

    Small units that follow each other become one part. The selection of a part is the list of its
    units.

    Args:
        sizes: size of each unit in bytes.
        max_parts: about the largest number of parts, if all units are small.
    """
    part_bytes = max(MIN_PART_BYTES, sum(sizes.values()) / max_parts)
    parts: list[RunPart] = []
    units: list[Any] = []
    n_bytes = 0
    last = len(sizes) - 1
    for position, (unit, size) in enumerate(sizes.items()):
        units.append(unit)
        n_bytes += size
        if n_bytes >= part_bytes or position == last:
            parts.append(RunPart(len(parts), n_bytes, selection=units))
            units = []
            n_bytes = 0
    return parts


class DependentParts(Exception):
    """Raised if the parts of a run depend on each other, such as by equal ids, so that the items
    differ from those of the whole run. The run must then be read as a whole.
    """


@dataclass(slots=True)
class RunPlan:
    """Run that an importer found on disk, with its files. A plan is small and picklable."""

    run: Run
    results: list[Path]
    """Files with the model's answers. Two benchmarks may claim the same results; see
    `confidence`."""
    scores: list[Path] = field(default_factory=list)
    """Files with the benchmark's own verdicts."""
    data: list[Path] = field(default_factory=list)
    """Files of the dataset, with questions and golden answers."""
    logs: list[Path] = field(default_factory=list)
    """Other files that the items need, such as logs of the model's calls."""
    confidence: float = 1.0
    """Certainty, from 0 to 1, that the files belong to the benchmark.

    The most certain importer reads them.
    """
    reason: str = ""
    """Why the importer assigned the files to this benchmark. `fcreview doctor` shows the reason."""
    issues: list[ImportIssue] = field(default_factory=list)
    importer_data: Any = None
    """Data that the importer's `find_runs` passes to its `read_items` in another process.

    It must be picklable.
    """
    importer: str = ""
    needs_scores: bool = True
    """Whether fcreview warns if the score files are missing.

    False if the results contain the verdicts.
    """
    results_folder: Path | None = None
    """Folder of the results, for which fcreview remembers the folders of --score.

    None if --score has no effect.
    """
    named_score_folder: Path | None = None
    """Folder of --score that contains the run's score files."""
    lost_score_folder: Path | None = None
    """Folder of --score in an earlier command that contained the run's score files and is
    missing now.
    """
    takes_named_language: bool = False
    """Whether --language decides the language of the run, so that fcreview remembers it for the
    run's folder.
    """
    options: dict[ImportOption, str] = field(default_factory=dict)
    """Import options of the run, from the command line, the configuration or an earlier import. An
    option that is missing has its default, which depends on the files.
    """
    errata: Errata | None = None
    executes: bool = False
    """Whether this command may execute predicted calls (`import --execute`). No file sets it."""
    version: int = 1
    failure: str = ""
    """Why no item of the run can be read, if the search for runs already found this out; else
    empty. The import then fails with this reason.
    """
    split: Callable[[RunPlan], list[RunPart]] | None = None
    """Returns the parts of the run that several processes can read at the same time. The list is
    empty if the run can only be read as a whole. A top-level function, so that it can be pickled.
    """
    part: RunPart | None = None
    """The part to read; None to read the whole run."""
    part_summaries: list[Any] | None = None
    """What all parts of the run yielded as their summaries, if they were read alone and only the
    end of the run remains to be read; else None.
    """

    @property
    def import_fingerprint(self) -> int:
        """Number below 2^31 for importer version, options and errata.

        If it changes, fcreview re-imports the run.
        """
        return self._compute_fingerprint(executes=self.executes)

    def has_same_settings(self, import_fingerprint: int) -> bool:
        """Whether a run was imported with the same version, options and errata.

        This is also so if an earlier command executed the calls of the run and this one does not.
        The run then keeps the results of the execution.
        """
        if import_fingerprint == self.import_fingerprint:
            return True
        if self.executes:
            return False
        return import_fingerprint == self._compute_fingerprint(executes=True)

    def _compute_fingerprint(self, *, executes: bool) -> int:
        """Return a number whose last three digits are the importer version, and whose other digits
        are a checksum of the options and errata.
        """
        settings = [f"{name}={value}" for name, value in sorted(self.options.items())]
        if self.errata:
            settings.append(self.errata.digest)
        if executes:
            settings.append("execute")
        if not settings:
            return self.version

        checksum = crc32(" ".join(settings).encode()) & 0xFFFFF
        return 1000 * checksum + self.version

    def has_importer_version(self, import_fingerprint: int) -> bool:
        """Whether the run was imported by this version of the importer, by the fingerprint of
        its import.
        """
        return import_fingerprint % 1000 == self.version

    @property
    def files(self) -> list[Path]:
        """Files that contain the items. If one changes, fcreview re-imports the run."""
        return [*self.results, *self.scores, *self.data, *self.logs]


@dataclass(slots=True)
class DiscoveredRuns:
    """Runs that an importer found in a set of files."""

    plans: list[RunPlan] = field(default_factory=list)
    issues: list[ImportIssue] = field(default_factory=list)
    claimed: set[Path] = field(default_factory=set)
    """Files that the importer recognized.

    For files that belong to no run, such as leaderboards, a notice is shown.
    """


@dataclass(frozen=True, slots=True)
class RewrittenFile:
    """Copy of a run file or dataset file with reviewed verdicts or golden fixes."""

    path: Path
    content: bytes


@dataclass(frozen=True, slots=True)
class Unrepresentable:
    """Kind of review that a benchmark's file format cannot represent, with the number of such
    reviews.
    """

    description: str
    """Text that names the kind of review, such as `soft_score of an argument`."""
    count: int = 1


@dataclass(frozen=True, slots=True)
class AppliedGoldenFix:
    """Golden answer that fcreview replaced in a copy of a dataset file."""

    item: tuple[str, str]
    path: Path
    old: Any
    new: Any
    record: str = ""
    """Id of the record in the file, which can differ from the id of the item."""
    old_fields: dict[str, Any] = field(default_factory=dict)
    """Fields of the record that changed, with their values before."""
    new_fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExecutedGoldenCall:
    """A golden call, and what it returned when the benchmark's own package executed it."""

    turn: int
    call: str
    output: str


@dataclass(frozen=True, slots=True)
class GoldenExecution:
    """Execution of a corrected golden answer with the benchmark's own package."""

    package: str
    """Name and version of the package."""
    calls: list[ExecutedGoldenCall]


class GoldenExecutionError(FcreviewError):
    """Raised if a golden answer must be executed before it is sent, and that is not possible or
    shows that it is wrong.
    """


@dataclass(frozen=True, slots=True)
class ReviewedVerdict:
    """Verdict of the annotators on an item or a part of it, for benchmarks whose files record
    who decided and why.
    """

    item_id: str
    target: str
    criterion: str
    value: Any
    author: str
    time: str
    reason: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """JSON object with the annotators, the agreement and the event ids of the decision."""
