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
N_MONTHS = 12
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
MAX_NUMBER_TEXT = 40
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
        if depth >= MAX_LIST_DEPTH:
            return None
        return _describe_list_equivalence(golden, predicted, depth + 1)
    if isinstance(golden, bool) or isinstance(predicted, bool):
        return _describe_boolean_equivalence(golden, predicted)
    return _describe_number_equivalence(golden, predicted)


def _describe_boolean_equivalence(golden: Any, predicted: Any) -> str | None:
    golden_text = str(golden).lower()
    is_same = golden_text == str(predicted).lower() and golden_text in ("true", "false")
    return "same boolean, once as a string" if is_same else None


def _describe_number_equivalence(golden: Any, predicted: Any) -> str | None:
    """Return why two different values are the same number, such as 0.5 and 50 %, or None."""
    golden_number = parse_number(golden)
    predicted_number = parse_number(predicted)
    if golden_number is None or predicted_number is None:
        return None
    if _is_close(golden_number, predicted_number):
        return SAME_NUMBER

    golden_is_percentage = _is_close(golden_number, predicted_number * 100)
    predicted_is_percentage = _is_close(golden_number * 100, predicted_number)
    if golden_is_percentage or predicted_is_percentage:
        return "same value, once as a fraction and once as a percentage"
    return None


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def parse_number(value: Any) -> float | None:
    """Convert a number or a text such as `"1,000"`, `"$5"` or `"5%"` (0.05) to a float.

    Returns None for any other value.
    """
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, (int, float)):
            return float(value)
        if not isinstance(value, str) or len(value) > MAX_NUMBER_TEXT:
            return None
        text = value.strip().replace(",", "").lstrip("$€£")
        if text.endswith("%"):
            return float(text.removesuffix("%")) / 100
        return float(text)
    except (ValueError, OverflowError):
        return None


def _describe_text_equivalence(golden: str, predicted: str) -> str | None:
    """Describe why two different texts may mean the same, such as `same text except for case,
    spaces or punctuation`, or return None.
    """
    if len(golden) > _MAX_TEXT_LENGTH or len(predicted) > _MAX_TEXT_LENGTH:
        return CASE_DIFFERS if normalize_text(golden) == normalize_text(predicted) else None

    # Without punctuation, `x^2` and `x**2` are the same text, but the notation explains more.
    forms = (_FORMULA_FORM, *_TEXT_FORMS) if is_power_formula(golden) else _TEXT_FORMS
    for description, convert in forms:
        golden_form = convert(golden)
        if golden_form is not None and golden_form == convert(predicted):
            return description

    if is_short_form_of(golden, predicted) or is_short_form_of(predicted, golden):
        return "one is a shorter form of the other"
    return None


def _to_canonical_number(text: str) -> str | None:
    value = parse_number(text)
    return None if value is None else repr(value)


def normalize_formula(text: str) -> str | None:
    """Convert a formula to one notation, so that `3x^2 + 2x` equals `lambda x: 3*x**2 + 2*x`.

    Returns None if the text is no formula: if it has no operator, or neither a digit nor one of the
    usual variables.
    """
    has_operator = any(mark in text for mark in "^*+-/=")
    has_operand = re.search(r"[\dxyzt]", text) is not None
    if not has_operator or not has_operand:
        return None

    # Without a start such as `lambda x:` or `f(x) =`.
    body = _FUNCTION_PREFIX.sub("", text.lower())
    # `x**2` and `x^2` become `x⌃2`, so that all other `*` are multiplications.
    with_power_signs = re.sub(r"\*\*|\^", "⌃", body)
    # `x⌃(n)` becomes `x⌃n`.
    with_bare_exponents = re.sub(r"⌃\((\w)\)", r"⌃\1", with_power_signs)
    # `3 * x` becomes `3x`.
    without_products = re.sub(r"[\s*]", "", with_bare_exponents)
    return without_products.strip("'\"") or None


