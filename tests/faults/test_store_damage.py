"""A damaged store or a full disk is reported, and no review is lost."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.workspace import find_workspace
from tests.commands import PROGRAM, Done, run_in_this_process
from tests.examples import split_by_form
from tests.faults.processes import times

ITEM = "special_incomplete_1"
BLOCKS_START, BLOCK_BYTES = 12_288, 262_144
"""Size of the headers of a DuckDB file, and of each block after them, in bytes."""


@pytest.fixture
def cli(tmp_path: Path, environ: dict[str, str]) -> Callable[..., Done]:
    return lambda *words: run_in_this_process(words, tmp_path, environ)


def recorded_reviews(place: Path) -> list[tuple[str, bool | None]]:
    return [
        (event.key.id, event.verdict)
        for event in read_events_and_warnings(find_workspace(place, create=False))[0]
    ]


def truncate(file: Path) -> None:
    os.truncate(file, random.randrange(file.stat().st_size))


def fill_with_zeros(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def change_random_bytes(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(200):
        data[random.randrange(len(data))] = random.randrange(256)
    file.write_bytes(data)


def change_storage_version(file: Path) -> None:
    """Change the storage version, which follows the checksum and the letters DUCK."""
    data = bytearray(file.read_bytes())
    assert data[8:12] == b"DUCK"
    data[12] = 200
    file.write_bytes(data)


def remove_end(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 8 * 7)


def remove_middle(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 3] + data[len(data) // 3 * 2 :])


DAMAGE = [
    truncate,
    fill_with_zeros,
    change_random_bytes,
    change_storage_version,
    remove_middle,
    Path.unlink,
]


@pytest.mark.sweep
def test_damaged_block_is_reported_or_store_is_rebuilt(
    sample: Path, cli: Callable[..., Done]
) -> None:
    """DuckDB notices a damaged block only when it reads the block, at different places of a
    command.
    """
    assert cli("label", sample, ITEM, "--verdict", "pass", "--run", "1").code == 0
    store = sample / ".fcreview" / "store.duckdb"
    good = store.read_bytes()
    messages = []
    step = BLOCK_BYTES * times(3, 1)  # every third block, or each one in the long form
    for start in range(BLOCKS_START, len(good), step):
        store.write_bytes(good[: start + 1000] + bytes(100) + good[start + 1100 :])
        for words in (["doctor"], ["items", "--json"], ["show", ITEM, "--run", "1"]):
            done = cli(words[0], sample, *words[1:])
            assert "internal error" not in done.err, (start, words)
            messages.append(done.err)
    remove_end(store)
    messages.append(cli("items", sample, "--json").err)
    assert any(
        "the store is damaged" in message and "Delete store.duckdb" in message
        for message in messages
    )
    assert "is damaged. The new store has 2 runs" in messages[-1]
    assert recorded_reviews(sample)[0] == (ITEM, True)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "damage", split_by_form(DAMAGE, quick=DAMAGE[::2]), ids=lambda damage: damage.__name__
)
def test_damaged_store_is_reported_or_rebuilt(
    sample: Path, environ: dict[str, str], cli: Callable[..., Done], damage: Callable[[Path], Any]
) -> None:
    """Separate processes, because a damaged file may crash DuckDB."""
    assert cli("label", sample, ITEM, "--verdict", "pass", "--run", "1").code == 0
    whole = len(cli("items", sample, "--json").objects)
    store = sample / ".fcreview" / "store.duckdb"
    good = store.read_bytes()
    for _ in range(times(1, 50)):
        store.write_bytes(good)
        damage(store)
        for words in (
            ["items", "--json"],
            ["doctor"],
            ["label", ITEM, "--verdict", "pass", "--run", "1"],
        ):
            done = subprocess.run(
                [*PROGRAM, words[0], str(sample), *words[1:]],
                capture_output=True,
                text=True,
                env=environ,
                timeout=60,
            )
            assert done.returncode in (0, 1), (words, done.returncode, done.stderr[-300:])
            assert "Traceback" not in done.stderr
            assert "internal error" not in done.stderr, (words, done.stderr)
        assert recorded_reviews(sample)[0] == (ITEM, True)
    store.unlink(missing_ok=True)
    assert cli("import", sample).code == 0
    assert len(cli("items", sample, "--json").objects) == whole


@pytest.mark.sweep
def test_line_cut_by_a_full_disk_is_set_aside(
    sample: Path, environ: dict[str, str], cli: Callable[..., Done]
) -> None:
    """The file size is limited, as on a full disk. A line without its final newline counts."""
    words = [*PROGRAM, "label", str(sample), ITEM, "--run", "1"]
    assert cli("label", sample, ITEM, "--verdict", "pass", "--run", "1").code == 0
    journal = sample / ".fcreview" / "reviews" / "tester.jsonl"
    first = journal.stat().st_size
    assert cli("label", sample, ITEM, "--verdict", "fail", "--run", "1").code == 0
    line = journal.stat().st_size - first
    for room in [*random.sample(range(1, line - 2), times(2, 98)), line - 2, line - 1]:
        before, size = recorded_reviews(sample), journal.stat().st_size + room

        def limit(size: int = size) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        done = subprocess.run(
            [*words, "--verdict", "fail"],
            capture_output=True,
            text=True,
            env=environ,
            preexec_fn=limit,
            timeout=60,
        )
        if journal.read_bytes().endswith(b"}"):
            assert room == line - 1
            assert done.returncode == 0, done.stderr
            before.append((ITEM, False))
        else:
            assert (done.returncode, done.stdout) == (1, "")
            assert "not saved" in done.stderr
        assert recorded_reviews(sample) == before
        assert cli("label", sample, ITEM, "--verdict", "fail", "--run", "1").code == 0
        assert recorded_reviews(sample) == [*before, (ITEM, False)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of 12 MB. Skips the test if it cannot be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    if (
        not mount
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=12m", "none", place], check=False
        ).returncode
    ):
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.sweep
def test_full_disk_is_reported_and_nothing_is_lost(
    sample: Path, small_disk: Path, cli: Callable[..., Done]
) -> None:
    place = shutil.copytree(sample, small_disk / "runs")
    assert cli("label", place, ITEM, "--verdict", "pass", "--run", "1").code == 0
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    before = recorded_reviews(place)
    told = {
        "label": cli("label", place, ITEM, "--verdict", "fail", "--note", "n" * 9000, "--run", "1"),
        "export": cli("export", place, "-o", place / "labels.jsonl"),
        "import": cli("import", place, "--forget-data"),
    }
    for name, done in told.items():
        assert "Traceback" not in done.err
        assert "internal error" not in done.err
        assert done.code == 0 or "No space left" in done.err, name
    assert told["label"].code == told["export"].code == 1
    assert recorded_reviews(place) == before
    assert not (place / "labels.jsonl").exists()
    filler.unlink()
    assert cli("label", place, ITEM, "--verdict", "fail", "--run", "1").code == 0
    assert recorded_reviews(place) == [*before, (ITEM, False)]


def test_import_on_a_full_disk_fails_without_remains(
    samples: Path, small_disk: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    (small_disk / "filler").write_bytes(bytes(11_700_000))
    done = run_in_this_process(
        ["import", samples / "hammerbench", "--workspace", small_disk], tmp_path, environ
    )
    assert done.code == 1
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert sorted(path.name for path in (small_disk / ".fcreview").iterdir()) in (
        ["reviews", "store.lock", "tmp"],
        ["reviews", "store.lock"],
    )


@pytest.mark.sweep
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "words", [["items", "--json"], ["items"], ["export"], ["sql", "SELECT 1"]], ids=" ".join
)
def test_full_disk_of_standard_output_is_reported(
    sample: Path, environ: dict[str, str], words: list[str]
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, words[0], str(sample), *words[1:]],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environ,
            timeout=60,
        )
    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
