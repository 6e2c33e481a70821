"""The files a run was read from, and whether they are still the same."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from fcreview.run_plan import RunPlan
from fcreview.safe_files import open_file

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was when the run was read."""

    path: str
    """As the store keeps it, see `Workspace.short`."""
    kind: str
    """`result`, `score`, `data` or `log`"""
    size: int
    mtime_ns: int
    hash: str = ""
    """Empty: it could not be read, or it changed while it was; then it is read again next time."""


def iter_files(plan: RunPlan) -> Iterator[tuple[str, Path]]:
    """(kind, path) of each file once."""
    seen = set()
    for kind, paths in (("result", plan.results), ("score", plan.scores), ("data", plan.data), ("log", plan.logs)):
        for path in paths:
            if (kind, path) not in seen:
                seen.add((kind, path))
                yield kind, path


def stat_sources(plan: RunPlan, to_stored_path: Callable[[Path], str]) -> list[SourceFile]:
    """The plan's files as they are now, without their content. What is not there, or no file (a pipe), has size -1."""
    return [_look(path, to_stored_path(path), kind) for kind, path in iter_files(plan)]


def _look(path: Path, name: str, kind: str) -> SourceFile:
    try:
        status = path.stat()
    except OSError:
        return SourceFile(name, kind, -1, 0)
    return SourceFile(name, kind, status.st_size if stat.S_ISREG(status.st_mode) else -1, status.st_mtime_ns)


def hash_source(source: SourceFile, path: Path, known_hash: str | None = None) -> SourceFile:
    """The same with its hash (`known`, if it was found before), if the file is still as it was when it was looked at,
    before it was read."""
    if source.size < 0:
        return source
    found = hash_file(path) if known_hash is None else known_hash
    return replace(source, hash=found if _look(path, source.path, source.kind) == source else "")


def is_unchanged(now: list[SourceFile], stored: list[SourceFile], to_absolute_path: Callable[[str], Path]) -> bool:
    """Whether the content is what was imported. Reads only files of the same size with another time."""
    before = {(source.path, source.kind): source for source in stored}
    if len(before) != len(now) or any((source.path, source.kind) not in before for source in now):
        return False
    pairs = [(source, before[source.path, source.kind]) for source in now]
    if any(source.size != old.size or source.size < 0 or not old.hash for source, old in pairs):
        return False
    return all(source.mtime_ns == old.mtime_ns or hash_file(to_absolute_path(source.path)) == old.hash for source, old in pairs)


def hash_file(path: Path) -> str:
    """blake2b-16 of the file, hex; empty if it cannot be read (such a hash equals nothing on disk)."""
    digest = blake2b(digest_size=16)
    try:
        with open_file(path) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()
