"""`fcreview merge` lists new reviews of other annotators and asks; the user's own journal needs
`--mine`.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fcreview.store.reviews.journal import hash_event
from fcreview.store.reviews.journal_reader import check_journals
from fcreview.store.workspace import Workspace
from tests.commands import PROGRAM, Done

pytestmark = pytest.mark.slow

Cli = Callable[..., Done]


def label_item(cli: Cli, run: Path, annotator: str, number: int, verdict: str, *more: str) -> None:
    done = cli(
        "label",
        run,
        f"simple_python_{number}",
        "--verdict",
        verdict,
        "--annotator",
        annotator,
        *more,
    )
    assert done.code == 0, done.err


def read_files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / ".fcreview").rglob("*.json*")}


def journal_warnings(run: Path) -> list[str]:
    return [
        text for report in check_journals(Workspace(run / ".fcreview")) for text in report.warnings
    ]


@pytest.fixture(scope="module")
def reviewed_copies(
    module_cli: Cli, imported_templates: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    place, cli = tmp_path_factory.mktemp("copies"), module_cli
    run = shutil.copytree(imported_templates / "one", place / "runs")
    label_item(cli, run, "tester", 0, "pass")
    other = shutil.copytree(run, place / "other")
    label_item(cli, other, "alice", 1, "pass")
    label_item(cli, other, "alice", 2, "fail")
    assert cli("label", other, "--undo", "--annotator", "alice").code == 0
    label_item(cli, other, "lead", 1, "fail", "--adjudicate")
    label_item(cli, other, "tester", 0, "fail")
    return place


@pytest.fixture
def copies(reviewed_copies: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two copies.

    The other one has new events of alice, of an adjudicator and of the user, whose name is tester.
    """
    shutil.copytree(reviewed_copies, tmp_path, dirs_exist_ok=True)
    return tmp_path / "runs", tmp_path / "other"


LISTED = """\
New reviews of other annotators:
  annotator  reviews  retractions  adjudications
  alice            2            1              0
  lead             0            0              1
"""


