"""Compare predicted with golden calls by the rules of the official `ast_checker.py`, and pair them
for the call diff.

The functions return None for a value that passes. The checker decides which arguments of a pair are
equal: it converts Java and JavaScript source text to values and accepts 5.0 for 5. The diff
explains the arguments that the checker does not accept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fcreview.importers.bfcl.checker.rules import CategoryRules
from fcreview.importers.bfcl.checker.schema import (
    COMPARISON_RULES,
    ExpectedArgument,
    ExpectedCall,
    UncheckableItem,
    compile_expected_calls,
    describe_accepted_values,
    describe_type,
    is_accepted_by_equivalence,
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


class Mismatch(NamedTuple):
    """Why a value does not pass."""

    error_type: str
    message: str

    def inside(self, place: str) -> Mismatch:
        """Return the mismatch of a part as the mismatch of the whole."""
        return Mismatch(self.error_type, f"{place} {self.message}")


def check_object(
    value: dict[str, Any], accepted_objects: list[Any], *, is_v1: bool
) -> Mismatch | None:
    """Check that an object matches a golden object.

    If none matches, return the mismatch with the last one.
    """
    mismatch = Mismatch("dict_checker:unclear", "the golden answer accepts no object here")
    for golden in accepted_objects:
        # The empty text says that the argument may be left out. It accepts no value.
        if golden == "":
            continue
        if is_v1:
            found = _check_object_fields_v1(value, golden)
        else:
            found = _check_object_fields(value, golden)
        if found is None:
            return None
        mismatch = found
    return mismatch


def _check_object_fields(value: dict[str, Any], golden: Any) -> Mismatch | None:
    """Check an object against one golden object by the rules of V2 to V4.

    A golden object such as `{"city": ["Rome", "Roma"], "zip": ["00100", ""]}` has a list of
    accepted values for each field. An empty text among them makes the field optional.
    """
    if type(golden) is not dict:
        message = f"{shorten(value)} is not equal to {shorten(golden)}"
        return Mismatch("value_error:dict_key", message)

    # A missing field decides the error type, whatever else is wrong, so it is looked for first.
    for key, accepted in golden.items():
        if key not in value and not _is_optional_field(accepted):
            return Mismatch("value_error:dict_key", f"field {shorten(key)} is missing")

    for key, field in value.items():
        if key not in golden:
            return _make_unknown_field_mismatch(key)
        if not _is_accepted_field(field, golden[key]):
            return _make_field_mismatch(key, field, golden[key])
    return None


def _check_object_fields_v1(value: Any, golden: Any) -> Mismatch | None:
    """Check an object against one golden object by the rules of V1.

    Unlike in later versions, no field is optional, and a field can be an object itself. The other
    fields of the golden object have a list of accepted values.
    """
    if type(golden) is not dict or type(value) is not dict:
        message = f"{shorten(value)} is not equal to {shorten(golden)}"
        return Mismatch("value_error:dict_items", message)
    if len(value) != len(golden):
        message = f"the object has {len(value)} fields, but the golden object has {len(golden)}"
        return Mismatch("value_error:dict_items", message)

    for key, field in value.items():
        if key not in golden:
            return _make_unknown_field_mismatch(key)
        accepted = golden[key]
        if type(accepted) is dict:
            mismatch = _check_object_fields_v1(field, accepted)
            if mismatch is not None:
                return mismatch.inside(f"field {key}:")
        elif not _is_accepted_field(field, accepted):
            return _make_field_mismatch(key, field, accepted)
    return None


def _is_optional_field(accepted: Any) -> bool:
    """Whether the value "" is among the accepted values of a field. A text contains it always."""
    return isinstance(accepted, str) or (isinstance(accepted, (list, dict)) and "" in accepted)


def _make_unknown_field_mismatch(key: str) -> Mismatch:
    return Mismatch("value_error:dict_key", f"field {shorten(key)} is not in the golden object")


def _make_field_mismatch(key: str, field: Any, accepted: Any) -> Mismatch:
    message = f"field {key}: {_describe_unaccepted_value(field, accepted)}"
    return Mismatch("value_error:dict_value", message)


def _is_accepted_field(field: Any, accepted_values: Any) -> bool:
    if not isinstance(accepted_values, (list, dict, str)):
        return False
    return normalise_value(field) in [normalise_value(golden) for golden in accepted_values]


def check_object_list(
    values: list[Any], accepted_lists: list[Any], *, is_v1: bool
) -> Mismatch | None:
    """Check that a list of objects matches one of the golden lists, element by element.

    If none matches, return the mismatch with the last one.
    """
    mismatch = Mismatch("list_dict_checker:unclear", "the golden answer accepts no list here")
    for golden in accepted_lists:
        # The text "", which marks an optional argument, has the length 0. So `list_dict_checker` of
        # `ast_checker.py` treats it as the empty list.
        if not isinstance(golden, (list, str)):
            continue
        found = _check_object_elements(values, golden, is_v1=is_v1)
        if found is None:
            return None
        mismatch = found
    return mismatch


def _check_object_elements(
    values: list[Any], golden: list[Any] | str, *, is_v1: bool
) -> Mismatch | None:
    """Check a list of objects against one golden list, object by object.

    `golden` may be the text `""`, which stands for an empty list. `is_v1` selects the rules of V1.
    """
    if len(values) != len(golden):
        message = f"the list has {len(values)} objects, but the golden list has {len(golden)}"
        return Mismatch("value_error:list_dict_count", message)

    for index, (value, golden_object) in enumerate(zip(values, golden, strict=True)):
        if type(value) is not dict:
            return Mismatch("value_error:dict_key", f"[{index}] is not an object")
        mismatch = check_object(value, [golden_object], is_v1=is_v1)
        if mismatch is not None:
            return mismatch.inside(f"[{index}]")
    return None


def find_official_mismatch(parameter: ExpectedArgument, value: Any) -> Mismatch | None:
    """Check one predicted argument by the rules of BFCL's checker, without the user's equivalence
    rules. Return why it fails, or None.

    First the type is checked, then the value is compared with the accepted values. `parameter` has
    the declared type and the accepted values of the golden answer.
    """
    # Arguments of Java and JavaScript calls are source text, which is converted to a value.
    is_source_text_expected = parameter.convert is not None
    if is_source_text_expected and type(value) is not str:
        return _make_source_text_mismatch(parameter, value)
    try:
        converted = _convert_to_declared_type(parameter, value)
    except OverflowError:
        return Mismatch("value_error:others", "the number is too large for a float")

    converted_type = type(converted)
    if converted_type is not parameter.expected_type:
        return _check_value_of_other_type(parameter, converted)
    if parameter.element_type is not None and not _has_expected_element_types(parameter, converted):
        return _make_element_type_mismatch(parameter, converted)
    # The value has the declared type. If the golden answer has another one, it is the name of a
    # variable, which `ast_checker.py` compares by equality, without normalising.
    if parameter.is_variable:
        return _compare_with_accepted_values(parameter, converted, compared_type=object)
    return _compare_with_accepted_values(parameter, converted, parameter.expected_type)


def _check_value_of_other_type(parameter: ExpectedArgument, value: Any) -> Mismatch | None:
    """Check a value that does not have the declared type.

    If the golden answer itself has another type than declared, the checker takes it for the name of
    a variable. A value of the same type as the golden answer then needs to be equal. Any other
    value fails.
    """
    if parameter.golden_type is None or type(value) is not parameter.golden_type:
        return _make_type_mismatch(parameter, value)
    return _compare_with_accepted_values(parameter, value, compared_type=object)


def _make_element_type_mismatch(parameter: ExpectedArgument, value: Any) -> Mismatch:
    """Return the error for a list with elements of a wrong type.

    The checker calls it a nested error only if the golden value is a list.
    """
    if parameter.golden_type is not list or parameter.element_type is None:
        return _make_type_mismatch(parameter, value)
    element_type = describe_type(parameter.element_type)
    message = f"{shorten(value)} has elements that are not {element_type}"
    return Mismatch("type_error:nested", message)


def _make_source_text_mismatch(parameter: ExpectedArgument, value: Any) -> Mismatch:
    """Return the error of a value that should be Java or JavaScript source text, but is no text."""
    if parameter.language == "java":
        return Mismatch("type_error:java", f"{shorten(value)} is not a string with Java code")
    return Mismatch("type_error:js", f"{shorten(value)} is not a string with JavaScript code")


def _make_type_mismatch(parameter: ExpectedArgument, value: Any) -> Mismatch:
    message = (
        f"{shorten(value)} is {describe_type(type(value))}, but the declared type is"
        f" {parameter.declared_type}"
    )
    return Mismatch("type_error:simple", message)


def _convert_to_declared_type(parameter: ExpectedArgument, value: Any) -> Any:
    """Convert a value as BFCL's checker does before it compares types."""
    if parameter.convert is not None:
        return parameter.convert(value)
    if parameter.to_list and type(value) is tuple:
        return list(value)
    if parameter.to_float and type(value) is int:
        return float(value)
    return value


