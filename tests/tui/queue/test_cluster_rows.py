"""Clusters put together in groups, as rows."""

from __future__ import annotations

from collections import Counter

import pytest

from fcreview.matching.clusters import (
    BY_CATEGORY,
    BY_ERROR_TYPE,
    Cluster,
    draw_bar,
    format_share,
    group_clusters,
    summarize_group,
)
from fcreview.tui.queue.choices import ClusterRow, cluster_rows, cluster_table, explain_cluster_row
from fcreview.tui.text.lines import line_width, plain_text


def cluster(error: str, function: str | None, argument: str | None, count: int = 1) -> Cluster:
    terms = (f"error:{error or 'none'}", f"function:{function or 'none'}", f"argument:{argument or 'none'}")
    return Cluster(error, function, argument, count, [f"{function}_{n}" for n in range(min(count, 3))], "", terms)


CLUSTERS = [
    cluster("decoder_failed", None, None, 9),
    cluster("value_error:string", "book", "date", 3),
    cluster("value_error:string", "rent", "city", 2),
    cluster("value_error:string", "fly", "city"),
    cluster("value_error:string", "stay", "city"),
    cluster("type_error:simple", "book", "date"),
    cluster("type_error:simple", "pay", "sum"),
]


def test_groups_hold_every_cluster_once_most_items_first():
    for by in range(3):
        groups = group_clusters(CLUSTERS, by)
        assert sum(group.count for group in groups) == sum(each.count for each in CLUSTERS)
        assert sorted(each.count for group in groups for each in group.clusters) == [1, 1, 1, 1, 2, 3, 9]
        counts = [group.count for group in groups]
        assert counts == sorted(counts, reverse=True)
    assert [group.name for group in group_clusters(CLUSTERS, 0)] == [
        "decoder_failed", "value_error:string", "type_error:simple",
    ]  # fmt: skip
    assert [group.name for group in group_clusters(CLUSTERS, 2)] == [None, "date", "city", "sum"]


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (0, ["", "4 city · 3 functions", "2 functions"]),
        (1, ["decoder_failed", "3 value_error:string · date", "value_error:string · city"]),
        (2, ["decoder_failed", "3 value_error:string · book", "4 value_error:string · 3 functions"]),
    ],
)
def test_what_most_items_of_a_group_share(by, said):
    assert [summarize_group(group, by) for group in group_clusters(CLUSTERS, by)][:3] == said


def test_mostly_is_the_largest_error_type_whatever_its_functions():
    """A hundred items of one category fail alike, each with other functions."""
    kind = "irrelevance_error:decoder_success"
    functions = [*[f"f{number}" for number in range(60)], *[f"g{number}" for number in range(20)] * 2]
    terms = ("", "", "", "category:irrelevance")
    counts = Counter(functions).items()
    clusters = [Cluster(kind, name, None, n, [], "", terms, category="irrelevance") for name, n in counts]
    (group,) = group_clusters(clusters, BY_CATEGORY)
    assert group.count == 100
    assert summarize_group(group, BY_CATEGORY) == f"100 {kind} · 80 functions"


def test_an_unfolded_group_is_followed_by_its_clusters_and_their_terms():
    groups = group_clusters(CLUSTERS, 0)
    rows = cluster_rows(groups, {"error:type_error:simple"})
    assert [row.terms for row in rows] == [
        ("error:decoder_failed",),
        ("error:value_error:string",),
        ("error:type_error:simple",),
        ("error:type_error:simple", "function:book", "argument:date"),
        ("error:type_error:simple", "function:pay", "argument:sum"),
    ]


@pytest.mark.parametrize("cells", [60, 80, 120, 160])
@pytest.mark.parametrize("by", [0, 1, 2])
def test_rows_fit_and_hostile_names_are_made_visible(cells, by):
    clusters = [*CLUSTERS, cluster("e\x1b[31m" * 20, "f\u202e" * 40, "a\n" * 40, 1234)]
    groups = group_clusters(clusters, by)
    unfolded = {group.term for group in groups}
    heading, lines = cluster_table(cluster_rows(groups, unfolded), by, 1250, unfolded, cells).lines(cells)
    for line in (heading, *lines):
        assert line_width(line) <= cells - 1
        assert not set("\x1b\u202e\n") & set(plain_text(line))


def test_shares():
    assert (format_share(17, 100), format_share(1, 1000), format_share(1, 1)) == ("17 %", "<1 %", "100 %")


