"""Import MCP-Atlas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.importers.importer import Importer

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


class McpAtlasImporter(Importer):
    name = "mcp_atlas"
    title = "MCP-Atlas"
    expected_files = "scored_MODEL.csv with coverage_score, or outputs with the task file"
    version = 5
    tags = (
        "malformed_call",
        "wrong_tool",
        "no_tool_use",
        "err_recovery",
        "task_misunderstanding",
        "faulty_synthesis",
        "response_misparsing",
        "early_termination",
        "hallucinated_fact",
        "logical_error",
        "constraint_violation",
    )
    why_no_golden_fix = (
        "MCP-Atlas compares claims, not calls, so there is no golden call to correct"
    )

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.mcp_atlas import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.mcp_atlas import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.mcp_atlas import leaderboard

        return leaderboard.compute_metrics(items, run)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.mcp_atlas import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.mcp_atlas import writeback

        return writeback.find_summary_files(plan)
