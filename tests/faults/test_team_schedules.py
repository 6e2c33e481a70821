"""After random schedules of a team, everybody has the same reviews in the same order, and nobody
got one too early.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from fcreview.model.review import Event, find_retracted_events
from fcreview.store.reviews import decision_cache
from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.faults.processes import FIRST_SEED, times
from tests.faults.team_simulation import (
    ANNOTATORS,
    ITEMS,
    SENIORS,
    Clock,
    Machine,
    RevealOracle,
    Simulation,
    describe_events,
    fold_opinions,
    format_decisions,
    read_figures,
    replace_clock,
)
from tests.store.factory import import_items
from tests.team.conftest import MakeTeam, make_team, postgres  # noqa: F401


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return import_items(
        tmp_path_factory.mktemp("template") / "run", {"maple-8b": [{} for _ in ITEMS]}
    )[0]


def find_faults(simulation: Simulation) -> list[str]:
    """Return a message for each difference between machines, and for each line that was received
    too early.
    """
    merged = simulation.merge_all()
    faults = []
    for machine in simulation.machines:
        fresh = read_events_and_warnings(machine.workspace)[0]
        if describe_events(fresh) != describe_events(machine.running.events):
            faults.append(f"{machine.name}: the open reader differs from a new reader")
        for item in ITEMS:
            visible = list(fold_opinions(fresh, item))
            if format_decisions(fresh, item, visible) != format_decisions(merged, item, visible):
                faults.append(f"{machine.name} {item}: the decisions differ from the merged folder")
        if machine.name in SENIORS:
            missing = {event.event for event in merged} - {event.event for event in fresh}
            faults += [f"{machine.name}: {len(missing)} lines are missing"] if missing else []
        if machine.store is not None:
            faults += find_faults_of_store(machine)
    faults += find_faults_of_siblings(merged)
    return faults + find_faults_of_flags(simulation) + find_faults_of_reveal(simulation)


def find_faults_of_store(machine: Machine) -> list[str]:
    assert machine.store is not None
    shown = read_figures(machine.store)
    machine.stop()
    with Store.open(machine.workspace, machine.name) as store:
        cached = read_figures(store)
    machine.workspace.decision_cache.unlink(missing_ok=True)
    with Store.open(machine.workspace, machine.name) as store:
        right = read_figures(store)
    faults = []
    if shown != right:
        faults.append(f"{machine.name}: the open app shows other figures")
    if cached != right:
        faults.append(f"{machine.name}: the cache contains other figures")
    return faults


def find_faults_of_siblings(merged: Sequence[Event]) -> list[str]:
    """A review and the fixes of siblings that belong to it must all be retracted, or none."""
    retracted = find_retracted_events(merged)
    is_retracted: defaultdict[str, set[bool]] = defaultdict(set)
    groups = {event.bulk for event in merged if event.bulk}
    for event in merged:
        group = event.bulk or event.event
        if group in groups:
            is_retracted[group].add((event.event, event.annotator) in retracted)
    return [
        f"only a part of {group} is retracted"
        for group, states in is_retracted.items()
        if len(states) > 1
    ]


def find_faults_of_flags(simulation: Simulation) -> list[str]:
    """All members who have a line must agree whether it is blind."""
    flags: dict[str, set[bool | None]] = {}
    for machine in simulation.machines:
        for event in read_events_and_warnings(machine.workspace)[0]:
            flags.setdefault(event.event, set()).add(event.blind)
    return [
        f"event {name} is blind for some members only"
        for name, values in flags.items()
        if len(values) > 1
    ]


def find_faults_of_reveal(simulation: Simulation) -> list[str]:
    log = simulation.read_server_log()
    oracle = RevealOracle(simulation.rule, log)
    faults = []
    for arrival in simulation.arrivals:
        faults += [
            f"{arrival.reader} received {line} too early"
            for line in oracle.find_illegal_lines(arrival)
        ]
    for machine in simulation.machines:
        if machine.name not in ANNOTATORS:
            continue
        received = machine.list_received_hashes()
        for line in log:
            is_due = (
                oracle.is_revealed(line["key"]["id"], machine.name, log)
                and line["annotator"] != machine.name
            )
            if is_due and line["hash"] not in received:
                faults.append(f"{machine.name} did not receive {line}")
    return faults


@pytest.mark.slow
def test_team_agrees_after_random_schedules(
    make_team: MakeTeam,  # noqa: F811
    template: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decision_cache, "MIN_EVENTS", 1)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    clock = Clock()
    monkeypatch.setattr(*replace_clock(clock))
    n_schedules = times(3, 1_000)
    faulty: dict[int, list[str]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + n_schedules):
        folder = tmp_path / str(seed)
        simulation = Simulation(make_team, template, folder, seed, clock)
        try:
            simulation.run()
            faults = find_faults(simulation)
        finally:
            simulation.stop()
        shutil.rmtree(folder)
        if faults:
            faulty[seed] = faults
    print(f"\n{len(faulty)} of {n_schedules} schedules of a team have faults")
    assert not faulty, faulty
