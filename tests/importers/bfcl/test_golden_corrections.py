"""The earlier BFCL V1 dataset with errata for its later corrections gives the verdicts of the
later dataset.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.errata import Errata, ErrataEntry, hash_question, parse_errata, serialize_errata
from fcreview.importers.bfcl.writeback import check_golden_fix
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import RunPlan

TEN = (
    "simple_200",
    "simple_285",
    "simple_14",
    "multiple_function_29",
    "parallel_function_89",
    "parallel_function_112",
    "parallel_multiple_function_61",
    "parallel_multiple_function_132",
    "parallel_multiple_function_160",
    "parallel_multiple_function_184",
)
"""Corrected items, including some without a changed verdict."""

pytestmark = [pytest.mark.bench, pytest.mark.sweep]
Verdict = tuple[bool | None, str | None]


def read_answers(data: Path) -> dict[str, Any]:
    files = (data / "possible_answer").glob("*.json")
    records = (json.loads(line) for file in files for line in file.read_text("utf-8").splitlines())
    return {record["id"]: record["ground_truth"] for record in records}


def read_run_items(plan: RunPlan) -> dict[str, Item]:
    return {one.id: one for one in read_items(plan) if isinstance(one, Item)}


def rule_verdict(item: Item) -> Verdict:
    return item.rule, item.rule_error_type


@pytest.fixture(scope="module")
def july(bench: Path) -> list[RunPlan]:
    return discover([bench / "bfcl_v1_july/result"], data=[bench / "bfcl_v1_july/data"]).plans


@pytest.fixture(scope="module")
def corrections(bench: Path, july: list[RunPlan]) -> Errata:
    """Errata of the ten corrected items."""
    old, new = read_answers(bench / "bfcl_v1_july/data"), read_answers(bench / "bfcl_v1/data")
    known = json.loads((bench / "bfcl_v1_july/golden_later_corrected.json").read_text("utf-8"))
    assert set(TEN) <= set(known)
    shown = read_run_items(july[0])
    entries = [
        ErrataEntry(
            "bfcl",
            "V1",
            "en",
            shown[id].category,
            id,
            hash_question(shown[id].messages),
            old[id],
            new[id],
        )
        for id in TEN  # noqa: A001
    ]
    return parse_errata(serialize_errata(entries, [], "2026-01-01", "tester"), "ten.jsonl")


def test_published_corrections_are_valid_golden_fixes(bench: Path, july: list[RunPlan]) -> None:
    """Each correction is a valid golden fix."""
    new, shown = read_answers(bench / "bfcl_v1/data"), read_run_items(july[0])
    assert {
        name: check_golden_fix(july[0].run, shown[name], {"ground_truth": new[name]})
        for name in TEN
    } == dict.fromkeys(TEN)


def test_corrections_give_verdicts_of_later_dataset(
    bench: Path, july: list[RunPlan], corrections: Errata
) -> None:
    later = discover([bench / "bfcl_v1_july/result"], data=[bench / "bfcl_v1/data"]).plans
    assert [plan.run.model for plan in july] == [plan.run.model for plan in later] and len(
        july
    ) == 12
    rescored = changed = 0
    for plan, after in zip(july, later, strict=True):
        plain, expected = read_run_items(plan), read_run_items(after)
        corrected = read_run_items(replace(plan, errata=corrections))
        for name, item in corrected.items():
            truth = expected if name in TEN else plain
            assert rule_verdict(item) == rule_verdict(truth[name]), (plan.run.model, name)
            assert item.golden == truth[name].golden
            assert item.golden_hash == plain[name].golden_hash
            own = item.extra.without_errata
            before = rule_verdict(plain[name])
            assert before == (rule_verdict(item) if own is None else (own.valid, own.error_type))
            rescored += own is not None
            changed += name in TEN and before != rule_verdict(expected[name])
    assert rescored == changed > 20


def test_stale_errata_are_reported_and_not_applied(
    july: list[RunPlan], corrections: Errata
) -> None:
    entries = list(corrections.entries.values())
    wrong = [
        replace(entries[0], question_hash="0" * 16),
        replace(entries[1], old={"f": {}}),
        replace(entries[2], old={}, new=entries[2].old),
        replace(entries[3], id="multiple_function_9999"),
    ]
    stale = parse_errata(serialize_errata(wrong, [], "2026-01-01", "tester"), "stale.jsonl")
    found = list(read_items(replace(july[0], errata=stale)))
    issues = {
        one.line: one for one in found if isinstance(one, ImportIssue) and one.file == "stale.jsonl"
    }
    assert {line: one.severity for line, one in issues.items()} == {
        2: "warning",
        3: "warning",
        4: "notice",
        5: "warning",
    }
    assert {one.id: rule_verdict(one) for one in found if isinstance(one, Item)} == {
        name: rule_verdict(item) for name, item in read_run_items(july[0]).items()
    }
