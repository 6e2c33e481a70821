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

from fcreview.golden_audit.case import AlternativeAnswer, AuditedQuestion, QuestionKey, Reason
from fcreview.golden_audit.evidence import GoldenArgument, QuestionEvidence
from fcreview.golden_audit.facts import (
    AnswerDifference,
    describe_equivalence,
    is_initials,
    is_power_formula,
    is_short_for,
    normalize_text,
)
from fcreview.matching.first_difference import NO_VALUE
from fcreview.model.function_schema import NO_DEFAULT, Parameter, find_schema
from fcreview.model.item import AcceptedValues, Call, GoldenObject
from fcreview.model.json_value import abbreviate, split_path, to_json_text
from fcreview.model.wording import format_count

EMPTY_VALUES: tuple[Any, ...] = ("", [], {}, None)


def find_explained_failures(seen: QuestionEvidence, siblings: GoldenAnswerIndex) -> list[Reason]:
    """Of answers every difference of which is explained."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    examples: dict[str, AnswerDifference] = {}
    whole: list[int] = []
    for answer, places in seen.differences:
        words = [(explain_difference(seen, siblings, place), place) for place in places]
        why = [(word, place) for word, place in words if word]
        if len(why) == len(words):
            whole += answer.runs
            for word, place in why:
                found[word] += answer.runs
                examples.setdefault(word, place)
    if not whole:
        return []
    word, runs = max(found.items(), key=lambda each: seen.run_weights.share(set(each[1])))
    runs = sorted(set(runs))
    text = f"{format_count(len(runs), 'failing answer')} may be right: {examples[word].label} is {word}"
    return [Reason("explained", seen.run_weights.share(whole), text, seen.build_alternative(examples[word], runs))]


def explain_difference(seen: QuestionEvidence, siblings: GoldenAnswerIndex, place: AnswerDifference) -> str | None:
    """Why the difference may be none, in words."""
    if not place.path:
        return None
    parameter = seen.find_parameter(place.function, str(split_path(place.path)[0]))
    default = parameter.default if parameter else NO_DEFAULT
    top = len(split_path(place.path)) == 1
    if place.predicted is NO_VALUE:
        if top and default is not NO_DEFAULT and any(is_documented_default(value, default) for value in list_accepted_values(place.golden)):
            return "leaving it at its documented default, which golden demands"
        return None
    if place.golden is NO_VALUE:
        if top and default is not NO_DEFAULT and is_documented_default(place.predicted, default):
            return "its documented default, which golden leaves out"
        return "empty, where golden leaves it out" if place.predicted in EMPTY_VALUES else None
    for value in list_accepted_values(place.golden):
        if word := describe_equivalence(value, place.predicted):
            return f"{place.golden_label}: {word}"
    other = siblings.find_item_accepting_both(str(split_path(place.path)[0]), list_accepted_values(place.golden), place.predicted)
    return f"accepted beside {place.golden_label} in {other}" if other and other != seen.question.key.id else None


def list_accepted_values(golden: Any) -> list[Any]:
    return golden.any_of if isinstance(golden, AcceptedValues) else [golden]


def is_documented_default(value: Any, default: Any) -> bool:
    """Whether a value is what the document states as default, which may be a text in a description."""
    if type(value) is type(default) and value == default:
        return True
    if isinstance(value, bool) or isinstance(default, bool):
        return str(value).lower() == str(default).lower()
    if describe_equivalence(value, default) in _SAME:
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
MAX_BRACKET_TEXT = 100
"""Characters of a text whose marks are counted; a longer one is prose."""
PARTIAL_STRENGTH = 0.5
"""How clear it is where only some of the accepted values are at fault."""


def find_function_doc_conflicts(seen: QuestionEvidence) -> list[Reason]:
    found = [*_functions(seen)]
    for each in seen.golden_arguments:
        found += [
            *(_default(each) if seen.is_required(each.call, each.name) else ()),
            *_left_out(each),
            *_contract(each),
            *_notation(each),
            *_loose(each),
        ]
    return found


def _functions(seen: QuestionEvidence) -> Iterable[Reason]:
    if not any(document.lists_parameters for document in seen.function_schemas):
        return
    for call in seen.question.golden:
        document = find_schema(call.name, seen.function_schemas)
        if document is None:
            yield Reason("contract", 1.0, f"golden calls {call.name}, of which there is no document")
        elif document.lists_parameters and call.arguments is not None:
            missing = [
                each.name for each in document.parameters.values() if each.required and each.name not in call.arguments
            ]
            if missing and seen.question.group is None:  # in a conversation it may not have been said yet
                yield Reason("contract", 1.0, f"golden leaves out {missing[0]} of {call.name}, which is required")


def _default(each: GoldenArgument) -> Iterable[Reason]:
    """An optional argument whose default is golden's value, yet golden does not accept that it is left out."""
    parameter = each.parameter
    if parameter is None or parameter.required or parameter.default is NO_DEFAULT or each.accept.optional:
        return
    if any(is_documented_default(value, parameter.default) for value in each.accept.any_of):
        text = f"golden demands {each.label}, though {abbreviate(parameter.default, 40)} is its documented default"
        yield Reason("default", 1.0, text, AlternativeAnswer(f"without {each.name}"))


