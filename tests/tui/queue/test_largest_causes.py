"""The three largest causes of 1,000 items are found with 15 keys, and the next cluster with 3."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from tests.sharing import Imports
from tests.store.factory import Imported

MOST, NEXT = 15, 3
KINDS = (
    "value_error:string",
    "type_error:simple",
    "wrong_count",
    "missing_optional",
    "cannot_find_match",
)


class KeyCounter:
    """Presses keys one by one, waits for the screen after each key, and counts the keys."""

    def __init__(self, pilot: Pilot[Any], wait_for_screen: Any) -> None:
        self._pilot, self._settled = pilot, wait_for_screen
        self.pressed = 0
        self.lines: list[str] = []

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self._pilot.press(key)
            self.pressed += 1
            self.lines = await self._settled(self._pilot)


def thousand_rows() -> list[dict[str, Any]]:
    """Return rows of which every third fails, for five reasons of different frequency."""
    drawn = [kind for weight, kind in enumerate(KINDS[::-1], 1) for _ in range(weight)]
    rows: list[dict[str, Any]] = []
    for at in range(1000):
        failing = {"official": False, "error_type": drawn[at // 3 % len(drawn)]}
        rows.append(
            {"id": f"simple_{at}", **(failing if at % 3 == 0 else {"official": True, "rule": True})}
        )
    return rows


async def check_three_causes(workspace: Workspace, wait_for_screen: Any) -> None:
    with Store.open(workspace, "alice") as store:
        rows = [
            row
            for row in store.fetch_page(View(queue="dataset"), 0, 100_000)
            if row.official is False
        ]
    largest = Counter(row.error_type for row in rows).most_common(4)
    assert largest[2][1] > largest[3][1], "the three largest causes are ambiguous"
    kinds = {row.id: row.error_type for row in rows}
    app = FcreviewApp(Session(workspace, "alice"), View())
    async with app.run_test(size=(80, 24)) as pilot:
        keys = KeyCounter(pilot, wait_for_screen)
        await wait_for_screen(pilot)
        await keys.press("c")
        causes = []
        for at in range(3):
            before = keys.pressed
            if at:
                await keys.press("escape", "escape", "down")
            await keys.press("enter")
            if at == 1:
                assert isinstance(app.screen, QueueScreen)
                # the screen shortens the filter
                assert app.screen.state.where.split()[-1] == f"error:{largest[1][0]}"
                assert " error:" in keys.lines[2] and f"/{largest[1][1]:,}" in keys.lines[2]
                assert keys.pressed - before == NEXT + 1, (
                    "one key more than from the queue of the cluster"
                )
            await keys.press("enter")
            assert isinstance(app.screen, ItemScreen)
            causes.append(
                kinds[keys.lines[0].rpartition(" › ")[2].removeprefix(" fcreview").split()[0]]
            )
            assert any(line.startswith(("▸", "!", "-", "+")) for line in keys.lines[2:-2])
        assert causes == [kind for kind, _ in largest[:3]]
        assert keys.pressed <= MOST
    print(f"{keys.pressed} keys, {len(rows)} failures")


async def test_three_causes_of_a_thousand_items(
    imported: Imported, tmp_path: Path, wait_for_screen: Any
) -> None:
    await check_three_causes(
        imported(tmp_path / "work", {"maple-8b": thousand_rows()}), wait_for_screen
    )


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("model", ["google_gemma-7b-it", "gpt-4o-mini-2024-07-18-FC"])
async def test_three_causes_of_a_published_run(
    model: str, bench: Path, imports: Imports, tmp_path: Path, wait_for_screen: Any
) -> None:
    await check_three_causes(
        imports.copy([bench / "bfcl_v1" / "result" / model], tmp_path / "work"), wait_for_screen
    )


@pytest.mark.sweep
async def test_next_cluster_is_three_keys_away(
    imported: Imported, tmp_path: Path, wait_for_screen: Any
) -> None:
    workspace = imported(tmp_path / "work", {"maple-8b": thousand_rows()})
    app = FcreviewApp(Session(workspace, "alice"), View())
    async with app.run_test(size=(80, 24)) as pilot:
        keys = KeyCounter(pilot, wait_for_screen)
        await wait_for_screen(pilot)
        await keys.press("c", "enter")
        first, before = keys.lines[2], keys.pressed
        await keys.press("escape", "down", "enter")
        assert isinstance(app.screen, QueueScreen)
        assert "error:" in first and "error:" in keys.lines[2] and first != keys.lines[2]
        assert keys.pressed - before == NEXT
