"""The law of figures for Inspect logs and ATIF jobs: one overridden verdict changes the figures that depend on it.

Every figure is computed here from the files, not from imported items.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fcreview.model.metric import MetricKey
from tests.scores.reviewed import Reviewed, Said, changed

Opened = Callable[[Sequence[Path]], Reviewed]
Figures = dict[MetricKey, float]


def check_each_override(
    runs: Reviewed, verdicts: dict[str, bool], figures: Callable[[dict[str, bool]], Figures], run: int
) -> None:
    """Override every verdict of a run in turn, and compare the figures that change with those of the oracle."""
    before, expected_before = runs.figures(), figures(verdicts)
    assert {key: before[run, "corrected", key] for key in expected_before} == pytest.approx(expected_before, abs=1e-12)
    for name, passed in verdicts.items():
        said = Said(runs.item(name, run), "item", "correct", not passed)
        moved = changed(before, runs.figures(*runs.says([said])))
        after = figures(verdicts | {name: not passed})
        expected = {("corrected", key): each for key, each in after.items() if abs(each - expected_before[key]) > 1e-12}
        assert expected, name
        assert {key: values[1] for key, values in moved.items()} == pytest.approx(expected, abs=1e-12), name


def test_inspect(samples: Path, opened: Opened) -> None:
    (path,) = (samples / "inspect").glob("*.json")
    log = json.loads(path.read_text())
    category = {sample["id"]: sample["metadata"]["category"] for sample in log["samples"]}
    verdicts = {}
    for sample in log["samples"]:
        score = sample["scores"]["device_state"]
        first = score["history"][0] if score["history"] else score
        verdicts[sample["id"] + ("" if sample["epoch"] == 1 else f"#{sample['epoch']}")] = first["value"] == "C"

    def figures(passed: dict[str, bool]) -> Figures:
        found: Figures = {}
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
                found[table, 1, group] = statistics.mean(reduced[name] for name in category if category[name] == group)
        return found

    check_each_override(opened([samples / "inspect"]), verdicts, figures, 1)


def test_atif(samples: Path, opened: Opened) -> None:
    """A trial without a reward counts as 0 in the mean reward, and is left out of the accuracy."""
    trials = sorted(path.parent for path in (samples / "atif" / "jobs").glob("*/*/agent"))
    rewards = {
        trial.name: float((trial / "verifier" / "reward.txt").read_text())
        for trial in trials if (trial / "verifier" / "reward.txt").is_file()
    }  # fmt: skip
    assert len(trials) == len(rewards) + 1

    def figures(passed: dict[str, bool]) -> Figures:
        accuracy = sum(passed.values()) / len(passed)
        by_task: dict[str, list[bool]] = {}
        for trial in trials:
            by_task.setdefault(trial.name.partition("__")[0], []).append(passed.get(trial.name, False))
        return {
            ("accuracy", 0, "all items"): accuracy,
            ("accuracy", 1, "desk"): accuracy,
            ("reward", 0, "mean"): sum(passed.values()) / len(trials),
            ("reward", 0, "pass@2"): sum(map(any, by_task.values())) / len(by_task),
        }

    verdicts = {name: reward == 1 for name, reward in rewards.items()}
    check_each_override(opened([samples / "atif"]), verdicts, figures, 1)
