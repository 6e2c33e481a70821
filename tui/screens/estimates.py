"""Show the estimated accuracy of each run with its interval and its sample, and a form that
draws a sample.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.reactive import Reactive
from textual.widget import Widget

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.store.rows import SUSPECTS_QUEUE, RunRow, View
from fcreview.tables.runs import OwnScores
from fcreview.tables.table import Table
from fcreview.tui.actions import ESTIMATE_ACTIONS
from fcreview.tui.commands import (
    FORMS,
    CommandResult,
    CommandService,
    FormField,
    add_run_name_choices,
)
from fcreview.tui.figure_scope import make_scope_of_all_items, whole_runs_chip
from fcreview.tui.figures.estimates import (
    accuracy_range_line,
    build_accuracy_figure,
    estimate_meaning_line,
    next_step_line,
    sample_lines,
    sources_line,
)
from fcreview.tui.figures.overview import Overview, add_queue_progress, sort_runs_by_pass_rate
from fcreview.tui.figures.run_sample import RunSample, describe_new_queues, read_run_sample
from fcreview.tui.figures.sampling_form import (
    build_sampling_form_defaults,
    choose_sampling_command,
    expected_interval_line,
    fill_and_order_fields,
)
from fcreview.tui.keymap import find_action_key_names, format_unavailable_key_message, make_bindings
from fcreview.tui.queue.loader import (
    load_own_scores,
    read_other_annotators,
    read_own_assignments,
)
from fcreview.tui.queue_state import ESTIMATES, ListChoice, place_above_overview
from fcreview.tui.screens.annotators import (
    ask_to_continue_as,
    find_other_with_items_left,
    format_sample_annotators,
)
from fcreview.tui.screens.command_form import (
    FormFields,
    find_form_error,
    find_last_output_line,
    open_command_form,
)
from fcreview.tui.session import Session
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    LineBuilder,
    fit_line,
    make_line,
    wrap_sanitized,
)
from fcreview.tui.text.run_names import format_run_names
from fcreview.tui.text.styles import symbols
from fcreview.tui.text.tables import lay_out_figure, omit_parts
from fcreview.tui.widgets.base import GuardedScreen, Panel, is_small_screen, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, LineBlock, TopLine
from fcreview.tui.widgets.lists import TextList

MAX_RUN_LINES = 8
"""Largest height of the list of runs, in rows."""
MAX_RUN_LINES_ON_SMALL_SCREEN = 3
ROWS_BESIDE_SAMPLE = 17
"""Number of rows of a small screen that the lines of a sample do not use."""
SAMPLE_FRAME_CELLS = 4
"""Width, in cells, of frame and padding of the panel beside the form."""
SAMPLE_MARGIN_CELLS = 1
MIN_FORM_HELP_CELLS = 20
EXPECTED_INTERVAL_ROWS = 1
FORM_TITLES = {"queue create": "Draw a sample of {run}", "queue extend": "Draw more items of {run}"}


class EstimatesScreen(GuardedScreen[ListChoice]):
    """Screen with the estimated accuracy of each run.

    The result is the items that the queue lists, or None without a choice.
    """

    place_name = "estimates"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(ESTIMATE_ACTIONS)
    CSS = """
    EstimatesScreen #accuracy-panel { height: auto; }
    EstimatesScreen #below { height: 1fr; }
    EstimatesScreen.-small #below { layout: vertical; }
    EstimatesScreen.-small #sample-panel { height: auto; }
    """
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(
        self,
        session: Session,
        view: View,
        run: int | None = None,
        *,
        is_above_overview: bool = False,
    ) -> None:
        """Create the screen. `run`: number of the run with the cursor."""
        super().__init__()
        self._is_above_overview = is_above_overview
        self._session = session
        self._view = view

        # The runs, their samples and their scores, which are read one after the other.
        self._initial_run = run
        self._runs: list[RunRow] = []
        self._is_loaded = False
        """Whether the list of runs is loaded."""
        self._samples_by_run: dict[int, RunSample] = {}
        self._unread_runs: frozenset[int] = frozenset()
        """Numbers of the runs whose samples are still to be read."""
        self._own_scores: OwnScores = {}
        self._estimated_runs: frozenset[int] = frozenset()
        """Numbers of the runs whose own metric is estimated, or has no estimate."""

        # The form that draws a sample, and the command that it runs.
        self._queue_names: Sequence[str] = ()
        self._default_annotators = ""
        """Initial value of the form's annotators, separated by commas."""
        self._form_inputs: tuple[object, ...] = ()
        """Result of `_current_form_inputs` when the form was built.

        The form is built again when the values change.
        """
        self._command = "queue create"
        self._is_running = False
        """Whether the command runs."""

        self._shown_run: int | None = None
        """Number of the run that the message is about."""
        self._message: Line = ()

    def compose(self) -> ComposeResult:
        """Lay out the accuracy above, the sample and the form side by side below."""
        yield TopLine()
        with Panel(id="accuracy-panel"):
            yield LineBar(id="accuracy-heading")
            yield TextList(id="accuracy")
        with Horizontal(id="below"):
            with Panel(id="sample-panel"):
                yield TextList(id="sample", cursor=False)
            with Panel(id="form-panel"):
                yield FormFields(id="form")
                yield LineBar(id="expected")
                yield LineBlock(id="form-help")
        yield LineBar(id="undecided")
        yield LineBlock(id="advice")
        yield KeyLine()

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self.query_one("#sample", TextList).can_focus = False
        self._draw_top_line()
        self._list.focus()
        self.watch(self._list, "cursor", self._on_cursor_moved, init=False)
        # The list also scrolls without its cursor: with the mouse, and when it gets its height.
        self.watch(self._list, "scroll_y", self._on_scrolled, init=False)
        self._load_runs()

    @property
    def _list(self) -> TextList:
        return self.query_one("#accuracy", TextList)

    @property
    def _form(self) -> FormFields:
        return self.query_one(FormFields)

    @property
    def _selected_run(self) -> RunRow | None:
        return self._runs[self._list.cursor] if self._runs else None

    @property
    def _selected_sample(self) -> RunSample | None:
        """Sample of the run under the cursor. None while it is being read."""
        if self._selected_run is None:
            return None
        return self._samples_by_run.get(self._selected_run.run)

    # -- reading

    @work(exclusive=True, group="estimates")
    async def _load_runs(self) -> None:
        """Read the runs, then start to read their samples and scores, which take longer."""
        await self._session.read(lambda store: store.refresh_reviews())
        all_runs = await self._session.read(lambda store: store.fetch_runs())
        scope = self._view.runs
        runs = [row for row in all_runs if not scope or row.run in scope]
        # The queue files tell which runs have a random sample.
        overview = Overview(runs, self._session.annotator)
        progress = await self._session.read(partial(add_queue_progress, overview, self._view))
        await self._read_form_defaults()

        self._set_runs(runs, progress.sampled_runs)
        self._is_loaded = True
        self._draw()
        self._read_samples()
        self._read_own_scores()
        self.handle_kept_keys()

    async def _read_form_defaults(self) -> None:
        """Read the annotators and the queues, from which the form gets its initial values."""
        others = await self._session.read(read_other_annotators)
        self._default_annotators = format_sample_annotators(others, self._session.annotator)
        self._queue_names = list(await self._session.read(read_own_assignments))

    @work(exclusive=True, group="own scores")
    async def _read_own_scores(self) -> None:
        """Read and show the values of the benchmark's own metric."""
        try:
            self._own_scores = await load_own_scores(self._session, self._runs)
        except FcreviewError as error:
            self._message = make_line(sanitize(str(error)), "bad")
        self._draw()
        self._estimate_own_metrics()

    def _set_runs(self, runs: Sequence[RunRow], sampled_runs: frozenset[int]) -> None:
        """List the runs: first those with a sample, then the others, both by pass rate.

        The cursor stays on its run.
        """
        cursor_run = self._find_cursor_run(sampled_runs)
        runs_by_rate = sort_runs_by_pass_rate(runs, blind=False)
        sampled = [row for row in runs_by_rate if row.run in sampled_runs]
        unsampled = [row for row in runs_by_rate if row.run not in sampled_runs]
        self._runs = sampled + unsampled

        # The samples are read and estimated later. If an estimate from an earlier sample were still
        # computed, its result would mark the run as estimated.
        self.workers.cancel_group(self, "own estimates")
        self._estimated_runs = frozenset()
        self._unread_runs = sampled_runs
        # Runs without a sample have nothing to read.
        self._samples_by_run = {row.run: RunSample(row.run) for row in unsampled}

        run_numbers = [row.run for row in self._runs]
        self._list.cursor = run_numbers.index(cursor_run) if cursor_run in run_numbers else 0

    def _find_cursor_run(self, sampled_runs: frozenset[int]) -> int | None:
        """Return the number of the run for the cursor. None for the first run of the list."""
        if self._selected_run is not None:
            return self._selected_run.run
        if sampled_runs and self._initial_run not in sampled_runs:
            # The sampled runs come first.
            return None
        return self._initial_run

    @work(exclusive=True, group="samples")
    async def _read_samples(self) -> None:
        """Read the samples of the run under the cursor, then of the other visible runs."""
        while (row := self._find_visible_unread_run()) is not None:
            try:
                sample = await self._session.read_in_background(partial(read_run_sample, row))
            except FcreviewError as error:
                self._message = make_line(sanitize(str(error)), "bad")
                sample = RunSample(row.run)
            self._samples_by_run[row.run] = sample
            self._unread_runs -= {row.run}
            self._draw()
            self.handle_kept_keys()
            self._estimate_own_metrics()

    def _find_visible_unread_run(self) -> RunRow | None:
        """Return the next run whose sample must be read: the one under the cursor, then the others
        on screen. None if all are read.

        Samples of runs outside the visible rows are read when the user scrolls to them.
        """
        top_index = int(self._list.scroll_offset.y)
        rows = self._runs[top_index : top_index + MAX_RUN_LINES]
        if self._selected_run is not None:
            rows.insert(0, self._selected_run)
        for row in rows:
            if row.run in self._unread_runs:
                return row
        return None

    @work(exclusive=True, group="own estimates")
    async def _estimate_own_metrics(self) -> None:
        """Estimate the benchmark's own metric of the run under the cursor, then of the others with
        a sample.
        """
        services = self._session.report_services
        estimate = services.estimate_own_metric if services is not None else None
        if estimate is None:
            return

        runs_cursor_first = self._list_runs_without_own_estimate()
        for run in runs_cursor_first:
            self._replace_sample(run, is_estimating_own=True)
        self._draw()

        # An estimate takes seconds, so each one is shown as soon as it is there.
        for run in runs_cursor_first:
            own_estimate = await estimate(run)
            self._replace_sample(run, own_estimate=own_estimate, is_estimating_own=False)
            self._estimated_runs |= {run.run}
            self._draw()

    def _list_runs_without_own_estimate(self) -> list[RunRow]:
        """Return the runs for which the benchmark's own metric must still be estimated.

        The run under the cursor comes first. Each of the runs has a sample with an estimated pass
        rate.
        """
        selected = self._selected_run
        runs = sorted(self._runs, key=lambda run: selected is None or run.run != selected.run)
        return [run for run in runs if self._lacks_own_estimate(run)]

    def _lacks_own_estimate(self, run: RunRow) -> bool:
        sample = self._samples_by_run.get(run.run)
        has_own_metric = self._own_scores.get(run.run) is not None
        is_sampled = sample is not None and sample.estimate is not None
        return has_own_metric and is_sampled and run.run not in self._estimated_runs

    def _replace_sample(self, run: RunRow, **fields: Any) -> None:
        sample = self._samples_by_run.get(run.run)
        if sample is not None:
            self._samples_by_run[run.run] = replace(sample, **fields)

    # -- drawing

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        """Draw all panels. Before the screen has a size, nothing is drawn."""
        if not self.is_mounted or not self.size:
            return
        is_small = is_small_screen(self.size)
        self.set_class(is_small, "-small")
        for panel in self.query(Panel):
            panel.set_flat(is_small)
        self._draw_top_line()
        self._draw_accuracy(is_small=is_small)
        self._draw_selected_run()
        self._update_form()

    def _draw_top_line(self) -> None:
        """Draw the path, the items that the figures cover, and the annotator."""
        right = LineBuilder()
        if self._is_loaded:
            right.add_line(whole_runs_chip(len(self._runs)))
            right.add("  ")
        right.add(sanitize(self._session.annotator), "people")
        path = (*self._session.root_breadcrumb, "estimates")
        self.query_one(TopLine).show_path(path, right.build())

    def _draw_accuracy(self, *, is_small: bool) -> None:
        """Draw the panel with the estimated accuracy of each run."""
        border_cells = 2 if is_small else 6
        width = self.size.width - border_cells
        figure = build_accuracy_figure(
            self._runs, self._samples_by_run, self._unread_runs, self._own_scores
        )
        heading, lines = lay_out_figure(figure, width)
        max_lines = MAX_RUN_LINES_ON_SMALL_SCREEN if is_small else MAX_RUN_LINES
        self.query_one("#accuracy-heading", LineBar).show(((" ", ""), *heading))
        self._list.empty_line = make_line(" reading", "dim")
        self._list.styles.height = max(min(len(lines), max_lines), 1)
        self._list.set_lines(lines)
        panel = self.query_one("#accuracy-panel", Panel)
        panel.set_title("Accuracy", self._format_accuracy_facts(figure, width))

    def _format_accuracy_facts(self, figure: Table, width: int) -> str:
        """Return the legend of the drawn intervals, if there is room for them, and the goal."""
        sign = symbols()
        goal = f"goal: {sign.plus_minus} 2 points"
        if omit_parts(figure, width).graphic_at is None:
            return goal
        legend = f"{sign.official} official  {sign.point} estimated"
        return f"{legend} {sign.separator} {goal}"

    def _on_cursor_moved(self) -> None:
        """Show the run under the cursor. A message about another run disappears."""
        if self._selected_run is not None and self._selected_run.run != self._shown_run:
            self._message = ()
        self._draw_selected_run()
        self._update_form()
        self._read_samples()

    def _on_scrolled(self) -> None:
        self._read_samples()

    def _draw_selected_run(self) -> None:
        """Draw all parts of the screen that are about the run under the cursor."""
        run = self._selected_run
        self._shown_run = run.run if run is not None else None
        self._draw_sample()
        self._draw_advice()
        self._draw_undecided_range()
        self._draw_form_lines()

    def _draw_sample(self) -> None:
        """Draw the panel with the sample of the run under the cursor."""
        run = self._selected_run
        sample = self._selected_sample
        lines: list[Line] = []
        title = "Sample"
        if run is not None:
            lines = sample_lines(sample, self._sample_panel_width - SAMPLE_MARGIN_CELLS)
            title = f"Sample of {format_run_names(self._runs)[run.run]}"
        self._show_sample_lines(lines)

        is_drawn = sample is not None and sample.n_drawn
        legend = "open: annotators disagree" if is_drawn else ""
        self.query_one("#sample-panel", Panel).set_title(title, legend)

    @property
    def _sample_panel_width(self) -> int:
        """Width of the panel in cells. On a small screen, it is below the others, else beside the
        form.
        """
        if self.has_class("-small"):
            return self.size.width
        return self.size.width // 2 - SAMPLE_FRAME_CELLS

    def _show_sample_lines(self, lines: Sequence[Line]) -> None:
        """Fill the panel. On a small screen, it is only as high as its lines."""
        sample_list = self.query_one("#sample", TextList)
        if not self.has_class("-small"):
            sample_list.styles.height = "1fr"
            sample_list.set_lines(list(lines))
            return
        free_rows = self.size.height - ROWS_BESIDE_SAMPLE
        sample_list.styles.height = max(min(len(lines), free_rows), 1)
        # Without a border, the lines begin with a blank, as all others on the screen.
        sample_list.set_lines([((" ", ""), *line) for line in lines])

    def _draw_advice(self) -> None:
        """Draw the message and, while no command is running, the next step."""
        lines = [self._message]
        if not self._is_running:
            advice = next_step_line(
                self._selected_sample,
                self._session.annotator,
                find_action_key_names(self.app),
                can_switch_annotator=not self._session.fixed_annotator_reason,
            )
            lines.append(advice)
            lines.append(self._meaning_of_estimate())
            lines.append(sources_line(self._selected_sample))

        rows: list[Line] = []
        for line in lines:
            rows += _wrap_advice(line, self.size.width)
        self.query_one("#advice", LineBlock).show(rows)

    def _meaning_of_estimate(self) -> Line:
        """Return what the estimate of the run under the cursor is about."""
        run = self._selected_run
        if run is None:
            return BLANK_LINE
        return estimate_meaning_line(self._selected_sample, self._own_scores.get(run.run), run)

    def _draw_undecided_range(self) -> None:
        """Draw the line with the range of the accuracy, which depends on the undecided items.

        The line is hidden if no item is undecided.
        """
        line = accuracy_range_line(self._selected_sample)
        bar = self.query_one("#undecided", LineBar)
        bar.display = bool(line)
        bar.show(fit_line(((" ", ""), *line), self.size.width))

    def _draw_form_lines(self) -> None:
        """Draw the interval to expect from the entered sample size, and the help of the focused
        field.

        The form scrolls in the rows that these lines leave.
        """
        run = self._selected_run
        expected: Line = ()
        if run is not None:
            expected = expected_interval_line(self._form.field_values, run, self._selected_sample)
        self.query_one("#expected", LineBar).show(((" ", ""), *expected))

        panel_size = self.query_one("#form-panel").size
        help_lines = self._form.help_lines(max(panel_size.width, MIN_FORM_HELP_CELLS))
        self.query_one("#form-help", LineBlock).show(help_lines)
        # Without help, its place is still one row high.
        n_help_rows = max(len(help_lines), 1)
        n_field_rows = panel_size.height - EXPECTED_INTERVAL_ROWS - n_help_rows
        self._form.styles.max_height = max(n_field_rows, 1)

    @work(exclusive=True, group="form")
    async def _update_form(self) -> None:
        """Build the form that draws a sample, for the run under the cursor.

        It is not built again while the user fills it in, or if nothing has changed that it depends
        on.
        """
        run = self._selected_run
        sample = self._selected_sample
        commands = self._command_service
        if run is None or sample is None or commands is None or self._form.has_focus_within:
            return
        form_inputs = self._current_form_inputs(run, sample)
        if form_inputs == self._form_inputs:
            return

        command = choose_sampling_command(sample)
        described_fields = await asyncio.to_thread(commands.describe, command)
        fields = self._fill_in_fields(described_fields, command, run, sample)
        run_name = format_run_names(self._runs)[run.run]

        # A later call can cancel this one while the fields are replaced. Then they belong to no
        # run (empty), so that the later call replaces them again.
        self._form_inputs = ()
        self._command = command
        await self._form.set_fields(fields)
        form_panel = self.query_one("#form-panel", Panel)
        title = FORM_TITLES[command].format(run=run_name)
        form_panel.set_title(title, "Enter: draw and assign the sample")
        self._draw_form_lines()
        self._form_inputs = form_inputs

        # Keys that waited for the form act now.
        self.handle_kept_keys()

    def _fill_in_fields(
        self,
        described_fields: Sequence[FormField],
        command: str,
        run: RunRow,
        sample: RunSample,
    ) -> list[FormField]:
        """Return the fields of a command with initial values, and with the names of the runs."""
        defaults = build_sampling_form_defaults(
            command, run, sample, self._default_annotators, self._queue_names
        )
        fields = self._name_user_in_help(fill_and_order_fields(described_fields, defaults))
        return add_run_name_choices(fields, format_run_names(self._runs))

    def _name_user_in_help(self, fields: Sequence[FormField]) -> list[FormField]:
        """Add the name of the user to the help of the field with the annotators."""
        user_name = f" You are {sanitize(self._session.annotator)}."
        named_fields = []
        for field in fields:
            if field.name == "annotators":
                named_fields.append(replace(field, help=field.help + user_name))
            else:
                named_fields.append(field)
        return named_fields

    def _current_form_inputs(self, run: RunRow, sample: RunSample) -> tuple[object, ...]:
        """Return the values from which the fields of the form are built."""
        return (
            run.run,
            choose_sampling_command(sample),
            sample.n_drawn,
            sample.n_needed,
            *self._queue_names,
        )

    @property
    def _command_service(self) -> CommandService | None:
        services = self._session.report_services if not self._session.in_browser else None
        return services.commands if services is not None else None

    def on_descendant_focus(self) -> None:
        self._list.is_cursor_shown = True
        self._draw_form_lines()
        self.refresh_bindings()

    def on_input_changed(self) -> None:
        self._draw_form_lines()

    # -- form

    def action_focus_form(self) -> None:
        """Move the focus to the form that draws a sample, or say why there is none."""
        if self._form.inputs:
            self._form.inputs[0].focus()
        else:
            self._show_message(
                "not available in the browser: run fcreview queue create on the server"
                if self._session.in_browser
                else "the form is not available here"
            )

    def on_line_list_chosen(self) -> None:
        self.action_focus_form()

    def action_move(self, by: int) -> None:
        """Move in the list or between the fields of the form.

        From the first field, return to the list.
        """
        if not self._form.has_focus_within:
            self._list.action_move(by)
        elif not self._form.move_focus(by):
            self._list.focus()

    def action_submit(self) -> None:
        """Draw the sample that the form describes."""
        commands = self._command_service
        if not self._is_running and commands is not None and self._form.field_values:
            self._is_running = True
            self._show_message("drawing ...")
            self._run_sampling_command(commands, self._form.command_arguments, self.focused)
            # Keys that are pressed now wait, and are not typed into the form.
            self.set_focus(self._list)

    @work(group="draw")
    async def _run_sampling_command(
        self, commands: CommandService, arguments: Sequence[str], field: Widget | None
    ) -> None:
        """Draw the sample, and read the runs again. If that fails, show the error and keep the
        form.

        `field`: field of the form that gets the focus after an error.
        """
        result = await commands.run(self._command, arguments)
        new_queues = await self._session.read(partial(describe_new_queues, self._queue_names))
        # The screen no longer keeps all keys that are pressed.
        self._is_running = False
        if not result.is_successful:
            self._show_failed_command(result, field)
            return

        self._message = make_line(find_last_output_line(result))
        if new_queues:
            self._message = make_line(f"Drawn: {new_queues}", "good")
        self._load_runs_again()

    def _load_runs_again(self) -> None:
        """Read the runs again. Keys that need the runs are kept until then. The others act now."""
        self._is_loaded = False
        self.call_after_refresh(self.handle_kept_keys)
        self._load_runs()

    def _show_failed_command(self, result: CommandResult, field: Widget | None) -> None:
        error = find_form_error(result, self._form.fields)
        self._message = make_line(error.message, "bad")
        # Keys that were typed meanwhile were meant for the state after the command.
        self._held_keys = ()
        self.set_focus(field)
        self._draw_selected_run()

    def action_cancel(self) -> None:
        self._message = ()
        self._list.focus()
        self._draw_selected_run()

    # -- actions

    def action_review_sample(self) -> None:
        """Open a queue of the sample, first one with unreviewed items of the user, then one of
        another annotator, then one that the user has completed.
        """
        sample = self._selected_sample
        queues = sample.queues if sample is not None else ()
        annotator = self._session.annotator
        own_queues = [queue for queue in queues if queue.share.annotator == annotator]
        unfinished = [queue for queue in own_queues if queue.n_reviews_left]
        other = find_other_with_items_left(queues, annotator)
        can_switch = not self._session.fixed_annotator_reason

        if unfinished:
            self._leave("file", unfinished[0].queue)
        elif other is not None and can_switch:
            ask_to_continue_as(self.app, self._session, other, self._place)
        elif own_queues:
            self._leave("file", own_queues[0].queue)
        else:
            self._show_message("no sampled items of this run are assigned to you")

    def action_adjudicate(self) -> None:
        """Show the disagreements. Afterwards, read the estimates again."""
        from fcreview.tui.screens.adjudication import AdjudicationScreen

        def reload(_: None) -> None:
            self._message = ()
            self._is_loaded = False
            self._load_runs()

        self.app.push_screen(
            AdjudicationScreen(self._session, make_scope_of_all_items(self._view)), reload
        )

    def action_overview(self) -> None:
        if self._is_above_overview:
            self.action_close()
        else:
            self.app.call_later(self.app.run_action, "app.overview")

    def action_suspects(self) -> None:
        self._leave("order", SUSPECTS_QUEUE)

    def _leave(self, menu_name: str, value: str) -> None:
        """Close the screen, and list the items of a choice. The key for back returns here."""
        run = self._selected_run
        self._session.estimated_run = run.run if run is not None else None
        self.dismiss(ListChoice(menu_name, value, self._place))

    @property
    def _place(self) -> str:
        """Place of this screen, to which the user can return from a list."""
        return place_above_overview(ESTIMATES) if self._is_above_overview else ESTIMATES

    def action_open_form(self, form_name: str) -> None:
        values = {}
        if form_name == "estimate" and self._selected_run is not None:
            values["run"] = str(self._selected_run.run)
        open_command_form(self.app, self._session, FORMS[form_name], values)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        if self.is_mounted and self._form.has_focus_within:
            return action in ("submit", "move", "cancel")
        return action not in ("submit", "cancel")

    def must_wait(self, action: str) -> bool:
        """Whether an action must wait until the screen has read what it needs.

        - All actions but those of the app wait for the list of runs, which the command that draws a
          sample changes.
        - `focus_form` and `review_sample` wait for the sample of the run under the cursor.
        - `focus_form` waits for the form too.
        """
        is_list_current = self._is_loaded and not self._is_running
        if not is_list_current:
            return not action.startswith("app.")

        run = self._selected_run
        needs_sample = action in ("focus_form", "review_sample")
        # While the user fills in the form, it stays as it is.
        if not needs_sample or run is None or self._form.has_focus_within:
            return False
        sample = self._selected_sample
        if sample is None:
            return True

        # The form is built for one run and sample.
        needs_form = action == "focus_form" and self._command_service is not None
        is_form_built = self._form_inputs == self._current_form_inputs(run, sample)
        return needs_form and not is_form_built

    def must_ignore(self, action: str) -> bool:
        return self._is_running and action == "submit"

    def _show_message(self, message: str) -> None:
        self._message = make_line(message, "warn")
        self._draw_selected_run()

    def show_unavailable_key(self, key: str) -> None:
        self._show_message(format_unavailable_key_message(self.app, key))


def _wrap_advice(line: Line, width: int) -> list[Line]:
    """Wrap a line of advice to rows of `width` cells, each with a blank before it."""
    rows = []
    for text, style in line:
        for row in wrap_sanitized(text, width - 1):
            rows.append(make_line(f" {row.rstrip()}", style))
    return rows
