"""The decisive step of small conversations, each with one kind of fact."""

from __future__ import annotations

import json

from fcreview.matching.conversation import ChatMessage
from fcreview.matching.decisive_step import find_decisive_step, is_reading
from fcreview.model.item import AcceptedValues, Call

USER, MODEL = "user", "assistant"


def golden(name: str, **arguments: object) -> Call:
    return Call("golden", name, {key: AcceptedValues([value]) for key, value in arguments.items()})


def talk(*parts: str | tuple[str, dict[str, object], str]) -> list[ChatMessage]:
    """Texts alternate between user and model; a tuple is a call of the model with its result."""
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


def kind_and_message(messages: list[ChatMessage], *actions: Call, missing: tuple[str, ...] = ()) -> tuple[str, int]:
    step = find_decisive_step(messages, actions, missing)
    assert step is not None and step.reason.endswith(".")
    return step.kind, step.message


def test_a_write_that_is_not_golden() -> None:
    messages = talk("Cancel the hose.", ("cancel_order", {"order_id": "#W1234"}, "{}"), "Done.")
    assert kind_and_message(messages, golden("return_order", order_id="#W9")) == ("wrong_write", 2)


def test_a_write_with_the_users_own_value() -> None:
    messages = talk("Cancel order #W1234.", ("cancel_order", {"order_id": "#W1234"}, "{}"), "Done.")
    assert kind_and_message(messages, golden("cancel_order", order_id="#W7777")) == ("user_choice", 1)


def test_a_golden_action_that_came_too_late() -> None:
    messages = talk(
        "Change item and address.",
        ("modify_items", {"order_id": "#W1234", "item": "a1234"}, "{}"),
        ("modify_address", {"order_id": "#W1234"}, "Error: order cannot be modified"),
        "Sorry.",
    )
    actions = golden("modify_address", order_id="#W1234"), golden("modify_items", order_id="#W1234", item="a1234")
    assert kind_and_message(messages, *actions) == ("wrong_order", 2)


def test_a_refused_action_with_nothing_made_too_early_is_missing() -> None:
    messages = talk(
        "Change item and address.",
        ("modify_items", {"order_id": "#W1234", "item": "a1234"}, "{}"),
        ("modify_address", {"order_id": "#W1234"}, "Error: order cannot be modified"),
        "Sorry.",
    )
    actions = golden("modify_items", order_id="#W1234", item="a1234"), golden("modify_address", order_id="#W1234")
    assert kind_and_message(messages, *actions)[0] == "missing_action"


def test_the_first_of_two_wrong_writes_is_decisive() -> None:
    wrong = [("cancel_order", {"order_id": f"#W{number}"}, "{}") for number in (1234, 5678)]
    messages = talk("Cancel the hose.", *wrong, "Done.")
    assert kind_and_message(messages, golden("return_order", order_id="#W9")) == ("wrong_write", 2)


def test_a_refused_call_that_was_repaired_is_no_step() -> None:
    refused = ("cancel_order", {"order_id": "#W1"}, "Error: order not found")
    repaired = ("cancel_order", {"order_id": "#W1234"}, "{}")
    action = golden("cancel_order", order_id="#W1234")
    assert find_decisive_step(talk("Cancel the hose.", refused, repaired, "Done."), [action]) is None


def test_an_answer_beside_a_call() -> None:
    messages = talk("How much?", ("get_price", {}, '{"price": 1250}'), "It is not cheap.")
    messages[1].content = "It costs 1,250."
    assert kind_and_message(messages, golden("get_price"), missing=("1250",)) == ("unseen_answer", 2)


def test_an_answer_of_the_same_form() -> None:
    listed = json.dumps({"name": "shirts"})
    messages = talk("How many shirts?", ("list_shirts", {}, listed), "There are 11 shirts.", "Thanks.")
    assert kind_and_message(messages, golden("list_shirts"), missing=("10",)) == ("wrong_answer", 4)


def test_a_declined_request() -> None:
    messages = talk("Please update my address.", "Unfortunately, I cannot find your address.", "Bye.")
    assert kind_and_message(messages, golden("modify_user_address", zip="12345")) == ("refused_request", 2)


def test_a_request_that_the_user_drops() -> None:
    messages = talk(
        "Please update my address.",
        "Would you like to update your address?",
        "Actually, no need.",
        "Then I cannot update your address.",
    )
    assert kind_and_message(messages, golden("modify_user_address", zip="12345")) == ("user_retraction", 3)


def test_without_facts_there_is_no_step() -> None:
    assert find_decisive_step([], [], []) is None
    assert find_decisive_step(talk("Hello.", "Hi."), [], []) is None


def test_reading_functions_change_nothing() -> None:
    assert is_reading("get_order") and is_reading("findUser") and not is_reading("cancel_order")