def test_a_cluster_says_what_its_error_means_and_shows_a_difference_as_it_reads() -> None:
    large = Cluster("value_error:string", "f", "city", 3, ["a_1"], "", ("e", "f", "c"), 'city "x" (golden "y")')
    small = Cluster("value_error:string", "g", "day", 1, ["a_2"], "", ("e", "g", "d"), "day 3 (golden 4)")
    (group,) = group_clusters([large, small], BY_ERROR_TYPE)
    assert explain_cluster_row(ClusterRow(group), BY_ERROR_TYPE, 78) == (
        "value_error:string: string is not an accepted value",
        'a_1: city "x" (golden "y")',
    )
    assert explain_cluster_row(ClusterRow(group, small), BY_ERROR_TYPE, 78)[1] == "a_2: day 3 (golden 4)"
    assert explain_cluster_row(
        ClusterRow(group_clusters([Cluster("odd", None, None, 1, ["a"], "")], BY_ERROR_TYPE)[0]), BY_ERROR_TYPE, 78
    ) == (
        "",
        "",
    )


def test_of_a_long_error_type_the_words_are_kept() -> None:
    kind = "parallel_function_checker_no_order:cannot_find_match"
    (group,) = group_clusters([Cluster(kind, "f", "city", 3, ["a_1"], "", ("e", "f", "c"), "x")], BY_ERROR_TYPE)
    whole, cut = (
        explain_cluster_row(ClusterRow(group), BY_ERROR_TYPE, 200)[0],
        explain_cluster_row(ClusterRow(group), BY_ERROR_TYPE, 78)[0],
    )
    words = whole.removeprefix(f"{kind}: ")
    assert len(whole) > 78 and cut.endswith(words) and ":cannot_find_match: " in cut
    assert len(cut) == 78


def test_a_bar_is_as_long_as_its_share() -> None:
    assert [draw_bar(n, 48, 6) for n in (48, 24, 1, 0)] == ["██████", "███", "▏", ""]
    assert draw_bar(1, 10_000, 6) == "▏"


def values(golden: str | None, predicted: str | None, count: int = 1) -> Cluster:
    terms = ("", "function:f", "argument:a", "", f"golden_value:{golden} predicted_value:{predicted}")
    return Cluster("", "f", "a", count, ["a_1"], "", terms, golden=golden, predicted=predicted)


def test_values_are_named_by_both_and_those_that_do_not_differ_come_last() -> None:
    groups = group_clusters(
        [values(None, None, 9), values('"km"', '"kilometers"', 2), values("3", None), values(None, "3")], 4
    )
    assert [group.name for group in groups] == ['"km" -> "kilometers"', "3 -> (missing)", "(not in golden) -> 3", None]
    assert cluster_rows(groups, set())[0].terms == ('golden_value:"km" predicted_value:"kilometers"',)


@pytest.mark.parametrize("cells", [60, 80, 120, 160])
def test_both_values_are_seen_where_there_is_little_room(cells: int) -> None:
    long = values('"Eiffel Tower"', '"Eiffel Tower, 5 Avenue Anatole France, 75007 Paris, France \x1b[31m"', 7)
    groups = group_clusters([long, values('"a\\n -> b"' * 9, '"c"' * 30), values(None, None)], 4)
    heading, lines = cluster_table(cluster_rows(groups, set()), 4, 9, set(), cells).lines(cells)
    assert all(line_width(line) <= cells - 1 for line in (heading, *lines))
    assert '"Eif' in plain_text(lines[0]) and ' -> "Eif' in plain_text(lines[0])
    assert "\x1b" not in plain_text(lines[0])
    assert "(no value differs)" in plain_text(lines[2])
    assert explain_cluster_row(ClusterRow(groups[0]), 4, 78)[0].startswith(
        'golden -> predicted: "Eiffel Tower" -> "Eiffel Tower, 5'
    )


@pytest.mark.parametrize("cells", [80, 120, 160])
def test_the_sentence_comes_before_the_code_and_bars_are_scaled_to_the_largest(cells: int) -> None:
    rows = cluster_rows(group_clusters(CLUSTERS, BY_ERROR_TYPE), set())
    _, lines = cluster_table(rows, BY_ERROR_TYPE, 18, set(), cells).lines(cells)
    texts = [plain_text(line) for line in lines]
    assert [text.count("━") for text in texts] == ([6, 5, 1] if cells == 80 else [10, 8, 2])
    assert "String is not an accepted value" in texts[1]
    assert ("value_error:string" in texts[1]) is (cells == 160)


def test_groups_with_the_same_sentence_differ():
    codes = ["simple_function_checker:wrong_count", "parallel_function_checker_no_order:wrong_count"]
    rows = cluster_rows(group_clusters([cluster(code, "f", "x") for code in codes], BY_ERROR_TYPE), set())
    narrow, wide = (cluster_table(rows, BY_ERROR_TYPE, 2, set(), cells).rows for cells in (80, 160))
    assert [row[0][0][2:22] for row in narrow] == ["simple: number of ca", "parallel: number of "]
    assert {row[0][0][2:18] for row in wide} == {"Number of calls "}
