"""Find reasons to suspect a golden answer that do not depend on the answers of runs: conflicts with
the function docs, deviations from other items of the dataset, and values that neither the question
nor the function docs mention.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
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
from fcreview.model.function_schema import JSON_TYPES, NO_DEFAULT, Parameter, find_schema
from fcreview.model.item import AcceptedValues, Call, GoldenObject
from fcreview.model.json_value import abbreviate, to_json_text
from fcreview.stats.run_comparison import QuestionKey


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
    if not (isinstance(value, list) and isinstance(default, str) and default.startswith("[")):
        return False
    elements = [
        part.strip().strip("'\"") for part in default.strip("[]").split(",") if part.strip()
    ]
    return elements == [str(element) for element in value]


_SAME_DEFAULT = (CASE_DIFFERS, SAME_NUMBER, SINGLE_VALUE, SAME_WORDS, SAME_UNIT)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$.]{2,}")
MAX_BRACKET_TEXT = 100
"""Maximum length, in characters, of texts in which unmatched brackets count as damage."""
PARTIAL_STRENGTH = 0.5


def find_function_doc_conflicts(evidence: QuestionEvidence) -> list[Reason]:
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
    if not any(schema.lists_parameters for schema in evidence.function_schemas):
        return
    for call in evidence.question.golden:
        schema = find_schema(call.name, evidence.function_schemas)
        if schema is None:
            yield Reason(
                "contract",
                strength=1.0,
                text=f"undocumented function: {call.name} has no function docs",
            )
        elif schema.lists_parameters and call.arguments is not None:
            missing = [
                p.name
                for p in schema.parameters.values()
                if p.required and p.name not in call.arguments
            ]
            # In a conversation, the user may state the value in a later turn.
            if missing and evidence.question.group is None:
                text = f"missing argument: the golden answer omits {missing[0]}, which is required"
                yield Reason("contract", strength=1.0, text=text, function=call.name)


def _check_required_default(argument: GoldenArgument) -> Iterable[Reason]:
    parameter, accept = argument.parameter, argument.accept
    if (
        parameter is None
        or parameter.required
        or parameter.default is NO_DEFAULT
        or accept.optional
    ):
        return
    if any(is_documented_default(value, parameter.default) for value in accept.any_of):
        default = abbreviate(parameter.default, 40)
        text = (
            f"default required: {argument.name} must be given although its documented default is"
            f" {default}"
        )
        yield Reason(
            "default",
            strength=1.0,
            text=text,
            alternative=AlternativeAnswer(f"without {argument.name}"),
            function=argument.call.name,
        )


def _check_optional_argument(argument: GoldenArgument) -> Iterable[Reason]:
    parameter, accept = argument.parameter, argument.accept
    if parameter is None or not accept.optional or parameter.required:
        return
    default = parameter.default
    if not accept.any_of:
        text = f"no value accepted: {argument.name} must be omitted"
        yield Reason("omission", strength=PARTIAL_STRENGTH, text=text, function=argument.call.name)
    elif default is not NO_DEFAULT and not any(
        is_documented_default(value, default) or describe_equivalence(value, default)
        for value in accept.any_of
    ):
        wanted, given = abbreviate(default, 30), abbreviate(accept.any_of[0], 30)
        text = (
            f"default not accepted: {argument.name} may be omitted (default {wanted}), but its"
            f" value must be {given}"
        )
        yield Reason("omission", strength=1.0, text=text, function=argument.call.name)


def _check_accepted_values(argument: GoldenArgument) -> Iterable[Reason]:
    name, parameter, values = argument.name, argument.parameter, argument.accept.any_of
    if parameter is None:
        text = f"undocumented argument: {name} is not in the function docs"
        yield Reason("contract", strength=1.0, text=text, function=argument.call.name)
        return
    if argument.accept.optional and parameter.required:
        text = f"required by docs: {name} may be omitted, but the function docs require it"
        yield Reason("contract", strength=PARTIAL_STRENGTH, text=text, function=argument.call.name)
    conflicts = [
        found for value in values if (found := describe_value_conflict(name, value, parameter))
    ]
    if conflicts:
        strength = 1.0 if len(conflicts) == len(values) else PARTIAL_STRENGTH
        yield Reason("contract", strength=strength, text=conflicts[0], function=argument.call.name)


def describe_value_conflict(name: str, value: Any, parameter: Parameter) -> str | None:
    """Describe how a golden value conflicts with the function docs: `undocumented value: unit is
    "x"`; else None.
    """
    if value in ("", None):
        return None
    if (
        parameter.kind in ("list", "object")
        and isinstance(value, str)
        and _IDENTIFIER.fullmatch(value)
    ):
        return None  # In questions about code, a variable can contain the list or object.
    json_type = get_json_type(value)
    if parameter.kind and not _is_allowed_type(json_type, parameter.kind, value):
        return f"wrong type: {name} is {_describe_type_conflict(value, parameter.kind)}"
    if isinstance(value, list) and (element_type := parameter.item_kind):
        wrong = next(
            (
                each
                for each in value
                if not _is_allowed_type(get_json_type(each), element_type, each)
            ),
            None,
        )
        if wrong is not None:
            return (
                f"wrong element type: {name} contains"
                f" {_describe_type_conflict(wrong, f'list of {element_type}')}"
            )
    if parameter.choices:
        elements = value if isinstance(value, list) else [value]
        wrong = next(
            (
                each
                for each in elements
                if isinstance(each, (str, int)) and each not in parameter.choices
            ),
            None,
        )
        if wrong is not None:
            return (
                f"undocumented value: {name} is {abbreviate(wrong, 40)}, which the function docs do"
                " not list"
            )
    return None


def get_json_type(value: Any) -> str:
    """Return the JSON type of a golden value: one of the values of `JSON_TYPES`, or `null`."""
    return JSON_TYPES.get(get_type_name(value), "null")


def _is_allowed_type(json_type: str, documented_type: str, value: Any) -> bool:
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
    formulas = [
        value
        for value in argument.accept.any_of
        if isinstance(value, str) and is_power_formula(value)
    ]
    if not formulas or argument.parameter is None:
        return
    mixed = next((formula for formula in formulas if "^" in formula and "**" in formula), None)
    if mixed:
        text = f"mixed notation: {argument.name} contains both ^ and **: {abbreviate(mixed, 60)}"
        yield Reason("notation", strength=1.0, text=text, function=argument.call.name)
    elif "^" in formulas[0] and not any("**" in formula for formula in formulas):
        other = AlternativeAnswer(
            f"{argument.name}: {abbreviate(formulas[0].replace('^', '**'), 60)}"
        )
        formula = abbreviate(formulas[0], 40)
        text = (
            f"only one notation: {argument.name} accepts {formula}, but not the same formula with"
            " **"
        )
        yield Reason(
            "notation", strength=1.0, text=text, alternative=other, function=argument.call.name
        )


def _check_accepted_strings(argument: GoldenArgument) -> Iterable[Reason]:
    """Find damaged strings, and accepted parts of a string that mean different things: `Boston`
    and `MA`.
    """
    strings = [value for value in argument.accept.any_of if isinstance(value, str) and value]
    damaged = next((string for string in strings if _is_damaged(string)), None)
    if damaged:
        text = f"damaged string: {argument.name} is {abbreviate(damaged, 60)}"
        yield Reason("loose", strength=1.0, text=text, function=argument.call.name)
        return
    for whole in strings:
        parts = [string for string in strings if "," in whole and is_short_form_of(string, whole)]
        different = [
            (one, other) for one in parts for other in parts if not _has_text_overlap(one, other)
        ]
        if different:
            one, other = (
                abbreviate(part, 40) for part in min(different, key=lambda pair: len(pair[0]))
            )
            text = (
                f"ambiguous values: {argument.name} accepts both {one} and {other}, which have"
                " different meanings"
            )
            yield Reason("loose", strength=1.0, text=text, function=argument.call.name)
            return


def _has_text_overlap(one: str, other: str) -> bool:
    if is_initials_of(one, other) or is_initials_of(other, one):
        return True
    return normalize_text(one) in normalize_text(other) or normalize_text(other) in normalize_text(
        one
    )


def _is_damaged(text: str) -> bool:
    if text != text.strip() and text.strip():
        return True
    if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"":
        return True
    if len(text) <= MAX_BRACKET_TEXT and any(
        text.count(pair[0]) != text.count(pair[1]) for pair in ("()", "[]", "{}")
    ):
        return True
    return text.count('"') % 2 == 1 or (text.startswith("'") and text.count("'") % 2 == 1)


MIN_OTHER_ITEMS = 3
MAJORITY = 0.75
"""Minimum share, from 0 to 1, of the items with an argument that agree on its use.

