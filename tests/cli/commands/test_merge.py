"""`fcreview merge` merges diverged copies of a workspace, even if their journals are damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.reviews.journal_reader import check_journals, read_events_and_warnings
from fcreview.store.workspace import Workspace

pytestmark = pytest.mark.slow  # a dozen commands each

Cli = Callable[..., Any]


def label_item(cli: Cli, run: Path, who: str, number: int, verdict: str) -> None:
    done = cli(
        "label",
        run,
        f"simple_python_{number}",
        "--verdict",
        verdict,
        "--annotator",
        who,
        "--reason",
        verdict,
    )
    assert done.code == 0, done.err


def journal_path(run: Path, who: str) -> Path:
    return run / ".fcreview" / "reviews" / f"{who}.jsonl"


def run_merge(cli: Cli, run: Path, other: Path) -> dict[str, tuple[int, int]]:
    done = cli("merge", run, other, "--json", "--yes")
    assert done.code == 0, done.err
    return {each["annotator"]: (each["new"], each["known"]) for each in done.objects}


def export_labels(cli: Cli, run: Path) -> str:
    done = cli("export", run, "--only", "reviewed")
    assert done.code == 0
    return str(done.out)


@pytest.fixture(scope="module")
def reviewed_copies(
    module_cli: Cli, imported_templates: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    place, cli = tmp_path_factory.mktemp("copies"), module_cli
    run = shutil.copytree(imported_templates / "one", place / "runs")
    label_item(cli, run, "alice", 0, "pass")
    other = shutil.copytree(run, place / "other")
    label_item(cli, run, "alice", 1, "pass")
    label_item(cli, run, "bob", 1, "fail")
    label_item(cli, other, "alice", 1, "fail")
    label_item(cli, other, "alice", 2, "fail")
    assert cli("label", other, "--undo", "--annotator", "alice").code == 0
    label_item(cli, other, "carol", 3, "pass")
    return place


@pytest.fixture
def copies(reviewed_copies: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two copies. alice reviewed in both and retracted one review, bob reviewed in the first,
    carol in the other.
    """
    shutil.copytree(reviewed_copies, tmp_path, dirs_exist_ok=True)
    return tmp_path / "runs", tmp_path / "other"


