"""A server with wrong answers is reported in one sentence. Nothing hangs, and no thread ends unnoticed."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import pytest

from fcreview.store import team_exchange, team_server
from fcreview.store.team_exchange import Exchange, SyncStatus, TeamLink, TeamSync
from fcreview.store.team_server import (
    SCHEMA_VERSION,
    AnswerError,
    ServerAddress,
    TeamError,
    TeamServer,
    UnreachableError,
)
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill_journal
from tests.team.private_server import PostgresServer

MakeWorkspace = Callable[[str], Workspace]
_numbers = itertools.count(1)
MEMBERSHIP = "('p', 'alice', 'annotator', 'own', true)"
PULLED = "('1.1.1'::text, NULL::text, NULL::bool, NULL::bytea, NULL::text[])"
RIGHT: dict[str, str] = {
    "schema_version() RETURNS int": f"VALUES ({SCHEMA_VERSION})",
    "whoami() RETURNS TABLE (project text, annotator text, role text, reveal text, has_joined bool)": (
        f"VALUES {MEMBERSHIP}"
    ),
    "settle() RETURNS bool": "VALUES (false)",
    "missing(text[]) RETURNS SETOF text": "SELECT unnest($1)",
    "push(bytea[]) RETURNS TABLE (place int, reason text)": "SELECT 1, 'no' WHERE false",
    "pull(text) RETURNS TABLE"
    " (next text, annotator text, informed bool, body bytea, place text[])": f"VALUES {PULLED}",
    "queues() RETURNS TABLE (name text, body bytea)": "SELECT 'q', ''::bytea WHERE false",
    "members() RETURNS TABLE (annotator text, role text, has_joined bool, lines bigint)": (
        "VALUES ('alice', 'annotator', true, 0::bigint)"
    ),
    "holders() RETURNS TABLE (what text, login text, seconds int)": "VALUES ('x', 'y', 1)",
    "datasets() RETURNS TABLE"
    " (annotator text, run text, items int, golden text, predictions text)": (
        "VALUES ('alice', 'r', 1, 'g', 'p')"
    ),
    "invite(text, text, text) RETURNS text": "VALUES ('p.bob')",
}
"""Functions of a server with right answers, by signature."""
WRONG: list[tuple[str, str, str]] = [
    ("schema_version", "RETURNS text", "VALUES ('two')"),
    ("schema_version", "RETURNS int", "VALUES (NULL::int)"),
    ("schema_version", "RETURNS SETOF int", "SELECT 1 WHERE false"),
    ("whoami", "", "VALUES (NULL::text, NULL::text, NULL::text, NULL::text, NULL::bool)"),
    ("whoami", "", "VALUES ('p', 'alice', 'king', 'own', true)"),
    ("whoami", "", "VALUES ('p', 'alice', 'annotator', 'always', true)"),
    ("whoami", "", f"SELECT * FROM (VALUES {MEMBERSHIP}) v WHERE false"),
    ("whoami", "", f"VALUES {MEMBERSHIP}, {MEMBERSHIP}"),
    ("settle", "RETURNS text", "VALUES ('no')"),
    ("settle", "RETURNS bool", "VALUES (NULL::bool)"),
    ("settle", "RETURNS SETOF bool", "SELECT true WHERE false"),
    ("missing", "RETURNS SETOF text", "VALUES ('another')"),
    ("missing", "RETURNS SETOF text", "VALUES (NULL::text)"),
    ("missing", "RETURNS SETOF int", "VALUES (1)"),
    ("push", "", "VALUES (NULL::int, 'no')"),
    ("push", "", "VALUES (1, NULL::text)"),
    ("push", "", "VALUES (99, 'no')"),
    ("push", "", "VALUES (0, 'no')"),
    ("push", "RETURNS TABLE (place text, reason text)", "VALUES ('first', 'no')"),
    ("pull", "", f"SELECT * FROM (VALUES {PULLED}) v(a, b, c, d, e) WHERE false"),
    ("pull", "", "VALUES (NULL::text, NULL::text, NULL::bool, NULL::bytea, NULL::text[])"),
    ("pull", "", f"VALUES {PULLED}, (NULL, NULL, true, ''::bytea, NULL)"),
    ("pull", "", f"VALUES {PULLED}, (NULL, 'bob', NULL, ''::bytea, NULL)"),
    ("pull", "", f"VALUES {PULLED}, (NULL, 'bob', true, NULL, NULL)"),
    ("pull", "", f"VALUES {PULLED}, (NULL, 'bob', true, ''::bytea, ARRAY[NULL::text])"),
    ("queues", "", "VALUES (NULL::text, ''::bytea)"),
    ("queues", "", "VALUES ('q', NULL::bytea)"),
    ("members", "", "VALUES ('alice', NULL::text, true, 0::bigint)"),
    ("members", "", "VALUES ('alice', 'lead', true, NULL::bigint)"),
    ("members", "", "VALUES ('alice', 'lead', true, -1::bigint)"),
    ("holders", "", "VALUES ('x', 'y', NULL::int)"),
    ("holders", "", "VALUES (NULL::text, 'y', 1)"),
    ("datasets", "", "VALUES ('alice', NULL::text, 1, 'g', 'p')"),
    ("datasets", "", "VALUES ('alice', 'r', NULL::int, 'g', 'p')"),
    ("invite", "RETURNS int", "VALUES (1)"),
    ("invite", "RETURNS SETOF text", "SELECT 'x' WHERE false"),
    # columns of another version of fcreview
    ("whoami", "RETURNS TABLE (project text, member text)", "VALUES ('p', 'alice')"),
    ("pull", "RETURNS TABLE (next text, body bytea)", "VALUES ('1.1.1', ''::bytea)"),
    ("push", "RETURNS TABLE (line int, reason text)", "VALUES (1, 'no')"),
    ("members", "RETURNS SETOF text", "VALUES ('alice')"),
]
"""(function, result type if it is another, wrong answer)."""


class WrongServer:
    """A database whose functions give any answer, as the tests want."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        # With `--dist worksteal`, a worker can come back to this module and need another database.
        self._database = f"wrong{next(_numbers)}"
        server.admin_sql(f"CREATE DATABASE {self._database}")
        self.address = ServerAddress(str(server.folder), server.port, self._database, "postgres")

    def answer_rightly(self) -> None:
        commands = ["DROP SCHEMA IF EXISTS fcreview CASCADE", "CREATE SCHEMA fcreview"]
        for signature, answer in RIGHT.items():
            commands.append(f"CREATE FUNCTION fcreview.{signature} LANGUAGE sql AS $${answer}$$")
        self._server.admin_sql("; ".join(commands), self._database)

    def answer_wrongly(self, function: str, result: str, answer: str) -> None:
        self.answer_rightly()
        (signature,) = (each for each in RIGHT if each.startswith(f"{function}("))
        parameters, _, right_result = signature.partition(" RETURNS")
        result_type = result or f"RETURNS{right_result}"
        definition = f"{parameters} {result_type} LANGUAGE sql AS $${answer}$$"
        self._server.admin_sql(
            f"DROP FUNCTION fcreview.{function}; CREATE FUNCTION fcreview.{definition}",
            self._database,
        )

    def drop_function(self, function: str) -> None:
        self._server.admin_sql(f"DROP FUNCTION fcreview.{function}", self._database)

    def connect(self) -> TeamServer:
        return TeamServer.connect(self.address)

    def link(self) -> TeamLink:
        return TeamLink(self.address, "p", "alice")


