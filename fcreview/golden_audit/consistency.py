"""Failures for which the golden answer or the checker is to blame rather than the model: a default left out or given, a
notation, a unit, a short name, a value that the golden answer of another item accepts.

Golden answers that break their own function's document, or ask for more than it does.

What golden answers of other items do with the same argument: whether it may be left out, which shape it has, what
else is accepted with a value; and the same question with another golden answer.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fcreview.golden_audit.case import Alternative, Case, CaseKey, Reason
from fcreview.golden_audit.evidence import Evidence, Wanted
from fcreview.golden_audit.facts import (
    Place,
    is_initials,
    is_power,
    plain,
    same_meaning,
    short_for,
)
from fcreview.matching.first_difference import NOTHING
from fcreview.model.function_schema import MISSING, Parameter, schema_of
from fcreview.model.item import Accept, Call, Fields
from fcreview.model.json_value import brief, steps, to_json_text
from fcreview.model.wording import count_of

EMPTY: tuple[Any, ...] = ("", [], {}, None)


def explained(seen: Evidence, siblings: Siblings) -> list[Reason]:
    """Of answers every difference of which is explained."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    examples: dict[str, Place] = {}
    whole: list[int] = []
    for answer, places in seen.differences:
        words = [(explain(seen, siblings, place), place) for place in places]
        why = [(word, place) for word, place in words if word]
        if len(why) == len(words):
            whole += answer.runs
            for word, place in why:
                found[word] += answer.runs
                examples.setdefault(word, place)
    if not whole:
        return []
    word, runs = max(found.items(), key=lambda each: seen.voices.share(set(each[1])))
    runs = sorted(set(runs))
    text = f"{count_of(len(runs), 'failing answer')} may be right: {examples[word].words} is {word}"
    return [Reason("explained", seen.voices.share(whole), text, seen.alternative(examples[word], runs))]


def explain(seen: Evidence, siblings: Siblings, place: Place) -> str | None:
    """Why the difference may be none, in words."""
    if not place.path:
        return None
    parameter = seen.parameter(place.function, str(steps(place.path)[0]))
    default = parameter.default if parameter else MISSING
    top = len(steps(place.path)) == 1
    if place.given is NOTHING:
        if top and default is not MISSING and any(is_default(value, default) for value in values(place.golden)):
            return "leaving it at its documented default, which golden demands"
        return None
    if place.golden is NOTHING:
        if top and default is not MISSING and is_default(place.given, default):
            return "its documented default, which golden leaves out"
        return "empty, where golden leaves it out" if place.given in EMPTY else None
    for value in values(place.golden):
        if word := same_meaning(value, place.given):
            return f"{place.wanted}: {word}"
    other = siblings.accepted_with(str(steps(place.path)[0]), values(place.golden), place.given)
    return f"accepted beside {place.wanted} in {other}" if other and other != seen.case.key.id else None


def values(golden: Any) -> list[Any]:
    return golden.any_of if isinstance(golden, Accept) else [golden]


def is_default(value: Any, default: Any) -> bool:
    """Whether a value is what the document states as default, which may be a text in a description."""
    if type(value) is type(default) and value == default:
        return True
    if isinstance(value, bool) or isinstance(default, bool):
        return str(value).lower() == str(default).lower()
    if same_meaning(value, default) in _SAME:
        return True
    return (
        isinstance(value, list)
        and isinstance(default, str)
        and default.startswith("[")
        and (_listed(default) == [str(one) for one in value])
    )


_SAME = (
    "only case, blanks or marks differ",
    "the same number, written otherwise",
    "one value, in a list or bare",
    "the same words in another form",
    "the same unit",
)


def _listed(text: str) -> list[str]:
    return [part.strip().strip("'\"") for part in text.strip("[]").split(",") if part.strip()]


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
        document = schema_of(call.name, seen.documents)
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
    """In the words of `JSON_TYPES`."""
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


FEWEST = 3
"""Other items that must do alike before one that does not stands out."""
MOSTLY = 0.75


@dataclass(slots=True)
class Uses:
    """How golden answers use one argument of one function, each item counted once."""

    optional: Counter[bool] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