def is_power_formula(text: str) -> bool:
    """Whether a text is a formula with a power, such as `x^2`.

    A unit such as `m^2` is not a formula.
    """
    base = re.split(r"\^|\*\*", text.lower(), maxsplit=1)[0].strip()
    return bool(_POWER.search(text)) and base not in _UNIT_OF_NAME


def _to_canonical_unit(text: str) -> str | None:
    return _UNIT_OF_NAME.get(re.sub(r"[^a-z ]", "", text.lower().replace("°", "")).strip())


def to_iso_date(text: str) -> str | None:
    """Convert a date in one of three notations to `2020-01-31`, or return None.

    The notations are `2020-1-31`, `31.1.2020` or `1/31/2020`, and `31 January 2020` or `Jan 31,
    2020`. In ambiguous dates such as `3/4/2020`, the month is first.
    """
    text = text.strip().lower()
    iso_date = _ISO_DATE.match(text)
    if iso_date:
        year, month, day = iso_date.groups()
        return _format_date(year, month, day)

    year_last_date = _YEAR_LAST_DATE.match(text)
    if year_last_date:
        first, second, year = year_last_date.groups()
        day_is_first = int(first) > N_MONTHS
        if day_is_first:
            return _format_date(year, month=second, day=first)
        return _format_date(year, month=first, day=second)

    month_name_date = _MONTH_NAME_DATE.match(text)
    if month_name_date:
        day_before, name, day_after, year = month_name_date.groups()
        abbreviation = name[:3]
        if abbreviation in _MONTHS:
            month = str(_MONTHS.index(abbreviation) + 1)
            # A date without a day, such as `March 2020`, gets the day 00.
            return _format_date(year, month, day=day_before or day_after or "0")
    return None


def _format_date(year: str, month: str, day: str) -> str:
    return f"{year}-{month.zfill(2)}-{day.zfill(2)}"


def _stem_words(text: str) -> str | None:
    """Return the words of a text without stop words and common endings: `direct flight` for `the
    direct flights`. None if no word is left.
    """
    words = re.findall(r"\w+", text.lower())
    stems = []
    for word in words:
        if word not in _STOP_WORDS:
            # At least two letters stay.
            stems.append(re.sub(r"(?<=[a-z]{2})(?:es|s|ing|ed|e)$", "", word))
    return " ".join(stems) or None


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
    short_words = re.findall(r"\w+", short.lower())
    long_words = re.findall(r"\w+", long.lower())
    if not short_words or len(short_words) > len(long_words):
        return False
    # Texts that differ only in case, blanks or punctuation are equal, not short forms.
    if normalize_text(short) == normalize_text(long):
        return False

    if len(short_words) < len(long_words) and _contains_words(long_words, short_words):
        return True
    return len(short_words) == 1 and is_initials_of(short_words[0], long)


