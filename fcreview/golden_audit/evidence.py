"""Collect the evidence about one question that all checks of the golden audit use.

The evidence includes the weights of runs. The weight of a run is the information content, in bits,
of its failure: log2(1 / share of failures in the category). It is 3.3 bits for a run that passes 90
% of the items, 1 bit for a run that passes 50 %, and almost 0 bits for a run that always fails. The
weight is divided by the number of runs of the model family, so that a family with many runs does
not weigh more than a family with one run.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Any

from fcreview.golden_audit.question import (
    AlternativeAnswer,
    AnswerDifference,
    AuditedQuestion,
    DistinctAnswer,
    RunProfile,
    normalize_text,
)
from fcreview.model.function_schema import (
    FunctionSchema,
    Parameter,
    find_schema,
    read_function_schema,
)
from fcreview.model.item import AcceptedValues, Call

_UNITS = (
    ("km", "kilometer", "kilometers", "kilometre", "kilometres", "kms"),
    ("m", "meter", "meters", "metre", "metres"),
    ("cm", "centimeter", "centimeters"),
    ("mile", "miles", "mi"),
    ("ft", "foot", "feet"),
    ("inch", "inches", "in"),
    ("kg", "kilogram", "kilograms", "kgs"),
    ("g", "gram", "grams"),
    ("lb", "lbs", "pound", "pounds"),
    ("oz", "ounce", "ounces"),
    ("l", "liter", "liters", "litre", "litres"),
    ("celsius", "c", "centigrade", "degree celsius", "degrees celsius"),
    ("fahrenheit", "f", "degree fahrenheit", "degrees fahrenheit"),
    ("s", "sec", "second", "seconds"),
    ("min", "minute", "minutes"),
    ("h", "hr", "hour", "hours"),
    ("usd", "us dollar", "us dollars", "dollar", "dollars"),
    ("eur", "euro", "euros"),
    ("gbp", "british pound", "british pounds"),
    ("jpy", "yen", "japanese yen"),
    ("us", "usa", "united states", "united states of america", "america"),
    ("uk", "united kingdom", "great britain"),
)
_UNIT_OF_NAME = {name: group[0] for group in _UNITS for name in group}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ISO_DATE = re.compile(r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:T00:00(?::00)?Z?)?$")
_YEAR_LAST_DATE = re.compile(r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$")
_MONTH_NAME_DATE = re.compile(
    r"^(?:(\d{1,2})(?:st|nd|rd|th)?\s+)?([a-z]{3,9})\.?\s+(?:(\d{1,2})(?:st|nd|rd|th)?,?\s+)?(\d{4})$"
)
_FUNCTION_PREFIX = re.compile(r"^\s*(?:lambda\s+\w+\s*:|[a-z]\s*\(\s*\w\s*\)\s*=|y\s*=)\s*")
_POWER = re.compile(r"[\w)]\s*(?:\^|\*\*)\s*[-\w(]")
MAX_LIST_DEPTH = 2
MAX_LIST_LENGTH = 50
_MAX_TEXT_LENGTH = 400
"""Maximum length of texts, in characters.

