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
from fcreview.tui.actions import ESTIMATE_ACTIONS
from fcreview.tui.commands import FORMS, CommandService, add_run_name_choices
from fcreview.tui.keymap import find_action_key_names, format_unavailable_key_message, make_bindings
from fcreview.tui.queue.estimates import (
    RunSample,
    accuracy_range_line,
    build_accuracy_table,
    build_sampling_form_defaults,
    choose_sampling_command,
    describe_new_queues,
    expected_interval_line,
    fill_and_order_fields,
    next_step_line,
    read_run_sample,
    sample_lines,
)
from fcreview.tui.queue.loader import read_other_annotators, read_own_assignments
from fcreview.tui.queue.overview import Overview, add_queue_progress, sort_runs_by_pass_rate
from fcreview.tui.screens.annotators import (
    ask_to_continue_as,
    find_other_with_items_left,
    format_sample_annotators,
)
from fcreview.tui.screens.command_form import (
    FormFields,
    find_error_line,
    find_last_output_line,
    open_command_form,
)
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, fit_line, make_line
from fcreview.tui.text.run_names import format_run_names
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import GuardedScreen, Panel, is_small_screen, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, LineBlock, TopLine
from fcreview.tui.widgets.lists import TextList

MAX_RUN_LINES = 8
"""Largest height of the list of runs, in rows."""
FORM_TITLES = {"queue create": "Draw a sample of {run}", "queue extend": "Draw more items of {run}"}


