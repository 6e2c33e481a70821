"""The demo has everything that the overview leads to: suspects, an incident, a sample, reviews of
two annotators with disagreements, and reviews left to do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture
def demo(cli: Cli, tmp_path: Path) -> Path:
    assert cli("demo", "--into", "demo").code == 0
    return tmp_path / "demo"


def test_demo_has_three_models_and_everything_to_try(cli: Cli, demo: Path) -> None:
    runs = cli("runs", demo, "--json").objects
    assert [(run["model"], run["n_items"], run["n_issues"]) for run in runs] == [
        ("birch-14b", 40, 0),
        ("cedar-70b", 40, 0),
        ("maple-8b", 40, 0),
    ]
    items = cli("items", demo, "--json").objects
    assert sum(item["incident"] is not None for item in items) == 1
    assert all(item["judge"] is not None for item in items if item["incident"] is None)
    assert any(item["judge"] != item["official"] for item in items)

    suspects = cli("suspects", demo, "--json").objects
    strong = {each["id"] for each in suspects if each.get("score", 0) >= 0.5}
    assert {"flights_07", "hotels_15", "hotels_18", "money_26"} <= strong


def test_reviews_of_the_demo_count(cli: Cli, demo: Path) -> None:
    """No review is stale, and no journal is damaged."""
    assert "ada: 25 reviews; intact" in cli("doctor", demo).out
    assert "ben: 30 reviews; intact" in cli("doctor", demo).out
    disputed = cli("adjudicate", demo, "--json").objects
    assert len({(each["run"], each["id"]) for each in disputed}) == 5
    agreement = cli("agreement", demo).out
    assert "blind reviews: 2 annotators (ada, ben)" in agreement
    progress = cli("queue", "show", demo, "sample").out
    assert "ada        25 of 30" in progress and "ben        30 of 30" in progress
    assert "sample: 10 drawn" in cli("estimate", demo).out


def test_demo_with_all_samples_has_every_benchmark(cli: Cli, samples: Path, tmp_path: Path) -> None:
    assert cli("demo", "--all", "--into", "demo").code == 0
    folders = {path.name for path in samples.iterdir() if path.is_dir() and path.name[0] != "_"}
    copied = {path.name for path in (tmp_path / "demo").iterdir() if path.is_dir()}
    assert folders | {".fcreview"} == copied
    assert (tmp_path / "demo" / ".fcreview" / "reviews" / "ada.jsonl").exists()
    assert not list((tmp_path / "demo").rglob("*.journal"))
