"""Published items that were once displayed wrongly: rows of their first screen at 80x24, in this
order.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.store.rows import ItemDetail
from fcreview.store.store import Store
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.cursor import Cursor
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text
from tests.sharing import Imports
from tests.tui.published.item_checks import BARS, GUTTER, first_screen

pytestmark = [pytest.mark.sweep, pytest.mark.slow]
FIRST_SCREEN = {
    ("confetti", "conversationsclean_1"): [
        "user    ",
        "golden  HRCompany",
        "result  ",
        "── turn 1 · call 1 of 1",
        "≠ function",
    ],
    ("confetti", "conversationsclean_6"): [
        "── earlier dialogue",
        'golden  BookFlight_get_airport_code(query="San Diego") · step 1',
        "golden  BookFlight_search_flights",
        "step 4",
        "── turn 2 · call 1 of 1 · RAG_query · step 5",
        "≠ query",
    ],
    ("confetti", "dialogacts_10"): [
        "── response · step 1 · judged",
        "golden",
        "≠ labels",
        "reply   ",
    ],
    ("confetti", "conversationsclean_137"): [
        "~ star_ratings  4 or 5",
        "the golden answer contains the list [4, 5]",
    ],
    ("acebench", "agent_multi_turn_20"): [
        "user    I am Frank",
        "= call 1 of 2",
        "── turn 1 · call 2 of 2",
        "≠ user_id",
    ],
    ("acebench", "agent_multi_turn_21"): [
        "step 1  Before I proceed",
        "user    Yes",
        "decisive step",
        "cancel_reservation changes data, and no unpaired golden call fits it.",
        "call 3 of 3 · cancel_reservation · + extra · step 2",
    ],
    ("acebench", "agent_multi_step_0"): [
        "state   at the start",
        "! golden answer cannot be parsed",
        "golden     [add_food_delivery_order(",
        "predicted  add_food_delivery_order(",
    ],
    ("acebench", "special_irrelevant_6"): [
        "required text: the limitations",
        "── 4 available functions",
    ],
    ("hammerbench", "IS_0_3"): [
        "── response · step 1 · judged",
        "golden",
        "Sorry, no tool is suitable",
        "── 5 available functions",
    ],
    ("hammerbench", "mQmA_7_2"): ["≠ departure", "── Why it fails", "── judge"],
    ("complexfuncbench", "Cross-0"): ["+ extra · vs golden call 6", "≠ query"],
}
"""Parts of rows."""
DOCUMENT = {
    ("acebench", "agent_multi_step_2"): [
        "state   at the start",
        "decisive step",
        "call 4 of 4 · login_food_platform · + extra",
        "── final state",
        "≠ FoodPlatform.users.Jack.balance",
        "milestones        1 of 3 met: turn_on_wifi",
    ],
    ("complexfuncbench", "Cross-0"): [
        "✗ equivalent",
        "── turn 1 · golden call 6 of 8",
        "✓ equivalent",
        "── response · step 6",
    ],
}
"""Parts of rows anywhere in the document."""


def find_missing(rows: list[str], wanted: list[str]) -> list[str]:
    """Return the texts that are missing, or not below the text before."""
    at, found = 0, []
    for each in wanted:
        place = next((n for n in range(at, len(rows)) if each in rows[n]), None)
        if place is None:
            found.append(each)
        else:
            at = place
    return found


def read_item(store: Store, name: str) -> ItemDetail:
    return store.read_detail(store.find_items(name)[0])


@pytest.mark.parametrize(("folder", "name"), FIRST_SCREEN)
def test_first_screen_contains_the_rows(
    folder: str, name: str, bench: Path, imports: Imports
) -> None:
    with Store.open(imports.of([bench / folder]), "alice") as store:
        shown = first_screen(Cursor(read_item(store, name), "alice"), 80 - GUTTER, 24 - BARS)
    rows = [row for _, row in shown]
    assert not find_missing(rows, FIRST_SCREEN[folder, name]), "\n".join(rows)


@pytest.mark.parametrize(("folder", "name"), DOCUMENT)
def test_document_contains_the_rows(folder: str, name: str, bench: Path, imports: Imports) -> None:
    with Store.open(imports.of([bench / folder]), "alice") as store:
        blocks = build_document(read_item(store, name), "alice", DisplayOptions())
    rows = [plain_text(line) for block in blocks for line in block.lines(80 - GUTTER)]
    assert not find_missing(rows, DOCUMENT[folder, name]), "\n".join(rows)


def test_docs_of_a_turn_belong_to_its_own_function(bench: Path, imports: Imports) -> None:
    """`K d` on `multi_turn_base_18` showed the docs of another turn's function."""
    with Store.open(imports.of([bench / "bfcl_v4"]), "alice") as store:
        for item in store.find_items("multi_turn_base_18"):
            reader = Cursor(store.read_detail(item), "alice")
            turns = [
                block.key
                for block in reader.blocks
                if block.key.startswith("turn:") and "/" not in block.key
            ]
            for turn in turns:
                reader.rebuild(block_key=turn)
                reader.show_next_docs()
                shown = [block.key for block in reader.blocks if block.key.endswith("/document")]
                assert all(key.startswith(f"{turn}/") for key in shown)
                while reader.options.docs_choice:
                    reader.show_next_docs()
