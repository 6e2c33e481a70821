"""A golden fix that is accepted on the command line changes the figures of all commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.commands import Done

Cli = Callable[..., Done]
QUESTION = "simple_python_4"
FIX = {
    "ground_truth": [
        {"alarm.set": {"time": ["06:45"], "days": [["Monday", "Wednesday"]], "label": [""]}}
    ]
}


def test_commands_show_the_same_figures(cli: Cli, samples: Path, tmp_path: Path) -> None:
    runs = shutil.copytree(
        samples / "bfcl", tmp_path / "runs", ignore=shutil.ignore_patterns("__pycache__")
    )
    official = cli("items", runs, "--json", "--queue", "dataset").objects
    done = cli(
        *("label", runs, QUESTION, "--run", "maple-8b-FC"),
        *("--golden-fix", json.dumps(FIX), "--accept"),
    )
    assert done.code == 0, done.err
    assert "with a golden fix accepted" in done.out

    items = cli("items", runs, "--json", "--queue", "dataset").objects
    changed = [
        (new["model"], new["id"], new["effective"])
        for old, new in zip(official, items, strict=True)
        if old["effective"] is not new["effective"]
    ]
    assert changed == [("maple-8b", QUESTION, True)]

    rows = {row["model"]: row for row in cli("runs", runs, "--json").objects}
    effective = [item["effective"] for item in items if item["model"] == "maple-8b"]
    assert rows["maple-8b"]["effective_pass"] == effective.count(True)
    assert rows["maple-8b"]["by_erratum"] == 1

    report = cli("report", runs, "--run", "maple-8b")
    assert "corrected by erratum: 1 verdict" in report.out
    simple = [
        line
        for line in cli("report", runs, "--run", "maple-8b", "--json").objects
        if line["name"] == "simple_python"
    ]
    assert simple and all(line["errata"] > line["rule"] for line in simple)
    assert all(line["corrected"] > line["official"] for line in simple)


def test_only_a_decided_fix_is_exported(cli: Cli, samples: Path, tmp_path: Path) -> None:
    runs = shutil.copytree(
        samples / "bfcl", tmp_path / "runs", ignore=shutil.ignore_patterns("__pycache__")
    )
    item = ("label", runs, QUESTION, "--run", "maple-8b")
    cli("label", runs, "simple_python_1", "--run", "maple-8b", "--verdict", "pass")
    fix = ("--golden-fix", json.dumps(FIX), "--accept")
    done = cli(*item, *fix, "--annotator", "bob")
    assert "with a golden fix proposed" in done.out

    errata = tmp_path / "errata.jsonl"
    done = cli("errata", "create", runs, "-o", errata)
    assert done.code == 1
    assert "1 golden fix rejected: the fix is only proposed. Adjudicate the item." in done.err

    decide = ("--adjudicate", "--verdict", "pass", "--annotator", "chief")
    done = cli(*item, *fix, *decide)
    assert done.code == 0 and "with a golden fix accepted" in done.out, done.err
    done = cli("errata", "create", runs, "-o", errata)
    assert "1 golden answer and 0 rules" in done.err, done.err
    _, entry = map(json.loads, errata.read_text().splitlines())
    assert (entry["id"], entry["new"]) == (QUESTION, FIX["ground_truth"])
    assert (entry["settled_by"], entry["decided_by"]) == (["chief"], "adjudication")

    history = cli("audit", runs, QUESTION, "--run", "maple-8b").out
    assert "golden fix proposed, changes 1 verdict" in " ".join(history.split())
    assert "golden fix accepted, changes 1 verdict" in " ".join(history.split())


def test_fix_is_applied_to_a_run_that_is_imported_later(
    cli: Cli, samples: Path, tmp_path: Path
) -> None:
    runs = shutil.copytree(
        samples / "bfcl", tmp_path / "runs", ignore=shutil.ignore_patterns("__pycache__")
    )
    later = ("result/maple-8b", "score/maple-8b")
    for name in later:
        shutil.move(runs / name, tmp_path / name.replace("/", "-"))
    fix = ("--golden-fix", json.dumps(FIX), "--accept")
    assert cli("label", runs, QUESTION, *fix).code == 0
    for name in later:
        shutil.move(tmp_path / name.replace("/", "-"), runs / name)

    def read_effective() -> dict[str, bool | None]:
        done = cli("items", runs, "--json", "--where", f"id:{QUESTION}")
        return {row["model"]: row["effective"] for row in done.objects}

    assert cli("import", runs).code == 0
    warned = cli("items", runs, "--json", "--where", f"id:{QUESTION}").err
    assert "accepted golden answers do not count yet for 1 item" in warned
    assert read_effective()["maple-8b"] is False
    done = cli("errata", "rescore", runs)
    assert done.code == 0 and "applied 1 golden answer to 1 item" in done.err, done.err
    assert read_effective()["maple-8b"] is True
    assert "do not count yet" not in cli("items", runs, "--json").err
