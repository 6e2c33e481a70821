"""A comparison of two runs matches items, counts pairs of verdicts and explains flips."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, log, sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fcreview.stats.run_comparison import (
    PairedCounts,
    align_runs,
    build_run_matrix,
    choose_verdict_source,
    compare_runs,
    compute_difference,
    compute_mcnemar_p_value,
    compute_tango_interval,
    compute_tango_score,
    compute_upset_score,
    count_verdict_pairs,
    list_caveats,
    list_table_groups,
)
from tests.oracles import binomtest, mcnemars
from tests.stats.comparison_cases import make_outcome, make_outcomes


def test_pairs_of_verdicts_are_counted() -> None:
    found = compare_runs(make_outcomes("PPFF.P"), make_outcomes("PFPFP."))
    counts = found.overall.counts
    assert (counts.both_pass, counts.only_a, counts.only_b, counts.both_fail) == (1, 1, 1, 1)
    assert (found.overall.n_pairs, counts.n, found.overall.n_verdicts) == (6, 4, (5, 5))
    assert [(flip.a.question_key.id, flip.passing_side) for flip in found.flips] == [("1", "a"), ("2", "b")]


def test_categories_are_counted_separately() -> None:
    found = compare_runs(
        make_outcomes("PF") + make_outcomes("PP", category="multiple"),
        make_outcomes("FF") + make_outcomes("PF", category="multiple"),
    )
    assert [(part.category, part.counts.n, part.counts.only_a) for part in found.categories] == [
        ("simple", 2, 1),
        ("multiple", 2, 1),
    ]
    assert found.overall.counts.only_a == 2


def test_order_of_items_does_not_matter() -> None:
    assert (
        compare_runs(make_outcomes("PPF"), make_outcomes("PFF")[::-1]).overall.counts
        == compare_runs(make_outcomes("PPF"), make_outcomes("PFF")).overall.counts
    )


def test_items_without_a_partner_are_reported_but_not_counted() -> None:
    found = compare_runs(make_outcomes("PPP"), make_outcomes("P"))
    assert (found.overall.n_pairs, found.n_unmatched) == (1, (2, 0))
    assert list_caveats(found, "official", "official") == [
        "2 items of A and 0 of B have no matching item in the other run"
    ]


def test_different_question_with_same_id_is_another_item() -> None:
    found = compare_runs([make_outcome("1", True)], [make_outcome("1", False, question="Something else?")])
    assert (found.overall.n_pairs, found.n_unmatched, found.n_other_question) == (0, (1, 1), 1)
    caveats = list_caveats(found, "official", "official")
    assert any("have different questions under 1 item id" in line for line in caveats)


def test_items_without_question_match_by_id() -> None:
    found = compare_runs([make_outcome("1", True)], [make_outcome("1", False, question="")])
    assert (found.overall.n_pairs, found.overall.counts.only_a) == (1, 1)


def test_same_id_in_another_category_is_another_item() -> None:
    assert compare_runs(make_outcomes("P"), make_outcomes("P", category="multiple")).overall.n_pairs == 0


def test_duplicate_items_match_in_order() -> None:
    twice = [make_outcome("1", True), make_outcome("1", False)]
    found = compare_runs(twice, [*reversed(twice)])
    assert (found.overall.counts.only_a, found.overall.counts.only_b, found.n_unmatched) == (1, 1, (0, 0))
    assert compare_runs(twice, twice[:1]).n_unmatched == (1, 0)


def test_different_versions_match_with_a_caveat() -> None:
    found = compare_runs(make_outcomes("PF"), make_outcomes("PF", generation="V4"))
    assert found.overall.n_pairs == 2
    assert list_caveats(found, "official", "official") == [
        "the benchmark versions differ (V1, V4), so items are matched without the version"
    ]


def test_flip_reports_cause_of_failure() -> None:
    (flip,) = compare_runs([make_outcome("1", True)], [make_outcome("1", False)]).flips
    assert flip.cause == 'B: city "1" (golden "Oslo")'
    (flip,) = compare_runs([make_outcome("1", False, first_difference=None)], [make_outcome("1", True)]).flips
    assert flip.cause == "A: value_error"
    (flip,) = compare_runs(
        [make_outcome("1", False, first_difference=None, error_type=None)], [make_outcome("1", True)]
    ).flips
    assert flip.cause == "A: fails for an unknown reason"


def test_flip_of_same_prediction_reports_different_golden_answer() -> None:
    """The runs were scored by two checkers, or with two versions of a dataset."""
    same = {"prediction_hash": "p"}
    (flip,) = compare_runs([make_outcome("1", True, **same)], [make_outcome("1", False, **same)]).flips
    assert flip.cause == 'same prediction; B: value_error, city "1" (golden "Oslo")'
    (flip,) = compare_runs(
        [make_outcome("1", True, **same)], [make_outcome("1", False, golden_hash="other", **same)]
    ).flips
    assert flip.cause == 'same prediction, different golden answer; B: city "1" (golden "Oslo")'
    passing = make_outcome("1", True, first_difference='city "oslo" (golden "Oslo")')
    (flip,) = compare_runs([passing], [make_outcome("1", False, golden_hash="other")]).flips
    assert flip.cause.startswith('different golden answer; A: passes despite city "oslo" (golden "Oslo"); B: ')


def test_partly_recomputed_run_has_no_rate() -> None:
    found = compare_runs(make_outcomes("PPF"), make_outcomes("PF."))
    assert found.overall.is_comparable("official", "official")
    assert not found.overall.is_comparable("official", "rule")
    assert found.overall.is_comparable("rule", "official")
    caveats = list_caveats(found, "official", "rule")
    assert "only 2 of 3 pairs have a verdict on both sides: B (rule) has 2 verdicts" in caveats


def test_only_incomplete_categories_have_no_rate() -> None:
    """`simple` is recomputed completely, `multi` partly."""
    found = compare_runs(
        make_outcomes("PPF") + make_outcomes("PP", category="multi"),
        make_outcomes("PFF") + make_outcomes("P.", category="multi"),
    )
    groups = list_table_groups(found, "official", "rule")
    assert [(each.category, each.counts.n, each.is_comparable("official", "rule")) for each in groups] == [
        (None, 4, False), ("complete categories", 3, True), ("simple", 3, True), ("multi", 1, False),
    ]  # fmt: skip
    assert groups[1].difference == groups[2].difference
    assert any("all items and for 1 category (multi)" in line for line in list_caveats(found, "official", "rule"))
    assert [each.category for each in list_table_groups(found, "official", "official")] == [None, "simple", "multi"]


def test_source_with_verdicts_is_chosen() -> None:
    assert [choose_verdict_source(*counts) for counts in ((3, 1), (0, 1), (0, 2), (0, 0))] == [
        "official",
        "rule",
        "rule",
        "effective",
    ]


def test_items_of_one_conversation_are_reported_as_grouped() -> None:
    assert compare_runs(make_outcomes("PF", group="g"), make_outcomes("PP", group="g")).has_grouped_items
    assert not compare_runs(make_outcomes("PF"), make_outcomes("PP")).has_grouped_items


def test_aligned_rows_have_one_outcome_per_run() -> None:
    found = align_runs([make_outcomes("P"), make_outcomes("PF"), make_outcomes("PFP")])
    assert [[each.verdict if each else "-" for each in row.outcomes] for row in found.items] == [
        [True, True, True],
        ["-", False, False],
        ["-", "-", True],
    ]
    assert [found.count_unmatched(at) for at in range(3)] == [0, 1, 2]


Z = 1.959963984540054
COUNT = st.integers(0, 40)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [
        (0, 0, Fraction(1)),
        (1, 0, Fraction(1)),
        (5, 0, Fraction(2, 32)),
        (1, 7, Fraction(2 * (1 + 8), 2**8)),  # Fagerland, Lydersen, Laake 2013: 0.0703
        (6, 16, Fraction(2 * sum(comb(22, k) for k in range(7)), 2**22)),  # same source: 0.0525
        (10, 10, Fraction(1)),
    ],
)
def test_mcnemar_exact_p(only_a: int, only_b: int, p: Fraction) -> None:
    assert compute_mcnemar_p_value(only_a, only_b) == float(p)
    assert compute_mcnemar_p_value(only_b, only_a) == float(p)


def test_p_of_many_flips_is_exact() -> None:
    """2**n exceeds the largest float."""
    assert compute_mcnemar_p_value(1500, 1500) == 1.0
    exact = Fraction(2 * sum(comb(3000, k) for k in range(1401)), 2**3000)
    assert compute_mcnemar_p_value(1400, 1600) == pytest.approx(float(exact), rel=1e-12)
    assert 0 <= compute_mcnemar_p_value(0, 5000) < 1e-300


@pytest.mark.parametrize(
    ("only_a", "only_b", "n", "low", "high"),
    [
        (1, 7, 21, -0.517, -0.026),  # Bentur et al. 2009, in Fagerland, Lydersen, Laake 2014, table IX
        (0, 0, 10, -(Z**2) / (10 + Z**2), Z**2 / (10 + Z**2)),  # closed form without flips
    ],
)
def test_intervals_equal_published_values(only_a: int, only_b: int, n: int, low: float, high: float) -> None:
    assert compute_tango_interval(only_a, only_b, n) == pytest.approx((low, high), abs=5e-4)


def log_likelihood(only_a: int, only_b: int, n: int, delta: float, share: float) -> float:
    """Return the log-likelihood if only B passes a `share` of items and only A passes `share + delta`."""
    cells = ((only_a, share + delta), (only_b, share), (n - only_a - only_b, 1 - 2 * share - delta))
    return sum(count * log(max(p, 1e-300)) for count, p in cells if count)


def search_score(only_a: int, only_b: int, n: int, delta: float) -> float:
    """Compute the statistic with the most likely share, found by a search instead of the formula."""
    low, high = max(0.0, -delta), (1 - delta) / 2
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if log_likelihood(only_a, only_b, n, delta, left) < log_likelihood(only_a, only_b, n, delta, right):
            low = left
        else:
            high = right
    share = (low + high) / 2
    return (only_a - only_b - n * delta) / sqrt(n * (2 * share + delta * (1 - delta)))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 60), st.floats(-0.8, 0.8))
def test_score_uses_the_most_likely_share(only_a: int, only_b: int, same: int, delta: float) -> None:
    n = only_a + only_b + same
    assert compute_tango_score(only_a, only_b, n, delta) == pytest.approx(
        search_score(only_a, only_b, n, delta), abs=1e-4
    )


@given(COUNT, COUNT, COUNT)
def test_interval_ends_where_the_test_rejects(only_a: int, only_b: int, same: int) -> None:
    n = only_a + only_b + same + 1
    low, high = compute_tango_interval(only_a, only_b, n)
    value = (only_a - only_b) / n
    assert -1 <= low <= value <= high <= 1
    for edge, sign in ((low, 1), (high, -1)):
        if abs(edge) < 1 - 1e-9:
            assert compute_tango_score(only_a, only_b, n, edge) == pytest.approx(sign * Z, abs=1e-6)
    mirrored = compute_tango_interval(only_b, only_a, n)
    assert (-mirrored[1], -mirrored[0]) == pytest.approx((low, high), abs=1e-9)


def test_verdict_pairs_are_counted() -> None:
    counts = count_verdict_pairs([(True, True)] * 3 + [(False, False)] * 2 + [(True, False)] * 4 + [(False, True)])
    assert counts == PairedCounts(both_pass=3, both_fail=2, only_a=4, only_b=1)
    assert (counts.n, counts.rate_a, counts.rate_b) == (10, 0.7, 0.4)
    assert compute_difference(counts).value == pytest.approx(0.3)
    assert compute_difference(counts).p == 2 * 6 / 32


def test_runs_without_common_items_have_no_difference() -> None:
    found = compute_difference(count_verdict_pairs([]))
    assert (found.value, found.low, found.high, found.p) == (None, None, None, None)


FLIPS = st.integers(0, 400)


@given(only_a=FLIPS, only_b=FLIPS, same=st.integers(0, 50))
def test_mcnemar_p_equals_scipy_and_statsmodels(only_a: int, only_b: int, same: int) -> None:
    assume(only_a + only_b)
    found = compute_mcnemar_p_value(only_a, only_b)
    assert found == pytest.approx(binomtest(only_a, only_a + only_b).pvalue, abs=1e-9)
    assert found == pytest.approx(mcnemars([[same, only_a], [only_b, 9]], exact=True).pvalue, abs=1e-9)


STRENGTHS = st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.5, 0.9]), max_size=8)


def test_runs_are_ranked_by_shared_items() -> None:
    found = build_run_matrix([make_outcomes("PFFF"), make_outcomes("PPFFPPPP"), make_outcomes("PPPF.")])
    assert [(each.run, each.rank, each.passed, each.known) for each in found.ranking] == [
        (2, 1, 3, 4),
        (1, 2, 2, 4),
        (0, 3, 1, 4),
    ]
    assert found.n_shared == 4


def test_equal_runs_share_a_rank() -> None:
    assert [
        each.rank for each in build_run_matrix([make_outcomes("PF"), make_outcomes("FP"), make_outcomes("FF")]).ranking
    ] == [1, 1, 3]


def test_runs_without_shared_items_use_their_own_rate() -> None:
    found = build_run_matrix([make_outcomes("PF"), make_outcomes("PPP", category="multiple"), make_outcomes(".")])
    assert found.n_shared == 0
    assert [(each.run, each.rate) for each in found.ranking] == [(1, 1.0), (0, 0.5), (2, None)]


def test_hardest_items_and_best_runs_come_first() -> None:
    found = build_run_matrix([make_outcomes("FPP."), make_outcomes("FFPF"), make_outcomes("FPP.")])
    assert [(item.aligned_item.question_key.id, item.passing, item.known) for item in found.items] == [
        ("0", 0, 3),
        ("3", 0, 1),
        ("1", 2, 3),
        ("2", 3, 3),
    ]
    assert found.items[2].verdicts == (True, True, False)


def test_item_that_only_weak_runs_pass_is_an_upset() -> None:
    strong, middle, weak = make_outcomes("PPPPF"), make_outcomes("PPPFF"), make_outcomes("FFFFP")
    found = build_run_matrix([weak, strong, middle])
    assert [item.aligned_item.question_key.id for item in found.upsets] == ["4"]
    assert found.upsets[0].upset_score == max(item.upset_score for item in found.items)


@given(STRENGTHS, STRENGTHS)
def test_upset_score_is_mann_whitney_u(passing: list[float], failing: list[float]) -> None:
    pairs = sum(1.0 if one < other else 0.5 * (one == other) for one, other in product(passing, failing))
    n, m = len(passing), len(failing)
    expected = (pairs - n * m / 2) / sqrt(n * m * (n + m + 1) / 12) if n and m else 0.0
    assert compute_upset_score(sorted(passing), failing) == pytest.approx(expected, abs=1e-9)
