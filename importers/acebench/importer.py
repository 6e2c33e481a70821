"""Import ACEBench in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.importer import Importer
from fcreview.model.metric import OwnMetric
from fcreview.run_plan import GoldenExecutionError

if TYPE_CHECKING:
    from fcreview.model.item import Call, CallPair, Item, ReadRecord, Run
    from fcreview.model.metric import Metric, RunItems, ScoredItem
    from fcreview.run_plan import (
        AppliedGoldenFix,
        DiscoveredRuns,
        RewrittenFile,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )

NO_EXECUTION = (
    "the golden answers of agent categories must be executed, and ACEBench has no Python package"
    " that fcreview could call. Send this correction yourself after you ran it in a checkout"
)


class AcebenchImporter(Importer):
    name = "acebench"
    title = "ACEBench"
    expected_files = "data_CATEGORY_result.json files in result_en or result_zh"
    version = 11
    # Figure 6 (normal), table 5 (special) and section 4.2 (agent) of the paper.
    tags = (
        "function name",
        "param type",
        "param value",
        "output format",
        "error detection",
        "error correction",
        "function call error",
        "rule violation",
        "information mismanagement",
    )
    options = ("evaluator",)
    ignores_copies = True
    own_metrics = (OwnMetric("Summary", title="Summary", table="result.xlsx"),)
    combines_runs = True
    applies_errata = True
    rescores_golden_fixes = True

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.acebench import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.acebench import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.acebench import leaderboard

        return leaderboard.compute_metrics(items, run)

    def compute_combined_metrics(self, runs: Sequence[RunItems]) -> list[Metric]:
        from fcreview.importers.acebench import leaderboard

        return leaderboard.compute_combined_metrics(runs)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.acebench import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.acebench import writeback

        return writeback.find_summary_files(plan)

    def check_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
        from fcreview.importers.acebench import writeback

        return writeback.check_golden_fix(run, item, golden_fix)

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.acebench import writeback

        return writeback.make_golden_template(run, item)

    def parse_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
        from fcreview.importers.acebench import writeback

        return writeback.parse_golden_fix(run, item, golden_fix)

    def pair_with_golden_fix(
        self,
        run: Run,
        item: Item,
        golden_fix: dict[str, Any],
        golden: list[Call],
    ) -> list[CallPair]:
        from fcreview.importers.acebench.checker import COMPARISON_RULES
        from fcreview.matching.align import align_calls_by_turn

        return align_calls_by_turn(golden, item.predicted, COMPARISON_RULES)

    def recompute_verdict(
        self, run: Run, item: Item, golden_fix: dict[str, Any], record: Any
    ) -> bool | None:
        from fcreview.importers.acebench import writeback

        return writeback.recompute_verdict(run, item, golden_fix, record)

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        from fcreview.importers.acebench import writeback

        return writeback.rewrite_golden(plan, fixes)

    def execute_golden(self, question: dict[str, Any], fix_fields: dict[str, Any]) -> None:
        # Agent items have classes with a state. ACEBench is no package that could execute them.
        if "involved_classes" in question:
            raise GoldenExecutionError(NO_EXECUTION)
