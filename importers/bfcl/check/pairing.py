"""Predicted calls laid against golden ones, with what the function documents ask beyond the golden answer."""

from __future__ import annotations

from fcreview.calls.align import align
from fcreview.calls.paths import child
from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.check.prepare import Golden, Unusable, prepare
from fcreview.importers.bfcl.check.texts import RULES
from fcreview.model import ArgumentDiff, Call, Pair


def paired(case: Case, predicted: list[Call], category: str, v1: bool, *, failed: bool) -> list[Pair]:
    """`failed`: by the rules, which look at the function's document before they look at the golden answer."""
    pairs = align(case.golden, predicted, RULES)
    if failed:
        try:
            described = prepare(case, case.category if category == "format_sensitivity" else category, v1)
        except Unusable:
            return pairs
        for pair in pairs:
            if pair.golden is not None and pair.predicted is not None and pair.golden < len(described):
                _describe(pair, described[pair.golden], predicted[pair.predicted])
    return pairs


def _describe(pair: Pair, golden: Golden, predicted: Call) -> None:
    """An argument may be left out by the golden answer and required by the function, or be golden and not among its
    parameters: the checker fails both (`ast_checker.py`, simple_function_checker)."""
    given = predicted.arguments
    if given is None or not golden.described:
        return
    listed = {place.path for place in pair.diff}
    missing = [name for name in golden.required if name not in given]
    strange = [name for name in given if name in golden.stray]
    found = [ArgumentDiff(child("", name), "-", "required by the function, though not by golden") for name in missing]
    found += [ArgumentDiff(child("", name), "!", "golden, but no parameter of the function") for name in strange]
    found = [place for place in found if place.path not in listed]
    if found:
        pair.diff, pair.state = [*pair.diff, *found], "!"
