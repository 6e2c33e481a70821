"""The server knows the place of each line, also of lines by older versions of fcreview."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews.journal import Journal, hash_and_serialize_event, parse_line
from fcreview.store.reviews.journal_merge import plan_team_merge
from fcreview.store.reviews.journal_reader import JournalReader, read_events_and_warnings
from fcreview.store.reviews.line_order import order_events, parse_place
from fcreview.store.team_server import SCHEMA_VERSION, TeamServer
from fcreview.store.team_setup import upgrade_schema
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import make_key
from tests.team.conftest import PASSWORD, MakeTeam
from tests.team.private_server import PostgresServer

psycopg = pytest.importorskip("psycopg")
MakeWorkspace = Callable[[str], Workspace]


def make_old_lines(times: list[str]) -> list[bytes]:
    """Return a chain of lines without places, as older versions wrote them."""
    lines = []
    previous = ""
    for number, time in enumerate(times):
        key = make_key(f"i{number % 3}")
        event = Event(
            event=f"{number:032x}", time=time, annotator="alice", key=key, verdict=number % 2 == 0
        )
        written, line = hash_and_serialize_event(event, previous)
        previous = written.hash
        lines.append(line)
    return lines


def write_journal(workspace: Workspace, lines: list[bytes]) -> None:
    workspace.reviews.mkdir(parents=True, exist_ok=True)
    (workspace.reviews / "alice.jsonl").write_bytes(b"".join(lines))


def list_times(events: list[Event], item: str) -> list[str]:
    return [event.time for event in events if event.annotator == "alice" and event.key.id == item]


def test_part_of_an_old_journal_has_the_order_of_the_whole(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    """The clock was fast at line 1, which bob does not receive.

    In bob's lines, time alone would reverse 4 and 7.
    """
    team, here, there = (
        make_team("own", alice="annotator", bob="annotator"),
        make_workspace("a"),
        make_workspace("b"),
    )
    times = ["12:00", "17:00", "12:02", "12:03", "18:05", "12:05", "12:06", "12:07"]
    lines = make_old_lines(times)
    write_journal(here, lines)
    Journal(there, "bob").append(make_key("i1"), Annotation(verdict=False))
    team.sync(there, "bob")
    team.sync(here, "alice")
    team.sync(there, "bob")
    expected = list_times(read_events_and_warnings(here)[0], "i1")
    assert expected == ["17:00", "18:05", "12:07"]
    assert list_times(read_events_and_warnings(there)[0], "i1") == expected
    plan_team_merge(there, "bob").write()
    assert (
        list_times(JournalReader(there, only=there.reviews / "alice.jsonl").read_new_events(), "i1")
        == expected
    )


def test_lines_in_the_wrong_order_are_sent_in_the_order_of_the_chain(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team, here, there = (
        make_team("never", alice="annotator"),
        make_workspace("a"),
        make_workspace("b"),
    )
    lines = make_old_lines([f"{hour}:00" for hour in (12, 17, 13, 11, 18, 10, 16)])
    random.Random(3).shuffle(lines)
    write_journal(here, lines)
    team.sync(here, "alice")
    team.sync(there, "lena")
    assert read_events_and_warnings(there)[0] == read_events_and_warnings(here)[0]


def test_deleted_places_are_fetched_again(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team, here, there = (
        make_team("never", alice="annotator"),
        make_workspace("a"),
        make_workspace("b"),
    )
    write_journal(here, make_old_lines(["12:00", "11:00"]))
    team.sync(here, "alice")
    team.sync(there, "lena")
    path = there.team_reviews / "alice.places"
    content = path.read_bytes()
    path.unlink()
    team.sync(there, "lena")
    assert path.read_bytes() == content


@pytest.fixture
def old_database(postgres: PostgresServer) -> Iterator[Any]:
    """A connection to a database with the tables of version 1 and a member alice without lines."""
    from importlib.resources import files

    postgres.admin_sql("CREATE DATABASE old_team")
    schema = (files("fcreview.store") / "team_schema.sql").read_text()
    with psycopg.connect(
        host=str(postgres.folder),
        port=postgres.port,
        dbname="old_team",
        user="postgres",
        autocommit=True,
    ) as connection:
        connection.execute("CREATE SCHEMA fcreview")
        connection.execute(schema)
        connection.execute("INSERT INTO fcreview.migration (version) VALUES (1)")
        connection.execute(
            "CREATE FUNCTION fcreview.pull(since text) RETURNS TABLE (next text, annotator text,"
            " informed boolean,"
            " body bytea) LANGUAGE sql AS $$ SELECT NULL::text, NULL::text, NULL::boolean,"
            " NULL::bytea $$"
        )
        connection.execute("INSERT INTO fcreview.incarnation (home) VALUES ('x')")
        connection.execute("INSERT INTO fcreview.project (name, reveal) VALUES ('old', 'own')")
        connection.execute(
            "INSERT INTO fcreview.member (project, annotator, login, role)"
            " VALUES (1, 'alice', 'old.alice', 'annotator')"
        )
        yield connection
    postgres.admin_sql("DROP DATABASE old_team WITH (FORCE)")


def insert_old_line(connection: Any, line: bytes) -> None:
    event = parse_line(line)
    connection.execute(
        "INSERT INTO fcreview.line"
        " (project, annotator, hash, event, item, act, is_verdict, informed, body, incarnation)"
        " VALUES (1, 'alice', %s, %s, %b, %s, true, false, %b, 1)",
        (event.hash, event.event, b"item", event.act, line.rstrip(b"\n")),
    )


def test_upgrade_finds_the_places_and_verdicts_of_old_lines(old_database: Any) -> None:
    lines = make_old_lines([f"{hour}:00" for hour in (12, 17, 13, 11, 18, 10)])
    part = Event(
        event="p",
        time="19:00",
        annotator="alice",
        key=make_key(),
        target="turn:0/call:0",
        verdict=True,
    )
    lines.append(hash_and_serialize_event(part, parse_line(lines[-1]).hash)[1])
    mixed = list(lines)
    random.Random(5).shuffle(mixed)
    for line in mixed:
        insert_old_line(old_database, line)
    for _ in range(2):  # a second upgrade changes nothing
        with old_database.transaction():
            upgrade_schema(old_database)
        rows = old_database.execute(
            "SELECT place, event, hash, is_verdict FROM fcreview.line"
        ).fetchall()
        rows.sort(key=lambda row: (parse_place(row[0]).stamps, *row[1:]))  # type: ignore[union-attr]
        events = order_events(map(parse_line, lines))
        assert [row[2:] for row in rows] == [
            (event.hash, event.target == "item") for event in events
        ]
        assert old_database.execute("SELECT fcreview.schema_version()").fetchall() == [
            (SCHEMA_VERSION,)
        ]
    with pytest.raises(psycopg.Error, match="cannot be changed"):
        old_database.execute("UPDATE fcreview.line SET is_verdict = false")


def test_pull_sends_the_place_of_each_line(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team, here = make_team("never", alice="annotator"), make_workspace("a")
    event = Journal(here, "alice").append(make_key(), Annotation(verdict=True))
    team.sync(here, "alice")
    with TeamServer.connect(team.address("lena"), PASSWORD) as server:
        (line,) = server.pull_lines("")[1]
    assert line.place == parse_place(event.place)
