"""A golden fix without a change is refused in every benchmark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import (
    SAME_GOLDEN,
    check_golden_fix,
    discover,
    find_golden_fix_problem,
    is_golden_answer,
    make_golden_template,
    read_items,
    rewrite_golden,
)
from fcreview.model.item import Erratum, Extra, Item
from fcreview.run_plan import AppliedGoldenFix

BENCHMARKS = ("bfcl", "acebench", "confetti", "hammerbench", "generic", "complexfuncbench")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_unchanged_golden_answer_is_no_golden_fix(samples: Path, benchmark: str) -> None:
    n_refused = 0
    for plan in discover([samples / benchmark]).plans:
        for item in [each for each in read_items(plan) if isinstance(each, Item)]:
            fix = make_golden_template(plan.run, item)
            if fix is None or check_golden_fix(plan.run, item, fix) is not None:
                continue
            assert find_golden_fix_problem(plan.run, item, fix) == SAME_GOLDEN
            assert find_golden_fix_problem(plan.run, item, {"unknown": 1}) not in (None, SAME_GOLDEN)
            n_refused += 1
            for applied in rewrite_golden(plan, {(item.category, item.id): fix}) if n_refused < 4 else ():
                if isinstance(applied, AppliedGoldenFix) and len(fix) == 1:  # the answer as the file has it
                    literal: dict[str, Any] = dict.fromkeys(fix, json.loads(json.dumps(applied.old)))
                    assert is_golden_answer(plan.run, item, literal)
    assert n_refused


def test_answer_from_errata_is_accepted(samples: Path) -> None:
    """The review that led to the erratum contains it."""
    (plan, *_) = discover([samples / "bfcl"]).plans
    item = next(each for each in read_items(plan) if isinstance(each, Item) and each.category == "simple_python")
    fix = make_golden_template(plan.run, item)
    assert fix is not None
    erratum = Erratum(["ann"], "2026-11-21", [], old=[])
    corrected = replace(item, extra=Extra(erratum=erratum), golden_hash="0" * 16)  # runs share `item`
    assert find_golden_fix_problem(plan.run, corrected, fix) is None
