"""Define the files of a lake, which is a store of Parquet files in a folder or in an object store
such as S3.

    _lake.json                                  marks the folder as a lake
    benchmark=bfcl/run=123/_run.json            the run, its source files, and the size and hash of its Parquet files
    benchmark=bfcl/run=123/items.parquet        complete items, sorted by `item`
    benchmark=bfcl/run=123/functions.parquet, import_issues.parquet
    _index/NAME/_index.json                     the runs that one part of an import wrote
    _index/NAME/items.parquet                   the small columns of the items of these runs, for lists and counts
    _index/NAME/functions.parquet, import_issues.parquet
    _issues/NAME.json                           import issues that belong to no run

A run is complete if `_run.json` exists and the Parquet files have the sizes that it states. An
index copies data of many runs, so that a query over thousands of runs reads few files. If a run has
changed since, its rows in the index are ignored.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote
from uuid import uuid4

import orjson

from fcreview import safe_files
from fcreview.store.database import SCHEMA_VERSION, StoreError
from fcreview.store.filters.search_sql import COMPUTED_COLUMNS
from fcreview.store.importing.source_files import hash_file

FORMAT = 1  # version of this layout of files
# names of the Parquet files of a run and of an index
TABLES = (
    "items",
    "functions",
    "import_issues",
)
LARGE_COLUMNS = (
    "messages",
    "calls",
    "pairs",
    "verdicts",
    "extra",
    "functions",
    "question_hash",
    "task_sections",
)
"""Columns of `items` that an index omits."""
COMPUTED_COLUMNS_SQL = ", ".join(f"{sql} AS {name}" for name, (_, sql) in COMPUTED_COLUMNS.items())
RUN_BITS = 30
"""Number of bits of a run number.

An item number is `run << 32 | seq`, and its bit 62 marks a hidden duplicate.
"""
OTHER_VERSION = "was written by another version of fcreview. Import the runs into a new lake."
_MAX_ERROR_CHARS = 300  # maximum length of a message of the S3 client
_MAX_FOLDER_NAME_CHARS = 100  # maximum length of a benchmark in the name of a folder
_NONE = type(None)
_RUN_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("key", "benchmark", "generation", "language", "model", "path", "title", "imported_at"),
        (str,),
    ),
    **dict.fromkeys(("run", "version", "n_items"), (int,)),
    **dict.fromkeys(("settings", "official_metrics"), (dict,)),
    "tags": (list,),
    "dataset": (str, _NONE),
    "needs_dataset": (bool,),
}
_SOURCE_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("path", "kind", "hash"), (str,)),
    **dict.fromkeys(("size", "mtime_ns"), (int,)),
}
_ISSUE_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("file", "what", "severity"), (str,)),
    **dict.fromkeys(("id", "raw"), (str, _NONE)),
    **dict.fromkeys(("run", "item", "line"), (int, _NONE)),
}
"""Types of the fields in a file `_issues/NAME.json`."""
RUN_ADVICE = "The run is omitted. Import it again."
INDEX_ADVICE = "Queries are slower without this index. Import this part of the runs again."
RUN_FILE = "_run.json"
INDEX_FILE = "_index.json"
LAKE_FILE = "_lake.json"  # file that makes a folder a lake
_COPY_BYTES = 1 << 20
_FOLDER_PREFIXES = ("benchmark=", "run=", "_")
"""Beginnings of the names of folders that belong to a lake."""


class LakeFiles(Protocol):
    """Access to the files of a lake.

    Paths are relative to the lake: `benchmark=bfcl/run=12/items.parquet`.
    """

    location: str  # folder or address of the lake
    file_system: (
        Any  # File system of fsspec with which DuckDB reads the files. None for a local folder.
    )

    def list_file_sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file in the lake, by path.

        Temporary files are omitted.
        """

    def read_files(self, lake_paths: list[str]) -> dict[str, bytes]:
        """Return the content of small files, by path. A file that cannot be read is omitted."""

    def write_file(self, lake_path: str, content: bytes) -> None:
        """Write or replace a file in one step. Raises OSError if it cannot be written."""

    def copy_file(self, lake_path: str, source: Path) -> None:
        """Copy the local file `source` to the lake in one step.

        Raises OSError if the copy cannot be written.
        """

    def remove_file(self, lake_path: str) -> None:
        """Delete a file. Does nothing if it does not exist."""

    def hash_file_content(self, lake_path: str) -> str:
        """Return the hash of a file as `hash_file` computes it; empty if the file cannot be
        read.
        """

    def list_ignored_links(self) -> list[str]:
        """Return the symbolic links that the last call of `list_file_sizes` ignored."""
        return []

    def get_duckdb_path(self, lake_path: str) -> str:
        """Return the full path or address with which DuckDB opens the file."""
        return f"{self.location}/{lake_path}"


