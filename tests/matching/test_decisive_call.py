"""The decisive step where golden calls are paired with the model's calls, each case with one kind of fact."""

from __future__ import annotations

from fcreview.matching.align import align_turns
from fcreview.matching.decisive_call import add_decisive_call, find_decisive_call, find_loop
from fcreview.model.item import AcceptedValues, Call, CallPair, Item, Message, Verdict
from fcreview.model.verdict import DECISIVE_STEP

OK = '{"ok": true}'
REFUSED = '{"error": "no such file"}'


def golden(name: str, turn: int = 0, **arguments: object) -> Call:
    return Call("golden", name, {key: AcceptedValues([value]) for key, value in arguments.items()}, turn)


def conversation(actions: list[Call], *steps: tuple[str, dict[str, object], str], reply: str = "Done.") -> Item:
    """One turn: a request (message 1), a call with its result for each step (messages 2, 3; 4, 5 ...), and a reply."""
    item = Item("a", "multi", official=False)
    item.messages = [Message(0, -1, "user", "Please.")]
    for at, (name, arguments, result) in enumerate(steps):
        item.predicted.append(Call("predicted", name, arguments, 0, at, at))
        item.messages.append(Message(0, at, "tool", result, name))
    item.messages.append(Message(0, len(steps), "assistant", reply))
    for at, call in enumerate(actions):
        call.index = at
    item.golden = actions
    item.pairs = align_turns(item.golden, item.predicted)
    return item


def found(item: Item, turn: int | None = 0, *, only_effect: bool = True) -> tuple[str, int, str] | None:
    step = find_decisive_call(item, turn, only_effect=only_effect)
    return None if step is None else (step.kind, step.message, step.reason)


def test_a_call_with_another_value() -> None:
    item = conversation(
        [golden("view", path="a"), golden("order", amount=100)],
        ("view", {"path": "b"}, OK),
        ("order", {"amount": 107}, OK),
    )
    reason = "order has amount 107, but the golden call has 100."
    assert found(item) == ("wrong_call", 4, reason)
    kind, message, _ = found(item, only_effect=False) or ("", 0, "")
    assert (kind, message) == ("wrong_call", 2), "a call that reads counts where results are compared"
    item.verdicts.append(Verdict("judge", True, "turn:1/call:2", "equivalent"))
    kind, message, _ = found(item) or ("", 0, "")
    assert (kind, message) == ("wrong_call", 2), "the judge accepts the order"


def test_a_call_before_which_another_one_is_missing() -> None:
    item = conversation([golden("log_in"), golden("order", amount=100)], ("order", {"amount": 107}, OK))
    reason = "order is called, but log_in is not called before it."
    assert found(item, None) == ("wrong_call", 2, reason)
    assert found(item) == ("wrong_call", 2, "order has amount 107, but the golden call has 100.")


def test_a_refused_call_that_was_not_repaired() -> None:
    item = conversation([golden("move", source="a")], ("move", {"source": "x"}, REFUSED))
    item.pairs = [CallPair(0, 0, None, "move", "-"), CallPair(0, None, 0, "move", "+")]
    assert found(item) == ("refused_call", 2, "move is refused and not made correctly later.")
    item.messages[1].content = OK
    assert found(item) == (
        "wrong_write",
        2,
        "move changes data, and no unpaired golden call remains.",
    )
    assert found(item, only_effect=False) == ("missing_call", 4, "move is never called in turn 1.")


def test_an_unexpected_write() -> None:
    order = ("order", {"amount": 1}, OK)
    twice = conversation([golden("order", amount=1)], order, order)
    reason = "order was already called with the same arguments, and no unpaired golden call remains."
    assert found(twice) == ("wrong_write", 4, reason)
    assert found(twice, only_effect=False) is None, "where results are compared, another call does no harm"
    refused = conversation([golden("order", amount=1)], order, ("order", {"amount": 2}, REFUSED))
    assert found(refused) is None


def test_a_reply_without_a_decoded_call() -> None:
    item = conversation([golden("grep", pattern="def")], reply="```[grep(pattern='def')]```")
    kind, message, reason = found(item, only_effect=False) or ("", 0, "")
    assert (kind, message) == ("undecodable_call", 2) and reason.endswith(".")


def test_a_loop() -> None:
    calls = [("cancel", {"id": 1}, OK)] * 3
    item = conversation([golden("cancel", id=1)], *calls)
    step = find_loop(item)
    assert step is not None
    assert (step.kind, step.message) == ("repeated_call", 4)
    assert find_loop(conversation([], *calls[:2])) is None


def test_only_failed_items_get_a_step() -> None:
    item = conversation([golden("order", amount=1)])
    item.official = True
    add_decisive_call(item, only_effect=True)
    assert not item.verdicts and item.decisive_step is None
    item.official = False
    add_decisive_call(item, only_effect=True)
    assert [(v.source, v.criterion, v.value) for v in item.verdicts] == [("rule", DECISIVE_STEP, 2)]
    recomputed = conversation([golden("order", amount=1)])
    recomputed.official, recomputed.rule = None, False
    add_decisive_call(recomputed, only_effect=True)
    assert recomputed.decisive_step == "missing_call"
    assert item.decisive_step == "missing_call"
    assert find_decisive_call(Item("b", "multi", official=False), only_effect=True) is None
