"""What an annotator sees of an item, and when: the server decides."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest

from fcreview.model.review import Annotation
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.journal_reader import read_journals
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import key
from tests.team.conftest import MakeTeam, Team

MakeWorkspace = Callable[[str], Workspace]


class Person:
    """A member with a workspace of their own."""

    def __init__(self, team: Team, name: str, workspace: Workspace) -> None:
        self.team, self.name, self.workspace = team, name, workspace
        self.journal = Journal(workspace, name)

    def say(self, item: str, verdict: object = True, act: str = "review", blind: bool | None = None) -> None:
        self.journal.append(key(item), Annotation(act=act, verdict=verdict), blind=blind)  # type: ignore[arg-type]
        self.sync()

    def sync(self) -> None:
        self.team.sync(self.workspace, self.name)

    def sees(self) -> set[tuple[str, str]]:
        """(annotator, item) of the others' events."""
        self.sync()
        events, warnings = read_journals(self.workspace)
        assert not warnings
        return {(event.annotator, event.key.id) for event in events if event.annotator != self.name}

    def blind_flags(self) -> dict[tuple[str, str], bool | None]:
        self.sync()
        return {(event.annotator, event.key.id): event.blind for event in read_journals(self.workspace)[0]}


def people(team: Team, make_workspace: MakeWorkspace, *names: str) -> list[Person]:
    return [Person(team, name, make_workspace(name)) for name in names]


def assign(team: Team, queue: str, shares: dict[str, list[str]]) -> None:
    content = [{"annotator": name, "keys": [key(i)._asdict() for i in items]} for name, items in shares.items()]
    with team.connect("lena") as lead:
        lead.execute("SELECT fcreview.assign(%s, %s, %s)", (queue, b"{}", orjson.dumps(content).decode()))


def test_closed_shows_an_item_when_everyone_has_reviewed_it(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    team = make_team("closed", alice="annotator", bob="annotator", carol="annotator")
    assign(team, "pilot", {"alice": ["i1", "i2"], "bob": ["i1", "i2"]})
    alice, bob, carol = people(team, make_workspace, "alice", "bob", "carol")
    alice.say("i1")
    alice.say("i2")
    carol.say("i1")  # not in carol's share: counts for nothing
    alice.say("other")  # in no queue
    bob.say("i2", "unsure")
    assert (alice.sees(), bob.sees(), carol.sees()) == (set(), set(), set())
    bob.say("i1", False)
    everyone = {("alice", "i1"), ("bob", "i1"), ("carol", "i1")}
    for person in (alice, bob, carol):
        assert person.sees() == {each for each in everyone if each[0] != person.name}


def test_closed_shows_an_adjudicated_item(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    team = make_team("closed", alice="annotator", ada="adjudicator")
    alice, ada = people(team, make_workspace, "alice", "ada")
    alice.say("i1")
    alice.say("i2")
    assert ada.sees() == {("alice", "i1"), ("alice", "i2")}
    ada.say("i1", act="adjudicate")
    assert alice.sees() == {("ada", "i1")}


def test_a_retracted_verdict_does_not_reveal(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    team = make_team("closed", alice="annotator", bob="annotator")
    assign(team, "pilot", {"alice": ["i1"], "bob": ["i1"]})
    alice, bob = people(team, make_workspace, "alice", "bob")
    event = alice.journal.append(key("i1"), Annotation(verdict=True))
    alice.journal.retract(event)
    alice.sync()
    bob.say("i1")
    assert (alice.sees(), bob.sees()) == (set(), set())


def test_own_shows_an_item_after_the_own_verdict(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    team = make_team("own", alice="annotator", bob="annotator")
    alice, bob = people(team, make_workspace, "alice", "bob")
    alice.say("i1")
    alice.say("i2")
    bob.say("i1", "unsure")
    assert bob.sees() == set()
    bob.say("i1", False)
    assert bob.sees() == {("alice", "i1")}
    assert alice.sees() == {("bob", "i1")}
    alice.say("i1", False)  # later lines of a revealed item follow
    assert bob.sees() == {("alice", "i1")}
    assert len([e for e in read_journals(bob.workspace)[0] if e.annotator == "alice"]) == 2


def test_never_shows_nothing_to_annotators(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    team = make_team("never", alice="annotator", bob="annotator")
    alice, bob, lena = people(team, make_workspace, "alice", "bob", "lena")
    alice.say("i1")
    bob.say("i1")
    lena.say("i1", act="adjudicate")
    assert (alice.sees(), bob.sees()) == (set(), set())
    assert lena.sees() == {("alice", "i1"), ("bob", "i1")}


def test_what_follows_a_reveal_is_not_blind(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    """Whatever the client wrote into its line, for every reader, the author included."""
    team = make_team("own", alice="annotator", bob="annotator")
    alice, bob, lena = people(team, make_workspace, "alice", "bob", "lena")
    alice.say("i1", True, blind=True)
    bob.say("i1", False, blind=True)
    bob.say("i2", False, blind=True)
    flags = {("alice", "i1"): True, ("bob", "i1"): True, ("bob", "i2"): True}
    assert lena.blind_flags() == flags
    alice.sees()
    event = alice.journal.append(key("i1"), Annotation(verdict=False), blind=True)
    alice.sync()
    for person in (lena, alice):
        person.sync()
        found = {each.event: each.blind for each in read_journals(person.workspace)[0]}
        assert found[event.event] is False
        assert list(found.values()).count(True) == 2 + (person is lena)


def test_a_reader_that_runs_notices_the_flag(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    from fcreview.store.reviews.journal_reader import JournalReader

    team = make_team("own", alice="annotator", bob="annotator")
    alice, bob = people(team, make_workspace, "alice", "bob")
    alice.say("i1")
    bob.say("i1")
    reader = JournalReader(alice.workspace)
    alice.journal.append(key("i1"), Annotation(verdict=False), blind=True)
    events = reader.read()
    alice.sync()
    alice.sync()
    events += reader.read()
    assert [event.blind for event in events if event.annotator == "alice"][-1] is False


@pytest.mark.parametrize("stranger", ["mallory", "lena'; DROP TABLE x"])
def test_a_queue_names_members_only(make_team: MakeTeam, stranger: str) -> None:
    import psycopg

    team = make_team("closed")
    with pytest.raises(psycopg.Error, match="not a member"):
        assign(team, "pilot", {stranger: ["i1"]})