class EstimatesScreen(GuardedScreen[tuple[str, Any]]):
    """Screen with the estimates.

    The result is a choice that the queue applies, or None without a choice.
    """

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
        self._session, self._view, self._initial_run = session, view, run
        self._runs: list[RunRow] = []
        self._samples_by_run: dict[int, RunSample] = {}
        self._unread_runs: frozenset[int] = frozenset()
        """Numbers of the runs whose samples are still to be read."""
        self._queue_names: Sequence[str] = ()
        self._default_annotators = ""
        """Initial value of the form's annotators, separated by commas."""
        self._form_inputs: tuple[object, ...] = ()
        """Result of `_current_form_inputs` when the form was built.

        The form is built again when the values change.
        """
        self._command = "queue create"
        self._is_loaded = False
        """Whether the list of runs is loaded."""
        self._is_running = False
        self._shown_run: int | None = None
        """Number of the run that the message is about."""
        self._message: Line = ()

    def compose(self) -> ComposeResult:
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
        self.query_one(TopLine).show_path(
            (*self._session.root_breadcrumb, "estimates"),
            ((sanitize(self._session.annotator), "people"),),
        )
        self._list.focus()
        self.watch(self._list, "cursor", self._on_cursor_moved, init=False)
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
        return (
            self._samples_by_run.get(self._selected_run.run)
            if self._selected_run is not None
            else None
        )

    # -- reading

    @work(exclusive=True, group="estimates")
    async def _load_runs(self) -> None:
        await self._session.query(lambda store: store.refresh_reviews())
        scope = self._view.runs
        all_runs = await self._session.query(lambda store: store.fetch_runs())
        runs = [row for row in all_runs if not scope or row.run in scope]
        overview = Overview(runs, self._session.annotator)
        sampled = (
            await self._session.query(partial(add_queue_progress, overview, self._view))
        ).sampled_runs
        others = await self._session.query(read_other_annotators)
        self._default_annotators = format_sample_annotators(others, self._session.annotator)
        self._queue_names = list(await self._session.query(read_own_assignments))
        runs = sort_runs_by_pass_rate(runs, blind=False)
        here = self._selected_run.run if self._selected_run is not None else self._initial_run
        if self._selected_run is None and here not in sampled and sampled:
            here = None  # the sampled runs come first
        self._runs = sorted(runs, key=lambda row: row.run not in sampled)
        self._samples_by_run = {
            row.run: RunSample(row.run) for row in runs if row.run not in sampled
        }
        self._unread_runs = sampled
        self._list.cursor = next((at for at, row in enumerate(self._runs) if row.run == here), 0)
        self._is_loaded = True
        self._draw()
        self._read_samples()
        self.handle_kept_keys()

    @work(exclusive=True, group="samples")
    async def _read_samples(self) -> None:
        """Read the samples of the run under the cursor, then of the other visible runs."""
        top = int(self._list.scroll_offset.y)
        rows = [*filter(None, [self._selected_run]), *self._runs[top : top + MAX_RUN_LINES]]
        for row in rows:
            if row.run not in self._unread_runs:
                continue
            try:
                sample = await self._session.query_at_low_priority(partial(read_run_sample, row))
            except FcreviewError as error:
                self._message = make_line(sanitize(str(error)), "bad")
                sample = RunSample(row.run)
            self._samples_by_run[row.run] = sample
            self._unread_runs -= {row.run}
            self._draw()
            self.handle_kept_keys()

    # -- drawing

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted or not self.size:
            return
        small = is_small_screen(self.size)
        self.set_class(small, "-small")
        for panel in self.query(Panel):
            panel.set_flat(small)
        cells = self.size.width - (2 if small else 6)
        heading, lines = build_accuracy_table(
            self._runs, self._samples_by_run, self._unread_runs, cells
        )
        self.query_one("#accuracy-heading", LineBar).show(((" ", ""), *heading))
        self._list.empty_line = make_line(" reading", "dim")
        self._list.styles.height = max(min(len(lines), 3 if small else MAX_RUN_LINES), 1)
        self._list.set_lines(lines)
        self.query_one("#accuracy-panel", Panel).set_title(
            "Accuracy", f"goal: {symbols().plus_minus} 2 points"
        )
        self._draw_selected_run()
        self._update_form()

    def _on_cursor_moved(self) -> None:
        if self._selected_run is not None and self._selected_run.run != self._shown_run:
            self._message = ()
        self._draw_selected_run()
        self._update_form()
        self._read_samples()

    def _draw_selected_run(self) -> None:
        run, sample, small = self._selected_run, self._selected_sample, self.has_class("-small")
        self._shown_run = run.run if run is not None else None
        width = self.size.width if small else self.size.width // 2 - 4
        lines = sample_lines(sample, width - 1) if run is not None else []
        below = self.query_one("#sample", TextList)
        below.styles.height = max(min(len(lines), self.size.height - 17), 1) if small else "1fr"
        below.set_lines(lines)
        name = format_run_names(self._runs)[run.run] if run is not None else ""
        self.query_one("#sample-panel", Panel).set_title(
            f"Sample of {name}" if name else "Sample",
            "open: annotators disagree" if sample is not None and sample.n_drawn else "",
        )
        keys = find_action_key_names(self.app)
        can_switch = not self._session.fixed_annotator_reason
        advice = next_step_line(
            sample, self._session.annotator, keys, can_switch_annotator=can_switch
        )
        lines = [self._message, () if self._is_running else advice]
        shown = [fit_line(((" ", ""), *line), self.size.width) for line in lines if line]
        self.query_one("#advice", LineBlock).show(shown)
        undecided, bar = accuracy_range_line(sample), self.query_one("#undecided", LineBar)
        bar.display = bool(undecided)
        bar.show(fit_line(((" ", ""), *undecided), self.size.width))
        self._draw_form_lines()

    def _draw_form_lines(self) -> None:
        run = self._selected_run
        expected = (
            expected_interval_line(self._form.field_values, run, self._selected_sample)
            if run is not None
            else ()
        )
        self.query_one("#expected", LineBar).show(((" ", ""), *expected))
        form_panel = self.query_one("#form-panel").size
        help_lines = self._form.help_lines(max(form_panel.width, 20))
        self.query_one("#form-help", LineBlock).show(help_lines)
        rows = form_panel.height - 1 - max(len(help_lines), 1)
        self._form.styles.max_height = max(rows, 1)

    @work(exclusive=True, group="form")
    async def _update_form(self) -> None:
        """Build the form for the run under the cursor, unless the user is filling in the form."""
        run, sample = self._selected_run, self._selected_sample
        commands = self._command_service
        if run is None or sample is None or commands is None or self._form.has_focus_within:
            return
        form_inputs = self._current_form_inputs(run, sample)
        if form_inputs == self._form_inputs:
            return
        command = self._command = choose_sampling_command(sample)
        defaults = build_sampling_form_defaults(
            command, run, sample, self._default_annotators, self._queue_names
        )
        names = format_run_names(self._runs)
        fields = fill_and_order_fields(
            await asyncio.to_thread(commands.describe, command), defaults
        )
        you = f" You are {sanitize(self._session.annotator)}."
        fields = [
            replace(each, help=each.help + you) if each.name == "annotators" else each
            for each in fields
        ]
        await self._form.set_fields(add_run_name_choices(fields, names))
        self.query_one("#form-panel", Panel).set_title(
            FORM_TITLES[command].format(run=names[run.run]), "Enter: draw and assign the sample"
        )
        self._draw_form_lines()
        self._form_inputs = form_inputs
        self.handle_kept_keys()

    def _current_form_inputs(self, run: RunRow, sample: RunSample) -> tuple[object, ...]:
        """Return the values from which the fields of the form are built."""
        needed = sample.estimate.needed if sample.estimate is not None else None
        return run.run, choose_sampling_command(sample), sample.n_drawn, needed, *self._queue_names

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
        commands = self._command_service
        if not self._is_running and commands is not None and self._form.field_values:
            self._is_running = True
            self._show_message("drawing ...")
            self._run_sampling_command(commands, self._form.command_arguments, self.focused)
            # keys that are pressed now wait, and are not typed into the form
            self.set_focus(self._list)

    @work(group="draw")
    async def _run_sampling_command(
        self, commands: CommandService, arguments: Sequence[str], field: Widget | None
    ) -> None:
        result = await commands.run(self._command, arguments)
        drawn = await self._session.query(partial(describe_new_queues, self._queue_names))
        self._is_running = False
        if not result.is_successful:
            self._message, self._held_keys = find_error_line(result), ()
            self.set_focus(field)
            self._draw_selected_run()
            return
        self.call_after_refresh(self.handle_kept_keys)
        self._message = (
            make_line(f"Drawn: {drawn}", "good")
            if drawn
            else make_line(find_last_output_line(result))
        )
        self._is_loaded = False
        self._load_runs()

    def action_cancel(self) -> None:
        self._message = ()
        self._list.focus()
        self._draw_selected_run()

    # -- actions

    def action_review_sample(self) -> None:
        queues = self._selected_sample.queues if self._selected_sample is not None else ()
        own = [each for each in queues if each.share.annotator == self._session.annotator]
        left = [each for each in own if each.n_reviews_left]
        other = find_other_with_items_left(queues, self._session.annotator)
        if not left and other is not None and not self._session.fixed_annotator_reason:
            ask_to_continue_as(self.app, self._session, other)
        elif left or own:
            self.dismiss(("file", (left or own)[0].queue))
        else:
            self._show_message("no sampled items of this run are assigned to you")

    def action_adjudicate(self) -> None:
        """Show the disagreements. Afterwards, read the estimates again."""
        from fcreview.tui.screens.adjudication import AdjudicationScreen

        def reload(_: None) -> None:
            self._message, self._is_loaded = (), False
            self._load_runs()

        self.app.push_screen(AdjudicationScreen(self._session, self._view), reload)

    def action_overview(self) -> None:
        if self._is_above_overview:
            self.action_close()
        else:
            self.app.call_later(self.app.run_action, "app.overview")

    def action_suspects(self) -> None:
        self.dismiss(("order", SUSPECTS_QUEUE))

    def action_open_form(self, form_name: str) -> None:
        values = (
            {"run": str(self._selected_run.run)}
            if self._selected_run is not None and form_name == "estimate"
            else {}
        )
        open_command_form(self.app, self._session, FORMS[form_name], values)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        if self.is_mounted and self._form.has_focus_within:
            return action in ("submit", "move", "cancel")
        return action not in ("submit", "cancel")

    def must_wait(self, action: str) -> bool:
        """Every action waits for the list of runs.

        Actions on a run also wait for its sample and form.
        """
        if self._is_running or not self._is_loaded:
            return not action.startswith("app.")
        run, sample = self._selected_run, self._selected_sample
        if (
            self._form.has_focus_within
            or run is None
            or action not in ("focus_form", "review_sample")
        ):
            return False
        needs_form = action == "focus_form" and self._command_service is not None
        return sample is None or (
            needs_form and self._form_inputs != self._current_form_inputs(run, sample)
        )

    def must_ignore(self, action: str) -> bool:
        return self._is_running and action == "submit"

    def _show_message(self, message: str) -> None:
        self._message = make_line(message, "warn")
        self._draw_selected_run()

    def show_unavailable_key(self, key: str) -> None:
        self._show_message(format_unavailable_key_message(self.app, key))
