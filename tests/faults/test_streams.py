"""Standard streams that are closed, full or open in the wrong direction, or whose reader has ended:
the command works, the exit code is right, and no output gets into a file of the workspace.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.workspace import find_workspace
from tests.commands import PROGRAM
from tests.faults.processes import LONG

ITEM = "normal_atom_list_0"
COMMANDS = {
    "import": "import PLACE",
    "items": "items PLACE",
    "json": "items PLACE --json",
    "report": "report PLACE",
    "label": f"label PLACE {ITEM} --run 1 --verdict pass",
    "review": "review PLACE",
    "open": "open PLACE",
    "doctor": "doctor PLACE",
    "export": "export PLACE",
    "help": "--help",
    "adjudicate": "adjudicate PLACE",
    "runs": "runs PLACE",
    "show": f"show PLACE {ITEM} --run 1",
    "triage": "triage PLACE",
    "suspects": "suspects PLACE",
    "agreement": "agreement PLACE",
    "calibrate": "calibrate PLACE",
    "estimate": "estimate PLACE",
    "audit": f"audit PLACE {ITEM} --run 1",
    "compare": "compare PLACE",
    "sql": "sql PLACE FROM\\ items",
    "queue": "queue list PLACE",
    "rules": "rules list PLACE",
    "schema": "schema",
    "version": "--version",
}
CLOSED = [">&-", "2>&-", "<&-", "<&- 2>&-", "<&- >&- 2>&-"]
"""The output is discarded, as with /dev/null."""
WITHOUT_STDERR = ["2>/dev/full", "2</dev/null", "2> >(exec true)"]
"""Only messages are lost."""
SHORT = ["label", "report", "open"]


def run_shell(
    words: str, how: str, place: Path, environ: dict[str, str]
) -> subprocess.CompletedProcess[bytes]:
    line = f'set -o pipefail; "$0" -m fcreview.cli {words.replace("PLACE", str(place))} {how}'
    command = ["bash", "-c", line, PROGRAM[0]]
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environ,
        timeout=120,
        check=False,
    )


@pytest.mark.sweep
@pytest.mark.parametrize(
    "how", [*CLOSED, *WITHOUT_STDERR] if LONG else [CLOSED[0], WITHOUT_STDERR[0]]
)
def test_command_works_without_streams(sample: Path, environ: dict[str, str], how: str) -> None:
    for name in COMMANDS if LONG else SHORT:
        done = run_shell(COMMANDS[name], how, sample, environ)
        output = done.stderr + done.stdout
        assert done.returncode == 0, (name, output)
        for word in (b"Traceback", b"internal error", b"Exception ignored"):
            assert word not in output, (name, output)
    events, warnings = read_events_and_warnings(find_workspace(sample, create=False))
    assert ([event.verdict for event in events], warnings) == ([True], [])


@pytest.mark.sweep
@pytest.mark.parametrize("name", COMMANDS if LONG else SHORT)
def test_failed_output_is_reported(sample: Path, environ: dict[str, str], name: str) -> None:
    done = run_shell(COMMANDS[name], "1</dev/null", sample, environ)
    # these may print nothing
    if done.returncode or name not in (
        "adjudicate",
        "audit",
        "queue",
        "rules",
    ):
        assert done.returncode == 1
        assert b"Bad file descriptor" in done.stderr
    assert b"Traceback" not in done.stderr
