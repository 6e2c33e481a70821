"""Find the siblings of a question while the annotator corrects its golden answer, and plan the same
correction for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from fcreview.model.review import Annotation
from fcreview.model.wording import format_count
from fcreview.store.rows import View, strip_duplicate_mark
from fcreview.tables.siblings import describe_sibling
from fcreview.tui.review.golden_effect import measure_effects
from fcreview.tui.text.lines import BLANK_LINE, Line, make_line, rule_line, wrap_sanitized
from fcreview.tui.text.styles import symbols

if TYPE_CHECKING:
    from fcreview.golden_audit.siblings import SiblingQuestion
    from fcreview.model.golden_fix import GoldenStatus
    from fcreview.store.sibling_fixes import GoldenFormats, SiblingFix
    from fcreview.store.store import Store
    from fcreview.tui.session import GoldenSupport, Session

MAX_SEARCHED_ITEMS = 200_000
"""Workspaces with more items are not searched, because the search reads all questions at once."""

INDENT_CELLS = 4


@dataclass(slots=True)
class SiblingPlan:
    """Plan to correct the golden answers of an item's siblings in the same way.

    Siblings are nearly equal questions in other categories or versions of the benchmark. The plan
    has those without the corrected golden answer.
    """

    fixes: Sequence[SiblingFix] = ()
    is_chosen: bool = False
    """Whether the annotator corrects the siblings too."""
    effects: dict[int, str] = field(default_factory=dict)
    """Item of a sibling -> what the correction changes in all runs."""
    annotations: dict[int, Annotation] = field(default_factory=dict)
    """Item of a sibling -> its golden fix, as soon as its effect is known."""

    @property
    def possible_fixes(self) -> list[SiblingFix]:
        """Fixes of the siblings that contain the corrected calls."""
        return [fix for fix in self.fixes if fix.golden_fix is not None]

    @property
    def chosen_fixes(self) -> list[tuple[int, Annotation]]:
        return list(self.annotations.items()) if self.is_chosen else []

    @property
    def n_left(self) -> int:
        """Number of siblings that could be corrected and keep their golden answer."""
        return 0 if self.is_chosen else len(self.possible_fixes)

    @property
    def is_measured(self) -> bool:
        return len(self.annotations) == len(self.possible_fixes)


class SiblingSearch:
    """Search for the siblings of an item, which begins with `start`.

    Siblings are nearly equal questions in other categories or versions of the benchmark.
    """

    def __init__(self, session: Session, golden: GoldenSupport, item: int) -> None:
        self._session = session
        self._golden = golden
        self._item = strip_duplicate_mark(item)
        self._task: asyncio.Task[Sequence[SiblingQuestion]] | None = None

    def start(self) -> None:
        """Start the search. There is none in blind review, which allows no bulk reviews."""
        if not self._session.blind:
            self._task = asyncio.create_task(self._search())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _search(self) -> Sequence[SiblingQuestion]:
        from fcreview.store.sibling_fixes import find_question, select_siblings

        questions = await self._session.read_in_background(self._fetch_questions)
        key = await self._session.read(lambda store: find_question(store, self._item))
        # Grouping takes a second in large workspaces, in which keys must work.
        return await asyncio.to_thread(select_siblings, questions, key)

    def _fetch_questions(self, store: Store) -> Sequence[SiblingQuestion]:
        from fcreview.store.siblings import fetch_sibling_questions

        if store.count_items(View(queue="dataset")) > MAX_SEARCHED_ITEMS:
            return []
        return fetch_sibling_questions(store, View(), self._golden.parse)

    async def plan(self, golden_fix: dict[str, Any]) -> SiblingPlan:
        """Return the correction of the siblings. It is empty if the search failed."""
        if self._task is None:
            return SiblingPlan()
        siblings: Sequence[SiblingQuestion] = ()
        with suppress(Exception):  # the correction of the item itself does not depend on it
            # The screen that waits may close before the search ends.
            siblings = await asyncio.shield(self._task)
        if not siblings:
            return SiblingPlan()
        return SiblingPlan(
            await self._session.read(partial(self._plan_fixes, golden_fix, siblings))
        )

    def _plan_fixes(
        self, golden_fix: dict[str, Any], siblings: Sequence[SiblingQuestion], store: Store
    ) -> list[SiblingFix]:
        from fcreview.store.sibling_fixes import plan_fixes_of_siblings

        return plan_fixes_of_siblings(store, self._item, golden_fix, self._formats, siblings)

    @property
    def _formats(self) -> GoldenFormats:
        from fcreview.store.sibling_fixes import GoldenFormats

        golden = self._golden
        return GoldenFormats(golden.parse, golden.make_template, golden.explain_rejection)

    async def measure(
        self, fix: SiblingFix, plan: SiblingPlan, reason: str | None, status: GoldenStatus
    ) -> None:
        """Recompute the verdicts on a sibling in all runs, and add its golden fix to the plan."""
        item = fix.question.item
        golden_fix = fix.golden_fix or {}
        detail = await self._session.read(lambda store: store.read_detail(item))
        changed_verdicts: dict[str, dict[str, bool | None]] = {}
        summary = ""
        # The effects are of one run, then of two and so on. The last ones are of all runs.
        async for effects in measure_effects(self._session, self._golden, detail, golden_fix):
            changed_verdicts = effects.changed_verdicts
            summary = effects.summary
        plan.effects[item] = summary
        plan.annotations[item] = Annotation(
            golden_fix=golden_fix,
            golden_status=status,
            golden_verdicts=changed_verdicts,
            note=reason,
        )


def sibling_lines(plan: SiblingPlan, key: str, cells: int) -> list[Line]:
    """Return the siblings that do not have the corrected golden answer, and what happens to them.

    `key`: name of the key that corrects them too.
    """
    if not plan.fixes:
        return []
    heading = make_line("siblings: the same question in other parts of the benchmark", "strong")
    lines = [BLANK_LINE, rule_line(heading, cells), *_text_lines(_describe_plan(plan, key), cells)]
    for fix in plan.fixes:
        lines += _fix_lines(fix, plan, cells)
    return lines


def _text_lines(text: str, cells: int) -> list[Line]:
    return [make_line(row) for row in wrap_sanitized(text, cells)]


def _fix_lines(fix: SiblingFix, plan: SiblingPlan, cells: int) -> list[Line]:
    """Return a sibling with a check mark if it is corrected too, and why not or what changes."""
    is_corrected = plan.is_chosen and fix.golden_fix is not None
    sign = symbols().passed if is_corrected else " "
    text = f"{describe_sibling(fix.question)}  {_describe_fix(fix, plan)}"
    first, *others = wrap_sanitized(text, cells - INDENT_CELLS)
    lines: list[Line] = [((f"  {sign} ".ljust(INDENT_CELLS), "good"), (first, ""))]
    lines += [make_line(" " * INDENT_CELLS + row) for row in others]
    return lines


def _describe_plan(plan: SiblingPlan, key: str) -> str:
    """Describe how many similar questions lack the corrected calls, and what the verdict does to
    them.
    """
    n_possible = len(plan.possible_fixes)
    still = f"{format_count(len(plan.fixes), 'sibling')} still without the corrected calls"
    if not n_possible:
        return f"{still}; none of them can be corrected in the same way"
    if plan.is_chosen:
        return f"{still}; your verdict corrects {n_possible} of them too · {key} leaves them"
    return f"{still} · {key} corrects {n_possible} of them in the same save"


def _describe_fix(fix: SiblingFix, plan: SiblingPlan) -> str:
    if fix.problem is not None:
        return f"stays: {fix.problem}"
    return plan.effects.get(fix.question.item, "")
