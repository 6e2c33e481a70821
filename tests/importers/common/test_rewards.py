"""Thresholds of rewards and answers of judges are read as they are written."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.importers.common.judge_answers import find_equivalence_label, parse_judge_answer
from fcreview.importers.common.rewards import format_threshold, parse_threshold, read_reward


@pytest.mark.parametrize("reward", [1.0, 0.0, 0.5, -2.0000000000000004, 1e-7, 1 / 3, 1e22])
def test_threshold_is_the_reward_itself(reward: float) -> None:
    assert parse_threshold(format_threshold(reward)) == reward


@pytest.mark.parametrize(
    "text", ["", "default", "reward", "reward>=", "reward>=x", "reward>=1.2.3"]
)
def test_other_texts_are_no_thresholds(text: str) -> None:
    assert parse_threshold(text) is None


@pytest.mark.parametrize("value", [None, True, "1", [1], float("nan"), float("inf")])
def test_only_finite_numbers_are_rewards(value: Any) -> None:
    assert read_reward(value) is None


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("yes", True),
        (" Correct ", True),
        ("[[A=B]]", True),
        (1, True),
        ("no", False),
        ("INCORRECT", False),
        ("[[A!=B]]", False),
        (0.0, False),
        (False, False),
        (0.5, 0.5),
        ("A", ["A"]),
        ("not_attempted", ["not_attempted"]),
        (None, None),
        ("", None),
    ],
)
def test_answer_of_a_judge(answer: Any, value: Any) -> None:
    assert parse_judge_answer(answer) == value


def test_last_label_in_a_text_of_a_judge_counts() -> None:
    assert find_equivalence_label("[[A=B]] or rather [[A!=B]]") == "[[A!=B]]"
    assert find_equivalence_label("A equals B") is None
