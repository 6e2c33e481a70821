"""The server decides which reviews an annotator receives, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import make_key
from tests.team.conftest import MakeTeam, Team

MakeWorkspace = Callable[[str], Workspace]


class Person:
    """A member with a separate workspace."""

    def __init__(self, team: Team, name: str, workspace: Workspace) -> None:
        self.team, self.name, self.workspace = team, name, workspace
        self.journal = Journal(workspace, name)

    def review(
        self, item: str, verdict: object = True, act: str = "review", blind: bool | None = None
    ) -> None:
        self.journal.append(make_key(item), Annotation(act=act, verdict=verdict), blind=blind)  # type: ignore[arg-type]
        self.sync()

    def sync(self) -> None:
        self.team.sync(self.workspace, self.name)

    def read_others(self) -> set[tuple[str, str]]:
        """Return (annotator, item) of the events of other annotators."""
        self.sync()
        events, warnings = read_events_and_warnings(self.workspace)
        assert not warnings
        return {(event.annotator, event.key.id) for event in events if event.annotator != self.name}

    def read_blind_flags(self) -> dict[tuple[str, str], bool | None]:
        self.sync()
        return {
            (event.annotator, event.key.id): event.blind
            for event in read_events_and_warnings(self.workspace)[0]
        }


def make_people(team: Team, make_workspace: MakeWorkspace, *names: str) -> list[Person]:
    return [Person(team, name, make_workspace(name)) for name in names]


def assign_queue(team: Team, queue: str, shares: dict[str, list[str]]) -> None:
    content = [
        {"annotator": name, "keys": [make_key(i)._asdict() for i in items]}
        for name, items in shares.items()
    ]
    with team.connect("lena") as lead:
        lead.execute(
            "SELECT fcreview.assign(%s, %s, %s)", (queue, b"{}", orjson.dumps(content).decode())
        )


def test_closed_shows_an_item_that_all_assigned_annotators_reviewed(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team = make_team("closed", alice="annotator", bob="annotator", carol="annotator")
    assign_queue(team, "pilot", {"alice": ["i1", "i2"], "bob": ["i1", "i2"]})
    alice, bob, carol = make_people(team, make_workspace, "alice", "bob", "carol")
    alice.review("i1")
    alice.review("i2")
    carol.review("i1")  # The item is not in carol's share, so this does not count.
    alice.review("other")  # No queue contains this item.
    bob.review("i2", "unsure")
    assert (alice.read_others(), bob.read_others(), carol.read_others()) == (set(), set(), set())
    bob.review("i1", False)
    everyone = {("alice", "i1"), ("bob", "i1"), ("carol", "i1")}
    for person in (alice, bob, carol):
        assert person.read_others() == {each for each in everyone if each[0] != person.name}


def test_closed_shows_an_adjudicated_item(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team = make_team("closed", alice="annotator", ada="adjudicator")
    alice, ada = make_people(team, make_workspace, "alice", "ada")
    alice.review("i1")
    alice.review("i2")
    assert ada.read_others() == {("alice", "i1"), ("alice", "i2")}
    ada.review("i1", act="adjudicate")
    assert alice.read_others() == {("ada", "i1")}


def test_retracted_verdict_does_not_reveal(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team = make_team("closed", alice="annotator", bob="annotator")
    assign_queue(team, "pilot", {"alice": ["i1"], "bob": ["i1"]})
    alice, bob = make_people(team, make_workspace, "alice", "bob")
    event = alice.journal.append(make_key("i1"), Annotation(verdict=True))
    alice.journal.retract(event)
    alice.sync()
    bob.review("i1")
    assert (alice.read_others(), bob.read_others()) == (set(), set())


def test_own_shows_an_item_after_the_own_verdict(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team = make_team("own", alice="annotator", bob="annotator")
    alice, bob = make_people(team, make_workspace, "alice", "bob")
    alice.review("i1")
    alice.review("i2")
    bob.review("i1", "unsure")
    assert bob.read_others() == set()
    bob.review("i1", False)
    assert bob.read_others() == {("alice", "i1")}
    assert alice.read_others() == {("bob", "i1")}
    alice.review("i1", False)  # Later lines of a revealed item arrive too.
    assert bob.read_others() == {("alice", "i1")}
    assert (
        len([e for e in read_events_and_warnings(bob.workspace)[0] if e.annotator == "alice"]) == 2
    )


def test_accepted_golden_fix_is_revealed_whole_with_its_verdict(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team = make_team("own", alice="annotator", bob="annotator")
    alice, bob = make_people(team, make_workspace, "alice", "bob")
    fix = Annotation(
        verdict=True,
        fault="golden",
        golden_fix={"ground_truth": [{"f": {"a": [1]}}]},
        golden_status="accepted",
        golden_verdicts={"maple-8b": {"hash": True}},
    )
    written = alice.journal.append(make_key("i1"), fix)
    alice.sync()
    assert bob.read_others() == set()

    bob.review("i1", False)
    bob.sync()
    events, _ = read_events_and_warnings(bob.workspace)
    (received,) = [event for event in events if event.annotator == "alice"]
    assert received == written


def test_never_shows_nothing_to_annotators(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team = make_team("never", alice="annotator", bob="annotator")
    alice, bob, lena = make_people(team, make_workspace, "alice", "bob", "lena")
    alice.review("i1")
    bob.review("i1")
    lena.review("i1", act="adjudicate")
    assert (alice.read_others(), bob.read_others()) == (set(), set())
    assert lena.read_others() == {("alice", "i1"), ("bob", "i1")}


def test_reviews_after_a_reveal_are_not_blind(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    """The server overrides the flag in the line, for all readers including the author."""
    team = make_team("own", alice="annotator", bob="annotator")
    alice, bob, lena = make_people(team, make_workspace, "alice", "bob", "lena")
    alice.review("i1", True, blind=True)
    bob.review("i1", False, blind=True)
    bob.review("i2", False, blind=True)
    flags = {("alice", "i1"): True, ("bob", "i1"): True, ("bob", "i2"): True}
    assert lena.read_blind_flags() == flags
    alice.read_others()
    event = alice.journal.append(make_key("i1"), Annotation(verdict=False), blind=True)
    alice.sync()
    for person in (lena, alice):
        person.sync()
        found = {each.event: each.blind for each in read_events_and_warnings(person.workspace)[0]}
        assert found[event.event] is False
        assert list(found.values()).count(True) == 2 + (person is lena)


def test_open_reader_notices_the_flag(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    from fcreview.store.reviews.journal_reader import JournalReader

    team = make_team("own", alice="annotator", bob="annotator")
    alice, bob = make_people(team, make_workspace, "alice", "bob")
    alice.review("i1")
    bob.review("i1")
    reader = JournalReader(alice.workspace)
    alice.journal.append(make_key("i1"), Annotation(verdict=False), blind=True)
    events = reader.read_new_events()
    alice.sync()
    alice.sync()
    events += reader.read_new_events()
    assert [event.blind for event in events if event.annotator == "alice"][-1] is False


@pytest.mark.parametrize("stranger", ["mallory", "lena'; DROP TABLE x"])
def test_queue_can_only_name_members(make_team: MakeTeam, stranger: str) -> None:
    import psycopg

    team = make_team("closed")
    with pytest.raises(psycopg.Error, match="not a member"):
        assign_queue(team, "pilot", {stranger: ["i1"]})


OTHER_REVIEWS = {
    "part": {"target": "turn:0/call:0", "verdict": False},
    "response": {"target": "response", "verdict": True},
    "criterion": {"criterion": "completeness", "verdict": 2},
    "incident": {"criterion": "incident", "verdict": True},
    "empty_text": {"verdict": ""},
    "empty_list": {"verdict": []},
    "number": {"verdict": 1},
    "word": {"verdict": "skip"},
    "fault": {"fault": "golden"},
    "note": {"note": "look at this"},
}


@pytest.mark.parametrize("fields", OTHER_REVIEWS.values(), ids=OTHER_REVIEWS)
@pytest.mark.parametrize("rule", ["own", "closed"])
def test_only_a_verdict_on_the_item_reveals(
    make_team: MakeTeam, make_workspace: MakeWorkspace, rule: str, fields: dict[str, Any]
) -> None:
    team = make_team(rule, alice="annotator", bob="annotator")
    assign_queue(team, "pilot", {"alice": ["i1"], "bob": ["i1"]})
    alice, bob, lena = make_people(team, make_workspace, "alice", "bob", "lena")
    alice.review("i1")
    bob.journal.append(make_key("i1"), Annotation(**fields), blind=True)
    assert bob.read_others() == set()
    bob.review("i1", False, blind=True)
    assert bob.read_others() == {("alice", "i1")}
    flags = [event.blind for event in read_lines_of(lena, "bob")]
    assert flags == [True, True], "the verdict is blind, because nothing was revealed before"


def read_lines_of(person: Person, annotator: str) -> list[Event]:
    person.sync()
    return [
        event
        for event in read_events_and_warnings(person.workspace)[0]
        if event.annotator == annotator
    ]


def test_hidden_duplicate_does_not_reveal(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team = make_team("own", alice="annotator", bob="annotator")
    alice, bob = make_people(team, make_workspace, "alice", "bob")
    alice.review("i1")
    bob.journal.append(make_key("i1"), Annotation(verdict=True), presentation=2)
    assert bob.read_others() == set()


@pytest.mark.parametrize(
    ("fields", "reveals"),
    [
        ({"verdict": True}, True),
        ({"fault": "golden"}, True),
        ({"target": "turn:0/call:0", "verdict": True}, False),
        ({"criterion": "completeness", "verdict": 2}, False),
        ({"verdict": "unsure"}, False),
        ({"verdict": "", "fault": "golden"}, False),
        ({"note": "look"}, False),
    ],
)
def test_closed_needs_an_adjudication_of_the_item(
    make_team: MakeTeam, make_workspace: MakeWorkspace, fields: dict[str, Any], reveals: bool
) -> None:
    team = make_team("closed", alice="annotator", ada="adjudicator")
    alice, ada = make_people(team, make_workspace, "alice", "ada")
    alice.review("i1")
    ada.journal.append(make_key("i1"), Annotation(act="adjudicate", **fields))
    ada.sync()
    assert bool(alice.read_others()) == reveals


def test_retracted_adjudication_does_not_reveal(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team = make_team("closed", alice="annotator", ada="adjudicator")
    alice, ada = make_people(team, make_workspace, "alice", "ada")
    event = ada.journal.append(make_key("i1"), Annotation(act="adjudicate", verdict=True))
    ada.journal.retract(event)
    ada.sync()
    assert alice.read_others() == set()
