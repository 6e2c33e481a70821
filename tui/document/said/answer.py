"""The final answer beside the golden ones, where that is what is judged."""

from __future__ import annotations

import json

from fcreview.model import Item
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.texts import text_block
from fcreview.tui.text.lines import rule


def answer_blocks(item: Item, options: Options) -> list[Block]:
    """The golden answers and the one that was given below each other, where that is what is judged."""
    accepted, given = item.extra.accepted_answers, item.extra.final_answer
    if accepted is None:
        return []
    golden = " or ".join(json.dumps(each, ensure_ascii=False, default=str) for each in accepted)
    said = "(none)" if given is None else given
    return [
        Block("answer", lambda cells: [rule((("final answer", "strong"),), cells)], title="final answer"),
        text_block("answer/golden", "golden", golden, options, style="golden", title="golden answers"),
        text_block("answer/given", "given", said, options, style="predicted", title="final answer"),
    ]
