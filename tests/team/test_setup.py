"""`team create` changes nothing that members wait for, and members cannot hold it up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fcreview.store import team_setup
from fcreview.store.team_server import TeamError, TeamServer, open_connection
from fcreview.store.team_setup import upgrade_schema
from tests.team.conftest import MakeTeam, Team
from tests.team.test_attacks import make_line

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
N_MEMBERS = 4
N_UPGRADES = 12
ADD_TABLE = "DROP TABLE IF EXISTS fcreview.extra; CREATE TABLE fcreview.extra ()"
"""Adds a table with another owner, so that `upgrade_schema` must lock and change tables."""
OLD_ADVISORY_LOCK = 0x66637265


@pytest.fixture(scope="module")
def team(make_team: MakeTeam) -> Team:
    names = [f"member{number}" for number in range(N_MEMBERS)]
    return make_team("own", **dict.fromkeys(names, "annotator"))


def upgrade(team: Team, *statements: str) -> None:
    """Run `upgrade_schema` as the administrator, after other statements."""
    with open_connection(team.server.admin) as connection:
        for statement in statements:
            connection.execute(statement)
        with connection.transaction():
            upgrade_schema(connection)


@contextmanager
def members_syncing(team: Team) -> Iterator[list[str]]:
    """Let members send and fetch lines all the time, in one transaction each and in longer ones.

    Yields the list of their errors.
    """
    errors: list[str] = []
    is_done = threading.Event()

    def sync(name: str) -> None:
        number = 0
        while not is_done.is_set():
            number += 1
            try:
                with TeamServer.connect(team.address(name)) as server:
                    server.fetch_membership()
                    server.push_lines([make_line(name, f"i{number % 5}")])
                    server.pull_lines("")
                with team.connect(name) as connection:
                    connection.execute("BEGIN")
                    connection.execute("SELECT * FROM fcreview.whoami()")
                    connection.execute(
                        "SELECT * FROM fcreview.push(%s)", ([make_line(name, f"i{number % 5}")],)
                    )
                    connection.execute("SELECT fcreview.settle()")
                    connection.execute("COMMIT")
            except (TeamError, psycopg.Error) as error:
                errors.append(str(error))

    threads = [
        threading.Thread(target=sync, args=(f"member{number}",)) for number in range(N_MEMBERS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        is_done.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("statements", [(), (ADD_TABLE,)], ids=["unchanged", "changed"])
def test_create_beside_syncing_members_is_no_deadlock(
    team: Team, statements: tuple[str, ...]
) -> None:
    with members_syncing(team) as errors:
        for _ in range(N_UPGRADES):
            upgrade(team, *statements)
    assert errors == []
    owners = team.server.admin_sql(
        "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class"
        " WHERE relnamespace = 'fcreview'::regnamespace AND relkind = 'r'"
    )
    assert owners == [("fcreview_owner",)]


def test_unchanged_schema_locks_no_table_of_members(team: Team) -> None:
    with open_connection(team.server.admin) as connection, connection.transaction():
        upgrade_schema(connection)
        rows = connection.execute(
            "SELECT c.relname FROM pg_locks l JOIN pg_class c ON c.oid = l.relation"
            " WHERE l.pid = pg_backend_pid() AND c.relkind = 'r' AND l.mode = 'AccessExclusiveLock'"
            " AND c.relnamespace = 'fcreview'::regnamespace"
        ).fetchall()
        assert rows == []
        with TeamServer.connect(team.address("member0")) as server:
            server.push_lines([make_line("member0", "i9")])
            server.pull_lines("")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT pg_advisory_lock({OLD_ADVISORY_LOCK})",
        "BEGIN; SELECT fcreview.whoami(); SELECT fcreview.settle()",
    ],
)
def test_member_cannot_hold_up_create(team: Team, sql: str) -> None:
    with team.connect("member0") as member:
        member.execute(sql)
        with open_connection(team.server.admin) as connection:
            connection.execute("SET statement_timeout = '10s'")
            with connection.transaction():
                upgrade_schema(connection)


def test_member_cannot_lock_the_table_of_versions(team: Team) -> None:
    with team.connect("member0") as member, pytest.raises(psycopg.Error, match="permission denied"):
        member.execute("BEGIN; LOCK TABLE fcreview.migration IN ACCESS SHARE MODE")


def test_transaction_that_holds_up_a_change_is_named(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_setup, "LOCK_ATTEMPTS", 2)
    monkeypatch.setattr(team_setup, "LOCK_SECONDS", 1)
    with open_connection(team.server.admin) as connection:
        connection.execute(ADD_TABLE)
        with team.connect("member0") as member:
            member.execute("BEGIN; SELECT fcreview.whoami()")
            named = pytest.raises(TeamError, match=f"of {team.project}.member0")
            with named, connection.transaction():
                upgrade_schema(connection)
            member.execute("COMMIT")
        with connection.transaction():
            upgrade_schema(connection)


def test_two_administrators_wait_for_each_other(team: Team) -> None:
    run_at_once: Callable[[], Any] = lambda: upgrade(team)  # noqa: E731
    threads = [threading.Thread(target=run_at_once) for _ in range(4)]
    errors: list[object] = []
    previous = threading.excepthook
    threading.excepthook = lambda event: errors.append(event.exc_value)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.excepthook = previous
    assert errors == []
