"""Find golden values that neither the question nor the function docs mention, and golden strings without the format
that the function docs require."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fcreview.golden_audit.evidence import GoldenArgument, QuestionEvidence, parse_number
from fcreview.golden_audit.question import Reason
from fcreview.model.function_schema import NO_DEFAULT
from fcreview.model.item import AcceptedValues, GoldenObject
from fcreview.model.json_value import abbreviate, to_json_text

_DATE_FORMAT = re.compile(r"\b(?:YYYY|MM|DD)(?:([-/.])(?:YYYY|MM|DD)){1,2}(?![\w:])", re.IGNORECASE)
_CITY_STATE = re.compile(
    r"\bformat(?:ted)?\b.{0,30}\bcity,\s*state\b|\bcity,\s*state\b.{0,10}\bformat\b", re.IGNORECASE
)
_DIGITS = {"yyyy": r"\d{4}", "mm": r"\d{1,2}", "dd": r"\d{1,2}"}


def find_format_conflicts(evidence: QuestionEvidence) -> Iterable[Reason]:
    """Find arguments that accept strings, but none in the documented format."""
    for argument in evidence.golden_arguments:
        strings = [value for value in argument.accept.any_of if isinstance(value, str) and value]
        if not strings or argument.parameter is None or argument.parameter.kind != "string":
            continue
        documented = _parse_format(argument.parameter.description)
        if documented and not any(
            documented.pattern.search(string) or _is_documented_value(string, argument) for string in strings
        ):
            value = abbreviate(strings[0], 40)
            text = f"wrong format: {argument.name} is {value}, documented as {documented.name}"
            yield Reason("contract", documented.strength, text, function=argument.call.name)


@dataclass(frozen=True, slots=True)
class DocumentedFormat:
    name: str
    pattern: re.Pattern[str]
    """Regular expression that finds a match in every string of this format."""
    strength: float
    """Strength, from 0 to 1, of a reason. It is lower for `City, State`, because some cities have no state."""


def _is_documented_value(string: str, argument: GoldenArgument) -> bool:
    docs = f"{argument.parameter.description} {argument.parameter.default}" if argument.parameter else ""
    return string.casefold() in docs.casefold() or bool(_DATE_FORMAT.search(string)) or "YYYY" in string


@lru_cache(1 << 12)
def _parse_format(description: str) -> DocumentedFormat | None:
    if _CITY_STATE.search(description):
        return DocumentedFormat("City, State", re.compile(r"\w.*, *\w"), 0.5)
    found = _DATE_FORMAT.search(description)
    if not found or len(_DATE_FORMAT.findall(description)) > 1:  # The function docs allow several formats.
        return None
    parts = re.split(r"([-/.])", found.group())
    pattern = "".join(_DIGITS.get(part.lower(), re.escape(part)) for part in parts)
    return DocumentedFormat(found.group(), re.compile(pattern), 1.0)


_COUNTING_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
OTHER_NUMBER_WORDS = {
    "a": 1.0, "an": 1.0, "single": 1.0, "once": 1.0, "first": 1.0, "today": 0.0, "couple": 2.0, "pair": 2.0,
    "twice": 2.0, "second": 2.0, "third": 3.0, "quarter": 0.25, "half": 0.5, "dozen": 12.0, "thirty": 30.0,
    "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9,
    "week": 7.0, "month": 30.0, "year": 12.0,
}  # fmt: skip
NUMBER_WORDS = {word: float(value) for value, word in enumerate(_COUNTING_WORDS.split())} | OTHER_NUMBER_WORDS
UNIT_SCALES = (1.0, 100.0, 0.01, 1000.0, 0.001, 1e6, 12.0, 60.0, 3600.0)
"""Factors between units of numbers in the text and in the golden answer, such as 100 for percent and 60 for minutes."""
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\d+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
STEM_LENGTH = 4
"""Number of first letters by which words are compared, so that `predict` matches `prediction`."""


def find_ungrounded_values(evidence: QuestionEvidence) -> list[Reason]:
    """Find arguments whose accepted values the question and the function docs do not mention."""
    if not evidence.question.is_self_contained or not evidence.question.text.strip():
        return []
    content = TextContent(evidence.question.text)
    return [reason for argument in evidence.golden_arguments for reason in _check_argument(argument, content, evidence)]


class TextContent:
    """Numbers and words in a text. `scaled` contains every number multiplied by each of `UNIT_SCALES`, as text with up
    to 9 significant digits. `stems` contains the first `STEM_LENGTH` letters of every word."""

    __slots__ = ("numbers", "scaled", "stems", "text")

    def __init__(self, text: str) -> None:
        self.text = text.casefold()
        self.numbers = find_numbers(self.text)
        self.scaled = {f"{number * scale:.9g}" for number in self.numbers for scale in UNIT_SCALES}
        self.stems = {word[:STEM_LENGTH] for word in _WORD.findall(self.text)}

    def has_number(self, value: float) -> bool:
        """Whether the text contains the number. The sign is ignored, and the number may be in another unit
        (`UNIT_SCALES`)."""
        return f"{abs(value):.9g}" in self.scaled

    def has_words(self, text: str) -> bool:
        """Whether this text contains a word of the given text. For a non-ASCII word, two consecutive letters are
        enough, because some scripts do not separate words."""
        folded = text.casefold()
        words = _WORD.findall(folded)
        if folded in self.text or not words:
            return True
        if any(word[:STEM_LENGTH] in self.stems for word in words):
            return True
        pairs = (word[at : at + 2] for word in words if not word.isascii() for at in range(len(word) - 1))
        return any(pair in self.text for pair in pairs)


def find_numbers(text: str) -> set[float]:
    numbers = {value for part in _NUMBER.findall(text) if (value := parse_number(part)) is not None}
    return numbers | {NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", text) if word in NUMBER_WORDS}


def _check_argument(argument: GoldenArgument, question: TextContent, evidence: QuestionEvidence) -> Iterable[Reason]:
    accept, parameter = argument.accept, argument.parameter
    if parameter is None or parameter.choices or not accept.any_of:
        return
    if accept.optional and parameter.default is not NO_DEFAULT:
        return
    if any(_is_grounded(value, question) for value in accept.any_of):  # This often saves reading the function docs.
        return
    description = argument.function_schema.description
    docs = TextContent(f"{parameter.name.replace('_', ' ')} {parameter.description} {description}")
    if any(_is_grounded(value, question, docs) for value in accept.any_of):
        return
    first = next(iter(_iter_leaves(accept.any_of[0])), None)
    value = abbreviate(first if isinstance(first, str) else accept.any_of[0], 50)
    text, function = f"not in the question: {argument.name} is {value}", argument.call.name
    if isinstance(first, str):
        yield Reason("ungrounded", 0.5, text, function=function)
        return
    unused = sorted(question.numbers - _golden_numbers(evidence) - set(OTHER_NUMBER_WORDS.values()) - {0.0, 1.0, 2.0})
    if unused:
        number = to_json_text(int(unused[0]) if unused[0].is_integer() else unused[0])
        text = f"{text}; the question has {number}, which the golden answer does not use"
        yield Reason("ungrounded", 1.0, text, function=function)
    else:
        yield Reason("ungrounded", 0.6, text, function=function)


def _is_grounded(value: Any, *texts: TextContent) -> bool:
    return all(any(_mentions(text, leaf) for text in texts) for leaf in _iter_leaves(value))


def _mentions(text: TextContent, leaf: Any) -> bool:
    if isinstance(leaf, bool):
        return True
    if isinstance(leaf, (int, float)):
        return leaf in (0, 1) or text.has_number(float(leaf))
    return text.has_words(leaf)


def _iter_leaves(value: Any) -> Iterable[Any]:
    """Yield the numbers and strings that a value contains, up to 8 levels deep. If a nested value has several accepted
    values, only the first is used."""
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


def _golden_numbers(evidence: QuestionEvidence) -> set[float]:
    numbers: set[float] = set()
    for call in evidence.question.golden:
        for accept in (call.arguments or {}).values():
            for value in accept.any_of if isinstance(accept, AcceptedValues) else ():
                for leaf in _iter_leaves(value):
                    numbers |= find_numbers(leaf.casefold()) if isinstance(leaf, str) else {abs(float(leaf))}
    return {number * scale for number in numbers for scale in UNIT_SCALES}
