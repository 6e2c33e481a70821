"""The first screen of published items is correct: a sample in `make sweep`, all items with
FCREVIEW_WALK=all.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from fcreview.store.rows import View
from fcreview.store.store import Store
from tests.examples import only_long
from tests.sharing import Imports
from tests.tui.published.item_checks import SIZES, find_faults

SAMPLE = 60
"""Number of items of a folder, spread over all of its runs."""
NAMED = {
    "acebench": (
        "agent_multi_step_0",
        "agent_multi_step_2",
        "agent_multi_turn_20",
        "special_irrelevant_6",
    ),
    "bfcl_v4": ("multi_turn_base_18", "live_multiple_7-3-2"),
    "complexfuncbench": ("Cross-0",),
    "confetti": (
        "conversationsclean_1",
        "conversationsclean_6",
        "conversationsclean_137",
        "dialogacts_10",
    ),
    "hammerbench": ("mQmA_7_2", "IS_0_3"),
}
SLOW_FOLDERS = ("bfcl_families", "bfcl_v1", "bfcl_v1_july")
"""Folders that use the same code as others and take long to import."""
OTHERS = ("bfcl_v1", "bfcl_families", "bfcl_v1_july")
FOLDERS = [
    pytest.param(name, id=name, marks=only_long if name in SLOW_FOLDERS else ())
    for name in (*NAMED, *OTHERS)
]


def select_items(store: Store, named: tuple[str, ...]) -> list[int]:
    """Return the named items, and a sample or all."""
    count = store.count_items(View())
    step = 1 if os.environ.get("FCREVIEW_WALK") == "all" else max(count // SAMPLE, 1)
    view = View(queue="dataset")
    sample = [store.fetch_page(view, at, 1)[0].item for at in range(0, count, step)]
    return list(
        dict.fromkeys([*(item for name in named for item in store.find_items(name)), *sample])
    )


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_first_screen_of_published_items_is_correct(
    folder: str, bench: Path, imports: Imports
) -> None:
    store = Store.open(imports.of([bench / folder]), "alice")
    found: Counter[str] = Counter()
    try:
        items = select_items(store, NAMED.get(folder, ()))
        for item in items:
            detail = store.read_detail(item)
            for width, height in SIZES:
                for fault in find_faults(detail, width, height):
                    found[f"{detail.item.id} {width}x{height}: {fault}"] += 1
    finally:
        store.close()
    print(f"{folder}: {len(items)} items walked")
    assert len(items) >= min(SAMPLE, minimum_count(folder))
    assert not found, f"{len(found)} faults: " + "\n".join(list(found)[:20])


def minimum_count(folder: str) -> int:
    return 13 if folder == "complexfuncbench" else SAMPLE
