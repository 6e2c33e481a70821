"""How a category is scored. Tests are on parts of its name, and their order matters (`eval_runner.py`)."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

Kind = Literal["simple", "multiple", "parallel", "irrelevance", "relevance", "unscored"]

NOTES = {
    "multi_turn": "multi-turn verdicts are imported, not recomputed: they need the benchmark's executable environments",
    "executable": "executable verdicts are imported, not recomputed: they need live functions and web services",
    "agentic": "agentic verdicts are imported, not recomputed",
    "unscored": "BFCL does not score this category",
}


@lru_cache(maxsize=1024)
def kind_of(category: str, v1: bool) -> tuple[Kind, str | None]:
    """The rule to apply, and a note where there is none."""
    if "multi_turn" in category:
        return "unscored", NOTES["multi_turn"]
    if "memory" in category or "web_search" in category:
        return "unscored", NOTES["agentic"]
    if category.startswith(("executable", "exec_", "rest")):
        return "unscored", NOTES["executable"]
    if category.startswith(("chatable", "sql")):
        return "unscored", NOTES["unscored"]
    if "irrelevance" in category or (v1 and "relevance" in category):
        return "irrelevance", None
    if "relevance" in category:
        return "relevance", None
    if "parallel" in category or (v1 and "multiple" in category):
        return "parallel", None
    return ("multiple" if "multiple" in category else "simple"), None
