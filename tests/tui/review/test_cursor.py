"""The cursor on an item's document, without an app."""

from __future__ import annotations

import dataclasses
from typing import Any

from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import AcceptedValues, Call, Extra, Item, Message, Run
from fcreview.model.review import ItemKey
from fcreview.store.rows import ItemDetail, QueueRow
from fcreview.tui.item_view.cursor import Cursor

LONG = "\n".join(f"row {number}" for number in range(40))


def make_detail(you: Any = None, **fields: Any) -> ItemDetail:
    """Return an item of four turns. The second turn fails and has a long tool result."""
    item = Item(
        "multi_0",
        "multi",
        n_turns=4,
        n_steps=4,
        official=False,
        extra=Extra(failing_turn=1),
        **fields,
    )
    for turn in range(4):
        item.messages += [
            Message(turn, -1, role="user", content=f"Please do part {turn}."),
            Message(turn, 0, role="tool", content=LONG if turn == 1 else "ok", name="cd"),
            Message(turn, 1, role="assistant", content=f"Part {turn} is done."),
            Message(turn, 1, role="log", content="not a call"),
        ]
        item.golden.append(
            Call("golden", "cd", arguments={"folder": AcceptedValues(["a"])}, turn=turn)
        )
        item.predicted.append(
            Call("predicted", "cd", arguments={"folder": "a" if turn != 1 else "b"}, turn=turn)
        )
    item.pairs = align_calls_by_turn(item.golden, item.predicted)
    row = QueueRow(
        item=1, run=1, seq=0, id=item.id, category="multi", model="m", official=False, you=you
    )
    key = ItemKey(
        benchmark="b", generation="g", language="en", model="m", category="multi", id=item.id
    )
    return ItemDetail(row, key, Run("b", "g", "en", "m", "runs"), item)


def block_keys(cursor: Cursor) -> list[str]:
    return [block.key for block in cursor.blocks]


def test_cursor_starts_where_the_item_fails() -> None:
    assert Cursor(make_detail(), "alice").block.key == "turn:2"


def test_steps_stop_at_calls_and_messages_until_the_end() -> None:
    cursor = Cursor(make_detail(), "alice")
    visited = [cursor.block.key]
    while cursor.move(1):
        visited.append(cursor.block.key)
    texts = ["turn:2/step:1/tool:1", "turn:2/step:2/assistant:0"]
    assert visited == ["turn:2", "turn:2/opening:0", "turn:2/call:1", *texts, "turn:3", "turn:4"]
    assert cursor.move_by_turn(-1) and cursor.move_by_turn(-1)
    assert cursor.block.key == "turn:2"
    assert cursor.move(-1) and not cursor.move(-1)
    assert cursor.block.key == "turn:1"


def test_difference_moves_into_arguments_and_back_to_call() -> None:
    cursor = Cursor(make_detail(), "alice")
    assert cursor.move_to_decisive_or_difference()
    assert (cursor.block.key, cursor.in_arguments) == ("turn:2/call:1/arg:folder", True)
    assert cursor.target == "turn:2/call:1/arg:folder"
    assert cursor.toggle_arguments()
    assert (cursor.block.key, cursor.in_arguments) == ("turn:2/call:1", False)
    while cursor.move(1):
        pass
    assert not cursor.toggle_arguments(), "nothing to unfold"
    assert not cursor.in_arguments


def test_folding_keeps_the_position() -> None:
    cursor = Cursor(make_detail(), "alice")
    assert cursor.move_by_turn(-1)
    assert "turn:1/call:1" not in block_keys(cursor)
    assert cursor.toggle_fold()
    assert cursor.block.key == "turn:1"
    assert "turn:1/call:1" in block_keys(cursor)
    assert cursor.toggle_fold()
    assert "turn:1/call:1" not in block_keys(cursor)
    cursor.move_to_decisive_or_difference()
    assert not cursor.toggle_fold(), "arguments have no fold"


def test_position_is_kept_by_key_or_enclosing_block() -> None:
    cursor = Cursor(make_detail(), "alice")
    cursor.move_to_decisive_or_difference()
    before = cursor.block.key
    cursor.refresh(make_detail(you=True))
    assert cursor.block.key == before
    gone = make_detail()
    gone.item.pairs[1].diff.clear()
    gone.item.golden[1].arguments = gone.item.predicted[1].arguments = {}
    cursor.refresh(gone)
    assert cursor.block.key == "turn:2/call:1"


def test_docs_keys_show_and_hide_docs() -> None:
    cursor = Cursor(
        make_detail(functions=[{"name": "cd", "parameters": {}}, {"name": "ls", "parameters": {}}]),
        "alice",
    )
    cursor.move(1)
    shown = cursor.show_next_docs()
    assert shown is not None and shown.key == "turn:2/call:1/document"
    every = cursor.show_next_docs()
    assert every is not None and every.key == "offer" and "offer/0/document" in block_keys(cursor)
    hidden = cursor.show_next_docs()
    assert hidden is not None and hidden.key == "turn:2/call:1"
    assert not [key for key in block_keys(cursor) if key.endswith("/document")]


def test_search_wraps_around_and_unfolds_matches() -> None:
    cursor = Cursor(make_detail(), "alice")
    match = cursor.search("part 3", 79)
    assert match is not None and (match.number, match.count) == (1, 2)
    assert cursor.block.key == "turn:4/opening:0"
    match = cursor.search("part 3", 79)
    assert match is not None and match.number == 2
    match = cursor.search("PART 3", 79)
    assert match is not None and (match.number, match.count) == (2, 2), (
        "a new search starts at the cursor"
    )
    assert cursor.search("nowhere", 79) is None


def test_match_in_folded_text_has_its_row() -> None:
    cursor = Cursor(make_detail(), "alice")
    match = cursor.search("row 39", 79)
    assert match is not None
    assert (cursor.block.key, cursor.block.folded, match.row) == ("turn:2/step:1/tool:1", False, 39)


def test_full_dialogue_is_kept_for_next_item_but_folds_are_not() -> None:
    cursor = Cursor(make_detail(), "alice")
    before = len(cursor.blocks)
    cursor.toggle_dialogue()
    assert len(cursor.blocks) > before
    assert not any(block.folded for block in cursor.blocks if not block.opens_pager)
    cursor.move_by_turn(-1)
    cursor.toggle_fold()
    assert cursor.block.folded, "the reader can fold a turn of the full dialogue"
    cursor.show_item(make_detail())
    assert cursor.options.full_dialogue and not cursor.options.folds
    assert cursor.block.key == "turn:2"


def test_all_blocks_are_folded_and_unfolded() -> None:
    cursor = Cursor(make_detail(), "alice")
    cursor.fold_all(is_folded=True)
    foldable = [block for block in cursor.blocks if block.foldable and not block.opens_pager]
    assert foldable and all(block.folded for block in foldable)
    n_folded = len(cursor.blocks)
    cursor.fold_all(is_folded=False)
    assert not any(block.folded for block in cursor.blocks if not block.opens_pager)
    assert len(cursor.blocks) > n_folded


def test_blind_hides_failing_turn_until_review() -> None:
    cursor = Cursor(make_detail(), "alice", blind=True)
    assert cursor.hides_verdicts and "verdicts" not in block_keys(cursor)
    cursor.refresh(dataclasses.replace(make_detail(you=False)))
    assert not cursor.hides_verdicts and "verdicts" in block_keys(cursor)
