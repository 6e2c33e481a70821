"""Two values that mean the same, written otherwise: number or text, formulas, dates, units, short names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

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
DEEPEST = 2
LONGEST_LIST = 50
"""Elements of lists that are compared in any order."""
_LONGEST = 400
"""Characters of a text that is looked at closely."""


def same_meaning(golden: Any, given: Any, depth: int = 0) -> str | None:
    """How two values that are not equal may mean the same, in words; None if they do not seem to. Lists are looked into
    to `DEEPEST`."""
    if isinstance(golden, str) and isinstance(given, str):
        return _texts(golden, given)
    if isinstance(golden, list) or isinstance(given, (list, tuple)):
        return _lists(golden, given, depth + 1) if depth < DEEPEST else None
    if isinstance(golden, bool) or isinstance(given, bool):
        same = {str(golden).lower(), str(given).lower()} in ({"true"}, {"false"})
        return "true or false as a text" if same else None
    one, other = number(golden), number(given)
    if one is None or other is None:
        return None
    if _near(one, other):
        return "the same number, written otherwise"
    if _near(one, other * 100) or _near(one * 100, other):
        return "a share as a number or in percent"
    return None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def number(value: Any) -> float | None:
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
        return "only case, blanks or marks differ" if plain(golden) == plain(given) else None
    forms = (_FORMULA, *_FORMS) if is_power(golden) else _FORMS
    for words, form in forms:
        one = form(golden)
        if one is not None and one == form(given):
            return words
    if short_for(golden, given) or short_for(given, golden):
        return "one is short for the other"
    return None


@lru_cache(1 << 16)
def plain(text: str) -> str:
    """Letters and digits in lower case, without accents."""
    if text.isascii():
        return _MARKS.sub("", text.lower())
    apart = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in apart if char.isalnum() or char in "+<>=%")


def _number_text(text: str) -> str | None:
    value = number(text)
    return None if value is None else repr(value)


def formula(text: str) -> str | None:
    """A formula in one notation: `3x^2 + 2x` and `lambda x: 3*x**2 + 2*x` alike; None if it is none."""
    if not any(mark in text for mark in "^*+-/=") or not re.search(r"[\dxyzt]", text):
        return None
    bare = _LAMBDA.sub("", text.lower())
    bare = re.sub(r"\*\*|\^", "⌃", bare)
    return re.sub(r"[\s*]|(?<=⌃)\((?=\w\))|(?<=⌃\w)\)", "", bare).strip("'\"") or None


def is_power(text: str) -> bool:
    """Whether it is a formula that raises something to a power; `m^2` is a unit."""
    return bool(_POWER.search(text)) and re.split(r"\^|\*\*", text.lower(), maxsplit=1)[0].strip() not in _UNIT


def _unit(text: str) -> str | None:
    return _UNIT.get(re.sub(r"[^a-z ]", "", text.lower().replace("°", "")).strip())


def date(text: str) -> str | None:
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
_FORMULA = ("the same formula in another notation", formula)
_FORMS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("only case, blanks or marks differ", lambda text: plain(text) or None),
    ("the same number, written otherwise", _number_text),
    _FORMULA,
    ("the same day in another notation", date),
    ("the same unit", _unit),
    ("the same words in another form", _singular),
)


def short_for(short: str, long: str) -> bool:
    """`CA` or `San Francisco` for `San Francisco, CA`, `NYC` for `New York City`."""
    few, many = re.findall(r"\w+", short.lower()), re.findall(r"\w+", long.lower())
    if not few or len(few) > len(many) or plain(short) == plain(long):
        return False
    if len(few) < len(many) and any(many[at : at + len(few)] == few for at in range(len(many) - len(few) + 1)):
        return True
    return len(few) == 1 and is_initials(few[0], long)


def is_initials(short: str, long: str) -> bool:
    """`ny` of `New York`."""
    words = re.findall(r"\w+", long.lower())
    return len(words) > 1 and plain(short) == "".join(word[0] for word in words)


def _lists(golden: Any, given: Any, depth: int) -> str | None:
    if isinstance(golden, list) and isinstance(given, (list, tuple)):
        return _elements(golden, list(given), depth) if len(golden) == len(given) <= LONGEST_LIST else None
    one, other = (golden, given) if isinstance(golden, list) else (given, golden)
    if len(one) == 1 and (one[0] == other or same_meaning(one[0], other, depth)):
        return "one value, in a list or bare"
    if isinstance(other, str) and all(isinstance(each, str) for each in one):
        return "a list as a text" if plain("".join(one)) == plain(other) else None
    return None


def _elements(golden: list[Any], given: list[Any], depth: int) -> str | None:
    left = list(given)
    words = None
    for value in golden:
        if value in left:
            left.remove(value)
            continue
        alike = ((word, at) for at, each in enumerate(left) if (word := same_meaning(value, each, depth)))
        words, at = next(alike, (None, -1))
        if words is None:
            return None
        del left[at]
    if words is None and all(one == other for one, other in zip(golden, given, strict=True)):
        words = "the same numbers, whole or with a fraction"
    return words or "the same elements in another order"
