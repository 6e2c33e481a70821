"""Every figure of six real output folders is read as the official program computed it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.evalscope.leaderboard import CRITERIA, INDEX, OTHER_VALUES, compute_figures
from fcreview.importers.evalscope.read import TOLERANCE
from fcreview.importers.evalscope.reports import list_stated_subsets, read_report
from fcreview.importers.registry import compute_metrics, discover
from fcreview.model.item import Item
from tests.importers.evalscope.outputs import get_official_values, make_scored_items
from tests.importers.run_reading import read_run

FOLDERS = (
    "acebench",
    "acebench_repeats2",
    "bfcl_v4",
    "bfcl_v4_api_errors",
    "general_fc_repeats2",
    "viz",
)


def read_truth(bench: Path, folder: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((bench / "evalscope" / "truth.json").read_text())[folder]
    return truth


@pytest.mark.parametrize("folder", FOLDERS)
def test_samples_are_those_of_the_truth(bench: Path, folder: str) -> None:
    truth = read_truth(bench, folder)
    n_checked = 0
    for plan in discover([bench / "evalscope" / folder]).plans:
        items, _ = read_run(plan)
        samples = {(item.category, item.extra.metadata[INDEX]): item for item in items}
        for name, rows in truth["items"].items():
            if not name.startswith(f"{plan.run.generation}_"):
                continue
            subset = name.removeprefix(f"{plan.run.generation}_")
            for row in rows:
                check_sample(samples.pop((subset, row["index"])), row)
                n_checked += 1
        assert not samples
    assert n_checked == sum(counts["reviews"] for counts in truth["counts"].values())


def check_sample(item: Item, row: dict[str, Any]) -> None:
    main_name, *other_names = row["value"]
    assert item.official is bool(row["value"][main_name])
    values = get_official_values(item) | item.extra.metadata.get(OTHER_VALUES, {})
    for name in other_names:
        assert values[CRITERIA.get(name, name)] == row["value"][name]

    assert item.has_incident == ("infrastructure_error" in row)
    assert item.extra.metadata.get("trial", 0) == (row["repeat"] or 0)
    if "id" in row:
        assert item.extra.metadata["question id"] == row["id"]
    if "error_type" in row:
        assert item.error_type == row["error_type"]
    if row.get("predicted_calls") is not None:
        assert remove_spaces([{c.name: c.arguments} for c in item.predicted]) == remove_spaces(
            row["predicted_calls"]
        )
    for call, (name, arguments) in zip(item.predicted, row.get("native_calls", ()), strict=False):
        # The truth has `{}` for arguments that EvalScope could not parse.
        is_unparsable = call.decode_error is not None
        assert call.name == name
        assert arguments == {} if is_unparsable else call.arguments == arguments


def remove_spaces(calls: list[Any]) -> str:
    """Return calls as JSON without spaces, which ACEBench's rules remove from replies."""
    return "".join(json.dumps(calls).split())


@pytest.mark.parametrize("folder", FOLDERS)
def test_recomputed_verdicts_agree_with_the_official_program(bench: Path, folder: str) -> None:
    for plan in discover([bench / "evalscope" / folder]).plans:
        items, _ = read_run(plan)
        differing = [item.id for item in items if item.rule not in (None, item.official)]
        assert differing == []
        is_checked = plan.run.generation in ("acebench", "bfcl_v4")
        assert any(item.rule is not None for item in items) == is_checked


@pytest.mark.parametrize("folder", FOLDERS)
def test_figures_are_those_of_the_report(bench: Path, folder: str) -> None:
    n_compared = 0
    for path in (bench / "evalscope" / folder / "reports").rglob("*.json"):
        report = read_report(path)
        (plan,) = [
            plan
            for plan in discover([bench / "evalscope" / folder]).plans
            if plan.run.generation == path.stem
        ]
        items, _ = read_run(plan)
        has_all_subsets = set(list_stated_subsets(report)) == {item.category for item in items}
        computed = compute_figures(make_scored_items(items), path.stem, report.metrics)
        for stated, figures in zip(report.metrics, computed, strict=True):
            expected = read_truth(bench, folder)["reports"][path.name]["metrics"]
            truth = expected[stated.figure.name]
            scores = {
                f"{category} > {score.name}": score
                for category, subsets in [*figures.categories.items(), ("-", figures.aggregates)]
                for score in subsets
            }
            for name, figure in truth["subsets"].items():
                if name not in scores:
                    assert not has_all_subsets
                    continue
                assert scores[name].num == figure["num"]
                assert scores[name].score == pytest.approx(figure["score"], abs=TOLERANCE)
                n_compared += 1
            if has_all_subsets:
                assert scores.keys() == truth["subsets"].keys()
    assert n_compared >= 2


def test_printed_metrics_are_those_of_the_report(bench: Path) -> None:
    (plan,) = discover([bench / "evalscope" / "acebench"]).plans
    items, _ = read_run(plan)
    metrics = {
        (metric.table, metric.name): metric.value
        for metric in compute_metrics(make_scored_items(items), plan.run)
    }
    accuracy = "EvalScope: accuracy"
    assert metrics[accuracy, "score"] == 0.5
    assert metrics[accuracy, "macro_score"] == 0.4859
    assert metrics[accuracy, "SPECIAL"] == 0.5416
    assert metrics[accuracy, "OVERALL"] == 0.5303
    assert metrics["EvalScope: process_acc", "score"] == 0.684


def test_only_known_problems_are_reported(bench: Path) -> None:
    problems = set()
    for folder in FOLDERS:
        for plan in discover([bench / "evalscope" / folder]).plans:
            _, issues = read_run(plan)
            problems |= {(folder, issue.what) for issue in issues}
    assert problems == {
        (
            "general_fc_repeats2",
            "messages[2].tool_calls[0]: arguments of call call_0 could not be parsed by EvalScope",
        ),
        ("viz", "the report has figures of IQ, which has no samples in this folder"),
    }
