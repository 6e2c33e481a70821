"""Find the mapping files for the opened files, and plan a run for each model in the mapped files.

A mapping file is named by --map, is opened itself, was named by an earlier command, is called
`fcreview-map.toml` and stands beside the data, or is one of those that fcreview has.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fcreview.importers.common.discovery import measure_file
from fcreview.importers.common.faulty_files import make_failed_plan
from fcreview.importers.common.jsonl import read_first_record
from fcreview.importers.common.records import as_object
from fcreview.importers.mapping.files import list_files
from fcreview.importers.mapping.joins import list_join_files
from fcreview.importers.mapping.mapping_file import (
    InvalidMapping,
    ItemMapping,
    is_mapping_file,
    load_mapping,
)
from fcreview.importers.mapping.read import MappedRun
from fcreview.importers.mapping.runs import RunKey, SourceFile, group_files_by_run
from fcreview.importers.mapping.shared_files import MAX_KEPT_BYTES
from fcreview.model.item import ImportIssue, Run
from fcreview.model.sync_copy import find_original_name
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions

IMPORTER = "mapping"
DEFAULT_NAME = "fcreview-map.toml"
SUFFIX = ".toml"
NAMED_BY_USER = "--map names the mapping file"
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
LIVEMCPBENCH = SHIPPED_FOLDER / "livemcpbench.toml"
LIVEMCPBENCH_FIELDS = {"task_id", "Question", "Annotator Metadata", "messages"}
LIVEMCPBENCH_FOLDERS = ("baseline", "output")
MAX_RUNS = 1_000
MAX_RUNS_OF_LARGE_FILE = 200
MAX_LEVELS_UP = 4
"""Number of folders above the opened files in which the files of a mapping of fcreview's own are
looked for."""


@dataclass(frozen=True, slots=True)
class _ChosenMapping:
    """A mapping file, and which of the files that it names may be read."""

    path: Path
    base: Path
    """Folder to which the patterns of the mapping file are relative."""
    opened_files: frozenset[Path] | None = None
    """Files of sources that may be read; None for all."""
    stays_in_folder: bool = False
    """Whether nothing outside of `base` is read, because nobody named the mapping file."""
    reason: str = ""

    @property
    def is_named_by_user(self) -> bool:
        """Whether the user named the mapping file with --map."""
        return self.reason == NAMED_BY_USER


def list_shipped_mappings() -> dict[str, Path]:
    """Return the mapping files that fcreview has, by the name that --map accepts."""
    return {path.stem: path for path in sorted(SHIPPED_FOLDER.glob(f"*{SUFFIX}"))}


def find_runs(
    files: Sequence[Path],
    dataset_folders: Sequence[Path],  # noqa: ARG001 - mapped files have no dataset
    search: SearchOptions,
) -> DiscoveredRuns:
    """Find the runs that mapping files describe, those of the user or among the opened files."""
    found = DiscoveredRuns()
    for chosen in _choose_mappings(files, search):
        _add_runs(found, chosen)
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


# -- which mapping files apply


def _choose_mappings(files: Sequence[Path], search: SearchOptions) -> Iterator[_ChosenMapping]:
    """Yield the mapping files to use.

    Those that the user named or opened come before all others.
    """
    opened = frozenset(files)
    if search.mapping_file is not None:
        yield _choose_named_mapping(search.mapping_file, opened)
        return
    if _are_mapping_files(files):
        for path in files:
            yield _ChosenMapping(path, path.parent, reason="the mapping file was opened")
        return

    other_choices = [
        *_choose_remembered_mappings(search.remembered_mappings, opened),
        *_choose_default_mappings(opened),
        *_choose_livemcpbench(files),
    ]
    first_choices: dict[tuple[Path, Path], _ChosenMapping] = {}
    for chosen in other_choices:
        first_choices.setdefault((chosen.path, chosen.base), chosen)
    yield from first_choices.values()


def _are_mapping_files(files: Sequence[Path]) -> bool:
    """Whether all opened files are mapping files with names of their own, so that the user chose
    them."""
    return bool(files) and all(
        path.suffix == SUFFIX and path.name != DEFAULT_NAME and is_mapping_file(path)
        for path in files
    )


def _choose_named_mapping(path: Path, opened: frozenset[Path]) -> _ChosenMapping:
    """Choose a mapping file that the user named. Without opened files, it reads the files that it
    names itself.
    """
    reason = NAMED_BY_USER
    if path.parent == SHIPPED_FOLDER:
        return _ChosenMapping(path, _find_base(path, opened), opened, reason=reason)
    # If the mapping file itself was opened, or no file at all, it may read all files that it names.
    is_opened = path in opened or not opened
    data_files = None if is_opened else opened
    return _ChosenMapping(path, path.parent, data_files, reason=reason)


def _find_base(path: Path, opened: frozenset[Path]) -> Path:
    """Return the folder of the files of a mapping that fcreview has: at or above the opened
    files."""
    common = Path(os.path.commonpath([file.parent for file in opened])) if opened else Path()
    mapping = load_mapping(path)
    for folder in [common, *common.parents][: MAX_LEVELS_UP + 1]:
        if any(list_files(folder, source) for source in mapping.sources):
            return folder
    return common


def _choose_remembered_mappings(
    paths: Sequence[Path], opened: frozenset[Path]
) -> Iterator[_ChosenMapping]:
    """Choose the mapping files of earlier commands that still exist."""
    for path in paths:
        if path.is_file():
            chosen = _choose_named_mapping(path, opened)
            yield _ChosenMapping(
                path, chosen.base, chosen.opened_files, reason="an earlier command named it"
            )


def _choose_default_mappings(opened: frozenset[Path]) -> Iterator[_ChosenMapping]:
    """Choose the mapping files that lie in the folders of the opened files."""
    for folder in sorted({path.parent for path in opened}):
        path = folder / DEFAULT_NAME
        if path.is_file():
            yield _ChosenMapping(
                path,
                folder,
                None if path in opened else opened,
                stays_in_folder=True,
                reason=f"{DEFAULT_NAME} is beside the data",
            )


def _choose_livemcpbench(files: Sequence[Path]) -> Iterator[_ChosenMapping]:
    """Choose fcreview's own mapping of LiveMCPBench for files with its folders and fields."""
    bases: dict[Path, None] = {}
    for path in files:
        # BASE/FOLDER/FOLDER/FILE.json
        if path.suffix != ".json" or path.parts[-3:-1] != LIVEMCPBENCH_FOLDERS:
            continue
        base = path.parent.parent.parent
        if base in bases:
            continue
        if as_object(read_first_record(path)).keys() >= LIVEMCPBENCH_FIELDS:
            bases[base] = None
    for base in bases:
        yield _ChosenMapping(
            LIVEMCPBENCH,
            base,
            frozenset(files),
            reason="files of LiveMCPBench, read with fcreview's own mapping file",
        )


