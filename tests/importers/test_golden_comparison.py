"""An item is compared with a corrected golden answer as the import compares it with the one in the
dataset.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.registry import (
    check_golden_fix,
    compare_with_golden_fix,
    discover,
    make_golden_template,
    read_items,
)
from fcreview.model.item import CallPair, Item, Run


def _read_items(folder: Path) -> list[tuple[Run, Item]]:
    items = []
    for plan in discover([folder]).plans:
        items += [(plan.run, item) for item in read_items(plan) if isinstance(item, Item)]
    return items


def _states(pairs: Iterable[CallPair]) -> list[Any]:
    states = []
    for pair in pairs:
        differences = [(difference.path, difference.state) for difference in pair.diff]
        states.append((pair.turn, pair.golden, pair.predicted, pair.state, differences))
    return states


@pytest.mark.parametrize("benchmark", ["bfcl", "acebench", "confetti", "generic"])
def test_comparison_with_the_datasets_own_answer_is_that_of_the_import(
    samples: Path, benchmark: str
) -> None:
    n_compared = 0
    for run, item in _read_items(samples / benchmark):
        template = make_golden_template(run, item)
        if template is None or not item.golden:
            continue
        compared = compare_with_golden_fix(run, item, template)
        if compared is None:
            continue
        n_compared += 1
        assert _states(compared.pairs) == _states(item.pairs), item.id
        assert [call.name for call in compared.golden] == [call.name for call in item.golden]
    assert n_compared >= 2


def test_corrected_calls_of_one_turn_stand_in_the_turn_that_the_item_judges(samples: Path) -> None:
    run, item = next(
        pair
        for pair in _read_items(samples / "bfcl")
        if pair[1].category == "simple_python" and pair[1].golden and pair[1].predicted
    )
    later = replace(item, golden=[replace(call, turn=2) for call in item.golden])
    compared = compare_with_golden_fix(run, later, make_golden_template(run, item) or {})
    assert compared is not None and {call.turn for call in compared.golden} == {2}


def test_golden_answer_of_a_conversation_that_was_cut_off_is_not_shortened(samples: Path) -> None:
    run, item = next(
        pair
        for pair in _read_items(samples / "bfcl")
        if pair[1].category.startswith("multi_turn") and any(c.turn for c in pair[1].golden)
    )
    whole = make_golden_template(run, item)
    assert whole is not None
    cut_off = replace(item, n_turns=1)
    assert make_golden_template(run, cut_off) is None
    assert check_golden_fix(run, cut_off, whole) is None
