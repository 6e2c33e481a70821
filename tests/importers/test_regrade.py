"""Golden fixes: templates, verdicts recomputed with a fix, and fixes that equal the golden
answer.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import (
    IMPORTERS,
    SAME_GOLDEN,
    check_golden_fix,
    discover,
    explain_golden_fix_rejection,
    importer_for,
    is_unchanged_golden_fix,
    make_fix_from_prediction,
    make_golden_template,
    read_items,
    recompute_verdict,
    rewrite_golden,
)
from fcreview.model.item import Erratum, Extra, Item, Run
from fcreview.run_plan import AppliedGoldenFix

Sample = tuple[Run, Item, Any]


def read_record(item: Item) -> Any:
    # no verdict is recomputed for a record in an archive
    if not item.length or item.file.endswith(".eval"):
        return None
    with Path(item.file).open("rb") as file:
        file.seek(item.offset)
        raw = file.read(item.length)
    try:
        return json.loads(raw)
    except ValueError:  # a session has several lines, and a table has no JSON
        return None


@pytest.fixture(scope="module")
def sample_items(samples: Path) -> list[Sample]:
    return [
        (plan.run, item, read_record(item))
        for plan in discover([samples]).plans
        for item in read_items(plan)
        if isinstance(item, Item)
    ]


def find_sample(sample_items: list[Sample], name: str, model: str = "maple-8b") -> Sample:
    return next(each for each in sample_items if each[1].id == name and each[0].model == model)


def test_golden_templates_are_valid_and_keep_verdict(sample_items: list[Sample]) -> None:
    known: Counter[str] = Counter()
    for run, item, record in sample_items:
        draft = make_golden_template(run, item)
        if draft is None:
            has_no_dataset = run.benchmark in ("evalscope", "mcp_atlas", "nemo_gym", "tau")
            # Milestones have alternatives.
            assert not item.golden or item.category.startswith("agent_") or has_no_dataset, item.id
            continue
        assert check_golden_fix(run, item, draft) is None, item.id
        importer = importer_for(run)
        after = importer.recompute_verdict(run, item, draft, record)
        # The stored verdict of tau follows from its reward, which no golden answer gives.
        if importer.name == "tau":
            assert after is None
        else:
            assert after == item.rule, item.id
        known[importer.name] += after is not None
    without = {
        "atif",
        "complexfuncbench",
        "evalscope",
        "inspect",
        "mapping",
        "mcp_atlas",
        "nemo_gym",
        "sessions",
        "tau",
        "verifiers",
    }
    assert {name for name, count in known.items() if count} == {
        importer.name for importer in IMPORTERS
    } - without


def test_prediction_as_golden_answer_passes(sample_items: list[Sample]) -> None:
    run, item, record = find_sample(sample_items, "simple_python_4")
    assert item.rule is False
    fix = make_golden_template(run, item)
    assert fix is not None
    fix["ground_truth"][0]["alarm.set"]["days"].append(["Monday", "Wednesday"])
    assert recompute_verdict(run, item, fix, record) is True


def test_predicted_calls_become_a_golden_answer_that_they_pass(
    sample_items: list[Sample],
) -> None:
    n_passing: Counter[str] = Counter()
    for run, item, record in sample_items:
        fix = make_fix_from_prediction(run, item)
        if fix is None or check_golden_fix(run, item, fix) is not None:
            continue
        passes = recompute_verdict(run, item, fix, record)
        # Predicted values of Java and JavaScript are source text, golden values are converted.
        is_source_text = item.category.endswith(("java", "javascript"))
        # A golden answer of this category is one call.
        has_too_many_calls = item.category == "multiple" and len(item.predicted) > 1
        assert passes is not False or is_source_text or has_too_many_calls, item.id
        n_passing[importer_for(run).name] += passes is True
    assert all(n_passing[name] for name in ("bfcl", "acebench", "hammerbench", "generic"))


def test_predicted_name_with_underscores_becomes_the_documented_name(
    sample_items: list[Sample],
) -> None:
    run, item, _ = find_sample(sample_items, "simple_python_4")
    renamed = [replace(call, name=call.name.replace(".", "_")) for call in item.predicted]
    fix = make_fix_from_prediction(run, replace(item, predicted=renamed))
    assert fix is not None
    assert list(fix["ground_truth"][0]) == ["alarm.set"]


def test_verdict_is_unknown_if_the_import_had_no_dataset(sample_items: list[Sample]) -> None:
    run, item, record = find_sample(sample_items, "simple_python_4")
    fix = make_golden_template(run, item)
    assert fix is not None
    without_dataset = replace(item, rule=None, golden=[], functions=[])
    assert recompute_verdict(run, without_dataset, fix, record) is None


def test_verdict_without_stored_data_is_unknown(sample_items: list[Sample]) -> None:
    run, item, record = find_sample(sample_items, "simple_python_4")
    fix = make_golden_template(run, item)
    assert fix is not None
    assert recompute_verdict(run, item, fix, None) is None
    assert recompute_verdict(run, replace(item, rule=True), fix, record) is None


def test_multi_turn_verdicts_are_not_recomputed(sample_items: list[Sample]) -> None:
    run, item, record = next(each for each in sample_items if each[1].category == "multi_turn_base")
    fix = make_golden_template(run, item)
    assert fix is not None
    assert len(fix["ground_truth"]) == item.n_turns
    assert recompute_verdict(run, item, fix, record) is None


@pytest.mark.parametrize(
    ("error", "expected"), [("wrong_value", True), ("wrong_first_function", False), ("text", None)]
)
def test_later_snapshot_keeps_decision_of_first_one(
    sample_items: list[Sample], error: str, expected: bool | None
) -> None:
    from fcreview.importers.hammerbench.writeback import recompute_verdict

    run, item, _ = next(
        (run, item, record)
        for run, item, record in sample_items
        if run.generation == "conversation" and item.predicted and not item.id.endswith("_1")
    )
    call = item.predicted[0]
    fix = {"name": call.name, "arguments": call.arguments}
    assert recompute_verdict(run, replace(item, rule_error_type=error), fix, None) is expected


BENCHMARKS = ("bfcl", "acebench", "confetti", "hammerbench", "generic", "complexfuncbench")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_unchanged_golden_answer_is_no_golden_fix(samples: Path, benchmark: str) -> None:
    n_refused = 0
    for plan in discover([samples / benchmark]).plans:
        for item in [each for each in read_items(plan) if isinstance(each, Item)]:
            fix = make_golden_template(plan.run, item)
            if fix is None or check_golden_fix(plan.run, item, fix) is not None:
                continue
            assert explain_golden_fix_rejection(plan.run, item, fix) == SAME_GOLDEN
            assert explain_golden_fix_rejection(plan.run, item, {"unknown": 1}) not in (
                None,
                SAME_GOLDEN,
            )
            n_refused += 1
            for applied in (
                rewrite_golden(plan, {(item.category, item.id): fix}) if n_refused < 4 else ()
            ):
                # the answer as the file has it
                if isinstance(applied, AppliedGoldenFix) and len(fix) == 1:
                    literal: dict[str, Any] = dict.fromkeys(
                        fix, json.loads(json.dumps(applied.old))
                    )
                    assert is_unchanged_golden_fix(plan.run, item, literal)
    assert n_refused


def test_answer_from_errata_is_accepted(samples: Path) -> None:
    """The review that led to the erratum contains it."""
    (plan, *_) = discover([samples / "bfcl"]).plans
    item = next(
        each
        for each in read_items(plan)
        if isinstance(each, Item) and each.category == "simple_python"
    )
    fix = make_golden_template(plan.run, item)
    assert fix is not None
    erratum = Erratum(["ann"], "2026-11-21", [], old=[])
    # runs share `item`
    corrected = replace(item, extra=Extra(erratum=erratum), golden_hash="0" * 16)
    assert explain_golden_fix_rejection(plan.run, corrected, fix) is None