def _compare_with_accepted_values(
    parameter: ExpectedArgument, value: Any, compared_type: type
) -> Mismatch | None:
    """Compare a value with the values that the golden answer accepts for a parameter.

    The comparison depends on `compared_type`: strings and lists are normalised (case, spaces and
    some punctuation do not count), objects are compared field by field, and all other values must
    be equal to an accepted value.
    """
    accepted = parameter.accepted
    if compared_type is dict:
        return check_object(value, accepted, is_v1=parameter.is_v1)
    if compared_type is list and parameter.element_type is dict:
        return check_object_list(value, accepted, is_v1=parameter.is_v1)

    if compared_type is str:
        error_type = "value_error:string"
        is_accepted = normalise_string(value) in parameter.normalised_accepted_strings
    elif compared_type is list:
        error_type = "value_error:list/tuple"
        is_accepted = normalise_list(value) in parameter.normalised_accepted_lists
    else:
        error_type = "value_error:others"
        is_accepted = value in accepted
    if is_accepted:
        return None
    return Mismatch(error_type, _describe_unaccepted_value(value, accepted))


def find_mismatch(parameter: ExpectedArgument, value: Any) -> Mismatch | None:
    """Return how a value differs from the accepted values of an argument, or None if it passes.

    It passes if the official rules or one of the user's equivalence rules accept it.
    """
    mismatch = find_official_mismatch(parameter, value)
    if mismatch is None or not parameter.equivalence_rules:
        return mismatch
    if is_accepted_by_equivalence(parameter, value):
        return None
    return mismatch


