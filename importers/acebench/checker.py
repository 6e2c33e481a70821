"""Types and values of one ACEBench argument: parts C to E of the normal checker, odd rules included.

Source of the rules: the released normal checker (revision e6db74b). Text need only contain the golden text; whole
numbers, booleans and numbers whose golden type differs from the declared one are not compared at all.

ACEBench's checkers for single replies: calls against golden calls (normal categories), or fixed phrases and names
that must stand in the text, case and all (special categories).

Source of the rules: the released normal and special checkers (revision e6db74b). There is no one-to-one assignment: one
call may satisfy two golden calls, and another none. English phrases are asked of Chinese replies too.

ACEBench's agent categories: the end state against the golden one, and how far the milestones were followed.

Source of the rules: the released agent checker and process scorer (revision e6db74b). Nothing is executed: states
and calls are compared as they were recorded.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from fcreview.importers.acebench.decode import DecodedCall
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
NESTED_TYPES = ("array", "tuple", "list(string)", "list(enum)", "object", "objectArray")
_NORMALISATION = str.maketrans("'", '"', " ,./-_*^")

CheckFailure = tuple[str, str] | None
"""error_type and our words, None for a pass."""


class EnumType:
    """The type of `enum`, which no value has."""


def normalise(text: str) -> str:
    return text.translate(_NORMALISATION).lower()


COMPARISON_RULES = ComparisonRules(normalise=normalise)
"""For the argument diff: the checker itself only asks that one text contains the other."""


def python_type(declared: Any) -> type:
    """Raises KeyError for a declared type the evaluator does not know (it stops there)."""
    return EnumType if declared == "enum" else PYTHON_TYPES[declared]


def check_type(value: Any, golden: Any, declared: str, items: Any) -> tuple[bool, bool]:
    """(passes, skip): with `skip` the value is not compared, because the golden type is not the declared one."""
    expected = python_type(declared)
    skip = golden != "" and type(golden) is not expected
    if value in ("true", "false") and isinstance(value, str):
        value = value == "true"
    failed = False
    if type(value) is expected:
        if declared not in NESTED_TYPES:
            return True, skip
        if _elements_pass(value, golden, declared, items):
            return True, skip
        failed = True
    if golden != "" and (type(value) is type(golden) or value == golden):
        return not failed, True
    return False, skip


def _inner_type(declared: str, items: Any) -> tuple[str, Any]:
    if isinstance(items, dict) and "type" in items:
        return items["type"], items.get("items")
    for word in ("string", "enum"):
        if word in declared:
            return word, None
    return "dict", None


def _elements_pass(value: Any, golden: Any, declared: str, items: Any) -> bool:
    inner, inner_items = _inner_type(declared, items)
    for element in golden:
        if not isinstance(element, list):
            return True
        if all(check_type(part, element, inner, inner_items)[0] for part in value):
            return True
    return False


def check_value(name: str, value: Any, golden: Any, declared: str, items: Any) -> CheckFailure:
    expected = python_type(declared)
    if expected is str:
        if normalise(str(golden)) in normalise(str(value)):
            return None
        return "value_error:string", f"{name}: {value!r} does not contain {golden!r}"
    if expected is list:
        inner = PYTHON_TYPES.get(_inner_type(declared, items)[0])
        return _check_object_list(name, value, golden) if inner is dict else _check_list(name, value, golden)
    if expected is dict:
        return check_object(name, value, golden)
    return None


def _check_list(name: str, value: Any, golden: Any) -> CheckFailure:
    ours = [normalise(part) if isinstance(part, str) else part for part in value]
    theirs = [normalise(part) if isinstance(part, str) else part for part in golden]
    return None if ours == theirs else ("value_error:list/tuple", f"{name}: {value!r} is not {golden!r}")


def _check_object_list(name: str, value: Any, golden: Any) -> CheckFailure:
    if len(value) != len(golden):
        return "value_error:list_dict_count", f"{name}: {len(value)} objects, golden {len(golden)}"
    for number, (ours, theirs) in enumerate(zip(value, golden, strict=True)):
        failure = check_object(f"{name}[{number}]", ours, theirs)
        if failure:
            return failure
    return None


def check_object(name: str, value: Any, golden: Any) -> CheckFailure:
    if not isinstance(value, dict) or not isinstance(golden, dict) or len(value) != len(golden):
        return "value_error", f"{name}: another number of fields, or not an object"
    for key, ours in value.items():
        path = f"{name}.{key}"
        if key not in golden:
            return "value_error", f"{path}: not in the golden object"
        theirs = golden[key]
        if isinstance(ours, str) and ours in ("true", "false"):
            ours = ours == "true"
        if isinstance(theirs, dict):
            failure = check_object(path, ours, theirs)
            if failure:
                return failure
            continue
        left = str(normalise(ours) if isinstance(ours, str) else ours)
        right = str(normalise(theirs) if isinstance(theirs, str) else theirs)
        if right not in left:
            return "value_error", f"{path}: {ours!r} does not contain {theirs!r}"
    return None


@dataclass(slots=True)
class CheckOutcome:
    valid: bool
    error_type: str | None = None
    message: str | None = None
    function: str | None = None
    argument: str | None = None


PASSED = CheckOutcome(True)
UNCLEAR_ERROR = "simple_function_checker:unclear"
REQUIRED_PHRASES = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}


def check_calls(calls: list[DecodedCall], golden: Any, functions: list[dict[str, Any]]) -> CheckOutcome:
    """`golden` is `{name or name_N: {argument: value}}` or a list of such alternatives: any one passes, the
    first's failure is told."""
    alternatives = golden if isinstance(golden, list) else [golden]
    outcomes = []
    for alternative in alternatives:
        outcome = _check_alternative(calls, alternative, functions)
        if outcome.valid:
            return outcome
        outcomes.append(outcome)
    return outcomes[0] if outcomes else CheckOutcome(False, None, "no golden answer")


