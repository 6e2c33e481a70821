"""What is typed as a golden answer: whether it is JSON, what the benchmark says of it, and where. Knows no screen.

What another golden answer would change: of this prediction, and of those of other runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.model.item import Item, Run
from fcreview.model.wording import count_of
from fcreview.store.database import StoreError
from fcreview.store.rows import item_of
from fcreview.tui.text.lines import laid_out

if TYPE_CHECKING:
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


NO_FORM = "{\n}"
"""What an editor begins with where the golden answer is not known in the benchmark's form."""
KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(:)?|[{}\[\]]')


@dataclass(frozen=True, slots=True)
class Golden:
    """What the benchmarks know of golden answers. Handed in: no screen knows an importer."""

    draft: Callable[[Run, Item], dict[str, Any] | None]
    """The golden answer in the benchmark's form; see `Importer.golden_template`."""
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


@dataclass(frozen=True, slots=True)
class Regraded:
    """What is known so far."""

    here: bool | None = None
    """This prediction's rule verdict with the other golden answer; None where it is not recomputed."""
    runs: int = 0
    """Of how many runs it is known, this one among them."""
    to_pass: int = 0
    to_fail: int = 0
    """How many verdicts change, and to what."""
    left: int = 0
    """Runs that were not looked at yet."""

    def words(self) -> str:
        """`this prediction would pass · 3 of 12 runs change: 2 to pass, 1 to fail`."""
        if self.here is None:
            said = "well formed · this prediction's verdict cannot be recomputed"
        else:
            said = f"well formed · this prediction would {'pass' if self.here else 'fail'}"
        if not self.runs:
            return said
        change = self.to_pass + self.to_fail
        detail = ", ".join(
            f"{count} to {what}" for count, what in ((self.to_pass, "pass"), (self.to_fail, "fail")) if count
        )
        rest = f", {self.left} to go" if self.left else ""
        runs = count_of(self.runs, "run")
        return f"{said} · {change} of {runs} {'changes' if change == 1 else 'change'}{detail and ': ' + detail}{rest}"


async def regraded(session: Session, golden: Golden, item: int, fix: dict[str, Any]) -> AsyncIterator[Regraded]:
    """First of this item, then run by run: other questions of the store's come in between."""
    own = item_of(item)
    known = await _counted(session, golden, own, fix, Regraded())
    yield known
    others = [other for other in await session.ask(lambda store: store.same_question(own)) if other != own]
    for at, other in enumerate(others, 1):
        counted = await _counted(session, golden, other, fix, known)
        known = replace(counted, here=known.here, left=len(others) - at)
        yield known


async def _counted(session: Session, golden: Golden, item: int, fix: dict[str, Any], known: Regraded) -> Regraded:
    before, after = await session.ask(partial(_verdicts, golden, item, fix))
    if after is None:
        return known
    return replace(
        known,
        here=after,
        runs=known.runs + 1,
        to_pass=known.to_pass + (after and before is False),
        to_fail=known.to_fail + (not after and before is True),
    )


def _verdicts(golden: Golden, item: int, fix: dict[str, Any], store: Store) -> tuple[bool | None, bool | None]:
    """The rule verdict that stands, and the one with the other golden answer."""
    detail = store.detail(item)
    return detail.item.rule, golden.regraded(detail.run, detail.item, fix, _record(item, store))


def _record(item: int, store: Store) -> Any:
    try:
        return json.loads(store.raw(item))
    except (StoreError, ValueError, RecursionError):
        return None