@pytest.fixture(scope="module")
def wrong(postgres: PostgresServer) -> WrongServer:
    return WrongServer(postgres)


def send_all_requests(wrong: WrongServer) -> None:
    with wrong.connect() as server:
        server.fetch_membership()
        server.find_missing_hashes(["a" * 32])
        server.push_lines([b"{}"])
        server.pull_lines("")
        server.fetch_queue_files()
        server.fetch_members()
        server.fetch_blocking_transactions()
        server.fetch_run_digests()
        server.invite("bob", "annotator")


def test_right_answers_are_accepted(wrong: WrongServer) -> None:
    wrong.answer_rightly()
    send_all_requests(wrong)


@pytest.mark.parametrize(("function", "result", "answer"), WRONG)
def test_wrong_answer_is_reported_with_its_function(
    wrong: WrongServer, function: str, result: str, answer: str
) -> None:
    wrong.answer_wrongly(function, result, answer)
    with pytest.raises(AnswerError) as raised:
        send_all_requests(wrong)
    assert f"the server answers in an unknown form (fcreview.{function})" in str(raised.value)


@pytest.mark.parametrize("function", ["whoami", "missing", "pull", "invite"])
def test_server_without_a_function_is_reported(wrong: WrongServer, function: str) -> None:
    wrong.answer_rightly()
    wrong.drop_function(function)
    with pytest.raises(AnswerError) as raised:
        send_all_requests(wrong)
    assert f"the server answers in an unknown form (fcreview.{function})" in str(raised.value)


