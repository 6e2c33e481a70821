"""The figures of each version equal the rows of its published leaderboard.

Source of the rows: `data_v1.csv`, `data_combined.csv`, `data_non_live.csv`, `data_live.csv` and
`data_overall.csv` of the benchmark's public website (Apache-2.0).
"""

from __future__ import annotations

import pytest

from fcreview.importers.bfcl.leaderboard import SIMPLE_MEAN, compute_metrics
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem

V1_SIZES = {
    "simple": 400,
    "java": 100,
    "javascript": 50,
    "multiple_function": 200,
    "parallel_function": 200,
    "parallel_multiple_function": 200,
    "executable_simple": 100,
    "rest": 70,
    "executable_multiple_function": 50,
    "executable_parallel_function": 50,
    "executable_parallel_multiple_function": 40,
    "relevance": 240,
}
SIZES = {
    "simple": 400,
    "java": 100,
    "javascript": 50,
    "multiple": 200,
    "parallel": 200,
    "parallel_multiple": 200,
    "exec_simple": 100,
    "rest": 70,
    "exec_multiple": 50,
    "exec_parallel": 50,
    "exec_parallel_multiple": 40,
    "irrelevance": 240,
}
LIVE = {
    "live_simple": 258,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_irrelevance": 882,
    "live_relevance": 18,
}
MULTI_TURN = dict.fromkeys(("base", "miss_func", "miss_param", "long_context"), 200)


def compute_statistics(
    generation: str, sizes: dict[str, int], percents: list[float]
) -> dict[str, Metric]:
    """Return the figures of a run with these accuracies of the categories."""
    rows = []
    for (category, size), percent in zip(sizes.items(), percents, strict=True):
        passed = round(size * percent / 100)
        rows += [ScoredItem(f"{category}_{n}", category, None, n < passed) for n in range(size)]
    lines = compute_metrics(rows, Run("bfcl", generation, "en", "m", "/runs/m"))
    return {f"{line.level} {line.name}": line for line in lines}


def format_figure(found: dict[str, Metric], name: str) -> str:
    value = found[name].value
    return "N/A" if value is None else f"{100 * value:.2f}"


V1_ROWS = [
    (
        "Claude-3.5-Sonnet-20240620 (Prompt)",
        [95.5, 66, 74, 95.5, 92, 92, 98, 100, 94, 84, 77.5, 84.17],
        {
            "0 all items": "90.24",
            "1 ast": "91.92",
            "1 executable": "88.58",
            f"2 {SIMPLE_MEAN}": "88.18",
            "2 executable_simple": "98.82",
        },
    ),
    (
        "Mistral-small-2402 (FC Auto)",
        [89.25, 1, 0, 86.5, 35.5, 44.5, 98, 50, 88, 26, 12.5, 88.75],
        {
            "0 all items": "64.65",
            "1 ast": "57.90",
            "1 executable": "51.18",
            f"2 {SIMPLE_MEAN}": "65.09",
            "2 executable_simple": "78.24",
        },
    ),
]


@pytest.mark.parametrize(("model", "categories", "columns"), V1_ROWS)
def test_v1_weighs_by_items(model: str, categories: list[float], columns: dict[str, str]) -> None:
    found = compute_statistics("V1", V1_SIZES, categories)
    assert {name: format_figure(found, name) for name in columns} == columns, model


def test_v2_and_v3_do_not_weigh_non_live_columns() -> None:
    """Row Qwen2.5-72B-Instruct (Prompt) of `data_non_live.csv`, autumn of 2024."""
    row = [98.75, 62, 82, 97.5, 93.5, 91.5, 100, 98.57, 94, 90, 85, 81.67]
    for generation in ("V2", "V3"):
        found = compute_statistics(generation, SIZES, row)
        columns = {
            "1 non_live": "90.37",
            "1 ast": "90.85",
            "1 executable": "92.07",
            f"2 {SIMPLE_MEAN}": "80.92",
            "2 exec_simple": "99.29",
            "1 irrelevance": "81.67",
        }
        assert {name: format_figure(found, name) for name in columns} == columns


