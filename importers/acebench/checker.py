"""Decode ACEBench's replies, and check normal replies, special replies and agent end states.

This module reproduces the released checkers and the process scorer (revision e6db74b), including their errors:

* A reply is one Python expression. White space is removed first, also inside strings. Positional arguments are
  ignored, a variable name becomes text, and every unary operator negates.
* A string argument only has to contain the golden string.
* Numbers and booleans are not compared. A value is not compared either if the type of the golden value is not the
  declared type.
* One predicted call may match two golden calls. The reply then passes although another predicted call matches none.
* In Chinese runs too, special replies must contain English phrases.
* Nothing is executed. Agent states and calls are compared as recorded.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.python_syntax import parse_expression, read_call
from fcreview.importers.common.records import Undecodable
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
"""Declared type -> Python type. As in the evaluator, `number` is `int`."""
NESTED_TYPES = ("array", "tuple", "list(string)", "list(enum)", "object", "objectArray")
_NORMALISATION = str.maketrans("'", '"', " ,./-_*^")

GROUND_TRUTH, MILE_STONE = "ground_truth", "mile_stone"
# Error types, such as "wrong number of class", have the spelling of the evaluator.
UNCLEAR_ERROR = "simple_function_checker:unclear"
REQUIRED_PHRASES = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}
"""Category -> phrase that a reply must contain. Upper and lower case are distinguished."""

DecodedCall = tuple[str, dict[Any, Any]]
"""(function name, arguments) of a decoded call."""
CheckFailure = tuple[str, str] | None
"""(the evaluator's error type, fcreview's message), or None if the check passes."""


@dataclass(slots=True)
class CheckOutcome:
    """Result of a check. A failed check has the error type of the evaluator, a message, and the place of the error."""

    valid: bool
    error_type: str | None = None
    message: str | None = None
    function: str | None = None
    """Function with the error, or the class with the error in an end state."""
    argument: str | None = None
    """Argument with the error, or the attribute with the error in an end state."""


PASSED = CheckOutcome(True)


def remove_whitespace(reply: str) -> str:
    """Remove all white space, as the evaluator does before decoding. Replies in score files have no white space."""
    return "".join(reply.split())


def decode_reply(reply: Any, *, keep_whitespace: bool = False) -> list[DecodedCall]:
    """Decode a list of calls such as `[f(a=1)]`. Raises Undecodable for any other text.

    As in the evaluator, white space is removed first. With `keep_whitespace`, strings keep their white space.
    """
    if not isinstance(reply, str):
        raise Undecodable("the reply is not text")
    elements = getattr(parse_expression(reply.strip() if keep_whitespace else remove_whitespace(reply)), "elts", None)
    if elements is None:
        raise Undecodable("not a list of calls")
    other = next((element for element in elements if not isinstance(element, ast.Call)), None)
    if other is not None:
        raise Undecodable(f"expected a call, not a {type(other).__name__.lower()}")
    return [read_call(element) for element in elements]


def decode_for_display(reply: str) -> list[DecodedCall]:
    """Decode the calls of a reply with the white space in strings or, if that fails, without it."""
    try:
        return decode_reply(reply, keep_whitespace=True)
    except Undecodable:
        return decode_reply(reply)


class EnumType:
    """Stands for the declared type `enum`. No Python value has this type."""


def normalise(text: str) -> str:
    """Convert a string to lower case, remove spaces and punctuation, and replace `'` by `"`."""
    return text.translate(_NORMALISATION).lower()


def _normalise_value(value: Any) -> Any:
    return normalise(value) if isinstance(value, str) else value


COMPARISON_RULES = ComparisonRules(normalise=normalise)
"""Rules of the call diff, where strings must be equal. The checker also accepts strings that contain the golden one."""


def python_type(declared: Any) -> type:
    """Return the Python type of a declared type. Raises KeyError for an unknown type, where the evaluator crashes."""
    return EnumType if declared == "enum" else PYTHON_TYPES[declared]


def check_type(value: Any, golden: Any, declared: str, items: Any) -> tuple[bool, bool]:
    """Return (whether the type of a predicted value is accepted, whether to skip the comparison of the values).

    The comparison is skipped if the type of the golden value is not the declared type.
    """
    expected = python_type(declared)
    skip = golden != "" and type(golden) is not expected
    if value in ("true", "false") and isinstance(value, str):
        value = value == "true"
    has_declared_type = type(value) is expected
    if has_declared_type and (declared not in NESTED_TYPES or _check_element_types(value, golden, declared, items)):
        return True, skip
    if golden != "" and (type(value) is type(golden) or value == golden):
        return not has_declared_type, True
    return False, skip


def _element_type(declared: str, items: Any) -> tuple[str, Any]:
    if isinstance(items, dict) and "type" in items:
        return items["type"], items.get("items")
    return next((word for word in ("string", "enum") if word in declared), "dict"), None


def _check_element_types(value: Any, golden: Any, declared: str, items: Any) -> bool:
    inner, inner_items = _element_type(declared, items)
    return any(
        not isinstance(element, list) or all(check_type(part, element, inner, inner_items)[0] for part in value)
        for element in golden
    )


def check_value(name: str, value: Any, golden: Any, declared: str, items: Any) -> CheckFailure:
    """Compare the value of the argument `name` with its golden value."""
    expected = python_type(declared)
    if expected is str:
        if normalise(str(golden)) in normalise(str(value)):
            return None
        return "value_error:string", f"{name}: {value!r} does not contain {golden!r}"
    if expected is list:
        if PYTHON_TYPES.get(_element_type(declared, items)[0]) is dict:
            return _check_object_list(name, value, golden)
        is_same = list(map(_normalise_value, value)) == list(map(_normalise_value, golden))
        return None if is_same else ("value_error:list/tuple", f"{name}: {value!r} differs from {golden!r}")
    if expected is dict:
        return check_object(name, value, golden)
    return None


def _check_object_list(name: str, value: Any, golden: Any) -> CheckFailure:
    if len(value) != len(golden):
        return "value_error:list_dict_count", f"{name}: {len(value)} objects instead of {len(golden)}"
    pairs = enumerate(zip(value, golden, strict=True))
    failures = (check_object(f"{name}[{index}]", ours, theirs) for index, (ours, theirs) in pairs)
    return next(filter(None, failures), None)


def check_object(name: str, value: Any, golden: Any) -> CheckFailure:
    if not isinstance(value, dict) or not isinstance(golden, dict) or len(value) != len(golden):
        return "value_error", f"{name}: not an object with the same number of fields"
    for key, ours in value.items():
        path = f"{name}.{key}"
        if key not in golden:
            return "value_error", f"{path}: not in the golden object"
        theirs = golden[key]
        if isinstance(ours, str) and ours in ("true", "false"):
            ours = ours == "true"
        if isinstance(theirs, dict):
            if failure := check_object(path, ours, theirs):
                return failure
        elif str(_normalise_value(theirs)) not in str(_normalise_value(ours)):
            return "value_error", f"{path}: {ours!r} does not contain {theirs!r}"
    return None


def check_calls(calls: list[DecodedCall], golden: Any, functions: list[dict[str, Any]]) -> CheckOutcome:
    """Check the calls of a normal reply against a golden answer `{function: {argument: value}}`, or a list of such
    answers.

    The keys of repeated functions are `f_1`, `f_2` and so on. If no golden answer matches, the outcome for the first
    one is returned.
    """
    first_failure = None
    for alternative in golden if isinstance(golden, list) else [golden]:
        outcome = _check_alternative(calls, alternative, functions)
        if outcome.valid:
            return outcome
        first_failure = first_failure or outcome
    return first_failure or CheckOutcome(False, None, "no golden answer")


def _check_alternative(
    calls: list[DecodedCall], golden: dict[str, Any], functions: list[dict[str, Any]]
) -> CheckOutcome:
    if len(calls) != len(golden):
        return CheckOutcome(False, "wrong functions number", f"{len(calls)} calls instead of {len(golden)}")
    expected = [(key, re.sub(r"_\d+$", "", key), arguments) for key, arguments in golden.items()]
    ours, theirs = Counter(name for name, _ in calls), Counter(name for _, name, _ in expected)
    if ours != theirs:
        odd = next((n for n in ours if n not in theirs), None) or next((n for n in theirs if n not in ours), None)
        text = "a function is called more or less often than in the golden answer"
        if odd:
            text = f"{odd} is called only in the {'reply' if odd in ours else 'golden answer'}"
        return CheckOutcome(False, "function_mismatch", text, odd)
    for key, name, golden_arguments in expected:
        function = next((each for each in functions if each["name"] in key), None)
        outcome = CheckOutcome(False, UNCLEAR_ERROR, f"no call matches {name}", name)
        for called, arguments in calls:
            if called != name:
                text = f"no call matches {name}; the last call is {called}"
                outcome = CheckOutcome(False, UNCLEAR_ERROR, text, name)
                continue
            outcome = check_call(called, arguments, golden_arguments, function)
            if outcome.valid:
                break
        if not outcome.valid:
            return outcome
    return PASSED


def check_call(
    name: str, arguments: dict[Any, Any], golden: dict[str, Any], function: dict[str, Any] | None
) -> CheckOutcome:
    if function is None:
        return CheckOutcome(False, "wrong_function_name", f"no function doc for {name}", name)
    is_undeclared = function.get("parameters", {}) == {}
    if not arguments and is_undeclared:
        return PASSED
    if not arguments or is_undeclared:
        text = f"{name}: the arguments are missing, or the function doc declares none"
        return CheckOutcome(False, "wrong_param", text, name)
    declared = read_declared_parameters(function, strict=True)
    properties = declared.properties or {}
    if golden == properties:
        return PASSED
    if not golden:
        return CheckOutcome(False, "wrong_param", f"{name}: the golden call has no arguments", name)
    if function["name"] != name:
        return CheckOutcome(False, "wrong_function_name", f"{name} instead of {function['name']}", name)
    missing = next((required for required in declared.required or () if required not in arguments), None)
    if missing is not None:
        return CheckOutcome(False, "lack_args", f"{missing} is required, but missing", name, missing)
    return _check_arguments(name, arguments, golden, properties)


def _check_arguments(
    name: str, arguments: dict[Any, Any], golden: dict[str, Any], properties: dict[str, Any]
) -> CheckOutcome:
    for argument, value in arguments.items():
        if argument not in properties or argument not in golden:
            text = f"{argument} is not in the function doc or not in the golden call"
            return CheckOutcome(False, "addition_args", text, name, argument)
        if failure := _check_argument(argument, value, golden[argument], properties[argument]):
            return CheckOutcome(False, failure[0], failure[1], name, argument)
    return PASSED


def _check_argument(name: str, value: Any, golden: Any, schema: dict[str, Any]) -> CheckFailure:
    declared, items = str(schema.get("type")), schema.get("items")
    if declared == "tuple" and isinstance(value, tuple):
        value = list(value)
    if declared == "float" and type(value) is int:
        value = float(value)
    try:
        is_accepted, skip = check_type(value, golden, declared, items)
        if not is_accepted:
            return "type_error", f"{name}: {value!r} is not of type {declared}"
        return None if skip else check_value(name, value, golden, declared, items)
    except (KeyError, TypeError) as error:
        return "type_error", f"{name}: the declared type cannot be checked ({error})"


def check_special(reply: Any, golden: Any, category: str) -> CheckOutcome:
    """Check that a special reply contains the required phrase and words.

    `golden` is `{function: [missing parameters]}` or `{parameter: [wrong values]}`. Function and listed words must be
    in the reply. The name of a parameter with wrong values need not be in it.
    """
    text = reply if isinstance(reply, str) else ""
    phrase = REQUIRED_PHRASES[category]
    if phrase not in text:
        return CheckOutcome(False, "error_detection", f"the reply does not contain {phrase!r}")
    outcome = PASSED
    if category != "special_irrelevant" and isinstance(golden, dict):
        for name, words in golden.items():
            required = [name, *words] if category == "special_incomplete" else list(words)
            missing = [str(word) for word in required if str(word) not in text]
            if missing:
                message = f"the reply does not mention {', '.join(missing)}"
                outcome = CheckOutcome(False, "error_correction", message, name, missing[0])
    return outcome


def check_end_state(states: Any, golden: Any) -> CheckOutcome:
    """Check an end state `[{class: {attribute: value}}]`. Golden classes that are missing in it are not compared."""
    if not isinstance(states, list) or not isinstance(golden, list):
        return CheckOutcome(False, "wrong number of class", "no end state was recorded")
    if len(states) != len(golden):
        return CheckOutcome(False, "wrong number of class", f"{len(states)} classes instead of {len(golden)}")
    failures: list[tuple[str, str, str]] = []
    for expected in golden:
        for name, attributes in expected.items():
            state = next((state[name] for state in states if isinstance(state, dict) and name in state), None)
            if state is not None:
                failures += [(name, attribute, text) for attribute, text in attribute_differences(state, attributes)]
    if failures:
        name, attribute, text = failures[0]
        return CheckOutcome(False, "class attributes wrong", f"{name}.{attribute}: {text}", name, attribute)
    return PASSED


def attribute_differences(attributes: dict[str, Any], golden: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (attribute, difference as text) for each different attribute. Those that only `golden` has are ignored."""
    found = []
    for name, value in attributes.items():
        if name not in golden:
            found.append((name, "not in the golden state"))
            continue
        expected = golden[name]
        if isinstance(expected, dict) and isinstance(value, dict):
            if wrong := [key for key, item in expected.items() if key not in value or value[key] != item]:
                found.append((name, f"the values of {', '.join(map(str, wrong))} differ"))
        elif value != expected:
            found.append((name, f"{value!r} instead of {expected!r}"))
    return found


