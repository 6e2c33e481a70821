"""Stores of hand-made items, and what a screen shows as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.store import Store
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.store.factory import Imported
from tests.tui import idle
from tests.tui.parsed_styles import parse_styles_once
from tests.tui.plain_terminal import plain_terminal

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with plain_terminal(monkeypatch):
        yield


@pytest.fixture(autouse=True)
def waits_are_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    idle.replace_pauses(monkeypatch)
    parse_styles_once(monkeypatch)


MakeApp = Callable[..., FcreviewApp]


@pytest.fixture
def make_app(imported: Imported, tmp_path: Path) -> Iterator[MakeApp]:
    """Makes an app on a real store; keywords go to FcreviewApp, `runs` are rows by model."""
    stores: list[Store] = []

    def make(rows: Rows | None = None, *, runs: dict[str, Rows] | None = None, **options: Any) -> FcreviewApp:
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
def shown() -> Callable[[App[Any]], list[str]]:
    return screen_lines


@pytest.fixture
def settled() -> Callable[[Pilot[Any]], Any]:
    """Waits until the workers are done and what they brought is drawn."""

    async def wait(pilot: Pilot[Any]) -> list[str]:
        for _ in range(3):  # an answer may ask for another window
            await idle.wait_for_workers(pilot.app)
            await pilot.pause()
        return screen_lines(pilot.app)

    return wait
