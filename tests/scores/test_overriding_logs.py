"""In Inspect logs and ATIF jobs, one override changes exactly the metrics that depend on it.

Every expected value is computed here from the files, not from imported items.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fcreview.model.metric import MetricKey
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, find_changes

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
Metrics = dict[MetricKey, float]


def check_each_override(
    runs: ReviewedRuns,
    verdicts: dict[str, bool],
    expected_metrics: Callable[[dict[str, bool]], Metrics],
    run: int,
) -> None:
    """Override each verdict of a run, and compare the metrics that change with
    `expected_metrics`.
    """
    before, expected_before = runs.compute_metrics(), expected_metrics(verdicts)
    assert {key: before[run, "corrected", key] for key in expected_before} == pytest.approx(
        expected_before, abs=1e-12
    )
    for name, passed in verdicts.items():
        verdict = ItemVerdict(runs.find_item(name, run), "item", "correct", not passed)
        moved = find_changes(before, runs.compute_metrics(*runs.make_events([verdict])))
        after = expected_metrics(verdicts | {name: not passed})
        expected = {
            ("corrected", key): each
            for key, each in after.items()
            if abs(each - expected_before[key]) > 1e-12
        }
        assert expected, name
        assert {key: values[1] for key, values in moved.items()} == pytest.approx(
            expected, abs=1e-12
        ), name


def test_inspect(samples: Path, open_runs: OpenRuns) -> None:
    (path,) = (samples / "inspect").glob("*.json")
    log = json.loads(path.read_text())
    category = {sample["id"]: sample["metadata"]["category"] for sample in log["samples"]}
    verdicts = {}
    for sample in log["samples"]:
        score = sample["scores"]["device_state"]
        first = score["history"][0] if score["history"] else score
        verdicts[sample["id"] + ("" if sample["epoch"] == 1 else f"#{sample['epoch']}")] = (
            first["value"] == "C"
        )

    def expected_metrics(passed: dict[str, bool]) -> Metrics:
        found: Metrics = {}
        epochs = {name: [passed[name], passed[f"{name}#2"]] for name in category}
        for reducer, reduced in (
            ("mean", {name: sum(each) / 2 for name, each in epochs.items()}),
            ("pass_at_2", {name: float(any(each)) for name, each in epochs.items()}),
        ):
            table = f"device_state · {reducer}"
            values = list(reduced.values())
            found[table, 0, "accuracy"] = found[table, 1, "all"] = statistics.mean(values)
            found[table, 0, "stderr"] = statistics.stdev(values) / len(values) ** 0.5
            for group in set(category.values()):
                found[table, 1, group] = statistics.mean(
                    reduced[name] for name in category if category[name] == group
                )
        return found

    check_each_override(open_runs([samples / "inspect"]), verdicts, expected_metrics, 1)


def test_atif(samples: Path, open_runs: OpenRuns) -> None:
    """A trial without a reward counts as 0 in the mean reward, and is excluded from the
    accuracy.
    """
    trials = sorted(path.parent for path in (samples / "atif" / "jobs").glob("*/*/agent"))
    rewards = {
        trial.name: float((trial / "verifier" / "reward.txt").read_text())
        for trial in trials
        if (trial / "verifier" / "reward.txt").is_file()
    }
    assert len(trials) == len(rewards) + 1

    def expected_metrics(passed: dict[str, bool]) -> Metrics:
        accuracy = sum(passed.values()) / len(passed)
        by_task: dict[str, list[bool]] = {}
        for trial in trials:
            by_task.setdefault(trial.name.partition("__")[0], []).append(
                passed.get(trial.name, False)
            )
        return {
            ("accuracy of verified trials", 0, "all items"): accuracy,
            ("accuracy of verified trials", 1, "desk"): accuracy,
            ("reward", 0, "mean"): sum(passed.values()) / len(trials),
            ("reward", 0, "pass@2"): sum(map(any, by_task.values())) / len(by_task),
        }

    verdicts = {name: reward == 1 for name, reward in rewards.items()}
    check_each_override(open_runs([samples / "atif"]), verdicts, expected_metrics, 1)
