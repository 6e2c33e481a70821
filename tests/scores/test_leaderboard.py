"""Official metrics of `fcreview report` equal every figure that the official BFCL program
printed for these runs.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fcreview.cli.report_data import compute_run_metrics
from fcreview.importers.bfcl.leaderboard import SIMPLE_MEAN
from fcreview.model.metric import MetricKey
from tests.examples import only_long
from tests.scores.reviewed_runs import ReviewedRuns

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
FOLDERS = {
    "gpt-4o-mini-2024-07-18-FC": "GPT-4o-mini-2024-07-18 (FC)",
    "gpt-4o-mini-2024-07-18": "GPT-4o-mini-2024-07-18 (Prompt)",
}
LARGE = ("bfcl_families", "bfcl_v1_panel")
NOT_FIGURES = {"Rank", "Model", "Model Link", "Organization", "License"}


def accuracy(level: int, name: str) -> MetricKey:
    return "accuracy", level, name


SIMPLE = {
    "Python Simple AST": accuracy(3, "simple_python"),
    "Java Simple AST": accuracy(3, "simple_java"),
    "JavaScript Simple AST": accuracy(3, "simple_javascript"),
}
LIVE = {
    "Simple AST": accuracy(2, "live_simple"),
    "Multiple AST": accuracy(2, "live_multiple"),
    "Parallel AST": accuracy(2, "live_parallel"),
    "Parallel Multiple AST": accuracy(2, "live_parallel_multiple"),
}
NON_LIVE = {
    "Simple AST": accuracy(2, SIMPLE_MEAN),
    "Multiple AST": accuracy(2, "multiple"),
    "Parallel AST": accuracy(2, "parallel"),
    "Parallel Multiple AST": accuracy(2, "parallel_multiple"),
}
MULTI_TURN = {
    "Base": accuracy(2, "multi_turn_base"),
    "Miss Func": accuracy(2, "multi_turn_miss_func"),
    "Miss Param": accuracy(2, "multi_turn_miss_param"),
    "Long Context": accuracy(2, "multi_turn_long_context"),
}
AGENTIC = {
    "Web Search Base": accuracy(3, "web_search_base"),
    "Web Search No Snippet": accuracy(3, "web_search_no_snippet"),
    "Memory KV": accuracy(3, "memory_kv"),
    "Memory Vector": accuracy(3, "memory_vector"),
    "Memory Recursive Summarization": accuracy(3, "memory_rec_sum"),
}
COST = {
    "Total Cost ($)": "cost",
    "Latency Mean (s)": "latency mean",
    "Latency Standard Deviation (s)": "latency standard deviation",
    "Latency 95th Percentile (s)": "latency 95th percentile",
}
COLUMNS: dict[str, dict[str, MetricKey]] = {
    "data_overall.csv": {
        "Overall Acc": accuracy(0, "overall"),
        **{title: ("cost and latency", 0, name) for title, name in COST.items()},
        "Non-Live AST Acc": accuracy(1, "non_live"),
        **{f"Non-Live {title}": key for title, key in NON_LIVE.items()},
        "Live Acc": accuracy(1, "live"),
        **{f"Live {title}": key for title, key in LIVE.items()},
        "Multi Turn Acc": accuracy(1, "multi_turn"),
        **{f"Multi Turn {title}": key for title, key in MULTI_TURN.items()},
        "Web Search Acc": accuracy(2, "web_search"),
        "Memory Acc": accuracy(2, "memory"),
        **AGENTIC,
        "Relevance Detection": accuracy(1, "live_relevance"),
        "Irrelevance Detection": accuracy(1, "irrelevance"),
        "Format Sensitivity Max Delta": ("format sensitivity", 0, "max delta"),
        "Format Sensitivity Standard Deviation": ("format sensitivity", 0, "standard deviation"),
    },
    "data_non_live.csv": {
        "Non-Live Overall Acc": accuracy(1, "non_live"),
        "AST Summary": accuracy(1, "non_live"),
        **NON_LIVE,
        **SIMPLE,
        "Irrelevance Detection": accuracy(2, "irrelevance"),
    },
    "data_live.csv": {
        "Live Overall Acc": accuracy(1, "live"),
        "AST Summary": accuracy(1, "live"),
        **{f"Python {title}": key for title, key in LIVE.items()},
        "Irrelevance Detection": accuracy(2, "live_irrelevance"),
        "Relevance Detection": accuracy(1, "live_relevance"),
    },
    "data_multi_turn.csv": {"Multi Turn Overall Acc": accuracy(1, "multi_turn"), **MULTI_TURN},
    "data_agentic.csv": {
        "Agentic Overall Acc": accuracy(1, "agentic"),
        "Web Search Summary": accuracy(2, "web_search"),
        "Memory Summary": accuracy(2, "memory"),
        **AGENTIC,
    },
}
"""Every column of the leaderboard files, except the configurations of format sensitivity, which
were not run.
"""
COLUMNS_WITH_MISSING_FILES = {
    "Overall Acc",
    "Multi Turn Acc",
    "Multi Turn Overall Acc",
    "Miss Func",
    "Miss Param",
    "Long Context",
    "Multi Turn Miss Func",
    "Multi Turn Miss Param",
    "Multi Turn Long Context",
    *(
        "Total Cost ($)",
        "Latency Mean (s)",
        "Latency Standard Deviation (s)",
        "Latency 95th Percentile (s)",
    ),
}
"""Columns of the prompt-mode row that include three multi-turn categories whose files were not
published.
"""


def format_value(value: float | None, title: str) -> str:
    """Format a value as the official program does: as a percentage or a number, with two
    decimals.
    """
    if value is None:
        return "N/A"
    return (
        str(round(value, 2))
        if "Latency" in title or "Cost" in title or "Format" in title
        else f"{100 * value:.2f}%"
    )


@pytest.mark.sweep
@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("file", COLUMNS)
def test_v4_metrics_equal_leaderboard_columns(
    bench: Path, open_runs: OpenRuns, folder: str, file: str
) -> None:
    runs = open_runs([bench / "bfcl_v4"])
    (row,) = [row for row in runs.store.fetch_runs() if row.info.model == folder]
    lines = compute_run_metrics(runs.store.analysis.fetch_scored_items(row.run), row.info)
    ours = {(line.table, line.level, line.name): line.values.get("official") for line in lines}
    with (bench / "bfcl_v4/score" / file).open() as table:
        (theirs,) = [each for each in csv.DictReader(table) if each["Model"] == FOLDERS[folder]]
    assert theirs.keys() - COLUMNS[file].keys() <= NOT_FIGURES
    skipped = COLUMNS_WITH_MISSING_FILES if folder == "gpt-4o-mini-2024-07-18" else set()
    wanted = {title: text for title, text in theirs.items() if title not in NOT_FIGURES | skipped}
    assert {
        title: format_value(ours.get(COLUMNS[file][title]), title) for title in wanted
    } == wanted


@pytest.mark.sweep
@pytest.mark.parametrize(
    "place", ["bfcl_v1", *(pytest.param(name, marks=only_long) for name in LARGE)]
)
def test_category_accuracy_equals_score_file_header(
    bench: Path, open_runs: OpenRuns, place: str
) -> None:
    """These versions have no leaderboard file, only headers of score files."""
    runs = open_runs([bench / place])
    compared = 0
    for row in runs.store.fetch_runs():
        lines = compute_run_metrics(runs.store.analysis.fetch_scored_items(row.run), row.info)
        ours = {
            line.name: line.values.get("official")
            for line in lines
            if line.table == "accuracy" and line.level > 1
        }
        for category, header in row.info.official_metrics.items():
            if category == "live_relevance" and ours.get(category) != header["accuracy"]:
                # The dataset contains one item twice, and the scores contain it once or twice.
                continue
            assert ours[category] == pytest.approx(header["accuracy"], abs=1e-12), (
                row.info.model,
                category,
            )
            compared += 1
    assert compared > 30


@pytest.mark.sweep
def test_v1_summaries_equal_the_official_program(bench: Path, open_runs: OpenRuns) -> None:
    """Simple calls and the overall accuracy are weighted by items, summaries are plain means.
    `rest` was not run: it is omitted, not counted as 0.
    """
    runs = open_runs([bench / "bfcl_v1"])
    (row,) = [
        row for row in runs.store.fetch_runs() if row.info.model == "gpt-4o-mini-2024-07-18-FC"
    ]
    lines = {
        (line.level, line.name): line
        for line in compute_run_metrics(runs.store.analysis.fetch_scored_items(row.run), row.info)
    }
    counts = {}
    for path in (bench / "bfcl_v1/score" / row.info.model).iterdir():
        header = json.loads(path.read_text().split("\n")[0])
        counts[path.name.removesuffix("_score.json")] = (
            header["correct_count"],
            header["total_count"],
        )
    simple = (366 + 45 + 19) / (400 + 100 + 50)  # simple, java, javascript
    assert [counts[name][0] for name in ("simple", "java", "javascript")] == [366, 45, 19]
    ast = (simple + 184 / 200 + 179 / 200 + 166 / 200) / 4  # multiple, parallel, parallel multiple
    executable = (99 / 100 + 45 / 50 + 42 / 50 + 30 / 40) / 4
    assert lines[2, SIMPLE_MEAN].values["official"] == pytest.approx(simple)
    assert lines[1, "ast"].values["official"] == pytest.approx(ast)
    assert lines[1, "executable"].values["official"] == pytest.approx(executable)
    assert lines[1, "executable"].values["rule"] is None
    assert lines[1, "executable"].note == "categories not run (omitted): rest"
    right, items = (sum(count[at] for count in counts.values()) for at in (0, 1))
    overall = lines[0, "all items"]
    assert overall.values["official"] == pytest.approx(right / items)
    assert (overall.n["official"], overall.n["rule"], overall.of) == (1630, 1390, 1630)
