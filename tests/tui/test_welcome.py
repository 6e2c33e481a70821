"""The welcome line at the first start, and the summary of a complete queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.widgets._toast import Toast

from fcreview.cli.config import is_first_start

WELCOME = "Welcome. Press enter to open, ? for all keys, : for commands"


def test_first_start_is_detected_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert [is_first_start(), is_first_start()] == [True, False]
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert not is_first_start()


@pytest.mark.parametrize("overview", [True, False])
@pytest.mark.parametrize("n_runs", [1, 2])
async def test_first_screen_shows_the_welcome_line_once(
    make_app: Any, wait_for_screen: Any, n_runs: int, overview: bool
) -> None:
    app = make_app(runs={f"maple-{at}": [{"official": False}] for at in range(n_runs)}, resume=True)
    app.session.opens_overview, app.session.shows_welcome = overview, True
    async with app.run_test(size=(100, 30)) as pilot:
        assert WELCOME in "\n".join(await wait_for_screen(pilot))
        await pilot.press("question_mark")
        await wait_for_screen(pilot)
        await pilot.press("q", "v")
        await wait_for_screen(pilot)
        await pilot.press("v")
        assert not app.session.shows_welcome


@pytest.mark.parametrize("blind", [True, False])
@pytest.mark.parametrize("filtered", [True, False])
async def test_complete_queue_shows_a_summary(make_app: Any, wait_for_screen: Any, blind: bool, filtered: bool) -> None:
    app = make_app([{} for _ in range(3)], blind=blind)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await wait_for_screen(pilot)
        if filtered:
            await pilot.press("f", *"-reviewed", "enter")
            await wait_for_screen(pilot)
        await pilot.press("enter")
        await wait_for_screen(pilot)
        for key in "pfu":
            await pilot.press(key)
            await wait_for_screen(pilot)
        (toast,) = app.screen.query(Toast)
        text = toast._notification.message
        assert text.startswith("3 items reviewed: 1 pass, 1 fail, 1 unsure\n3 reviewed · 0 left"), text
        assert ("estimate" in text) != blind and "press : and type export" in text
        await pilot.press("f")
        await wait_for_screen(pilot)
        assert len(app.screen.query(Toast)) == 1, "the summary is replaced"
