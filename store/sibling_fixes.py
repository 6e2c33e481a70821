"""Find what a golden fix means for the siblings of a question, which often have the same error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.golden_audit.sibling_corrections import transfer_correction
from fcreview.golden_audit.siblings import SiblingQuestion, count_calls, group_siblings
from fcreview.model.golden_fix import find_question_key
from fcreview.store.queries.item_detail import read_items
from fcreview.store.rows import View, get_run_number, strip_duplicate_mark
from fcreview.store.siblings import GoldenFixParser, fetch_sibling_questions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fcreview.model.item import Call, Item, Run
    from fcreview.model.review import QuestionKey
    from fcreview.store.store import Store

FIX_DOES_NOT_FIT = "its golden answer lacks the corrected calls"
NO_TEMPLATE = "the benchmark's format of its golden answer is not known"


@dataclass(frozen=True, slots=True)
class GoldenFormats:
    """Functions of the importers for golden fixes, because the store must not import importers."""

    parse: GoldenFixParser
    make_template: Callable[[Run, Item], dict[str, Any] | None]
    """Returns the golden answer of an item as a golden fix, or None if it is not known."""
    explain_rejection: Callable[[Run, Item, dict[str, Any]], str | None]
    """Returns why a golden fix is not valid or changes nothing, or None if it can be applied."""


@dataclass(frozen=True, slots=True)
class SiblingFix:
    """The correction of one sibling."""

    question: SiblingQuestion
    golden_fix: dict[str, Any] | None
    """None if the correction cannot be transferred."""
    problem: str | None = None
    """Why it cannot be transferred."""


def plan_sibling_fixes(
    store: Store, item_number: int, golden_fix: dict[str, Any], formats: GoldenFormats
) -> list[SiblingFix]:
    """Return the correction of each sibling of an item's question: a nearly equal question in the
    dataset. The siblings in all runs of the store count.

    `golden_fix` is the corrected golden answer of the item. A sibling that already has this answer
    is left out.
    """
    questions = fetch_sibling_questions(store, View(), formats.parse)
    siblings = select_siblings(questions, find_question(store, item_number))
    return plan_fixes_of_siblings(store, item_number, golden_fix, formats, siblings)


def find_question(store: Store, item_number: int) -> QuestionKey:
    """Return the question of an item."""
    number = strip_duplicate_mark(item_number)
    with store.lock:
        key, _, _ = store.reviews.fetch_key_and_hashes(number)
    return find_question_key(key)


def select_siblings(
    questions: Sequence[SiblingQuestion], own_key: QuestionKey
) -> list[SiblingQuestion]:
    """Return the siblings of the question with this key: the other questions in the dataset that
    are nearly equal to it.
    """
    for group in group_siblings(questions):
        if own_key in [question.key for question in group]:
            return [question for question in group if question.key != own_key]
    return []


def plan_fixes_of_siblings(
    store: Store,
    item_number: int,
    golden_fix: dict[str, Any],
    formats: GoldenFormats,
    siblings: Sequence[SiblingQuestion],
) -> list[SiblingFix]:
    """Return the correction of each of these siblings, which are questions nearly equal to that of
    the item.

    `golden_fix` is the corrected golden answer of the item. A sibling that already has its golden
    calls is left out.
    """
    item, run = _read_item(store, item_number)
    new_calls = formats.parse(run, item, golden_fix)
    new_counts = count_calls(new_calls)
    fixes = []
    for sibling in siblings:
        if sibling.call_counts == new_counts:
            continue
        calls = transfer_correction(item.golden, new_calls, sibling.golden)
        fixes.append(_make_sibling_fix(store, sibling, calls, formats))
    return fixes


def _read_item(store: Store, item_number: int) -> tuple[Item, Run]:
    number = strip_duplicate_mark(item_number)
    with store.lock:
        item = read_items(store.connection, [number])[number]
    return item, store.runs[get_run_number(number)]


def _make_sibling_fix(
    store: Store, sibling: SiblingQuestion, calls: list[Call] | None, formats: GoldenFormats
) -> SiblingFix:
    """Return the fix that gives a sibling these golden calls. None: the correction does not fit."""
    if calls is None:
        return SiblingFix(sibling, golden_fix=None, problem=FIX_DOES_NOT_FIT)
    item, run = _read_item(store, sibling.item)
    golden_fix = formats.make_template(run, replace(item, golden=calls))
    if golden_fix is None:
        return SiblingFix(sibling, golden_fix=None, problem=NO_TEMPLATE)
    problem = formats.explain_rejection(run, item, golden_fix)
    if problem is not None:
        return SiblingFix(sibling, golden_fix=None, problem=problem)
    return SiblingFix(sibling, golden_fix=golden_fix)
