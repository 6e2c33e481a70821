"""Choose the rules by which BFCL decides the verdicts of a category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

CheckName = Literal["simple", "multiple", "parallel", "irrelevance", "relevance", "none"]
Language = Literal["python", "java", "javascript"]

NOT_RECOMPUTED_NOTES = {
    "multi_turn": "multi-turn verdicts are imported, not recomputed: they need the benchmark's"
    " executable environments",
    "executable": "executable verdicts are imported, not recomputed: they need live functions and"
    " web services",
    "agentic": "agentic verdicts are imported, not recomputed",
    "unscored": "BFCL does not score this category",
}
"""Kind of category -> why fcreview does not recompute its verdicts."""


@dataclass(frozen=True, slots=True)
class CategoryRules:
    """The rules for the items of one category."""

    category: str
    is_v1: bool
    """Whether the rules of V1 apply. Those of V2, V3 and V4 are the same."""
    check: CheckName
    """The check that decides the verdicts; "none" if they are not recomputed."""
    why_not_recomputed: str | None
    language: Language
    """Language of the calls in golden answers and replies."""

    @property
    def compares_calls(self) -> bool:
        """Whether the check compares the calls of a reply with golden calls."""
        return self.check in ("simple", "multiple", "parallel")

    @property
    def decoding_language(self) -> Language:
        """Language in which replies are decoded: always Python if only the presence of a call
        counts (`eval_runner.py`).
        """
        if self.check in ("irrelevance", "relevance"):
            return "python"
        return self.language

    @property
    def has_several_golden_calls(self) -> bool:
        return "parallel" in self.category or "multiple" in self.category

    @property
    def has_several_functions(self) -> bool:
        """Whether an item may have several function docs. In V1, only those of `multiple` have."""
        return "multiple" in self.category or ("parallel" in self.category and not self.is_v1)


@lru_cache(maxsize=1024)
def find_category_rules(category: str, *, is_v1: bool) -> CategoryRules:
    """Return the rules for a category."""
    why_not_recomputed = _explain_missing_check(category)
    check: CheckName = "none"
    if why_not_recomputed is None:
        check = _choose_check(category, is_v1=is_v1)
    return CategoryRules(
        category,
        is_v1=is_v1,
        check=check,
        why_not_recomputed=why_not_recomputed,
        language=_find_language(category),
    )


def _explain_missing_check(category: str) -> str | None:
    """Return why verdicts of a category are not recomputed; None if they are."""
    if "multi_turn" in category:
        return NOT_RECOMPUTED_NOTES["multi_turn"]
    if "memory" in category or "web_search" in category:
        return NOT_RECOMPUTED_NOTES["agentic"]
    if category.startswith(("executable", "exec_", "rest")):
        return NOT_RECOMPUTED_NOTES["executable"]
    if category.startswith(("chatable", "sql")):
        return NOT_RECOMPUTED_NOTES["unscored"]
    return None


def _choose_check(category: str, *, is_v1: bool) -> CheckName:
    """Choose the check by words in the category name, in the order of `eval_runner.py`."""
    # In V1, the category `relevance` has items without a suitable function.
    if "irrelevance" in category or (is_v1 and "relevance" in category):
        return "irrelevance"
    if "relevance" in category:
        return "relevance"
    # V1 also checks `multiple_function` without regard to the order of calls.
    if "parallel" in category or (is_v1 and "multiple" in category):
        return "parallel"
    if "multiple" in category:
        return "multiple"
    return "simple"


def _find_language(category: str) -> Language:
    if "javascript" in category:
        return "javascript"
    if "java" in category:
        return "java"
    return "python"
