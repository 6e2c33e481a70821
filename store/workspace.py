"""Workspaces: the folder `.fcreview/` with the store and the reviews, found as git finds its own.

Names of annotators, which are also names of files: two annotators never share one.

What the program keeps for one annotator beside the reviews: `.fcreview/<kind>/<annotator>.json`, an object of each
kind. None of it is needed: it may be thrown away at any time.
"""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.errors import WRONG_USAGE, FcreviewError
from fcreview.safe_files import make_folder, read_object, write_object

LONGEST = 64
"""Characters; at most 200 bytes in UTF-8, so that the journal's file name fits everywhere."""

_PUNCTUATION = "._@+-"


class AnnotatorError(FcreviewError):
    """A name that cannot be a journal's file name; the message suggests one that can."""

    code = WRONG_USAGE


def check_annotator(name: str) -> str:
    """The name in NFC, or AnnotatorError. Letters and digits of any script and `. _ @ + -`; not first `.` or `-`."""
    normal = unicodedata.normalize("NFC", name)
    if normal and safe_annotator(normal) == normal:
        return normal
    suggestion = safe_annotator(normal)
    raise AnnotatorError(
        f"annotator {name!a}: letters, digits and {' '.join(_PUNCTUATION)} only, at most {LONGEST}"
        + (f"; try {suggestion}" if suggestion else "")
    )


def safe_annotator(text: str) -> str:
    """The nearest permitted name, empty if nothing of the text is permitted: `Anna Schmidt` -> `Anna-Schmidt`."""
    normal = unicodedata.normalize("NFC", text)
    kept = "".join(c if c.isalnum() or c in _PUNCTUATION else " " for c in normal)
    name = re.sub(r" +", "-", kept.strip()).lstrip(".-")[:LONGEST]
    while len(name.encode("utf-8", "replace")) > 200:
        name = name[:-1]
    return name


def same_file(one: str, other: str) -> bool:
    """Whether a file system that ignores case would put both names into one file."""
    return one.casefold() == other.casefold()


@dataclass(frozen=True, slots=True)
class Own:
    root: Path | None
    """The workspace's own folder. Without one nothing is kept."""
    annotator: str

    def file(self, kind: str) -> Path | None:
        return self.root / kind / f"{self.annotator}.json" if self.root is not None else None

    def read(self, kind: str) -> dict[str, Any]:
        """Empty if there is none that can be read."""
        file = self.file(kind)
        return read_object(file) if file is not None else {}

    def keep(self, kind: str, value: dict[str, Any]) -> None:
        """Whole or not at all; where it cannot be written, it is not kept."""
        with suppress(OSError):
            self.write(kind, value)

    def write(self, kind: str, value: dict[str, Any]) -> None:
        """As `keep`; OSError if it cannot be written."""
        file = self.file(kind)
        if file is None:
            raise FileNotFoundError("there is no workspace to keep it in")
        file.parent.parent.stat()  # a workspace that has gone is not made anew
        make_folder(file.parent)
        write_object(file, value)


FOLDER = ".fcreview"


class WorkspaceError(FcreviewError):
    """No workspace where one is needed, or none can be made; the message is one line and says what to do."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Paths of one workspace. `root` is absolute and exists."""

    root: Path

    @property
    def store(self) -> Path:
        return self.root / "store.duckdb"

    @property
    def reviews(self) -> Path:
        return self.root / "reviews"

    @property
    def decision_cache(self) -> Path:
        """Decisions made from the journals when they were last read. May be deleted at any time."""
        return self.root / "decisions.cache.duckdb"

    @property
    def queues(self) -> Path:
        return self.root / "queues"

    @property
    def errata(self) -> Path:
        """The errata that runs are read with; none if it is not there."""
        return self.root / "errata.jsonl"

    @property
    def rules(self) -> Path:
        """Equivalence rules that were accepted, and are part of the next errata."""
        return self.root / "rules.jsonl"

    @property
    def temporary(self) -> Path:
        """Parts of imports under way. Whatever lies there while nobody imports is left from a crash."""
        return self.root / "tmp"

    @property
    def lock(self) -> Path:
        """Held (flock) by the process that imports."""
        return self.root / "store.lock"

    @property
    def place(self) -> Path:
        """The folder the workspace lies in. Files below it are named relative to it: it can be moved as a whole."""
        return self.root.parent

    def short(self, path: str | Path) -> str:
        """A path as the store keeps it: relative to `place` where it lies below it, else absolute."""
        full = Path(os.path.abspath(path))  # noqa: PTH100 - as named: links are not followed
        return os.fspath(full.relative_to(self.place) if full.is_relative_to(self.place) else full)

    def full(self, path: str) -> Path:
        """The absolute path of what `short` gave."""
        return Path(os.path.normpath(self.place / path))


