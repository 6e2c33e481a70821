"""Parse and apply equivalence rules. An equivalence rule accepts argument values that the benchmark
itself rejects.

A rule has the form `KIND [in ARGUMENT] [of FUNCTION] [on BENCHMARK]`. A value in a rule is JSON or
a single word without quotation marks. A single word is a string. The kinds of rules are:

* `number-equal`: equal numbers of different types are accepted, such as 5.0 for 5.
* `default-omittable`: an argument may be omitted if its documented default is the golden value.
* `ignore-case`: strings that differ only in upper and lower case are accepted.
* `power-notation`: `x^2` is accepted for `x**2`, and `x**2` for `x^2`.
* `accept PREDICTED for GOLDEN`: the predicted value is accepted in place of the golden value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fcreview.errors import FcreviewError
from fcreview.matching.diff import is_same_value
from fcreview.model.function_schema import NO_DEFAULT, Parameter

RULE_KINDS = ("number-equal", "default-omittable", "ignore-case", "power-notation", "accept")
RULE_PHRASES = {
    "a default may be left out": "default-omittable",
    "ignore case": "ignore-case",
    "x^2 is x**2": "power-notation",
}
RULE_GRAMMAR = (
    "number-equal, default-omittable, ignore-case, power-notation or `accept PREDICTED for GOLDEN`,"
    " then [in ARGUMENT] [of FUNCTION] [on BENCHMARK]"
)
_SCOPE_FIELDS = {"in": "argument", "of": "function", "on": "benchmark"}


class ErrataError(FcreviewError):
    """Raised for an invalid errata file or equivalence rule.

    The message states the location and the reason.
    """


@dataclass(frozen=True, slots=True, eq=False)
class EquivalenceRule:
    """Rule that accepts other argument values than the benchmark.

    Rules with equal texts are equal.
    """

    kind: str
    benchmark: str = ""
    """Name of the benchmark to which the rule is limited, a value of `--format`.

    If empty, the rule applies to all.
    """
    function: str = ""
    argument: str = ""
    given: Any = None
    """Predicted value that an `accept` rule accepts in place of the golden value `wanted`."""
    wanted: Any = None
    who: str = ""
    date: str = ""

    def applies_to(self, function: str, argument: str) -> bool:
        return self.function in ("", function) and self.argument in ("", argument)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EquivalenceRule) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """Return the rule as it is typed, such as `accept "Roma" for "Rome" argument city`."""
        parts = [self.kind]
        if self.kind == "accept":
            parts.append(f"{_format_value(self.given)} for {_format_value(self.wanted)}")
        for word, field_name in _SCOPE_FIELDS.items():
            name = getattr(self, field_name)
            if name:
                parts.append(f"{word} {_format_value(name)}")
        return " ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Return {rule, benchmark, function, argument, who, date}, and for an `accept` rule also
        {given, wanted}.
        """
        values = asdict(self)
        values["rule"] = values.pop("kind")
        if self.kind != "accept":
            del values["given"], values["wanted"]
        return values

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> EquivalenceRule:
        """Build a rule from the result of `as_json`.

        Raises ErrataError if a field is missing or has the wrong type.
        """
        kind = raw.get("rule")
        if not isinstance(kind, str) or kind not in RULE_KINDS:
            raise ErrataError(
                f"unknown rule {kind!r}. The known rules are {', '.join(RULE_KINDS)}."
            )
        texts = {name: raw.get(name, "") for name in (*_SCOPE_FIELDS.values(), "who", "date")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise ErrataError(
                "the fields `benchmark`, `function`, `argument`, `who` and `date` of a rule must be"
                " strings"
            )
        if kind == "accept" and not {"given", "wanted"} <= raw.keys():
            raise ErrataError("a rule of the kind `accept` needs the fields `given` and `wanted`")
        return cls(kind, **texts, given=raw.get("given"), wanted=raw.get("wanted"))


def parse_rule(text: str) -> EquivalenceRule:
    """Parse a rule such as `ignore-case in city of get_weather`.

    Raises ErrataError if the text is not a rule.
    """
    kind, rest = _parse_kind(text)
    if kind != "accept":
        return EquivalenceRule(kind, **_parse_scope(rest, text))

    given, rest = _parse_first_value(rest, text)
    word, _, rest = rest.strip().partition(" ")
    if word != "for":
        raise ErrataError(f"invalid rule {text!r}. Use `accept PREDICTED for GOLDEN`.")
    wanted, rest = _parse_first_value(rest, text)
    return EquivalenceRule(kind, given=given, wanted=wanted, **_parse_scope(rest, text))


def _parse_kind(rule_text: str) -> tuple[str, str]:
    """Return the kind of a rule, and the rest of its text.

    A rule starts with the name of its kind, or with a phrase that stands for it.
    """
    text = rule_text.strip()
    for phrase, kind in RULE_PHRASES.items():
        if text == phrase or text.startswith(f"{phrase} "):
            return kind, text.removeprefix(phrase)

    kind, _, rest = text.partition(" ")
    if kind not in RULE_KINDS:
        raise ErrataError(f"invalid rule {rule_text!r}. Use {RULE_GRAMMAR}.")
    return kind, rest


def _parse_scope(text: str, rule_text: str) -> dict[str, str]:
    """Parse `[in ARGUMENT] [of FUNCTION] [on BENCHMARK]` at the end of a rule, in any order.

    Returns fields of EquivalenceRule. `rule_text` is the rule in error messages.
    """
    scope: dict[str, str] = {}
    remaining_text = text.strip()
    while remaining_text:
        word, _, after_word = remaining_text.partition(" ")
        field = _SCOPE_FIELDS.get(word)
        is_repeated = field in scope
        if field is None or is_repeated or not after_word.strip():
            raise ErrataError(f"invalid rule {rule_text!r} at {word!r}. Use {RULE_GRAMMAR}.")

        name, after_name = _parse_first_value(after_word, rule_text)
        # A name can look like another JSON value, such as the argument `5`.
        scope[field] = name if isinstance(name, str) else json.dumps(name)
        remaining_text = after_name.strip()
    return scope


def _parse_first_value(text: str, rule_text: str) -> tuple[Any, str]:
    """Return the value at the start of a text, and the rest of the text.

    `rule_text` is the rule in error messages.
    """
    text = text.strip()
    if not text:
        raise ErrataError(f"invalid rule {rule_text!r}. Add the missing value or name at the end.")
    try:
        value, end = json.JSONDecoder().raw_decode(text)
        if end == len(text) or text[end] == " ":
            return value, text[end:]
    except (ValueError, RecursionError):
        pass
    word, _, rest = text.partition(" ")
    return word, rest


def _format_value(value: Any) -> str:
    """Format a value of a rule as a single word without quotation marks if possible, else as
    JSON.
    """
    if isinstance(value, str) and _is_word(value) and not _is_json(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _is_word(text: str) -> bool:
    """Whether a text can stand in a rule without quotation marks, as far as its characters go."""
    has_special_character = any(char in text for char in ' "\\')
    return text != "" and text.isprintable() and not has_special_character


def _is_json(text: str) -> bool:
    """Whether a text without quotation marks would be read as another value, as `5` or `true`."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_MAX_DEPTH = 50
_POWER_OPERATOR = re.compile(r"(?<! )[ ]*(?:\*\*|\^)[ ]*")
_OMITTED = ""
"""Entry in a list of accepted values that means that the field may be omitted."""


def is_equivalent(
    rules: Sequence[EquivalenceRule], golden: Any, predicted: Any, depth: int = 0
) -> bool:
    """Whether a predicted value equals the golden value, or one of the equivalence rules accepts
    it. The values inside lists and objects are compared in the same way.

    A field of a golden object contains a value or a list of accepted values.
    """
    if is_same_value(golden, predicted):
        return True
    if any(_rule_accepts(rule, golden, predicted) for rule in rules):
        return True
    if depth >= _MAX_DEPTH:
        return False
    if isinstance(golden, (list, tuple)) and isinstance(predicted, (list, tuple)):
        return _is_equivalent_list(rules, golden, predicted, depth + 1)
    if isinstance(golden, Mapping) and isinstance(predicted, Mapping):
        return _is_equivalent_object(rules, golden, predicted, depth + 1)
    return False


def _is_equivalent_list(
    rules: Sequence[EquivalenceRule],
    golden: Sequence[Any],
    predicted: Sequence[Any],
    depth: int,
) -> bool:
    """Whether two lists are equally long, and each pair of elements is equivalent."""
    if len(golden) != len(predicted):
        return False
    for golden_element, predicted_element in zip(golden, predicted, strict=True):
        if not is_equivalent(rules, golden_element, predicted_element, depth):
            return False
    return True


def _is_equivalent_object(
    rules: Sequence[EquivalenceRule],
    golden: Mapping[str, Any],
    predicted: Mapping[str, Any],
    depth: int,
) -> bool:
    """Whether the prediction has only fields of the golden object, and each field of the golden
    object has an accepted value or may be omitted.
    """
    if not predicted.keys() <= golden.keys():
        return False
    for name, value in golden.items():
        accepted_values = value if isinstance(value, list) else [value]
        if name not in predicted:
            if _OMITTED not in accepted_values:
                return False
            continue
        if not any(
            is_equivalent(rules, accepted, predicted[name], depth) for accepted in accepted_values
        ):
            return False
    return True


def can_be_omitted(
    rules: Sequence[EquivalenceRule], parameter: Parameter, accepted_values: Sequence[Any]
) -> bool:
    """Whether an argument can be omitted although the golden answer has it.

    It can be omitted if `rules` has a rule of the kind `default-omittable`, and if the golden
    answer accepts the documented default. Omitting the argument then means the same.
    """
    if parameter.default is NO_DEFAULT:
        return False
    if not any(rule.kind == "default-omittable" for rule in rules):
        return False
    return any(_is_default(value, parameter.default) for value in accepted_values)


def _is_default(value: Any, default: Any) -> bool:
    """Whether a value is the default, also as an equal number or as a text in another case."""
    if is_equivalent(_NUMBER_EQUAL, value, default):
        return True
    is_scalar = isinstance(value, (str, bool, int, float))
    return is_scalar and str(value).casefold() == str(default).casefold()


_NUMBER_EQUAL = (EquivalenceRule("number-equal"),)


def _rule_accepts(rule: EquivalenceRule, golden: Any, predicted: Any) -> bool:
    """Whether a rule accepts a predicted value that differs from the golden value.

    The kind of the rule decides:

    * `number-equal` accepts an equal number of another type, such as 2.0 for 2.
    * `ignore-case` accepts a text that differs only in case.
    * `power-notation` accepts `x**2` for `x^2`, and the other way round.
    * `accept` accepts exactly one predicted value for one golden value. The rule names both.
    """
    are_strings = isinstance(golden, str) and isinstance(predicted, str)
    match rule.kind:
        case "number-equal":
            return _is_number(golden) and _is_number(predicted) and bool(golden == predicted)
        case "ignore-case":
            return are_strings and golden.casefold() == predicted.casefold()
        case "power-notation":
            return are_strings and _unify_powers(golden) == _unify_powers(predicted)
        case "accept":
            return is_same_value(rule.wanted, golden) and is_same_value(rule.given, predicted)
    return False


def _unify_powers(text: str) -> str:
    """Write all power operators of a text as `^`."""
    return _POWER_OPERATOR.sub("^", text)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
