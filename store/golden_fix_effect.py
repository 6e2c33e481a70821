"""Measure what a golden fix changes: the verdicts on the items of all runs on its question, and
the share of passing items of each run.

The results also reveal verdicts in blind mode. There, they may only go to the journal, until the
annotator has submitted a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.model.golden_fix import ACCEPTED
from fcreview.store.database import and_runs_of_items_sql
from fcreview.store.queries.item_detail import (
    find_items_of_same_question,
    read_items,
    read_raw_record,
)
from fcreview.store.queries.view_items import FROM_ITEMS
from fcreview.store.review_sql import (
    AUTOMATIC_VERDICT,
    EFFECTIVE_VERDICT,
    is_resolved_sql,
)
from fcreview.store.rows import strip_duplicate_mark

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.model.golden_fix import RecomputedVerdicts, RescoredVerdict
    from fcreview.model.item import Item, Run
    from fcreview.model.review import ItemKey
    from fcreview.store.reviews.review_index import EventIndex, ItemIndex
    from fcreview.store.store import Store

Rescorer = Callable[["Run", "Item", dict[str, Any], Any], "RescoredVerdict"]
"""Recomputes the verdict on an item with a golden fix.

The last argument is the item's record in the result file, or None.
"""


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The item of one run on a question, with the verdicts that count now."""

    item: int
    run: int
    effective: bool | None
    automatic: bool | None
    is_decided: bool
    """Whether a human verdict counts, which no golden fix changes."""
    n_passing: int
    """Number of the run's items that pass."""
    n_known: int
    """Number of the run's items with an effective verdict."""


@dataclass(frozen=True, slots=True)
class RunEffect:
    """Effect of a golden fix on the item of one run."""

    answer: RunAnswer
    run_name: str
    model: str
    prediction_hash: str
    rescored: RescoredVerdict

    @property
    def before(self) -> bool | None:
        """Effective verdict now."""
        return self.answer.effective

    @property
    def after(self) -> bool | None:
        """Effective verdict with the fix."""
        if self.answer.is_decided:
            return self.answer.effective
        if self.rescored.is_changed:
            return self.rescored.verdict
        return self.answer.automatic

    @property
    def rate_before(self) -> float | None:
        """Share of the run's items that pass now, from 0 to 1."""
        answer = self.answer
        return answer.n_passing / answer.n_known if answer.n_known else None

    @property
    def rate_after(self) -> float | None:
        """Share of the run's items that pass with the fix, from 0 to 1."""
        n_passing = self.answer.n_passing
        n_known = self.answer.n_known
        # Take the item out of the counts with its verdict now, and add it with the new one.
        if self.before is not None:
            n_known -= 1
            n_passing -= int(self.before)
        if self.after is not None:
            n_known += 1
            n_passing += int(self.after)
        return n_passing / n_known if n_known else None


def measure_run_effects(
    store: Store, item_number: int, golden_fix: dict[str, Any], rescore: Rescorer
) -> list[RunEffect]:
    """Return the effect of a golden fix on each run that has the question, this run first."""
    effects = []
    for answer in fetch_run_answers(store, item_number):
        effects.append(measure_run_effect(store, answer, golden_fix, rescore))
    return effects


def fetch_run_answers(store: Store, item_number: int) -> list[RunAnswer]:
    """Return the answers of all runs to the question of an item: the item of each run with its
    verdicts, this item first.

    Each answer also has the numbers of passing items and of verdicts of its run.
    """
    # The number of a hidden duplicate is that of its item with a mark.
    own = strip_duplicate_mark(item_number)
    with store.lock:
        connection = store.connection
        others = [item for item in find_items_of_same_question(connection, own) if item != own]
        items = [own, *others]
        answers = _fetch_answers(connection, items)
    return [answers[item] for item in items if item in answers]


def _fetch_answers(connection: Connection, items: Sequence[int]) -> dict[int, RunAnswer]:
    """Return the verdicts on each item that exists, with the counts of its run."""
    query = (
        f"SELECT i.item, i.run, {EFFECTIVE_VERDICT}, {AUTOMATIC_VERDICT},"
        f" coalesce({is_resolved_sql('h.decided_by')}, false) {FROM_ITEMS}"
        " WHERE i.item IN (SELECT unnest($1::BIGINT[]))"
    )
    # In a lake, the runs of the items limit the files that are searched.
    query += and_runs_of_items_sql(connection, items)
    rows = connection.execute(query, [list(items)]).fetchall()
    counts = _count_passing_items(connection, [run for _, run, *_ in rows])

    answers = {}
    for item, run, effective, automatic, is_decided in rows:
        n_passing, n_known = counts[run]
        answers[item] = RunAnswer(
            item,
            run=run,
            effective=effective,
            automatic=automatic,
            is_decided=is_decided,
            n_passing=n_passing,
            n_known=n_known,
        )
    return answers


