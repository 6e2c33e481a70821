"""Find reasons to suspect a golden answer that do not depend on the answers of runs: conflicts with
the function docs, deviations from other items of the dataset, and values that neither the question
nor the function docs mention.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

from fcreview.golden_audit.evidence import (
    CASE_DIFFERS,
    SAME_NUMBER,
    SAME_UNIT,
    SAME_WORDS,
    SINGLE_VALUE,
    GoldenArgument,
    QuestionEvidence,
    describe_equivalence,
    is_initials_of,
    is_power_formula,
    is_short_form_of,
    parse_number,
)
from fcreview.golden_audit.question import (
    AlternativeAnswer,
    AuditedQuestion,
    Reason,
    normalize_text,
)
from fcreview.matching.diff import get_type_name
from fcreview.model.function_schema import (
    JSON_TYPES,
    NO_DEFAULT,
    FunctionSchema,
    Parameter,
    find_schema,
)
from fcreview.model.item import AcceptedValues, Call, GoldenObject
from fcreview.model.json_value import abbreviate, to_json_text
from fcreview.model.review import QuestionKey


def is_documented_default(value: Any, default: Any) -> bool:
    """Whether a value has the same meaning as the documented default, which may be a text from a
    description.
    """
    if type(value) is type(default) and value == default:
        return True
    if isinstance(value, bool) or isinstance(default, bool):
        return str(value).lower() == str(default).lower()
    if describe_equivalence(value, default) in _SAME_DEFAULT:
        return True

    # A description may contain a list as text: `[1, 2]`.
    if isinstance(value, list) and isinstance(default, str) and default.startswith("["):
        return _split_list_text(default) == [str(element) for element in value]
    return False


def _split_list_text(text: str) -> list[str]:
    """Return the elements of a list that is written as a text, without their quotes."""
    elements = []
    for part in text.strip("[]").split(","):
        stripped = part.strip()
        if stripped:
            elements.append(stripped.strip("'\""))
    return elements


_SAME_DEFAULT = (CASE_DIFFERS, SAME_NUMBER, SINGLE_VALUE, SAME_WORDS, SAME_UNIT)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$.]{2,}")
MAX_BRACKET_TEXT = 100
"""Maximum length, in characters, of texts in which unmatched brackets count as damage."""
PARTIAL_STRENGTH = 0.5


def find_function_doc_conflicts(evidence: QuestionEvidence) -> list[Reason]:
    """Return all reasons why golden arguments contradict the function docs."""
    reasons = [*_check_called_functions(evidence)]
    for argument in evidence.golden_arguments:
        if not evidence.is_omitted_by_passing_answer(argument.call, argument.name):
            reasons += _check_required_default(argument)
        reasons += _check_optional_argument(argument)
        reasons += _check_accepted_values(argument)
        reasons += _check_power_notation(argument)
        reasons += _check_accepted_strings(argument)
    return reasons


def _check_called_functions(evidence: QuestionEvidence) -> Iterable[Reason]:
    """Find golden calls whose function is undocumented, and those without a required argument."""
    if not any(schema.lists_parameters for schema in evidence.function_schemas):
        return

    is_conversation = evidence.question.group is not None
    for call in evidence.question.golden:
        schema = find_schema(call.name, evidence.function_schemas)
        if schema is None:
            text = f"undocumented function: {call.name} has no function docs"
            yield Reason("contract", strength=1.0, text=text)
            continue

        # In a conversation, the user may state the value in a later turn.
        missing = _list_missing_arguments(call, schema)
        if missing and not is_conversation:
            text = f"missing argument: the golden answer omits {missing[0]}, which is required"
            yield Reason("contract", strength=1.0, text=text, function=call.name)


def _list_missing_arguments(call: Call, schema: FunctionSchema) -> list[str]:
    """Return the names of the required arguments that a call lacks."""
    arguments = call.arguments
    if not schema.lists_parameters or arguments is None:
        return []
    required = [parameter.name for parameter in schema.parameters.values() if parameter.required]
    return [name for name in required if name not in arguments]


def _check_required_default(argument: GoldenArgument) -> Iterable[Reason]:
    """Find an argument that must be given although its value is the documented default."""
    parameter = argument.parameter
    accept = argument.accept
    if parameter is None or parameter.required or accept.optional:
        return
    default = parameter.default
    if default is NO_DEFAULT:
        return
    if not any(is_documented_default(value, default) for value in accept.any_of):
        return

    text = (
        f"default required: {argument.name} must be given although its documented default is"
        f" {abbreviate(default, 40)}"
    )
    yield Reason(
        "default",
        strength=1.0,
        text=text,
        alternative=AlternativeAnswer(f"without {argument.name}"),
        function=argument.call.name,
    )


def _check_optional_argument(argument: GoldenArgument) -> Iterable[Reason]:
    """Yield a reason for suspicion if an argument may be omitted, but not be given its default.

    Both mean the same, so the golden answer should accept both. It is also suspicious if no value
    at all is accepted.
    """
    parameter = argument.parameter
    accept = argument.accept
    if parameter is None or parameter.required or not accept.optional:
        return

    function = argument.call.name
    if not accept.any_of:
        text = f"no value accepted: {argument.name} must be omitted"
        yield Reason("omission", strength=PARTIAL_STRENGTH, text=text, function=function)
        return

    default = parameter.default
    if default is NO_DEFAULT:
        return
    for value in accept.any_of:
        if is_documented_default(value, default) or describe_equivalence(value, default):
            return

    wanted = abbreviate(default, 30)
    given = abbreviate(accept.any_of[0], 30)
    text = (
        f"default not accepted: {argument.name} may be omitted (default {wanted}), but its"
        f" value must be {given}"
    )
    yield Reason("omission", strength=1.0, text=text, function=function)


def _check_accepted_values(argument: GoldenArgument) -> Iterable[Reason]:
    """Yield reasons why the golden values of an argument contradict the function docs.

    The docs may not list the argument, or require it although the golden answer lets it be omitted,
    or demand another type or one of listed choices.
    """
    name = argument.name
    parameter = argument.parameter
    function = argument.call.name
    if parameter is None:
        text = f"undocumented argument: {name} is not in the function docs"
        yield Reason("contract", strength=1.0, text=text, function=function)
        return

    if argument.accept.optional and parameter.required:
        text = f"required by docs: {name} may be omitted, but the function docs require it"
        yield Reason("contract", strength=PARTIAL_STRENGTH, text=text, function=function)

    values = argument.accept.any_of
    conflicts = []
    for value in values:
        conflict = describe_value_conflict(name, value, parameter)
        if conflict:
            conflicts.append(conflict)
    if not conflicts:
        return

    # An answer can still be right if another accepted value has no conflict.
    strength = 1.0 if len(conflicts) == len(values) else PARTIAL_STRENGTH
    yield Reason("contract", strength=strength, text=conflicts[0], function=function)


def describe_value_conflict(name: str, value: Any, parameter: Parameter) -> str | None:
    """Describe how a golden value conflicts with the function docs: `undocumented value: unit is
    "x"`; else None.
    """
    if value in ("", None):
        return None
    if _may_be_variable(value, parameter):
        return None

    if parameter.kind and not _is_allowed_type(value, parameter.kind):
        return f"wrong type: {name} is {_describe_type_conflict(value, parameter.kind)}"
    element_conflict = _describe_element_conflict(value, parameter)
    if element_conflict:
        return f"wrong element type: {name} contains {element_conflict}"

    undocumented = _find_undocumented_value(value, parameter)
    if undocumented is not None:
        return (
            f"undocumented value: {name} is {abbreviate(undocumented, 40)}, which the function"
            " docs do not list"
        )
    return None


def _may_be_variable(value: Any, parameter: Parameter) -> bool:
    """Whether a value may be the name of a variable with a list or an object, as in questions
    about code.
    """
    if parameter.kind not in ("list", "object") or not isinstance(value, str):
        return False
    return _IDENTIFIER.fullmatch(value) is not None


def _describe_element_conflict(value: Any, parameter: Parameter) -> str | None:
    """Describe the first element of a list that has another type than documented."""
    element_type = parameter.item_kind
    if not isinstance(value, list) or not element_type:
        return None
    for element in value:
        if not _is_allowed_type(element, element_type):
            return _describe_type_conflict(element, f"list of {element_type}")
    return None


def _find_undocumented_value(value: Any, parameter: Parameter) -> str | int | None:
    """Return the first of the values that the function docs do not list, if they list any."""
    if not parameter.choices:
        return None
    elements = value if isinstance(value, list) else [value]
    for element in elements:
        if isinstance(element, (str, int)) and element not in parameter.choices:
            return element
    return None


def get_json_type(value: Any) -> str:
    """Return the JSON type of a golden value: one of the values of `JSON_TYPES`, or `null`."""
    return JSON_TYPES.get(get_type_name(value), "null")


def _is_allowed_type(value: Any, documented_type: str) -> bool:
    """Whether a value has the documented type. An integer counts as a number, and a number
    without fraction counts as an integer.
    """
    json_type = get_json_type(value)
    if json_type in (documented_type, "null"):
        return True
    if documented_type == "number":
        return json_type == "integer"
    return documented_type == "integer" and json_type == "number" and float(value).is_integer()


def _describe_type_conflict(value: Any, documented_type: str) -> str:
    return (
        f"{get_json_type(value)}, but documented as {documented_type}; golden value:"
        f" {abbreviate(value, 40)}"
    )


def _check_power_notation(argument: GoldenArgument) -> Iterable[Reason]:
    """Find formulas that mix `^` and `**`, and those accepted with `^` only."""
    formulas = []
    for value in argument.accept.any_of:
        if isinstance(value, str) and is_power_formula(value):
            formulas.append(value)
    if not formulas or argument.parameter is None:
        return

    function = argument.call.name
    for formula in formulas:
        if "^" in formula and "**" in formula:
            shown = abbreviate(formula, 60)
            text = f"mixed notation: {argument.name} contains both ^ and **: {shown}"
            yield Reason("notation", strength=1.0, text=text, function=function)
            return

    first_formula = formulas[0]
    accepts_stars = any("**" in formula for formula in formulas)
    if "^" in first_formula and not accepts_stars:
        yield _describe_only_notation(argument, first_formula)


def _describe_only_notation(argument: GoldenArgument, formula: str) -> Reason:
    """Return the reason for suspicion that a formula is accepted with `^`, but not with `**`."""
    with_stars = abbreviate(formula.replace("^", "**"), 60)
    text = (
        f"only one notation: {argument.name} accepts {abbreviate(formula, 40)}, but not the same"
        " formula with **"
    )
    return Reason(
        "notation",
        strength=1.0,
        text=text,
        alternative=AlternativeAnswer(f"{argument.name}: {with_stars}"),
        function=argument.call.name,
    )


def _check_accepted_strings(argument: GoldenArgument) -> Iterable[Reason]:
    """Find damaged strings, and accepted parts of a string that mean different things: `Boston`
    and `MA`.
    """
    strings = [value for value in argument.accept.any_of if isinstance(value, str) and value]
    function = argument.call.name

    for string in strings:
        if _is_damaged(string):
            text = f"damaged string: {argument.name} is {abbreviate(string, 60)}"
            yield Reason("loose", strength=1.0, text=text, function=function)
            return

    for whole in strings:
        pair = _find_different_parts(whole, strings)
        if pair is not None:
            first, second = pair
            text = (
                f"ambiguous values: {argument.name} accepts both {abbreviate(first, 40)} and"
                f" {abbreviate(second, 40)}, which have different meanings"
            )
            yield Reason("loose", strength=1.0, text=text, function=function)
            return


def _find_different_parts(whole: str, strings: Sequence[str]) -> tuple[str, str] | None:
    """Find two strings that are parts of a text such as `Boston, MA`, but mean different things:
    `Boston` and `MA`.

    Of several pairs, the one with the shortest first string is returned.
    """
    if "," not in whole:
        return None
    parts = [string for string in strings if is_short_form_of(string, whole)]

    shortest: tuple[str, str] | None = None
    for first in parts:
        if shortest is not None and len(first) >= len(shortest[0]):
            continue
        for second in parts:
            if not _has_text_overlap(first, second):
                shortest = (first, second)
                break
    return shortest


def _has_text_overlap(first: str, second: str) -> bool:
    """Whether one text is contained in the other, or consists of its initials."""
    if is_initials_of(first, second) or is_initials_of(second, first):
        return True
    first_letters = normalize_text(first)
    second_letters = normalize_text(second)
    return first_letters in second_letters or second_letters in first_letters


def _is_damaged(text: str) -> bool:
    """Whether a text looks damaged: it has spaces or quotes around it, unmatched brackets, or a
    quotation mark that is not closed.
    """
    stripped = text.strip()
    has_spaces_around = bool(stripped) and stripped != text
    if has_spaces_around:
        return True
    for quote in ("'", '"'):
        if len(text) > 2 and text.startswith(quote) and text.endswith(quote):
            return True
    # Long texts are prose or code, in which a bracket may stand alone, as in `1)`.
    if len(text) <= MAX_BRACKET_TEXT and _has_unmatched_brackets(text):
        return True

    # A single quote inside a text can be an apostrophe.
    has_open_single_quote = text.startswith("'") and text.count("'") % 2 == 1
    has_open_double_quote = text.count('"') % 2 == 1
    return has_open_double_quote or has_open_single_quote


def _has_unmatched_brackets(text: str) -> bool:
    """Whether a text has more opening than closing brackets of a kind, or fewer."""
    for opening, closing in ("()", "[]", "{}"):
        if text.count(opening) != text.count(closing):
            return True
    return False


MIN_OTHER_ITEMS = 3
MAX_ACCEPTED_STRINGS = 20
"""Maximum number of accepted strings of an argument that are indexed."""
MAJORITY = 0.75
"""Minimum share, from 0 to 1, of the items with an argument that agree on its use.

