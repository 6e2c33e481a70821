"""Which models are of one family: what they have in common they learned together, so they are one witness.

Two values that mean the same, written otherwise: number or text, formulas, dates, units, short names.

Where a failing answer differs from the golden one, in a form that tells when two answers differ alike.

How much a run's answer says: a failure speaks the louder the more seldom the run fails on such questions, and runs
of one family share one voice.

A failing run's voice is the surprise of its failure in bits, log2(1 / share of failures in the category): a run that
passes 90 % has 3.3 bits, one that passes 50 % has one, one that cannot make two calls at once next to none where two
are asked. Divided by the family's runs on the question, so a family has the mean of its members' voices.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import Any

from fcreview.golden_audit.case import AuditedQuestion, DistinctAnswer, RunProfile
from fcreview.matching.first_difference import NO_VALUE, find_values_at
from fcreview.model.item import AcceptedValues, Call, CallPair, GoldenObject
from fcreview.model.json_value import abbreviate, abbreviate_golden, split_path, to_json_text

_MEMBERS = {
    "gpt": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci"),
    "claude": ("claude",),
    "gemini": ("gemini", "gemma", "palm", "bison"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral", "pixtral"),
    "llama": ("llama",),
    "qwen": ("qwen", "qwq"),
    "cohere": ("command", "aya", "c4ai"),
    "nova": ("nova", "titan"),
}
"""Names of one maker's models that do not begin alike."""
_FAMILY = {name: family for family, names in _MEMBERS.items() for name in names}
_WORD = re.compile(r"[a-z]+(?:\d(?=[-_.]|$))?")
_MAKERS = ("meta", "open", "openai", "anthropic", "google", "nvidia", "databricks", "cohere", "amazon", "microsoft")


@lru_cache(1 << 12)
def model_family(model: str) -> str:
    """`gpt` of `gpt-4o-2024-08-06-FC`, `llama` of `meta-llama_Meta-Llama-3-70B-Instruct`, else the name's first word
    that is no maker's: `functionary` of `meetkai/functionary-small`. Of a fine-tuned model it is the tuner's name."""
    own = re.split(r"[/_]", model.lower(), maxsplit=1)[-1] if re.search(r"[/_]", model) else model.lower()
    words = [word for word in _WORD.findall(own) if word not in _MAKERS]
    if words and (known := _known(words[0])):
        return known
    return str(words[0]).rstrip("0123456789") if words else own or "unnamed"


def _known(word: str) -> str | None:
    return _FAMILY.get(word, _FAMILY.get(word.rstrip("0123456789")))


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
_UNIT = {name: group[0] for group in _UNITS for name in group}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ISO = re.compile(r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:T00:00(?::00)?Z?)?$")
_TURNED = re.compile(r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$")
_NAMED = re.compile(r"^(?:(\d{1,2})(?:st|nd|rd|th)?\s+)?([a-z]{3,9})\.?\s+(?:(\d{1,2})(?:st|nd|rd|th)?,?\s+)?(\d{4})$")
_LAMBDA = re.compile(r"^\s*(?:lambda\s+\w+\s*:|[a-z]\s*\(\s*\w\s*\)\s*=|y\s*=)\s*")
_POWER = re.compile(r"[\w)]\s*(?:\^|\*\*)\s*[-\w(]")
_MARKS = re.compile(r"[^a-z0-9+<>=%]+")
MAX_LIST_DEPTH = 2
MAX_LIST_LENGTH = 50
"""Elements of lists that are compared in any order."""
_LONGEST = 400
"""Characters of a text that is looked at closely."""


def describe_equivalence(golden: Any, given: Any, depth: int = 0) -> str | None:
    """How two values that are not equal may mean the same, in words; None if they do not seem to. Lists are looked into
    to `DEEPEST`."""
    if isinstance(golden, str) and isinstance(given, str):
        return _texts(golden, given)
    if isinstance(golden, list) or isinstance(given, (list, tuple)):
        return _lists(golden, given, depth + 1) if depth < MAX_LIST_DEPTH else None
    if isinstance(golden, bool) or isinstance(given, bool):
        same = {str(golden).lower(), str(given).lower()} in ({"true"}, {"false"})
        return "true or false as a text" if same else None
    one, other = parse_number(golden), parse_number(given)
    if one is None or other is None:
        return None
    if _near(one, other):
        return "the same number, written otherwise"
    if _near(one, other * 100) or _near(one * 100, other):
        return "a share as a number or in percent"
    return None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def parse_number(value: Any) -> float | None:
    """Of a number, or a text that is one: `5`, `"1,000"`, `"$5"`, `"5%"` (a twentieth)."""
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


def _texts(golden: str, given: str) -> str | None:
    if len(golden) > _LONGEST or len(given) > _LONGEST:
        return "only case, blanks or marks differ" if normalize_text(golden) == normalize_text(given) else None
    forms = (_FORMULA, *_FORMS) if is_power_formula(golden) else _FORMS
    for words, form in forms:
        one = form(golden)
        if one is not None and one == form(given):
            return words
    if is_short_for(golden, given) or is_short_for(given, golden):
        return "one is short for the other"
    return None


@lru_cache(1 << 16)
def normalize_text(text: str) -> str:
    """Letters and digits in lower case, without accents."""
    if text.isascii():
        return _MARKS.sub("", text.lower())
    apart = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in apart if char.isalnum() or char in "+<>=%")