def _check_alternative(calls: list[DecodedCall], golden: dict[str, Any], functions: list[dict[str, Any]]) -> CheckOutcome:
    if len(calls) != len(golden):
        return CheckOutcome(False, "wrong functions number", f"{len(calls)} calls, golden {len(golden)}")
    expected = [(key, re.sub(r"_\d+$", "", key), arguments) for key, arguments in golden.items()]
    ours, theirs = Counter(name for name, _ in calls), Counter(name for _, name, _ in expected)
    if ours != theirs:
        odd = next((n for n in ours if n not in theirs), None) or next((n for n in theirs if n not in ours), None)
        text = f"{odd} is called on one side only" if odd else "a function is called another number of times"
        return CheckOutcome(False, "function_mismatch", text, odd)
    for key, name, arguments in expected:
        schema = next((f for f in functions if f["name"] in key), None)
        outcome = CheckOutcome(False, UNCLEAR_ERROR, f"{name} was not matched", name)
        for called, given in calls:
            if called != name:
                outcome = CheckOutcome(False, UNCLEAR_ERROR, f"{name} was not matched; the last call looked at is {called}", name)
                continue
            outcome = check_call(called, given, arguments, schema)
            if outcome.valid:
                break
        if not outcome.valid:
            return outcome
    return PASSED


def check_call(name: str, given: dict[Any, Any], golden: dict[str, Any], schema: dict[str, Any] | None) -> CheckOutcome:
    if schema is None:
        return CheckOutcome(False, "wrong_function_name", f"no function document for {name}", name)
    undeclared = schema.get("parameters", {}) == {}
    if not given and undeclared:
        return PASSED
    if not given or undeclared:
        return CheckOutcome(False, "wrong_param", f"{name}: arguments are missing, or none are declared", name)
    declared = read_declared_parameters(schema, strict=True)
    properties = declared.properties or {}
    if golden == properties:
        return PASSED
    if not golden:
        return CheckOutcome(False, "wrong_param", f"{name}: the golden call has no arguments", name)
    if schema["name"] != name:
        return CheckOutcome(False, "wrong_function_name", f"{name} instead of {schema['name']}", name)
    missing = next((required for required in declared.required or () if required not in given), None)
    if missing is not None:
        return CheckOutcome(False, "lack_args", f"{missing} is required and missing", name, missing)
    return _check_arguments(name, given, golden, properties)


def _check_arguments(name: str, given: dict[Any, Any], golden: dict[str, Any], properties: dict[str, Any]) -> CheckOutcome:
    for argument, value in given.items():
        if argument not in properties or argument not in golden:
            return CheckOutcome(False, "addition_args", f"{argument} is not in the schema or not golden", name, argument)
        failure = _check_argument(argument, value, golden[argument], properties[argument])
        if failure:
            return CheckOutcome(False, failure[0], failure[1], name, argument)
    return PASSED


