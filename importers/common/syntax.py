"""Python syntax in model outputs: what every decoder of it needs, before and after the parser."""

from __future__ import annotations

import ast


def deeper_than(text: str, limit: int) -> bool:
    """Whether brackets are nested more than `limit` deep: such text is not given to a parser."""
    if text.count("(") + text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for char in text:
        if char in "([{":
            depth += 1
            if depth > limit:
                return True
        elif char in ")]}":
            depth -= 1
    return False


def dotted(node: ast.expr) -> str:
    """`a.b.c` of an attribute chain; what is not a name at its left end is left out."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))
