"""Several annotators review one run at the same time, two with the same name.

Some are killed and start again.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fcreview.store.reviews.journal_reader import check_journals, read_events_and_warnings
from fcreview.store.workspace import find_workspace
from tests.commands import PROGRAM, run_in_this_process
from tests.faults.processes import LONG, times

ROOT = Path(__file__).resolve().parents[2]
NAMES = [*(f"annotator{number}" for number in range(8)), "annotator7"]


@pytest.mark.sweep
def test_simultaneous_annotators_lose_nothing(sample: Path, environ: dict[str, str]) -> None:
    """Four processes in the short form, nine in the long form."""
    seconds, names = times(1, 60), NAMES[-times(4, 9) :]
    printed: list[list[str]] = [[] for _ in names]
    kills = [0] * len(names)
    threads = [
        threading.Thread(
            target=_label, args=(sample, name, seconds, environ, printed[at], kills, at)
        )
        for at, name in enumerate(names)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    workspace = find_workspace(sample, create=False)
    events, warnings = read_events_and_warnings(workspace)
    here = {event.event for event in events}
    gone = {event.retracts for event in events if event.retracts}
    parts = [line.split() for each in printed for line in each]
    saved = {name for what, name in parts if what == "saved"}
    undone = {name for what, name in parts if what == "undone"}
    print(f"{len(saved)} saved, {len(undone)} undone, {sum(kills)} kills")
    assert all(any(line.startswith("saved") for line in each) for each in printed)
    assert saved <= here
    assert undone <= gone
    assert [text for text in warnings if "is incomplete" not in text] == []
    assert {report.annotator for report in check_journals(workspace)} == set(names)


def _label(
    sample: Path,
    name: str,
    seconds: int,
    environ: dict[str, str],
    printed: list[str],
    kills: list[int],
    at: int,
) -> None:
    """Record reviews for `seconds`. In the long form, kill the process at random times."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        command = [sys.executable, "-m", "tests.faults.annotator", str(sample), name, str(left)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, env=environ, cwd=ROOT, text=True
        ) as program:
            assert program.stdout is not None
            killer = threading.Timer(random.uniform(1, 6), program.kill)
            for line in program.stdout:
                if line.endswith("\n"):
                    printed.append(line)
                if at % 2 and LONG and killer.ident is None:
                    killer.start()
            killer.cancel()
        kills[at] += program.returncode == -9


@pytest.mark.sweep
def test_simultaneous_imports_make_one_store(sample: Path, environ: dict[str, str]) -> None:
    """Four processes import the same changed files while another one records a review."""
    before = run_in_this_process(["items", sample, "--json"], sample, environ).objects
    for _ in range(times(1, 20)):
        for file in (sample / "result_all").rglob("*.json"):
            file.touch()
        label = [
            "label",
            str(sample),
            before[0]["id"],
            "--run",
            str(before[0]["run"]),
            "--verdict",
            "pass",
        ]
        words = [["import", str(sample), "--forget-data"]] * times(3, 4) + [label]
        started = [
            subprocess.Popen([*PROGRAM, *each], stderr=subprocess.PIPE, env=environ)
            for each in words
        ]
        errors = [each.communicate(timeout=120)[1].decode() for each in started]
        assert [each.returncode for each in started] == [0] * len(started), errors
        now = run_in_this_process(["items", sample, "--json"], sample, environ).objects
        assert [row["id"] for row in now] == [row["id"] for row in before]
        assert now[0]["you"] is True
    assert [path.name for path in (sample / ".fcreview").glob("*.tmp*")] == []
