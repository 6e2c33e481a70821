"""Show the clusters of failing items. The user can open a cluster, or review all its items at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from fcreview.matching.clusters import (
    BY_DECISIVE_STEP,
    GROUPINGS,
    computed_grouping,
    group_clusters,
    has_decisive_steps,
)
from fcreview.model.wording import format_count
from fcreview.store.rows import View
from fcreview.tui.actions import CLUSTER_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.key_bindings import active_key_names, make_bindings
from fcreview.tui.queue.choices import (
    ClusterRow,
    cluster_rows,
    cluster_table,
    explain_cluster_row,
    is_unfoldable,
)
from fcreview.tui.queue.state import ClusterCounts, ClusterListState
from fcreview.tui.review.recorder import BulkReview, ReviewRecorder, read_cluster
from fcreview.tui.screens.bulk_review import BulkReviewScreen
from fcreview.tui.screens.choice_list import PanelPickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import ChoiceTable, fit_line
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import LineBar


class ClustersScreen(PanelPickerScreen[tuple[str, ...]], inherit_bindings=False):
    """Table of clusters of failing items, in groups that can be unfolded.

    The result is the filter terms of the chosen group or cluster.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CLUSTER_ACTIONS, MODAL_HELP_ACTIONS)
    WAITING_FOR = "counting failures"

    def __init__(
        self,
        session: Session,
        load: Callable[[int], Awaitable[ClusterCounts]],
        state: ClusterListState,
        view_of: Callable[[Sequence[str]], View],
        run_name: str = "",
    ) -> None:
        """Create the table.

        Args:
            load: Counts the failing items by cluster for a grouping.
            state: State of the table, kept for the next time the table opens. Counts in the state are shown at once.
            view_of: Returns the view of the failing items that filter terms select.
            run_name: Name of the run whose failures are counted, sanitized. Empty for several runs.
        """
        super().__init__((*session.folder_names, *filter(None, (run_name,)), "clusters"), load=self._load_counts)
        self._session, self._count_failures, self._view_of = session, load, view_of
        self._state = state
        self._rows: list[ClusterRow] = []

    def on_mount(self) -> None:
        self._choices = self._build_choices()
        self._draw()
        self.watch(self.list, "cursor", self._remember_cursor, init=False)
        super().on_mount()

    def compose_below_list(self) -> Iterable[Widget]:
        yield LineBar(id="means")
        yield LineBar(id="difference")

    def _draw_description(self) -> None:
        """Draw the explanation and the example of the line under the cursor."""
        cells, texts = self.table_cells, ("", "")
        if self._rows:
            texts = explain_cluster_row(self._rows[self.list.cursor], self._state.grouping, cells - 2)
        for name, style, text in zip(("means", "difference"), ("", "dim"), texts, strict=True):
            self.query_one(f"#{name}", LineBar).show(fit_line((("  ", ""), (text, style)), cells))

    def _remember_cursor(self) -> None:
        if self._rows:
            self._state.terms = self._rows[self.list.cursor].terms
            self._draw_description()

    async def _load_counts(self) -> ChoiceTable[tuple[str, ...]] | None:
        grouping = computed_grouping(self._state.grouping)
        self._state.counts[grouping] = await self._count_failures(grouping)
        return self._build_choices()

    def _build_choices(self) -> ChoiceTable[tuple[str, ...]] | None:
        """Return the table of clusters. None until the clusters are counted."""
        grouping, unfolded, cells = self._state.grouping, self._state.unfolded, self.table_cells
        counts = self._state.counts.get(computed_grouping(grouping))
        groups = group_clusters(counts.clusters, grouping) if counts else []
        self._rows = cluster_rows(groups, unfolded)
        if counts is None:
            return None
        table = cluster_table(self._rows, grouping, counts.failures, unfolded, cells)
        table.cursor = table.values.index(self._state.terms) if self._state.terms in table.values else 0
        rare = counts.failures - sum(group.count for group in groups)
        table.note = f"not listed: {format_count(rare, 'failure')} with rare values" if rare else ""
        return table

    def _draw(self) -> None:
        super()._draw()
        if self._choices is not None:
            self.list.move_cursor(self._choices.cursor)
            self._draw_description()

    def action_take(self) -> None:
        self._remember_cursor()
        super().action_take()

    def _redraw_at(self, cursor: int) -> None:
        self._choices = self._build_choices()
        self._draw()
        self.list.move_cursor(cursor)
        self.refresh_bindings()

    def on_resize(self) -> None:
        self._choices = self._build_choices()
        super().on_resize()

    def action_unfold(self, unfold: bool) -> None:
        """Unfold or fold the group under the cursor. Folding moves the cursor to the line of the group."""
        if not self._rows:
            return
        group = self._rows[self.list.cursor].group
        if (group.term in self._state.unfolded) == unfold or not is_unfoldable(group):
            return
        self._state.unfolded ^= {group.term}
        group_line = next(index for index, row in enumerate(self._rows) if row.group is group)
        self._redraw_at(self.list.cursor if unfold else group_line)

    def action_grouping(self) -> None:
        """Switch to the next grouping."""
        counts = self._state.counts.values()
        has_steps = any(has_decisive_steps(each.clusters) for each in counts)
        self._state.grouping = (self._state.grouping + 1) % (len(GROUPINGS) if has_steps else BY_DECISIVE_STEP)
        self._redraw_at(0)
        if self._choices is None:
            self._load()

    # -- bulk review

    @work(group="bulk", exclusive=True)
    async def action_review(self) -> None:
        """Review all items of the group or cluster under the cursor that the annotator has not reviewed."""
        if not self._rows or self._session.blind:
            return
        row = self._rows[self.list.cursor]
        view = self._view_of(row.terms)
        review: BulkReview = await self._session.query(lambda store: read_cluster(store, view), interruptible=True)
        if not review.items:
            self.show_message("you have reviewed all items of this cluster")
        elif self.app.screen is self:
            self.app.push_screen(BulkReviewScreen(self._session, (*self._path, "review"), review), self._show_outcome)

    @work(group="bulk", exclusive=True)
    async def action_undo(self) -> None:
        outcome = await ReviewRecorder(self._session, lambda _: "").undo()
        if outcome.succeeded:
            self._show_outcome(outcome.message)
        else:
            self.show_message(outcome.text)

    def _show_outcome(self, message: str | None) -> None:
        """Show the result of a review or undo, and count the clusters again."""
        if message is not None:
            undo = active_key_names(self.app).get("clusters.undo_review", "")
            hint = f"\n{undo} undo" if undo and message.startswith("saved:") else ""
            self.app.notify(message + hint, markup=False)
            self._state.counts.clear()
            self._load()