Otherwise, no use is suspect.
"""


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
        self.usage: defaultdict[tuple[str, str], ArgumentUsage] = defaultdict(ArgumentUsage)
        """Usage of each (function, argument) in golden answers."""
        self._accepted_with: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        """(argument, accepted string) -> other accepted strings -> id of an item.

        Strings are normalized.
        """
        self._golden_of_content: defaultdict[tuple[str, ...], dict[str, QuestionKey]] = defaultdict(
            dict
        )
        """Question text and function names -> golden answers, each with an item's key.

        Conversations are excluded.
        """
        self._content_of_question: dict[QuestionKey, tuple[tuple[str, ...], str]] = {}
        """Item -> its question text and function names, and its golden answer."""
        for question in questions:
            self._index_question(question)

    def _index_question(self, question: AuditedQuestion) -> None:
        uses: set[tuple[str, str, bool | str]] = set()
        for call in question.golden:
            for name, accepted in (call.arguments or {}).items():
                if isinstance(accepted, AcceptedValues):
                    uses.add((call.name, name, accepted.optional))
                    uses.add((call.name, name, _get_first_accepted_type(accepted)))
                    self._index_accepted_strings(question.key.id, name, accepted)
        for function, argument, use in uses:
            if isinstance(use, bool):
                self.usage[function, argument].optional[use] += 1
            elif use:
                self.usage[function, argument].types[use] += 1
        # In a conversation, the same words can have another meaning later.
        is_comparable = question.golden and question.is_self_contained and question.group is None
        if is_comparable and (text := normalize_text(question.text)):
            content = (text, *sorted(str(raw.get("name")) for raw in question.functions))
            golden = _format_normalized_golden(question.golden)
            self._content_of_question[question.key] = content, golden
            self._golden_of_content[content].setdefault(golden, question.key)

    def _index_accepted_strings(
        self, item_id: str, argument: str, accepted: AcceptedValues
    ) -> None:
        texts = [
            normalize_text(value) for value in accepted.any_of if isinstance(value, str) and value
        ]
        if 1 < len(texts) <= 20:
            for one in texts:
                for other in texts:
                    self._accepted_with[argument, one].setdefault(other, item_id)

    def find_item_id_accepting_both(
        self, argument: str, accepted: Iterable[Any], predicted: Any
    ) -> str | None:
        """Return the id of an item whose argument accepts the predicted string and one of the
        `accepted`, or None.
        """
        if not isinstance(predicted, str):
            return None
        others = (
            self._accepted_with.get((argument, normalize_text(one)), {})
            for one in accepted
            if isinstance(one, str)
        )
        return next(filter(None, (each.get(normalize_text(predicted)) for each in others)), None)

    def find_conflicting_item_id(self, question: AuditedQuestion) -> str | None:
        """Return the id of an item with the same question and functions but a different golden
        answer, or None.
        """
        if question.key not in self._content_of_question:
            return None
        content, own = self._content_of_question[question.key]
        return next(
            (key.id for golden, key in self._golden_of_content[content].items() if golden != own),
            None,
        )


def find_deviations_from_other_items(
    evidence: QuestionEvidence, index: GoldenAnswerIndex
) -> list[Reason]:
    """Find arguments that other golden answers use differently, and other golden answers to the
    same question.
    """
    reasons: list[Reason] = []
    for call in evidence.question.golden:
        for name, accepted in (call.arguments or {}).items():
            if isinstance(accepted, AcceptedValues):
                reasons += _compare_with_usage(
                    call, name, accepted, index.usage[call.name, name], evidence
                )
    other = index.find_conflicting_item_id(evidence.question)
    if other:
        text = f"unlike other items: {other} has the same question but a different golden answer"
        reasons.append(Reason("siblings", strength=1.0, text=text))
    return reasons


def _compare_with_usage(
    call: Call,
    argument: str,
    accepted: AcceptedValues,
    usage: ArgumentUsage,
    evidence: QuestionEvidence,
) -> Iterable[Reason]:
    parameter = evidence.find_parameter(call.name, argument)
    n_optional = usage.optional[True]
    is_optional = not (parameter and parameter.required)
    if (
        is_optional
        and not accepted.optional
        and n_optional >= max(MIN_OTHER_ITEMS, MAJORITY * usage.optional.total())
    ):
        text = (
            f"unlike other items: {argument} must be given, but {n_optional} other items allow"
            " omitting it"
        )
        yield Reason("siblings", strength=0.7, text=text, function=call.name)
    own = _get_first_accepted_type(accepted)
    if own and usage.types.total() > MIN_OTHER_ITEMS:
        usual, count = usage.types.most_common(1)[0]
        if (
            usual != own
            and count >= MAJORITY * usage.types.total()
            and {usual, own} != {"integer", "number"}
        ):
            value = abbreviate(accepted.any_of[0], 40)
            text = (
                f"unlike other items: {argument} is {own}, but {usual} in {count} other items;"
                f" golden value: {value}"
            )
            yield Reason("siblings", strength=1.0, text=text, function=call.name)


def _get_first_accepted_type(accepted: AcceptedValues) -> str:
    return get_json_type(accepted.any_of[0]) if accepted.any_of else ""


def _format_normalized_golden(golden_calls: Iterable[Call]) -> str:
    calls = []
    for call in golden_calls:
        arguments = {
            name: [
                *sorted(normalize_text(to_json_text(value)) for value in accept.any_of),
                str(accept.optional),
            ]
            for name, accept in (call.arguments or {}).items()
            if isinstance(accept, AcceptedValues)
        }
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
        strings = [value for value in argument.accept.any_of if isinstance(value, str) and value]
        if not strings or argument.parameter is None or argument.parameter.kind != "string":
            continue
        documented = _parse_documented_format(argument.parameter.description)
        if documented and not any(
            documented.pattern.search(string) or _is_documented_value(string, argument)
            for string in strings
        ):
            value = abbreviate(strings[0], 40)
            text = f"wrong format: {argument.name} is {value}, but documented as {documented.name}"
            yield Reason(
                "contract", strength=documented.strength, text=text, function=argument.call.name
            )


@dataclass(frozen=True, slots=True)
class DocumentedFormat:
    name: str
    pattern: re.Pattern[str]
    strength: float
    """Strength, from 0 to 1, of a wrong format.

    It is lower for `City, State`, because some cities have no state.
    """


def _is_documented_value(string: str, argument: GoldenArgument) -> bool:
    docs = (
        f"{argument.parameter.description} {argument.parameter.default}"
        if argument.parameter
        else ""
    )
    return (
        string.casefold() in docs.casefold()
        or bool(_DATE_FORMAT.search(string))
        or "YYYY" in string
    )


@lru_cache(1 << 12)
def _parse_documented_format(description: str) -> DocumentedFormat | None:
    if _CITY_STATE.search(description):
        return DocumentedFormat("City, State", pattern=re.compile(r"\w.*, *\w"), strength=0.5)
    found = _DATE_FORMAT.search(description)
    # The function docs may allow several formats.
    if not found or len(_DATE_FORMAT.findall(description)) > 1:
        return None
    parts = re.split(r"([-/.])", found.group())
    pattern = "".join(_DIGITS.get(part.lower(), re.escape(part)) for part in parts)
    return DocumentedFormat(found.group(), pattern=re.compile(pattern), strength=1.0)


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
STEM_LENGTH = 4
"""Number of first letters that two words must share to match, so that `predict` matches
`prediction`.
"""


def find_ungrounded_values(evidence: QuestionEvidence) -> list[Reason]:
    """Find arguments whose accepted values the question and the function docs do not mention."""
    if not evidence.question.is_self_contained or not evidence.question.text.strip():
        return []
    content = TextContent(evidence.question.text)
    return [
        reason
        for argument in evidence.golden_arguments
        for reason in _check_grounding(argument, content, evidence)
    ]


class TextContent:
    """Numbers and words in a text. `scaled` contains every number multiplied by each of
    `UNIT_SCALES`, as text. `stems` contains the first `STEM_LENGTH` letters of every word.
    """

    __slots__ = ("numbers", "scaled", "stems", "text")

    def __init__(self, text: str) -> None:
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
        """Whether this content contains a word of `text`, or two consecutive letters of a
        non-ASCII word.
        """
        folded = text.casefold()
        words = _WORD.findall(folded)
        if folded in self.text or not words:
            return True
        if any(word[:STEM_LENGTH] in self.stems for word in words):
            return True
        pairs = (
            word[at : at + 2] for word in words if not word.isascii() for at in range(len(word) - 1)
        )
        return any(pair in self.text for pair in pairs)


def find_numbers(text: str) -> set[float]:
    numbers = {value for part in _NUMBER.findall(text) if (value := parse_number(part)) is not None}
    return numbers | {
        NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", text) if word in NUMBER_WORDS
    }


def _check_grounding(
    argument: GoldenArgument, question_text: TextContent, evidence: QuestionEvidence
) -> Iterable[Reason]:
    accept, parameter = argument.accept, argument.parameter
    if parameter is None or parameter.choices or not accept.any_of:
        return
    if accept.optional and parameter.default is not NO_DEFAULT:
        return
    # In most cases, this saves the time to parse the function docs.
    if any(_is_grounded(value, question_text) for value in accept.any_of):
        return
    description = argument.function_schema.description
    docs = TextContent(f"{parameter.name.replace('_', ' ')} {parameter.description} {description}")
    if any(_is_grounded(value, question_text, docs) for value in accept.any_of):
        return
    first = next(iter(_iter_leaves(accept.any_of[0])), None)
    value = abbreviate(first if isinstance(first, str) else accept.any_of[0], 50)
    text, function = f"not in the question: {argument.name} is {value}", argument.call.name
    if isinstance(first, str):
        yield Reason("ungrounded", strength=0.5, text=text, function=function)
        return
    unused = sorted(
        question_text.numbers
        - _collect_golden_numbers(evidence)
        - set(OTHER_NUMBER_WORDS.values())
        - {0.0, 1.0, 2.0}
    )
    if unused:
        number = to_json_text(int(unused[0]) if unused[0].is_integer() else unused[0])
        text = f"{text}, but the golden answer does not use {number} from the question"
        yield Reason("ungrounded", strength=1.0, text=text, function=function)
    else:
        yield Reason("ungrounded", strength=0.6, text=text, function=function)


def _is_grounded(value: Any, *texts: TextContent) -> bool:
    return all(any(_is_mentioned(leaf, text) for text in texts) for leaf in _iter_leaves(value))


def _is_mentioned(leaf: Any, text: TextContent) -> bool:
    if isinstance(leaf, bool):
        return True
    if isinstance(leaf, (int, float)):
        return leaf in (0, 1) or text.has_number(float(leaf))
    return text.has_any_word_of(leaf)


def _iter_leaves(value: Any) -> Iterable[Any]:
    """Yield the numbers and strings inside a value, up to 8 levels deep, for the first of
    several accepted values.
    """
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo:
        one, depth = todo.pop()
        if depth > 8:
            continue
        if isinstance(one, AcceptedValues):
            todo += [(each, depth + 1) for each in one.any_of[:1]]
        elif isinstance(one, (dict, GoldenObject)):
            fields = one.fields if isinstance(one, GoldenObject) else one
            todo += [(each, depth + 1) for each in fields.values()]
        elif isinstance(one, (list, tuple)):
            todo += [(each, depth + 1) for each in one[:50]]
        elif isinstance(one, (str, int, float)):
            yield one


def _collect_golden_numbers(evidence: QuestionEvidence) -> set[float]:
    numbers: set[float] = set()
    for call in evidence.question.golden:
        for accept in (call.arguments or {}).values():
            for value in accept.any_of if isinstance(accept, AcceptedValues) else ():
                for leaf in _iter_leaves(value):
                    numbers |= (
                        find_numbers(leaf.casefold())
                        if isinstance(leaf, str)
                        else {abs(float(leaf))}
                    )
    return {number * scale for number in numbers for scale in UNIT_SCALES}
