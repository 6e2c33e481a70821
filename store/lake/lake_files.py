"""Define the files of a lake, and read and write them in a local folder or in an object store.

    _lake.json                                  makes the folder a lake
    benchmark=bfcl/run=123/_run.json            the run, its source files, and size and hash of its Parquet files
    benchmark=bfcl/run=123/items.parquet        complete items, sorted by `item`
    benchmark=bfcl/run=123/functions.parquet, import_issues.parquet
    _index/NAME/_index.json                     the runs of one part of an import
    _index/NAME/items.parquet                   the small columns of their items, for lists and counts
    _index/NAME/functions.parquet, import_issues.parquet
    _issues/NAME.json                           issues that belong to no run

A run is complete if `_run.json` exists and the files have the sizes in it. An index copies data of runs, so that
queries over thousands of runs read a few files. The index of a run that has changed since is ignored.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
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

FORMAT = 1  # version of the layout
TABLES = ("items", "functions", "import_issues")  # names of the Parquet files of a run and of an index
LARGE_COLUMNS = ("messages", "calls", "pairs", "verdicts", "extra", "functions", "question_hash")  # an index lacks them
COMPUTED_COLUMNS_SQL = ", ".join(f"{sql} AS {name}" for name, (_, sql) in COMPUTED_COLUMNS.items())
_RUN_BITS = 30
"""Number of bits of a run number. The number of an item is `run << 32 | seq`, and bit 62 marks hidden duplicates."""
OTHER_VERSION = "was written by another version of fcreview: import the runs into a new lake"
_NONE = type(None)
_RUN_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("key", "benchmark", "generation", "language", "model", "path", "title", "imported_at"), (str,)),
    **dict.fromkeys(("run", "version", "n_items"), (int,)),
    **dict.fromkeys(("settings", "official_metrics"), (dict,)),
    "tags": (list,), "dataset": (str, _NONE), "needs_dataset": (bool,),
}  # fmt: skip
_SOURCE_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("path", "kind", "hash"), (str,)),
    **dict.fromkeys(("size", "mtime_ns"), (int,)),
}
_ISSUE_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("file", "what", "severity"), (str,)),
    **dict.fromkeys(("id", "raw"), (str, _NONE)),
    **dict.fromkeys(("run", "item", "line"), (int, _NONE)),
}
"""Types of the fields in `_run.json` and `_issues/NAME.json`."""
RUN_ADVICE = "The run is omitted. Import it again"
INDEX_ADVICE = "Queries are slower without this index. Import this part of the runs again"
RUN_FILE, INDEX_FILE = "_run.json", "_index.json"
LAKE_FILE = "_lake.json"  # file that makes a folder a lake
_COPY_BYTES = 1 << 20


class LakeFiles(Protocol):
    """Access to the files of a lake. The name of a file is its path in the lake:
    `benchmark=bfcl/run=12/items.parquet`."""

    location: str  # folder or address of the lake
    file_system: Any  # File system of fsspec with which DuckDB reads the files. None for a local folder.

    def list_sizes(self) -> dict[str, int]:
        """Return the size in bytes of every file of the lake, by path. Temporary files are omitted."""

    def read_all(self, names: list[str]) -> dict[str, bytes]:
        """Read small files. A file that cannot be read is omitted."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a file atomically. Raises: OSError if it cannot be written."""

    def put(self, name: str, source: Path) -> None:
        """Replace a file by a copy of `source`, atomically. Raises: OSError if it cannot be written."""

    def remove(self, name: str) -> None:
        """Delete a file. Does nothing if it does not exist."""

    def hash_of(self, name: str) -> str:
        """Return the hash of a file's content, as `hash_file` does. Empty if it cannot be read."""

    def path_of(self, name: str) -> str:
        """Return the path or address with which DuckDB opens the file."""


