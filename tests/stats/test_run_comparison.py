"""A comparison of two runs matches items, counts pairs of verdicts and explains flips."""

from __future__ import annotations

from fcreview.stats.run_comparison import align_runs, choose_source, compare_runs, list_caveats, list_table_groups
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
    assert list_caveats(found, "official", "official") == ["2 items of A and 0 of B have no partner"]


def test_different_question_with_same_id_is_another_item() -> None:
    found = compare_runs([make_outcome("1", True)], [make_outcome("1", False, question="Something else?")])
    assert (found.overall.n_pairs, found.n_unmatched, found.n_other_question) == (0, (1, 1), 1)
    assert "the question differs" in list_caveats(found, "official", "official")[0]


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
        "benchmark versions V1, V4: items are matched without the version"
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
    assert flip.cause.startswith('different golden answer; A: passes with city "oslo" (golden "Oslo"); B: ')


def test_partly_recomputed_run_has_no_rate() -> None:
    found = compare_runs(make_outcomes("PPF"), make_outcomes("PF."))
    assert found.overall.is_comparable("official", "official")
    assert not found.overall.is_comparable("official", "rule")
    assert found.overall.is_comparable("rule", "official")
    assert "only 2 of 3 pairs have verdicts on both sides: B (rule) has 2" in list_caveats(found, "official", "rule")


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
    assert [choose_source(*counts) for counts in ((3,), (0,), (0, 2), (0, 0))] == [
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
