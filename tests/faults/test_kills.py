"""`kill -9` at random moments: confirmed reviews are on disk, and earlier files are complete."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pyte
import pytest

from fcreview.store.reviews.journal_reader import check_journals, read_events_and_warnings
from fcreview.store.workspace import find_workspace
from tests.commands import PROGRAM, run_in_this_process
from tests.faults.processes import times
from tests.faults.pty_program import TerminalApp, screen_text

SAVED = re.compile(r"saved: (pass|fail)[^·]* · (?!queue complete)(\S+)")
FRAME = re.compile(rb".*?\x1b\[0m\x1b\[\d+;\d+H", re.DOTALL)
"""Output up to the end of a complete frame."""


def events(place: Path) -> list[tuple[str, bool | None]]:
    """Return the (id, verdict) of all reviews in order.

    Fails for any damage other than an incomplete last line.
    """
    workspace = find_workspace(place, create=False)
    found, warnings = read_events_and_warnings(workspace)
    assert all("is incomplete" in text for text in warnings), warnings
    assert all(
        not report.warnings or "is incomplete" in report.warnings[0]
        for report in check_journals(workspace)
    )
    return [(event.key.id, event.verdict) for event in found]


def confirmed(written: bytes) -> list[tuple[str, bool]]:
    """Return the reviews that a complete frame confirmed as saved, each once."""
    screen = pyte.Screen(80, 24)
    stream = pyte.ByteStream(screen)
    found: list[tuple[str, bool]] = []
    for frame in FRAME.findall(written):
        stream.feed(frame)
        found += [(name, word == "pass") for word, name in SAVED.findall(screen_text(screen))]
    return [each for at, each in enumerate(found) if at == 0 or found[at - 1] != each]


@pytest.mark.sweep
def test_confirmed_reviews_of_the_app_are_on_disk(sample: Path, environ: dict[str, str]) -> None:
    seen = 0
    for _ in range(times(3, 200)):
        shutil.rmtree(sample / ".fcreview" / "reviews", ignore_errors=True)
        with TerminalApp(["open", sample, "--queue", "dataset"], environ) as app:
            app.until("▌")
            app.type("\r")
            app.until("verdict on")
            end = time.monotonic() + random.uniform(0.05, 1)
            while time.monotonic() < end:
                app.type(random.choice("pf"))
                pause = time.monotonic() + random.uniform(0, 0.08)
                while time.monotonic() < min(pause, end):
                    app.read(0.005)
            app.signal(signal.SIGKILL)
            assert app.wait() == -signal.SIGKILL
            shown = confirmed(app.bytes)
        kept = events(sample)
        assert not [each for each in shown if each not in kept], (shown, kept)
        seen += len(shown)
    assert seen > 0
    print(f"{seen} verdicts confirmed")


@pytest.mark.sweep
def test_confirmed_reviews_of_a_command_are_on_disk(sample: Path, environ: dict[str, str]) -> None:
    ids = ["normal_single_turn_single_function_2", "normal_atom_list_0", "special_incomplete_1"]
    told = usual = 0.0
    for number in range(times(4, 200)):
        name, verdict = random.choice(ids), random.choice(["pass", "fail"])
        before = len(events(sample))
        words = [
            "label",
            str(sample),
            name,
            "--verdict",
            verdict,
            "--note",
            f"round {number}",
            "--run",
            "1",
        ]
        start = time.monotonic()
        program = subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, env=environ)
        if number:
            time.sleep(random.uniform(0.5, 1.3) * usual)
            program.kill()
        out, _ = program.communicate(timeout=120)
        usual = usual or time.monotonic() - start
        after = events(sample)
        assert before <= len(after) <= before + 1
        if program.returncode == 0 or out:
            assert after[-1] == (name, verdict == "pass")
            told += 1
    assert told > 0
    print(f"{told} commands had confirmed")


@pytest.mark.sweep
def test_killed_import_leaves_a_usable_store(
    samples: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    """The store is the old one or the new one, and the next import is complete."""
    place = tmp_path / "runs"
    shutil.copytree(samples / "acebench", place)
    assert run_in_this_process(["import", place], tmp_path, environ).code == 0
    label = ["label", place, "agent_multi_step_0", "--verdict", "pass", "--run", "1"]
    assert run_in_this_process(label, place, environ).code == 0
    whole = len(run_in_this_process(["items", place, "--json"], place, environ).objects)
    files = [file for file in (place / "result_all").rglob("*.json") if file.stat().st_size]
    killed = rounds = 0
    words = ["import", str(place), "--forget-data"]
    usual = time_of(words, environ)
    while killed < times(3, 200):
        for file in files:
            file.touch()
        was_killed = kill_at_random(words, environ, usual)
        killed += was_killed
        rounds += 1
        if not was_killed:
            usual *= 0.9  # the machine was slower when the time was measured
        said = events(place)
        assert said == [("agent_multi_step_0", True)]
        assert rounds < 20 * times(3, 200)
    print(f"{killed} imports killed at work in {rounds} rounds")
    done = run_in_this_process(["items", place, "--json"], place, environ)
    assert len(done.objects) == whole
    assert [path.name for path in (place / ".fcreview").glob("*.tmp*")] == []


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_killed_export_leaves_the_old_or_the_new_file(
    sample: Path, tmp_path: Path, environ: dict[str, str], kind: str
) -> None:
    out = tmp_path / "out" / "labels"
    out.parent.mkdir()
    words = ["export", sample, "--format", kind, "--force", "-o", out]
    assert run_in_this_process(words, tmp_path, environ).code == 0
    whole = out.read_bytes()
    killed = rounds = new = 0
    usual = time_of([*map(str, words)], environ)
    while killed < times(1, 70):
        out.write_bytes(b"old")
        was_killed = kill_at_random([*map(str, words)], environ, usual)
        killed += was_killed
        rounds += 1
        if not was_killed:
            usual *= 0.9  # the machine was slower when the time was measured
        assert out.read_bytes() in (b"old", whole)
        new += out.read_bytes() == whole
        assert rounds < 20 * times(1, 70)
    assert run_in_this_process(words, tmp_path, environ).code == 0
    assert [path.name for path in out.parent.iterdir()] == ["labels"], "temporary files are deleted"
    print(f"{kind}: {killed} exports killed in {rounds} rounds, {new} with the new file")


def time_of(words: list[str], environ: dict[str, str]) -> float:
    """Return the seconds that the command takes if it is not killed."""
    start = time.monotonic()
    subprocess.run(
        [*PROGRAM, *words], stdout=subprocess.DEVNULL, env=environ, timeout=120, check=True
    )
    return time.monotonic() - start


def kill_at_random(words: list[str], environ: dict[str, str], usual: float) -> bool:
    """Kill the command at a random moment of its second half, where it writes.

    Returns False if it had ended.
    """
    program = subprocess.Popen([*PROGRAM, *words], stdout=subprocess.DEVNULL, env=environ)
    time.sleep(random.uniform(0.4, 1.1) * (usual or 1.0))
    program.kill()
    return program.wait(30) == -signal.SIGKILL


def test_confirmed_finds_messages_of_complete_frames() -> None:
    end = b"\x1b[0m\x1b[1;1H"
    first = b"\x1b[1;1H\x1b[1m saved: pass \xc2\xb7 a_1   " + end
    assert confirmed(first) == [("a_1", True)]
    assert confirmed(first + b"\x1b[1;9Hfail, model \xc2\xb7 b_2" + end) == [
        ("a_1", True),
        ("b_2", False),
    ]
    assert confirmed(first + b"\x1b[1;9Hfail") == [("a_1", True)]
