r"""Give DuckDB paths that it takes literally.

DuckDB reads `*`, `?`, `[` and `\` in the path of a file as a pattern, and `?` in the path of a
database as the start of options, before which it inserts the suffix of the log. For a file in a
folder with such a name, DuckDB gets a path through a symbolic link, which a private temporary
folder contains until the process ends. The log of a database keeps its strange place
(`find_log_path`), because DuckDB resolves links to databases.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

PATTERN_CHARACTERS = frozenset("*?[]\\{}")


def to_duckdb_path(path: Path | str) -> str:
    """Return a path with which DuckDB opens exactly this file or folder.

    The folder of the path must exist.
    """
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100 - keep symbolic links
    if PATTERN_CHARACTERS.isdisjoint(folder):
        return os.path.join(folder, name)  # noqa: PTH118
    return os.path.join(_link_to_folder(folder), name)  # noqa: PTH118


def find_log_path(database: Path | str) -> str:
    """Return the path at which DuckDB looks for the write-ahead log of a database:
    `store.duckdb.wal` for `store.duckdb`.

    DuckDB inserts `.wal` before the first `?` of the path: the log of `/a?b/store.duckdb` is
    `/a.wal?b/store.duckdb`.
    """
    resolved = os.path.realpath(database)
    before, question_mark, after = resolved.partition("?")
    return f"{before}.wal{question_mark}{after}"


def can_hold_database(folder: Path) -> bool:
    """Return whether DuckDB can write a database in a folder: whether the log is then in the
    folder too.
    """
    return "?" not in os.path.realpath(folder)


@cache
def _link_to_folder(folder: str) -> str:
    """Make a symbolic link to a folder, and return its path. Only this user can change the link."""
    place = Path(tempfile.mkdtemp(prefix="fcreview-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    link = place / "folder"
    link.symlink_to(folder, target_is_directory=True)
    return str(link)
