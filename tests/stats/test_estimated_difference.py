"""The estimated difference of two runs follows from the questions that were reviewed in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import pytest

from fcreview.stats.estimated_difference import (
    ALL_UNDECIDED,
    NO_JOINT_SAMPLE,
    NOTHING_REVIEWED,
    EstimatedDifference,
    JointSampleItem,
    estimate_difference,
)
from fcreview.stats.paired_difference import compute_tango_interval
from fcreview.stats.posterior import ItemStatus, SampleOutcome
from fcreview.stats.run_comparison import compare_runs
from tests.stats.comparison_cases import make_outcome, make_trials


@dataclass(frozen=True, slots=True)
class Question:
    """Verdicts of A and B on a question: `P` or `F`, and for human verdicts `U` for unsure."""

    automatic: str
    human: str = ""
    probability: float = 0.1
    cluster: str | None = None
    is_in_frame: bool = True


def make_item(question: Question, side: int) -> JointSampleItem:
    automatic = question.automatic[side] == "P"
    status = ItemStatus("simple", automatic)
    if question.human:
        letter = question.human[side]
        outcome: SampleOutcome = "unsure" if letter == "U" else "decided"
        human = {"P": True, "F": False, "U": None}[letter]
        status = replace(
            status, human=human, has_sample_verdict=human is not None, sample_outcome=outcome
        )
    return JointSampleItem(
        status,
        queues=("joint",) if question.is_in_frame else (),
        probability=question.probability,
        is_drawn=bool(question.human),
        cluster=question.cluster,
    )


def estimate(questions: Sequence[Question]) -> EstimatedDifference:
    sides = []
    samples = []
    for side in (0, 1):
        outcomes = []
        sample = {}
        for number, question in enumerate(questions):
            item = side * len(questions) + number
            outcomes.append(make_outcome(str(number), question.automatic[side] == "P", item=item))
            sample[item] = make_item(question, side)
        sides.append(outcomes)
        samples.append(sample)
    return estimate_difference(compare_runs(*sides), *samples)


def repeat(n: int, automatic: str, human: str = "", **fields: object) -> list[Question]:
    return [Question(automatic, human, **fields)] * n  # type: ignore[arg-type]


def test_interval_of_one_stratum_is_that_of_tango() -> None:
    """20 of 100 questions are reviewed; each stands for 100 / 80 pairs of an infinite population."""
    reviewed = repeat(16, "PP", "PP") + repeat(3, "PP", "PF") + repeat(1, "PP", "FP")
    found = estimate(reviewed + repeat(80, "PP"))

    scale = 100 / 80
    expected = compute_tango_interval(3 * scale, 1 * scale, n=20 * scale)
    assert (found.low, found.high) == pytest.approx(expected)
    assert found.value == pytest.approx(0.1)
    assert found.automatic == 0
    assert (found.n_questions, found.n_reviewed, found.headline) == (100, 20, "interval")


def test_strata_by_automatic_verdicts_add_up() -> None:
    agreeing = repeat(18, "PP", "PP") + repeat(2, "PP", "PF") + repeat(180, "PP")
    differing = repeat(15, "PF", "PF") + repeat(5, "PF", "PP") + repeat(80, "PF")
    found = estimate(agreeing + differing)

    first_low, first_high = compute_tango_interval(2 * 200 / 180, 0, n=20 * 200 / 180)
    second_low, second_high = compute_tango_interval(15 * 100 / 80, 0, n=20 * 100 / 80)
    below = sqrt((200 * (0.1 - first_low)) ** 2 + (100 * (0.75 - second_low)) ** 2)
    above = sqrt((200 * (first_high - 0.1)) ** 2 + (100 * (second_high - 0.75)) ** 2)
    value = (200 * 0.1 + 100 * 0.75) / 300
    assert found.value == pytest.approx(value)
    assert found.low == pytest.approx(value - below / 300)
    assert found.high == pytest.approx(value + above / 300)
    assert found.automatic == pytest.approx(100 / 300)


def test_questions_with_equal_automatic_verdicts_are_one_stratum() -> None:
    """Most questions pass in both runs, some fail in both; the automatic difference is 0."""
    passing = repeat(17, "PP", "PP") + repeat(3, "PP", "PF") + repeat(100, "PP")
    failing = repeat(14, "FF", "FF") + repeat(1, "FF", "PF") + repeat(65, "FF")
    found = estimate(passing + failing)

    scale = 200 / 165
    expected = compute_tango_interval(4 * scale, 0, n=35 * scale)
    assert (found.low, found.high) == pytest.approx(expected)
    assert found.value == pytest.approx(4 / 35)


def test_p_is_below_5_percent_if_the_interval_excludes_0() -> None:
    generator = np.random.default_rng(1)
    n_significant = 0
    for _ in range(30):
        only_a, only_b = (int(count) for count in generator.integers(0, 12, 2))
        reviewed = repeat(20, "PP", "PP") + repeat(only_a, "PP", "PF")
        found = estimate(reviewed + repeat(only_b, "PP", "FP") + repeat(60, "PP"))
        assert found.p is not None and found.low is not None and found.high is not None
        excludes_zero = not found.low <= 0 <= found.high
        assert (found.p < 0.05) is excludes_zero
        n_significant += excludes_zero
    assert 5 < n_significant < 25


def test_equal_runs_have_p_1() -> None:
    found = estimate(repeat(5, "PP", "PF") + repeat(5, "PP", "FP") + repeat(50, "PP"))
    assert found.value == 0 and found.p == pytest.approx(1)


def test_review_of_all_questions_has_no_sampling_error() -> None:
    found = estimate(repeat(9, "PP", "PP") + repeat(3, "PP", "PF"))
    assert found.value == found.low == found.high == pytest.approx(0.25)
    assert found.p is None


def test_few_undecided_questions_give_bounds_beside_the_interval() -> None:
    decided = repeat(60, "PP", "PP") + repeat(20, "PP", "PF")
    found = estimate(decided + repeat(1, "PP", "UP") + repeat(200, "PP"))
    assert found.bounds is not None and found.low is not None and found.high is not None
    assert found.bounds[0] < found.low and found.bounds[1] >= found.high
    assert (found.n_undecided, found.headline) == (1, "interval")
    assert found.p is not None


def test_many_undecided_questions_leave_a_range_without_p() -> None:
    """The range is from A failing and B passing all undecided items to the opposite."""
    undecided = repeat(5, "PP", "UP") + repeat(5, "PP", "PU")
    found = estimate(repeat(30, "PP", "PP") + undecided + repeat(100, "PP"))
    assert (found.headline, found.p, found.n_reviewed) == ("bounds", None, 30)
    assert found.bounds is not None

    lowest = repeat(5, "PP", "FP") + repeat(5, "PP", "PP")
    highest = repeat(5, "PP", "PP") + repeat(5, "PP", "PF")
    low = estimate(repeat(30, "PP", "PP") + lowest + repeat(100, "PP")).low
    high = estimate(repeat(30, "PP", "PP") + highest + repeat(100, "PP")).high
    assert found.bounds == (low, high)


def test_only_undecided_questions_give_no_estimate() -> None:
    found = estimate(repeat(12, "PP", "UP") + repeat(20, "PP"))
    assert (found.value, found.p, found.reason) == (None, None, ALL_UNDECIDED)


def test_whole_conversations_widen_the_interval() -> None:
    """In each conversation of four questions, the same run is better in all of them."""
    groups = []
    for number in range(12):
        human = "PF" if number % 3 == 0 else "PP"
        groups += repeat(4, "PP", human, cluster=f"group {number}")
    others = repeat(150, "PP", cluster="other")
    clustered = estimate(groups + others)
    alone = estimate([replace(question, cluster=None) for question in groups + others])
    assert clustered.value == alone.value
    assert (clustered.n_clusters, alone.n_clusters) == (12, 48)
    assert clustered.design_effect is not None and clustered.design_effect > 3
    assert clustered.low is not None and clustered.high is not None
    assert alone.low is not None and alone.high is not None
    assert clustered.high - clustered.low > 1.5 * (alone.high - alone.low)


def test_questions_with_other_probabilities_are_not_joined() -> None:
    """Only the rarely sampled questions differ. Together with the others, they would count less."""
    often = repeat(11, "PP", "PP", probability=0.5) + repeat(11, "PP", probability=0.5)
    rarely = repeat(11, "PP", "PF", probability=0.05) + repeat(198, "PP", probability=0.05)
    assert estimate(often + rarely).value == pytest.approx(209 / 231)


def test_questions_that_cannot_be_drawn_are_left_out() -> None:
    reviewed = repeat(20, "PP", "PF") + repeat(20, "PP")
    found = estimate(reviewed + repeat(7, "FF", is_in_frame=False))
    assert (found.n_questions, found.n_outside) == (40, 7)
    assert found.value == 1


def test_verdicts_from_before_the_sample_are_exact() -> None:
    questions = repeat(40, "PP", "PP") + repeat(60, "PP")
    sampled = estimate(questions)
    known_before = ItemStatus("simple", True, human=True, is_known_before_sample=True)
    samples = []
    for side in (0, 1):
        sample = {
            side * 100 + at: make_item(question, side) for at, question in enumerate(questions)
        }
        for number in range(60, 100):
            item = side * 100 + number
            human = side == 0 or number >= 80
            sample[item] = replace(
                sample[item], status=replace(known_before, human=human), queues=(), is_drawn=False
            )
        samples.append(sample)
    sides = []
    for side in (0, 1):
        sides.append([make_outcome(str(at), True, item=side * 100 + at) for at in range(100)])
    found = estimate_difference(compare_runs(*sides), *samples)

    # 20 of the 40 known pairs are passed by A only. The sample represents the other 60.
    assert found.value == pytest.approx(0.2)
    assert found.n_questions == 100
    assert sampled.low is not None and found.low is not None
    assert found.low - 0.2 > sampled.low


def test_runs_without_joint_sample_say_so() -> None:
    comparison = compare_runs([make_outcome("1", True)], [make_outcome("1", False)])
    found = estimate_difference(comparison, {}, {})
    assert (found.value, found.reason) == (None, NO_JOINT_SAMPLE)
    assert estimate(repeat(9, "PF")).reason == NOTHING_REVIEWED


def test_trials_count_by_task_whatever_their_numbers() -> None:
    """A passes 3 of 4 trials of each task, B 2 of 4. The order of the trials has no meaning."""

    def estimate_trials(letters_a: str, letters_b: str) -> EstimatedDifference:
        sides = []
        samples = []
        for side, letters in enumerate((letters_a, letters_b)):
            outcomes = make_trials([letters] * 30)
            outcomes = [
                outcome._replace(item=side * 1000 + at) for at, outcome in enumerate(outcomes)
            ]
            sample = {}
            for at, outcome in enumerate(outcomes):
                human = letters[at % 4] * 2 if at < 60 else ""
                question = Question("PP", human, cluster=f"task {at // 4}")
                sample[outcome.item] = make_item(question, side)
            sides.append(outcomes)
            samples.append(sample)
        return estimate_difference(compare_runs(*sides), *samples)

    found = estimate_trials("PPPF", "PPFF")
    assert found == estimate_trials("FPPP", "FPPF")
    assert found.value == pytest.approx(0.25)
    assert (found.n_reviewed, found.n_clusters) == (60, 15)
