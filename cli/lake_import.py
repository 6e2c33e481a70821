"""Import runs into a lake, here or on a Dask cluster."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.config import Config, load_config
from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.import_options import NO_ERRATA
from fcreview.cli.output import Progress
from fcreview.cli.workspace import WorkspaceOptions, discover_runs, resolve_data_option, set_import_options
from fcreview.importers.common.discovery import LAKE_FILE

if TYPE_CHECKING:
    from fcreview.store.lake.importer import LakePart
    from fcreview.store.rows import ImportSummary
    from fcreview.store.workspace import Workspace


SCORE_NAMES = (
    "official_pass", "official_known", "rule_known", "judge_pass", "judge_known", "stated_pass", "stated_of",
)  # fmt: skip
"""Counts of a run in the summary."""
Scores = dict[int, dict[str, int]]
"""Counts with the names in `SCORE_NAMES` by run number."""
_import_lock = threading.Lock()
"""Lock that a worker acquires to import a part, because an import uses the whole process."""
PARTS_PER_WORKER = 4
"""Number of parts for each worker of a cluster. Several small parts even out differences in size."""


def fetch_scores(workspace: Workspace) -> Scores:
    from fcreview.store.store import Store

    with Store.open(workspace) as store:
        return {row.run: {name: getattr(row, name) for name in SCORE_NAMES} for row in store.fetch_runs()}


def parse_part(text: str | None) -> LakePart:
    """Parse `--part K/N`. Raises: UsageError if it is invalid."""
    from fcreview.store.lake.importer import LakePart

    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text or "1/1")
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--part {text}: expected K/N with K from 1 to N, such as 1/4")
    return LakePart(int(match[1]), int(match[2]))


def parse_part_count(text: str | None) -> int | None:
    """Parse `--part N` for a cluster. Raises: UsageError if it is invalid."""
    if text is None or re.fullmatch(r"[1-9]\d{0,5}", text):
        return int(text) if text else None
    raise UsageError(f"--part {text}: with --dask, expected the number of parts, such as 16")


def import_to_lake(
    options: WorkspaceOptions, config: Config, location: str, part: LakePart, n_workers: int | None = None
) -> tuple[ImportSummary, Scores]:
    """Import one part of the runs at the paths into a lake. Raises CommandError if the lake cannot be written."""
    from fcreview.importers.registry import read_items
    from fcreview.store.importing.dataset_paths import DatasetOptions
    from fcreview.store.lake.files import open_lake_files
    from fcreview.store.lake.importer import LakeImport, import_part

    _check_folder(location)
    discovered = discover_runs(options, config)
    scores: Scores = {}

    def collect_scores(workspace: Workspace, numbers: dict[int, int]) -> None:
        found = fetch_scores(workspace)
        scores.update({numbers[run]: counts for run, counts in found.items() if run in numbers})

    progress = Progress()
    lake = LakeImport(
        open_lake_files(location),
        sorted(path.resolve() for path in options.paths),
        read_items,
        lambda plans, workspace: set_import_options(plans, options, config, workspace),
        DatasetOptions(resolve_data_option(options)),
        progress,
        n_workers,
        on_batch=collect_scores,
    )
    try:
        summary = import_part(lake, discovered.plans, discovered.issues, part)
    except OSError as error:
        raise CommandError(f"cannot write to the lake {location} ({error.strerror or error})") from error
    finally:
        progress.close()
    return summary, scores


def _check_folder(location: str) -> None:
    """Raise CommandError if a folder has files that do not belong to a lake. Parts may be writing the first file."""
    folder = Path(location)
    if location.startswith("s3://") or not folder.is_dir():
        return
    names = [name for name in os.listdir(folder) if not name.startswith(".") and not name.endswith(".tmp")]  # noqa: PTH208
    if names and LAKE_FILE not in names:
        raise CommandError(f"{location} contains other files. Choose an empty folder for the lake")


def import_on_cluster(
    options: WorkspaceOptions, location: str, address: str, count: int | None
) -> tuple[ImportSummary, Scores]:
    """Import all runs at the paths into a lake with the workers of a Dask cluster. They must see the same files.

    Args:
        address: address of the scheduler, or its scheduler file (`.json`).
        count: number of parts; None for `PARTS_PER_WORKER` parts for each worker.

    Raises: CommandError if Dask is not installed, or if the cluster cannot be reached.
    """
    from fcreview.store.lake.importer import LakePart
    from fcreview.store.rows import ImportSummary

    try:
        distributed = import_module("distributed")
    except ImportError:
        raise CommandError("--dask needs Dask: pip install 'fcreview[cluster]'") from None
    options = replace(
        options,
        paths=[path.resolve() for path in options.paths],
        data=[path.resolve() for path in options.data or ()],
        errata=options.errata if options.errata in (None, NO_ERRATA) else os.path.abspath(options.errata),  # noqa: PTH100
    )
    try:
        client = distributed.Client(**{"scheduler_file" if address.endswith(".json") else "address": address})
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot connect to the Dask scheduler {address}: {error}") from error
    with client:
        n_parts = count or PARTS_PER_WORKER * max(1, len(client.nthreads()))
        parts = [LakePart(number, n_parts) for number in range(1, n_parts + 1)]
        futures = [client.submit(import_part_on_worker, options, location, part, pure=False) for part in parts]
        summary, scores, searched, failures = ImportSummary(), Scores(), list[dict[str, Any]](), []
        for part, future in zip(parts, futures, strict=True):
            try:
                result, found = future.result()
            except Exception as error:  # of any kind: it comes from another process
                failures.append(
                    f"part {part.number}/{part.count}: {type(error).__name__}: {' '.join(str(error).split())}"
                )
                continue
            summary.runs += result.runs
            # Each worker searches for runs, so every part repeats the issues of the search.
            summary.issues += [issue for issue in result.issues if "run" in issue or issue not in searched]
            searched += [issue for issue in result.issues if "run" not in issue and issue not in searched]
            scores |= found
    if failures:
        lost = f"{len(failures)} of {n_parts} parts failed"
        raise CommandError(f"{lost}. The lake contains the other parts. {failures[0][:300]}")
    return summary, scores


def import_part_on_worker(options: WorkspaceOptions, location: str, part: LakePart) -> tuple[ImportSummary, Scores]:
    """Import one part in a worker of a cluster, in one process."""
    with _import_lock:
        return import_to_lake(options, load_config(), location, part, n_workers=1)
