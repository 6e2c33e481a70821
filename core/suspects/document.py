"""Golden answers that break their own function's document, or ask for more than it does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fcreview.model import Fields
from fcreview.suspects.case import Alternative, Reason
from fcreview.suspects.evidence import Evidence, Wanted
from fcreview.suspects.explained import is_default
from fcreview.suspects.facts.documents import MISSING, Parameter, document_of
from fcreview.suspects.facts.notation import is_initials, is_power, plain, same_meaning, short_for
from fcreview.values import brief

_NAME = re.compile(r"[A-Za-z_$][\w$.]{2,}")
LONG = 100
"""Characters of a text whose marks are counted; a longer one is prose."""
SOME = 0.5
"""How clear it is where only some of the accepted values are at fault."""


def document(seen: Evidence) -> list[Reason]:
    found = [*_functions(seen)]
    for each in seen.wanted:
        found += [
            *(_default(each) if seen.demanded(each.call, each.name) else ()),
            *_left_out(each),
            *_contract(each),
            *_notation(each),
            *_loose(each),
        ]
    return found


def _functions(seen: Evidence) -> Iterable[Reason]:
    if not any(document.stated for document in seen.documents):
        return
    for call in seen.case.golden:
        document = document_of(call.name, seen.documents)
        if document is None:
            yield Reason("contract", 1.0, f"golden calls {call.name}, of which there is no document")
        elif document.stated and call.arguments is not None:
            missing = [
                each.name for each in document.parameters.values() if each.required and each.name not in call.arguments
            ]
            if missing and seen.case.group is None:  # in a conversation it may not have been said yet
                yield Reason("contract", 1.0, f"golden leaves out {missing[0]} of {call.name}, which is required")


def _default(each: Wanted) -> Iterable[Reason]:
    """An optional argument whose default is golden's value, yet golden does not accept that it is left out."""
    parameter = each.parameter
    if parameter is None or parameter.required or parameter.default is MISSING or each.accept.optional:
        return
    if any(is_default(value, parameter.default) for value in each.accept.any_of):
        text = f"golden demands {each.words}, though {brief(parameter.default, 40)} is its documented default"
        yield Reason("default", 1.0, text, Alternative(f"without {each.name}"))


def _left_out(each: Wanted) -> Iterable[Reason]:
    """An argument that golden lets be left out, but not be given as it then is."""
    parameter, accept = each.parameter, each.accept
    if parameter is None or not accept.optional or parameter.required:
        return
    if accept.any_of and parameter.default is not MISSING:
        default_too = (
            is_default(value, parameter.default) or same_meaning(value, parameter.default) for value in accept.any_of
        )
        if not any(default_too):
            default, other = brief(parameter.default, 30), brief(accept.any_of[0], 30)
            text = f"golden lets {each.words} be left out, which means {default}, yet else accepts {other}"
            yield Reason("left out", 1.0, text)
    elif not accept.any_of:
        yield Reason("left out", SOME, f"golden accepts no value of {each.words}, only leaving it out")


def _contract(each: Wanted) -> Iterable[Reason]:
    parameter, values = each.parameter, each.accept.any_of
    if parameter is None:
        yield Reason("contract", 1.0, f"the document of {each.call.name} has no {each.name}, golden has")
        return
    if each.accept.optional and parameter.required:
        yield Reason("contract", SOME, f"golden lets {each.words} be left out, the document requires it")
    faults = [fault for value in values if not _variable(value, parameter) and (fault := fault_of(value, parameter))]
    if faults:
        clear = 1.0 if len(faults) == len(values) else SOME
        yield Reason("contract", clear, f"golden's {each.words} {faults[0]}")


def _variable(value: Any, parameter: Parameter) -> bool:
    """A bare name where a list or an object is asked: `myItems`, as in tasks on code."""
    return parameter.kind in ("list", "object") and isinstance(value, str) and bool(_NAME.fullmatch(value))


def fault_of(value: Any, parameter: Parameter) -> str | None:
    """What a golden value has against its parameter's document, in words."""
    if value in ("", None):
        return None
    kind = kind_of(value)
    if parameter.kind and not _fits(kind, parameter.kind, value):
        return f"is {_a(kind)}, {brief(value, 40)}; the document says {parameter.kind}"
    if isinstance(value, list) and parameter.item_kind:
        wrong = next((one for one in value if not _fits(kind_of(one), parameter.item_kind, one)), None)
        if wrong is not None:
            return f"holds {_a(kind_of(wrong))}, {brief(wrong, 40)}; the document says {parameter.item_kind}"
    if parameter.choices:
        parts = value if isinstance(value, list) else [value]
        wrong = next((one for one in parts if isinstance(one, (str, int)) and one not in parameter.choices), None)
        if wrong is not None:
            return f"is {brief(wrong, 40)}, none of the documented choices"
    return None


def kind_of(value: Any) -> str:
    """In the words of `documents.KINDS`."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (dict, Fields)):
        return "object"
    kinds = {str: "string", int: "integer", float: "number", list: "list"}
    return kinds.get(type(value), "null")


def _fits(kind: str, documented: str, value: Any) -> bool:
    """A whole number is a number; a float without a fraction passes for a whole one."""
    if kind == documented or kind == "null":
        return True
    if documented == "number":
        return kind == "integer"
    return documented == "integer" and kind == "number" and float(value).is_integer()


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeio" else f"a {kind}"


def _notation(each: Wanted) -> Iterable[Reason]:
    """A formula that golden takes in one notation only."""
    formulas = [value for value in each.accept.any_of if isinstance(value, str) and is_power(value)]
    if not formulas or each.parameter is None:
        return
    mixed = next((value for value in formulas if "^" in value and "**" in value), None)
    if mixed:
        yield Reason("notation", 1.0, f"golden's {each.words} mixes two notations: {brief(mixed, 60)}")
    elif len({"**" in value for value in formulas}) == 1 and "^" in formulas[0]:
        other = formulas[0].replace("^", "**")
        text = f"golden takes {each.words} as {brief(formulas[0], 40)} only, not in the notation of code"
        yield Reason("notation", 1.0, text, Alternative(f"{each.name}: {brief(other, 60)}"))


def _loose(each: Wanted) -> Iterable[Reason]:
    """Accepted texts that are damaged, or that name different parts of a third: San Francisco, or only CA."""
    texts = [value for value in each.accept.any_of if isinstance(value, str) and value]
    damaged = next((text for text in texts if _damaged(text)), None)
    if damaged:
        yield Reason("loose", 1.0, f"golden accepts a damaged text for {each.words}: {brief(damaged, 60)}")
        return
    for long in texts:
        parts = [text for text in texts if "," in long and short_for(text, long)]
        apart = [(one, other) for one in parts for other in parts if not _overlap(one, other)]
        if apart:
            one, other = min(apart, key=lambda pair: len(pair[0]))
            text = (
                f"golden accepts for {each.words} both {brief(one, 40)} and {brief(other, 40)}, which are not the same"
            )
            yield Reason("loose", 1.0, text)
            return


def _overlap(one: str, other: str) -> bool:
    if is_initials(one, other) or is_initials(other, one):
        return True
    return plain(one) in plain(other) or plain(other) in plain(one)


def _damaged(text: str) -> bool:
    """A mark that opens and never closes, quotation marks or blanks around it."""
    if text != text.strip() and text.strip():
        return True
    if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"":
        return True
    if len(text) <= LONG and any(text.count(opening) != text.count(closing) for opening, closing in ("()", "[]", "{}")):
        return True
    return text.count('"') % 2 == 1 or (text.startswith("'") and text.count("'") % 2 == 1)
