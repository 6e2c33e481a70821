"""`review --plain`: what is read from standard input, said, and on disk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.commands.review import format_item_text
from fcreview.model.item import Extra, Item, Message, StateDifference, Verdict
from tests.commands import PROGRAM, Done
from tests.tui.item_view.document_text import make_detail

pytestmark = pytest.mark.process
Reviewed = Callable[..., Done]


@pytest.fixture
def reviewed(imported_run: Path, environ: dict[str, str]) -> Reviewed:
    def run(typed: str, *more: str) -> Done:
        command = [*PROGRAM, "review", str(imported_run), "--plain", *more]
        done = subprocess.run(command, input=typed.encode(), capture_output=True, env=environ, timeout=120)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def events(run: Path) -> list[dict[str, Any]]:
    journal = run / ".fcreview" / "reviews" / "tester.jsonl"
    return [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []


@pytest.mark.sweep
def test_letters_are_verdicts_and_each_leads_to_the_next_item(reviewed: Reviewed, imported_run: Path) -> None:
    done = reviewed("f\np\nq\n", "--queue", "dataset")
    assert done.code == 0
    assert [event["verdict"] for event in events(imported_run)] == [False, True]
    first, second = [event["key"]["id"] for event in events(imported_run)]
    assert first != second
    assert done.out.index(f"saved: fail · {first}") < done.out.index(f"item {second}") < done.out.index("saved: pass")
    assert done.out.endswith("2 reviews saved\n")
    again = reviewed("q\n", "--queue", "dataset")
    assert f"item {first}," not in again.out and f"item {second}," not in again.out


@pytest.mark.sweep
def test_notes_faults_scores_and_undo(reviewed: Reviewed, imported_run: Path) -> None:
    done = reviewed("n it's odd\nw gol\nw zz\n0\nz\n?\n", "--queue", "dataset")
    note, fault, undo = events(imported_run)
    assert (note["note"], fault["fault"], undo["act"]) == ("it's odd", "golden", "retract")
    assert "Choose a fault: model, golden" in done.out
    assert "this benchmark has no scores" in done.out and "s skip, b back" in done.out


@pytest.mark.sweep
def test_an_item_is_told_in_words(reviewed: Reviewed) -> None:
    done = reviewed("b\ns\nb\n", "--where", "official:fail")
    assert ", differs. golden: " in done.out
    assert ", equal: " in done.out
    assert "──" not in done.out and "\x1b" not in done.out
    assert "This is the first item" in done.out


@pytest.mark.sweep
def test_blind_nothing_is_told_before_the_verdict(reviewed: Reviewed, imported_run: Path) -> None:
    before, after = reviewed("s\nf\n", "--blind").out.split("saved: fail")[0], reviewed("q\n").out
    assert "official" not in before
    assert "official" in after
    assert [event["blind"] for event in events(imported_run)] == [True]
    assert reviewed("", "--blind", "--where", "official:fail").code != 0


@pytest.mark.sweep
def test_nothing_to_do_is_said(reviewed: Reviewed) -> None:
    assert "No items match" in reviewed("p\n", "--where", "id:nothing").out


@pytest.mark.sweep
def test_a_verdict_is_on_disk_before_it_is_said(imported_run: Path, environ: dict[str, str]) -> None:
    command = [*PROGRAM, "review", str(imported_run), "--plain"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as program:
        assert program.stdin is not None and program.stdout is not None
        program.stdin.write(b"f\n")
        program.stdin.flush()
        while b"saved: fail" not in (line := program.stdout.readline()):
            assert line, "the program ended"
        program.kill()
    assert [event["verdict"] for event in events(imported_run)] == [False]


@pytest.mark.sweep
def test_where_only_text_can_be_shown_open_says_how_to_review(imported_run: Path, environ: dict[str, str]) -> None:
    for more in ([], ["--blind"]):
        done = subprocess.run(
            [*PROGRAM, "open", str(imported_run), *more],
            capture_output=True, env=environ, timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert b"fcreview review --plain" in done.stderr


def test_labels_and_states_are_read_out_as_arguments_are() -> None:
    item = Item("a_1", "agent", messages=[Message(0, -1, "user", "Go."), Message(0, 0, "tool", "ok")])
    item.verdicts = [Verdict("judge", ["ask"], "response", "dialog_act", by="labeller")]
    item.extra = Extra(
        state_differences={"root": StateDifference("b", "c")}, golden_reply="Hello.", golden_labels=["inform"]
    )
    lines = list(format_item_text(make_detail(item), "alice", hidden=False))
    assert "labels, differs. golden: inform. predicted: ask" in lines
    assert "root, differs. golden: b. predicted: c" in lines
    hidden = [line.split() for line in format_item_text(make_detail(item), "alice", hidden=True)]
    assert ["labels", "inform", "(hidden)"] in hidden
