"""What verdicts and other people's reviews amount to: all of it hidden from who reviews blind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # what only some commands ask for is loaded when it is asked for: the first rows do not wait
    from duckdb import DuckDBPyConnection

    from fcreview.model.decision import Disagreement
    from fcreview.model.metric import MetricSource, ScoredItem
    from fcreview.stats.agreement import Rating
    from fcreview.stats.calibration import VerdictPair
    from fcreview.stats.run_comparison import ItemOutcome, VerdictSource
    from fcreview.stats.self_agreement import RepeatedRating
    from fcreview.store.queries.agreement import ItemDisagreement
    from fcreview.store.queries.estimation import CalibrationCell, RunSampleStatus
    from fcreview.store.queries.golden_audit import AuditInput
    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.rows import View
    from fcreview.store.workspace import Workspace

T = TypeVar("T")


class UnblindedAnalysis:
    """Of one store; `Store.told` gives it, and raises StoreError in blind mode."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        workspace: Workspace,
        reviews: ReviewTables,
        do: Callable[[Callable[[], Any]], Any],
    ) -> None:
        self._connection, self._workspace, self._reviews = connection, workspace, reviews
        self._do = do
        """Does it while nobody else uses the connection."""

    def fetch_judge_verdicts(self, items: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
        """What judges say of these items and their parts: {target, criterion, value, by}."""
        from fcreview.store.queries.scored_items import fetch_judge_verdicts

        return self._asked(lambda: fetch_judge_verdicts(self._connection, items))

    def fetch_scored_items(self, run: int, *, with_errata: bool = False) -> dict[MetricSource, list[ScoredItem]]:
        """What the run's figures are computed from, by source; with errata as well, where asked."""
        from fcreview.store.queries.scored_items import fetch_scored_items

        return self._asked(lambda: fetch_scored_items(self._connection, run, with_errata=with_errata))

    def fetch_outcomes(self, view: View, runs: Sequence[int], source: VerdictSource) -> dict[int, list[ItemOutcome]]:
        """The view's items in each of these runs with this source's verdict, for comparisons."""
        from fcreview.store.queries.scored_items import fetch_outcomes

        return self._asked(lambda: fetch_outcomes(self._connection, view, runs, source))

    def fetch_aggregated_items(
        self, runs: Sequence[int], part_verdict_runs: Collection[int] = ()
    ) -> Iterator[tuple[int, dict[MetricSource, list[ScoredItem]]]]:
        """The same of each of these runs, with items that are alike as one: for figures that count
        (`Importer.counts`). In runs of `beside` an item with verdicts besides the one on the whole is like no other.
        Others may use the store in between."""
        from fcreview.store.queries.scored_items import RUNS_PER_QUERY, fetch_aggregated_items

        for start in range(0, len(runs), RUNS_PER_QUERY):
            part = runs[start : start + RUNS_PER_QUERY]
            more = any(run in part_verdict_runs for run in part)
            yield from self._asked(partial(fetch_aggregated_items, self._connection, part, keep_part_verdicts=more)).items()

    def fetch_calibration_cases(self, view: View) -> list[VerdictPair]:
        """Automatic verdicts on what people settled in the view's items; see `estimating.cases`."""
        from fcreview.store.queries.estimation import fetch_calibration_cases

        return self._asked(lambda: fetch_calibration_cases(self._connection, self._workspace, self._reviews, view))

    def build_cell_filter(self, base: str, cell: CalibrationCell) -> str | None:
        """The filter that opens a cell's items; see `estimating.opening`."""
        from fcreview.store.queries.estimation import build_cell_filter

        return self._asked(lambda: build_cell_filter(self._connection, base, cell))

    def fetch_items_before_reviews(self, run: int) -> list[ScoredItem]:
        """What the run's figures were computed from while nobody had reviewed anything."""
        from fcreview.store.queries.scored_items import fetch_items_before_reviews

        return self._asked(lambda: fetch_items_before_reviews(self._connection, run))

    def fetch_sample_status(self, run: int) -> RunSampleStatus:
        """What is known of each of the run's items; see `estimating.standings`."""
        from fcreview.store.queries.estimation import fetch_sample_status

        return self._asked(lambda: fetch_sample_status(self._connection, self._workspace, self._reviews, run))

    def fetch_ratings(self, view: View) -> list[Rating]:
        """What annotators said of the view's items; see `queries.agreement.ratings`."""
        from fcreview.store.queries.agreement import fetch_ratings

        return self._asked(lambda: fetch_ratings(self._connection, self._reviews, view))

    def fetch_duplicate_reviews(self, view: View) -> list[RepeatedRating]:
        """What annotators said twice of the view's items; see `queries.agreement`."""
        from fcreview.store.queries.agreement import fetch_duplicate_reviews

        return self._asked(lambda: fetch_duplicate_reviews(self._connection, self._reviews, view))

    def fetch_disagreements(self, view: View) -> list[ItemDisagreement]:
        """What annotators differ on in the view's items; see `queries.disputes`."""
        from fcreview.store.queries.agreement import fetch_disagreements

        return self._asked(lambda: fetch_disagreements(self._connection, self._reviews, view))

    def fetch_item_disagreements(self, item: int) -> list[Disagreement]:
        """The same of one item, as it is now. KeyError if there is no such item."""
        from fcreview.store.queries.agreement import fetch_item_disagreements

        return self._asked(lambda: fetch_item_disagreements(self._reviews, item))

    def fetch_audit_input(self, view: View) -> AuditInput:
        """The questions of the view's runs with what every run answered; see `suspects.panel`."""
        from fcreview.store.queries.golden_audit import fetch_audit_input

        return self._asked(lambda: fetch_audit_input(self._connection, view))

    def _asked(self, work: Callable[[], T]) -> T:
        found: T = self._do(work)
        return found
