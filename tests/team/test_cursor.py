"""The pull cursor delivers all lines although transactions of writers overlap."""

from __future__ import annotations

import random
import threading
import time

from fcreview.store.team_server import TeamServer
from tests.team.conftest import PASSWORD, MakeTeam, Team
from tests.team.test_attacks import make_line


def write_slowly(team: Team, name: str, batches: list[list[bytes]], seed: int) -> None:
    """Write in transactions that wait between getting their number, writing and committing."""
    chance = random.Random(seed)
    with team.connect(name) as connection:
        for lines in batches:
            with connection.transaction():
                connection.execute(
                    "SELECT pg_current_xact_id(), pg_sleep(%s)", (chance.random() / 100,)
                )
                assert (
                    connection.execute("SELECT * FROM fcreview.push(%s)", (lines,)).fetchall() == []
                )
                if chance.random() < 0.3:
                    connection.execute("SELECT pg_sleep(%s)", (chance.random() / 200,))


def test_each_line_is_delivered_once(make_team: MakeTeam) -> None:
    """A cursor on a sequence number would miss lines here."""
    names = ["ann", "ben", "cyd", "dan"]
    team = make_team("never", **dict.fromkeys(names, "annotator"))
    batches = {
        name: [[make_line(name, f"{name}{n}.{k}") for k in range(3)] for n in range(12)]
        for name in names
    }
    writers = [
        threading.Thread(target=write_slowly, args=(team, name, batches[name], seed))
        for seed, name in enumerate(names)
    ]
    pulled: list[bytes] = []
    with TeamServer.connect(team.address("lena"), PASSWORD) as reader:
        cursor, _ = reader.pull_lines("")
        for writer in writers:
            writer.start()
        deadline = time.monotonic() + 60
        while len(pulled) < 4 * 12 * 3 and time.monotonic() < deadline:
            cursor, lines = reader.pull_lines(cursor)
            pulled += [line.body for line in lines]
            time.sleep(0.002)
        for writer in writers:
            writer.join()
        pulled += [line.body for line in reader.pull_lines(cursor)[1]]
    expected = [line for parts in batches.values() for lines in parts for line in lines]
    assert sorted(pulled) == sorted(expected)


def test_open_transaction_delays_delivery(make_team: MakeTeam) -> None:
    """A later line arrives after the end of the transaction."""
    team = make_team("never", alice="annotator")
    with (
        TeamServer.connect(team.address("lena"), PASSWORD) as reader,
        TeamServer.connect(team.address("alice"), PASSWORD) as alice,
        team.connect("alice") as other,
    ):
        cursor, _ = reader.pull_lines("")
        with other.transaction():
            other.execute("SELECT pg_current_xact_id()")
            alice.push_lines([make_line("alice")])
            cursor, lines = reader.pull_lines(cursor)
            assert not lines
            assert reader.pull_lines("")[1] == []
        assert len(reader.pull_lines(cursor)[1]) == 1
