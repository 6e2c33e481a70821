"""Attacks by team members with SQL are refused and reveal nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from fcreview.store.reviews.journal import hash_and_serialize_event
from tests.store.reviews.journals import make_key
from tests.team.conftest import MakeTeam, Team

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
NOTE = "note-of-alice-only"
FUNCTIONS = [
    *(
        "accept",
        "assign",
        "datasets",
        "holders",
        "invite",
        "members",
        "missing",
        "pull",
        "push",
        "queues",
    ),
    *("report_datasets", "schema_version", "settle", "whoami"),
]
"""Functions that members may call."""


def make_line(annotator: str, item: str = "i1", **fields: Any) -> bytes:
    from fcreview.model.review import Event

    number = next(_numbers)
    values = {"act": "review", "verdict": True, **fields}
    event = Event(
        event=f"e{number}",
        time="2026-01-01T00:00:00.000Z",
        annotator=annotator,
        key=make_key(item),
        **values,
    )
    return hash_and_serialize_event(event, "")[1].rstrip(b"\n")


_numbers = itertools.count()


@pytest.fixture(scope="module")
def team(make_team: MakeTeam) -> Team:
    """A team in which alice has reviewed i1, i2 and i3.

    A queue assigns only i1 and i2, to alice and bob.
    """
    team = make_team("closed", alice="annotator", bob="annotator", ada="adjudicator")
    with team.connect("lena") as lead:
        shares = [
            {"annotator": name, "keys": [make_key(i)._asdict() for i in ("i1", "i2")]}
            for name in ("alice", "bob")
        ]
        lead.execute("SELECT fcreview.assign('pilot', '{}', %s)", (orjson.dumps(shares).decode(),))
    with team.connect("alice") as alice:
        lines = [make_line("alice", item, note=NOTE) for item in ("i1", "i2", "i3")]
        alice.execute("SELECT * FROM fcreview.push(%s)", (lines,))
    return team


@pytest.fixture
def bob(team: Team) -> Iterator[Any]:
    with team.connect("bob") as connection:
        yield connection


def expect_refusal(connection: Any, sql: str, *values: Any) -> str:
    with pytest.raises(psycopg.Error) as raised:
        connection.execute(sql, values or None)
    message = str(raised.value)
    assert NOTE not in message
    return message


def count_lines(team: Team) -> int:
    counted = (
        "SELECT count(*) FROM fcreview.line JOIN fcreview.project p USING (project) WHERE p.name = "
    )
    return int(team.server.admin_sql(f"{counted}'{team.project}'")[0][0])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (make_line("alice"), "written by another annotator"),
        (make_line("Bob"), "written by another annotator"),
        (make_line("bob", act="adjudicate"), "adjudication needs the role adjudicator"),
        (
            make_line("bob").replace(b'"act":"review"', b'"act":"review","act":"adjudicate"'),
            "adjudication needs",
        ),
        (make_line("bob")[:-1] + b',"annotator":"alice"}', "written by another annotator"),
        (make_line("bob")[:-1] + b"\n}", "not a journal line"),
        (make_line("bob")[:-1] + b',"hash":"no hash"}', "not a journal line"),
        (b"\xff\xfe", "not a journal line"),
        (b"[" * 100_000, "not a journal line"),
        (b"null", "not a journal line"),
        (make_line("bob")[:-1] + b',"key":[]}', "not a journal line"),
    ],
)
def test_line_of_another_annotator_or_role_is_refused(
    team: Team, bob: Any, line: bytes, reason: str
) -> None:
    before = count_lines(team)
    rows = bob.execute("SELECT reason FROM fcreview.push(%s)", ([line],)).fetchall()
    assert len(rows) == 1
    assert reason in rows[0][0]
    assert count_lines(team) == before


FORBIDDEN = (
    "UPDATE fcreview.line SET body = 'x'",
    "DELETE FROM fcreview.line",
    "TRUNCATE fcreview.line",
    "SELECT body FROM fcreview.line",
    "INSERT INTO fcreview.line (project) VALUES (1)",
    "INSERT INTO fcreview.reveal SELECT 1, '', '', 1",
    "UPDATE fcreview.project SET reveal = 'own'",
    "COPY fcreview.line TO STDOUT",
    "ALTER TABLE fcreview.line DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE fcreview.line DISABLE TRIGGER ALL",
    "DROP TABLE fcreview.line CASCADE",
    "DROP SCHEMA fcreview CASCADE",
    "CREATE TABLE fcreview.mine (x int)",
    "BEGIN; LOCK TABLE fcreview.line",
    "ALTER FUNCTION fcreview.push(bytea[]) SECURITY INVOKER",
    "CREATE OR REPLACE FUNCTION fcreview.whoami() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "SET ROLE fcreview_owner",
    "SET ROLE fcreview_inviter",
    "SET SESSION AUTHORIZATION postgres",
    "CREATE ROLE mallory SUPERUSER",
    "ALTER ROLE CURRENT_USER CREATEROLE",
    "GRANT fcreview_owner TO CURRENT_USER",
    "GRANT pg_read_all_data TO CURRENT_USER",
    "SELECT fcreview.set_login('postgres', '', false, 'infinity')",
    "SELECT fcreview.add_member(1, 'mallory', 'lead', '')",
    "SELECT fcreview.create_project('mine', 'own', 'bob', '')",
    "SELECT fcreview.reveal_items(1, ARRAY['x'::bytea], 'bob')",
    "SELECT fcreview.has_verdict(1, 'x', 'alice')",
    "SELECT fcreview.require_member()",
)


@pytest.mark.parametrize("name", ["bob", "ada", "lena"])
def test_forbidden_sql_is_refused(team: Team, name: str) -> None:
    before = count_lines(team)
    with team.connect(name) as connection:
        for sql in FORBIDDEN:
            message = expect_refusal(connection, sql)
            assert any(
                word in message
                for word in ("permission denied", "must be", "must have", "does not exist")
            ), sql
            connection.execute("ROLLBACK")
    assert count_lines(team) == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT fcreview.invite('mallory', 'lead', 'x')",
        "SELECT fcreview.invite('bob', 'lead', 'x')",
        "SELECT fcreview.assign('q', '{}', '[]')",
    ],
)
def test_annotator_cannot_act_as_lead(bob: Any, sql: str) -> None:
    assert "this command needs the role lead" in expect_refusal(bob, sql)


def test_lead_cannot_take_over_the_login_of_a_member(team: Team) -> None:
    with team.connect("lena") as lead:
        verifier = "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy"
        for name in ("ALICE", "x" * 64):
            expect_refusal(lead, "SELECT fcreview.invite(%s, 'annotator', %s)", name, verifier)
        team.server.admin_sql(f'CREATE ROLE "{team.project}.eve" LOGIN')
        assert "has a login" in expect_refusal(
            lead, "SELECT fcreview.invite('eve', 'annotator', %s)", verifier
        )
        assert "verifier" in expect_refusal(
            lead, "SELECT fcreview.invite('new', 'annotator', 'md5abc')"
        )
        expect_refusal(lead, "SELECT fcreview.invite('new', 'superuser', %s)", verifier)
        before = team.server.admin_sql(
            f"SELECT rolpassword FROM pg_authid WHERE rolname = '{team.project}.alice'"
        )
        assert lead.execute(
            "SELECT fcreview.invite('alice', 'annotator', %s)", (verifier,)
        ).fetchall() == [(None,)]
    assert before == team.server.admin_sql(
        f"SELECT rolpassword FROM pg_authid WHERE rolname = '{team.project}.alice'"
    )


def test_no_function_shows_lines_before_the_reveal(team: Team, bob: Any) -> None:
    calls = [
        f"fcreview.pull('{cursor}')"
        for cursor in ("", "1.1.0", "1.1.1", "1.2.0", "9.9.9", "1.1.99999999999999", "x")
    ]
    calls += [
        "fcreview.members()",
        "fcreview.queues()",
        "fcreview.datasets()",
        "fcreview.holders()",
    ]
    hashes = [row[0] for row in team.server.admin_sql("SELECT hash FROM fcreview.line")]
    for call in calls:
        assert NOTE not in str(bob.execute(f"SELECT * FROM {call}").fetchall()).replace("\\x", "")
    for _, annotator, _, body, *_ in bob.execute("SELECT * FROM fcreview.pull('')").fetchall():
        assert annotator in (None, "bob")
        assert NOTE.encode() not in (body or b"")
    assert len(bob.execute("SELECT fcreview.missing(%s)", (hashes,)).fetchall()) == len(hashes)


def test_members_may_call_nothing_else(team: Team, bob: Any) -> None:
    """A new function fails this test until it is added to the list."""
    rows = bob.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'fcreview'::regnamespace"
        " AND has_function_privilege(oid, 'EXECUTE') ORDER BY 1"
    ).fetchall()
    assert [row[0] for row in rows] == FUNCTIONS
    unsafe = bob.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'fcreview'::regnamespace AND proname <>"
        " 'refuse_change'"
        " AND (NOT prosecdef OR proconfig IS DISTINCT FROM ARRAY['search_path=pg_catalog,"
        " pg_temp'])"
    ).fetchall()
    assert unsafe == []


def test_views_and_catalogues_show_nothing(team: Team, bob: Any) -> None:
    with team.connect("alice") as alice:
        alice.execute("SELECT * FROM fcreview.push(%s)", ([make_line("alice", "i1", note=NOTE)],))
        views = [
            row[0]
            for row in bob.execute("SELECT viewname FROM pg_views WHERE schemaname = 'pg_catalog'")
        ]
        readable = 0
        for view in (*views, "pg_class", "pg_proc", "pg_largeobject", "pg_statistic", "pg_authid"):
            try:
                rows = bob.execute(f'SELECT t::text FROM pg_catalog."{view}" t').fetchall()
            except psycopg.Error as error:
                rows = [(str(error),)]
            else:
                readable += 1
            assert not [
                row for row in rows if NOTE in str(row) and "current_query" not in str(row)
            ], view
            assert NOTE.encode().hex() not in str(rows), view
        assert readable > 50
        seen = bob.execute(
            "SELECT query FROM pg_stat_activity WHERE usename LIKE '%.alice'"
        ).fetchall()
        assert set(seen) == {("<insufficient privilege>",)}


def test_search_path_and_temporary_objects_change_nothing(bob: Any) -> None:
    bob.execute("CREATE TEMP TABLE line (body text)")
    bob.execute(
        "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT 'x'::bytea"
        " $$"
    )
    bob.execute("SET search_path = pg_temp, pg_catalog")
    assert bob.execute("SELECT annotator FROM fcreview.whoami()").fetchall() == [("bob",)]
    assert (
        bob.execute("SELECT reason FROM fcreview.push(%s)", ([make_line("bob", "i9")],)).fetchall()
        == []
    )


def test_members_receive_no_notifications(team: Team, bob: Any) -> None:
    bob.execute("LISTEN fcreview")
    bob.execute(f'LISTEN "{team.project}"')
    with team.connect("alice") as alice:
        alice.execute("SELECT * FROM fcreview.push(%s)", ([make_line("alice", "i4")],))
    assert list(bob.notifies(timeout=0.1)) == []


def test_error_messages_contain_no_lines(team: Team, bob: Any) -> None:
    line = make_line("bob", "i7")
    hashes = [row[0] for row in team.server.admin_sql("SELECT hash FROM fcreview.line")]
    copy = orjson.dumps(orjson.loads(line) | {"hash": hashes[0]})  # hash of a line of alice
    assert bob.execute("SELECT reason FROM fcreview.push(%s)", ([copy],)).fetchall() == []
    for lines in ([None], [b"x"] * 1001):
        try:
            rows = bob.execute("SELECT reason FROM fcreview.push(%s::bytea[])", (lines,)).fetchall()
        except psycopg.Error as error:
            rows = [str(error)]
        assert NOTE not in str(rows)


@pytest.mark.parametrize("verdict", [None, True])
def test_rolled_back_push_reveals_nothing(make_team: MakeTeam, verdict: bool | None) -> None:
    """The cost of a push depends on the item only after the reveal.

    Otherwise a rollback leaves no trace.
    """
    team = make_team("closed", alice="annotator", bob="annotator")
    with team.connect("lena") as lead:
        shares = [
            {"annotator": name, "keys": [make_key(i)._asdict() for i in ("i1", "i2")]}
            for name in ("alice", "bob")
        ]
        lead.execute("SELECT fcreview.assign('pilot', '{}', %s)", (orjson.dumps(shares).decode(),))
    with team.connect("alice") as alice, team.connect("bob") as bob:
        alice.execute("SELECT * FROM fcreview.push(%s)", ([make_line("alice", "i1")],))
        alice.execute("SELECT fcreview.settle()")
        counts = (
            "SELECT pg_stat_get_xact_tuples_returned('fcreview.line_item'::regclass),"
            " pg_stat_get_xact_tuples_inserted('fcreview.reveal'::regclass)"
        )
        locks = (
            "SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation ="
            " 'fcreview.reveal'::regclass"
        )
        seen = []
        for item in ("i0", "i1", "i2"):  # The first call loads the functions.
            bob.execute("BEGIN")
            before = bob.execute(counts).fetchall()[0]
            bob.execute(
                "SELECT * FROM fcreview.push(%s)", ([make_line("bob", item, verdict=verdict)],)
            )
            bob.execute("SELECT fcreview.settle()")
            after = bob.execute(counts).fetchall()[0]
            held = sorted(bob.execute(locks).fetchall())
            seen.append(([now - then for now, then in zip(after, before, strict=True)], held))
            bob.execute("ROLLBACK")
        assert seen[1] == seen[2]


def test_verdict_of_an_unassigned_annotator_reveals_nothing(team: Team, bob: Any) -> None:
    """Only annotators to whom a queue assigns the item count.

    Bob alone does not complete i3, which is not assigned.
    """
    bob.execute(
        "SELECT * FROM fcreview.push(%s)",
        ([make_line("bob", "i3"), make_line("bob", "i1", verdict="unsure")],),
    )
    rows = bob.execute("SELECT annotator FROM fcreview.pull('')").fetchall()
    assert {row[0] for row in rows} <= {None, "bob"}


def test_member_of_another_project_sees_nothing(make_team: MakeTeam, team: Team) -> None:
    other = make_team("own", bob="annotator")
    for name in ("bob", "lena"):
        with other.connect(name) as connection:
            assert [
                row[1] for row in connection.execute("SELECT * FROM fcreview.pull('')").fetchall()
            ] == [None]
            assert {
                row[0] for row in connection.execute("SELECT annotator FROM fcreview.members()")
            } == {"bob", "lena"}


def test_owner_role_has_no_members_and_no_login(team: Team) -> None:
    assert team.server.admin_sql(
        "SELECT rolname, rolcanlogin, rolcreaterole FROM pg_roles WHERE rolname LIKE 'fcreview_%'"
        " ORDER BY 1"
    ) == [
        ("fcreview_inviter", False, True),
        ("fcreview_member", False, False),
        ("fcreview_owner", False, False),
    ]
    members = (
        "SELECT 1 FROM pg_auth_members WHERE roleid::regrole::text IN ('fcreview_owner',"
        " 'fcreview_inviter')"
    )
    assert team.server.admin_sql(members) == []


def test_superuser_cannot_delete_lines_by_mistake(team: Team) -> None:
    for sql in (
        "DELETE FROM fcreview.line",
        "UPDATE fcreview.line SET body = ''",
        "TRUNCATE fcreview.line CASCADE",
    ):
        with pytest.raises(psycopg.Error, match="cannot be changed or deleted"):
            team.server.admin_sql(sql)


def test_one_time_password_can_only_join(make_team: MakeTeam) -> None:
    from fcreview.store.team_server import TeamError, TeamServer

    team = make_team()
    with TeamServer.connect(team.tcp_address("lena"), "correct-horse") as lead:
        invitation = lead.invite("dora", "annotator")
        assert invitation is not None
        again = lead.invite("dora", "annotator")  # The first password is replaced.
        assert again is not None
    team.logins["dora"] = again[0]
    with pytest.raises(TeamError, match="authentication failed"):
        TeamServer.connect(team.tcp_address("dora"), invitation[1])
    with TeamServer.connect(team.tcp_address("dora"), again[1]) as server:
        for request in (
            lambda: server.pull_lines(""),
            lambda: server.push_lines([b"x"]),
            server.fetch_members,
        ):
            with pytest.raises(TeamError, match="one-time password"):
                request()
        server.replace_password("another-password")
        with pytest.raises(TeamError, match="joined already"):
            server.replace_password("a-third-password")
    with pytest.raises(TeamError, match="authentication failed"):
        TeamServer.connect(team.tcp_address("dora"), again[1])
