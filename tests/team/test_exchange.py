"""Journal lines are exchanged through a real server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.journal_reader import check_journals, read_events_and_warnings
from fcreview.store.team_exchange import Inbox
from fcreview.store.team_server import PulledLine, TeamError
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill_journal, make_key
from tests.team.conftest import MakeTeam, Team

MakeWorkspace = Callable[[str], Workspace]


@pytest.fixture(scope="module")
def team(make_team: MakeTeam) -> Team:
    """A team whose lead and adjudicator see every line."""
    return make_team(alice="annotator", bob="annotator", ada="adjudicator")


@pytest.fixture(scope="module")
def make_fresh_team(make_team: MakeTeam) -> Callable[[], Team]:
    return lambda: make_team(alice="annotator", ada="adjudicator")


def read_lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def copy_path(workspace: Workspace, name: str) -> Path:
    return workspace.team_reviews / f"{name}.jsonl"


def alter_lines(team: Team, sql: str, database: str = "postgres") -> None:
    """Run SQL on lines as superuser. `{own}` selects the lines of the team."""
    own = f"project = (SELECT project FROM fcreview.project WHERE name = '{team.project}')"
    commands = ["ALTER TABLE fcreview.line DISABLE TRIGGER append_only", sql.format(own=own)]
    team.server.admin_sql(
        "; ".join([*commands, "ALTER TABLE fcreview.line ENABLE TRIGGER append_only"]), database
    )


def test_lines_arrive_byte_for_byte(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    team, here, there = make_fresh_team(), make_workspace("a"), make_workspace("b")
    path = fill_journal(here, "alice", 5)
    Journal(here, "alice").append(
        make_key("odd"), Annotation(verdict=True, note='NUL \x00 \\u0000 " 東京 \u2028 \x7f \\')
    )
    team.sync(here, "alice")
    assert team.sync(there, "ada") == 6
    assert copy_path(there, "alice").read_bytes() == path.read_bytes()
    assert team.sync(there, "ada") == 0
    events, warnings = read_events_and_warnings(there)
    assert events == read_events_and_warnings(here)[0]
    assert not warnings


def test_partial_copy_is_read_without_warnings(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team, here, there = (
        make_team("own", alice="annotator", bob="annotator"),
        make_workspace("a"),
        make_workspace("b"),
    )
    fill_journal(here, "alice", 6)
    Journal(there, "bob").append(make_key("simple_4"), Annotation(verdict=False))
    Journal(there, "bob").append(make_key("simple_2"), Annotation(verdict=False))
    team.sync(here, "alice")
    team.sync(there, "bob")
    team.sync(there, "bob")
    events, warnings = read_events_and_warnings(there)
    assert sorted(event.key.id for event in events if event.annotator == "alice") == [
        "simple_2",
        "simple_4",
    ]
    assert not warnings


def test_altered_line_does_not_count(team: Team, make_workspace: MakeWorkspace) -> None:
    there = make_workspace("b")
    exchange = team.exchange(there, "ada")
    event = orjson.loads(read_lines(fill_journal(make_workspace("a"), "bob", 1))[0])
    event["verdict"] = not event["verdict"]
    exchange.inbox.store_lines([PulledLine("bob", False, orjson.dumps(event))])
    exchange.close()
    events, warnings = read_events_and_warnings(there)
    assert not [each for each in events if each.annotator == "bob"]
    assert "altered" in warnings[0]
    assert (
        "altered"
        in next(each for each in check_journals(there) if each.annotator == "team/bob").warnings[0]
    )


@pytest.mark.parametrize("name", ["../alice", "a/b", ".hidden", "", "x" * 65, "ADA", "al\x1bice"])
def test_name_from_the_server_is_not_used_as_a_path(
    team: Team, make_workspace: MakeWorkspace, name: str
) -> None:
    there = make_workspace("b")
    exchange = team.exchange(there, "ada")
    assert exchange.inbox.store_lines([PulledLine(name, False, b"{}")]) == 0
    assert exchange.inbox.warnings
    assert not list(there.root.parent.rglob("*.jsonl"))
    exchange.close()


def test_line_of_another_annotator_is_set_aside(team: Team, make_workspace: MakeWorkspace) -> None:
    there = make_workspace("b")
    line = read_lines(fill_journal(make_workspace("a"), "alice", 1))[0].strip()
    exchange = team.exchange(there, "ada")
    exchange.inbox.store_lines([PulledLine("bob", False, line), PulledLine("ada", False, line)])
    exchange.close()
    assert not read_events_and_warnings(there)[0]
    assert not (there.reviews / "ada.jsonl").exists()


def test_offline_members_catch_up(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    team, here, there = (
        make_team(alice="annotator", bob="annotator"),
        make_workspace("a"),
        make_workspace("b"),
    )
    for _ in range(3):  # No member connects in the meantime.
        fill_journal(here, "alice", 8)
        fill_journal(there, "bob", 6)
    team.sync(here, "alice")
    team.sync(there, "bob")
    for name in ("lead", "another"):
        lead = make_workspace(name)
        assert team.sync(lead, "lena") == 42
        for annotator, place in (("alice", here), ("bob", there)):
            assert (
                copy_path(lead, annotator).read_bytes()
                == (place.reviews / f"{annotator}.jsonl").read_bytes()
            )


def test_one_annotator_uses_two_machines(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    team, office, home = make_fresh_team(), make_workspace("office"), make_workspace("home")
    fill_journal(office, "alice", 3)
    fill_journal(home, "alice", 2)
    for place in (office, home, office, home):
        team.sync(place, "alice")
    assert sorted(read_lines(office.reviews / "alice.jsonl")) == sorted(
        read_lines(home.reviews / "alice.jsonl")
    )
    assert len(read_lines(office.reviews / "alice.jsonl")) == 5
    both = [read_events_and_warnings(place) for place in (office, home)]
    assert both[0] == both[1]
    assert not both[0][1]


def test_informed_line_of_the_own_journal_counts_once(make_workspace: MakeWorkspace) -> None:
    sender, receiver = make_workspace("a"), make_workspace("b")
    bodies = fill_journal(sender, "alice", 2).read_bytes().splitlines()
    lines = [PulledLine("alice", is_informed=True, body=body) for body in bodies]

    assert Inbox(receiver, "alice").store_lines(lines) == 2
    for folder in (receiver.reviews, receiver.informed_team_reviews):
        assert (folder / "alice.jsonl").read_bytes().splitlines() == bodies
    assert Inbox(receiver, "alice").store_lines(lines) == 0
    # The user's own computer lacks only the second copy, which says that the lines are informed.
    assert Inbox(sender, "alice").store_lines(lines) == 2


def test_later_verdict_counts_on_every_machine(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    """The first machine sends its older verdict last."""
    team, office, home, there = (
        make_fresh_team(),
        make_workspace("office"),
        make_workspace("home"),
        make_workspace("b"),
    )
    first = Journal(office, "alice").append(make_key(), Annotation(verdict=True))
    second = Journal(home, "alice").append(make_key(), Annotation(verdict=False))
    second_time = max(second.time, first.time)
    for place, name in ((home, "alice"), (there, "ada"), (office, "alice"), (there, "ada")):
        team.sync(place, name)
    if first.time < second_time:
        assert [event.event for event in read_events_and_warnings(there)[0]] == [
            first.event,
            second.event,
        ]
    team.sync(office, "alice")
    assert [event.event for event in read_events_and_warnings(office)[0]] == [
        event.event for event in read_events_and_warnings(there)[0]
    ]


def test_restored_server_gets_its_lines_again(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    team, here, there = make_fresh_team(), make_workspace("a"), make_workspace("b")
    fill_journal(here, "alice", 4)
    exchange, reader = team.exchange(here, "alice"), team.exchange(there, "ada")
    exchange.push_lines()
    assert reader.pull_lines() == 4
    alter_lines(team, "DELETE FROM fcreview.line WHERE {own} AND body LIKE '%simple_2%'")
    assert exchange.push_lines() == 0
    assert reader.inbox.count_lost_lines_by_annotator(reader.pull_all_lines()) == {"alice": 1}
    exchange.connect()
    assert exchange.push_lines() == 1
    assert reader.inbox.count_lost_lines_by_annotator(reader.pull_all_lines()) == {}
    assert len(read_lines(copy_path(there, "alice"))) == 4
    exchange.close()
    reader.close()


def test_lines_after_a_counter_reset_are_delivered(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    """After a restore from a disk image, the last line is missing and new lines reuse its
    number.
    """
    team, here, there = make_fresh_team(), make_workspace("a"), make_workspace("b")
    fill_journal(here, "alice", 3)
    team.sync(here, "alice")
    team.sync(there, "ada")
    alter_lines(team, "DELETE FROM fcreview.line WHERE {own}")
    other = make_workspace("home")
    fill_journal(other, "alice", 2)
    team.sync(other, "alice")
    alter_lines(team, "UPDATE fcreview.line SET xid = '700' WHERE {own}")
    assert team.sync(there, "ada") == 2


def test_dump_in_another_cluster_delivers_all_lines_once(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    """The new cluster has a lower transaction counter than the stored numbers, and the cursor is
    from the old one.
    """
    team, here, there = make_fresh_team(), make_workspace("a"), make_workspace("b")
    fill_journal(here, "alice", 3)
    team.sync(here, "alice")
    team.sync(there, "ada")
    server = team.server
    server.admin_sql("CREATE DATABASE restored TEMPLATE postgres", "template1")
    copy = Team(server, team.project, "restored", team.logins)
    alter_lines(team, "UPDATE fcreview.line SET xid = '99999999999999'", "restored")
    fill_journal(here, "alice", 2)
    copy.sync(here, "alice")
    exchange = copy.exchange(there, "ada")
    assert exchange.pull_lines() == 2
    assert len(exchange.server.pull_lines("")[1]) == 5  # type: ignore[union-attr]
    exchange.close()
    assert copy_path(there, "alice").read_bytes() == (here.reviews / "alice.jsonl").read_bytes()
    server.admin_sql("DROP DATABASE restored WITH (FORCE)")


def test_lost_copy_is_fetched_again(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    team, here, there = make_fresh_team(), make_workspace("a"), make_workspace("b")
    fill_journal(here, "alice", 3)
    team.sync(here, "alice")
    team.sync(there, "ada")
    copy_path(there, "alice").unlink()
    assert team.sync(there, "ada") == 3


def test_unsent_lines_are_counted_without_the_server(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    from fcreview.store.team_exchange import Exchange, TeamLink

    team, here = make_fresh_team(), make_workspace("a")
    fill_journal(here, "alice", 3)
    team.sync(here, "alice")
    fill_journal(here, "alice", 2)
    offline = Exchange(here, TeamLink(team.address("alice"), team.project, "alice"))
    assert offline.outbox.count_unsent_lines() == 2


def test_refused_line_stays_in_the_journal(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    team, here = make_fresh_team(), make_workspace("a")
    path = fill_journal(here, "alice", 1)
    Journal(here, "alice").append(make_key(), Annotation(act="adjudicate", verdict=True))
    fill_journal(here, "alice", 1)
    exchange = team.exchange(here, "alice")
    assert exchange.push_lines() == 2
    assert (
        exchange.refusal_message
        == "the server refused 1 journal line: adjudication needs the role adjudicator"
    )
    assert exchange.push_lines() == 0
    exchange.close()
    assert len(read_lines(path)) == 3


def test_former_member_sends_and_receives_nothing(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    team, here = make_fresh_team(), make_workspace("a")
    fill_journal(here, "alice", 1)
    exchange = team.exchange(here, "alice")
    with team.connect("lena") as lead:
        lead.execute("SELECT fcreview.invite('alice', 'none', '')")
    for request in (exchange.push_lines, exchange.pull_lines):
        with pytest.raises(TeamError, match="not a member"):
            request()
    exchange.close()


def test_promoted_annotator_gets_all_lines(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    team, here, there = make_fresh_team(), make_workspace("a"), make_workspace("b")
    team.add(bob="annotator")
    fill_journal(here, "alice", 2)
    team.sync(here, "alice")
    assert team.sync(there, "bob") == 0
    with team.connect("lena") as lead:
        lead.execute("SELECT fcreview.invite('bob', 'adjudicator', '')")
    assert team.sync(there, "bob") == 2


def test_lines_of_a_journal_copied_by_hand_count_once(
    make_fresh_team: Callable[[], Team], make_workspace: MakeWorkspace
) -> None:
    """The workspace has the journal by hand and from the server."""
    team, here, there = make_fresh_team(), make_workspace("a"), make_workspace("b")
    path = fill_journal(here, "alice", 4)
    (there.reviews / "alice.jsonl").write_bytes(path.read_bytes())
    team.sync(here, "alice")
    team.sync(there, "ada")
    events: list[Event] = read_events_and_warnings(there)[0]
    assert len(events) == 4
