"""Which workspace belongs to which team, in the user's own configuration: `teams.json` beside `config.toml`.

A workspace never decides where fcreview connects, because it may come from somebody else.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.errors import CommandError
from fcreview.cli.output import print_message
from fcreview.safe_files import read_file

if TYPE_CHECKING:
    from fcreview.store.team.exchange import TeamLink
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
    from fcreview.store.team.address import parse_server_url
    from fcreview.store.team.exchange import TeamLink

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
    """Name files that came with a workspace and look as if they chose a team."""
    for folder in (workspace.root, workspace.parent_folder):
        if os.path.lexists(folder / IGNORED_FILE):
            print_message(
                f"fcreview: {folder / IGNORED_FILE} is ignored. A workspace cannot choose a team; use team join"
            )


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
