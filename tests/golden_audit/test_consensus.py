from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import ClassVar

import pytest

from fcreview.golden_audit.evidence import RunWeigher, collect_evidence, compute_failure_bits, create_schema_reader
from fcreview.golden_audit.score import find_consensus_reasons, sum_wins
from tests.golden_audit.cases import Said, case, document, golden, of_kind, seen, witnesses

UNIT = document(unit="Unit.")
WANTED = [golden(unit=["mile"])]


def strength(said: list[Said], kind: str = "agreement", rates: tuple[float, ...] = (0.9,) * 6) -> float:
    found = of_kind(find_consensus_reasons(seen(case(WANTED, [UNIT], said), rates)), kind)
    return found[0].strength if found else 0.0


def test_models_of_one_family_are_one_witness() -> None:
    both = Said([0, 1], {"unit": "km"})
    assert strength([both, Said([2, 3, 4, 5], passed=True)]) == 0
    independent = Said([0, 2], {"unit": "km"})
    assert strength([independent, Said([1, 3, 4, 5], passed=True)]) > 0


def test_more_families_agreeing_say_more() -> None:
    few = strength([Said([0, 2], {"unit": "km"}), Said([3, 4, 5], passed=True)])
    many = strength([Said([0, 2, 3, 4], {"unit": "km"}), Said([5], passed=True)])
    assert 0 < few < many < 1


def test_answers_that_differ_from_each_other_do_not_agree() -> None:
    assert strength([Said([run], {"unit": f"unit {run}"}) for run in range(6)]) == 0


def test_blanks_and_case_do_not_keep_answers_apart() -> None:
    assert strength([Said([0], {"unit": "K m"}), Said([2], {"unit": "km"})]) > 0


def test_who_fails_anyhow_says_little() -> None:
    said = [Said([0, 2], {"unit": "km"}), Said([3, 4, 5], passed=True)]
    weak = strength(said, rates=(0.1, 0.9, 0.1, 0.9, 0.9, 0.9))
    strong = strength(said, rates=(0.9,) * 6)
    assert weak < strong / 5


def test_the_voice_of_a_failure_is_its_surprise() -> None:
    assert compute_failure_bits(0.5) == pytest.approx(1)
    assert compute_failure_bits(0.75) == pytest.approx(2)
    made = case(WANTED, [UNIT], [Said([0, 1, 2], {"unit": "km"})])
    of = RunWeigher(witnesses((0.75, 0.5, 0.5, 0.5, 0.5, 0.5))).compute_weights(made).bits
    assert of == pytest.approx({0: 1.0, 1: 0.5, 2: 1.0})  # the two of one family by half


def test_answers_that_cannot_be_read_are_not_heard() -> None:
    assert strength([Said([0, 2, 3, 4], None)]) == strength([Said([0, 2, 3, 4], None)], "failing") == 0


def test_the_reason_names_answer_models_and_golden() -> None:
    made = case(WANTED, [UNIT], [Said([0, 1, 2], {"unit": "km"}), Said([3], passed=True)])
    (reason,) = of_kind(find_consensus_reasons(seen(made)), "agreement")
    assert reason.text == '2 of 3 model families (3 models) agree: unit: "km"; golden answer has "mile"'
    assert reason.alternative is not None
    assert reason.alternative.models == ("claude-3", "gpt-4", "gpt-4o")
    assert reason.alternative.families == ("claude", "gpt")


def test_strong_runs_failing_where_weak_ones_pass_is_told_and_the_usual_order_is_not() -> None:
    said = [Said([0, 2, 3], {"unit": "km"}), Said([1, 4, 5], {"unit": "mile"}, passed=True)]
    assert strength(said, "reversed", (0.9, 0.3, 0.9, 0.9, 0.3, 0.3)) == pytest.approx(1)
    assert strength(said, "reversed", (0.3, 0.9, 0.3, 0.3, 0.9, 0.9)) == 0
    assert strength(said, "reversed") == 0


def test_a_difference_that_passes_elsewhere_is_none() -> None:
    said = [Said([0, 2], {"unit": "km"}), Said([3], {"unit": "km"}, passed=True)]
    assert strength(said) == strength(said, "failing") == 0


def test_a_verdict_that_the_own_rule_contradicts_is_told() -> None:
    said = [Said([0], {"unit": "km"}, contradicted=True), Said([2], {"unit": "mile"}, passed=True)]
    assert strength(said, "contradiction") == pytest.approx(0.5)
    assert strength([Said([0], {"unit": "km"})], "contradiction") == 0


def test_wins_are_summed_without_comparing_all_pairs() -> None:
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


def test_a_reason_gives_the_pass_rate_of_the_best_failing_run_with_its_denominator() -> None:
    profiles = witnesses()
    profiles[0] = replace(profiles[0], n_passed=1, n_verdicts=6)
    made = case(WANTED, [UNIT], [Said([0], {"unit": "km"}), Said([2], passed=True)])
    evidence = collect_evidence(made, RunWeigher(profiles), create_schema_reader())
    (reason,) = of_kind(find_consensus_reasons(evidence), "failing")
    assert reason.text == "1 of 2 readable answers fails, including gpt-4, which passes 1 of 6 items"
