"""Measure the estimated difference of two runs from a joint sample, as `compare --source effective`
prints it.

Two runs answer the same 1,000 questions. Hard questions are hard for both. The automatic verdicts
are wrong for 4 % of the true passes and 12 % of the true failures. A sample of questions is
reviewed in both runs. In the settings with conversations, the four questions of a conversation are
alike, and the sample draws whole conversations.

Usage: python benchmarks/coverage/joint.py [--repetitions N] [--setting TEXT]
Prints a Markdown table: how often the interval contains the true difference, its half-width, also
divided by that of the reviewed pairs alone (Tango), and how often p is at most 0.05.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fcreview.stats.estimated_difference import (
    EstimatedDifference,
    JointSampleItem,
    estimate_difference,
)
from fcreview.stats.paired_difference import compute_tango_interval
from fcreview.stats.posterior import ItemStatus
from fcreview.stats.run_comparison import ItemOutcome, QuestionKey, RunComparison, compare_runs

BoolArray = NDArray[np.bool_]
N_QUESTIONS = 1000
GROUP_SIZE = 4
WRONG_PASSES = 0.12
WRONG_FAILURES = 0.04
DIFFICULTY_SPREAD = 2.0
MEAN_LOGIT = 1.2
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    n_reviewed: int
    """Number of reviewed questions."""
    advantage: float = 0.0
    """By how much A is better, on the logit scale; 0 for runs with the same pass rate."""
    has_conversations: bool = False
    unsure: float = 0.0
    """Share of the items with a wrong automatic verdict that annotators do not decide."""


SETTINGS = (
    Setting("equal runs", n_reviewed=50),
    Setting("equal runs", n_reviewed=100),
    Setting("equal runs", n_reviewed=200),
    Setting("A better", n_reviewed=50, advantage=0.7),
    Setting("A better", n_reviewed=100, advantage=0.7),
    Setting("A better", n_reviewed=200, advantage=0.7),
    Setting("equal runs, conversations", n_reviewed=100, has_conversations=True),
    Setting("equal runs, conversations", n_reviewed=200, has_conversations=True),
    Setting("A better, conversations", n_reviewed=100, advantage=0.7, has_conversations=True),
    Setting("A better, conversations", n_reviewed=200, advantage=0.7, has_conversations=True),
    Setting("A better, unsure (range)", n_reviewed=200, advantage=0.7, unsure=0.3),
)


@dataclass(frozen=True, slots=True)
class Runs:
    """True and automatic verdicts of both runs, each of shape (2, questions)."""

    truth: BoolArray
    automatic: BoolArray

    @property
    def difference(self) -> float:
        return float(self.truth[0].mean() - self.truth[1].mean())


def make_runs(setting: Setting) -> Runs:
    """Make two runs of the same questions, with true verdicts and automatic verdicts that have
    errors.

    A difficult question is difficult for both runs. With an advantage, run A is better.
    """
    generator = np.random.default_rng(5)
    group_size = GROUP_SIZE if setting.has_conversations else 1
    n_groups = N_QUESTIONS // group_size
    difficulty = np.repeat(generator.normal(size=n_groups), group_size) * DIFFICULTY_SPREAD
    # In a conversation, one of the runs is often better in all turns.
    lean = np.repeat(generator.normal(size=n_groups), group_size) * (group_size > 1)

    logits = MEAN_LOGIT + difficulty + np.array([[setting.advantage], [0.0]])
    logits += np.array([[0.5], [-0.5]]) * lean
    truth = generator.random((2, N_QUESTIONS)) < 1 / (1 + np.exp(-logits))
    is_wrong = generator.random((2, N_QUESTIONS)) < np.where(truth, WRONG_FAILURES, WRONG_PASSES)
    automatic = truth ^ is_wrong
    if not setting.advantage:
        _make_equal(truth, automatic, generator)
    return Runs(truth, automatic)


def _make_equal(truth: BoolArray, automatic: BoolArray, generator: np.random.Generator) -> None:
    """Exchange the runs on random questions until both have as many passes, or one more."""
    for question in generator.permutation(N_QUESTIONS):
        difference = int(truth[0].sum()) - int(truth[1].sum())
        if abs(difference) <= 1:
            return
        if int(truth[0, question]) - int(truth[1, question]) == np.sign(difference):
            truth[:, question] = truth[::-1, question].copy()
            automatic[:, question] = automatic[::-1, question].copy()


def compare(runs: Runs, setting: Setting) -> RunComparison:
    outcomes = [_make_outcomes(runs, setting, side) for side in (0, 1)]
    return compare_runs(*outcomes)


def _make_outcomes(runs: Runs, setting: Setting, side: int) -> list[ItemOutcome]:
    """Return the automatic verdicts of a run (side 0 or 1) as the comparison gets them."""
    outcomes = []
    for question in range(N_QUESTIONS):
        group = f"{question // GROUP_SIZE}" if setting.has_conversations else None
        outcomes.append(
            ItemOutcome(
                item=side * N_QUESTIONS + question,
                question_key=QuestionKey("generic", "", "en", "all", f"q{question}"),
                group=group,
                question=f"question {question}",
                verdict=bool(runs.automatic[side, question]),
                error_type=None,
                first_difference=None,
                prediction_hash=f"{side} {question}",
                golden_hash=f"{question}",
            )
        )
    return outcomes


def draw_questions(setting: Setting, generator: np.random.Generator) -> frozenset[int]:
    """Draw the questions to review, or whole conversations of them."""
    if not setting.has_conversations:
        drawn = generator.choice(N_QUESTIONS, setting.n_reviewed, replace=False)
        return frozenset(map(int, drawn))
    n_groups = setting.n_reviewed // GROUP_SIZE
    groups = generator.choice(N_QUESTIONS // GROUP_SIZE, n_groups, replace=False)
    return frozenset(
        int(group) * GROUP_SIZE + turn for group in groups for turn in range(GROUP_SIZE)
    )


def make_items(runs: Runs, setting: Setting, side: int) -> dict[int, JointSampleItem]:
    """Return the items of a run before the sample is drawn."""
    probability = setting.n_reviewed / N_QUESTIONS
    items = {}
    for question in range(N_QUESTIONS):
        automatic = bool(runs.automatic[side, question])
        items[side * N_QUESTIONS + question] = JointSampleItem(
            ItemStatus("all", automatic, stratum=("",), inclusion_probability=probability),
            queues=("joint",),
            probability=probability,
            is_drawn=False,
            cluster=f"{question // GROUP_SIZE}" if setting.has_conversations else None,
        )
    return items


def review(
    items: Mapping[int, JointSampleItem],
    truth: BoolArray,
    drawn: frozenset[int],
    is_unsure: BoolArray,
) -> dict[int, JointSampleItem]:
    """Return the items of a run with the human verdicts on the drawn questions.

    Annotators are sometimes unsure where the automatic verdict is wrong.
    """
    reviewed = dict(items)
    for number, item in items.items():
        question = number % N_QUESTIONS
        if question not in drawn:
            continue
        status = item.status
        human = bool(truth[question])
        if human is not status.automatic and is_unsure[question]:
            status = replace(status, sample_outcome="unsure")
        else:
            status = replace(status, human=human, has_sample_verdict=True, sample_outcome="decided")
        reviewed[number] = replace(item, status=status, is_drawn=True)
    return reviewed


@dataclass(frozen=True, slots=True)
class Measured:
    covers: bool
    half_width: float
    reference_half_width: float
    is_significant: bool


def measure(runs: Runs, setting: Setting, repetitions: int) -> Iterator[Measured]:
    """Review samples, and compare each estimated difference with the true one."""
    comparison = compare(runs, setting)
    items_a, items_b = (make_items(runs, setting, side) for side in (0, 1))
    for repetition in range(repetitions):
        generator = np.random.default_rng([repetition, setting.n_reviewed])
        drawn = draw_questions(setting, generator)

        is_unsure = generator.random((2, N_QUESTIONS)) < setting.unsure
        sample_a = review(items_a, runs.truth[0], drawn, is_unsure[0])
        sample_b = review(items_b, runs.truth[1], drawn, is_unsure[1])
        estimate = estimate_difference(comparison, sample_a, sample_b)
        low, high = get_shown_ends(estimate)
        yield Measured(
            covers=low - ROUNDING <= runs.difference <= high + ROUNDING,
            half_width=(high - low) / 2,
            reference_half_width=compute_reference_half_width(runs, drawn),
            is_significant=estimate.p is not None and estimate.p <= 0.05,
        )


def get_shown_ends(estimate: EstimatedDifference) -> tuple[float, float]:
    if estimate.is_bounds_headline and estimate.bounds is not None:
        return estimate.bounds
    assert estimate.low is not None and estimate.high is not None
    return estimate.low, estimate.high


def compute_reference_half_width(runs: Runs, drawn: frozenset[int]) -> float:
    """Return the half-width of Tango's interval of the reviewed pairs alone, as if they were
    independent, with the finite population correction.
    """
    questions = sorted(drawn)
    passes_a = runs.truth[0, questions]
    passes_b = runs.truth[1, questions]
    scale = N_QUESTIONS / (N_QUESTIONS - len(questions))
    low, high = compute_tango_interval(
        float((passes_a & ~passes_b).sum()) * scale,
        float((passes_b & ~passes_a).sum()) * scale,
        n=len(questions) * scale,
    )
    return (high - low) / 2


def format_row(setting: Setting, repetitions: int) -> str:
    """Return the row of a setting: coverage, width of the interval, and share of significant
    results.
    """
    results = list(measure(make_runs(setting), setting, repetitions))
    coverage = 100 * float(np.mean([each.covers for each in results]))
    half_width = float(np.mean([each.half_width for each in results]))
    reference = float(np.mean([each.reference_half_width for each in results]))
    significant = 100 * float(np.mean([each.is_significant for each in results]))
    return (
        f"| {setting.name} | {setting.n_reviewed} | {coverage:.1f} | ±{100 * half_width:.1f} |"
        f" {half_width / reference:.2f} | {significant:.1f} |"
    )


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--setting", default="", help="only settings with this text in their name")
    arguments = parser.parse_args()
    print("| runs | questions | coverage | half-width | of the reference | p ≤ 0.05 |")
    print("|---" * 6 + "|")
    for setting in SETTINGS:
        if arguments.setting.lower() in setting.name.lower():
            print(format_row(setting, arguments.repetitions), flush=True)


if __name__ == "__main__":
    main()
