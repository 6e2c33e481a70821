"""`review --plain` reads verdicts from standard input and saves them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.commands.review import format_plain_item_lines
from fcreview.model.item import Extra, Item, Message, StateDifference, Verdict
from tests.commands import PROGRAM, Done
from tests.tui.item_view.document_text import make_detail

pytestmark = pytest.mark.process
PlainReview = Callable[..., Done]


@pytest.fixture
def plain_review(imported_run: Path, environ: dict[str, str]) -> PlainReview:
    def run(typed: str, *more: str) -> Done:
        command = [*PROGRAM, "review", str(imported_run), "--plain", *more]
        done = subprocess.run(
            command, input=typed.encode(), capture_output=True, env=environ, timeout=120
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def read_events(run: Path) -> list[dict[str, Any]]:
    journal = run / ".fcreview" / "reviews" / "tester.jsonl"
    return (
        [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    )


@pytest.mark.sweep
def test_letters_record_verdicts_and_advance(plain_review: PlainReview, imported_run: Path) -> None:
    done = plain_review("f\np\nq\n", "--queue", "dataset")
    assert done.code == 0
    assert [event["verdict"] for event in read_events(imported_run)] == [False, True]
    first, second = [event["key"]["id"] for event in read_events(imported_run)]
    assert first != second
    assert (
        done.out.index(f"saved: fail · {first}")
        < done.out.index(f"item {second}")
        < done.out.index("saved: pass")
    )
    assert done.out.endswith("2 reviews saved\n")
    again = plain_review("q\n", "--queue", "dataset")
    assert f"item {first}," not in again.out and f"item {second}," not in again.out


@pytest.mark.sweep
def test_notes_faults_scores_and_undo(plain_review: PlainReview, imported_run: Path) -> None:
    done = plain_review("n it's odd\nw gol\nw zz\n0\nz\n?\n", "--queue", "dataset")
    note, fault, undo = read_events(imported_run)
    assert (note["note"], fault["fault"], undo["act"]) == ("it's odd", "golden", "retract")
    assert "Choose a fault: model, golden" in done.out
    assert (
        "this benchmark has no scores" in done.out and "s: skip the item · b: go back" in done.out
    )


@pytest.mark.sweep
def test_item_is_printed_in_words(plain_review: PlainReview) -> None:
    done = plain_review("b\ns\nb\n", "--where", "official:fail")
    assert ", differs. golden: " in done.out
    assert ", equal: " in done.out
    assert "──" not in done.out and "\x1b" not in done.out
    assert "This is the first item" in done.out


@pytest.mark.sweep
def test_blind_review_hides_verdicts_until_submitted(
    plain_review: PlainReview, imported_run: Path
) -> None:
    before, after = (
        plain_review("s\nf\n", "--blind").out.split("saved: fail")[0],
        plain_review("q\n").out,
    )
    assert "official" not in before
    assert "official" in after
    assert [event["blind"] for event in read_events(imported_run)] == [True]
    assert plain_review("", "--blind", "--where", "official:fail").code != 0


@pytest.mark.sweep
def test_empty_queue_is_reported(plain_review: PlainReview) -> None:
    assert "No items match" in plain_review("p\n", "--where", "id:nothing").out


@pytest.mark.sweep
def test_verdict_is_on_disk_before_confirmation(
    imported_run: Path, environ: dict[str, str]
) -> None:
    command = [*PROGRAM, "review", str(imported_run), "--plain"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ
    ) as program:
        assert program.stdin is not None and program.stdout is not None
        program.stdin.write(b"f\n")
        program.stdin.flush()
        while b"saved: fail" not in (line := program.stdout.readline()):
            assert line, "the program ended"
        program.kill()
    assert [event["verdict"] for event in read_events(imported_run)] == [False]


@pytest.mark.sweep
def test_open_without_terminal_names_plain_review(
    imported_run: Path, environ: dict[str, str]
) -> None:
    for more in ([], ["--blind"]):
        done = subprocess.run(
            [*PROGRAM, "open", str(imported_run), *more],
            capture_output=True,
            env=environ,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert b"fcreview review --plain" in done.stderr


def test_labels_and_states_are_printed_like_arguments() -> None:
    item = Item(
        "a_1",
        "agent",
        messages=[
            Message(0, -1, role="user", content="Go."),
            Message(0, 0, role="tool", content="ok"),
        ],
    )
    item.verdicts = [
        Verdict("judge", ["ask"], target="response", criterion="dialog_act", by="labeller")
    ]
    item.extra = Extra(
        state_differences={"root": StateDifference("b", "c")},
        golden_reply="Hello.",
        golden_labels=["inform"],
    )
    lines = list(format_plain_item_lines(make_detail(item), "alice", hide_verdicts=False))
    assert "labels, differs. golden: inform. predicted: ask" in lines
    assert "root, differs. golden: b. predicted: c" in lines
    hidden = [
        line.split()
        for line in format_plain_item_lines(make_detail(item), "alice", hide_verdicts=True)
    ]
    assert ["labels", "inform", "(hidden)"] in hidden
