"""Items of several turns: folding, the failing turn and the stops of the cursor."""

from __future__ import annotations

import pytest

from fcreview.model.item import Extra, Item, Message, StateDifference
from fcreview.model.sanitize import display_width
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.cursor import (
    cursor_stop_indices,
    find_hits,
    find_start_index,
    first_difference_index,
    verdict_target_at,
)
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text
from tests.tui.item_view.document_text import (
    document_lines,
    golden_call,
    make_detail,
    make_item,
    make_multi_turn_item,
    predicted_call,
)


def test_only_the_failing_turn_is_open() -> None:
    lines = document_lines(make_detail(make_multi_turn_item()))
    headings = [line for line in lines if line.startswith("── turn") and "calls:" in line]
    assert [" · folded" in line for line in headings] == [True, False, True]
    assert ["FAILS HERE" in line for line in headings] == [False, True, False]
    assert lines.count("user    Move the file, please. (0)") == 1
    assert '≠ to        "b"                               "c"' in lines
    assert lines.count('result  {"moved": true}') == 1, "the result is below its call"
    assert not any(line.startswith("step 1") for line in lines), "the call is not repeated"
    assert "        … 4.4 KB, enter to open" in lines
    assert 'state   FileSystem {"root": {}}' in " ".join(lines)
    assert not any(line.startswith("log") for line in lines)


def test_runner_log_is_shown_if_it_ends_the_turn() -> None:
    item = make_multi_turn_item()
    item.extra.failing_turn = 1
    item.messages = [m for m in item.messages if m.turn != 1 or m.step < 1]
    item.messages.append(Message(1, 0, role="log", content="Forced to quit after 20 steps."))
    assert "log     Forced to quit after 20 steps." in document_lines(make_detail(item))
    item.messages.append(Message(1, 1, role="assistant", content="I give up."))
    item.messages.append(Message(1, 1, role="log", content="not a call"))
    assert not [line for line in document_lines(make_detail(item)) if line.startswith("log")]


def test_cursor_starts_at_failing_turn_and_stops_at_targets() -> None:
    blocks = build_document(make_detail(make_multi_turn_item()), "alice", DisplayOptions())
    assert blocks[find_start_index(blocks)].key == "turn:2"
    stops = [blocks[at].key for at in cursor_stop_indices(blocks, include_arguments=False)]
    steps = ["turn:2/step:2/assistant:0", "turn:2/step:2/state:1"]
    assert stops == ["turn:1", "turn:2", "turn:2/opening:0", "turn:2/call:1", *steps, "turn:3"]
    at = first_difference_index(blocks)
    assert at is not None and blocks[at].target == "turn:2/call:1/arg:to"
    assert (
        verdict_target_at(blocks, cursor_stop_indices(blocks, include_arguments=False)[4])
        == "turn:2"
    )


def test_state_difference_is_in_the_failing_turn() -> None:
    item = make_multi_turn_item()
    item.extra.state_differences = {"root": StateDifference("<Directory: b>", "<Directory: c>")}
    lines = document_lines(make_detail(item))
    at = next(
        n for n, line in enumerate(lines) if line.startswith("── turn 2 · state after the turn")
    )
    assert lines[at + 1].split() == ["field", "golden", "predicted"]
    assert lines[at + 2].split("  ")[0] == "≠ root"
    assert lines[at + 2].index("<Directory: b>") == lines[at + 1].index("golden")
    assert lines[at + 2].index("<Directory: c>") == lines[at + 1].index("predicted")
    assert not any("state_differences" in line for line in lines)


def test_search_finds_folded_text() -> None:
    opened = build_document(
        make_detail(make_multi_turn_item()), "alice", DisplayOptions(unfold_all=True)
    )
    keys = {hit.key for hit in find_hits(opened, "PLEASE. (2)", 79)}
    assert keys == {"turn:3/opening:0"}


def test_steps_are_shown_without_golden_calls() -> None:
    calls = [predicted_call("search", 0, 0, 0, q="a"), predicted_call("search", 1, 0, 1, q="b")]
    messages = [
        Message(0, -1, role="user", content="Find it."),
        Message(0, 0, role="tool", content="nothing"),
        Message(0, 2, role="assistant", content="Here."),
    ]
    agentic = Item(
        "web_search_base_0",
        "web_search_base",
        predicted=calls,
        messages=messages,
        n_turns=1,
        n_steps=3,
    )
    lines = document_lines(make_detail(agentic))
    assert not any("0 golden" in line or "no golden" in line for line in lines)
    assert any("turn 1 of 1 · 2 calls in 2 steps" in line for line in lines)
    assert 'step 1  search(q="a")' in lines


@pytest.mark.parametrize(
    "messages",
    [[], [Message(0, -1, role="user", content="")], [Message(0, -1, role="user", content=" \n")]],
)
def test_unknown_question_is_reported_once(messages: list[Message]) -> None:
    item = make_item(
        [golden_call("get_weather", city="Rome")],
        [predicted_call("get_weather", city="Rome")],
        messages=messages,
    )
    lines = [line for line in document_lines(make_detail(item)) if line.startswith("user")]
    assert lines == ["user    question unknown: not found in any dataset"]


@pytest.mark.parametrize(
    "messages",
    [
        [Message(0, -1, role="user", content="Rome?")],
        [Message(0, -1, role="system", content="Ask for Rome.", name="instruction")],
    ],
)
def test_known_question_or_instruction_suffices(messages: list[Message]) -> None:
    item = make_item(
        [golden_call("get_weather", city="Rome")],
        [predicted_call("get_weather", city="Rome")],
        messages=messages,
    )
    shown = "\n".join(document_lines(make_detail(item)))
    assert "question unknown" not in shown and "Rome" in shown


@pytest.mark.parametrize("failing_turn", [0, 150, 299])
@pytest.mark.parametrize("cells", [59, 79, 159])
def test_strip_of_many_turns_shows_the_failing_turn(failing_turn: int, cells: int) -> None:
    item = Item("m", "multi", n_turns=300, extra=Extra(failing_turn=failing_turn))
    for turn in range(300):
        item.messages.append(Message(turn, 0, role="tool", content="ok"))
    blocks = build_document(make_detail(item), "alice", DisplayOptions())
    strip = next(block for block in blocks if block.key == "turns")
    lines = [plain_text(line) for line in strip.lines(cells)]
    assert len(lines) <= 3 and all(display_width(line) <= cells for line in lines)
    assert f" {failing_turn + 1} – fails here" in "\n".join(lines)
    assert lines[0].startswith("turns  …") == (failing_turn > 0)
    assert lines[-1].endswith("…") == (failing_turn < 299)
