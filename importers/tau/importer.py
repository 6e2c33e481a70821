"""Import tau-bench v1 and tau2-bench."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.importer import Importer
from fcreview.model.metric import OwnMetric

if TYPE_CHECKING:
    from fcreview.model.item import Call, Item, ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import (
        AppliedGoldenFix,
        DiscoveredRuns,
        RewrittenFile,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )
    from fcreview.stats.conventions import TrialTable


class TauImporter(Importer):
    name = "tau"
    title = "tau-bench"
    expected_files = (
        "JSON of {info, tasks, simulations}, results.json beside simulations/, "
        "or JSON arrays of {task_id, traj}"
    )
    version = 15
    # Fault types of the error identification in the tau-bench repository, and of the viewer of
    # tau2-bench.
    tags = (
        "goal partially completed",
        "used wrong tool",
        "used wrong tool argument",
        "took unintended action",
        "logical",
        "hallucination",
        "unresponsive",
        "early termination",
        "transcription",
        "vad",
    )
    own_metrics = (
        OwnMetric("pass^1", title="pass^1", table="pass^k"),
        OwnMetric("average reward", title="average reward", table="reward"),
    )

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.tau import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.tau import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.tau import leaderboard

        return leaderboard.compute_metrics(items, run)

    def list_trials(self, items: Sequence[ScoredItem], run: Run) -> TrialTable:
        from fcreview.importers.tau import leaderboard

        return leaderboard.list_trials(items, run)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.tau import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.tau import writeback

        return writeback.find_summary_files(plan)

    def check_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
        from fcreview.importers.tau import golden_fix as fixes

        return fixes.check_golden_fix(run, item, golden_fix)

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.tau import golden_fix as fixes

        return fixes.make_golden_template(run, item)

    def make_fix_from_prediction(self, run: Run, item: Item) -> dict[str, Any] | None:
        # The golden actions are one way to the final state. A prediction is a whole conversation.
        return None

    def parse_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
        from fcreview.importers.tau import golden_fix as fixes

        return fixes.parse_golden_fix(golden_fix)

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        from fcreview.importers.tau import golden_fix

        return golden_fix.rewrite_golden(plan, fixes)

    def execute_golden(self, question: dict[str, Any], fix_fields: dict[str, Any]) -> None:
        from fcreview.importers.tau import golden_fix

        golden_fix.raise_if_state_based(question, fix_fields)