def test_database_without_the_version_is_no_team_server(wrong: WrongServer) -> None:
    wrong.answer_rightly()
    wrong.drop_function("schema_version")
    with pytest.raises(TeamError, match=r"is not a team server .*schema_version"):
        wrong.connect()


def test_settle_that_never_ends_does_not_hang(wrong: WrongServer, postgres: PostgresServer) -> None:
    wrong.answer_wrongly("settle", "RETURNS bool", "VALUES (true)")
    with wrong.connect() as server:
        assert server.pull_lines("") == ("1.1.1", [])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("START_SECONDS", "POLL_SECONDS", "SCAN_SECONDS"):
        monkeypatch.setattr(team_exchange, name, 0.02)


def wait_until(sync: TeamSync, condition: Callable[[SyncStatus], object]) -> SyncStatus:
    deadline = time.monotonic() + 60
    while not condition(sync.status):
        assert time.monotonic() < deadline, sync.status
        time.sleep(0.01)
    return sync.status


@pytest.mark.usefixtures("quick")
def test_app_shows_unsent_reviews_while_answers_are_wrong(
    wrong: WrongServer, make_workspace: MakeWorkspace
) -> None:
    here = make_workspace("a")
    fill_journal(here, "alice", 2)
    wrong.answer_wrongly("missing", "RETURNS SETOF text", "VALUES (NULL::text)")
    sync = TeamSync(here, wrong.link())
    sync.start()
    status = wait_until(sync, lambda status: status.problem and status.unsent == 2)
    assert "the server answers in an unknown form" in status.problem
    assert status.note == "2 unsent"
    fill_journal(here, "alice", 1)
    wait_until(sync, lambda status: status.note == "3 unsent")
    wrong.answer_rightly()
    wait_until(sync, lambda status: not status.problem and not status.unsent)
    sync.stop()


class BrokenExchange(Exchange):
    """An exchange with an error of the program, to see that it is reported."""

    def push_lines(self) -> int:
        raise RuntimeError("a mistake")


@pytest.mark.usefixtures("quick")
def test_error_of_the_program_does_not_end_the_thread_unnoticed(
    wrong: WrongServer, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong.answer_rightly()
    here = make_workspace("a")
    fill_journal(here, "alice", 2)
    with monkeypatch.context() as patch:
        patch.setattr(team_exchange, "Exchange", BrokenExchange)
        sync = TeamSync(here, wrong.link())
        sync.start()
        status = wait_until(sync, lambda status: status.note == "2 unsent")
        assert status.problem == "internal error: RuntimeError: a mistake"
        assert sync.stop().problem


@pytest.mark.usefixtures("quick")
def test_unreadable_state_is_reported_and_tried_again(
    wrong: WrongServer, make_workspace: MakeWorkspace
) -> None:
    wrong.answer_rightly()
    here = make_workspace("a")
    fill_journal(here, "alice", 1)
    here.team_reviews.parent.mkdir(exist_ok=True)
    here.team_reviews.symlink_to("/nonexistent/folder")
    sync = TeamSync(here, wrong.link())
    sync.start()
    time.sleep(0.5)
    here.team_reviews.unlink()
    wait_until(sync, lambda status: not status.problem and not status.unsent)
    sync.stop()


def test_server_that_stops_to_answer_is_unreachable(
    postgres: PostgresServer, wrong: WrongServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_server, "ANSWER_SECONDS", 0.3)
    wrong.answer_wrongly("settle", "RETURNS bool", "SELECT pg_sleep(20) IS NULL")
    with wrong.connect() as server, pytest.raises(UnreachableError):
        server.pull_lines("")
    assert threading.active_count() < 10


def test_other_errors_keep_their_message(wrong: WrongServer) -> None:
    wrong.answer_wrongly("settle", "RETURNS bool", "SELECT 1 / 0 = 1")
    with wrong.connect() as server, pytest.raises(TeamError, match="division by zero"):
        server.pull_lines("")
