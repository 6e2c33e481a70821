"""`items`, `show` and `triage` print lists, items and failure clusters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.output import draw_bar, format_figure
from fcreview.matching.clusters import BY_ERROR_TYPE, Cluster, ClusterGroup, group_clusters
from fcreview.model.sanitize import display_width
from fcreview.tables.clusters import build_cluster_table, build_failure_table, list_cluster_rows

Cli = Callable[..., Any]

FIELDS = {
    *(
        "run",
        "model",
        "benchmark",
        "generation",
        "language",
        "category",
        "id",
        "group",
        "official",
        "rule",
        "judge",
    ),
    *("human", "effective", "error_type", "rule_error_type", "n_golden", "n_predicted"),
}


def test_items_have_documented_fields(cli: Cli, one_run: Path) -> None:
    items = cli("items", one_run, "--json").objects
    assert all(item.keys() >= FIELDS for item in items)
    assert [item["id"] for item in items] == [f"simple_python_{at}" for at in range(6)]
    assert [item["official"] for item in items] == [True] + [False] * 5
    first, undecodable = items[0], items[4]
    assert (first["rule"], first["human"], first["effective"]) == (True, None, True)
    assert (first["n_golden"], first["n_predicted"]) == (1, 1)
    assert undecodable["error_type"] == "ast_decoder:decoder_failed"


def test_items_are_filtered_and_limited(cli: Cli, two_imported_runs: Path) -> None:
    failing = cli("items", two_imported_runs, "--json", "--where", "official:fail").objects
    assert {(item["model"], item["official"]) for item in failing} == {("maple", False)}
    assert len(cli("items", two_imported_runs, "--json", "--limit", "3").objects) == 3
    assert {
        item["model"]
        for item in cli("items", two_imported_runs, "--json", "--run", "birch").objects
    } == {"birch"}


def test_only_runs_at_path_are_listed(cli: Cli, two_imported_runs: Path) -> None:
    cli("import", two_imported_runs)
    maple = cli("items", two_imported_runs / "result" / "maple", "--json").objects
    assert {item["model"] for item in maple} == {"maple"}
    assert len(cli("export", two_imported_runs / "result" / "maple").objects) == 6


def test_invalid_filter_is_marked_with_caret(cli: Cli, imported_run: Path) -> None:
    done = cli("items", imported_run, "--where", "official:fail oficial:pass", "--json")
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert lines[2].index("^") == lines[1].index("oficial")


def test_plain_list_has_one_line_per_item(cli: Cli, two_imported_runs: Path) -> None:
    done = cli("items", two_imported_runs)
    assert len(done.out.splitlines()) == 13
    assert "12 items" in done.err


def test_unknown_queue_or_run_is_reported_with_known_ones(
    cli: Cli, two_imported_runs: Path
) -> None:
    assert "disagreement" in cli("items", two_imported_runs, "--queue", "nonsense").err
    done = cli("items", two_imported_runs, "--run", "oak")
    assert done.code == 1
    assert "maple" in done.err


def test_item_is_shown_with_calls_and_failure(cli: Cli, imported_run: Path) -> None:
    done = cli("show", imported_run, "simple_python_1")
    assert done.code == 0
    for expected in (
        "What is the weather in Oslo?",
        '"Oslo"',
        '"Rome"',
        "official fail",
        "value_error:string",
    ):
        assert expected in done.out
    assert max(map(display_width, done.out.splitlines())) <= 100


def test_item_as_json_is_complete(cli: Cli, imported_run: Path) -> None:
    detail = cli("show", imported_run, "simple_python_1", "--json").objects[0]
    assert detail["key"]["model"] == "maple"
    assert detail["item"]["predicted"][0]["arguments"] == {"city": "Rome", "unit": "celsius"}
    assert detail["item"]["golden"][0]["arguments"]["city"]["any_of"] == ["Oslo"]
    assert {verdict["source"] for verdict in detail["item"]["verdicts"]} >= {"official"}


def test_json_has_benchmark_fields(cli: Cli, tmp_path: Path, samples: Path) -> None:
    run = samples / "bfcl/result/maple-8b"
    done = cli(
        "show",
        run,
        "multi_turn_base_0",
        "--json",
        "--data",
        samples / "bfcl/data",
        "--workspace",
        tmp_path,
    )
    extra = done.objects[0]["item"]["extra"]
    assert {"failing_turn", "state_differences", "involved_classes", "score_record"} <= extra.keys()
    assert all(
        both.keys() == {"model", "ground_truth"} for both in extra["state_differences"].values()
    )
    assert extra["score_record"].keys() == {"file", "line", "offset", "length"}


def test_unknown_item_is_reported_with_similar_ids(cli: Cli, imported_run: Path) -> None:
    done = cli("show", imported_run, "simple_pyton_1")
    assert (done.code, done.out) == (1, "")
    assert "Did you mean" in done.err
    assert "simple_python_1" in done.err


def test_item_of_several_runs_needs_run_option(cli: Cli, two_imported_runs: Path) -> None:
    done = cli("show", two_imported_runs, "simple_python_1")
    assert done.code == 1
    assert "--run" in done.err
    assert "maple" in done.err
    assert "birch" in done.err
    assert (
        "official pass" in cli("show", two_imported_runs, "simple_python_1", "--run", "birch").out
    )


def test_long_texts_are_cut_without_full_option(cli: Cli, one_run: Path) -> None:
    file = next((one_run / "result").rglob("*.json"))
    written = file.read_text().replace(
        "I cannot do that.", "I cannot. " + "so sorry " * 3000 + "the end"
    )
    file.write_text(written)
    short, whole = (
        cli("show", one_run, "simple_python_4").out,
        cli("show", one_run, "simple_python_4", "--full").out,
    )
    assert "--full" in short
    assert "KB" in short
    assert len(short) < 5000
    assert "the end" in whole


def test_triage_filters_select_their_clusters(cli: Cli, imported_run: Path) -> None:
    clusters = cli("triage", imported_run, "--json").objects
    assert sum(cluster["count"] for cluster in clusters) == 5
    assert sum(cluster["share"] for cluster in clusters) == pytest.approx(1)
    for cluster in clusters:
        items = cli("items", imported_run, "--json", "--where", cluster["where"]).objects
        assert len(items) == cluster["count"]
        assert set(cluster["examples"]) <= {item["id"] for item in items}


def test_triage_fits_80_columns_and_shows_totals(cli: Cli, imported_run: Path) -> None:
    done = cli("triage", imported_run, FCREVIEW_PAGER_WIDTH="80")
    lines = done.out.splitlines()
    assert "6 items" in lines[0]
    assert "16.7 %" in lines[0]
    assert "5 failing" in lines[0]
    assert max(map(display_width, lines)) <= 80
    assert any(
        line.split()[:3] == ["4", "80", "%"] and "value_error:string" in line for line in lines
    )


def format_group_lines(group: ClusterGroup, n_failing: int) -> list[str]:
    """Return the lines of a group as `triage` prints them on 80 columns, without the heading."""
    figure = build_failure_table([group], BY_ERROR_TYPE, n_failing)
    return format_figure(figure, page_width=80)[1:]


def make_cluster(
    error: str, function: str | None, argument: str | None, count: int, *examples: str
) -> Cluster:
    return Cluster(error, function, argument, count, list(examples), "")


def test_clusters_are_grouped_by_error_type() -> None:
    clusters = [
        make_cluster("a", "f", "x", 2, "1"),
        make_cluster("b", "g", None, 3, "2"),
        make_cluster("a", "h", "x", 2, "3"),
    ]
    groups = group_clusters(clusters, BY_ERROR_TYPE)
    assert [(group.name, group.count) for group in groups] == [("a", 4), ("b", 3)]


def test_argument_failing_in_many_functions_is_shown() -> None:
    (group,) = group_clusters(
        [make_cluster("a", f"f{at}", "city", 1, f"id_{at}") for at in range(5)], BY_ERROR_TYPE
    )
    assert any("5 functions · city" in line for line in format_group_lines(group, 5))


def test_small_clusters_are_omitted() -> None:
    clusters = [
        make_cluster("a", "f", "x", 9, "1"),
        make_cluster("a", "g", "x", 8, "2"),
        make_cluster("a", "h", "x", 2, "3"),
        make_cluster("a", "k", None, 20),
    ]
    (group,) = group_clusters([*clusters, make_cluster("a", None, None, 60)], BY_ERROR_TYPE)
    assert [line.split()[:2] for line in format_group_lines(group, 99)[1:]] == [["20", "k"]]
    (group,) = group_clusters(clusters, BY_ERROR_TYPE)
    assert [line.split()[:2] for line in format_group_lines(group, 39)[1:]] == [
        ["20", "k"],
        ["9", "f"],
        ["8", "g"],
    ]


def test_long_error_type_keeps_last_part() -> None:
    name = "parallel_function_checker_no_order:cannot_find_match"
    clusters = [
        make_cluster(
            name, None, None, 3, "multi_turn_long_context_123", "multi_turn_long_context_124"
        )
    ]
    (group,) = group_clusters(clusters, BY_ERROR_TYPE)
    line = format_group_lines(group, 3)[0]
    assert ":cannot_find_match" in line
    assert line.endswith("multi_turn_long_context_123")
    assert display_width(line) <= 80


def test_large_counts_are_not_cut() -> None:
    (group,) = group_clusters([make_cluster("a", "f", "x", 1_234_567, "1")], BY_ERROR_TYPE)
    assert format_group_lines(group, 2_000_000)[0].startswith("1,234,567   62 %")


def test_bar_length_follows_the_share() -> None:
    assert [draw_bar(share, 6) for share in (1, 0.5, 1 / 48, 0)] == ["██████", "███", "▏", ""]
    assert draw_bar(1e-4, 6) == "▏"


def test_items_without_error_type_are_named_by_what_makes_them_fail() -> None:
    """The screen, the report and `triage` name the same group alike."""
    cluster = make_cluster("", None, None, 2, "1")
    cluster.n_by_review = 2
    groups = group_clusters([cluster], BY_ERROR_TYPE)
    rows = build_failure_table(groups, BY_ERROR_TYPE, 500).rows
    table = build_cluster_table(list_cluster_rows(groups), BY_ERROR_TYPE, 500)
    assert rows[0].texts[:3] == table.rows[0].texts[:3] == ["2", "<1 %", "(fails by a review)"]


@pytest.mark.parametrize("where", ["-", "city --"])
def test_lone_minus_is_search_word(cli: Cli, two_imported_runs: Path, where: str) -> None:
    done = cli("items", two_imported_runs, f"--where={where}")
    assert (done.code, done.out) == (0, "")
