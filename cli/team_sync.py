"""Exchange reviews with the team's server while a command runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fcreview.cli.config import find_team_link
from fcreview.cli.output import (
    format_cell,
    is_in_browser,
    print_message,
)
from fcreview.errors import CommandError
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.store.team_exchange import Exchange, SyncStatus, TeamSync
    from fcreview.store.workspace import Workspace


def warn_of_ignored_team_files(workspace: Workspace) -> None:
    """Print a warning for each `team.toml` in a workspace, because fcreview ignores this file."""
    for file in (workspace.root / "team.toml", workspace.parent_folder / "team.toml"):
        if os.path.lexists(file):
            print_message(
                f"fcreview: ignored {file}, because only your own configuration sets the team. Use"
                " fcreview team join"
            )


@contextmanager
def open_team_exchange(workspace: Workspace) -> Iterator[Exchange]:
    """Yield an `Exchange`, which sends and fetches the reviews of the workspace's team.

    It is not connected yet. Raises CommandError if the workspace belongs to no team.
    """
    from fcreview.store.team_exchange import Exchange

    warn_of_ignored_team_files(workspace)
    link = find_team_link(workspace)
    if link is None:
        raise CommandError(
            f"{workspace.root} belongs to no team. Use fcreview team join URL to join a team"
        )
    exchange = Exchange(workspace, link)
    try:
        yield exchange
    finally:
        exchange.close()


@contextmanager
def sync_team_in_background(session: WorkspaceSession) -> Iterator[TeamSync | None]:
    """Exchange reviews with the annotator's team in a thread while the block runs.

    Yield None if there is no team.
    """
    sync = start_team_sync(session)
    try:
        yield sync
    finally:
        if sync is not None:
            print_sync_problems(sync.stop())


def start_team_sync(session: WorkspaceSession) -> TeamSync | None:
    """Start a thread that exchanges reviews with the annotator's team. Return None if there is no
    team.

    In a browser, there is no exchange, because a session must not write the journals of other
    annotators.
    """
    link = None if is_in_browser() else find_team_link(session.workspace)
    if link is None:
        return None
    if link.annotator != session.annotator:
        name = f"your annotator name in the team is {format_cell(link.annotator)}"
        print_message(f"fcreview: {name}, so reviews by {session.annotator} are not sent")
        return None
    from fcreview.store.team_exchange import TeamSync

    sync = TeamSync(session.workspace, link)
    sync.start()
    return sync


def print_sync_problems(status: SyncStatus) -> None:
    """Print how many reviews were not sent to the team, and why."""
    if not status.is_counted:
        print_message(f"fcreview: reviews cannot be sent to the team ({status.problem})")
    if status.unsent:
        reason = f" ({status.problem})" if status.problem else ""
        reviews = format_count(status.unsent, "review")
        print_message(
            f"fcreview: {reviews} not sent to the team yet{reason}. fcreview sends them at the next"
            " start"
        )
    if status.refusal:
        print_message(f"fcreview: {status.refusal}")
