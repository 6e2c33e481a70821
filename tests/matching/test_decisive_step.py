"""The decisive step of a conversation is found from its messages and golden actions."""

from __future__ import annotations

import json

from fcreview.matching.align import align_calls_by_turn
from fcreview.matching.conversation import ChatMessage
from fcreview.matching.decisive_call import add_decisive_call, find_call_loop, find_decisive_call
from fcreview.matching.decisive_step import find_decisive_step, is_read_only
from fcreview.model.item import AcceptedValues, Call, CallPair, Item, Message, Verdict
from fcreview.model.verdict import DECISIVE_STEP

USER, MODEL = "user", "assistant"


def make_golden(name: str, turn: int = 0, **arguments: object) -> Call:
    return Call(
        "golden",
        name,
        arguments={key: AcceptedValues([value]) for key, value in arguments.items()},
        turn=turn,
    )


def make_messages(*parts: str | tuple[str, dict[str, object], str]) -> list[ChatMessage]:
    """Return messages: texts alternate between user and model, and a tuple is a call of the
    model with its result.
    """
    found: list[ChatMessage] = []
    speaker = USER
    for number, part in enumerate(parts):
        if isinstance(part, str):
            found.append(ChatMessage(speaker, part))  # type: ignore[arg-type]
            speaker = MODEL if speaker == USER else USER
        else:
            name, arguments, result = part
            call_id = f"call_{number}"
            found.append(
                ChatMessage(
                    "assistant",
                    calls=[Call("predicted", name, arguments=dict(arguments))],
                    ids=[call_id],
                )
            )
            found.append(ChatMessage("tool", result, call_id=call_id))
    return found


def find_kind_and_message(
    messages: list[ChatMessage], *actions: Call, missing: tuple[str, ...] = ()
) -> tuple[str, int]:
    step = find_decisive_step(messages, actions, missing)
    assert step is not None and step.reason.endswith(".")
    return step.kind, step.message


def test_write_without_golden_action() -> None:
    messages = make_messages(
        "Cancel the hose.", ("cancel_order", {"order_id": "#W1234"}, "{}"), "Done."
    )
    assert find_kind_and_message(messages, make_golden("return_order", order_id="#W9")) == (
        "wrong_write",
        2,
    )


def test_write_with_a_value_of_the_user() -> None:
    messages = make_messages(
        "Cancel order #W1234.", ("cancel_order", {"order_id": "#W1234"}, "{}"), "Done."
    )
    assert find_kind_and_message(messages, make_golden("cancel_order", order_id="#W7777")) == (
        "user_choice",
        1,
    )


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
    assert find_kind_and_message(messages, make_golden("return_order", order_id="#W9")) == (
        "wrong_write",
        2,
    )


def test_corrected_call_is_not_decisive() -> None:
    refused = ("cancel_order", {"order_id": "#W1"}, "Error: order not found")
    repaired = ("cancel_order", {"order_id": "#W1234"}, "{}")
    action = make_golden("cancel_order", order_id="#W1234")
    assert (
        find_decisive_step(make_messages("Cancel the hose.", refused, repaired, "Done."), [action])
        is None
    )


def test_answer_next_to_a_call_is_not_seen() -> None:
    messages = make_messages("How much?", ("get_price", {}, '{"price": 1250}'), "It is not cheap.")
    messages[1].content = "It costs 1,250."
    assert find_kind_and_message(messages, make_golden("get_price"), missing=("1250",)) == (
        "unseen_answer",
        2,
    )


def test_wrong_answer_of_the_same_form() -> None:
    listed = json.dumps({"name": "shirts"})
    messages = make_messages(
        "How many shirts?", ("list_shirts", {}, listed), "There are 11 shirts.", "Thanks."
    )
    assert find_kind_and_message(messages, make_golden("list_shirts"), missing=("10",)) == (
        "wrong_answer",
        4,
    )


def test_declined_request() -> None:
    messages = make_messages(
        "Please update my address.", "Unfortunately, I cannot find your address.", "Bye."
    )
    assert find_kind_and_message(messages, make_golden("modify_user_address", zip="12345")) == (
        "refused_request",
        2,
    )


def test_request_that_the_user_retracts() -> None:
    messages = make_messages(
        "Please update my address.",
        "Would you like to update your address?",
        "Actually, no need.",
        "Then I cannot update your address.",
    )
    assert find_kind_and_message(messages, make_golden("modify_user_address", zip="12345")) == (
        "user_retraction",
        3,
    )


def test_no_step_without_evidence() -> None:
    assert find_decisive_step([], [], []) is None
    assert find_decisive_step(make_messages("Hello.", "Hi."), [], []) is None


def test_read_functions_are_recognized() -> None:
    assert (
        is_read_only("get_order") and is_read_only("findUser") and not is_read_only("cancel_order")
    )


OK = '{"ok": true}'
REFUSED = '{"error": "no such file"}'


