"""Nobody sees a verdict of `fcreview judge` on an item before their own verdict, also without
`--blind`.

The walk of the blind screens opens the same workspace twice. Only the verdicts of the judge differ.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.rows import BUILTIN_QUEUES, View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.examples import only_long
from tests.tui import idle
from tests.tui.blind.planted_workspaces import (
    COUNT,
    ONE,
    OTHER,
    PlantedWorkspace,
    build_workspace,
    write_judgements,
)
from tests.tui.blind.test_blind_screens import check_same, list_filters, walk
from tests.tui.conftest import screen_lines

pytestmark = pytest.mark.slow
RATIONALES = re.compile("vellum-(one|other)")


def build(judged: PlantedWorkspace, place: Path) -> Workspace:
    """Build a workspace whose judge has the verdicts of `judged`. All else is equal."""
    workspace = build_workspace(ONE, place)
    write_judgements(judged, workspace)
    return workspace


@pytest.fixture(autouse=True)
def hide_slow_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen shows how long a slow disk takes, which differs from run to run."""
    monkeypatch.setattr("fcreview.tui.action_queue.SLOW_ACTION_DELAY", 60.0)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "part",
    [
        pytest.param("palette", marks=only_long),
        pytest.param("queue", marks=only_long),
        "items",
    ],
)
def test_no_screen_depends_on_the_judge(tmp_path: Path, part: str) -> None:
    screens = []
    for judged in (ONE, OTHER):
        workspace = build(judged, tmp_path / "work")
        screens.append(asyncio.run(walk(workspace, (160, 50), part, blind=False)))
    check_same(*screens)
    assert not any("vellum-other" in screen for screen in screens[1])


def query_store(workspace: Workspace) -> list[str]:
    answers = []
    with Store.open(workspace, "alice") as store:
        answers.append(repr([asdict(row) for row in store.fetch_runs()]))
        for queue in BUILTIN_QUEUES:
            rows = store.fetch_page(View(queue=queue), 0, 20)
            answers.append(f"{queue}: {[asdict(row) for row in rows]}")
        items = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 20)]
        answers += [repr(asdict(store.read_detail(item))) for item in items]
        answers += [_count(store, text) for text in list_filters() if text.endswith(":fail")]
        answers += [_count(store, f"judgement:{word}") for word in ("pass", "oak=fail", "any")]
        answers.append(repr(store.analysis.fetch_verdict_pairs(View())))
        answers.append(repr(store.fetch_clusters(View())))
        answers.append(repr(list(store.iter_label_batches(View()))))
        answers.append(
            repr([asdict(each) for batch in store.iter_details(View()) for each in batch])
        )
    return answers


def _count(store: Store, text: str) -> str:
    try:
        return f"{text}: {store.count_items(View(text))} {store.fetch_facets(View(text))}"
    except Exception as error:
        return f"{text}: {error}"


def test_no_answer_of_the_store_depends_on_the_judge(tmp_path: Path) -> None:
    workspace = build(ONE, tmp_path / "work")
    answers = [query_store(workspace)]
    write_judgements(OTHER, workspace)
    answers.append(query_store(workspace))
    check_same(*answers)
    assert not any("vellum-other" in answer for answer in answers[1])


@pytest.mark.parametrize("shows_judges", [False, True])
async def test_item_shows_the_judge_after_the_own_verdict(
    tmp_path: Path, shows_judges: bool
) -> None:
    workspace = build(OTHER, tmp_path / "work")
    session = Session(workspace, "alice")
    session.shows_judges = shows_judges
    app = FcreviewApp(session, View(queue="dataset"))
    async with app.run_test(size=(100, 200)) as pilot:

        async def press(*keys: str) -> str:
            for key in keys:
                await pilot.press(key)
                await idle.wait_for_workers(app)
            await pilot.pause()
            return "\n".join(screen_lines(app))

        before = await press("enter")
        assert ("vellum-other" in before) is shows_judges
        await press("p")
        after = await press("left_square_bracket")
        assert "judge oak (fcreview)" in after
        assert "vellum-other" in after


def test_verdicts_of_the_judge_differ(tmp_path: Path) -> None:
    """Otherwise the tests above would prove nothing."""

    def read(judged: PlantedWorkspace) -> list[Any]:
        with Store.open(build(judged, tmp_path / "work"), "alice", shows_judges=True) as store:
            items = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 20)]
            return [store.read_detail(item).judgements for item in items]

    one, other = read(ONE), read(OTHER)
    assert len(one) == COUNT
    assert all(before and before != after for before, after in zip(one, other, strict=True))
