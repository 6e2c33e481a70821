"""JSON as people read it: what fits stands on one line. Pure."""

from __future__ import annotations

import json
from typing import Any

CELLS = 76
LONGEST = 200_000
"""Characters up to which a text is laid out so: it is measured once for each level."""


def laid_out(value: Any, cells: int = CELLS, indent: int = 0) -> str:
    """Objects and lists that do not fit into `cells` characters are broken, a line each part, others are not. Raises
    as `json.dumps` does; recursion is as deep as the value."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) + indent <= cells or not isinstance(value, (dict, list)) or not value:
        return text
    inner, blank = indent + 2, " " * (indent + 2)
    if isinstance(value, dict):
        keys = [json.dumps(name, ensure_ascii=False) for name in value]
        parts = [f"{blank}{key}: {laid_out(one, cells, inner)}" for key, one in zip(keys, value.values(), strict=True)]
        opening, closing = "{", "}"
    else:
        parts = [blank + laid_out(one, cells, inner) for one in value]
        opening, closing = "[", "]"
    return "\n".join([opening, ",\n".join(parts), " " * indent + closing])


def laid_out_text(text: str) -> str:
    """JSON text laid out; any other text as it is."""
    if len(text) > LONGEST:
        return text
    try:
        return laid_out(json.loads(text))
    except (ValueError, RecursionError):
        return text
