"""A comparison of two runs matches items, counts pairs of verdicts and explains flips."""

from __future__ import annotations

import random
from itertools import product
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats.run_comparison import (
    ItemOutcome,
    PairedCounts,
    align_runs,
    build_run_matrix,
    choose_verdict_source,
    compare_runs,
    compute_upset_score,
    count_verdict_pairs,
    list_caveats,
    list_table_groups,
)
from tests.stats.comparison_cases import make_outcome, make_outcomes, make_trials


def test_pairs_of_verdicts_are_counted() -> None:
    found = compare_runs(make_outcomes("PPFF.P"), make_outcomes("PFPFP."))
    counts = found.overall.counts
    assert (counts.both_pass, counts.only_a, counts.only_b, counts.both_fail) == (1, 1, 1, 1)
    assert (found.overall.n_pairs, counts.n, found.overall.n_verdicts) == (6, 4, (5, 5))
    assert [(flip.a.question_key.id, flip.passing_side) for flip in found.flips] == [
        ("1", "a"),
        ("2", "b"),
    ]


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


def test_verdict_pairs_are_counted() -> None:
    counts = count_verdict_pairs(
        [(True, True)] * 3 + [(False, False)] * 2 + [(True, False)] * 4 + [(False, True)]
    )
    assert counts == PairedCounts(both_pass=3, both_fail=2, only_a=4, only_b=1)
    assert (counts.n, counts.rate_a, counts.rate_b) == (10, 0.7, 0.4)


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
    found = compare_runs(
        [make_outcome("1", True)], [make_outcome("1", False, question="Something else?")]
    )
    assert (found.overall.n_pairs, found.n_unmatched, found.n_other_question) == (0, (1, 1), 1)
    caveats = list_caveats(found, "official", "official")
    assert any("have different questions under 1 item id" in line for line in caveats)


def test_items_without_question_match_by_id() -> None:
    found = compare_runs([make_outcome("1", True)], [make_outcome("1", False, question="")])
    assert (found.overall.n_pairs, found.overall.counts.only_a) == (1, 1)


def test_same_id_in_another_category_is_another_item() -> None:
    assert (
        compare_runs(make_outcomes("P"), make_outcomes("P", category="multiple")).overall.n_pairs
        == 0
    )


def test_duplicate_items_match_in_order() -> None:
    twice = [make_outcome("1", True), make_outcome("1", False)]
    found = compare_runs(twice, [*reversed(twice)])
    assert (found.overall.counts.only_a, found.overall.counts.only_b, found.n_unmatched) == (
        1,
        1,
        (0, 0),
    )
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
    (flip,) = compare_runs(
        [make_outcome("1", False, first_difference=None)], [make_outcome("1", True)]
    ).flips
    assert flip.cause == "A: value_error"
    (flip,) = compare_runs(
        [make_outcome("1", False, first_difference=None, error_type=None)],
        [make_outcome("1", True)],
    ).flips
    assert flip.cause == "A: fails for an unknown reason"


def test_flip_of_same_prediction_reports_different_golden_answer() -> None:
    """The runs were scored by two checkers, or with two versions of a dataset."""
    same = {"prediction_hash": "p"}
    (flip,) = compare_runs(
        [make_outcome("1", True, **same)], [make_outcome("1", False, **same)]
    ).flips
    assert flip.cause == 'same prediction; B: value_error, city "1" (golden "Oslo")'
    (flip,) = compare_runs(
        [make_outcome("1", True, **same)], [make_outcome("1", False, golden_hash="other", **same)]
    ).flips
    assert flip.cause == 'same prediction, different golden answer; B: city "1" (golden "Oslo")'
    passing = make_outcome("1", True, first_difference='city "oslo" (golden "Oslo")')
    (flip,) = compare_runs([passing], [make_outcome("1", False, golden_hash="other")]).flips
    assert flip.cause.startswith(
        'different golden answer; A: passes despite city "oslo" (golden "Oslo"); B: '
    )


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
    assert [
        (each.category, each.counts.n, each.is_comparable("official", "rule")) for each in groups
    ] == [
        (None, 4, False),
        ("complete categories", 3, True),
        ("simple", 3, True),
        ("multi", 1, False),
    ]
    assert groups[1].difference == groups[2].difference
    assert any(
        "all items and for 1 category (multi)" in line
        for line in list_caveats(found, "official", "rule")
    )
    assert [each.category for each in list_table_groups(found, "official", "official")] == [
        None,
        "simple",
        "multi",
    ]