def _has_expected_element_types(parameter: ExpectedArgument, values: list[Any]) -> bool:
    """Whether the elements of a list have types that one of the accepted lists allows.

    An accepted list allows the declared element type, and the type of its own first element.
    """
    for accepted in parameter.accepted:
        # An accepted value that is no list, such as "", allows any elements.
        if type(accepted) is not list:
            return True
        golden_element_type = next((type(element) for element in accepted if element != ""), None)
        allowed_types = (parameter.element_type, golden_element_type)
        if all(type(value) in allowed_types for value in values):
            return True
    return False


def _describe_unaccepted_value(value: Any, accepted: Any) -> str:
    return f"{shorten(value)} is not one of {describe_accepted_values(accepted)}"


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
    """Check one predicted call against one golden call. Return the first failure, or None.

    `spelling` says how the model saw function names: native APIs allow no dots, so `math.gcd`
    became `math_gcd`. The name passes only in the spelling that the model saw.
    """
    if not _is_expected_name(golden, name, spelling):
        return CallFailure(
            WRONG_NAME,
            function=golden.name,
            argument=None,
            message=f"{name} is called instead of {_spell_name(golden, spelling)}",
        )

    # The checks come in the order of BFCL's checker, because the first failure decides.
    for key in golden.required:
        if key not in arguments:
            message = "the argument is required, but the call omits it"
            return _make_argument_failure("missing_required", golden, key, message)

    for key, value in arguments.items():
        parameter = golden.parameters.get(key)
        if parameter is None:
            message = "the argument is not expected in this call"
            return _make_argument_failure("unexpected_param", golden, str(key), message)
        if _passes_at_once(parameter, value):
            continue
        mismatch = find_mismatch(parameter, value)
        if mismatch is not None:
            return CallFailure(
                mismatch.error_type,
                function=golden.name,
                argument=key,
                message=f"{key}: {mismatch.message}",
            )

    for key in golden.not_omittable:
        if key not in arguments:
            message = "the call must not omit the argument"
            return _make_argument_failure("missing_optional", golden, key, message)
    return None


def _spell_name(golden: ExpectedCall, spelling: NameSpelling) -> str:
    return golden.name if spelling == "dotted" else golden.flat_name


