"""Show the clusters of failing items.

The user can open a cluster, or record one review for all its items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from fcreview.matching.clusters import (
    BY_DECISIVE_STEP,
    GROUPINGS,
    ClusterGroup,
    get_computed_grouping,
    group_clusters,
    has_decisive_steps,
)
from fcreview.model.review import Annotation, Fault
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import format_count, format_verdict
from fcreview.store.filters.tokens import FAILING_FILTER, add_terms
from fcreview.store.rows import QueueRow, View
from fcreview.tables.clusters import (
    ClusterRow,
    explain_cluster_row,
    is_unfoldable,
    list_cluster_rows,
)
from fcreview.tui.actions import BULK_REVIEW_ACTIONS, CLUSTER_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.figure_scope import FigureScope
from fcreview.tui.keymap import find_action_key_names, format_unavailable_key_message, make_bindings
from fcreview.tui.queue.choices import build_cluster_choices, shorten_cluster_explanation
from fcreview.tui.queue.columns import difference_line, shorten_difference_line
from fcreview.tui.queue.loader import count_clusters
from fcreview.tui.queue_state import ClusterListState
from fcreview.tui.review.recorder import (
    ReviewNotSavedError,
    ReviewRecorder,
    describe_bulk,
)
from fcreview.tui.screens.item_pane import make_question_opener
from fcreview.tui.screens.prompts import BORDER_CELLS, ConfirmScreen, PanelPickerScreen
from fcreview.tui.screens.question import QuestionResult
from fcreview.tui.screens.review_dialogs import FaultScreen, TagsScreen, list_tag_choices
from fcreview.tui.session import Session
from fcreview.tui.text.graphics import verdict_badge
from fcreview.tui.text.lines import (
    ChoiceTable,
    Line,
    LineBuilder,
    StyledText,
    fit_line,
    make_line,
    truncate_middle,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import symbols
from fcreview.tui.verdict_keys import (
    GOLDEN_WRONG_KEY,
    VERDICT_KEY_BY_NAME,
    VERDICT_KEYS,
)
from fcreview.tui.widgets.base import GuardedModalScreen, Panel, is_small_screen, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, LineBlock, TopLine
from fcreview.tui.widgets.lists import TextList

MAX_SHOWN_ITEMS = 20
MIN_ID_CELLS = 14
NOT_MEASURED = "Bulk reviews do not count in agreement, calibration or estimates."


@dataclass(slots=True)
class BulkReview:
    """A bulk review before it is saved."""

    items: Sequence[int]
    rows: Sequence[QueueRow]
    known_tags: Sequence[str] = ()
    verdict_key: str = ""
    """Name in `VERDICT_KEY_BY_NAME`. Empty until the annotator enters a verdict."""
    fault: Fault | None = None
    tags: list[str] = field(default_factory=list)

    def set_verdict(self, verdict_key: str) -> None:
        """Set the verdict.

        The key `golden` also sets the fault `golden`, which another verdict removes.
        """
        fault = VERDICT_KEY_BY_NAME[verdict_key].fault
        if fault is not None or self.verdict_key == GOLDEN_WRONG_KEY.name:
            self.fault = fault
        self.verdict_key = verdict_key

    @property
    def annotation(self) -> Annotation:
        return Annotation(
            verdict=VERDICT_KEY_BY_NAME[self.verdict_key].value,
            fault=self.fault,
            tags=self.tags or None,
        )

    def describe(self) -> str:
        """Return the review as sanitized text, such as `fail, fault: model, tags unit`."""
        parts = [format_verdict(VERDICT_KEY_BY_NAME[self.verdict_key].value, "correct")]
        if self.fault:
            parts.append(f"fault: {self.fault}")
        if self.tags:
            tags = sanitize(", ".join(self.tags))
            parts.append(f"tags {tags}")
        return ", ".join(parts)

    @property
    def question(self) -> str:
        return f"Record {self.describe()} for {format_count(len(self.items), 'item')}?"


async def read_bulk_review(session: Session, view: View) -> BulkReview:
    """Read the items of a cluster that the annotator has not reviewed.

    Only the first ones are read in full, to be shown. The tags to choose from are those of their
    runs.
    """
    items = await session.read(
        lambda store: store.analysis.find_unreviewed_items(view), interruptible=True
    )
    rows = await session.read(lambda store: store.fetch_rows(items[:MAX_SHOWN_ITEMS]))
    known_runs = await session.read(lambda store: store.fetch_runs())
    runs = {row.run for row in rows}
    tags = [tag for run in known_runs if run.run in runs for tag in run.info.tags]
    return BulkReview(items, rows=rows, known_tags=list(dict.fromkeys(tags)))


def bulk_item_lines(review: BulkReview, cells: int) -> list[Line]:
    """Return a line for each of the first items that a bulk review will change: its id, effective
    verdict and first difference.

    If the items are from several runs, the name of the run follows the id.
    """
    # At most a third of the line is for ids, and a fifth for names of runs.
    id_cells = _column_cells([sanitize(row.id) for row in review.rows], cells // 3)
    run_names = [format_run_name(row) for row in review.rows]
    run_cells = _column_cells(run_names, cells // 5)
    has_several_runs = len(set(run_names)) > 1

    lines: list[Line] = []
    for row, run_name in zip(review.rows, run_names, strict=True):
        line = LineBuilder()
        line.add_padded(truncate_middle(sanitize(row.id), id_cells), id_cells)
        line.add("  ")
        if has_several_runs:
            line.add_padded(truncate_middle(run_name, run_cells), run_cells, "dim")
            line.add("  ")
        line.add(*verdict_badge(row.effective))
        line.add("  ")
        line.add_line(_fit_difference(row, cells - line.width))
        lines.append(line.build())
    return lines


def _fit_difference(row: QueueRow, free_cells: int) -> Line:
    """Return the first difference of an item, in what is left of its line."""
    difference = difference_line(row) or make_line("")
    return shorten_difference_line(difference, max(free_cells, 1))


def _column_cells(texts: Sequence[str], max_cells: int) -> int:
    """Return the width of a column with these texts, between `MIN_ID_CELLS` and `max_cells`."""
    longest = max((display_width(text) for text in texts), default=0)
    return max(min(longest, max_cells), MIN_ID_CELLS)


def bulk_verdict_lines(review: BulkReview) -> list[Line]:
    """Return three lines with the verdict, the fault and the tags that all items will get.

    A dash stands for what the annotator has not chosen.
    """
    none: StyledText = (symbols().none, "dim")
    verdict = none
    if review.verdict_key:
        verdict = verdict_badge(VERDICT_KEY_BY_NAME[review.verdict_key].value)
    fault: StyledText = (review.fault, "people") if review.fault else none
    tags: StyledText = (sanitize(", ".join(review.tags)), "people") if review.tags else none
    return [
        (("verdict  ", "dim"), verdict),
        (("fault    ", "dim"), fault),
        (("tags     ", "dim"), tags),
    ]


def _add_margin(lines: Sequence[Line], *, is_small: bool) -> list[Line]:
    """Indent the lines of a panel on a small screen, where it has no border on the left."""
    margin: Line = ((" ", ""),) if is_small else ()
    return [(*margin, *line) for line in lines]


def _format_rare_failures(n_failures: int, groups: Sequence[ClusterGroup]) -> str:
    """Say how many failures are in no group. Clusters by value have only the most frequent ones."""
    n_rare = n_failures - sum(group.count for group in groups)
    if not n_rare:
        return ""
    return f"not listed: {format_count(n_rare, 'failure')} with rare values"


class BulkReviewScreen(GuardedModalScreen[str | None]):
    """Screen with the items of a cluster, where the user enters one verdict, fault and list of tags
    for all items.

    The result is a message about the saved reviews, or None if the annotator cancelled.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(BULK_REVIEW_ACTIONS, MODAL_HELP_ACTIONS)
    CSS = """
    BulkReviewScreen { background: $background; layout: vertical; }
    BulkReviewScreen #bulk-entry-panel { height: auto; }
    """
    AUTO_FOCUS = ""
    has_unsaved_input = True

    def __init__(self, session: Session, path: tuple[str, ...], review: BulkReview) -> None:
        """Create the screen. `path`: names for the top line."""
        super().__init__()
        self._session = session
        self._path = path
        self._review = review
        self._is_recording = False

    def compose(self) -> ComposeResult:
        yield TopLine()
        with Panel(id="bulk-items-panel"):
            yield TextList(id="bulk-items", cursor=False)
        with Panel(id="bulk-entry-panel"):
            yield LineBlock(id="bulk-entry")
        yield LineBar(id="bulk-message")
        yield KeyLine(keep_last=2)

    def on_mount(self) -> None:
        self._draw()
        self._show_message(NOT_MEASURED, "dim")

    def on_resize(self) -> None:
        self._draw()

    def show_unavailable_key(self, key: str) -> None:
        self._show_message(format_unavailable_key_message(self.app, key))

    def _draw(self) -> None:
        is_small = is_small_screen(self.size)
        annotator = make_line(sanitize(self._session.annotator), "people")
        self.query_one(TopLine).show_path(self._path, annotator)
        for panel in self.query(Panel):
            panel.set_flat(is_small)
        self._draw_items(is_small=is_small)
        self._draw_entry(is_small=is_small)

    def _draw_items(self, *, is_small: bool) -> None:
        """Draw the first items of the bulk review, and how many there are."""
        border_cells = 2 if is_small else BORDER_CELLS
        lines = bulk_item_lines(self._review, self.size.width - border_cells)
        self.query_one("#bulk-items", TextList).set_lines(_add_margin(lines, is_small=is_small))

        count = format_count(len(self._review.items), "item")
        facts = count
        if len(self._review.items) > MAX_SHOWN_ITEMS:
            facts = f"the first {MAX_SHOWN_ITEMS} of {count}"
        panel = self.query_one("#bulk-items-panel", Panel)
        panel.set_title("Items you have not reviewed", facts, flat_facts=True)

    def _draw_entry(self, *, is_small: bool) -> None:
        """Draw the review that the user enters for all items."""
        count = format_count(len(self._review.items), "item")
        self.query_one("#bulk-entry-panel", Panel).set_title(f"Review of {count}")
        lines = _add_margin(bulk_verdict_lines(self._review), is_small=is_small)
        self.query_one("#bulk-entry", LineBlock).show(lines)

    def _show_message(self, text: str, style: str = "warn") -> None:
        line = make_line(f" {text}", style)
        self.query_one("#bulk-message", LineBar).show(fit_line(line, self.size.width))

    # -- entry

    def action_verdict(self, verdict_key: str) -> None:
        """Set the verdict. `verdict_key` is one of `VERDICT_KEY_BY_NAME`."""
        self._review.set_verdict(verdict_key)
        self._draw()

    def action_ask_fault(self) -> None:
        """Ask for the fault of all items in the cluster. If the user cancels, the fault stays."""

        def set_fault(fault: Fault | None) -> None:
            self._review.fault = fault or self._review.fault
            self._draw()

        self.app.push_screen(FaultScreen(), set_fault)

    def action_edit_tags(self) -> None:
        """Choose the error tags of the bulk review.

        The tags to choose from are the configured ones, the error types of the items, and the
        taxonomy of the benchmark.
        """
        review = self._review
        error_types = [row.error_type or row.rule_error_type for row in review.rows]
        tags = list_tag_choices(
            self._session.vocabulary.tags, error_types, review.known_tags, review.tags
        )

        async def load_used_tags() -> list[str]:
            return await self._session.read(lambda store: store.fetch_used_tags())

        def set_tags(chosen: list[str] | None) -> None:
            # None: the user did not change the tags.
            if chosen is not None:
                review.tags = chosen
            self._draw()

        self.app.push_screen(TagsScreen(tags, review.tags, load_used_tags), set_tags)

    def action_record(self) -> None:
        """Ask whether to record the reviews. Before that, the annotator must give a verdict."""
        if not self._review.verdict_key:
            names = find_action_key_names(self.app)
            keys = [names[key.action_id] for key in VERDICT_KEYS if names.get(key.action_id)]
            self._show_message(f"Give a verdict first: press {', '.join(keys)}")
        elif not self._is_recording:
            self.app.push_screen(ConfirmScreen(self._review.question), self._record_if_confirmed)

    def _record_if_confirmed(self, confirmed: bool | None) -> None:
        if confirmed:
            self._record()

    @work(group="record", exclusive=True)
    async def _record(self) -> None:
        """Write one review for each item, and close. If that fails, say that nothing is saved."""
        self._is_recording = True
        review = self._review
        try:
            events = await self._session.record_bulk_review(review.items, review.annotation)
        except Exception as error:
            # The annotator must see that the reviews are not saved.
            self._is_recording = False
            self.app.bell()
            reason = sanitize(str(error) or type(error).__name__)
            self._show_message(f"NOT SAVED ({review.describe()}): {reason}", "bad")
            return
        self.dismiss(f"saved: {review.describe()}, {describe_bulk(events)}")

    # -- scrolling

    def action_scroll(self, by: int) -> None:
        self.query_one("#bulk-items", TextList).action_move(by)

    def action_page(self, by: int) -> None:
        self.query_one("#bulk-items", TextList).action_move_page(by)

    def action_cancel(self) -> None:
        if not self._is_recording:
            self.dismiss(None)


