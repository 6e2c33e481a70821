"""HammerBench's similarity against the package that its evaluator uses."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.hammerbench.checker import compute_rouge_l

WORDS = ["a", "b", "Oslo", "5", "5.5", "v1.2.0", "...", ". ", "é", "ß", "İ", "café", "\u3000", "\u2028", "\t", "?", "!",
         "明天", "上午九点", "4月12日", "。", "！", "𠀀", "한", "x.y", "-1", "''", "."]  # fmt: skip
PAIRS = 20_000


def spoken(chance: random.Random) -> str:
    return chance.choice(["", " ", " ", ". "]).join(chance.choice(WORDS) for _ in range(chance.randrange(9)))


def altered(text: str, chance: random.Random) -> str:
    """The text with a few characters moved, doubled or left out: pairs that have much in common are the hard ones."""
    parts = list(text)
    for _ in range(chance.randrange(4)):
        if parts:
            part = parts.pop(chance.randrange(len(parts)))
            at = chance.randrange(len(parts) + 1)
            parts[at:at] = [part] * chance.randrange(3)
    return "".join(parts)


def official(rouge: Any, prediction: str, label: str, language: str) -> float:
    """As the released evaluator prepares the texts and takes the score; 0 where it fails."""

    def prepared(text: str) -> str:
        if language == "zh":
            return re.sub("([\u4e00-\u9fff])", r" \1 ", text.strip("。！ "))
        return text.strip(".?! ").lower()

    hypothesis, reference = prepared(prediction), prepared(label)
    if not hypothesis.strip() or not reference.strip():
        return 0.0
    try:
        return float(rouge.get_scores(hypothesis, reference)[0]["rouge-l"]["f"])
    except ValueError:
        return 0.0


@pytest.mark.sweep
@pytest.mark.slow
def test_similarity_is_the_packages_on_random_pairs() -> None:
    rouge = pytest.importorskip("rouge", reason="the package `rouge` is needed: pip install -e .[dev]")
    oracle = rouge.Rouge(metrics=["rouge-l"])
    chance = random.Random(7)
    different = []
    several = 0
    for at in range(PAIRS):
        label, language = spoken(chance), ("en", "zh")[at % 2]
        prediction = spoken(chance) if at % 3 else altered(label, chance)
        ours, theirs = compute_rouge_l(prediction, label, language), official(oracle, prediction, label, language)
        several += 0 < theirs < 1 and "." in label.strip(". ") and "." in prediction.strip(". ")
        if ours != theirs:
            different.append((prediction, label, language, ours, theirs))
    assert different == []
    assert several > PAIRS / 20  # pairs of several sentences, neither equal nor without a word in common


def test_similarity_as_it_is_used() -> None:
    assert compute_rouge_l("Oslo", "oslo.", "en") == pytest.approx(0.999999995)
    assert compute_rouge_l("24.0", "24", "en") == pytest.approx(2 / 3, abs=1e-6)
    assert compute_rouge_l("4月13日", "4月12日", "zh") == pytest.approx(0.75, abs=0.01)
    assert compute_rouge_l(" ", "x", "en") == 0.0


def test_a_word_in_several_sentences_is_one_hit() -> None:
    assert compute_rouge_l("5", "5.5", "en") == pytest.approx(0.999999995)
    assert compute_rouge_l("a b. a c", "a. a", "en") == pytest.approx(0.5, abs=1e-6)


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(["en", "zh"]))
def test_similarity_is_between_0_and_1(a: str, b: str, language: str) -> None:
    assert 0.0 <= compute_rouge_l(a, b, language) <= 1.0
