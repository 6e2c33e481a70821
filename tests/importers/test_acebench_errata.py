"""Errata of ACEBench change the recomputed verdict of their item and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.equivalence import parse_rule
from fcreview.errata import Errata, ErrataEntry, hash_question, parse_errata, serialize_errata
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item
from fcreview.run_plan import RunPlan

FAILING = "normal_single_turn_single_function_3"
INCOMPLETE = "special_incomplete_1"
AGENT = "agent_multi_turn_0"


@pytest.fixture(scope="module")
def plan(samples: Path) -> RunPlan:
    return next(each for each in discover([samples / "acebench"]).plans if each.run.language == "en")


def read_run_items(plan: RunPlan) -> dict[str, Item]:
    return {one.id: one for one in read_items(plan) if isinstance(one, Item)}


def read_golden(plan: RunPlan, name: str) -> Any:
    """Return the golden answer of the dataset."""
    for path in plan.data:
        if path.parent.name == "possible_answer":
            for record in map(json.loads, path.read_text("utf-8").splitlines()):
                if record["id"] == name:
                    return record["ground_truth"]
    raise KeyError(name)


def make_entry(plan: RunPlan, name: str, new: Any, **fields: Any) -> ErrataEntry:
    item = read_run_items(plan)[name]
    given = {"question_hash": hash_question(item.messages), "old": read_golden(plan, name), "new": new}
    fields_of_review = {"reasons": ("so asked",), "settled_by": ("alice",)}
    return ErrataEntry(
        "acebench", plan.run.generation, "en", item.category, name, **(given | fields_of_review | fields)
    )


def make_errata(*entries: ErrataEntry, rules: tuple[str, ...] = ()) -> Errata:
    return parse_errata(
        serialize_errata(entries, [parse_rule(each) for each in rules], "2026-01-01", "alice"), "e.jsonl"
    )


def read_with_errata(plan: RunPlan, found: Errata) -> tuple[dict[str, Item], list[ImportIssue]]:
    read = list(read_items(replace(plan, errata=found)))
    issues = [one for one in read if isinstance(one, ImportIssue) and one.file == "e.jsonl"]
    return {one.id: one for one in read if isinstance(one, Item)}, issues


def prediction_as_golden(item: Item) -> dict[str, Any]:
    """Return the predicted calls as a golden answer."""
    return {call.name: call.arguments for call in item.predicted}


def test_erratum_rescores_only_its_item(plan: RunPlan) -> None:
    plain = read_run_items(plan)
    assert plain[FAILING].rule is False
    found, issues = read_with_errata(plan, make_errata(make_entry(plan, FAILING, prediction_as_golden(plain[FAILING]))))
    assert issues == []
    assert {name for name in plain if found[name] != plain[name]} == {FAILING}
    item = found[FAILING]
    assert item.rule is True and item.rule_error_type is None and item.verdicts[-1].by == "ACEBench rules with errata"
    own = item.extra.without_errata
    assert own is not None and (own.valid, own.error_type) == (False, plain[FAILING].rule_error_type)
    assert all(pair.state in "=~" for pair in item.pairs) and item.golden != plain[FAILING].golden
    assert item.golden_hash == plain[FAILING].golden_hash, "reviews are no more stale than before"
    erratum = item.extra.erratum
    assert erratum is not None and erratum.old == read_golden(plan, FAILING) and erratum.who == ["alice"]


def test_erratum_can_fail_passing_item(plan: RunPlan) -> None:
    name = "normal_single_turn_single_function_0"
    old = read_golden(plan, name)
    new = {function: dict.fromkeys(given, "another") for function, given in old.items()}
    item = read_with_errata(plan, make_errata(make_entry(plan, name, new)))[0][name]
    assert item.rule is False and item.extra.without_errata is not None and item.extra.without_errata.valid is True


def test_special_items_are_rescored(plan: RunPlan) -> None:
    name = "special_incomplete_0"
    item = read_with_errata(plan, make_errata(make_entry(plan, name, {"get": ["what nobody said"]})))[0][name]
    assert item.rule is False and "what nobody said" in (item.extra.golden_reply or "")


def test_stale_erratum_is_reported_and_changes_nothing(plan: RunPlan) -> None:
    new = prediction_as_golden(read_run_items(plan)[FAILING])
    wrong = [
        (make_entry(plan, FAILING, new, question_hash="0" * 16), "the question has changed"),
        (make_entry(plan, FAILING, new, old={"f": {}}), "neither the old nor the new one"),
        (make_entry(plan, FAILING, ["no", "calls"]), "the new golden answer is not valid"),
        (make_entry(plan, AGENT, []), "errata do not apply to agent items"),
    ]
    for one, why in wrong:
        found, issues = read_with_errata(plan, make_errata(one))
        assert [(issue.item, issue.line, issue.severity) for issue in issues] == [(one.id, 2, "warning")]
        assert why in issues[0].what
        erratum = found[one.id].extra.erratum
        assert erratum is not None and why in erratum.stale and erratum.old is None
        found[one.id].extra.erratum = None
        assert found == read_run_items(plan)


def test_unneeded_and_unknown_errata_are_reported(plan: RunPlan) -> None:
    known = make_entry(plan, FAILING, read_golden(plan, FAILING), old={"f": {}})
    absent = replace(make_entry(plan, FAILING, {}), id="normal_single_turn_single_function_99")
    found, issues = read_with_errata(plan, make_errata(known, absent))
    assert [(issue.severity, issue.what.partition(":")[0]) for issue in issues] == [
        ("notice", "erratum not needed"),
        ("warning", "stale erratum, not applied"),
    ]
    assert found == read_run_items(plan)
