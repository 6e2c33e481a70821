"""Files as they are read: one and no more, whatever has been put in its place."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_source(path: Path) -> BinaryIO:
    """OSError for what is no file: a pipe would wait for a writer for ever, a device never end."""

    def opener(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        try:
            check_file(descriptor, name)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    return open(path, "rb", opener=opener)


def check_file(descriptor: int, name: str) -> None:
    """OSError if what was opened is no file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a file", name)


def read_source(path: Path) -> bytes:
    with open_source(path) as file:
        return file.read()
