"""Calls of conversations without golden calls are shown with name, arguments, result and error."""

from __future__ import annotations

from fcreview.model.item import Call, Item, Message
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from tests.tui.item_view.document_text import document_lines, make_detail, predicted_call


def make_conversation(*calls: Call, messages: list[Message] | None = None) -> Item:
    item = Item("a", "agent", predicted=list(calls))
    item.messages = [
        Message(0, -1, role="user", content="What is the weather in Oslo?"),
        *(messages or []),
    ]
    return item


def show(item: Item) -> list[str]:
    return [line.strip() for line in document_lines(make_detail(item))]


def test_result_follows_its_call() -> None:
    call = predicted_call("get_weather", city="Oslo")
    lines = show(
        make_conversation(
            call, messages=[Message(0, 0, role="tool", content="12 degrees", name="get_weather")]
        )
    )
    at = lines.index('step 1  get_weather(city="Oslo")')
    assert lines[at + 1] == "result  12 degrees"


def test_single_call_that_was_not_executed_is_shown() -> None:
    assert 'call    get_weather(city="Oslo")' in show(
        make_conversation(predicted_call("get_weather", city="Oslo"))
    )


def test_all_calls_of_a_reply_that_were_not_executed_are_shown() -> None:
    calls = predicted_call("get_weather", city="Oslo"), predicted_call("get_time", 1, zone="CET")
    lines = show(make_conversation(*calls))
    assert lines.index('call    get_weather(city="Oslo")') < lines.index(
        'call    get_time(zone="CET")'
    )


def test_undecoded_call_shows_name_text_and_error() -> None:
    call = Call(
        "predicted",
        "bash",
        arguments=None,
        turn=0,
        step=0,
        index=0,
        raw="ls -la",
        decode_error="not JSON",
    )
    lines = show(
        make_conversation(
            call,
            messages=[Message(0, 0, role="tool", content="error (parsing): not JSON", name="bash")],
        )
    )
    at = lines.index("step 1  bash ls -la")
    assert lines[at + 1 : at + 3] == ["error   not JSON", "result  error (parsing): not JSON"]


def test_text_beside_calls_is_shown_unless_it_is_their_raw_form() -> None:
    call = predicted_call("get_weather", city="Oslo")
    executed = Message(0, 0, role="tool", content="12 degrees")
    for text, is_shown in [("Let me look.", True), ('[get_weather(city="Oslo")]', False)]:
        reply = Message(0, 0, role="assistant", content=text)
        for messages in ([reply], [reply, executed]):
            assert (
                any(text in line for line in show(make_conversation(call, messages=messages)))
                is is_shown
            )


def test_long_call_can_be_opened_and_copied() -> None:
    code = "print(1)\n" * 200
    detail = make_detail(make_conversation(predicted_call("python", code=code)))
    blocks = build_document(detail, "alice", DisplayOptions())
    (block,) = [block for block in blocks if block.key == "turn:1/call:1/unpaired"]
    assert block.foldable and block.folded
    assert block.copied_value is not None and block.copied_value() == {"python": {"code": code}}
