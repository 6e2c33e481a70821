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

GROUND_TRUTH = "ground_truth"
MILE_STONE = "mile_stone"
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
    """Check whether a predicted value has the type that the function doc declares.

    The evaluator has two exceptions, which this function follows. A value of another type is
    accepted if it is like the golden value. If the golden value itself has another type, or if the
    exception was used, the evaluator does not compare the values afterwards.
    """
    expected = to_python_type(declared.name)
    # An empty text means that the argument may be omitted.
    has_golden = golden != ""
    golden_has_other_type = has_golden and type(golden) is not expected

    # For this check only, the texts `true` and `false` are booleans.
    value = predicted
    if isinstance(predicted, str) and predicted in ("true", "false"):
        value = predicted == "true"

    has_declared_type = type(value) is expected
    is_nested = declared.name in NESTED_TYPES
    if has_declared_type and (
        not is_nested or _has_elements_of_declared_type(value, golden, declared)
    ):
        return TypeCheck(True, skips_comparison=golden_has_other_type)

    # What remains are a value of another type than declared, and a list or object of the declared
    # type with a wrong element. The exception sets "skip" for both, but accepts only the former:
    # the evaluator has already recorded the wrong element as an error.
    is_like_golden = has_golden and (type(value) is type(golden) or value == golden)
    if is_like_golden:
        return TypeCheck(is_accepted=not has_declared_type, skips_comparison=True)
    return TypeCheck(False, skips_comparison=golden_has_other_type)


def _get_element_type(declared: DeclaredType) -> DeclaredType:
    """Return the declared type of the elements of an array.

    If the function doc does not declare it, the name of the array's type can tell that they are
    texts, as in `list(string)`. Otherwise they are objects.
    """
    if isinstance(declared.items, dict) and "type" in declared.items:
        return DeclaredType(declared.items["type"], declared.items.get("items"))
    for name in ("string", "enum"):
        if name in declared.name:
            return DeclaredType(name)
    return DeclaredType("dict")


def _has_elements_of_declared_type(predicted: Any, golden: Any, declared: DeclaredType) -> bool:
    """Whether the elements of a predicted list or object pass the type check of the evaluator.

    The evaluator goes through the golden elements until one passes the check. If a golden element
    is a list, each predicted element must pass the check with it. A golden element that is no list
    passes at once.
    """
    element_type = _get_element_type(declared)
    for golden_element in golden:
        if not isinstance(golden_element, list):
            return True
        checks = [check_value_type(element, golden_element, element_type) for element in predicted]
        if all(check.is_accepted for check in checks):
            return True
    return False


def compare_values(
    path: str, predicted: Any, golden: Any, declared: DeclaredType
) -> ValueFailure | None:
    """Compare a predicted value with the golden value.

    The message contains `path`, the name of the value. The evaluator does not compare numbers and
    booleans.
    """
    expected = to_python_type(declared.name)
    if expected is str:
        return _compare_texts(path, predicted, golden)
    if expected is dict:
        return compare_objects(path, predicted, golden)
    if expected is list:
        element_type = _get_element_type(declared)
        if PYTHON_TYPES.get(element_type.name) is dict:
            return _compare_object_lists(path, predicted, golden)
        return _compare_lists(path, predicted, golden)
    return None


def _compare_texts(path: str, predicted: Any, golden: Any) -> ValueFailure | None:
    """A predicted text only has to contain the golden text."""
    if normalise_text(str(golden)) in normalise_text(str(predicted)):
        return None
    return ValueFailure("value_error:string", f"{path}: {predicted!r} does not contain {golden!r}")


def _compare_lists(path: str, predicted: Any, golden: Any) -> ValueFailure | None:
    if list(map(_normalise_value, predicted)) == list(map(_normalise_value, golden)):
        return None
    return ValueFailure("value_error:list/tuple", f"{path}: {predicted!r} differs from {golden!r}")


def _compare_object_lists(path: str, predicted: Any, golden: Any) -> ValueFailure | None:
    """Compare two lists of objects element by element."""
    if len(predicted) != len(golden):
        message = f"{path} has {len(predicted)} objects instead of {len(golden)}"
        return ValueFailure("value_error:list_dict_count", message)
    for index, (element, golden_element) in enumerate(zip(predicted, golden, strict=True)):
        failure = compare_objects(f"{path}[{index}]", element, golden_element)
        if failure is not None:
            return failure
    return None


def compare_objects(path: str, predicted: Any, golden: Any) -> ValueFailure | None:
    """Compare an object with the golden object, and return the first failure or None.

    Both must have the same fields. As in the evaluator, a field passes if the text of the golden
    value occurs in the text of the predicted one. So 15 passes where 5 is expected.

    `path` is the path of the object in the call, such as `address`, for messages.
    """
    are_objects = isinstance(predicted, dict) and isinstance(golden, dict)
    if not are_objects or len(predicted) != len(golden):
        message = f"{path} is not an object with as many fields as the golden object"
        return ValueFailure("value_error", message)

    for key, value in predicted.items():
        field_path = f"{path}.{key}"
        if key not in golden:
            return ValueFailure("value_error", f"{field_path} is not in the golden object")
        failure = _compare_field(field_path, value, golden[key])
        if failure is not None:
            return failure
    return None


