"""Find golden strings that do not have the format that the function docs state."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from fcreview.golden_audit.evidence import GoldenArgument, QuestionEvidence
from fcreview.golden_audit.question import Reason
from fcreview.model.json_value import abbreviate

_DATE_FORMAT = re.compile(r"\b(?:YYYY|MM|DD)(?:([-/.])(?:YYYY|MM|DD)){1,2}(?![\w:])", re.IGNORECASE)
_CITY_STATE = re.compile(
    r"\bformat(?:ted)?\b.{0,30}\bcity,\s*state\b|\bcity,\s*state\b.{0,10}\bformat\b", re.IGNORECASE
)
_DIGITS = {"yyyy": r"\d{4}", "mm": r"\d{1,2}", "dd": r"\d{1,2}"}


def find_format_conflicts(evidence: QuestionEvidence) -> Iterable[Reason]:
    """Find arguments with no accepted string in the documented format."""
    for argument in evidence.golden_arguments:
        strings = [value for value in argument.accept.any_of if isinstance(value, str) and value]
        if not strings or argument.parameter is None or argument.parameter.kind != "string":
            continue
        documented = _parse_format(argument.parameter.description)
        if documented and not any(
            documented.pattern.search(string) or _is_documented_value(string, argument) for string in strings
        ):
            value = abbreviate(strings[0], 40)
            text = f"golden value for {argument.label} is {value}, not in the documented format {documented.name}"
            yield Reason("contract", documented.strength, text)


@dataclass(frozen=True, slots=True)
class DocumentedFormat:
    """A format that function docs require."""

    name: str
    pattern: re.Pattern[str]
    """Regular expression that matches a part of every string in this format."""
    strength: float
    """Strength, from 0 to 1, of the reason if a string does not have the format. The strength is lower for `City,
    State`, because some cities have no state."""


def _is_documented_value(string: str, argument: GoldenArgument) -> bool:
    """Whether the function docs mention the string (`dontcare`, a default), or the string is itself a format."""
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
