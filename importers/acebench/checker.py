"""Check the calls of normal replies, and special replies, as ACEBench's evaluator does.

This module reproduces the released checkers, including their errors. They give the same verdicts in
both versions of the rules (`decoding.py`):

* A string argument only has to contain the golden string.
* Numbers and booleans are not compared. A value is not compared either if the type of the golden
  value is not the declared type.
* One predicted call may match two golden calls. The reply then passes although another predicted
  call matches none.
* In Chinese runs too, special replies must contain English phrases.
* Nothing is executed. Agent states and calls are compared as recorded.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

from fcreview.importers.acebench.decoding import DecodedCall
from fcreview.matching.diff import ComparisonRules
from fcreview.model.function_schema import read_declared_parameters

PYTHON_TYPES: dict[str, type] = {
    **dict.fromkeys(("string", "any"), str),
    **dict.fromkeys(("integer", "int", "number"), int),
    "float": float,
    "boolean": bool,
    **dict.fromkeys(("array", "tuple", "list", "list(string)", "list(enum)", "objectArray"), list),
    **dict.fromkeys(("object", "dict"), dict),
}
"""Declared type of a parameter -> Python type. As in the evaluator, `number` is `int`."""
NESTED_TYPES = ("array", "tuple", "list(string)", "list(enum)", "object", "objectArray")
_NORMALISATION = str.maketrans("'", '"', " ,./-_*^")

GROUND_TRUTH, MILE_STONE = "ground_truth", "mile_stone"
# Error types, such as "wrong number of class", are spelled as in the evaluator.
UNCLEAR_ERROR = "simple_function_checker:unclear"
REQUIRED_PHRASES = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}
"""Category -> phrase that a reply must contain. Case matters."""


class ValueFailure(NamedTuple):
    """Reason why a predicted value does not match its golden value."""

    error_type: str
    """Error type of the official evaluator."""
    message: str


class DeclaredType(NamedTuple):
    """Type of a parameter or of a list element in a function doc."""

    name: str
    items: Any = None
    """Schema of the elements of an array, or None if the function doc does not declare it."""


class TypeCheck(NamedTuple):
    """Result of a type check of one predicted value."""

    is_accepted: bool
    skips_comparison: bool
    """Whether the evaluator does not compare the predicted value with the golden value."""


@dataclass(slots=True)
class CheckOutcome:
    """Result of a check.

    A failed check states the evaluator's error type, a message, and where the error is.
    """

    valid: bool
    _: KW_ONLY
    error_type: str | None = None
    message: str | None = None
    function: str | None = None
    """Name of the function with the error.

    For an end state, it is the name of the class with the error.
    """
    argument: str | None = None
    """Name of the argument with the error.

    For an end state, it is the name of the attribute with the error.
    """


PASSED = CheckOutcome(True)


class EnumType:
    """Python type for the declared type `enum`.

    No value has this type, so no value passes the type check.
    """


def normalise_text(text: str) -> str:
    """Convert a text to lower case, remove spaces and some punctuation, and replace `'` by `"`."""
    return text.translate(_NORMALISATION).lower()


def _normalise_value(value: Any) -> Any:
    return normalise_text(value) if isinstance(value, str) else value


COMPARISON_RULES = ComparisonRules(normalise=normalise_text)
"""Rules that the screens use to compare predicted and golden calls.

