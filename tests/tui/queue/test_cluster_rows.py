"""Clusters are grouped and listed as rows."""

from __future__ import annotations

from collections import Counter

import pytest

from fcreview.matching.clusters import (
    BY_CATEGORY,
    BY_ERROR_TYPE,
    Cluster,
    format_share,
    group_clusters,
    summarize_group,
)
from fcreview.tables.clusters import ClusterRow, explain_cluster_row, list_cluster_rows
from fcreview.tui.queue.choices import build_cluster_choices, shorten_cluster_explanation
from fcreview.tui.text.lines import line_width, plain_text
from fcreview.tui.text.tables import FigureTable


def make_cluster(error: str, function: str | None, argument: str | None, count: int = 1) -> Cluster:
    terms = (
        f"error:{error or 'none'}",
        f"function:{function or 'none'}",
        f"argument:{argument or 'none'}",
    )
    return Cluster(
        error,
        function,
        argument,
        count,
        [f"{function}_{n}" for n in range(min(count, 3))],
        "",
        terms,
    )


def build_choices(
    rows: list[ClusterRow],
    grouping: int,
    n_failures: int,
    cells: int,
    unfolded: set[str] | None = None,
) -> FigureTable[tuple[str, ...]]:
    return build_cluster_choices(
        rows, grouping, n_failures=n_failures, unfolded_terms=unfolded or set(), width=cells
    )


CLUSTERS = [
    make_cluster("decoder_failed", None, None, 9),
    make_cluster("value_error:string", "book", "date", 3),
    make_cluster("value_error:string", "rent", "city", 2),
    make_cluster("value_error:string", "fly", "city"),
    make_cluster("value_error:string", "stay", "city"),
    make_cluster("type_error:simple", "book", "date"),
    make_cluster("type_error:simple", "pay", "sum"),
]


def test_groups_contain_each_cluster_once_and_are_sorted_by_size():
    for by in range(3):
        groups = group_clusters(CLUSTERS, by)
        assert sum(group.count for group in groups) == sum(each.count for each in CLUSTERS)
        assert sorted(each.count for group in groups for each in group.clusters) == [
            1,
            1,
            1,
            1,
            2,
            3,
            9,
        ]
        counts = [group.count for group in groups]
        assert counts == sorted(counts, reverse=True)
    assert [group.name for group in group_clusters(CLUSTERS, 0)] == [
        "decoder_failed",
        "value_error:string",
        "type_error:simple",
    ]
    assert [group.name for group in group_clusters(CLUSTERS, 2)] == [None, "date", "city", "sum"]


@pytest.mark.parametrize(
    ("by", "summaries"),
    [
        (0, ["", "4 city · 3 functions", "2 functions"]),
        (1, ["decoder_failed", "3 value_error:string · date", "value_error:string · city"]),
        (
            2,
            ["decoder_failed", "3 value_error:string · book", "4 value_error:string · 3 functions"],
        ),
    ],
)
def test_group_summary_names_the_most_frequent_cluster(by, summaries):
    assert [summarize_group(group, by) for group in group_clusters(CLUSTERS, by)][:3] == summaries


def test_summary_counts_an_error_type_over_all_functions():
    """A hundred items of one category fail with the same error type in many functions."""
    kind = "irrelevance_error:decoder_success"
    functions = [
        *[f"f{number}" for number in range(60)],
        *[f"g{number}" for number in range(20)] * 2,
    ]
    terms = ("", "", "", "category:irrelevance")
    counts = Counter(functions).items()
    clusters = [
        Cluster(kind, name, None, n, [], "", terms, category="irrelevance") for name, n in counts
    ]
    (group,) = group_clusters(clusters, BY_CATEGORY)
    assert group.count == 100
    assert summarize_group(group, BY_CATEGORY) == f"100 {kind} · 80 functions"


def test_unfolded_group_is_followed_by_its_clusters():
    groups = group_clusters(CLUSTERS, 0)
    rows = list_cluster_rows(groups, {"error:type_error:simple"})
    assert [row.filter_terms for row in rows] == [
        ("error:decoder_failed",),
        ("error:value_error:string",),
        ("error:type_error:simple",),
        ("error:type_error:simple", "function:book", "argument:date"),
        ("error:type_error:simple", "function:pay", "argument:sum"),
    ]


@pytest.mark.parametrize("cells", [60, 80, 120, 160])
@pytest.mark.parametrize("by", [0, 1, 2])
def test_rows_fit_and_hostile_names_are_sanitized(cells, by):
    clusters = [*CLUSTERS, make_cluster("e\x1b[31m" * 20, "f\u202e" * 40, "a\n" * 40, 1234)]
    groups = group_clusters(clusters, by)
    unfolded = {group.term for group in groups}
    heading, lines = build_choices(
        list_cluster_rows(groups, unfolded), by, 1250, cells, unfolded
    ).lines(cells)
    for line in (heading, *lines):
        assert line_width(line) <= cells - 1
        assert not set("\x1b\u202e\n") & set(plain_text(line))


def test_shares_are_rounded_percentages():
    assert (format_share(17, 100), format_share(1, 1000), format_share(1, 1)) == (
        "17 %",
        "<1 %",
        "100 %",
    )


