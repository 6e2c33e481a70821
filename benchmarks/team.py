"""Measure team mode on a private PostgreSQL server: lost reviews, waiting times, delivery and the
pull cursor.

    python benchmarks/team.py                                  the long form, about five minutes
    python benchmarks/team.py --server-kills 5 --client-kills 10 --verdicts 50 --lines 10000 --cursor-lines 2000

Annotators are processes that append verdicts to their own journals while a thread exchanges lines,
as in the app. Servers and annotators are killed with SIGKILL.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fcreview.model.review import Annotation, Event, ItemKey  # noqa: E402
from fcreview.store.reviews.journal import Journal, hash_and_serialize_event  # noqa: E402
from fcreview.store.team_exchange import TeamLink, TeamSync  # noqa: E402
from fcreview.store.team_server import TeamServer  # noqa: E402
from fcreview.store.team_setup import upgrade_schema  # noqa: E402
from fcreview.store.workspace import Workspace, find_workspace  # noqa: E402
from tests.team.conftest import Team  # noqa: E402
from tests.team.private_server import PostgresServer, find_binaries, start_server  # noqa: E402

FORK = multiprocessing.get_context("fork")


def key(number: int) -> ItemKey:
    return ItemKey(
        "bfcl",
        generation="V4",
        language="en",
        model="maple-8b",
        category="simple",
        id=f"simple_{number}",
    )


def line(name: str, number: int) -> bytes:
    event = Event(
        event=f"{name}{number:08}",
        time="2026-01-01T00:00:00.000Z",
        annotator=name,
        key=key(number),
        verdict=True,
    )
    return hash_and_serialize_event(event, "")[1].rstrip(b"\n")


def make_team(server: PostgresServer, project: str, reveal: str, names: list[str]) -> Team:
    import psycopg

    with psycopg.connect(
        host=str(server.folder), port=server.port, dbname="postgres", user="postgres"
    ) as connection:
        upgrade_schema(connection)
        connection.execute(
            "INSERT INTO fcreview.project (name, reveal) VALUES (%s, %s)", (project, reveal)
        )
    team = Team(server, project)
    team.add(lena="lead", **dict.fromkeys(names, "annotator"))
    return team


def kill_server(server: PostgresServer) -> None:
    """Kill the server and its processes with SIGKILL, then start it again."""
    main = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    children = [
        int(each.parent.name)
        for each in Path("/proc").glob("[0-9]*/stat")
        if _read(each).rpartition(")")[2].split()[1:2] == [str(main)]
    ]
    for process in (main, *children):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    while any(
        _read(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()[:1] not in ([], ["Z"])
        for process in children
    ):
        time.sleep(0.01)
    for stale in (
        server.folder / "data" / "postmaster.pid",
        server.folder / f".s.PGSQL.{server.port}.lock",
    ):
        stale.unlink()  # init has possibly not reaped the process yet.
    server.run(
        "pg_ctl", "-D", str(server.folder / "data"), "-l", str(server.folder / "log"), "-w", "start"
    )


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def annotate(place: Path, link: TeamLink, count: int, pause: float) -> None:
    """Append verdicts until the journal has `count`, and wait until the server has them all."""
    workspace = find_workspace(place)
    sync = TeamSync(workspace, link)
    sync.start()
    journal = Journal(workspace, link.annotator)
    done = len(journal.path.read_bytes().splitlines()) if journal.path.exists() else 0
    with (place / "acknowledged").open("ab", buffering=0) as acknowledged:
        for number in range(done, count):
            started = time.perf_counter()
            event = journal.append(key(number), Annotation(verdict=number % 2 == 0, note="x" * 40))
            seconds = time.perf_counter() - started
            acknowledged.write(f"{event.event} {seconds}\n".encode())
            time.sleep(pause)
    time.sleep(1)
    while sync.status.unsent or sync.status.problem:
        time.sleep(0.1)
    sync.stop()


def measure_kills(server: PostgresServer, folder: Path, options: argparse.Namespace) -> None:
    names = [f"a{number}" for number in range(options.annotators)]
    team = make_team(server, "kills", "never", names)
    pause = max(options.server_kills * 1.4, options.client_kills / 3, 1) / options.verdicts
    places = {name: folder / name for name in names}
    for place in places.values():
        place.mkdir()

    def start(name: str) -> multiprocessing.process.BaseProcess:
        link = TeamLink(team.address(name), project=team.project, annotator=name)
        process = FORK.Process(target=annotate, args=(places[name], link, options.verdicts, pause))
        process.start()
        return process

    running = {name: start(name) for name in names}
    chance, started = random.Random(1), time.monotonic()
    left = {"server": options.server_kills, "client": options.client_kills}
    stopper = threading.Thread(target=_kill_often, args=(server, left, chance))
    stopper.start()
    while running or left["server"] or left["client"]:
        time.sleep(0.2)
        for name, process in list(running.items()):
            if not process.is_alive():
                del running[name]
                if process.exitcode:
                    running[name] = start(name)
        if left["client"] and running and chance.random() < 0.8:
            os.kill(chance.choice(list(running.values())).pid or 0, signal.SIGKILL)
            left["client"] -= 1
        if not running:  # All annotators have finished.
            options.client_kills -= left["client"]
            left["client"] = 0
    stopper.join()
    _report_kills(team, places, options, time.monotonic() - started)


def _kill_often(server: PostgresServer, left: dict[str, int], chance: random.Random) -> None:
    try:
        while left["server"]:
            time.sleep(0.3 + chance.random() * 0.6)
            kill_server(server)
            left["server"] -= 1
    except BaseException:
        os.kill(os.getpid(), signal.SIGINT)
        raise


def _report_kills(
    team: Team, places: dict[str, Path], options: argparse.Namespace, took: float
) -> None:
    received: dict[str, set[bytes]] = {name: set() for name in places}
    with TeamServer.connect(team.address("lena")) as lead:
        for each in lead.pull_lines("")[1]:
            received[each.annotator].add(each.body)
    waits: list[float] = []
    lost = unwritten = total = 0
    for name, place in places.items():
        content = (find_workspace(place).reviews / f"{name}.jsonl").read_bytes()
        lines = set(content.splitlines())
        total += len(lines)
        lost += len(lines - received[name])
        for record in (place / "acknowledged").read_text().splitlines():
            event, seconds = record.split()
            waits.append(float(seconds) * 1000)
            unwritten += f'"{event}"'.encode() not in content
    waits.sort()
    p50, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
    print(
        f"{options.server_kills} kills of the server, {options.client_kills} of annotators in"
        f" {took:.0f} s:"
        f" {total:,} verdicts, {lost} not on the server, {unwritten} not in the journal"
    )
    print(f"a verdict: p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {waits[-1]:.1f} ms", flush=True)


def measure_delivery(server: PostgresServer, folder: Path, samples: int) -> None:
    """Measure the time from a verdict of one client until its line is in a file of another."""
    team = make_team(server, "delivery", "never", ["ann"])
    places = {name: folder / f"delivery-{name}" for name in ("ann", "lena")}
    workspaces: dict[str, Workspace] = {}
    syncs = []
    for name, place in places.items():
        place.mkdir()
        workspaces[name] = find_workspace(place)
        syncs.append(
            TeamSync(
                workspaces[name], TeamLink(team.address(name), project=team.project, annotator=name)
            )
        )
        syncs[-1].start()
    journal, copy = Journal(workspaces["ann"], "ann"), workspaces["lena"].team_reviews / "ann.jsonl"
    waits = []
    for number in range(samples):
        time.sleep(random.random())
        started = time.monotonic()
        event = journal.append(key(number), Annotation(verdict=True)).event.encode()
        while not (copy.exists() and event in copy.read_bytes()):
            time.sleep(0.005)
        waits.append(time.monotonic() - started)
    for each in syncs:
        each.stop()
    print(
        f"until another client has a line: median {statistics.median(waits):.2f} s, longest"
        f" {max(waits):.2f} s"
    )


def measure_pull(server: PostgresServer, folder: Path, count: int) -> None:
    team = make_team(server, "pull", "never", ["ann"])
    started = time.monotonic()
    with TeamServer.connect(team.address("ann")) as ann:
        for start in range(0, count, 1000):
            assert (
                ann.push_lines(
                    [line("ann", number) for number in range(start, min(start + 1000, count))]
                )
                == {}
            )
    pushed = time.monotonic() - started
    (folder / "pull").mkdir()
    exchange = team.exchange(find_workspace(folder / "pull"), "lena")
    started = time.monotonic()
    received = exchange.pull_lines()
    took = time.monotonic() - started
    started = time.monotonic()
    assert exchange.pull_lines() == 0
    print(
        f"{received:,} lines pulled in {took:.1f} s (sent in {pushed:.1f} s); nothing new: ", end=""
    )
    print(f"{1000 * (time.monotonic() - started):.0f} ms", flush=True)
    exchange.close()


def write(team: Team, name: str, count: int) -> None:
    chance = random.Random(name)
    with team.connect(name) as connection:
        for start in range(0, count, 10):
            lines = [line(name, number) for number in range(start, min(start + 10, count))]
            with connection.transaction():
                connection.execute(
                    "SELECT pg_current_xact_id(), pg_sleep(%s)", (chance.random() / 50,)
                )
                connection.execute("SELECT * FROM fcreview.push(%s)", (lines,))


def measure_cursor(server: PostgresServer, count: int) -> None:
    """Count the lines that the cursor misses or repeats while eight processes write."""
    names = [f"w{number}" for number in range(8)]
    team = make_team(server, "cursor", "never", names)
    writers = [threading.Thread(target=write, args=(team, name, count // 8)) for name in names]
    pulled: list[bytes] = []
    with TeamServer.connect(team.address("lena")) as lead:
        cursor, _ = lead.pull_lines("")
        for writer in writers:
            writer.start()
        is_last = False
        while not is_last:
            is_last = not any(writer.is_alive() for writer in writers)
            cursor, lines = lead.pull_lines(cursor)
            pulled += [each.body for each in lines]
    expected = {line(name, number) for name in names for number in range(count // 8)}
    missed, repeated = len(expected - set(pulled)), len(pulled) - len(set(pulled))
    print(
        f"cursor beside 8 writers: {len(expected):,} lines, {missed} missed, {repeated} repeated",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--annotators", type=int, default=8)
    parser.add_argument("--verdicts", type=int, default=500)
    parser.add_argument("--server-kills", type=int, default=60)
    parser.add_argument("--client-kills", type=int, default=200)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--cursor-lines", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=40)
    options = parser.parse_args()
    binaries = find_binaries()
    if binaries is None:
        sys.exit("PostgreSQL (initdb) is not installed")
    with (
        tempfile.TemporaryDirectory(prefix="fcreview-pg-", dir="/tmp") as place,
        tempfile.TemporaryDirectory() as work,
    ):
        server = start_server(Path(place), binaries)
        with (Path(place) / "data" / "postgresql.conf").open("a") as settings:
            settings.write("fsync = on\nautovacuum = on\n")
        server.run("pg_ctl", "-D", f"{place}/data", "-l", f"{place}/log", "-w", "restart")
        try:
            measure_cursor(server, options.cursor_lines)
            measure_pull(server, Path(work), options.lines)
            measure_delivery(server, Path(work), options.samples)
            measure_kills(server, Path(work), options)
        finally:
            server.run("pg_ctl", "-D", f"{place}/data", "-m", "immediate", "stop")


if __name__ == "__main__":
    main()
