"""Queries for verdicts and reviews that annotators must not see in blind mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fcreview.model.decision import Disagreement, find_disagreements
from fcreview.model.golden_fix import has_golden_fix
from fcreview.stats.agreement_ratings import Rating, RepeatedRating
from fcreview.store.database import pause_garbage_collection, retry_with_more_memory
from fcreview.store.queries import golden_audit, scored_items, view_items
from fcreview.store.queue_file import has_joint_queue
from fcreview.store.reviews.review_tables import ReviewedItem
from fcreview.store.rows import View

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.model.metric import MetricSource, ScoredItem
    from fcreview.stats.calibration import VerdictPair
    from fcreview.stats.estimated_difference import RunSample
    from fcreview.stats.run_comparison import ItemOutcome, VerdictSource
    from fcreview.stats.source_strata import SourceVerdicts
    from fcreview.store.estimation import CalibrationCell, FrameCache, RunSampleStatus
    from fcreview.store.judgements import JudgementTable
    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.workspace import Workspace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ItemDisagreement:
    """An open disagreement between annotators about an item."""

    item: int
    disagreement: Disagreement


class UnblindedAnalysis:
    """Queries that reveal verdicts of other annotators or of automatic sources; see
    `Store.analysis`. Methods with the parameter `view` raise FilterError if the view's filter is
    invalid.
    """

    def __init__(
        self,
        connection: Connection,
        lock: threading.RLock,
        workspace: Workspace,
        reviews: ReviewTables,
        judgements: JudgementTable,
    ) -> None:
        self._judgements = judgements
        self._connection = connection
        self._lock = lock
        self._workspace = workspace
        self._reviews = reviews
        self._frames: FrameCache = {}

    def fetch_judge_verdicts(self, items: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
        """Return the judge verdicts {target, criterion, value, by} on each item and its parts,
        by item number.
        """
        return self._run_query(lambda: scored_items.fetch_judge_verdicts(self._connection, items))

    def fetch_scored_items(
        self, run: int, *, with_errata: bool = False
    ) -> dict[MetricSource, list[ScoredItem]]:
        """Return the items of a run for each verdict source.

        `with_errata` adds the source `errata`.
        """
        return self._run_query(
            lambda: scored_items.fetch_scored_items(self._connection, run, with_errata=with_errata)
        )

    def fetch_runs_with_golden_fixes(self) -> set[int]:
        """Return the runs with a recomputed verdict that an accepted golden fix changes."""
        return self._run_query(lambda: scored_items.fetch_runs_with_golden_fixes(self._connection))

    def fetch_outcomes(
        self, view: View, runs: Sequence[int], source: VerdictSource
    ) -> dict[int, list[ItemOutcome]]:
        """Return the view's items with the verdicts of one source, by run number, to compare
        runs.
        """
        return self._run_query(
            lambda: scored_items.fetch_outcomes(self._connection, view, runs, source)
        )

    def fetch_outcomes_without_details(
        self, view: View, runs: Sequence[int], source: VerdictSource
    ) -> dict[int, list[ItemOutcome]]:
        """Return the same items as `fetch_outcomes`, but only with their questions and verdicts."""
        return self._run_query(
            lambda: scored_items.fetch_outcomes_without_details(
                self._connection, view, runs, source
            )
        )

    def fetch_ranking_marks(self, runs: Sequence[int]) -> dict[int, scored_items.RankingMarks]:
        """Return the incidents and the verdicts of corrected golden answers, by item number."""
        return self._run_query(lambda: scored_items.fetch_ranking_marks(self._connection, runs))

    def fetch_combined_scored_items(
        self, runs: Sequence[int], runs_needing_part_verdicts: Collection[int] = ()
    ) -> Iterator[tuple[int, dict[MetricSource, list[ScoredItem]]]]:
        """Yield (run number, items of the run for each verdict source), for metrics that only count
        items.

        Items with the same verdicts from all sources are combined into one item with a count. Items
        with verdicts on parts are not combined if their run is in `runs_needing_part_verdicts`.
        Other threads can use the store between two runs.
        """
        for start in range(0, len(runs), scored_items.RUNS_PER_QUERY):
            runs_of_query = runs[start : start + scored_items.RUNS_PER_QUERY]
            # One query for several runs treats them all in the same way. For a run that does not
            # need its part verdicts, this only combines fewer items.
            any_needs_parts = any(run in runs_needing_part_verdicts for run in runs_of_query)
            fetch = partial(
                scored_items.fetch_combined_scored_items,
                self._connection,
                runs_of_query,
                keep_part_verdicts=any_needs_parts,
            )
            yield from self._run_query(fetch).items()

    def fetch_automatically_scored_items(self, run: int) -> list[ScoredItem]:
        """Return the items of a run with the verdicts that corrected metrics would use without
        reviews.
        """
        return self._run_query(
            lambda: scored_items.fetch_automatically_scored_items(self._connection, run)
        )

    def fetch_verdict_pairs(self, view: View) -> list[VerdictPair]:
        """Pair each automatic verdict with the resolved human verdict on the same target and
        criterion.

        Verdicts of `fcreview judge` are included if the annotator may see them.
        """
        # imports NumPy, which is slow to load
        from fcreview.store.estimation import (
            fetch_verdict_pairs,
        )

        return self._run_query(
            lambda: fetch_verdict_pairs(
                self._connection,
                self._workspace,
                self._reviews,
                view,
                self._frames,
                self._judgements.fetch_visible(),
            )
        )

    def build_cell_filter(self, base_filter: str, cell: CalibrationCell) -> str | None:
        """Return a filter that selects the items of a calibration cell: `base_filter`, the filter
        of the calibration, with further terms. None if the terms would list too many ids.
        """
        from fcreview.store.estimation import build_cell_filter

        return self._run_query(lambda: build_cell_filter(self._connection, base_filter, cell))

    def fetch_sample_status(self, run: int) -> RunSampleStatus:
        """Return the samples that contain items of a run, and the review status of each item."""
        from fcreview.store.estimation import fetch_sample_status

        return self._run_query(
            lambda: fetch_sample_status(
                self._connection, self._workspace, self._reviews, run, self._frames
            )
        )

    def fetch_joint_samples(self, run_a: int, run_b: int) -> tuple[RunSample, RunSample]:
        """Return the items of two runs with their part in the joint samples of both; empty without
        such samples.
        """
        # The modules of estimates take time to load, which a workspace without samples saves.
        if not has_joint_queue(self._workspace):
            return {}, {}
        from fcreview.store.estimation import fetch_joint_samples

        return self._run_query(
            lambda: fetch_joint_samples(
                self._connection, self._workspace, self._reviews, (run_a, run_b), self._frames
            )
        )

    def fetch_source_verdicts(self, run: int) -> list[SourceVerdicts]:
        """Return the verdicts of each automatic source on the items of a run, in dataset order."""
        from fcreview.store.queries.source_verdicts import fetch_source_verdicts

        return self._run_query(lambda: fetch_source_verdicts(self._connection, run))

    def fetch_combined_sample_status(
        self, run: int, *, keep_part_verdicts: bool
    ) -> RunSampleStatus | None:
        """Return the data for estimates of a run without reviews and samples. None for any other
        run.

        Items with equal verdicts are combined into one item with a count. With
        `keep_part_verdicts`, items are combined only if their verdicts on parts are equal too.
        """
        from fcreview.store.estimation import fetch_combined_sample_status

        return self._run_query(
            lambda: fetch_combined_sample_status(
                self._connection,
                self._workspace,
                run,
                self._frames,
                keep_part_verdicts=keep_part_verdicts,
            )
        )

    def fetch_ratings(self, view: View) -> list[Rating]:
        """Return a rating for each current verdict of each annotator, also "unsure", but not in
        bulk reviews.
        """
        return self._run_query(lambda: list(self._iter_ratings(view)))

    def count_seen_reviews(self, run: int, queue_names: Collection[str]) -> int:
        """Count the reviews of a run's items in queue files that were not blind: the annotator saw
        other verdicts. An item that two annotators reviewed counts twice.
        """
        seen_reviews: set[tuple[int, str]] = set()
        for name in queue_names:
            for rating in self.fetch_ratings(View(queue=name, runs=(run,))):
                if rating.blind is False:
                    seen_reviews.add((rating.item, rating.annotator))
        return len(seen_reviews)

    def _iter_ratings(self, view: View) -> Iterator[Rating]:
        """Yield the current verdicts of all annotators. Adjudications are left out."""
        for item in self._iter_reviewed_items(view):
            for opinion in item.opinions:
                if opinion.verdict is None or opinion.stale or opinion.is_adjudication:
                    continue
                yield Rating(
                    item.item,
                    key=item.key,
                    target=opinion.target,
                    criterion=opinion.criterion,
                    annotator=opinion.annotator,
                    value=opinion.verdict,
                    fault=opinion.fault,
                    blind=opinion.blind,
                )

    def fetch_duplicate_reviews(self, view: View) -> list[RepeatedRating]:
        """Return the first and second verdict of each annotator on each hidden duplicate, to
        compute self-agreement. Stale verdicts are omitted.
        """
        return self._run_query(lambda: list(self._iter_duplicate_reviews(view)))

    def _iter_duplicate_reviews(self, view: View) -> Iterator[RepeatedRating]:
        for item in self._iter_reviewed_items(view):
            for annotator in self._reviews.events.list_annotators_of_duplicate(item.key):
                yield from self._iter_repeated_ratings(item, annotator)

    def _iter_repeated_ratings(
        self, item: ReviewedItem, annotator: str
    ) -> Iterator[RepeatedRating]:
        """Yield the targets that an annotator decided twice: in the review of an item, and in that
        of its hidden duplicate.

        A queue can show an item a second time, without saying so, to measure how consistent an
        annotator is.
        """
        before, on_duplicate = self._reviews.events.compute_opinions_before_and_on_duplicate(
            item.key, annotator, *item.hashes
        )
        first_verdicts = {
            (opinion.target, opinion.criterion): opinion.verdict
            for opinion in before
            if opinion.verdict is not None
        }
        for opinion in on_duplicate:
            first_verdict = first_verdicts.get((opinion.target, opinion.criterion))
            if first_verdict is None or opinion.verdict is None:
                continue
            yield RepeatedRating(
                item.item,
                key=item.key,
                target=opinion.target,
                criterion=opinion.criterion,
                annotator=annotator,
                first=first_verdict,
                second=opinion.verdict,
            )

    def fetch_disagreements(self, view: View) -> list[ItemDisagreement]:
        """Return the open disagreements in item order."""

        def find_on_items() -> list[ItemDisagreement]:
            """Find the disagreements on the reviewed items of the view, which need at least two
            opinions.
            """
            disagreements = []
            for item in self._iter_reviewed_items(view, with_bulk=True):
                # A single proposed golden fix needs an adjudicator too.
                if len(item.opinions) < 2 and not has_golden_fix(item.opinions):
                    continue
                for disagreement in self._find_disagreements(item):
                    disagreements.append(ItemDisagreement(item.item, disagreement))
            return sorted(disagreements, key=lambda disagreement: disagreement.item)

        return self._run_query(find_on_items)

    def fetch_item_disagreements(self, item: int) -> list[Disagreement]:
        """Return the open disagreements on one item.

        Raises: KeyError if the item does not exist.
        """

        def find_on_item() -> list[Disagreement]:
            """Find the disagreements on the item from all opinions on it and its parts."""
            key, prediction_hash, golden_hash = self._reviews.fetch_key_and_hashes(item)
            opinions = self._reviews.events.compute_opinions(key, prediction_hash, golden_hash)
            hashes = (prediction_hash, golden_hash)
            return self._find_disagreements(
                ReviewedItem(item, key=key, hashes=hashes, opinions=opinions)
            )

        return self._run_query(find_on_item)

    def _iter_reviewed_items(
        self, view: View, *, with_bulk: bool = False
    ) -> Iterator[ReviewedItem]:
        """Yield the items of the view that somebody has reviewed. `with_bulk`: also by a bulk
        review.
        """
        selected = set(
            view_items.fetch_sorted_item_numbers(self._connection, view, only_reviewed=True)
        )
        return self._reviews.iter_reviewed_items(selected, with_bulk=with_bulk)

    def _find_disagreements(self, reviewed: ReviewedItem) -> list[Disagreement]:
        context = self._reviews.get_roll_up_context(reviewed.item)
        _, golden_hash = reviewed.hashes
        open_fixes = self._reviews.events.find_open_fixes(reviewed.key, golden_hash)
        return find_disagreements(reviewed.key, reviewed.opinions, context, open_fixes)

    def find_unreviewed_items(self, view: View) -> list[int]:
        """Return the numbers of the view's items that the current annotator has not reviewed, in
        item order.
        """
        items = self._run_query(
            lambda: view_items.fetch_sorted_item_numbers(self._connection, view)
        )
        unreviewed = self._run_query(lambda: self._reviews.items.find_unreviewed_items(items))
        return [reference.item for reference in unreviewed]

    def fetch_audit_input(self, view: View) -> golden_audit.AuditInput:
        """Return the questions and answers of the view's runs, from which the audit finds wrong
        golden answers.
        """
        with pause_garbage_collection():
            return self._run_query(lambda: golden_audit.fetch_audit_input(self._connection, view))

    def _run_query(self, query: Callable[[], T]) -> T:
        with self._lock:
            return retry_with_more_memory(self._connection, query)
