"""Import BFCL (Berkeley Function-Calling Leaderboard), V1 to V4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.importer import Importer, RecomputeVerdict
from fcreview.model.metric import OwnMetric

if TYPE_CHECKING:
    from fcreview.model.item import Call, CallPair, Item, ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import (
        AppliedGoldenFix,
        DiscoveredRuns,
        GoldenExecution,
        RewrittenFile,
        RunPart,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )
    from fcreview.stats.conventions import TrialTable


class BfclImporter(Importer):
    name = "bfcl"
    title = "BFCL"
    expected_files = (
        "BFCL_v*_CATEGORY_result.json, gorilla_openfunctions_v1_test_CATEGORY_result.json "
        "or *_score.json files"
    )
    version = 16
    # Common mistakes in the release post of V1, and error types of the V4 program.
    tags = (
        "implicit conversion",
        "malformed call",
        "missing URL",
        "wrong function",
        "wrong count",
        "missing parameter",
        "unexpected parameter",
        "wrong type",
        "wrong value",
        "should not call",
        "should call",
        "wrong state",
        "wrong response",
        "wrong answer",
    )
    options = ("decoder",)
    ignores_copies = True
    own_metrics = (
        OwnMetric("overall", title="overall accuracy", table="accuracy"),
        OwnMetric("all items", title="overall accuracy", table="accuracy"),
    )
    aggregates_rows = True
    applies_errata = True
    rescores_golden_fixes = True
    executes_calls = True
    applies_equivalences = True

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.bfcl import opened_files
        from fcreview.run_plan import DiscoveredRuns

        bfcl_files = opened_files.classify_files(files)
        if not bfcl_files.claimed:
            return DiscoveredRuns()

        from fcreview.importers.bfcl import discovery

        return discovery.find_runs(bfcl_files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.bfcl import read

        return read.read_items(plan)

    def split_run(self, plan: RunPlan) -> list[RunPart]:
        from fcreview.importers.bfcl import read

        return read.split_run(plan)

    def read_part(self, plan: RunPlan, part: RunPart) -> Iterator[ReadRecord]:
        from fcreview.importers.bfcl import read

        return read.read_part(plan, part)

    def finish_run(self, plan: RunPlan, summaries: Sequence[Any]) -> Iterator[ReadRecord]:
        from fcreview.importers.bfcl import read

        return read.finish_run(plan, summaries)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.bfcl import leaderboard

        return leaderboard.compute_metrics(items, run)

    def list_trials(self, items: Sequence[ScoredItem], run: Run) -> TrialTable:
        from fcreview.importers.bfcl import leaderboard

        return leaderboard.list_trials(items, run)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.bfcl import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.bfcl import writeback

        return writeback.find_summary_files(plan)

    def check_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
        from fcreview.importers.bfcl import writeback

        return writeback.check_golden_fix(run, item, golden_fix)

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.bfcl import writeback

        return writeback.make_golden_template(run, item)

    def parse_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
        from fcreview.importers.bfcl import writeback

        return writeback.parse_golden_fix(run, item, golden_fix)

    def pair_with_golden_fix(
        self,
        run: Run,
        item: Item,
        golden_fix: dict[str, Any],
        golden: list[Call],
    ) -> list[CallPair]:
        from fcreview.importers.bfcl import writeback

        return writeback.pair_with_golden_fix(run, item, golden_fix, golden)

    def make_fix_from_prediction(self, run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.bfcl import writeback

        return writeback.make_fix_from_prediction(run, item)

    def recompute_verdict(
        self, run: Run, item: Item, golden_fix: dict[str, Any], record: Any
    ) -> bool | None:
        from fcreview.importers.bfcl import writeback

        return writeback.recompute_verdict(run, item, golden_fix, record)

    def open_recomputation(self) -> AbstractContextManager[RecomputeVerdict]:
        from fcreview.importers.bfcl import executed_rescore

        return executed_rescore.open_recomputation()

    def needs_execution(self, category: str) -> bool:
        return category.startswith("multi_turn")

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        from fcreview.importers.bfcl import writeback

        return writeback.rewrite_golden(plan, fixes)

    def execute_golden(
        self, question: dict[str, Any], fix_fields: dict[str, Any]
    ) -> GoldenExecution | None:
        from fcreview.importers.bfcl.execution.golden import execute_golden

        return execute_golden(question, fix_fields)
