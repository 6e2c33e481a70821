"""Convert a Java argument from source text to the value that the checker compares."""

from __future__ import annotations

import re
from typing import Any

from fcreview.importers.bfcl.checker import literals

PYTHON_TYPES: dict[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
    "boolean": bool,
    "Set": set,
}
"""Declared Java type -> type of the Python value."""
TYPES_WITH_ELEMENTS = ("Array", "ArrayList")

LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(")
LIST_BRACES = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*")
LIST_EMPTY = re.compile(r"new\s+ArrayList<\w*>\(\)")
ADDED = re.compile(r"add\(([^\n][^)\n]*)\)")
ARRAY = re.compile(r"new\s+\w+\[\]\s*\{")
MAP = re.compile(r"new\s+HashMap<")
MAP_BRACES = re.compile(r">\s*\(\)\s*\{\s*\{?")
MAP_EMPTY = re.compile(r">\s*\(\)")
PUT = re.compile(r'put\("([^\n]*?)",\s*([^)\n]*)\)')


def convert(text: str, declared_type: str, element_type: str | None = None) -> Any:
    """Convert Java source text to a value of the declared type. Text that does not match the type stays text."""
    match declared_type:
        case "byte" | "short" | "integer":
            return literals.parse_integer(text)
        case "long":
            return literals.parse_suffixed(text, "lL", literals.parse_integer)
        case "float":
            return literals.parse_suffixed(text, "fF", _parse_scientific)
        case "double":
            return _parse_scientific(text)
        case "boolean":
            return literals.BOOLEANS.get(text, text)
        case "Array" | "ArrayList" | "HashMap" if len(text) <= literals.MAX_LITERAL:
            parse = {"Array": _parse_array, "ArrayList": _parse_array_list, "HashMap": _parse_hash_map}[declared_type]
            value = parse(text, element_type)
            return text if value is None else value
    return text


def _parse_scientific(text: str) -> Any:
    return float(text) if literals.SCIENTIFIC.match(text) else text


def _parse_array(text: str, element_type: str | None) -> Any:
    inside = _find_text_between(ARRAY, text, "}")
    if inside is None:
        return None
    parts = [part.strip() for part in inside.split(",")]
    return [convert(part, element_type) if element_type else guess_value(part) for part in parts if part]


def _find_text_between(head: re.Pattern[str], text: str, closing: str, min_length: int = 0) -> str | None:
    """Return the text between a match of `head` and the next `closing`. See `text_until`."""
    matches = (literals.text_until(text, found.end(), closing, min_length) for found in head.finditer(text))
    return next((inside for inside in matches if inside is not None), None)


def _parse_array_list(text: str, element_type: str | None) -> Any:
    inside = _find_text_between(LIST_OF, text, "))", 1)
    if inside is not None:
        return [_parse_element(part.strip(), element_type) for part in inside.split(",")]
    head = LIST_BRACES.search(text)
    end = text.find("}}", head.end() + 1) if head else -1
    if head and end >= 0:
        return [_parse_element(part.strip(), element_type) for part in ADDED.findall(text[head.end() : end])]
    return [] if LIST_EMPTY.search(text) else None


def _parse_element(part: str, element_type: str | None) -> Any:
    if element_type in ("char", "String"):
        return part[1:-1]
    return convert(part, element_type) if element_type else guess_value(part)


def _parse_hash_map(text: str, _element_type: str | None) -> Any:
    head = MAP.search(text)
    if head is None:
        return None
    braces = MAP_BRACES.search(text, head.end())
    end = text.find("}", braces.end()) if braces else -1
    if braces and end >= 0:
        return {key: guess_value(value.strip()) for key, value in PUT.findall(text[braces.end() : end])}
    return {} if MAP_EMPTY.search(text, head.end()) else None


def guess_value(text: str) -> Any:
    """Convert an element whose type is not declared. Text in an unknown form stays text."""
    if text in literals.BOOLEANS:
        return literals.BOOLEANS[text]
    if literals.is_quoted(text, '"'):
        return text[1:-1]
    for suffixes, parse in (("lL", literals.parse_integer), ("fF", _parse_scientific)):
        value = literals.parse_suffixed(text, suffixes, parse)
        if not isinstance(value, str):
            return value
    return literals.guess_number(text)
