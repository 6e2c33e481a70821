"""Scores and figures of logs of ten Inspect versions equal those of its official reader
(`truth.json`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.inspect.leaderboard import (
    compute_metrics,
    load_log_metrics,
    read_edited_values,
)
from fcreview.importers.inspect.metrics import recompute_metrics_of_column
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item, Run
from fcreview.model.metric import ScoredItem

pytestmark = pytest.mark.bench
FOLDERS = (
    "inspect",
    *(pytest.param(name, marks=pytest.mark.sweep) for name in ("inspect_bfcl", "inspect_tau2")),
)
N_LOGS = {"inspect": 14, "inspect_bfcl": 13, "inspect_tau2": 2}


@lru_cache(maxsize=64)
def read_log(path: Path) -> tuple[Run, list[Item], list[ImportIssue]]:
    (plan,) = discover([path]).plans
    found = list(read_items(plan))
    return (
        plan.run,
        [i for i in found if isinstance(i, Item)],
        [i for i in found if isinstance(i, ImportIssue)],
    )


@lru_cache(maxsize=8)
def read_truth(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return found.get("logs", found)


def score_items(items: list[Item]) -> list[ScoredItem]:
    return [
        ScoredItem(i.id, i.category, i.group, i.official, metadata=i.extra.metadata) for i in items
    ]


def true_scores(expected: dict[str, Any]) -> Iterator[tuple[Any, int, dict[str, Any]]]:
    for sample in (
        expected.get("samples")
        if isinstance(expected.get("samples"), list)
        else expected["per_sample"]
    ):
        if isinstance(sample, list):
            yield sample[0], sample[1], sample[2]
        else:
            yield sample["id"], sample["epoch"], sample["scores"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_samples_have_scores_of_official_reader(bench: Path, folder: str) -> None:
    logs = read_truth(bench / folder)
    assert len(logs) == N_LOGS[folder]
    for name, expected in logs.items():
        _, items, _ = read_log(bench / folder / name)
        by_sample = {
            (str(item.extra.metadata["sample"]), item.extra.metadata["epoch"]): item
            for item in items
        }
        samples = list(true_scores(expected))
        assert len(samples) == len(items), name
        for sample, epoch, scores in samples:
            metadata = by_sample[str(sample), epoch].extra.metadata
            found = metadata.get("scores", {}) | metadata.get("edited", {})
            for scorer, score in (scores or {}).items():
                value = score["value"] if isinstance(score, dict) and "value" in score else score
                assert found.pop(scorer) == (None if value != value or value == "NaN" else value), (
                    name,
                    sample,
                )
            assert not found, (name, sample)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recorded_figure_is_recomputed(bench: Path, folder: str) -> None:
    """Figures of a cancelled log may be about fewer samples than it contains.

    Recorded figures follow the edits.
    """
    n_equal = 0
    for name, expected in read_truth(bench / folder).items():
        run, items, issues = read_log(bench / folder / name)
        assert not [issue for issue in issues if "differ" in issue.what], name
        rows = score_items(items)
        columns = load_log_metrics(run).columns
        for column in columns:
            values = list(read_edited_values(rows, column.scorer))
            for spec, value in recompute_metrics_of_column(column, values) if values else ():
                if spec.recorded is not None and expected["status"] != "cancelled":
                    assert value == pytest.approx(spec.recorded, abs=1e-9), (
                        name,
                        column.title,
                        spec.key,
                    )
                    n_equal += 1
        recorded = (
            expected["results"]["scores"]
            if isinstance(expected["results"], dict)
            else expected["results"]
        )
        assert len(recorded or ()) in (len(columns), 0), name
    assert n_equal >= {"inspect": 50, "inspect_bfcl": 400, "inspect_tau2": 4}[folder]


def test_edits_are_recorded_reviews(bench: Path) -> None:
    name = "2026-11-22T20-19-05-00-00_weather-calls_SZyyB9zQqQeN35SXRkUuQu"
    run, items, _ = read_log(bench / "inspect" / "generated" / f"{name}-edited.eval")
    _, originals, _ = read_log(bench / "inspect" / "generated" / f"{name}.eval")
    before = {item.id: item.official for item in originals}
    assert {item.id: item.official for item in items} == before
    reviews = [(item.id, review) for item in items for review in item.extra.recorded_reviews]
    assert len(reviews) == 4
    assert {(r.source, r.author, r.criterion) for _, r in reviews} == {
        ("inspect", "anna", "correct")
    }
    assert all(review.reason and review.time for _, review in reviews)
    metrics = {(m.table, m.name): m.value for m in compute_metrics(score_items(items), run)}
    assert metrics["calls_match · mean", "accuracy"] == pytest.approx(0.4166666666666667)
    assert metrics["calls_match · mean · after the edits in the log", "accuracy"] == pytest.approx(
        0.5277777777777778
    )


def test_model_graded_scores_are_judge_verdicts(bench: Path) -> None:
    _, items, _ = read_log(
        bench / "inspect" / "2025-09-23T08-09-58-04-00_theory-of-mind_bbB4eRCx2rFJLyPH42Cj9r.eval"
    )
    assert {item.official for item in items} == {None}
    assert sum(item.judge is True for item in items) == 83
    assert all(any(v.source == "judge" and v.rationale for v in item.verdicts) for item in items)
    _, items, _ = read_log(bench / "inspect_bfcl" / "bfcl_A_graded.eval")
    assert all(item.official is not None for item in items)
    assert sum(item.judge is None for item in items) == 1  # the grader failed


def test_only_latest_log_of_task_and_rescored_copies_are_imported(bench: Path) -> None:
    found = discover([bench / "inspect_bfcl"])
    names = {Path(plan.run.path).name for plan in found.plans}
    assert names >= {
        "bfcl_A_edited.eval",
        "bfcl_A_3epochs_edited.eval",
        "bfcl_A_graded.eval",
        "bfcl_B_xlam.eval",
    }
    # `bfcl_A_graded.eval` is a re-scored copy with a further scorer
    assert "bfcl_A_json.json" in names
    assert not names & {"bfcl_A_gpt4o.eval", "bfcl_A_3epochs.eval"}
    assert sum("other logs" in issue.what for plan in found.plans for issue in plan.issues) == 2


@pytest.mark.sweep
def test_recomputed_bfcl_verdicts_equal_official_ones(bench: Path) -> None:
    """All single-turn samples with a reply.

    Errors of the provider left nine samples without one.
    """
    n_equal = n_without_reply = 0
    causes: dict[str, str] = {}
    for name, expected in read_truth(bench / "inspect_bfcl").items():
        by_sample = {(sample["id"], sample["epoch"]): sample for sample in expected["samples"]}
        for item in read_log(bench / "inspect_bfcl" / name)[1]:
            metadata = item.extra.metadata
            sample = by_sample[metadata["sample"], metadata["epoch"]]
            if sample["category"].startswith(
                ("multi_turn", "exec_", "sql", "memory", "web_search")
            ):
                assert item.rule is None and item.rule_note
            elif sample["error"]:
                n_without_reply += 1
                assert item.rule is None and item.official is None
            else:
                assert item.rule is sample["official_bfcl"], (name, item.id)
                n_equal += 1
                if item.official is not item.rule:
                    causes[sample["id"]] = metadata["cause"]
    assert (n_equal, n_without_reply) == (1788, 9)
    assert causes == CAUSES


@pytest.mark.sweep
def test_dataset_gives_same_verdicts_as_metadata(bench: Path) -> None:
    path = bench / "inspect_bfcl" / "bfcl_B_xlam.eval"
    (plan,) = discover([path], data=[bench / "bfcl_v4" / "data"]).plans
    assert plan.data and plan.run.dataset
    found = {
        item.id: item.rule
        for item in read_items(plan)
        if isinstance(item, Item) and not item.issues
    }
    assert found == {item.id: item.rule for item in read_log(path)[1]}


CAUSES = {
    **dict.fromkeys(
        ["multiple_8", "parallel_29", "live_parallel_multiple_0-0-0", "parallel_142"],
        "task:object_value",
    ),
    **dict.fromkeys(
        ["simple_python_82", "simple_python_87", "parallel_multiple_67"], "task:number_in_list"
    ),
    "simple_javascript_2": "task:typed_reply",
    **dict.fromkeys(
        [f"simple_java_{n}" for n in (14, 16, 23, 24, 42, 45, 61, 62, 63, 69, 71, 80, 84)]
        + [
            f"simple_javascript_{n}"
            for n in (3, 6, 14, 16, 17, 18, 20, 23, 25, 30, 32, 33, 40, 41, 42)
        ],
        "task:typed_value",
    ),
}
"""Item -> cause, by the section "Same calls" of the format's description."""


@pytest.mark.sweep
def test_tau2_items_have_golden_actions_and_calls(bench: Path) -> None:
    n_items = 0
    for name, expected in read_truth(bench / "inspect_tau2").items():
        _, items, _ = read_log(bench / "inspect_tau2" / name)
        by_sample = {item.extra.metadata["sample"]: item for item in items}
        for sample in expected["samples"]:
            item = by_sample[sample["id"]]
            own = {tuple(each) for each in item.extra.user_calls or ()}
            calls = [
                ({"name": c.name, "arguments": c.arguments}, (c.turn, c.index) in own)
                for c in item.predicted
            ]
            assert [call for call, by_user in calls if by_user] == sample["user_calls"]
            assert [call for call, by_user in calls if not by_user] == sample["agent_calls"]
            golden = [
                (call.name, {k: v.any_of[0] for k, v in (call.arguments or {}).items()})
                for call in item.golden
            ]
            assert golden == [
                (each["name"], each["arguments"]) for each in sample["golden_actions"]
            ]
            assert item.extra.uncounted_states == (
                "+" if "ACTION" in sample["reward_basis"] else "-!+"
            )
            n_items += 1
    assert n_items == 14
