"""CONFETTI's soft score of a call: structure as a gate, texts by similarity, everything else by equality.

Source: the paper's AST soft accuracy (ACL 2025, metrics section) in the reading of the sample score files. The
paper's text similarity is AlignScore; any function of two texts can stand in, token F1 is built in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

DIGITS = 4
"""Decimals of the soft score file; chains multiply the rounded scores."""
STAYS = "soft score stays"
"""Stands in `more`, with the reason, where a call's score does not follow from its arguments' scores."""

Similarity = Callable[[str, str], float]


def token_f1(golden: str, predicted: str) -> float:
    """F1 of the shared words, 0 to 1; words are runs of letters and digits, case ignored. Equal texts score 1."""
    if golden == predicted:
        return 1.0
    ours, theirs = Counter(_words(predicted)), Counter(_words(golden))
    shared = sum((ours & theirs).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(ours.values()), shared / sum(theirs.values())
    return 2 * precision * recall / (precision + recall)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def parameter_scores(
    golden: Mapping[str, list[Any]], predicted: Mapping[str, Any], similarity: Similarity = token_f1
) -> dict[str, float]:
    """A score for every parameter of either side, 4 decimals as in the score file; 0 for one that is on one side
    only."""
    return {
        name: round(_best(golden[name], predicted[name], similarity), DIGITS)
        if name in golden and name in predicted
        else 0.0
        for name in sorted({*golden, *predicted})
    }


def _best(accepted: list[Any], value: Any, similarity: Similarity) -> float:
    scores = [
        similarity(golden, value)
        if isinstance(golden, str) and isinstance(value, str)
        else float(type(golden) is type(value) and golden == value)
        for golden in accepted
    ]
    if isinstance(value, list) and value == accepted:
        scores.append(1.0)
    return max(scores, default=0.0)


def soft_score(name_matches: bool, scores: Mapping[str, float]) -> float:
    """The mean over parameters, 0 if the name or any parameter scores 0, 1 for a matching call without parameters."""
    if not name_matches or any(score == 0 for score in scores.values()):
        return 0.0
    return round(sum(scores.values()) / len(scores), DIGITS) if scores else 1.0
