"""Three annotators review the same targets blind, an adjudicator resolves the disagreements, and
labels are exported.

The test uses the real screens on runs of ACEBench and ComplexFuncBench: the samples, and sixty
items of published runs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import UNSURE
from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_ratings import split_by_blind_status
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.adjudication import AdjudicationScreen
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.session import Session
from tests.examples import only_long
from tests.exporters.test_round_trip import export_labels, import_labels, read_parquet_labels
from tests.sharing import Imports
from tests.tui import idle
from tests.tui.blind import reference_coefficients

pytestmark = pytest.mark.slow

PEOPLE = ("alice", "bob", "carol")
JUDGE = "judy"
SIZE = (80, 24)
KEYS = {"p": (True, None), "f": (False, None), "g": (True, "golden"), "u": (UNSURE, None)}
Answers = dict[tuple[int, str], dict[str, tuple[Any, str | None]]]
"""(item, target) -> annotator -> (value, fault)"""


@pytest.fixture(
    params=[
        "samples",
        pytest.param("bench", marks=[pytest.mark.bench, pytest.mark.sweep, only_long]),
    ]
)
def runs(request: pytest.FixtureRequest) -> list[Path]:
    place: Path = request.getfixturevalue(request.param)
    return [place / "acebench", place / "complexfuncbench"]


@pytest.fixture
def copy_runs(imports: Imports, runs: list[Path], tmp_path: Path) -> Callable[[str], Workspace]:
    """Return a function that makes a workspace of the runs without reviews."""
    return lambda name: imports.copy(runs, tmp_path / name)


def select_sixty_items(workspace: Workspace) -> list[int]:
    """Return thirty items of each benchmark, or all if there are fewer."""
    with Store.open(workspace) as store:
        found = [
            [
                row.item
                for row in store.fetch_page(
                    View(f"benchmark:{name} language:en", "random", seed=7), 0, 30
                )
            ]
            for name in ("acebench", "complexfuncbench")
        ]
    return [item for items in found for item in items]


def choose_key(who: str, item: int, target: str) -> str:
    """Annotators mostly agree on the answer of an item, and differ at random."""
    true = random.Random(f"{item} {target}").choice("pppffg")
    draw = random.Random(f"{who} {item} {target}")
    return true if draw.random() < 0.7 else draw.choice("pfgu")


async def wait(app: FcreviewApp, pilot: Any) -> None:
    for _ in range(2):
        await idle.wait_for_workers(app)
        await pilot.pause()


async def review_blind(
    workspace: Workspace, who: str, items: Sequence[int], answers: Answers
) -> None:
    """Review ACEBench items as a whole, and ComplexFuncBench items at the target under the
    cursor.
    """
    view = View(f"item:{','.join(map(str, items))}", "dataset")
    app = FcreviewApp(Session(workspace, who, blind=True), view)
    done: set[int] = set()
    async with app.run_test(size=SIZE) as pilot:

        async def press(key: str) -> None:
            await pilot.press(key)
            await wait(app, pilot)

        await wait(app, pilot)
        await press("enter")
        for _ in items:
            assert isinstance(app.screen, ItemScreen)
            shown = app.screen.item_reviewer.displayed
            item = shown.navigator.item
            assert item not in done
            done.add(item)
            part = shown.detail.run.benchmark == "complexfuncbench"
            if part:
                await press("T")
            key = choose_key(who, item, app.screen.target)
            answers.setdefault((item, app.screen.target), {})[who] = KEYS[key]
            await press(key)
            if app.screen.item_reviewer.displayed.navigator.item == item:
                await press("right_square_bracket")
    assert done == set(items)


async def adjudicate(workspace: Workspace) -> int:
    """Accept the first answer that is not unsure in each case.

    Returns the number of resolved cases.
    """
    app = FcreviewApp(Session(workspace, JUDGE), adjudicate=True)
    async with app.run_test(size=SIZE) as pilot:
        await wait(app, pilot)
        assert isinstance(app.screen, AdjudicationScreen)
        cases = app.screen.adjudicator.cases
        for _ in range(len(cases.cases)):
            if cases.are_all_resolved:
                break
            assert cases.current is not None
            sure = [
                at
                for at, each in enumerate(cases.current.disagreement.answers, 1)
                if each.verdict != UNSURE
            ]
            await pilot.press(str(sure[0]))
            await wait(app, pilot)
        assert cases.are_all_resolved
        return cases.n_resolved


def is_conflict(reviews: dict[str, tuple[Any, str | None]]) -> bool:
    sure = [each for each in reviews.values() if each[0] != UNSURE]
    return len({value for value, _ in sure}) > 1 or (
        bool(sure) and sure[0][0] is True and len({fault for _, fault in sure}) > 1
    )


def read_events(workspace: Workspace, who: str) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (workspace.reviews / f"{who}.jsonl").read_text().splitlines()
    ]


@pytest.mark.sweep
async def test_conflicts_are_resolved_and_labels_can_be_imported(
    copy_runs: Callable[[str], Workspace], tmp_path: Path
) -> None:
    workspace = copy_runs("here")
    items = select_sixty_items(workspace)
    answers: Answers = {}
    for who in PEOPLE:
        await review_blind(workspace, who, items, answers)
        reviews = read_events(workspace, who)
        assert len(reviews) == len(items)
        assert all(event["blind"] for event in reviews)

    conflicts = {place for place, reviews in answers.items() if is_conflict(reviews)}
    assert 3 <= len(conflicts) < len(answers)
    with Store.open(workspace) as store:
        found = {
            (each.item, each.disagreement.target)
            for each in store.analysis.fetch_disagreements(View())
        }
        ratings = store.analysis.fetch_ratings(View())
    assert conflicts <= found
    parts = {item for item, target in conflicts if target != "item"}
    assert all(target == "item" and item in parts for item, target in found - conflicts), (
        "these disagreements follow from parts"
    )
    check_coefficients(answers, ratings)

    assert await adjudicate(workspace) == len(found)
    rulings = read_events(workspace, JUDGE)
    assert {event["act"] for event in rulings} == {"adjudicate"}
    assert len(conflicts) <= len(rulings) <= len(found)
    with Store.open(workspace) as store:
        assert store.analysis.fetch_disagreements(View()) == []
        assert store.analysis.fetch_ratings(View()) == ratings

    before = export_labels(workspace, tmp_path / "before.jsonl")
    settled = [label for label in before if label["decided_by"] == "adjudication"]
    assert len(settled) >= len(conflicts)
    export_labels(workspace, tmp_path / "labels.parquet", "parquet")
    assert list(read_parquet_labels(tmp_path / "labels.parquet")) == before
    for name in ("jsonl", "labelstudio"):
        export_labels(workspace, tmp_path / name, name)
        there = copy_runs(f"there-{name}")
        for who in (*PEOPLE, JUDGE):
            assert import_labels(there, name, tmp_path / name, who).written
        assert export_labels(there, tmp_path / f"after-{name}.jsonl") == before


def check_coefficients(answers: Answers, ratings: Sequence[Any]) -> None:
    """Compare every coefficient with other libraries to 1e-9, with and without the fault."""
    pools = split_by_blind_status(ratings)
    assert list(pools) == ["blind"]
    ours = {
        (
            each.criterion,
            " ".join([each.metric, *(each.annotators if each.metric == "cohen" else ())]),
        ): each
        for each in compute_agreement(pools["blind"], ["overall"], "blind")
        if each.metric == "cohen" or each.annotators == PEOPLE
    }
    for criterion, with_fault in (("correct", False), ("correct+fault", True)):
        labels = {
            place: {
                who: f"{value}:{fault}" if with_fault and fault else str(value)
                for who, (value, fault) in reviews.items()
                if value != UNSURE
            }
            for place, reviews in answers.items()
        }
        labels = {place: reviews for place, reviews in labels.items() if reviews}
        theirs = reference_coefficients.calculate_coefficients(
            labels, PEOPLE, 3 if with_fault else 2
        )
        assert len(theirs) == 7
        for name, value in theirs.items():
            figure = ours[criterion, name]
            assert figure.value is not None
            assert abs(figure.value - value) < 1e-9, (criterion, name)
