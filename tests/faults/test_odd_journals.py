"""What is no journal in the place of one: nobody waits for it, the others count, nothing is said to be saved there."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import PROGRAM, Done, run_in_this_process
from tests.faults.processes import LONG

ITEM = "special_incomplete_1"


def a_device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def nothing_kept(place: Path) -> None:
    place.symlink_to("/dev/null")


def a_pipe(place: Path) -> None:
    os.mkfifo(place)


def a_link_to_a_pipe(place: Path) -> None:
    os.mkfifo(place.with_suffix(".pipe"))
    place.symlink_to(place.with_suffix(".pipe").name)


def a_link_to_itself(place: Path) -> None:
    place.symlink_to(place.name)


def a_folder(place: Path) -> None:
    place.mkdir()


def memory(place: Path) -> None:
    place.symlink_to("/proc/self/mem")


def noise(place: Path) -> None:
    place.write_bytes(os.urandom(300_000))


def a_hole(place: Path) -> None:
    """It says that it has a thousand gigabytes, and takes no room."""
    place.write_bytes(b"{")
    os.truncate(place, 1 << 40)


KINDS = [a_device, nothing_kept, a_pipe, a_link_to_a_pipe, a_link_to_itself, a_folder, memory, noise, a_hole]
COMMANDS = [
    ["items", "--json"], ["doctor"], ["report"], ["agreement"], ["audit", ITEM, "--run", "1"],
    ["label", ITEM, "--run", "1", "--verdict", "fail"],
]  # fmt: skip


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS if LONG else [a_device, a_pipe], ids=lambda kind: kind.__name__)
def test_what_is_no_journal_is_told_and_the_others_count(
    sample: Path, environ: dict[str, str], kind: Callable[[Path], None]
) -> None:
    def run(*words: str) -> Done:
        command = [*PROGRAM, words[0], str(sample), *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, env=environ, preexec_fn=_limited, timeout=60)
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    label = ["label", sample, ITEM, "--verdict", "pass", "--run", "1"]
    assert run_in_this_process(label, sample, environ).code == 0
    kind(sample / ".fcreview" / "reviews" / "odd.jsonl")
    for words in COMMANDS:
        done = run(*words)
        assert done.code == (words[0] == "doctor"), (words, done)
        assert "odd.jsonl" in done.out + done.err, (words, done)
    said = {(row["id"], row["run"]): row["human"] for row in run("items", "--json").objects}
    assert said[ITEM, 1] is False
    refused = run("label", ITEM, "--run", "1", "--verdict", "pass", "--annotator", "odd")
    if kind is noise:
        assert refused.code == 0
    else:
        assert (refused.code, refused.out) == (1, "")
        assert "not saved" in refused.err
