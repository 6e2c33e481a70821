"""Provide base classes of screens and widgets, panels with borders, workers of screens, and a
progress timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import wraps
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual import work as textual_work  # noqa: TID251
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import Worker

from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.keymap import find_action_key_names
from fcreview.tui.text.lines import truncate
from fcreview.tui.text.styles import get_style, symbols


class StaticFocusWidget(Widget):
    """Widget that looks the same with and without the focus.

    Textual would redraw all of it when the focus changes.
    """

    ALLOW_SELECT = False
    """Whether the mouse selects text. A subclass that allows it implements `get_selection`."""

    def on_focus(self, event: events.Focus) -> None:
        event.prevent_default()
        self.has_focus = True
        if self.parent is not None:
            self.parent.post_message(events.DescendantFocus(self))

    def on_blur(self, event: events.Blur) -> None:
        event.prevent_default()
        self.has_focus = False
        if self.parent is not None:
            self.parent.post_message(events.DescendantBlur(self))


PROGRESS_INTERVAL = 0.5
"""Seconds between two progress reports, and before the first report."""


class ProgressTimer:
    """Timer that reports how long an operation has been running."""

    def __init__(self, owner: DOMNode, report: Callable[[float], None]) -> None:
        """Create a stopped timer. `report` receives the elapsed seconds."""
        self._owner = owner
        self._report = report
        self._timer: Timer | None = None
        self._started = 0.0

    def start(self) -> None:
        self.stop()
        self._started = monotonic()
        self._timer = self._owner.set_interval(PROGRESS_INTERVAL, self.report_elapsed_time)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def report_elapsed_time(self) -> None:
        """Report the elapsed time, unless the screen has closed.

        Textual stops the timers of a screen after it has removed the widgets.
        """
        try:
            self._report(monotonic() - self._started)
        except NoMatches:
            if is_screen_active(self._owner):
                raise


Node = TypeVar("Node", bound=DOMNode)
Params = ParamSpec("Params")
Result = TypeVar("Result")


def work(
    *, group: str = "default", exclusive: bool = False
) -> Callable[
    [Callable[Concatenate[Node, Params], Awaitable[Result]]],
    Callable[Concatenate[Node, Params], Worker[Result | None]],
]:
    """Run a method as a Textual worker that ends quietly if the screen is removed while the method
    waits.

    Textual cancels the workers of a screen after it has removed the widgets, so a worker that
    continues in between finds no widgets. Textual's own `work` would raise `NoMatches` then.
    """

    def decorate(
        method: Callable[Concatenate[Node, Params], Awaitable[Result]],
    ) -> Callable[Concatenate[Node, Params], Worker[Result | None]]:
        @wraps(method)
        async def run(self: Node, *args: Params.args, **kwargs: Params.kwargs) -> Result | None:
            return await run_while_open(self, method(self, *args, **kwargs))

        return textual_work(group=group, exclusive=exclusive)(run)

    return decorate


async def run_while_open(node: DOMNode, coroutine: Awaitable[Result]) -> Result | None:
    """Await a coroutine that uses the widgets of a node's screen.

    Return None if the screen is removed while the coroutine waits, so that it finds no widgets.
    """
    try:
        return await coroutine
    except NoMatches:
        if is_screen_active(node):
            raise
        return None


def call_after_sent_keys(app: App[Any], callback: Callable[[], object]) -> None:
    """Call `callback` after the focused widget and its ancestors have handled the keys they
    already received.
    """
    _call_after_nodes([*(app.focused or app.screen).ancestors_with_self], callback)


def _call_after_nodes(nodes: Sequence[DOMNode], callback: Callable[[], object]) -> None:
    """Call `callback` after each node has handled its pending messages, one node after the
    other.
    """
    if nodes:
        nodes[0].call_later(_call_after_nodes, nodes[1:], callback)
    else:
        callback()


def is_screen_active(node: DOMNode) -> bool:
    """Whether the node's screen exists and is not being removed."""
    try:
        return bool(node.screen.display)
    except NoScreen:
        return False