def test_explanation_has_meaning_of_error_and_example() -> None:
    large = Cluster(
        "value_error:string", "f", "city", 3, ["a_1"], "", ("e", "f", "c"), 'city "x" (golden "y")'
    )
    small = Cluster(
        "value_error:string", "g", "day", 1, ["a_2"], "", ("e", "g", "d"), "day 3 (golden 4)"
    )
    (group,) = group_clusters([large, small], BY_ERROR_TYPE)
    explanation = explain_cluster_row(ClusterRow(group), BY_ERROR_TYPE)
    assert explanation.text == "value_error:string: string is not an accepted value"
    assert explanation.example == 'a_1: city "x" (golden "y")'
    assert (
        explain_cluster_row(ClusterRow(group, small), BY_ERROR_TYPE).example
        == "a_2: day 3 (golden 4)"
    )
    (unknown,) = group_clusters([Cluster("odd", None, None, 1, ["a"], "")], BY_ERROR_TYPE)
    explanation = explain_cluster_row(ClusterRow(unknown), BY_ERROR_TYPE)
    assert (explanation.text, explanation.example) == ("", "")


def test_long_error_type_is_cut_before_its_explanation() -> None:
    kind = "parallel_function_checker_no_order:cannot_find_match"
    (group,) = group_clusters(
        [Cluster(kind, "f", "city", 3, ["a_1"], "", ("e", "f", "c"), "x")], BY_ERROR_TYPE
    )
    whole = explain_cluster_row(ClusterRow(group), BY_ERROR_TYPE).text
    cut = shorten_cluster_explanation(whole, BY_ERROR_TYPE, 78)
    words = whole.removeprefix(f"{kind}: ")
    assert len(whole) > 78 and cut.endswith(words) and ":cannot_find_match: " in cut
    assert len(cut) == 78


def make_value_cluster(golden: str | None, predicted: str | None, count: int = 1) -> Cluster:
    terms = (
        "",
        "function:f",
        "argument:a",
        "",
        f"golden_value:{golden} predicted_value:{predicted}",
    )
    return Cluster("", "f", "a", count, ["a_1"], "", terms, golden=golden, predicted=predicted)


def test_value_groups_are_named_by_both_values() -> None:
    groups = group_clusters(
        [
            make_value_cluster(None, None, 9),
            make_value_cluster('"km"', '"kilometers"', 2),
            make_value_cluster("3", None),
            make_value_cluster(None, "3"),
        ],
        4,
    )
    assert [group.name for group in groups] == [
        '"km" -> "kilometers"',
        "3 -> (missing)",
        "(not in golden) -> 3",
        None,
    ]
    assert list_cluster_rows(groups, set())[0].filter_terms == (
        'golden_value:"km" predicted_value:"kilometers"',
    )


@pytest.mark.parametrize("cells", [60, 80, 120, 160])
def test_both_values_are_visible_in_narrow_lists(cells: int) -> None:
    long = make_value_cluster(
        '"Eiffel Tower"', '"Eiffel Tower, 5 Avenue Anatole France, 75007 Paris, France \x1b[31m"', 7
    )
    groups = group_clusters(
        [long, make_value_cluster('"a\\n -> b"' * 9, '"c"' * 30), make_value_cluster(None, None)], 4
    )
    heading, lines = build_choices(list_cluster_rows(groups), 4, 9, cells).lines(cells)
    assert all(line_width(line) <= cells - 1 for line in (heading, *lines))
    assert '"Eif' in plain_text(lines[0]) and ' -> "Eif' in plain_text(lines[0])
    assert "\x1b" not in plain_text(lines[0])
    assert "(no value differs)" in plain_text(lines[2])
    assert explain_cluster_row(ClusterRow(groups[0]), 4).text.startswith(
        'golden -> predicted: "Eiffel Tower" -> "Eiffel Tower, 5'
    )


@pytest.mark.parametrize("cells", [80, 120, 160])
def test_explanation_precedes_code_and_bars_are_relative(cells: int) -> None:
    rows = list_cluster_rows(group_clusters(CLUSTERS, BY_ERROR_TYPE), set())
    _, lines = build_choices(rows, BY_ERROR_TYPE, 18, cells).lines(cells)
    texts = [plain_text(line) for line in lines]
    assert [text.count("━") for text in texts] == ([4, 3, 1] if cells == 80 else [10, 8, 2])
    assert "String is not an accepted value" in texts[1]
    assert ("value_error:string" in texts[1]) is (cells == 160)


def test_groups_with_the_same_explanation_differ():
    codes = [
        "simple_function_checker:wrong_count",
        "parallel_function_checker_no_order:wrong_count",
    ]
    rows = list_cluster_rows(
        group_clusters([make_cluster(code, "f", "x") for code in codes], BY_ERROR_TYPE), set()
    )
    narrow, wide = (build_choices(rows, BY_ERROR_TYPE, 2, cells).rows for cells in (80, 160))
    names = ["simple: wrong number of calls", "parallel: wrong number of calls"]
    assert [row[1][0][2:] for row in narrow] == names
    assert [(row[2][0][2:], row[3][0]) for row in wide] == list(zip(names, codes, strict=True))


def test_wide_list_has_whole_ids_and_narrow_list_whole_functions():
    cluster = make_cluster(
        "multi_turn:execution_response_mismatch", "Events_3_FindEvents", "city", 19
    )
    cluster.examples = ["live_multiple_402-139-6", "live_multiple_403-139-7"]
    rows = list_cluster_rows(
        group_clusters([cluster, make_cluster("type_error:simple", "f", "x")], BY_ERROR_TYPE), set()
    )
    narrow, wide = (
        build_choices(rows, BY_ERROR_TYPE, 20, cells).lines(cells)[1][0] for cells in (78, 156)
    )
    assert (
        plain_text(wide)
        .rstrip()
        .endswith((" live_multiple_402-139-6", " live_multiple_402-139-6 …"))
    )
    assert "Results of the golden calls are missing  Events_3_FindEvents" in plain_text(narrow)