class ClustersScreen(PanelPickerScreen[tuple[str, ...]], inherit_bindings=False):
    """Table of clusters of failing items, in groups that can be unfolded.

    The result is the filter terms of the chosen group or cluster.
    """

    place_name = "clusters"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CLUSTER_ACTIONS, MODAL_HELP_ACTIONS)
    WAITING_FOR = "counting failures"

    def __init__(
        self,
        session: Session,
        scope: FigureScope,
        state: ClusterListState,
        clear_filter: Callable[[], None],
        run_name: str = "",
    ) -> None:
        """Create the table.

        Args:
            scope: Items whose failures are counted.
            state: State of the table, kept until the table opens again. Its counts are shown at
                once.
            clear_filter: Clears the filter of the queue. Called when the user clears the filter
                here.
            run_name: Name of the run whose failures are counted, sanitized. Empty for several runs.
        """
        # The path in the top line names the run if there is only one.
        super().__init__(
            (*session.root_breadcrumb, *filter(None, (run_name,)), "clusters"),
            load=self._count_and_build_choices,
        )
        self._session = session
        self.scope: FigureScope = scope
        self._clear_filter = clear_filter
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
        """Draw what the cluster under the cursor means, and an example, below the table."""
        meaning = ""
        example = ""
        if self._rows:
            row = self._rows[self.list.cursor]
            grouping = self._state.grouping
            explanation = explain_cluster_row(row, grouping)
            text_cells = self.table_width - 2
            meaning = shorten_cluster_explanation(explanation.text, grouping, text_cells)
            example = explanation.example
        self._draw_description_line("means", meaning, "")
        self._draw_description_line("difference", example, "dim")

    def _draw_description_line(self, name: str, text: str, style: str) -> None:
        line: Line = (("  ", ""), (text, style))
        self.query_one(f"#{name}", LineBar).show(fit_line(line, self.table_width))

    def _remember_cursor(self) -> None:
        if self._rows:
            self._state.terms = self._rows[self.list.cursor].filter_terms
            self._draw_description()

    async def _count_and_build_choices(self) -> ChoiceTable[tuple[str, ...]] | None:
        """Count the failing items by cluster, and return the table."""
        grouping = get_computed_grouping(self._state.grouping)
        view = self.scope.view
        counts = await self._session.read(
            partial(count_clusters, view, grouping), interruptible=True
        )
        if view != self.scope.view:
            # The filter was cleared meanwhile, so these counts are of other items.
            return self._build_choices()
        self._state.counts[grouping] = counts
        return self._build_choices()

    def read_again(self) -> None:
        self._clear_filter()
        self._state.counts.clear()
        self._load_table()

    def _make_cluster_view(self, filter_terms: Sequence[str]) -> View:
        """Return the view of the failing items of a cluster or group."""
        view = self.scope.view
        return replace(view, where=add_terms(view.where, FAILING_FILTER, *filter_terms))

    def _build_choices(self) -> ChoiceTable[tuple[str, ...]] | None:
        """Return the table of clusters, and keep its rows. None until the clusters are counted."""
        # Several groupings are made from the counts of one, so not each is counted itself.
        counts = self._state.counts.get(get_computed_grouping(self._state.grouping))
        if counts is None:
            self._rows = []
            return None

        groups = group_clusters(counts.clusters, self._state.grouping)
        self._rows = list_cluster_rows(groups, self._state.unfolded)
        table = build_cluster_choices(
            self._rows,
            self._state.grouping,
            n_failures=counts.failures,
            unfolded_terms=self._state.unfolded,
            width=self.table_width,
        )

        # The cursor stays on the cluster that was chosen last.
        if self._state.terms in table.values:
            table.cursor = table.values.index(self._state.terms)
        table.note = _format_rare_failures(counts.failures, groups)
        return table

    def _draw(self) -> None:
        super()._draw()
        if self._choices is not None:
            self.list.move_cursor(self._choices.cursor)
            self._draw_description()

    def action_choose_row(self) -> None:
        self._remember_cursor()
        super().action_choose_row()

    def _redraw_with_cursor(self, cursor: int) -> None:
        self._choices = self._build_choices()
        self._draw()
        self.list.move_cursor(cursor)
        self.refresh_bindings()

    def on_resize(self) -> None:
        self._choices = self._build_choices()
        super().on_resize()

    def action_unfold(self, unfold: bool) -> None:
        """Unfold or fold the group under the cursor.

        Folding moves the cursor to the line of the group, because its clusters disappear.
        """
        if not self._rows:
            return
        group = self._rows[self.list.cursor].group
        is_unfolded = group.term in self._state.unfolded
        if is_unfolded == unfold or not is_unfoldable(group):
            return

        if unfold:
            self._state.unfolded.add(group.term)
            self._redraw_with_cursor(self.list.cursor)
            return
        self._state.unfolded.remove(group.term)
        group_lines = [index for index, row in enumerate(self._rows) if row.group is group]
        self._redraw_with_cursor(group_lines[0])

    def action_next_grouping(self) -> None:
        """Group the failures by the next property, such as category or value, and begin at
        the top.
        """
        # Only some benchmarks have decisive steps. For others, this last grouping is left out.
        counts = self._state.counts.values()
        has_steps = any(has_decisive_steps(count.clusters) for count in counts)
        n_groupings_before_steps = BY_DECISIVE_STEP
        n_groupings = len(GROUPINGS) if has_steps else n_groupings_before_steps
        self._state.grouping = (self._state.grouping + 1) % n_groupings

        # A grouping is counted when it is chosen for the first time.
        self._redraw_with_cursor(0)
        if self._choices is None:
            self._load_table()

    # -- bulk review

    @work(group="bulk", exclusive=True)
    async def action_review_cluster(self) -> None:
        """Open a bulk review: one verdict for all items of the cluster that the annotator has not
        reviewed.

        Not available in blind mode, because clusters depend on automatic verdicts.
        """
        if not self._rows or self._session.blind:
            return
        row = self._rows[self.list.cursor]
        review = await read_bulk_review(self._session, self._make_cluster_view(row.filter_terms))
        if not review.items:
            self.show_message("you have reviewed all items of this cluster")
        elif self.app.screen is self:
            # The user has not left the screen while the items were read.
            self.app.push_screen(
                BulkReviewScreen(self._session, (*self._path, "review"), review),
                self._show_and_recount,
            )

    @work(group="question", exclusive=True)
    async def action_show_question(self) -> None:
        """Show the questions of the group or cluster under the cursor, across all runs."""
        if not self._rows:
            return
        view = self._make_cluster_view(self._rows[self.list.cursor].filter_terms)
        first_items = await self._session.read(
            lambda store: store.find_first_items_of_questions(view), interruptible=True
        )
        if not first_items:
            return
        opener = make_question_opener(self.app, self._session)
        problem = await opener.open(view, first_items[0], self._recount_after_reviews)
        if problem:
            self.show_message(problem)

    def _recount_after_reviews(self, result: QuestionResult | None) -> None:
        if result is not None and result.has_changed_reviews:
            self._state.counts.clear()
            self._load_table()

    @work(group="undo")
    async def action_undo(self) -> None:
        """Undo the last review, and count the clusters again.

        No other action may cancel this one after the undo is on disk, so it has its own group.
        """
        try:
            undone = await ReviewRecorder(self._session, lambda _: "").undo()
        except ReviewNotSavedError as error:
            self.show_message(str(error))
            return
        if undone is None:
            self.show_message("nothing to undo")
        else:
            self._show_and_recount(undone.message)

    def _show_and_recount(self, message: str | None) -> None:
        """Show the message of a saved review or an undo, and recount the clusters.

        Do nothing without a message.
        """
        if message is not None:
            undo = find_action_key_names(self.app).get("clusters.undo_review", "")
            hint = f"\n{undo} undo" if undo and message.startswith("saved:") else ""
            self.app.notify(message + hint, markup=False)
            self._state.counts.clear()
            self._load_table()
