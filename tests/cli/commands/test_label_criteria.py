"""`fcreview label` accepts the values of each criterion of the benchmark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.slow  # a dozen commands each

GENERIC = "generic/helpdesk.jsonl"


@pytest.fixture
def sample_copy(samples: Path, tmp_path: Path) -> Path:
    return Path(
        shutil.copytree(
            samples, tmp_path / "runs", ignore=shutil.ignore_patterns("*.py", ".fcreview")
        )
    )


def label_item(cli: Cli, place: Path, item: str, verdict: str, *more: str) -> object:
    done = cli("label", place, item, "--verdict", verdict, *more, "--json")
    assert done.code == 0, done.err
    return done.objects[0]["verdict"]


@pytest.mark.sweep
def test_fractional_criterion_can_be_overridden(cli: Cli, sample_copy: Path) -> None:
    agent = (sample_copy / "acebench", "agent_multi_turn_0")
    assert label_item(cli, *agent, "0.5", "--criterion", "process_accuracy") == 0.5
    done = cli("label", *agent, "--verdict", "1.5", "--criterion", "process_accuracy")
    assert (done.code, done.out) == (2, "")
    assert "a number from 0 to 1 or unsure" in done.err
    assert cli("label", *agent, "--verdict", "nan", "--criterion", "process_accuracy").code == 2


def test_decisive_step_is_message_number(cli: Cli, sample_copy: Path) -> None:
    target = (sample_copy / "acebench", "agent_multi_turn_0")
    assert label_item(cli, *target, "5", "--criterion", "decisive_step") == 5
    for verdict in ("5.5", "0", "-1", "pass"):
        done = cli("label", *target, "--verdict", verdict, "--criterion", "decisive_step")
        assert (done.code, done.out) == (2, "")
        assert (
            f"'{verdict}' is not a verdict on decisive_step. Choose a whole number from 1 or unsure"
            in done.err
        )


def test_dialog_acts_are_labels(cli: Cli, sample_copy: Path) -> None:
    place = sample_copy / "confetti"
    listed = cli(
        "sql", place, "SELECT id FROM verdicts WHERE criterion = 'dialog_act' LIMIT 1", "--json"
    ).objects
    value = label_item(
        cli,
        place,
        listed[0]["id"],
        "inform, ask,inform",
        "--criterion",
        "dialog_act",
        "--target",
        "response",
    )
    assert value == ["inform", "ask"]


def test_unknown_criterion_is_reported_with_known_ones(cli: Cli, sample_copy: Path) -> None:
    done = cli(
        "label",
        sample_copy / "acebench",
        "agent_multi_turn_0",
        "--verdict",
        "pass",
        "--criterion",
        "func_ok",
    )
    assert done.code == 2
    assert "process_accuracy" in done.err and "correct" in done.err


@pytest.mark.sweep
def test_custom_criteria_take_values_of_benchmark(cli: Cli, sample_copy: Path) -> None:
    """Verdicts are booleans, numbers or labels, as in the file."""
    file = sample_copy / GENERIC
    verdicts = [
        {"source": "judge", "value": True, "criterion": "polite"},
        {"source": "judge", "value": 0.25, "criterion": "clarity"},
        {"source": "judge", "value": 3, "criterion": "stars"},
        {"source": "judge", "value": ["short"], "criterion": "style"},
    ]
    lines = file.read_text().splitlines()
    record = json.loads(lines[1])
    record["verdicts"] = verdicts
    lines[1] = json.dumps(record)
    file.write_text("\n".join(lines) + "\n")
    target = (file, "desk_0")
    assert label_item(cli, *target, "no", "--criterion", "polite") is False
    assert label_item(cli, *target, "pass", "--criterion", "polite") is True
    assert label_item(cli, *target, "0.75", "--criterion", "clarity") == 0.75
    assert label_item(cli, *target, "5", "--criterion", "stars") == 5
    assert label_item(cli, *target, "long,plain", "--criterion", "style") == ["long", "plain"]
    assert cli("label", *target, "--verdict", "2", "--criterion", "clarity").code == 2
    figures = {
        row["name"]: row
        for row in cli("report", file, "--json").objects
        if row["table"] == "other criteria"
    }
    assert (figures["clarity"]["rule"], figures["clarity"]["corrected"]) == (0.25, 0.75)
    assert (figures["stars"]["official"], figures["stars"]["corrected"]) == (3.0, 5.0)
    listed = cli("items", file, "--json", "--where", "you:none")  # filters work on numeric verdicts
    assert listed.code == 0 and len(listed.objects) == 3


@pytest.mark.sweep
def test_boolean_criterion_is_shown_as_yes_or_no(cli: Cli, sample_copy: Path) -> None:
    place = sample_copy / "confetti"
    sql = (
        "SELECT id, target FROM verdicts WHERE criterion = 'hallucinated' AND target LIKE '%arg%'"
        " LIMIT 1"
    )
    row = cli("sql", place, sql, "--json").objects[0]
    done = cli(
        "label",
        place,
        row["id"],
        "--target",
        row["target"],
        "--criterion",
        "hallucinated",
        "--verdict",
        "no",
    )
    assert "hallucinated no" in done.out
    shown = cli("show", place, row["id"]).out
    assert "hallucinated" in shown and "hallucinated fail" not in shown
