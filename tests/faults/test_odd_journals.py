"""A device, pipe, folder or random bytes in place of a journal: commands do not hang, and other
journals count.
"""

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


def device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def null_device(place: Path) -> None:
    place.symlink_to("/dev/null")


def pipe(place: Path) -> None:
    os.mkfifo(place)


def link_to_pipe(place: Path) -> None:
    os.mkfifo(place.with_suffix(".pipe"))
    place.symlink_to(place.with_suffix(".pipe").name)


def link_to_itself(place: Path) -> None:
    place.symlink_to(place.name)


def folder(place: Path) -> None:
    place.mkdir()


def process_memory(place: Path) -> None:
    place.symlink_to("/proc/self/mem")


def random_bytes(place: Path) -> None:
    place.write_bytes(os.urandom(300_000))


def sparse_file(place: Path) -> None:
    """A sparse file of one terabyte."""
    place.write_bytes(b"{")
    os.truncate(place, 1 << 40)


KINDS = [
    device,
    null_device,
    pipe,
    link_to_pipe,
    link_to_itself,
    folder,
    process_memory,
    random_bytes,
    sparse_file,
]
COMMANDS = [
    ["items", "--json"],
    ["doctor"],
    ["report"],
    ["agreement"],
    ["audit", ITEM, "--run", "1"],
    ["label", ITEM, "--run", "1", "--verdict", "fail"],
]


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS if LONG else [device, pipe], ids=lambda kind: kind.__name__)
def test_odd_journal_is_reported_and_others_count(
    sample: Path, environ: dict[str, str], kind: Callable[[Path], None]
) -> None:
    def run(*words: str) -> Done:
        command = [*PROGRAM, words[0], str(sample), *words[1:]]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environ, preexec_fn=_limited, timeout=60
        )
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
    verdicts = {(row["id"], row["run"]): row["human"] for row in run("items", "--json").objects}
    assert verdicts[ITEM, 1] is False
    refused = run("label", ITEM, "--run", "1", "--verdict", "pass", "--annotator", "odd")
    if kind is random_bytes:
        assert refused.code == 0
    else:
        assert (refused.code, refused.out) == (1, "")
        assert "not saved" in refused.err