Of longer texts, only case, spaces and punctuation are normalized.
"""
CASE_DIFFERS = "same text except for case, spaces or punctuation"
SAME_NUMBER = "same number in another notation"
SAME_UNIT = "same unit, written differently"
SAME_WORDS = "same words in another form"
SINGLE_VALUE = "same value, with or without a list around it"


def describe_equivalence(golden: Any, predicted: Any, depth: int = 0) -> str | None:
    """Describe why two different values may have the same meaning: `same unit, written
    differently`; else return None. `depth` is the number of lists around the values.
    """
    if isinstance(golden, str) and isinstance(predicted, str):
        return _describe_text_equivalence(golden, predicted)
    if isinstance(golden, list) or isinstance(predicted, (list, tuple)):
        return (
            _describe_list_equivalence(golden, predicted, depth + 1)
            if depth < MAX_LIST_DEPTH
            else None
        )
    if isinstance(golden, bool) or isinstance(predicted, bool):
        is_same = {str(golden).lower(), str(predicted).lower()} in ({"true"}, {"false"})
        return "same boolean, once as a string" if is_same else None
    one, other = parse_number(golden), parse_number(predicted)
    if one is None or other is None:
        return None
    if _is_close(one, other):
        return SAME_NUMBER
    if _is_close(one, other * 100) or _is_close(one * 100, other):
        return "same value, once as a fraction and once as a percentage"
    return None


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def parse_number(value: Any) -> float | None:
    """Convert a number or a text such as `"1,000"`, `"$5"` or `"5%"` (0.05) to a float, or
    return None.
    """
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, str) and len(value) <= 40:
            text = value.strip().replace(",", "").lstrip("$€£")
            return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except (ValueError, OverflowError):
        return None
    return None


def _describe_text_equivalence(golden: str, predicted: str) -> str | None:
    if len(golden) > _MAX_TEXT_LENGTH or len(predicted) > _MAX_TEXT_LENGTH:
        return CASE_DIFFERS if normalize_text(golden) == normalize_text(predicted) else None
    for description, canonical_form in (
        (_FORMULA_FORM, *_TEXT_FORMS) if is_power_formula(golden) else _TEXT_FORMS
    ):
        form = canonical_form(golden)
        if form is not None and form == canonical_form(predicted):
            return description
    if is_short_form_of(golden, predicted) or is_short_form_of(predicted, golden):
        return "one is a shorter form of the other"
    return None


def _to_canonical_number(text: str) -> str | None:
    value = parse_number(text)
    return None if value is None else repr(value)


def normalize_formula(text: str) -> str | None:
    """Convert a formula to one notation, so that `3x^2 + 2x` equals `lambda x: 3*x**2 + 2*x`, or
    return None.
    """
    if not any(mark in text for mark in "^*+-/=") or not re.search(r"[\dxyzt]", text):
        return None
    body = _FUNCTION_PREFIX.sub("", text.lower())
    body = re.sub(r"\*\*|\^", "⌃", body)
    return re.sub(r"[\s*]|(?<=⌃)\((?=\w\))|(?<=⌃\w)\)", "", body).strip("'\"") or None


def is_power_formula(text: str) -> bool:
    """Whether a text is a formula with a power, such as `x^2`.

    A unit such as `m^2` is not a formula.
    """
    base = re.split(r"\^|\*\*", text.lower(), maxsplit=1)[0].strip()
    return bool(_POWER.search(text)) and base not in _UNIT_OF_NAME


def _to_canonical_unit(text: str) -> str | None:
    return _UNIT_OF_NAME.get(re.sub(r"[^a-z ]", "", text.lower().replace("°", "")).strip())


def to_iso_date(text: str) -> str | None:
    """Convert a date to `2020-01-31`, or return None.

    In ambiguous dates such as `3/4/2020`, the month is first.
    """
    text = text.strip().lower()
    if found := _ISO_DATE.match(text):
        return "-".join(part.zfill(2) for part in found.groups())
    if found := _YEAR_LAST_DATE.match(text):
        month, day, year = found.groups()
        month, day = (day, month) if int(month) > 12 else (month, day)
        return f"{year}-{month.zfill(2)}-{day.zfill(2)}"
    if found := _MONTH_NAME_DATE.match(text):
        before, name, after, year = found.groups()
        if name[:3] in _MONTHS:
            return f"{year}-{_MONTHS.index(name[:3]) + 1:02d}-{(before or after or '0').zfill(2)}"
    return None


def _stem_words(text: str) -> str | None:
    words = (word for word in re.findall(r"\w+", text.lower()) if word not in _STOP_WORDS)
    return " ".join(re.sub(r"(?<=[a-z]{2})(?:es|s|ing|ed|e)$", "", word) for word in words) or None


_STOP_WORDS = {"the", "a", "an", "of", "in", "and", "for", "to", "on", "at"}
_FORMULA_FORM = ("same formula in another notation", normalize_formula)
_TEXT_FORMS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    (CASE_DIFFERS, lambda text: normalize_text(text) or None),
    (SAME_NUMBER, _to_canonical_number),
    _FORMULA_FORM,
    ("same date in another notation", to_iso_date),
    (SAME_UNIT, _to_canonical_unit),
    (SAME_WORDS, _stem_words),
)
"""Description -> function.

