"""Claims about the expected answer, and what the judge says of each.

Claims and judgements belong together by their position: the scorer cleans the texts of the claims,
and stores the text that the judge repeated (`score_claims.py`).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.records import as_list, as_object, is_number

MIN_CLAIM_LENGTH = 4
"""Length of a cleaned claim below which the scorer drops it."""
MAX_LITERAL_LENGTH = 2_000_000
SEPARATORS = ("\n•", "\n-", "\n*", "\n1.", "\n2.", ";", "||")
"""Separators of claims in a text, in the order in which the scorer tries them."""
_JUDGE_FAILURE = re.compile(r"\s*evaluation failed\s*:", re.IGNORECASE)
"""Matches the start of a reason that the scorer writes if its judge failed."""
SKIPPED_REASON = "Empty or error response"
"""Reason of the claims of an answer that the scorer did not show to the judge."""
_BULLET = re.compile(r"^[-*•·◦‣⁃]\s*")
_NUMBER = re.compile(r"^\d+[.)]\s*")
_TRAILING_QUOTES = re.compile(r"[\"']+\.*$")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the scorer recorded for a claim."""

    claim: str
    score: float | None
    """1, 0.5 or 0; None if it is none of them."""
    reason: str
    problem: str | None = None

    @property
    def is_judge_failure(self) -> bool:
        return _JUDGE_FAILURE.match(self.reason) is not None

    @property
    def is_skipped(self) -> bool:
        """Whether the judge was not asked, because there is no answer."""
        return self.reason == SKIPPED_REASON

    @property
    def verdict(self) -> bool | float | None:
        """Pass for a fulfilled claim, fail for one that is not, and 0.5 for a partial one."""
        if self.score in (0, 1):
            return bool(self.score)
        return self.score


def parse_claims(text: str) -> list[str]:
    """Return the claims in a cell, as they are written.

    A cell has a JSON list, a Python list, or a text with bullets, numbers or semicolons.
    """
    text = text.strip()
    if not text:
        return []
    if text.startswith("[") and text.endswith("]"):
        claims = _parse_list(text)
        if claims is not None:
            return _keep_claims(str(claim) for claim in claims)
    for separator in SEPARATORS:
        if separator in text:
            claims = _keep_claims(text.split(separator))
            if claims:
                return claims
    return _keep_claims(text.splitlines())


def _parse_list(text: str) -> list[Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _parse_python_list(text)
    return value if isinstance(value, list) else None


def _parse_python_list(text: str) -> Any:
    """Return the value of a Python literal, which is parsed and never run."""
    if len(text) > MAX_LITERAL_LENGTH:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _keep_claims(texts: Any) -> list[str]:
    claims = [_remove_list_mark(text) for text in texts]
    return [claim for claim in claims if len(_clean(claim)) >= MIN_CLAIM_LENGTH]


def _remove_list_mark(text: str) -> str:
    return _NUMBER.sub("", _BULLET.sub("", text.strip())).strip()


def _clean(claim: str) -> str:
    """Return a claim as the scorer measures it: without quotes at its end."""
    return _TRAILING_QUOTES.sub("", claim).strip()


def read_judgements(details: Any) -> Iterator[Judgement]:
    """Yield the judgement of each claim in `coverage_details_json`, with a problem for each value
    that is not read.
    """
    for written in as_list(as_object(details).get("per_claim")):
        fields = as_object(written)
        claim = fields.get("claim")
        reason = fields.get("reason")
        yield Judgement(
            claim if isinstance(claim, str) else "",
            score=_read_score(fields),
            reason=reason if isinstance(reason, str) else "",
            problem=_find_problem(fields),
        )


def _read_score(fields: dict[str, Any]) -> float | None:
    score = fields.get("score")
    if is_number(score) and 0 <= score <= 1:
        return float(score)
    return None


COVERED_SCORES: dict[Any, float] = {True: 1.0, "partial": 0.5, False: 0.0}


def _find_problem(fields: dict[str, Any]) -> str | None:
    """Return what is wrong with a judgement, or None."""
    for name in ("claim", "reason"):
        if not isinstance(fields.get(name), str):
            return f"{name} is not a text"
    score = _read_score(fields)
    if score is None:
        return "score is not a number from 0 to 1"
    covered = fields.get("covered")
    if not isinstance(covered, (bool, str)) or covered not in COVERED_SCORES:
        return "covered is neither true, false nor partial"
    if COVERED_SCORES[covered] != score:
        return f"covered is {json.dumps(covered)}, but the score is {score:g}"
    return None
