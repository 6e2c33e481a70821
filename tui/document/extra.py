"""The benchmark's own fields of an item, a line each."""

from __future__ import annotations

import json
from functools import partial
from math import isfinite
from typing import Any

from fcreview.model import Item
from fcreview.sanitise import visible, width
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.text.lines import Line, column, rule, size_text, spread

SHORT = 48
"""Characters of a field that are shown without saying how many there are."""


def extra_blocks(item: Item, options: Options) -> list[Block]:
    """The benchmark's own fields, a line each, long ones opened in the pager; what tells the outcome is left out while
    verdicts are hidden."""
    fields = _more(item)
    if options.hidden or not fields:
        return []
    names = min(max(width(visible(name)) for name in fields), 24)
    blocks = [Block("extra", lambda cells: [rule((("more", "strong"),), cells)])]
    for name, value in fields.items():
        value = rounded(value)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        long = len(text) > SHORT
        blocks.append(
            Block(
                f"extra:{name}",
                partial(_field_lines, column(visible(name), names)[0], text, options.opens("opens it")),
                stop=long,
                foldable=long,
                folded=long,
                pages=True,
                title=visible(name),
                full=partial(str, text),
            )
        )
    return blocks


def rounded(value: Any, *, listed: bool = True) -> Any:
    """Numbers as people read them: four places, or three digits of what is smaller; those in an object only without
    the last of their digits, which no decimal fraction has (`0.30000000000000004`)."""
    if isinstance(value, float) and isfinite(value):
        return (round(value, 4) or float(f"{value:.3g}")) if listed else float(f"{value:.12g}")
    if isinstance(value, list):
        return [rounded(each, listed=listed) for each in value]
    if isinstance(value, dict):
        return {name: rounded(each, listed=False) for name, each in value.items()}
    return value


def _more(item: Item) -> dict[str, Any]:
    """What is not shown elsewhere: that something was left out, what only some items have, the benchmark's own
    fields."""
    rest = {"redacted": item.extra.redacted or None, "setting": item.setting, "latency by step": item.seconds}
    return {name: value for name, value in rest.items() if value is not None} | item.extra.more


def _field_lines(name: str, text: str, opens: str, cells: int) -> list[Line]:
    head = visible(text[: cells * 2])
    size = f"  {size_text(text)}, {opens}" if len(text) > SHORT else ""
    left: Line = ((f"  {name}  ", "dim"), (head, ""))
    return [spread(left, ((size, "dim"),), cells)]
