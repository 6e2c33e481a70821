"""The decisive step of a conversation is found from its messages and golden actions."""

from __future__ import annotations

import json

from fcreview.matching.conversation import ChatMessage
from fcreview.matching.decisive_step import find_decisive_step, is_reading
from fcreview.model.item import AcceptedValues, Call

USER, MODEL = "user", "assistant"


def make_golden(name: str, **arguments: object) -> Call:
    return Call("golden", name, {key: AcceptedValues([value]) for key, value in arguments.items()})


def make_messages(*parts: str | tuple[str, dict[str, object], str]) -> list[ChatMessage]:
    """Return messages: texts alternate between user and model, and a tuple is a call of the model with its result."""
    found: list[ChatMessage] = []
    speaker = USER
    for number, part in enumerate(parts):
        if isinstance(part, str):
            found.append(ChatMessage(speaker, part))  # type: ignore[arg-type]
            speaker = MODEL if speaker == USER else USER
        else:
            name, arguments, result = part
            call_id = f"call_{number}"
            found.append(ChatMessage("assistant", calls=[Call("predicted", name, dict(arguments))], ids=[call_id]))
            found.append(ChatMessage("tool", result, call_id=call_id))
    return found


def find_kind_and_message(
    messages: list[ChatMessage], *actions: Call, missing: tuple[str, ...] = ()
) -> tuple[str, int]:
    step = find_decisive_step(messages, actions, missing)
    assert step is not None and step.reason.endswith(".")
    return step.kind, step.message


def test_write_without_golden_action() -> None:
    messages = make_messages("Cancel the hose.", ("cancel_order", {"order_id": "#W1234"}, "{}"), "Done.")
    assert find_kind_and_message(messages, make_golden("return_order", order_id="#W9")) == ("wrong_write", 2)


def test_write_with_a_value_of_the_user() -> None:
    messages = make_messages("Cancel order #W1234.", ("cancel_order", {"order_id": "#W1234"}, "{}"), "Done.")
    assert find_kind_and_message(messages, make_golden("cancel_order", order_id="#W7777")) == ("user_choice", 1)


def test_golden_action_in_wrong_order() -> None:
    messages = make_messages(
        "Change item and address.",
        ("modify_items", {"order_id": "#W1234", "item": "a1234"}, "{}"),
        ("modify_address", {"order_id": "#W1234"}, "Error: order cannot be modified"),
        "Sorry.",
    )
    actions = (
        make_golden("modify_address", order_id="#W1234"),
        make_golden("modify_items", order_id="#W1234", item="a1234"),
    )
    assert find_kind_and_message(messages, *actions) == ("wrong_order", 2)


def test_refused_action_in_right_order_is_missing() -> None:
    messages = make_messages(
        "Change item and address.",
        ("modify_items", {"order_id": "#W1234", "item": "a1234"}, "{}"),
        ("modify_address", {"order_id": "#W1234"}, "Error: order cannot be modified"),
        "Sorry.",
    )
    actions = (
        make_golden("modify_items", order_id="#W1234", item="a1234"),
        make_golden("modify_address", order_id="#W1234"),
    )
    assert find_kind_and_message(messages, *actions)[0] == "missing_action"


def test_first_wrong_write_is_decisive() -> None:
    wrong = [("cancel_order", {"order_id": f"#W{number}"}, "{}") for number in (1234, 5678)]
    messages = make_messages("Cancel the hose.", *wrong, "Done.")
    assert find_kind_and_message(messages, make_golden("return_order", order_id="#W9")) == ("wrong_write", 2)


def test_corrected_call_is_not_decisive() -> None:
    refused = ("cancel_order", {"order_id": "#W1"}, "Error: order not found")
    repaired = ("cancel_order", {"order_id": "#W1234"}, "{}")
    action = make_golden("cancel_order", order_id="#W1234")
    assert find_decisive_step(make_messages("Cancel the hose.", refused, repaired, "Done."), [action]) is None


def test_answer_next_to_a_call_is_not_seen() -> None:
    messages = make_messages("How much?", ("get_price", {}, '{"price": 1250}'), "It is not cheap.")
    messages[1].content = "It costs 1,250."
    assert find_kind_and_message(messages, make_golden("get_price"), missing=("1250",)) == ("unseen_answer", 2)


def test_wrong_answer_of_the_same_form() -> None:
    listed = json.dumps({"name": "shirts"})
    messages = make_messages("How many shirts?", ("list_shirts", {}, listed), "There are 11 shirts.", "Thanks.")
    assert find_kind_and_message(messages, make_golden("list_shirts"), missing=("10",)) == ("wrong_answer", 4)


def test_declined_request() -> None:
    messages = make_messages("Please update my address.", "Unfortunately, I cannot find your address.", "Bye.")
    assert find_kind_and_message(messages, make_golden("modify_user_address", zip="12345")) == ("refused_request", 2)


def test_request_that_the_user_retracts() -> None:
    messages = make_messages(
        "Please update my address.",
        "Would you like to update your address?",
        "Actually, no need.",
        "Then I cannot update your address.",
    )
    assert find_kind_and_message(messages, make_golden("modify_user_address", zip="12345")) == ("user_retraction", 3)


def test_no_step_without_evidence() -> None:
    assert find_decisive_step([], [], []) is None
    assert find_decisive_step(make_messages("Hello.", "Hi."), [], []) is None


def test_read_functions_are_recognized() -> None:
    assert is_reading("get_order") and is_reading("findUser") and not is_reading("cancel_order")