def test_source_with_verdicts_is_chosen() -> None:
    assert [choose_verdict_source(*counts) for counts in ((3, 1), (0, 1), (0, 2), (0, 0))] == [
        "official",
        "rule",
        "rule",
        "effective",
    ]


def test_items_of_one_conversation_are_one_cluster() -> None:
    found = compare_runs(make_outcomes("PF", group="g"), make_outcomes("PP", group="g"))
    assert found.has_grouped_items
    assert found.overall.difference.n_clusters == 1
    found = compare_runs(make_outcomes("PF"), make_outcomes("PP"))
    assert not found.has_grouped_items
    assert (found.overall.difference.n_clusters, found.overall.difference.test) == (
        2,
        "mcnemar mid-p",
    )


def test_questions_of_bfcl_live_about_one_function_are_one_cluster() -> None:
    names = ["live_simple_0-0-0", "live_simple_1-1-0", "live_simple_2-1-1", "live_parallel_2-1-0"]
    run = [make_outcome(name, True, category=name.rsplit("_", 1)[0]) for name in names]
    found = compare_runs(run, run)
    assert found.overall.difference.n_clusters == 3
    assert [(part.category, part.difference.n_clusters) for part in found.categories] == [
        ("live_simple", 2),
        ("live_parallel", 1),
    ]


TRIALS_A = ["PPFF", "PFFF", "PPPP", "FFFF", "PPPF", "PPPF"]
TRIALS_B = ["PFFF", "FFFF", "PPPF", "FFFP", "PPFF", "PFFF"]


def renumber_trials(run: list[ItemOutcome], seed: int) -> list[ItemOutcome]:
    """Give the trials of each task other numbers."""
    draw = random.Random(seed)
    renumbered = []
    for group in dict.fromkeys(outcome.group for outcome in run):
        trials = [outcome for outcome in run if outcome.group == group]
        keys = [trial.question_key for trial in trials]
        draw.shuffle(trials)
        renumbered += [
            trial._replace(question_key=key) for trial, key in zip(trials, keys, strict=True)
        ]
    return renumbered


@pytest.mark.parametrize("seed", range(5))
def test_numbers_of_trials_do_not_matter(seed: int) -> None:
    usual = compare_runs(make_trials(TRIALS_A), make_trials(TRIALS_B))
    found = compare_runs(
        renumber_trials(make_trials(TRIALS_A), seed),
        renumber_trials(make_trials(TRIALS_B), seed + 9),
    )
    assert found.overall == usual.overall
    assert (
        len(found.flips)
        == len(usual.flips)
        == usual.overall.counts.only_a + usual.overall.counts.only_b
    )
    assert usual.overall.difference.test == "clustered mid-p"
    assert usual.overall.difference.n_clusters == len(TRIALS_A)
    matrix = build_run_matrix([make_trials(TRIALS_A), renumber_trials(make_trials(TRIALS_B), seed)])
    assert (
        matrix.ranking == build_run_matrix([make_trials(TRIALS_A), make_trials(TRIALS_B)]).ranking
    )


def test_differences_of_tasks_are_added_up() -> None:
    """The signs of the six differences 1, 1, 1, -1, 1, 2 are random: 12 of 64 sums are at least 5,
    and 8 of them are 5.
    """
    found = compare_runs(make_trials(TRIALS_A), make_trials(TRIALS_B)).overall
    sums = [sum(signs) for signs in product(*([-size, size] for size in (1, 1, 1, 1, 1, 2)))]
    expected = (
        sum(abs(each) > 5 for each in sums) + 0.5 * sum(abs(each) == 5 for each in sums)
    ) / len(sums)
    assert found.difference.value == pytest.approx(5 / 24)
    assert found.difference.p == pytest.approx(expected)


