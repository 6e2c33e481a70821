"""Check a corrected golden answer while the user types it, and recompute the verdicts on the item in all runs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.model.item import Item, Run
from fcreview.model.wording import format_count
from fcreview.store.database import StoreError
from fcreview.store.rows import strip_duplicate_mark
from fcreview.tui.text.lines import format_json

if TYPE_CHECKING:
    from fcreview.store.store import Store
    from fcreview.tui.session import GoldenSupport, Session


EMPTY_GOLDEN = "{\n}"
JSON_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(:)?|[{}\[\]]')


@dataclass(frozen=True, slots=True)
class CheckedText:
    """Result of a check: the parsed golden answer if the text is valid, else the problem."""

    golden_fix: dict[str, Any] | None
    problem: str = ""
    position: int = 0


def initial_text(golden: GoldenSupport, run: Run, item: Item) -> str:
    """Return the initial text of the editor: the golden answer of the dataset as JSON."""
    try:
        template = golden.make_template(run, item)
    except FcreviewError:
        return EMPTY_GOLDEN
    return EMPTY_GOLDEN if template is None else format_json(template)


def check_text(text: str, golden: GoldenSupport, run: Run, item: Item) -> CheckedText:
    """Parse the text and check it with the benchmark's importer."""
    try:
        fix = json.loads(text)
    except json.JSONDecodeError as error:
        return CheckedText(None, f"invalid JSON: {error.msg}", error.pos)
    except (ValueError, RecursionError) as error:
        return CheckedText(None, f"invalid JSON: {error}")
    if not isinstance(fix, dict):
        return CheckedText(None, "the text is not a JSON object with the fields of the golden record")
    try:
        problem = golden.find_problem(run, item, fix)
    except FcreviewError as error:
        problem = str(error)
    return CheckedText(None, problem, find_problem_position(problem, text)) if problem else CheckedText(fix)


def find_problem_position(problem: str, text: str) -> int:
    """Return the position in `text`, in characters, of the most deeply nested JSON string that the message `problem`
    quotes. 0 if there is none."""
    depth, deepest, position = 0, 0, 0
    for token in JSON_TOKEN.finditer(text):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        elif token[1] and depth > deepest and re.search(rf"(?<!\w){re.escape(token[1])}(?!\w)", problem):
            deepest, position = depth, token.start()
    return position


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Convert a position in characters to (line, column). Lines, columns and positions count from 0."""
    return text.count("\n", 0, position), position - (text.rfind("\n", 0, position) + 1)


@dataclass(frozen=True, slots=True)
class RecheckSummary:
    """Effect of a new golden answer on the runs that were checked so far."""

    this_verdict: bool | None = None
    """Recomputed verdict on the displayed prediction: true for pass, None if it cannot be recomputed."""
    runs_checked: int = 0
    to_pass: int = 0
    """Number of recomputed verdicts that change to pass. `to_fail` is the number that change to fail."""
    to_fail: int = 0
    runs_left: int = 0

    def describe(self) -> str:
        """Format the effect: `valid · this prediction would pass · changes 3 of 12 runs: 2 to pass, 1 to fail`."""
        if self.this_verdict is None:
            text = "valid · this prediction's verdict cannot be recomputed"
        else:
            text = f"valid · this prediction would {'pass' if self.this_verdict else 'fail'}"
        if not self.runs_checked:
            return text
        rest = f", {self.runs_left} left" if self.runs_left else ""
        runs, changes = format_count(self.runs_checked, "run"), self.to_pass + self.to_fail
        if not changes:
            return f"{text} · changes no verdict in {runs}{rest}"
        counts = ((self.to_pass, "pass"), (self.to_fail, "fail"))
        detail = ", ".join(f"{count} to {verdict}" for count, verdict in counts if count)
        return f"{text} · changes {changes} of {runs}: {detail}{rest}"


async def recheck_runs(
    session: Session, golden: GoldenSupport, item: int, corrected_golden: dict[str, Any]
) -> AsyncIterator[RecheckSummary]:
    """Recompute the verdict of an item, then of the same item in each other run. Yield a summary after each run."""
    own = strip_duplicate_mark(item)
    summary = await _recheck_run(session, golden, own, corrected_golden, RecheckSummary())
    yield summary
    items = await session.query(lambda store: store.find_items_of_same_question(own))
    others = [other for other in items if other != own]
    for at, other in enumerate(others, 1):
        checked = await _recheck_run(session, golden, other, corrected_golden, summary)
        summary = replace(checked, this_verdict=summary.this_verdict, runs_left=len(others) - at)
        yield summary


async def _recheck_run(
    session: Session, golden: GoldenSupport, item: int, corrected_golden: dict[str, Any], summary_so_far: RecheckSummary
) -> RecheckSummary:
    before, after = await session.query(lambda store: _verdicts_before_and_after(store, golden, item, corrected_golden))
    if after is None:
        return summary_so_far
    return replace(
        summary_so_far,
        this_verdict=after,
        runs_checked=summary_so_far.runs_checked + 1,
        to_pass=summary_so_far.to_pass + (after and before is False),
        to_fail=summary_so_far.to_fail + (not after and before is True),
    )


def _verdicts_before_and_after(
    store: Store, golden: GoldenSupport, item: int, corrected_golden: dict[str, Any]
) -> tuple[bool | None, bool | None]:
    detail = store.read_detail(item)
    return detail.item.rule, golden.recheck(detail.run, detail.item, corrected_golden, _read_record(store, item))


def _read_record(store: Store, item: int) -> Any:
    try:
        return json.loads(store.read_raw_record(item))
    except (StoreError, ValueError, RecursionError):
        return None
