"""Fixtures for a private PostgreSQL server and teams on it.

Without `initdb`, the tests are skipped.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.team_exchange import Exchange, TeamLink
from fcreview.store.team_server import ServerAddress
from fcreview.store.workspace import Workspace, find_workspace
from tests.team.private_server import PostgresServer, find_binaries, start_server

try:
    import psycopg
except ImportError:  # All tests of a server are skipped.
    psycopg = None

PASSWORD = "correct-horse"  # noqa: S105
VERIFIER = (
    "SCRAM-SHA-256$4096:ZmNyZXZpZXctc2FsdC0xNg==$LjurXtR3QBJEG1aawz9T/EkjwL"
    "nCGFlxRzhJ1RU9wh8=:ZbXaCJhoSZKk/cUOiyty395G8o1XQ8s396btynFhSnI="
)
"""SCRAM verifier of `PASSWORD`."""


@dataclass
class Team:
    server: PostgresServer
    project: str
    database: str = "postgres"
    logins: dict[str, str] = field(default_factory=dict)

    def address(self, name: str) -> ServerAddress:
        """Return the address of the socket, which needs no password, because SCRAM is slow."""
        return replace(self.server.admin, database=self.database, user=self.logins[name])

    def tcp_address(self, name: str) -> ServerAddress:
        return self.server.address(self.logins[name])

    def add(self, **members: str) -> None:
        """Add members who have joined with `PASSWORD`."""
        commands = [
            f"SELECT fcreview.add_member(project, '{name}', '{role}', '{VERIFIER}') FROM"
            " fcreview.project"
            f" WHERE name = '{self.project}'"
            for name, role in members.items()
        ]
        self.server.admin_sql(
            "; ".join([*commands, "UPDATE fcreview.member SET joined = now() WHERE joined IS NULL"])
        )
        self.logins |= {name: f"{self.project}.{name}" for name in members}

    def connect(self, name: str) -> Any:
        """Connect as a member, to send any SQL."""
        address = self.address(name)
        parameters = {
            "host": address.host,
            "port": address.port,
            "dbname": address.database,
            "user": address.user,
        }
        return psycopg.connect(**parameters, autocommit=True)

    def exchange(self, workspace: Workspace, name: str) -> Exchange:
        exchange = Exchange(workspace, TeamLink(self.address(name), self.project, name))
        exchange.connect()
        return exchange

    def sync(self, workspace: Workspace, name: str) -> int:
        """Push and pull once, and return the number of new lines."""
        exchange = self.exchange(workspace, name)
        try:
            exchange.push_lines()
            return exchange.pull_lines()
        finally:
            exchange.close()


MakeTeam = Callable[..., Team]
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    binaries = find_binaries()
    if binaries is None or shutil.which("openssl") is None:
        pytest.skip("PostgreSQL (initdb) or openssl is not installed")
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not run as root, and runuser is not installed")
    # The path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="fcreview-pg-", dir="/tmp"))
    server = start_server(folder, binaries)
    yield server
    server.run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def make_team(postgres: PostgresServer) -> MakeTeam:
    """Return a function that creates a team with the lead lena and other members by role."""
    from fcreview.store.team_setup import upgrade_schema

    with psycopg.connect(
        host=str(postgres.folder), port=postgres.port, dbname="postgres", user="postgres"
    ) as connection:
        upgrade_schema(connection)

    def create(reveal: str = "closed", **members: str) -> Team:
        team = Team(postgres, f"p{next(_numbers)}")
        postgres.admin_sql(
            f"INSERT INTO fcreview.project (name, reveal) VALUES ('{team.project}', '{reveal}')"
        )
        team.add(lena="lead", **members)
        return team

    return create


@pytest.fixture
def make_workspace(tmp_path: Path) -> Callable[[str], Workspace]:
    def create(name: str) -> Workspace:
        (tmp_path / name).mkdir()
        return find_workspace(tmp_path / name)

    return create
