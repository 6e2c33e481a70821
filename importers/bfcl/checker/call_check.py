"""Compare predicted with golden calls by the rules of the official `ast_checker.py`, and pair them
for the call diff.

The functions return None for a value that passes. The checker decides which arguments of a pair are
equal: it converts Java and JavaScript source text to values and accepts 5.0 for 5. The diff
explains the arguments that the checker does not accept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from fcreview.importers.bfcl.checker.schema import (
    COMPARISON_RULES,
    ExpectedArgument,
    ExpectedCall,
    UncheckableItem,
    compile_expected_calls,
    describe_accepted_values,
    describe_type,
    is_accepted_by_equivalence,
    language_of_category,
    normalise_list,
    normalise_string,
    normalise_value,
    shorten,
)
from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.decoders.base import Calls, NameSpelling
from fcreview.importers.common.records import JsonObject
from fcreview.matching.align import align_calls
from fcreview.model.item import ArgumentDiff, Call, CallPair
from fcreview.model.json_value import abbreviate, append_to_path, split_path

Mismatch = tuple[str, str]
"""(error type, message) of a value that does not pass."""


def check_object(
    value: dict[str, Any], accepted_objects: list[Any], is_v1: bool
) -> Mismatch | None:
    """Check that an object matches a golden object.

    If none matches, return the mismatch with the last one.
    """
    mismatch: Mismatch | None = ("dict_checker:unclear", "the golden answer accepts no object here")
    for golden in accepted_objects:
        if golden == "":
            continue
        mismatch = (
            _check_object_fields_v1(value, golden) if is_v1 else _check_object_fields(value, golden)
        )
        if mismatch is None:
            return None
    return mismatch


def _check_object_fields(value: dict[str, Any], golden: Any) -> Mismatch | None:
    if type(golden) is not dict:
        return "value_error:dict_key", f"{shorten(value)} is not equal to {shorten(golden)}"
    for key, accepted in golden.items():
        is_optional = isinstance(accepted, str) or (
            isinstance(accepted, (list, dict)) and "" in accepted
        )
        if key not in value and not is_optional:
            return "value_error:dict_key", f"field {shorten(key)} is missing"
    for key, field in value.items():
        if key not in golden:
            return "value_error:dict_key", f"field {shorten(key)} is not in the golden object"
        if not _is_accepted_field(field, golden[key]):
            return (
                "value_error:dict_value",
                f"field {key}: {_describe_unaccepted_value(field, golden[key])}",
            )
    return None


def _check_object_fields_v1(value: dict[str, Any], golden: Any) -> Mismatch | None:
    if type(golden) is not dict or type(value) is not dict:
        return "value_error:dict_items", f"{shorten(value)} is not equal to {shorten(golden)}"
    if len(value) != len(golden):
        return (
            "value_error:dict_items",
            f"the object has {len(value)} fields, but the golden object has {len(golden)}",
        )
    for key, field in value.items():
        if key not in golden:
            return "value_error:dict_key", f"field {shorten(key)} is not in the golden object"
        accepted = golden[key]
        if type(accepted) is dict:
            if mismatch := _check_object_fields_v1(field, accepted):
                return mismatch[0], f"field {key}: {mismatch[1]}"
        elif not _is_accepted_field(field, accepted):
            return (
                "value_error:dict_value",
                f"field {key}: {_describe_unaccepted_value(field, accepted)}",
            )
    return None


def _is_accepted_field(field: Any, accepted_values: Any) -> bool:
    if not isinstance(accepted_values, (list, dict, str)):
        return False
    return normalise_value(field) in [normalise_value(golden) for golden in accepted_values]


def check_object_list(values: list[Any], accepted_lists: list[Any], is_v1: bool) -> Mismatch | None:
    """Check that a list of objects matches one of the golden lists, element by element."""
    mismatch: Mismatch | None = (
        "list_dict_checker:unclear",
        "the golden answer accepts no list here",
    )
    for golden in accepted_lists:
        if not isinstance(golden, (list, str)):
            continue
        if len(values) != len(golden):
            message = f"the list has {len(values)} objects, but the golden list has {len(golden)}"
            mismatch = "value_error:list_dict_count", message
            continue
        mismatch = _check_object_elements(values, golden, is_v1)
        if mismatch is None:
            return None
    return mismatch


def _check_object_elements(
    values: list[Any], golden: list[Any] | str, is_v1: bool
) -> Mismatch | None:
    for index, (value, expected) in enumerate(zip(values, golden, strict=True)):
        if type(value) is not dict:
            return "value_error:dict_key", f"[{index}] is not an object"
        if mismatch := check_object(value, [expected], is_v1):
            return mismatch[0], f"[{index}] {mismatch[1]}"
    return None


def find_official_mismatch(parameter: ExpectedArgument, value: Any) -> Mismatch | None:
    """Check one argument by the official rules only."""
    if parameter.convert is not None and type(value) is not str:
        language, title = ("java", "Java") if parameter.language == "java" else ("js", "JavaScript")
        return f"type_error:{language}", f"{shorten(value)} is not a string with {title} code"
    try:
        value = _convert_to_declared_type(parameter, value)
    except OverflowError:
        return "value_error:others", "the number is too large for a float"
    value_type, kind = type(value), parameter.expected_type
    if value_type is not kind:
        if parameter.golden_type is None or value_type is not parameter.golden_type:
            return "type_error:simple", _describe_wrong_type(parameter, value)
        kind = object
    elif parameter.element_type is not None and not _has_expected_element_types(parameter, value):
        if parameter.golden_type is list:
            message = (
                f"{shorten(value)} has elements that are not"
                f" {describe_type(parameter.element_type)}"
            )
            return "type_error:nested", message
        return "type_error:simple", _describe_wrong_type(parameter, value)
    return _compare_with_accepted_values(
        parameter, value, object if parameter.is_variable else kind
    )


def _convert_to_declared_type(parameter: ExpectedArgument, value: Any) -> Any:
    if parameter.convert is not None:
        return parameter.convert(value)
    if parameter.to_list and type(value) is tuple:
        return list(value)
    return float(value) if parameter.to_float and type(value) is int else value


def _compare_with_accepted_values(
    parameter: ExpectedArgument, value: Any, kind: type
) -> Mismatch | None:
    """Compare a value of the type `kind` with the accepted values.

    Strings, lists and objects are normalised first. A value of any other type must be equal to an
    accepted value.
    """
    if kind is dict or (kind is list and parameter.element_type is dict):
        return (check_object if kind is dict else check_object_list)(
            value, parameter.accepted, parameter.is_v1
        )
    if kind is str:
        error, is_accepted = (
            "value_error:string",
            normalise_string(value) in parameter.normalised_accepted_strings,
        )
    elif kind is list:
        error, is_accepted = (
            "value_error:list/tuple",
            normalise_list(value) in parameter.normalised_accepted_lists,
        )
    else:
        error, is_accepted = "value_error:others", value in parameter.accepted
    return None if is_accepted else (error, _describe_unaccepted_value(value, parameter.accepted))


def find_mismatch(parameter: ExpectedArgument, value: Any) -> Mismatch | None:
    """Check one argument by the official rules.

    A value also passes if an equivalence rule accepts it.
    """
    mismatch = find_official_mismatch(parameter, value)
    if (
        mismatch is not None
        and parameter.equivalence_rules
        and is_accepted_by_equivalence(parameter, value)
    ):
        return None
    return mismatch


def _has_expected_element_types(parameter: ExpectedArgument, values: list[Any]) -> bool:
    """Whether all values have the declared element type, or the type of the first element of an
    accepted list.

    Values of several types fit only if one accepted list allows all of them.
    """
    for accepted in parameter.accepted:
        if type(accepted) is not list:
            return True
        types = {
            parameter.element_type,
            next((type(element) for element in accepted if element != ""), None),
        }
        if all(type(value) in types for value in values):
            return True
    return False


def _describe_unaccepted_value(value: Any, accepted: Any) -> str:
    return f"{shorten(value)} is not one of {describe_accepted_values(accepted)}"


def _describe_wrong_type(parameter: ExpectedArgument, value: Any) -> str:
    return (
        f"{shorten(value)} is {describe_type(type(value))}, but the declared type is"
        f" {parameter.declared_type}"
    )


SIMPLE_CHECKER = "simple_function_checker"
PARALLEL_CHECKER = "parallel_function_checker_no_order"
WRONG_NAME = f"{SIMPLE_CHECKER}:wrong_func_name"


class CallFailure(NamedTuple):
    """First error of a reply. The checks have the same order as in the official program."""

    error_type: str
    function: str | None
    argument: str | None
    message: str


def check_call(
    golden: ExpectedCall, name: str, arguments: JsonObject, spelling: NameSpelling
) -> CallFailure | None:
    """Check one call against one golden call.

    The function name passes only in the spelling that the model saw.
    """
    expected = golden.name if spelling == "dotted" else golden.flat_name
    if name != expected and not (spelling == "either" and name == golden.name):
        return CallFailure(
            WRONG_NAME,
            function=golden.name,
            argument=None,
            message=f"{name} is called instead of {expected}",
        )
    for key in golden.required:
        if key not in arguments:
            message = "the argument is required, but the call omits it"
            return _make_argument_failure("missing_required", golden, key, message)
    parameters = golden.parameters
    for key, value in arguments.items():
        parameter = parameters.get(key)
        if parameter is None:
            message = "the argument is not expected in this call"
            return _make_argument_failure("unexpected_param", golden, str(key), message)
        if (
            parameter.passes_if_equal
            and type(value) is parameter.expected_type
            and value in parameter.accepted
        ):
            continue
        if mismatch := find_mismatch(parameter, value):
            return CallFailure(
                mismatch[0], function=golden.name, argument=key, message=f"{key}: {mismatch[1]}"
            )
    for key in golden.not_omittable:
        if key not in arguments:
            return _make_argument_failure(
                "missing_optional", golden, key, "the call must not omit the argument"
            )
    return None


def _make_argument_failure(
    error: str, golden: ExpectedCall, argument: str, message: str
) -> CallFailure:
    return CallFailure(
        f"{SIMPLE_CHECKER}:{error}",
        function=golden.name,
        argument=argument,
        message=f"{argument}: {message}",
    )


def check_single_call(
    golden: list[ExpectedCall], calls: Calls, spelling: NameSpelling, error_prefix: str
) -> CallFailure | None:
    """Check a reply that must contain exactly one call.

    If it does not, the error is `{error_prefix}:wrong_count`.
    """
    if len(calls) != 1:
        message = f"{_describe_call_count(len(calls))}, but 1 was expected"
        return CallFailure(
            f"{error_prefix}:wrong_count", function=golden[0].name, argument=None, message=message
        )
    if not golden[0].has_function_doc:
        return _make_missing_doc_failure(golden[0], number=1, checker=error_prefix)
    _require_known_form(golden[0])
    return check_call(golden[0], *calls[0], spelling)


def check_unordered_calls(
    golden: list[ExpectedCall], calls: Calls, spelling: NameSpelling
) -> CallFailure | None:
    """Match each golden call with the first unmatched call that passes.

    As in BFCL, there is no backtracking.
    """
    if len(calls) != len(golden):
        message = f"{_describe_call_count(len(calls))}, but {len(golden)} were expected"
        return CallFailure(
            f"{PARALLEL_CHECKER}:wrong_count",
            function=golden[0].name,
            argument=None,
            message=message,
        )
    remaining = list(calls)
    for number, expected in enumerate(golden, 1):
        if not expected.has_function_doc:
            return _make_missing_doc_failure(expected, number=number, checker=PARALLEL_CHECKER)
        _require_known_form(expected)
        nearest: CallFailure | None = None
        for position, (name, arguments) in enumerate(remaining):
            failure = check_call(expected, name, arguments, spelling)
            if failure is None:
                del remaining[position]
                break
            if nearest is None or (
                nearest.error_type == WRONG_NAME and failure.error_type != WRONG_NAME
            ):
                nearest = failure
        else:
            message, argument = (
                f"no remaining call matches golden call {number} ({expected.name})",
                None,
            )
            if nearest is not None:
                message, argument = f"{message}; nearest call: {nearest.message}", nearest.argument
            return CallFailure(
                f"{PARALLEL_CHECKER}:cannot_find_match",
                function=expected.name,
                argument=argument,
                message=message,
            )
    return None


def _make_missing_doc_failure(expected: ExpectedCall, *, number: int, checker: str) -> CallFailure:
    """Return the failure of a reply to an item whose golden call is not an available function: no
    call can match.

    The error type is that of V1. Later official programs stop with an error, and write no scores at
    all.
    """
    message = f"golden call {number} calls {expected.name}, which is not an available function"
    return CallFailure(
        f"{checker}:cannot_find_description", expected.name, argument=None, message=message
    )


def _require_known_form(expected: ExpectedCall) -> None:
    """Raise UncheckableItem if calls cannot be compared with a golden call."""
    if expected.problem is not None:
        raise UncheckableItem(expected.problem)


def _describe_call_count(number: int) -> str:
    return "no call" if number == 0 else "1 call" if number == 1 else f"{number} calls"


def pair_calls(
    item: DatasetItem,
    predicted: list[Call],
    category: str,
    is_v1: bool,
    *,
    with_schema_violations: bool,
) -> list[CallPair]:
    """Pair golden with predicted calls.

    `with_schema_violations` adds violations of the function docs to the diffs.
    """
    converted, expected = predicted, None
    if language_of_category(category) != "python":
        expected = _compile_if_checkable(item, category, is_v1)
        converted = [_convert_source_arguments(call, expected) for call in predicted]
    pairs = align_calls(item.golden_calls, converted, COMPARISON_RULES)
    if (
        converted is predicted
        and not with_schema_violations
        and all(pair.state == "=" for pair in pairs)
    ):
        return pairs
    expected = _compile_if_checkable(item, category, is_v1) if expected is None else expected
    for pair in pairs:
        if pair.golden is None or pair.predicted is None or pair.golden >= len(expected):
            continue
        golden, call = expected[pair.golden], predicted[pair.predicted]
        if (arguments := call.arguments) is None or not golden.is_checkable:
            continue
        _align_diff_with_checker(pair, golden, call, converted[pair.predicted].arguments or {})
        if with_schema_violations:
            _add_schema_violations(pair, golden, arguments)
        if pair.diff:
            pair.state = "~" if all(difference.state == "~" for difference in pair.diff) else "!"
    return pairs


def _compile_if_checkable(item: DatasetItem, category: str, is_v1: bool) -> list[ExpectedCall]:
    try:
        return compile_expected_calls(item, category, is_v1)
    except UncheckableItem:
        return []


def _convert_source_arguments(call: Call, expected: list[ExpectedCall]) -> Call:
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


def _align_diff_with_checker(
    pair: CallPair, golden: ExpectedCall, call: Call, converted_arguments: JsonObject
) -> None:
    """Make the differences of a pair agree with the checker.

    `converted_arguments` are the arguments of `call` with Java and JavaScript source text converted
    to values.
    """
    if call.name not in (golden.name, golden.flat_name):
        return
    by_argument: dict[str, list[ArgumentDiff]] = {}
    for difference in pair.diff:
        name = str(split_path(difference.path)[0]) if difference.path else ""
        by_argument.setdefault(name, []).append(difference)
    # the checker expects the name in the function doc, which differs from the golden answer's
    if "" in by_argument:
        by_argument[""] = [
            ArgumentDiff("", state="~", reason=f"the name in the function doc is {golden.name}")
        ]
    for name, raw in (call.arguments or {}).items():
        parameter = golden.parameters.get(name)
        if parameter is not None and (parameter.convert is not None or name in by_argument):
            differences = by_argument.get(name, [])
            found = _correct_argument_differences(
                parameter, name, raw, converted_arguments[name], differences
            )
            if found or name in by_argument:
                by_argument[name] = found
    pair.diff = [difference for differences in by_argument.values() for difference in differences]


def _correct_argument_differences(
    parameter: ExpectedArgument,
    name: str,
    raw: Any,
    converted: Any,
    differences: list[ArgumentDiff],
) -> list[ArgumentDiff]:
    """Return the differences of one argument according to the checker.

    `raw` is the value in the call, `converted` the value converted from source text, or `raw`
    itself.
    """
    path, is_converted = append_to_path("", name), raw is not converted
    try:
        mismatch = find_mismatch(parameter, raw)
    except (RecursionError, TypeError, AttributeError, KeyError):
        return differences
    is_different = any(difference.state != "~" for difference in differences)
    if mismatch is None:
        if is_converted:
            return [
                ArgumentDiff(
                    path, state="~", reason=f"equal after conversion: {abbreviate(converted)}"
                )
            ]
        return (
            [ArgumentDiff(path, state="~", reason="accepted by the benchmark")]
            if is_different
            else differences
        )
    if not is_different:
        return [ArgumentDiff(path, state="!", reason=mismatch[1])]
    if is_converted:  # paths refer to the converted value, which is not displayed
        first = next(difference for difference in differences if difference.state != "~")
        inner = f"{first.path.removeprefix(path).removeprefix('.')}: " if first.path != path else ""
        return [ArgumentDiff(path, state="!", reason=f"after conversion, {inner}{first.reason}")]
    return differences


def _add_schema_violations(pair: CallPair, golden: ExpectedCall, arguments: dict[str, Any]) -> None:
    reason = "required by the function, but not by the golden answer"
    found = [
        ArgumentDiff(append_to_path("", name), state="-", reason=reason)
        for name in golden.required
        if name not in arguments
    ]
    reason = "in the golden answer, but not a parameter of the function"
    found += [
        ArgumentDiff(append_to_path("", name), state="!", reason=reason)
        for name in arguments
        if name in golden.undeclared
    ]
    listed = {difference.path for difference in pair.diff}
    pair.diff = [*pair.diff, *(difference for difference in found if difference.path not in listed)]
