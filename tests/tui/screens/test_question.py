"""One question with the answers of all runs, on the real screens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fcreview.matching.align import align_calls
from fcreview.model.item import ABSENT, Call, Extra, Item, Run, StateDifference, Verdict
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.review.question import describe_state_difference, read_question
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.question import QuestionScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from tests.tui.conftest import screen_lines
from tests.tui.idle import wait_for_workers
from tests.tui.screens.conftest import make_simple_item
from tests.tui.screens.item_host import KeyPresser
from tests.tui.test_key_guard import Clock, GuardedApp

CITIES = {"ash": "Ulm", "birch": "Hangzhou", "cedar": "Ulm", "dogwood": "Ulm"}
"""The predicted city of each model."""
N_QUESTIONS = 3


def make_answer(number: int, city: str, file: str) -> Item:
    """Return an item whose prediction is this city. The order of the arguments does not matter."""
    item = make_simple_item(number)
    arguments = {"city": city, "unit": "C"} if city == "Ulm" else {"unit": "C", "city": city}
    item.predicted[0] = Call("predicted", "get_weather", arguments=arguments)
    item.pairs = align_calls(item.golden, item.predicted)
    item.official = item.rule = city == "Hangzhou"
    item.verdicts = [Verdict("official", item.official)]
    item.prediction_hash, item.file, item.line, item.length = city, file, 1, 3
    return item


def import_answers(place: Path, make_items: Any) -> Workspace:
    """Import a run for each model. `make_items(model, file)` returns its items."""
    workspace = find_workspace(place, place)
    plans = []
    for model in CITIES:
        file = place / model / "result.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("{}\n")
        plans.append(RunPlan(Run("bfcl", "V4", "en", model, str(file.parent)), [file]))

    def read(plan: RunPlan) -> Any:
        yield from make_items(plan.run.model, str(plan.results[0]))

    import_runs(workspace, plans, read, n_workers=1)
    return workspace


@pytest.fixture
def four_runs(tmp_path: Path) -> Workspace:
    """Return four runs of the same three questions."""
    return import_answers(
        tmp_path,
        lambda model, file: [make_answer(n, CITIES[model], file) for n in range(N_QUESTIONS)],
    )


@asynccontextmanager
async def open_app(
    workspace: Workspace, *, size: tuple[int, int] = (80, 24), blind: bool = False
) -> AsyncIterator[tuple[FcreviewApp, KeyPresser]]:
    session = Session(workspace, "alice", blind=blind)
    session.key_guard_time = 0
    session.opens_overview = False
    app = FcreviewApp(session, View(queue="dataset"))
    async with app.run_test(size=size) as pilot:
        keys = KeyPresser(pilot)
        for _ in range(3):
            await keys.wait()
        yield app, keys


def read_reviews(workspace: Workspace) -> list[dict[str, Any]]:
    path = workspace.reviews / "alice.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def question_screen(app: FcreviewApp) -> QuestionScreen:
    assert isinstance(app.screen, QuestionScreen), app.screen
    return app.screen


def shown_text(app: FcreviewApp) -> str:
    return "\n".join(" ".join(line.split()) for line in screen_lines(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 32), (160, 45)])
async def test_question_shows_golden_answer_and_groups_of_equal_answers(
    four_runs: Workspace, size: tuple[int, int]
) -> None:
    async with open_app(four_runs, size=size) as (app, keys):
        await keys.press("m")
        text = shown_text(app)
    assert 'golden get_weather(unit="C", city="Hangzhou" or "杭州")' in text.replace("│", "")
    assert "3 of 4 runs fail · 2 different answers" in text
    assert "3 runs FAIL ash, cedar, dogwood" in text
    assert "1 run PASS birch" in text
    assert text.index("3 runs") < text.index("1 run ")
    assert '"Ulm"' in text and '1 equal: unit="C"' in text
    assert '= get_weather(unit="C", city="Hangzhou")' in text, "the accepted call"
    assert "question 1 / 3" in text


async def test_one_verdict_reviews_all_runs_of_a_group_and_one_undo_removes_it(
    four_runs: Workspace,
) -> None:
    async with open_app(four_runs) as (app, keys):
        await keys.press("m", "g")
        reviews = read_reviews(four_runs)
        assert sorted(review["key"]["model"] for review in reviews) == ["ash", "cedar", "dogwood"]
        assert {review["verdict"] for review in reviews} == {True}
        assert {review["fault"] for review in reviews} == {"golden"}
        assert len({review["bulk"] for review in reviews}) == 1
        assert "saved: pass, fault: golden for 3 runs · z undo" in shown_text(app)
        assert "you ✓" in shown_text(app)

        # The cursor has moved to the answer without a verdict, whose single run is no bulk review.
        await keys.press("p")
        assert read_reviews(four_runs)[3]["key"]["model"] == "birch"
        assert not read_reviews(four_runs)[3].get("bulk")

        await keys.press("z", "z")
        assert len(read_reviews(four_runs)) == 8, "four retractions"
        assert "you ✓" not in shown_text(app)


async def test_key_shows_the_next_question_not_the_next_run(four_runs: Workspace) -> None:
    async with open_app(four_runs) as (app, keys):
        await keys.press("m", "right_square_bracket")
        assert "Weather in city 1?" in shown_text(app)
        await keys.press("right_square_bracket", "right_square_bracket")
        assert "Weather in city 2?" in shown_text(app)
        assert "this is the last question" in shown_text(app)
        await keys.press("left_square_bracket")
        assert "question 2 / 3" in shown_text(app)
        await keys.press("escape")
        assert isinstance(app.screen, QueueScreen)
        assert app.screen.list.row_at(app.screen.list.cursor).id == "simple_1"  # type: ignore[union-attr]


async def test_enter_opens_the_item_of_the_group_and_back_shows_its_review(
    four_runs: Workspace,
) -> None:
    async with open_app(four_runs) as (app, keys):
        await keys.press("m", "end", "enter")
        assert isinstance(app.screen, ItemScreen)
        assert app.screen.cursor.detail.run.model == "birch"
        await keys.press("p", "escape")
        assert "1 run PASS birch you ✓" in shown_text(app)


async def test_item_below_shows_a_review_of_its_group(four_runs: Workspace) -> None:
    async with open_app(four_runs) as (app, keys):
        await keys.press("enter", "m", "f", "escape")
        assert isinstance(app.screen, ItemScreen)
        assert app.screen.cursor.detail.row.you is False
        await keys.press("m", "right_square_bracket", "escape")
        assert app.screen.cursor.detail.row.id == "simple_1"


async def test_verdict_needs_a_question_that_was_on_screen(four_runs: Workspace) -> None:
    session, clock = Session(four_runs, "alice"), Clock()
    session.key_guard_time, session.clock, session.opens_overview = 0.2, clock, False
    app = FcreviewApp(session, View(queue="dataset"))
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(3):
            await wait_for_workers(app)
            await pilot.pause()
        guarded = GuardedApp(app, pilot, clock)
        await guarded.press("m", after=1)
        await guarded.press("f", after=0.19)
        assert "f ignored: the item had just appeared" in shown_text(app)
        await guarded.press("right_square_bracket", after=1)
        await guarded.press("f", after=0.1)
        assert read_reviews(four_runs) == []

        await guarded.press("f", after=0.2)
        await guarded.press("f", after=0.1)
        reviews = read_reviews(four_runs)
        assert {review["key"]["id"] for review in reviews} == {"simple_1"}
        assert len(reviews) == 3, "the next answer had just got the cursor"


async def test_blind_question_needs_an_own_verdict(four_runs: Workspace) -> None:
    async with open_app(four_runs, blind=True) as (app, keys):
        await keys.press("m")
        assert "Other runs are hidden until you review this question" in shown_text(app)
        await keys.press("enter", "f", "left_square_bracket", "m")
        text = shown_text(app)
        assert "3 runs" in text and "3 of 4 runs fail" not in text
        assert "1 run hidden birch" in text
        await keys.press("f")
        assert "In blind mode, press enter and review each run" in shown_text(app)
        assert len(read_reviews(four_runs)) == 1

        await keys.press("right_square_bracket")
        text = shown_text(app)
        assert "Other runs are hidden until you review this question" in text
        assert "Ulm" not in text and "birch" not in text


async def test_runs_with_equal_calls_and_different_verdicts_get_no_common_verdict(
    tmp_path: Path,
) -> None:
    def make_items(model: str, file: str) -> list[Item]:
        item = make_answer(0, "Ulm", file)
        item.official = item.rule = model == "ash"
        return [item]

    workspace = import_answers(tmp_path, make_items)
    async with open_app(workspace) as (app, keys):
        await keys.press("m", "f")
        assert "4 runs ✓ 1 ✗ 3" in shown_text(app)
        assert "equal calls but different verdicts" in shown_text(app)
    assert read_reviews(workspace) == []


async def test_question_of_one_run_says_so(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app([{}])
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("m")
        assert "No other run has this question" in "\n".join(await wait_for_screen(pilot))
        await pilot.press("enter")
        await wait_for_screen(pilot)
        await pilot.press("m")
        assert "No other run has this question" in "\n".join(await wait_for_screen(pilot))


async def test_comparison_and_clusters_open_the_question_under_the_cursor(
    four_runs: Workspace,
) -> None:
    async with open_app(four_runs, size=(120, 32)) as (app, keys):
        await keys.press("c", "m")
        assert "question 1 / 3" in shown_text(app)
        question_screen(app)
        await keys.press("escape", "escape", "r")
        await keys.press("j", "equals_sign", "j", "equals_sign", "j", "m")
        assert "Weather in city 1?" in shown_text(app)
        await keys.press("escape", "enter", "m")
        assert "Weather in city 1?" in shown_text(app)


def test_replies_divide_a_group_only_where_they_are_judged(tmp_path: Path) -> None:
    def make_items(model: str, file: str) -> list[Item]:
        items = []
        for number in range(2):
            item = make_answer(number, "Ulm", file)
            item.messages[-1].content = f"Weather in city {number}?"
            item.messages.append(
                type(item.messages[0])(0, 0, role="assistant", content=f"By {model}.")
            )
            if number == 1:
                item.extra = Extra(golden_reply="It is warm.")
            items.append(item)
        return items

    workspace = import_answers(tmp_path, make_items)
    with Store.open(workspace, "alice") as store:
        groups = []
        for name in ("simple_0", "simple_1"):
            groups.append(read_question(store, store.find_items(name)[0]).groups)
    assert [len(each) for each in groups] == [1, 4]


async def test_difference_of_the_final_state_is_said_in_words(tmp_path: Path) -> None:
    def make_items(model: str, file: str) -> list[Item]:
        item = make_answer(0, "Ulm", file)
        if model == "ash":
            differences = {"order.status": StateDifference("cancelled", "open")}
            item.extra = Extra(state_differences=differences)
            item.predicted[0].arguments = {"city": "Ulm", "unit": "F"}
        return [item]

    workspace = import_answers(tmp_path, make_items)
    async with open_app(workspace, size=(120, 40)) as (app, keys):
        await keys.press("m")
        text = shown_text(app)
    assert "final state: 1 value differs from the golden state" in text
    assert "order.status is open instead of cancelled" in text


async def test_failed_criterion_is_said_in_words(tmp_path: Path) -> None:
    def make_items(model: str, file: str) -> list[Item]:
        item = make_answer(0, "Ulm" if model == "ash" else "Bonn", file)
        item.messages[-1].content = "First line.\n\nThird line."
        item.verdicts.append(Verdict("official", False, criterion="db"))
        return [item]

    workspace = import_answers(tmp_path, make_items)
    async with open_app(workspace, size=(120, 40)) as (app, keys):
        await keys.press("m")
        text = shown_text(app)
    assert "final database differs from the expected one db" in text
    first, second = text.index("First line."), text.index("Third line.")
    assert text[first:second].count("\n") == 1, "blank lines of the question are left out"


async def test_answers_without_known_golden_answer_are_compared_with_nothing(
    tmp_path: Path,
) -> None:
    """Without the dataset, BFCL's passing items have no golden answer."""

    def make_items(model: str, file: str) -> list[Item]:
        item = make_answer(0, CITIES[model], file)
        if CITIES[model] == "Ulm":
            item.golden = []
            item.pairs = align_calls([], item.predicted)
            item.golden_hash = ""
        return [item]

    workspace = import_answers(tmp_path, make_items)
    async with open_app(workspace, size=(120, 40)) as (app, keys):
        await keys.press("m")
        text = shown_text(app)
    assert "the files of these runs have no golden answer" in text
    assert 'get_weather(city="Ulm", unit="C")' in text
    assert "extra" not in text


def test_missing_and_unexpected_state_is_named() -> None:
    assert describe_state_difference("cart", StateDifference([1], ABSENT)) == (
        "cart does not exist; golden [1]"
    )
    assert describe_state_difference("cart", StateDifference(ABSENT, [])) == (
        "cart is []; the golden state has no such value"
    )
