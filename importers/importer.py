"""Define the interface of importers: the base class `Importer`, with a subclass for each benchmark.

The subclass of a benchmark is in `importers/NAME/importer.py`, and an object of it is in
`importers/registry.py`. fcreview loads all subclasses when it searches for runs, but it seldom
needs all benchmarks. So each method imports the modules of its benchmark when it is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError

if TYPE_CHECKING:
    from fcreview.model.item import Call, CallPair, Item, ReadRecord, Run
    from fcreview.model.metric import Metric, OwnMetric, RunItems, ScoredItem
    from fcreview.run_plan import (
        AppliedGoldenFix,
        DiscoveredRuns,
        GoldenExecution,
        ImportOption,
        ReviewedVerdict,
        RewrittenFile,
        RunPart,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )
    from fcreview.stats.conventions import TrialTable


RecomputeVerdict = Callable[["Run", "Item", dict[str, Any], Any], "bool | None"]
"""Function with the arguments of `Importer.recompute_verdict`."""


class WriteError(FcreviewError):
    """Raised when the files of a benchmark cannot be rewritten."""


class Importer(ABC):
    """Reads the results of one benchmark, computes its metrics, and writes reviews to its files.

    A subclass defines `name`, `title`, `expected_files` and the three abstract methods. Everything
    else has a default. An importer has no state: one object serves all runs, in each process.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Value of `--format`, of `RunPlan.importer` and usually of `Run.benchmark`: `bfcl`."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Display name, such as `BFCL`."""

    @property
    @abstractmethod
    def expected_files(self) -> str:
        """Description of the files that the importer recognizes.

        `fcreview doctor` shows it if it finds no run.
        """

    version: int = 1
    """Raise the version if a change makes the same files produce other items. fcreview then
    re-imports the runs."""
    tags: tuple[str, ...] = ()
    """Error tags from the benchmark's publications, offered to annotators."""
    options: tuple[ImportOption, ...] = ()
    """Options of `RunPlan.options` that `read_items` uses. fcreview remembers their values for each
    run."""
    ignores_copies: bool = False
    """Whether files that are copies by their names, such as `old_NAME` or `NAME_backup.json`, are
    no runs."""
    aggregates_rows: bool = False
    """Whether `compute_metrics` accepts several equal items as one `ScoredItem` with `n_items`
    above 1. If so, the metrics must depend only on category, setting, verdicts, error type, tokens
    and seconds, not on the item order."""
    needs_part_verdicts: bool = False
    """Whether `compute_metrics` also uses other criteria than `correct`, and verdicts on parts of
    items. If so, items with such verdicts are not aggregated."""
    own_metrics: tuple[OwnMetric, ...] = ()
    """Metric by which the benchmark ranks models: the first of these that a run has. Empty if that
    is the share of items that pass."""
    combines_runs: bool = False
    """Whether the subclass defines `compute_combined_metrics`."""
    applies_errata: bool = False
    """Whether `read_items` applies the golden answers of `RunPlan.errata`."""
    rescores_golden_fixes: bool = False
    """Whether an accepted golden fix changes verdicts, because all figures of the benchmark follow
    from verdicts that `recompute_verdict` computes."""
    executes_calls: bool = False
    """Whether `read_items` recomputes more verdicts if `RunPlan.executes` is true."""
    applies_equivalences: bool = False
    """Whether `read_items` applies the equivalence rules of `RunPlan.errata`."""
    why_no_golden_fix: str = "fcreview cannot correct the golden answers of this benchmark"
    """Reason that annotators see if the subclass does not define `check_golden_fix`."""

    @abstractmethod
    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        """Return a plan for each run of the benchmark among the files.

        Read only file names and first lines. Add each file that belongs to the benchmark to
        `DiscoveredRuns.claimed`, even if no run needs it, because fcreview reports all other files
        as unknown.

        Args:
            files: absolute paths of the files at and below the paths that the user opened.
            dataset_folders: existing folders of `--data`, of the settings and of FCREVIEW_DATA.
            search: values of `--score` and `--language`.
        """

    @abstractmethod
    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        """Yield the items of a run, and an issue for each record that cannot be read.

        Never raise for bad content, and never evaluate text from a file. Also yield a `RunFact` for
        each choice that the importer made, such as the facts `expected_items`, `evaluator` and
        `decoder`, which `fcreview check` shows. If the dataset is known, yield a `MissingItem` for
        each of its items without a result.
        """

    def split_run(self, plan: RunPlan) -> list[RunPart]:
        """Return the parts of a large run that several processes can read at the same time.

        The records of `read_part` for each part in turn, and then those of `finish_run`, must be
        the records of `read_items`. Return an empty list if the run can only be read as a whole.
        """
        return []

    def read_part(self, plan: RunPlan, part: RunPart) -> Iterator[ReadRecord]:
        """Yield the records of a part of a run, and at most one `PartSummary`, of what
        `finish_run` needs to know.
        """
        raise NotImplementedError

    def finish_run(self, plan: RunPlan, summaries: Sequence[Any]) -> Iterator[ReadRecord]:
        """Yield the records that follow those of all parts, such as facts about the whole run.

        Args:
            plan: the plan of the run, with what reading the parts has set in `plan.run`.
            summaries: the content of the summary of each part, or None for a part without one.

        Raises DependentParts if the run must be read as a whole.
        """
        return iter(())

    @abstractmethod
    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        """Return the metrics that the benchmark publishes. Do no I/O.

        If the metrics cannot be computed from these items, raise an exception of `MALFORMED_DATA`.
        fcreview then shows pass rates by category.

        Args:
            items: all items of the run, with the verdicts of one source.
            run: the run, with its settings and the metrics that its files contain.
        """

    def compute_combined_metrics(self, runs: Sequence[RunItems]) -> list[Metric]:
        """Return metrics over several runs of one model, such as both languages.

        Return an empty list if a necessary run is missing. fcreview calls this method only if
        `combines_runs` is true.
        """
        return []

    def list_trials(self, items: Sequence[ScoredItem], run: Run) -> TrialTable | None:
        """Return the items as trials of tasks, to compare scoring conventions.

        Return None if the conventions cannot be compared.
        """
        return None

    def list_verdict_choices(self, plan: RunPlan) -> list[str]:
        """Return the names that the option `verdict_from` accepts for a run."""
        return []

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        """Yield the score files that reviews change (`export --format native`).

        Also yield the kinds of reviews that the files cannot represent. `items` are all items of
        the run with their effective verdicts.
        """
        raise self._make_write_error("score files")

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        """Return the files that the benchmark's own program computes from the score files."""
        raise self._make_write_error("score files")

    def write_reviewed_logs(
        self, plan: RunPlan, verdicts: Sequence[ReviewedVerdict], items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        """Yield the run's logs with the annotators' verdicts, names and reasons.

        `items` are all items of the run with their effective verdicts.
        """
        raise self._make_write_error("logs")

    def check_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
        """Return the first error of a golden fix, or None if it is valid.

        A golden fix has the form of the benchmark's own golden answers and must match the item's
        function docs.
        """
        return self.why_no_golden_fix

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        """Return the item's golden answer in the form of a golden fix, for annotators to edit.

        Return None if the item does not contain all of the golden answer.
        """
        return None

    def make_fix_from_prediction(self, run: Run, item: Item) -> dict[str, Any] | None:
        """Return the predicted calls in the form of a golden fix.

        Return None if a call could not be decoded, or if the golden answer does not consist of
        calls.
        """
        from fcreview.importers.common.writeback import make_golden_calls_from_prediction
        from fcreview.model.item import Extra

        golden = make_golden_calls_from_prediction(item)
        # `extra` has the other parts of the golden answer, which the prediction replaces.
        return self.make_golden_template(run, replace(item, golden=golden, extra=Extra()))

    def parse_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
        """Return the golden calls in a valid golden fix. The list is empty if it has none."""
        return []

    def pair_with_golden_fix(
        self,
        run: Run,
        item: Item,
        golden_fix: dict[str, Any],
        golden: list[Call],
    ) -> list[CallPair]:
        """Pair the predicted calls with the golden calls of a golden fix, to show the differences
        as the import shows those from the dataset's golden answer.
        """
        from fcreview.matching.align import align_calls_by_turn

        # An importer with rules of its own for pairs overrides this, and uses the run and the fix.
        return align_calls_by_turn(golden, item.predicted)

    def recompute_verdict(
        self, run: Run, item: Item, golden_fix: dict[str, Any], record: Any
    ) -> bool | None:
        """Return the item's verdict with another golden answer, a valid golden fix.

        `record` is the item's record in the result file, or None. Return None if the verdict cannot
        be recomputed.
        """
        return None

    def open_recomputation(self) -> AbstractContextManager[RecomputeVerdict]:
        """Start a program that executes answers. The context has a function that recomputes
        verdicts like `recompute_verdict`, also those that need it. Only with `executes_calls`.
        """
        return nullcontext(self.recompute_verdict)

    def needs_execution(self, category: str) -> bool:
        """Whether only the execution of calls gives recomputed verdicts in a category."""
        return False

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        """Yield the dataset files that golden fixes change (`export --format golden-patch`).

        Also yield each applied fix, and the number of fixes without a record. `fixes` maps
        (category, item id) to golden fixes.
        """
        raise self._make_write_error("dataset")

    def execute_golden(
        self, question: dict[str, Any], fix_fields: dict[str, Any]
    ) -> GoldenExecution | None:
        """Execute a corrected golden answer whose calls or final state count. Return None if there
        is nothing to execute.

        Raises GoldenExecutionError if it cannot be executed, or if a call fails.

        Args:
            question: record of the question in the dataset.
            fix_fields: changed fields of the golden answer.
        """
        return None

    def _make_write_error(self, files: str) -> WriteError:
        return WriteError(f"fcreview cannot write the {files} of {self.title}")
