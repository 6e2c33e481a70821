"""Who may read and write in a workspace: whoever may in the folder it lies in, whatever the umask of the person who was
first there. In a folder that a group shares, everybody of the group can import and review; a private one stays so."""

from __future__ import annotations

import contextlib
from pathlib import Path


def make_folder(path: Path) -> None:
    """With what is missing above it. Folders that are made here get the rights of the one they lie in. OSError if one
    cannot be made."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        make_folder(path.parent)
    path.mkdir(exist_ok=True)
    _set(path, path.parent.stat().st_mode & 0o777 | 0o700)


def share(file: Path, *, writing: bool = False) -> None:
    """Gives a file that was made just now to those who may read in its folder; `writing`: and to write to those who may
    write there."""
    mode = file.parent.stat().st_mode
    _set(file, mode & (0o666 if writing else 0o644) | 0o600)


def _set(path: Path, mode: int) -> None:
    """Somebody else's file, or a file system without rights, stays as it is. Set-group-id is inherited and kept: it
    decides on the group of what is made in a folder."""
    with contextlib.suppress(OSError):
        path.chmod(path.stat().st_mode & 0o7000 | mode)