def _is_expected_name(golden: ExpectedCall, name: str, spelling: NameSpelling) -> bool:
    if name == _spell_name(golden, spelling):
        return True
    return spelling == "either" and name == golden.name


def _passes_at_once(parameter: ExpectedArgument, value: Any) -> bool:
    """Whether a value needs no further checks. Most values do not, and they are many."""
    return (
        parameter.passes_if_equal
        and type(value) is parameter.expected_type
        and value in parameter.accepted
    )


def _make_argument_failure(
    error: str, golden: ExpectedCall, argument: str, message: str
) -> CallFailure:
    """Make the failure of a call because of one argument, with an error type of BFCL."""
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
    expected = golden[0]
    if len(calls) != 1:
        return CallFailure(
            f"{error_prefix}:wrong_count",
            function=expected.name,
            argument=None,
            message=f"{_describe_call_count(len(calls))}, but 1 was expected",
        )
    if not expected.has_function_doc:
        return _make_missing_doc_failure(expected, number=1, checker=error_prefix)
    _require_known_form(expected)
    name, arguments = calls[0]
    return check_call(expected, name, arguments, spelling)


def check_unordered_calls(
    golden: list[ExpectedCall], calls: Calls, spelling: NameSpelling
) -> CallFailure | None:
    """Check calls that may come in any order. Return the first failure, or None.

    Each golden call takes the first predicted call that passes and that no earlier golden call
    took. As in BFCL, this choice is final, even if another one would let all calls pass.
    """
    if len(calls) != len(golden):
        return CallFailure(
            f"{PARALLEL_CHECKER}:wrong_count",
            function=golden[0].name,
            argument=None,
            message=f"{_describe_call_count(len(calls))}, but {len(golden)} were expected",
        )

    remaining = list(calls)
    for number, expected in enumerate(golden, 1):
        if not expected.has_function_doc:
            return _make_missing_doc_failure(expected, number=number, checker=PARALLEL_CHECKER)
        _require_known_form(expected)
        match = _find_matching_call(expected, remaining, spelling)
        if match.index is None:
            return _make_unmatched_failure(expected, number=number, nearest=match.nearest_failure)
        del remaining[match.index]
    return None


@dataclass(frozen=True, slots=True)
class _Match:
    """Result of the search for the call that matches a golden call."""

    index: int | None
    """Index of the first call that passes; None if no call does."""
    nearest_failure: CallFailure | None = None
    """Failure of the call that is nearest to the golden call, if no call passes."""


def _find_matching_call(expected: ExpectedCall, calls: Calls, spelling: NameSpelling) -> _Match:
    """Return the index of the first call that passes, or the failure of the call that comes
    nearest.
    """
    nearest_failure: CallFailure | None = None
    for index, (name, arguments) in enumerate(calls):
        failure = check_call(expected, name, arguments, spelling)
        if failure is None:
            return _Match(index)
        if nearest_failure is None or _is_nearer(failure, nearest_failure):
            nearest_failure = failure
    return _Match(None, nearest_failure)


def _is_nearer(failure: CallFailure, other: CallFailure) -> bool:
    """Whether a call has the right name, which the other call does not have."""
    return other.error_type == WRONG_NAME and failure.error_type != WRONG_NAME


def _make_unmatched_failure(
    expected: ExpectedCall, *, number: int, nearest: CallFailure | None
) -> CallFailure:
    """Return the failure that no predicted call matches a golden call."""
    message = f"no remaining call matches golden call {number} ({expected.name})"
    if nearest is not None:
        message += f"; nearest call: {nearest.message}"
    return CallFailure(
        f"{PARALLEL_CHECKER}:cannot_find_match",
        function=expected.name,
        argument=nearest.argument if nearest is not None else None,
        message=message,
    )


