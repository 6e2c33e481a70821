"""The sync thread exchanges lines while the app is open."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.store import team_exchange as sync
from fcreview.store.team_exchange import SyncStatus, TeamLink, TeamSync
from fcreview.store.team_server import ServerAddress
from fcreview.store.workspace import Workspace
from tests.store.reviews.journals import fill_journal
from tests.team.conftest import MakeTeam

MakeWorkspace = Callable[[str], Workspace]


@pytest.fixture(autouse=True)
def remove_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "START_SECONDS", 0)
    monkeypatch.setattr(sync, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(sync, "SCAN_SECONDS", 0.02)
    monkeypatch.setattr(sync, "STOP_SECONDS", 20)


def wait_until(team_sync: TeamSync, condition: Callable[[SyncStatus], object]) -> SyncStatus:
    deadline = time.monotonic() + 30
    while not condition(team_sync.status):
        assert time.monotonic() < deadline, team_sync.status
        time.sleep(0.01)
    return team_sync.status


def test_lines_are_sent_and_received(make_team: MakeTeam, make_workspace: MakeWorkspace) -> None:
    team, here, there = (
        make_team("never", alice="annotator"),
        make_workspace("a"),
        make_workspace("b"),
    )
    syncs = [
        TeamSync(place, TeamLink(team.address(name), team.project, name))
        for place, name in ((here, "alice"), (there, "lena"))
    ]
    for each in syncs:
        each.start()
    path = fill_journal(here, "alice", 2)
    wait_until(syncs[1], lambda status: status.received == 2)
    fill_journal(here, "alice", 1)
    assert syncs[0].stop().unsent == 0  # The last lines are sent before the thread ends.
    wait_until(syncs[1], lambda status: status.received == 3)
    assert syncs[1].stop().problem == ""
    assert (there.team_reviews / "alice.jsonl").read_bytes() == path.read_bytes()


def test_unsent_lines_are_counted_without_the_server(
    make_team: MakeTeam, make_workspace: MakeWorkspace
) -> None:
    team, here = make_team("never"), make_workspace("a")
    address = replace(team.address("lena"), port=1)
    offline = TeamSync(here, TeamLink(address, team.project, "lena"))
    offline.start()
    fill_journal(here, "lena", 3)
    status = wait_until(offline, lambda status: status.unsent == 3 and status.problem)
    assert "port 1" in status.problem or "No such file" in status.problem
    assert offline.stop().unsent == 3


def test_messages_at_the_end_of_the_app(capsys: pytest.CaptureFixture[str]) -> None:
    from fcreview.cli.team_sync import print_sync_problems

    print_sync_problems(SyncStatus(received=3))
    assert capsys.readouterr().err == ""
    print_sync_problems(
        SyncStatus(unsent=12, problem="server away", refusal="the server refused 1 line: reason")
    )
    assert capsys.readouterr().err == (
        "fcreview: 12 reviews not sent to the team yet (server away). fcreview sends them at the"
        " next start\n"
        "fcreview: the server refused 1 line: reason\n"
    )


def test_only_the_member_is_synchronized(
    make_workspace: MakeWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from fcreview.cli.config import save_team_link
    from fcreview.cli.team_sync import start_team_sync
    from fcreview.cli.workspace import WorkspaceSession

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    here = make_workspace("a")
    assert start_team_sync(WorkspaceSession(here, "alice")) is None
    save_team_link(here, TeamLink(ServerAddress("127.0.0.1", 1, "d", "p.alice"), "p", "alice"))
    assert start_team_sync(WorkspaceSession(here, "bob")) is None
    assert "reviews by bob are not sent" in capsys.readouterr().err
    started = start_team_sync(WorkspaceSession(here, "alice"))
    assert started is not None
    assert "refused" in wait_until(started, lambda status: status.problem).problem
    started.stop()