def make_item(
    actions: list[Call], *steps: tuple[str, dict[str, object], str], reply: str = "Done."
) -> Item:
    """Return an item of one turn: a request, a call and its result for each step (messages 2 and
    3, ...), a reply.
    """
    item = Item("a", "multi", official=False)
    item.messages = [Message(0, -1, role="user", content="Please.")]
    for at, (name, arguments, result) in enumerate(steps):
        item.predicted.append(
            Call("predicted", name, arguments=arguments, turn=0, step=at, index=at)
        )
        item.messages.append(Message(0, at, role="tool", content=result, name=name))
    item.messages.append(Message(0, len(steps), role="assistant", content=reply))
    for at, call in enumerate(actions):
        call.index = at
    item.golden = actions
    item.pairs = align_calls_by_turn(item.golden, item.predicted)
    return item


def find_step(
    item: Item, turn: int | None = 0, *, only_effect_counts: bool = True
) -> tuple[str, int, str] | None:
    step = find_decisive_call(item, turn, only_effect_counts=only_effect_counts)
    return None if step is None else (step.kind, step.message, step.reason)


def test_call_with_a_wrong_value() -> None:
    item = make_item(
        [make_golden("view", path="a"), make_golden("order", amount=100)],
        ("view", {"path": "b"}, OK),
        ("order", {"amount": 107}, OK),
    )
    reason = "order has amount 107, but the golden call has 100."
    assert find_step(item) == ("wrong_call", 4, reason)
    kind, message, _ = find_step(item, only_effect_counts=False) or ("", 0, "")
    assert (kind, message) == ("wrong_call", 2), "with compared results, read calls count too"
    item.verdicts.append(Verdict("judge", True, target="turn:1/call:2", criterion="equivalent"))
    kind, message, _ = find_step(item) or ("", 0, "")
    assert (kind, message) == ("wrong_call", 2), "the judge accepts the order"


def test_call_after_a_missing_call() -> None:
    item = make_item(
        [make_golden("log_in"), make_golden("order", amount=100)],
        ("order", {"amount": 107}, OK),
    )
    reason = "order is called, but log_in is not called before it."
    assert find_step(item, None) == ("wrong_call", 2, reason)
    assert find_step(item) == (
        "wrong_call",
        2,
        "order has amount 107, but the golden call has 100.",
    )


def test_refused_call_without_correction() -> None:
    item = make_item([make_golden("move", source="a")], ("move", {"source": "x"}, REFUSED))
    item.pairs = [CallPair(0, 0, None, "move", "-"), CallPair(0, None, 0, "move", "+")]
    assert find_step(item) == ("refused_call", 2, "move is refused and not made correctly later.")
    item.messages[1].content = OK
    assert find_step(item) == (
        "wrong_write",
        2,
        "move changes data, and no unpaired golden call fits it.",
    )
    assert find_step(item, only_effect_counts=False) == (
        "missing_call",
        4,
        'move is called in turn 1 with {"source": "x"}, but the golden answer has another call.',
    )

    item.predicted[0].name = "copy"
    assert find_step(item, only_effect_counts=False) == (
        "missing_call",
        4,
        "move is never called in turn 1.",
    )


def test_unexpected_write() -> None:
    order = ("order", {"amount": 1}, OK)
    twice = make_item([make_golden("order", amount=1)], order, order)
    reason = (
        "order was already called with the same arguments, and no unpaired golden call fits it."
    )
    assert find_step(twice) == ("wrong_write", 4, reason)
    assert find_step(twice, only_effect_counts=False) is None, (
        "with compared results, an extra call is allowed"
    )
    refused = make_item([make_golden("order", amount=1)], order, ("order", {"amount": 2}, REFUSED))
    assert find_step(refused) is None


def test_reply_without_a_decoded_call() -> None:
    item = make_item([make_golden("grep", pattern="def")], reply="```[grep(pattern='def')]```")
    kind, message, reason = find_step(item, only_effect_counts=False) or ("", 0, "")
    assert (kind, message) == ("undecodable_call", 2) and reason.endswith(".")


def test_repeated_calls_are_a_loop() -> None:
    calls = [("cancel", {"id": 1}, OK)] * 3
    item = make_item([make_golden("cancel", id=1)], *calls)
    step = find_call_loop(item)
    assert step is not None
    assert (step.kind, step.message) == ("repeated_call", 4)
    assert find_call_loop(make_item([], *calls[:2])) is None


def test_only_failed_items_have_a_step() -> None:
    item = make_item([make_golden("order", amount=1)])
    item.official = True
    add_decisive_call(item, only_effect_counts=True)
    assert not item.verdicts and item.decisive_step is None
    item.official = False
    add_decisive_call(item, only_effect_counts=True)
    assert [(v.source, v.criterion, v.value) for v in item.verdicts] == [("rule", DECISIVE_STEP, 2)]
    recomputed = make_item([make_golden("order", amount=1)])
    recomputed.official, recomputed.rule = None, False
    add_decisive_call(recomputed, only_effect_counts=True)
    assert recomputed.decisive_step == "missing_call"
    assert item.decisive_step == "missing_call"
    assert find_decisive_call(Item("b", "multi", official=False), only_effect_counts=True) is None
