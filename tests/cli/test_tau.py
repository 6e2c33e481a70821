"""Items of tau2: the sections of their task, their endings, messages of unknown roles, and
figures without rewards.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.store import Store
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text
from tests.importers.tau.test_damage import Result, make_run, write_file
from tests.sharing import Imports

Cli = Callable[..., Any]

TASK_PARTS = {
    "purpose": "Testing that the agent asks for the date",
    "relevant policies": "Rooms are booked for one night",
    "user scenario": "You are in a hurry",
    "policy": "Be brief.",
    "ticket": "Ticket 4711",
    "initial state": "room_1",
    "assertions": "The agent is polite",
    "environment assertions": "assert_room(number=1) is True",
    "texts to communicate": "1250",
    "reward basis": "COMMUNICATE",
}
HIDDEN_TITLES = ("assertions", "environment assertions", "texts to communicate")


def make_run_with_task() -> Result:
    run = make_run()
    task = run["tasks"][0]
    task["description"] = {
        "purpose": TASK_PARTS["purpose"],
        "relevant_policies": TASK_PARTS["relevant policies"],
        "notes": None,
    }
    task["user_scenario"] = {
        "persona": TASK_PARTS["user scenario"],
        "instructions": {"reason_for_call": "A room."},
    }
    task["ticket"] = TASK_PARTS["ticket"]
    task["initial_state"] = {
        "initialization_data": {"rooms": {"room_1": "free"}},
        "message_history": None,
    }
    task["evaluation_criteria"]["nl_assertions"] = [TASK_PARTS["assertions"]]
    task["evaluation_criteria"]["env_assertions"] = [
        {
            "env_type": "user",
            "func_name": "assert_room",
            "arguments": {"number": 1},
            "assert_value": True,
        }
    ]
    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_file(tmp_path, make_run_with_task())


def test_show_prints_every_section(path: Path, cli: Cli) -> None:
    shown = cli("show", path, "t0_trial_0", "--full").out
    for title, text in TASK_PARTS.items():
        assert f"\n  {title}\n" in shown
        assert text in shown


def test_page_contains_every_section(path: Path, cli: Cli, tmp_path: Path) -> None:
    assert cli("show", path, "t0_trial_0", "--html", tmp_path / "item.html").code == 0
    page = (tmp_path / "item.html").read_text()
    assert all(text in page for text in TASK_PARTS.values())


def test_task_is_shown_only_once(path: Path, cli: Cli) -> None:
    for options in ((), ("--full",)):
        assert cli("show", path, "t0_trial_0", *options).out.count(TASK_PARTS["user scenario"]) == 1


@pytest.mark.parametrize("title", [title for title in TASK_PARTS if title != "reward basis"])
def test_text_filter_finds_sections(path: Path, cli: Cli, title: str) -> None:
    text = TASK_PARTS[title]
    found = cli("items", path, "--where", f'text:"{text}"', "--json").objects
    assert "t0_trial_0" in [row["id"] for row in found]


def test_sections_are_a_view_of_sql(path: Path, cli: Cli) -> None:
    statement = "SELECT text FROM task_sections WHERE title = 'purpose'"
    assert cli("sql", path, statement, "--json").objects == [{"text": TASK_PARTS["purpose"]}]


def list_section_titles(path: Path, imports: Imports, *, blind: bool, **options: Any) -> list[str]:
    """Return the lines of the item's document that are titles of sections."""
    with Store.open(imports.of([path]), "alice", blind=blind) as store:
        (number,) = store.find_items("t0_trial_0", None)
        blocks = build_document(
            store.read_detail(number), "alice", DisplayOptions(hide_verdicts=blind, **options)
        )
    lines = [plain_text(line).strip() for block in blocks for line in block.lines(79)]
    return [title for title in TASK_PARTS if title in lines]


def test_blind_review_hides_only_sections_that_reveal_the_answer(
    path: Path, imports: Imports
) -> None:
    assert list_section_titles(path, imports, blind=False) == list(TASK_PARTS)
    shown = list_section_titles(path, imports, blind=True)
    assert shown == [title for title in TASK_PARTS if title not in HIDDEN_TITLES]


