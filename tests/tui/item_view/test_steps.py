"""The steps of each turn are numbered 1, 2, 3, for calls and messages alike.

Addresses do not change.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from fcreview.matching.align import align_calls
from fcreview.model.item import GOLDEN_CALL, Item, Message, assign_step_numbers
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text
from tests.examples import split_by_form
from tests.sharing import Imports
from tests.tui.item_view.document_text import (
    document_lines,
    golden_call,
    make_detail,
    predicted_call,
)

STEP = re.compile(r"(?:^| · )step (\d+)\b")
DUPLICATE = re.compile(r"duplicate of turn \d+ step \d+")


def find_gaps(detail: ItemDetail) -> list[str]:
    """Return the lines whose step number is not 1, the number of the line before, or the next
    number.
    """
    lines = [
        plain_text(one).rstrip()
        for b in build_document(detail, "a", DisplayOptions(unfold_all=True))
        for one in b.lines(10_000)[:1]
    ]
    shown = [
        (int(found[1]), line) for line in lines if (found := STEP.search(DUPLICATE.sub("", line)))
    ]
    first = [line for number, line in shown[:1] if number != 1]
    return first + [
        line for (one, _), (two, line) in pairwise(shown) if two not in (one, one + 1, 1)
    ]


def make_conversation() -> Item:
    """Return a conversation as the importers do: step 0 is for golden calls of the dialogue, and
    turn 2 has none.
    """
    item = Item("sQmA_2_2", "sQmA", group="c", n_turns=2)
    item.messages = [
        Message(0, -1, role="user", content="Set a reminder."),
        Message(0, 0, role="assistant", content='{"find": {"q": "x"}}', name=GOLDEN_CALL),
        Message(0, 1, role="assistant", content="How often?"),
        Message(1, -1, role="user", content="Every week."),
        Message(1, 2, role="assistant", content="None of the tools can do that."),
    ]
    item.golden = [golden_call("remind", 0, 1, repeat="every week")]
    item.pairs = align_calls(item.golden, item.predicted)
    return item


def make_agent_item() -> Item:
    """Return an item with two calls and a message, which have the steps 1, 3 and 5 in the file."""
    item = Item("agent_1", "agent_multi_step", n_steps=3)
    item.messages = [
        Message(0, -1, role="user", content="Order a meal."),
        Message(0, 1, role="tool", content="on"),
        Message(0, 3, role="tool", content="logged in"),
        Message(0, 5, role="assistant", content="Done."),
    ]
    item.golden = [golden_call("wifi", 0), golden_call("login", 1)]
    item.predicted = [predicted_call("wifi", 0, 0, 1), predicted_call("login", 1, 0, 3)]
    item.pairs = align_calls(item.golden, item.predicted, keep_order=True)
    return item


def test_steps_are_numbered_in_each_turn() -> None:
    assert assign_step_numbers(make_conversation()) == {(0, 0): 1, (0, 1): 2, (1, 2): 1}
    assert assign_step_numbers(make_agent_item()) == {(0, 1): 1, (0, 3): 2, (0, 5): 3}


def test_calls_and_messages_show_their_step() -> None:
    lines = document_lines(make_detail(make_agent_item()))
    assert (
        "= call 1 of 2 · wifi() · step 1" in lines and "= call 2 of 2 · login() · step 2" in lines
    )
    assert any(line.startswith("── response · step 3") for line in lines)
    targets = {
        block.target
        for block in build_document(make_detail(make_agent_item()), "alice", DisplayOptions())
    }
    assert {"turn:1/call:1", "turn:1/call:2"} <= targets, "addresses count calls, not steps"


def test_single_step_of_a_turn_is_not_numbered() -> None:
    one = make_agent_item()
    one.messages = one.messages[:2]
    one.predicted = one.predicted[:1]
    one.pairs = align_calls(one.golden, one.predicted, keep_order=True)
    assert not any("step" in line for line in document_lines(make_detail(one))[1:])


def test_first_message_of_a_turn_without_golden_call_is_step_1() -> None:
    lines = document_lines(make_detail(make_conversation()))
    assert 'golden  find(q="x") · step 1' in lines and "step 2  How often?" in lines
    assert any(line.startswith("── response · step 1") for line in lines)


def test_duplicate_names_the_displayed_step() -> None:
    again = make_agent_item()
    again.predicted.append(predicted_call("wifi", 2, 0, 7))
    again.pairs = align_calls(again.golden, again.predicted, keep_order=True)
    lines = document_lines(make_detail(again), 120)
    assert any("duplicate of turn 1 step 1 · step 4" in line for line in lines)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize(
    "folder",
    split_by_form(
        ["acebench", "bfcl_v4", "complexfuncbench", "confetti", "hammerbench"],
        quick=["acebench", "bfcl_v4"],
    ),
)
def test_published_items_have_no_gap(folder: str, bench: Path, imports: Imports) -> None:
    with Store.open(imports.of([bench / folder]), "alice") as store:
        count = store.count_items(View())
        view = View(queue="dataset")
        rows = [store.fetch_page(view, at, 1)[0] for at in range(0, count, max(count // 40, 1))]
        found = {row.id: wrong for row in rows if (wrong := find_gaps(store.read_detail(row.item)))}
    assert not found
