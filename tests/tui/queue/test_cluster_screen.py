"""Each group of failures opens as many items as it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.rows import View
from fcreview.tui.app import FcreviewApp
from fcreview.tui.session import Session
from tests.examples import split_by_form
from tests.sharing import Imports
from tests.tui.conftest import screen_lines

Settled = Callable[[Any], Any]


def row_count(line: str) -> int:
    return int(line.strip(" ▸▌").split()[0].replace(",", ""))


@pytest.mark.sweep
@pytest.mark.parametrize("tabs", [3, 4], ids=["category", "value"])
@pytest.mark.parametrize(
    "name",
    split_by_form(
        ["acebench", "bfcl", "complexfuncbench", "confetti", "generic", "hammerbench"],
        quick=["bfcl", "hammerbench"],
    ),
)
async def test_group_opens_its_items(
    name: str, tabs: int, imports: Imports, samples: Path, wait_for_screen: Settled
) -> None:
    session = Session(imports.of([samples / name]), "alice")
    app = FcreviewApp(session, View())
    async with app.run_test(size=(99, 60)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("c")
        await wait_for_screen(pilot)
        for _ in range(tabs):
            await pilot.press("tab")
            await wait_for_screen(pilot)
        lines = await wait_for_screen(pilot)
        assert ("by category" if tabs == 3 else "by value") in lines[1]
        groups = sum(1 for line in lines[3:] if line.lstrip(" ▸▌")[:1].isdigit())
        for at in range(min(groups, 4)):
            row = next(line for line in screen_lines(app)[3:] if line.startswith("▌"))
            await pilot.press("enter")
            shown = await wait_for_screen(pilot)
            assert any(re.search(rf"\b1(/| of ){row_count(row)}\b", line) for line in shown), row
            await pilot.press("escape")
            again = await wait_for_screen(pilot)
            assert (
                again[1] == lines[1]
                and next(each for each in again[3:] if each.startswith("▌")) == row
            ), at
            await pilot.press("j")
            await wait_for_screen(pilot)
