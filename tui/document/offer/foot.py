"""The parameter under the cursor as its function's document has it: for lines at the bottom that are free."""

from __future__ import annotations

import json
from typing import Any

from fcreview.calls.paths import steps
from fcreview.model import Item, Pair
from fcreview.sanitise import visible
from fcreview.targets import part_of
from fcreview.tui.document.offer.function import function_named, kind_of, parameters_of, schema_of
from fcreview.tui.text.lines import Line, fit, labelled, rule, wrap_text

ROWS = 2
"""Rows of the description."""
VALUES = 200
"""Characters of an enumeration."""


def parameter_lines(item: Item, key: str, cells: int) -> list[Line]:
    """`── city · string, required · enum: ["a", "b"] · default: "a" ──` and its description. `key` is that of the block
    under the cursor: an argument, or a call, of which the first argument that differs counts. Empty for anything else.
    """
    pair = _pair(item, key)
    if pair is None:
        return []
    argument = _argument(pair, key)
    if argument is None:
        return []
    document = function_named(item.functions, pair.name)
    schema = schema_of(document, argument)
    if schema is None:
        if document is None:
            return []
        stranger = f" · no parameter of {visible(pair.name)}"
        return [rule(((visible(argument), "strong"), (stranger, "warn")), cells)]
    required = argument in parameters_of(document)[0]
    head = f" · {visible(kind_of(schema))}, {'required' if required else 'optional'}"
    lines = [rule(((visible(argument), "strong"), (head, "")), cells)]
    if isinstance(schema, dict):
        said = [f"{name}: {_text(schema[name])}" for name in ("enum", "default") if name in schema]
        lines += [fit((("  " + visible(" · ".join(said)), "dim"),), cells)] if said else []
        described = schema.get("description")
        lines += labelled("  ", wrap_text(str(described), cells - 2, ROWS), "dim") if described else []
    return lines


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:VALUES]


def _pair(item: Item, key: str) -> Pair | None:
    part = part_of(key)
    if part is None or part.call is None:
        return None
    pairs = [pair for pair in item.pairs if pair.turn == part.turn]
    return pairs[part.call] if part.call < len(pairs) else None


def _argument(pair: Pair, key: str) -> str | None:
    """The argument that a place lies in."""
    part = part_of(key)
    path = part.argument if part is not None and part.argument else None
    if path is None:
        path = next((place.path for place in pair.diff if place.path and place.state != "~"), None)
    return str(steps(path)[0]) if path else None
