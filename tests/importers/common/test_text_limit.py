"""Texts of an item above the budget become placeholders, wherever they are, and an issue says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fcreview.importers.common.budgets import MAX_ITEM_TEXT
from fcreview.importers.common.text_limit import TextLimiter
from fcreview.model.item import (
    AcceptedValues,
    Call,
    Extra,
    GoldenObject,
    Item,
    Message,
    RecordedReview,
    StateDifference,
    TaskSection,
    Verdict,
)

LONG = "x" * (MAX_ITEM_TEXT + 1)
PLACEHOLDER = "(omitted: 33,554,4"
"""Beginning of the placeholder of a text that is slightly longer than the budget."""


def make_golden_call(value: object) -> Call:
    return Call("golden", "f", arguments={"a": value})


def make_item_with_reviews() -> Item:
    review = RecordedReview("score", author="ann", verdict=True, reason=LONG)
    return Item("i", "c", extra=Extra(recorded_reviews=[review]))


TEXTS: dict[str, tuple[Callable[[], Item], Callable[[Item], object]]] = {
    "message": (
        lambda: Item("i", "c", messages=[Message(0, 0, role="user", content=LONG)]),
        lambda item: item.messages[0].content,
    ),
    "argument of a predicted call": (
        lambda: Item("i", "c", predicted=[Call("predicted", "f", arguments={"a": LONG})]),
        lambda item: item.predicted[0].raw,
    ),
    "accepted value of a golden call": (
        lambda: Item("i", "c", golden=[make_golden_call(AcceptedValues([LONG]))]),
        lambda item: item.golden[0].raw,
    ),
    "field of a golden object": (
        lambda: Item(
            "i", "c", golden=[make_golden_call(GoldenObject({"b": AcceptedValues([LONG])}))]
        ),
        lambda item: item.golden[0].raw,
    ),
    "rationale": (
        lambda: Item("i", "c", verdicts=[Verdict("judge", True, rationale=LONG)]),
        lambda item: item.verdicts[0].rationale,
    ),
    "function docs": (
        lambda: Item("i", "c", functions=[{"name": "f", "description": LONG}]),
        lambda item: item.functions[0]["description"],
    ),
    "task section": (
        lambda: Item("i", "c", task_sections=[TaskSection("state", LONG)]),
        lambda item: item.task_sections[0].text,
    ),
    "golden reply": (
        lambda: Item("i", "c", extra=Extra(golden_reply=LONG)),
        lambda item: item.extra.golden_reply,
    ),
    "accepted answer": (
        lambda: Item("i", "c", extra=Extra(accepted_answers=[LONG])),
        lambda item: (item.extra.accepted_answers or [])[0],
    ),
    "state": (
        lambda: Item("i", "c", extra=Extra(state_differences={"a": StateDifference(LONG, 1)})),
        lambda item: (item.extra.state_differences or {})["a"].golden,
    ),
    "reason of a review": (
        make_item_with_reviews,
        lambda item: item.extra.recorded_reviews[0].reason,
    ),
    "metadata": (
        lambda: Item("i", "c", extra=Extra(metadata={"a": [LONG]})),
        lambda item: item.extra.metadata["a"],
    ),
}


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_text_above_the_budget_is_replaced(kind: str) -> None:
    make_item, get_text = TEXTS[kind]
    item = make_item()
    TextLimiter().limit(item)
    assert str(get_text(item)).startswith(PLACEHOLDER)
    (issue,) = item.issues
    assert issue.what.startswith("1 text was replaced by a placeholder")


def test_texts_within_the_budget_stay() -> None:
    half = "x" * (MAX_ITEM_TEXT // 2 - 100)
    item = Item("i", "c", messages=[Message(0, 0, role="user", content=half)])
    item.functions = [{"name": "f", "description": half}]
    TextLimiter().limit(item)
    assert item.messages[0].content == half
    assert item.functions[0]["description"] == half
    assert not item.issues


def test_predicted_calls_are_kept_before_other_texts() -> None:
    long_but_fits = "x" * (MAX_ITEM_TEXT - 100)
    item = Item("i", "c", predicted=[Call("predicted", "f", arguments={"a": long_but_fits})])
    item.functions = [{"name": "g", "description": "y" * 1_000}]
    TextLimiter().limit(item)
    assert item.predicted[0].arguments == {"a": long_but_fits}
    assert item.functions == [{"name": "g", "description": "(omitted: 1,029 characters)"}]


def test_shared_function_docs_are_limited_for_each_item() -> None:
    shared = [{"name": "f", "description": LONG}]
    limiter = TextLimiter()
    items = [Item(str(number), "c", functions=shared) for number in range(2)]
    for item in items:
        limiter.limit(item)
    assert all(item.functions[0]["description"].startswith(PLACEHOLDER) for item in items)
    assert shared[0]["description"] == LONG
