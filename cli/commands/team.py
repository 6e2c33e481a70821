"""Exchange reviews with a team through a PostgreSQL server.

fcreview saves reviews in your workspace before it sends them, so that you can work offline
(docs/team.md).

Example: fcreview team join postgresql://pilot.alice@db.example.org/reviews runs/gpt4o
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.config import load_config, remove_team_link, save_team_link
from fcreview.cli.options import JsonOption, WorkspaceOptions, argument, option
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    format_cell,
    print_message,
    print_table,
)
from fcreview.cli.team_sync import open_team_exchange, warn_of_ignored_team_files
from fcreview.cli.workspace import locate_workspace, resolve_annotator
from fcreview.errors import CommandError, UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.workspace import check_annotator

if TYPE_CHECKING:
    from fcreview.store.team_exchange import Exchange
    from fcreview.store.team_server import Member, RunDigest, ServerAddress, TeamServer
    from fcreview.store.workspace import Workspace


WATCH_SECONDS = 2.0  # seconds between two exchanges with --watch
MAX_WAIT_SECONDS = 30.0  # longest time between two attempts to connect
NEW_PASSWORD = "FCREVIEW_TEAM_PASSWORD"  # noqa: S105 - the name of a variable
UrlArgument = Annotated[str, argument("URL", "postgresql://USER@HOST:PORT/DATABASE")]
PathArgument = Annotated[
    Path, argument("[PATH]", "A run, or a folder with a workspace.", show_default=True)
]
WorkspaceOption = Annotated[
    Path | None, option("--workspace DIR", "Folder that contains .fcreview/.")
]


def create_project(
    url: Annotated[
        str, argument("[URL]", "Server URL with the login of an administrator.", show_default=True)
    ] = "",
    project: Annotated[str, option("--project P", "Name of the project.")] = "",
    reveal: Annotated[
        str,
        option(
            "--reveal RULE",
            "When annotators see the reviews of others on an item: closed (after adjudication, or"
            " when all assigned annotators have reviewed it), own (after their own verdict) or"
            " never.",
        ),
    ] = "closed",
    lead: Annotated[
        str | None, option("--lead NAME", "Annotator name of the lead.", show_default="you")
    ] = None,
    local: Annotated[
        bool,
        option("--local", "Only print the commands that start a trial server on this machine."),
    ] = False,
) -> None:
    """Create a project on a PostgreSQL server.

    Creates or upgrades the schema `fcreview` in the database, and creates a project with its lead.
    Only this command needs the login of an administrator. Prints the lead's login and one-time
    password.

    Example: fcreview team create postgresql://postgres@db.example.org/reviews --project pilot
    """
    if local:
        _print_trial_server_commands(project or "pilot")
        return

    from fcreview.store.team_server import REVEAL_RULES, parse_server_url
    from fcreview.store.team_setup import create_team

    if not url or not project:
        raise UsageError(
            "team create needs a URL and --project. For a trial server, use fcreview team create"
            " --local"
        )
    check_choice(REVEAL_RULES, reveal, "reveal rule")
    address = parse_server_url(url)
    lead_name = resolve_annotator(WorkspaceOptions([], annotator=lead), load_config())

    login, password, warnings = create_team(address, project, lead_name, reveal)
    emit(f"project {project} created · reveal rule: {reveal}")
    _print_invitation(address.with_user(login), password)
    for warning in warnings:
        print_message(f"fcreview: {warning}. Use the method scram-sha-256 or peer")


def _print_trial_server_commands(project: str) -> None:
    """Print the commands that start a PostgreSQL server on this machine, to try out the
    exchange.
    """
    folder = "~/fcreview-team"
    user = sanitize(os.environ.get("USER") or "postgres")
    emit(
        f"initdb -D {folder} --username={user} --auth-local=peer --auth-host=scram-sha-256"
        " --encoding=UTF8"
    )
    emit(f'pg_ctl -D {folder} -o "-p 55432 -k /tmp" -l {folder}/log start')
    emit(f"fcreview team create postgresql://{user}@%2Ftmp:55432/postgres --project {project}")


def _print_invitation(address: ServerAddress, password: str) -> None:
    """Print the command with which the member joins.

    It uses localhost, because a socket login asks for no password.
    """
    if address.host.startswith("/"):
        address = replace(address, host="localhost")
    emit(f"join with: fcreview team join {address}")
    emit(f"one-time password, valid for 7 days: {password}")


def invite_member(
    name: Annotated[str, argument("NAME", "Annotator name of the new member.")],
    path: PathArgument = Path(),
    role: Annotated[
        str,
        option(
            "--role ROLE",
            "Role of the member: annotator, adjudicator, lead, or none to end a membership.",
        ),
    ] = "annotator",
    workspace: WorkspaceOption = None,
) -> None:
    """Invite a member, or change a member's role.

    Only a lead can invite. Prints the login and a one-time password, which the member replaces with
    `team join`.

    Example: fcreview team invite alice runs/gpt4o --role annotator
    """
    from fcreview.store.team_server import ROLES

    name = check_annotator(name)
    check_choice(ROLES, role, "role")
    with open_team_exchange(_locate_workspace(path, workspace)) as exchange:
        invitation = exchange.connect().invite(name, role)
        emit(f"{format_cell(name)}: {role}")
        if invitation is not None:
            _print_invitation(
                exchange.link.address.with_user(invitation.login), invitation.password
            )


def join_team(
    url: UrlArgument, path: PathArgument = Path(), workspace: WorkspaceOption = None
) -> None:
    """Join a team with a workspace.

    Saves the server and the project in your own configuration, not in the workspace. Reads the
    password from PGPASSWORD, ~/.pgpass or a service file, or asks for the password. If it is a
    one-time password, you choose a new one.

    Example: fcreview team join postgresql://pilot.alice@db.example.org/reviews runs/gpt4o
    """
    from fcreview.store.team_exchange import TeamLink
    from fcreview.store.team_server import parse_server_url

    team_workspace = _locate_workspace(path, workspace)
    warn_of_ignored_team_files(team_workspace)
    address = parse_server_url(url)
    with _connect_or_ask_password(address) as server:
        member = server.fetch_membership()
        annotator = check_annotator(member.annotator)
        if not member.has_joined:
            # The administrator knows the one-time password with which a member joins.
            _replace_password(server, address)
    save_team_link(team_workspace, TeamLink(address, project=member.project, annotator=annotator))

    emit(
        f"joined {member.project} as {format_cell(annotator)} ({member.role}) · reveal rule:"
        f" {member.reveal}"
    )
    if resolve_annotator(WorkspaceOptions([path]), load_config()) != annotator:
        print_message(
            f"fcreview: your annotator name in the team is {annotator}. Review with"
            f" --annotator {annotator}"
        )


def _replace_password(server: TeamServer, address: ServerAddress) -> None:
    server.replace_password(_ask_new_password())
    print_message(
        "fcreview: password changed. For unattended use, add it to ~/.pgpass:"
        f" {address.host}:{address.port}:{address.database}:{address.user}:PASSWORD"
    )


def _connect_or_ask_password(address: ServerAddress) -> TeamServer:
    """Connect with a password that libpq finds, or else ask for one on the terminal."""
    from fcreview.store.team_server import TeamError, TeamServer

    try:
        return TeamServer.connect(address)
    except TeamError as error:
        if "no password" not in str(error) or not sys.stdin.isatty():
            raise
    password = typer.prompt(f"Password of {address.user}", hide_input=True, err=True)
    return TeamServer.connect(address, password)


def _ask_new_password() -> str:
    """Ask for a new password, or read it from the environment. Raises CommandError if short."""
    password = os.environ.get(NEW_PASSWORD, "")
    if not password and sys.stdin.isatty():
        password = typer.prompt(
            "Choose a new password", hide_input=True, confirmation_prompt=True, err=True
        )
    if len(password) < 8:
        raise CommandError(
            "the new password must have at least 8 characters. Without a terminal, set"
            f" {NEW_PASSWORD} to the password"
        )
    return password


def leave_team(path: PathArgument = Path(), workspace: WorkspaceOption = None) -> None:
    """Disconnect a workspace from its team.

    Reviews stay in the workspace and on the server. If you join again, fcreview sends the unsent
    reviews.

    Example: fcreview team leave runs/gpt4o
    """
    team_workspace = _locate_workspace(path, workspace)
    if not remove_team_link(team_workspace):
        raise CommandError(
            f"{team_workspace.root} belongs to no team, so there is nothing to leave"
        )
    emit("You have left the team. All reviews stay in the workspace.")


def send_reviews(path: PathArgument = Path(), workspace: WorkspaceOption = None) -> None:
    """Send your reviews to the team.

    Example: fcreview team push runs/gpt4o
    """
    with open_team_exchange(_locate_workspace(path, workspace)) as exchange:
        exchange.connect()
        _print_sync_counts(exchange, sent=exchange.push_lines())


def fetch_reviews(path: PathArgument = Path(), workspace: WorkspaceOption = None) -> None:
    """Fetch the queues of the team, and the reviews that you may see.

    Example: fcreview team pull runs/gpt4o
    """
    team_workspace = _locate_workspace(path, workspace)
    with open_team_exchange(team_workspace) as exchange:
        server = exchange.connect()
        received = exchange.pull_lines()
        _fetch_queues(server, team_workspace)
        _print_sync_counts(exchange, received=received)


def sync_reviews(
    path: PathArgument = Path(),
    watch: Annotated[
        bool, option("--watch", "Send and fetch reviews until you press Ctrl+C.")
    ] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Send and fetch reviews.

    Example: fcreview team sync runs/gpt4o --watch
    """
    team_workspace = _locate_workspace(path, workspace)
    with open_team_exchange(team_workspace) as exchange:
        if watch:
            _sync_until_interrupted(exchange, team_workspace)
        else:
            sent, received = _sync_once(exchange, team_workspace)
            _print_sync_counts(exchange, sent, received)


