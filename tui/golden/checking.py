"""What is typed as a golden answer: whether it is JSON, what the benchmark says of it, and where. Knows no screen."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fcreview.errors import FcreviewError
from fcreview.model import Item, Run
from fcreview.tui.text.json_text import laid_out

NO_FORM = "{\n}"
"""What an editor begins with where the golden answer is not known in the benchmark's form."""
KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(:)?|[{}\[\]]')


@dataclass(frozen=True, slots=True)
class Golden:
    """What the benchmarks know of golden answers. Handed in: no screen knows an importer."""

    draft: Callable[[Run, Item], dict[str, Any] | None]
    """The golden answer in the benchmark's form; see `Importer.draft`."""
    problem: Callable[[Run, Item, dict[str, Any]], str | None]
    """See `Importer.golden_problem`."""
    regraded: Callable[[Run, Item, dict[str, Any], Any], bool | None]
    """The rule verdict with that golden answer and the item's record."""


@dataclass(frozen=True, slots=True)
class Typed:
    """`fix` is None where there is a problem; then `at` is its place in the text, in characters."""

    fix: dict[str, Any] | None
    problem: str = ""
    at: int = 0


def drafted(golden: Golden, run: Run, item: Item) -> str:
    """The text to begin with."""
    try:
        draft = golden.draft(run, item)
    except FcreviewError:
        return NO_FORM
    return NO_FORM if draft is None else laid_out(draft)


def typed(text: str, golden: Golden, run: Run, item: Item) -> Typed:
    """What the text says, or what is wrong with it."""
    try:
        fix = json.loads(text)
    except json.JSONDecodeError as error:
        return Typed(None, f"no JSON: {error.msg}", error.pos)
    except (ValueError, RecursionError) as error:
        return Typed(None, f"no JSON: {error}")
    if not isinstance(fix, dict):
        return Typed(None, "a golden fix is a JSON object with the fields of the golden record")
    try:
        problem = golden.problem(run, item, fix)
    except FcreviewError as error:
        problem = str(error)
    return Typed(None, problem, place_of(problem, text)) if problem else Typed(fix)


def place_of(problem: str, text: str) -> int:
    """Where the text has what a problem is about: of the names in it that the problem mentions, the first of those
    that lie deepest; 0 if it mentions none."""
    depth, best, at = 0, 0, 0
    for found in KEY.finditer(text):
        mark = found[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
        elif found[1] and depth > best and re.search(rf"(?<!\w){re.escape(found[1])}(?!\w)", problem):
            best, at = depth, found.start()
    return at


def line_of(text: str, at: int) -> tuple[int, int]:
    """(line, column) of a place, both from 0."""
    return text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)
