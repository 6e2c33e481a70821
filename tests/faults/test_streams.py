"""Standard streams that are closed, full, turned round, or whose reader is gone: the command does its work, says so in
its exit code, and nothing that is printed gets into a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fcreview.store.reviews.journal_reader import read_journals
from fcreview.store.workspace import find_workspace
from tests.commands import PROGRAM
from tests.faults.processes import LONG

ITEM = "normal_atom_list_0"
COMMANDS = {
    "import": "import PLACE", "items": "items PLACE", "json": "items PLACE --json", "report": "report PLACE",
    "label": f"label PLACE {ITEM} --run 1 --verdict pass", "review": "review PLACE", "open": "open PLACE",
    "doctor": "doctor PLACE", "export": "export PLACE", "help": "--help",
    "adjudicate": "adjudicate PLACE", "runs": "runs PLACE", "show": f"show PLACE {ITEM} --run 1",
    "triage": "triage PLACE", "suspects": "suspects PLACE", "agreement": "agreement PLACE",
    "calibrate": "calibrate PLACE", "estimate": "estimate PLACE", "audit": f"audit PLACE {ITEM} --run 1",
    "compare": "compare PLACE", "sql": "sql PLACE FROM\\ items", "queue": "queue list PLACE",
    "rules": "rules list PLACE", "schema": "schema", "version": "--version",
}  # fmt: skip
CLOSED = [">&-", "2>&-", "<&-", "<&- 2>&-", "<&- >&- 2>&-"]
"""All that they print is nowhere, as it is with /dev/null."""
UNHEARD = ["2>/dev/full", "2</dev/null", "2> >(exec true)"]
"""Only remarks are lost."""
SHORT = ["label", "report", "open"]


def started(words: str, how: str, place: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    line = f'set -o pipefail; "$0" -m fcreview.cli {words.replace("PLACE", str(place))} {how}'
    command = ["bash", "-c", line, PROGRAM[0]]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environ, timeout=120, check=False)


@pytest.mark.sweep
@pytest.mark.parametrize("how", [*CLOSED, *UNHEARD] if LONG else [*CLOSED[::2], UNHEARD[0]])
def test_a_command_does_its_work(sample: Path, environ: dict[str, str], how: str) -> None:
    for name in COMMANDS if LONG else SHORT:
        done = started(COMMANDS[name], how, sample, environ)
        told = done.stderr + done.stdout
        assert done.returncode == 0, (name, told)
        for word in (b"Traceback", b"internal error", b"Exception ignored"):
            assert word not in told, (name, told)
    events, warnings = read_journals(find_workspace(sample, create=False))
    assert ([event.verdict for event in events], warnings) == ([True], [])


@pytest.mark.sweep
@pytest.mark.parametrize("name", COMMANDS if LONG else SHORT)
def test_output_that_cannot_be_written_is_told(sample: Path, environ: dict[str, str], name: str) -> None:
    done = started(COMMANDS[name], "1</dev/null", sample, environ)
    if done.returncode or name not in ("adjudicate", "audit", "queue", "rules"):  # these may have nothing to print
        assert done.returncode == 1
        assert b"Bad file descriptor" in done.stderr
    assert b"Traceback" not in done.stderr
