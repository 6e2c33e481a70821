"""The key line says where the keys that leave a screen lead, and there they lead."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.tui.screens.overview import OverviewScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.widgets.base import GuardedScreen
from tests.tui.screens.test_palette_everywhere import RUNS

WAYS = [
    ((), ("q quit",)),
    (("v",), ("Esc list", "q quit")),
    (("c",), ("q list",)),
    (("r",), ("q list",)),
    (("v", "M"), ("Esc overview",)),
    (("r", "j", "equals_sign", "j", "equals_sign"), ("q runs",)),
    (("v", "L"), ("q overview",)),
    (("enter",), ("q list",)),
]
"""Keys from the list, and the labels of the keys that leave the screen."""


@pytest.mark.parametrize(("keys", "labels"), WAYS)
async def test_label_names_the_screen_to_which_the_key_returns(
    make_app: Any, wait_for_screen: Any, keys: tuple[str, ...], labels: tuple[str, ...]
) -> None:
    app = make_app(runs=RUNS)
    async with app.run_test(size=(160, 40)) as pilot:
        await wait_for_screen(pilot)
        for key in keys:
            await pilot.press(key)
            lines = await wait_for_screen(pilot)
        if not keys:
            lines = await wait_for_screen(pilot)
        assert all(label in " ".join(lines[-2:]) for label in labels)
        if "quit" in " ".join(labels):
            return

        (label,) = labels
        key_name, _, place = label.partition(" ")
        await pilot.press("escape" if key_name == "Esc" else key_name)
        await wait_for_screen(pilot)
        screen = app.screen
        assert isinstance(screen, GuardedScreen) and screen.place_name == place
        assert place != "list" or isinstance(screen, QueueScreen)
        assert place != "overview" or isinstance(screen, OverviewScreen)
