"""Cache the table `human_labels`, so that opening a workspace with many reviews needs no new
decision for each item.

`.fcreview/decisions.cache.duckdb` contains the rows and the inputs from which they were computed.
You can delete the file at any time. fcreview uses it only if this user wrote it for the same
database, annotator and policy, and if every journal still begins with the bytes that were read.
Events after these bytes are read as usual. Warnings about lines that do not count are cached too.

In a workspace from another user, the cache could contradict the journals. An authentication code
therefore proves that this user wrote the cache. The key of the code is outside every workspace:
`$XDG_STATE_HOME/fcreview/key`, by default `~/.local/state/fcreview/key`.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import orjson
from duckdb import DuckDBPyConnection as Connection

from fcreview import __version__
from fcreview.safe_files import WorkspaceFiles
from fcreview.store.database import disable_external_access, quote_path
from fcreview.store.review_sql import (
    DECISION_COLUMNS,
    format_json_structure,
    insert_decisions_from_json,
)
from fcreview.store.reviews.journal_reader import JournalPrefix, read_unchanged_prefix

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

KEY_BYTES = 32


def load_authentication_key(*, create: bool = False) -> bytes | None:
    """Return the key, or None if there is none.

    With `create`, create a missing key if its folder is writable.
    """
    try:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        path = state / "fcreview" / "key"
        key = _read_key(path)
        if key is None and create:
            return _create_key_file(path)
        return key
    except (OSError, RuntimeError):
        # RuntimeError: the user has no home folder.
        return None


def _read_key(path: Path) -> bytes | None:
    """Return the key if its file belongs to this user and nobody else can read or write it."""
    try:
        with WorkspaceFiles(path.parent).open_file(path) as file:
            status = os.fstat(file.fileno())
            key = file.read(KEY_BYTES + 1)
    except FileNotFoundError:
        return None
    is_private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return key if is_private and len(key) == KEY_BYTES else None


def _create_key_file(path: Path) -> bytes:
    """Create the file with the secret key of the cache, which only this user can read, and return
    the key.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = secrets.token_bytes(KEY_BYTES)

    # Other processes see the file only when it is complete.
    temporary = path.with_name(f"key.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    # A file or link that another user has put there meanwhile is an error.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
    temporary.replace(path)
    return key


# Version of the cache. Increase it if the same events lead to different decisions than before.
FORMAT = 4
# Former file name of the cache. The file is removed when a new cache is written.
OLD_NAME = "standing.duckdb"
CODE_BYTES = (
    1_000  # maximum size, in bytes, of the file that contains the authentication code of the cache
)
MIN_EVENTS = (
    5_000  # minimum number of events for which the cache is faster than reading the journals
)


def collect_cache_inputs(
    connection: Connection, annotator: str | None, policy: str
) -> dict[str, Any] | None:
    """Return the values that the cached rows depend on, except the journals.

    None if the database has no build id.
    """
    row = connection.execute("SELECT value FROM meta WHERE key = 'build'").fetchone()
    if row is None:
        return None
    columns = format_json_structure(DECISION_COLUMNS)
    inputs = {"format": FORMAT, "version": __version__, "columns": columns, "build": row[0]}
    return inputs | {"annotator": annotator, "policy": policy}


def attach_cache(connection: Connection, workspace: Workspace) -> None:
    """If this user wrote the cache, attach it as the database `cache`."""
    with contextlib.suppress(OSError, duckdb.Error):
        if _is_written_by_user(workspace, workspace.files.read(workspace.decision_cache)):
            connection.execute(
                f"ATTACH {quote_path(workspace.decision_cache)} AS cache (READ_ONLY)"
            )


def describe_cache_state(workspace: Workspace) -> str:
    """Return a text on the state of the cache, for `fcreview doctor`; empty if there is no
    cache.
    """
    try:
        content = workspace.files.read(workspace.decision_cache)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"ignored: {error.strerror or error}"
    with contextlib.suppress(OSError):
        if _is_written_by_user(workspace, content):
            return "verified"
    return "ignored: not written by this user. fcreview replaces the file when needed"


def _is_written_by_user(workspace: Workspace, cache_content: bytes) -> bool:
    """Whether the cache has the code that only this user can compute, with their secret key.
    A cache of another user could contain wrong decisions.
    """
    stated_code = workspace.files.read(workspace.decision_cache_code, CODE_BYTES)
    key = load_authentication_key()
    if key is None:
        return False
    return hmac.compare_digest(stated_code, _compute_authentication_code(key, cache_content))


def _compute_authentication_code(key: bytes, cache_content: bytes) -> bytes:
    return hmac.new(key, cache_content, "sha256").hexdigest().encode()


@dataclass(frozen=True, slots=True)
class CachedJournals:
    """The journals from which the cached decisions were computed."""

    prefixes: dict[str, JournalPrefix]  # by journal name
    warnings: list[str]
    """Messages about lines of these prefixes that do not count."""


def load_cached_decisions(
    connection: Connection, workspace: Workspace, inputs: Mapping[str, Any]
) -> CachedJournals | None:
    """Fill the empty table `human_labels` from the attached cache, and return the journals from
    which the rows were computed. Without a usable cache, leave the table empty and return None.

    The cache is usable if its decisions were computed from the same `inputs`, and if each journal
    still begins with the bytes that it had then.
    """
    try:
        about = orjson.loads(connection.execute("SELECT about FROM cache.about").fetchall()[0][0])
        journals = _parse_journals(about.pop("journals"), workspace)
        if about != inputs or not _are_unchanged(workspace, journals.prefixes):
            return None
        connection.execute("INSERT INTO human_labels SELECT * FROM cache.human_labels")
    except (duckdb.Error, ValueError, LookupError, TypeError, AttributeError):
        # The cache is missing, incomplete, damaged or from another program.
        connection.execute("DELETE FROM human_labels")
        return None
    finally:
        connection.execute("DETACH DATABASE IF EXISTS cache")
    return journals


def _parse_journals(value: dict[str, Any], workspace: Workspace) -> CachedJournals:
    """Return the journals that a cache file describes.

    Raises ValueError if the cache has warnings and the workspace was moved, because the warnings
    contain the paths of the old place.
    """
    prefixes = {name: JournalPrefix(*prefix) for name, prefix in value["prefixes"].items()}
    journals = CachedJournals(prefixes, warnings=list(value["warnings"]))
    if journals.warnings and value["root"] != str(workspace.root):
        raise ValueError("the workspace was moved")
    return journals


def _are_unchanged(workspace: Workspace, prefixes: Mapping[str, JournalPrefix]) -> bool:
    for name, prefix in prefixes.items():
        if read_unchanged_prefix(workspace.files, workspace.reviews / name, prefix) is None:
            return False
    return True


def write_decision_cache(
    connection: Connection,
    workspace: Workspace,
    inputs: Mapping[str, Any],
    journals: CachedJournals,
) -> None:
    """Write the decisions, computed from all reviews, to a cache file for the next session.

    A decision is the verdict of the annotators on a target and criterion. An authentication code is
    stored beside the file, so that nobody else can change it unnoticed. Without a key for the code
    or without write access, nothing is written.

    Args:
        connection: The connection with the decisions, the rows of `human_labels`.
        workspace: The workspace.
        inputs: The other values, apart from the journals, that the decisions depend on.
        journals: The journals from which the decisions were computed.
    """
    key = load_authentication_key(create=True)
    if key is None:
        return
    stated_inputs = {**inputs, "journals": _describe_journals(workspace, journals)}
    inputs_json = orjson.dumps(stated_inputs).decode()
    decision_lines = _fetch_decision_lines(connection)

    files = workspace.files
    folder = workspace.temporary / f"cache-{os.getpid()}"
    new_cache = folder / workspace.decision_cache.name
    try:
        files.remove(folder)
        # A new folder, because DuckDB follows links.
        files.make_folder(folder)
        _write_cache_file(new_cache, inputs_json, decision_lines)
        _replace_cache(workspace, new_cache, key)
    except (duckdb.Error, OSError):
        # The next session computes the decisions from the journals.
        pass
    finally:
        files.remove(folder)


def _replace_cache(workspace: Workspace, new_cache: Path, key: bytes) -> None:
    """Replace the cache by a new file, and its authentication code by that of the file.

    The code is replaced before the cache, so that after a crash between both, the code does not fit
    the old cache, which is then ignored.
    """
    files = workspace.files
    code = _compute_authentication_code(key, files.read(new_cache))
    files.write(workspace.decision_cache_code, code)
    files.rename_file(new_cache, workspace.decision_cache)
    files.remove(workspace.root / OLD_NAME)


def _describe_journals(workspace: Workspace, journals: CachedJournals) -> dict[str, Any]:
    """Return the state of the journals, which the cache is valid for, as JSON values."""
    prefixes = {}
    for name, prefix in journals.prefixes.items():
        prefixes[name] = [prefix.size, prefix.digest, prefix.is_valid]
    return {"prefixes": prefixes, "warnings": journals.warnings, "root": str(workspace.root)}


def _fetch_decision_lines(connection: Connection) -> list[str]:
    """Return each row of `human_labels` as the text of a JSON object."""
    query = "SELECT CAST(to_json(h) AS VARCHAR) FROM human_labels h"
    return [line for (line,) in connection.execute(query).fetchall()]


def _write_cache_file(path: Path, inputs_json: str, decision_lines: list[str]) -> None:
    """Write a database file with the decisions, and with the inputs that they were computed from."""
    cache = duckdb.connect(path)
    try:
        disable_external_access(cache)
        columns = ", ".join(f'"{name}" {kind}' for name, kind in DECISION_COLUMNS.items())
        cache.execute("CREATE TABLE about AS SELECT $1 AS about", [inputs_json])
        cache.execute(f"CREATE TABLE human_labels ({columns})")
        insert_decisions_from_json(cache, decision_lines)
    finally:
        cache.close()
