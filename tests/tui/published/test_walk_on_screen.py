"""Published items in the running app at four sizes: rows fit, the first difference is on the first
screen, and keys reach each argument that differs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.cursor import first_difference_index_inside
from fcreview.tui.item_view.document import build_document
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text
from tests.examples import only_long
from tests.sharing import Imports
from tests.tui.published.item_checks import SIZES
from tests.tui.published.test_walk import FOLDERS, NAMED

pytestmark = [only_long, pytest.mark.sweep, pytest.mark.slow]
SAMPLE = 12
"""Number of items of a folder, besides the named items."""
STEPS = 300
"""Maximal number of keys to reach the last argument of an item."""


def select_items(store: Store, folder: str) -> list[int]:
    count, view = store.count_items(View()), View(queue="dataset")
    sample = [
        store.fetch_page(view, at, 1)[0].item for at in range(0, count, max(count // SAMPLE, 1))
    ]
    return list(
        dict.fromkeys([*(store.find_items(name)[0] for name in NAMED.get(folder, ())), *sample])
    )


def find_screen_faults(pane: ItemPane, width: int) -> list[str]:
    view, reader = pane.text, pane.cursor
    text = [view.render_line(y).text for y in range(view.size.height)]
    strips = pane.app.screen._compositor.render_strips()
    expected = reader.blocks[first_difference_index_inside(reader.blocks, reader.index)]
    drawn = (plain_text(line).strip() for line in expected.lines(view.cells))
    first = next((line for line in drawn if line), "")
    found = [] if any(row.strip() for row in text) else ["blank"]
    found += [
        f"a row of {strip.cell_length} cells" for strip in strips if strip.cell_length != width
    ][:1]
    found += (
        []
        if any(first[:20] in row for row in text)
        else [f"{expected.key} is not on the first screen"]
    )
    return found


async def find_unreached(pane: ItemPane, pilot: Any) -> list[str]:
    """Return the arguments that differ and that `j` does not reach with everything unfolded."""
    reader = pane.cursor
    opened = build_document(reader.detail, "alice", DisplayOptions(unfold_all=True))
    expected = {block.key for block in opened if block.is_argument and block.differs}
    if not expected:
        return []
    reader.options = DisplayOptions(unfold_all=True)
    reader.rebuild(block_key="about")
    pane.text.focus()
    pane.text.update_item(reader.detail)
    await pilot.press("home", "a")
    at = None
    for _ in range(STEPS):
        expected -= {pane.cursor.block.key}
        if not expected or at == pane.cursor.block.key:
            break
        at = pane.cursor.block.key
        await pilot.press("j")
    return [f"{key} is not reached" for key in sorted(expected)]


@pytest.mark.parametrize("size", [*SIZES, (200, 50)])
@pytest.mark.parametrize("folder", FOLDERS)
async def test_published_items_are_drawn_correctly(
    folder: str,
    size: tuple[int, int],
    bench: Path,
    imports: Imports,
    wait_for_screen: Any,
    tmp_path: Path,
) -> None:
    workspace: Workspace = imports.of([bench / folder])
    found: list[str] = []
    with Store.open(workspace, "alice") as store:
        items = select_items(store, folder)
        session = Session(None, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        app = FcreviewApp(session, View(queue="dataset"), items[0])
        async with app.run_test(size=size) as pilot:
            await wait_for_screen(pilot)
            pane = app.screen.query_one(ItemPane)
            for item in items:
                pane.open(item)
                await wait_for_screen(pilot)
                wrong = find_screen_faults(pane, size[0])
                wrong += await find_unreached(pane, pilot)
                found += [f"{pane.cursor.detail.row.id} {each}" for each in wrong]
                pane.cursor.options = DisplayOptions()
    print(f"{folder} {size}: {len(items)} items drawn")
    assert not found, "\n".join(found[:20])
