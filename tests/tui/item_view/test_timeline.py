"""What happened stands in the order in which it happened, once, and the judged part is marked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fcreview.matching.align import align
from fcreview.model.item import ABSENT, GOLDEN_CALL, Item, Message, StateDifference, Verdict
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document, starting_block
from fcreview.tui.text.lines import plain_text
from tests.tui.item_view.document_text import detail, golden, predicted, text

DIFF = {"file_name1": "a", "file_name2": "b"}


def place(lines: list[str], start: str) -> int:
    return next(at for at, line in enumerate(lines) if line.startswith(start))


def snapshot(*, before: int = 1, **given: Any) -> Item:
    """A turn of a conversation: words before it, an earlier golden call in it, and the call that is judged."""
    made = Item("c_6", "conversationsclean", group="c", n_turns=before + 1)
    for turn in range(before):
        made.messages += [
            Message(turn, -1, "user", f"Question {turn}."),
            Message(turn, 0, "assistant", f"Answer {turn}."),
        ]
    told = json.dumps([{"find_airport": {"query": "Denver"}}])
    made.messages += [
        Message(before, -1, "user", "What of refunds?"),
        Message(before, 0, "assistant", told, GOLDEN_CALL),
        Message(before, 0, "tool", '{"status": "ok"}'),
    ]
    made.golden = [golden("ask", 0, before, query="refund policy")]
    made.predicted = [predicted("ask", 0, before, 1, **(given or {"query": "money back"}))]
    made.pairs = align(made.golden, made.predicted)
    return made


def loop(times: int) -> Item:
    """`post_tweet` is wanted, `diff` is made again and again."""
    made = Item("multi_turn_base_18", "multi_turn_base", n_steps=times)
    made.golden = [golden("diff", 0, **DIFF), golden("post_tweet", 1, content="a")]
    made.predicted = [predicted("diff", at, 0, at, **DIFF) for at in range(times)]
    made.messages = [Message(0, -1, "user", "Compare and post.")]
    made.messages += [Message(0, at, "tool", '{"lines": "-a +b"}', "diff") for at in range(times)]
    made.pairs = align(made.golden, made.predicted, ordered=True)
    return made


def test_earlier_calls_of_the_conversation_stand_before_the_one_that_is_judged() -> None:
    lines = text(detail(snapshot()))
    said = place(lines, "── earlier dialogue · turn 1 · 2 messages, 20 B")
    asked, earlier = place(lines, "user    What of refunds?"), place(lines, 'golden  find_airport(query="Denver")')
    judged = place(lines, "── turn 2 · call 1 of 1 · ask")
    assert said < place(lines, "user    Question 0.") < place(lines, "── turn 2 of 2 · judged") < asked
    assert asked < earlier < place(lines, 'result  {"status": "ok"}') < judged < place(lines, "! query")


def test_a_call_that_was_made_in_the_conversation_before_is_said_to_be_a_repetition() -> None:
    again = snapshot()
    again.predicted = [predicted("find_airport", 0, 1, 1, query="Denver")]
    again.pairs = align(again.golden, again.predicted)
    head = text(detail(again))[place(text(detail(again)), "── turn 2 · call 1 of 1")]
    assert "duplicate of turn 2 step 1" in head
    assert not any("duplicate" in line for line in text(detail(snapshot())))


def test_the_judged_call_is_open_and_under_the_cursor_though_it_is_equal() -> None:
    of = detail(snapshot(query="refund policy"))
    assert any(line.startswith("= query") for line in text(of))
    blocks = build_document(of, "alice", DisplayOptions())
    assert blocks[starting_block(blocks)].key == "turn:2/call:1"


def test_a_long_dialogue_before_is_one_line_with_its_length_and_unfolds() -> None:
    of = snapshot(before=4)
    lines = text(detail(of))
    assert any(line.startswith("── earlier dialogue · turns 1-4 · 8 messages, 80 B · folded") for line in lines)
    assert "user    Question 2." not in lines
    lines = text(detail(of), folds={"before": False})
    assert place(lines, "user    Question 2.") < place(lines, "step 1  Answer 2.") < place(lines, "user    Question 3.")


def test_a_call_stands_where_it_was_made_and_a_missing_one_behind_its_forerunner() -> None:
    made = Item("agent_21", "agent_multi_turn", n_steps=3)
    made.messages = [
        Message(0, -1, "user", "Book my flight."),
        Message(0, 0, "assistant", "May I?"),
        Message(0, 0, "user", "Yes, please."),
        Message(0, 1, "tool", "refunded"),
        Message(0, 2, "tool", "3 flights"),
        Message(0, 3, "assistant", "Done."),
    ]
    made.golden = [golden("find", 0), golden("book", 1, id="7")]
    made.predicted = [predicted("cancel", 0, 0, 1), predicted("find", 1, 0, 2)]
    made.pairs = align(made.golden, made.predicted, ordered=True)
    lines = text(detail(made))
    order = [
        "user    Book",
        "step 1  May I?",
        "user    Yes",
        "+ call",
        "result  refunded",
        "= golden call 1 of 2",
        "result  3 flights",
    ]
    order += ["- golden call 2 of 2 · missing: book", "── response"]
    places = [place(lines, start) for start in order]
    assert places == sorted(places)
    assert sum("3 flights" in line for line in lines) == 1


def test_a_call_made_again_and_again_is_one_line_and_is_not_told_again_below() -> None:
    lines = text(detail(loop(21)), 120)
    assert '+ calls 3-22 · 20x diff(file_name1="a", file_name2="b")' in lines
    assert 'all     {"lines": "-a +b"}' in lines
    assert sum("diff(" in line for line in lines) == 2, "the equal one, and the run"
    assert any(line.startswith("- call 2 of 22 · missing: post_tweet") for line in lines)
    unfolded = text(detail(loop(21)), 120, folds={"turn:1/calls:3-22": False})
    assert sum(line.startswith("+ call ") for line in unfolded) == 20
    assert not any("calls 3-" in line for line in text(detail(loop(3)))), "two are no run"


def test_words_said_again_and_again_are_one_line() -> None:
    made = loop(1)
    made.messages += [Message(0, step, "assistant", "I am not sure.") for step in range(1, 6)]
    lines = text(detail(made))
    assert "repeats steps 2-6 · 5x I am not sure." in lines
    assert sum("not sure" in line for line in lines) == 1


def test_states_that_differ_are_rows_at_the_end_where_no_turn_is_named() -> None:
    made = loop(1)
    made.extra.state_differences = {
        "Food.users.Eve.balance": StateDifference(412.0, 500.0),
        "Food.orders": StateDifference(ABSENT, []),
    }
    lines = text(detail(made))
    at = place(lines, "── final state")
    assert lines[at + 2].split() == ["!", "Food.users.Eve.balance", "412.0", "500.0"]
    assert lines[at + 3].startswith("+ Food.orders")
    assert at > place(lines, "= call 1")
    assert not any("Food" in line for line in text(detail(made), hide_verdicts=True)), "it says how the item ended"


def test_turns_have_a_map_and_one_that_is_judged_alone_has_none() -> None:
    made = Item("m", "multi", n_turns=3)
    for turn in range(3):
        made.golden.append(golden("f", 0, turn))
        made.predicted += [predicted("f" if turn != 1 else "g", 0, turn)]
        made.messages.append(Message(turn, 0, "tool", "ok"))
        made.pairs += align(made.golden[-1:], made.predicted[-1:])
    made.extra.failing_turn = 1
    assert "turns  1 =  2 ! fails here  3 =" in text(detail(made))
    assert "turns  1 =  2 !  3 =" in text(detail(made), hide_verdicts=True)
    assert not any(line.startswith("turns") for line in text(detail(snapshot())))


def test_the_reply_that_is_judged_stands_beside_the_golden_one_with_the_labels_above() -> None:
    made = snapshot(before=2)
    made.golden, made.predicted, made.pairs = [], [], []
    made.messages.append(Message(2, 1, "assistant", "Where do you live?"))
    made.extra.golden_reply, made.extra.golden_labels = "Your refund is due.", ["inform"]
    lines = text(detail(made))
    at = place(lines, "── response")
    assert lines[at].startswith("── response · step 2 · judged")
    assert lines[at + 1].split() == ["golden", "predicted"]
    assert "(not judged)" in lines[at + 2] and lines[at + 2].startswith("  labels"), "not said to be equal"
    assert lines[at + 3].split("  ")[-1].strip() == "Where do you live?"
    assert lines[at + 3].index("Your refund") == lines[at + 1].index("golden")
    assert not any("no golden call" in line for line in lines)
    blocks = build_document(detail(made), "alice", DisplayOptions())
    assert plain_text(blocks[starting_block(blocks)].lines(79)[0]).startswith("── response")


@pytest.mark.parametrize(
    ("ours", "passes", "state"), [(["inform"], True, "="), (["ask"], False, "!"), (["ask"], True, "~")]
)
def test_labels_of_a_judge_stand_beside_the_golden_ones(ours: list[str], passes: bool, state: str) -> None:
    made = Item("dialogacts_10", "dialogacts", official=passes)
    made.messages = [Message(0, -1, "user", "My refund?"), Message(0, 0, "assistant", "Where do you live?")]
    made.extra.golden_reply, made.extra.golden_labels = "Your refund is due.", ["inform"]
    made.verdicts = [Verdict("judge", ours, "response", "dialog_act", None, ", ".join(ours), "labeller")]
    lines = text(detail(made))
    row = lines[place(lines, f"{state} labels")]
    assert row.split() == [state, "labels", "inform", ours[0]]
    assert not any(line.startswith("── judge") for line in lines), "said already"
    assert not any("ask" in line for line in text(detail(made), hide_verdicts=True))
