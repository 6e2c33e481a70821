"""Import the generic format and OpenAI-style chat logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.importer import Importer

if TYPE_CHECKING:
    from fcreview.model.item import Call, Item, ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import (
        AppliedGoldenFix,
        DiscoveredRuns,
        RewrittenFile,
        RunPart,
        RunPlan,
        SearchOptions,
        Unrepresentable,
    )


class GenericImporter(Importer):
    name = "generic"
    title = "Generic"
    expected_files = "JSON Lines of {id, messages, ...} or OpenAI-style chat logs"
    version = 15
    aggregates_rows = True
    needs_part_verdicts = True
    rescores_golden_fixes = True

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.generic_format import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.generic_format import read

        return read.read_items(plan)

    def split_run(self, plan: RunPlan) -> list[RunPart]:
        from fcreview.importers.generic_format import read

        return read.split_run(plan)

    def read_part(self, plan: RunPlan, part: RunPart) -> Iterator[ReadRecord]:
        from fcreview.importers.generic_format import read

        return read.read_part(plan, part)

    def finish_run(self, plan: RunPlan, summaries: Sequence[Any]) -> Iterator[ReadRecord]:
        from fcreview.importers.generic_format import read

        return read.finish_run(summaries)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.generic_format import leaderboard

        return leaderboard.compute_metrics(items, run)

    def rewrite_scores(
        self, plan: RunPlan, items: Sequence[ScoredItem]
    ) -> Iterator[RewrittenFile | Unrepresentable]:
        from fcreview.importers.generic_format import writeback

        return writeback.rewrite_scores(plan, items)

    def find_summary_files(self, plan: RunPlan) -> list[Path]:
        from fcreview.importers.generic_format import writeback

        return writeback.find_summary_files(plan)

    def check_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
        from fcreview.importers.generic_format import writeback

        return writeback.check_golden_fix(run, item, golden_fix)

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.generic_format import writeback

        return writeback.make_golden_template(run, item)

    def parse_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
        from fcreview.importers.generic_format import writeback

        return writeback.parse_golden_fix(run, item, golden_fix)

    def recompute_verdict(
        self, run: Run, item: Item, golden_fix: dict[str, Any], record: Any
    ) -> bool | None:
        from fcreview.importers.generic_format import writeback

        return writeback.recompute_verdict(run, item, golden_fix, record)

    def rewrite_golden(
        self, plan: RunPlan, fixes: Mapping[tuple[str, str], dict[str, Any]]
    ) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
        from fcreview.importers.generic_format import writeback

        return writeback.rewrite_golden(plan, fixes)
