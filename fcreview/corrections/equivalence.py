"""Equivalence rules: what counts as the same argument, within a scope. A closed grammar of words and JSON values.

`KIND [in ARGUMENT] [of FUNCTION] [on BENCHMARK]`, KIND being one of `number-equal`, `default-omittable`, `ignore-case`,
`power-notation` and `accept VALUE for VALUE`; a value is JSON, or a bare word, which is a text.

Whether an argument is right by equivalence rules, where the benchmark's own comparison says it is not. Pure.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fcreview.corrections.erratum import ErrataError
from fcreview.matching import diff as exact
from fcreview.model.function_schema import NO_DEFAULT, Parameter

RULE_DESCRIPTIONS = {
    "number-equal": "numbers are equal whatever their type: 5.0 for 5",
    "default-omittable": "an argument may be left out if the default its document states is golden",
    "ignore-case": "texts are equal whatever their case",
    "power-notation": "x^2 is x**2",
    "accept": "one value for another",
}
"""Every kind, and what it says."""
RULE_PHRASES = {
    "a default may be left out": "default-omittable",
    "ignore case": "ignore-case",
    "x^2 is x**2": "power-notation",
}
"""What people say for some kinds."""
RULE_GRAMMAR = (
    "number-equal, default-omittable, ignore-case, power-notation or accept VALUE for VALUE;"
    " then [in ARGUMENT] [of FUNCTION] [on BENCHMARK]"
)
_SCOPE = {"in": "argument", "of": "function", "on": "benchmark"}


@dataclass(frozen=True, slots=True, eq=False)
class EquivalenceRule:
    """Two are one if they say the same: `accept 1 for 0` and `accept 1.0 for 0` do not, and values may be lists."""

    kind: str
    """One of `MEANS`."""
    benchmark: str = ""
    """As in `--format`; empty for any, as the next two."""
    function: str = ""
    argument: str = ""
    given: Any = None
    """Of `accept`: what is accepted ..."""
    wanted: Any = None
    """... for this golden value."""
    who: str = ""
    """Accepted it, on the date (ISO 8601)."""
    date: str = ""

    def applies_to(self, function: str, argument: str) -> bool:
        return self.function in ("", function) and self.argument in ("", argument)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EquivalenceRule) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        values = f" {_shown(self.given)} for {_shown(self.wanted)}" if self.kind == "accept" else ""
        scope = [f" {word} {_shown(name)}" for word, field in _SCOPE.items() if (name := getattr(self, field))]
        return self.kind + values + "".join(scope)

    def as_json(self) -> dict[str, Any]:
        """`{"rule", "benchmark", "function", "argument", "who", "date"}`, of `accept` also `given` and `wanted`."""
        found = asdict(self)
        found["rule"] = found.pop("kind")
        return found if self.kind == "accept" else {k: v for k, v in found.items() if k not in ("given", "wanted")}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> EquivalenceRule:
        kind = raw.get("rule")
        if not isinstance(kind, str) or kind not in RULE_DESCRIPTIONS:
            raise ErrataError(f"no rule {kind!r}: there are {', '.join(RULE_DESCRIPTIONS)}")
        scope = {name: raw.get(name, "") for name in (*_SCOPE.values(), "who", "date")}
        if not all(isinstance(name, str) for name in scope.values()):
            raise ErrataError("benchmark, function, argument, who and date of a rule are texts")
        if kind == "accept" and not {"given", "wanted"} <= raw.keys():
            raise ErrataError("a rule 'accept' has given and wanted")
        return cls(kind, **scope, given=raw.get("given"), wanted=raw.get("wanted"))


def parse_rule(text: str) -> EquivalenceRule:
    """ErrataError for what is no rule."""
    left = text.strip()
    spoken = next((said for said in RULE_PHRASES if left == said or left.startswith(f"{said} ")), None)
    kind, _, left = left.partition(" ") if spoken is None else (RULE_PHRASES[spoken], "", left[len(spoken) :])
    if kind not in RULE_DESCRIPTIONS:
        raise ErrataError(f"no rule {text!r}: a rule is {RULE_GRAMMAR}")
    values: dict[str, Any] = {}
    if kind == "accept":
        values["given"], left = _value(left, text)
        word, _, left = left.strip().partition(" ")
        if word != "for":
            raise ErrataError(f"no rule {text!r}: accept VALUE for VALUE")
        values["wanted"], left = _value(left, text)
    scope: dict[str, str] = {}
    while left.strip():
        word, _, left = left.strip().partition(" ")
        if word not in _SCOPE or _SCOPE[word] in scope or not left.strip():
            raise ErrataError(f"no rule {text!r}: at {word!r}; a rule is {RULE_GRAMMAR}")
        name, left = _value(left, text)
        scope[_SCOPE[word]] = name if isinstance(name, str) else json.dumps(name)
    return EquivalenceRule(kind, **scope, **values)


def _value(left: str, text: str) -> tuple[Any, str]:
    """A value at the head, and what follows it."""
    left = left.strip()
    if not left:
        raise ErrataError(f"no rule {text!r}: a value or a name is missing at the end")
    try:
        value, end = json.JSONDecoder().raw_decode(left)
        if end == len(left) or left[end] == " ":
            return value, left[end:]
    except (ValueError, RecursionError):
        pass
    word, _, rest = left.partition(" ")
    return word, rest


def _shown(value: Any) -> str:
    """So that it is read back as what it is."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value and " " not in value and not any(c in '"\\' for c in value):
        return value if not _is_json(value) and value.isprintable() else text
    return text


