"""Items of several turns: what is folded, where they fail, where the cursor stops."""

from __future__ import annotations

import pytest

from fcreview.model.item import Item, Message, StateDifference
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document, cursor_stops, first_difference, starting_block, target_at
from fcreview.tui.review.cursor import find_hits
from tests.tui.item_view.document_text import detail, golden, item, predicted, text, turns


def test_the_failing_turn_is_open_and_marked_and_the_others_are_folded() -> None:
    lines = text(detail(turns()))
    headings = [line for line in lines if line.startswith("── turn") and "calls:" in line]
    assert [" · folded" in line for line in headings] == [True, False, True]
    assert ["FAILS HERE" in line for line in headings] == [False, True, False]
    assert lines.count("user    Move the file, please. (0)") == 1
    assert '! to        "b"                               "c"' in lines
    assert lines.count('result  {"moved": true}') == 1, "what came of the call stands below it"
    assert not any(line.startswith("step 1") for line in lines), "the call is not told twice"
    assert "        … 4.4 KB, enter to open" in lines
    assert 'state   FileSystem {"root": {}}' in " ".join(lines)
    assert not any(line.startswith("log") for line in lines)


def test_a_note_of_the_runner_is_shown_where_it_tells_why_a_turn_ended() -> None:
    of = turns()
    of.extra.failing_turn = 1
    of.messages = [m for m in of.messages if m.turn != 1 or m.step < 1]
    of.messages.append(Message(1, 0, "log", "Forced to quit after 20 steps."))
    assert "log     Forced to quit after 20 steps." in text(detail(of))
    of.messages.append(Message(1, 1, "assistant", "I give up."))
    of.messages.append(Message(1, 1, "log", "not a call"))
    assert not [line for line in text(detail(of)) if line.startswith("log")]


def test_the_cursor_starts_where_the_item_fails_and_stops_at_targets() -> None:
    blocks = build_document(detail(turns()), "alice", DisplayOptions())
    assert blocks[starting_block(blocks)].key == "turn:2"
    stops = [blocks[at].key for at in cursor_stops(blocks, arguments=False)]
    said = ["turn:2/step:2/assistant:0", "turn:2/step:2/state:1"]
    assert stops == ["turn:1", "turn:2", "turn:2/opening:0", "turn:2/call:1", *said, "turn:3"]
    at = first_difference(blocks)
    assert at is not None and blocks[at].target == "turn:2/call:1/arg:to"
    assert target_at(blocks, cursor_stops(blocks, arguments=False)[4]) == "turn:2"


def test_the_state_that_differs_is_shown_in_the_failing_turn_with_both_sides_named() -> None:
    of = turns()
    of.extra.state_differences = {"root": StateDifference("<Directory: b>", "<Directory: c>")}
    lines = text(detail(of))
    at = next(n for n, line in enumerate(lines) if line.startswith("── turn 2 · state after the turn"))
    assert lines[at + 1].split() == ["field", "golden", "predicted"]
    assert lines[at + 2].split("  ")[0] == "! root"
    assert lines[at + 2].index("<Directory: b>") == lines[at + 1].index("golden")
    assert lines[at + 2].index("<Directory: c>") == lines[at + 1].index("predicted")
    assert not any("state_differences" in line for line in lines)


def test_search_finds_what_is_folded_away() -> None:
    opened = build_document(detail(turns()), "alice", DisplayOptions(unfold_all=True))
    keys = {hit.key for hit in find_hits(opened, "PLEASE. (2)", 79)}
    assert keys == {"turn:3/opening:0"}


def test_without_golden_calls_the_steps_are_the_content() -> None:
    calls = [predicted("search", 0, 0, 0, q="a"), predicted("search", 1, 0, 1, q="b")]
    said = [Message(0, -1, "user", "Find it."), Message(0, 0, "tool", "nothing"), Message(0, 2, "assistant", "Here.")]
    agentic = Item("web_search_base_0", "web_search_base", predicted=calls, messages=said, n_turns=1, n_steps=3)
    lines = text(detail(agentic))
    assert not any("0 golden" in line or "no golden" in line for line in lines)
    assert any("turn 1 of 1 · 2 calls in 2 steps" in line for line in lines)
    assert 'step 1  search(q="a")' in lines


@pytest.mark.parametrize("messages", [[], [Message(0, -1, "user", "")], [Message(0, -1, "user", " \n")]])
def test_a_question_that_is_not_known_is_said_once(messages: list[Message]) -> None:
    of = item([golden("get_weather", city="Rome")], [predicted("get_weather", city="Rome")], messages=messages)
    lines = [line for line in text(detail(of)) if line.startswith("user")]
    assert lines == ["user    question unknown: not found in any dataset"]


@pytest.mark.parametrize(
    "messages",
    [[Message(0, -1, "user", "Rome?")], [Message(0, -1, "system", "Ask for Rome.", "instruction")]],
)
def test_what_is_known_is_shown_alone(messages: list[Message]) -> None:
    of = item([golden("get_weather", city="Rome")], [predicted("get_weather", city="Rome")], messages=messages)
    shown = "\n".join(text(detail(of)))
    assert "question unknown" not in shown and "Rome" in shown
