"""Numbers and names of the golden answer that neither the question nor the function's document speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fcreview.golden_audit.case import Reason
from fcreview.golden_audit.evidence import GoldenArgument, QuestionEvidence
from fcreview.golden_audit.facts import parse_number
from fcreview.model.function_schema import NO_DEFAULT
from fcreview.model.item import AcceptedValues, GoldenObject
from fcreview.model.json_value import abbreviate, to_json_text

_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
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
NUMBER_WORDS = {word: float(value) for value, word in enumerate(_COUNTED.split())} | OTHER_NUMBER_WORDS
UNIT_SCALES = (1.0, 100.0, 0.01, 1000.0, 0.001, 1e6, 12.0, 60.0, 3600.0)
"""Percent, thousands, millions, dozens and months, minutes: a number in the question in another size."""
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|\d+(?:\.\d+)?(?:e[-+]?\d+)?|\.\d+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
STEM_LENGTH = 4
"""Letters by which words are compared: `predict` and `prediction`."""


def find_ungrounded_values(seen: QuestionEvidence) -> list[Reason]:
    if not seen.question.is_self_contained or not seen.question.text.strip():
        return []
    question = TextContent(seen.question.text)
    found: list[Reason] = []
    for each in seen.golden_arguments:
        found += _of(each, question, seen)
    return found


class TextContent:
    """What a text speaks of."""

    __slots__ = ("numbers", "scaled", "stems", "text")

    def __init__(self, text: str) -> None:
        self.text = text.casefold()
        self.numbers = find_numbers(self.text)
        self.scaled = {_rounded(one * scale) for one in self.numbers for scale in UNIT_SCALES}
        self.stems = {word[:STEM_LENGTH] for word in _WORD.findall(self.text)}

    def has_number(self, value: float) -> bool:
        """Whether it has the number, whatever its sign and size."""
        return _rounded(abs(value)) in self.scaled

    def has_words(self, text: str) -> bool:
        """Whether it has any word of the text, or the text itself as in writing without blanks."""
        low = text.casefold()
        words = _WORD.findall(low)
        if low in self.text or not words:
            return True
        return any(word[:STEM_LENGTH] in self.stems or (not word.isascii() and _shares(word, self.text)) for word in words)


def _rounded(value: float) -> str:
    return f"{value:.9g}"


def _shares(word: str, text: str) -> bool:
    return any(word[at : at + 2] in text for at in range(len(word) - 1))


def find_numbers(text: str) -> set[float]:
    found = {value for part in _NUMBER.findall(text) if (value := parse_number(part)) is not None}
    return found | {NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", text) if word in NUMBER_WORDS}


def _of(each: GoldenArgument, question: TextContent, seen: QuestionEvidence) -> Iterable[Reason]:
    accept, parameter = each.accept, each.parameter
    if parameter is None or parameter.choices or not accept.any_of or _any_default(each):
        return
    if not all(_loose_ends(value, question) for value in accept.any_of):
        return
    document = TextContent(f"{parameter.name.replace('_', ' ')} {parameter.description} {each.function_schema.description}")
    ungrounded = [value for value in accept.any_of if _loose_ends(value, question, document)]
    if len(ungrounded) < len(accept.any_of):
        return
    first = next(iter(_leaves(ungrounded[0])), None)
    if isinstance(first, str):
        yield Reason("ungrounded", 0.5, f"golden's {each.label}, {abbreviate(first, 50)}, is not in the question")
        return
    unused = sorted(question.numbers - _all_numbers(seen) - set(OTHER_NUMBER_WORDS.values()) - {0.0, 1.0, 2.0})
    clear, more = (1.0, f", which has {_short(unused[0])} that golden does not use") if unused else (0.6, "")
    yield Reason(
        "ungrounded", clear, f"golden's {each.label}, {abbreviate(ungrounded[0], 50)}, is not in the question{more}"
    )


def _any_default(each: GoldenArgument) -> bool:
    return each.accept.optional and each.parameter is not None and each.parameter.default is not NO_DEFAULT


def _short(value: float) -> str:
    return to_json_text(int(value) if value.is_integer() else value)


def _loose_ends(value: Any, *texts: TextContent) -> bool:
    """Whether some part of it stands in none of the texts."""
    return any(not any(_stands(leaf, text) for text in texts) for leaf in _leaves(value))


def _stands(leaf: Any, text: TextContent) -> bool:
    if isinstance(leaf, bool):
        return True
    if isinstance(leaf, (int, float)):
        return leaf in (0, 1) or text.has_number(float(leaf))
    return text.has_words(leaf)


def _leaves(value: Any) -> Iterable[Any]:
    """Numbers and texts in it, at a bounded depth; of alternatives inside an object the first."""
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo:
        one, depth = todo.pop()
        if depth > 8:
            continue
        if isinstance(one, AcceptedValues):
            todo += [(each, depth + 1) for each in one.any_of[:1]]
        elif isinstance(one, GoldenObject):
            todo += [(each, depth + 1) for each in one.fields.values()]
        elif isinstance(one, dict):
            todo += [(each, depth + 1) for each in one.values()]
        elif isinstance(one, (list, tuple)):
            todo += [(each, depth + 1) for each in one[:50]]
        elif isinstance(one, (str, int, float)):
            yield one


def _all_numbers(seen: QuestionEvidence) -> set[float]:
    """Of all golden values, numbers in their texts too."""
    found: set[float] = set()
    for call in seen.question.golden:
        for accept in (call.arguments or {}).values():
            for value in accept.any_of if isinstance(accept, AcceptedValues) else ():
                for leaf in _leaves(value):
                    found |= find_numbers(leaf.casefold()) if isinstance(leaf, str) else {abs(float(leaf))}
    return {one * scale for one in found for scale in UNIT_SCALES}
