"""Apps on stores of handmade items, and the text of their screens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui import idle
from tests.tui.parsed_styles import parse_styles_once
from tests.tui.plain_terminal import set_plain_terminal

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with set_plain_terminal(monkeypatch):
        yield


@pytest.fixture(autouse=True)
def wait_until_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    idle.replace_pauses(monkeypatch)
    parse_styles_once(monkeypatch)


MakeApp = Callable[..., FcreviewApp]


@pytest.fixture
def make_app(imported: Imported, tmp_path: Path) -> Iterator[MakeApp]:
    """Return a function that makes an app on a real store.

    Keywords go to FcreviewApp; `runs` are rows by model.
    """
    stores: list[Store] = []

    def make(
        rows: Rows | None = None, *, runs: dict[str, Rows] | None = None, **options: Any
    ) -> FcreviewApp:
        workspace = imported(tmp_path / "work", runs or {"maple-8b": rows or []})
        store = Store.open(workspace, "alice", blind=options.get("blind", False))
        stores.append(store)
        reviewer = Reviewer(store, Journal(workspace, "alice"))
        session = Session(None, "alice", store, reviewer, blind=options.pop("blind", False))
        return FcreviewApp(session, **options)

    make.stores = stores  # type: ignore[attr-defined]
    yield make
    for store in stores:
        store.close()


def screen_lines(app: App[Any]) -> list[str]:
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


@pytest.fixture
def get_screen_lines() -> Callable[[App[Any]], list[str]]:
    return screen_lines


@pytest.fixture
def wait_for_screen() -> Callable[[Pilot[Any]], Any]:
    """Return a function that waits until workers are done and the screen is drawn, and returns
    its lines.
    """

    async def wait(pilot: Pilot[Any]) -> list[str]:
        for _ in range(3):  # results of a worker may start another one
            await idle.wait_for_workers(pilot.app)
            await pilot.pause()
        return screen_lines(pilot.app)

    return wait
