"""Workspaces: the folder `.fcreview/` with the store and the reviews, found as git finds its own."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fcreview.errors import FcreviewError
from fcreview.store.annotators import safe_annotator
from fcreview.store.modes import make_folder

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
    def standing(self) -> Path:
        """What reviews amounted to when they were last read. May be thrown away at any time."""
        return self.root / "standing.duckdb"

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
