"""Find the team of a workspace, and exchange reviews with it.

The teams are in `teams.json` beside `config.toml`, the user's own configuration. A workspace never decides where
fcreview connects, because it may come from somebody else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.errors import CommandError
from fcreview.cli.output import cell_text, is_in_browser, print_message
from fcreview.model.wording import format_count
from fcreview.safe_files import read_file

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.store.team.exchange import Exchange, TeamLink
    from fcreview.store.team.sync import SyncStatus, TeamSync
    from fcreview.store.workspace import Workspace

MAX_BYTES = 1_000_000
IGNORED_FILE = "team.toml"


def teams_file() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path("~/.config").expanduser()) / "fcreview" / "teams.json"


def find_link(workspace: Workspace) -> TeamLink | None:
    """Return the team that the user has joined with this workspace, or None. Raises CommandError for a damaged file."""
    entry = _read_entries().get(_key_of(workspace))
    if entry is None:
        return None
    from fcreview.store.team.exchange import TeamLink
    from fcreview.store.team.server import parse_server_url

    try:
        return TeamLink(parse_server_url(entry["url"]), entry["project"], entry["annotator"])
    except (LookupError, TypeError, AttributeError):
        raise CommandError(f"{teams_file()}: the entry of {workspace.root} is damaged. Join the team again") from None


def save_link(workspace: Workspace, link: TeamLink) -> None:
    entry = {"url": str(link.address), "project": link.project, "annotator": link.annotator}
    _write_entries(_read_entries() | {_key_of(workspace): entry})


def remove_link(workspace: Workspace) -> bool:
    """Forget the team of a workspace. Returns False if it has none."""
    entries = _read_entries()
    if entries.pop(_key_of(workspace), None) is None:
        return False
    _write_entries(entries)
    return True


def warn_of_ignored_files(workspace: Workspace) -> None:
    """Print the names of files in a workspace that look like the configuration of a team and are ignored."""
    for file in (workspace.root / IGNORED_FILE, workspace.parent_folder / IGNORED_FILE):
        if os.path.lexists(file):
            print_message(f"fcreview: {file} is ignored. A workspace cannot choose a team; use team join")


def _key_of(workspace: Workspace) -> str:
    return os.path.realpath(workspace.root)


def _read_entries() -> dict[str, Any]:
    file = teams_file()
    try:
        entries = json.loads(read_file(file, MAX_BYTES))["workspaces"]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    except (ValueError, LookupError, TypeError, RecursionError):
        entries = None
    if not isinstance(entries, dict):
        raise CommandError(f"{file}: damaged. Delete it and join your teams again")
    return entries


def _write_entries(entries: dict[str, Any]) -> None:
    file = teams_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps({"version": 1, "workspaces": entries}, indent=2) + "\n", "utf-8")
    temporary.chmod(0o600)
    temporary.replace(file)


@contextmanager
def open_team_exchange(workspace: Workspace) -> Iterator[Exchange]:
    """Yield an `Exchange` with the team of the workspace. It connects to the server on first use. Raises CommandError
    if the workspace belongs to no team."""
    from fcreview.store.team.exchange import Exchange

    warn_of_ignored_files(workspace)
    link = find_link(workspace)
    if link is None:
        raise CommandError(f"{workspace.root} belongs to no team. Use fcreview team join URL")
    exchange = Exchange(workspace, link)
    try:
        yield exchange
    finally:
        exchange.close()


@contextmanager
def sync_team(session: WorkspaceSession) -> Iterator[TeamSync | None]:
    """Exchange reviews with the annotator's team in a thread while the block runs. None without a team."""
    sync = start_team_sync(session)
    try:
        yield sync
    finally:
        if sync is not None:
            print_team_status(sync.stop())


def start_team_sync(session: WorkspaceSession) -> TeamSync | None:
    """Start to exchange reviews with the annotator's team, in a thread. None without a team, and in a browser, where a
    session may not write the journals of others."""
    if is_in_browser():
        return None
    link = find_link(session.workspace)
    if link is None:
        return None
    if link.annotator != session.annotator:
        name = f"your annotator name in the team is {cell_text(link.annotator)}"
        print_message(f"fcreview: {name}. Reviews by {session.annotator} are not sent")
        return None
    from fcreview.store.team.sync import TeamSync

    sync = TeamSync(session.workspace, link)
    sync.start()
    return sync


def print_team_status(status: SyncStatus) -> None:
    """Print the number of reviews that were not sent to the team, and the reason."""
    if status.unsent:
        why = f" ({status.problem})" if status.problem else ""
        count = format_count(status.unsent, "review")
        print_message(f"fcreview: {count} not sent to the team yet{why}. The next start sends them")
    if status.refusal:
        print_message(f"fcreview: {status.refusal}")
