"""Read the dataset files of a benchmark's repository: from a git checkout, or from the files of the
imported dataset.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Protocol

from fcreview.exporters.base import ExportError
from fcreview.exporters.repository_paths import find_root
from fcreview.safe_files import read_file

GIT_SECONDS = 60
GIT_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # In a partial clone, git fetches missing files. The configuration of the checkout says from
    # where, and it can name any program. The checkout may come from somebody else, so git must not
    # use any transport.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
}
MAX_BLOB_BYTES = 512 * 1024 * 1024
"""Maximum size of a file of a checkout. Git compresses files, so a small checkout can have a large
one. Importers read files up to the same size."""
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
NO_COMMIT = (
    "the commit of the dataset is unknown, and the links to it need one. Pass --checkout DIR (a git"
    " checkout of the benchmark), or --commit SHA"
)


class RepositoryFiles(Protocol):
    """Files of a repository at a commit. Paths are relative to its root, with forward slashes."""

    @property
    def commit(self) -> str: ...

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, or None if there is no such file."""

    def list_files(self, folder: str, pattern: str) -> list[str]:
        """Return the paths of the files in a folder whose names match, sorted."""


@dataclass(frozen=True, slots=True)
class GitCheckout:
    """The committed files of a checkout. Uncommitted changes are ignored."""

    root: Path
    commit: str

    @classmethod
    def open(cls, folder: Path, commit: str | None) -> GitCheckout:
        """Open the checkout that contains a folder. Raises ExportError if it is none."""
        try:
            root = _run_git(folder, ["rev-parse", "--show-toplevel"]).decode().rstrip("\n")
            revision = f"{commit or 'HEAD'}^{{commit}}"
            full_commit = _run_git(folder, ["rev-parse", "--verify", revision]).decode().strip()
        except ExportError as error:
            raise ExportError(
                f"{folder} is no git checkout with this commit ({error}). Choose another folder, or"
                " omit --checkout and pass --commit SHA"
            ) from error
        return cls(Path(root), full_commit)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, or None if there is no such file. Raises ExportError if the
        checkout lacks the content, as a partial clone does, or if it is too large.
        """
        try:
            blob = _run_git(self.root, ["rev-parse", "--verify", f"{self.commit}:{path}"])
        except ExportError:
            return None

        blob_id = blob.decode().strip()
        try:
            n_bytes = int(_run_git(self.root, ["cat-file", "-s", blob_id]))
            if n_bytes > MAX_BLOB_BYTES:
                raise ExportError(f"it is larger than {MAX_BLOB_BYTES >> 20:,} MB")
            return _run_git(self.root, ["cat-file", "blob", blob_id])
        except ExportError as error:
            raise ExportError(
                f"{path} cannot be read from the checkout {self.root}: {error}. Check out the whole"
                " repository"
            ) from error

    def list_files(self, folder: str, pattern: str) -> list[str]:
        # With `-z`, git does not quote names.
        names = _run_git(
            self.root, ["ls-tree", "-z", "--name-only", self.commit, "--", f"{folder}/"]
        )
        paths = [os.fsdecode(name) for name in names.split(b"\0") if name]
        return sorted(path for path in paths if fnmatch(PurePosixPath(path).name, pattern))


def _run_git(folder: Path, arguments: Sequence[str]) -> bytes:
    """Run git, and return its output. Raises ExportError with git's message."""
    command = ["git", "-C", str(folder), *arguments]
    environment = os.environ | GIT_VARIABLES
    try:
        done = subprocess.run(  # noqa: S603 - a list of arguments, without a shell
            command, capture_output=True, timeout=GIT_SECONDS, env=environment, check=False
        )
    except FileNotFoundError as error:
        raise ExportError("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise ExportError("git takes too long") from error
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise ExportError(message.partition("\n")[0])
    return done.stdout


@dataclass(frozen=True, slots=True)
class ImportedFiles:
    """Files of an imported dataset that have the names of the repository's files."""

    commit: str
    paths: Mapping[str, Path] = field(default_factory=dict)
    """Path in the repository -> file."""

    def read(self, path: str) -> bytes | None:
        file = self.paths.get(path)
        return None if file is None or not file.is_file() else read_file(file)

    def list_files(self, folder: str, pattern: str) -> list[str]:
        paths = [PurePosixPath(path) for path in self.paths]
        return sorted(
            str(path)
            for path in paths
            if str(path.parent) == folder and fnmatch(path.name, pattern)
        )


def check_commit(commit: str) -> str:
    """Return a commit in lower case. Raises ExportError if it is no hexadecimal number."""
    if _COMMIT.fullmatch(commit.lower()) is None:
        raise ExportError(f"{commit[:80]!r} is no commit. Pass 7 to 64 hexadecimal digits")
    return commit.lower()


def find_git_root(file: Path, repository_path: str) -> Path | None:
    """Return the folder in which a file has this path, if a git repository begins there."""
    root = find_root(file, repository_path)
    return root if root is not None and (root / ".git").exists() else None
