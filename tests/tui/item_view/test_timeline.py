"""The item screen shows messages and calls once, in order, and marks the judged part."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from fcreview.matching.align import align_calls
from fcreview.model.item import ABSENT, GOLDEN_CALL, Item, Message, StateDifference, Verdict
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.cursor import find_start_index
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text
from fcreview.tui.text.styles import symbols
from tests.tui.item_view.document_text import (
    document_lines,
    golden_call,
    make_detail,
    predicted_call,
)

DIFF = {"file_name1": "a", "file_name2": "b"}


def find_line(lines: list[str], start: str) -> int:
    return next(at for at, line in enumerate(lines) if line.startswith(start))


def make_judged_call(*, before: int = 1, **given: Any) -> Item:
    """Return a turn of a conversation: `before` earlier turns, an earlier golden call, and the
    judged call.
    """
    item = Item("c_6", "conversationsclean", group="c", n_turns=before + 1)
    for turn in range(before):
        item.messages += [
            Message(turn, -1, role="user", content=f"Question {turn}."),
            Message(turn, 0, role="assistant", content=f"Answer {turn}."),
        ]
    call = json.dumps([{"find_airport": {"query": "Denver"}}])
    item.messages += [
        Message(before, -1, role="user", content="What of refunds?"),
        Message(before, 0, role="assistant", content=call, name=GOLDEN_CALL),
        Message(before, 0, role="tool", content='{"status": "ok"}'),
    ]
    item.golden = [golden_call("ask", 0, before, query="refund policy")]
    item.predicted = [predicted_call("ask", 0, before, 1, **(given or {"query": "money back"}))]
    item.pairs = align_calls(item.golden, item.predicted)
    return item


def make_repeated_calls(times: int) -> Item:
    """Return an item whose answer repeats the call of `diff` and never calls `post_tweet`."""
    item = Item("multi_turn_base_18", "multi_turn_base", n_steps=times)
    item.golden = [golden_call("diff", 0, **DIFF), golden_call("post_tweet", 1, content="a")]
    item.predicted = [predicted_call("diff", at, 0, at, **DIFF) for at in range(times)]
    item.messages = [Message(0, -1, role="user", content="Compare and post.")]
    item.messages += [
        Message(0, at, role="tool", content='{"lines": "-a +b"}', name="diff")
        for at in range(times)
    ]
    item.pairs = align_calls(item.golden, item.predicted, keep_order=True)
    return item


def test_earlier_calls_precede_the_judged_call() -> None:
    lines = document_lines(make_detail(make_judged_call()))
    earlier_dialogue = find_line(lines, "── earlier dialogue · turn 1 · 2 messages, 20 B")
    asked, earlier = (
        find_line(lines, "user    What of refunds?"),
        find_line(lines, 'golden  find_airport(query="Denver")'),
    )
    judged = find_line(lines, "── turn 2 · call 1 of 1 · ask")
    assert (
        earlier_dialogue
        < find_line(lines, "user    Question 0.")
        < find_line(lines, "── turn 2 of 2 · judged")
        < asked
    )
    assert (
        asked
        < earlier
        < find_line(lines, 'result  {"status": "ok"}')
        < judged
        < find_line(lines, "≠ query")
    )


def test_repeated_call_of_the_conversation_is_a_duplicate() -> None:
    again = make_judged_call()
    again.predicted = [predicted_call("find_airport", 0, 1, 1, query="Denver")]
    again.pairs = align_calls(again.golden, again.predicted)
    head = document_lines(make_detail(again))[
        find_line(document_lines(make_detail(again)), "── turn 2 · call 1 of 1")
    ]
    assert "duplicate of turn 2 step 1" in head
    assert not any("duplicate" in line for line in document_lines(make_detail(make_judged_call())))


def test_equal_judged_call_is_open_and_at_cursor() -> None:
    detail = make_detail(make_judged_call(query="refund policy"))
    assert any(line.startswith("= query") for line in document_lines(detail))
    blocks = build_document(detail, "alice", DisplayOptions())
    assert blocks[find_start_index(blocks)].key == "turn:2/call:1"


def test_long_earlier_dialogue_is_folded() -> None:
    item = make_judged_call(before=4)
    lines = document_lines(make_detail(item))
    assert any(
        line.startswith("── earlier dialogue · turns 1-4 · 8 messages, 80 B · folded")
        for line in lines
    )
    assert "user    Question 2." not in lines
    lines = document_lines(make_detail(item), folds={"before": False})
    assert (
        find_line(lines, "user    Question 2.")
        < find_line(lines, "step 1  Answer 2.")
        < find_line(lines, "user    Question 3.")
    )


def test_calls_are_in_order_and_missing_calls_follow_their_predecessor() -> None:
    item = Item("agent_21", "agent_multi_turn", n_steps=3)
    item.messages = [
        Message(0, -1, role="user", content="Book my flight."),
        Message(0, 0, role="assistant", content="May I?"),
        Message(0, 0, role="user", content="Yes, please."),
        Message(0, 1, role="tool", content="refunded"),
        Message(0, 2, role="tool", content="3 flights"),
        Message(0, 3, role="assistant", content="Done."),
    ]
    item.golden = [golden_call("find", 0), golden_call("book", 1, id="7")]
    item.predicted = [predicted_call("cancel", 0, 0, 1), predicted_call("find", 1, 0, 2)]
    item.pairs = align_calls(item.golden, item.predicted, keep_order=True)
    lines = document_lines(make_detail(item))
    order = [
        "user    Book",
        "step 1  May I?",
        "user    Yes",
        "+ call",
        "result  refunded",
        "= golden call 1 of 2",
        "result  3 flights",
    ]
    order += ["∅ golden call 2 of 2 · missing: book", "── response"]
    places = [find_line(lines, start) for start in order]
    assert places == sorted(places)
    assert sum("3 flights" in line for line in lines) == 1


def test_repeated_calls_are_one_line() -> None:
    lines = document_lines(make_detail(make_repeated_calls(21)), 120)
    assert '+ calls 3-22 · 20x diff(file_name1="a", file_name2="b")' in lines
    assert 'all     {"lines": "-a +b"}' in lines
    assert sum("diff(" in line for line in lines) == 2, "the equal call and the repeated calls"
    assert any(line.startswith("∅ call 2 of 22 · missing: post_tweet") for line in lines)
    unfolded = document_lines(
        make_detail(make_repeated_calls(21)), 120, folds={"turn:1/calls:3-22": False}
    )
    assert sum(line.startswith("+ call ") for line in unfolded) == 20
    assert not any(
        "calls 3-" in line for line in document_lines(make_detail(make_repeated_calls(3)))
    ), "two calls are not joined"


def test_repeated_messages_are_one_line() -> None:
    item = make_repeated_calls(1)
    item.messages += [
        Message(0, step, role="assistant", content="I am not sure.") for step in range(1, 6)
    ]
    lines = document_lines(make_detail(item))
    assert "repeats steps 2-6 · 5x I am not sure." in lines
    assert sum("not sure" in line for line in lines) == 1


def make_logged_steps(n_steps: int) -> Item:
    """Return a turn of BFCL: each step has a raw reply, a call, a log before the result of the
    call and a log after it.
    """
    item = Item("multi_turn_base_0", "multi_turn_base", n_steps=n_steps)
    item.messages = [Message(0, -1, role="user", content="Make folders.")]
    for step in range(n_steps):
        item.predicted.append(predicted_call("mkdir", step, 0, step, path=f"d{step}"))
        item.messages += [
            Message(0, step, role="assistant", content=f"[mkdir(path='d{step}')]"),
            Message(0, step, role="log", content=f"decoded {step}"),
            Message(0, step, role="tool", content="null", name="mkdir"),
            Message(0, step, role="log", content=f"executed {step}"),
        ]
    item.pairs = align_calls(item.golden, item.predicted, keep_order=True)
    return item


def test_only_the_log_after_the_last_result_is_shown() -> None:
    text = "\n".join(document_lines(make_detail(make_logged_steps(3))))
    assert "executed 2" in text
    assert "executed 1" not in text
    assert "decoded" not in text


def test_turn_of_many_steps_takes_linear_time() -> None:
    detail = make_detail(make_logged_steps(10_000))
    start = time.process_time()
    build_document(detail, "alice", DisplayOptions())
    # It takes about 3 s. If each event searched the turn, it would take more than a minute.
    assert time.process_time() - start < 20


def test_state_differences_without_a_turn_are_at_the_end() -> None:
    item = make_repeated_calls(1)
    item.extra.state_differences = {
        "Food.users.Eve.balance": StateDifference(412.0, 500.0),
        "Food.orders": StateDifference(ABSENT, []),
    }
    lines = document_lines(make_detail(item))
    at = find_line(lines, "── final state")
    assert lines[at + 2].split() == ["≠", "Food.users.Eve.balance", "412.0", "500.0"]
    assert lines[at + 3].startswith("+ Food.orders")
    assert at > find_line(lines, "= call 1")
    assert not any(
        "Food" in line for line in document_lines(make_detail(item), hide_verdicts=True)
    ), "states reveal the verdict"


def test_multi_turn_items_have_a_map_of_turns() -> None:
    item = Item("m", "multi", n_turns=3)
    for turn in range(3):
        item.golden.append(golden_call("f", 0, turn))
        item.predicted += [predicted_call("f" if turn != 1 else "g", 0, turn)]
        item.messages.append(Message(turn, 0, role="tool", content="ok"))
        item.pairs += align_calls(item.golden[-1:], item.predicted[-1:])
    item.extra.failing_turn = 1
    assert "turns  1 =  2 ≠ fails here  3 =" in document_lines(make_detail(item))
    assert "turns  1 =  2 ≠  3 =" in document_lines(make_detail(item), hide_verdicts=True)
    assert not any(
        line.startswith("turns") for line in document_lines(make_detail(make_judged_call()))
    )


def test_judged_reply_is_beside_golden_reply_and_labels() -> None:
    item = make_judged_call(before=2)
    item.golden, item.predicted, item.pairs = [], [], []
    item.messages.append(Message(2, 1, role="assistant", content="Where do you live?"))
    item.extra.golden_reply, item.extra.golden_labels = "Your refund is due.", ["inform"]
    lines = document_lines(make_detail(item))
    at = find_line(lines, "── response")
    assert lines[at].startswith("── response · step 2 · judged")
    assert lines[at + 1].split() == ["golden", "predicted"]
    assert "(not judged)" in lines[at + 2] and lines[at + 2].startswith("  labels"), (
        "not marked as equal"
    )
    assert lines[at + 3].split("  ")[-1].strip() == "Where do you live?"
    assert lines[at + 3].index("Your refund") == lines[at + 1].index("golden")
    assert not any("no golden call" in line for line in lines)
    blocks = build_document(make_detail(item), "alice", DisplayOptions())
    assert plain_text(blocks[find_start_index(blocks)].lines(79)[0]).startswith("── response")


@pytest.mark.parametrize(
    ("ours", "passes", "state"),
    [(["inform"], True, "="), (["ask"], False, "!"), (["ask"], True, "~")],
)
def test_judge_labels_are_beside_golden_labels(ours: list[str], passes: bool, state: str) -> None:
    item = Item("dialogacts_10", "dialogacts", official=passes)
    item.messages = [
        Message(0, -1, role="user", content="My refund?"),
        Message(0, 0, role="assistant", content="Where do you live?"),
    ]
    item.extra.golden_reply, item.extra.golden_labels = "Your refund is due.", ["inform"]
    item.verdicts = [
        Verdict(
            "judge",
            ours,
            target="response",
            criterion="dialog_act",
            error_type=None,
            rationale=", ".join(ours),
            by="labeller",
        )
    ]
    lines = document_lines(make_detail(item))
    sign = symbols().state_symbol(state)
    row = lines[find_line(lines, f"{sign} labels")]
    assert row.split() == [sign, "labels", "inform", ours[0]]
    assert not any(line.startswith("── judge") for line in lines), "the labels are shown already"
    assert not any("ask" in line for line in document_lines(make_detail(item), hide_verdicts=True))
