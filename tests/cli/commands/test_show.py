"""`fcreview show` prints items as plain text without keys."""

from __future__ import annotations

from fcreview.cli.item_text import FULL_HINT, format_item_lines
from fcreview.matching.align import align_calls
from fcreview.model.item import AcceptedValues, Call, Item, Message, Run
from fcreview.model.review import ItemKey
from fcreview.store.rows import ItemDetail, QueueRow

LONG = "\n".join(f"row {number} of a long text" for number in range(400))
"""A text longer than the app unfolds in place."""
WORDS = " ".join(f"word{number}" for number in range(400))


def make_detail() -> ItemDetail:
    """Return an item with an undecoded call, a long observation and a long field."""
    wanted = [Call("golden", "cd", arguments={"folder": AcceptedValues(["a"])})]
    given = [Call("predicted", "cd", arguments=None, raw=WORDS, decode_error="no call in it")]
    messages = [
        Message(0, -1, role="user", content="Go."),
        Message(0, 0, role="tool", content=LONG, name="ls"),
        Message(0, 1, role="assistant", content=WORDS),
    ]
    item = Item(
        "turn_0",
        "multi",
        messages=messages,
        golden=wanted,
        predicted=given,
        pairs=align_calls(wanted, given),
    )
    item.extra.metadata = {"config": {"deep": [LONG]}}
    row = QueueRow(
        item=1, run=1, seq=0, id=item.id, category="multi", model="m", official=False, rule=False
    )
    key = ItemKey(
        benchmark="b", generation="g", language="en", model="m", category="multi", id=item.id
    )
    return ItemDetail(row, key, Run("b", "g", "en", "m", "runs"), item)


def test_printed_item_names_no_keys() -> None:
    lines = list(format_item_lines(make_detail(), "alice", 100))
    hints = [line for line in lines if FULL_HINT in line]
    assert len(hints) == 4, "undecoded call, observation, reply and field"
    assert not [line for line in lines if "enter" in line]


def test_full_option_prints_whole_texts() -> None:
    text = " ".join(" ".join(format_item_lines(make_detail(), "alice", 100, full=True)).split())
    assert FULL_HINT not in text and "enter" not in text
    for last in ("row 399 of a long text", "word399"):
        assert text.count(last) >= 2
