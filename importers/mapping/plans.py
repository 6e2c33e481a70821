"""Plan a run for each model in the files that a mapping file describes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fcreview.importers.common.discovery import measure_file
from fcreview.importers.common.faulty_files import make_failed_plan
from fcreview.importers.mapping.files import list_files
from fcreview.importers.mapping.joins import list_join_files
from fcreview.importers.mapping.mapping_choice import ChosenMapping
from fcreview.importers.mapping.mapping_file import InvalidMapping, ItemMapping, load_mapping
from fcreview.importers.mapping.read import MappedRun
from fcreview.importers.mapping.runs import RunKey, SourceFile, group_files_by_run
from fcreview.importers.mapping.shared_files import MAX_KEPT_BYTES
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan

IMPORTER = "mapping"
MAX_RUNS = 1_000
MAX_RUNS_OF_LARGE_FILE = 200


def add_runs(found: DiscoveredRuns, chosen: ChosenMapping) -> None:
    """Add the runs of a mapping file. A mapping with mistakes becomes a run that fails."""
    found.claimed.add(chosen.path)
    try:
        mapping = load_mapping(chosen.path)
    except InvalidMapping as error:
        reason = "the mapping file has mistakes: " + "; ".join(error.problems)
        found.plans.append(make_failed_plan(IMPORTER, chosen.path, reason))
    else:
        _add_runs_of_mapping(found, chosen, mapping)


def _add_runs_of_mapping(
    found: DiscoveredRuns, chosen: ChosenMapping, mapping: ItemMapping
) -> None:
    """Add the runs of a mapping without mistakes, and claim their files."""
    source_files = _find_source_files(mapping, chosen, found)
    paths_by_run = group_files_by_run(mapping, source_files, chosen.base)
    chosen_paths = _limit_runs(paths_by_run)
    found.issues += _report_skipped_runs(len(paths_by_run) - len(chosen_paths), chosen)

    join_files = _find_join_files(mapping, chosen)
    found.claimed.update(join_files)
    is_only_run = len(paths_by_run) == 1
    for mapped_run in _list_mapped_runs(chosen_paths, chosen, is_only_run=is_only_run):
        paths = chosen_paths[mapped_run.key]
        found.plans.append(_make_plan(mapping, mapped_run, paths, join_files, chosen.reason))
        found.claimed.update(paths)


def _find_source_files(
    mapping: ItemMapping, chosen: ChosenMapping, found: DiscoveredRuns
) -> list[SourceFile]:
    """Return the files with the records of the runs. If there is none, add an issue to `found`."""
    named_files = _list_source_files(mapping, chosen.base)
    source_files = [file for file in named_files if _may_be_source(file.path, chosen)]
    if not source_files:
        found.issues += _explain_missing_sources(mapping, chosen, named_files)
    return source_files


def _find_join_files(mapping: ItemMapping, chosen: ChosenMapping) -> list[Path]:
    """Return the joined files. They only complete the records, so the user need not have opened
    them.
    """
    named_files = list_join_files(mapping, chosen.base)
    return [path for path in named_files if _is_in_allowed_place(path, chosen)]


def _report_skipped_runs(n_skipped: int, chosen: ChosenMapping) -> Iterator[ImportIssue]:
    if n_skipped:
        what = (
            f"the files have too many models: {n_skipped:,} runs were skipped. Are the values of"
            " item.model and item.run the right ones?"
        )
        yield ImportIssue(str(chosen.path), what=what, severity="error")


def _list_mapped_runs(
    files_by_run: Mapping[RunKey, Sequence[Path]], chosen: ChosenMapping, *, is_only_run: bool
) -> Iterator[MappedRun]:
    """Yield the runs of a mapping file.

    A file can contain several runs. Only the first of them reports the issues of the file.
    """
    reported: set[Path] = set()
    for key, paths in files_by_run.items():
        unreported = tuple(path for path in paths if path not in reported)
        reported.update(unreported)
        yield MappedRun(
            chosen.path,
            chosen.base,
            key=key,
            reported_files=unreported,
            is_only_run=is_only_run,
        )


def _limit_runs(files_by_run: Mapping[RunKey, list[Path]]) -> dict[RunKey, list[Path]]:
    """Return the runs that can be imported in time linear in the size of the files.

    Each run needs a fixed time, and a file that is too large to be kept is read for each of them.
    """
    n_runs_by_large_file: Counter[Path] = Counter()
    chosen: dict[RunKey, list[Path]] = {}
    for run, paths in files_by_run.items():
        large_files = [path for path in paths if measure_file(path) > MAX_KEPT_BYTES]
        is_too_often = any(
            n_runs_by_large_file[path] >= MAX_RUNS_OF_LARGE_FILE for path in large_files
        )
        if is_too_often or len(chosen) >= MAX_RUNS:
            continue
        n_runs_by_large_file.update(large_files)
        chosen[run] = paths
    return chosen


def _list_source_files(mapping: ItemMapping, base: Path) -> list[SourceFile]:
    """Return the files of all sources. A file of several sources belongs to the first."""
    files: dict[Path, SourceFile] = {}
    for source in mapping.sources:
        for path in list_files(base, source):
            files.setdefault(path, SourceFile(path, source))
    return list(files.values())


def _may_be_source(path: Path, chosen: ChosenMapping) -> bool:
    """Whether runs may be read from a file: it is in an allowed place, and the user opened it,
    unless the mapping file itself was opened.
    """
    is_opened = chosen.opened_files is None or path in chosen.opened_files
    return is_opened and _is_in_allowed_place(path, chosen)


def _is_in_allowed_place(path: Path, chosen: ChosenMapping) -> bool:
    """Whether a file is in a place where this mapping file may read files.

    A mapping file that nobody named may come from someone else with the data. It reads nothing
    outside of its own folder.
    """
    if not chosen.stays_in_folder:
        return True
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(chosen.base))


def _explain_missing_sources(
    mapping: ItemMapping, chosen: ChosenMapping, named_files: Sequence[SourceFile]
) -> Iterator[ImportIssue]:
    """Yield an issue that says why a mapping file reads none of the files that it names.

    Args:
        mapping: The content of the mapping file.
        chosen: The mapping file, and which files it may read.
        named_files: The existing files that it names.
    """
    if not named_files:
        globs = ", ".join(glob for source in mapping.sources for glob in source.globs)
        what = f"no file matches {globs} in {chosen.base}"
    elif chosen.stays_in_folder and chosen.opened_files is None:
        what = (
            "the mapping file names files outside of its folder, which were skipped. Pass --map to"
            " read them"
        )
    elif chosen.is_named_by_user:
        what = "none of the opened files is a file of [[source]]. Open the files that it names"
    else:
        # The user opened other files, and did not mean this mapping file.
        return
    yield ImportIssue(str(chosen.path), what=what, severity="error")


def _make_plan(
    mapping: ItemMapping,
    mapped_run: MappedRun,
    paths: Sequence[Path],
    join_files: Sequence[Path],
    reason: str,
) -> RunPlan:
    """Make the import plan of a run that a mapping file describes."""
    # The run is imported again if one of these files changes: the joined files, which complete the
    # records like files of scores, and the mapping file itself.
    return RunPlan(
        _make_run(mapping, mapped_run, _find_run_path(paths)),
        list(paths),
        scores=[file for file in join_files if file not in paths],
        logs=[mapped_run.mapping_file],
        confidence=1.0,
        reason=reason,
        needs_scores=False,
        importer_data=mapped_run,
    )


def _make_run(mapping: ItemMapping, mapped_run: MappedRun, path: Path) -> Run:
    """Make a run. Without a model, it is named after its file."""
    run = Run(
        benchmark=mapping.benchmark,
        generation="",
        language="",
        model=mapped_run.key.model or path.stem,
        path=str(path),
        needs_dataset=False,
    )
    if mapped_run.key.name is not None:
        run.name_parts = [mapped_run.key.name]
    return run


def _find_run_path(paths: Sequence[Path]) -> Path:
    """Return the only file of a run, or the nearest folder that contains all its files."""
    if len(paths) == 1:
        return paths[0]
    return Path(os.path.commonpath([path.parent for path in paths]))