def _check_argument(name: str, value: Any, golden: Any, declared: dict[str, Any]) -> tuple[str, str] | None:
    kind, items = str(declared.get("type")), declared.get("items")
    if kind == "tuple" and isinstance(value, tuple):
        value = list(value)
    if kind == "float" and type(value) is int:
        value = float(value)
    try:
        passes, skip = check_type(value, golden, kind, items)
        if not passes:
            return "type_error", f"{name}: {value!r} is not of type {kind}"
        return None if skip else check_value(name, value, golden, kind, items)
    except (KeyError, TypeError) as error:
        return "type_error", f"{name}: the declared type cannot be checked ({error})"


def check_special(reply: Any, golden: Any, category: str) -> CheckOutcome:
    """`golden`: `{api: [missing parameters]}`, `{parameter: [wrong values]}` or, for irrelevant, a sentence that
    is not used."""
    text = reply if isinstance(reply, str) else ""
    phrase = REQUIRED_PHRASES[category]
    if phrase not in text:
        return CheckOutcome(False, "error_detection", f"the reply does not say {phrase!r}")
    outcome = PASSED
    if category != "special_irrelevant" and isinstance(golden, dict):
        for name, words in golden.items():
            wanted = [name, *words] if category == "special_incomplete" else list(words)
            absent = [str(word) for word in wanted if str(word) not in text]
            if absent:
                outcome = CheckOutcome(False, "error_correction", f"not named: {', '.join(absent)}", name, absent[0])
    return outcome


def check_end_state(states: Any, golden: Any) -> CheckOutcome:
    """Both are lists of one-key objects, class name to attributes. Classes that golden misspells are never
    compared, but then the outcome of the class before is carried over."""
    if not isinstance(states, list) or not isinstance(golden, list):
        return CheckOutcome(False, "wrong number of class", "no end state was recorded")
    if len(states) != len(golden):
        return CheckOutcome(False, "wrong number of class", f"{len(states)} classes, golden {len(golden)}")
    failures: list[tuple[str, str, str]] = []
    for expected in golden:
        for name, attributes in expected.items():
            found = next((state[name] for state in states if isinstance(state, dict) and name in state), None)
            if found is not None:
                failures += [(name, attribute, text) for attribute, text in attribute_differences(found, attributes)]
    if failures:
        name, attribute, text = failures[0]
        return CheckOutcome(False, "class attributes wrong", f"{name}.{attribute}: {text}", name, attribute)
    return PASSED


def attribute_differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[tuple[str, str]]:
    """Attributes the evaluator objects to. One that only golden has goes unnoticed; extra keys of an object too."""
    found = []
    for name, value in ours.items():
        if name not in theirs:
            found.append((name, "not in the golden state"))
            continue
        expected = theirs[name]
        if isinstance(expected, dict) and isinstance(value, dict):
            wrong = [key for key, item in expected.items() if key not in value or value[key] != item]
            if wrong:
                found.append((name, f"differs at {', '.join(map(str, wrong))}"))
        elif value != expected:
            found.append((name, f"{value!r}, golden {expected!r}"))
    return found


def compute_process_accuracy(process: Any, milestones: Any, end_state_ok: bool) -> tuple[float, float]:
    """(what counts towards the mean, what the process file reports), 0 to 1; they differ where there are
    alternatives."""
    if end_state_ok or not milestones:
        return 1.0, 1.0
    made = process if isinstance(process, list) else []
    if isinstance(milestones[0], list):
        scores = [round(leading_milestone_share(made, sequence), 3) for sequence in milestones]
        return max(scores), scores[-1]
    score = leading_milestone_share(made, milestones)
    return score, round(score, 3)


def leading_milestone_share(made: list[Any], milestones: list[str]) -> float:
    """The leading run of milestones found in order among the calls, as a share. Texts are compared trimmed, else
    exactly."""
    if not milestones:
        return 1.0
    position = done = 0
    for milestone in milestones:
        while position < len(made) and str(made[position]).strip() != str(milestone).strip():
            position += 1
        if position == len(made):
            break
        done, position = done + 1, position + 1
    return done / len(milestones)
