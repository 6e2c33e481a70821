from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import ClassVar

import pytest

from fcreview.golden_audit.evidence import RunWeigher, collect_evidence, compute_failure_bits, create_schema_reader
from fcreview.golden_audit.score import find_consensus_reasons, sum_wins
from tests.golden_audit.cases import (
    ModelAnswer,
    make_evidence,
    make_golden,
    make_profiles,
    make_question,
    make_schema,
    select_kind,
)

UNIT = make_schema(unit="Unit.")
WANTED = [make_golden(unit=["mile"])]


def reason_strength(
    answers: list[ModelAnswer], kind: str = "agreement", rates: tuple[float, ...] = (0.9,) * 6
) -> float:
    found = select_kind(find_consensus_reasons(make_evidence(make_question(WANTED, [UNIT], answers), rates)), kind)
    return found[0].strength if found else 0.0


def test_models_of_one_family_count_once() -> None:
    both = ModelAnswer([0, 1], {"unit": "km"})
    assert reason_strength([both, ModelAnswer([2, 3, 4, 5], passed=True)]) == 0
    independent = ModelAnswer([0, 2], {"unit": "km"})
    assert reason_strength([independent, ModelAnswer([1, 3, 4, 5], passed=True)]) > 0


def test_more_agreeing_families_are_stronger_evidence() -> None:
    few = reason_strength([ModelAnswer([0, 2], {"unit": "km"}), ModelAnswer([3, 4, 5], passed=True)])
    many = reason_strength([ModelAnswer([0, 2, 3, 4], {"unit": "km"}), ModelAnswer([5], passed=True)])
    assert 0 < few < many < 1


def test_different_answers_do_not_agree() -> None:
    assert reason_strength([ModelAnswer([run], {"unit": f"unit {run}"}) for run in range(6)]) == 0


def test_spaces_and_case_do_not_separate_answers() -> None:
    assert reason_strength([ModelAnswer([0], {"unit": "K m"}), ModelAnswer([2], {"unit": "km"})]) > 0


def test_failures_of_weak_runs_are_weak_evidence() -> None:
    answers = [ModelAnswer([0, 2], {"unit": "km"}), ModelAnswer([3, 4, 5], passed=True)]
    weak = reason_strength(answers, rates=(0.1, 0.9, 0.1, 0.9, 0.9, 0.9))
    strong = reason_strength(answers, rates=(0.9,) * 6)
    assert weak < strong / 5


def test_weight_of_a_failure_is_its_information() -> None:
    assert compute_failure_bits(0.5) == pytest.approx(1)
    assert compute_failure_bits(0.75) == pytest.approx(2)
    made = make_question(WANTED, [UNIT], [ModelAnswer([0, 1, 2], {"unit": "km"})])
    bits = RunWeigher(make_profiles((0.75, 0.5, 0.5, 0.5, 0.5, 0.5))).compute_weights(made).bits
    assert bits == pytest.approx({0: 1.0, 1: 0.5, 2: 1.0})  # The two models of one family count half.


def test_unreadable_answers_do_not_count() -> None:
    assert (
        reason_strength([ModelAnswer([0, 2, 3, 4], None)])
        == reason_strength([ModelAnswer([0, 2, 3, 4], None)], "failing")
        == 0
    )


def test_reason_names_answer_models_and_golden_value() -> None:
    made = make_question(WANTED, [UNIT], [ModelAnswer([0, 1, 2], {"unit": "km"}), ModelAnswer([3], passed=True)])
    (reason,) = select_kind(find_consensus_reasons(make_evidence(made)), "agreement")
    assert reason.text == 'models agree: unit: "km", golden "mile" (2 of 3 model families, 3 models)'
    assert reason.alternative is not None
    assert reason.alternative.models == ("claude-3", "gpt-4", "gpt-4o")
    assert reason.alternative.families == ("claude", "gpt")


def test_only_reversed_order_of_runs_is_a_reason() -> None:
    answers = [ModelAnswer([0, 2, 3], {"unit": "km"}), ModelAnswer([1, 4, 5], {"unit": "mile"}, passed=True)]
    assert reason_strength(answers, "reversed", (0.9, 0.3, 0.9, 0.9, 0.3, 0.3)) == pytest.approx(1)
    assert reason_strength(answers, "reversed", (0.3, 0.9, 0.3, 0.3, 0.9, 0.9)) == 0
    assert reason_strength(answers, "reversed") == 0


def test_difference_that_passes_in_another_run_is_no_reason() -> None:
    answers = [ModelAnswer([0, 2], {"unit": "km"}), ModelAnswer([3], {"unit": "km"}, passed=True)]
    assert reason_strength(answers) == reason_strength(answers, "failing") == 0


def test_contradicted_verdict_is_a_reason() -> None:
    answers = [ModelAnswer([0], {"unit": "km"}, contradicted=True), ModelAnswer([2], {"unit": "mile"}, passed=True)]
    assert reason_strength(answers, "contradiction") == pytest.approx(0.5)
    assert reason_strength([ModelAnswer([0], {"unit": "km"})], "contradiction") == 0


def test_sum_of_wins_needs_few_comparisons() -> None:
    class CountedRate(float):
        calls: ClassVar[Counter[str]] = Counter()

        def __lt__(self, other: float) -> bool:
            CountedRate.calls["<"] += 1
            return super().__lt__(other)

    draw = random.Random(1)
    ones, others = ([(CountedRate(draw.randint(0, 20) / 20), draw.random()) for _ in range(300)] for _ in range(2))
    found = sum_wins(ones, others)
    assert CountedRate.calls["<"] < 10_000
    pairs = [(a, b, weight * other) for a, weight in ones for b, other in others]
    assert found == pytest.approx(sum(product * (1.0 if a > b else 0.5 if a == b else 0) for a, b, product in pairs))


def test_reason_states_pass_rate_of_best_failing_run() -> None:
    profiles = make_profiles()
    profiles[0] = replace(profiles[0], n_passed=1, n_verdicts=6)
    made = make_question(WANTED, [UNIT], [ModelAnswer([0], {"unit": "km"}), ModelAnswer([2], passed=True)])
    evidence = collect_evidence(made, RunWeigher(profiles), create_schema_reader())
    (reason,) = select_kind(find_consensus_reasons(evidence), "failing")
    assert reason.text == "models fail: 1 of 2 decoded answers fails, including gpt-4, which passes 1 of 6 items"