def test_v2_overall_is_mean_of_ten_columns() -> None:
    """Row GPT-4-0613 (Prompt) of `data_combined.csv`, whose live columns follow from both
    tables.
    """
    non_live = [95.5, 68, 80, 96, 96, 94.5, 98, 98.57, 96, 86, 70, 85.42]
    live = {**LIVE, "live_multiple": 1037, "live_irrelevance": 875, "live_relevance": 41}
    found = compute_statistics(
        "V2", {**SIZES, **live}, [*non_live, 76.36, 74.93, 87.5, 70.83, 65.71, 82.93]
    )
    columns = {
        "0 overall": "84.74",
        "1 combined_ast": "84.66",
        "1 executable": "87.57",
        "2 combined_multiple": "85.46",
        "2 combined_parallel": "91.75",
        "2 combined_parallel_multiple": "82.67",
        "2 combined_simple": "78.76",
        "1 irrelevance_detection": "75.57",
    }
    assert {name: format_figure(found, name) for name in columns} == columns


V3_LIVE = [84.88, 83.48, 81.25, 66.67, 68.48, 94.44]
V3_TURNS = [67, 57.5, 48.5, 61.5]


def test_v3_overall_is_mean_of_three_groups() -> None:
    """Row watt-tool-70B (FC) of `data_overall.csv` and `data_live.csv`, January 2025. The table
    has only the means of simple and executable calls, so any categories with these means fit."""
    turns = {f"multi_turn_{name}": size for name, size in MULTI_TURN.items()}
    non_live = [92.25, 70, 74, 94, 85.5, 78, 100, 97.14, 94, 90, 75, 84.17]
    found = compute_statistics("V3", {**SIZES, **LIVE, **turns}, [*non_live, *V3_LIVE, *V3_TURNS])
    columns = {
        "0 overall": "74.24",
        "1 ast": "84.06",
        f"2 {SIMPLE_MEAN}": "78.75",
        "1 executable": "89.39",
        "2 exec_simple": "98.57",
        "1 live": "77.65",
        "1 live_ast": "83.42",
        "1 multi_turn": "58.62",
        "1 irrelevance_detection": "76.32",
        "2 live_relevance": "94.44",
    }
    assert {name: format_figure(found, name) for name in columns} == columns


def test_v3_after_april_2025_has_no_executable_columns() -> None:
    names = [name for name in SIZES if not name.startswith(("exec", "rest"))]
    found = compute_statistics(
        "V3", {name: SIZES[name] for name in names}, [90, 60, 76, 94, 86, 78, 84.17]
    )
    assert (
        format_figure(found, "1 non_live")
        == f"{((90 + 60 + 76) / 3 + 94 + 86 + 78 + 100 * 202 / 240) / 5:.2f}"
    )
    assert found["0 overall"].value is None
    assert "live_simple" in found["0 overall"].note
    assert "1 executable" not in found


V3_NON_LIVE_SIZES = {name: SIZES[name] for name in SIZES if not name.startswith(("exec", "rest"))}
LIVE_AST = {name: LIVE[name] for name in ("live_simple", "live_multiple")}


def test_program_counts_missing_categories_of_v3_as_0() -> None:
    """The rules are those of `generate_leaderboard_csv` from December 2024 to August 2025. A
    category that was not run has the weight of its items in the live mean.
    """
    sizes = {"simple": 400, "multiple": 200, "live_simple": 258, "live_multiple": 1053}
    found = compute_statistics("V3", sizes, [90, 80, 50, 60])
    live = (129 + 632) / (258 + 1053 + 16 + 24 + 882 + 18)
    non_live = (0.9 / 3 + 0.8) / 5
    figures = {
        "0 overall": None,
        "0 overall (official program)": (non_live + live + 0) / 3,
        "1 non_live": (0.9 + 0.8) / 2,
        "1 non_live (official program)": non_live,
        "1 live": (129 + 632) / (258 + 1053),
        "1 live (official program)": live,
    }
    assert {name: found[name].value for name in figures} == pytest.approx(figures)
    names = list(found)
    assert names.index("1 live (official program)") == names.index("1 live") + 1
    assert found["1 live"].note.startswith("categories not run (omitted): live_parallel")
    assert found["1 live"].note.endswith("the next line counts them as 0")
    assert "categories not run count as 0" in found["1 live (official program)"].note
    assert "1 multi_turn (official program)" not in found