class Siblings:
    """An index over the golden answers of all cases of one dataset."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._uses: defaultdict[tuple[str, str], Uses] = defaultdict(Uses)
        self._together: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        """(argument, value) -> other values accepted with it, in plain form, and an item where they are."""
        self._asked: defaultdict[tuple[str, ...], dict[str, CaseKey]] = defaultdict(dict)
        """Question and functions -> golden answers, in plain form, and the item that has it. Not of conversations."""
        self._plain: dict[CaseKey, tuple[tuple[str, ...], str]] = {}
        """What is asked and golden, of each case that can be compared."""
        for case in cases:
            self._add(case)

    def _add(self, case: Case) -> None:
        seen: set[tuple[str, str, str]] = set()
        for call in case.golden:
            for name, accept in (call.arguments or {}).items():
                if isinstance(accept, Accept):
                    self._use(case.key.id, call.name, name, accept, seen)
        if _comparable(case):
            self._plain[case.key] = (_asked(case), _plain_golden(case.golden))
            asked, golden = self._plain[case.key]
            self._asked[asked].setdefault(golden, case.key)

    def _use(self, item: str, function: str, name: str, accept: Accept, seen: set[tuple[str, str, str]]) -> None:
        uses = self._uses[function, name]
        for what in (str(accept.optional), _kind(accept)):
            if (function, name, what) not in seen:
                seen.add((function, name, what))
                if what in ("True", "False"):
                    uses.optional[accept.optional] += 1
                elif what:
                    uses.kinds[what] += 1
        texts = [plain(value) for value in accept.any_of if isinstance(value, str) and value]
        if 1 < len(texts) <= 20:
            for one in texts:
                together = self._together[name, one]
                for other in texts:
                    together.setdefault(other, item)

    def accepted_with(self, name: str, golden: Iterable[Any], given: Any) -> str | None:
        """An item whose golden answer accepts both the given text and one of golden's, for an argument of this name."""
        if not isinstance(given, str):
            return None
        like = plain(given)
        for value in golden:
            if isinstance(value, str) and (found := self._together.get((name, plain(value)), {}).get(like)):
                return found
        return None

    def uses(self, function: str, name: str) -> Uses:
        return self._uses[function, name]

    def other_answer(self, case: Case) -> str | None:
        """An item with the same question and functions, and another golden answer."""
        if case.key not in self._plain:
            return None
        asked, own = self._plain[case.key]
        return next((key.id for golden, key in self._asked[asked].items() if golden != own), None)


def siblings_of(seen: Evidence, siblings: Siblings) -> list[Reason]:
    found: list[Reason] = []
    for call in seen.case.golden:
        for name, accept in (call.arguments or {}).items():
            if isinstance(accept, Accept):
                found += _apart(call, name, accept, siblings.uses(call.name, name), seen)
    other = siblings.other_answer(seen.case)
    if other:
        found.append(Reason("siblings", 1.0, f"{other} asks the same and has another golden answer"))
    return found


def _apart(call: Call, name: str, accept: Accept, uses: Uses, seen: Evidence) -> Iterable[Reason]:
    words = f"{name} of {call.name}"
    parameter = seen.parameter(call.name, name)
    leaves = uses.optional[True]
    free = not accept.optional and not (parameter and parameter.required)
    if free and leaves >= max(FEWEST, MOSTLY * uses.optional.total()):
        yield Reason("siblings", 0.7, f"golden demands {words}, {leaves} other items let it be left out")
    kind = _kind(accept)
    if kind and uses.kinds.total() > FEWEST:
        usual, count = uses.kinds.most_common(1)[0]
        if usual != kind and count >= MOSTLY * uses.kinds.total() and {usual, kind} != {"integer", "number"}:
            text = (
                f"golden's {words} is of kind {kind}, {brief(accept.any_of[0], 40)}; {count} other items have {usual}"
            )
            yield Reason("siblings", 1.0, text)


def _comparable(case: Case) -> bool:
    """A question of its own: in a conversation the same words may stand for another step of it."""
    return bool(case.golden and case.complete and case.group is None and plain(case.question))


def _kind(accept: Accept) -> str:
    return kind_of(accept.any_of[0]) if accept.any_of else ""


def _asked(case: Case) -> tuple[str, ...]:
    return (plain(case.question), *sorted(str(raw.get("name")) for raw in case.functions))


def _plain_golden(golden: Iterable[Call]) -> str:
    """Names and values as text: order of calls and alternatives does not matter."""
    parts = []
    for call in golden:
        arguments = {
            name: [*sorted(plain(to_json_text(value)) for value in accept.any_of), str(accept.optional)]
            for name, accept in (call.arguments or {}).items()
            if isinstance(accept, Accept)
        }
        parts.append(to_json_text({call.name: dict(sorted(arguments.items()))}))
    return "\n".join(sorted(parts))
