"""Import results of any form with a mapping file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.importers.importer import Importer

if TYPE_CHECKING:
    from fcreview.model.item import ReadRecord, Run
    from fcreview.model.metric import Metric, ScoredItem
    from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions


class MappingImporter(Importer):
    """Reads files that no other importer knows, as a mapping file says.

    The runs have the benchmark that the mapping file names, so that their metrics and golden
    answers are those of the generic format.
    """

    name = "mapping"
    title = "Mapping"
    version = 7
    expected_files = "JSON, JSON Lines, CSV or Parquet with a mapping file (fcreview-map.toml)"
    aggregates_rows = True
    needs_part_verdicts = True
    why_no_golden_fix = "fcreview reads files with a mapping file, but does not write them"

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        from fcreview.importers.mapping import discovery

        return discovery.find_runs(files, dataset_folders, search)

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        from fcreview.importers.mapping import read

        return read.read_items(plan)

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        from fcreview.importers.mapping import leaderboard

        return leaderboard.compute_metrics(items, run)
