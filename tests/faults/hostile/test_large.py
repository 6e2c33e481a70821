"""One field of one record is very large or deeply nested: commands stay within limits of time and
memory, and the item screen responds to keys."""

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
from tests.faults.hostile.large import large_texts, replace_each_once, replace_once
from tests.faults.processes import LONG, times
from tests.faults.pty_program import TerminalApp

COUNT = 600_000 if LONG else 100_000
"""Number of values. A line with more than a million values is not imported."""
MEMORY = (5 if LONG else 3) << 30
"""Limit of the address space of one command, in bytes."""
SECONDS = 300 if LONG else 60
"""Limit of the processor time of one command."""
EARLIER_SLOW = [
    ("generic", ("helpdesk.jsonl", "golden", "arguments"), "arguments"),
    ("bfcl", ("BFCL_v4_simple_python_result.json", "result"), "calls in text"),
]
"""Cases that took more than a minute in earlier versions, because of quadratic comparisons."""
TRIED = EARLIER_SLOW if LONG else EARLIER_SLOW[1:]
LARGEST = (
    "SELECT run, id FROM items LEFT JOIN (SELECT item, sum(length(arguments)) AS size FROM calls"
    " GROUP BY item)"
    " USING (item) ORDER BY size DESC NULLS LAST LIMIT 1"
)
SHOWN: list[list[str]] = [[], ["--full"], ["--json"], ["--html", "OUT/item.html", "--force"]]
COMMANDS = [
    ["items", "--json"],
    ["items"],
    ["triage"],
    ["report"],
    ["export", "--with", "content"],
    ["export", "--format", "csv", "-o", os.devnull],
    ["suspects"],
    ["items", "--where", "text:word", "--json"],
    ["doctor"],
]


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))


def run_with_limits(place: Path, environ: dict[str, str], *words: str) -> Done:
    """Run the command in a separate process with limits of memory and processor time."""
    done = subprocess.run(
        [*PROGRAM, words[0], str(place), *words[1:]],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environ,
        preexec_fn=_limited,
        timeout=20 * SECONDS,
    )
    return Done(
        done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def cases(benchmark: str) -> Iterator[tuple[int, dict[tuple[str, ...], str]]]:
    """Yield (number of values, large text by field): one very large field, or several smaller
    ones together.
    """
    fields = hostile_data.list_fields(hostile_data.ROOT / "sample_runs" / benchmark)
    for name, field, form in EARLIER_SLOW:
        if name == benchmark:
            yield COUNT, {field: form}
    yield COUNT, {random.choice(fields): random.choice(sorted(large_texts(0)))}
    for _ in range(times(0, 3)):
        yield (
            20_000,
            dict(zip(random.sample(fields, len(fields)), sorted(large_texts(0)), strict=False)),
        )


@pytest.mark.fuzz
@pytest.mark.sweep
@pytest.mark.parametrize("benchmark", BENCHMARKS if LONG else BENCHMARKS[3:5])
def test_commands_stay_within_limits(
    tmp_path: Path, environ: dict[str, str], benchmark: str
) -> None:
    for count, large in cases(benchmark):
        print(f"{benchmark}: {count} values, {large}", flush=True)
        texts = large_texts(count)
        change = replace_each_once({field: texts[form] for field, form in large.items()})
        place = hostile_data.make_run(benchmark, tmp_path / "runs", change)

        def run(*words: str, place: Path = place) -> Done:
            done = run_with_limits(place, environ, *words)
            check(list(words), done)
            return done

        run("import")
        for words in COMMANDS:
            run(*words)
        for row in run_in_this_process(
            ["sql", place, LARGEST, "--json"], tmp_path, environ
        ).objects:
            for more in SHOWN if len(large) == 1 else SHOWN[:1]:
                more = [word.replace("OUT", str(tmp_path)) for word in more]
                run("show", row["id"], "--run", str(row["run"]), *more)


@pytest.mark.fuzz
@pytest.mark.sweep
@pytest.mark.parametrize(("benchmark", "field", "form"), TRIED, ids=[each[0] for each in TRIED])
def test_item_screen_responds(
    tmp_path: Path, environ: dict[str, str], benchmark: str, field: tuple[str, ...], form: str
) -> None:
    """Each key needs less than ten seconds of processor time. Opening the item may take longer."""
    place = hostile_data.make_run(
        benchmark, tmp_path / "runs", replace_once(field, large_texts(100_000)[form])
    )
    (row,) = run_in_this_process(["sql", place, LARGEST, "--json"], tmp_path, environ).objects
    words = ["open", place, "--queue", "dataset", "--item", row["id"], "--run", str(row["run"])]
    with TerminalApp(words, environ) as app:
        app.until("verdict on", 120)
        for key in ("j", ".", "\x1b[6~", "a", "\x1b[F", "\x1b[H", "d", "/", "no such thing\r"):
            start = processor_seconds(app.pid)
            app.type(key)
            wait_until_idle(app)
            assert processor_seconds(app.pid) - start < 10, key
        app.until("no match for")
        app.give_verdict("p", "saved: pass")
        app.type("\x11")
        assert app.wait() == 0
        assert b"Traceback" not in app.bytes


def wait_until_idle(app: TerminalApp) -> None:
    """Wait until the app has used no processor time for a second."""
    before = -1.0
    while (now := processor_seconds(app.pid)) > before:
        before = now
        end = time.monotonic() + 1
        while time.monotonic() < end:
            app.read(0.1)


def processor_seconds(process: int) -> float:
    """Return the processor time of the process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
