"""For lines at the bottom that are free: the document of the function under the cursor where all of it fits, else the
parameter under the cursor."""

from __future__ import annotations

import json
from typing import Any

from fcreview.sanitise import visible
from fcreview.tui.document.offer.function import (
    function_lines,
    function_named,
    kind_of,
    parameters_of,
    schema_of,
)
from fcreview.tui.document.offer.under import under
from fcreview.tui.document.scene import Scene
from fcreview.tui.text.lines import Line, fit, labelled, rule, wrap_text

ROWS = 2
"""Rows of the description."""
VALUES = 200
"""Characters of an enumeration."""


def foot_lines(of: Scene, key: str, cells: int, free: int, *, whole: bool = True) -> list[Line]:
    """`key` is that of the block under the cursor; `free`: how many lines there are. `whole`: the document too, not
    only its parameter."""
    here = under(of, key)
    document = function_named(of.item.functions, here.functions[0]) if here else None
    if document is None:
        return []
    name = here.functions[0]
    if whole and sum(map(len, parameters_of(document))) < free:
        lines = function_lines(name, document, here.argument, cells)
        if len(lines) < free:  # one stays blank
            return lines
    return _parameter_lines(name, document, here.argument, cells) if here.argument and "/arg:" in key else []


def _parameter_lines(name: str, document: dict[str, Any], argument: str, cells: int) -> list[Line]:
    """`── city · string, required · enum: ["a", "b"] · default: "a" ──` and its description."""
    schema = schema_of(document, argument)
    if schema is None:
        stranger = f" · no parameter of {visible(name)}"
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