Unlike the checker, they require equal strings.
"""


def to_python_type(declared_type: str) -> type:
    """Return the Python type of a declared type.

    Raises KeyError for an unknown type, where the evaluator crashes.
    """
    return EnumType if declared_type == "enum" else PYTHON_TYPES[declared_type]


def check_value_type(predicted: Any, golden: Any, declared: DeclaredType) -> TypeCheck:
    """Check the type of a predicted value.

    The evaluator does not compare the values if the type of the golden value is not the declared
    type.
    """
    expected = to_python_type(declared.name)
    skip = golden != "" and type(golden) is not expected
    if predicted in ("true", "false") and isinstance(predicted, str):
        predicted = predicted == "true"
    has_declared_type = type(predicted) is expected
    is_nested = declared.name in NESTED_TYPES
    if has_declared_type and (
        not is_nested or _has_elements_of_declared_type(predicted, golden, declared)
    ):
        return TypeCheck(True, skip)
    if golden != "" and (type(predicted) is type(golden) or predicted == golden):
        return TypeCheck(not has_declared_type, True)
    return TypeCheck(False, skip)


def _get_element_type(declared: DeclaredType) -> DeclaredType:
    if isinstance(declared.items, dict) and "type" in declared.items:
        return DeclaredType(declared.items["type"], declared.items.get("items"))
    return DeclaredType(
        next((word for word in ("string", "enum") if word in declared.name), "dict")
    )


def _has_elements_of_declared_type(predicted: Any, golden: Any, declared: DeclaredType) -> bool:
    inner = _get_element_type(declared)
    return any(
        not isinstance(element, list)
        or all(check_value_type(each, element, inner).is_accepted for each in predicted)
        for element in golden
    )


def compare_values(
    path: str, predicted: Any, golden: Any, declared: DeclaredType
) -> ValueFailure | None:
    """Compare a predicted value with the golden value.

    The message contains `path`, the name of the value.
    """
    expected = to_python_type(declared.name)
    if expected is str:
        if normalise_text(str(golden)) in normalise_text(str(predicted)):
            return None
        return ValueFailure(
            "value_error:string", f"{path}: {predicted!r} does not contain {golden!r}"
        )
    if expected is list:
        if PYTHON_TYPES.get(_get_element_type(declared).name) is dict:
            return _compare_object_lists(path, predicted, golden)
        is_same = list(map(_normalise_value, predicted)) == list(map(_normalise_value, golden))
        message = f"{path}: {predicted!r} differs from {golden!r}"
        return None if is_same else ValueFailure("value_error:list/tuple", message)
    if expected is dict:
        return compare_objects(path, predicted, golden)
    return None


def _compare_object_lists(path: str, predicted: Any, golden: Any) -> ValueFailure | None:
    if len(predicted) != len(golden):
        message = f"{path} has {len(predicted)} objects instead of {len(golden)}"
        return ValueFailure("value_error:list_dict_count", message)
    pairs = enumerate(zip(predicted, golden, strict=True))
    failures = (
        compare_objects(f"{path}[{index}]", ours, theirs) for index, (ours, theirs) in pairs
    )
    return next(filter(None, failures), None)


def compare_objects(path: str, predicted: Any, golden: Any) -> ValueFailure | None:
    if (
        not isinstance(predicted, dict)
        or not isinstance(golden, dict)
        or len(predicted) != len(golden)
    ):
        return ValueFailure(
            "value_error", f"{path} is not an object with as many fields as the golden object"
        )
    for key, ours in predicted.items():
        field = f"{path}.{key}"
        if key not in golden:
            return ValueFailure("value_error", f"{field} is not in the golden object")
        theirs = golden[key]
        if isinstance(ours, str) and ours in ("true", "false"):
            ours = ours == "true"
        if isinstance(theirs, dict):
            if failure := compare_objects(field, ours, theirs):
                return failure
        elif str(_normalise_value(theirs)) not in str(_normalise_value(ours)):
            return ValueFailure("value_error", f"{field}: {ours!r} does not contain {theirs!r}")
    return None


def check_calls(
    predicted: list[DecodedCall], golden_answers: Any, function_docs: list[dict[str, Any]]
) -> CheckOutcome:
    """Check the calls of a normal reply against one golden answer `{function: {argument: value}}`
    or a list of them.

    Several golden calls of the function `f` have the keys `f_1`, `f_2` and so on. If no golden
    answer matches, return the outcome for the first one.
    """
    first_failure = None
    for golden in golden_answers if isinstance(golden_answers, list) else [golden_answers]:
        outcome = _check_against_golden_answer(predicted, golden, function_docs)
        if outcome.valid:
            return outcome
        first_failure = first_failure or outcome
    return first_failure or CheckOutcome(
        False, error_type=None, message="the dataset has no golden answer for this item"
    )


def _check_against_golden_answer(
    predicted: list[DecodedCall], golden: dict[str, Any], function_docs: list[dict[str, Any]]
) -> CheckOutcome:
    if len(predicted) != len(golden):
        text = f"the reply has {len(predicted)} calls instead of {len(golden)}"
        return CheckOutcome(False, error_type="wrong functions number", message=text)
    expected = [(key, re.sub(r"_\d+$", "", key), arguments) for key, arguments in golden.items()]
    ours, theirs = Counter(name for name, _ in predicted), Counter(name for _, name, _ in expected)
    if ours != theirs:
        odd = next((n for n in ours if n not in theirs), None) or next(
            (n for n in theirs if n not in ours), None
        )
        text = "the reply calls a function more or less often than the golden answer"
        if odd:
            text = f"only the {'reply' if odd in ours else 'golden answer'} calls {odd}"
        return CheckOutcome(False, error_type="function_mismatch", message=text, function=odd)
    for key, name, golden_arguments in expected:
        function_doc = next((each for each in function_docs if each["name"] in key), None)
        outcome = CheckOutcome(
            False,
            error_type=UNCLEAR_ERROR,
            message=f"no predicted call matches {name}",
            function=name,
        )
        for called, arguments in predicted:
            if called != name:
                text = f"no predicted call matches {name}; the last call is {called}"
                outcome = CheckOutcome(False, error_type=UNCLEAR_ERROR, message=text, function=name)
                continue
            outcome = check_call(called, arguments, golden_arguments, function_doc)
            if outcome.valid:
                break
        if not outcome.valid:
            return outcome
    return PASSED


def check_call(
    function_name: str,
    arguments: dict[Any, Any],
    golden_arguments: dict[str, Any],
    function_doc: dict[str, Any] | None,
) -> CheckOutcome:
    if function_doc is None:
        text = f"{function_name} has no function doc"
        return CheckOutcome(
            False, error_type="wrong_function_name", message=text, function=function_name
        )
    is_undeclared = function_doc.get("parameters", {}) == {}
    if not arguments and is_undeclared:
        return PASSED
    if not arguments or is_undeclared:
        text = f"the call of {function_name} has no arguments, or its function doc declares none"
        return CheckOutcome(False, error_type="wrong_param", message=text, function=function_name)
    declared = read_declared_parameters(function_doc, strict=True)
    properties = declared.properties or {}
    if golden_arguments == properties:
        return PASSED
    if not golden_arguments:
        text = f"the golden call of {function_name} has no arguments"
        return CheckOutcome(False, error_type="wrong_param", message=text, function=function_name)
    if function_doc["name"] != function_name:
        text = f"the reply calls {function_name} instead of {function_doc['name']}"
        return CheckOutcome(
            False, error_type="wrong_function_name", message=text, function=function_name
        )
    missing = next(
        (required for required in declared.required or () if required not in arguments), None
    )
    if missing is not None:
        text = f"the required argument {missing} is missing"
        return CheckOutcome(
            False, error_type="lack_args", message=text, function=function_name, argument=missing
        )
    return _check_arguments(function_name, arguments, golden_arguments, properties)


def _check_arguments(
    function_name: str,
    arguments: dict[Any, Any],
    golden_arguments: dict[str, Any],
    properties: dict[str, Any],
) -> CheckOutcome:
    for argument, value in arguments.items():
        if argument not in properties or argument not in golden_arguments:
            text = f"the function doc or the golden call does not have the argument {argument}"
            return CheckOutcome(
                False,
                error_type="addition_args",
                message=text,
                function=function_name,
                argument=argument,
            )
        if failure := _check_argument(
            argument, value, golden_arguments[argument], properties[argument]
        ):
            return CheckOutcome(
                False,
                error_type=failure.error_type,
                message=failure.message,
                function=function_name,
                argument=argument,
            )
    return PASSED


def _check_argument(
    argument: str, predicted: Any, golden: Any, schema: dict[str, Any]
) -> ValueFailure | None:
    declared = DeclaredType(str(schema.get("type")), schema.get("items"))
    if declared.name == "tuple" and isinstance(predicted, tuple):
        predicted = list(predicted)
    if declared.name == "float" and type(predicted) is int:
        predicted = float(predicted)
    try:
        checked = check_value_type(predicted, golden, declared)
        if not checked.is_accepted:
            return ValueFailure(
                "type_error", f"{argument}: {predicted!r} is not of type {declared.name}"
            )
        return (
            None
            if checked.skips_comparison
            else compare_values(argument, predicted, golden, declared)
        )
    except (KeyError, TypeError) as error:
        return ValueFailure(
            "type_error", f"{argument}: the declared type cannot be checked ({error})"
        )


def check_special_reply(reply: Any, golden: Any, category: str) -> CheckOutcome:
    """Check that a special reply contains the required phrase and words.

    `golden` is `{function: [missing parameters]}` or `{parameter: [wrong values]}`. The reply must
    contain the function and the missing parameters, or the wrong values. It need not contain the
    name of a parameter with wrong values.
    """
    text = reply if isinstance(reply, str) else ""
    phrase = REQUIRED_PHRASES[category]
    if phrase not in text:
        return CheckOutcome(
            False, error_type="error_detection", message=f"the reply does not contain {phrase!r}"
        )
    outcome = PASSED
    if category != "special_irrelevant" and isinstance(golden, dict):
        for name, words in golden.items():
            required = [name, *words] if category == "special_incomplete" else list(words)
            missing = [str(word) for word in required if str(word) not in text]
            if missing:
                message = f"the reply does not mention {', '.join(missing)}"
                outcome = CheckOutcome(
                    False,
                    error_type="error_correction",
                    message=message,
                    function=name,
                    argument=missing[0],
                )
    return outcome
