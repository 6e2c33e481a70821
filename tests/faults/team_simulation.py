"""Simulate a team whose members review, undo, work offline, restart and have wrong clocks, on a
real server.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from fcreview.model.decision import decide
from fcreview.model.effective_verdict import RollUpContext
from fcreview.model.review import (
    ITEM_CORRECT,
    Annotation,
    Event,
    ItemKey,
    Opinion,
    find_last_event,
    find_retracted_events,
    fold_events,
)
from fcreview.store.reviews import journal as journal_module
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.journal_merge import plan_journal_merge
from fcreview.store.reviews.journal_reader import JournalReader
from fcreview.store.store import Store
from fcreview.store.team_exchange import Exchange
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.reviews.journals import make_key
from tests.team.conftest import MakeTeam, Team

ITEMS = ("simple_0", "simple_1", "simple_2")
ANNOTATORS = ("alice", "bob", "carol")
SENIORS = {"ada": "adjudicator", "lena": "lead"}
SHARES = {"alice": ["simple_0", "simple_1"], "bob": ["simple_0", "simple_1"], "carol": ["simple_1"]}
N_STEPS = 45
HOUR = timedelta(hours=1)


class Clock:
    """The time of the simulation. Each machine has a clock of its own, which can be an hour off."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 9, tzinfo=UTC)
        self.error = timedelta()  # of the machine that writes now

    def make_datetime(self) -> type[datetime]:
        clock = self

        class MachineTime(datetime):
            @classmethod
            def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
                return clock.now + clock.error

        return MachineTime


@dataclass
class RunningReader:
    """What an open app holds: events are added as they arrive, and read again if the reader says
    so.
    """

    reader: JournalReader
    events: list[Event] = field(default_factory=list)

    def poll(self) -> None:
        new = self.reader.read_new_events()
        if self.reader.replaced:
            self.events = []
        self.events += new


@dataclass
class Arrival:
    """Lines that an annotator received in one synchronization."""

    reader: str
    n_server_lines: int  # number of lines in the server's log at that time
    hashes: set[str]


