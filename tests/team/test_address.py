"""URLs of team servers are parsed, and remote connections require a certificate."""

from __future__ import annotations

import pytest

from fcreview.store.team_server import (
    AddressError,
    ServerAddress,
    TeamError,
    TeamServer,
    parse_server_url,
)
from tests.team.conftest import PASSWORD, MakeTeam, PostgresServer


@pytest.mark.parametrize(
    ("url", "address"),
    [
        (
            "postgresql://pilot.alice@db.example.org/reviews",
            ("db.example.org", 5432, "reviews", "pilot.alice"),
        ),
        ("postgres://a@[::1]:5433/r", ("::1", 5433, "r", "a")),
        ("postgresql://a%40b@%2Ftmp%2FSock:1/r%20s", ("/tmp/Sock", 1, "r s", "a@b")),  # noqa: S108
    ],
)
def test_urls_are_parsed(url: str, address: tuple[str, int, str, str]) -> None:
    parsed = parse_server_url(url)
    assert parsed == ServerAddress(*address)
    assert parse_server_url(str(parsed)) == parsed


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://alice:pass@db/r", "password"),
        ("postgresql://db/r", "needs a user"),
        ("postgresql://alice@db", "needs a user"),
        ("postgresql://alice@/r", "needs a user"),
        ("postgresql://alice@db/r?sslmode=disable", "options"),
        ("postgresql://alice@db/r#x", "options"),
        ("postgresql://alice@db,evil/r", "needs a user"),
        ("postgresql://alice@db%0A/r", "needs a user"),
        ("postgresql://alice@db:99999/r", "port"),
        ("postgresql://alice@db:x/r", "port"),
        ("https://alice@db/r", "not that of a PostgreSQL server"),
        ("host=db user=alice", "not that of a PostgreSQL server"),
    ],
)
def test_invalid_urls_are_refused(url: str, problem: str) -> None:
    with pytest.raises(AddressError, match=problem) as raised:
        parse_server_url(url)
    assert "pass@" not in str(raised.value)


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("localhost", True), ("127.0.0.1", True), ("::1", True), ("/run/postgresql", True)]
    + [
        (host, False)
        for host in ("db.example.org", "127.0.0.2", "10.0.0.1", "localhost.example.org")
    ],
)
def test_only_local_hosts_need_no_certificate(host: str, is_local: bool) -> None:
    parameters = ServerAddress(host, 5432, "r", "a").to_connection_parameters()
    assert parameters.get("sslmode") == (None if is_local else "verify-full")
    assert parameters["require_auth"] == ("scram-sha-256,none" if is_local else "scram-sha-256")


def test_remote_server_needs_the_right_certificate(
    postgres: PostgresServer, make_team: MakeTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate is for 127.0.0.3. The environment cannot weaken the check."""
    login = make_team().logins["lena"]
    monkeypatch.setenv("PGSSLMODE", "disable")
    monkeypatch.setenv("PGREQUIREAUTH", "none")
    monkeypatch.setenv("PGSSLROOTCERT", str(postgres.folder / "missing.crt"))
    with pytest.raises(TeamError, match="does not exist"):
        TeamServer.connect(postgres.address(login, "127.0.0.3"), PASSWORD)
    certificate = postgres.folder / "root.crt"
    certificate.write_bytes((postgres.folder / "data" / "server.crt").read_bytes())
    monkeypatch.setenv("PGSSLROOTCERT", str(certificate))
    TeamServer.connect(postgres.address(login, "127.0.0.3"), PASSWORD).close()
    with pytest.raises(TeamError, match="certificate"):
        TeamServer.connect(postgres.address(login, "127.0.0.2"), PASSWORD)


def test_encoded_list_of_hosts_is_refused() -> None:
    """libpq would connect to the second host without a certificate, because the first is local."""
    with pytest.raises(AddressError):
        parse_server_url("postgresql://u@%2Ftmp%2Cevil.example:5432/d")


def test_server_without_team_schema_is_refused(postgres: PostgresServer) -> None:
    with pytest.raises(TeamError, match="is not a team server"):
        TeamServer.connect(
            ServerAddress(str(postgres.folder), postgres.port, "template1", "postgres")
        )
