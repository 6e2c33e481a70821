"""Published BFCL runs read whole: every record an item, official equal to the score files, counts to their headers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.importers.bfcl import figures
from fcreview.importers.registry import discover, read_plan
from fcreview.model import Item


def real(bench: Path, name: str) -> list[tuple[Any, list[Item], list[Any]]]:
    data = [bench / "bfcl_v1" / "data"] if name == "bfcl_v1_panel" else []
    runs = []
    for plan in discover([bench / name], data=data).plans:
        found = list(read_plan(plan))
        runs.append(
            (plan, [one for one in found if isinstance(one, Item)], [o for o in found if not isinstance(o, Item)])
        )
    return runs


@pytest.fixture(scope="module", params=["bfcl_v1", "bfcl_v1_panel", "bfcl_v4"])
def runs(request: pytest.FixtureRequest, bench: Path) -> list[tuple[Any, list[Item], list[Any]]]:
    return real(bench, request.param)


def test_every_real_record_is_an_item_without_issues(runs: Any) -> None:
    for plan, found, issues in runs:
        records = sum(sum(bool(line.strip()) for line in path.read_bytes().split(b"\n")) for path in plan.results)
        assert len(found) == records
        assert [*issues, *plan.issues, *(issue for item in found for issue in item.issues)] == []
        assert all(item.question and item.prediction_hash for item in found)
        assert orjson.dumps(found[0])


def test_official_equals_the_score_files(runs: Any) -> None:
    """Failing ids are taken from the score files by a reader of our own here, the rest passed."""
    for plan, found, _ in runs:
        failing: set[tuple[str, str]] = set()
        for path in plan.scores:
            category = path.name.removeprefix("BFCL_v4_").removesuffix("_score.json")
            for line in path.read_bytes().split(b"\n")[1:]:
                if line.strip():
                    stated = json.loads(line)["id"]
                    name = stated if isinstance(stated, str) else f"{category}_{stated - 1}"
                    failing.add((category, name))
        assert {(item.category, item.id) for item in found if item.official is False} == failing
        assert all(item.official is not None for item in found)
        assert all(item.error_type for item in found if item.official is False)


def test_counts_equal_the_headers(runs: Any) -> None:
    for plan, found, _ in runs:
        counts: dict[str, Counter[bool | None]] = {}
        for item in found:
            counts.setdefault(item.category, Counter())[item.official] += 1
        assert counts.keys() == plan.run.official_metrics.keys()
        for category, header in plan.run.official_metrics.items():
            assert counts[category][True] == header["correct_count"]
            assert counts[category].total() == header["total_count"]


def test_v4_overall_is_the_leaderboards(bench: Path) -> None:
    (run,) = discover([bench / "bfcl_v4/result/gpt-4o-mini-2024-07-18-FC"]).plans
    rates = {}
    for path in run.scores:
        header = json.loads(path.read_bytes().split(b"\n")[0])
        category = path.name.removeprefix("BFCL_v4_").removesuffix("_score.json")
        rates[category] = figures.Rate(header["correct_count"], header["total_count"])
    groups = {name: round(100 * (one or 0), 2) for name, one in figures.groups_v4(rates).items()}
    assert groups == {"non_live": 59.79, "live": 59.14, "irrelevance": 77.5, "multi_turn": 66.88, "agentic": 0}
    assert round(100 * (figures.overall_v4(rates) or 0), 2) == 39.71
    table = figures.table("V4", rates)
    assert (table[0].name, table[0].level) == ("overall", 0)
    assert [line.name for line in table if line.level == 1] == [
        "non_live", "live", "irrelevance", "multi_turn", "live_relevance",
    ]  # fmt: skip


def test_tables_of_older_generations_have_no_overall_formula() -> None:
    rates = {"simple": figures.Rate(3, 4), "java": figures.Rate(1, 2), "relevance": figures.Rate(1, 1)}
    lines = figures.table("V1", rates)
    assert (lines[0].name, lines[0].value, lines[0].note) == ("all items", 5 / 7, "7 items")
    assert [line.name for line in lines[1:]] == ["ast", "simple", "java", "irrelevance", "relevance"]
    assert figures.table("V4", {})[0].value is None
