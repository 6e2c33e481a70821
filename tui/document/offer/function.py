"""A function's document as readable lines, the parameter under the cursor marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

from fcreview.sanitise import visible
from fcreview.tui.text.lines import Line, fit, labelled, line, line_width, rule, wrap_text
from fcreview.tui.text.theme import symbols

DESCRIPTION_ROWS = 12
MOST = 200
"""Parameters that are shown, and the one under the cursor."""


def function_named(functions: Sequence[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The document of a function; handlers that may not use dots in names have underscores for them."""
    exact = next((each for each in functions if each.get("name") == name), None)
    if exact is not None:
        return exact
    wanted = name.replace(".", "_")
    return next((each for each in functions if str(each.get("name")).replace(".", "_") == wanted), None)


def parameters_of(document: dict[str, Any] | None) -> tuple[list[str], list[str]]:
    """Names of the required and of the other parameters, in the document's order."""
    parameters = document.get("parameters") if document else None
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    required = parameters.get("required") if isinstance(parameters, dict) else None
    needed = set(map(str, required)) if isinstance(required, list) else set()
    names = [str(name) for name in properties] if isinstance(properties, dict) else []
    return [name for name in names if name in needed], [name for name in names if name not in needed]


def schema_of(document: dict[str, Any] | None, name: str) -> Any:
    """The schema of a parameter; None where the document has none."""
    parameters = document.get("parameters") if document else None
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return properties.get(name) if isinstance(properties, dict) else None


def function_lines(
    name: str, document: dict[str, Any] | None, argument: str | None, cells: int, known: Sequence[str] = ()
) -> list[Line]:
    """Below a rule with its name."""
    head = rule((("document of ", ""), (visible(name), "strong")), cells)
    return [head, *(line for _, lines in function_parts(name, document, argument, cells, known) for line in lines)]


def function_parts(
    name: str, document: dict[str, Any] | None, argument: str | None, cells: int, known: Sequence[str] = ()
) -> list[tuple[str | None, list[Line]]]:
    """What it does, then `▸ city  string, required` and its description for each parameter, with the
    parameter's name. Of a function without a document the nearest of the `known` ones is named.

    `document` is a JSON Schema style object `{name, description, parameters: {properties, required}}`; anything else
    is shown as JSON.
    """
    if document is None:
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        also = f"; the nearest is {visible(near[0])}" if near else ""
        return [(None, [fit((("  not among the functions on offer" + also, "warn"),), cells)])]
    lines = _text("  ", document.get("description"), cells)
    parameters = document.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    if not isinstance(properties, dict):
        lines += _text("  ", json.dumps(parameters, ensure_ascii=False, indent=2, default=str), cells)
        return [(None, lines)]
    required = parameters.get("required") if isinstance(parameters, dict) else None
    needed = set(map(str, required)) if isinstance(required, list) else set()
    if not properties:
        lines.append(line("  no parameters", "dim"))
    shown = dict(islice(properties.items(), MOST))
    if argument in properties:
        shown[argument] = properties[argument]
    parts: list[tuple[str | None, list[Line]]] = [(None, lines)]
    parts += [
        (str(key), _parameter(str(key), schema, str(key) in needed, str(key) == argument, cells))
        for key, schema in shown.items()
    ]
    if len(properties) > len(shown):
        more = f"  {symbols().ellipsis} {len(properties) - len(shown):,} more parameters"
        parts.append((None, [line(more, "dim")]))
    return parts


def _parameter(name: str, schema: Any, required: bool, here: bool, cells: int) -> list[Line]:
    kind, described = kind_of(schema), schema.get("description") if isinstance(schema, dict) else None
    mark = f"  {symbols().arrow if here else ' '} "
    head: Line = ((mark, "strong"), (visible(name), "strong" if here else ""))
    says: Line = ((f"  {visible(kind)}{', required' if required else ''}", "dim"),)
    if line_width((*head, *says)) <= cells:
        lines = [(*head, *says)]
    else:
        lines = [fit(head, cells), fit((("      ", ""), *says), cells)]
    lines += _text("        ", described, cells)
    for key in ("enum", "default"):
        if isinstance(schema, dict) and key in schema:
            lines += _text("        ", f"{key}: {json.dumps(schema[key], ensure_ascii=False, default=str)}", cells)
    inner = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(inner, dict):
        lines += _text(
            "        ", "fields: " + ", ".join(f"{key} {kind_of(each)}" for key, each in inner.items()), cells
        )
    return lines


def kind_of(schema: Any) -> str:
    if not isinstance(schema, dict):
        return str(schema)
    kind = str(schema.get("type", "any"))
    items = schema.get("items")
    return f"{kind} of {kind_of(items)}" if isinstance(items, dict) and items.get("type") else kind


def _text(indent: str, text: Any, cells: int) -> list[Line]:
    if not text:
        return []
    return labelled(indent, wrap_text(str(text), max(cells - len(indent), 20), DESCRIPTION_ROWS), "dim")
