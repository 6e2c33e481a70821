"""Define the interface that the importer of every benchmark implements.

To add a benchmark, create a package `importers/NAME/` with the modules `discovery`, `read` and `leaderboard`, and add
an `Importer` to `registry.IMPORTERS`. See docs/new-benchmark.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from fcreview.errors import FcreviewError
from fcreview.model.item import Call, ImportIssue, Item, Run
from fcreview.model.metric import Metric, RunItems, ScoredItem
from fcreview.run_plan import AppliedGoldenFix, DiscoveredRuns, ReviewedVerdict, RewrittenFile, RunPlan, Unrepresentable

if TYPE_CHECKING:
    from fcreview.stats.conventions import TrialTable


class WriteError(FcreviewError):
    """Raised when the files of a benchmark cannot be rewritten."""


@dataclass(frozen=True, slots=True)
class Importer:
    """The importer of one benchmark, implemented by the modules of the package `importers/NAME/`.

    Every method calls the function of the same name in one of the modules, which is imported on first use. The module
    `writeback` and each of its functions are optional: the methods that call them raise `WriteError` if they are
    missing.
    """

    name: str
    """Name of the package, value of `--format` and of `Run.benchmark`, such as `bfcl`."""
    title: str
    """Display name, such as `BFCL`."""
    expected_files: str
    """Description of the files that the importer recognizes. It is shown if no run was found."""
    version: int = 1
    """Version of the importer. Raise it if a change makes the same files produce other items, to re-import runs."""
    combines_runs: bool = False
    """Whether `leaderboard` defines `compute_combined_metrics`."""
    aggregates_rows: bool = False
    """Whether `compute_metrics` accepts several equal items as one `ScoredItem` with `n_items` above 1. If so, the
    metrics must depend only on category, setting, verdicts, error type, tokens and seconds, not on the item order."""
    needs_part_verdicts: bool = False
    """Whether `compute_metrics` also uses criteria other than `correct` and verdicts on parts of items. If so, items
    with such verdicts are not aggregated."""
    applies_errata: bool = False
    """Whether `read_items` applies the golden answers of `RunPlan.errata`."""
    applies_equivalences: bool = False
    """Whether `read_items` applies the equivalence rules of `RunPlan.errata`."""
    tags: tuple[str, ...] = ()
    """Error tags of the benchmark's own taxonomy, offered to annotators."""
    why_no_golden_fix: str = ""
    """Why golden answers cannot be corrected. If empty, `writeback` defines the functions for golden fixes."""

    def find_runs(self, files: Sequence[Path], dataset_folders: Sequence[Path]) -> DiscoveredRuns:
        """Find the runs among `files`. Reads only file names and first lines.

        `files` are absolute paths in a stable order. `dataset_folders` are from `--data`, FCREVIEW_DATA and the
        configuration file.
        """
        return cast(DiscoveredRuns, self._load_module("discovery").find_runs(files, dataset_folders))

    def read_items(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        """Yield the items of a run with imported and recomputed verdicts, call pairs and hashes.

        Never raises for bad content: for an unreadable line, it yields an `ImportIssue` with file and line. It may add
        official metrics and the dataset to `plan.run`.
        """
        return cast("Iterator[Item | ImportIssue]", self._load_module("read").read_items(plan))

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        """Compute the benchmark's published metrics for a run. `items` have the verdicts of one source."""
        return cast("list[Metric]", self._load_module("leaderboard").compute_metrics(items, run))

    def compute_combined_metrics(self, runs: Sequence[RunItems]) -> list[Metric]:
        """Compute metrics over several runs of one model and version. Their items have the verdicts of one source.

        Returns an empty list if the benchmark publishes no such metrics, or if one of the necessary runs is missing.
        """
        if not self.combines_runs:
            return []
        return cast("list[Metric]", self._load_module("leaderboard").compute_combined_metrics(runs))

    def list_trials(self, items: Sequence[ScoredItem], run: Run) -> TrialTable | None:
        """Return the run's items as trials of tasks, to compare scoring conventions.

        Returns None if `leaderboard` does not define `list_trials`.
        """
        module = self._load_module("leaderboard")
        return cast("TrialTable", module.list_trials(items, run)) if hasattr(module, "list_trials") else None

    def rewrite_scores(self, plan: RunPlan, items: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
        """Yield the score files that reviews change, and the kinds of reviews that the files cannot represent.

        `items` are all items of the run with their effective verdicts (the metric source `corrected`).
        """
        return cast(
            "Iterator[RewrittenFile | Unrepresentable]", self._writeback_function("rewrite_scores")(plan, items)
        )

    def write_reviewed_logs(
        self, plan: RunPlan, verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        """Yield the run's log files with the annotators' verdicts added, each with its author and reason.

        `items` are all items of the run with their effective verdicts (the metric source `corrected`).
        """
        write = self._writeback_function("write_reviewed_logs")
        return cast("Iterator[RewrittenFile | Unrepresentable]", write(plan, verdicts, items))

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        """Find the files with metrics that the benchmark's own program derives from the score files."""
        return cast("list[Path]", self._writeback_function("find_summary_files")(plan))

    def check_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
        """Return the first error of a golden fix, or None if it is valid.

        A golden fix has the form of the benchmark's own golden answers and must match the item's function docs.
        """
        if self.why_no_golden_fix:
            return self.why_no_golden_fix
        return cast("str | None", self._writeback_function("check_golden_fix")(run, item, golden_fix))

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        """Return the item's golden answer as a golden fix to edit, or None if the item does not contain all of it."""
        if self.why_no_golden_fix:
            return None
        return cast("dict[str, Any] | None", self._writeback_function("make_golden_template")(run, item))

    def recheck(self, run: Run, item: Item, golden_fix: dict[str, Any], record: Any) -> bool | None:
        """Recompute the item's verdict with another golden answer. Returns None if it cannot be recomputed.

        `golden_fix` must be valid (see `check_golden_fix`). `record` is the item's record in the result file, or None.
        """
        if self.why_no_golden_fix:
            return None
        return cast("bool | None", self._writeback_function("recheck")(run, item, golden_fix, record))

    def parse_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
        """Return the golden calls of a valid golden fix. Empty for a benchmark without `parse_golden_fix`."""
        try:
            parse = self._writeback_function("parse_golden_fix")
        except WriteError:
            return []
        return cast("list[Call]", parse(run, item, golden_fix))

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        """Yield the dataset files that golden fixes change, each applied fix, and the number of fixes without a record.

        `fixes` maps (category, item id) to golden fixes.
        """
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
        raise WriteError(f"fcreview cannot write the files of {self.title} ({missing} is missing)")

    def _load_module(self, name: str) -> ModuleType:
        return importlib.import_module(f"fcreview.importers.{self.name}.{name}")