def _is_json(word: str) -> bool:
    try:
        json.loads(word)
    except (ValueError, RecursionError):
        return False
    return True


DEEP = 50
_POWER = re.compile(r"[ ]*(?:\*\*|\^)[ ]*")
OMITTED = ""
"""Among the accepted values of a field inside an object: it may be left out."""


def is_equivalent(rules: Sequence[EquivalenceRule], wanted: Any, given: Any, depth: int = 0) -> bool:
    """Whether `given` is what golden wants, exactly or by one of the rules at each place. Lists go element by element;
    of objects `wanted` has either a list of accepted values for each field or a value."""
    if exact.is_same_value(wanted, given) or any(_by(rule, wanted, given) for rule in rules):
        return True
    if depth >= DEEP:
        return False
    if isinstance(wanted, (list, tuple)) and isinstance(given, (list, tuple)):
        return len(wanted) == len(given) and all(
            is_equivalent(rules, one, other, depth + 1) for one, other in zip(wanted, given, strict=True)
        )
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        fields = {name: one if isinstance(one, list) else [one] for name, one in wanted.items()}
        return given.keys() <= fields.keys() and all(
            any(is_equivalent(rules, one, given[name], depth + 1) for one in any_of) if name in given else OMITTED in any_of
            for name, any_of in fields.items()
        )
    return False


def can_be_omitted(rules: Sequence[EquivalenceRule], parameter: Parameter, accepted: Sequence[Any]) -> bool:
    """Whether a rule lets the argument be left out: its stated default is one of the accepted values, or says so."""
    if parameter.default is NO_DEFAULT or not any(rule.kind == "default-omittable" for rule in rules):
        return False
    said = str(parameter.default).casefold()
    return any(
        is_equivalent(_NUMBERS, one, parameter.default) or (isinstance(one, (str, bool, int, float)) and _word(one) == said)
        for one in accepted
    )


_NUMBERS = (EquivalenceRule("number-equal"),)


def _word(value: Any) -> str:
    return str(value).casefold()


def _by(rule: EquivalenceRule, wanted: Any, given: Any) -> bool:
    match rule.kind:
        case "number-equal":
            return _is_number(wanted) and _is_number(given) and bool(wanted == given)
        case "ignore-case":
            return isinstance(wanted, str) and isinstance(given, str) and wanted.casefold() == given.casefold()
        case "power-notation":
            return isinstance(wanted, str) and isinstance(given, str) and _powers(wanted) == _powers(given)
        case "accept":
            return exact.is_same_value(rule.wanted, wanted) and exact.is_same_value(rule.given, given)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _powers(text: str) -> str:
    return _POWER.sub("^", text)
