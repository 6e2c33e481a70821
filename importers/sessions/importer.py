"""Import sessions of coding agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.importers.importer import Importer

if TYPE_CHECKING:
    from fcreview.model.item import Call, Item, ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions


class SessionsImporter(Importer):
    """Reads sessions of people with a coding agent. They have no golden answer and no verdict."""

    name = "sessions"
    title = "Sessions"
    version = 7
    expected_files = "sessions of Claude Code, Codex (rollout-*.jsonl) and Gemini CLI"
    aggregates_rows = True
    needs_part_verdicts = True

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.sessions import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.sessions import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.sessions import leaderboard

        return leaderboard.compute_metrics(items, run)

    def check_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:
        from fcreview.importers.sessions import golden

        return golden.check_golden_fix(run, item, golden_fix)

    def make_golden_template(self, run: Run, item: Item) -> dict[str, Any] | None:
        from fcreview.importers.sessions import golden

        return golden.make_golden_template(run, item)

    def parse_golden_fix(self, run: Run, item: Item, golden_fix: dict[str, Any]) -> list[Call]:
        from fcreview.importers.sessions import golden

        return golden.parse_golden_fix(run, item, golden_fix)

    def recompute_verdict(
        self,
        run: Run,
        item: Item,
        golden_fix: dict[str, Any],
        record: Any,
    ) -> bool | None:
        from fcreview.importers.sessions import golden

        return golden.recompute_verdict(run, item, golden_fix)
