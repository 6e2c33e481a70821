"""What was said before the turn that is judged: whole if it is short, else one line with its length."""

from __future__ import annotations

from fcreview.text.words import count_of
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.told.opening import opening_blocks
from fcreview.tui.document.told.timeline import happened
from fcreview.tui.text.lines import Line, Part, rule, size_text

KEY = "before"
SHORT = 400
"""Characters of a dialogue that is shown unfolded."""
FEW = 5
"""Messages of one."""


def before_blocks(of: Scene, options: Options) -> list[Block]:
    last = of.turns - 1
    messages = [m for turn in range(last) for m in of.messages.get(turn, []) if m.role != "log"]
    if not messages:
        return []
    text = "".join(message.content for message in messages)
    folded = options.folded(KEY, len(text) > SHORT or len(messages) > FEW)

    def heading(cells: int) -> list[Line]:
        turns = "turn 1" if last == 1 else f"turns 1-{last}"
        said = f" · {turns} · {count_of(len(messages), 'message')}, {size_text(text)}"
        parts: list[Part] = [("said before", "strong"), (said, "")]
        parts += [(f" · folded, {options.opens('to read it')}", "dim")] if folded else []
        return [rule(tuple(parts), cells)]

    head = Block(KEY, heading, stop=True, foldable=True, folded=folded, title="said before", full=lambda: text)
    if folded:
        return [head]
    blocks = [head]
    for turn in range(last):
        blocks += opening_blocks(of, turn, options, KEY)
        blocks += happened(of, turn, options, KEY)
    return blocks
