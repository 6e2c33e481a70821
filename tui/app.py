"""Run the Textual application: show the first screen, handle the actions available on every screen,
and shut down.

SIGINT, SIGTERM, SIGHUP, SIGQUIT and the loss of the terminal (a dropped connection) quit the app:
fcreview writes the reviews and restores the terminal, but shows no errors.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.geometry import Size
from textual.screen import Screen
from textual.theme import Theme
from textual.widget import Widget

from fcreview.model.sanitize import sanitize, use_hidden_names
from fcreview.store.rows import View
from fcreview.tui.actions import APP_ACTIONS
from fcreview.tui.figure_scope import make_scope_of_list
from fcreview.tui.keymap import (
    KeymapError,
    find_changed_keys,
    format_key,
    format_renamed_actions_notice,
    list_help_sections,
    make_bindings,
    validate_keymap,
)
from fcreview.tui.queue_state import CursorPosition, QueuePosition, QueueState
from fcreview.tui.screens.queue import QueueScreen, find_focused_item_pane
from fcreview.tui.session import Session
from fcreview.tui.shutdown import SignalShutdown, SignalWakeup
from fcreview.tui.terminal_output import CompactDriver, ScreenDiffDriver
from fcreview.tui.text.lines import fit_line, make_line
from fcreview.tui.text.styles import is_colour_enabled, set_palette
from fcreview.tui.themes import OWN_THEMES, build_css_variables, build_palette, choose_theme_name
from fcreview.tui.widgets.base import GuardedScreen, call_after_sent_keys
from fcreview.tui.widgets.document_view import DocumentView, LineBar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fcreview.tui.live_reload import LiveReload, RunWatcher
    from fcreview.tui.queue_state import AnnotatorSwitch


N_COLOURS = {"standard": 16, "256": 256, "truecolor": 1 << 24}
"""Number of colours of each colour system of Rich."""
WIDGET_WAIT = 0.01
"""Seconds between two checks whether all widgets have opened."""
MAX_WAITS_FOR_WIDGETS = 600
MAX_KEYS_IN_USE = 100
"""Number of keys that may be on their way from a screen to the app at the same time."""
MIN_COLUMNS = 60
MIN_ROWS = 15
"""Smallest supported height of the terminal, in rows."""


def _choose_driver(session: Session) -> type[ScreenDiffDriver]:
    if not session.in_browser:
        return CompactDriver
    from fcreview.tui.terminal_output import CompactWebDriver

    return CompactWebDriver


class TerminalTooSmallScreen(GuardedScreen[None]):
    takes_text = True

    def compose(self) -> ComposeResult:
        yield LineBar()

    def on_resize(self) -> None:
        columns, rows = self.app.size
        message = f"{columns}x{rows}: fcreview needs {MIN_COLUMNS}x{MIN_ROWS}"
        self.query_one(LineBar).show(fit_line(make_line(message, "warn"), columns))


class FcreviewApp(App[int]):
    """The application. `run()` returns the number of reviewed items.

    `return_code` is 1 if the store cannot be opened, and 128 plus the signal number after a signal.

    Args:
        open_item: Id or number of the item to open above the queue at the start.
        key_names: Configured keys by action id.
        adjudicate: Whether to start with the disagreements of the view instead of the queue.
        resume: Whether to restore the filters, order and cursor with which the annotator left
            the queue.
        run_watcher: Imports changed files while the app is open.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(APP_ACTIONS)
    CSS_PATH = "screens/queue.tcss"  # Textual does not load the CSS of the first screen by itself
    CSS = """
    Screen { background: $background; color: $foreground; layout: vertical; }
    ToastRack { margin-bottom: 2; }
    Toast { width: auto; max-width: 60; padding: 0 1; }
    Input > .input--cursor { background: $background; color: $foreground; text-style: reverse; }
    Input > .input--placeholder, Input > .input--suggestion { color: $dim; }
    Input > .input--selection {
        background: $background; color: $foreground; text-style: underline;
    }
    """

    def __init__(
        self,
        session: Session,
        view: View | None = None,
        open_item: int | str | None = None,
        *,
        key_names: Mapping[str, str] | None = None,
        adjudicate: bool = False,
        resume: bool = False,
        run_watcher: RunWatcher | None = None,
    ) -> None:
        # Without colours (NO_COLOR), the terminal's own ones are kept. Otherwise the theme decides
        # (None). Textual chooses its colour filter here, so before the theme is set.
        super().__init__(
            driver_class=_choose_driver(session),
            ansi_color=None if is_colour_enabled(os.environ) else True,
        )
        self.animation_level = "none"
        self._choose_theme(session)
        self.session = session
        # Names of models and runs are needed from here on, and must be hidden in blind review.
        use_hidden_names(session.hidden_names)
        session.request_switch = self._quit_to_switch_annotator

        # What the first screen shows: the queue of the view, at its start or where the annotator
        # was last, with a message about that.
        self._state = QueueState.from_view(view or View(), session.blind)
        last_position = self._load_last_position(resume=resume)
        self._position = self._find_start_position(last_position)
        if self._position is not None:
            self._state.restore_settings(self._position.settings)
        key_notice = self._apply_key_names(key_names or {})
        self._message = key_notice or self._describe_start(last_position)
        """Message at the start. It names keys, so the configured keys are applied before."""
        self._open_item = open_item
        self._adjudicate = adjudicate

        # What the app keeps while it runs.
        self.uses_mouse = True
        """Whether the app handles the mouse. Otherwise the terminal selects text with it."""
        self._keys_in_use: deque[tuple[events.Key, Screen[Any]]] = deque(maxlen=MAX_KEYS_IN_USE)
        """The last keys, each with the screen on which it was pressed."""
        self.last_key_time = 0.0
        """Time of the last key press, in seconds of the monotonic clock."""
        self.last_key_name = ""
        """Displayed name of the last pressed key."""
        self.team_note = ""
        """Note about unsent reviews at the right end of every top line. Empty if there are none."""
        self.next_switch: AnnotatorSwitch | None = None
        """Request to continue as another annotator after the app has ended."""
        self._is_asking_to_quit = False
        """Whether the app asks whether to quit and discard input."""
        self._has_quit = False
        """Whether the app will end as soon as it has handled its messages."""
        self._signal_shutdown: SignalShutdown | None = None
        self._signal_wakeup: SignalWakeup | None = None
        self._run_watcher = run_watcher
        self._live_reload: LiveReload | None = None

    def _describe_switch(self, switch: AnnotatorSwitch) -> str:
        """Say what has changed since the session before."""
        if switch.blind is False:
            return "Blind review has ended: all verdicts are shown"
        if switch.blind is not None:
            return "You now review blind: other verdicts are hidden until you submit your own"
        if switch.hides_models is not None:
            return f"Model names are now {'hidden' if switch.hides_models else 'shown'}"
        return f"You now review as {sanitize(self.session.annotator)}"

    def _choose_theme(self, session: Session) -> None:
        """Select the theme of the session, or the one that suits the number of colours of the
        terminal.
        """
        for own_theme in OWN_THEMES:
            self.register_theme(own_theme)
        n_colours = N_COLOURS.get(self.console.color_system or "", 2)
        self.theme = choose_theme_name(os.environ, session.theme, n_colours)
        set_palette(build_palette(self.theme))

    def _load_last_position(self, *, resume: bool) -> QueuePosition | None:
        """Return the position of the annotator to whom the user switched or, with `resume`, the
        saved one.
        """
        if self.session.switch is not None:
            return self.session.switch.position
        return self.session.load_position(self._state) if resume else None

    def _describe_start(self, last_position: QueuePosition | None) -> str:
        """Return the message at the start: what the switch changed, or what of the last position
        is not restored.
        """
        if self.session.switch is not None:
            return self._describe_switch(self.session.switch)
        return last_position.note if last_position is not None else ""

    def _find_start_position(self, last_position: QueuePosition | None) -> QueuePosition | None:
        """Return the position in the queue at which the session continues.

        None starts at the beginning of the queue. The overview then opens first, if it is enabled.
        """
        if last_position is None or last_position.is_at_queue_start(self._state.settings):
            return None
        return last_position

    def _apply_key_names(self, key_names: Mapping[str, str]) -> str:
        """Apply the keys of the configuration. Return a notice of invalid keys, which are ignored,
        or of renamed actions, or an empty text.
        """
        try:
            self.set_keymap(find_changed_keys(validate_keymap(key_names)))
        except KeymapError as error:
            return str(error)
        return format_renamed_actions_notice(key_names)

    def get_css_variables(self) -> dict[str, str]:
        """Add a variable for the colour of each meaning: `$golden`, `$predicted`, `$passed`,
        `$failed`, `$people`.
        """
        return {**super().get_css_variables(), **build_css_variables(self.theme)}

    def _set_web_page_background(self) -> None:
        """In a browser, give the page around the terminal the background of the theme (sequences
        OSC 11 and 111).
        """
        if self._driver is None or not self._driver.is_web:
            return
        palette = build_palette(self.theme)
        if palette.is_ansi:
            self._driver.write("\x1b]111\x07")
        else:
            self._driver.write(f"\x1b]11;{palette.background}\x07")

    def _on_theme_changed(self, theme: Theme) -> None:
        """Redraw everything in the colours of the new theme, and save the choice of the theme."""
        set_palette(build_palette(theme.name))
        self._set_web_page_background()
        self.session.save_theme(theme.name)
        # Textual does not style an open command palette again.
        self.stylesheet.update(self.screen)
        for screen in self.screen_stack:
            for view in screen.query(DocumentView):
                view.redraw()
            screen.refresh(layout=True)

    def get_default_screen(self) -> GuardedScreen[None]:
        """Return the queue, or an empty screen that the disagreements will cover."""
        if self._adjudicate:
            return GuardedScreen()
        return QueueScreen(
            self.session,
            self._state,
            open_item=self._open_item,
            message=self._message,
            position=self._position,
        )

    def run(self, *args: Any, **options: Any) -> int | None:
        """Run the app. A signal quits it from now on."""
        with SignalShutdown() as self._signal_shutdown:
            return super().run(*args, **options)

    @property
    def has_ended_by_itself(self) -> bool:
        """Whether the app has ended although nobody quit it and no error was raised.

        Textual ends the app so, without a message, if the message loop of the app is cancelled.
        """
        return not self._has_quit and not self.return_code

    def on_load(self) -> None:
        """Watch signals and the terminal before Textual uses the terminal."""
        if self._signal_shutdown is None:
            return
        exit_code = self._signal_shutdown.attach(self._start_to_quit_on_signal)
        if exit_code is not None:
            self.exit(return_code=exit_code)

    def on_mount(self) -> None:
        """Start what runs beside the screens: signal handlers, and the reload of changed files and
        reviews.
        """
        if self._signal_shutdown is not None:
            # Textual's driver for browsers has replaced the handlers.
            self._signal_shutdown.install_handlers()
        if not self.is_headless:
            self._signal_wakeup = SignalWakeup()

        self.theme_changed_signal.subscribe(self, self._on_theme_changed)
        self._set_web_page_background()
        if self._adjudicate:
            self.call_after_refresh(self._open_adjudication)

        # Files of runs, a team, and other tabs of a browser can change what the screens show.
        is_watching = self._run_watcher is not None or self.session.team is not None
        if is_watching or self.session.in_browser:
            from fcreview.tui.live_reload import LiveReload

            self._live_reload = LiveReload(self, self.session, self._run_watcher)
            self._live_reload.start()

    def _open_adjudication(self) -> None:
        """Open the disagreements as the only screen. Leaving it ends the app."""
        from fcreview.tui.screens.adjudication import AdjudicationScreen

        self.push_screen(
            AdjudicationScreen(self.session, make_scope_of_list(self._state), is_top_level=True),
            lambda _: self.exit(self.session.reviewed_count),
        )

    def on_resize(self, event: events.Resize) -> None:
        """Redraw the screen. While the terminal is too small, cover it with a screen that
        says so.
        """
        # The terminal may have rearranged its text. `self.size` is still the earlier size.
        self._resend_screen(event.size)
        is_too_small = event.size.width < MIN_COLUMNS or event.size.height < MIN_ROWS
        is_covered = isinstance(self.screen, TerminalTooSmallScreen)
        if is_too_small and not is_covered:
            self.push_screen(TerminalTooSmallScreen())
        elif is_covered and not is_too_small:
            self.screen.dismiss()

    def action_redraw(self) -> None:
        """Send the whole screen again, because output of another program may have damaged it."""
        self._resend_screen(self.size)

    def _resend_screen(self, size: Size) -> None:
        if isinstance(self._driver, ScreenDiffDriver):
            self._driver.reset_screen(*size)
        self.screen.refresh()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Give the terminal to another program, such as an editor. Ctrl-C then does not quit the
        app.
        """
        if self._signal_shutdown is not None:
            self._signal_shutdown.ignores_interrupts = True
        try:
            with super().suspend():
                yield
        finally:
            if self._signal_shutdown is not None:
                self._signal_shutdown.ignores_interrupts = False

    def action_suspend_process(self) -> None:
        """Suspend the app and all processes of its job, as the terminal's own Ctrl+Z does.

        A terminal without a shell could never continue the app. A browser has no job either.
        """
        if self._driver is None or not self._driver.can_suspend:
            return
        if os.getsid(0) == os.getpid():
            message = "There is no shell that could continue fcreview"
            self.notify(message, severity="warning", markup=False)
            return
        self._suspend_signal()
        os.kill(0, signal.SIGTSTP)

    def action_help(self) -> None:
        from fcreview.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen | TerminalTooSmallScreen):
            self.push_screen(HelpScreen(list_help_sections(self.screen), blind=self._state.blind))

    def action_palette(self) -> None:
        from fcreview.tui.screens.command_palette import CommandPaletteScreen
        from fcreview.tui.screens.palette_context import PaletteContext

        self.push_screen(CommandPaletteScreen(PaletteContext(self, self.session, self._state)))

    def action_annotator(self) -> None:
        from fcreview.tui.screens.annotators import open_annotator_list

        open_annotator_list(self, self.session)

    def action_hide_models(self) -> None:
        """Start again at the same position, with the names of models hidden or shown."""
        if any(getattr(screen, "has_unsaved_input", False) for screen in self.screen_stack):
            self.notify("Save or cancel your input before you hide model names", markup=False)
            return
        if self.session.in_browser:
            self.notify("Not available in the browser", markup=False)
            return
        from fcreview.tui.queue_state import AnnotatorSwitch

        is_hidden = self.session.hidden_names is not None
        self.session.request_switch(
            AnnotatorSwitch(self.session.annotator, hides_models=not is_hidden)
        )

    def _quit_to_switch_annotator(self, switch: AnnotatorSwitch) -> None:
        """End the app, so that the caller starts it again as another annotator, by default at
        the current position.
        """
        call_after_sent_keys(
            self, lambda: self.run_worker(self._quit(switch), group="leave", exclusive=True)
        )

    def action_overview(self) -> None:
        from fcreview.tui.screens.palette_context import open_overview

        open_overview(self, self.session)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Disable two actions whose keys have another meaning where the user enters text.

        The key of `palette` types a colon there. The key of `suspend_process` undoes in text boxes.
        """
        if action == "suspend_process":
            # Importing it loads tree-sitter, which only the editors need.
            from textual.widgets import TextArea

            return not isinstance(self.focused, TextArea)
        if action != "palette":
            return True

        # The palette opens on screens without text input.
        if not self.screen_stack:
            return False
        types_colon = self.focused is not None and self.focused.check_consume_key("colon", ":")
        if types_colon:
            return False
        return isinstance(self.screen, GuardedScreen) and not self.screen.takes_text

    async def on_event(self, event: events.Event) -> None:
        """Handle an event, except a key that no screen can handle now."""
        if isinstance(event, events.Key) and (self._has_quit or self._is_early(event)):
            return
        await super().on_event(event)

    def _is_early(self, event: events.Key) -> bool:
        """Whether the screen cannot handle a key yet. It keeps new keys for later."""
        if not self.screen_stack:
            return False
        screen = self.screen
        if not isinstance(screen, GuardedScreen):
            return False
        if event.is_forwarded:
            return self._keep_for_next_screen(event, screen)
        self._keys_in_use.append((event, screen))
        return screen.keep_key_for_later(event)

    def _keep_for_next_screen(self, event: events.Key, screen: GuardedScreen[Any]) -> bool:
        """Let a screen keep a key that was not used by the screen before it, if it comes too early.

        It is kept in the order of the keys that follow. Returns whether the key is too early: it
        is kept, or the screen that has opened in the meantime is not mounted yet.
        """
        is_same_screen = any(
            key is event and pressed_on is screen for key, pressed_on in self._keys_in_use
        )
        if is_same_screen:
            return False

        # Textual does not deliver an event twice. The time is that of the key press, because a
        # review belongs to the item that was on the screen then.
        copied_key = events.Key(event.key, event.character)
        copied_key.time = event.time
        is_kept = screen.keep_key_for_later(copied_key)
        return is_kept or not screen.is_mounted

    def exit(
        self,
        result: int | None = None,
        return_code: int = 0,
        message: RenderableType | None = None,
    ) -> None:
        """End the app. Keys that are pressed until its end have no effect."""
        self._has_quit = True
        super().exit(result, return_code, message)

    def on_key(self, event: events.Key) -> None:
        """Answer a key that starts no action with the screen's message, or with the bell while
        the screen opens.
        """
        self.last_key_time = event.time
        self.last_key_name = format_key(event.key)
        screen = self.screen
        if not isinstance(screen, GuardedScreen) or not screen.is_mounted:
            # The screen is only opening: the key was for the screen before it.
            return

        if screen.has_enabled_action(event.key):
            # The message about an earlier key is out of date. Only some screens have one.
            clear_message = getattr(screen, "clear_unavailable_key_message", None)
            if clear_message is not None:
                clear_message()
            return
        if getattr(screen, "is_item_loading", False):
            self.bell()
            return
        show_unavailable_key = getattr(screen, "show_unavailable_key", None)
        if show_unavailable_key is not None:
            show_unavailable_key(event.key)

    async def action_copy_or_quit(self) -> None:
        """Copy the text that the user has selected with the mouse. Without a selection, quit."""
        text = self.screen.get_selected_text()
        if not text:
            await self.action_quit()
            return
        from fcreview.tui.review.clipboard import copy_text

        message = copy_text(text, self.session.workspace_folder, self._driver)
        self.screen.clear_selection()
        self.notify(message, markup=False)

    async def action_quit(self) -> None:
        """Quit after all reviews are on disk. If one cannot be saved, show the error instead; the
        next attempt quits. If quitting would discard input, ask first, once.
        """
        call_after_sent_keys(self, self._quit_or_ask)

    def _quit_or_ask(self) -> None:
        """Quit. If the user has typed text that is not saved, ask first."""
        unsaved_inputs = []
        for screen in self.screen_stack:
            if isinstance(screen, GuardedScreen) and screen.is_mounted and screen.unsaved_input:
                unsaved_inputs.append(screen.unsaved_input)

        # Quitting again while the question is on screen is the answer.
        if not unsaved_inputs or self._is_asking_to_quit:
            self.run_worker(self._quit(), group="leave", exclusive=True)
            return

        from fcreview.tui.screens.prompts import ConfirmScreen

        self._is_asking_to_quit = True
        question = ConfirmScreen(f"Quit without saving {unsaved_inputs[-1]}?")
        self.push_screen(question, self._on_quit_answered)

    def _on_quit_answered(self, quits: bool | None) -> None:
        self._is_asking_to_quit = False
        if quits:
            self.run_worker(self._quit(), group="leave", exclusive=True)

    async def _quit(self, switch: AnnotatorSwitch | None = None) -> None:
        """End the app after the queued reviews are written, and save the position and typed texts.

        With `switch`, the program then continues as another annotator.
        """
        if not await self.session.prepare_to_quit():
            return
        await self._wait_for_widgets()
        self._keep_drafts()
        self._save_position()
        if switch is not None:
            self.next_switch = self._add_current_position(switch)
        self.exit(self.session.reviewed_count)

    def _add_current_position(self, switch: AnnotatorSwitch) -> AnnotatorSwitch:
        """Return the request with the current position in the queue, unless it has one."""
        queue = self.screen_stack[0]
        if switch.position is not None or not isinstance(queue, QueueScreen):
            return switch
        position = self._find_queue_position(queue)
        if switch.hides_models is None:
            position = self.session.adapt_position_to_annotator(switch.annotator, position)
        return replace(switch, position=position)

    def _start_to_quit_on_signal(self, exit_code: int) -> None:
        self.run_worker(self._quit_on_signal(exit_code), group="leave", exclusive=True)

    async def _quit_on_signal(self, exit_code: int) -> None:
        """Quit after all reviews are on disk, and show no errors."""
        self._keep_drafts()
        await self.session.prepare_to_quit()
        await self._wait_for_widgets()
        self._save_position()
        self.exit(self.session.reviewed_count, return_code=exit_code)

    def _keep_drafts(self) -> None:
        """Keep unsaved texts as drafts, which the next start offers again."""
        for screen in self.screen_stack:
            if isinstance(screen, GuardedScreen) and screen.is_mounted:
                screen.keep_draft()

    async def _wait_for_widgets(self) -> None:
        """Wait until the first screen exists and no widget is opening.

        A widget that is removed while it opens would not find its children.
        """
        for _ in range(MAX_WAITS_FOR_WIDGETS):
            widgets = [
                widget
                for screen in self.screen_stack
                for widget in screen.walk_children(Widget, with_self=True)
            ]
            if widgets and all(widget.is_mounted for widget in widgets):
                return
            await asyncio.sleep(WIDGET_WAIT)

    def _save_position(self) -> None:
        bottom = self.screen_stack[0] if self.screen_stack else None
        if isinstance(bottom, QueueScreen):
            self.session.save_position(self._state, self._find_queue_position(bottom))

    def _find_queue_position(self, queue: QueueScreen) -> QueuePosition:
        """Return the position in the queue to save for the next session.

        If an item is open above the queue, the position is that of the item.
        """
        from fcreview.tui.screens.item_pane import ItemScreen

        position = queue.position
        screens_above = self.screen_stack[1:]
        if not screens_above:
            is_item_focused = find_focused_item_pane(self) is not None
            return replace(position, is_item_open=is_item_focused)

        item_screen = screens_above[0]
        if not isinstance(item_screen, ItemScreen):
            return replace(position, is_item_open=False)
        if item_screen.is_item_loading:
            return position
        row = item_screen.item_reviewer.displayed.detail.row
        cursor = CursorPosition(row.item, line=position.cursor.line, key=(row.id, row.run))
        return replace(position, cursor=cursor, is_item_open=True)

    def on_unmount(self) -> None:
        """Release what outlives the screen: signal handlers, the file watcher and the session."""
        if self._signal_shutdown is not None:
            self._signal_shutdown.detach()
        if self._signal_wakeup is not None:
            self._signal_wakeup.close()
        if self._live_reload is not None:
            self._live_reload.stop()
        self.session.close()