def test_merge_without_terminal_needs_yes_option(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    assert (
        cli(
            "queue", "create", other, "--name", "pilot", "--size", "2", "--annotators", "alice"
        ).code
        == 0
    )
    before = read_files(here)
    for arguments in ([], ["--json"], ["--mine"]):
        done = cli("merge", here, other, *arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err == LISTED + (
            "fcreview: nothing was merged, because there is no terminal for the confirmation. "
            "Pass --yes to merge the reviews of other annotators\n"
        )
        assert read_files(here) == before
    done = cli("merge", here, other, "--yes")
    assert (done.code, done.out) == (
        0,
        "alice: 3 new events, 0 already in this workspace\n"
        "lead: 1 new event (1 adjudication), 0 already in this workspace\n"
        "tester: 0 new events, 1 already in this workspace\nqueue pilot: imported as pilot\n",
    )


def test_own_journal_is_merged_only_with_mine(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    before = read_files(here)
    done = cli("merge", here, other, "--yes", "--json")
    (own,) = [each for each in done.objects if each["annotator"] == "tester"]
    assert (own["new"], own["known"], own["withheld"]) == (0, 1, 1)
    assert read_files(here)["tester.jsonl"] == before["tester.jsonl"]
    done = cli("merge", here, other)
    assert done.code == 0 and done.err == (
        "fcreview: tester: 1 new event not merged, because these are your own reviews. Pass --mine"
        " to merge them\n"
    )
    done = cli("merge", here, other, "--mine")
    assert (done.code, done.err) == (0, "")
    assert "tester: 1 new event, 1 already in this workspace\n" in done.out
    assert read_files(here)["tester.jsonl"] == read_files(other)["tester.jsonl"]


def read_to_end(controller: int) -> bytes:
    """Read what was printed to a terminal that no process has open any more. On a busy machine, one
    read returns only a part.
    """
    shown = b""
    with suppress(OSError):  # the end, on Linux
        while chunk := os.read(controller, 10_000):
            shown += chunk
    return shown


@pytest.mark.parametrize(
    ("answer", "merged"), [(b"y\n", True), (b"\n", False), (b"n\n", False), (b"\x04", False)]
)
def test_merge_asks_on_terminal(
    copies: tuple[Path, Path], environ: dict[str, str], tmp_path: Path, answer: bytes, merged: bool
) -> None:
    here, other = copies
    before = read_files(here)
    controller, terminal = pty.openpty()
    try:
        os.write(controller, answer)
        done = subprocess.run(
            [*PROGRAM, "merge", str(here), str(other)],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            env=environ,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
        os.close(terminal)
        shown = read_to_end(controller).decode().replace("\r\n", "\n")
    finally:
        os.close(controller)
    assert LISTED + "Merge these reviews? [y/N]:" in shown
    assert "Traceback" not in shown
    assert (done.returncode == 0) == merged
    assert (read_files(here) == before) != merged


def test_lines_in_journal_of_other_annotator_are_refused(
    cli: Cli, copies: tuple[Path, Path]
) -> None:
    here, other = copies
    assert cli("merge", here, other, "--yes").code == 0
    journal = other / ".fcreview" / "reviews" / "alice.jsonl"
    content = json.loads(journal.read_bytes().splitlines()[0])
    forged = {
        **content,
        "event": "f" * 32,
        "act": "retract",
        "retracts": content["event"],
        "previous": "",
    }
    forged["hash"] = hash_event(forged)
    journal.with_stem("mallory").write_text(json.dumps(forged) + "\n")
    done = cli("merge", here, other, "--yes")
    assert done.code == 0
    assert "mallory: 0 new events, 0 already in this workspace" in done.out
    assert (
        "fcreview: mallory.jsonl line 1: fcreview does not copy 1 event by 'alice', because only"
        " events by 'mallory'"
        " count in this file\n" in done.err
    )
    assert not (here / ".fcreview" / "reviews" / "mallory.jsonl").exists()


def test_copies_with_same_imported_labels_merge(
    cli: Cli, imported_run: Path, tmp_path: Path
) -> None:
    """The same events follow different events in the two copies, and each copy has a later
    event.
    """
    file, other = tmp_path / "labels.jsonl", tmp_path / "other"
    lines = [
        {"id": f"simple_python_{n}", "value": n == 1, "time": "2026-01-01T00:00:00Z"}
        for n in (0, 1, 2)
    ]
    shutil.copytree(imported_run, other)
    for run, ordered in ((imported_run, lines), (other, lines[::-1])):
        file.write_text("".join(json.dumps(line) + "\n" for line in ordered))
        assert cli("import-labels", run, file, "--annotator", "alice").code == 0
    for here, there in ((imported_run, other), (other, imported_run)):
        before = read_files(here)
        done = cli("merge", here, there)
        assert (done.out, done.err) == ("alice: 0 new events, 3 already in this workspace\n", "")
        assert read_files(here) == before
    label_item(cli, other, "alice", 1, "fail")
    label_item(cli, imported_run, "alice", 2, "pass")
    for known, (here, there) in ((3, (imported_run, other)), (4, (other, imported_run))):
        done = cli("merge", here, there, "--yes")
        assert (done.out, done.err) == (
            f"alice: 1 new event, {known} already in this workspace\n",
            "",
        )
        assert journal_warnings(here) == []
    exported = [cli("export", run, "--only", "reviewed").out for run in (imported_run, other)]
    assert exported[0] == exported[1]
    assert [json.loads(line)["human"] for line in exported[0].splitlines()] == [False, False, True]
    before = read_files(imported_run)
    assert (
        cli("merge", imported_run, other).out
        == "alice: 0 new events, 5 already in this workspace\n"
    )
    assert read_files(imported_run) == before