Otherwise, no use is suspect.
"""


_Content = tuple[str, ...]
"""Normalized text of a question, then the sorted names of its functions."""


@dataclass(slots=True)
class ArgumentUsage:
    """How golden answers use one argument of one function.

    Each counter counts an item at most once per key.
    """

    optional: Counter[bool] = field(default_factory=Counter)
    """Number of items in which the argument may be omitted (True), and in which it may not
    (False).
    """
    types: Counter[str] = field(default_factory=Counter)
    """Number of items by the JSON type of the first accepted value."""


class GoldenAnswerIndex:
    """Index of a dataset's golden answers, to find golden answers that differ from those of
    similar questions.
    """

    def __init__(self, questions: Iterable[AuditedQuestion]) -> None:
        """Index the golden answers of all questions of a dataset."""
        self.usage: defaultdict[tuple[str, str], ArgumentUsage] = defaultdict(ArgumentUsage)
        """Usage of each (function, argument) in golden answers."""
        self._accepted_with: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        """(argument, accepted string) -> other accepted strings -> id of an item. It shows strings
        that one golden answer accepts for another string and a second one does not.

        Strings are normalized.
        """
        self._golden_of_content: defaultdict[_Content, dict[str, QuestionKey]] = defaultdict(dict)
        """Content of a question -> its golden answers, each with an item's key. It shows equal
        questions with different golden answers.

        Conversations are excluded.
        """
        self._content_of_question: dict[QuestionKey, tuple[_Content, str]] = {}
        """Item -> its content and its golden answer, to look them up in `_golden_of_content`."""
        for question in questions:
            self._index_question(question)

    def _index_question(self, question: AuditedQuestion) -> None:
        """Add the golden calls of a question, and the values that they accept, to the index."""
        self._count_usage(question)
        for call in question.golden:
            for name, accepted in _list_accepted_values(call):
                self._index_accepted_strings(question.key.id, name, accepted)

        # In a conversation, the same words can have another meaning later.
        if question.golden and question.is_self_contained and question.group is None:
            self._index_content(question)

    def _count_usage(self, question: AuditedQuestion) -> None:
        """Count how the golden answer of a question uses each argument: whether it may be omitted,
        and the type of its value. Several equal uses in one question count once.
        """
        options: set[tuple[str, str, bool]] = set()
        types: set[tuple[str, str, str]] = set()
        for call in question.golden:
            for name, accepted in _list_accepted_values(call):
                options.add((call.name, name, accepted.optional))
                first_type = _get_first_accepted_type(accepted)
                if first_type:
                    types.add((call.name, name, first_type))

        for function, argument, may_be_omitted in options:
            self.usage[function, argument].optional[may_be_omitted] += 1
        for function, argument, first_type in types:
            self.usage[function, argument].types[first_type] += 1

    def _index_content(self, question: AuditedQuestion) -> None:
        """Remember the golden answer of a question text with these available functions."""
        text = normalize_text(question.text)
        if not text:
            return
        function_names = sorted(str(docs.get("name")) for docs in question.functions)
        content = (text, *function_names)
        golden = _format_normalized_golden(question.golden)
        self._content_of_question[question.key] = content, golden
        self._golden_of_content[content].setdefault(golden, question.key)

    def _index_accepted_strings(
        self, item_id: str, argument: str, accepted: AcceptedValues
    ) -> None:
        """Remember which strings an item accepts together."""
        strings = [value for value in accepted.any_of if isinstance(value, str) and value]
        if not 1 < len(strings) <= MAX_ACCEPTED_STRINGS:
            return
        texts = [normalize_text(string) for string in strings]
        for text in texts:
            for other in texts:
                self._accepted_with[argument, text].setdefault(other, item_id)

    def find_item_id_accepting_both(
        self, argument: str, accepted: Iterable[Any], predicted: Any
    ) -> str | None:
        """Return the id of an item whose argument accepts the predicted string and one of the
        `accepted`, or None.
        """
        if not isinstance(predicted, str):
            return None

        predicted_text = normalize_text(predicted)
        for value in accepted:
            if not isinstance(value, str):
                continue
            item_by_string = self._accepted_with.get((argument, normalize_text(value)), {})
            item_id = item_by_string.get(predicted_text)
            if item_id:
                return item_id
        return None

    def find_conflicting_item_id(self, question: AuditedQuestion) -> str | None:
        """Return the id of an item with the same question and functions but a different golden
        answer, or None.
        """
        if question.key not in self._content_of_question:
            return None
        content, own_golden = self._content_of_question[question.key]
        for golden, key in self._golden_of_content[content].items():
            if golden != own_golden:
                return key.id
        return None


def _list_accepted_values(call: Call) -> list[tuple[str, AcceptedValues]]:
    """Return the arguments of a golden call that have accepted values, by name."""
    arguments = call.arguments or {}
    return [
        (name, accepted)
        for name, accepted in arguments.items()
        if isinstance(accepted, AcceptedValues)
    ]


def find_deviations_from_other_items(
    evidence: QuestionEvidence, index: GoldenAnswerIndex
) -> list[Reason]:
    """Find arguments that other golden answers of the dataset use differently, and other golden
    answers to the same question.

    Args:
        evidence: The question with its golden answer.
        index: The golden answers of all questions of the dataset.
    """
    reasons: list[Reason] = []
    for call in evidence.question.golden:
        for name, accepted in _list_accepted_values(call):
            usage = index.usage[call.name, name]
            parameter = evidence.find_parameter(call.name, name)
            is_required = parameter is not None and parameter.required
            if not is_required:
                reasons += _compare_omission(call, name, accepted=accepted, usage=usage)
            reasons += _compare_type(call, name, accepted=accepted, usage=usage)

    other = index.find_conflicting_item_id(evidence.question)
    if other:
        text = f"unlike other items: {other} has the same question but a different golden answer"
        reasons.append(Reason("siblings", strength=1.0, text=text))
    return reasons


def _compare_omission(
    call: Call, argument: str, *, accepted: AcceptedValues, usage: ArgumentUsage
) -> Iterable[Reason]:
    """Find an argument that must be given, but that most other items allow to omit."""
    n_optional = usage.optional[True]
    needed = max(MIN_OTHER_ITEMS, MAJORITY * usage.optional.total())
    if accepted.optional or n_optional < needed:
        return
    text = (
        f"unlike other items: {argument} must be given, but {n_optional} other items allow"
        " omitting it"
    )
    yield Reason("siblings", strength=0.7, text=text, function=call.name)


def _compare_type(
    call: Call, argument: str, *, accepted: AcceptedValues, usage: ArgumentUsage
) -> Iterable[Reason]:
    """Find an argument whose golden value has another type than in most other items."""
    own_type = _get_first_accepted_type(accepted)
    n_items = usage.types.total()
    if not own_type or n_items <= MIN_OTHER_ITEMS:
        return

    usual_type, count = usage.types.most_common(1)[0]
    if usual_type == own_type or count < MAJORITY * n_items:
        return
    # A number without fraction may be written as an integer.
    if {usual_type, own_type} == {"integer", "number"}:
        return
    value = abbreviate(accepted.any_of[0], 40)
    text = (
        f"unlike other items: {argument} is {own_type}, but {usual_type} in {count} other items;"
        f" golden value: {value}"
    )
    yield Reason("siblings", strength=1.0, text=text, function=call.name)


def _get_first_accepted_type(accepted: AcceptedValues) -> str:
    return get_json_type(accepted.any_of[0]) if accepted.any_of else ""


def _format_normalized_golden(golden_calls: Iterable[Call]) -> str:
    """Format a golden answer so that the order of calls, arguments and accepted values, and the
    way in which values are written, make no difference.
    """
    calls = []
    for call in golden_calls:
        arguments: dict[str, list[str]] = {}
        for name, accepted in _list_accepted_values(call):
            values = [normalize_text(to_json_text(value)) for value in accepted.any_of]
            arguments[name] = [*sorted(values), str(accepted.optional)]
        calls.append(to_json_text({call.name: dict(sorted(arguments.items()))}))
    return "\n".join(sorted(calls))


_DATE_FORMAT = re.compile(r"\b(?:YYYY|MM|DD)(?:([-/.])(?:YYYY|MM|DD)){1,2}(?![\w:])", re.IGNORECASE)
_CITY_STATE = re.compile(
    r"\bformat(?:ted)?\b.{0,30}\bcity,\s*state\b|\bcity,\s*state\b.{0,10}\bformat\b", re.IGNORECASE
)
_DIGITS = {"yyyy": r"\d{4}", "mm": r"\d{1,2}", "dd": r"\d{1,2}"}


def find_format_conflicts(evidence: QuestionEvidence) -> Iterable[Reason]:
    """Find arguments that accept strings, but no string in the documented format."""
    for argument in evidence.golden_arguments:
        parameter = argument.parameter
        strings = [value for value in argument.accept.any_of if isinstance(value, str) and value]
        if not strings or parameter is None or parameter.kind != "string":
            continue
        documented = _parse_documented_format(parameter.description)
        if documented is None or _has_documented_format(strings, documented, parameter):
            continue

        value = abbreviate(strings[0], 40)
        text = f"wrong format: {argument.name} is {value}, but documented as {documented.name}"
        yield Reason(
            "contract", strength=documented.strength, text=text, function=argument.call.name
        )


def _has_documented_format(
    strings: Iterable[str], documented: DocumentedFormat, parameter: Parameter
) -> bool:
    """Whether one of the strings has the documented format, or is itself in the docs."""
    for string in strings:
        if documented.pattern.search(string) or _is_documented_value(string, parameter):
            return True
    return False


@dataclass(frozen=True, slots=True)
class DocumentedFormat:
    name: str
    pattern: re.Pattern[str]
    strength: float
    """Strength, from 0 to 1, of a wrong format.

    It is lower for `City, State`, because some cities have no state.
    """


def _is_documented_value(string: str, parameter: Parameter) -> bool:
    """Whether the docs of a parameter contain the string, or the string is a format itself."""
    docs = f"{parameter.description} {parameter.default}"
    if string.casefold() in docs.casefold():
        return True
    return bool(_DATE_FORMAT.search(string)) or "YYYY" in string


@lru_cache(1 << 12)
def _parse_documented_format(description: str) -> DocumentedFormat | None:
    """Find the format that a parameter's description asks for: `City, State`, or a date such as
    `YYYY-MM-DD`. Returns None if it asks for none, or allows several.
    """
    if _CITY_STATE.search(description):
        # Some cities have no state.
        return DocumentedFormat("City, State", pattern=re.compile(r"\w.*, *\w"), strength=0.5)

    date_formats = [match.group() for match in _DATE_FORMAT.finditer(description)]
    # The function docs may allow several formats.
    if len(date_formats) != 1:
        return None
    (date_format,) = date_formats
    # `YYYY-MM-DD` is divided into `YYYY`, `-`, `MM`, `-`, `DD`.
    parts = re.split(r"([-/.])", date_format)
    pattern = "".join(_DIGITS.get(part.lower(), re.escape(part)) for part in parts)
    return DocumentedFormat(date_format, pattern=re.compile(pattern), strength=1.0)


_COUNTING_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen "
    "eighteen nineteen twenty"
)
OTHER_NUMBER_WORDS = {
    "a": 1.0,
    "an": 1.0,
    "single": 1.0,
    "once": 1.0,
    "first": 1.0,
    "today": 0.0,
    "couple": 2.0,
    "pair": 2.0,
    "twice": 2.0,
    "second": 2.0,
    "third": 3.0,
    "quarter": 0.25,
    "half": 0.5,
    "dozen": 12.0,
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
    "sixty": 60.0,
    "hundred": 100.0,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "week": 7.0,
    "month": 30.0,
    "year": 12.0,
}
NUMBER_WORDS = {
    word: float(value) for value, word in enumerate(_COUNTING_WORDS.split())
} | OTHER_NUMBER_WORDS
UNIT_SCALES = (1.0, 100.0, 0.01, 1000.0, 0.001, 1e6, 12.0, 60.0, 3600.0)
"""Factors by which a number in the text can differ from the golden value because of its unit: 60
for minutes.
"""
_NUMBER = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\d+", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{3,}")
MAX_LEAF_DEPTH = 8
MAX_LEAF_ELEMENTS = 50
"""Maximum number of elements of a list in which numbers and strings are looked for."""
STEM_LENGTH = 4
"""Number of first letters that two words must share to match, so that `predict` matches
`prediction`.
"""


def find_ungrounded_values(evidence: QuestionEvidence) -> list[Reason]:
    """Find arguments whose accepted values the question and the function docs do not mention."""
    question = evidence.question
    if not question.is_self_contained or not question.text.strip():
        return []
    content = TextContent(question.text)
    reasons: list[Reason] = []
    for argument in evidence.golden_arguments:
        if not _is_argument_grounded(argument, content):
            reasons.append(_describe_ungrounded_value(argument, content, evidence))
    return reasons


class TextContent:
    """Numbers and words in a text. `scaled` contains every number multiplied by each of
    `UNIT_SCALES`, as text. `stems` contains the first `STEM_LENGTH` letters of every word.
    """

    __slots__ = ("numbers", "scaled", "stems", "text")

    def __init__(self, text: str) -> None:
        """Find the numbers of a text, also in other units, and the beginnings of its words."""
        self.text = text.casefold()
        self.numbers = find_numbers(self.text)
        self.scaled = {f"{number * scale:.9g}" for number in self.numbers for scale in UNIT_SCALES}
        self.stems = {word[:STEM_LENGTH] for word in _WORD.findall(self.text)}

    def has_number(self, value: float) -> bool:
        """Whether the text contains the number, possibly with another sign or in another unit
        (`UNIT_SCALES`).
        """
        return f"{abs(value):.9g}" in self.scaled

    def has_any_word_of(self, text: str) -> bool:
        """Whether this content contains `text` itself, a word of it, or two consecutive letters of
        a non-ASCII word. A text without words, such as `-`, needs no mention, so that it counts as
        contained.
        """
        folded = text.casefold()
        words = _WORD.findall(folded)
        if folded in self.text or not words:
            return True
        if any(word[:STEM_LENGTH] in self.stems for word in words):
            return True

        # Some languages have no spaces between words.
        other_words = [word for word in words if not word.isascii()]
        return any(self._has_any_letter_pair_of(word) for word in other_words)

    def _has_any_letter_pair_of(self, word: str) -> bool:
        return any(first + second in self.text for first, second in pairwise(word))


def find_numbers(text: str) -> set[float]:
    """Return the numbers in a text, in digits and in words."""
    numbers: set[float] = set()
    for digits in _NUMBER.findall(text):
        number = parse_number(digits)
        if number is not None:
            numbers.add(number)
    for word in re.findall(r"[a-z]+", text):
        if word in NUMBER_WORDS:
            numbers.add(NUMBER_WORDS[word])
    return numbers


def _is_argument_grounded(argument: GoldenArgument, question_text: TextContent) -> bool:
    """Whether the golden value of an argument has a ground: the question or the function docs
    mention one of the accepted values, or the argument needs no mention.
    """
    accept = argument.accept
    parameter = argument.parameter
    # The docs say which values are possible, so the question may describe them in other words.
    if parameter is None or parameter.choices or not accept.any_of:
        return True
    if accept.optional and parameter.default is not NO_DEFAULT:
        return True

    # In most cases, this saves the time to parse the function docs.
    if any(_is_grounded(value, question_text) for value in accept.any_of):
        return True
    readable_name = parameter.name.replace("_", " ")
    description = argument.function_schema.description
    docs = TextContent(f"{readable_name} {parameter.description} {description}")
    return any(_is_grounded(value, question_text, docs) for value in accept.any_of)


def _describe_ungrounded_value(
    argument: GoldenArgument, question_text: TextContent, evidence: QuestionEvidence
) -> Reason:
    """Return the suspicion that a golden value is wrong, because neither the question nor the
    function docs mention it.

    It is strongest if the question has a number that the golden answer does not use, because this
    number may be the right value.
    """
    value = argument.accept.any_of[0]
    function = argument.call.name
    # Of a nested value, the first simple value inside it is shown.
    first_leaf = next(iter(_iter_leaves(value)), None)
    if isinstance(first_leaf, str):
        text = f"not in the question: {argument.name} is {abbreviate(first_leaf, 50)}"
        return Reason("ungrounded", strength=0.5, text=text, function=function)

    text = f"not in the question: {argument.name} is {abbreviate(value, 50)}"
    unused_numbers = _list_unused_numbers(question_text, evidence)
    if not unused_numbers:
        return Reason("ungrounded", strength=0.6, text=text, function=function)
    shown_number = _format_number(unused_numbers[0])
    text += f", but the golden answer does not use {shown_number} from the question"
    return Reason("ungrounded", strength=1.0, text=text, function=function)


def _format_number(number: float) -> str:
    """Return the text of a number, of a whole number without decimals."""
    return to_json_text(int(number) if number.is_integer() else number)


def _list_unused_numbers(question_text: TextContent, evidence: QuestionEvidence) -> list[float]:
    """Return the numbers of the question that the golden answer does not use, smallest first."""
    # Words such as `week`, and the numbers 0 to 2, are often no values.
    unimportant = {0.0, 1.0, 2.0, *OTHER_NUMBER_WORDS.values()}
    used = _collect_golden_numbers(evidence)
    return sorted(question_text.numbers - used - unimportant)


def _is_grounded(value: Any, *texts: TextContent) -> bool:
    return all(any(_is_mentioned(leaf, text) for text in texts) for leaf in _iter_leaves(value))


def _is_mentioned(leaf: Any, text: TextContent) -> bool:
    if isinstance(leaf, bool):
        return True
    if isinstance(leaf, (int, float)):
        return leaf in (0, 1) or text.has_number(float(leaf))
    return text.has_any_word_of(leaf)


def _iter_leaves(value: Any) -> Iterable[Any]:
    """Yield the numbers and strings inside a value, from at most `MAX_LEAF_DEPTH` levels.

    If several values are accepted, only the first one counts.
    """
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo:
        current, depth = todo.pop()
        if depth > MAX_LEAF_DEPTH:
            continue
        if isinstance(current, (str, int, float)):
            yield current
        for part in _list_parts(current):
            todo.append((part, depth + 1))


def _list_parts(value: Any) -> list[Any]:
    """Return the values directly inside a value that `_iter_leaves` visits. Of several accepted
    values, only the first one counts, and of long lists, only the first `MAX_LEAF_ELEMENTS`
    elements, which limits the time.
    """
    if isinstance(value, AcceptedValues):
        return value.any_of[:1]
    if isinstance(value, GoldenObject):
        return list(value.fields.values())
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return list(value[:MAX_LEAF_ELEMENTS])
    return []


def _collect_golden_numbers(evidence: QuestionEvidence) -> set[float]:
    """Return the numbers of all golden calls, in each unit that a text may use."""
    numbers: set[float] = set()
    for call in evidence.question.golden:
        for _, accepted in _list_accepted_values(call):
            for value in accepted.any_of:
                numbers |= _find_numbers_in_value(value)

    scaled: set[float] = set()
    for number in numbers:
        scaled.update(number * scale for scale in UNIT_SCALES)
    return scaled


def _find_numbers_in_value(value: Any) -> set[float]:
    """Return all numbers in a value, also inside lists, objects and texts, without their sign."""
    numbers: set[float] = set()
    for leaf in _iter_leaves(value):
        if isinstance(leaf, str):
            numbers |= find_numbers(leaf.casefold())
        else:
            numbers.add(abs(float(leaf)))
    return numbers