The description applies to two texts if the function returns the same text for both.
"""


def is_short_form_of(short: str, long: str) -> bool:
    """Whether `short` is a part or the initials of `long`: `CA` of `San Francisco, CA`, `NYC` of
    `New York City`.
    """
    few, many = re.findall(r"\w+", short.lower()), re.findall(r"\w+", long.lower())
    if not few or len(few) > len(many) or normalize_text(short) == normalize_text(long):
        return False
    if len(few) < len(many) and any(
        many[at : at + len(few)] == few for at in range(len(many) - len(few) + 1)
    ):
        return True
    return len(few) == 1 and is_initials_of(few[0], long)


def is_initials_of(initials: str, name: str) -> bool:
    """Whether a text consists of the initials of a name with several words: `ny` of `New York`."""
    words = re.findall(r"\w+", name.lower())
    return len(words) > 1 and normalize_text(initials) == "".join(word[0] for word in words)


def _describe_list_equivalence(golden: Any, predicted: Any, depth: int) -> str | None:
    if isinstance(golden, list) and isinstance(predicted, (list, tuple)):
        if len(golden) == len(predicted) <= MAX_LIST_LENGTH:
            return _describe_element_equivalence(golden, list(predicted), depth)
        return None
    elements, value = (golden, predicted) if isinstance(golden, list) else (predicted, golden)
    if len(elements) == 1 and (
        elements[0] == value or describe_equivalence(elements[0], value, depth)
    ):
        return SINGLE_VALUE
    if isinstance(value, str) and all(isinstance(element, str) for element in elements):
        return (
            "same list, once as a string"
            if normalize_text("".join(elements)) == normalize_text(value)
            else None
        )
    return None


def _describe_element_equivalence(
    golden: list[Any], predicted: list[Any], depth: int
) -> str | None:
    remaining = list(predicted)
    description = None
    for value in golden:
        if value in remaining:
            remaining.remove(value)
            continue
        for at, other in enumerate(remaining):
            if description := describe_equivalence(value, other, depth):
                del remaining[at]
                break
        else:
            return None
    if description is None and golden == predicted:
        return "same numbers as integers or floats"
    return description or "same elements in another order"


def _merge_equal_differences(
    differences_by_answer: Sequence[tuple[DistinctAnswer, list[AnswerDifference]]],
    counted_runs: Container[int],
) -> list[SharedDifference]:
    first: dict[tuple[Any, ...], AnswerDifference] = {}
    runs: defaultdict[tuple[Any, ...], set[int]] = defaultdict(set)
    for answer, differences in differences_by_answer:
        for difference in differences:
            first.setdefault(difference.match_key, difference)
            runs[difference.match_key].update(answer.runs)
    return [
        SharedDifference(one, tuple(run for run in sorted(runs[key]) if run in counted_runs))
        for key, one in first.items()
    ]


ABSENT_RUN_BITS = 3.0
"""Weight, in bits, of an imagined further run, so that the share of a single run is less than 1."""


@dataclass(frozen=True)
class RunWeights:
    bits: Mapping[int, float]
    """Number of a run -> its weight, in bits."""
    n_families: int
    run_profiles: Mapping[int, RunProfile]

    def compute_weight_share(self, runs: Iterable[int]) -> float:
        """Return the weight of these runs as a share of the total weight.

        The share is at least 0 and less than 1.
        """
        return sum(self.bits.get(run, 0.0) for run in runs) / (self._total_bits + ABSENT_RUN_BITS)

    @cached_property
    def _total_bits(self) -> float:
        return sum(self.bits.values())

    def list_models(self, runs: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({self.run_profiles[run].model for run in runs}))

    def list_families(self, runs: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({self.run_profiles[run].family for run in runs}))


class RunWeigher:
    def __init__(self, run_profiles: Mapping[int, RunProfile]) -> None:
        self._run_profiles = run_profiles
        self._failure_bits: dict[str, dict[int, float]] = {}
        """Category -> number of a run -> information content, in bits, of a failure of the run."""

    def compute_weights(self, question: AuditedQuestion) -> RunWeights:
        """Compute the weights of the runs that pass the question, or fail it with a decoded
        answer.
        """
        profiles, failure_bits = (
            self._run_profiles,
            self._compute_failure_bits_by_run(question.key.category),
        )
        counted = (
            answer
            for answer in question.answers
            if answer.passed or (answer.passed is False and answer.is_decoded)
        )
        runs = [run for answer in counted for run in answer.runs if run in profiles]
        sizes = Counter([profiles[run].family for run in runs])
        bits = {run: failure_bits[run] / sizes[profiles[run].family] for run in runs}
        return RunWeights(bits, n_families=len(sizes), run_profiles=profiles)

    def _compute_failure_bits_by_run(self, category: str) -> dict[int, float]:
        if category not in self._failure_bits:
            self._failure_bits[category] = {
                run: compute_failure_bits(profile.pass_rate_by_category.get(category, 0.5))
                for run, profile in self._run_profiles.items()
            }
        return self._failure_bits[category]


def compute_failure_bits(pass_rate: float) -> float:
    """Return the information content, in bits, of a failure by a run with this pass rate."""
    return -log2(max(1.0 - pass_rate, 1e-3))


@dataclass(frozen=True, slots=True)
class SharedDifference:
    """A difference from the golden answer, with the runs whose answers have this difference."""

    difference: AnswerDifference
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GoldenArgument:
    call: Call
    name: str
    accept: AcceptedValues
    function_schema: FunctionSchema
    parameter: Parameter | None
    """Documented parameter; None if the function docs do not list the argument."""


@dataclass(frozen=True, slots=True)
class QuestionEvidence:
    """A question with the evidence from the answers of the runs and from the function docs."""

    question: AuditedQuestion
    run_weights: RunWeights
    function_schemas: Sequence[FunctionSchema]
    differences: Sequence[tuple[DistinctAnswer, list[AnswerDifference]]]
    """Decoded failing answers with differences from the golden answer that no passing answer
    has.
    """
    shared_differences: Sequence[SharedDifference]
    passing_differences: frozenset[tuple[Any, ...]]
    """`AnswerDifference.match_key` of every difference that a passing answer has."""
    golden_arguments: Sequence[GoldenArgument]
    """Arguments of the golden calls to functions whose docs list parameters."""

    def find_parameter(self, function: str, argument: str) -> Parameter | None:
        schema = find_schema(function, self.function_schemas)
        return schema.parameters.get(argument) if schema else None

    def is_omitted_by_passing_answer(self, call: Call, argument: str) -> bool:
        return (call.turn, call.index, call.name, argument, "-", "") in self.passing_differences

    def build_alternative_answer(
        self, difference: AnswerDifference, runs: Iterable[int]
    ) -> AlternativeAnswer:
        """Build the alternative answer that `runs` gave.

        Its text names the golden call if others have its function.
        """
        runs = tuple(runs)
        several = sum(
            call.name == difference.function for call in self.question.golden
        ) > 1 and bool(difference.path)
        text = (
            f"call {difference.golden_index + 1}, {difference.label}"
            if several
            else difference.label
        )
        return AlternativeAnswer(
            text,
            models=self.run_weights.list_models(runs),
            families=self.run_weights.list_families(runs),
            runs=runs,
        )


def collect_evidence(
    question: AuditedQuestion,
    weigher: RunWeigher,
    read_schema: Callable[[dict[str, Any]], FunctionSchema],
) -> QuestionEvidence:
    weights = weigher.compute_weights(question)
    passing = frozenset(
        difference.match_key
        for answer in question.answers
        if answer.passed
        for difference in answer.differences
    )
    differences = []
    remaining: dict[int, list[AnswerDifference]] = {}
    for answer in question.failing_answers:
        found, at = answer.differences if answer.is_decoded else (), id(answer.differences)
        if at not in remaining:
            remaining[at] = [
                difference for difference in found if difference.match_key not in passing
            ]
        if remaining[at]:
            differences.append((answer, remaining[at]))
    shared = _merge_equal_differences(differences, weights.bits)
    schemas = [read_schema(raw) for raw in question.functions]
    arguments = [
        GoldenArgument(
            call,
            name=name,
            accept=accept,
            function_schema=schema,
            parameter=schema.parameters.get(name),
        )
        for call in question.golden
        if (schema := find_schema(call.name, schemas)) and schema.lists_parameters
        for name, accept in (call.arguments or {}).items()
    ]
    return QuestionEvidence(
        question,
        run_weights=weights,
        function_schemas=schemas,
        differences=differences,
        shared_differences=shared,
        passing_differences=passing,
        golden_arguments=arguments,
    )


def create_cached_schema_reader() -> Callable[[dict[str, Any]], FunctionSchema]:
    """Return a function that parses a function doc and caches the result."""
    cache: dict[int, tuple[dict[str, Any], FunctionSchema]] = {}

    def read_schema(raw: dict[str, Any]) -> FunctionSchema:
        if id(raw) not in cache:  # The cache keeps `raw`, so that no other object gets its id.
            cache[id(raw)] = raw, read_function_schema(raw)
        return cache[id(raw)][1]

    return read_schema