def _compare_field(path: str, predicted: Any, golden: Any) -> ValueFailure | None:
    """Compare a value with the golden value as the evaluator does, and return how it fails, or
    None. The text of the value must contain that of the golden value.
    """
    value = predicted
    # The evaluator reads these texts as booleans.
    if isinstance(predicted, str) and predicted in ("true", "false"):
        value = predicted == "true"
    if isinstance(golden, dict):
        return compare_objects(path, value, golden)
    if str(_normalise_value(golden)) not in str(_normalise_value(value)):
        message = f"{path}: {value!r} does not contain {golden!r}"
        return ValueFailure("value_error", message)
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
    answers = golden_answers if isinstance(golden_answers, list) else [golden_answers]
    for answer in answers:
        outcome = _check_against_golden_answer(predicted, answer, function_docs)
        if outcome.valid:
            return outcome
        first_failure = first_failure or outcome
    if first_failure is None:
        return CheckOutcome(False, message="the dataset has no golden answer for this item")
    return first_failure


def _check_against_golden_answer(
    predicted: list[DecodedCall], golden: dict[str, Any], function_docs: list[dict[str, Any]]
) -> CheckOutcome:
    """Check the predicted calls against one golden answer, which has a call for each key."""
    mismatch = _find_function_mismatch(predicted, golden)
    if mismatch is not None:
        return mismatch
    for key, golden_arguments in golden.items():
        function_doc = _find_function_doc(key, function_docs)
        outcome = _check_against_golden_call(predicted, key, golden_arguments, function_doc)
        if not outcome.valid:
            return outcome
    return PASSED


def _find_function_mismatch(
    predicted: list[DecodedCall], golden: dict[str, Any]
) -> CheckOutcome | None:
    """Return the failure of a reply whose function names differ from the golden ones, or None.

    `golden` maps each golden call to its arguments. Its keys are function names. Several calls of
    one function have numbered keys, such as `search_1` and `search_2`.
    """
    if len(predicted) != len(golden):
        message = f"the reply has {len(predicted)} calls instead of {len(golden)}"
        return CheckOutcome(False, error_type="wrong functions number", message=message)

    predicted_counts = Counter(name for name, _ in predicted)
    golden_counts = Counter(_remove_number(key) for key in golden)
    if predicted_counts == golden_counts:
        return None

    # The message names the first function that only one side calls.
    for name in predicted_counts:
        if name not in golden_counts:
            return _make_function_mismatch(f"only the reply calls {name}", name)
    for name in golden_counts:
        if name not in predicted_counts:
            return _make_function_mismatch(f"only the golden answer calls {name}", name)
    message = "the reply calls a function more or less often than the golden answer"
    return _make_function_mismatch(message, None)


def _make_function_mismatch(message: str, function: str | None) -> CheckOutcome:
    return CheckOutcome(False, error_type="function_mismatch", message=message, function=function)


def _remove_number(golden_key: str) -> str:
    """Return the function of a golden key: `f` for `f_2`. The evaluator removes the number also if
    it is a part of the function's name.
    """
    return re.sub(r"_\d+$", "", golden_key)