def sanitize_strip(strip: Strip) -> Strip:
    """Replace control characters by visible characters. The width does not change."""
    if all(sanitize(segment.text) == segment.text for segment in strip):
        return strip
    safe_segments = []
    for segment in strip:
        safe_segments.append(Segment(sanitize(segment.text), segment.style, segment.control))
    return Strip(safe_segments).adjust_cell_length(strip.cell_length)


class SafeInput(Input):
    """One-line input that sanitizes what it draws, because its text may come from data, such as
    an earlier search.
    """

    cursor_blink = reactive(False, init=False)

    def render_line(self, y: int) -> Strip:
        return sanitize_strip(super().render_line(y))


T = TypeVar("T")
LEAVING_ACTIONS = frozenset({"back", "close", "cancel", "app.quit", "app.redraw"})
"""Actions that run at once, even while the screen is loading its data."""


DRAFT_DELAY = 0.3
"""Seconds without a key press after which the text is kept as a draft."""
DRAFT_RETRY_DELAY = 5.0
"""Seconds after which a draft that could not be written is written again."""


class GuardedScreen(Screen[T]):
    """Screen that closes only itself, and only once.

    Textual's `dismiss` removes the topmost screen, even if it is another screen, and fails for a
    screen that is already closed. Keys that are pressed in quick succession can reach a screen
    after it has closed, or after another screen has covered it.
    """

    takes_text = False
    """Whether every key types text, from the moment the screen opens.

    The command palette is not available then.
    """
    has_unsaved_input = False
    """Whether closing the screen may discard input. The command palette then lists no command that
    closes the screen.
    """
    place_name = ""
    """Name with which the key line of a screen above says where its key for back leads."""
    _result_when_resumed: tuple[T | None] | None = None
    """Result of a screen that was closed while it opened or while another screen covered it.

    The screen closes when it is open and uncovered.
    """
    _draft_problem = ""
    """Why the last draft could not be written. Empty if it was."""
    _held_keys: tuple[events.Key, ...] = ()
    """Kept keys, which the screen could not handle when they were pressed."""
    _released_key: events.Key | None = None
    """Kept key that is being handled now."""

    @property
    def is_on_stack(self) -> bool:
        """Whether the screen is displayed or covered by other screens."""
        return self in self.app.screen_stack

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close the screen with a result. Does nothing if the screen is closed already."""
        if not self.is_on_stack:
            return AwaitComplete()

        is_on_top = self.app.screen_stack[-1] is self
        # A screen that is removed while it opens would not find its widgets.
        if is_on_top and self.is_mounted:
            return super().dismiss(result)
        if self._result_when_resumed is None:
            self._result_when_resumed = (result,)
        return AwaitComplete()

    @property
    def unsaved_input(self) -> str:
        """Name of the input that quitting the app would discard, such as `the note`. Empty if there
        is none.
        """
        return ""

    def keep_draft(self) -> str:
        """Keep the unsaved text as a draft, so that the next start offers it again. Return why it
        could not be written, or an empty text.

        The app calls this before it ends.
        """
        return ""

    @work(exclusive=True, group="draft")
    async def keep_draft_after_pause(self) -> None:
        """Keep the draft when the user stops typing. If it cannot be written, such as on a full
        disk, say so once, and try again until it can.
        """
        await asyncio.sleep(DRAFT_DELAY)
        self._keep_draft_or_warn()
        while self._draft_problem:
            await asyncio.sleep(DRAFT_RETRY_DELAY)
            self._keep_draft_or_warn()

    def _keep_draft_or_warn(self) -> None:
        problem = self.keep_draft()
        if problem and not self._draft_problem:
            message = f"Draft not saved: {problem}. The text stays on this screen"
            self.notify(sanitize(message), severity="warning", markup=False)
        self._draft_problem = problem

    def on_text_selected(self) -> None:
        """Say how to copy the text that the user has selected with the mouse."""
        if self.get_selected_text():
            key = find_action_key_names(self.app).get("app.copy", "")
            self.app.notify(f"{key} copies the selected text", markup=False)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_cancel(self) -> None:
        self.dismiss(None)

    def call_after_refresh(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        """Call `callback` after the screen is drawn, unless the screen has closed by then."""

        def call_if_open() -> Any:
            if not self.is_on_stack:
                return None
            return callback(*args, **kwargs)

        return super().call_after_refresh(call_if_open)

    def must_wait(self, action: str) -> bool:  # noqa: ARG002
        """Whether an action must wait until data is loaded.

        `action`: name of the action without arguments.
        """
        return False

    @property
    def must_keep_keys(self) -> bool:
        """Whether keys wait, whatever they mean here, because another screen is about to open."""
        return False

    def must_ignore(self, action: str) -> bool:  # noqa: ARG002
        """Whether an action is ignored for now, such as a review before the item is on screen."""
        return False

    def keep_key_for_later(self, event: events.Key) -> bool:
        """Keep a key that comes before the screen can handle it. Return whether it was kept.

        A key is kept if its action must wait, if another screen is about to open, or if an
        earlier key is kept, so that keys act in their order.
        """
        actions = self._action_names(event)
        if not actions.isdisjoint(LEAVING_ACTIONS):
            # The user leaves the screen, so that the kept keys have no meaning any more.
            self._held_keys = ()
            return False

        # A screen without widgets keeps all other keys.
        has_widgets = self.is_mounted
        if has_widgets and not self._comes_too_early(event, actions):
            return False
        self._held_keys += (event,)
        return True

    def _comes_too_early(self, event: events.Key, actions: Iterable[str]) -> bool:
        """Whether a screen with widgets keeps a key, which starts one of the actions."""
        is_released = event is self._released_key
        # An ignored key needs no place among the kept ones.
        if is_released or self._must_ignore_any(actions):
            return False
        follows_kept_keys = bool(self._held_keys)
        return follows_kept_keys or self.must_keep_keys or self._must_wait_for_any(actions)

    def _must_ignore_any(self, actions: Iterable[str]) -> bool:
        return any(self.must_ignore(action) for action in actions)

    def _must_wait_for_any(self, actions: Iterable[str]) -> bool:
        return any(self.must_wait(action) for action in actions)

    def handle_kept_keys(self) -> None:
        """Handle the keys that were kept because the screen could not handle them yet.

        Each key waits until the screen shows the result of the previous one.
        """
        if not self._held_keys or not self.is_on_stack or self.must_keep_keys:
            return
        first_key, *later_keys = self._held_keys
        if self._must_wait_for_any(self._action_names(first_key)):
            return

        # The app gets the key once more, and must not keep it a second time.
        self._released_key = first_key
        self._held_keys = tuple(later_keys)
        self.app.post_message(first_key)
        # When the app and the screen have handled this key, the next one follows.
        self.app.call_later(call_after_sent_keys, self.app, self._handle_next_key_after_refresh)

    def _handle_next_key_after_refresh(self) -> None:
        self.app.call_after_refresh(self.handle_kept_keys)

    def _action_names(self, event: events.Key) -> set[str]:
        """Return the names of the actions of a key on this screen, without their arguments."""
        names = set()
        for _, bindings in self._binding_chain:
            for binding in bindings.key_to_bindings.get(event.key, ()):
                name, _, _ = binding.action.partition("(")
                names.add(name)
        return names

    def has_enabled_action(self, key: str) -> bool:
        """Whether a key starts an action on this screen."""
        for node, bindings in self._modal_binding_chain:
            for binding in bindings.key_to_bindings.get(key, ()):
                if self.app._check_action_state(binding.action, node):
                    return True
        return False

    def on_screen_resume(self) -> None:
        if self._result_when_resumed is not None:
            self.dismiss(*self._result_when_resumed)
        else:
            self.handle_kept_keys()


class GuardedModalScreen(ModalScreen[T], GuardedScreen[T]):
    """Screen whose keys take precedence over the keys of the app.

    The screen below may stay visible.
    """


class BottomDialog(GuardedModalScreen[T]):
    """Dialog on the lowest lines of the screen that it covers."""

    SCOPED_CSS = False  # Scoped rules would not apply to subclasses.
    CSS = """
    BottomDialog { background: transparent; align: left bottom; }
    BottomDialog LineBar, BottomDialog LineBlock { background: $background; }
    BottomDialog > Vertical {
        height: auto; width: 1fr; background: $background; border-top: solid $border;
    }
    """

    def action_answer(self, answer: T) -> None:
        self.dismiss(answer)


MIN_BORDERED_SIZE = Size(100, 30)
"""Minimum screen size, in columns and rows, for borders around all panels."""
FLAT_MARGIN = 6
"""Number of cells in the title line of a flat panel that neither title nor facts use."""
MIN_RULE_CELLS = 3
"""Length of the shortest rule between title and facts of a flat panel."""


def is_small_screen(screen: Size) -> bool:
    """Whether a screen is too small for borders around all panels."""
    return screen.width < MIN_BORDERED_SIZE.width or screen.height < MIN_BORDERED_SIZE.height


class Panel(Vertical):
    """Container with a border. The border and title of the panel with the focus have the colour of
    the focus.

    Subclasses and screens set the height. A panel must not contain another panel.
    """

    DEFAULT_CSS = """
    Panel {
        border: round $border; border-title-color: $foreground; border-title-style: bold;
        border-subtitle-color: $dim; padding: 0 1; height: 1fr; width: 1fr;
    }
    Panel.-ascii { border: ascii $border; }
    Panel:focus-within { border: round $focus; border-title-color: $focus; }
    Panel.-ascii:focus-within { border: ascii $focus; }
    Panel.-flat { border: none; border-top: solid $border; padding: 0; }
    Panel.-flat:focus-within { border: none; border-top: solid $focus; }
    Panel.-flat.-ascii { border-top: ascii $border; }
    Panel.-flat.-ascii:focus-within { border-top: ascii $focus; }
    """

    _border_title: Content | None
    _border_subtitle: Content | None
    _title = _facts = ""
    _shows_flat_facts = False

    def on_mount(self) -> None:
        self.set_class(symbols().rule.isascii(), "-ascii")

    def set_title(self, title: str, facts: str = "", *, flat_facts: bool = False) -> None:
        """Show a title and, at the bottom right, facts such as counts. Both are sanitized and never
        parsed as markup.

        `flat_facts`: whether a flat panel, which has only an upper border, shows the facts too.
        """
        shown = (self._title, self._facts, self._shows_flat_facts)
        if shown == (title, facts, flat_facts):
            return
        self._title = title
        self._facts = facts
        self._shows_flat_facts = flat_facts
        self._draw_titles()

    def set_flat(self, is_flat: bool) -> None:
        """Draw only the upper border with the title, as on a small screen, or the whole border."""
        if is_flat != self.has_class("-flat"):
            self.set_class(is_flat, "-flat")
            self._draw_titles()

    def on_resize(self) -> None:
        self._draw_titles()

    def _draw_titles(self) -> None:
        """Redraw the border rows whose title or facts changed.

        Textual would redraw the content too.
        """
        old_title = self._border_title
        old_facts = self._border_subtitle
        self._border_title = self._make_title()
        self._border_subtitle = Content(self._facts)
        if not self.is_mounted:
            return

        # Rows are counted from the content, which begins below the upper border.
        top_row = -self.gutter.top
        bottom_row = self.outer_size.height - self.gutter.top - 1
        if old_title is None or old_title.plain != self._border_title.plain:
            self._refresh_border_row(top_row)
        if old_facts is None or old_facts.plain != self._border_subtitle.plain:
            self._refresh_border_row(bottom_row)

    def _refresh_border_row(self, row: int) -> None:
        """Redraw a row of the border. Rows and columns count from the content of the panel."""
        self.refresh(Region(-self.gutter.left, row, self.outer_size.width, 1))

    def _make_title(self) -> Content:
        if self.has_class("-flat") and self._title:
            return self._make_flat_title()
        return Content(self._title)

    def _make_flat_title(self) -> Content:
        """Return the title between blanks, which Textual adds only where a border has corners."""
        if not (self._shows_flat_facts and self._facts):
            return Content(f" {self._title} ")

        free_cells = self.outer_size.width - FLAT_MARGIN - display_width(self._title)
        facts = truncate(self._facts, max(free_cells - MIN_RULE_CELLS, 1))
        filler = symbols().rule * max(free_cells - display_width(facts), 1)
        # The title is bold, and the facts beside it are not.
        dim = Style.from_rich_style(get_style("dim") + RichStyle(bold=False))
        return Content.assemble(f" {self._title}", (f" {filler} ", dim), (f"{facts} ", dim))