def _left_out(each: GoldenArgument) -> Iterable[Reason]:
    """An argument that golden lets be left out, but not be given as it then is."""
    parameter, accept = each.parameter, each.accept
    if parameter is None or not accept.optional or parameter.required:
        return
    if accept.any_of and parameter.default is not NO_DEFAULT:
        default_too = (
            is_documented_default(value, parameter.default) or describe_equivalence(value, parameter.default) for value in accept.any_of
        )
        if not any(default_too):
            default, other = abbreviate(parameter.default, 30), abbreviate(accept.any_of[0], 30)
            text = f"golden lets {each.label} be left out, which means {default}, yet else accepts {other}"
            yield Reason("left out", 1.0, text)
    elif not accept.any_of:
        yield Reason("left out", PARTIAL_STRENGTH, f"golden accepts no value of {each.label}, only leaving it out")


def _contract(each: GoldenArgument) -> Iterable[Reason]:
    parameter, values = each.parameter, each.accept.any_of
    if parameter is None:
        yield Reason("contract", 1.0, f"the document of {each.call.name} has no {each.name}, golden has")
        return
    if each.accept.optional and parameter.required:
        yield Reason("contract", PARTIAL_STRENGTH, f"golden lets {each.label} be left out, the document requires it")
    faults = [fault for value in values if not _variable(value, parameter) and (fault := describe_value_conflict(value, parameter))]
    if faults:
        clear = 1.0 if len(faults) == len(values) else PARTIAL_STRENGTH
        yield Reason("contract", clear, f"golden's {each.label} {faults[0]}")


def _variable(value: Any, parameter: Parameter) -> bool:
    """A bare name where a list or an object is asked: `myItems`, as in tasks on code."""
    return parameter.kind in ("list", "object") and isinstance(value, str) and bool(_NAME.fullmatch(value))


def describe_value_conflict(value: Any, parameter: Parameter) -> str | None:
    """What a golden value has against its parameter's document, in words."""
    if value in ("", None):
        return None
    kind = json_type_of(value)
    if parameter.kind and not _fits(kind, parameter.kind, value):
        return f"is {_a(kind)}, {abbreviate(value, 40)}; the document says {parameter.kind}"
    if isinstance(value, list) and parameter.item_kind:
        wrong = next((one for one in value if not _fits(json_type_of(one), parameter.item_kind, one)), None)
        if wrong is not None:
            return f"holds {_a(json_type_of(wrong))}, {abbreviate(wrong, 40)}; the document says {parameter.item_kind}"
    if parameter.choices:
        parts = value if isinstance(value, list) else [value]
        wrong = next((one for one in parts if isinstance(one, (str, int)) and one not in parameter.choices), None)
        if wrong is not None:
            return f"is {abbreviate(wrong, 40)}, none of the documented choices"
    return None


