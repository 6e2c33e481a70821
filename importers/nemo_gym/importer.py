"""Import rollouts of NeMo Gym."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.importers.importer import Importer
from fcreview.model.metric import OwnMetric

if TYPE_CHECKING:
    from fcreview.model.item import ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import (
        DiscoveredRuns,
        RewrittenFile,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )


class NemoGymImporter(Importer):
    name = "nemo_gym"
    title = "NeMo Gym"
    expected_files = "NeMo Gym rollouts (JSON Lines with responses_create_params, response, reward)"
    own_metrics = (OwnMetric("pass@1/accuracy", title="pass@1", table="pass@k"),)
    options = ("verdict_from",)
    version = 5
    why_no_golden_fix = (
        "fcreview does not change the inputs of NeMo Gym, which contain the golden answers"
    )

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.nemo_gym import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.nemo_gym import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.nemo_gym import leaderboard

        return leaderboard.compute_metrics(items, run)

    def list_verdict_choices(self, plan: RunPlan) -> list[str]:
        from fcreview.importers.nemo_gym import survey

        return survey.list_verdict_choices(plan)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.nemo_gym import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.nemo_gym import writeback

        return writeback.find_summary_files(plan)
