"""ROUGE-L as HammerBench's evaluator uses it (behaviour of the PyPI package `rouge` 1.0.1, summary level).

Equal texts score 0.999999995, not 1; a full stop inside a number splits it into two sentences. The package fails at
texts of about a thousand words, which then score 0; here they are compared like any other.

HammerBench's verdicts for one snapshot, as the released evaluator makes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.hammerbench.dialogue import ParsedCall

EMPTY = 0.0


def compute_rouge_l(prediction: str, label: str, language: str) -> float:
    """F of ROUGE-L between two values, 0 to 1; 0 where either side is blank."""
    hypothesis, reference = _normalize(prediction, language), _normalize(label, language)
    if not hypothesis.strip() or not reference.strip():
        return EMPTY
    hyps, refs = _split_sentences(hypothesis), _split_sentences(reference)
    if not hyps or not refs:
        return EMPTY
    return _compute_f(hyps, refs)


def _normalize(text: str, language: str) -> str:
    if language == "zh":
        text = text.strip("。！ ")
        return re.sub(r"([\u4e00-\u9fff])", r" \1 ", text)
    return text.strip(".?! ").lower()


def _split_sentences(text: str) -> list[list[str]]:
    """Words a sentence: split at full stops, empty ones dropped before blanks are collapsed."""
    return [" ".join(part.split()).split(" ") for part in text.split(".") if part]


def _compute_f(hyps: Sequence[list[str]], refs: Sequence[list[str]]) -> float:
    """Different words count, and each once: a word that several pairs of sentences have in common is one hit."""
    words = {word for sentence in refs for word in sentence}
    said = {word for sentence in hyps for word in sentence}
    hits = {word for reference in refs for hypothesis in hyps for word in _longest_common_subsequence(reference, hypothesis)}
    recall, precision = len(hits) / len(words), len(hits) / len(said)
    return 2.0 * precision * recall / (precision + recall + 1e-8)


def _longest_common_subsequence(x: list[str], y: list[str]) -> list[str]:
    """The longest common subsequence, read back from the ends: equal words are taken, else `x`'s word is dropped only
    where that keeps a strictly longer one."""
    table = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, a in enumerate(x, 1):
        row, above = table[i], table[i - 1]
        for j, b in enumerate(y, 1):
            row[j] = above[j - 1] + 1 if a == b else max(above[j], row[j - 1])
    i, j, taken = len(x), len(y), []
    while i and j:
        if x[i - 1] == y[j - 1]:
            taken.append(x[i - 1])
            i, j = i - 1, j - 1
        elif table[i - 1][j] > table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return taken[::-1]


MIN_SIMILARITY = 0.7
"""Lowest ROUGE-L F at which an argument still counts as right."""


@dataclass(slots=True)
class SnapshotCheck:
    is_text: bool
    func_ok: bool
    args_ok: bool
    rejected: bool
    hallucinated: list[str]
    missing: list[str]
    lowest_similarity: float | None = None
    """The lowest similarity, where similarities decided, and the argument it belongs to."""
    lowest_argument: str | None = None


def check_snapshot(call: ParsedCall | None, raw: Any, label: Any, language: str) -> SnapshotCheck:
    """`label` is `{"name", "arguments"}`, or the expected refusal as text (then only `rejected` can be true)."""
    golden = label.get("arguments") if isinstance(label, dict) else None
    golden = golden if isinstance(golden, dict) else {}
    name_ok = call is not None and isinstance(label, dict) and call.get("name") == label.get("name")
    rejected = not name_ok and "sorry" in (raw if isinstance(raw, str) else str(raw)).lower()
    if call is None or not isinstance(label, dict):
        return SnapshotCheck(call is None, False, False, rejected, [], list(golden))
    arguments = call.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    hallucinated = [key for key in given if key not in golden]
    missing = [key for key in golden if key not in given]
    ok, lowest, which = check_arguments(arguments, golden, language)
    return SnapshotCheck(False, name_ok, ok, rejected, hallucinated, missing, lowest, which)


def check_arguments(predicted: Any, golden: dict[str, Any], language: str) -> tuple[bool, float | None, str | None]:
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
    scores = {key: compute_rouge_l(given[key], text, language) if key in given else 0.0 for key, text in label.items()}
    if not scores:
        return False, None, None
    which = min(scores, key=scores.__getitem__)
    return scores[which] >= MIN_SIMILARITY, scores[which], which
