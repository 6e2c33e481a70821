"""`fcreview merge`: two copies of a workspace that diverged become one, whatever happened to their journals."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.reviews.journal_reader import check_journals, read_journals
from fcreview.store.workspace import Workspace

pytestmark = pytest.mark.slow  # a dozen commands each

Cli = Callable[..., Any]


def say(cli: Cli, run: Path, who: str, number: int, verdict: str) -> None:
    done = cli("label", run, f"simple_python_{number}", "--verdict", verdict, "--annotator", who, "--reason", verdict)
    assert done.code == 0, done.err


def journal(run: Path, who: str) -> Path:
    return run / ".fcreview" / "reviews" / f"{who}.jsonl"


def merged(cli: Cli, run: Path, other: Path) -> dict[str, tuple[int, int]]:
    done = cli("merge", run, other, "--json", "--yes")
    assert done.code == 0, done.err
    return {each["annotator"]: (each["new"], each["known"]) for each in done.objects}


def labels(cli: Cli, run: Path) -> str:
    done = cli("export", run, "--only", "reviewed")
    assert done.code == 0
    return str(done.out)


@pytest.fixture(scope="module")
def reviewed_copies(module_cli: Cli, imported_templates: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, cli = tmp_path_factory.mktemp("copies"), module_cli
    run = shutil.copytree(imported_templates / "one", place / "runs")
    say(cli, run, "alice", 0, "pass")
    other = shutil.copytree(run, place / "other")
    say(cli, run, "alice", 1, "pass")
    say(cli, run, "bob", 1, "fail")
    say(cli, other, "alice", 1, "fail")
    say(cli, other, "alice", 2, "fail")
    assert cli("label", other, "--undo", "--annotator", "alice").code == 0
    say(cli, other, "carol", 3, "pass")
    return place


@pytest.fixture
def copies(reviewed_copies: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Alice goes on with both copies and takes something back in one; bob works in one, carol in the other."""
    shutil.copytree(reviewed_copies, tmp_path, dirs_exist_ok=True)
    return tmp_path / "runs", tmp_path / "other"