def _find_function_doc(
    golden_key: str, function_docs: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the first function whose name occurs in a golden key. The evaluator does so too,
    although this can be another function.
    """
    for function_doc in function_docs:
        if function_doc["name"] in golden_key:
            return function_doc
    return None


def _check_against_golden_call(
    predicted: list[DecodedCall],
    golden_key: str,
    golden_arguments: dict[str, Any],
    function_doc: dict[str, Any] | None,
) -> CheckOutcome:
    """Check whether any predicted call passes for one golden call.

    Returns the outcome of the first predicted call that passes, else that of the last predicted
    call. As in the evaluator, one predicted call may pass for several golden calls.

    Args:
        predicted: Name and arguments of each predicted call.
        golden_key: The golden function name, or `name_1`, `name_2` ... for several calls of it.
        golden_arguments: The arguments of the golden call.
        function_doc: The documentation of the golden function, if the dataset has it.
    """
    name = _remove_number(golden_key)
    message = f"no predicted call matches {name}"
    last_outcome = CheckOutcome(False, error_type=UNCLEAR_ERROR, message=message, function=name)
    for predicted_name, arguments in predicted:
        if predicted_name != name:
            message = f"no predicted call matches {name}; the last call is {predicted_name}"
            last_outcome = CheckOutcome(
                False, error_type=UNCLEAR_ERROR, message=message, function=name
            )
            continue
        last_outcome = check_call(name, arguments, golden_arguments, function_doc)
        if last_outcome.valid:
            return last_outcome
    return last_outcome


def check_call(
    function_name: str,
    arguments: dict[Any, Any],
    golden_arguments: dict[str, Any],
    function_doc: dict[str, Any] | None,
) -> CheckOutcome:
    """Check a predicted call against a golden call of the same function.

    The first failing check decides the error type, so the checks come in the evaluator's order.
    """
    if function_doc is None:
        message = f"{function_name} has no function doc"
        return _fail_call(function_name, "wrong_function_name", message)

    # A call without arguments passes exactly if the function has no parameters.
    has_no_parameters = function_doc.get("parameters", {}) == {}
    if not arguments and has_no_parameters:
        return PASSED
    if not arguments or has_no_parameters:
        message = f"the call of {function_name} has no arguments, or its function doc declares none"
        return _fail_call(function_name, "wrong_param", message)

    declared = read_declared_parameters(function_doc, strict=True)
    properties = declared.properties or {}
    # The evaluator compares the golden arguments with the declaration here, not with the call.
    if golden_arguments == properties:
        return PASSED
    if not golden_arguments:
        message = f"the golden call of {function_name} has no arguments"
        return _fail_call(function_name, "wrong_param", message)
    if function_doc["name"] != function_name:
        message = f"the reply calls {function_name} instead of {function_doc['name']}"
        return _fail_call(function_name, "wrong_function_name", message)

    missing = [name for name in declared.required or () if name not in arguments]
    if missing:
        first_missing = missing[0]
        message = f"the required argument {first_missing} is missing"
        return _fail_call(function_name, "lack_args", message, argument=first_missing)

    return _check_arguments(function_name, arguments, golden_arguments, properties)


def _check_arguments(
    function_name: str,
    arguments: dict[Any, Any],
    golden_arguments: dict[str, Any],
    properties: dict[str, Any],
) -> CheckOutcome:
    """Check the predicted arguments. Golden arguments that the call lacks are not required."""
    for argument, value in arguments.items():
        if argument not in properties or argument not in golden_arguments:
            message = f"the function doc or the golden call does not have the argument {argument}"
            return _fail_call(function_name, "addition_args", message, argument=argument)
        golden_value = golden_arguments[argument]
        failure = _check_argument(argument, value, golden_value, schema=properties[argument])
        if failure is not None:
            return _fail_call(function_name, *failure, argument=argument)
    return PASSED


def _fail_call(
    function_name: str, error_type: str, message: str, argument: str | None = None
) -> CheckOutcome:
    """Return the outcome of a call that fails."""
    return CheckOutcome(
        False, error_type=error_type, message=message, function=function_name, argument=argument
    )


def _check_argument(
    argument: str, predicted: Any, golden: Any, *, schema: dict[str, Any]
) -> ValueFailure | None:
    """Check the type and the value of one predicted argument. Return the failure, or None.

    `schema` is the declaration of the parameter in the function doc.
    """
    declared = DeclaredType(str(schema.get("type")), schema.get("items"))

    # Two conversions of the evaluator: JSON has no tuples, and an integer is a valid float.
    value = predicted
    if declared.name == "tuple" and isinstance(predicted, tuple):
        value = list(predicted)
    if declared.name == "float" and type(predicted) is int:
        value = float(predicted)

    try:
        type_check = check_value_type(value, golden, declared)
        if not type_check.is_accepted:
            message = f"{argument}: {value!r} is not of type {declared.name}"
            return ValueFailure("type_error", message)
        if type_check.skips_comparison:
            return None
        return compare_values(argument, value, golden, declared)
    except (KeyError, TypeError) as error:
        # The function doc declares an unknown type, or a type that cannot have such a value.
        message = f"{argument}: the declared type cannot be checked ({error})"
        return ValueFailure("type_error", message)


def check_special_reply(reply: Any, golden: Any, category: str) -> CheckOutcome:
    """Check the reply to a special question, which the model must refuse and explain.

    The reply must contain a phrase that the prompt prescribes, and some words:

    - Category `special_incomplete`, a question without required values: `golden` is
      `{function: [missing parameters]}`. The reply must name the function and the parameters.
    - Category `special_error_param`, a question with wrong values: `golden` is
      `{parameter: [wrong values]}`. The reply must name the values, but not the parameter.
    - Category `special_irrelevant`, a question that no function answers: the phrase suffices.
    """
    text = reply if isinstance(reply, str) else ""
    phrase = REQUIRED_PHRASES[category]
    if phrase not in text:
        message = f"the reply does not contain {phrase!r}"
        return CheckOutcome(False, error_type="error_detection", message=message)
    if category == "special_irrelevant" or not isinstance(golden, dict):
        return PASSED

    outcome = PASSED
    for name, words in golden.items():
        required = list(words)
        if category == "special_incomplete":
            required = [name, *words]
        missing = [str(word) for word in required if str(word) not in text]
        if missing:
            # As in the evaluator, a later failure replaces an earlier one.
            outcome = _fail_missing_words(name, missing)
    return outcome


def _fail_missing_words(name: str, missing: list[str]) -> CheckOutcome:
    """Return the outcome of a reply without some words. `name` is the golden key of the words."""
    return CheckOutcome(
        False,
        error_type="error_correction",
        message=f"the reply does not mention {', '.join(missing)}",
        function=name,
        argument=missing[0],
    )
