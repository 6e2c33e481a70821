"""Choose the mapping files that apply to the opened files.

A search for runs of other benchmarks needs nothing more of this package, so this module loads no
other module of it before a mapping file must be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fcreview.importers.common.jsonl import read_first_record
from fcreview.importers.common.records import as_object
from fcreview.run_plan import SearchOptions

DEFAULT_NAME = "fcreview-map.toml"
SUFFIX = ".toml"
NAMED_BY_USER = "--map names the mapping file"
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
LIVEMCPBENCH = SHIPPED_FOLDER / "livemcpbench.toml"
LIVEMCPBENCH_FIELDS = {"task_id", "Question", "Annotator Metadata", "messages"}
LIVEMCPBENCH_FOLDERS = ("baseline", "output")
MAX_LEVELS_UP = 4
"""Number of folders above the opened files in which the files of a mapping of fcreview's own are
looked for."""


@dataclass(frozen=True, slots=True)
class ChosenMapping:
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


def choose_mappings(files: Sequence[Path], search: SearchOptions) -> Iterator[ChosenMapping]:
    """Yield the mapping files to use.

    Those that the user named or opened come before all others.
    """
    opened = frozenset(files)
    if search.mapping_file is not None:
        yield _choose_named_mapping(search.mapping_file, opened)
        return
    if _are_mapping_files(files):
        for path in files:
            yield ChosenMapping(path, path.parent, reason="the mapping file was opened")
        return

    other_choices = [
        *_choose_remembered_mappings(search.remembered_mappings, opened),
        *_choose_default_mappings(opened),
        *_choose_livemcpbench(files),
    ]
    first_choices: dict[tuple[Path, Path], ChosenMapping] = {}
    for chosen in other_choices:
        first_choices.setdefault((chosen.path, chosen.base), chosen)
    yield from first_choices.values()


def _are_mapping_files(files: Sequence[Path]) -> bool:
    """Whether all opened files are mapping files with names of their own, so that the user chose
    them."""
    have_names_of_mappings = bool(files) and all(
        path.suffix == SUFFIX and path.name != DEFAULT_NAME for path in files
    )
    if not have_names_of_mappings:
        return False

    from fcreview.importers.mapping.mapping_file import is_mapping_file

    return all(is_mapping_file(path) for path in files)


def _choose_named_mapping(path: Path, opened: frozenset[Path]) -> ChosenMapping:
    """Choose a mapping file that the user named. Without opened files, it reads the files that it
    names itself.
    """
    reason = NAMED_BY_USER
    if path.parent == SHIPPED_FOLDER:
        return ChosenMapping(path, _find_base(path, opened), opened, reason=reason)
    # If the mapping file itself was opened, or no file at all, it may read all files that it names.
    is_opened = path in opened or not opened
    data_files = None if is_opened else opened
    return ChosenMapping(path, path.parent, data_files, reason=reason)


def _find_base(path: Path, opened: frozenset[Path]) -> Path:
    """Return the folder of the files of a mapping that fcreview has: at or above the opened
    files."""
    from fcreview.importers.mapping.files import list_files
    from fcreview.importers.mapping.mapping_file import load_mapping

    common = Path(os.path.commonpath([file.parent for file in opened])) if opened else Path()
    mapping = load_mapping(path)
    for folder in [common, *common.parents][: MAX_LEVELS_UP + 1]:
        if any(list_files(folder, source) for source in mapping.sources):
            return folder
    return common


def _choose_remembered_mappings(
    paths: Sequence[Path], opened: frozenset[Path]
) -> Iterator[ChosenMapping]:
    """Choose the mapping files of earlier commands that still exist."""
    for path in paths:
        if path.is_file():
            chosen = _choose_named_mapping(path, opened)
            yield ChosenMapping(
                path, chosen.base, chosen.opened_files, reason="an earlier command named it"
            )


def _choose_default_mappings(opened: frozenset[Path]) -> Iterator[ChosenMapping]:
    """Choose the mapping files that lie in the folders of the opened files."""
    for folder in sorted({path.parent for path in opened}):
        path = folder / DEFAULT_NAME
        if path.is_file():
            yield ChosenMapping(
                path,
                folder,
                None if path in opened else opened,
                stays_in_folder=True,
                reason=f"{DEFAULT_NAME} is beside the data",
            )


def _choose_livemcpbench(files: Sequence[Path]) -> Iterator[ChosenMapping]:
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
        yield ChosenMapping(
            LIVEMCPBENCH,
            base,
            frozenset(files),
            reason="files of LiveMCPBench, read with fcreview's own mapping file",
        )
