"""Keep what several runs of a mapping share, so that it is not read for each run.

If the model is a value of the records, a file can have thousands of runs, and each of them needs
the rows of the same joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.common.discovery import measure_file
from fcreview.importers.mapping.files import MappedRecord, find_format, read_mapped_records
from fcreview.importers.mapping.joins import LoadedJoin, list_join_files, load_joins
from fcreview.importers.mapping.mapping_file import FilePattern, ItemMapping
from fcreview.importers.mapping.runs import RunKey, find_run_key
from fcreview.model.item import ImportIssue

MAX_KEPT_BYTES = 12 << 20
"""Maximum size of all files that are kept. Their records need about ten times as much memory."""


@dataclass(frozen=True, slots=True)
class FileVersion:
    mtime_ns: int
    size: int

    @classmethod
    def find(cls, path: Path) -> FileVersion:
        """Return the version of a file; the same one for all files that cannot be read."""
        try:
            status = path.stat()
        except OSError:
            return cls(0, size=0)
        return cls(status.st_mtime_ns, size=status.st_size)


@dataclass(slots=True)
class _SharedFile:
    """Records of a file that no run has taken yet, and the issues of the file."""

    version: FileVersion
    records_by_run: dict[RunKey, list[MappedRecord]] = field(default_factory=dict)
    issues: list[ImportIssue] = field(default_factory=list)


class SharedReader:
    """Reads the files of several runs of one mapping file."""

    def __init__(self, mapping: ItemMapping, base: Path) -> None:
        self.mapping = mapping
        self.base = base
        self._files: dict[Path, _SharedFile] = {}
        self._joins: Mapping[str, LoadedJoin] | None = None
        self._join_versions: Sequence[FileVersion] = ()

    def read_records(
        self, path: Path, pattern: FilePattern, run: RunKey
    ) -> Iterable[MappedRecord | ImportIssue]:
        """Return the records of a run in a file, and the issues of the file.

        A file that is too large to be kept is read again for each run, and then the records of all
        runs are returned.
        """
        # A small Parquet file can have large texts.
        is_large = measure_file(path) > MAX_KEPT_BYTES
        if is_large or find_format(path, pattern) == "parquet":
            return read_mapped_records(path, self.base, pattern)

        file = self._get_file(path, pattern, run)
        # Each run needs its records once, so they are kept no longer. If the run is imported again,
        # the file is read again.
        records = file.records_by_run.pop(run, [])
        if not file.records_by_run:
            self._files.pop(path, None)
        return [*file.issues, *records]

    def _get_file(self, path: Path, pattern: FilePattern, run: RunKey) -> _SharedFile:
        """Return the kept file, or read it if it changed or does not have the run's records."""
        version = FileVersion.find(path)
        file = self._files.get(path)
        if file is not None and file.version == version and run in file.records_by_run:
            return file
        return self._read_file(path, pattern, version)

    def _read_file(self, path: Path, pattern: FilePattern, version: FileVersion) -> _SharedFile:
        """Read a file and keep its records, so that other runs need not read it again.

        If all kept files together are too large, the others are forgotten first.
        """
        file = _SharedFile(version)
        for reading in read_mapped_records(path, self.base, pattern):
            if isinstance(reading, ImportIssue):
                file.issues.append(reading)
                continue
            run = find_run_key(self.mapping, reading)
            file.records_by_run.setdefault(run, []).append(reading)

        n_kept_bytes = sum(kept.version.size for kept in self._files.values())
        if n_kept_bytes + version.size > MAX_KEPT_BYTES:
            self._files.clear()
        self._files[path] = file
        return file

    def load_joins(self) -> Mapping[str, LoadedJoin]:
        """Return the rows of all joins, which are the same for all runs."""
        paths = list_join_files(self.mapping, self.base)
        versions = [FileVersion.find(path) for path in paths]
        if self._joins is not None and self._join_versions == versions:
            return self._joins

        joins = load_joins(self.mapping, self.base)
        if sum(version.size for version in versions) <= MAX_KEPT_BYTES:
            self._joins = joins
            self._join_versions = versions
        return joins


_last_readers: list[SharedReader] = []
"""Reader of the mapping file that was used last, or nothing."""


def get_shared_reader(mapping: ItemMapping, base: Path) -> SharedReader:
    """Return the reader of a mapping file. Only the last one is kept."""
    known = _last_readers[0] if _last_readers else None
    if known is not None and known.mapping == mapping and known.base == base:
        return known
    reader = SharedReader(mapping, base)
    _last_readers[:] = [reader]
    return reader
