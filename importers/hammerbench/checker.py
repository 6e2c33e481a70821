"""Check one HammerBench snapshot by the rules of the released evaluator.

Texts are compared by ROUGE-L as the evaluator uses it: like the PyPI package `rouge` 1.0.1, summary level. Equal texts
score 0.999999995, not 1; a full stop inside a number splits it into two sentences. The package fails for texts of about
a thousand words, and the evaluator scores them 0. fcreview compares such texts like all others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.hammerbench.dialogue import ParsedCall


def compute_rouge_l(prediction: str, golden: str, language: str) -> float:
    """Compute the F value of ROUGE-L of two texts, from 0 to 1. It is 0 if a text is blank."""
    hypothesis, reference = _normalize(prediction, language), _normalize(golden, language)
    if not hypothesis.strip() or not reference.strip():
        return 0.0
    predicted_sentences, golden_sentences = _split_sentences(hypothesis), _split_sentences(reference)
    return _compute_f(predicted_sentences, golden_sentences) if predicted_sentences and golden_sentences else 0.0


def _normalize(text: str, language: str) -> str:
    if language == "zh":
        text = text.strip("。！ ")
        return re.sub(r"([\u4e00-\u9fff])", r" \1 ", text)
    return text.strip(".?! ").lower()


def _split_sentences(text: str) -> list[list[str]]:
    """Split a text at full stops into sentences, and each sentence into words.

    Empty sentences are dropped before spaces are collapsed, so a sentence that consists of spaces remains.
    """
    return [" ".join(part.split()).split(" ") for part in text.split(".") if part]


def _compute_f(predicted_sentences: Sequence[list[str]], golden_sentences: Sequence[list[str]]) -> float:
    """Compute the F value over distinct words. A word that several pairs of sentences have in common counts once."""
    golden_words = {word for sentence in golden_sentences for word in sentence}
    predicted_words = {word for sentence in predicted_sentences for word in sentence}
    hits = {
        word
        for reference in golden_sentences
        for hypothesis in predicted_sentences
        for word in _longest_common_subsequence(reference, hypothesis)
    }
    recall, precision = len(hits) / len(golden_words), len(hits) / len(predicted_words)
    return 2.0 * precision * recall / (precision + recall + 1e-8)


def _longest_common_subsequence(x: list[str], y: list[str]) -> list[str]:
    """Return the longest common subsequence of two lists of words.

    If there are several, the choice is as in the package `rouge`: going back from the ends of both lists, a word of `x`
    is skipped only if skipping a word of `y` instead would give a shorter subsequence.
    """
    lengths = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, a in enumerate(x, 1):
        row, above = lengths[i], lengths[i - 1]
        for j, b in enumerate(y, 1):
            row[j] = above[j - 1] + 1 if a == b else max(above[j], row[j - 1])
    i, j, common = len(x), len(y), []
    while i and j:
        if x[i - 1] == y[j - 1]:
            common.append(x[i - 1])
            i, j = i - 1, j - 1
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return common[::-1]


MIN_SIMILARITY = 0.7
"""Minimum ROUGE-L F value of a correct text."""


@dataclass(slots=True)
class SnapshotCheck:
    is_text: bool
    """True if the prediction contains no call."""
    func_ok: bool
    """True if the function name is the golden one."""
    args_ok: bool
    """True if the arguments are equal or similar enough. The function name does not matter."""
    rejected: bool
    """True if the prediction is a refusal: `func_ok` is false and the text contains "sorry"."""
    hallucinated: list[str]
    """Names of the predicted arguments that the golden call does not have."""
    missing: list[str]
    """Names of the golden arguments that the prediction does not have."""
    lowest_similarity: float | None = None
    """Lowest similarity of an argument, from 0 to 1. None if the check needed no similarities."""
    lowest_argument: str | None = None


def check_snapshot(call: ParsedCall | None, raw: Any, label: Any, language: str) -> SnapshotCheck:
    """Check a prediction (`call`, or None if it is text; `raw` as logged) against the golden call.

    `label` is `{"name", "arguments"}`, or the expected refusal as text. In that case only `rejected` can be true.
    `language` is `en` or `zh`.
    """
    golden_arguments = as_object(as_object(label).get("arguments"))
    name_ok = call is not None and isinstance(label, dict) and call.get("name") == label.get("name")
    rejected = not name_ok and "sorry" in (raw if isinstance(raw, str) else str(raw)).lower()
    if call is None or not isinstance(label, dict):
        return SnapshotCheck(call is None, False, False, rejected, [], list(golden_arguments))
    arguments = call.get("arguments")
    predicted_arguments = as_object(arguments)
    hallucinated = [key for key in predicted_arguments if key not in golden_arguments]
    missing = [key for key in golden_arguments if key not in predicted_arguments]
    args_ok, lowest, lowest_argument = check_arguments(arguments, golden_arguments, language)
    return SnapshotCheck(False, name_ok, args_ok, rejected, hallucinated, missing, lowest, lowest_argument)


def check_arguments(predicted: Any, golden: dict[str, Any], language: str) -> tuple[bool, float | None, str | None]:
    """Return whether the arguments agree, and the lowest similarity and its argument if similarities were computed."""
    if not isinstance(predicted, dict):
        return False, None, None
    predicted_texts = {key: str(value) for key, value in predicted.items() if value != ""}
    golden_texts = {key: str(value) for key, value in golden.items() if value != ""}
    if any(key not in golden_texts for key in predicted_texts):
        return False, None, None
    if golden_texts.pop("kwargs", None) is not None:
        predicted_texts.pop("kwargs", None)
    if predicted_texts == golden_texts:
        return True, None, None
    scores = {
        key: compute_rouge_l(predicted_texts[key], golden_text, language) if key in predicted_texts else 0.0
        for key, golden_text in golden_texts.items()
    }
    if not scores:
        return False, None, None
    lowest_argument = min(scores, key=scores.__getitem__)
    return scores[lowest_argument] >= MIN_SIMILARITY, scores[lowest_argument], lowest_argument