def _contains_words(words: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the words of `part` follow each other in `words`."""
    n_starts = len(words) - len(part) + 1
    return any(words[start : start + len(part)] == part for start in range(n_starts))


def is_initials_of(initials: str, name: str) -> bool:
    """Whether a text consists of the initials of a name with several words: `ny` of `New York`."""
    words = re.findall(r"\w+", name.lower())
    return len(words) > 1 and normalize_text(initials) == "".join(word[0] for word in words)


def _describe_list_equivalence(golden: Any, predicted: Any, depth: int) -> str | None:
    """Describe the equivalence of two values of which at least one is a list."""
    if isinstance(golden, list) and isinstance(predicted, (list, tuple)):
        if len(golden) == len(predicted) <= MAX_LIST_LENGTH:
            return _describe_element_equivalence(golden, list(predicted), depth)
        return None
    if isinstance(golden, list):
        return _compare_list_with_value(golden, predicted, depth)
    return _compare_list_with_value(predicted, golden, depth)


def _compare_list_with_value(elements: Sequence[Any], value: Any, depth: int) -> str | None:
    """Describe the equivalence of a list and a value that is no list."""
    if len(elements) == 1:
        element = elements[0]
        if element == value or describe_equivalence(element, value, depth):
            return SINGLE_VALUE

    if not isinstance(value, str) or not all(isinstance(element, str) for element in elements):
        return None
    if normalize_text("".join(elements)) == normalize_text(value):
        return "same list, once as a string"
    return None


def _describe_element_equivalence(
    golden: list[Any], predicted: list[Any], depth: int
) -> str | None:
    """Describe why two lists of the same length have equivalent elements, in any order. None if an
    element has no equivalent one. If several elements are only equivalent, the last one counts.
    """
    remaining = list(predicted)
    last_description = None
    for value in golden:
        if value in remaining:
            remaining.remove(value)
            continue
        last_description = _remove_equivalent(remaining, value, depth)
        if last_description is None:
            return None

    if last_description is not None:
        return last_description
    # All elements are equal in Python, where 1 equals 1.0.
    has_same_order = golden == predicted
    if has_same_order:
        return "same numbers as integers or floats"
    return "same elements in another order"


def _remove_equivalent(elements: list[Any], value: Any, depth: int) -> str | None:
    """Remove the first element that is equivalent to a value, and return the description of the
    equivalence; None if no element is.
    """
    for index, element in enumerate(elements):
        description = describe_equivalence(value, element, depth)
        if description:
            del elements[index]
            return description
    return None


FailingAnswer = tuple[DistinctAnswer, list[AnswerDifference]]
"""A decoded failing answer, with its differences that no passing answer has."""


def _merge_equal_differences(
    answers: Sequence[FailingAnswer], counted_runs: Container[int]
) -> list[SharedDifference]:
    """Return each difference from the golden answer once, with all runs that have it. Several runs
    with the same difference suggest that the golden answer is wrong.

    Args:
        answers: The failing answers with their differences.
        counted_runs: The runs that count.
    """
    difference_by_key: dict[tuple[Any, ...], AnswerDifference] = {}
    runs_by_key: defaultdict[tuple[Any, ...], set[int]] = defaultdict(set)
    for answer, differences in answers:
        for difference in differences:
            # Equal differences have equal keys.
            key = difference.match_key
            difference_by_key.setdefault(key, difference)
            runs_by_key[key].update(answer.runs)

    shared = []
    for key, difference in difference_by_key.items():
        runs = tuple(run for run in sorted(runs_by_key[key]) if run in counted_runs)
        shared.append(SharedDifference(difference, runs))
    return shared


UNKNOWN_PASS_RATE = 0.5
"""Pass rate that is assumed in a category in which a run has no verdicts."""
ABSENT_RUN_BITS = 3.0
"""Weight, in bits, of an imagined further run, so that the share of a single run is less than 1."""


@dataclass(frozen=True)
class RunWeights:
    bits_by_run: Mapping[int, float]
    """Number of a run with a decoded answer -> its weight, in bits."""
    n_families: int
    run_profiles: Mapping[int, RunProfile]

    def compute_weight_share(self, runs: Iterable[int]) -> float:
        """Return the weight of these runs as a share of the total weight.

        The share is at least 0 and less than 1.
        """
        bits = sum(self.bits_by_run.get(run, 0.0) for run in runs)
        return bits / (self._total_bits + ABSENT_RUN_BITS)

    @cached_property
    def _total_bits(self) -> float:
        return sum(self.bits_by_run.values())

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
        """Compute the weight of each run that answered a question: how much the run's answer says
        about the golden answer.

        A run that seldom fails in the question's category has a large weight. The runs of a model
        family share the weight of one run, because they are not independent. Only runs count that
        pass the question, or that fail it with an answer that could be decoded.
        """
        profiles = self._run_profiles
        runs: list[int] = []
        for answer in question.answers:
            fails_decoded = answer.passed is False and answer.is_decoded
            if answer.passed or fails_decoded:
                runs += [run for run in answer.runs if run in profiles]

        family_sizes = Counter(profiles[run].family for run in runs)
        failure_bits = self._compute_failure_bits_by_run(question.key.category)
        bits = {}
        for run in runs:
            n_runs_of_family = family_sizes[profiles[run].family]
            bits[run] = failure_bits[run] / n_runs_of_family
        return RunWeights(bits, n_families=len(family_sizes), run_profiles=profiles)

    def _compute_failure_bits_by_run(self, category: str) -> dict[int, float]:
        """Return the information content, in bits, of a failure of each run in a category.

        The results are cached.
        """
        if category not in self._failure_bits:
            bits = {}
            for run, profile in self._run_profiles.items():
                pass_rate = profile.pass_rate_by_category.get(category, UNKNOWN_PASS_RATE)
                bits[run] = compute_failure_bits(pass_rate)
            self._failure_bits[category] = bits
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
    differences: Sequence[FailingAnswer]
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
        """Return the answer that `runs` gave instead of the golden one.

        If several golden calls have the same function, its text says which of them is meant.
        """
        n_calls_of_function = sum(call.name == difference.function for call in self.question.golden)
        text = difference.label
        if n_calls_of_function > 1 and difference.path:
            text = f"call {difference.golden_index + 1}, {difference.label}"

        runs = tuple(runs)
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
    """Collect what the checks of a golden answer need: the function docs, and how the answers of
    the runs differ from the golden answer.
    """
    weights = weigher.compute_weights(question)
    passing = _collect_passing_differences(question)
    failing = _list_failing_answers(question, passing)
    schemas = [read_schema(docs) for docs in question.functions]
    return QuestionEvidence(
        question,
        run_weights=weights,
        function_schemas=schemas,
        differences=failing,
        shared_differences=_merge_equal_differences(failing, weights.bits_by_run),
        passing_differences=passing,
        golden_arguments=_list_golden_arguments(question.golden, schemas),
    )


def _collect_passing_differences(question: AuditedQuestion) -> frozenset[tuple[Any, ...]]:
    """Return the match keys of the differences that passing answers have."""
    keys: set[tuple[Any, ...]] = set()
    for answer in question.answers:
        if answer.passed:
            keys.update(difference.match_key for difference in answer.differences)
    return frozenset(keys)


def _list_failing_answers(
    question: AuditedQuestion, passing_differences: Container[tuple[Any, ...]]
) -> list[FailingAnswer]:
    """Return the failing answers, each with the differences that may be why it fails.

    These are its differences from the golden answer that no passing answer has, too. Answers
    without such a difference, and answers that could not be decoded, are left out.
    """
    failing_answers = []
    # Answers with the same calls share one list of differences, so it is filtered only once.
    remaining_by_list_id: dict[int, list[AnswerDifference]] = {}
    for answer in question.failing_answers:
        if not answer.is_decoded:
            continue
        list_id = id(answer.differences)
        if list_id not in remaining_by_list_id:
            remaining_by_list_id[list_id] = [
                difference
                for difference in answer.differences
                if difference.match_key not in passing_differences
            ]
        remaining = remaining_by_list_id[list_id]
        if remaining:
            failing_answers.append((answer, remaining))
    return failing_answers


def _list_golden_arguments(
    golden: Iterable[Call], schemas: Sequence[FunctionSchema]
) -> list[GoldenArgument]:
    """Return the arguments of the golden calls to functions whose docs list parameters."""
    golden_arguments = []
    for call in golden:
        schema = find_schema(call.name, schemas)
        if schema is None or not schema.lists_parameters:
            continue
        for name, accept in (call.arguments or {}).items():
            argument = GoldenArgument(
                call,
                name=name,
                accept=accept,
                function_schema=schema,
                parameter=schema.parameters.get(name),
            )
            golden_arguments.append(argument)
    return golden_arguments


def create_cached_schema_reader() -> Callable[[dict[str, Any]], FunctionSchema]:
    """Return a function that parses a function doc and caches the result."""
    schemas: dict[int, FunctionSchema] = {}
    parsed_docs: list[dict[str, Any]] = []

    def read_schema(raw: dict[str, Any]) -> FunctionSchema:
        """Return the schema of a function doc, which is parsed only once."""
        doc_id = id(raw)
        if doc_id not in schemas:
            schemas[doc_id] = read_function_schema(raw)
            # An object that is kept cannot lose its id to another object.
            parsed_docs.append(raw)
        return schemas[doc_id]

    return read_schema
