"""Manage the user's secret key. With this key, fcreview recognises cache files that the user has written.

A workspace may come from somebody else, with caches that contradict the journals. The key is therefore outside every
workspace: `$XDG_STATE_HOME/fcreview/key`, by default `~/.local/state/fcreview/key`.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from fcreview.safe_files import WorkspaceFiles

KEY_BYTES = 32


def load_key(*, create: bool = False) -> bytes | None:
    """Return the key, or None if there is no key. With `create`, a missing key is created if the folder is writable."""
    try:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        path = state / "fcreview" / "key"
        return _read_key(path) or (_make_key(path) if create else None)
    except (OSError, RuntimeError):  # RuntimeError: the user has no home folder
        return None


def _read_key(path: Path) -> bytes | None:
    """Return the key if nobody else can have read or written it."""
    try:
        with WorkspaceFiles(path.parent).open_file(path) as file:
            status = os.fstat(file.fileno())
            key = file.read(KEY_BYTES + 1)
    except FileNotFoundError:
        return None
    is_private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return key if is_private and len(key) == KEY_BYTES else None


def _make_key(path: Path) -> bytes:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key, temporary = secrets.token_bytes(KEY_BYTES), path.with_name(f"key.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
    temporary.replace(path)
    return key
