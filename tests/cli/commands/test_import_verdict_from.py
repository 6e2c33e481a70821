"""`--verdict-from` and the configuration choose the verdicts of an Inspect log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
CASES = Path(__file__).parents[2] / "cases" / "inspect"


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    """A log with object scores, which have the keys `safe` and `useful`."""
    return Path(shutil.copytree(CASES / "03b-nan-dict", tmp_path / "logs"))


def official_verdicts(cli: Cli, log: Path, **environ: str) -> dict[str, bool | None]:
    return {item["id"]: item["official"] for item in cli("items", log, "--json", **environ).objects}


def test_chosen_key_is_remembered_until_default_restores_it(cli: Cli, objects: Path) -> None:
    assert set(official_verdicts(cli, objects).values()) == {None}
    assert cli("import", objects, "--verdict-from", "check.safe").code == 0
    assert official_verdicts(cli, objects) == {"a": True, "b": False, "c": True}
    (run,) = cli("runs", objects, "--json").objects
    assert (run["verdict_from"], run["verdict_from_reason"]) == (
        "check.safe",
        "chosen with --verdict-from",
    )
    cli("import", objects, "--verdict-from", "default")
    assert set(official_verdicts(cli, objects).values()) == {None}


def test_unknown_score_is_refused_with_the_choices(cli: Cli, objects: Path) -> None:
    done = cli("import", objects, "--verdict-from", "check.nope")
    assert done.code == 2
    assert "no log has the score 'check.nope'. Choose one of check.safe, check.useful" in done.err


def test_logs_without_the_chosen_score_keep_their_verdicts(cli: Cli, objects: Path) -> None:
    for log in (CASES / "08-same-scorer").iterdir():
        shutil.copy(log, objects)
    assert cli("import", objects, "--verdict-from", "check.safe").code == 0
    chosen = {
        run["verdict_from"]: run["verdict_from_reason"]
        for run in cli("runs", objects, "--json").objects
    }
    assert chosen == {"check.safe": "chosen with --verdict-from", "match": "main score of the log"}


def test_triage_says_that_there_are_no_verdicts(cli: Cli, objects: Path) -> None:
    out = cli("triage", objects).out
    assert "no verdicts: choose one of check.safe, check.useful with --verdict-from" in out
    assert "failing" not in out


def test_changed_configuration_imports_the_log_again(cli: Cli, tmp_path: Path) -> None:
    logs = Path(shutil.copytree(CASES / "09-polarity", tmp_path / "logs"))
    assert official_verdicts(cli, logs) == {"a": True, "b": False, "c": False}
    config = tmp_path / "config.toml"
    config.write_text('[scorers.attack_success]\nbetter = "lower"\npass_at = 0.0\n')
    assert official_verdicts(cli, logs, FCREVIEW_CONFIG=str(config)) == {
        "a": False,
        "b": True,
        "c": True,
    }
    report = cli("report", logs, "--json", FCREVIEW_CONFIG=str(config)).objects
    (row,) = [row for row in report if row.get("name") == "mean"]
    assert (row["official"], row["corrected"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


@pytest.mark.parametrize(
    "line", ['better = "low"', 'pass_at = "0"', "pass_at = true", "other = 1", "pass_at = nan"]
)
def test_wrong_scorer_setting_is_refused(
    cli: Cli, objects: Path, tmp_path: Path, line: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[scorers.check]\n{line}\n")
    done = cli("import", objects, FCREVIEW_CONFIG=str(config))
    assert done.code != 0 and "[scorers.NAME]" in done.err


@pytest.mark.bench
def test_triage_counts_failures_of_recomputed_verdicts(
    cli: Cli, bench: Path, tmp_path: Path
) -> None:
    """A log of the task `bfcl` without scores has verdicts, which fcreview recomputes."""
    log = json.loads((bench / "inspect_bfcl" / "bfcl_A_json.json").read_text())
    log["samples"] = [sample | {"scores": {}} for sample in log["samples"][:60]]
    log["results"] = None
    (tmp_path / "log.json").write_text(json.dumps(log))
    out = cli("triage", tmp_path).out
    assert "failing" in out and "no verdicts" not in out
