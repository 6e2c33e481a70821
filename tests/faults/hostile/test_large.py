"""One field of one record is very large, or nested a hundred thousand levels deep: every command ends in bounded time
and memory, and the item's screen answers its keys."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import PROGRAM, Done, run_in_this_process
from tests.faults.hostile import data as hostile_data
from tests.faults.hostile.data import BENCHMARKS
from tests.faults.hostile.exercise import check
from tests.faults.hostile.large import each_once, forms, once
from tests.faults.processes import LONG, times
from tests.faults.pty_program import TerminalApp

COUNT = 600_000 if LONG else 100_000
"""Values: more than a million in a line are not read."""
MEMORY = (5 if LONG else 3) << 30
"""Bytes of address space for one command."""
SECONDS = 300 if LONG else 60
"""Of the processor, for one command."""
ONCE_SLOW = [
    ("generic", ("helpdesk.jsonl", "golden", "arguments"), "arguments"),
    ("bfcl", ("BFCL_v4_simple_python_result.json", "result"), "calls in text"),
]
"""What took a minute and more: each argument looked at all others, each call at all before it."""
TRIED = ONCE_SLOW if LONG else ONCE_SLOW[1:]
LARGEST = (
    "SELECT run, id FROM items LEFT JOIN (SELECT item, sum(length(arguments)) AS size FROM calls GROUP BY item)"
    " USING (item) ORDER BY size DESC NULLS LAST LIMIT 1"
)
SHOWN: list[list[str]] = [[], ["--full"], ["--json"], ["--html", "OUT/item.html", "--force"]]
COMMANDS = [
    ["items", "--json"], ["items"], ["triage"], ["report"], ["export", "--with", "content"],
    ["export", "--format", "csv", "-o", os.devnull], ["suspects"], ["items", "--where", "text:word", "--json"],
    ["doctor"],
]  # fmt: skip


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))


def bounded(place: Path, environ: dict[str, str], *words: str) -> Done:
    """The command in a process of its own, which the system ends if it takes too much."""
    done = subprocess.run(
        [*PROGRAM, words[0], str(place), *words[1:]],
        capture_output=True, stdin=subprocess.DEVNULL, env=environ, preexec_fn=_limited, timeout=20 * SECONDS,
    )  # fmt: skip
    return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def cases(benchmark: str) -> Iterator[tuple[int, dict[tuple[str, ...], str]]]:
    """How many values, and which form is in which field: one of the largest at a time, smaller ones together."""
    fields = hostile_data.fields(hostile_data.ROOT / "sample_runs" / benchmark)
    for name, field, form in ONCE_SLOW:
        if name == benchmark:
            yield COUNT, {field: form}
    yield COUNT, {random.choice(fields): random.choice(sorted(forms(0)))}
    for _ in range(times(0, 3)):
        yield 20_000, dict(zip(random.sample(fields, len(fields)), sorted(forms(0)), strict=False))


@pytest.mark.hunt
@pytest.mark.sweep
@pytest.mark.parametrize("benchmark", BENCHMARKS if LONG else BENCHMARKS[3:5])
def test_every_command_ends_in_bounds(tmp_path: Path, environ: dict[str, str], benchmark: str) -> None:
    for count, large in cases(benchmark):
        print(f"{benchmark}: {count} values, {large}", flush=True)
        made = forms(count)
        change = each_once({field: made[form] for field, form in large.items()})
        place = hostile_data.made(benchmark, tmp_path / "runs", change)

        def run(*words: str, place: Path = place) -> Done:
            done = bounded(place, environ, *words)
            check(list(words), done)
            return done

        run("import")
        for words in COMMANDS:
            run(*words)
        for row in run_in_this_process(["sql", place, LARGEST, "--json"], tmp_path, environ).objects:
            for more in SHOWN if len(large) == 1 else SHOWN[:1]:
                more = [word.replace("OUT", str(tmp_path)) for word in more]
                run("show", row["id"], "--run", str(row["run"]), *more)


@pytest.mark.hunt
@pytest.mark.sweep
@pytest.mark.parametrize(("benchmark", "field", "form"), TRIED, ids=[each[0] for each in TRIED])
def test_its_screen_answers(
    tmp_path: Path, environ: dict[str, str], benchmark: str, field: tuple[str, ...], form: str
) -> None:
    """Each key within ten seconds of the processor's time; opening it takes longer the larger it is."""
    place = hostile_data.made(benchmark, tmp_path / "runs", once(field, forms(100_000)[form]))
    (row,) = run_in_this_process(["sql", place, LARGEST, "--json"], tmp_path, environ).objects
    words = ["open", place, "--queue", "dataset", "--item", row["id"], "--run", str(row["run"])]
    with TerminalApp(words, environ) as app:
        app.until("verdict on", 120)
        for key in ("j", ".", "\x1b[6~", "a", "\x1b[F", "\x1b[H", "d", "/", "no such thing\r", "s"):
            begun = used(app.pid)
            app.type(key)
            rests(app)
            assert used(app.pid) - begun < 10, key
        app.until("no match for")
        app.type("p")
        app.until("saved: pass")
        app.type("\x11")
        assert app.wait() == 0
        assert b"Traceback" not in app.bytes


def rests(app: TerminalApp) -> None:
    """Until it has done nothing for a while."""
    before = -1.0
    while (now := used(app.pid)) > before:
        before = now
        end = time.monotonic() + 1
        while time.monotonic() < end:
            app.read(0.1)


def used(process: int) -> float:
    """Seconds of the processor."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