class Machine:
    def __init__(self, team: Team, name: str, workspace: Workspace, *, has_store: bool) -> None:
        self.team, self.name, self.workspace = team, name, workspace
        self.is_offline = False
        self.clock_error = timedelta()
        self.store: Store | None = None
        self._has_store = has_store
        self._exchange: Exchange | None = None
        self.start()

    def start(self) -> None:
        self.journal = Journal(self.workspace, self.name)
        self.running = RunningReader(JournalReader(self.workspace))
        self.poll()
        if self._has_store:
            self.store = Store.open(self.workspace, self.name)

    def stop(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None
        if self.store is not None:
            self.store.close()
            self.store = None

    def poll(self) -> None:
        self.running.poll()
        if self.store is not None:
            self.store.refresh_reviews()

    def sync(self) -> None:
        if self._exchange is None:
            self._exchange = self.team.exchange(self.workspace, self.name)
        self._exchange.push_lines()
        self._exchange.pull_lines()

    def list_received_hashes(self) -> set[str]:
        """Return the hashes of the received lines of other annotators."""
        found = set()
        for path in self.workspace.team_reviews.rglob("*.jsonl"):
            if path.stem != self.name:
                found |= {orjson.loads(line)["hash"] for line in path.read_bytes().splitlines()}
        return found


class Simulation:
    """One random schedule. `clock` must be the clock of the module `journal`."""

    def __init__(
        self, make_team: MakeTeam, template: Workspace, folder: Path, seed: int, clock: Clock
    ) -> None:
        self.random = random.Random(seed)
        self.clock = clock
        self.rule = self.random.choice(["own", "own", "closed", "closed", "never"])
        self.team = make_team(
            self.rule, **dict.fromkeys(ANNOTATORS, "annotator"), ada="adjudicator"
        )
        self.arrivals: list[Arrival] = []
        self._folder = folder
        self._assign_queue()
        self.machines = [
            self._make_machine(template, name, number, has_store=(name, number) == ("alice", 0))
            for name in ANNOTATORS
            for number in range(2)
        ]
        self.machines += [
            self._make_machine(template, name, 0, has_store=name == "lena") for name in SENIORS
        ]

    def _assign_queue(self) -> None:
        shares = [
            {"annotator": name, "keys": [make_key(item)._asdict() for item in items]}
            for name, items in SHARES.items()
        ]
        with self.team.connect("lena") as lead:
            lead.execute(
                "SELECT fcreview.assign(%s, %s, %s)",
                ("pilot", b"{}", orjson.dumps(shares).decode()),
            )

    def _make_machine(
        self, template: Workspace, name: str, number: int, *, has_store: bool
    ) -> Machine:
        place = self._folder / f"{name}{number}"
        if has_store:
            shutil.copytree(template.parent_folder, place)
        else:
            place.mkdir(parents=True)
        return Machine(self.team, name, find_workspace(place), has_store=has_store)

    def run(self) -> None:
        actions: list[Callable[[Machine], None]] = [
            *[self._review] * 7,
            self._review_with_siblings,
            *[self._undo] * 2,
            *[self._sync] * 7,
            *[Machine.poll] * 3,
            self._toggle_network,
            self._restart,
            self._set_clock,
        ]
        for _ in range(N_STEPS):
            self.clock.now += timedelta(seconds=self.random.choice([0, 1, 20, 300, 2000]))
            self.random.choice(actions)(self.random.choice(self.machines))
        for _ in range(2):
            for machine in self.machines:
                machine.is_offline = False
                self._sync(machine)
        for machine in self.machines:
            machine.poll()

    def stop(self) -> None:
        for machine in self.machines:
            machine.stop()

    def _review(self, machine: Machine) -> None:
        annotation = self._make_annotation()
        if machine.name in SENIORS:
            annotation.act = self.random.choice(["review", "adjudicate"])
        self.clock.error = machine.clock_error
        machine.journal.append(make_key(self.random.choice(ITEMS)), annotation, blind=True)

    def _review_with_siblings(self, machine: Machine) -> None:
        """Write a review with the golden fixes of the other items at once, as a reviewer does."""
        fix = {"city": self.random.choice(["Bonn", "Oslo"])}
        first, *siblings = self.random.sample(ITEMS, len(ITEMS))
        journal = machine.journal
        self.clock.error = machine.clock_error
        review = journal.make_event(
            make_key(first), Annotation(verdict=True, golden_fix=fix), blind=False
        )
        fixes = [
            journal.make_event(
                make_key(sibling), Annotation(golden_fix=fix), blind=False, bulk=review.event
            )
            for sibling in siblings
        ]
        journal.extend([review, *fixes])

    def _make_annotation(self) -> Annotation:
        verdict = self.random.choice([True, False, "unsure"])
        fix = {"city": self.random.choice(["Bonn", "Oslo"])}
        kinds = [
            *[Annotation(verdict=verdict)] * 5,
            Annotation(target="turn:0/call:0", verdict=verdict),
            Annotation(criterion="hallucinated", verdict=verdict),
            Annotation(verdict=""),
            Annotation(verdict=[]),
            Annotation(fault=self.random.choice(["golden", "model"])),
            Annotation(
                tags=[self.random.choice(["city", "date"])],
                note=self.random.choice(["", "one", "two"]),
            ),
            Annotation(verdict=True, golden_fix=fix),
        ]
        return self.random.choice(kinds)

    def _undo(self, machine: Machine) -> None:
        """Retract the last review of an annotator, with the fixes of siblings that belong to it."""
        machine.poll()
        events = [event for event in machine.running.events if event.annotator == machine.name]
        retracted = find_retracted_events(events)
        last = find_last_event(events, machine.name, retracted)
        if last is None:
            return

        group = last.bulk or last.event
        undone = [
            event
            for event in events
            if group in (event.event, event.bulk) and (event.event, machine.name) not in retracted
        ]
        self.clock.error = machine.clock_error
        machine.journal.retract(*undone)

    def _sync(self, machine: Machine) -> None:
        if machine.is_offline:
            return
        before = machine.list_received_hashes()
        machine.sync()
        if machine.name in ANNOTATORS:
            received = machine.list_received_hashes() - before
            self.arrivals.append(Arrival(machine.name, len(self.read_server_log()), received))

    def _toggle_network(self, machine: Machine) -> None:
        machine.is_offline = not machine.is_offline

    def _restart(self, machine: Machine) -> None:
        machine.stop()
        machine.start()

    def _set_clock(self, machine: Machine) -> None:
        machine.clock_error = self.random.choice([-HOUR, timedelta(), HOUR])

    def read_server_log(self) -> list[dict[str, Any]]:
        """Return the lines of the server in the order of their arrival, without the other
        columns of the table.
        """
        rows = self.team.server.admin_sql(
            "SELECT l.body FROM fcreview.line l JOIN fcreview.project p USING (project)"
            f" WHERE p.name = '{self.team.project}' ORDER BY l.seq"
        )
        return [orjson.loads(body) for (body,) in rows]

    def merge_all(self) -> list[Event]:
        """Return the events of one folder into which the folders of all machines were merged."""
        place = self._folder / "merged"
        place.mkdir()
        merged = find_workspace(place)
        machines = list(self.machines)
        self.random.shuffle(machines)
        for machine in machines:
            if machine.workspace.reviews.exists():
                plan_journal_merge(merged, machine.workspace, None).write()
        return JournalReader(merged).read_new_events()


def fold_opinions(events: Iterable[Event], item: str) -> dict[str, list[Opinion]]:
    """Return the opinions on an item, by annotator."""
    key: ItemKey = make_key(item)
    on_item = [event for event in events if event.key == key]
    opinions: dict[str, list[Opinion]] = {}
    for opinion in fold_events(on_item, find_retracted_events(on_item)):
        opinions.setdefault(opinion.annotator, []).append(opinion)
    return opinions


def format_decisions(events: Iterable[Event], item: str, annotators: Sequence[str]) -> list[str]:
    """Return the decisions on an item and its parts that follow from the reviews of these
    annotators.
    """
    by_annotator = fold_opinions(events, item)
    opinions = [opinion for name in sorted(annotators) for opinion in by_annotator.get(name, [])]
    return sorted(map(repr, decide(opinions, RollUpContext()))) if opinions else []


def describe_events(events: Iterable[Event]) -> dict[str, list[tuple[str, bool | None]]]:
    """Return (hash, blind) of the events in order, by annotator."""
    found: dict[str, list[tuple[str, bool | None]]] = {}
    for event in events:
        found.setdefault(event.annotator, []).append((event.hash, event.blind))
    return found


def read_figures(store: Store) -> list[str]:
    """Return the decisions from which all figures are computed."""
    return sorted(map(repr, store.connection.execute("SELECT * FROM human_labels").fetchall()))


class RevealOracle:
    """The reveal rules as docs/team.md states them, computed from the server's log alone."""

    def __init__(self, rule: str, log: Sequence[dict[str, Any]]) -> None:
        self._rule = rule
        self._log = log

    def find_illegal_lines(self, arrival: Arrival) -> list[dict[str, Any]]:
        """Return the received lines of items that no state of the log up to then reveals to the
        reader.
        """
        line_by_hash = {line["hash"]: line for line in self._log}
        lines = [line_by_hash[name] for name in sorted(arrival.hashes)]
        items = {line["key"]["id"] for line in lines}
        allowed = {
            item
            for item in items
            if self._was_revealed(item, arrival.reader, arrival.n_server_lines)
        }
        return [line for line in lines if line["key"]["id"] not in allowed]

    def is_revealed(self, item: str, reader: str, log: Sequence[dict[str, Any]]) -> bool:
        if self._rule == "never":
            return False
        on_item = [line for line in log if line["key"]["id"] == item]
        retracted = {line["retracts"] for line in on_item if line["act"] == "retract"}
        about_item = [
            line
            for line in on_item
            if line["event"] not in retracted
            and (line["target"], line["criterion"]) == ITEM_CORRECT
        ]
        with_verdict = {
            line["annotator"]
            for line in about_item
            if line["act"] == "review" and line.get("verdict") in (True, False)
        }
        if self._rule == "own":
            return reader in with_verdict
        is_settled = any(
            line["act"] == "adjudicate"
            and (
                line.get("verdict") in (True, False)
                or (line.get("verdict") is None and "fault" in line)
            )
            for line in about_item
        )
        assigned = {name for name, items in SHARES.items() if item in items}
        return is_settled or (bool(assigned) and assigned <= with_verdict)

    def _was_revealed(self, item: str, reader: str, n_lines: int) -> bool:
        return any(self.is_revealed(item, reader, self._log[:end]) for end in range(n_lines + 1))


def replace_clock(clock: Clock) -> tuple[Any, str, type[datetime]]:
    """Return the arguments of `monkeypatch.setattr` that give the journals the time of the
    simulation.
    """
    return journal_module, "datetime", clock.make_datetime()
