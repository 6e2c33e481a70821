"""ROUGE-L as HammerBench's evaluator uses it (behaviour of the PyPI package `rouge` 1.0.1, summary level).

Equal texts score 0.999999995, not 1; a full stop inside a number splits it into two sentences. The package fails at
texts of about a thousand words, which then score 0; here they are compared like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

EMPTY = 0.0


def similarity(prediction: str, label: str, language: str) -> float:
    """F of ROUGE-L between two values, 0 to 1; 0 where either side is blank."""
    hypothesis, reference = _prepare(prediction, language), _prepare(label, language)
    if not hypothesis.strip() or not reference.strip():
        return EMPTY
    hyps, refs = _sentences(hypothesis), _sentences(reference)
    if not hyps or not refs:
        return EMPTY
    return _f(hyps, refs)


def _prepare(text: str, language: str) -> str:
    if language == "zh":
        text = text.strip("。！ ")
        return re.sub(r"([\u4e00-\u9fff])", r" \1 ", text)
    return text.strip(".?! ").lower()


def _sentences(text: str) -> list[list[str]]:
    """Words a sentence: split at full stops, empty ones dropped before blanks are collapsed."""
    return [" ".join(part.split()).split(" ") for part in text.split(".") if part]


def _f(hyps: Sequence[list[str]], refs: Sequence[list[str]]) -> float:
    """Different words count, and each once: a word that several pairs of sentences have in common is one hit."""
    words = {word for sentence in refs for word in sentence}
    said = {word for sentence in hyps for word in sentence}
    hits = {word for reference in refs for hypothesis in hyps for word in _common(reference, hypothesis)}
    recall, precision = len(hits) / len(words), len(hits) / len(said)
    return 2.0 * precision * recall / (precision + recall + 1e-8)


def _common(x: list[str], y: list[str]) -> list[str]:
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
