"""`label` records reviews, and `export`, `sql` and `doctor` use them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

Cli = Callable[..., Any]


def fetch_item(cli: Cli, run: Path, name: str, *more: str) -> dict[str, Any]:
    found: dict[str, Any] = cli("items", run, "--json", "--where", f'id:"{name}"', *more).objects[0]
    return found


def test_label_is_saved_and_counts(cli: Cli, imported_run: Path) -> None:
    options = [
        "--verdict",
        "pass",
        "--fault",
        "golden",
        "--tag",
        "a",
        "--tag",
        "b",
        "--reason",
        "Rome is fine",
    ]
    done = cli("label", imported_run, "simple_python_1", *options)
    assert done.code == 0
    assert "simple_python_1" in done.out
    journal = imported_run / ".fcreview" / "reviews" / "tester.jsonl"
    assert len(journal.read_text().splitlines()) == 1
    after = fetch_item(cli, imported_run, "simple_python_1")
    assert (after["official"], after["human"], after["effective"]) == (False, True, True)
    shown = cli("show", imported_run, "simple_python_1").out
    assert "Rome is fine" in shown


@pytest.mark.sweep
def test_every_fault_is_in_help_and_accepted(cli: Cli, imported_run: Path) -> None:
    from fcreview.model.review import FAULTS

    text = cli("label", "--help").out
    for fault in FAULTS:
        assert fault in text
        assert (
            cli("label", imported_run, "simple_python_1", "--fault", fault, "--json").objects[0][
                "fault"
            ]
            == fault
        )


def test_golden_wrong_is_pass_with_golden_fault(cli: Cli, imported_run: Path) -> None:
    event = cli(
        "label", imported_run, "simple_python_1", "--verdict", "golden-wrong", "--json"
    ).objects[0]
    assert (event["verdict"], event["fault"], event["act"]) == (True, "golden", "review")


def test_call_verdict_decides_item_verdict(cli: Cli, imported_run: Path) -> None:
    assert (
        cli(
            "label",
            imported_run,
            "simple_python_0",
            "--target",
            "turn:1/call:1",
            "--verdict",
            "fail",
        ).code
        == 0
    )
    assert fetch_item(cli, imported_run, "simple_python_0")["effective"] is False


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--verdict", "maybe"],
        ["--verdict", "2"],
        ["--verdict", "pass", "--criterion", "completeness"],
        ["--verdict", "pass", "--criterion", "nonsense"],
        ["--verdict", "pass", "--fault", "nobody"],
        ["--verdict", "golden-wrong", "--fault", "model"],
        ["--verdict", "pass", "--target", "turn:0"],
        ["--verdict", "pass", "--target", "call:1"],
        ["--undo"],
        ["--verdict", "pass", "--annotator", "../x"],
    ],
)
def test_invalid_label_is_wrong_usage_and_writes_nothing(
    cli: Cli, imported_run: Path, arguments: list[str]
) -> None:
    done = cli("label", imported_run, "simple_python_0", *arguments)
    assert (done.code, done.out) == (2, "")
    assert not list((imported_run / ".fcreview").rglob("*.jsonl"))


def test_missing_turn_or_call_cannot_be_labelled(cli: Cli, imported_run: Path) -> None:
    for target in ("turn:2", "turn:1/call:2"):
        assert (
            cli(
                "label", imported_run, "simple_python_0", "--verdict", "fail", "--target", target
            ).code
            == 1
        )
    assert not list((imported_run / ".fcreview").rglob("*.jsonl"))


def test_labels_are_exported_as_json_lines_and_csv(
    cli: Cli, imported_run: Path, tmp_path: Path
) -> None:
    cli("label", imported_run, "simple_python_1", "--verdict", "pass", "--reason", "=1+1")
    labels = cli("export", imported_run, "--where", "reviewed").objects
    assert [(label["id"], label["human"], label["effective"]) for label in labels] == [
        ("simple_python_1", True, True)
    ]
    assert cli("export", imported_run, "--format", "csv", "-o", "labels.csv").code == 0
    rows = list(
        csv.DictReader(io.StringIO((tmp_path / "labels.csv").read_bytes().decode(), newline=""))
    )
    assert len(rows) == 6
    assert not any(cell.startswith("=") for row in rows for cell in row.values())


def test_unknown_export_format_or_folder_is_reported(cli: Cli, imported_run: Path) -> None:
    assert "csv" in cli("export", imported_run, "--format", "nonsense").err
    assert cli("export", imported_run, "-o", "no/such/folder/x.csv").code == 1


@pytest.mark.sweep
def test_sql_is_read_only(cli: Cli, imported_run: Path) -> None:
    query = "SELECT error_type, count(*) AS n FROM items GROUP BY 1 ORDER BY n DESC, 1"
    assert cli("sql", imported_run, query, "--json").objects[0] == {
        "error_type": "value_error:string",
        "n": 4,
    }
    assert "value_error:string" in cli("sql", imported_run, query).out
    assert cli("sql", imported_run, query, "--csv").out.startswith(
        "error_type,n\nvalue_error:string,4\n"
    )
    for statement in (
        "DELETE FROM runs",
        "SELECT * FROM read_text('/etc/passwd')",
        "ATTACH 'x'",
        "SELEC",
    ):
        done = cli("sql", imported_run, statement)
        assert (done.code, done.out) == (1, "")
        assert "Traceback" not in done.err


def test_doctor_prints_setup_and_writes_nothing(cli: Cli, one_run: Path) -> None:
    done = cli("doctor", one_run)
    assert done.code == 0
    assert "maple" in done.out
    assert "no workspace" in done.out
    assert not (one_run / ".fcreview").exists()
    kinds = {fact["kind"] for fact in cli("doctor", one_run, "--json").objects}
    assert {"workspace", "run", "version", "terminal", "configuration"} <= kinds


def test_doctor_reports_missing_dataset(cli: Cli, one_run: Path, tmp_path: Path) -> None:
    (one_run / "data").rename(tmp_path / "away")
    assert "--data" in cli("doctor", one_run / "result").out


def test_doctor_fails_on_damaged_journal(cli: Cli, imported_run: Path) -> None:
    for at in range(2):
        cli("label", imported_run, f"simple_python_{at}", "--verdict", "pass")
    assert cli("doctor", imported_run).code == 0
    journal = imported_run / ".fcreview" / "reviews" / "tester.jsonl"
    journal.write_text(journal.read_text().replace('"verdict":true', '"verdict":false', 1))
    done = cli("doctor", imported_run)
    assert done.code == 1
    assert "tester" in next(line for line in done.out.splitlines() if line.startswith("!"))


@pytest.mark.sweep
def test_demo_does_not_change_samples(cli: Cli, samples: Path, tmp_path: Path) -> None:
    before = sorted(samples.rglob("*"))
    done = cli("demo", "--into", "demo")
    assert done.code == 0
    assert "failing" in done.out
    assert "fcreview open" in done.out
    first = cli("items", "demo", "--json")
    assert first.code == 0
    assert len(first.objects) > 20
    assert sorted(samples.rglob("*")) == before
    assert not list((tmp_path / "demo").rglob("__pycache__"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    assert cli("demo", "--into", "full").code == 1


def test_demo_uses_new_temporary_folder(cli: Cli, tmp_path: Path) -> None:
    done = cli("demo", TMPDIR=str(tmp_path))
    assert done.code == 0
    (folder,) = tmp_path.glob("fcreview-demo-*")
    assert str(folder) in done.out


def test_truncated_journal_line_gives_warning(cli: Cli, imported_run: Path) -> None:
    for name in ("simple_python_0", "simple_python_1"):
        assert cli("label", imported_run, name, "--verdict", "fail").code == 0
    journal = imported_run / ".fcreview" / "reviews" / "tester.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    done = cli("runs", imported_run)
    assert (done.code, done.err.count("tester.jsonl line 2 is incomplete")) == (0, 1)
    assert [row["reviewed"] for row in cli("runs", imported_run, "--json").objects] == [1]


def test_named_pipe_in_reviews_does_not_block(cli: Cli, one_run: Path) -> None:
    (one_run / ".fcreview" / "reviews").mkdir(parents=True)
    os.mkfifo(one_run / ".fcreview" / "reviews" / "other.jsonl")
    assert cli("label", one_run, "simple_python_0", "--verdict", "fail").code == 0


def test_golden_fix_equal_to_golden_answer_is_refused(cli: Cli, imported_run: Path) -> None:
    (answer,) = imported_run.rglob("possible_answer/*.json")
    record = orjson.loads(answer.read_bytes().splitlines()[1])
    fix = {"ground_truth": record["ground_truth"]}
    done = cli("label", imported_run, record["id"], "--golden-fix", orjson.dumps(fix).decode())
    assert done.code == 1 and "the golden fix equals the golden answer of the dataset" in done.err
    assert not (imported_run / ".fcreview/reviews/tester.jsonl").exists()
