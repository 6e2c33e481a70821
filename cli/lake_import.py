"""Import runs into a lake."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fcreview.cli.config import Config
from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.output import Progress
from fcreview.cli.workspace import WorkspaceOptions, discover_runs, resolve_data_option, set_import_options

if TYPE_CHECKING:
    from fcreview.store.lake.importer import LakePart
    from fcreview.store.rows import ImportSummary
    from fcreview.store.workspace import Workspace


def parse_part(text: str | None) -> LakePart:
    """Parse `--part K/N`. Raises: UsageError if it is invalid."""
    from fcreview.store.lake.importer import LakePart

    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text or "1/1")
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--part {text}: expected K/N with K from 1 to N, such as 1/4")
    return LakePart(int(match[1]), int(match[2]))


Scores = dict[int, dict[str, int]]
"""Counts of official and other verdicts by run number."""


def import_to_lake(
    options: WorkspaceOptions, config: Config, location: str, part: LakePart, names: Sequence[str]
) -> tuple[ImportSummary, Scores]:
    """Import one part of the runs at the paths into a lake. Returns the summary, and counts with these names.

    Raises: CommandError if the lake cannot be written.
    """
    from fcreview.importers.registry import read_items
    from fcreview.store.importing.dataset_paths import DatasetOptions
    from fcreview.store.lake.files import open_lake_files
    from fcreview.store.lake.importer import LakeImport, import_part
    from fcreview.store.store import Store

    discovered = discover_runs(options, config)
    scores: Scores = {}

    def collect_scores(workspace: Workspace, numbers: dict[int, int]) -> None:
        with Store.open(workspace) as store:
            rows = [row for row in store.fetch_runs() if row.run in numbers]
        scores.update({numbers[row.run]: {name: getattr(row, name) for name in names} for row in rows})

    progress = Progress()
    lake = LakeImport(
        open_lake_files(location),
        sorted(path.resolve() for path in options.paths),
        read_items,
        lambda plans, workspace: set_import_options(plans, options, config, workspace),
        DatasetOptions(resolve_data_option(options)),
        progress,
        on_batch=collect_scores,
    )
    try:
        summary = import_part(lake, discovered.plans, discovered.issues, part)
    except OSError as error:
        raise CommandError(f"cannot write to the lake {location} ({error.strerror or error})") from error
    finally:
        progress.close()
    return summary, scores