def find_workspace(path: Path, override: Path | None = None, *, create: bool = True) -> Workspace:
    """The nearest `.fcreview/` at or above `path`, else a new one at `path` (in its folder, if it is a file).

    `override` is the folder that holds, or will hold, `.fcreview/`; it may also be named itself. WorkspaceError if
    there is none and `create` is false, if `path` is not there, or if none can be made.
    """
    for each in (path, override or path):
        if not _is_text(each):
            raise WorkspaceError(f"{str(each)!a}: the path is not UTF-8: rename it")
    if override is not None:
        folder = at_home(override).absolute()
        root = folder if folder.name == FOLDER else folder / FOLDER
        if not root.is_dir() and not create:
            raise WorkspaceError(f"no workspace at {root}: import a run first (fcreview import PATH --workspace DIR)")
        return _make(root) if create else Workspace(root)
    start = _resolved(path)
    if not start.exists():
        raise WorkspaceError(f"no such file or folder: {path}")
    if start.name == FOLDER and start.is_dir():
        start = start.parent
    folder = start if start.is_dir() else start.parent
    for above in (folder, *folder.parents):
        if (above / FOLDER).is_dir():
            return _make(above / FOLDER) if create else Workspace(above / FOLDER)
    if not create:
        raise WorkspaceError(f"no workspace at or above {path}: import a run first (fcreview import PATH)")
    return _make(folder / FOLDER)


def _resolved(path: Path) -> Path:
    """Also of a link that leads to itself, which is then not there."""
    return Path(os.path.realpath(at_home(path)))


def at_home(path: Path) -> Path:
    """`~/x` and `~alice/x` in the home folder; `~x` as it stands where nobody is called that."""
    return Path(os.path.expanduser(path))  # noqa: PTH111


def _is_text(path: Path) -> bool:
    """Python keeps bytes of a name that are no text as lone surrogates, which no table can hold."""
    try:
        os.fspath(_resolved(path)).encode()
    except UnicodeEncodeError:
        return False
    return True


def default_annotator() -> str:
    """FCREVIEW_ANNOTATOR, else git's user.name, else the login name; as a journal's file name may be."""
    for candidate in (_from_environment, _from_git, _from_login):
        name = safe_annotator(candidate())
        if name:
            return name
    return "annotator"


def _from_environment() -> str:
    return os.environ.get("FCREVIEW_ANNOTATOR", "")


def _from_git() -> str:
    try:
        done = subprocess.run(
            ["git", "config", "--get", "user.name"],  # noqa: S607 - whichever git the person uses
            capture_output=True,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def _from_login() -> str:
    return os.environ.get("USER") or os.environ.get("LOGNAME") or os.environ.get("USERNAME") or ""


def _make(root: Path) -> Workspace:
    """The workspace with its folders. A place that cannot be written to is an error only if one is missing."""
    workspace = Workspace(root)
    try:
        make_folder(workspace.reviews)
    except OSError as error:
        raise WorkspaceError(
            f"cannot write to {root.parent} ({error.strerror or error}):"
            " name a folder that can be written to with --workspace DIR"
        ) from error
    return workspace