def json_type_of(value: Any) -> str:
    """In the words of `JSON_TYPES`."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (dict, GoldenObject)):
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


def _notation(each: GoldenArgument) -> Iterable[Reason]:
    """A formula that golden takes in one notation only."""
    formulas = [value for value in each.accept.any_of if isinstance(value, str) and is_power_formula(value)]
    if not formulas or each.parameter is None:
        return
    mixed = next((value for value in formulas if "^" in value and "**" in value), None)
    if mixed:
        yield Reason("notation", 1.0, f"golden's {each.label} mixes two notations: {abbreviate(mixed, 60)}")
    elif len({"**" in value for value in formulas}) == 1 and "^" in formulas[0]:
        other = formulas[0].replace("^", "**")
        text = f"golden takes {each.label} as {abbreviate(formulas[0], 40)} only, not in the notation of code"
        yield Reason("notation", 1.0, text, AlternativeAnswer(f"{each.name}: {abbreviate(other, 60)}"))


def _loose(each: GoldenArgument) -> Iterable[Reason]:
    """Accepted texts that are damaged, or that name different parts of a third: San Francisco, or only CA."""
    texts = [value for value in each.accept.any_of if isinstance(value, str) and value]
    damaged = next((text for text in texts if _damaged(text)), None)
    if damaged:
        yield Reason("loose", 1.0, f"golden accepts a damaged text for {each.label}: {abbreviate(damaged, 60)}")
        return
    for long in texts:
        parts = [text for text in texts if "," in long and is_short_for(text, long)]
        apart = [(one, other) for one in parts for other in parts if not _overlap(one, other)]
        if apart:
            one, other = min(apart, key=lambda pair: len(pair[0]))
            text = (
                f"golden accepts for {each.label} both {abbreviate(one, 40)} and {abbreviate(other, 40)}, which are not the same"
            )
            yield Reason("loose", 1.0, text)
            return


def _overlap(one: str, other: str) -> bool:
    if is_initials(one, other) or is_initials(other, one):
        return True
    return normalize_text(one) in normalize_text(other) or normalize_text(other) in normalize_text(one)


def _damaged(text: str) -> bool:
    """A mark that opens and never closes, quotation marks or blanks around it."""
    if text != text.strip() and text.strip():
        return True
    if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"":
        return True
    if len(text) <= MAX_BRACKET_TEXT and any(text.count(opening) != text.count(closing) for opening, closing in ("()", "[]", "{}")):
        return True
    return text.count('"') % 2 == 1 or (text.startswith("'") and text.count("'") % 2 == 1)


MIN_OTHER_ITEMS = 3
"""Other items that must do alike before one that does not stands out."""
MAJORITY = 0.75


@dataclass(slots=True)
class ArgumentUsage:
    """How golden answers use one argument of one function, each item counted once."""

    optional: Counter[bool] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)


class GoldenAnswerIndex:
    """An index over the golden answers of all cases of one dataset."""

    def __init__(self, cases: Iterable[AuditedQuestion]) -> None:
        self._uses: defaultdict[tuple[str, str], ArgumentUsage] = defaultdict(ArgumentUsage)
        self._together: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        """(argument, value) -> other values accepted with it, in plain form, and an item where they are."""
        self._asked: defaultdict[tuple[str, ...], dict[str, QuestionKey]] = defaultdict(dict)
        """Question and functions -> golden answers, in plain form, and the item that has it. Not of conversations."""
        self._plain: dict[QuestionKey, tuple[tuple[str, ...], str]] = {}
        """What is asked and golden, of each case that can be compared."""
        for case in cases:
            self._add(case)

    def _add(self, case: AuditedQuestion) -> None:
        seen: set[tuple[str, str, str]] = set()
        for call in case.golden:
            for name, accept in (call.arguments or {}).items():
                if isinstance(accept, AcceptedValues):
                    self._use(case.key.id, call.name, name, accept, seen)
        if _comparable(case):
            self._plain[case.key] = (_asked(case), _plain_golden(case.golden))
            asked, golden = self._plain[case.key]
            self._asked[asked].setdefault(golden, case.key)

    def _use(self, item: str, function: str, name: str, accept: AcceptedValues, seen: set[tuple[str, str, str]]) -> None:
        uses = self._uses[function, name]
        for what in (str(accept.optional), _kind(accept)):
            if (function, name, what) not in seen:
                seen.add((function, name, what))
                if what in ("True", "False"):
                    uses.optional[accept.optional] += 1
                elif what:
                    uses.types[what] += 1
        texts = [normalize_text(value) for value in accept.any_of if isinstance(value, str) and value]
        if 1 < len(texts) <= 20:
            for one in texts:
                together = self._together[name, one]
                for other in texts:
                    together.setdefault(other, item)

    def find_item_accepting_both(self, name: str, golden: Iterable[Any], given: Any) -> str | None:
        """An item whose golden answer accepts both the given text and one of golden's, for an argument of this name."""
        if not isinstance(given, str):
            return None
        like = normalize_text(given)
        for value in golden:
            if isinstance(value, str) and (found := self._together.get((name, normalize_text(value)), {}).get(like)):
                return found
        return None

    def usage(self, function: str, name: str) -> ArgumentUsage:
        return self._uses[function, name]

    def find_conflicting_item(self, case: AuditedQuestion) -> str | None:
        """An item with the same question and functions, and another golden answer."""
        if case.key not in self._plain:
            return None
        asked, own = self._plain[case.key]
        return next((key.id for golden, key in self._asked[asked].items() if golden != own), None)


