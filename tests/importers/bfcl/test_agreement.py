"""Published BFCL runs are read completely, and recomputed verdicts equal the official ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from tests.importers.bfcl.checker.cases import evaluate

V1_PREFIX = "gorilla_openfunctions_v1_test_"
AT_LEAST = 0.999
KNOWN_EXCEPTIONS: dict[tuple[str, str, str], str] = {}
"""Known differences: (group, model, item) -> cause. Entries that agree must be removed."""

Scored = tuple[str, str, DatasetItem, Any, dict[str, Any] | None]
"""Model, category, case, raw result, score entry (None for a pass)."""


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def wrapped(functions: Any) -> list[dict[str, Any]]:
    return functions if isinstance(functions, list) else [functions]


def answers(folder: Path, name: str) -> list[dict[str, Any]] | None:
    path = folder / "possible_answer" / name
    return read(path) if path.exists() else None


def v1_items(runs: Path, data: Path) -> Iterator[Scored]:
    for score in sorted(runs.glob("score/*/*_score.json")):
        model, category = score.parent.name, score.name.removesuffix("_score.json")
        if category.startswith(("executable", "rest")):
            continue
        questions = read(data / f"{V1_PREFIX}{category}.json")
        golden = answers(data, f"{V1_PREFIX}{category}.json") or [{}] * len(questions)
        failed = {entry["id"]: entry for entry in read(score)[1:]}
        results = read(runs / "result" / model / f"{V1_PREFIX}{category}_result.json")
        for index, (question, answer, record) in enumerate(
            zip(questions, golden, results, strict=True)
        ):
            functions, truth = wrapped(question["function"]), answer.get("ground_truth")
            case = DatasetItem(
                f"{category}_{index}", category, functions=functions, ground_truth=truth
            )
            yield model, category, case, record["result"], failed.get(index + 1)


def v4_items(root: Path) -> Iterator[Scored]:
    for score in sorted(root.glob("score/*/*live/*_score.json")):
        model, name = score.parent.parent.name, score.name.replace("_score.json", ".json")
        category = name.removeprefix("BFCL_v4_").removesuffix(".json")
        golden = {
            record["id"]: record["ground_truth"] for record in answers(root / "data", name) or ()
        }
        cases = {
            record["id"]: DatasetItem(
                record["id"],
                category,
                functions=record["function"],
                ground_truth=golden.get(record["id"]),
            )
            for record in read(root / "data" / name)
        }
        failed = {entry["id"]: entry for entry in read(score)[1:]}
        result = root / "result" / score.relative_to(root / "score")
        for record in read(result.with_name(score.name.replace("_score", "_result"))):
            yield model, category, cases[record["id"]], record["result"], failed.get(record["id"])


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("group", "generation", "least_items"),
    [
        ("bfcl_v1", "V1", 4000),
        pytest.param("bfcl_v1_panel", "V1", 12_000, marks=pytest.mark.sweep),
        ("bfcl_v4", "V4", 7000),
    ],
)
def test_recomputed_verdicts_equal_official_ones(
    bench: Path, group: str, generation: str, least_items: int
) -> None:
    if not (bench / group).is_dir():
        pytest.skip(f"{group} is not among the benchmark files")
    items = (
        v4_items(bench / group)
        if generation == "V4"
        else v1_items(bench / group, bench / "bfcl_v1" / "data")
    )
    total, differing = 0, {}
    for model, category, case, result, entry in items:
        total += 1
        found = evaluate(result, case, version=generation, category=category, model=model)
        official = (entry is None, entry["error_type"] if entry else None)
        if (found.valid, found.error_type) != official:
            rule = (found.valid, found.error_type)
            differing[group, model, case.id] = f"official {official}, rule {rule} {found.messages}"
    known = {key for key in KNOWN_EXCEPTIONS if key[0] == group}
    assert total >= least_items
    assert 1 - len(differing) / total >= AT_LEAST, differing
    assert differing.keys() == known, {
        key: differing.get(key, "agrees now") for key in differing.keys() ^ known
    }


def read_published_run(bench: Path, name: str) -> list[tuple[Any, list[Item], list[Any]]]:
    data = [bench / "bfcl_v1" / "data"] if name == "bfcl_v1_panel" else []
    runs = []
    for plan in discover([bench / name], data=data).plans:
        found = list(read_items(plan))
        runs.append(
            (
                plan,
                [one for one in found if isinstance(one, Item)],
                [o for o in found if isinstance(o, ImportIssue)],
            )
        )
    return runs


LARGE = [pytest.param(name, marks=pytest.mark.sweep) for name in ("bfcl_v1_panel", "bfcl_v4")]


@pytest.fixture(scope="module", params=["bfcl_v1", *LARGE])
def runs(request: pytest.FixtureRequest, bench: Path) -> list[tuple[Any, list[Item], list[Any]]]:
    return read_published_run(bench, request.param)


@pytest.mark.sweep
def test_every_published_record_is_item_without_issues(runs: Any) -> None:
    for plan, found, issues in runs:
        records = sum(
            sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))
            for path in plan.results
        )
        assert len(found) == records
        assert [*issues, *plan.issues, *(issue for item in found for issue in item.issues)] == []
        assert all(item.question and item.prediction_hash for item in found)
        assert orjson.dumps(replace(found[0], shared_opening=None))


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