class LocalFiles:
    """Implementation of `LakeFiles` for a folder. Symbolic links in the folder are ignored."""

    file_system = None

    def __init__(self, folder: Path) -> None:
        self.location = os.fspath(folder)
        self._folder = folder
        self._files = safe_files.WorkspaceFiles(folder)

    def list_sizes(self) -> dict[str, int]:
        return dict(self._walk(self.location, "")) if self._folder.is_dir() else {}

    def _walk(self, folder: str, prefix: str) -> Iterator[tuple[str, int]]:
        for entry in os.scandir(folder):
            if entry.name.startswith(".") or entry.name.endswith(".tmp"):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name.startswith(("benchmark=", "run=", "_")) or prefix.startswith("_"):
                    yield from self._walk(entry.path, f"{prefix}{entry.name}/")
            elif stat.S_ISREG((status := entry.stat(follow_symlinks=False)).st_mode):
                yield prefix + entry.name, status.st_size

    def read_all(self, names: list[str]) -> dict[str, bytes]:
        found = {}
        for name in names:
            with contextlib.suppress(OSError):
                found[name] = self._files.read(self._folder / name)
        return found

    def write(self, name: str, content: bytes) -> None:
        if self.read_all([name]) == {name: content}:  # parts write some files with the same content
            return
        self._files.make_folder((self._folder / name).parent)
        self._files.write(self._folder / name, content, sync=True)

    def put(self, name: str, source: Path) -> None:
        path = self._folder / name
        temporary = path.with_name(f".{path.name}.{uuid4().hex}")
        self._files.make_folder(path.parent)
        try:
            with (
                safe_files.open_file(source) as content,
                os.fdopen(self._files.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as copy,
            ):
                shutil.copyfileobj(content, copy, _COPY_BYTES)
            self._files.replace(temporary, path)
        except BaseException:
            self._files.remove(temporary)
            raise

    def remove(self, name: str) -> None:
        self._files.remove(self._folder / name)

    def hash_of(self, name: str) -> str:
        return hash_file(self._folder / name)

    def path_of(self, name: str) -> str:
        return f"{self.location}/{name}"


def open_lake_files(location: str) -> LakeFiles:
    """Return access to the files of a lake at an absolute path or `s3://` address. Raises StoreError without s3fs."""
    if location.startswith("s3://"):
        return ObjectStoreFiles(location)
    return LocalFiles(Path(location))


BLOCK_BYTES = 1 << 20  # Number of bytes to read ahead. The default of s3fs would read whole files.


class ObjectStoreFiles:
    """Implementation of `LakeFiles` for an address such as `s3://bucket/lake`. Every write is atomic."""

    def __init__(self, location: str) -> None:
        """Raises: StoreError if s3fs is not installed."""
        try:
            s3fs = import_module("s3fs")
        except ImportError:
            raise StoreError("a lake in an object store needs s3fs: pip install 'fcreview[cluster]'") from None
        self.location = location
        self.file_system: Any = s3fs.S3FileSystem(default_block_size=BLOCK_BYTES, use_listings_cache=False)
        self._root = location.removeprefix("s3://")

    def list_sizes(self) -> dict[str, int]:
        with _as_os_errors():
            try:
                found = self.file_system.find(self._root, detail=True)
            except FileNotFoundError:
                return {}
        return {path.removeprefix(self._root + "/"): int(entry["size"]) for path, entry in found.items()}

    def read_all(self, names: list[str]) -> dict[str, bytes]:
        if not names:
            return {}
        with _as_os_errors():
            found = self.file_system.cat([self._path(name) for name in names], on_error="omit")
        return {path.removeprefix(self._root + "/"): bytes(content) for path, content in found.items()}

    def write(self, name: str, content: bytes) -> None:
        with _as_os_errors():
            self.file_system.pipe_file(self._path(name), content)

    def put(self, name: str, source: Path) -> None:
        with _as_os_errors():
            self.file_system.put_file(str(source), self._path(name))

    def remove(self, name: str) -> None:
        with _as_os_errors(), contextlib.suppress(FileNotFoundError):
            self.file_system.rm_file(self._path(name))

    def hash_of(self, name: str) -> str:
        content = self.read_all([name]).get(name)
        return "" if content is None else blake2b(content, digest_size=16).hexdigest()

    def path_of(self, name: str) -> str:
        return f"{self.location}/{name}"

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    """Raise errors of the S3 client, such as missing credentials, as OSError."""
    errors = import_module("botocore.exceptions")
    try:
        yield
    except (errors.BotoCoreError, errors.ClientError) as error:
        raise OSError(" ".join(str(error).split())[:300]) from error


def digest(text: str | bytes, size: int = 16) -> str:
    return blake2b(text.encode() if isinstance(text, str) else text, digest_size=size).hexdigest()


COMPUTED_COLUMNS_VERSION = digest(COMPUTED_COLUMNS_SQL, 8)  # value of `LakeIndex.computed`


def number_of_key(key: str) -> int:
    """Return the number that a run with this key has in a lake, unless another run has it. It is the same on every
    machine."""
    return max(1, int(digest(key, 8), 16) % (1 << _RUN_BITS))


@dataclass(slots=True)
class LakeRun:
    """A run in a lake. The fields are the members of `_run.json`."""

    row: dict[str, Any]  # row of the table `runs`
    sources: list[dict[str, Any]]  # rows of the table `sources`
    files: dict[str, tuple[int, str]] = field(default_factory=dict)  # size in bytes and hash of each Parquet file

    @property
    def number(self) -> int:
        return int(self.row["run"])

    @property
    def folder(self) -> str:
        return _run_folder(self.row["benchmark"], self.number)

    @property
    def content_hash(self) -> str:
        """Hash of the content. An index copies exactly this content."""
        return digest(self.to_json())

    def to_json(self) -> bytes:
        value = {"format": FORMAT, "row": self.row, "sources": self.sources, "files": self.files}
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def parse_run(content: bytes) -> LakeRun:
    """Parse `_run.json`. Raises: ValueError, KeyError, TypeError or AttributeError if it is invalid."""
    value = orjson.loads(content)
    run = LakeRun(dict(value["row"]), list(value["sources"]), _parse_files(value))
    valid = _has_types(run.row, _RUN_TYPES) and all(_has_types(source, _SOURCE_TYPES) for source in run.sources)
    valid &= "items.parquet" in run.files
    if not valid or not 0 < run.number < 1 << _RUN_BITS or not all(isinstance(tag, str) for tag in run.row["tags"]):
        raise ValueError("invalid run")
    return run


def _parse_files(value: dict[str, Any]) -> dict[str, tuple[int, str]]:
    files = {name: (size, hash_) for name, (size, hash_) in value["files"].items()}
    valid = all(type(size) is int and type(hash_) is str for size, hash_ in files.values())
    if value["format"] != FORMAT or not valid or not files.keys() <= {f"{table}.parquet" for table in TABLES}:
        raise ValueError("other format")
    return files


def _has_types(row: dict[str, Any], types: Mapping[str, tuple[type, ...]]) -> bool:
    return all(type(row[name]) in kinds for name, kinds in types.items())


def _run_folder(benchmark: str, number: int) -> str:
    return f"benchmark={quote(benchmark, safe='')[:100]}/run={number}"


@dataclass(slots=True)
class LakeIndex:
    """The members of `_index.json`."""

    name: str
    runs: dict[int, str]  # run number -> `LakeRun.content_hash` of the run when the index was written
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    computed: str = ""  # Version of the computed columns. Without them, filters on judge verdicts are slower.

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
    return LakeIndex(name, runs, _parse_files(value), str(value.get("computed", "")))


@dataclass(slots=True)
class LakeContents:
    """The runs, indexes and issues of a lake at the time when the lake was listed."""

    runs: dict[int, LakeRun] = field(default_factory=dict)  # complete runs by number
    indexes: list[LakeIndex] = field(default_factory=list)
    """Complete indexes. Some of their runs may have changed since."""
    issues: list[dict[str, Any]] = field(default_factory=list)  # rows of `import_issues` that belong to no run
    problems: list[str] = field(default_factory=list)  # one for each run or index omitted as damaged
    schema_version: str = SCHEMA_VERSION

    @property
    def parts(self) -> list[LakeRun | LakeIndex]:
        return [*self.runs.values(), *self.indexes]


def read_lake(files: LakeFiles) -> LakeContents:
    """List the complete runs and indexes of a lake. Raises: OSError if the lake cannot be listed."""
    sizes = files.list_sizes()
    described = [name for name in sizes if name.endswith(".json")]
    texts = files.read_all(described)
    contents = LakeContents()
    try:
        contents.schema_version = str(orjson.loads(texts[LAKE_FILE])["schema"])
    except (KeyError, TypeError, ValueError):
        contents.schema_version = "unknown"
    folders = {name.rpartition("/")[0] for name in sizes if name.startswith("benchmark=")}
    for folder in sorted(folders):
        _add_run(contents, folder, sizes, texts.get(f"{folder}/{RUN_FILE}"), files.location)
    for name in sorted(name for name in texts if name.endswith(f"/{INDEX_FILE}")):
        _add_index(contents, name, sizes, texts[name], files.location)
    for name in sorted(name for name in texts if name.startswith("_issues/")):
        try:
            issues = [dict(issue) for issue in orjson.loads(texts[name])]
            if not all(_has_types(issue, _ISSUE_TYPES) for issue in issues):
                raise ValueError("invalid issue")
            contents.issues += issues
        except (KeyError, TypeError, ValueError):
            contents.problems.append(f"{files.location}/{name} is damaged")
    return contents


def _add_run(contents: LakeContents, folder: str, sizes: Mapping[str, int], text: bytes | None, location: str) -> None:
    if text is None:
        contents.problems.append(f"{location}/{folder} is incomplete: no readable {RUN_FILE}. {RUN_ADVICE}")
        return
    try:
        run = parse_run(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        contents.problems.append(f"{location}/{folder}/{RUN_FILE} is damaged. {RUN_ADVICE}")
        return
    wrong = _find_wrong_file(folder, run.files, sizes)
    if wrong is not None:
        contents.problems.append(f"{location}/{wrong}. {RUN_ADVICE}")
    elif run.folder != folder or run.number in contents.runs:
        contents.problems.append(f"{location}/{folder} describes the run of a different folder. {RUN_ADVICE}")
    else:
        contents.runs[run.number] = run


def _add_index(contents: LakeContents, name: str, sizes: Mapping[str, int], text: bytes, location: str) -> None:
    folder = name.rpartition("/")[0]
    try:
        index = _parse_index(folder.removeprefix("_index/"), text)
        problem = _find_wrong_file(folder, index.files, sizes)
    except (ValueError, KeyError, TypeError, AttributeError):
        problem, index = f"{name} is damaged", None
    if problem is not None:
        contents.problems.append(f"{location}/{problem}. {INDEX_ADVICE}")
    elif index is not None:
        contents.indexes.append(index)


def _find_wrong_file(folder: str, files: Mapping[str, tuple[int, str]], sizes: Mapping[str, int]) -> str | None:
    for file, (size, _) in files.items():
        found = sizes.get(f"{folder}/{file}")
        if found != size:
            state = "is missing" if found is None else f"is damaged ({found:,} of {size:,} bytes)"
            return f"{folder}/{file} {state}"
    return None


def find_changed_files(files: LakeFiles, contents: LakeContents) -> Iterator[str]:
    """Read all Parquet files, and yield the path of each file whose content differs from its hash."""
    for part in contents.parts:
        for file, (_, stated) in part.files.items():
            if files.hash_of(f"{part.folder}/{file}") != stated:
                yield f"{files.location}/{part.folder}/{file}"
