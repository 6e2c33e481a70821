"""JSON lines of items contain shared values once, and lose no values."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pytest

from fcreview.model.item import Call, Item, Message, SharedList, Verdict
from fcreview.store.importing.staging import SharedRowCache, SharedRowWriter, serialize_item

KEY = "sk-" + "a1b2c3d4e5" * 3


def make_item(text: str = "hello", *, shared: bool = True, **more: Any) -> Item:
    make = SharedList if shared else list
    item = Item(
        "x_1", "simple", question=text, tokens_in=3, latency=0.25, file="a.json", line=7, **more
    )
    opening = make([Message(0, -1, role="user", content=text)])
    item.messages = [*opening, Message(0, 0, role="assistant", content=f"reply to {text}")]
    item.shared_opening = opening if isinstance(opening, SharedList) else None
    item.golden = make([Call("golden", text, arguments={"a": 1})])
    item.predicted = make([Call("predicted", text, arguments={"a": 1})])
    item.verdicts = make([Verdict("rule", True)])
    return item


def write_line(item: Item, run: int = 1, seq: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(
        serialize_item(run, seq, item, SharedRowWriter(io.BytesIO(), SharedRowCache()))
    )
    return found


def write_joined_line(item: Item) -> dict[str, Any]:
    """Return the line of an item with the messages and golden calls of its question."""
    rows = io.BytesIO()
    found: dict[str, Any] = orjson.loads(
        serialize_item(1, 0, item, SharedRowWriter(rows, SharedRowCache()))
    )
    question_hash = found.pop("question_hash")
    if question_hash is not None:
        question = orjson.loads(rows.getvalue())
        assert question["question_hash"] == question_hash and found["golden"] == []
        found |= {"messages": question["messages"] + found["messages"], "golden": question["calls"]}
    return found


@pytest.mark.parametrize(
    "text", ["hello", f"the key is {KEY}", "lone \ud800 surrogate", 'quote " and \\ slash']
)
def test_shared_list_is_written_like_other_lists(text: str) -> None:
    whole, shared = write_joined_line(make_item(text, shared=False)), make_item(text)
    assert write_joined_line(shared) == whole
    assert write_joined_line(shared) == whole  # uses the cached list
    assert (
        KEY not in str(whole) and whole["messages"][0]["role"] == "user" and whole["n_golden"] == 1
    )


def test_question_is_written_once() -> None:
    rows = io.BytesIO()
    writer = SharedRowWriter(rows, SharedRowCache())
    texts = [
        serialize_item(run, 0, make_item(text), writer) for run, text in enumerate(("a", "b", "a"))
    ]
    hashes = [orjson.loads(text)["question_hash"] for text in texts]
    assert hashes[0] == hashes[2] != hashes[1]
    assert [orjson.loads(row)["question_hash"] for row in rows.getvalue().splitlines()] == hashes[
        :2
    ]


def test_schemas_are_distinguished_by_content_after_a_list_is_freed() -> None:
    stream = io.BytesIO()
    written = SharedRowWriter(stream, SharedRowCache())
    # Each list is freed before the next.
    hashes = {written.write_and_hash_functions(SharedList([{"name": f"f{n}"}])) for n in range(50)}
    assert len(hashes) == len(stream.getvalue().splitlines()) == 50
    kept = [{"name": "f0"}]
    assert (
        written.write_and_hash_functions(kept)
        == written.write_and_hash_functions(list(kept))
        in hashes
    )
