"""`label --adjudicate` resolves disagreements."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # a dozen commands each

Cli = Callable[..., Any]


def label_item(cli: Cli, run: Path, who: str, verdict: str, *more: str) -> Any:
    done = cli("label", run, "simple_python_1", "--verdict", verdict, "--annotator", who, *more)
    assert done.code == 0, done.err
    return done


def export_label(cli: Cli, run: Path) -> dict[str, Any]:
    (found,) = cli("export", run, "--only", "reviewed").objects
    return dict(found)


@pytest.mark.sweep
def test_adjudication_resolves_disagreement(cli: Cli, imported_run: Path) -> None:
    label_item(cli, imported_run, "alice", "pass")
    label_item(cli, imported_run, "bob", "fail")
    before = export_label(cli, imported_run)
    assert (before["human"], before["effective"], before["decided_by"]) == (
        "disputed",
        False,
        "disputed",
    )
    done = label_item(
        cli, imported_run, "judy", "pass", "--adjudicate", "--reason", "a city all the same"
    )
    assert done.out == "adjudicated: simple_python_1: correct pass, with a note\n"
    after = export_label(cli, imported_run)
    assert (after["human"], after["effective"], after["decided_by"]) == (True, True, "adjudication")
    (event,) = map(
        json.loads, (imported_run / ".fcreview/reviews/judy.jsonl").read_text().splitlines()
    )
    assert (event["act"], event["verdict"], event["note"]) == (
        "adjudicate",
        True,
        "a city all the same",
    )
    assert cli("label", imported_run, "--undo", "--annotator", "judy").code == 0
    assert export_label(cli, imported_run)["decided_by"] == "disputed"


@pytest.mark.sweep
def test_fault_is_adjudicated_with_or_without_verdict(cli: Cli, imported_run: Path) -> None:
    label_item(cli, imported_run, "alice", "golden-wrong")
    label_item(cli, imported_run, "bob", "pass")
    assert export_label(cli, imported_run)["fault"] == "golden"
    label_item(cli, imported_run, "judy", "pass", "--adjudicate")
    assert export_label(cli, imported_run)["fault"] is None
    assert (
        cli(
            "label",
            imported_run,
            "simple_python_1",
            "--adjudicate",
            "--fault",
            "checker",
            "--annotator",
            "judy",
        ).code
        == 0
    )
    assert export_label(cli, imported_run)["fault"] == "checker"


@pytest.mark.parametrize(
    "arguments",
    [["--adjudicate"], ["--adjudicate", "--verdict", "unsure"], ["--adjudicate", "--reason", "so"]],
)
def test_incomplete_adjudication_is_wrong_usage(
    cli: Cli, imported_run: Path, arguments: list[str]
) -> None:
    done = cli("label", imported_run, "simple_python_1", *arguments)
    assert (done.code, done.out) == (2, "")
    assert cli("label", imported_run, "--undo", "--adjudicate").code == 2
    assert not list((imported_run / ".fcreview").rglob("*.jsonl"))


def test_many_items_are_adjudicated_from_file(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "settled.jsonl"
    labels = [
        {"id": "simple_python_1", "value": "pass"},
        {"id": "simple_python_2", "fault": "golden"},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in labels))
    assert (
        cli("label", imported_run, "--from", file, "--adjudicate").out
        == "wrote 2 reviews by tester\n"
    )
    acts = cli("sql", imported_run, "SELECT id, act FROM reviews ORDER BY id", "--json").objects
    assert acts == [{"id": each["id"], "act": "adjudicate"} for each in labels]
    file.write_text(json.dumps({"id": "simple_python_3", "value": "unsure"}) + "\n")
    done = cli("label", imported_run, "--from", file, "--adjudicate")
    assert (done.code, done.out) == (1, "")
    assert "settled.jsonl line 1: the review cannot resolve a disagreement" in done.err
    assert len(cli("sql", imported_run, "SELECT 1 AS one FROM reviews", "--json").objects) == 2