class LocalFiles(LakeFiles):
    """The files of a lake in a local folder. Symbolic links in the folder are ignored."""

    file_system = None

    def __init__(self, folder: Path) -> None:
        self.location = os.fspath(folder)
        self._folder = folder
        self._files = safe_files.WorkspaceFiles(folder)
        self._ignored_links: list[str] = []

    def list_file_sizes(self) -> dict[str, int]:
        self._ignored_links = []
        if not self._folder.is_dir():
            return {}
        return dict(self._iter_file_sizes(self.location, ""))

    def _iter_file_sizes(self, folder: str, lake_prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the path in the lake and the size of each file at and below a folder.

        Hidden and temporary files are left out, and so are folders that do not belong to the lake.
        Symbolic links with names of lake folders are not followed, but noted.
        """
        for entry in os.scandir(folder):
            if entry.name.startswith(".") or entry.name.endswith(".tmp"):
                continue
            if entry.is_file(follow_symlinks=False):
                yield lake_prefix + entry.name, entry.stat().st_size
                continue

            # Below a folder such as `_index`, all folders belong to the lake.
            is_below_index = lake_prefix.startswith("_")
            belongs_to_lake = is_below_index or entry.name.startswith(_FOLDER_PREFIXES)
            if not belongs_to_lake:
                continue
            if entry.is_symlink():
                self._ignored_links.append(lake_prefix + entry.name)
            elif entry.is_dir():
                yield from self._iter_file_sizes(entry.path, f"{lake_prefix}{entry.name}/")

    def list_ignored_links(self) -> list[str]:
        return sorted(self._ignored_links)

    def read_files(self, lake_paths: list[str]) -> dict[str, bytes]:
        found = {}
        for name in lake_paths:
            with contextlib.suppress(OSError):
                found[name] = self._files.read(self._folder / name)
        return found

    def write_file(self, lake_path: str, content: bytes) -> None:
        if self.read_files([lake_path]).get(lake_path) == content:
            # All parts of an import write some files with the same content.
            return
        self._files.make_folder((self._folder / lake_path).parent)
        self._files.write(self._folder / lake_path, content, sync=True)

    def copy_file(self, lake_path: str, source: Path) -> None:
        """Copy a file into the lake, under a temporary name first, so that nobody reads an
        incomplete file.
        """
        path = self._folder / lake_path
        temporary = path.with_name(f".{path.name}.{uuid4().hex}")
        self._files.make_folder(path.parent)
        try:
            with (
                safe_files.open_file(source) as content,
                os.fdopen(
                    self._files.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb"
                ) as copy,
            ):
                shutil.copyfileobj(content, copy, _COPY_BYTES)
            self._files.rename_file(temporary, path)
        except BaseException:
            self._files.remove(temporary)
            raise

    def remove_file(self, lake_path: str) -> None:
        self._files.remove(self._folder / lake_path)

    def hash_file_content(self, lake_path: str) -> str:
        return hash_file(self._folder / lake_path)


def open_lake_files(location: str) -> LakeFiles:
    """Return access to the lake at an absolute path or `s3://` address.

    Raises StoreError if s3fs is missing.
    """
    if location.startswith("s3://"):
        return ObjectStoreFiles(location)
    return LocalFiles(Path(location))


BLOCK_BYTES = 1 << 20  # Number of bytes that s3fs reads ahead. Its default often reads whole files.


class ObjectStoreFiles(LakeFiles):
    """The files of a lake at an address such as `s3://bucket/lake`.

    An object store replaces each file in one step.
    """

    def __init__(self, location: str) -> None:
        """Raises StoreError if s3fs is not installed."""
        try:
            s3fs = import_module("s3fs")
        except ImportError:
            raise StoreError(
                "a lake in an object store needs the package s3fs: pip install 'fcreview[cluster]'"
            ) from None
        self.location = location
        self.file_system: Any = s3fs.S3FileSystem(
            default_block_size=BLOCK_BYTES, use_listings_cache=False
        )
        self._root = location.removeprefix("s3://")

    def list_file_sizes(self) -> dict[str, int]:
        """Return the size of each file of the lake in bytes, by its path in the lake."""
        with _convert_s3_errors():
            try:
                found = self.file_system.find(self._root, detail=True)
            except FileNotFoundError:
                self._raise_if_bucket_is_missing()
                return {}
        return {
            path.removeprefix(self._root + "/"): int(entry["size"]) for path, entry in found.items()
        }

    def read_files(self, lake_paths: list[str]) -> dict[str, bytes]:
        """Return the contents of files by their path. Missing files are left out."""
        if not lake_paths:
            return {}
        with _convert_s3_errors():
            found = self.file_system.cat(
                [f"{self._root}/{name}" for name in lake_paths], on_error="omit"
            )
        return {
            path.removeprefix(self._root + "/"): bytes(content) for path, content in found.items()
        }

    def write_file(self, lake_path: str, content: bytes) -> None:
        with _convert_s3_errors():
            self.file_system.pipe_file(f"{self._root}/{lake_path}", content)

    def copy_file(self, lake_path: str, source: Path) -> None:
        with _convert_s3_errors():
            self.file_system.put_file(str(source), f"{self._root}/{lake_path}")

    def remove_file(self, lake_path: str) -> None:
        with _convert_s3_errors(), contextlib.suppress(FileNotFoundError):
            self.file_system.rm_file(f"{self._root}/{lake_path}")

    def hash_file_content(self, lake_path: str) -> str:
        content = self.read_files([lake_path]).get(lake_path)
        return "" if content is None else blake2b(content, digest_size=16).hexdigest()

    def _raise_if_bucket_is_missing(self) -> None:
        """Raise OSError if the bucket does not exist.

        `find` does not tell a missing bucket from an empty folder.
        """
        bucket = self._root.partition("/")[0]
        if not self.file_system.exists(bucket):
            raise OSError(errno.ENOENT, f"there is no bucket {bucket}")


@contextlib.contextmanager
def _convert_s3_errors() -> Iterator[None]:
    """Convert errors of the S3 client, such as missing credentials, to OSError."""
    errors = import_module("botocore.exceptions")
    try:
        yield
    except (errors.BotoCoreError, errors.ClientError) as error:
        message = " ".join(str(error).split())
        raise OSError(message[:_MAX_ERROR_CHARS]) from error


def hash_text(content: str | bytes, n_bytes: int = 16) -> str:
    return blake2b(
        content.encode() if isinstance(content, str) else content, digest_size=n_bytes
    ).hexdigest()


COMPUTED_COLUMNS_VERSION = hash_text(COMPUTED_COLUMNS_SQL, 8)  # value of `LakeIndex.computed`


SizeAndHash = tuple[int, str]
"""Size in bytes and content hash of a Parquet file."""


@dataclass(slots=True)
class LakeRun:
    """A run in a lake, with the fields of its file `_run.json`."""

    row: dict[str, Any]  # row of the table `runs`
    sources: list[dict[str, Any]]  # rows of the table `sources`
    files: dict[str, SizeAndHash] = field(default_factory=dict)  # by name of the Parquet file

    @property
    def number(self) -> int:
        return int(self.row["run"])

    @property
    def folder(self) -> str:
        benchmark = quote(self.row["benchmark"], safe="")
        return f"benchmark={benchmark[:_MAX_FOLDER_NAME_CHARS]}/run={self.number}"

    @property
    def content_hash(self) -> str:
        """Hash of the file `_run.json`, which describes the run.

        An index states this hash of each run, so that readers notice when a run has changed.
        """
        return hash_text(self.to_json())

    def to_json(self) -> bytes:
        value = {"format": FORMAT, "row": self.row, "sources": self.sources, "files": self.files}
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def parse_lake_run(content: bytes) -> LakeRun:
    """Parse `_run.json`.

    Raises ValueError, KeyError, TypeError or AttributeError if it is invalid.
    """
    value = orjson.loads(content)
    run = LakeRun(
        dict(value["row"]), sources=list(value["sources"]), files=_parse_parquet_files(value)
    )
    if "items.parquet" not in run.files:
        raise ValueError("the run has no file with items")
    if not _has_field_types(run.row, _RUN_TYPES):
        raise ValueError("the run has missing or invalid fields")
    if not all(_has_field_types(source, _SOURCE_TYPES) for source in run.sources):
        raise ValueError("a source file of the run has missing or invalid fields")
    if not 0 < run.number < 1 << RUN_BITS:
        raise ValueError("the number of the run is out of range")
    if not all(isinstance(tag, str) for tag in run.row["tags"]):
        raise ValueError("a tag of the run is not text")
    return run


def _parse_parquet_files(value: dict[str, Any]) -> dict[str, SizeAndHash]:
    """Return file name -> size and hash of the Parquet files that a JSON file of the lake lists.
    Raises ValueError for an unknown format.
    """
    if value["format"] != FORMAT:
        raise ValueError("the file has an unknown format version")
    known_names = {f"{table}.parquet" for table in TABLES}
    files = {}
    for name, (size, hash_) in value["files"].items():
        if name not in known_names or type(size) is not int or type(hash_) is not str:
            raise ValueError("the file lists an invalid Parquet file")
        files[name] = (size, hash_)
    return files


def _has_field_types(row: dict[str, Any], types: Mapping[str, tuple[type, ...]]) -> bool:
    return all(type(row[name]) in kinds for name, kinds in types.items())


@dataclass(slots=True)
class LakeIndex:
    """An index of a lake, with the fields of its file `_index.json`."""

    name: str
    # run number -> `LakeRun.content_hash` of the run when the index was written
    runs: dict[int, str]
    files: dict[str, SizeAndHash] = field(default_factory=dict)
    computed: str = (
        ""  # Version of the computed columns. Without them, filters on judge verdicts are slower.
    )

    @property
    def folder(self) -> str:
        return f"_index/{self.name}"

    def to_json(self) -> bytes:
        runs = {str(run): self.runs[run] for run in sorted(self.runs)}
        value = {"format": FORMAT, "computed": self.computed, "runs": runs, "files": self.files}
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def _parse_index(name: str, content: bytes) -> LakeIndex:
    value = orjson.loads(content)
    runs = {int(run): str(build) for run, build in value["runs"].items()}
    return LakeIndex(
        name, runs=runs, files=_parse_parquet_files(value), computed=str(value.get("computed", ""))
    )


@dataclass(slots=True)
class LakeContents:
    """The runs, indexes and import issues that a lake contained when it was read."""

    runs: dict[int, LakeRun] = field(default_factory=dict)  # complete runs by number
    indexes: list[LakeIndex] = field(default_factory=list)
    """Complete indexes. Some of their runs may have changed since they were written."""
    # rows of `import_issues` that belong to no run
    issues: list[dict[str, Any]] = field(default_factory=list)
    # one message for each damaged run or index, which is omitted
    problems: list[str] = field(default_factory=list)
    schema_version: str = SCHEMA_VERSION
    is_lake: bool = True  # whether `LAKE_FILE` exists

    @property
    def runs_and_indexes(self) -> list[LakeRun | LakeIndex]:
        return [*self.runs.values(), *self.indexes]


def read_lake(files: LakeFiles) -> LakeContents:
    """Return the complete runs and indexes of a lake.

    Raises OSError if its files cannot be listed.
    """
    sizes = files.list_file_sizes()
    json_texts = files.read_files([name for name in sizes if name.endswith(".json")])
    contents = LakeContents(
        schema_version=_parse_schema_version(json_texts.get(LAKE_FILE, b"")),
        is_lake=LAKE_FILE in sizes,
    )

    problems = [
        f"{link} is a symbolic link and is omitted. Replace it by a copy."
        for link in files.list_ignored_links()
    ]
    problems += _add_runs(contents, sizes, json_texts)
    problems += _add_indexes_and_issues(contents, sizes, json_texts)
    contents.problems = [f"{files.location}/{problem}" for problem in problems]
    return contents


class _DamageError(Exception):
    """A run or an index is damaged. The text says why."""


def _add_runs(
    contents: LakeContents, file_sizes: Mapping[str, int], json_texts: Mapping[str, bytes]
) -> list[str]:
    """Add the complete runs to `contents`, and return a message for each damaged run."""
    problems = []
    paths_in_runs = [name for name in file_sizes if name.startswith("benchmark=")]
    run_folders = {path.rpartition("/")[0] for path in paths_in_runs}
    for folder in sorted(run_folders):
        try:
            run = _read_run(folder, file_sizes, json_texts.get(f"{folder}/{RUN_FILE}"))
            # A copied folder describes the run of the folder that it was copied from.
            is_copy = run.folder != folder or run.number in contents.runs
            if is_copy:
                raise _DamageError(f"{folder} describes a run of another folder")
        except _DamageError as damage:
            problems.append(f"{damage}. {RUN_ADVICE}")
        else:
            contents.runs[run.number] = run
    return problems


def _add_indexes_and_issues(
    contents: LakeContents, file_sizes: Mapping[str, int], json_texts: Mapping[str, bytes]
) -> list[str]:
    """Add the indexes of the lake, and the import issues that belong to no run, to `contents`.

    An index combines the rows of several runs in one file. Returns a message for each damaged file.

    Args:
        contents: What has been read of the lake. It is changed.
        file_sizes: Path in the lake -> size of the file.
        json_texts: Path in the lake -> content of a JSON file.
    """
    problems = []
    for name, text in sorted(json_texts.items()):
        if name.endswith(f"/{INDEX_FILE}"):
            try:
                contents.indexes.append(_read_index(name, file_sizes, text))
            except _DamageError as damage:
                problems.append(f"{damage}. {INDEX_ADVICE}")
        elif name.startswith("_issues/"):
            try:
                contents.issues += _parse_issues(text)
            except (KeyError, TypeError, ValueError):
                problems.append(f"{name} is damaged. Its import issues are omitted.")
    return problems


def _parse_issues(content: bytes) -> list[dict[str, Any]]:
    """Parse a file of import issues. Raises KeyError, TypeError or ValueError if it is invalid."""
    issues = [dict(issue) for issue in orjson.loads(content)]
    for issue in issues:
        if not _has_field_types(issue, _ISSUE_TYPES):
            raise ValueError("the import issue has missing or invalid fields")
    return issues


def _parse_schema_version(lake_json: bytes) -> str:
    try:
        return str(orjson.loads(lake_json)["schema"])
    except (KeyError, TypeError, ValueError):
        return "unknown"


def _read_run(folder: str, file_sizes: Mapping[str, int], run_json: bytes | None) -> LakeRun:
    """Read what a folder says about its run. Raises _DamageError if it is damaged.

    Args:
        folder: The folder of the run in the lake.
        file_sizes: Path in the lake -> size of the file, to find incomplete files.
        run_json: Content of the file that describes the run; None if it cannot be read.
    """
    if run_json is None:
        raise _DamageError(f"{folder} is incomplete, because {RUN_FILE} is not readable")
    try:
        run = parse_lake_run(run_json)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _DamageError(f"{folder}/{RUN_FILE} is damaged") from None

    damaged_file = _describe_damaged_file(folder, run.files, file_sizes)
    if damaged_file is not None:
        raise _DamageError(damaged_file)
    return run


def _read_index(index_path: str, file_sizes: Mapping[str, int], index_json: bytes) -> LakeIndex:
    """Read what a file says about its index. Raises _DamageError if the index is damaged."""
    folder = index_path.rpartition("/")[0]
    name = folder.removeprefix("_index/")
    try:
        index = _parse_index(name, index_json)
        damaged_file = _describe_damaged_file(folder, index.files, file_sizes)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _DamageError(f"{index_path} is damaged") from None

    if damaged_file is not None:
        raise _DamageError(damaged_file)
    return index


def _describe_damaged_file(
    folder: str, expected_files: Mapping[str, SizeAndHash], file_sizes: Mapping[str, int]
) -> str | None:
    """Return which of the expected files is missing or has another size; None if none is."""
    for name, (expected_size, _) in expected_files.items():
        lake_path = f"{folder}/{name}"
        size = file_sizes.get(lake_path)
        if size is None:
            return f"{lake_path} is missing"
        if size != expected_size:
            return f"{lake_path} is damaged: it has {size:,} of {expected_size:,} bytes"
    return None


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A Parquet file whose content does not have the stated hash."""

    part: LakeRun | LakeIndex
    name: str  # `items.parquet`

    @property
    def lake_path(self) -> str:
        return f"{self.part.folder}/{self.name}"


def find_damaged_files(files: LakeFiles, contents: LakeContents) -> Iterator[DamagedFile]:
    """Yield each Parquet file whose content does not have the stated hash. Reads all files."""
    for part in contents.runs_and_indexes:
        for name, (_, stated_hash) in part.files.items():
            if files.hash_file_content(f"{part.folder}/{name}") != stated_hash:
                yield DamagedFile(part, name)


def read_part_again(files: LakeFiles, part: LakeRun | LakeIndex) -> LakeRun | LakeIndex | None:
    """Read the current description of a run or index; None if it cannot be read."""
    file_name = INDEX_FILE if isinstance(part, LakeIndex) else RUN_FILE
    lake_path = f"{part.folder}/{file_name}"
    try:
        content = files.read_files([lake_path])[lake_path]
        if isinstance(part, LakeIndex):
            return _parse_index(part.name, content)
        return parse_lake_run(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
