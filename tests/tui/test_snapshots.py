"""Pictures of the main screens. They test the layout only.

After an intended change: `pytest tests/tui/test_snapshots.py --snapshot-update`. Look at the
pictures before you commit them. A failed comparison writes `snapshot_report.html` with both
pictures.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fcreview.importers.registry import discover, read_items
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import View
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.tui import idle

Compare = Callable[..., bool]
pytestmark = pytest.mark.slow
NARROW, WIDE = (80, 24), (160, 50)
BENCHMARKS = ("bfcl", "complexfuncbench")
KEYS = {"queue": [], "item": ["enter"], "clusters": ["c"], "help": ["question_mark"]}
"""Keys that open the screen from the queue."""


@pytest.fixture(scope="module", params=BENCHMARKS)
def workspace(
    request: pytest.FixtureRequest, samples: Path, tmp_path_factory: pytest.TempPathFactory
) -> Workspace:
    """Return a workspace with the sample runs of a benchmark."""
    place = tmp_path_factory.mktemp("snapshots") / request.param
    shutil.copytree(samples / request.param, place)
    workspace = find_workspace(place, place)
    import_runs(workspace, discover([place]).plans, read_items, n_workers=1)
    return workspace


def make_queue_app(workspace: Workspace) -> FcreviewApp:
    return FcreviewApp(Session(workspace, "alice"), View())


async def press_and_wait(pilot: Pilot[None], screen: str) -> None:
    """Press the keys of a screen, each when the app has done everything that went before.

    A picture must not show what the app is waiting for.
    """
    for key in ("", *KEYS[screen]):
        if key:
            await pilot.press(key)
        await wait_for_settled_screen(pilot)


async def wait_for_settled_screen(pilot: Pilot[None]) -> None:
    app = pilot.app
    assert isinstance(app, FcreviewApp)
    # The end of one task can start another one.
    for _ in range(3):
        await app.session.actions.wait_until_idle()
        await idle.wait_for_workers(app)
        await pilot.pause()


@pytest.mark.parametrize("screen", KEYS)
def test_at_80_columns(snap_compare: Compare, workspace: Workspace, screen: str) -> None:
    assert snap_compare(
        make_queue_app(workspace),
        run_before=partial(press_and_wait, screen=screen),
        terminal_size=NARROW,
    )


@pytest.mark.sweep
@pytest.mark.parametrize("screen", ["queue", "item"])
def test_at_160_columns(snap_compare: Compare, workspace: Workspace, screen: str) -> None:
    assert snap_compare(
        make_queue_app(workspace),
        run_before=partial(press_and_wait, screen=screen),
        terminal_size=WIDE,
    )


def test_pictures_show_no_local_paths(tmp_path: Path, samples: Path) -> None:
    pictures = list((Path(__file__).parent / "__snapshots__").rglob("*.svg"))
    assert pictures
    places = [
        str(place)
        for place in (samples.parent, Path.home(), *tmp_path.parents)
        if len(place.parts) > 1
    ]
    found = [
        (picture.name, place)
        for picture in pictures
        for place in places
        if place in picture.read_text("utf-8")
    ]
    assert not found
