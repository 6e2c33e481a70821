"""What a benchmark's importer is: it says which files are its own, groups them into runs, and reads a run's items.

Adding a benchmark is one folder beside this file, with the modules `discovery`, `read` and `leaderboard`, and one
line in `registry.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

from fcreview.errors import FcreviewError
from fcreview.model.item import ImportIssue, Item, Run
from fcreview.model.metric import Metric, RunItems, ScoredItem
from fcreview.run_plan import DiscoveredRuns, AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan


class Importer(Protocol):
    """A benchmark plugin. `find` must be cheap (names and first lines); `read` streams."""

    name: str
    """Lower-case key as used in `--format` and in the store: `bfcl`."""
    title: str
    """As people write it: `BFCL`."""
    expected_files: str
    """The files it knows, for the message that no run was found."""
    version: int
    """Raised when the same files would now give other items, so that runs are read again."""
    combines_runs: bool
    """Whether it publishes figures over several runs of one model."""
    aggregates_rows: bool
    """Whether its figures look at nothing of an item but its category, setting, verdicts, error type, tokens and
    seconds, in no order, and count a row as `Scored.times` items: then equal ones are given as one."""
    needs_part_verdicts: bool
    """Whether those look at verdicts on parts or on other criteria, too: what has such is then given as it is."""
    applies_errata: bool
    """Whether `read` heeds the golden answers of `RunPlan.errata`."""
    applies_equivalences: bool
    """Whether it heeds their equivalence rules, too."""
    tags: tuple[str, ...]
    """What reviewers are offered to tag an item with: the words of the benchmark's own error taxonomy."""

    def find_runs(self, files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:
        """Which runs lie in `files`. `data` are folders given by --data, FCREVIEW_DATA or the config file.

        `files` are absolute paths in a stable order, already gathered below (and, for score and dataset files,
        around) the path that was opened.
        """
        ...

    def read_items(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        """The items of a run in dataset order, with imported and rule verdicts, pairs and hashes filled in.

        Never raises for bad content: an unreadable line is an `ImportIssue` with file and line. May add to
        `plan.run` (official metrics, dataset) while reading.
        """
        ...

    def compute_metrics(self, rows: Sequence[ScoredItem], run: Run) -> list[Metric]:
        """The benchmark's published tables from the run's items as one source sees them. Pure."""
        ...

    def compute_combined_metrics(self, parts: Sequence[RunItems]) -> list[Metric]:
        """These figures, from runs of one generation and model and their items as one source sees them. Pure; none if
        the runs do not make them up."""
        ...

    def rewrite_scores(self, plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
        """Those of the run's score files that change by what people say (`rows` are of the corrected source), and how
        much of that has no place in them. WriteError if the benchmark has no such module."""
        ...

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        """Files beside the scores with figures that the benchmark's own program makes of them. WriteError as above."""
        ...

    def check_golden_fix(self, run: Run, item: Item, fix: dict[str, Any]) -> str | None:
        """What is wrong with a golden answer that people give for an item, by the benchmark's form of it and the
        function documents; None if nothing is. WriteError as above."""
        ...

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        """The golden answer that an item has, as people would give it: what a correction starts from. None if the item
        does not hold it in full. WriteError as above."""
        ...

    def recheck(self, run: Run, item: Item, fix: dict[str, Any], record: Any) -> bool | None:
        """The rule verdict with another golden answer, one without a `golden_problem`; `record` is the item's own of
        the result file, None if it has none. None where the benchmark's verdict is not recomputed. WriteError as
        above."""
        ...

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        """The files with golden answers that change by these, `(category, id)` -> fix; which golden answers they are;
        and what has no place in them. WriteError as above."""
        ...


class WriteError(FcreviewError):
    """A benchmark's files cannot be written."""


@dataclass(slots=True)
class Plugin:
    """An importer made of a folder: `discovery.find`, `read.read`, `leaderboard.figures` and, where its files can be
    written back, the functions of `writeback`; each loaded when it is first asked for."""

    name: str
    title: str
    expected_files: str
    version: int = 1
    combines_runs: bool = False
    """Its `leaderboard` has `combined` as well."""
    aggregates_rows: bool = False
    needs_part_verdicts: bool = False
    applies_errata: bool = False
    applies_equivalences: bool = False
    tags: tuple[str, ...] = ()

    def find_runs(self, files: Sequence[Path], data: Sequence[Path]) -> DiscoveredRuns:
        return cast(DiscoveredRuns, self._load_module("discovery").find_runs(files, data))

    def read_items(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        return cast("Iterator[Item | ImportIssue]", self._load_module("read").read_items(plan))

    def compute_metrics(self, rows: Sequence[ScoredItem], run: Run) -> list[Metric]:
        return cast("list[Metric]", self._load_module("leaderboard").compute_metrics(rows, run))

    def compute_combined_metrics(self, parts: Sequence[RunItems]) -> list[Metric]:
        return cast("list[Metric]", self._load_module("leaderboard").compute_combined_metrics(parts)) if self.combines_runs else []

    def rewrite_scores(self, plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
        return cast("Iterator[RewrittenFile | Unrepresentable]", self._writeback_function("rewrite_scores")(plan, rows))

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        return cast("list[Path]", self._writeback_function("find_summary_files")(plan))

    def check_golden_fix(self, run: Run, item: Item, fix: dict[str, Any]) -> str | None:
        return cast("str | None", self._writeback_function("check_golden_fix")(run, item, fix))

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", self._writeback_function("make_golden_template")(run, item))

    def recheck(self, run: Run, item: Item, fix: dict[str, Any], record: Any) -> bool | None:
        return cast("bool | None", self._writeback_function("recheck")(run, item, fix, record))

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        return cast(
            "Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]",
            self._writeback_function("rewrite_golden")(plan, fixes),
        )

    def _writeback_function(self, function: str) -> Callable[..., Any]:
        missing = f"importers/{self.name}/writeback.py"
        try:
            module = self._load_module("writeback")
        except ModuleNotFoundError as error:
            if error.name != f"fcreview.importers.{self.name}.writeback":
                raise
        else:
            if hasattr(module, function):
                return cast("Callable[..., Any]", getattr(module, function))
            missing = f"{function} in {missing}"
        raise WriteError(f"{self.title} has no way to write its own files ({missing} is missing)")

    def _load_module(self, part: str) -> ModuleType:
        return importlib.import_module(f"fcreview.importers.{self.name}.{part}")
