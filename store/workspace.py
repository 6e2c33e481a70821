"""Find or create the workspace folder `.fcreview/`, name the files in it, and determine the
annotator.
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

from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError
from fcreview.safe_files import UnsafeFileError, WorkspaceFiles

WORKSPACE_FOLDER = ".fcreview"
MAX_ANNOTATOR_LENGTH = 64  # maximum length of an annotator name in characters
_MAX_ANNOTATOR_BYTES = (
    200  # length limit in UTF-8, so that the journal's file name is valid on every file system
)
_PUNCTUATION = "._@+-"


class AnnotatorError(FcreviewError):
    """Raised when an annotator name cannot be used as a file name.

    The message suggests a valid name.
    """

    exit_code = EXIT_USAGE_ERROR


def check_annotator(name: str) -> str:
    """Return a valid annotator name in Unicode normal form NFC. Raises AnnotatorError for an
    invalid name.

    A name consists of letters and digits of any script and of `. _ @ + -`. It must not begin with
    `.` or `-`.
    """
    normal = unicodedata.normalize("NFC", name)
    valid_name = to_safe_annotator(normal)
    if normal and valid_name == normal:
        return normal

    message = (
        f"invalid annotator name {name!a}: use letters, digits and {' '.join(_PUNCTUATION)},"
        f" at most {MAX_ANNOTATOR_LENGTH} characters"
    )
    if valid_name:
        message += f". Try {valid_name}"
    raise AnnotatorError(message)


def to_safe_annotator(text: str) -> str:
    """Convert any text to a valid annotator name, such as `Anna-Schmidt`; empty if no character
    is valid.
    """
    # Invalid characters become spaces, and a row of spaces becomes one hyphen.
    valid = ""
    for character in unicodedata.normalize("NFC", text):
        is_valid = character.isalnum() or character in _PUNCTUATION
        valid += character if is_valid else " "
    name = re.sub(r" +", "-", valid.strip())

    name = name.lstrip(".-")[:MAX_ANNOTATOR_LENGTH]
    while len(name.encode("utf-8", "replace")) > _MAX_ANNOTATOR_BYTES:
        name = name[:-1]
    return name


def is_same_filename(one: str, other: str) -> bool:
    """Return whether two names denote the same file on a file system that ignores case."""
    return fold_filename(one) == fold_filename(other)


def fold_filename(name: str) -> str:
    """Return a key that is equal for names of the same file on a file system that ignores case."""
    return name.casefold()


@dataclass(frozen=True, slots=True)
class AnnotatorState:
    """The saved state of one annotator, such as saved filters and the last position in a queue, but
    not the reviews. Each kind of state is a JSON object in `.fcreview/<kind>/<annotator>.json`.
    """

    root: Path | None  # The folder `.fcreview/`. If None, nothing is read or saved.
    annotator: str

    def get_path(self, state_kind: str) -> Path | None:
        return self.root / state_kind / f"{self.annotator}.json" if self.root is not None else None

    def read(self, state_kind: str) -> dict[str, Any]:
        """Read the state of this kind, a JSON object.

        Return an empty object if the file is missing or unreadable.
        """
        file = self.get_path(state_kind)
        return (
            WorkspaceFiles(self.root).read_json_object(file)
            if self.root is not None and file is not None
            else {}
        )

    def try_write(self, state_kind: str, state: dict[str, Any]) -> None:
        """Save the state of this kind. Do nothing if the file cannot be written."""
        with suppress(OSError):
            self.write(state_kind, state)

    def write(self, state_kind: str, state: dict[str, Any]) -> None:
        """Save the state of this kind. Raises: OSError if the file cannot be written."""
        file = self.get_path(state_kind)
        if self.root is None or file is None:
            raise FileNotFoundError("there is no workspace to save to")
        # Raises if the workspace was deleted, so that it is not created again.
        self.root.stat()
        files = WorkspaceFiles(self.root)
        files.make_folder(file.parent)
        files.write_json(file, state)


class WorkspaceError(FcreviewError):
    """Raised when a workspace does not exist or cannot be created.

    The message is one line and says what to do.
    """


class _PathInWorkspace:
    """Attribute of a `Workspace`: the path of a file or folder, which may be missing."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __get__(self, workspace: Workspace, _: type[Workspace]) -> Path:
        return workspace.root.joinpath(*self._names)


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder `.fcreview/` and the paths in it."""

    root: Path  # Absolute path of `.fcreview/`. The folder exists.
    lake: str | None = (
        None  # folder or `s3://` address of the lake that is read instead of the store
    )

    store = _PathInWorkspace("store.duckdb")  # the database of imported runs
    # DuckDB's write-ahead log. fcreview never leaves one. Opening the store would apply the log of
    # another program.
    store_log = _PathInWorkspace("store.duckdb.wal")
    reviews = _PathInWorkspace("reviews")
    # partial journals of other annotators, from the team's server
    team_reviews = _PathInWorkspace("reviews", "team")
    # Journal lines from the team's server whose annotators had already received other reviews of
    # the same item.
    informed_team_reviews = _PathInWorkspace("reviews", "team", "after-reveal")
    # Decisions computed from the journals, and the authentication code. Both may be deleted at any
    # time.
    decision_cache = _PathInWorkspace("decisions.cache.duckdb")
    decision_cache_code = _PathInWorkspace("decisions.cache.hmac")
    queues = _PathInWorkspace("queues")
    errata = _PathInWorkspace("errata.jsonl")  # errata that the import applies to runs
    # equivalence rules that were accepted in this workspace
    rules = _PathInWorkspace("rules.jsonl")
    # files of a running import. After a crash, the next import deletes them.
    temporary = _PathInWorkspace("tmp")
    lock = _PathInWorkspace("store.lock")  # lock (`flock`) of the importing process

    @property
    def files(self) -> WorkspaceFiles:
        """Access to the files in the folder.

        Read and write all files of the folder through this object.
        """
        return WorkspaceFiles(self.root)

    def measure_store(self) -> list[int] | None:
        """Return values that an import changes, because it replaces the store file: its size in
        bytes and its time in nanoseconds.

        None if there is no store, or if a lake is read instead.
        """
        if self.lake is not None:
            return None
        try:
            status = self.store.stat(follow_symlinks=False)
        except OSError:
            return None
        return [status.st_size, status.st_mtime_ns]

    @property
    def parent_folder(self) -> Path:
        """The folder that contains `.fcreview/`.

        Stored paths are relative to it, so that the folder can be moved.
        """
        return self.root.parent

    def to_stored_path(self, path: str | Path) -> str:
        """Convert a path to its form in the store: relative to `parent_folder` if below it, else
        absolute.
        """
        full = Path(os.path.abspath(path))  # noqa: PTH100 - symbolic links stay unresolved
        if full.is_relative_to(self.parent_folder):
            return os.fspath(full.relative_to(self.parent_folder))
        return os.fspath(full)

    def to_absolute_path(self, stored_path: str) -> Path:
        """Convert a stored path (see `to_stored_path`) to an absolute path."""
        return Path(os.path.normpath(self.parent_folder / stored_path))

    def to_stored_dataset(self, dataset: str | None) -> str | None:
        """Convert `Run.dataset`, a path or description, to its form in the store.

        A relative path begins with `./`.
        """
        if dataset is None or not Path(dataset).is_absolute():
            return dataset
        stored_path = self.to_stored_path(dataset)
        return stored_path if Path(stored_path).is_absolute() else f"./{stored_path}"

    def from_stored_dataset(self, stored_dataset: str | None) -> str | None:
        """Convert a dataset in its stored form (see `to_stored_dataset`) to the form of
        `Run.dataset`.
        """
        if stored_dataset is None or not stored_dataset.startswith("./"):
            return stored_dataset
        return str(self.to_absolute_path(stored_dataset))


def make_write_error(folder: Path, error: OSError) -> WorkspaceError:
    """Return the error for a workspace that cannot be written."""
    if isinstance(error, UnsafeFileError):
        return WorkspaceError(f"{error.filename}: {error.strerror}")
    reason = error.strerror or error
    return WorkspaceError(
        f"cannot write to {folder} ({reason}). Choose a writable folder with --workspace DIR"
    )


def find_workspace(path: Path, override: Path | None = None, *, create: bool = True) -> Workspace:
    """Find the nearest `.fcreview/` at or above `path`, or create one at `path` (in the folder of
    `path` if a file).

    Args:
        path: A file or folder of results.
        override: The folder that contains, or will contain, `.fcreview/`; or `.fcreview/` itself.
            With this argument, fcreview does not search, and `.fcreview/` can be a symbolic link.
        create: Whether to create a missing workspace.

    Raises: WorkspaceError if `path` does not exist, or if the workspace is missing or cannot be
    created.
    """
    _check_path_text(path)
    if override is not None:
        _check_path_text(override)
        root = _find_named_root(override, must_exist=not create)
    else:
        root = _find_nearest_root(path, must_exist=not create)
    return _create_missing_folders(root) if create else Workspace(root)


def _check_path_text(path: Path) -> None:
    """Raise WorkspaceError if a path is not valid UTF-8, because the store could not hold it."""
    if not _is_utf8_path(path):
        raise WorkspaceError(
            f"{str(path)!a}: the path is not valid UTF-8. Rename the file or folder"
        )


def _find_named_root(named_folder: Path, *, must_exist: bool) -> Path:
    """Return the path of the `.fcreview/` that the user named: the folder itself or the folder
    around it.
    """
    folder = expand_home(named_folder).absolute()
    root = folder if folder.name == WORKSPACE_FOLDER else folder / WORKSPACE_FOLDER
    if must_exist and not root.is_dir():
        raise WorkspaceError(
            f"no workspace at {root}: import a run first (fcreview import PATH --workspace DIR)"
        )
    return root


def _find_nearest_root(path: Path, *, must_exist: bool) -> Path:
    """Return the nearest `.fcreview/` at or above a file or folder, or the path for a new one."""
    resolved = _resolve(path)
    if not resolved.exists():
        raise WorkspaceError(f"no such file or folder: {path}")

    is_workspace = resolved.name == WORKSPACE_FOLDER and resolved.is_dir()
    start_folder = resolved
    if is_workspace or not resolved.is_dir():
        start_folder = resolved.parent
    existing_root = _find_existing_workspace(start_folder)
    if existing_root is not None:
        return existing_root
    if must_exist:
        raise WorkspaceError(
            f"no workspace at or above {path}: import a run first (fcreview import PATH)"
        )
    return start_folder / WORKSPACE_FOLDER


def _find_existing_workspace(folder: Path) -> Path | None:
    """Return the nearest `.fcreview/` at or above the folder. Raises WorkspaceError if it is a
    symbolic link, because a downloaded run could contain a link to any folder.
    """
    for above in (folder, *folder.parents):
        root = above / WORKSPACE_FOLDER
        if root.is_symlink():
            raise WorkspaceError(f"{root} is a symbolic link. Pass --workspace {above} to use it")
        if root.is_dir():
            return root
    return None


def expand_home(path: Path) -> Path:
    """Expand `~/x` and `~alice/x` to absolute paths.

    A path with an unknown user name stays unchanged.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises an error for unknown users


