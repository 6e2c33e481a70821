"""Two runs beside each other: which items are the same, what is counted, why an item flips."""

from __future__ import annotations

from fcreview.stats.run_comparison import align_runs, choose_source, compare_runs, list_caveats, list_table_groups
from tests.stats.comparison_cases import outcome, run


def test_every_pair_of_verdicts_has_its_count() -> None:
    found = compare_runs(run("PPFF.P"), run("PFPFP."))
    counts = found.overall.counts
    assert (counts.both_pass, counts.only_a, counts.only_b, counts.both_fail) == (1, 1, 1, 1)
    assert (found.overall.n_pairs, counts.n, found.overall.n_verdicts) == (6, 4, (5, 5))
    assert [(flip.a.question_key.id, flip.passing_side) for flip in found.flips] == [("1", "a"), ("2", "b")]


def test_categories_have_their_own_counts() -> None:
    found = compare_runs(run("PF") + run("PP", category="multiple"), run("FF") + run("PF", category="multiple"))
    assert [(part.category, part.counts.n, part.counts.only_a) for part in found.categories] == [
        ("simple", 2, 1),
        ("multiple", 2, 1),
    ]
    assert found.overall.counts.only_a == 2


def test_the_order_of_the_files_does_not_matter() -> None:
    assert (
        compare_runs(run("PPF"), run("PFF")[::-1]).overall.counts == compare_runs(run("PPF"), run("PFF")).overall.counts
    )


def test_items_without_a_partner_are_told_not_counted() -> None:
    found = compare_runs(run("PPP"), run("P"))
    assert (found.overall.n_pairs, found.n_unmatched) == (1, (2, 0))
    assert list_caveats(found, "official", "official") == ["2 items of A and 0 of B have no partner"]


def test_another_question_under_the_same_id_is_another_item() -> None:
    found = compare_runs([outcome("1", True)], [outcome("1", False, question="Something else?")])
    assert (found.overall.n_pairs, found.n_unmatched, found.n_other_question) == (0, (1, 1), 1)
    assert "the question differs" in list_caveats(found, "official", "official")[0]


def test_where_a_dataset_is_missing_the_id_must_do() -> None:
    found = compare_runs([outcome("1", True)], [outcome("1", False, question="")])
    assert (found.overall.n_pairs, found.overall.counts.only_a) == (1, 1)


def test_the_same_id_in_another_category_or_benchmark_is_another_item() -> None:
    assert compare_runs(run("P"), run("P", category="multiple")).overall.n_pairs == 0


def test_an_item_that_stands_twice_meets_its_partners_in_order() -> None:
    twice = [outcome("1", True), outcome("1", False)]
    found = compare_runs(twice, [*reversed(twice)])
    assert (found.overall.counts.only_a, found.overall.counts.only_b, found.n_unmatched) == (1, 1, (0, 0))
    assert compare_runs(twice, twice[:1]).n_unmatched == (1, 0)


def test_generations_are_matched_by_all_else_and_it_is_said() -> None:
    found = compare_runs(run("PF"), run("PF", generation="V4"))
    assert found.overall.n_pairs == 2
    assert list_caveats(found, "official", "official") == [
        "benchmark versions V1, V4: items are matched without the version"
    ]


def test_a_flip_says_what_fails_it() -> None:
    (flip,) = compare_runs([outcome("1", True)], [outcome("1", False)]).flips
    assert flip.cause == 'B: city "1" (golden "Oslo")'
    (flip,) = compare_runs([outcome("1", False, first_difference=None)], [outcome("1", True)]).flips
    assert flip.cause == "A: value_error"
    (flip,) = compare_runs([outcome("1", False, first_difference=None, error_type=None)], [outcome("1", True)]).flips
    assert flip.cause == "A: fails for an unknown reason"


def test_a_flip_of_one_prediction_says_whether_the_golden_answer_is_another() -> None:
    """Two checkers, and two versions of a dataset."""
    same = {"prediction_hash": "p"}
    (flip,) = compare_runs([outcome("1", True, **same)], [outcome("1", False, **same)]).flips
    assert flip.cause == 'same prediction; B: value_error, city "1" (golden "Oslo")'
    (flip,) = compare_runs([outcome("1", True, **same)], [outcome("1", False, golden_hash="other", **same)]).flips
    assert flip.cause == 'same prediction, different golden answer; B: city "1" (golden "Oslo")'
    passing = outcome("1", True, first_difference='city "oslo" (golden "Oslo")')
    (flip,) = compare_runs([passing], [outcome("1", False, golden_hash="other")]).flips
    assert flip.cause.startswith('different golden answer; A: passes with city "oslo" (golden "Oslo"); B: ')


def test_a_part_that_could_be_recomputed_gives_no_rate() -> None:
    found = compare_runs(run("PPF"), run("PF."))
    assert found.overall.is_comparable("official", "official")
    assert not found.overall.is_comparable("official", "rule")
    assert found.overall.is_comparable("rule", "official")
    assert "only 2 of 3 pairs have verdicts on both sides: B (rule) has 2" in list_caveats(found, "official", "rule")


def test_rates_are_withheld_in_incomplete_categories_only() -> None:
    """`simple` is recomputed whole, `multi` in part."""
    found = compare_runs(run("PPF") + run("PP", category="multi"), run("PFF") + run("P.", category="multi"))
    groups = list_table_groups(found, "official", "rule")
    assert [(each.category, each.counts.n, each.is_comparable("official", "rule")) for each in groups] == [
        (None, 4, False), ("complete categories", 3, True), ("simple", 3, True), ("multi", 1, False),
    ]  # fmt: skip
    assert groups[1].difference == groups[2].difference
    assert any("all items and for 1 category (multi)" in line for line in list_caveats(found, "official", "rule"))
    assert [each.category for each in list_table_groups(found, "official", "official")] == [None, "simple", "multi"]


def test_the_source_is_chosen_for_each_run() -> None:
    assert [choose_source(*counts) for counts in ((3,), (0,), (0, 2), (0, 0))] == [
        "official",
        "rule",
        "rule",
        "effective",
    ]


def test_items_of_one_conversation_are_said_to_be_no_independent_ones() -> None:
    assert compare_runs(run("PF", group="g"), run("PP", group="g")).has_grouped_items
    assert not compare_runs(run("PF"), run("PP")).has_grouped_items


def test_rows_of_many_runs_hold_a_place_for_each() -> None:
    found = align_runs([run("P"), run("PF"), run("PFP")])
    assert [[each.verdict if each else "-" for each in row.outcomes] for row in found.items] == [
        [True, True, True],
        ["-", False, False],
        ["-", "-", True],
    ]
    assert [found.count_unmatched(at) for at in range(3)] == [0, 1, 2]