def find_deviations_from_other_items(seen: QuestionEvidence, siblings: GoldenAnswerIndex) -> list[Reason]:
    found: list[Reason] = []
    for call in seen.question.golden:
        for name, accept in (call.arguments or {}).items():
            if isinstance(accept, AcceptedValues):
                found += _apart(call, name, accept, siblings.usage(call.name, name), seen)
    other = siblings.find_conflicting_item(seen.question)
    if other:
        found.append(Reason("siblings", 1.0, f"{other} asks the same and has another golden answer"))
    return found


def _apart(call: Call, name: str, accept: AcceptedValues, uses: ArgumentUsage, seen: QuestionEvidence) -> Iterable[Reason]:
    words = f"{name} of {call.name}"
    parameter = seen.find_parameter(call.name, name)
    leaves = uses.optional[True]
    free = not accept.optional and not (parameter and parameter.required)
    if free and leaves >= max(MIN_OTHER_ITEMS, MAJORITY * uses.optional.total()):
        yield Reason("siblings", 0.7, f"golden demands {words}, {leaves} other items let it be left out")
    kind = _kind(accept)
    if kind and uses.types.total() > MIN_OTHER_ITEMS:
        usual, count = uses.types.most_common(1)[0]
        if usual != kind and count >= MAJORITY * uses.types.total() and {usual, kind} != {"integer", "number"}:
            text = (
                f"golden's {words} is of kind {kind}, {abbreviate(accept.any_of[0], 40)}; {count} other items have {usual}"
            )
            yield Reason("siblings", 1.0, text)


def _comparable(case: AuditedQuestion) -> bool:
    """A question of its own: in a conversation the same words may stand for another step of it."""
    return bool(case.golden and case.is_self_contained and case.group is None and normalize_text(case.text))


def _kind(accept: AcceptedValues) -> str:
    return json_type_of(accept.any_of[0]) if accept.any_of else ""


def _asked(case: AuditedQuestion) -> tuple[str, ...]:
    return (normalize_text(case.text), *sorted(str(raw.get("name")) for raw in case.functions))


def _plain_golden(golden: Iterable[Call]) -> str:
    """Names and values as text: order of calls and alternatives does not matter."""
    parts = []
    for call in golden:
        arguments = {
            name: [*sorted(normalize_text(to_json_text(value)) for value in accept.any_of), str(accept.optional)]
            for name, accept in (call.arguments or {}).items()
            if isinstance(accept, AcceptedValues)
        }
        parts.append(to_json_text({call.name: dict(sorted(arguments.items()))}))
    return "\n".join(sorted(parts))
