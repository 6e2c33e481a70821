"""Texts of golden answers that are not in the format that the function's document asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from fcreview.golden_audit.case import Reason
from fcreview.golden_audit.evidence import GoldenArgument, QuestionEvidence
from fcreview.model.json_value import abbreviate

_DATE = re.compile(r"\b(?:YYYY|MM|DD)(?:([-/.])(?:YYYY|MM|DD)){1,2}(?![\w:])", re.IGNORECASE)
_PLACE = re.compile(r"\bformat(?:ted)?\b.{0,30}\bcity,\s*state\b|\bcity,\s*state\b.{0,10}\bformat\b", re.IGNORECASE)
_SIZES = {"yyyy": r"\d{4}", "mm": r"\d{1,2}", "dd": r"\d{1,2}"}


def find_format_conflicts(seen: QuestionEvidence) -> Iterable[Reason]:
    """Where no accepted text is in the documented format."""
    for each in seen.golden_arguments:
        texts = [value for value in each.accept.any_of if isinstance(value, str) and value]
        asked = _asked(each) if texts else None
        if asked and not any(asked.pattern.search(text) or _named(text, each) for text in texts):
            text = f"golden's {each.label} is {abbreviate(texts[0], 40)}; the document asks for the format {asked.name}"
            yield Reason("contract", asked.strength, text)


@dataclass(frozen=True, slots=True)
class DocumentedFormat:
    name: str
    pattern: re.Pattern[str]
    """Found in a text that is in the format."""
    strength: float
    """How clear a breach is: abroad there are cities without a state."""


def _asked(each: GoldenArgument) -> DocumentedFormat | None:
    if each.parameter is None or each.parameter.kind != "string":
        return None
    return _format_in(each.parameter.description)


def _named(text: str, each: GoldenArgument) -> bool:
    """What the document itself names, `dontcare` or a default; or a text that names a format."""
    written = f"{each.parameter.description} {each.parameter.default}" if each.parameter else ""
    return text.casefold() in written.casefold() or bool(_DATE.search(text)) or "YYYY" in text


@lru_cache(1 << 12)
def _format_in(description: str) -> DocumentedFormat | None:
    if _PLACE.search(description):
        return DocumentedFormat("City, State", re.compile(r"\w.*, *\w"), 0.5)
    found = _DATE.search(description)
    if not found or len(_DATE.findall(description)) > 1:  # it leaves the choice
        return None
    parts = re.split(r"([-/.])", found.group())
    like = "".join(_SIZES.get(part.lower(), re.escape(part)) for part in parts)
    return DocumentedFormat(found.group(), re.compile(like), 1.0)
