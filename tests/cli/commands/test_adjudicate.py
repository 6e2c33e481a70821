"""`fcreview adjudicate` lists open disagreements without the names of the annotators."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # a dozen commands each

Cli = Callable[..., Any]
CALL = "turn:1/call:1"


def label_item(cli: Cli, run: Path, who: str, number: int, *options: str) -> None:
    done = cli("label", run, f"simple_python_{number}", *options, "--annotator", who)
    assert done.code == 0, done.err


def label_items(cli: Cli, run: Path, *reviews: tuple[str, int, dict[str, Any]]) -> None:
    """Record (annotator, item number, fields) with one command for each annotator."""
    for who in dict.fromkeys(who for who, *_ in reviews):
        rows = [
            {"id": f"simple_python_{number}"} | fields
            for name, number, fields in reviews
            if name == who
        ]
        file = run.parent / f"{who}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = cli("label", run, "--from", file, "--annotator", who)
        assert done.code == 0, done.err


def make_reviews(
    number: int, more: dict[str, Any] | None = None, **values: Any
) -> list[tuple[str, int, dict[str, Any]]]:
    return [(who, number, {"value": value} | (more or {})) for who, value in values.items()]


def list_disagreements(cli: Cli, run: Path, *arguments: str) -> list[tuple[str, str, str]]:
    found = cli("adjudicate", run, "--json", *arguments).objects
    return [(each["id"][-1], each["target"], each["criterion"]) for each in found]


@pytest.fixture
def disputed(cli: Cli, imported_run: Path) -> Path:
    """A run with disagreements on the verdict of item 1, the fault of 2, another criterion of 4
    and a call of 5.
    """
    label_items(
        cli,
        imported_run,
        *make_reviews(0, alice=True, bob=True, carol="unsure"),
        ("alice", 1, {"value": True, "note": "Rome will do", "tags": ["city"]}),
        *make_reviews(1, bob=False, carol=False, dora="unsure"),
        *make_reviews(2, alice=True, bob=True),
        ("alice", 2, {"fault": "golden"}),
        ("alice", 3, {"value": False, "fault": "model"}),
        ("bob", 3, {"value": False, "fault": "question"}),
        *make_reviews(4, {"criterion": "completeness"}, alice=0, bob=2),
        *make_reviews(5, {"target": CALL, "criterion": "equivalent"}, alice=True, bob=False),
    )
    return imported_run


@pytest.mark.sweep
def test_disagreements_are_listed(cli: Cli, disputed: Path) -> None:
    assert list_disagreements(cli, disputed) == [
        ("1", "item", "correct"),
        ("2", "item", "correct"),
        ("4", "item", "completeness"),
        ("5", "item", "correct"),
        ("5", CALL, "equivalent"),
    ]
    assert list_disagreements(cli, disputed, "--where", 'id:"simple_python_4"') == [
        ("4", "item", "completeness")
    ]


@pytest.mark.sweep
def test_json_has_answers_without_names(cli: Cli, disputed: Path) -> None:
    done = cli("adjudicate", disputed, "--json")
    first, fault = done.objects[:2]
    answers, automatic = first.pop("answers"), first.pop("automatic")
    assert first == {
        "run": 1,
        "model": "maple",
        "benchmark": "bfcl",
        "generation": "V4",
        "language": "en",
        "category": "simple_python",
        "id": "simple_python_1",
        "target": "item",
        "criterion": "correct",
        "majority": False,
        "golden_status": None,
    }
    assert [each["answer"] for each in answers] == ["A", "B", "C", "D"]
    values = [each["value"] for each in answers]
    assert sorted(map(str, values)) == ["False", "False", "True", "unsure"]
    (alice,) = [each for each in answers if each["value"] is True]
    assert alice | {"answer": ""} == {
        "answer": "",
        "value": True,
        "fault": None,
        "tags": ["city"],
        "note": "Rome will do",
        "golden_fix": None,
        "golden_status": None,
    }
    assert {each["source"]: each["value"] for each in automatic} == {
        "official": False,
        "rule": False,
    }
    assert {name for each in automatic for name in each} == {
        "source",
        "value",
        "by",
        "error_type",
        "rationale",
    }
    assert {each["fault"] for each in fault["answers"]} == {"golden", None}
    assert not any(name in done.out for name in ("alice", "bob", "carol", "dora"))
    assert cli("adjudicate", disputed, "--json").out == done.out


@pytest.mark.sweep
def test_answer_letters_do_not_identify_annotators(cli: Cli, two_imported_runs: Path) -> None:
    reviews = [
        each
        for model in ("maple", "birch")
        for number in range(6)
        for each in make_reviews(number, {"model": model}, alice=True, bob=False)
    ]
    label_items(cli, two_imported_runs, *reviews)
    found = cli("adjudicate", two_imported_runs, "--json").objects
    assert len(found) == 12
    assert len({each["answers"][0]["value"] for each in found}) == 2
    assert {
        each["model"]
        for each in cli("adjudicate", two_imported_runs, "--json", "--run", "birch").objects
    } == {"birch"}


@pytest.mark.sweep
def test_text_shows_answers_and_command_to_adjudicate(cli: Cli, disputed: Path) -> None:
    done = cli("adjudicate", disputed)
    assert done.code == 0
    assert done.err == "5 disagreements to resolve\n"
    first, second, _, _, last = done.out.strip().split("\n\n")
    for text in (
        "simple_python_1 · item · correct   (BFCL V4, maple, simple_python, run 1)",
        "Rome will do",
        'golden     get_weather(city="Oslo", unit="celsius")',
        'predicted  get_weather(city="Rome", unit="celsius")',
        'differs    city "Rome" (golden "Oslo")',
        "official   fail",
        "majority   fail (not applied)",
    ):
        assert text in first, text
    assert "pass, fault: golden" in second
    assert f"--target {CALL} --criterion equivalent --adjudicate" in last
    assert "majority   all pass; fault unresolved" in second
    assert "majority   none" in last
    assert not any(name in done.out for name in ("alice", "bob", "carol", "dora"))
    command = shlex.split(first.rsplit("\n", 1)[1])
    assert command[0] == "fcreview"
    assert cli(*command[1:-1], "pass").code == 0
    assert ("1", "item", "correct") not in list_disagreements(cli, disputed)


def test_printed_command_has_workspace_option(cli: Cli, disputed: Path) -> None:
    text = cli("adjudicate", disputed, "--workspace", disputed).out
    command = shlex.split(next(line for line in text.splitlines() if "--adjudicate" in line))
    assert command[command.index("--workspace") + 1] == str(disputed)


@pytest.mark.sweep
def test_adjudicated_item_returns_only_after_answer_changes(cli: Cli, disputed: Path) -> None:
    for number, options in ((1, ["--verdict", "fail"]), (2, ["--fault", "golden"])):
        label_item(cli, disputed, "judy", number, "--adjudicate", *options)
    assert [number for number, *_ in list_disagreements(cli, disputed)] == ["4", "5", "5"]
    label_item(
        cli,
        disputed,
        "judy",
        5,
        "--adjudicate",
        "--verdict",
        "pass",
        "--target",
        CALL,
        "--criterion",
        "equivalent",
    )
    assert list_disagreements(cli, disputed) == [("4", "item", "completeness")]
    results = disputed / "result/maple/non_live/BFCL_v4_simple_python_result.json"
    results.write_text(results.read_text().replace("Rome", "Bergen"))
    # the reviews are stale
    assert list_disagreements(cli, disputed) == [("4", "item", "completeness")]
    label_items(cli, disputed, *make_reviews(1, alice=False, bob=True))
    assert list_disagreements(cli, disputed)[0] == ("1", "item", "correct")


def test_no_disagreements_print_message(cli: Cli, imported_run: Path) -> None:
    label_items(cli, imported_run, *make_reviews(0, alice=True, bob="unsure"))
    for arguments in ([], ["--json"]):
        done = cli("adjudicate", imported_run, *arguments)
        assert (done.code, done.out, done.err) == (0, "", "no disagreements to resolve\n")


def test_hostile_answers_are_harmless(
    cli: Cli, imported_run: Path, hostile: str, raw: tuple[str, ...]
) -> None:
    label_item(
        cli, imported_run, "alice", 5, "--verdict", "fail", "--reason", hostile, "--tag", hostile
    )
    label_item(cli, imported_run, "bob", 5, "--verdict", "pass")
    for arguments in ([], ["--json"]):
        done = cli("adjudicate", imported_run, *arguments)
        assert done.code == 0
        assert "evil" in done.out
        assert not any(char in done.out for char in raw)
