"""Steps as a person sees them: 1, 2, 3 in each turn, at calls and words alike; addresses stay as they are."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from fcreview.matching.align import align
from fcreview.model.item import GOLDEN_CALL, Item, Message, number_steps
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text
from tests.sharing import Imports
from tests.tui.item_view.document_text import detail, golden, predicted, text

STEP = re.compile(r"(?:^| · )step (\d+)\b")
DUPLICATE = re.compile(r"duplicate of turn \d+ step \d+")


def gaps(of: ItemDetail) -> list[str]:
    """Lines at which a step's number is neither that of the line before nor the next one, nor 1."""
    lines = [
        plain_text(one).rstrip()
        for b in build_document(of, "a", DisplayOptions(unfold_all=True))
        for one in b.lines(10_000)[:1]
    ]
    shown = [(int(found[1]), line) for line in lines if (found := STEP.search(DUPLICATE.sub("", line)))]
    first = [line for number, line in shown[:1] if number != 1]
    return first + [line for (one, _), (two, line) in pairwise(shown) if two not in (one, one + 1, 1)]


def conversation() -> Item:
    """As the importers give it: 0 is kept for golden calls of the dialogue, which the second turn has none of."""
    made = Item("sQmA_2_2", "sQmA", group="c", n_turns=2)
    made.messages = [
        Message(0, -1, "user", "Set a reminder."),
        Message(0, 0, "assistant", '{"find": {"q": "x"}}', GOLDEN_CALL),
        Message(0, 1, "assistant", "How often?"),
        Message(1, -1, "user", "Every week."),
        Message(1, 2, "assistant", "None of the tools can do that."),
    ]
    made.golden = [golden("remind", 0, 1, repeat="every week")]
    made.pairs = align(made.golden, made.predicted)
    return made


def agent() -> Item:
    """Two calls and words, numbered 1, 3 and 5 in the file."""
    made = Item("agent_1", "agent_multi_step", n_steps=3)
    made.messages = [
        Message(0, -1, "user", "Order a meal."),
        Message(0, 1, "tool", "on"),
        Message(0, 3, "tool", "logged in"),
        Message(0, 5, "assistant", "Done."),
    ]
    made.golden = [golden("wifi", 0), golden("login", 1)]
    made.predicted = [predicted("wifi", 0, 0, 1), predicted("login", 1, 0, 3)]
    made.pairs = align(made.golden, made.predicted, ordered=True)
    return made


def test_numbers_are_of_what_happened_in_each_turn() -> None:
    assert number_steps(conversation()) == {(0, 0): 1, (0, 1): 2, (1, 2): 1}
    assert number_steps(agent()) == {(0, 1): 1, (0, 3): 2, (0, 5): 3}


def test_every_step_of_a_turn_is_numbered_at_its_call_and_at_its_words() -> None:
    lines = text(detail(agent()))
    assert "= call 1 of 2 · wifi() · step 1" in lines and "= call 2 of 2 · login() · step 2" in lines
    assert any(line.startswith("── response · step 3") for line in lines)
    targets = {block.target for block in build_document(detail(agent()), "alice", DisplayOptions())}
    assert {"turn:1/call:1", "turn:1/call:2"} <= targets, "addresses are of calls, whatever their steps"


def test_a_turn_of_one_step_names_it_at_no_call() -> None:
    one = agent()
    one.messages = one.messages[:2]
    one.predicted = one.predicted[:1]
    one.pairs = align(one.golden, one.predicted, ordered=True)
    assert not any("step" in line for line in text(detail(one))[1:])


def test_words_after_no_golden_call_are_the_first_step() -> None:
    lines = text(detail(conversation()))
    assert 'golden  find(q="x") · step 1' in lines and "step 2  How often?" in lines
    assert any(line.startswith("── response · step 1") for line in lines)


def test_a_repetition_names_the_step_that_is_shown() -> None:
    again = agent()
    again.predicted.append(predicted("wifi", 2, 0, 7))
    again.pairs = align(again.golden, again.predicted, ordered=True)
    lines = text(detail(again), 120)
    assert any("duplicate of turn 1 step 1 · step 4" in line for line in lines)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("folder", ["acebench", "bfcl_v4", "complexfuncbench", "confetti", "hammerbench"])
def test_no_published_item_has_a_gap(folder: str, bench: Path, imports: Imports) -> None:
    with Store.open(imports.of([bench / folder]), "alice") as store:
        count = store.count_items(View())
        view = View(queue="dataset")
        rows = [store.fetch_page(view, at, 1)[0] for at in range(0, count, max(count // 40, 1))]
        found = {row.id: wrong for row in rows if (wrong := gaps(store.read_detail(row.item)))}
    assert not found
