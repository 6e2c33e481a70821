"""Published BFCL runs are read completely, with the verdicts and counts of their score files."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.item import Item


def read_published_run(bench: Path, name: str) -> list[tuple[Any, list[Item], list[Any]]]:
    data = [bench / "bfcl_v1" / "data"] if name == "bfcl_v1_panel" else []
    runs = []
    for plan in discover([bench / name], data=data).plans:
        found = list(read_items(plan))
        runs.append(
            (plan, [one for one in found if isinstance(one, Item)], [o for o in found if not isinstance(o, Item)])
        )
    return runs


LARGE = [pytest.param(name, marks=pytest.mark.sweep) for name in ("bfcl_v1_panel", "bfcl_v4")]


@pytest.fixture(scope="module", params=["bfcl_v1", *LARGE])
def runs(request: pytest.FixtureRequest, bench: Path) -> list[tuple[Any, list[Item], list[Any]]]:
    return read_published_run(bench, request.param)


@pytest.mark.sweep
def test_every_published_record_is_item_without_issues(runs: Any) -> None:
    for plan, found, issues in runs:
        records = sum(sum(bool(line.strip()) for line in path.read_bytes().split(b"\n")) for path in plan.results)
        assert len(found) == records
        assert [*issues, *plan.issues, *(issue for item in found for issue in item.issues)] == []
        assert all(item.question and item.prediction_hash for item in found)
        assert orjson.dumps(replace(found[0], shared_opening=None, shared_content=None))


def test_official_verdicts_equal_score_files(runs: Any) -> None:
    """The test reads the failing ids from the score files. All other items passed."""
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


def test_counts_equal_headers(runs: Any) -> None:
    for plan, found, _ in runs:
        counts: dict[str, Counter[bool | None]] = {}
        for item in found:
            counts.setdefault(item.category, Counter())[item.official] += 1
        assert counts.keys() == plan.run.official_metrics.keys()
        for category, header in plan.run.official_metrics.items():
            assert counts[category][True] == header["correct_count"]
            assert counts[category].total() == header["total_count"]