def _make_missing_doc_failure(expected: ExpectedCall, *, number: int, checker: str) -> CallFailure:
    """Return the failure of an item whose golden call is not an available function, so that no
    reply can match it.

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
    if number == 0:
        return "no call"
    if number == 1:
        return "1 call"
    return f"{number} calls"


def pair_calls(
    item: DatasetItem,
    predicted: list[Call],
    rules: CategoryRules,
    *,
    with_schema_violations: bool,
) -> list[CallPair]:
    """Pair the golden calls of an item with predicted calls, to show their differences.

    A general comparison finds the pairs. Then the differences of each pair are corrected so that
    they agree with BFCL's checker, which for example accepts several values.

    Args:
        item: The item with the golden calls.
        predicted: The calls in the reply.
        rules: The rules of the item's category.
        with_schema_violations: Whether to add arguments that violate the function docs.
    """
    # Java and JavaScript calls have source text as arguments, which is converted to values first.
    has_source_text = rules.language != "python"
    compared_calls = predicted
    if has_source_text:
        compared_calls = _convert_source_calls(predicted, item, rules)
    pairs = align_calls(item.golden_calls, compared_calls, COMPARISON_RULES)

    # Most replies are right. Their pairs need no golden calls in the form of the checker, which
    # take time to make.
    are_equal = all(pair.state == "=" for pair in pairs)
    if are_equal and not has_source_text and not with_schema_violations:
        return pairs

    expected = _compile_if_checkable(item, rules)
    for pair in pairs:
        golden = _get_checkable_golden_call(pair, expected)
        if golden is None or pair.predicted is None:
            continue
        call = predicted[pair.predicted]
        if call.arguments is None:
            continue
        compared_arguments = compared_calls[pair.predicted].arguments or {}
        _align_diff_with_checker(pair, golden, call, compared_arguments)
        if with_schema_violations:
            _add_schema_violations(pair, golden, call.arguments)
        _update_state(pair)
    return pairs


def _get_checkable_golden_call(pair: CallPair, expected: list[ExpectedCall]) -> ExpectedCall | None:
    """Return the golden call of a pair in the form of the checker. None if the pair has no golden
    call, or one that the checker does not compare.
    """
    # `expected` is empty if the golden answer cannot be checked.
    if pair.golden is None or pair.golden >= len(expected):
        return None
    golden = expected[pair.golden]
    return golden if golden.is_checkable else None


def _update_state(pair: CallPair) -> None:
    """Set the state of a pair that follows from its differences."""
    if not pair.diff:
        return
    is_accepted = all(difference.state == "~" for difference in pair.diff)
    pair.state = "~" if is_accepted else "!"


def _compile_if_checkable(item: DatasetItem, rules: CategoryRules) -> list[ExpectedCall]:
    try:
        return compile_expected_calls(item, rules)
    except UncheckableItem:
        return []


def _convert_source_calls(calls: list[Call], item: DatasetItem, rules: CategoryRules) -> list[Call]:
    """Return calls with the arguments as values instead of Java or JavaScript source text."""
    expected = _compile_if_checkable(item, rules)
    return [_convert_source_arguments(call, expected) for call in calls]


def _convert_source_arguments(call: Call, expected: list[ExpectedCall]) -> Call:
    """Return a call whose Java or JavaScript arguments are converted from source text to values.

    The golden call of the same function declares the types. Without one, or without a change, the
    call itself is returned.
    """
    golden = _find_expected_call(call.name, expected)
    if golden is None or not call.arguments:
        return call

    changed = {}
    for name, value in call.arguments.items():
        parameter = golden.parameters.get(name)
        if parameter is None or parameter.convert is None or type(value) is not str:
            continue
        converted = parameter.convert(value)
        if type(converted) is not str or converted != value:
            changed[name] = converted
    if not changed:
        return call
    return replace(call, arguments=call.arguments | changed)


def _find_expected_call(name: str, expected: list[ExpectedCall]) -> ExpectedCall | None:
    """Return the first golden call of a function, whose name may be spelled with or without
    dots.
    """
    for golden in expected:
        if name in (golden.name, golden.flat_name):
            return golden
    return None


def _align_diff_with_checker(
    pair: CallPair, golden: ExpectedCall, call: Call, compared_arguments: JsonObject
) -> None:
    """Correct the differences of a pair so that they agree with BFCL's checker.

    Args:
        pair: The pair. Its list of differences, `pair.diff`, is replaced.
        golden: The golden call in the form of the checker.
        call: The predicted call.
        compared_arguments: The arguments of `call` with Java and JavaScript source text converted
            to values.
    """
    # The checker looks at the arguments only if the name is right.
    if call.name not in (golden.name, golden.flat_name):
        return

    differences_by_argument = _group_by_argument(pair.diff)
    if WHOLE_CALL in differences_by_argument:
        # The call has the name in the function doc, as the checker demands. Only the golden answer
        # has another name. So this is no error ("~" marks accepted differences).
        reason = f"the name in the function doc is {golden.name}"
        differences_by_argument[WHOLE_CALL] = [ArgumentDiff("", state="~", reason=reason)]

    for name, raw in (call.arguments or {}).items():
        parameter = golden.parameters.get(name)
        if parameter is None:
            continue
        known_differences = differences_by_argument.get(name, [])
        # Only a value that was converted can be wrong without a known difference.
        if not known_differences and parameter.convert is None:
            continue
        differences_by_argument[name] = _correct_argument_differences(
            parameter, name, raw, compared_arguments[name], known_differences
        )

    pair.diff = []
    for differences in differences_by_argument.values():
        pair.diff += differences


WHOLE_CALL = ""
"""Stands for the argument name of a difference of the call as a whole: another function name."""


def _group_by_argument(differences: list[ArgumentDiff]) -> dict[str, list[ArgumentDiff]]:
    """Return the differences by argument name, and those of the call as a whole by `WHOLE_CALL`."""
    by_argument: dict[str, list[ArgumentDiff]] = {}
    for difference in differences:
        name = str(split_path(difference.path)[0]) if difference.path else WHOLE_CALL
        by_argument.setdefault(name, []).append(difference)
    return by_argument


def _correct_argument_differences(
    parameter: ExpectedArgument,
    name: str,
    raw: Any,
    converted: Any,
    differences: list[ArgumentDiff],
) -> list[ArgumentDiff]:
    """Return the differences of one argument as BFCL's checker sees them.

    The general comparison can find a difference where the checker accepts the value, and the
    reverse. The state "~" marks a difference that is accepted, "!" one that is an error.

    Args:
        parameter: Declared type and accepted values of the golden argument.
        name: Name of the argument.
        raw: The value in the call.
        converted: The value converted from Java or JavaScript source text, else `raw` itself.
        differences: The differences that the general comparison found.
    """
    try:
        mismatch = find_mismatch(parameter, raw)
    except (RecursionError, TypeError, AttributeError, KeyError):
        # The checker would fail too, so there is nothing to agree with.
        return differences

    path = append_to_path("", name)
    is_converted = raw is not converted
    errors = [difference for difference in differences if difference.state != "~"]
    if mismatch is None:
        # The checker accepts the value, so no difference may remain an error.
        if is_converted:
            reason = f"equal after conversion: {abbreviate(converted)}"
            return [ArgumentDiff(path, state="~", reason=reason)]
        if errors:
            return [ArgumentDiff(path, state="~", reason="accepted by the benchmark")]
        return differences

    # The checker rejects the value, so at least one difference must be an error.
    if not errors:
        return [ArgumentDiff(path, state="!", reason=mismatch.message)]
    if is_converted:
        # Paths refer to the converted value, which is not displayed.
        reason = _describe_difference_after_conversion(errors[0], path)
        return [ArgumentDiff(path, state="!", reason=reason)]
    return differences


def _describe_difference_after_conversion(difference: ArgumentDiff, path: str) -> str:
    if difference.path == path:
        return f"after conversion, {difference.reason}"
    inner_path = difference.path.removeprefix(path).removeprefix(".")
    return f"after conversion, {inner_path}: {difference.reason}"


def _add_schema_violations(pair: CallPair, golden: ExpectedCall, arguments: dict[str, Any]) -> None:
    """Add the differences that only the function doc explains, after those of the golden answer."""
    listed = {difference.path for difference in pair.diff}
    for violation in _find_schema_violations(golden, arguments):
        if violation.path not in listed:
            pair.diff.append(violation)


def _find_schema_violations(
    golden: ExpectedCall, arguments: dict[str, Any]
) -> Iterator[ArgumentDiff]:
    """Yield where the function docs and the golden answer contradict each other about the arguments
    of a call.
    """
    for name in golden.required:
        if name not in arguments:
            reason = "required by the function, but not by the golden answer"
            yield ArgumentDiff(append_to_path("", name), state="-", reason=reason)
    for name in arguments:
        if name in golden.undeclared:
            reason = "in the golden answer, but not a parameter of the function"
            yield ArgumentDiff(append_to_path("", name), state="!", reason=reason)
