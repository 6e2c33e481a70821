"""Call strings as multi-turn golden answers and inference logs have them: `cd(folder='a')`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from fcreview.importers.bfcl.decode.decoding import Undecodable
from fcreview.importers.bfcl.decode.python import call_of, expression, value_of
from fcreview.importers.bfcl.decode.python_fast import parse_simple


def parse_call_text(text: str, functions: Sequence[dict[str, Any]] = ()) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments of one call, or None if the text is not one.

    Positional arguments take the parameter names of the function's document if it is among `functions`,
    else "0", "1", ...
    """
    simple = parse_simple(f"[{text}]")
    if simple is not None:
        return simple[0] if len(simple) == 1 else None
    try:
        node = expression(text.strip())
        if not isinstance(node, ast.Call):
            return None
        name, keywords = call_of(node)
        given = [value_of(argument) for argument in node.args]
    except (Undecodable, RecursionError):
        return None
    if not given:
        return name, keywords
    names = _parameter_names(name, functions)
    arguments = {(names[place] if place < len(names) else str(place)): value for place, value in enumerate(given)}
    return name, {**arguments, **keywords}


def _parameter_names(name: str, functions: Sequence[dict[str, Any]]) -> list[str]:
    for document in functions:
        if document.get("name") == name:
            parameters = document.get("parameters")
            properties = parameters.get("properties") if isinstance(parameters, dict) else None
            return list(properties) if isinstance(properties, dict) else []
    return []
