"""`rules preview` lists the verdicts that an equivalence rule changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Done

Cli = Callable[..., Done]
Verdicts = dict[tuple[str, str], bool | None]
RULES = (
    "accept 30 for 50 in minutes of timer.start",
    "default-omittable",
    "number-equal",
    "ignore-case on bfcl",
)


@pytest.fixture
def runs(tmp_path: Path, samples: Path) -> Path:
    place = tmp_path / "runs"
    shutil.copytree(samples / "bfcl", place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def rule_verdicts(cli: Cli, runs: Path, *more: str | Path) -> Verdicts:
    rows = cli("items", runs, "--json", "--queue", "dataset", *more).objects
    return {(row["model"], row["id"]): row["rule"] for row in rows}


def changed_verdicts(before: Verdicts, after: Verdicts) -> set[tuple[str, str, str]]:
    words = {True: "fail -> pass", False: "pass -> fail"}
    return {(*key, words[bool(after[key])]) for key in before if before[key] is not after[key]}


def preview_rule(cli: Cli, runs: Path, rule: str) -> set[tuple[str, str, str]]:
    done = cli("rules", "try", runs, rule, "--json")
    assert done.code == 0, done.err
    return {(flip["model"], flip["id"], flip["flip"]) for flip in done.objects}


@pytest.mark.sweep
@pytest.mark.parametrize("rule", RULES)
def test_preview_lists_changed_verdicts(cli: Cli, runs: Path, tmp_path: Path, rule: str) -> None:
    before = rule_verdicts(cli, runs)
    preview = preview_rule(cli, runs, rule)
    assert cli("rules", "add", runs, rule).code == 0
    assert rule_verdicts(cli, runs) == before, "an accepted rule is not applied yet"
    assert cli("errata", "create", runs, "-o", tmp_path / "e.jsonl").code == 0
    assert (
        changed_verdicts(before, rule_verdicts(cli, runs, "--errata", tmp_path / "e.jsonl"))
        == preview
    )
    assert preview_rule(cli, runs, rule) == set(), "the rule is already applied"
    if rule == RULES[0]:
        assert preview == {
            (model, "live_simple_3-3-0", "fail -> pass") for model in ("maple-8b", "maple-8b-FC")
        }


def test_rule_can_change_pass_to_fail(cli: Cli, runs: Path) -> None:
    """The benchmark pairs parallel calls greedily, so a newly matching call can be taken from
    another golden call.
    """
    folder = runs / "greedy"
    document = {
        "name": "f",
        "description": "",
        "parameters": {"type": "dict", "required": ["a"], "properties": {}},
    }
    document["parameters"] |= {"properties": {"a": {"type": "integer"}}}
    question = {
        "id": "parallel_0",
        "question": [[{"role": "user", "content": "f"}]],
        "function": [document],
    }
    golden = {"id": "parallel_0", "ground_truth": [{"f": {"a": [1]}}, {"f": {"a": [2]}}]}
    result = {"id": "parallel_0", "result": [{"f": '{"a": 2}'}, {"f": '{"a": 1}'}]}
    name = "BFCL_v4_parallel"
    for place, record in (
        (f"result/maple-8b-FC/non_live/{name}_result.json", result),
        (f"data/{name}.json", question),
        (f"data/possible_answer/{name}.json", golden),
    ):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(json.dumps(record) + "\n")
    done = cli("rules", "try", folder, "accept 2 for 1", "--data", folder / "data", "--json")
    (flip,) = done.objects
    assert (flip["id"], flip["flip"]) == ("parallel_0", "pass -> fail")
    assert flip["difference"]
    assert "1 from pass to fail" in cli("rules", "try", folder, "accept 2 for 1").out


def test_rules_are_listed_and_removed(cli: Cli, runs: Path) -> None:
    assert cli("rules", "add", runs, RULES[0]).code == 0
    again = cli("rules", "add", runs, RULES[0])
    assert again.code == 1 and "already accepted" in again.err
    (row,) = cli("rules", "list", runs, "--json").objects
    assert (row["says"], row["who"], row["applied"]) == (RULES[0], "tester", False)
    assert RULES[0] in cli("rules", "list", runs).out
    assert cli("rules", "remove", runs, RULES[0]).code == 0
    assert cli("rules", "list", runs, "--json").objects == []
    assert cli("rules", "remove", runs, RULES[0]).code == 1


def test_invalid_rule_is_reported(cli: Cli, runs: Path) -> None:
    done = cli("rules", "try", runs, "anything goes")
    assert (
        done.code == 1
        and "invalid rule 'anything goes'" in done.err
        and "Traceback" not in done.err
    )


def test_damaged_rules_file_is_reported(cli: Cli, runs: Path) -> None:
    assert cli("rules", "add", runs, RULES[2]).code == 0
    file = runs / ".fcreview" / "rules.jsonl"
    for content in (b"\xff", b"{}\n", file.read_bytes().replace(b"number", b"unknown")):
        file.write_bytes(content)
        done = cli("rules", "list", runs)
        assert done.code == 1 and "rules.jsonl" in done.err