@pytest.mark.sweep
def test_copies_merged_both_ways_are_equal(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    before = journal_path(here, "alice").read_bytes()
    theirs = {who: journal_path(other, who).read_bytes() for who in ("alice", "carol")}
    assert export_labels(cli, here) != export_labels(cli, other)
    assert run_merge(cli, here, other) == {"alice": (3, 1), "carol": (1, 0)}
    assert journal_path(here, "alice").read_bytes() == before + b"".join(
        theirs["alice"].splitlines(True)[1:]
    )
    assert journal_path(here, "carol").read_bytes() == theirs["carol"]
    assert {who: journal_path(other, who).read_bytes() for who in theirs} == theirs
    assert run_merge(cli, other, here / ".fcreview") == {
        "alice": (1, 4),
        "bob": (1, 0),
        "carol": (0, 1),
    }
    assert export_labels(cli, here) == export_labels(cli, other)
    assert [each.warnings for each in check_journals(Workspace(here / ".fcreview"))] == [[], [], []]
    (one,) = [
        each
        for each in map(json.loads, export_labels(cli, here).splitlines())
        if each["id"] == "simple_python_1"
    ]
    assert [(each["annotator"], each["value"]) for each in one["opinions"]] == [
        ("alice", False),
        ("bob", False),
    ]


@pytest.mark.sweep
def test_second_merge_changes_nothing(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    assert (
        cli("merge", here, other, "--yes").out
        == "alice: 3 new events, 1 already in this workspace\ncarol: 1 new event, 0 already in this"
        " workspace\n"
    )
    after = {path.name: path.read_bytes() for path in (here / ".fcreview/reviews").iterdir()}
    assert run_merge(cli, here, other) == {"alice": (0, 4), "carol": (0, 1)}
    assert {
        path.name: path.read_bytes() for path in (here / ".fcreview/reviews").iterdir()
    } == after
    label_item(cli, here, "alice", 4, "pass")
    assert not read_events_and_warnings(Workspace(here / ".fcreview"))[1]
    assert run_merge(cli, other, here)["alice"] == (2, 4)
    assert export_labels(cli, here) == export_labels(cli, other)


@pytest.mark.sweep
def test_damaged_lines_are_reported_and_not_merged(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    lines = journal_path(other, "alice").read_bytes().splitlines(True)
    lines[1] = lines[1].replace(b'"verdict":false', b'"verdict":true')
    journal_path(other, "alice").write_bytes(b"".join([*lines[:3], b"{}\n", *lines[3:]])[:-20])
    whole = journal_path(other, "carol").read_bytes()
    journal_path(other, "carol").write_bytes(whole.rstrip(b"\n"))
    done = cli("merge", here, other, "--yes")
    assert (done.code, done.out) == (
        0,
        "alice: 1 new event, 1 already in this workspace\ncarol: 1 new event, 0 already in this"
        " workspace\n",
    )
    assert done.err.splitlines() == [
        "fcreview: alice.jsonl line 2 was not copied: the line was altered (its hash does not match"
        " its content)",
        "fcreview: alice.jsonl line 4 was not copied: `event` is missing or not a string",
        "fcreview: alice.jsonl line 5 was not copied: the line is not valid JSON",
        "fcreview: alice.jsonl line 3: broken hash chain: the previous event is missing",
    ]
    assert journal_path(here, "carol").read_bytes() == whole
    assert {each["id"] for each in cli("export", here, "--only", "reviewed").objects} >= {
        "simple_python_2"
    }


@pytest.mark.sweep
def test_second_event_with_same_id_is_not_merged(cli: Cli, copies: tuple[Path, Path]) -> None:
    from fcreview.store.reviews.journal import hash_event

    here, other = copies
    content = json.loads(journal_path(here, "bob").read_bytes()) | {"verdict": True}
    content["hash"] = hash_event(content)
    journal_path(other, "bob").write_text(json.dumps(content) + "\n")
    before = journal_path(here, "bob").read_bytes()
    done = cli("merge", here, other, "--yes")
    assert "bob.jsonl line 1: another event has the id" in done.err
    assert journal_path(here, "bob").read_bytes() == before


@pytest.mark.sweep
def test_interrupted_merge_is_completed(cli: Cli, copies: tuple[Path, Path]) -> None:
    """Any part of the appended lines may be on the disk."""
    here, other = copies
    before = journal_path(here, "alice").read_bytes()
    run_merge(cli, here, other)
    whole, exported = journal_path(here, "alice").read_bytes(), export_labels(cli, here)
    for end in range(len(before), len(whole) + 1, 97):
        journal_path(here, "alice").write_bytes(whole[:end])
        run_merge(cli, here, other)
        assert journal_path(here, "alice").read_bytes().startswith(whole[:end])
        events, warnings = read_events_and_warnings(Workspace(here / ".fcreview"))
        assert (len(events), warnings) == (7, [])
    assert export_labels(cli, here) == exported


@pytest.mark.sweep
def test_truncated_line_is_set_aside_and_merged_again(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    torn = journal_path(here, "alice").read_bytes()[:-30]
    journal_path(here, "alice").write_bytes(torn)
    assert run_merge(cli, here, other)["alice"] == (3, 1)
    assert journal_path(here, "alice").read_bytes().startswith(torn + b"\n")
    assert len(list((here / ".fcreview/reviews/torn").iterdir())) == 1


@pytest.mark.sweep
def test_names_differing_only_in_case_are_refused(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    journal_path(other, "carol").rename(journal_path(other, "Bob"))
    before = {path.name: path.read_bytes() for path in (here / ".fcreview/reviews").iterdir()}
    done = cli("merge", here, other, "--yes")
    assert (done.code, done.out) == (1, "")
    assert "annotator 'bob' already exists" in done.err
    assert {
        path.name: path.read_bytes() for path in (here / ".fcreview/reviews").iterdir()
    } == before
    shutil.copy(journal_path(other, "Bob"), journal_path(other, "Alice"))
    done = cli("merge", here, other, "--yes")
    assert done.code == 1
    assert "'Alice' and 'alice'" in done.err


def test_workspace_is_not_merged_into_itself(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(imported_run)
    for other in (imported_run, imported_run / ".fcreview", tmp_path / "link"):
        done = cli("merge", imported_run, other)
        assert (done.code, done.out) == (1, "")
        assert "is the same workspace" in done.err


def test_missing_workspace_is_reported_in_one_line(
    cli: Cli, imported_run: Path, tmp_path: Path
) -> None:
    assert (
        cli("merge", imported_run, "nowhere").err == "fcreview: no such file or folder: nowhere\n"
    )
    for other in (imported_run / "result", tmp_path / "home"):  # nor a workspace in a parent folder
        done = cli("merge", imported_run, other)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("fcreview: no workspace at")
    empty = tmp_path / "empty"
    (empty / ".fcreview").mkdir(parents=True)
    assert cli("merge", imported_run, empty).out == "nothing to merge\n"