@pytest.mark.sweep
def test_copies_merged_both_ways_say_the_same(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    before = journal(here, "alice").read_bytes()
    theirs = {who: journal(other, who).read_bytes() for who in ("alice", "carol")}
    assert labels(cli, here) != labels(cli, other)
    assert merged(cli, here, other) == {"alice": (3, 1), "carol": (1, 0)}
    assert journal(here, "alice").read_bytes() == before + b"".join(theirs["alice"].splitlines(True)[1:])
    assert journal(here, "carol").read_bytes() == theirs["carol"]
    assert {who: journal(other, who).read_bytes() for who in theirs} == theirs
    assert merged(cli, other, here / ".fcreview") == {"alice": (1, 4), "bob": (1, 0), "carol": (0, 1)}
    assert labels(cli, here) == labels(cli, other)
    assert [each.warnings for each in check_journals(Workspace(here / ".fcreview"))] == [[], [], []]
    (one,) = [each for each in map(json.loads, labels(cli, here).splitlines()) if each["id"] == "simple_python_1"]
    assert [(each["annotator"], each["value"]) for each in one["opinions"]] == [("alice", False), ("bob", False)]


@pytest.mark.sweep
def test_merging_again_changes_nothing_and_work_goes_on(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    assert (
        cli("merge", here, other, "--yes").out
        == "alice: 3 new events, 1 already in this workspace\ncarol: 1 new event, 0 already in this workspace\n"
    )
    after = {path.name: path.read_bytes() for path in (here / ".fcreview/reviews").iterdir()}
    assert merged(cli, here, other) == {"alice": (0, 4), "carol": (0, 1)}
    assert {path.name: path.read_bytes() for path in (here / ".fcreview/reviews").iterdir()} == after
    say(cli, here, "alice", 4, "pass")
    assert not read_journals(Workspace(here / ".fcreview"))[1]
    assert merged(cli, other, here)["alice"] == (2, 4)
    assert labels(cli, here) == labels(cli, other)


@pytest.mark.sweep
def test_damaged_lines_are_told_and_not_taken(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    lines = journal(other, "alice").read_bytes().splitlines(True)
    lines[1] = lines[1].replace(b'"verdict":false', b'"verdict":true')
    journal(other, "alice").write_bytes(b"".join([*lines[:3], b"{}\n", *lines[3:]])[:-20])
    whole = journal(other, "carol").read_bytes()
    journal(other, "carol").write_bytes(whole.rstrip(b"\n"))
    done = cli("merge", here, other, "--yes")
    assert (done.code, done.out) == (
        0,
        "alice: 1 new event, 1 already in this workspace\ncarol: 1 new event, 0 already in this workspace\n",
    )
    assert done.err.splitlines() == [
        "fcreview: alice.jsonl line 2: altered: the hash does not match the content, not copied",
        "fcreview: alice.jsonl line 4: event is missing or not a string, not copied",
        "fcreview: alice.jsonl line 5: not valid JSON, not copied",
        "fcreview: alice.jsonl line 3: broken hash chain: the previous event is missing",
    ]
    assert journal(here, "carol").read_bytes() == whole
    assert {each["id"] for each in cli("export", here, "--only", "reviewed").objects} >= {"simple_python_2"}


@pytest.mark.sweep
def test_a_second_event_with_the_same_id_is_not_taken(cli: Cli, copies: tuple[Path, Path]) -> None:
    from fcreview.store.reviews.journal import hash_event

    here, other = copies
    content = json.loads(journal(here, "bob").read_bytes()) | {"verdict": True}
    content["hash"] = hash_event(content)
    journal(other, "bob").write_text(json.dumps(content) + "\n")
    before = journal(here, "bob").read_bytes()
    done = cli("merge", here, other, "--yes")
    assert "bob.jsonl line 1: another event has the id" in done.err
    assert journal(here, "bob").read_bytes() == before


@pytest.mark.sweep
def test_a_merge_that_was_killed_goes_on_where_it_stopped(cli: Cli, copies: tuple[Path, Path]) -> None:
    """Whatever part of what it appends reached the disk."""
    here, other = copies
    before = journal(here, "alice").read_bytes()
    merged(cli, here, other)
    whole, said = journal(here, "alice").read_bytes(), labels(cli, here)
    for end in range(len(before), len(whole) + 1, 97):
        journal(here, "alice").write_bytes(whole[:end])
        merged(cli, here, other)
        assert journal(here, "alice").read_bytes().startswith(whole[:end])
        events, warnings = read_journals(Workspace(here / ".fcreview"))
        assert (len(events), warnings) == (7, [])
    assert labels(cli, here) == said


@pytest.mark.sweep
def test_a_line_cut_off_here_is_set_aside_and_what_is_missing_is_added(cli: Cli, copies: tuple[Path, Path]) -> None:
    here, other = copies
    torn = journal(here, "alice").read_bytes()[:-30]
    journal(here, "alice").write_bytes(torn)
    assert merged(cli, here, other)["alice"] == (3, 1)
    assert journal(here, "alice").read_bytes().startswith(torn + b"\n")
    assert len(list((here / ".fcreview/reviews/torn").iterdir())) == 1


@pytest.mark.sweep
def test_names_that_differ_in_case_only_are_refused_before_anything_is_written(
    cli: Cli, copies: tuple[Path, Path]
) -> None:
    here, other = copies
    journal(other, "carol").rename(journal(other, "Bob"))
    before = {path.name: path.read_bytes() for path in (here / ".fcreview/reviews").iterdir()}
    done = cli("merge", here, other, "--yes")
    assert (done.code, done.out) == (1, "")
    assert "annotator 'bob' already exists" in done.err
    assert {path.name: path.read_bytes() for path in (here / ".fcreview/reviews").iterdir()} == before
    shutil.copy(journal(other, "Bob"), journal(other, "Alice"))
    done = cli("merge", here, other, "--yes")
    assert done.code == 1
    assert "'Alice' and 'alice'" in done.err


def test_a_workspace_is_not_merged_into_itself(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(imported_run)
    for other in (imported_run, imported_run / ".fcreview", tmp_path / "link"):
        done = cli("merge", imported_run, other)
        assert (done.code, done.out) == (1, "")
        assert "is the same workspace" in done.err


def test_what_is_no_workspace_is_told_in_one_line(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    assert cli("merge", imported_run, "nowhere").err == "fcreview: no such file or folder: nowhere\n"
    for other in (imported_run / "result", tmp_path / "home"):  # not one further up either
        done = cli("merge", imported_run, other)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("fcreview: no workspace at")
    empty = tmp_path / "empty"
    (empty / ".fcreview").mkdir(parents=True)
    assert cli("merge", imported_run, empty).out == "nothing to merge\n"
