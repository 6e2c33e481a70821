"""HammerBench's verdicts for one snapshot, as the released evaluator makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fcreview.importers.hammerbench.parse import Parsed
from fcreview.importers.hammerbench.rouge import similarity

THRESHOLD = 0.7
"""Lowest ROUGE-L F at which an argument still counts as right."""


@dataclass(slots=True)
class Snapshot:
    is_text: bool
    func_ok: bool
    args_ok: bool
    rejected: bool
    hallucinated: list[str]
    missing: list[str]
    lowest: float | None = None
    """The lowest similarity, where similarities decided, and the argument it belongs to."""
    lowest_argument: str | None = None


def check(call: Parsed | None, raw: Any, label: Any, language: str) -> Snapshot:
    """`label` is `{"name", "arguments"}`, or the expected refusal as text (then only `rejected` can be true)."""
    golden = label.get("arguments") if isinstance(label, dict) else None
    golden = golden if isinstance(golden, dict) else {}
    name_ok = call is not None and isinstance(label, dict) and call.get("name") == label.get("name")
    rejected = not name_ok and "sorry" in (raw if isinstance(raw, str) else str(raw)).lower()
    if call is None or not isinstance(label, dict):
        return Snapshot(call is None, False, False, rejected, [], list(golden))
    arguments = call.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    hallucinated = [key for key in given if key not in golden]
    missing = [key for key in golden if key not in given]
    ok, lowest, which = arguments_ok(arguments, golden, language)
    return Snapshot(False, name_ok, ok, rejected, hallucinated, missing, lowest, which)


def arguments_ok(predicted: Any, golden: dict[str, Any], language: str) -> tuple[bool, float | None, str | None]:
    """Whether the arguments agree; with it the lowest similarity and its argument, where similarities were asked."""
    if not isinstance(predicted, dict):
        return False, None, None
    given = {key: str(value) for key, value in predicted.items() if value != ""}
    label = {key: str(value) for key, value in golden.items() if value != ""}
    if any(key not in label for key in given):
        return False, None, None
    if given == label:
        return True, None, None
    if "kwargs" in label:
        label.pop("kwargs")
        given.pop("kwargs", None)
    if given == label:
        return True, None, None
    scores = {key: similarity(given[key], text, language) if key in given else 0.0 for key, text in label.items()}
    if not scores:
        return False, None, None
    which = min(scores, key=scores.__getitem__)
    return scores[which] >= THRESHOLD, scores[which], which