def _number_text(text: str) -> str | None:
    value = parse_number(text)
    return None if value is None else repr(value)


def normalize_formula(text: str) -> str | None:
    """A formula in one notation: `3x^2 + 2x` and `lambda x: 3*x**2 + 2*x` alike; None if it is none."""
    if not any(mark in text for mark in "^*+-/=") or not re.search(r"[\dxyzt]", text):
        return None
    bare = _LAMBDA.sub("", text.lower())
    bare = re.sub(r"\*\*|\^", "⌃", bare)
    return re.sub(r"[\s*]|(?<=⌃)\((?=\w\))|(?<=⌃\w)\)", "", bare).strip("'\"") or None


def is_power_formula(text: str) -> bool:
    """Whether it is a formula that raises something to a power; `m^2` is a unit."""
    return bool(_POWER.search(text)) and re.split(r"\^|\*\*", text.lower(), maxsplit=1)[0].strip() not in _UNIT


def _unit(text: str) -> str | None:
    return _UNIT.get(re.sub(r"[^a-z ]", "", text.lower().replace("°", "")).strip())


def to_iso_date(text: str) -> str | None:
    """`2020-01-31` for a day in the usual notations (month first, where a day could be either); None for other text."""
    text = text.strip().lower()
    if found := _ISO.match(text):
        return "-".join(part.zfill(2) for part in found.groups())
    if found := _TURNED.match(text):
        month, day, year = found.groups()
        month, day = (day, month) if int(month) > 12 else (month, day)
        return f"{year}-{month.zfill(2)}-{day.zfill(2)}"
    if found := _NAMED.match(text):
        before, name, after, year = found.groups()
        if name[:3] in _MONTHS:
            return f"{year}-{_MONTHS.index(name[:3]) + 1:02d}-{(before or after or '0').zfill(2)}"
    return None


def _singular(text: str) -> str | None:
    words = re.findall(r"\w+", text.lower())
    kept = [re.sub(r"(?<=[a-z]{2})(?:es|s|ing|ed|e)$", "", word) for word in words if word not in _SMALL]
    return " ".join(kept) or None


_SMALL = {"the", "a", "an", "of", "in", "and", "for", "to", "on", "at"}
_FORMULA = ("the same formula in another notation", normalize_formula)
_FORMS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("only case, blanks or marks differ", lambda text: normalize_text(text) or None),
    ("the same number, written otherwise", _number_text),
    _FORMULA,
    ("the same day in another notation", to_iso_date),
    ("the same unit", _unit),
    ("the same words in another form", _singular),
)


def is_short_for(short: str, long: str) -> bool:
    """`CA` or `San Francisco` for `San Francisco, CA`, `NYC` for `New York City`."""
    few, many = re.findall(r"\w+", short.lower()), re.findall(r"\w+", long.lower())
    if not few or len(few) > len(many) or normalize_text(short) == normalize_text(long):
        return False
    if len(few) < len(many) and any(many[at : at + len(few)] == few for at in range(len(many) - len(few) + 1)):
        return True
    return len(few) == 1 and is_initials(few[0], long)