# -- the runs of a mapping file


def _add_runs(found: DiscoveredRuns, chosen: _ChosenMapping) -> None:
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
    found: DiscoveredRuns, chosen: _ChosenMapping, mapping: ItemMapping
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
    mapping: ItemMapping, chosen: _ChosenMapping, found: DiscoveredRuns
) -> list[SourceFile]:
    """Return the files with the records of the runs. If there is none, add an issue to `found`."""
    named_files = _list_source_files(mapping, chosen.base)
    source_files = [file for file in named_files if _may_be_source(file.path, chosen)]
    if not source_files:
        found.issues += _explain_missing_sources(mapping, chosen, named_files)
    return source_files


def _find_join_files(mapping: ItemMapping, chosen: _ChosenMapping) -> list[Path]:
    """Return the joined files. They only complete the records, so the user need not have opened
    them.
    """
    named_files = list_join_files(mapping, chosen.base)
    return [path for path in named_files if _is_in_allowed_place(path, chosen)]


def _report_skipped_runs(n_skipped: int, chosen: _ChosenMapping) -> Iterator[ImportIssue]:
    if n_skipped:
        what = (
            f"the files have too many models: {n_skipped:,} runs were skipped. Are the values of"
            " item.model and item.run the right ones?"
        )
        yield ImportIssue(str(chosen.path), what=what, severity="error")


def _list_mapped_runs(
    files_by_run: Mapping[RunKey, Sequence[Path]], chosen: _ChosenMapping, *, is_only_run: bool
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


def _may_be_source(path: Path, chosen: _ChosenMapping) -> bool:
    """Whether runs may be read from a file: it is in an allowed place, and the user opened it,
    unless the mapping file itself was opened.
    """
    is_opened = chosen.opened_files is None or path in chosen.opened_files
    return is_opened and _is_in_allowed_place(path, chosen)


def _is_in_allowed_place(path: Path, chosen: _ChosenMapping) -> bool:
    """Whether a file is in a place where this mapping file may read files.

    A mapping file that nobody named may come from someone else with the data. It reads nothing
    outside of its own folder.
    """
    if not chosen.stays_in_folder:
        return True
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(chosen.base))


def _explain_missing_sources(
    mapping: ItemMapping, chosen: _ChosenMapping, named_files: Sequence[SourceFile]
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
