"""The paper's 13 types of parameters, and in which parameters a call differs from its golden call.

Source: the paper's Table 4 names the types with an example each, Figure 5 shows error rates by them. Which parameter is
of which type is not published; here the words of its name decide. What fits none is `other`.
"""

from __future__ import annotations

import re
from typing import Any

from fcreview.importers.complexfuncbench.rules import equal_value

_WORDS: dict[str, frozenset[str]] = {
    kind: frozenset(words.split())
    for kind, words in {
        "filter": "filter filters",
        "legs": "legs",
        "token": "token",
        "slug": "slug",
        "date": "date",
        "time": "time",
        "sort_by": "sort",
        "location": "query latitude longitude location country city",
        "key": "key",
        "id": "id",
        "type": "type",
        "age": "age ages children",
        "people": "adults people passengers",
    }.items()
}
"""In the order in which they are tried: `sort_option_id` is a sort_by."""
OTHER = "other"
KINDS = (*_WORDS, OTHER)


def kind(parameter: str) -> str:
    """`arrival_date` and `departDate` are of type date, `search_key` of type key."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", parameter)}
    return next((kind for kind, known in _WORDS.items() if words & known), OTHER)


def differing(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Parameters that are on one side only or differ by the evaluator's equality, the golden call's first."""
    names = dict.fromkeys([*theirs, *ours])
    return [n for n in names if n not in ours or n not in theirs or not equal_value(n, ours[n], theirs[n])]