def test_all_trials_count_if_the_runs_have_unequal_numbers() -> None:
    found = compare_runs(make_trials(["PPPF", "PFFF"]), make_trials(["P", "F"])).overall
    assert (found.rate_a, found.rate_b) == (0.5, 0.5)
    assert (found.counts.n, found.difference.n_clusters) == (2, 2)
    assert found.difference.value == 0
    # One of two representative trials passes in A.
    found = compare_runs(make_trials(["FFFP"]), make_trials(["F"])).overall
    assert (found.rate_a, found.counts.only_a) == (0.25, 0)


def test_run_without_groups_has_one_trial_of_each_task() -> None:
    found = compare_runs(
        make_trials(["PP", "PF"]), [make_outcome("0", True), make_outcome("1", False)]
    )
    assert (found.overall.counts.n, found.overall.difference.value) == (2, 0.25)


def test_repeated_questions_of_a_conversation_are_no_trials() -> None:
    run = [
        make_outcome("g_1", True, group="g", question="Yes", golden_hash="1"),
        make_outcome("g_2", False, group="g", question="Yes", golden_hash="2"),
    ]
    found = compare_runs(run, run)
    assert (found.overall.counts.both_pass, found.overall.counts.both_fail, found.flips) == (
        1,
        1,
        [],
    )
    assert compare_runs(run, run[1:]).overall.counts == PairedCounts(both_fail=1)


def test_p_values_of_categories_are_corrected_for_their_number() -> None:
    a = make_outcomes("PPPPPPPP") + make_outcomes("PPPPPFFF", category="multiple")
    b = make_outcomes("FFFFFFFF") + make_outcomes("FFFFFFFF", category="multiple")
    found = compare_runs(a, b)
    p_values = [part.difference.p for part in found.categories]
    assert p_values == [2**-8, 2**-5]
    assert [part.p_holm for part in found.categories] == [2 * 2**-8, 2**-5]
    assert found.overall.p_holm is None


def test_overrides_of_one_run_leave_no_p_value() -> None:
    """60 overrides in one run would make the difference significant."""
    a = [make_outcome(str(at), True, is_reviewed=True, is_override=True) for at in range(60)]
    b = [make_outcome(str(at), False) for at in range(60)]
    found = compare_runs(a, b)
    difference = found.overall.difference
    assert (difference.value, difference.p, difference.low, difference.high) == (
        1.0,
        None,
        None,
        None,
    )
    assert found.overall.reviews.n_reviewed == (60, 0)
    caveats = list_caveats(found, "effective", "effective")
    assert "reviewed: 60 items of A, 0 of B" in caveats
    assert any("60 overrides of A on items that are not reviewed in B" in line for line in caveats)
    (first, second) = build_run_matrix([a, b]).ranking
    assert (first.n_reviewed, second.n_reviewed, second.to_best, second.is_tied) == (
        60,
        0,
        None,
        False,
    )


def test_confirmations_and_reviews_of_both_runs_keep_the_p_value() -> None:
    confirmed = [make_outcome("0", True, is_reviewed=True), make_outcome("1", True)]
    other = [make_outcome("0", False), make_outcome("1", True)]
    assert compare_runs(confirmed, other).overall.difference.p == 0.5
    overridden = [
        make_outcome("0", True, is_reviewed=True, is_override=True),
        make_outcome("1", True),
    ]
    reviewed = [make_outcome("0", False, is_reviewed=True), make_outcome("1", True)]
    assert compare_runs(overridden, reviewed).overall.difference.p == 0.5


