"""tau-bench v1 against its published figures: rewards, pass^k and the recomputed verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.importers.registry import compute_metrics, discover, read_items
from fcreview.model.item import Item, SourceName
from fcreview.model.metric import Metric, ScoredItem
from fcreview.run_plan import RunPlan


def read(path: Path) -> tuple[RunPlan, list[Item]]:
    (plan,) = discover([path], format="tau").plans
    return plan, [item for item in read_items(plan) if isinstance(item, Item)]


def figures(plan: RunPlan, items: list[Item], source: SourceName) -> dict[tuple[str, str], Metric]:
    scored = [
        ScoredItem(
            item.id,
            item.category,
            item.group,
            getattr(item, source),
            item.error_type if source == "official" else item.rule_error_type,
            {v.criterion: v.value for v in item.verdicts if v.source == source and v.target == "item"},
            metadata=item.extra.metadata,
        )
        for item in items
    ]
    return {(metric.table, metric.name): metric for metric in compute_metrics(scored, plan.run)}


@pytest.fixture(scope="module")
def airline(bench: Path) -> tuple[RunPlan, list[Item]]:
    return read(bench / "tau_v1" / "gpt-4o-airline.json")


@pytest.mark.parametrize("source", ["official", "rule"])
def test_version1_figures_equal_the_published_ones(airline: tuple[RunPlan, list[Item]], source: SourceName) -> None:
    found = figures(*airline, source)
    assert found["reward", "average reward"].value == pytest.approx(0.42, abs=1e-12)
    expected = [0.42, 0.8200 / 3, 0.22, 0.20]
    assert [found["pass^k", f"pass^{k}"].value for k in (1, 2, 3, 4)] == pytest.approx(expected, abs=1e-12)
    assert ("pass^k", "pass^5") not in found


def test_version1_items(airline: tuple[RunPlan, list[Item]]) -> None:
    _, items = airline
    assert len(items) == 200 and {item.category for item in items} == {"airline"}
    assert all(item.official == item.rule and item.error_type == item.rule_error_type for item in items)
    assert len({item.group for item in items}) == 50
    assert sum(item.rule_error_type == "not_ended" for item in items) == 5
