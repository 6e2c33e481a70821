"""ACEBench's checkers for single replies: calls against golden calls (normal categories), or fixed phrases and names
that must stand in the text, case and all (special categories).

Source of the rules: the released normal and special checkers (revision e6db74b). There is no one-to-one assignment: one
call may satisfy two golden calls, and another none. English phrases are asked of Chinese replies too.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from fcreview.importers.acebench.check_value import type_check, value_check
from fcreview.importers.acebench.decode import CallTuple


@dataclass(slots=True)
class Outcome:
    valid: bool
    error_type: str | None = None
    message: str | None = None
    function: str | None = None
    argument: str | None = None


PASS = Outcome(True)
UNCLEAR = "simple_function_checker:unclear"
PHRASES = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}


def check(calls: list[CallTuple], golden: Any, functions: list[dict[str, Any]]) -> Outcome:
    """`golden` is `{name or name_N: {argument: value}}` or a list of such alternatives: any one passes, the
    first's failure is told."""
    alternatives = golden if isinstance(golden, list) else [golden]
    outcomes = []
    for alternative in alternatives:
        outcome = _check_one(calls, alternative, functions)
        if outcome.valid:
            return outcome
        outcomes.append(outcome)
    return outcomes[0] if outcomes else Outcome(False, None, "no golden answer")


def _check_one(calls: list[CallTuple], golden: dict[str, Any], functions: list[dict[str, Any]]) -> Outcome:
    if len(calls) != len(golden):
        return Outcome(False, "wrong functions number", f"{len(calls)} calls, golden {len(golden)}")
    expected = [(key, re.sub(r"_\d+$", "", key), arguments) for key, arguments in golden.items()]
    ours, theirs = Counter(name for name, _ in calls), Counter(name for _, name, _ in expected)
    if ours != theirs:
        odd = next((n for n in ours if n not in theirs), None) or next((n for n in theirs if n not in ours), None)
        text = f"{odd} is called on one side only" if odd else "a function is called another number of times"
        return Outcome(False, "function_mismatch", text, odd)
    for key, name, arguments in expected:
        schema = next((f for f in functions if f["name"] in key), None)
        outcome = Outcome(False, UNCLEAR, f"{name} was not matched", name)
        for called, given in calls:
            if called != name:
                outcome = Outcome(False, UNCLEAR, f"{name} was not matched; the last call looked at is {called}", name)
                continue
            outcome = check_call(called, given, arguments, schema)
            if outcome.valid:
                break
        if not outcome.valid:
            return outcome
    return PASS


def check_call(name: str, given: dict[Any, Any], golden: dict[str, Any], schema: dict[str, Any] | None) -> Outcome:
    if schema is None:
        return Outcome(False, "wrong_function_name", f"no function document for {name}", name)
    parameters = schema.get("parameters", {})
    if not given and parameters == {}:
        return PASS
    if not given or parameters == {}:
        return Outcome(False, "wrong_param", f"{name}: arguments are missing, or none are declared", name)
    properties = parameters.get("properties", {})
    if golden == properties:
        return PASS
    if not golden:
        return Outcome(False, "wrong_param", f"{name}: the golden call has no arguments", name)
    if schema["name"] != name:
        return Outcome(False, "wrong_function_name", f"{name} instead of {schema['name']}", name)
    for required in parameters.get("required") or []:
        if required not in given:
            return Outcome(False, "lack_args", f"{required} is required and missing", name, required)
    for argument, value in given.items():
        if argument not in properties or argument not in golden:
            return Outcome(False, "addition_args", f"{argument} is not in the schema or not golden", name, argument)
        failure = _argument(argument, value, golden[argument], properties[argument])
        if failure:
            return Outcome(False, failure[0], failure[1], name, argument)
    return PASS


def _argument(name: str, value: Any, golden: Any, declared: dict[str, Any]) -> tuple[str, str] | None:
    kind, items = str(declared.get("type")), declared.get("items")
    if kind == "tuple" and isinstance(value, tuple):
        value = list(value)
    if kind == "float" and type(value) is int:
        value = float(value)
    try:
        passes, skip = type_check(value, golden, kind, items)
        if not passes:
            return "type_error", f"{name}: {value!r} is not of type {kind}"
        return None if skip else value_check(name, value, golden, kind, items)
    except (KeyError, TypeError) as error:
        return "type_error", f"{name}: the declared type cannot be checked ({error})"


def check_special(reply: Any, golden: Any, category: str) -> Outcome:
    """`golden`: `{api: [missing parameters]}`, `{parameter: [wrong values]}` or, for irrelevant, a sentence that
    is not used."""
    text = reply if isinstance(reply, str) else ""
    phrase = PHRASES[category]
    if phrase not in text:
        return Outcome(False, "error_detection", f"the reply does not say {phrase!r}")
    outcome = PASS
    if category != "special_irrelevant" and isinstance(golden, dict):
        for name, words in golden.items():
            wanted = [name, *words] if category == "special_incomplete" else list(words)
            absent = [str(word) for word in wanted if str(word) not in text]
            if absent:
                outcome = Outcome(False, "error_correction", f"not named: {', '.join(absent)}", name, absent[0])
    return outcome