def test_program_counts_retired_categories_only_if_one_was_run() -> None:
    sizes = {**V3_NON_LIVE_SIZES, "exec_simple": 100}
    found = compute_statistics("V3", sizes, [90, 60, 76, 94, 86, 78, 60, 80])
    columns = [(0.9 + 0.6 + 0.76) / 3, 0.94, 0.86, 0.78, 0.8 / 2, 0, 0, 0, 0.6]
    assert found["1 non_live (official program)"].value == pytest.approx(sum(columns) / 9)
    assert "1 non_live (official program)" not in compute_statistics(
        "V3", V3_NON_LIVE_SIZES, [90] * 7
    )


def test_program_of_v2_omits_missing_categories_from_mean_by_items() -> None:
    """In V2, a missing category counts as 0 in plain means, but has no weight in means by items."""
    found = compute_statistics("V2", {"simple": 400, **LIVE_AST}, [90, 50, 60])
    assert found["1 live (official program)"].value == pytest.approx((129 + 632) / (258 + 1053))
    # Four combined AST columns, four executable columns, irrelevance and relevance.
    combined = [(0.9 / 3 + 0.5) / 2, (0 + 632 / 1053) / 2]
    assert found["0 overall (official program)"].value == pytest.approx(sum(combined) / 10)


@pytest.mark.parametrize("generation", ["V2", "V3"])
def test_complete_run_has_one_figure(generation: str) -> None:
    turns = {f"multi_turn_{name}": size for name, size in MULTI_TURN.items()}
    found = compute_statistics(
        generation, {**SIZES, **LIVE, **turns}, [80] * (len(SIZES) + len(LIVE) + len(turns))
    )
    assert not any("official program" in name for name in found)


def test_mean_of_languages_is_not_named_like_category() -> None:
    sizes = {"simple_python": 400, "simple_java": 100, "simple_javascript": 50}
    found = compute_statistics("V4", sizes, [90, 60, 70])
    assert found["2 simple (average)"].value == pytest.approx((0.9 + 0.6 + 0.7) / 3)
    assert found["3 simple_python"].value == pytest.approx(0.9)


def test_run_of_own_categories_has_no_empty_groups() -> None:
    found = compute_statistics("V4", {"my_domain": 10, "simple_python_zh": 10}, [50, 60])
    assert list(found) == ["1 my_domain", "1 simple_python_zh"]


def test_groups_without_items_come_last() -> None:
    found = compute_statistics("V4", {"my_domain": 10, "live_simple": 258}, [50, 50])
    assert list(found) == [
        "0 overall",
        "1 live",
        "2 live_simple",
        "1 my_domain",
        "1 non_live",
        "1 multi_turn",
        "1 agentic",
    ]
    assert found["1 non_live"].value == 0.0


def test_items_of_unscored_categories_change_no_metric() -> None:
    run = Run("bfcl", "V3", "en", "m", "/runs")
    scored = [ScoredItem("multi_turn_base_0", "multi_turn_base", None, True, tokens_in=10)]
    unscored = [
        ScoredItem(f"{category}_0", category, None, None, tokens_in=1000)
        for category in ("chatable", "sql", "multi_turn_composite")
    ]
    metrics = {metric.name: metric.value for metric in compute_metrics(scored, run)}
    assert {m.name: m.value for m in compute_metrics(scored + unscored, run)} == metrics


def test_header_gives_figures_without_results() -> None:
    run = Run("bfcl", "V4", "en", "m", "/runs/m")
    run.official_metrics["multiple"] = {"accuracy": 0.86, "correct_count": 172, "total_count": 200}
    rows = [ScoredItem(f"multiple_{n}", "multiple", None, False) for n in range(28)]
    (line,) = [one for one in compute_metrics(rows, run) if one.name == "multiple"]
    assert line.value is None
    assert (
        line.note
        == "the score file states 86.00 % (172 of 200); without the result file, only failed items"
        " are known"
    )
