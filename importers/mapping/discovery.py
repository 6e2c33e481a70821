"""Find the mapping files for the opened files, and the runs that they describe.

A mapping file is named by --map, is opened itself, was named by an earlier command, is called
`fcreview-map.toml` and stands beside the data, or is one of those that fcreview has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fcreview.importers.mapping.mapping_choice import DEFAULT_NAME, choose_mappings
from fcreview.model.item import ImportIssue
from fcreview.model.sync_copy import find_original_name
from fcreview.run_plan import DiscoveredRuns, SearchOptions


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],  # noqa: ARG001 - mapped files have no dataset
    search: SearchOptions,
) -> DiscoveredRuns:
    """Find the runs that mapping files describe, those of the user or among the opened files."""
    found = DiscoveredRuns()
    for chosen in choose_mappings(files, search):
        # Most searches have no mapping file, and do not need the readers of mapped files.
        from fcreview.importers.mapping.plans import add_runs

        add_runs(found, chosen)
    found.issues += _report_copies(files)
    return found


def _report_copies(files: Sequence[Path]) -> Iterator[ImportIssue]:
    """Yield a warning for each copy that a program which synchronises folders made of a mapping
    file, because two machines changed it.
    """
    for path in files:
        if find_original_name(path.name) == DEFAULT_NAME:
            what = (
                f"the file is a copy of {DEFAULT_NAME} that another machine changed. It is not"
                " used. Compare both files, and delete the copy"
            )
            yield ImportIssue(str(path), None, what=what)