def is_initials(short: str, long: str) -> bool:
    """`ny` of `New York`."""
    words = re.findall(r"\w+", long.lower())
    return len(words) > 1 and normalize_text(short) == "".join(word[0] for word in words)


def _lists(golden: Any, given: Any, depth: int) -> str | None:
    if isinstance(golden, list) and isinstance(given, (list, tuple)):
        return _elements(golden, list(given), depth) if len(golden) == len(given) <= MAX_LIST_LENGTH else None
    one, other = (golden, given) if isinstance(golden, list) else (given, golden)
    if len(one) == 1 and (one[0] == other or describe_equivalence(one[0], other, depth)):
        return "one value, in a list or bare"
    if isinstance(other, str) and all(isinstance(each, str) for each in one):
        return "a list as a text" if normalize_text("".join(one)) == normalize_text(other) else None
    return None


def _elements(golden: list[Any], given: list[Any], depth: int) -> str | None:
    left = list(given)
    words = None
    for value in golden:
        if value in left:
            left.remove(value)
            continue
        alike = ((word, at) for at, each in enumerate(left) if (word := describe_equivalence(value, each, depth)))
        words, at = next(alike, (None, -1))
        if words is None:
            return None
        del left[at]
    if words is None and all(one == other for one, other in zip(golden, given, strict=True)):
        words = "the same numbers, whole or with a fraction"
    return words or "the same elements in another order"


MAX_DIFFERENCES = 30
"""Places of one answer: who differs in more has another answer altogether."""


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """One difference."""

    turn: int
    golden_index: int
    """Of the golden call in its turn; -1 for a call that golden does not have."""
    function: str
    path: str
    """Empty for the call as a whole."""
    state: str
    predicted: Any
    """What the answer has there; NOTHING if it has nothing."""
    golden: Any
    """What golden has there: an `Accept`, a value, or NOTHING."""

    @property
    def match_key(self) -> tuple[Any, ...]:
        """The same for answers that differ alike here."""
        text = "" if self.predicted is NO_VALUE else normalize_text(to_json_text(self.predicted)) or to_json_text(self.predicted)
        return (self.turn, self.golden_index, self.function, self.path, "-" if self.predicted is NO_VALUE else "", text)

    @property
    def label(self) -> str:
        """`unit: "km"`, `without unit`, `no call of f`."""
        if not self.path:
            if self.state == "-":
                return f"no call of {self.function}"
            return f"{self.function}({_inside(self.predicted)})"
        return f"without {self.path}" if self.predicted is NO_VALUE else f"{self.path}: {abbreviate(self.predicted, 80)}"

    @property
    def golden_label(self) -> str:
        """What golden has there, in words: `"km" or 2 more`, `nothing`."""
        nothing = self.golden is NO_VALUE or (isinstance(self.golden, AcceptedValues) and not self.golden.any_of)
        return "nothing" if nothing else abbreviate_golden(self.golden)