def compute_process_accuracy(process: Any, milestones: Any, is_end_state_correct: bool) -> tuple[float, float]:
    """Return (process accuracy in the official mean, process accuracy in the process file) of an agent item.

    The mean uses the best milestone sequence.
    """
    if is_end_state_correct or not milestones:
        return 1.0, 1.0
    calls = process if isinstance(process, list) else []
    if isinstance(milestones[0], list):
        scores = [round(leading_milestone_share(calls, sequence), 3) for sequence in milestones]
        return max(scores), scores[-1]
    score = leading_milestone_share(calls, milestones)
    return score, round(score, 3)


def leading_milestone_share(process: Sequence[Any], milestones: Sequence[str]) -> float:
    """Return the share of milestones that were met before any milestone was missed; 1 without milestones."""
    return len(find_met_milestones(process, milestones)) / len(milestones) if milestones else 1.0


def find_met_milestones(process: Sequence[Any], milestones: Sequence[str]) -> list[int]:
    """Return the indexes in `process` of the messages that equal the milestones, up to the first missed milestone."""
    texts = [str(message).strip() for message in process]
    found: list[int] = []
    for milestone in milestones:
        try:
            found.append(texts.index(str(milestone).strip(), found[-1] + 1 if found else 0))
        except ValueError:
            break
    return found


def choose_milestone_sequence(process: Sequence[Any], milestones: Any) -> tuple[list[str], list[Any]]:
    """Return (the milestone sequence with the highest share of met milestones, the other sequences)."""
    if not isinstance(milestones, list) or not milestones:
        return [], []
    if not isinstance(milestones[0], list):
        return [str(milestone) for milestone in milestones], []
    shares = [leading_milestone_share(list(process), sequence) for sequence in milestones]
    best = shares.index(max(shares))
    others = [sequence for index, sequence in enumerate(milestones) if index != best]
    return [str(milestone) for milestone in milestones[best]], others


def describe_milestones(milestones: Sequence[str], n_met: int) -> str:
    """Describe how many milestones were met and which one was missed first: `1 of 3 met: turn_on_wifi; not login`."""
    names = [milestone.strip("[ ").partition("(")[0] for milestone in milestones]
    met = f": {', '.join(names[:n_met])}" if n_met else ""
    return f"{n_met} of {len(names)} met{met}" + (f"; not {names[n_met]}" if n_met < len(names) else "")
