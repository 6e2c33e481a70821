"""The files that a run was imported from: detect whether they have changed since."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from fcreview.run_plan import RunPlan
from fcreview.safe_files import open_file

_CHUNK_SIZE = 1 << 20  # number of bytes that are read and hashed at a time


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The state of a file when a run was imported from it. The fields are columns of the table `sources`."""

    path: str  # path as `Workspace.to_stored_path` returns it
    kind: str  # `result`, `score`, `data` or `log`
    size: int  # size in bytes; -1 if the file is missing or not a regular file
    mtime_ns: int  # modification time in nanoseconds
    hash: str = ""  # See `hash_file`. Empty if the file was unreadable or changed during the import.


def iter_files(plan: RunPlan) -> Iterator[tuple[str, Path]]:
    paths_by_kind = {"result": plan.results, "score": plan.scores, "data": plan.data, "log": plan.logs}
    for kind, paths in paths_by_kind.items():
        for path in dict.fromkeys(paths):
            yield kind, path


def stat_sources(plan: RunPlan, to_stored_path: Callable[[Path], str]) -> list[SourceFile]:
    """Return the current state of the run's files, without hashes."""
    return [_stat_source(path, to_stored_path(path), kind) for kind, path in iter_files(plan)]


def _stat_source(path: Path, stored_path: str, kind: str) -> SourceFile:
    try:
        status = path.stat()
    except OSError:
        return SourceFile(stored_path, kind, -1, 0)
    return SourceFile(stored_path, kind, status.st_size if stat.S_ISREG(status.st_mode) else -1, status.st_mtime_ns)


def hash_source(source: SourceFile, path: Path, known_hash: str | None = None) -> SourceFile:
    """Add the hash of the file, `known_hash` if given. The hash stays empty if the file has changed since `source` was
    created."""
    if source.size < 0:
        return source
    content_hash = hash_file(path) if known_hash is None else known_hash
    return replace(source, hash=content_hash if _stat_source(path, source.path, source.kind) == source else "")


def is_unchanged(now: list[SourceFile], stored: list[SourceFile], to_absolute_path: Callable[[str], Path]) -> bool:
    """Whether the files have the imported content. Reads a file only if its time changed but not its size."""
    before = {(source.path, source.kind): source for source in stored}
    if len(before) != len(now) or any((source.path, source.kind) not in before for source in now):
        return False
    pairs = [(source, before[source.path, source.kind]) for source in now]
    if any(source.size != old.size or source.size < 0 or not old.hash for source, old in pairs):
        return False
    return all(
        source.mtime_ns == old.mtime_ns or hash_file(to_absolute_path(source.path)) == old.hash for source, old in pairs
    )


def hash_file(path: Path) -> str:
    """Return the BLAKE2b hash of the content (16 bytes, in hex); empty if the file cannot be read."""
    digest = blake2b(digest_size=16)
    try:
        with open_file(path) as stream:
            while chunk := stream.read(_CHUNK_SIZE):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()
