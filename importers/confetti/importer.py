"""Import CONFETTI: calls and dialog acts of conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.importer import Importer
from fcreview.model.metric import OwnMetric

if TYPE_CHECKING:
    from fcreview.model.item import Call, CallPair, Item, ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import (
        AppliedGoldenFix,
        DiscoveredRuns,
        RewrittenFile,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )


class ConfettiImporter(Importer):
    name = "confetti"
    title = "CONFETTI"
    expected_files = "BFCL_v2_conversationsclean_result.json, BFCL_v2_dialogacts_result.json"
    version = 9
    # Complexities of the conversations in table 1 of the paper.
    tags = (
        "exception in execution",
        "failed conversation",
        "confirmation",
        "goal switching",
        "goal correction",
        "goal stacking",
        "ambiguous goal",
        "follow-up question",
        "implicit goal",
        "overfill",
        "underfill",
        "goal not supported",
    )
    own_metrics = (OwnMetric("soft accuracy, chain product per turn", title="soft accuracy"),)
    ignores_copies = True

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.confetti import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.confetti import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.confetti import leaderboard

        return leaderboard.compute_metrics(items, run)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.confetti import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.confetti import writeback

        return writeback.find_summary_files(plan)

    def check_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
        from fcreview.importers.confetti import writeback

        return writeback.check_golden_fix(run, item, golden_fix)

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.confetti import writeback

        return writeback.make_golden_template(run, item)

    def parse_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
        from fcreview.importers.confetti import writeback

        return writeback.parse_golden_fix(run, item, golden_fix)

    def pair_with_golden_fix(
        self,
        run: Run,
        item: Item,
        golden_fix: dict[str, Any],
        golden: list[Call],
    ) -> list[CallPair]:
        from fcreview.importers.bfcl.checker.schema import COMPARISON_RULES
        from fcreview.matching.align import align_calls_by_turn

        return align_calls_by_turn(golden, item.predicted, COMPARISON_RULES)

    def recompute_verdict(
        self, run: Run, item: Item, golden_fix: dict[str, Any], record: Any
    ) -> bool | None:
        from fcreview.importers.confetti import writeback

        return writeback.recompute_verdict(run, item, golden_fix, record)

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        from fcreview.importers.confetti import writeback

        return writeback.rewrite_golden(plan, fixes)
