"""Equivalence rules in the checker: what they accept that the benchmark's own comparison does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fcreview.errata.rules import Rule
from fcreview.errata.same import may_be_left_out, same
from fcreview.suspects.facts.documents import read_document

if TYPE_CHECKING:
    from fcreview.importers.bfcl.check.prepare import Parameter


def accepted_by_rule(parameter: Parameter, value: Any) -> bool:
    """Whether a rule, and not equality alone, makes the value one of the acceptable ones."""
    if parameter.convert is not None and type(value) is str:
        value = parameter.convert(value)
    rules = parameter.lenient
    return any(same(rules, one, value) and not same((), one, value) for one in parameter.accepted if one != "")


def covering(rules: Sequence[Rule], function: str, argument: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.covers(function, argument))


def omittable(rules: Sequence[Rule], document: Mapping[str, Any], accepted: Mapping[str, Any]) -> frozenset[str]:
    """The parameters that rules allow to be left out of a call."""
    if not any(rule.kind == "default-omittable" for rule in rules):
        return frozenset()
    known, function = read_document(document).parameters, str(document.get("name"))
    return frozenset(
        name
        for name, values in accepted.items()
        if name in known
        and isinstance(values, list)
        and may_be_left_out(covering(rules, function, name), known[name], values)
    )