def test_task_is_folded_on_the_screen_and_found_by_a_search(path: Path, imports: Imports) -> None:
    assert list_section_titles(path, imports, blind=False, frames=True) == []
    assert list_section_titles(
        path, imports, blind=False, frames=True, folds={"task": False}
    ) == list(TASK_PARTS)
    assert list_section_titles(path, imports, blind=False, frames=True, unfold_all=True) == list(
        TASK_PARTS
    )


def test_corrected_equals_official_without_reviews(tmp_path: Path, cli: Cli) -> None:
    run = make_run(has_text=False)
    run["simulations"][0]["reward_info"] = None
    path = write_file(tmp_path, run)
    metrics = cli("report", path, "--json").objects
    average = next(metric for metric in metrics if metric.get("name") == "average reward")
    assert average["corrected"] == average["official"] == 0.0
    (row,) = cli("runs", path, "--json").objects
    assert (row["effective_known"], row["official_known"]) == (2, 2)


def test_unknown_role_is_shown_in_the_conversation(tmp_path: Path, cli: Cli) -> None:
    run = make_run()
    run["simulations"][0]["messages"].insert(4, {"role": "developer", "content": "Be kind."})
    run["simulations"][0]["messages"].insert(0, {"role": "moderator", "content": "Begin."})
    path = write_file(tmp_path, run)
    shown = cli("show", path, "t0_trial_0").out
    assert "developer: Be kind." in shown and "moderator: Begin." in shown
    assert "A room, please." in shown


def test_endings_are_a_filter_and_a_json_field(tmp_path: Path, cli: Cli) -> None:
    run = make_run()
    run["simulations"][1]["termination_reason"] = "max_steps"
    path = write_file(tmp_path, run)
    assert [
        row["id"] for row in cli("items", path, "--where", "ended:max_steps", "--json").objects
    ] == ["t1_trial_0"]
    assert [row["ended"] for row in cli("items", path, "--json").objects] == [
        "user_stop",
        "max_steps",
        "user_stop",
    ]
    assert cli(
        "sql", path, "SELECT count(*) AS n FROM items WHERE ended = 'user_stop'", "--json"
    ).objects == [{"n": 2}]
    refused = cli("items", path, "--where", "ended:max_steps", "--blind")
    assert refused.code != 0 or not refused.out


def test_contradictory_verdicts_of_one_annotator_are_reported(
    samples: Path, tmp_path: Path, cli: Cli
) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(samples / "tau", runs)
    label = ("label", str(runs), "renew_loan_trial_0", "--run", "2", "--annotator", "ann")
    assert "contradicts" not in cli(*label, "--criterion", "db", "--verdict", "fail").err
    assert "contradicts your verdicts on its parts" in cli(*label, "--verdict", "pass").err

    message = "1 item with contradictory verdicts of one annotator"
    assert message in cli("report", str(runs), "--run", "2", "--annotator", "bob").err
    assert message not in cli("report", str(runs), "--run", "1", "--annotator", "bob").err
    checks = {check["run"]: check for check in cli("check", str(runs), "--json").objects}
    lines = {number: find_contradictions(check) for number, check in checks.items()}
    assert (lines[1]["state"], lines[2]["state"], lines[2]["count"]) == ("unknown", "problem", 1)
    listed = cli("items", str(runs), "--where", lines[2]["where"], "--json").objects
    assert [item["id"] for item in listed] == ["renew_loan_trial_0"]

    cli(*label, "--verdict", "fail")
    assert message not in cli("report", str(runs), "--run", "2", "--annotator", "bob").err
    check = cli("check", str(runs), "--run", "2", "--json").objects[0]
    assert find_contradictions(check)["state"] == "ok"


def find_contradictions(check: dict[str, Any]) -> dict[str, Any]:
    return next(line for line in check["lines"] if line["name"] == "contradictions")
