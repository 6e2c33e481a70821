"""Forms of a log that are specified, but missing in our published logs, are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.inspect.leaderboard import compute_metrics, load_log_metrics
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item, Run
from fcreview.model.metric import ScoredItem
from tests.importers.inspect.test_damage import make_log, pack


def read(path: Path, log: dict[str, Any]) -> tuple[Run, list[Item], list[ImportIssue]]:
    path.write_bytes(pack(log) if path.suffix == ".eval" else json.dumps(log).encode())
    (plan,) = discover([path]).plans
    found = list(read_items(plan))
    return (
        plan.run,
        [i for i in found if isinstance(i, Item)],
        [i for i in found if isinstance(i, ImportIssue)],
    )


def accuracy(run: Run, items: list[Item]) -> float | None:
    rows = [
        ScoredItem(i.id, i.category, i.group, i.official, metadata=i.extra.metadata) for i in items
    ]
    return next(metric.value for metric in compute_metrics(rows, run) if metric.name == "accuracy")


@pytest.mark.parametrize("suffix", ["json", "eval"])
def test_cancelled_log_gives_figures_of_its_samples(tmp_path: Path, suffix: str) -> None:
    """Its results may be about fewer samples than it contains, so a difference is a notice only."""
    log = make_log() | {"status": "cancelled"}
    log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 1.0
    run, items, issues = read(tmp_path / f"log.{suffix}", log)
    assert accuracy(run, items) == pytest.approx(2 / 3)
    assert not load_log_metrics(run).is_complete
    assert any("cancelled" in issue.what for issue in issues)
    assert [issue.severity for issue in issues if "differ" in issue.what] == ["notice"]


def test_results_from_before_format_2_have_one_scorer(tmp_path: Path) -> None:
    log = make_log()
    metric = {"name": "accuracy", "value": 2 / 3, "options": {}}
    log["results"] = {"scorer": {"name": "match"}, "metrics": {"accuracy": metric}}
    run, items, issues = read(tmp_path / "log.json", log)
    (column,) = load_log_metrics(run).columns
    assert (column.scorer, [(spec.key, spec.recorded) for spec in column.metrics]) == (
        "match",
        [("accuracy", 2 / 3)],
    )
    assert accuracy(run, items) == pytest.approx(2 / 3) and not issues


@pytest.mark.parametrize("limit", [10, 1 << 20])
def test_pooled_model_event_gives_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Its input is a range of the pooled messages.

    The conversation is in `messages`, which are never pooled.
    """
    monkeypatch.setattr("fcreview.importers.inspect.log.MAX_WHOLE_BYTES", limit)
    log = make_log()
    pooled = [{"role": "system", "content": "only pooled"}]
    event = {
        "event": "model",
        "input": [],
        "input_refs": [[0, 1]],
        "tools": [{"name": "f", "parameters": {}}],
    }
    event["call"] = {"call_refs": [[0, 1]], "call_key": "messages", "request": {}}
    for sample in log["samples"]:
        sample |= {"events": [event], "events_data": {"messages": pooled, "calls": pooled}}
    _, items, issues = read(tmp_path / "log.eval", log)
    assert [[function["name"] for function in item.functions] for item in items] == [["f"]] * 3
    assert [[message.content for message in item.messages] for item in items] == [
        ["How?", "so"]
    ] * 3
    assert not issues


def test_number_and_text_ids_are_two_items(tmp_path: Path) -> None:
    log = make_log()
    for sample, sample_id in zip(log["samples"], (1, "1", 2), strict=True):
        sample["id"] = sample_id
    log["samples"][2]["scores"]["match"]["value"] = float("nan")
    log["results"] = None
    run, items, _ = read(tmp_path / "log.json", log)
    assert len({item.id for item in items}) == 3
    assert [item.official for item in items] == [True, False, None]
    assert accuracy(run, items) == 0.5