def _resolve(path: Path) -> Path:
    # unlike Path.resolve, accepts a link that points to itself
    return Path(os.path.realpath(expand_home(path)))


def _is_utf8_path(path: Path) -> bool:
    """Whether a path is UTF-8, as DuckDB requires."""
    try:
        os.fspath(_resolve(path)).encode()
    except (
        UnicodeEncodeError
    ):  # Python represents invalid bytes as lone surrogates, which DuckDB rejects
        return False
    return True


def find_default_annotator() -> str:
    """Return FCREVIEW_ANNOTATOR, else git's user.name, else the login name, as a valid annotator
    name.
    """
    named = to_safe_annotator(os.environ.get("FCREVIEW_ANNOTATOR", ""))
    if named:
        return named
    git_name = to_safe_annotator(_read_git_name())
    if git_name:
        return git_name

    # Which variable has the login name depends on the system.
    for variable in ("USER", "LOGNAME", "USERNAME"):
        login_name = os.environ.get(variable)
        if login_name:
            return to_safe_annotator(login_name) or "annotator"
    return "annotator"


def _read_git_name() -> str:
    """Return the user's name in git's configuration, or an empty text."""
    try:
        done = subprocess.run(
            ["git", "config", "--get", "user.name"],  # noqa: S607 - git is found through PATH
            capture_output=True,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def _create_missing_folders(root: Path) -> Workspace:
    """Create the missing folders of a workspace.

    For a read-only workspace with all its folders, do nothing.
    """
    workspace = Workspace(root)
    try:
        workspace.files.make_folder(workspace.reviews)
    except OSError as error:
        raise make_write_error(root.parent, error) from error
    return workspace
