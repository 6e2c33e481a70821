"""Handmade items, and the text of their documents on the item screen."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fcreview.matching.align import align_calls, align_calls_by_turn
from fcreview.model.item import AcceptedValues, Call, Item, Message, Run, Verdict
from fcreview.model.review import ItemKey
from fcreview.store.rows import ItemDetail, QueueRow
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text

HOSTILE = "\x1b[31mred\x1b]52;c;AAAA\x07 \u202eabc\u200b [bold]x[/bold] \x9b2J"


def golden_call(name: str, index: int = 0, turn: int = 0, **arguments: Any) -> Call:
    accepted = {
        key: value if isinstance(value, AcceptedValues) else AcceptedValues([value])
        for key, value in arguments.items()
    }
    return Call("golden", name, arguments=accepted, turn=turn, step=0, index=index)


def predicted_call(
    name: str, index: int = 0, turn: int = 0, step: int = 0, **arguments: Any
) -> Call:
    return Call("predicted", name, arguments=arguments, turn=turn, step=step, index=index)


def make_item(golden: list[Call], predicted: list[Call], **fields: Any) -> Item:
    fields.setdefault(
        "messages",
        [
            Message(
                0, -1, role="user", content="What's the weather in Hangzhou, China? Use celsius."
            )
        ],
    )
    return Item(
        "live_simple_3-2-1",
        "live_simple",
        golden=golden,
        predicted=predicted,
        pairs=align_calls(golden, predicted),
        **fields,
    )


def make_detail(item: Item, **fields: Any) -> ItemDetail:
    """Return the details of a copy of the item, as the store would."""
    item = deepcopy(item)
    row = QueueRow(
        item=1,
        run=1,
        seq=0,
        id=item.id,
        category=item.category,
        model="gpt-4o",
        run_name="gpt-4o",
        official=item.official,
        rule=item.rule,
        judge=item.judge,
        error_type=item.error_type,
        rule_error_type=item.rule_error_type,
        n_golden=len(item.golden),
        n_predicted=len(item.predicted),
        n_issues=len(item.issues),
    )
    key = ItemKey(
        benchmark="BFCL",
        generation="V4",
        language="en",
        model="gpt-4o",
        category=item.category,
        id=item.id,
    )
    return ItemDetail(row, key, Run("BFCL", "V4", "en", "gpt-4o", "runs"), item, **fields)


def document_lines(detail: ItemDetail, cells: int = 80, **options: Any) -> list[str]:
    blocks = build_document(detail, "alice", DisplayOptions(**options))
    return [plain_text(line).rstrip() for block in blocks for line in block.lines(cells - 1)]


WEATHER = make_item(
    [
        golden_call(
            "get_weather", unit="celsius", location=AcceptedValues(["Hangzhou, China", "Hangzhou"])
        )
    ],
    [predicted_call("get_weather", unit="celsius", location="Hangzhou, CN", days=3)],
    official=False,
    rule=False,
    error_type="value_error:string",
    rule_error_type="value_error:string",
    verdicts=[
        Verdict("official", False, error_type="value_error:string", rationale="Invalid value"),
        Verdict(
            "rule",
            False,
            error_type="value_error:string",
            rationale="'hangzhoucn' is none of 'hangzhou'",
        ),
        Verdict("judge", False, by="gpt-4o", rationale="CN is not a city"),
    ],
)


def make_multi_turn_item() -> Item:
    """Return an item of three turns. The second turn fails and has a long message."""
    multi_turn = Item("multi_turn_base_0", "multi_turn_base", n_turns=3, n_steps=6, official=False)
    for turn in range(3):
        multi_turn.messages += [
            Message(turn, -1, role="user", content=f"Move the file, please. ({turn})"),
            Message(turn, 0, role="tool", content='{"moved": true}', name="mv"),
            Message(turn, 0, role="log", content="decoded"),
            Message(
                turn, 1, role="assistant", content="Done." if turn != 1 else "All moved. " * 400
            ),
            Message(turn, 1, role="state", content='{"root": {}}', name="FileSystem"),
        ]
        multi_turn.golden.append(golden_call("mv", 0, turn, source="a", to="b"))
        multi_turn.predicted.append(
            predicted_call("mv", 0, turn, source="a", to="b" if turn != 1 else "c")
        )
    multi_turn.pairs = align_calls_by_turn(multi_turn.golden, multi_turn.predicted)
    multi_turn.extra.failing_turn = 1
    return multi_turn