def _inside(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return "…"
    text = ", ".join(f"{name}={abbreviate(value, 30)}" for name, value in list(arguments.items())[:6])
    return text if len(text) <= 100 else text[:99] + "…"


def find_differences(case: AuditedQuestion, answer: DistinctAnswer) -> list[AnswerDifference]:
    """What is neither equal nor equal by the benchmark's normalisation."""
    golden, given = _by_place(case.golden), _by_place(answer.calls)
    found: list[AnswerDifference] = []
    for pair in answer.pairs:
        one = golden.get((pair.turn, pair.golden)) if pair.golden is not None else None
        other = given.get((pair.turn, pair.predicted)) if pair.predicted is not None else None
        found += _of_pair(pair, one, other)
        if len(found) > MAX_DIFFERENCES:
            break
    return found[:MAX_DIFFERENCES]


def _by_place(calls: Sequence[Call]) -> dict[tuple[int, int], Call]:
    return {(call.turn, call.index): call for call in calls}


def _of_pair(pair: CallPair, golden: Call | None, given: Call | None) -> list[AnswerDifference]:
    at = -1 if pair.golden is None else pair.golden
    if golden is None or given is None:
        whole = NO_VALUE if given is None else given.arguments
        return [AnswerDifference(pair.turn, at, pair.name, "", pair.state, whole, NO_VALUE)]
    other = next((one for one in pair.diff if not one.path and one.state == "!"), None)
    if other is not None:
        return [AnswerDifference(pair.turn, at, given.name, "", "!", given.arguments, NO_VALUE)]
    found: dict[str, AnswerDifference] = {}
    for one in pair.diff:
        if one.state == "~":
            continue
        name, *inside = split_path(one.path)
        left = (golden.arguments or {}).get(str(name), NO_VALUE)
        right = (given.arguments or {}).get(str(name), NO_VALUE)
        if _whole(left) or one.state in "+-" or not inside:  # a list or scalar is one answer, an object many
            found.setdefault(str(name), AnswerDifference(pair.turn, at, pair.name, str(name), one.state, right, left))
        else:
            left, right = find_values_at(left, right, inside)
            found.setdefault(one.path, AnswerDifference(pair.turn, at, pair.name, one.path, one.state, right, left))
    return list(found.values())


def _whole(golden: Any) -> bool:
    """Whether an argument is compared as one value."""
    values = golden.any_of if isinstance(golden, AcceptedValues) else [golden]
    return not any(isinstance(value, GoldenObject) or _holds_fields(value) for value in values)


def _holds_fields(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, (GoldenObject, dict)) for one in value)


def group_equal_differences(found: Sequence[tuple[DistinctAnswer, list[AnswerDifference]]]) -> dict[tuple[Any, ...], tuple[AnswerDifference, list[int]]]:
    """Places that several answers have alike: one of them, and the runs that have it."""
    groups: dict[tuple[Any, ...], tuple[AnswerDifference, list[int]]] = {}
    runs: defaultdict[tuple[Any, ...], set[int]] = defaultdict(set)
    for answer, each in found:
        for place in each:
            groups.setdefault(place.match_key, (place, []))
            runs[place.match_key].update(answer.runs)
    return {alike: (place, sorted(runs[alike])) for alike, (place, _) in groups.items()}


ABSENT_RUN_BITS = 3.0
"""Bits of a run that is not there and has no opinion: so one failing run is no unanimity."""


@dataclass(frozen=True, slots=True)
class RunWeights:
    """Of the runs that answered one case."""

    bits: Mapping[int, float]
    """Bits, by run."""
    families: Mapping[int, str]
    models: Mapping[int, str]

    def share(self, runs: Iterable[int]) -> float:
        """What part of all voices these are, 0 to below 1."""
        return sum(self.bits.get(run, 0.0) for run in runs) / (sum(self.bits.values()) + ABSENT_RUN_BITS)

    def models_of(self, runs: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({self.models[run] for run in runs}))

    def families_of(self, runs: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted({self.families[run] for run in runs}))


def compute_run_weights(case: AuditedQuestion, witnesses: Mapping[int, RunProfile]) -> RunWeights:
    """Of every run with a verdict whose answer could be read."""
    heard = [
        run
        for answer in case.answers
        if answer.passed is not None and (answer.passed or answer.is_readable)
        for run in answer.runs
        if run in witnesses
    ]
    members = Counter(witnesses[run].family for run in heard)
    bits = {run: failure_bits(witnesses[run].pass_rate_by_category.get(case.key.category, 0.5)) for run in heard}
    return RunWeights(
        {run: bits[run] / members[witnesses[run].family] for run in heard},
        {run: witnesses[run].family for run in heard},
        {run: witnesses[run].model for run in heard},
    )


def failure_bits(rate: float) -> float:
    """Bits of a failure of a run that passes at this rate."""
    return -log2(max(1.0 - rate, 1e-3))


def smooth_rate(passed: int, known: int) -> float:
    """The rate drawn towards a half by two more items, of which one passes."""
    return (passed + 1) / (known + 2)