def _sync_until_interrupted(exchange: Exchange, workspace: Workspace) -> None:
    """Send and fetch reviews until the user presses Ctrl+C.

    While the server is not reachable, the pause between two attempts doubles.
    """
    from fcreview.store.team_server import UnreachableError

    pause = WATCH_SECONDS
    while True:
        try:
            sent, received = _sync_once(exchange, workspace)
        except UnreachableError as error:
            exchange.close()
            print_message(f"fcreview: {error}. fcreview tries again in {pause:.0f} s")
            time.sleep(pause)
            pause = min(pause * 2, MAX_WAIT_SECONDS)
            continue

        if sent or received:
            _print_sync_counts(exchange, sent, received)
        pause = WATCH_SECONDS
        time.sleep(pause)


def _sync_once(exchange: Exchange, workspace: Workspace) -> tuple[int, int]:
    """Connect if necessary, and return the numbers of sent and received lines."""
    if exchange.server is None:
        server = exchange.connect()
        _send_run_digests(server, workspace)
        _fetch_queues(server, workspace)
    sent = exchange.push_lines()
    received = exchange.pull_lines()
    return sent, received


def show_team_status(
    path: PathArgument = Path(), workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Show the team, unsent reviews and problems.

    Compares your copies of reviews with the reviews on the server, and your runs with the runs of
    other members. Lists transactions on the server that delay new reviews.

    Example: fcreview team status runs/gpt4o
    """
    team_workspace = _locate_workspace(path, workspace)
    with open_team_exchange(team_workspace) as exchange:
        server = exchange.connect()
        link = exchange.link
        n_unsent = exchange.outbox.count_unsent_lines()
        problems = _list_team_problems(exchange, server, team_workspace)
        members = server.fetch_members()
        membership = server.fetch_membership()

    if as_json:
        emit_json(
            {
                "project": link.project,
                "server": str(link.address),
                "annotator": link.annotator,
                "role": membership.role,
                "unsent": n_unsent,
                "members": members,
                "problems": problems,
            }
        )
        return

    unsent = format_count(n_unsent, "unsent review")
    emit(f"{link.project} at {link.address} · reveal rule: {membership.reveal}")
    emit(f"you are {format_cell(link.annotator)} ({membership.role}) · {unsent}")
    _print_members(members)
    for problem in problems:
        emit(f"! {sanitize(problem)}")


def _print_members(members: Sequence[Member]) -> None:
    """Print the members of a team project, and how many lines of reviews each has sent."""
    rows = []
    for member in members:
        has_joined = "yes" if member.has_joined else "no"
        name = format_cell(member.annotator)
        rows.append([name, member.role, has_joined, f"{member.n_lines:,}"])
    print_table(["annotator", "role", "joined", "lines"], rows, right_aligned=(3,))


def _list_team_problems(exchange: Exchange, server: TeamServer, workspace: Workspace) -> list[str]:
    """Describe what is wrong with the exchange of reviews.

    These are lines that the server lost, transactions that delay new reviews, and runs that differ
    from those of other members.

    To find them, this pulls the lines of all members, and sends the digests of this workspace's
    runs. Pulling adds to `exchange.inbox.warnings`, which are returned too.
    """
    from fcreview.store.team_exchange import describe_run_differences

    problems = []
    n_lost_by_name = exchange.inbox.count_lost_lines_by_annotator(exchange.pull_all_lines())
    for name, n_lost in n_lost_by_name.items():
        lines = format_count(n_lost, "journal line")
        problems.append(f"the server no longer has {lines} of {name}, but you have a copy")

    for transaction in server.fetch_blocking_transactions():
        problems.append(
            f"{transaction.process} by {transaction.login} has delayed new reviews for"
            f" {transaction.seconds} s"
        )

    own_runs = _send_run_digests(server, workspace)
    member = exchange.link.annotator
    problems += describe_run_differences(own_runs, server.fetch_run_digests(), member)
    problems += exchange.inbox.warnings
    return problems


def _send_run_digests(server: TeamServer, workspace: Workspace) -> list[RunDigest]:
    """Send digests of the workspace's golden answers and predictions to the team server, and
    return the digests.
    """
    from fcreview.store.store import Store
    from fcreview.store.team_exchange import compute_run_digests, report_run_digests

    if not workspace.store.is_file():
        return []
    with Store.open(workspace) as store:
        runs = compute_run_digests(store.connection)
    report_run_digests(server, runs)
    return runs


def _fetch_queues(server: TeamServer, workspace: Workspace) -> None:
    """Copy the queue files that the workspace lacks from the team's server."""
    from fcreview.store.team_exchange import copy_missing_team_queues

    for merged in copy_missing_team_queues(server, workspace):
        if merged.why:
            print_message(f"fcreview: {merged.why}")
        elif merged.state == "new":
            emit(f"queue {format_cell(merged.kept_as)} received")


def _print_sync_counts(
    exchange: Exchange, sent: int | None = None, received: int | None = None
) -> None:
    """Print how many reviews were sent and received, and problems with them."""
    counts = []
    if sent is not None:
        counts.append(f"{sent:,} sent")
    if received is not None:
        counts.append(f"{received:,} received")
    emit(" · ".join(counts))

    if exchange.refusal_message:
        print_message(f"fcreview: {exchange.refusal_message}")
    for warning in exchange.inbox.warnings:
        print_message(f"fcreview: {warning}")


def _locate_workspace(path: Path, workspace_folder: Path | None) -> Workspace:
    return locate_workspace(WorkspaceOptions([path], workspace=workspace_folder), create=False)


COMMANDS = {
    "create": create_project,
    "invite": invite_member,
    "join": join_team,
    "leave": leave_team,
    "push": send_reviews,
    "pull": fetch_reviews,
    "sync": sync_reviews,
    "status": show_team_status,
}
