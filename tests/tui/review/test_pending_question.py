"""Verdict keys apply to the pending question, and the queue of judged items leads to the next
one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Verdict
from fcreview.model.review import CORRECT
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.review.recorder import (
    PendingQuestion,
    describe_automatic_answer,
    find_pending_question,
)
from fcreview.tui.session import Session
from tests.store.factory import make_item, write_run

CALL, ARGUMENT = "turn:1/call:1", "turn:1/call:1/arg:city"
JUDGED = [
    Verdict("judge", 2, target="response", criterion="completeness", by="gpt"),
    Verdict("judge", True, target=CALL, criterion="equivalent", by="gpt"),
    Verdict("judge", True, target=ARGUMENT, criterion="hallucinated", by="gpt"),
]


def question_on(target: str, *verdicts: Verdict) -> PendingQuestion:
    return find_pending_question(make_item(0, verdicts=list(verdicts)), target)


def test_judge_criterion_precedes_rule_criterion() -> None:
    rule = Verdict("rule", True, target=CALL, criterion=CORRECT)
    assert (
        question_on(
            CALL, rule, Verdict("judge", False, target=CALL, criterion="equivalent")
        ).criterion
        == "equivalent"
    )
    assert question_on(CALL, rule).criterion == CORRECT == question_on(CALL).criterion
    assert (
        question_on("item", Verdict("judge", True, target="item", criterion="equivalent")).criterion
        == CORRECT
    )
    assert (
        question_on(CALL, Verdict("judge", True, target=CALL, criterion="name_matches")).criterion
        == CORRECT
    )


def test_pass_means_not_hallucinated_and_labels_can_only_be_confirmed() -> None:
    hallucinated = question_on(ARGUMENT, *JUDGED)
    assert (
        hallucinated.value_to_store(True),
        hallucinated.value_to_store(False),
        hallucinated.value_to_store("unsure"),
    ) == (
        False,
        True,
        "unsure",
    )
    labels = question_on(
        "response", Verdict("judge", ["greeting"], target="response", criterion="dialog_act")
    )
    assert (labels.value_to_store(True), labels.value_to_store(False)) == (["greeting"], None)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    plain = [Verdict("official", False), Verdict("rule", False)]
    items = [
        make_item(0, verdicts=[*plain, *JUDGED]),
        make_item(1),
        make_item(2, verdicts=[*plain, JUDGED[1]]),
    ]
    result: Workspace = find_workspace(tmp_path)
    import_runs(result, [write_run(tmp_path / "run", [{}])], lambda _: iter(items), n_workers=1)
    return result


@pytest.fixture
def app(workspace: Workspace) -> Iterator[FcreviewApp]:
    with Store.open(workspace, "alice") as store:
        session = Session(workspace, "alice", store)
        yield FcreviewApp(session, View(queue="judged"), "simple_0")


def recorded_reviews(workspace: Workspace) -> list[tuple[Any, ...]]:
    lines = [
        json.loads(line) for line in (workspace.reviews / "alice.jsonl").read_text().splitlines()
    ]
    return [
        (e["key"]["id"], e["target"], e["criterion"], e["verdict"], bool(e.get("overrules")))
        for e in lines
    ]


def test_automatic_answers_have_the_words_of_their_scale() -> None:
    item = make_item(0, verdicts=[Verdict("official", False), *JUDGED])
    assert describe_automatic_answer(item, CALL, "equivalent") == "judge: equivalent"
    assert describe_automatic_answer(item, ARGUMENT, "hallucinated") == "judge: hallucinated"
    assert describe_automatic_answer(item, "response", "completeness") == "judge: completeness 2"
    assert describe_automatic_answer(item, "item", CORRECT) == ""
    assert describe_automatic_answer(item, "item", "equivalent") == ""
    clean = make_item(0, verdicts=[Verdict("judge", False, target=CALL, criterion="hallucinated")])
    assert describe_automatic_answer(clean, CALL, "hallucinated") == "judge: not hallucinated"


async def test_digits_give_the_answers_that_the_key_line_names(
    app: FcreviewApp, workspace: Workspace, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(80, 30)) as pilot:
        lines = await wait_for_screen(pilot)
        assert "1 equivalent" in lines[-1] and "2 not equivalent" in lines[-1]
        assert lines[1].rstrip().endswith("judge: equivalent")
        await pilot.press("2")
        lines = await wait_for_screen(pilot)
        assert "1 hallucinated" in lines[-1] and "2 not hallucinated" in lines[-1]
        assert lines[1].rstrip().endswith("judge: hallucinated")
        assert "O reasons" in lines[-1], "digits are answers, so that a key opens the reasons"
        await pilot.press("3")
        assert "answers: 1 hallucinated" in (await wait_for_screen(pilot))[-2]
        await pilot.press("1")
        lines = await wait_for_screen(pilot)
        assert "0 1 2 on: response completeness" in lines[-2]
        assert lines[1].rstrip().endswith("judge: completeness 2")
    assert recorded_reviews(workspace) == [
        ("simple_0", CALL, "equivalent", False, True),
        ("simple_0", ARGUMENT, "hallucinated", True, False),
    ]


async def test_blind_review_names_no_answer_of_the_judge(
    workspace: Workspace, wait_for_screen: Any
) -> None:
    with Store.open(workspace, "alice", blind=True) as store:
        session = Session(workspace, "alice", store, blind=True)
        app = FcreviewApp(session, View(), "simple_0")
        async with app.run_test(size=(120, 30)) as pilot:
            await wait_for_screen(pilot)
            await pilot.press("full_stop", "T")
            lines = await wait_for_screen(pilot)
            assert "verdict on: turn 1 call 1" in lines[-2]
            assert "judge" not in lines[1] and "equivalent" not in lines[1] + lines[-2] + lines[-1]


@pytest.mark.sweep
async def test_judged_queue_moves_from_question_to_question(
    app: FcreviewApp, workspace: Workspace, wait_for_screen: Any
) -> None:
    async with app.run_test(size=(240, 30)) as pilot:
        first = await wait_for_screen(pilot)
        assert "simple_0   1/2" in first[1] and "verdict on: turn 1 call 1 equivalent" in first[-2]
        await pilot.press("f")
        second = await wait_for_screen(pilot)
        assert "overrides judge gpt" in second[-2] and "city hallucinated" in second[-2]
        assert any("get_weather" in line and "you ✗" in line for line in second)
        await pilot.press("p")
        third = await wait_for_screen(pilot)
        assert "simple_0   1/2" in third[1] and any("you no" in line for line in third)
        await pilot.press("2")
        fourth = await wait_for_screen(pilot)
        assert "simple_2   2/2" in fourth[1] and "turn 1 call 1 equivalent" in fourth[-2]
        await pilot.press("p")
        last = await wait_for_screen(pilot)
        assert "queue complete" in last[-2] and "you ◐" in last[1]
        await pilot.press("q")
        assert any("▌  simple_2  ◐ " in line for line in await wait_for_screen(pilot))
    assert recorded_reviews(workspace) == [
        ("simple_0", CALL, "equivalent", False, True),
        ("simple_0", ARGUMENT, "hallucinated", False, True),
        ("simple_0", "response", "completeness", 2, False),
        ("simple_2", CALL, "equivalent", True, False),
    ]
