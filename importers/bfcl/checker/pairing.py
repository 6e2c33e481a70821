"""Pair golden and predicted calls for the call diff, and compare them by the benchmark's rules.

The checker decides which arguments are equal: it converts Java and JavaScript source text to values and accepts 5.0 for
5. The diff explains the arguments that it does not accept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fcreview.importers.bfcl.checker.schema import (
    COMPARISON_RULES,
    ExpectedArgument,
    ExpectedCall,
    UncheckableItem,
    compile_expected_calls,
    language_of_category,
)
from fcreview.importers.bfcl.checker.values import find_mismatch
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.matching.align import align
from fcreview.model.item import ArgumentDiff, Call, CallPair
from fcreview.model.json_value import abbreviate, child_path, split_path


def pair_calls(item: DatasetItem, predicted: list[Call], category: str, v1: bool, *, failed: bool) -> list[CallPair]:
    """Pair golden with predicted calls as the checker compares them. A `failed` reply gets schema differences too."""
    converted, expected = predicted, None
    if language_of_category(category) != "python":
        expected = _expected_calls(item, category, v1)
        converted = [_convert_arguments(call, expected) for call in predicted]
    pairs = align(item.golden_calls, converted, COMPARISON_RULES)
    if converted is predicted and not failed and all(pair.state == "=" for pair in pairs):
        return pairs
    if expected is None:
        expected = _expected_calls(item, category, v1)
    for pair in pairs:
        if pair.golden is None or pair.predicted is None or pair.golden >= len(expected):
            continue
        golden, arguments = expected[pair.golden], predicted[pair.predicted].arguments
        if arguments is None or not golden.has_function_doc:
            continue
        _apply_checker(pair, golden, predicted[pair.predicted], converted[pair.predicted].arguments or {}, v1)
        if failed:
            _add_schema_differences(pair, golden, arguments)
        if pair.diff:
            pair.state = "~" if all(difference.state == "~" for difference in pair.diff) else "!"
    return pairs


def _expected_calls(item: DatasetItem, category: str, v1: bool) -> list[ExpectedCall]:
    try:
        return compile_expected_calls(item, category, v1)
    except UncheckableItem:
        return []


def _convert_arguments(call: Call, expected: list[ExpectedCall]) -> Call:
    """Return the call with Java or JavaScript source text converted to values; the call itself if nothing changes."""
    golden = next((each for each in expected if call.name in (each.name, each.flat_name)), None)
    if golden is None or not call.arguments:
        return call
    changed = {}
    for name, value in call.arguments.items():
        parameter = golden.parameters.get(name)
        if parameter is not None and parameter.convert is not None and type(value) is str:
            result = parameter.convert(value)
            if type(result) is not str or result != value:
                changed[name] = result
    return replace(call, arguments={**call.arguments, **changed}) if changed else call


def _apply_checker(pair: CallPair, golden: ExpectedCall, call: Call, values: dict[str, Any], v1: bool) -> None:
    """Change the differences of a pair to agree with the checker. `values` are the converted arguments."""
    if call.name not in (golden.name, golden.flat_name):
        return
    by_argument: dict[str, list[ArgumentDiff]] = {}
    for difference in pair.diff:
        name = str(split_path(difference.path)[0]) if difference.path else ""
        by_argument.setdefault(name, []).append(difference)
    if "" in by_argument:  # the checker expects the name in the function doc, which differs from the golden answer's
        by_argument[""] = [ArgumentDiff("", "~", f"the name in the function doc is {golden.name}")]
    for name, raw in (call.arguments or {}).items():
        parameter = golden.parameters.get(name)
        if parameter is not None and (parameter.convert is not None or name in by_argument):
            found = _compare_argument(parameter, name, (raw, values[name]), by_argument.get(name, []), v1)
            if found or name in by_argument:
                by_argument[name] = found
    pair.diff = [difference for differences in by_argument.values() for difference in differences]


def _compare_argument(
    parameter: ExpectedArgument, name: str, value: tuple[Any, Any], differences: list[ArgumentDiff], v1: bool
) -> list[ArgumentDiff]:
    """Return the differences of one argument. `value` is its value before and after the conversion."""
    raw, converted = value
    path, is_converted = child_path("", name), raw is not converted
    try:
        mismatch = find_mismatch(parameter, raw, v1)
    except (RecursionError, TypeError, AttributeError, KeyError):
        return differences
    is_different = any(difference.state != "~" for difference in differences)
    if mismatch is None:
        if is_converted:
            return [ArgumentDiff(path, "~", f"equal after conversion: {abbreviate(converted)}")]
        return [ArgumentDiff(path, "~", "accepted by the benchmark")] if is_different else differences
    if not is_different:
        return [ArgumentDiff(path, "!", mismatch[1])]
    if is_converted:  # paths lead into the converted value, which is not displayed
        first = next(difference for difference in differences if difference.state != "~")
        inner = f"{first.path.removeprefix(path).removeprefix('.')}: " if first.path != path else ""
        return [ArgumentDiff(path, "!", f"after conversion, {inner}{first.reason}")]
    return differences


def _add_schema_differences(pair: CallPair, golden: ExpectedCall, arguments: dict[str, Any]) -> None:
    """Add arguments that only the function doc or only the golden answer has, which the official checker fails."""
    reason = "required by the function, but not by the golden answer"
    found = [ArgumentDiff(child_path("", name), "-", reason) for name in golden.required if name not in arguments]
    reason = "in the golden answer, but not a parameter of the function"
    found += [ArgumentDiff(child_path("", name), "!", reason) for name in arguments if name in golden.undeclared]
    listed = {difference.path for difference in pair.diff}
    pair.diff = [*pair.diff, *(difference for difference in found if difference.path not in listed)]