def _count_passing_items(connection: Connection, runs: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return the numbers of passing items and of items with an effective verdict, by run."""
    query = (
        "SELECT run, count(*) FILTER (effective), count(effective) FROM"
        f" (SELECT i.run, {EFFECTIVE_VERDICT} AS effective {FROM_ITEMS}"
        " WHERE i.run IN (SELECT unnest($1::INTEGER[]))) GROUP BY run"
    )
    rows = connection.execute(query, [list(runs)]).fetchall()
    return {run: (n_passing, n_known) for run, n_passing, n_known in rows}


def measure_run_effect(
    store: Store, answer: RunAnswer, golden_fix: dict[str, Any], rescore: Rescorer
) -> RunEffect:
    """Return the effect of a golden fix on the item of one run."""
    run = store.runs[answer.run]
    with store.lock:
        item = read_items(store.connection, [answer.item])[answer.item]
        record = _read_record(store, answer.item)
    return RunEffect(
        answer,
        run_name=store.run_names[answer.run],
        model=run.model,
        prediction_hash=item.prediction_hash,
        rescored=rescore(run, item, golden_fix, record),
    )


def _read_record(store: Store, item_number: int) -> Any:
    """Return the item's record in the result file, or None if it cannot be read."""
    try:
        return json.loads(read_raw_record(store.connection, store.workspace, item_number))
    except (FcreviewError, OSError, ValueError, RecursionError):
        return None


def collect_changed_verdicts(effects: Iterable[RunEffect]) -> dict[str, dict[str, bool | None]]:
    """Return the verdicts that a golden fix changes: model -> hash of the answer -> new verdict.

    The verdict is None for an answer whose verdict stays the same. Answers without a hash are left
    out. The form is that of `Annotation.golden_verdicts`.
    """
    verdicts: dict[str, dict[str, bool | None]] = {}
    for effect in effects:
        if not effect.prediction_hash:
            continue
        verdict = effect.rescored.verdict if effect.rescored.is_changed else None
        verdicts.setdefault(effect.model, {})[effect.prediction_hash] = verdict
    return verdicts


def collect_verdicts_to_record(
    effects: Iterable[RunEffect], known: RecomputedVerdicts
) -> dict[str, dict[str, bool | None]]:
    """Return the verdicts of `collect_changed_verdicts`, with earlier verdicts where none can be
    computed.

    A verdict cannot be computed now if it needs, for example, the execution of calls. `known` has
    the verdicts that were recorded earlier.
    """
    effects = list(effects)
    verdicts = collect_changed_verdicts(effects)
    for effect in effects:
        known_verdict = known.get(effect.model, {}).get(effect.prediction_hash)
        if effect.rescored.verdict is None and known_verdict is not None:
            verdicts[effect.model][effect.prediction_hash] = known_verdict
    return verdicts


@dataclass(frozen=True, slots=True)
class UnrescoredFix:
    """Accepted golden fix of a question that has items without recomputed verdicts, such as those
    of runs that were imported later.
    """

    item: int
    """One of these items."""
    key: ItemKey
    n_items: int
    golden_fix: dict[str, Any]
    own_status: str | None
    """Status that the annotator of the store recorded for the fix."""
    verdicts: RecomputedVerdicts = field(default_factory=dict)
    """Recomputed verdicts so far, of all items of the question."""

    def is_known(self, verdicts: RecomputedVerdicts) -> bool:
        """Whether these verdicts are recorded already."""
        for model, verdict_by_hash in verdicts.items():
            known = self.verdicts.get(model, {})
            for prediction_hash, verdict in verdict_by_hash.items():
                if prediction_hash not in known or known[prediction_hash] != verdict:
                    return False
        return True


_HAS_ACCEPTED_FIX = f"SELECT 1 FROM human_labels WHERE golden_status = '{ACCEPTED}' LIMIT 1"


def find_unrescored_fixes(
    store: Store, includes: Callable[[ItemKey], bool] = lambda _: False
) -> list[UnrescoredFix]:
    """Return the accepted golden fixes, corrected golden answers, with which some items of the
    question were not scored again.

    `includes` returns True for the key of an item whose fix is returned in any case.
    """
    with store.lock:
        # The events of large journals are read only if this finds an accepted fix.
        if not store.connection.execute(_HAS_ACCEPTED_FIX).fetchall():
            return []
        events = store.reviews.events
        items = store.reviews.items
        unrescored = []
        for question in events.list_questions_with_fixes():
            keys = items.find_keys_of_question(question)
            items.load_missing_items(keys)
            found = _list_unrescored_items(events, items, keys, store.annotator or "", includes)
            unrescored += _choose_fix_of_question(list(found))
        return unrescored


def _choose_fix_of_question(unrescored: Sequence[UnrescoredFix]) -> list[UnrescoredFix]:
    """Return a list with the golden fix of a question, a corrected golden answer. Empty if
    `unrescored` is empty.

    `unrescored` has the fix of each item that was not scored again, in item order. If the fixes
    differ, the last one is returned. Its `n_items` is the number of these items.
    """
    if not unrescored:
        return []
    latest = unrescored[-1]
    return [replace(latest, item=unrescored[0].item, n_items=len(unrescored))]


def _list_unrescored_items(
    events: EventIndex,
    items: ItemIndex,
    keys: Sequence[ItemKey],
    annotator: str,
    includes: Callable[[ItemKey], bool],
) -> Iterator[UnrescoredFix]:
    """Yield the accepted golden fix of each item whose answer was not scored again with the fix.

    A golden fix is a corrected golden answer. It is stored with the new verdicts of the answers
    that were known then, so an answer of a run that was imported later has no new verdict.

    Args:
        events: The events of all annotators' journals.
        items: The items of the store by key.
        keys: The keys of the items with the question, one for each run.
        annotator: The annotator whose status of the fix is added.
        includes: Returns True for an item that is yielded even if it was scored again.
    """
    for key in keys:
        for item, prediction_hash, golden_hash in items.find_loaded_items(key):
            decision = events.decide_golden_fix(key, golden_hash)
            if decision is None or not decision.counts or not prediction_hash:
                continue
            if decision.is_covered(key.model, prediction_hash) and not includes(key):
                continue
            yield UnrescoredFix(
                item,
                key=key,
                n_items=1,
                golden_fix=decision.golden_fix or {},
                own_status=events.find_golden_status(key, golden_hash, annotator),
                verdicts=decision.verdicts,
            )