def test_wrong_golden_answer_found_in_one_run_is_left_out_of_all() -> None:
    wrong = make_outcome("0", True, is_reviewed=True, is_override=True, has_golden_fault=True)
    a = [wrong, make_outcome("1", True)]
    b = [make_outcome("0", False), make_outcome("1", False)]
    found = compare_runs(a, b)
    assert (found.n_wrong_golden, found.overall.counts) == (1, PairedCounts(only_a=1))
    assert found.overall.difference.p == 0.5
    assert any("1 item left out" in line for line in list_caveats(found, "effective", "effective"))
    matrix = build_run_matrix([a, b, b])
    assert (matrix.n_wrong_golden, matrix.n_shared) == (1, 1)
    # If annotators reviewed the item in both runs, their verdicts count.
    reviewed = [make_outcome("0", False, is_reviewed=True), b[1]]
    assert compare_runs(a, reviewed).n_wrong_golden == 0
    # Another golden answer, as in another version of the dataset, is not affected.
    assert (
        compare_runs(a, [make_outcome("0", False, golden_hash="other"), b[1]]).n_wrong_golden == 0
    )


def test_ranking_has_intervals_and_marks_ties() -> None:
    best, close, weak = (
        make_outcomes("P" * 19 + "F"),
        make_outcomes("P" * 18 + "FF"),
        make_outcomes("F" * 20),
    )
    ranking = build_run_matrix([weak, close, best]).ranking
    assert [(each.run, each.is_tied) for each in ranking] == [(2, False), (1, True), (0, False)]
    first = ranking[0].clustered_rate
    assert first is not None and first.low < 0.95 < first.high
    difference = ranking[1].to_best
    assert difference is not None and difference.value == pytest.approx(-0.05)
    assert difference.low is not None and difference.low < -0.05


def test_aligned_rows_have_one_outcome_per_run() -> None:
    found = align_runs([make_outcomes("P"), make_outcomes("PF"), make_outcomes("PFP")])
    assert [[each.verdict if each else "-" for each in row.outcomes] for row in found.items] == [
        [True, True, True],
        ["-", False, False],
        ["-", "-", True],
    ]
    assert [found.count_unmatched(at) for at in range(3)] == [0, 1, 2]


STRENGTHS = st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.5, 0.9]), max_size=8)


def test_runs_are_ranked_by_shared_items() -> None:
    found = build_run_matrix(
        [make_outcomes("PFFF"), make_outcomes("PPFFPPPP"), make_outcomes("PPPF.")]
    )
    assert [(each.run, each.rank, each.passed, each.known) for each in found.ranking] == [
        (2, 1, 3, 4),
        (1, 2, 2, 4),
        (0, 3, 1, 4),
    ]
    assert found.n_shared == 4


def test_equal_runs_share_a_rank() -> None:
    assert [
        each.rank
        for each in build_run_matrix(
            [make_outcomes("PF"), make_outcomes("FP"), make_outcomes("FF")]
        ).ranking
    ] == [1, 1, 3]


def test_runs_without_shared_items_use_their_own_rate() -> None:
    found = build_run_matrix(
        [make_outcomes("PF"), make_outcomes("PPP", category="multiple"), make_outcomes(".")]
    )
    assert found.n_shared == 0
    assert [(each.run, each.rate) for each in found.ranking] == [(1, 1.0), (0, 0.5), (2, None)]


def test_hardest_items_and_best_runs_come_first() -> None:
    found = build_run_matrix([make_outcomes("FPP."), make_outcomes("FFPF"), make_outcomes("FPP.")])
    assert [
        (item.aligned_item.question_key.id, item.passing, item.known) for item in found.items
    ] == [
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
    pairs = sum(
        1.0 if one < other else 0.5 * (one == other) for one, other in product(passing, failing)
    )
    n, m = len(passing), len(failing)
    expected = (pairs - n * m / 2) / sqrt(n * m * (n + m + 1) / 12) if n and m else 0.0
    assert compute_upset_score(sorted(passing), failing) == pytest.approx(expected, abs=1e-9)
