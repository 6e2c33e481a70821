"""The table of automatic sources shows their bias, the labels that they save, and how many
independent judges they are worth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from fcreview.stats.calibration import VerdictPair
from fcreview.stats.judge_trust import (
    compute_effective_number,
    compute_judge_figures,
    compute_source_trust,
)
from fcreview.tables.calibration import build_trust_table

N_ITEMS = 300
Verdicts = NDArray[np.bool_]


def make_pairs(
    judge: str, verdicts: Sequence[bool] | Verdicts, truth: Verdicts, *, is_on_item: bool = True
) -> list[VerdictPair]:
    return [
        VerdictPair(
            item=item,
            source="judge",
            judge=judge,
            criterion="correct",
            automatic=bool(verdict),
            human=bool(human),
            is_random=True,
            benchmark="b",
            category="c",
            is_on_item=is_on_item,
        )
        for item, (verdict, human) in enumerate(zip(verdicts, truth, strict=True))
    ]


def make_truth() -> Verdicts:
    return np.random.default_rng(0).random(N_ITEMS) < 0.6


def make_judge(truth: Verdicts, right: float, seed: int) -> Verdicts:
    return np.where(np.random.default_rng(seed).random(len(truth)) < right, truth, ~truth)


def test_bias_and_saved_labels_equal_independent_formulas() -> None:
    truth = make_truth()
    verdicts = make_judge(truth, 0.8, seed=1)
    (trust,) = compute_source_trust(make_pairs("oak", verdicts, truth))
    assert trust.bias.value == pytest.approx(verdicts.mean() - truth.mean())
    assert trust.labels_saved.value == pytest.approx(np.corrcoef(verdicts, truth)[0, 1] ** 2)
    for measure in (trust.bias, trust.labels_saved):
        assert measure.low is not None and measure.high is not None and measure.value is not None
        assert measure.low < measure.value < measure.high
    assert trust.tpr is not None and trust.tpr.value == pytest.approx(verdicts[truth].mean())
    assert trust.tnr is not None and trust.tnr.value == pytest.approx((~verdicts[~truth]).mean())


def test_interval_of_the_bias_covers_the_true_bias() -> None:
    truth_of_all = np.random.default_rng(3).random(20_000) < 0.6
    verdicts_of_all = make_judge(truth_of_all, 0.8, seed=4)
    true_bias = verdicts_of_all.mean() - truth_of_all.mean()
    n_covered = 0
    for seed in range(100):
        drawn = np.random.default_rng(seed).choice(20_000, 100, replace=False)
        pairs = make_pairs("oak", verdicts_of_all[drawn], truth_of_all[drawn])
        (trust,) = compute_source_trust(pairs)
        assert trust.bias.low is not None and trust.bias.high is not None
        n_covered += trust.bias.low <= true_bias <= trust.bias.high
    assert 90 <= n_covered <= 99


def test_source_that_saves_most_labels_is_first() -> None:
    truth = make_truth()
    pairs = [
        *make_pairs("weak", make_judge(truth, 0.6, seed=1), truth),
        *make_pairs("strong", make_judge(truth, 0.9, seed=2), truth),
    ]
    assert [trust.judge for trust in compute_source_trust(pairs)] == ["strong", "weak"]


def test_verdicts_on_parts_of_items_do_not_count() -> None:
    truth = make_truth()
    assert compute_source_trust(make_pairs("oak", truth, truth, is_on_item=False)) == []


def test_effective_number_of_copies_is_one_and_of_independent_judges_is_their_number() -> None:
    truth = make_truth()
    copy = make_judge(truth, 0.8, seed=1)
    copies = compute_effective_number(
        [*make_pairs("a", copy, truth), *make_pairs("b", copy, truth)]
    )
    assert copies is not None and copies.value == pytest.approx(1.0)

    pairs = []
    for number in range(4):
        pairs += make_pairs(f"judge {number}", make_judge(truth, 0.8, seed=10 + number), truth)
    independent = compute_effective_number(pairs)
    assert independent is not None and independent.value > 3.2
    assert independent.low <= independent.value <= independent.high


def test_effective_number_equals_the_formula_with_numpy_correlations() -> None:
    truth = make_truth()
    common = make_judge(truth, 0.7, seed=5)
    judges = []
    for seed in range(3):
        is_common = np.random.default_rng(seed).random(N_ITEMS) < 0.5
        judges.append(np.where(is_common, common, make_judge(truth, 0.7, seed=20 + seed)))
    pairs = []
    for number, verdicts in enumerate(judges):
        pairs += make_pairs(f"judge {number}", verdicts, truth)

    # Residuals after regressing each judge on the human verdict: the partial correlation.
    residuals = []
    for verdicts in judges:
        rates = np.where(truth, verdicts[truth].mean(), verdicts[~truth].mean())
        residuals.append(verdicts - rates)
    mean_correlation = float(np.corrcoef(residuals)[np.triu_indices(3, 1)].mean())
    number = compute_effective_number(pairs)
    assert number is not None
    assert number.mean_correlation == pytest.approx(mean_correlation)
    assert number.value == pytest.approx(3 / (1 + 2 * mean_correlation))


def test_effective_number_needs_two_judges_with_errors_and_common_items() -> None:
    truth = make_truth()
    one = make_pairs("a", make_judge(truth, 0.8, seed=1), truth)
    assert compute_effective_number(one) is None
    assert compute_effective_number([*one, *make_pairs("right", truth, truth)]) is None
    few = make_pairs("b", make_judge(truth[:5], 0.8, seed=2), truth[:5])
    assert compute_effective_number([*one, *few]) is None


def test_table_names_sources_and_explains_its_figures() -> None:
    truth = make_truth()
    pairs = [
        *make_pairs("oak", make_judge(truth, 0.9, seed=1), truth),
        *make_pairs("elm", make_judge(truth, 0.7, seed=2), truth),
    ]
    table = build_trust_table(compute_judge_figures(pairs))
    assert [row.texts[0] for row in table.rows] == ["judge oak", "judge elm"]
    assert all(len(row.items) == N_ITEMS for row in table.rows)
    notes = " ".join(table.notes)
    assert "With judge oak, 100 labels are worth" in notes
    assert "Effective number of independent judges" in notes
    assert build_trust_table(compute_judge_figures([])).rows == []
