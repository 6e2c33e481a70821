"""Whether an argument is right by equivalence rules, where the benchmark's own comparison says it is not. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fcreview.calls import rules as exact
from fcreview.errata.rules import Rule
from fcreview.suspects.facts.documents import MISSING, Parameter

DEEP = 50
_POWER = re.compile(r"[ ]*(?:\*\*|\^)[ ]*")
OMITTED = ""
"""Among the accepted values of a field inside an object: it may be left out."""


def same(rules: Sequence[Rule], wanted: Any, given: Any, depth: int = 0) -> bool:
    """Whether `given` is what golden wants, exactly or by one of the rules at each place. Lists go element by element;
    of objects `wanted` has either a list of accepted values for each field or a value."""
    if exact.same(wanted, given) or any(_by(rule, wanted, given) for rule in rules):
        return True
    if depth >= DEEP:
        return False
    if isinstance(wanted, (list, tuple)) and isinstance(given, (list, tuple)):
        return len(wanted) == len(given) and all(
            same(rules, one, other, depth + 1) for one, other in zip(wanted, given, strict=True)
        )
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        fields = {name: one if isinstance(one, list) else [one] for name, one in wanted.items()}
        return given.keys() <= fields.keys() and all(
            any(same(rules, one, given[name], depth + 1) for one in any_of) if name in given else OMITTED in any_of
            for name, any_of in fields.items()
        )
    return False


def may_be_left_out(rules: Sequence[Rule], parameter: Parameter, accepted: Sequence[Any]) -> bool:
    """Whether a rule lets the argument be left out: its stated default is one of the accepted values, or says so."""
    if parameter.default is MISSING or not any(rule.kind == "default-omittable" for rule in rules):
        return False
    said = str(parameter.default).casefold()
    return any(
        same(_NUMBERS, one, parameter.default) or (isinstance(one, (str, bool, int, float)) and _word(one) == said)
        for one in accepted
    )


_NUMBERS = (Rule("number-equal"),)


def _word(value: Any) -> str:
    return str(value).casefold()


def _by(rule: Rule, wanted: Any, given: Any) -> bool:
    match rule.kind:
        case "number-equal":
            return _is_number(wanted) and _is_number(given) and bool(wanted == given)
        case "ignore-case":
            return isinstance(wanted, str) and isinstance(given, str) and wanted.casefold() == given.casefold()
        case "power-notation":
            return isinstance(wanted, str) and isinstance(given, str) and _powers(wanted) == _powers(given)
        case "accept":
            return exact.same(rule.wanted, wanted) and exact.same(rule.given, given)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _powers(text: str) -> str:
    return _POWER.sub("^", text)
